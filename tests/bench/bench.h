/* For all benches: calls that must succeed, and time of the processor.  A bench has one thread. */
#pragma once

#include "engine/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void must(enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "status %d: %s\n", (int)status, err == NULL ? "a call failed" : err->text);
    exit(2);
}

static inline void check(enum status status)
{
    must(status, NULL);
}

static inline double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double cpu_ms(void)
{
    return 1e3 * cpu_seconds();
}
