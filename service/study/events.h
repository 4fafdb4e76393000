/* The log as it is shown: every change, who made it, in order; and a study's export and import. */
#ifndef GNOMON_SERVICE_STUDY_EVENTS_H
#define GNOMON_SERVICE_STUDY_EVENTS_H

#include "service/app/app.h"
#include "service/model/event.h"

struct event_filter {
    const char *study, *kind; /* or NULL: of all; kind: "trial.observed", or "trial" for all of them */
    const char *cursor;
    int64_t     since_ms;
    int64_t     limit; /* 0: all */
};
MUST_CHECK enum status event_list(struct app *app, struct caller *caller, const struct event_filter *filter,
                                  struct event_page *out, struct error *err);

/* Within a transaction: every event of a study. */
MUST_CHECK enum status event_read(struct db_conn *conn, const char *study, struct arena *arena, struct event_page *out,
                                  struct error *err);

#endif
