/* Trials for workers: a worker's own running ones again, queued ones, the policy's. */
#ifndef GNOMON_SERVICE_STUDY_SUGGEST_H
#define GNOMON_SERVICE_STUDY_SUGGEST_H

#include "db/db.h"
#include "service/app/app.h"
#include "service/model/trial.h"

/* The callbacks of an asynchronous suggest: see operation.h. */
struct suggest_reply;
struct suggest_watch {
    void (*notify)(void *arg, const struct plan_state *state);
    /* In the transaction that writes the trials, after them; failing undoes them. */
    enum status (*end)(struct db_conn *conn, void *arg, const struct suggest_reply *reply, struct error *err);
    void *arg;
};
struct suggest_request {
    int64_t                     count;
    const char                 *worker;
    const double               *fixed;          /* [fixed_len], NaN where free; NULL */
    size_t                      fixed_len;      /* params_len of the space that it was read with */
    const int64_t              *space_revision; /* that the client knows; NULL: it does not say */
    const char                 *said;           /* of what is handed out: codec_annotations.h; or NULL */
    int64_t                     deadline_ms;    /* 0: none (of what plans ahead in a request: SUGGEST_PLAN_MS) */
    const struct suggest_watch *watch;          /* or NULL */
};
enum { SUGGEST_PLAN_MS = 30000 };
struct suggest_reply {
    struct study  study; /* as it was before */
    struct trial *trials;
    size_t        len;
    int64_t       revision;
    int64_t       steady_ms; /* when the trials were given */
};
/* Points of which the algorithm chooses what is missing, queued. */
struct queue_part {
    const double *points; /* [len][params_len], NaN where free; some point of the space has what is given */
    size_t        params_len, len;
    const char   *said; /* of each: codec_annotations.h; or NULL */
};
/* Queues all trials of a part, or none.
 * Errors: CONFLICT "search_space_exhausted" when every point with these values is used, "space_grew"; as trial_queue and
 * trial_suggest. */
MUST_CHECK enum status trial_queue_part(struct app *app, struct caller *caller, const char *study,
                                        const struct queue_part *part, struct trial_page *out, struct error *err);
/* CONFLICT (study_refuse) when no trial is handed out in the study's state. */
MUST_CHECK enum status trial_may_be_given(const struct study *study, struct error *err);
/* This worker's own running trials first, then those that wait, then the policy; only those with the fixed values.
 * Errors: CONFLICT as study_refuse, "all_handed_out" (what runs may come back), "fixed_conflict" (this worker has a trial
 * with other values, or what is left has), "space_grew" (it is not the one that the request is about); BUSY "planning" while another plan for the study is being made,
 * "deadline_exceeded" when not one proposal was made in time.  retry_after_seconds: of a refusal that is temporary. */
MUST_CHECK enum status trial_suggest(struct app *app, struct caller *caller, const char *study,
                                     const struct suggest_request *request, struct suggest_reply *out,
                                     struct error *err);

/* Reads out->len trials that were given before, as they are now; out->revision is the study's. */
MUST_CHECK enum status trial_given(struct app *app, struct caller *caller, const char *study, const int64_t *numbers,
                                   struct suggest_reply *out, struct error *err);

/* The error with which a suggest would be refused now, as far as a look at the study can tell. */
MUST_CHECK enum status trial_may_suggest(struct app *app, struct caller *caller, const char *study,
                                         const struct suggest_request *request, struct error *err);

#endif
