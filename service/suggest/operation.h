/* Asynchronous suggestions: a suggest that continues after its request was answered with 202.
 * The row is written before the work begins, and ended in the transaction that writes the trials, so the next process finds
 * what was promised and does it again.  Who waits for one, and how long, has no influence on its result.
 * At most OPERATIONS_AT_ONCE are worked on; the others wait in their order.  At most SHARE_watched requests
 * are kept waiting for an end, which leaves threads for all others. */
#ifndef GNOMON_SERVICE_STUDY_OPERATION_H
#define GNOMON_SERVICE_STUDY_OPERATION_H

#include "service/suggest/suggest.h"

enum { OPERATIONS_AT_ONCE = 2, OPERATIONS_WAITING_MAX = 64 };
enum operation_state {
    OPERATION_RUNNING,
    OPERATION_SUCCEEDED,
    OPERATION_FAILED,
    OPERATION_CANCELLED,
    OPERATION_STATE_COUNT
};
extern const char *const operation_state_names[OPERATION_STATE_COUNT + 1];

struct operation {
    char                 id[24], study[24];
    enum operation_state state;
    const char          *code, *detail;       /* failed: of the error; otherwise NULL */
    int                  retry_after_seconds; /* ... and when to ask for it again; 0: not at all */
    int64_t              created_ms, finished_ms;
    struct plan_state    progress; /* horizon 0 before there is any */
    const char          *worker;
    int64_t              count;   /* the number of trials asked for */
    const int64_t       *numbers; /* [len] of the trials that it gave */
    size_t               len;
    const struct study  *of;     /* for the trials; of a list NULL, as these */
    struct trial        *trials; /* succeeded */
    int64_t              revision;
};

struct operations;
struct operations *operations_new(void); /* NULL: no memory */
/* Takes up what an earlier process left running.  Called once, before there are requests. */
MUST_CHECK enum status operations_resume(struct app *app, struct error *err);
/* Stops what runs, without a trace: the next process takes it up.  Whoever waits for it is answered. */
void operations_halt(struct app *app);
/* ... and waits for its end.  Nobody may begin or find one meanwhile. */
void operations_stop(struct app *app);
void operations_free(struct operations *operations);
/* How many run or wait for their turn. */
size_t operations_running(struct operations *operations);

struct operation_new {
    const struct plan *plan;
    int64_t            wait_ms;
};
/* Begins a suggest, or finds the one of this named worker that still runs, and waits for its end, at most wait_ms.
 * A failure within that time is the call's own error.  BUSY "busy" when too many wait. */
MUST_CHECK enum status operation_begin(struct app *app, struct caller *caller, const char *study,
                                       const struct operation_new *new, struct operation *out, struct error *err);
/* Stops the work on operations of a study that is gone. */
void operations_forget(struct app *app, const char *study);
/* NOT_FOUND "operation_not_found", also of a study that the token may not see. */
MUST_CHECK enum status operation_find(struct app *app, struct caller *caller, const char *id, struct operation *out,
                                      struct error *err);
/* Lists operations of a study, or if that is NULL of the caller, for an admin all; the newest first. */
struct operation_filter {
    const char *study;
    int64_t     states; /* a set; 0: all */
    const char *cursor;
    int64_t     limit;
};
struct operation_page {
    struct operation *operations;
    size_t            len;
    const char       *next_cursor;
};
MUST_CHECK enum status operation_list(struct app *app, struct caller *caller, const struct operation_filter *filter,
                                      struct operation_page *out, struct error *err);
/* CONFLICT "operation_finished". */
MUST_CHECK enum status operation_cancel(struct app *app, struct caller *caller, const char *id, struct operation *out,
                                        struct error *err);

#endif
