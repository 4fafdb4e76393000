/* Checks whether the server can do its work.  A thread looks once a second, so that any request is answered at once. */
#ifndef GNOMON_SERVICE_APP_WATCH_H
#define GNOMON_SERVICE_APP_WATCH_H

#include "service/app/app.h"
#include "service/base/process_stats.h"

enum { WATCH_CHECKS = 10, WATCH_DETAIL_BYTES = 120 };

/* The file in the folder whose time is that of the last backup. */
#define WATCH_BACKUP "gnomon.backup"

struct watch_finding {
    const char *name, *code; /* code: what it is when it is not good */
    bool        is_good;
    int64_t     since_ms;                   /* since when it is so, by the wall clock */
    char        detail[WATCH_DETAIL_BYTES]; /* "": no detail */
};

/* Looks once before it returns, and then until it is stopped; changes are logged. */
MUST_CHECK enum status watch_start(struct app *app, struct error *err);
void                   watch_stop(struct app *app);

/* The findings of the last look, in an order of weight; all good where nobody looks.  Does not wait. */
void watch_read(struct app *app, struct watch_finding out[WATCH_CHECKS]);

/* The last look at the disk, so that nobody else waits for one; NaN: nobody looks, or there is no disk. */
struct watch_sight {
    struct disk_stats disk;
    double            backup_seconds; /* when the last backup was made, since 1970 */
};
void watch_see(struct app *app, struct watch_sight *out);

/* True when a computation hangs beyond recovery: the process is to be restarted. */
bool watch_is_lost(struct app *app);

#endif
