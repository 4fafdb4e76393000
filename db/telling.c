/* See telling.h. */
#include "db/telling.h"

#include <stddef.h>
#include <time.h>

enum { TELL_SECONDS = 60 };

void telling_say(void (*log)(const char *what, const struct error *why), struct telling *told, const char *what,
                 const struct error *why)
{
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    double now = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
    if (why == NULL ? !told->is_bad : told->at > 0 && now - told->at < TELL_SECONDS)
        return;
    told->is_bad = why != NULL;
    if (why != NULL)
        told->at = now;
    if (log != NULL)
        log(what, why);
}
