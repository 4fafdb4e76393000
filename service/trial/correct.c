/* See correct.h.  A session finds in the log that something was corrected after what it knows, and begins anew. */
#include "service/trial/correct.h"

#include "service/codec/codec_trial.h"
#include "service/store/judge.h"
#include "service/store/rows.h"
#include "service/store/tally.h"
#include "service/trial/observe.h"

struct work {
    struct task                   task;
    const struct correct_request *request;
    struct trial                 *trial;
};

static enum trial_state state_of(enum outcome outcome)
{
    return outcome == OUTCOME_VALUE        ? TRIAL_COMPLETED
           : outcome == OUTCOME_INFEASIBLE ? TRIAL_INFEASIBLE
           : outcome == OUTCOME_RETRACTED  ? TRIAL_RETRACTED
                                           : TRIAL_FAILED;
}

static enum status is_final(struct error *err, const char *why)
{
    return error_set(err, STATUS_CONFLICT, "results_are_final", "", "%s", why);
}

static size_t steps_of(const struct spec *spec, const double *values)
{
    return values == NULL ? 0 : graph_point_steps(values, space_point_len(&spec->space));
}

/* The agent stands where its trials took it, and the next one began there. */
static enum status check_graph(const struct work *work, struct error *err)
{
    const struct spec        *spec = &work->task.study.spec;
    const struct observation *result = &work->request->result;
    if (spec->space.kind != SPACE_GRAPH)
        return STATUS_OK;
    if (result->outcome != OUTCOME_VALUE || work->trial->state != TRIAL_COMPLETED)
        return is_final(err,
                        "the agent went where this trial took it: only the values that it measured can be corrected");
    size_t measured = steps_of(spec, work->trial->values);
    if (steps_of(spec, result->values) != measured)
        return error_set(err, STATUS_INVALID, "wrong_length", "/values", "%zu sites were measured", measured);
    return STATUS_OK;
}

static enum status check(const struct work *work, struct error *err)
{
    const struct spec  *spec = &work->task.study.spec;
    const struct trial *trial = work->trial;
    if (spec->is_private)
        return is_final(err, "what the curator of a private study answered has been paid for, and stays in its ledger");
    if (spec->federation != NULL)
        return is_final(err, "messages to the federation were made of it, and cannot be called back");
    if (trial->state == TRIAL_QUEUED || trial->state == TRIAL_RUNNING)
        return error_set(err, STATUS_CONFLICT, "trial_not_finished", "",
                         "trial %lld is %s: it has no result yet, and may be abandoned", (long long)trial->number,
                         trial_state_names[trial->state]);
    if (trial->state == TRIAL_ABANDONED && work->request->result.outcome == OUTCOME_RETRACTED)
        return rows_refuse(trial, "trial_abandoned", err);
    return check_graph(work, err);
}

/* Keeps the former result, for whoever wants to know what a suggestion was made of. */
static enum status keep_former(struct db_conn *conn, const struct work *work, struct error *err)
{
    const struct trial *trial = work->trial;
    size_t bytes = trial->values == NULL ? 0 : spec_values_len(&work->task.study.spec) * sizeof *trial->values;
    const struct trial_told *from = &trial->told;
    return db_exec(conn, NULL, err, SQL_CORRECTION_ADD,
                   BIND(TEXT(work->task.id), INT(trial->number), INT(work->task.study.revision + 1), INT(trial->ended),
                        INT(work->task.now_ms), TEXT(trial_state_names[trial->state]),
                        TEXT(work->task.caller->token_id), TEXT(work->request->why),
                        TRIAL_RESULT(SAVE) BLOB(trial->values, bytes)));
}

/* Imported results that count as results. */
static void count_imported(struct study *study, const struct trial *trial, int by)
{
    bool counts = trial->state == TRIAL_COMPLETED || trial->state == TRIAL_INFEASIBLE || trial->state == TRIAL_STOPPED;
    study->imported += trial->is_imported && counts ? by : 0;
}

static enum status write_result(struct db_conn *conn, struct work *work, struct error *err)
{
    const struct observation *result = &work->request->result;
    const struct spec        *spec = &work->task.study.spec;
    struct trial             *trial = work->trial;
    const struct trial_told  *from = &trial->told;
    enum trial_state          before = trial->state;
    bool is_feasible = result->outcome == OUTCOME_VALUE && spec_is_feasible(spec, result->values) &&
                       !codec_is_outside(spec, trial->point);
    size_t bytes = result->values == NULL ? 0 : spec_values_len(spec) * sizeof *result->values;
    count_imported(&work->task.study, trial, -1);
    trial->state = state_of(result->outcome);
    trial->value = result->value;
    trial->stddev = result->stddev;
    trial->values = result->values;
    trial->reason = result->outcome == OUTCOME_VALUE ? NULL : work->request->why;
    count_imported(&work->task.study, trial, 1);
    task_count(&work->task, before, trial->state);
    return db_exec(conn, NULL, err, SQL_TRIAL_CORRECT,
                   BIND(TEXT(work->task.id), INT(trial->number), TEXT(trial_state_names[trial->state]),
                        BLOB(result->values, bytes), INT(is_feasible), INT(trial->corrected_ms), TRIAL_RESULT(SAVE)));
}

/* A correction does not reopen a completed study: its user may.  has_changed: other trials are judged otherwise. */
static enum status complete(struct db_conn *conn, struct work *work, bool has_changed, struct error *err)
{
    const struct study *study = &work->task.study;
    bool                is_open = study->state == STUDY_ACTIVE || study->state == STUDY_PAUSED;
    bool                is_new = study->best_trial == work->trial->number || has_changed;
    bool                has_reached = is_open && study->best_trial != 0 && is_new &&
                       spec_is_beyond(&study->spec, study->best_value, study->rules.better_than);
    if (has_reached)
        return task_set_state(conn, &work->task, STUDY_COMPLETED, "target_reached", "study.completed", err);
    return task_complete_if_spent(conn, &work->task, err);
}

/* Whether only recorded metrics change: no model knew them, so none begins anew. */
static bool is_aside(const struct work *work)
{
    const struct spec *spec = &work->task.study.spec;
    struct spec        modelled = *spec;
    struct trial       was = *work->trial;
    struct observation is = work->request->result;
    if (spec->tracked_len == 0)
        return false;
    modelled.tracked_len = 0;
    was.values = spec->metrics_len > 1 && was.state == TRIAL_COMPLETED ? was.values : NULL;
    is.values = spec->metrics_len > 1 && is.outcome == OUTCOME_VALUE ? is.values : NULL;
    return trial_has_result(&modelled, &was, &is);
}

static enum status correct_aside(struct db_conn *conn, struct work *work, struct error *err)
{
    const struct trial before = *work->trial;
    TRY(write_result(conn, work, err));
    TRY(task_log(conn, &work->task, "trial.edited", work->trial->number, work->request->why, err));
    TRY(tally_correct(conn, &work->task, &before, work->trial, err));
    TRY(task_complete_if_spent(conn, &work->task, err));
    TRY(rows_curve(conn, &work->task, work->trial, err));
    return task_save(conn, &work->task, err);
}

static enum status correct(struct db_conn *conn, void *arg, struct error *err)
{
    struct work              *work = arg;
    const struct observation *result = &work->request->result;
    bool                      is_retracted = result->outcome == OUTCOME_RETRACTED;
    struct trial              before;
    TRY(task_open(conn, &work->task, err));
    TRY(caller_same_metrics(work->task.caller, spec_metrics_all(&work->task.study.spec), err));
    TRY(rows_trial_get(conn, &work->task, result->trial, work->trial, err));
    TRY(check(work, err));
    if (trial_has_result(&work->task.study.spec, work->trial, result))
        return rows_curve(conn, &work->task, work->trial, err);
    if (is_aside(work))
        return correct_aside(conn, work, err);
    before = *work->trial;
    TRY(keep_former(conn, work, err));
    work->trial->corrected_ms = work->task.now_ms;
    TRY(write_result(conn, work, err));
    TRY(task_log(conn, &work->task, is_retracted ? "trial.retracted" : "trial.corrected", result->trial,
                 work->request->why, err));
    bool has_changed = false;
    if (spec_is_baseline(&work->task.study.spec, result->trial))
        TRY(judge_all(conn, &work->task, &has_changed, err));
    TRY(task_find_best(conn, &work->task, err));
    TRY(tally_correct(conn, &work->task, &before, work->trial, err));
    TRY(complete(conn, work, has_changed, err));
    TRY(rows_curve(conn, &work->task, work->trial, err));
    return task_save(conn, &work->task, err);
}

enum status trial_correct(struct app *app, struct caller *caller, const char *id, const struct correct_request *request,
                          struct trial *out, struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .request = request, .trial = out};
    return task_write(&work.task, correct, err);
}
