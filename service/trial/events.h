/* The log as it is shown: every change and its actor, in order. */
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
/* Errors: NOT_FOUND "study_not_found", "events_gone" (service/app/retention.h); INVALID "bad_cursor". */
MUST_CHECK enum status event_list(struct app *app, struct caller *caller, const struct event_filter *filter,
                                  struct event_page *out, struct error *err);

/* The cursor of what comes after the line seq of a page; NULL: no memory. */
const char *event_cursor(struct arena *arena, const struct event_page *page, int64_t seq);

#endif
