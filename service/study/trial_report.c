/* report: what was measured of a running trial comes in, and the study's stopping rule answers in the same call.
 * The judgement is made before the transaction, on the log as it was, under the session's lock; the transaction checks
 * that the trial has not changed since, or all of it is done again.  Nothing is told to the session here: the next
 * catch-up reads the measurement from the log. */
#include "service/app/app_transact.h"
#include "service/app/slots.h"
#include "service/app/study_cache.h"
#include "service/base/text.h"
#include "service/store/rows.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/study/study.h"
#include "service/study/trial_report.h"

#include <math.h>
#include <string.h>

enum { ATTEMPTS = 5 };

struct report {
    struct app                  *app;
    struct caller               *caller;
    const char                  *id;
    const struct report_request *request;
    struct report_reply         *out;
    struct live                 *live;
    struct trial                 trial;
    int64_t                      last;      /* step that was reported before, 0: none */
    bool                         is_repeat; /* out is the answer that was given */
    struct verdict              *verdict;
    int64_t                      now_ms;
};

/* ---- before the judgement ---- */

static enum status find_repeat(struct db_conn *conn, struct report *work, struct error *err)
{
    const struct report_request *request = work->request;
    struct db_rows               rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_MEASUREMENT_GET,
                BIND(TEXT(work->id), INT(request->held.number), INT(work->trial.lease), INT(request->step))));
    const struct row_verdict *row = row_verdict(&rows);
    work->is_repeat = row != NULL && row->value == request->value;
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
                BIND(TEXT(work->id), INT(work->trial.number), INT(work->trial.lease))));
    *last = row_step(&rows)->step;
    return STATUS_OK;
}

static enum status check_running(const struct trial *trial, struct error *err)
{
    if (trial->state == TRIAL_RUNNING)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "trial_not_running", "", "trial %lld is %s", (long long)trial->number,
                     trial_state_names[trial->state]);
}

/* A repeat of the report that stopped the trial is answered: its first answer may have been lost. */
static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct report *work = arg;
    TRY(rows_trial_get(conn, work->id, work->request->held.number, work->caller->arena, &work->trial, err));
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
    const struct measurement measurement = {.trial = (uint64_t)work->request->held.number,
                                            .step = (size_t)work->request->step,
                                            .value = spec_sign(spec) * work->request->value};
    TRY(slots_enter(work->app->compute, work->app, work->caller, err));
    enum status status = spec->stopping.kind == STOP_RULE_OWN
                             ? spec->policy->judge(work->live->session, &measurement, work->verdict, err)
                             : stop_rule_judge(&spec->stopping, &work->live->curves, &measurement, work->verdict,
                                               work->caller->arena, err);
    slots_leave(work->app->compute);
    *work->out = (struct report_reply){
        .stop = work->verdict->stop, .reason = work->verdict->reason, .next_step = (int64_t)work->verdict->next_step};
    return status;
}

/* ---- the transaction ---- */

static enum status log_report(struct db_conn *conn, struct report *work, struct study *study, const char *kind,
                              const char *detail, struct error *err)
{
    struct change change = {.kind = kind,
                            .actor = work->caller->token_id,
                            .detail = detail,
                            .trial = work->request->held.number,
                            .at_ms = work->now_ms};
    return rows_log(conn, study, &change, err);
}

static enum status add_measurement(struct db_conn *conn, struct report *work, struct study *study, struct error *err)
{
    const struct report_request *request = work->request;
    const struct verdict        *verdict = work->verdict;
    const char                  *detail = text_format(work->caller->arena, "step %lld", (long long)request->step);
    if (detail == NULL)
        return error_no_memory(err);
    TRY(log_report(conn, work, study, "trial.measured", detail, err));
    return db_exec(conn, NULL, err, SQL_MEASUREMENT_ADD,
                   BIND(TEXT(work->id), INT(request->held.number), INT(work->trial.lease), INT(request->step),
                        REAL(request->value), INT(study->revision), INT(work->now_ms), INT(verdict->stop),
                        TEXT(verdict->reason), INT((int64_t)verdict->next_step),
                        BLOB(verdict->note_bytes == 0 ? NULL : verdict->note, verdict->note_bytes)));
}

static enum status stop(struct db_conn *conn, struct report *work, struct study *study, struct error *err)
{
    const char        *reason = work->verdict->reason;
    struct observation last = observation_none();
    last.value = work->request->value;
    last.reason = reason;
    const struct trial_end end = {.item = &last, .state = TRIAL_STOPPED, .at_ms = work->now_ms};
    TRY(rows_trial_finish(conn, work->id, work->request->held.number, &end, err));
    rows_count(study, TRIAL_RUNNING, TRIAL_STOPPED);
    TRY(log_report(conn, work, study, "trial.stopped", reason, err));
    return rows_complete_if_spent(conn, study, work->caller->token_id, work->now_ms, err);
}

static enum status write(struct db_conn *conn, void *arg, struct error *err)
{
    struct report *work = arg;
    struct study   study;
    struct trial   trial;
    int64_t        last;
    TRY(rows_study_get(conn, work->id, work->caller->arena, &study, err));
    TRY(rows_trial_get(conn, work->id, work->request->held.number, work->caller->arena, &trial, err));
    TRY(find_last(conn, work, &last, err));
    if (trial.state != TRIAL_RUNNING || trial.lease != work->trial.lease || last != work->last)
        return error_set(err, STATUS_BUSY, "busy", "", "the trial changes: report again");
    TRY(add_measurement(conn, work, &study, err));
    if (work->verdict->stop)
        TRY(stop(conn, work, &study, err));
    else
        TRY(db_exec(conn, NULL, err, SQL_TRIAL_LEASE,
                    BIND(TEXT(work->id), INT(work->request->held.number),
                         INT(steady_ms(work->app) + work->live->spec.lease_ms))));
    return rows_study_save(conn, &study, work->now_ms, err);
}

/* What a repeat with an idempotency key stores. */
static enum status write_nothing(struct db_conn *conn, void *arg, struct error *err)
{
    (void)conn, (void)arg, (void)err;
    return STATUS_OK;
}

/* Under the session's lock. */
static enum status report_once(struct report *work, struct error *err)
{
    TRY(session_catch_up(work->app, work->caller, work->app->compute, work->live, err));
    TRY(check_step(work->live, work->request, err));
    TRY(db_read(work->app->db, look, work, err));
    if (work->is_repeat)
        return app_transact(work->app, work->caller, write_nothing, work, err);
    TRY(judge(work, err));
    work->now_ms = work->app->now_ms();
    return app_transact(work->app, work->caller, write, work, err);
}

enum status trial_report(struct app *app, struct caller *caller, const char *id, const struct report_request *request,
                         struct report_reply *out, struct error *err)
{
    struct report work = {.app = app, .caller = caller, .id = id, .request = request, .out = out};
    struct study  study;
    *out = (struct report_reply){.reason = ""};
    TRY(caller_sees(caller, "study", id, err));
    TRY(app_replay(app, caller, err));
    if (caller->idempotency.replayed)
        return STATUS_OK;
    TRY(study_find(app, caller, id, &study, err)); // no entry of the cache for what is not there
    work.verdict = ARENA_NEW(caller->arena, struct verdict, 1);
    if (work.verdict == NULL)
        return error_no_memory(err);
    TRY(session_lock(app, id, SESSION_ALONE, &work.live, err));
    enum status status = STATUS_BUSY;
    for (int i = 0; i < ATTEMPTS && status == STATUS_BUSY; i++)
        status = report_once(&work, err);
    session_unlock(app, work.live);
    if (status == STATUS_OK && !work.is_repeat)
        study_cache_forget(app, id);
    return status;
}
