/* Retention of the log: old lines about resources that are gone are deleted.  A study that exists keeps all of its lines,
 * from which its session is made again. */
#ifndef GNOMON_SERVICE_APP_RETENTION_H
#define GNOMON_SERVICE_APP_RETENTION_H

#include "service/app/app.h"

struct retention {
    int64_t keep_ms; /* 0: for ever */
    int64_t after;   /* up to which line it has looked; 0: it begins */
    int64_t dropped; /* lines, so far */
    bool    is_over;
};

/* Drops a piece of the log; others write between the pieces.  Begin with after, dropped and is_over zero, and go on until it
 * is over.  Does nothing with a store that is older than its witness (db.h). */
MUST_CHECK enum status retention_step(struct app *app, struct retention *retention, struct error *err);

#endif
