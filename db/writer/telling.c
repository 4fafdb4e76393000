/* See telling.h. */
#include "db/writer/telling.h"

#include "db/moment.h"

#include <stddef.h>

enum { TELL_SECONDS = 60 };

void telling_say(void (*log)(const char *what, const struct error *why), struct telling *told, const char *what,
                 const struct error *why)
{
    double now = moment_seconds();
    if (why == NULL ? !told->is_bad : told->at > 0 && now - told->at < TELL_SECONDS)
        return;
    told->is_bad = why != NULL;
    if (why != NULL)
        told->at = now;
    if (log != NULL)
        log(what, why);
}
