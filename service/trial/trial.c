/* Use cases around suggest and observe: trials found, listed, queued, kept alive, given up; history and prediction. */
#include "service/trial/trial.h"

#include "service/app/app_transact.h"
#include "service/base/text.h"
#include "service/codec/codec_trial.h"
#include "service/store/rows.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/study/study.h"
#include "service/suggest/visits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct work {
    struct task                 task;
    struct held_trial           held;
    const char                 *reason, *patch;
    bool                        requeues;
    const struct queue_request *request;
    int64_t                     limit;
    const char                 *cursor;
    struct trial               *trial;
    struct trial_page          *page;
    struct history_page        *history;
};

/* ---- reading ---- */

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->held.number, work->trial, err));
    return rows_curve(conn, &work->task, work->trial, err);
}

static enum status find_best(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    *work->trial = (struct trial){0};
    TRY(task_open(conn, &work->task, err));
    work->held.number = work->task.study.best_trial;
    return work->held.number == 0 ? STATUS_OK : find(conn, work, err);
}

enum status trial_best(struct app *app, struct caller *caller, const char *id, struct study *study, struct trial *out,
                       struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .trial = out};
    TRY(task_read(&work.task, find_best, err));
    *study = work.task.study;
    return STATUS_OK;
}

enum status trial_find(struct app *app, struct caller *caller, const char *id, int64_t number, struct trial *out,
                       struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .held.number = number, .trial = out};
    return task_read(&work.task, find, err);
}

/* Where a page of the history ended, and the best value until then: the page after it need not look back.  Exactly. */
struct past {
    int64_t seq;
    double  best; /* signed so that more is better; NaN: none yet */
};

static enum status read_past(const char *cursor, struct past *past, struct error *err)
{
    long long seq = 0;
    double    best = NAN;
    int       used = 0;
    if (cursor != NULL &&
        (sscanf(cursor, "%18lld:%40lf%n", &seq, &best, &used) != 2 || seq < 0 || cursor[used] != '\0'))
        return page_bad(err);
    *past = (struct past){.seq = seq, .best = best};
    return STATUS_OK;
}

static enum status write_past(struct arena *arena, const struct past *past, const char **cursor, struct error *err)
{
    *cursor = text_format(arena, "%lld:%a", (long long)past->seq, past->best);
    return *cursor == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status history(struct db_conn *conn, void *arg, struct error *err)
{
    struct work         *work = arg;
    struct history_page *out = work->history;
    struct past          past = {.best = NAN};
    *out = (struct history_page){0};
    TRY(task_open(conn, &work->task, err));
    TRY(read_past(work->cursor, &past, err));
    const struct spec *spec = &work->task.study.spec;
    double             sign = spec_sign(spec);
    bool               has_best = spec->objectives == 1;
    out->items = ARENA_NEW(work->task.caller->arena, struct history_item, (size_t)work->limit);
    if (out->items == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_TRIAL_HISTORY, BIND(TEXT(work->task.id), INT(past.seq), INT(work->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < work->limit) {
        const struct row_history *row = row_history(&rows);
        past.seq = row->seq;
        if (row->feasible && !(spec_worth(spec, sign * past.best) >= spec_worth(spec, row->value)))
            past.best = sign * row->value;
        out->items[out->len++] = (struct history_item){
            .trial = row->trial, .at_ms = row->at_ms, .value = row->value, .best = has_best ? sign * past.best : NAN};
    }
    if (rows.has_row)
        rows.status = write_past(work->task.caller->arena, &past, &out->next_cursor, err);
    return db_done(&rows);
}

enum status trial_history(struct app *app, struct caller *caller, const char *id, const struct page *page,
                          struct history_page *out, struct error *err)
{
    struct work work = {
        .task = task_of(app, caller, id), .limit = page_limit(page->limit), .cursor = page->cursor, .history = out};
    return task_read(&work.task, history, err);
}

/* ---- changing one trial ---- */

static enum status heartbeat(struct db_conn *conn, void *arg, struct error *err)
{
    struct work  *work = arg;
    struct trial *trial = work->trial;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->held.number, trial, err));
    TRY(rows_check_lease(trial, work->held.lease, true, err));
    if (trial->state != TRIAL_RUNNING)
        return rows_refuse(trial, "trial_not_running", err);
    trial->lease_ms = steady_ms(work->task.app) + work->task.study.rules.lease_ms;
    return db_exec(conn, NULL, err, SQL_TRIAL_LEASE,
                   BIND(TEXT(work->task.id), INT(trial->number), INT(trial->lease_ms)));
}

/* A heartbeat changes nothing that is shown of the study. */
enum status trial_heartbeat(struct app *app, struct caller *caller, const char *id, struct held_trial held,
                            struct trial *out, struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .held = held, .trial = out};
    TRY(caller_sees(caller, "study", id, err));
    return app_transact(app, caller, heartbeat, &work, err);
}

/* Gives up a trial of this request, in whatever state it is found. */
static enum status give_up(struct db_conn *conn, struct work *work, struct error *err)
{
    struct trial      *trial = work->trial;
    struct observation given_up = observation_none();
    given_up.reason = work->reason;
    const struct trial_end end = {.item = &given_up, .state = TRIAL_ABANDONED, .kind = "trial.abandoned"};
    TRY(task_finish_trial(conn, &work->task, trial, &end, err));
    trial->state = TRIAL_ABANDONED;
    trial->reason = work->reason;
    trial->finished_ms = work->task.now_ms;
    trial->lease_ms = 0;
    return STATUS_OK;
}

/* Reopens a study that was completed because its space was exhausted: a retried trial is left. */
static enum status reopen_for_retry(struct db_conn *conn, struct work *work, struct error *err)
{
    struct study *study = &work->task.study;
    bool          was_searched = study->state == STUDY_COMPLETED && study->reason != NULL &&
                        strcmp(study->reason, "search_space_exhausted") == 0;
    if (study->state == STUDY_ACTIVE || study->state == STUDY_PAUSED)
        return STATUS_OK;
    if (!was_searched)
        return study_refuse(study, err);
    return task_set_state(conn, &work->task, STUDY_ACTIVE, NULL, "study.reopened", err);
}

static enum status check_retry(struct db_conn *conn, struct work *work, struct error *err)
{
    struct trial *trial = work->trial;
    if (trial->state != TRIAL_FAILED && trial->state != TRIAL_ABANDONED)
        return rows_refuse(trial, "trial_not_failed", err);
    if (trial->corrected_ms > 0)
        return error_set(err, STATUS_CONFLICT, "trial_corrected", "",
                         "trial %lld was corrected: measure it again, and correct it to that",
                         (long long)trial->number);
    if (codec_is_outside(&work->task.study.spec, trial->point))
        return error_set(err, STATUS_CONFLICT, "trial_outside", "",
                         "trial %lld lies outside the space, where nothing is tried: observe its point again",
                         (long long)trial->number);
    if (work->task.study.spec.space.kind == SPACE_GRAPH)
        return error_set(err, STATUS_INVALID, "wrong_space", "",
                         "the agent has moved on and cannot go back to a trial");
    TRY(rows_curve(conn, &work->task, trial, err));
    if (trial->curve_len > 0)
        return error_set(err, STATUS_CONFLICT, "trial_has_curve", "",
                         "trial %lld has measurements, which stay as they are: queue its point as a new trial",
                         (long long)work->held.number);
    if (task_allowance(&work->task) == 0)
        return error_set(err, STATUS_CONFLICT, "budget_exhausted", "", "the budget has no trial left: raise it");
    return STATUS_OK;
}

static enum status queue_again(struct db_conn *conn, struct work *work, struct error *err)
{
    struct trial *trial = work->trial;
    TRY(check_retry(conn, work, err));
    TRY(reopen_for_retry(conn, work, err));
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_RETRY, BIND(TEXT(work->task.id), INT(trial->number))));
    task_count(&work->task, trial->state, TRIAL_QUEUED);
    trial->state = TRIAL_QUEUED;
    trial->worker = "";
    trial->reason = NULL;
    trial->started_ms = trial->finished_ms = 0;
    trial->said.duration_seconds = NAN;
    return task_log(conn, &work->task, "trial.retried", trial->number, NULL, err);
}

static enum status retry(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->held.number, work->trial, err));
    TRY(queue_again(conn, work, err));
    return task_save(conn, &work->task, err);
}

enum status trial_retry(struct app *app, struct caller *caller, const char *id, int64_t number, struct trial *out,
                        struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .held.number = number, .trial = out};
    return task_write(&work.task, retry, err);
}

/* Where retry is refused, the trial stays abandoned: whoever gives it back has no use for the refusal. */
static enum status give_back(struct db_conn *conn, struct work *work, struct error *err)
{
    struct error refused = {0};
    TRY(give_up(conn, work, err));
    enum status status = queue_again(conn, work, &refused);
    if (status == STATUS_OK || status == STATUS_CONFLICT || status == STATUS_INVALID)
        return STATUS_OK;
    *err = refused;
    return status;
}

static enum status abandon(struct db_conn *conn, void *arg, struct error *err)
{
    struct work  *work = arg;
    struct trial *trial = work->trial;
    bool          again = work->requeues;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->held.number, trial, err));
    TRY(rows_check_lease(trial, work->held.lease, trial->state == TRIAL_RUNNING || (work->held.lease > 0 && !again),
                         err));
    if (again && (trial->state == TRIAL_QUEUED || trial->state == TRIAL_ABANDONED))
        return STATUS_OK; // it was given back, or nobody waits for it
    if (trial->state != TRIAL_RUNNING && trial->state != TRIAL_QUEUED)
        return rows_refuse(trial, "trial_finished", err);
    TRY(again ? give_back(conn, work, err) : give_up(conn, work, err));
    TRY(task_complete_if_spent(conn, &work->task, err));
    return task_save(conn, &work->task, err);
}

enum status trial_abandon(struct app *app, struct caller *caller, const char *id, const struct abandon_request *request,
                          struct trial *out, struct error *err)
{
    struct work work = {.task = task_of(app, caller, id),
                        .held = request->held,
                        .trial = out,
                        .reason = request->reason,
                        .requeues = request->requeues};
    return task_write(&work.task, abandon, err);
}

static enum status edit(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->held.number, work->trial, err));
    TRY(rows_curve(conn, &work->task, work->trial, err));
    if (work->patch == NULL)
        return STATUS_OK;
    TRY(task_say(conn, &work->task, work->trial, work->patch, err));
    TRY(task_log(conn, &work->task, "trial.edited", work->held.number, NULL, err));
    TRY(task_complete_if_spent(conn, &work->task, err));
    return task_save(conn, &work->task, err);
}

enum status trial_edit(struct app *app, struct caller *caller, const char *id, const struct edit_request *request,
                       struct trial *out, struct error *err)
{
    struct work work = {
        .task = task_of(app, caller, id), .held.number = request->number, .trial = out, .patch = request->patch};
    TRY(task_write(&work.task, edit, err));
    db_tidy(app->db);
    return STATUS_OK;
}

/* ---- queueing ---- */

static enum status queue_one(struct db_conn *conn, struct work *work, size_t i, struct error *err)
{
    size_t        p = space_point_len(&work->task.study.spec.space);
    struct trial *trial = &work->page->trials[i];
    char          path[40];
    snprintf(path, sizeof path, "/%s/%zu", work->request->rows != NULL ? "candidates" : "macro_actions", i);
    if (work->request->rows != NULL)
        TRY(rows_check_row(conn, &work->task.study, work->request->rows[i], path, err));
    else
        TRY(visits_check(conn, &work->task, work->request->points + i * p, path, err));
    *trial = trial_none();
    trial->number = work->task.study.trials_total + 1;
    trial->state = TRIAL_QUEUED;
    trial->point = work->request->points == NULL ? NULL : work->request->points + i * p;
    trial->row = work->request->rows == NULL ? -1 : work->request->rows[i];
    trial->created_ms = work->task.now_ms;
    TRY(task_add_trial(conn, &work->task, &(struct new_trial){.trial = trial, .kind = "trial.queued"}, err));
    return task_say(conn, &work->task, trial, work->request->said, err);
}

static enum status queue(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(task_open(conn, &work->task, err));
    if (work->task.study.spec.is_private)
        return error_set(err, STATUS_INVALID, "private_study", "", "the points of a private study cannot be named");
    if (work->task.study.state != STUDY_ACTIVE && work->task.study.state != STUDY_PAUSED)
        return study_refuse(&work->task.study, err);
    work->page->trials = ARENA_NEW(work->task.caller->arena, struct trial, work->request->len);
    if (work->page->trials == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < work->request->len; i++)
        TRY(queue_one(conn, work, i, err));
    work->page->len = work->request->len;
    return task_save(conn, &work->task, err);
}

enum status trial_queue(struct app *app, struct caller *caller, const char *id, const struct queue_request *request,
                        struct trial_page *out, struct error *err)
{
    struct work  work = {.task = task_of(app, caller, id), .request = request, .page = out};
    struct live *live;
    *out = (struct trial_page){0};
    TRY(study_find(app, caller, id, &work.task.study, err));        // no entry of the cache for what is not there
    TRY(session_lock(app, caller, id, SESSION_SHARED, &live, err)); // it creates trials: see session.h
    enum status status = task_write(&work.task, queue, err);
    session_unlock(app, live);
    return status;
}
