/* Trials for workers: a worker's own running ones again, queued ones, the policy's. */
#ifndef GNOMON_SERVICE_STUDY_SUGGEST_H
#define GNOMON_SERVICE_STUDY_SUGGEST_H

#include "db/db.h"
#include "service/session/session.h"
#include "service/store/task.h"

/* The callbacks of an asynchronous suggest: see operation.h. */
struct suggest_reply;
struct suggest_watch {
    void (*notify)(void *arg, const struct plan_state *state);
    /* In the transaction that writes the trials, after them; failing undoes them. */
    enum status (*end)(struct db_conn *conn, void *arg, const struct suggest_reply *reply, struct error *err);
    void *arg;
};
/* The time of a plan: all it needs, not enough to do its best (the deadline has passed while proposing), none (the request's
 * time is up, or nobody waits any more). */
enum plan_time { PLAN_IN_TIME, PLAN_LATE, PLAN_CUT };
/* Why nothing is to be proposed: another trial is not worth it, as the log was at `seen`; every point of the space is used,
 * or every point with the fixed values; the budget of trials is spent. */
enum plan_end { PLAN_GOES_ON, PLAN_NOT_WORTH, PLAN_FIXED_USED, PLAN_ALL_USED, PLAN_SPENT };
/* The outcome of the last transaction: the log says that stopped trials go on; it has gone on since `seen`, so that they are
 * to be chosen again; nothing is left and no trial is open, so the study is to be completed. */
enum plan_outcome { PLAN_OPEN, PLAN_RESUMED, PLAN_OVERTAKEN, PLAN_OVER };

/* A suggestion, from the members of its request to the trials that it gets. */
struct plan {
    struct session_member member; /* first: a member is its plan */

    /* The request: read by the table of the route, or of an operation's row.  It stays as it is. */
    int64_t                     count;
    const char                 *worker;
    const double               *fixed;       /* [fixed_len], NaN where free; NULL */
    size_t                      fixed_len;   /* params_len of the space that it was read with */
    bool                        knows_space; /* the client says which space it knows: that of space_revision */
    int64_t                     space_revision;
    const char                 *said;        /* of what is handed out: codec_annotations.h; or NULL */
    int64_t                     deadline_ms; /* 0: none (of what plans ahead in a request: SUGGEST_PLAN_MS) */
    const struct suggest_watch *watch;       /* or NULL */
    const struct queue_part    *part;        /* proposals are queued, with this part; NULL: they are handed out */

    /* The work on it: begun anew by each call, private to service/suggest. */
    struct task           task;
    struct suggest_reply *out;
    struct trial_page    *queued;    /* what part became */
    int64_t               steady_ms; /* what leases count on, as the task's now_ms is what events do */
    uint64_t              looked_at; /* session_moment before the last look; 0: a transaction came after it */
    int64_t               waiting;   /* queued, or their leases are over */
    uint64_t              expired;   /* the expired ones among them */
    int64_t               unfit;     /* the number of a waiting trial with other values than fixed; 0: none */
    struct live          *live;
    struct trial         *fresh; /* proposals, not yet in the log */
    const void          **notes;
    size_t               *note_bytes;
    double               *asked; /* [fresh_len][asked_len] */
    size_t                asked_len;
    size_t                fresh_len;
    int64_t               until_ms; /* the deadline on the monotonic clock; 0: none */
    enum plan_time        time;
    enum plan_end         end;
    enum plan_outcome     outcome;
    int64_t              *resumed; /* [resumed_len] trials to go on with, as the rule said at `seen` */
    size_t                resumed_len;
    bool         *is_group_told; /* the group's: its session has caught up with the log; NULL: the plan is alone */
    bool          is_telling;    /* it caught up with the log for its group, which had news */
    struct gain   gain;          /* the expected gain of another trial; expected NaN: nobody asked */
    int64_t       seen;          /* the revision of the study when the policy was asked */
    const char   *rule;          /* by which nothing more is handed out (task_over); NULL: something is */
    int64_t       added;         /* of fresh, to the log */
    struct error *err;           /* of a member, and its status */
    enum status   status;
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
MUST_CHECK enum status trial_suggest(struct app *app, struct caller *caller, const char *study, struct plan *plan,
                                     struct suggest_reply *out, struct error *err);

/* Reads out->len trials that were given before, as they are now; out->revision is the study's. */
MUST_CHECK enum status trial_given(struct app *app, struct caller *caller, const char *study, const int64_t *numbers,
                                   struct suggest_reply *out, struct error *err);

/* The error with which a suggest would be refused now, as far as a look at the study can tell. */
MUST_CHECK enum status trial_may_suggest(struct app *app, struct caller *caller, const char *study, struct plan *plan,
                                         struct error *err);

#endif
