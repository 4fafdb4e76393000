/* report: what was measured of a running trial comes in, and the study's stopping rule answers in the same call.
 * The judgement is made before the transaction, on the log as it was, under the session's lock; the transaction checks
 * that the trial has not changed since, or all of it is done again.  Nothing is told to the session here: the next
 * catch-up reads the measurement from the log. */
#include "service/app/app_transact.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/app/study_cache.h"
#include "service/store/rows.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/study/study.h"
#include "service/trial/trial_report.h"

#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 5 };

struct report {
    struct task                  task;
    const struct report_request *request;
    struct report_reply         *out;
    struct live                 *live;
    struct trial                 trial;
    const double                *values;    /* [metrics_len] of the request */
    int64_t                      last;      /* the last reported step, 0: none */
    bool                         is_repeat; /* out is the answer that was given */
    struct verdict              *verdict;
};

/* ---- before the judgement ---- */

static double value_of(const struct report *work)
{
    return work->values[work->live->spec.first];
}

/* The blob that is stored beside the value of the first objective. */
static struct db_blob blob_of(const struct report *work)
{
    size_t len = work->live->spec.metrics_len;
    return (struct db_blob){.bytes = len > 1 ? work->values : NULL, .length = len > 1 ? len * sizeof *work->values : 0};
}

static bool is_same(const struct report *work, const struct row_verdict *row)
{
    struct db_blob now = blob_of(work);
    return row->value == value_of(work) && row->outcome.length == now.length &&
           (now.length == 0 || memcmp(row->outcome.bytes, now.bytes, now.length) == 0);
}

static enum status find_repeat(struct db_conn *conn, struct report *work, struct error *err)
{
    const struct report_request *request = work->request;
    struct db_rows               rows;
    TRY(db_find(conn, work->task.caller->arena, &rows, err, SQL_MEASUREMENT_GET,
                BIND(TEXT(work->task.id), INT(request->held.number), INT(work->trial.lease), INT(request->step))));
    const struct row_verdict *row = row_verdict(&rows);
    work->is_repeat = row != NULL && is_same(work, row);
    if (row != NULL && !work->is_repeat)
        return error_set(err, STATUS_CONFLICT, "step_reported", "/step", "step %lld was reported with another value",
                         (long long)request->step);
    if (work->is_repeat)
        *work->out = (struct report_reply){.stop = row->stop != 0, .reason = row->reason, .next_step = row->next_step};
    return STATUS_OK;
}

static enum status find_last(struct db_conn *conn, struct report *work, int64_t *last, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_MEASUREMENT_LAST,
                BIND(TEXT(work->task.id), INT(work->trial.number), INT(work->trial.lease))));
    *last = row_step(&rows)->step;
    return STATUS_OK;
}

static enum status check_running(const struct trial *trial, struct error *err)
{
    return trial->state == TRIAL_RUNNING ? STATUS_OK : rows_refuse(trial, "trial_not_running", err);
}

/* A repeat of the report that stopped the trial is answered: its first answer may have been lost. */
static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct report *work = arg;
    TRY(rows_trial_get(conn, &work->task, work->request->held.number, &work->trial, err));
    TRY(rows_check_lease(&work->trial, work->request->held.lease, true, err));
    if (work->trial.state != TRIAL_STOPPED)
        TRY(check_running(&work->trial, err));
    TRY(find_repeat(conn, work, err));
    if (work->is_repeat)
        return STATUS_OK;
    TRY(check_running(&work->trial, err));
    TRY(find_last(conn, work, &work->last, err));
    if (work->request->step < work->last)
        return error_set(err, STATUS_CONFLICT, "step_out_of_order", "/step", "step %lld was reported before",
                         (long long)work->last);
    return STATUS_OK;
}

static enum status check_step(const struct live *live, const struct report_request *request, struct error *err)
{
    if (live->spec.stopping.kind == STOP_RULE_OFF)
        return error_set(err, STATUS_CONFLICT, "no_epochs", "", "the study has neither stopping nor epochs");
    if (request->step > (int64_t)live->spec.stopping.epochs)
        return error_set(err, STATUS_INVALID, "out_of_range", "/step", "must be within [1, %zu]",
                         live->spec.stopping.epochs);
    return STATUS_OK;
}

static enum status judge(struct report *work, struct error *err)
{
    const struct spec       *spec = &work->live->spec;
    double                   values[METRICS_MAX];
    const struct measurement measurement = {.trial = (uint64_t)work->request->held.number,
                                            .step = (size_t)work->request->step,
                                            .value = spec_sign(spec) * value_of(work),
                                            .values = spec_measured(spec, blob_of(work).bytes, values)};
    const struct price_model model = price_model_of(&work->task.study);
    double                   price_ms = price_judge(work->task.app, &model, (double)work->live->curves.len);
    TRY(slots_enter(work->task.app, work->task.caller, price_ms, err));
    enum status status = spec->stopping.kind == STOP_RULE_OWN
                             ? spec->policy->judge(work->live->streams.session, &measurement, work->verdict, err)
                             : stop_rule_judge(&spec->stopping, &work->live->curves, &measurement, work->verdict,
                                               work->task.caller->arena, err);
    price_learn_part(work->task.app, PRICE_JUDGE, price_ms,
                     slots_leave(work->task.app, work->task.caller, spec->policy->name));
    *work->out = (struct report_reply){
        .stop = work->verdict->stop, .reason = work->verdict->reason, .next_step = (int64_t)work->verdict->next_step};
    return status;
}

/* Warns for algorithms that know of curves between two ends only (error_of in engine/stopping/policy_bo_bos.c). */
static const char *warning_of(const struct spec *spec, double value)
{
    int low = policy_option(spec->policy, "curve_low"), high = policy_option(spec->policy, "curve_high");
    if (low >= 0 && value < spec->options[low])
        return "below_curve_low";
    return high >= 0 && value > spec->options[high] ? "above_curve_high" : NULL;
}

/* ---- the transaction ---- */

static enum status add_measurement(struct db_conn *conn, struct report *work, struct error *err)
{
    const struct report_request *request = work->request;
    const struct verdict        *verdict = work->verdict;
    const struct db_blob         outcome = blob_of(work);
    char                         detail[32];
    snprintf(detail, sizeof detail, "step %lld", (long long)request->step);
    TRY(task_log(conn, &work->task, "trial.measured", request->held.number, detail, err));
    return db_exec(conn, NULL, err, SQL_MEASUREMENT_ADD,
                   BIND(TEXT(work->task.id), INT(request->held.number), INT(work->trial.lease), INT(request->step),
                        REAL(value_of(work)), INT(work->task.study.revision), INT(work->task.now_ms),
                        INT(verdict->stop), TEXT(verdict->reason), INT((int64_t)verdict->next_step),
                        BLOB(verdict->note_bytes == 0 ? NULL : verdict->note, verdict->note_bytes),
                        INT(work->live->revision), BLOB(outcome.bytes, outcome.length)));
}

static enum status stop(struct db_conn *conn, struct report *work, const struct trial *trial, struct error *err)
{
    struct observation last = observation_none();
    last.value = value_of(work);
    TRY(spec_outcome(&work->live->spec, blob_of(work).bytes, work->task.caller->arena, &last.values, err));
    last.reason = work->verdict->reason;
    const struct trial_end end = {.item = &last, .state = TRIAL_STOPPED, .kind = "trial.stopped"};
    TRY(task_finish_trial(conn, &work->task, trial, &end, err));
    return task_complete_if_spent(conn, &work->task, err);
}

/* Sets the worker's next step: a run goes on for as long as the study wants values. */
static enum status say_next(struct db_conn *conn, struct report *work, struct error *err)
{
    bool goes_on = !work->out->stop && work->task.study.state != STUDY_COMPLETED;
    work->out->next = (struct next){.word = study_next_evaluate};
    return goes_on ? STATUS_OK : task_next(conn, &work->task, &work->out->next, err);
}

static enum status write(struct db_conn *conn, void *arg, struct error *err)
{
    struct report *work = arg;
    struct trial   trial;
    int64_t        last;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->request->held.number, &trial, err));
    TRY(find_last(conn, work, &last, err));
    if (trial.state != TRIAL_RUNNING || trial.lease != work->trial.lease || last != work->last)
        return error_set(err, STATUS_BUSY, "busy", "", "the trial changes: report again");
    TRY(add_measurement(conn, work, err));
    if (work->verdict->stop)
        TRY(stop(conn, work, &trial, err));
    else
        TRY(db_exec(conn, NULL, err, SQL_TRIAL_LEASE,
                    BIND(TEXT(work->task.id), INT(trial.number),
                         INT(steady_ms(work->task.app) + work->task.study.rules.lease_ms))));
    TRY(say_next(conn, work, err));
    return task_save(conn, &work->task, err);
}

/* A repeat stores nothing. */
static enum status answer_again(struct db_conn *conn, void *arg, struct error *err)
{
    struct report *work = arg;
    TRY(task_open(conn, &work->task, err));
    return say_next(conn, work, err);
}

/* Under the session's lock. */
static enum status report_once(struct report *work, struct error *err)
{
    TRY(session_catch_up(work->task.app, work->task.caller, &work->task.study, work->live, err));
    TRY(check_step(work->live, work->request, err));
    struct reading in = {
        .spec = &work->live->spec, .arena = work->task.caller->arena, .err = err, .problems = work->request->problems};
    TRY(codec_measured(&in, &work->request->given, "", &work->values));
    TRY(db_read(work->task.app->db, look, work, err));
    if (!work->is_repeat)
        TRY(judge(work, err));
    work->out->warning = warning_of(&work->live->spec, value_of(work));
    work->task.now_ms = work->task.app->now_ms();
    return app_transact(work->task.app, work->task.caller, work->is_repeat ? answer_again : write, work, err);
}

enum status trial_report(struct app *app, struct caller *caller, const char *id, const struct report_request *request,
                         struct report_reply *out, struct error *err)
{
    struct report work = {.task = task_of(app, caller, id), .request = request, .out = out};
    *out = (struct report_reply){.reason = ""};
    TRY(caller_sees(caller, "study", id, err));
    TRY(app_replay(app, caller, err));
    if (caller->idempotency.replayed)
        return STATUS_OK;
    TRY(study_find(app, caller, id, &work.task.study, err)); // no entry of the cache for what is not there
    work.verdict = ARENA_NEW(caller->arena, struct verdict, 1);
    if (work.verdict == NULL)
        return error_no_memory(err);
    TRY(session_lock(app, caller, id, SESSION_ALONE, &work.live, err));
    enum status status = STATUS_BUSY;
    for (int i = 0; i < ATTEMPTS && status == STATUS_BUSY; i++)
        status = report_once(&work, err);
    session_unlock(app, work.live);
    if (status == STATUS_OK && !work.is_repeat)
        study_cache_forget(app, id);
    return status;
}
