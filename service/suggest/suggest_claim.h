/* A suggestion under way, and what of the trials that exist it takes; internal to suggest.c. */
#ifndef GNOMON_SERVICE_STUDY_SUGGEST_CLAIM_H
#define GNOMON_SERVICE_STUDY_SUGGEST_CLAIM_H

#include "service/session/session.h"
#include "service/store/task.h"
#include "service/suggest/suggest.h"
#include "service/suggest/worth.h"

/* Requests for proposals of the same session, which are made in one transaction. */
struct plan_group {
    bool is_caught_up; /* the session, within it */
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

struct plan {
    struct session_member         member; /* first: a member is its plan */
    struct task                   task;
    const struct suggest_request *request;
    const struct queue_part      *part; /* proposals are queued, with this part; NULL: they are handed out */
    struct suggest_reply         *out;
    struct trial_page            *queued;    /* what part became */
    int64_t                       steady_ms; /* what leases count on, as the task's now_ms is what events do */
    uint64_t                      looked_at; /* session_moment before the last look; 0: a transaction came after it */
    int64_t                       waiting;   /* queued, or their leases are over */
    uint64_t                      expired;   /* the expired ones among them */
    int64_t                       unfit;     /* the number of a waiting trial with other values than fixed; 0: none */
    struct live                  *live;
    struct trial                 *fresh; /* proposals, not yet in the log */
    const void                  **notes;
    size_t                       *note_bytes;
    double                       *asked; /* [fresh_len][asked_len] */
    size_t                        asked_len;
    size_t                        fresh_len;
    int64_t                       deadline_ms; /* on the monotonic clock; 0: none */
    enum plan_time                time;
    enum plan_end                 end;
    enum plan_outcome             outcome;
    int64_t                      *resumed; /* [resumed_len] trials to go on with, as the rule said at `seen` */
    size_t                        resumed_len;
    struct plan_group            *group;      /* NULL: the plan is alone */
    bool                          is_telling; /* it caught up with the log for its group, which had news */
    struct gain                   gain;       /* the expected gain of another trial; expected NaN: nobody asked */
    int64_t                       seen;       /* the revision of the study when the policy was asked */
    const char                   *rule;       /* by which nothing more is handed out (task_over); NULL: something is */
    int64_t                       added;      /* of fresh, to the log */
    struct error                 *err;        /* of a member, and its status */
    enum status                   status;
};

/* How many more trials the request is to have. */
int64_t plan_missing(const struct plan *plan);

/* Each adds trials to plan->out, within a transaction.  CONFLICT "fixed_conflict". */
MUST_CHECK enum status plan_take_own(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_waiting(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_stopped(struct db_conn *conn, struct plan *plan, struct error *err);
/* plan->waiting and plan->unfit. */
MUST_CHECK enum status plan_count_waiting(struct db_conn *conn, struct plan *plan, struct error *err);

enum status plan_fixed_conflict(struct error *err, int64_t trial, const char *what);

#endif
