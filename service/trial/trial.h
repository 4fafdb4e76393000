/* Use cases around suggest and observe: trials found, listed, queued, kept alive, abandoned; history. */
#ifndef GNOMON_SERVICE_STUDY_TRIAL_H
#define GNOMON_SERVICE_STUDY_TRIAL_H

#include "service/base/page.h"
#include "service/app/app.h"
#include "service/model/trial.h"

/* Points (or rows) to be handed out before the policy is asked. */
struct queue_request {
    const double  *points;
    const int64_t *rows;
    size_t         len;
    const char    *said; /* of each: codec_annotations.h; or NULL */
};
MUST_CHECK enum status trial_queue(struct app *app, struct caller *caller, const char *study,
                                   const struct queue_request *request, struct trial_page *out, struct error *err);
/* The study, and its best trial; number 0: there is none yet. */
MUST_CHECK enum status trial_best(struct app *app, struct caller *caller, const char *id, struct study *study,
                                  struct trial *out, struct error *err);
MUST_CHECK enum status trial_find(struct app *app, struct caller *caller, const char *study, int64_t number,
                                  struct trial *out, struct error *err);
/* The order of a list of trials; trials without the key come last. */
enum trial_order {
    TRIAL_ORDER_NUMBER,
    TRIAL_ORDER_VALUE,
    TRIAL_ORDER_FINISHED,
    TRIAL_ORDER_UPDATED, /* when the log last spoke of it */
    TRIAL_ORDER_COUNT
};
enum { TRIAL_LABELS_ASKED_MAX = 4 };
/* NULL or 0: whatever it is. */
struct trial_filter {
    int64_t          states; /* bit set */
    const char      *worker, *external_id;
    const char      *labels[TRIAL_LABELS_ASKED_MAX]; /* as codec_label makes them: all must be there */
    int64_t          updated_since_ms;
    enum trial_order order;
    bool             is_down; /* the last one first */
    const char      *cursor;
    int64_t          limit;
    bool             with_curves; /* a query more for each trial */
};
/* A page seeks to its place: however far down the list it lies costs nothing.  Of what is asked for, several states, a
 * worker or an external_id are found so too, in the order of numbers; otherwise the list is gone along. */
MUST_CHECK enum status trial_list(struct app *app, struct caller *caller, const char *study,
                                  const struct trial_filter *filter, struct trial_page *out, struct error *err);
/* Both: CONFLICT "lease_lost" when the worker does not hold the trial under that lease.  A queued trial is
 * abandoned without. */
MUST_CHECK enum status trial_heartbeat(struct app *app, struct caller *caller, const char *study,
                                       struct held_trial held, struct trial *out, struct error *err);
struct abandon_request {
    struct held_trial held;
    const char       *reason;   /* or NULL */
    bool              requeues; /* it waits again for whoever asks next, unless retry would be refused */
};
/* With requeues, what waits already or was abandoned stays as it is: a repeat changes nothing. */
MUST_CHECK enum status trial_abandon(struct app *app, struct caller *caller, const char *study,
                                     const struct abandon_request *request, struct trial *out, struct error *err);
/* A failed or abandoned trial waits again, under its number, for whoever asks next; a study that was completed because
 * its space had nothing left is open again.  Errors: CONFLICT "trial_not_failed", "trial_has_curve" (what was measured of
 * it stays), "wrong_space" (a graph), "budget_exhausted", "study_completed". */
MUST_CHECK enum status trial_retry(struct app *app, struct caller *caller, const char *study, int64_t number,
                                   struct trial *out, struct error *err);

/* Changes the annotations of a trial in any state. */
struct edit_request {
    int64_t     number;
    const char *patch; /* codec_annotations.h; NULL: nothing changes */
};
MUST_CHECK enum status trial_edit(struct app *app, struct caller *caller, const char *study,
                                  const struct edit_request *request, struct trial *out, struct error *err);

struct history_item {
    int64_t trial, at_ms;
    double  value, best;
};
struct history_page {
    struct history_item *items;
    size_t               len;
    const char          *next_cursor;
};
/* Completed trials in the order in which their values came. */
MUST_CHECK enum status trial_history(struct app *app, struct caller *caller, const char *study, const struct page *page,
                                     struct history_page *out, struct error *err);

#endif
