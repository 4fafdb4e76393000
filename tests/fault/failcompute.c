/* Preloaded into the server by the test `ready`: a fit of hyper-parameters does not come back while the first byte of the
 * file that FAIL_FILE names, which the test maps too, is not 0. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/fault/plan.h"

#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

int nlopt_optimize(void *problem, double *x, double *value);

static _Atomic char *plan;

__attribute__((constructor)) static void open_plan(void)
{
    plan = plan_map(1);
}

int nlopt_optimize(void *problem, double *x, double *value)
{
    while (plan != NULL && *plan != 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return ((int (*)(void *, double *, double *))(uintptr_t)dlsym(RTLD_NEXT, "nlopt_optimize"))(problem, x, value);
}
