/* What surrounds suggest and observe: trials found, listed, queued, kept alive, given up; history and prediction. */
#include "service/study/trial.h"

#include "service/app/app_transact.h"
#include "service/app/slots.h"
#include "service/app/study_cache.h"
#include "service/base/text.h"
#include "service/store/rows.h"
#include "service/store/spec_cache.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/study/study.h"
#include "service/study/visits.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One piece of work on a study: what every transaction here needs, and the argument of some. */
struct task {
    struct app                 *app;
    struct caller              *caller;
    const char                 *id;
    struct study                study;
    int64_t                     now_ms;
    struct held_trial           held;
    const char                 *reason;
    const struct queue_request *request;
    const struct trial_filter  *filter;
    int64_t                     after, limit; /* cursor */
    struct trial               *trial;
    struct trial_page          *page;
    struct history_page        *history;
};

static enum status load_study(struct db_conn *conn, struct task *task, struct error *err)
{
    return spec_cache_study(task->app, conn, task->id, task->caller->arena, &task->study, err);
}

/* ---- reading ---- */

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(load_study(conn, task, err));
    TRY(rows_trial_get(conn, task->id, task->held.number, task->caller->arena, task->trial, err));
    return rows_curve(conn, task->id, task->caller->arena, task->trial, err);
}

static enum status find_best(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    *task->trial = (struct trial){0};
    TRY(load_study(conn, task, err));
    task->held.number = task->study.best_trial;
    if (task->held.number == 0)
        return STATUS_OK;
    TRY(rows_trial_get(conn, task->id, task->held.number, task->caller->arena, task->trial, err));
    return rows_curve(conn, task->id, task->caller->arena, task->trial, err);
}

enum status trial_best(struct app *app, struct caller *caller, const char *id, struct study *study, struct trial *out,
                       struct error *err)
{
    struct task task = {.app = app, .caller = caller, .id = id, .trial = out};
    TRY(caller_sees(caller, "study", id, err));
    TRY(db_read(app->db, find_best, &task, err));
    *study = task.study;
    return STATUS_OK;
}

enum status trial_find(struct app *app, struct caller *caller, const char *id, int64_t number, struct trial *out,
                       struct error *err)
{
    struct task task = {.app = app, .caller = caller, .id = id, .held.number = number, .trial = out};
    TRY(caller_sees(caller, "study", id, err));
    return db_read(app->db, find, &task, err);
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct task       *task = arg;
    struct trial_page *out = task->page;
    TRY(load_study(conn, task, err));
    if (task->limit > (int64_t)trial_points_max(&task->study.spec.space))
        task->limit = (int64_t)trial_points_max(&task->study.spec.space);
    const char *state = task->filter->state == NULL ? "" : task->filter->state;
    TRY(rows_trials(db_query(conn, task->caller->arena, err, SQL_TRIAL_LIST,
                             BIND(TEXT(task->id), INT(task->after), TEXT(state), INT(task->limit + 1))),
                    &out->trials, &out->len, err));
    for (size_t i = 0; i < out->len && task->filter->with_curves; i++)
        TRY(rows_curve(conn, task->id, task->caller->arena, &out->trials[i], err));
    if ((int64_t)out->len <= task->limit)
        return STATUS_OK;
    out->len = (size_t)task->limit;
    return page_next(task->caller->arena, out->trials[out->len - 1].number, &out->next_cursor, err);
}

enum status trial_list(struct app *app, struct caller *caller, const char *id, const struct trial_filter *filter,
                       struct trial_page *out, struct error *err)
{
    struct task task = {
        .app = app, .caller = caller, .id = id, .filter = filter, .limit = page_limit(filter->limit), .page = out};
    *out = (struct trial_page){0};
    TRY(caller_sees(caller, "study", id, err));
    TRY(page_after(filter->cursor, &task.after, err));
    return db_read(app->db, list, &task, err);
}

static enum status history(struct db_conn *conn, void *arg, struct error *err)
{
    struct task         *task = arg;
    struct history_page *out = task->history;
    TRY(load_study(conn, task, err));
    double sign = spec_sign(&task->study.spec);
    bool   has_best = task->study.spec.objectives == 1;
    out->items = ARENA_NEW(task->caller->arena, struct history_item, (size_t)task->limit);
    if (out->items == NULL)
        return error_no_memory(err);
    int64_t        last = 0;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_HISTORY,
                                   BIND(TEXT(task->id), REAL(sign), INT(task->after), INT(task->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < task->limit) {
        const struct row_history *row = row_history(&rows);
        last = row->revision;
        out->items[out->len++] = (struct history_item){
            .trial = row->trial, .at_ms = row->at_ms, .value = row->value, .best = has_best ? sign * row->best : NAN};
    }
    if (rows.has_row)
        rows.status = page_next(task->caller->arena, last, &out->next_cursor, err);
    return db_done(&rows);
}

enum status trial_history(struct app *app, struct caller *caller, const char *id, const struct page *page,
                          struct history_page *out, struct error *err)
{
    struct task task = {.app = app, .caller = caller, .id = id, .limit = page_limit(page->limit), .history = out};
    *out = (struct history_page){0};
    TRY(caller_sees(caller, "study", id, err));
    TRY(page_after(page->cursor, &task.after, err));
    return db_read(app->db, history, &task, err);
}

/* ---- changing one trial ---- */

static enum status heartbeat(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(load_study(conn, task, err));
    TRY(rows_trial_get(conn, task->id, task->held.number, task->caller->arena, task->trial, err));
    TRY(rows_check_lease(task->trial, task->held.lease, true, err));
    if (task->trial->state != TRIAL_RUNNING)
        return error_set(err, STATUS_CONFLICT, "trial_not_running", "", "trial %lld is %s",
                         (long long)task->held.number, trial_state_names[task->trial->state]);
    task->trial->lease_ms = steady_ms(task->app) + task->study.spec.lease_ms;
    return db_exec(conn, NULL, err, SQL_TRIAL_LEASE,
                   BIND(TEXT(task->id), INT(task->held.number), INT(task->trial->lease_ms)));
}

enum status trial_heartbeat(struct app *app, struct caller *caller, const char *id, struct held_trial held,
                            struct trial *out, struct error *err)
{
    struct task task = {.app = app, .caller = caller, .id = id, .held = held, .trial = out, .now_ms = app->now_ms()};
    TRY(caller_sees(caller, "study", id, err));
    return app_transact(app, caller, heartbeat, &task, err);
}

static enum status abandon(struct db_conn *conn, void *arg, struct error *err)
{
    struct task  *task = arg;
    struct trial *trial = task->trial;
    TRY(load_study(conn, task, err));
    TRY(rows_trial_get(conn, task->id, task->held.number, task->caller->arena, trial, err));
    TRY(rows_check_lease(trial, task->held.lease, trial->state == TRIAL_RUNNING || task->held.lease > 0, err));
    if (trial->state != TRIAL_RUNNING && trial->state != TRIAL_QUEUED)
        return error_set(err, STATUS_CONFLICT, "trial_finished", "", "trial %lld is %s", (long long)task->held.number,
                         trial_state_names[trial->state]);
    struct observation given_up = observation_none();
    given_up.reason = task->reason;
    const struct trial_end end = {.item = &given_up, .state = TRIAL_ABANDONED, .at_ms = task->now_ms};
    TRY(rows_trial_finish(conn, task->id, task->held.number, &end, err));
    rows_count(&task->study, trial->state, TRIAL_ABANDONED);
    trial->state = TRIAL_ABANDONED;
    trial->reason = task->reason;
    trial->finished_ms = task->now_ms;
    trial->lease_ms = 0;
    struct change change = {.kind = "trial.abandoned",
                            .actor = task->caller->token_id,
                            .detail = task->reason,
                            .trial = task->held.number,
                            .at_ms = task->now_ms};
    TRY(rows_log(conn, &task->study, &change, err));
    return rows_study_save(conn, &task->study, task->now_ms, err);
}

enum status trial_abandon(struct app *app, struct caller *caller, const char *id, const struct abandon_request *request,
                          struct trial *out, struct error *err)
{
    struct task task = {.app = app,
                        .caller = caller,
                        .id = id,
                        .held = request->held,
                        .trial = out,
                        .reason = request->reason,
                        .now_ms = app->now_ms()};
    TRY(caller_sees(caller, "study", id, err));
    TRY(app_transact(app, caller, abandon, &task, err));
    study_cache_forget(app, id);
    return STATUS_OK;
}

/* A space with nothing left completes its study; what is asked again was not all. */
static enum status reopen_for_retry(struct db_conn *conn, struct task *task, struct error *err)
{
    struct study *study = &task->study;
    bool          was_searched = study->state == STUDY_COMPLETED && study->reason != NULL &&
                        strcmp(study->reason, "search_space_exhausted") == 0;
    if (study->state == STUDY_ACTIVE || study->state == STUDY_PAUSED)
        return STATUS_OK;
    if (!was_searched)
        return study_refuse(study, err);
    study->state = STUDY_ACTIVE;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE,
                BIND(TEXT(study->id), TEXT(study_state_names[STUDY_ACTIVE]), TEXT(NULL), INT(task->now_ms))));
    struct change change = {
        .kind = "study.reopened", .actor = task->caller->token_id, .detail = NULL, .trial = 0, .at_ms = task->now_ms};
    return rows_log(conn, study, &change, err);
}

static enum status check_retry(struct db_conn *conn, struct task *task, struct error *err)
{
    struct trial *trial = task->trial;
    if (trial->state != TRIAL_FAILED && trial->state != TRIAL_ABANDONED)
        return error_set(err, STATUS_CONFLICT, "trial_not_failed", "", "trial %lld is %s", (long long)task->held.number,
                         trial_state_names[trial->state]);
    if (task->study.spec.space.kind == SPACE_GRAPH)
        return error_set(err, STATUS_CONFLICT, "wrong_space", "",
                         "the agent has moved on and cannot go back to a trial");
    TRY(rows_curve(conn, task->id, task->caller->arena, trial, err));
    if (trial->curve_len > 0)
        return error_set(err, STATUS_CONFLICT, "trial_has_curve", "",
                         "trial %lld has measurements, which stay as they are: queue its point as a new trial",
                         (long long)task->held.number);
    if (rows_allowance(&task->study) == 0)
        return error_set(err, STATUS_CONFLICT, "budget_exhausted", "", "the budget has no trial left: raise it");
    return STATUS_OK;
}

static enum status retry(struct db_conn *conn, void *arg, struct error *err)
{
    struct task  *task = arg;
    struct trial *trial = task->trial;
    TRY(load_study(conn, task, err));
    TRY(rows_trial_get(conn, task->id, task->held.number, task->caller->arena, trial, err));
    TRY(check_retry(conn, task, err));
    TRY(reopen_for_retry(conn, task, err));
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_RETRY, BIND(TEXT(task->id), INT(task->held.number))));
    rows_count(&task->study, trial->state, TRIAL_QUEUED);
    trial->state = TRIAL_QUEUED;
    trial->worker = "";
    trial->reason = NULL;
    trial->finished_ms = 0;
    struct change change = {.kind = "trial.retried",
                            .actor = task->caller->token_id,
                            .detail = NULL,
                            .trial = task->held.number,
                            .at_ms = task->now_ms};
    TRY(rows_log(conn, &task->study, &change, err));
    return rows_study_save(conn, &task->study, task->now_ms, err);
}

enum status trial_retry(struct app *app, struct caller *caller, const char *id, int64_t number, struct trial *out,
                        struct error *err)
{
    struct task task = {
        .app = app, .caller = caller, .id = id, .held.number = number, .trial = out, .now_ms = app->now_ms()};
    TRY(caller_sees(caller, "study", id, err));
    TRY(app_transact(app, caller, retry, &task, err));
    study_cache_forget(app, id);
    return STATUS_OK;
}

/* ---- queueing ---- */

static enum status queue_one(struct db_conn *conn, struct task *task, size_t i, struct error *err)
{
    size_t        p = space_point_len(&task->study.spec.space);
    struct trial *trial = &task->page->trials[i];
    char          path[40];
    snprintf(path, sizeof path, "/%s/%zu", task->request->rows != NULL ? "candidates" : "macro_actions", i);
    if (task->request->rows != NULL)
        TRY(rows_check_row(conn, &task->study, task->request->rows[i], path, err));
    else
        TRY(visits_check(conn, &task->study, task->request->points + i * p, path, task->caller->arena, err));
    *trial = trial_none();
    trial->number = task->study.trials_total + 1;
    trial->state = TRIAL_QUEUED;
    trial->point = task->request->points == NULL ? NULL : task->request->points + i * p;
    trial->row = task->request->rows == NULL ? -1 : task->request->rows[i];
    trial->created_ms = task->now_ms;
    TRY(rows_trial_add(conn, task->app, &task->study, &(struct new_trial){.trial = trial}, err));
    struct change change = {.kind = "trial.queued",
                            .actor = task->caller->token_id,
                            .detail = NULL,
                            .trial = trial->number,
                            .at_ms = task->now_ms};
    return rows_log(conn, &task->study, &change, err);
}

static enum status queue(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(load_study(conn, task, err));
    if (task->study.spec.is_private)
        return error_set(err, STATUS_INVALID, "private_study", "", "the points of a private study cannot be named");
    if (task->study.state != STUDY_ACTIVE && task->study.state != STUDY_PAUSED)
        return study_refuse(&task->study, err);
    task->page->trials = ARENA_NEW(task->caller->arena, struct trial, task->request->len);
    if (task->page->trials == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < task->request->len; i++)
        TRY(queue_one(conn, task, i, err));
    task->page->len = task->request->len;
    return rows_study_save(conn, &task->study, task->now_ms, err);
}

enum status trial_queue(struct app *app, struct caller *caller, const char *id, const struct queue_request *request,
                        struct trial_page *out, struct error *err)
{
    struct task task = {
        .app = app, .caller = caller, .id = id, .request = request, .page = out, .now_ms = app->now_ms()};
    struct live *live;
    *out = (struct trial_page){0};
    TRY(study_find(app, caller, id, &task.study, err));     // no entry of the cache for what is not there
    TRY(session_lock(app, id, SESSION_SHARED, &live, err)); // it creates trials: see session.h
    enum status status = app_transact(app, caller, queue, &task, err);
    session_unlock(app, live);
    study_cache_forget(app, id);
    return status;
}

/* ---- prediction ---- */

/* The model is of what is modelled: slacks of constraints, larger is better. */
static void show_predictions(const struct spec *spec, size_t len, struct predict_reply *out)
{
    for (size_t i = 0; i < len; i++) {
        if (out->feasible != NULL)
            out->feasible[i] = 0.5 * erfc(-out->mean[i] / (sqrt(2) * fmax(out->sd[i], DBL_MIN)));
        out->mean[i] = spec_shown(spec, out->metric, out->mean[i]);
    }
}

static enum status predict_locked(struct task *task, struct live *live, const struct predict_request *request,
                                  struct predict_reply *out, struct error *err)
{
    struct app *app = task->app;
    TRY(session_catch_up(app, task->caller, app->compute, live, err));
    const struct policy *policy = live->spec.policy;
    if (policy->predict == NULL)
        return error_set(err, STATUS_CONFLICT, "no_model", "", "the algorithm %s has no model", policy->name);
    const struct graph *graph = live->spec.space.graph; // may have prior observations
    if (live->observations == 0 && (graph == NULL || graph->prior_len == 0))
        return error_set(err, STATUS_CONFLICT, "no_observations", "", "there is nothing to predict from yet");
    TRY(slots_enter(app->compute, app, task->caller, err));
    if (policy->show != NULL)
        policy->show(live->session, out->metric);
    enum status status = policy->predict(
        live->session,
        &(struct prediction){
            .points = request->points, .rows = request->rows, .m = request->len, .mean = out->mean, .sd = out->sd},
        err);
    if (policy->show != NULL)
        policy->show(live->session, live->spec.first);
    slots_leave(app->compute);
    out->revision = live->revision;
    out->observations = live->observations;
    if (status == STATUS_OK)
        show_predictions(&live->spec, request->len, out);
    return status;
}

enum status trial_predict(struct app *app, struct caller *caller, const char *id, const struct predict_request *request,
                          struct predict_reply *out, struct error *err)
{
    struct task  task = {.app = app, .caller = caller, .id = id};
    struct live *live;
    TRY(study_find(app, caller, id, &task.study, err));
    *out = (struct predict_reply){.mean = ARENA_NEW(caller->arena, double, request->len),
                                  .sd = ARENA_NEW(caller->arena, double, request->len)};
    TRY(spec_find_metric(&task.study.spec, request->metric, &out->metric, err));
    bool is_constraint = task.study.spec.kinds[out->metric] == METRIC_CONSTRAINT;
    out->feasible = is_constraint ? ARENA_NEW(caller->arena, double, request->len) : NULL;
    if (out->mean == NULL || out->sd == NULL || (is_constraint && out->feasible == NULL))
        return error_no_memory(err);
    TRY(session_lock(app, id, SESSION_ALONE, &live, err));
    enum status status = predict_locked(&task, live, request, out, err);
    session_unlock(app, live);
    return status;
}
