/* See suggest_claim.h. */
#include "service/suggest/suggest_claim.h"

#include "service/app/steady.h"
#include "service/store/rows.h"
#include "service/store/tally.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Loads the curves for a worker that comes back to a trial, or takes over another's. */
static enum status load_curves(struct db_conn *conn, const struct plan *plan, struct trial *trials, size_t len,
                               struct error *err)
{
    for (size_t i = 0; i < len && plan->task.study.spec.stopping.kind != STOP_RULE_OFF; i++)
        TRY(rows_curve(conn, &plan->task, &trials[i], err));
    return STATUS_OK;
}

int64_t plan_missing(const struct plan *plan)
{
    return plan->count - (int64_t)plan->out->len;
}

static bool fits(const struct plan *plan, const double *point)
{
    const double *fixed = plan->fixed;
    for (size_t i = 0; fixed != NULL && i < plan->task.study.spec.space.params_len; i++)
        if (!isnan(fixed[i]) && fixed[i] != point[i])
            return false;
    return true;
}

/* Claims the query's trials that fit, at most so many, while some are missing; *other: the first that does not fit, 0:
 * none. */
static enum status claim(struct db_rows rows, struct plan *plan, int64_t most, int64_t *other, struct error *err)
{
    struct arena_mark mark = arena_mark(rows.arena);
    *other = 0;
    for (; most > 0 && plan_missing(plan) > 0 && db_next(&rows);) {
        struct trial *trial = &plan->out->trials[plan->out->len];
        rows.status = rows_trial(row_trial(&rows), trial, err);
        if (rows.status == STATUS_OK && fits(plan, trial->point)) {
            plan->out->len++;
            most--;
            mark = arena_mark(rows.arena);
        } else if (rows.status == STATUS_OK) {
            *other = *other == 0 ? trial->number : *other;
            arena_release(rows.arena, mark);
        }
    }
    return db_done(&rows);
}

enum status plan_fixed_conflict(struct error *err, int64_t trial, const char *what)
{
    return error_set(err, STATUS_CONFLICT, "fixed_conflict", "/fixed", "trial %lld %s has other values",
                     (long long)trial, what);
}

/* Takes the worker's own trials; a worker with one gets no second, so that a repeat with other values does not take two. */
enum status plan_take_own(struct db_conn *conn, struct plan *plan, struct error *err)
{
    if (plan->worker[0] == '\0')
        return STATUS_OK;
    size_t  before = plan->out->len;
    int64_t other;
    TRY(claim(db_query(conn, plan->task.caller->arena, err, SQL_TRIAL_OF_WORKER,
                       BIND(TEXT(plan->task.id), TEXT(plan->worker), INT(plan->steady_ms))),
              plan, INT64_MAX, &other, err));
    if (other > 0 && plan_missing(plan) > 0)
        return plan_fixed_conflict(err, other, "is still this worker's and");
    return load_curves(conn, plan, plan->out->trials + before, plan->out->len - before, err);
}

/* A worker that comes back has its lease again; anybody else begins anew, with a new one. */
static enum status start(struct db_conn *conn, struct plan *plan, struct trial *trial, struct error *err)
{
    const char *worker = plan->worker;
    bool        is_back = trial->lease > 0 && worker[0] != '\0' && strcmp(worker, trial->holder) == 0;
    bool        is_expired = trial->state == TRIAL_RUNNING, is_taken = is_expired && !is_back;
    plan->expired += is_expired;
    if (is_expired)
        TRY(task_log(conn, &plan->task, "trial.expired", trial->number, trial->holder[0] == '\0' ? NULL : trial->holder,
                     err));
    else
        task_count(&plan->task, TRIAL_QUEUED, TRIAL_RUNNING);
    trial->state = TRIAL_RUNNING;
    trial->worker = trial->holder = worker;
    trial->lease += !is_back;
    trial->started_ms = is_back && is_expired ? trial->started_ms : plan->task.now_ms;
    trial->is_taken_over |= is_taken;
    trial->lease_ms = plan->steady_ms + plan->task.study.rules.lease_ms;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_START,
                BIND(TEXT(plan->task.id), INT(trial->number), TEXT(worker), INT(trial->lease_ms), INT(trial->lease),
                     INT(trial->is_taken_over), INT(trial->started_ms))));
    TRY(task_say(conn, &plan->task, trial, plan->said, err));
    return task_log(conn, &plan->task, is_taken ? "trial.handed_over" : "trial.started", trial->number, NULL, err);
}

/* A trial whose lease is over stays its worker's until it is handed on here; a returning worker gets its own first. */
enum status plan_take_waiting(struct db_conn *conn, struct plan *plan, struct error *err)
{
    struct arena *arena = plan->task.caller->arena;
    struct trial *trials = plan->out->trials + plan->out->len;
    size_t        before = plan->out->len;
    int64_t       expired, queued;
    TRY(claim(db_query(conn, arena, err, SQL_TRIAL_EXPIRED,
                       BIND(TEXT(plan->task.id), INT(plan->steady_ms), TEXT(plan->worker))),
              plan, INT64_MAX, &expired, err));
    TRY(claim(db_query(conn, arena, err, SQL_TRIAL_QUEUED, BIND(TEXT(plan->task.id))), plan, task_room(&plan->task),
              &queued, err));
    plan->unfit = expired > 0 ? expired : queued;
    size_t len = plan->out->len - before;
    for (size_t i = 0; i < len; i++)
        TRY(start(conn, plan, &trials[i], err));
    return load_curves(conn, plan, trials, len, err);
}

/* Its curve goes with the new lease; whoever held it before is out. */
static enum status resume(struct db_conn *conn, struct plan *plan, struct trial *trial, struct error *err)
{
    const struct trial before = *trial;
    struct task       *task = &plan->task;
    const char        *worker = plan->worker;
    char               detail[32] = "";
    task_count(task, TRIAL_STOPPED, TRIAL_RUNNING);
    task->study.imported -= before.is_imported;
    trial->state = TRIAL_RUNNING;
    trial->is_imported = false;
    trial->is_taken_over |= worker[0] == '\0' || strcmp(worker, before.holder) != 0;
    trial->worker = trial->holder = worker;
    trial->lease++;
    trial->lease_ms = plan->steady_ms + task->study.rules.lease_ms;
    trial->started_ms = task->now_ms;
    trial->finished_ms = 0;
    trial->value = trial->stddev = (double)NAN;
    trial->reason = NULL;
    trial->values = NULL;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_RESUME,
                BIND(TEXT(task->id), INT(trial->number), TEXT(worker), INT(trial->lease_ms), INT(trial->is_taken_over),
                     INT(trial->started_ms))));
    TRY(db_exec(conn, NULL, err, SQL_MEASUREMENT_KEEP, BIND(TEXT(task->id), INT(trial->number), INT(before.lease))));
    TRY(tally_resume(conn, task, &before, err));
    TRY(rows_curve(conn, task, trial, err));
    if (trial->curve_len > 0)
        snprintf(detail, sizeof detail, "step %lld", (long long)trial->curve[trial->curve_len - 1].step);
    TRY(task_say(conn, task, trial, plan->said, err));
    return task_log(conn, task, "trial.resumed", trial->number, detail, err);
}

/* Takes the stopped trials, which are as the rule saw them: the log has not gone on since. */
enum status plan_take_stopped(struct db_conn *conn, struct plan *plan, struct error *err)
{
    for (size_t i = 0; i < plan->resumed_len; i++) {
        struct trial *trial = &plan->out->trials[plan->out->len];
        TRY(rows_trial_get(conn, &plan->task, plan->resumed[i], trial, err));
        if (trial->state != TRIAL_STOPPED)
            return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a trial is not stopped as the log says");
        TRY(resume(conn, plan, trial, err));
        plan->out->len++;
    }
    plan->outcome = PLAN_RESUMED;
    return STATUS_OK;
}

/* Counts the waiting trials that fit, and finds the first that does not. */
enum status plan_count_waiting(struct db_conn *conn, struct plan *plan, struct error *err)
{
    bool counts = plan->fixed == NULL;
    plan->unfit = 0;
    plan->waiting = counts ? plan->task.study.trials[TRIAL_QUEUED] : 0;
    struct db_rows rows = db_query(conn, NULL, err, counts ? SQL_TRIAL_COUNT_EXPIRED : SQL_TRIAL_WAITING,
                                   BIND(TEXT(plan->task.id), INT(plan->steady_ms)));
    while (db_next(&rows)) {
        const struct row_trial_point *row = counts ? NULL : row_trial_point(&rows);
        bool                          is_fit = counts || fits(plan, row->point.bytes);
        plan->waiting += counts ? row_count(&rows)->count : is_fit;
        plan->unfit = is_fit || plan->unfit > 0 ? plan->unfit : row->number;
    }
    return db_done(&rows);
}
