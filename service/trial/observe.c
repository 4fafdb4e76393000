/* observe: results come in, one or ten thousand, all or nothing.
 * A result names its trial, or brings a point of its own, which then becomes a trial that is finished at once.
 * The same result of a trial twice, by its number or external id, is accepted and counted as a duplicate; another value
 * for a finished trial is not.  Without either the same point twice is two measurements.
 * A late result counts, whoever has the trial now, unless it comes with the lease that was lost; a late failure
 * does not, also of a trial that is to be tried again, for it says something of the worker.
 * An import also brings trials without a result; see study_document.h for how it knows a trial again. */
#include "service/codec/codec_trial.h"
#include "service/store/judge.h"
#include "service/store/rows.h"
#include "service/store/sparkline.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/portable/study_document.h"
#include "service/suggest/visits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ERRORS_MAX = 100 };

struct batch {
    struct task                   task;
    const struct observe_request *request;
    struct observe_reply         *out;
    bool                          is_told;     /* the log says already where an import is from */
    bool                          has_reached; /* a value of this batch is what the study was to stop at */
};

// clang-format off
static const struct { enum trial_state state; const char *kind; } outcomes[] = {
    [OUTCOME_VALUE] = {TRIAL_COMPLETED, "trial.observed"},
    [OUTCOME_FAILED] = {TRIAL_FAILED, "trial.failed"},
    [OUTCOME_INFEASIBLE] = {TRIAL_INFEASIBLE, "trial.infeasible"},
    [OUTCOME_STOPPED] = {TRIAL_STOPPED, "trial.stopped"},
    [OUTCOME_ABANDONED] = {TRIAL_ABANDONED, "trial.abandoned"},
    [OUTCOME_RETRACTED] = {TRIAL_RETRACTED, "trial.retracted"},
    [OUTCOME_QUEUED] = {TRIAL_QUEUED, "trial.queued"},
};
// clang-format on

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_values(const struct spec *spec, const double *a, const double *b)
{
    bool same = (a == NULL) == (b == NULL);
    for (size_t i = 0; same && a != NULL && i < spec_values_len(spec); i++)
        same = same_number(a[i], b[i]);
    return same;
}

bool trial_has_result(const struct spec *spec, const struct trial *trial, const struct observation *item)
{
#define SAME_D(name) &&same_number(trial->name, item->name)
#define SAME_S(name)
#define SAME(name, letter, ...) SAME_##letter(name)
    return trial->state == outcomes[item->outcome].state && same_values(spec, trial->values, item->values)
                                                                TRIAL_TOLD(SAME);
}

static bool same_place(const struct batch *batch, const struct trial *trial, const struct observation *item)
{
    if (item->trial > 0)
        return trial->number == item->trial;
    if (item->point == NULL)
        return trial->row == item->row;
    size_t bytes = space_point_len(&batch->task.study.spec.space) * sizeof *item->point;
    return trial->point != NULL && memcmp(trial->point, item->point, bytes) == 0;
}

static bool is_open(const struct trial *trial)
{
    return trial->state == TRIAL_RUNNING || trial->state == TRIAL_QUEUED;
}

/* The trial that already bears the item's external id, if any. */
static enum status find_external(struct db_conn *conn, const struct batch *batch, const struct observation *item,
                                 struct trial *trial, bool *found, struct error *err)
{
    *found = false;
    if (item->external_id == NULL)
        return STATUS_OK;
    struct db_rows rows;
    TRY(db_find(conn, batch->task.caller->arena, &rows, err, SQL_TRIAL_BY_EXTERNAL_ID,
                BIND(TEXT(batch->task.id), TEXT(item->external_id))));
    *found = row_trial(&rows) != NULL;
    return *found ? rows_trial(row_trial(&rows), trial, err) : STATUS_OK;
}

static enum status check_place(struct db_conn *conn, struct batch *batch, const struct observation *item,
                               struct error *err)
{
    const struct spec *spec = &batch->task.study.spec;
    if (spec->is_private && item->trial == 0)
        return error_set(err, STATUS_INVALID, "private_study", item->point != NULL ? "/point" : "/candidate",
                         "a private study takes results by trial number only");
    if (item->trial > 0)
        return STATUS_OK;
    if (item->point != NULL)
        return visits_check(conn, &batch->task, item->point, "/sites", err);
    if (batch->task.study.state == STUDY_AWAITING_CANDIDATES)
        return study_refuse(&batch->task.study, err);
    return rows_check_row(conn, &batch->task.study, item->row, "/candidate", err);
}

static struct trial_end end_of(const struct batch *batch, const struct observation *item, const double *point)
{
    const struct spec *spec = &batch->task.study.spec;
    bool               is_feasible =
        item->outcome == OUTCOME_VALUE && spec_is_feasible(spec, item->values) && !codec_is_outside(spec, point);
    return (struct trial_end){.item = item,
                              .state = outcomes[item->outcome].state,
                              .kind = outcomes[item->outcome].kind,
                              .is_feasible = is_feasible};
}

/* A point of the user's own becomes a trial: queued, or written with its end, which finish counts and logs, behind so many
 * other lines: a row that is written once is half the work of one that is changed at once. */
static enum status add_trial(struct db_conn *conn, struct batch *batch, const struct observation *item, size_t lines,
                             struct trial *trial, struct error *err)
{
    const struct trial_end end = end_of(batch, item, item->point);
    bool                   is_queued = item->outcome == OUTCOME_QUEUED;
    *trial = trial_none();
    trial->number = batch->task.study.trials_total + 1;
    trial->state = is_queued ? TRIAL_QUEUED : TRIAL_RUNNING;
    trial->point = item->point;
    trial->row = item->row;
    trial->worker = is_queued || item->worker == NULL ? "" : item->worker;
    trial->external_id = item->external_id;
    trial->created_ms = batch->task.now_ms;
    trial->is_imported = batch->task.caller->import_source != NULL;
    const struct new_trial new = {.trial = trial,
                                  .kind = is_queued ? "trial.queued" : "trial.added",
                                  .may_be_outside = !is_queued,
                                  .end = is_queued ? NULL : &end,
                                  .ended = is_queued ? 0 : batch->task.study.revision + 2 + (int64_t)lines};
    return task_add_trial(conn, &batch->task, &new, err);
}

/* Keeps the best feasible trial of a single objective. */
static enum status keep_best(struct db_conn *conn, struct batch *batch, int64_t trial, double value, struct error *err)
{
    struct study      *study = &batch->task.study;
    const struct spec *spec = &study->spec;
    if (spec->objectives > 1)
        return STATUS_OK;
    if (study->best_trial != 0 && spec_worth(spec, value) <= spec_worth(spec, study->best_value))
        return STATUS_OK;
    study->best_trial = trial;
    study->best_value = value;
    study->tally.since_best = 0;
    TRY(sparkline_add(conn, &batch->task, err));
    return db_exec(conn, NULL, err, SQL_STUDY_BEST, BIND(TEXT(study->id), INT(trial), REAL(value)));
}

/* With the baseline all are judged. */
static enum status settle(struct db_conn *conn, struct batch *batch, struct error *err)
{
    const struct study *study = &batch->task.study;
    bool                has_changed;
    TRY(judge_all(conn, &batch->task, &has_changed, err));
    batch->has_reached |=
        study->best_trial != 0 && spec_is_beyond(&study->spec, study->best_value, study->rules.better_than);
    return STATUS_OK;
}

static enum status finish(struct db_conn *conn, struct batch *batch, const struct observation *item,
                          const struct trial *trial, struct error *err)
{
    const struct spec     *spec = &batch->task.study.spec;
    const struct trial_end end = end_of(batch, item, trial->point);
    TRY((item->trial == 0 ? task_log_end : task_finish_trial)(conn, &batch->task, trial, &end, err));
    if (spec_is_baseline(&batch->task.study.spec, trial->number))
        return settle(conn, batch, err);
    if (!end.is_feasible)
        return STATUS_OK;
    batch->has_reached |= spec_is_beyond(spec, item->value, batch->task.study.rules.better_than);
    return keep_best(conn, batch, trial->number, item->value, err);
}

/* Whether the trial takes this result.  A failure may turn out to be a late value; a correction stands. */
static enum status check_open(const struct trial *trial, const struct observation *item, bool extends,
                              struct error *err)
{
    bool is_settled = trial->state == TRIAL_COMPLETED || trial->state == TRIAL_INFEASIBLE || trial->corrected_ms > 0;
    if (item->trial == 0 || extends || !is_settled)
        return STATUS_OK;
    if (trial->state == TRIAL_RETRACTED)
        return error_set(err, STATUS_CONFLICT, "trial_retracted", "/trial",
                         "the result of trial %lld was retracted: correct the trial to give it one again",
                         (long long)trial->number);
    return error_set(err, STATUS_CONFLICT, "trial_finished", "/trial", "trial %lld is %s with another result",
                     (long long)trial->number, trial_state_names[trial->state]);
}

static enum status observe_one(struct db_conn *conn, struct batch *batch, const struct observation *item,
                               struct error *err)
{
    struct trial trial;
    bool         is_known;
    TRY(find_external(conn, batch, item, &trial, &is_known, err));
    bool is_again =
        is_known && trial.number == item->trial && is_open(&trial); // it bears the id of what is tried again
    is_known = is_known && !is_again;
    if (is_known && (!same_place(batch, &trial, item) || !trial_has_result(&batch->task.study.spec, &trial, item)))
        return error_set(err, STATUS_CONFLICT, "external_id_conflict", "/external_id",
                         "trial %lld has this external_id and another result", (long long)trial.number);
    if (!is_known && item->trial > 0)
        TRY(rows_trial_get(conn, &batch->task, item->trial, &trial, err));
    if (item->trial > 0) {
        bool says_of_worker = item->outcome == OUTCOME_FAILED && is_open(&trial);
        TRY(rows_check_lease(&trial, item->lease, says_of_worker, err));
    }
    if (is_known || (item->trial > 0 && trial_has_result(&batch->task.study.spec, &trial, item))) {
        batch->out->duplicates++;
        return STATUS_OK;
    }
    bool extends = item->trial > 0 && visits_extends(&batch->task.study.spec, &trial, item->values);
    TRY(check_open(&trial, item, extends, err));
    TRY(check_place(conn, batch, item, err));
    if (item->trial == 0)
        TRY(add_trial(conn, batch, item, 0, &trial, err));
    TRY(visits_check_values(conn, &batch->task, &trial, item->values, err));
    TRY(task_say(conn, &batch->task, &trial, item->said, err));
    batch->out->accepted++;
    return finish(conn, batch, item, &trial, err);
}

/* ---- imports ---- */

/* The trial that an item of an import is, where the study has it: by its external id; by its number, when that is of
 * this study, or of a table that does not say where it is from and the rest is equal too, or when both are the baseline,
 * which is still to be tried here.  What is of this study and not in it was lost, when an older store was restored. */
static enum status find_imported(struct db_conn *conn, struct batch *batch, const struct observation *item,
                                 struct trial *trial, bool *found, struct error *err)
{
    const char *source = batch->task.caller->import_source;
    bool        is_own = strcmp(source, batch->task.id) == 0;
    TRY(find_external(conn, batch, item, trial, found, err));
    bool is_baseline = spec_is_baseline(&batch->task.study.spec, item->number),
         is_of_other = !is_own && source[0] != '\0';
    if (*found || item->number < 1 || item->number > batch->task.study.trials_total || (is_of_other && !is_baseline))
        return STATUS_OK;
    TRY(rows_trial_get(conn, &batch->task, item->number, trial, err));
    *found = is_own || (same_place(batch, trial, item) &&
                        ((is_baseline && is_open(trial)) || trial_has_result(&batch->task.study.spec, trial, item)));
    return STATUS_OK;
}

/* A trial that the study has stays as it is, but for a result that it lacks. */
static enum status import_known(struct db_conn *conn, struct batch *batch, const struct observation *item,
                                const struct trial *trial, struct error *err)
{
    struct observation own = *item;
    if (!same_place(batch, trial, item))
        return error_set(err, STATUS_CONFLICT, "external_id_conflict", "/external_id",
                         "trial %lld is this one, and has another point", (long long)trial->number);
    bool is_corrected = trial->corrected_ms > 0;
    if (is_corrected || (item->outcome != OUTCOME_VALUE && item->outcome != OUTCOME_INFEASIBLE)) {
        batch->out->duplicates++;
        return STATUS_OK;
    }
    own.trial = trial->number;
    own.external_id = NULL;
    return observe_one(conn, batch, &own, err);
}

/* A curve needs epochs here too, and without it there is nothing of a stopped trial; a study that is over tries
 * nothing more. */
static bool is_left_out(const struct batch *batch, const struct observation *item)
{
    bool has_epochs = batch->task.study.spec.stopping.kind != STOP_RULE_OFF;
    return (item->outcome == OUTCOME_STOPPED && (!has_epochs || item->curve_len == 0)) ||
           (item->outcome == OUTCOME_QUEUED && batch->task.study.state == STUDY_COMPLETED);
}

static enum status import_one(struct db_conn *conn, struct batch *batch, const struct observation *item,
                              struct error *err)
{
    struct study *study = &batch->task.study;
    struct trial  trial;
    bool          is_known;
    TRY(find_imported(conn, batch, item, &trial, &is_known, err));
    if (is_known)
        return import_known(conn, batch, item, &trial, err);
    if (is_left_out(batch, item)) {
        batch->out->skipped++;
        return STATUS_OK;
    }
    if (item->outcome != OUTCOME_ABANDONED || study->spec.space.kind != SPACE_GRAPH) // it moved nobody
        TRY(check_place(conn, batch, item, err));
    size_t lines = study->spec.stopping.kind == STOP_RULE_OFF ? 0 : item->curve_len;
    TRY(add_trial(conn, batch, item, lines, &trial, err));
    TRY(task_say(conn, &batch->task, &trial, item->said, err));
    batch->out->accepted++;
    batch->out->queued += item->outcome == OUTCOME_QUEUED;
    if (item->outcome == OUTCOME_QUEUED)
        return STATUS_OK;
    if (study->spec.stopping.kind != STOP_RULE_OFF)
        TRY(study_document_curve(conn, &batch->task, trial.number, item, err));
    TRY(visits_check_values(conn, &batch->task, &trial, item->values, err));
    study->imported +=
        item->outcome != OUTCOME_FAILED && item->outcome != OUTCOME_ABANDONED && item->outcome != OUTCOME_RETRACTED;
    return finish(conn, batch, item, &trial, err);
}

/* ---- all of them ---- */

/* Takes an observation.  An unreadable one is refused like the others that are; in a graph later ones start where it went. */
static enum status take_one(struct db_conn *conn, struct batch *batch, const struct observation *item,
                            bool follows_unread, struct error *err)
{
    bool is_graph = batch->task.study.spec.space.kind == SPACE_GRAPH;
    if (item->unread != NULL) {
        *err = *item->unread;
        return item->unread->status;
    }
    if (is_graph && follows_unread)
        return STATUS_OK;
    return batch->task.caller->import_source != NULL && item->trial == 0 ? import_one(conn, batch, item, err)
                                                                         : observe_one(conn, batch, item, err);
}

/* A refused item does not hide what is wrong with the others. */
static bool is_refusal(enum status status)
{
    return status == STATUS_INVALID || status == STATUS_CONFLICT || status == STATUS_NOT_FOUND;
}

static void keep_error(struct batch *batch, size_t item, const struct error *own)
{
    struct observe_reply *out = batch->out;
    if (out->errors == NULL)
        out->errors = ARENA_NEW(batch->task.caller->arena, struct item_error, ERRORS_MAX);
    if (out->errors != NULL && out->errors_len < ERRORS_MAX)
        out->errors[out->errors_len++] = (struct item_error){.item = item, .error = *own};
}

static enum status observe_all(struct db_conn *conn, struct batch *batch, struct error *err)
{
    enum status first = STATUS_OK;
    bool        has_unread = false;
    for (size_t i = 0; i < batch->request->len; i++) {
        struct error              own;
        struct arena_mark         mark = arena_mark(batch->task.caller->arena);
        const struct observation *item = &batch->request->items[i];
        enum status               status = take_one(conn, batch, item, has_unread, &own);
        arena_release(batch->task.caller->arena, mark);
        if (status == STATUS_OK)
            continue;
        if (!is_refusal(status) && err != NULL)
            *err = own;
        if (!is_refusal(status))
            return status;
        keep_error(batch, i, &own);
        for (size_t k = 1; k < item->unread_len; k++)
            keep_error(batch, i, &item->unread[k]);
        has_unread |= item->unread != NULL;
        if (first == STATUS_OK && err != NULL) {
            *err = own;
            if (batch->request->in_batch)
                snprintf(err->path, sizeof err->path, "/observations/%zu%.90s", i, own.path);
        }
        first = first == STATUS_OK ? status : first;
    }
    return first;
}

static enum status complete_if_reached(struct db_conn *conn, struct batch *batch, struct error *err)
{
    const struct study *study = &batch->task.study;
    if (!batch->has_reached || (study->state != STUDY_ACTIVE && study->state != STUDY_PAUSED))
        return STATUS_OK;
    return task_set_state(conn, &batch->task, STUDY_COMPLETED, "target_reached", "study.completed", err);
}

static enum status observe(struct db_conn *conn, void *arg, struct error *err)
{
    struct batch         *batch = arg;
    struct observe_reply *out = batch->out;
    *out = (struct observe_reply){0};
    batch->has_reached = false; // a transaction may run twice
    TRY(task_open(conn, &batch->task, err));
    TRY(caller_same_metrics(batch->task.caller, spec_metrics_all(&batch->task.study.spec), err));
    TRY(observe_all(conn, batch, err));
    if (out->accepted > 0) {
        if (batch->task.caller->import_source != NULL && !batch->is_told)
            TRY(task_log(conn, &batch->task, "study.imported", 0, NULL, err));
        TRY(complete_if_reached(conn, batch, err));
        TRY(task_complete_if_spent(conn, &batch->task, err));
        TRY(task_save(conn, &batch->task, err));
    }
    out->revision = batch->task.study.revision;
    out->best_trial = batch->task.study.best_trial;
    out->best_value = batch->task.study.best_value;
    return task_next(conn, &batch->task, &out->next, err);
}

enum status trial_observe_in(struct db_conn *conn, const struct task *task, const struct observe_request *request,
                             struct observe_reply *out, struct error *err)
{
    struct batch batch = {.task = *task, .request = request, .out = out, .is_told = true};
    return observe(conn, &batch, err);
}

/* Whoever creates trials shares the session's lock: see session.h. */
static enum status transact(struct batch *batch, bool creates, struct error *err)
{
    struct live *live = NULL;
    if (creates)
        TRY(session_lock(batch->task.app, batch->task.caller, batch->task.id, SESSION_SHARED, &live, err));
    enum status status = task_write(&batch->task, observe, err);
    if (creates)
        session_unlock(batch->task.app, live);
    return status;
}

enum status trial_observe(struct app *app, struct caller *caller, const char *id, const struct observe_request *request,
                          struct observe_reply *out, struct error *err)
{
    struct batch batch = {.task = task_of(app, caller, id), .request = request, .out = out};
    *out = (struct observe_reply){0};
    caller->writes = request->len;
    bool creates = false;
    for (size_t i = 0; i < request->len; i++)
        creates = creates || request->items[i].trial == 0;
    if (creates) // no entry of the cache for what is not there
        TRY(study_find(app, caller, id, &batch.task.study, err));
    TRY(transact(&batch, creates, err));
    atomic_fetch_add(&app->counters.observations, (uint64_t)out->accepted);
    return STATUS_OK;
}
