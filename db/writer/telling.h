/* The last failure of work that no request fails for alone, so that it is logged once.  Private to db/. */
#ifndef GNOMON_DB_TELLING_H
#define GNOMON_DB_TELLING_H

#include "engine/base/status.h"

#include <stdbool.h>

struct telling {
    double at;
    bool   is_bad;
};
/* Logs a failure once a minute, and then its end.  why NULL: it works; log NULL: nothing is logged. */
void telling_say(void (*log)(const char *what, const struct error *why), struct telling *told, const char *what,
                 const struct error *why);

#endif
