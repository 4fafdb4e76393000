/* See task.h. */
#include "service/store/task.h"

#include "service/app/event_log.h"

#include "service/app/app_transact.h"
#include "service/app/steady.h"
#include "service/app/study_cache.h"
#include "service/base/log.h"
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_annotations.h"
#include "service/store/failures.h"
#include "service/store/spec_cache.h"
#include "service/store/sparkline.h"
#include "service/store/tally.h"

#include <math.h>

struct task task_of(struct app *app, struct caller *caller, const char *study)
{
    return (struct task){.app = app, .caller = caller, .id = study, .now_ms = app->now_ms()};
}

enum status task_read(struct task *task, db_fn fn, struct error *err)
{
    TRY(caller_sees(task->caller, "study", task->id, err));
    return db_read(task->app->db, fn, task, err);
}

enum status task_write(struct task *task, db_fn fn, struct error *err)
{
    TRY(caller_sees(task->caller, "study", task->id, err));
    TRY(app_transact(task->app, task->caller, fn, task, err));
    study_cache_forget(task->app, task->id);
    return STATUS_OK;
}

void task_hide_owner(const struct caller *caller, struct study *study)
{
    if (caller_is_bound(caller))
        study->created_by = study->owner = NULL;
}

enum status task_open(struct db_conn *conn, struct task *task, struct error *err)
{
    TRY(spec_cache_study(task->app, conn, task->id, task->caller->arena, &task->study, err));
    task_hide_owner(task->caller, &task->study);
    TRY(caller_same_space(task->caller, task->id, task->study.space_revision, err));
    if (task->caller->metrics == 0)
        task->caller->metrics = spec_metrics_all(&task->study.spec);
    return STATUS_OK;
}

bool task_recall(struct task *task)
{
    struct spec_known known;
    struct error      why;
    if (caller_sees(task->caller, "study", task->id, &why) != STATUS_OK ||
        !spec_cache_recall(task->app, task->id, task->caller->arena, &known) ||
        caller_same_space(task->caller, task->id, known.space_revision, &why) != STATUS_OK)
        return false;
    task->study.spec = known.spec;
    task->caller->metrics = spec_metrics_all(&known.spec);
    return true;
}

static enum status add_line(struct db_conn *conn, struct task *task, struct event_row line, struct error *err)
{
    line.at_ms = task->now_ms;
    line.study = task->study.id;
    line.project = task->study.project;
    line.revision = ++task->study.revision;
    line.actor = task->caller->token_id;
    return event_log(conn, line, err);
}

enum status task_log(struct db_conn *conn, struct task *task, const char *kind, int64_t trial, const char *detail,
                     struct error *err)
{
    return add_line(conn, task, EVENT(.kind = kind, .trial = trial, .detail = detail), err);
}

enum status task_set_state(struct db_conn *conn, struct task *task, enum study_state state, const char *reason,
                           const char *kind, struct error *err)
{
    struct study *study = &task->study;
    study->state = state;
    study->reason = reason;
    study->version++;
    study->updated_ms = task->now_ms;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE,
                BIND(TEXT(study->id), TEXT(study_state_names[state]), TEXT(reason), INT(task->now_ms))));
    return kind == NULL ? STATUS_OK : task_log(conn, task, kind, 0, reason, err);
}

void task_count(struct task *task, enum trial_state from, enum trial_state to)
{
    if (from == TRIAL_STATE_COUNT)
        task->study.trials_total++;
    else
        task->study.trials[from]--;
    task->study.trials[to]++;
}

int64_t task_allowance(const struct task *task)
{
    int64_t budget = task->study.rules.budget_trials, used = study_spent(&task->study);
    return budget == 0 ? INT64_MAX : used < budget ? budget - used : 0;
}

int64_t task_room(const struct task *task)
{
    int64_t most = task->study.rules.parallelism, running = task->study.trials[TRIAL_RUNNING];
    return most == 0 ? INT64_MAX : running < most ? most - running : 0;
}

/* ---- when a study is over ---- */

static bool is_time_up(const struct task *task)
{
    int64_t ends_ms = tally_time_ends(task);
    return ends_ms > 0 && steady_ms(task->app) >= ends_ms;
}

static bool is_cost_spent(const struct task *task)
{
    return task->study.tally.cost >= task->study.rules.budget_cost; // NaN: never
}

static bool has_reached(int64_t count, int64_t limit)
{
    return limit > 0 && count >= limit;
}

static bool has_failed_often(const struct task *task)
{
    return has_reached(task->study.tally.failures, task->study.rules.failures);
}

static bool fails_in_a_row(const struct task *task)
{
    return has_reached(task->study.tally.failures_in_a_row, failures_allowed(&task->study));
}

static bool has_no_improvement(const struct task *task)
{
    const struct study *study = &task->study;
    return study->best_trial != 0 && has_reached(study->tally.since_best, study->rules.no_improvement);
}

static const struct {
    bool (*is_met)(const struct task *task);
    const char *reason;
    bool        is_final;
} ends[] = {
    {is_time_up, "time_exhausted", true},          {is_cost_spent, "cost_exhausted", true},
    {has_failed_often, "too_many_failures", true}, {fails_in_a_row, "too_many_failures", false},
    {has_no_improvement, "no_improvement", false},
};

const char *task_over(const struct task *task, bool *is_final)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        *is_final = ends[i].is_final;
        if (ends[i].is_met(task))
            return ends[i].reason;
    }
    *is_final = false;
    return NULL;
}

/* Counts the trials that run under a lease that has not ended: nobody waits for the others, since they are not handed on. */
enum status task_count_held(struct db_conn *conn, const struct task *task, int64_t *out, struct error *err)
{
    struct db_rows rows;
    *out = task->study.trials[TRIAL_RUNNING];
    if (*out == 0)
        return STATUS_OK;
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_COUNT_EXPIRED, BIND(TEXT(task->id), INT(steady_ms(task->app)))));
    *out -= row_count(&rows)->count;
    return STATUS_OK;
}

static enum status complete_if_over(struct db_conn *conn, struct task *task, struct error *err)
{
    bool        is_final, are_alike = false;
    int64_t     held;
    const char *reason = task_over(task, &is_final);
    if (reason == NULL)
        TRY(failures_are_alike(conn, task, &are_alike, err));
    if (reason == NULL && !are_alike)
        return STATUS_OK;
    reason = reason == NULL ? "too_many_failures" : reason;
    TRY(task_count_held(conn, task, &held, err));
    return held > 0 ? STATUS_OK : task_set_state(conn, task, STUDY_COMPLETED, reason, "study.completed", err);
}

enum status task_complete_if_spent(struct db_conn *conn, struct task *task, struct error *err)
{
    const struct study *study = &task->study;
    const int64_t      *trials = study->trials;
    int64_t finished = trials[TRIAL_COMPLETED] + trials[TRIAL_INFEASIBLE] + trials[TRIAL_STOPPED] - study->imported;
    int64_t open = trials[TRIAL_QUEUED] + trials[TRIAL_RUNNING];
    if (study->state != STUDY_ACTIVE)
        return STATUS_OK;
    if (study->rules.budget_trials == 0 || finished < study->rules.budget_trials || open > 0)
        return complete_if_over(conn, task, err);
    return task_set_state(conn, task, STUDY_COMPLETED, "budget_exhausted", "study.completed", err);
}

enum status task_next_lease(struct db_conn *conn, const struct task *task, struct next_lease *out, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_NEXT_LEASE, BIND(TEXT(task->id))));
    const struct row_trial_lease *row = row_trial_lease(&rows);
    *out = (struct next_lease){.trial = row == NULL ? 0 : row->number, .ends_ms = row == NULL ? 0 : row->lease_ms};
    int64_t seconds = (out->ends_ms - steady_ms(task->app) + 999) / 1000, most = TASK_ASK_AGAIN_MAX_SECONDS;
    out->seconds = (int)(seconds < 1 ? 1 : seconds < most ? seconds : most);
    return STATUS_OK;
}

enum status task_next(struct db_conn *conn, const struct task *task, struct next *out, struct error *err)
{
    const struct study *study = &task->study;
    struct next_lease   lease;
    bool                is_final, is_over = task_over(task, &is_final) != NULL;
    bool                has_more = study->trials[TRIAL_QUEUED] > 0 || task_allowance(task) > 0;
    *out = (struct next){.word = study_next_stop};
    if (study->state == STUDY_COMPLETED || (study->state == STUDY_ACTIVE && is_final))
        return STATUS_OK;
    if (study->state != STUDY_ACTIVE) {
        *out = (struct next){.word = study_next_wait, .seconds = TASK_ASK_AGAIN_SECONDS};
        return STATUS_OK;
    }
    TRY(task_next_lease(conn, task, &lease, err));
    bool is_free = lease.trial != 0 && lease.ends_ms <= steady_ms(task->app);
    if (!is_over && ((has_more && task_room(task) > 0) || is_free))
        *out = (struct next){.word = study_next_evaluate};
    else if (lease.trial != 0)
        *out = (struct next){.word = study_next_wait, .seconds = lease.seconds};
    return STATUS_OK;
}

enum status task_save(struct db_conn *conn, struct task *task, struct error *err)
{
    const struct study *study = &task->study;
    const int64_t      *trials = study->trials;
    const struct tally *from = &study->tally;
    bool                is_final;
    tally_time(task, task_over(task, &is_final) != NULL);
    return db_exec(conn, NULL, err, SQL_STUDY_COUNT,
                   BIND(TEXT(study->id), INT(study->revision), INT(study->trials_total), INT(trials[TRIAL_QUEUED]),
                        INT(trials[TRIAL_RUNNING]), INT(trials[TRIAL_COMPLETED]), INT(trials[TRIAL_FAILED]),
                        INT(trials[TRIAL_INFEASIBLE]), INT(trials[TRIAL_ABANDONED]), INT(trials[TRIAL_STOPPED]),
                        INT(task->now_ms), INT(study->imported), INT(trials[TRIAL_RETRACTED]), STUDY_TALLY(SAVE)));
}

/* ---- its trials ---- */

bool task_is_possible(const struct space *space, const struct trial *trial, const double *fixed)
{
    if (space->kind == SPACE_CANDIDATES)
        return trial->point == NULL && trial->row >= 0 && trial->row < (int64_t)space->rows_len;
    if (trial->point == NULL || !space_nearly_has(space, trial->point, CODEC_ROUNDING_SLACK))
        return false;
    for (size_t i = 0; fixed != NULL && i < space->params_len; i++)
        if (!isnan(fixed[i]) && trial->point[i] != fixed[i])
            return false;
    return true;
}

enum status task_impossible(const struct task *task, const struct trial *trial, struct error *err)
{
    atomic_fetch_add(&task->app->counters.impossible_points, 1);
    log_event(LOG_ERROR, "impossible_point", "study=%s trial=%lld algorithm=%s", task->id, (long long)trial->number,
              trial->model.algorithm == NULL ? "none" : trial->model.algorithm);
    return error_set(err, STATUS_INTERNAL, "impossible_point", "",
                     "trial %lld would not lie in the space: nothing was stored", (long long)trial->number);
}

static size_t values_bytes(const struct task *task, const struct observation *item)
{
    return item->values == NULL ? 0 : spec_values_len(&task->study.spec) * sizeof *item->values;
}

enum status task_add_trial(struct db_conn *conn, struct task *task, const struct new_trial *new, struct error *err)
{
    const struct space *space = &task->study.spec.space;
    const struct trial *trial = new->trial;
    bool                is_row = space->kind == SPACE_CANDIDATES;
    bool                is_possible =
        task_is_possible(space, trial, new->fixed) || (new->may_be_outside && task->study.spec.policy->takes_outside &&
                                                       trial->point != NULL &&space_reaches(space, trial->point));
    if (!is_possible)
        return task_impossible(task, trial, err);
    size_t                   bytes = is_row ? 0 : space_point_len(space) * sizeof *trial->point;
    const struct observation none = observation_none(), *item = new->end == NULL ? &none : new->end->item;
    const struct trial_told *from = &item->told;
    enum trial_state         state = new->end == NULL ? trial->state : new->end->state;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_ADD,
                BIND(TEXT(task->id), INT(trial->number), TEXT(trial_state_names[state]), BLOB(trial->point, bytes),
                     INT(is_row ? trial->row : (int64_t)-1), TEXT(trial->worker), INT(trial->lease_ms),
                     TEXT(trial->external_id), TEXT(trial->model.algorithm), TEXT(trial->model.fallback),
                     INT(trial->model.revision), INT(trial->model.observations), REAL(trial->model.mean),
                     REAL(trial->model.stddev), REAL(trial->model.compute_ms), BLOB(new->note, new->note_bytes),
                     INT(trial->created_ms), TEXT(trial->model.diagnostics), INT(trial->is_imported),
                     REAL(trial->model.stddev_observed), BLOB(new->asked, new->asked_len * sizeof *new->asked),
                     INT(new->end == NULL ? 0 : task->now_ms), BLOB(item->values, values_bytes(task, item)),
                     INT(new->end != NULL &&new->end->is_feasible), INT(new->ended), TRIAL_RESULT(SAVE))));
    task_count(task, TRIAL_STATE_COUNT, trial->state);
    return add_line(conn, task, EVENT(.kind = new->kind, .trial = trial->number, .is_followed = new->end != NULL), err);
}

enum status task_finish_trial(struct db_conn *conn, struct task *task, const struct trial *trial,
                              const struct trial_end *end, struct error *err)
{
    const struct observation *item = end->item;
    const struct trial_told  *from = &item->told;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_FINISH,
                BIND(TEXT(task->id), INT(trial->number), TEXT(trial_state_names[end->state]), TEXT(item->external_id),
                     INT(task->now_ms), BLOB(item->values, values_bytes(task, item)), INT(end->is_feasible),
                     INT(task->study.revision + 1), TRIAL_RESULT(SAVE))));
    return task_log_end(conn, task, trial, end, err);
}

enum status task_log_end(struct db_conn *conn, struct task *task, const struct trial *trial,
                         const struct trial_end *end, struct error *err)
{
    task_count(task, trial->state, end->state);
    tally_end(task, trial, end);
    return task_log(conn, task, end->kind, trial->number, end->item->reason, err);
}

enum status task_find_best(struct db_conn *conn, struct task *task, struct error *err)
{
    struct study  *study = &task->study;
    struct db_rows rows;
    if (study->spec.objectives > 1)
        return STATUS_OK;
    const struct spec_order order = spec_order(&study->spec);
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_BEST,
                BIND(TEXT(study->id), REAL(order.sign), REAL(order.low), REAL(order.high))));
    const struct row_best *row = row_best(&rows);
    study->best_trial = row == NULL ? 0 : row->number;
    study->best_value = row == NULL ? (double)NAN : row->value;
    TRY(tally_best(conn, task, err));
    TRY(sparkline_redo(conn, study->id, &order, err));
    return db_exec(conn, NULL, err, SQL_STUDY_BEST,
                   BIND(TEXT(study->id), INT(study->best_trial), REAL(study->best_value)));
}

enum status task_say(struct db_conn *conn, struct task *task, struct trial *trial, const char *patch, struct error *err)
{
    if (patch == NULL)
        return STATUS_OK;
    double before_seconds = trial->said.duration_seconds;
    TRY(codec_annotations_merge(&trial->said, patch, task->caller->arena, err));
    tally_annotated(task, trial, before_seconds);
    const struct trial_annotations *from = &trial->said;
    return db_exec(conn, NULL, err, SQL_TRIAL_SAY, BIND(TRIAL_ANNOTATIONS(SAVE) TEXT(task->id), INT(trial->number)));
}
