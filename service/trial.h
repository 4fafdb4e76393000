/* Trials: the two calls that everyone uses, suggest and observe, and what surrounds them. */
#ifndef GNOMON_SERVICE_TRIAL_H
#define GNOMON_SERVICE_TRIAL_H

#include "service/study.h"

struct curve_point {
    int64_t step, at_ms;
    double  value;
};
struct trial {
    int64_t                   number; /* from 1, without gaps */
    enum trial_state          state;
    const double             *point;                         /* [space_point_len] or NULL */
    int64_t                   row;                           /* candidates; -1 */
    const char               *worker, *reason, *external_id; /* worker is "" when none; the others NULL */
    int64_t                   lease_ms;                      /* steady_ms() at which the lease ends; 0: none */
    int64_t                   lease;  /* its id: how many the trial has had, one for each worker in turn; 0: none yet */
    const char               *holder; /* whose the last lease is or was */
    bool                      is_taken_over; /* a lease of it ran out, and another worker got it */
    double                    value, stddev; /* of the first objective; NaN when there is none */
    const double             *values;        /* of all metrics, as spec_is_feasible has them (graph: of the
                                                       sites, NaN where not measured), or NULL */
    int64_t                   created_ms, finished_ms;
    const struct curve_point *curve; /* [curve_len] what was reported while it ran, where it was asked for; or NULL */
    size_t                    curve_len;
    struct { /* how the point was chosen; policy is NULL for a point of the user's */
        const char *policy, *fallback;
        int64_t     revision, observations;
        double      mean, sd; /* the metric's own sign; NaN without a model */
        double      milliseconds;
        const char *diagnostics; /* JSON as codec_diagnostics makes it; NULL without a model */
    } model;
};

struct trial_page {
    struct trial *trials;
    size_t        len;
    const char   *next_cursor;
};

/* How many points go into one request or reply: 1000, or fewer of large images. */
static inline size_t trial_points_max(const struct space *space)
{
    enum { NUMBERS_MAX = 1 << 20, POINTS_MAX = 1000 };
    size_t len = space_point_len(space), most = len == 0 ? POINTS_MAX : NUMBERS_MAX / len;
    return most < POINTS_MAX ? most : POINTS_MAX;
}

/* Of a suggest that goes on behind its request: see operation.h. */
struct suggest_reply;
struct suggest_watch {
    void (*report)(void *arg, const struct plan_state *state);
    /* In the transaction that writes the trials, after them; failing undoes them. */
    enum status (*end)(struct db_conn *conn, void *arg, const struct suggest_reply *reply, struct error *err);
    void *arg;
};
struct suggest_request {
    int64_t                     count;
    const char                 *worker;
    const double               *fixed;       /* [params_len], NaN where free; NULL */
    int64_t                     deadline_ms; /* 0: none (of what plans ahead in a request: SUGGEST_PLAN_MS) */
    const struct suggest_watch *watch;       /* or NULL */
};
enum { SUGGEST_PLAN_MS = 30000 };
struct suggest_reply {
    struct spec   spec;
    struct trial *trials;
    size_t        len;
    int64_t       revision;
};
/* CONFLICT (study_refuse) when the study's state is one in which nothing is suggested. */
MUST_CHECK enum status trial_may_be_given(const struct study *study, struct error *err);
/* This worker's own running trials first, then those that wait, then the policy; only those with the fixed values.
 * Errors: CONFLICT as study_refuse, "all_handed_out" (what runs may come back), "fixed_conflict" (this worker has a trial
 * with other values, or what is left has); BUSY "planning" while another plan for the study is being made,
 * "deadline_exceeded" when not one proposal was made in time.  Whoever may ask again is told when (retry_after_s). */
MUST_CHECK enum status trial_suggest(struct app *app, struct caller *caller, const char *study,
                                     const struct suggest_request *request, struct suggest_reply *out,
                                     struct error *err);

/* The last three are of imports only. */
enum outcome {
    OUTCOME_VALUE,
    OUTCOME_FAILED,
    OUTCOME_INFEASIBLE,
    OUTCOME_STOPPED,
    OUTCOME_ABANDONED,
    OUTCOME_QUEUED /* there is none yet: the trial is to be tried here */
};
struct observation {
    int64_t       trial; /* 0: by point or by candidate */
    int64_t       lease; /* under which the trial was held; 0: not said */
    const double *point; /* or NULL */
    int64_t       row;   /* or -1 */
    enum outcome  outcome;
    double        value, stddev;        /* of the first objective; stddev NaN: not given */
    const double *values;               /* several metrics, or a graph: of all, as in struct trial; otherwise NULL */
    const char   *reason, *external_id; /* or NULL */
    size_t        line;                 /* of the CSV file it came from, for its errors */
    /* Of a trial that an import brings, where they are known. */
    int64_t                   number; /* in the study it comes from; 0 */
    const char               *worker; /* or NULL */
    const struct curve_point *curve;  /* [curve_len] steps ascending */
    size_t                    curve_len;
};
struct item_error {
    size_t       item;
    struct error error;
};
struct observe_reply {
    int64_t            accepted, duplicates, revision, best_trial;
    int64_t            queued, skipped; /* of an import: accepted to be tried; left out */
    double             best_value;
    struct item_error *errors; /* of a refused batch, in the arena; error.path is relative to the item */
    size_t             errors_len;
};
/* All or nothing.  On refusal the first error is in err (path "/observations/<i>/..." when in_batch) and every one
 * (up to 100) in out->errors.  Errors: NOT_FOUND "trial_not_found", CONFLICT "trial_finished",
 * "lease_lost", "external_id_conflict", INVALID "private_study", ... */
MUST_CHECK enum status trial_observe(struct app *app, struct caller *caller, const char *study,
                                     const struct observation *items, size_t len, bool in_batch,
                                     struct observe_reply *out, struct error *err);

/* Points (or rows) to be handed out before the policy is asked. */
MUST_CHECK enum status trial_queue(struct app *app, struct caller *caller, const char *study, const double *points,
                                   const int64_t *rows, size_t len, struct trial_page *out, struct error *err);
MUST_CHECK enum status trial_find(struct app *app, struct caller *caller, const char *study, int64_t number,
                                  struct trial *out, struct error *err);
struct trial_filter {
    const char *state, *cursor;
    int64_t     limit;
    bool        with_curves; /* one more query for each trial */
};
MUST_CHECK enum status trial_list(struct app *app, struct caller *caller, const char *study,
                                  const struct trial_filter *filter, struct trial_page *out, struct error *err);
/* Which trial, and under which lease its worker holds it (0: not said; then it must never have been taken over).
 * CONFLICT "lease_lost" otherwise.  A queued trial is given up without. */
struct held_trial {
    int64_t number, lease;
};
MUST_CHECK enum status trial_heartbeat(struct app *app, struct caller *caller, const char *study,
                                       struct held_trial held, struct trial *out, struct error *err);
MUST_CHECK enum status trial_abandon(struct app *app, struct caller *caller, const char *study, struct held_trial held,
                                     const char *reason, struct trial *out, struct error *err);
/* A failed or abandoned trial waits again, under its number, for whoever asks next; a study that was completed because
 * its space had nothing left is open again.  Errors: CONFLICT "trial_not_failed", "trial_has_curve" (what was measured of
 * it stays), "wrong_space" (a graph), "budget_exhausted", "study_completed". */
MUST_CHECK enum status trial_retry(struct app *app, struct caller *caller, const char *study, int64_t number,
                                   struct trial *out, struct error *err);

/* A measurement of a running trial, and whether it shall go on.  The measurement is stored; it renews the lease; a trial
 * that shall stop is `stopped` with this value.  The same step and value again: the same answer, nothing stored.
 * Errors: CONFLICT "no_epochs" (the study has no epoch budget), "lease_lost", "trial_not_running", "step_reported" (with
 * another value), "step_out_of_order"; INVALID "out_of_range" (beyond the budget). */
struct report_request {
    struct held_trial held;
    int64_t           step;
    double            value;
};
struct report_reply {
    bool        stop;
    const char *reason;
    int64_t     next_step; /* before it no report can stop the trial; 0: none will */
};
MUST_CHECK enum status trial_report(struct app *app, struct caller *caller, const char *study,
                                    const struct report_request *request, struct report_reply *out, struct error *err);

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
MUST_CHECK enum status trial_history(struct app *app, struct caller *caller, const char *study, const char *cursor,
                                     int64_t limit, struct history_page *out, struct error *err);

/* Feasible trials that no other dominates (one objective: the best one), and the hypervolume above a reference point:
 * of each objective the worst feasible value, and a tenth of the range beyond. */
struct pareto_reply {
    struct study  study;
    struct trial *trials;
    size_t        len;
    double        hypervolume;            /* NaN: there are too many to compute it */
    double        reference[METRICS_MAX]; /* by metric, in its own sign */
};
MUST_CHECK enum status trial_pareto(struct app *app, struct caller *caller, const char *study, struct pareto_reply *out,
                                    struct error *err);

struct predict_request {
    const double *points;
    const size_t *rows; /* or NULL */
    size_t        len;
    const char   *metric; /* NULL: the first objective */
};
struct predict_reply {
    double *mean, *sd;
    double *feasible; /* constraints: the probability that the metric is within its bounds; otherwise NULL */
    size_t  metric;
    int64_t revision, observations;
};
/* Posterior at points [len][space_point_len], or at rows (graph: sites) [len].
 * CONFLICT "no_model", "no_observations"; INVALID "unknown_metric". */
MUST_CHECK enum status trial_predict(struct app *app, struct caller *caller, const char *study,
                                     const struct predict_request *request, struct predict_reply *out,
                                     struct error *err);

/* Nothing is stored: specification and observations in, points out.  POST /v1/suggest. */
struct stateless_request {
    struct spec               spec; /* candidates: spec.space.rows is set */
    const struct observation *observations;
    size_t                    observations_len;
    const double             *pending; /* [pending_len][space_point_len] */
    const size_t             *pending_rows;
    size_t                    pending_len;
    int64_t                   count;
    const double             *fixed;
};
MUST_CHECK enum status trial_suggest_stateless(struct app *app, struct caller *caller,
                                               const struct stateless_request *request, struct trial_page *out,
                                               struct error *err);

#endif
