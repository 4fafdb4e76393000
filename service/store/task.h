/* A task: a caller's piece of work on a study.  The struct of a use case begins with its task, and is the argument of the
 * task's transaction.  Each change of a study is a line in its log, by task_log, and a task_save at the end of the
 * transaction. */
#ifndef GNOMON_SERVICE_STORE_TASK_H
#define GNOMON_SERVICE_STORE_TASK_H

#include "db/db.h"
#include "service/app/app.h"
#include "service/model/trial.h"

struct task {
    struct app    *app;
    struct caller *caller;
    const char    *id;
    int64_t        now_ms;
    struct study   study; /* after task_open; its specification is shared, and stays as long as the caller's arena */
};
struct task task_of(struct app *app, struct caller *caller, const char *study);

/* fn's arg is the task.  NOT_FOUND "study_not_found" when the caller may not see the study. */
MUST_CHECK enum status task_read(struct task *task, db_fn fn, struct error *err);
/* As task_read for a change of the study: see app_transact. */
MUST_CHECK enum status task_write(struct task *task, db_fn fn, struct error *err);

/* task->study.spec without a look at the store, as it was read last (spec_cache_recall).  A write is refused if the spec has
 * changed since (caller_same_space); after a refusal, or when the request cannot be read with this spec, it is to be tried
 * again with the store's.  False: none is cached. */
bool task_recall(struct task *task);
/* Opens the task within a transaction.  NOT_FOUND "study_not_found"; CONFLICT as caller_same_space. */
MUST_CHECK enum status task_open(struct db_conn *conn, struct task *task, struct error *err);
/* Hides the owner from callers bound to a single resource: names of tokens are for the project. */
void task_hide_owner(const struct caller *caller, struct study *study);
/* Writes the next revision of the study, and its line in the log.  trial 0: none.  detail may be NULL. */
MUST_CHECK enum status task_log(struct db_conn *conn, struct task *task, const char *kind, int64_t trial,
                                const char *detail, struct error *err);
/* Logs kind, with the reason, unless it is NULL. */
MUST_CHECK enum status task_set_state(struct db_conn *conn, struct task *task, enum study_state state,
                                      const char *reason, const char *kind, struct error *err);
/* Moves a trial between the study's counters; from TRIAL_STATE_COUNT: a new trial. */
void task_count(struct task *task, enum trial_state from, enum trial_state to);
/* How many more trials the budget allows; failed, abandoned and retracted ones do not count. */
int64_t task_allowance(const struct task *task);
/* How many more trials may run at once. */
int64_t task_room(const struct task *task);
/* The rule, other than the budget of trials, by which no more trials are handed out; NULL: some may be.  is_final: no
 * running trial can change that. */
const char *task_over(const struct task *task, bool *is_final);
/* The number of running trials whose lease has not ended. */
MUST_CHECK enum status task_count_held(struct db_conn *conn, const struct task *task, int64_t *out, struct error *err);
/* Completes an active study without open trials whose budget of trials is spent, or one without held trials that is over by
 * another rule. */
MUST_CHECK enum status task_complete_if_spent(struct db_conn *conn, struct task *task, struct error *err);
/* A worker that waits asks again after so long: when the lease ends that ends first, within bounds. */
enum { TASK_ASK_AGAIN_SECONDS = 30, TASK_ASK_AGAIN_MAX_SECONDS = 60 };
struct next_lease {
    int64_t trial, ends_ms; /* steady; trial 0: none is running */
    int     seconds;
};
MUST_CHECK enum status task_next_lease(struct db_conn *conn, const struct task *task, struct next_lease *out,
                                       struct error *err);
/* The next step of a worker that has just finished a trial. */
MUST_CHECK enum status task_next(struct db_conn *conn, const struct task *task, struct next *out, struct error *err);
/* Writes revision and counters back: once, at the end of a transaction that used task_log. */
MUST_CHECK enum status task_save(struct db_conn *conn, struct task *task, struct error *err);

/* ---- its trials ---- */

/* A trial that is not stored yet. */
struct new_trial {
    const struct trial *trial;
    const char         *kind;           /* of its line in the log */
    const double       *fixed;          /* [params_len] the values it was to have, NaN where free; or NULL */
    bool                may_be_outside; /* of the space: a user's, for context */
    const void         *note;           /* of the policy, or NULL */
    size_t              note_bytes;
    const double       *asked; /* [asked_len] of a policy: see service/store/ask_inputs.h; or NULL */
    size_t              asked_len;
    /* How it has ended already, or NULL, and the line of the log that says so: task_log_end writes it. */
    const struct trial_end *end;
    int64_t                 ended;
};
/* Writes, counts and logs it.  This is the last look at a point that stays for good, whoever made it: INTERNAL
 * "impossible_point", logged and counted, when it does not lie in the study's space, nor where it may, or has not what
 * was fixed. */
MUST_CHECK enum status task_add_trial(struct db_conn *conn, struct task *task, const struct new_trial *new,
                                      struct error *err);
/* Whether the trial lies in the space; fixed as above. */
bool task_is_possible(const struct space *space, const struct trial *trial, const double *fixed);
/* The error for such a trial. */
enum status task_impossible(const struct task *task, const struct trial *trial, struct error *err);

/* The best trial of the study, which has one objective, is found anew. */
MUST_CHECK enum status task_find_best(struct db_conn *conn, struct task *task, struct error *err);

/* Keeps what patch says of it (codec_annotations.h), also in the struct; NULL says nothing. */
MUST_CHECK enum status task_say(struct db_conn *conn, struct task *task, struct trial *trial, const char *patch,
                                struct error *err);

/* How a trial ends, and the kind of its line in the log. */
struct trial_end {
    const struct observation *item;
    enum trial_state          state;
    const char               *kind;
    bool                      is_feasible;
};
/* Writes, counts and logs the end of a trial, which is as it was before. */
MUST_CHECK enum status task_finish_trial(struct db_conn *conn, struct task *task, const struct trial *trial,
                                         const struct trial_end *end, struct error *err);
/* Only counts and logs it: of a trial that was added with its end. */
MUST_CHECK enum status task_log_end(struct db_conn *conn, struct task *task, const struct trial *trial,
                                    const struct trial_end *end, struct error *err);

#endif
