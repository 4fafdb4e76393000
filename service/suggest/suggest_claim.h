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

struct plan {
    struct session_member         member; /* first: a member is its plan */
    struct task                   task;
    const struct suggest_request *request;
    const struct queue_part      *part; /* proposals are queued, with this part; NULL: they are handed out */
    struct suggest_reply         *out;
    struct trial_page            *queued;    /* what part became */
    int64_t                       steady_ms; /* what leases count on, as the task's now_ms is what events do */
    int64_t                       seen_ms;   /* as of when they are looked at; see plan_prefetch */
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
    bool                          is_joining;  /* it looks for the first time with its group */
    bool                          is_late;     /* the deadline passed while proposing */
    bool                          is_cut;      /* ... or all the time there is, or nobody waits any more */
    int64_t                       deadline_ms; /* on the monotonic clock; 0: none */
    const char                   *exhausted;   /* why the space has no more points, or NULL */
    bool                          is_all_used; /* of the space, and not only what the request holds of it */
    bool                          is_over;     /* ... and none is open, so the study is completed */
    int64_t                      *resumed;     /* [resumed_len] trials to go on with, as the rule said at `seen` */
    size_t                        resumed_len;
    bool                          has_resumed;  /* the log says so, too */
    bool                          is_overtaken; /* the log has gone on since `seen`, so they are to be chosen again */
    struct plan_group            *group;        /* NULL: the plan is alone */
    bool                          is_telling;   /* it caught up with the log for its group, which had news */
    struct gain                   gain;         /* the expected gain of another trial; expected NaN: nobody asked */
    bool                          is_not_worth; /* ... and the gain is not worth it... */
    int64_t                       seen;         /* ... as the log was at this revision */
    const char   *rule;     /* the rule by which nothing more is handed out (task_over); NULL: something is */
    bool          is_final; /* ... and that cannot change */
    int64_t       added;    /* of fresh, to the log */
    struct error *err;      /* of a member, and its status */
    enum status   status;
};

/* How many more trials the request is to have. */
int64_t plan_missing(const struct plan *plan);

/* Each adds trials to plan->out, within a transaction.  CONFLICT "fixed_conflict". */
MUST_CHECK enum status plan_take_own(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_waiting(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_stopped(struct db_conn *conn, struct plan *plan, struct error *err);
/* Prefetches the first reads of a suggest.  A transaction that follows a look takes the leases as of the same moment, so
 * that its reads are the prefetched ones. */
void plan_prefetch(struct db_conn *conn, struct plan *plan, bool is_writing);
/* plan->waiting and plan->unfit. */
MUST_CHECK enum status plan_count_waiting(struct db_conn *conn, struct plan *plan, struct error *err);

enum status plan_fixed_conflict(struct error *err, int64_t trial, const char *what);

#endif
