/* Preloaded into the server by the test `memory`: makes an allocation fail.
 * FAIL_FILE names a file of 16 bytes that the test maps too: two 64-bit numbers, how many allocations happened since
 * the test wrote 0 there, and which one fails (0: none; negative: that one and all later ones). */
#include "tests/fault/plan.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

struct plan {
    _Atomic int64_t count, fail_at;
};
static struct plan *plan;

__attribute__((constructor)) static void open_plan(void)
{
    plan = plan_map(sizeof *plan);
}

static int fails(void)
{
    if (plan == NULL)
        return 0;
    int64_t count = ++plan->count, at = plan->fail_at;
    if (at == 0 || (at > 0 ? count != at : count < -at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}
