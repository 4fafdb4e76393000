/* The use cases of studies, each a transaction.  A study that a token may not see is reported as missing. */
#include "service/base/page.h"
#include "service/study/study.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/app/token.h"
#include "service/base/etag.h"
#include "service/base/log.h"
#include "service/base/text.h"
#include "service/candidates/candidates.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_study.h"
#include "service/suggest/federation_host.h"
#include "service/portable/import.h"
#include "service/suggest/operation.h"
#include "service/base/random.h"
#include "service/store/failures.h"
#include "service/store/rows.h"
#include "service/store/sparkline.h"
#include "service/store/spec_cache.h"
#include "service/store/tally.h"
#include "service/session/session.h"

#include <stdio.h>
#include <string.h>

/* ---- create ---- */

/* Trial 1. */
static enum status queue_baseline(struct db_conn *conn, struct task *task, struct error *err)
{
    struct study *study = &task->study;
    struct trial  trial = trial_none();
    trial.number = SPEC_BASELINE;
    trial.state = TRIAL_QUEUED;
    trial.point = study->spec.baseline;
    trial.row = -1;
    trial.created_ms = task->now_ms;
    study->revision = study->trials_total = study->trials[TRIAL_QUEUED] = 0; // a transaction may run twice
    TRY(task_add_trial(conn, task, &(struct new_trial){.trial = &trial, .kind = "trial.queued"}, err));
    return task_save(conn, task, err);
}

enum status study_create_in(struct db_conn *conn, struct study_creation *work, struct error *err)
{
    const struct study_new *new = work->new;
    struct study       *study = &work->task.study;
    const struct study *from = study;
    const char         *spec_text = new->spec_text;
    study->created_by = work->task.caller->token_id;
    TRY(token_name(conn, work->task.caller, &study->owner, err));
    if (new->spec.federation != NULL)
        TRY(federation_host(conn, &work->task, new, &spec_text, err));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_ADD,
                BIND(TEXT(study->id), TEXT(study_state_names[study->state]), TEXT(new->rules_text),
                     INT(study->created_ms), TEXT(study->project), STUDY_OWNED(SAVE) STUDY_SAID(SAVE))));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_SPEC_ADD, BIND(TEXT(study->id), TEXT(spec_text))));
    TRY(event_log(conn,
                  EVENT(.at_ms = study->created_ms, .kind = "study.created", .study = study->id,
                        .project = study->project, .actor = work->task.caller->token_id),
                  err));
    if (study->spec.baseline != NULL)
        TRY(queue_baseline(conn, &work->task, err));
    *work->out = *study;
    return transfer_store(conn, &work->task, &work->earlier, err);
}

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    return study_create_in(conn, arg, err);
}

enum status study_prepare(struct app *app, struct caller *caller, const struct study_new *new,
                          struct study_creation *work, struct error *err)
{
    if (caller_is_bound(caller))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token is bound to one study");
    *work = (struct study_creation){.task = task_of(app, caller, ""), .new = new};
    const struct study_new *from = new;
    work->task.study =
        (struct study){.state = new->spec.space.kind == SPACE_CANDIDATES ? STUDY_AWAITING_CANDIDATES : STUDY_ACTIVE,
                       .project = caller_project(caller),
                       .spec = new->spec,
                       .rules = new->rules,
                       .version = 1,
                       .created_ms = work->task.now_ms,
                       .updated_ms = work->task.now_ms,
                       STUDY_SAID(TAKE)};
    TRY(random_id(work->task.study.id, sizeof work->task.study.id, "std_", 16, err));
    work->task.id = work->task.study.id;
    return STATUS_OK;
}

enum status study_learn(struct study_creation *work, struct error *err)
{
    struct caller          *caller = work->task.caller;
    struct transfer_sources earlier;
    TRY(transfer_collect(work->task.app, caller, &work->new->spec, &earlier, err));
    work->earlier = earlier;
    if (!work->new->spec.earlier.is_auto || work->new->spec.earlier.ids != NULL)
        return STATUS_OK;
    size_t            len = earlier.len - work->new->spec.earlier.given_len;
    struct study_new *picked = ARENA_NEW(caller->arena, struct study_new, 1);
    const char      **ids = ARENA_NEW(caller->arena, const char *, len + 1);
    if (picked == NULL || ids == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++)
        ids[i] = earlier.sources[i].study;
    *picked = *work->new;
    picked->spec.earlier.ids = ids;
    picked->spec.earlier.ids_len = len;
    picked->spec_text = codec_spec_text(&picked->spec, caller->arena);
    work->new = picked;
    work->task.study.spec = picked->spec;
    return picked->spec_text == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status study_create(struct app *app, struct caller *caller, const struct study_new *new, struct study *out,
                         struct error *err)
{
    struct study_creation work;
    TRY(study_prepare(app, caller, new, &work, err));
    TRY(study_learn(&work, err));
    work.out = out;
    return app_transact(app, caller, create, &work, err);
}

/* ---- find by name, or create ---- */

struct ensure {
    struct study_creation      create;
    const struct study_wanted *wanted;
    struct study_ensured      *out;
};

/* *found: there is a study of that name, and it is as wanted. */
static enum status find_named(struct db_conn *conn, struct ensure *work, bool *found, struct error *err)
{
    const struct study_wanted *wanted = work->wanted;
    struct task               *task = &work->create.task;
    char                       id[sizeof task->study.id] = "";
    size_t                     len = 0, before = wanted->differences->len;
    struct db_rows             rows =
        db_query(conn, NULL, err, SQL_STUDY_BY_NAME, BIND(TEXT(wanted->new->name), TEXT(caller_project(task->caller))));
    for (; db_next(&rows); len++)
        snprintf(id, sizeof id, "%s", row_id(&rows)->id);
    TRY(db_done(&rows));
    *found = len > 0;
    if (len == 0)
        return STATUS_OK;
    if (len > 1)
        return error_set(err, STATUS_CONFLICT, "ambiguous_name", "", "several studies have this name");
    TRY(spec_cache_study(task->app, conn, id, task->caller->arena, &work->out->study, err));
    TRY(codec_spec_compare(&wanted->new->spec, &work->out->study.spec, wanted->given, wanted->differences, err));
    if (wanted->differences->len == before)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "study_differs", "", "study %s has this name and another specification",
                     work->out->study.id);
}

static enum status look_named(struct db_conn *conn, void *arg, struct error *err)
{
    bool found;
    TRY(find_named(conn, arg, &found, err));
    return found ? STATUS_OK : caller_no_such("study", err);
}

static enum status ensure(struct db_conn *conn, void *arg, struct error *err)
{
    struct ensure *work = arg;
    bool           found;
    TRY(find_named(conn, work, &found, err));
    work->out->is_new = !found;
    return found ? STATUS_OK : study_create_in(conn, &work->create, err);
}

enum status study_ensure(struct app *app, struct caller *caller, const struct study_wanted *wanted,
                         struct study_ensured *out, struct error *err)
{
    struct ensure work = {.create.task = task_of(app, caller, ""), .wanted = wanted, .out = out};
    enum status   status = db_read(app->db, look_named, &work, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    TRY(study_prepare(app, caller, wanted->new, &work.create, err));
    TRY(study_learn(&work.create, err));
    work.create.out = &out->study;
    return app_transact(app, caller, ensure, &work, err);
}

/* ---- find, list ---- */

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    return task_open(conn, arg, err);
}

enum status study_find(struct app *app, struct caller *caller, const char *id, struct study *out, struct error *err)
{
    struct task task = task_of(app, caller, id);
    TRY(task_read(&task, find, err));
    *out = task.study;
    return STATUS_OK;
}

static enum status show(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(task_open(conn, task, err));
    return failures_get(conn, task, &task->study.failures, err);
}

enum status study_show(struct app *app, struct caller *caller, const char *id, struct study *out, struct error *err)
{
    struct task task = task_of(app, caller, id);
    TRY(task_read(&task, show, err));
    *out = task.study;
    return STATUS_OK;
}

struct list {
    struct app                *app;
    struct caller             *caller;
    const struct study_filter *filter;
    struct study_page         *out;
};

static const enum sql orders[STUDY_ORDER_COUNT][2] = {
    [STUDY_ORDER_CREATED] = {SQL_STUDIES_CREATED_DOWN, SQL_STUDIES_CREATED},
    [STUDY_ORDER_UPDATED] = {SQL_STUDIES_UPDATED_DOWN, SQL_STUDIES_UPDATED},
};

/* A label stands in the canonical text as "key":"value"; a quote inside either is escaped, so this cannot match
 * anything else. */
static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct list               *work = arg;
    struct study_page         *out = work->out;
    const struct study_filter *filter = work->filter;
    const char *const         *labels = filter->labels;
    struct arena              *arena = work->caller->arena;
    struct page_place          after;
    char                       names[TEXT_NAMES_BYTES];
    *out = (struct study_page){0};
    TRY(page_after_place(filter->cursor, &after, err));
    if (after.created_ms == 0 && !filter->is_up)
        after.created_ms = INT64_MAX;
    out->studies = ARENA_NEW(arena, struct study, (size_t)filter->limit);
    if (out->studies == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, arena, err, orders[filter->order][filter->is_up],
                 BIND(TEXT(text_names(study_state_names, filter->states, names)), TEXT(text_or_empty(filter->name)),
                      TEXT(text_or_empty(filter->name_part)), TEXT(text_or_empty(labels[0])),
                      TEXT(text_or_empty(labels[1])), TEXT(text_or_empty(labels[2])), TEXT(text_or_empty(labels[3])),
                      TEXT(work->caller->resource), INT(filter->updated_since_ms), INT(after.created_ms),
                      TEXT(after.id), INT(filter->limit + 1), TEXT(caller_project(work->caller)),
                      TEXT(text_or_empty(filter->owner)), TEXT(text_or_empty(filter->owner_part))));
    while (db_next(&rows) && (int64_t)out->len < filter->limit)
        rows.status = rows_study(row_study(&rows), arena, &out->studies[out->len++], err);
    if (rows.has_row) {
        const struct study *last = &out->studies[out->len - 1];
        rows.status = page_next_place(arena, filter->order == STUDY_ORDER_CREATED ? last->created_ms : last->updated_ms,
                                      last->id, &out->next_cursor, err);
    }
    TRY(db_done(&rows));
    for (struct study *study = out->studies; study < out->studies + out->len; study++) {
        task_hide_owner(work->caller, study);
        TRY(spec_cache_get(work->app, conn, arena, study, err));
    }
    for (struct study *study = out->studies; filter->with_sparkline && study < out->studies + out->len; study++)
        TRY(sparkline_get(conn, study->id, arena, &study->sparkline, err));
    return STATUS_OK;
}

enum status study_list(struct app *app, struct caller *caller, const struct study_filter *filter,
                       struct study_page *out, struct error *err)
{
    struct study_filter bounded = *filter;
    bounded.limit = page_limit(filter->limit);
    struct list work = {.app = app, .caller = caller, .filter = &bounded, .out = out};
    return db_read(app->db, list, &work, err);
}

/* ---- change ---- */

/* Checks If-Match: the version the client knows is the study's. */
static enum status match(const struct study *study, const struct caller *caller, struct error *err)
{
    char etag[ETAG_BYTES];
    etag_of(study->version, study->revision, etag);
    return etag_check(caller->if_match, etag, err);
}

struct patch {
    struct task              task;
    const struct study_edit *edit;
    struct study            *out;
};

static enum status edit_rules(struct db_conn *conn, struct task *task, const char *change, struct error *err)
{
    struct study *study = &task->study;
    const char   *before = study->rules.cost_of;
    if (change == NULL)
        return STATUS_OK;
    TRY(codec_rules_edit(&(struct reading){.arena = task->caller->arena, .err = err}, &study->spec, change,
                         &study->rules));
    const char *now = study->rules.cost_of;
    if (now == NULL || (before != NULL && strcmp(before, now) == 0))
        return STATUS_OK;
    return tally_cost(conn, task, err);
}

static enum status patch(struct db_conn *conn, void *arg, struct error *err)
{
    struct patch            *work = arg;
    const struct study_edit *edit = work->edit;
    struct study            *study = &work->task.study, *from = study;
    TRY(task_open(conn, &work->task, err));
    TRY(match(study, work->task.caller, err));
    struct study_new said = {STUDY_SAID(TAKE)};
    TRY(codec_study_edit(&(struct reading){.arena = work->task.caller->arena, .err = err}, edit->said, &said));
#define KEEP(column, ...) study->column = said.column;
    STUDY_SAID(KEEP)
#undef KEEP
    TRY(edit_rules(conn, &work->task, edit->rules, err));
    const char *rules = codec_rules_text(&study->rules, work->task.caller->arena);
    if (rules == NULL)
        return error_no_memory(err);
    study->version++;
    study->updated_ms = work->task.now_ms;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_EDIT,
                BIND(TEXT(study->id), TEXT(rules), INT(study->updated_ms), STUDY_SAID(SAVE))));
    TRY(task_log(conn, &work->task, "study.updated", 0, NULL, err));
    TRY(task_complete_if_spent(conn, &work->task, err));
    TRY(task_save(conn, &work->task, err));
    *work->out = *study;
    return STATUS_OK;
}

enum status study_patch(struct app *app, struct caller *caller, const char *id, const struct study_edit *edit,
                        struct study *out, struct error *err)
{
    struct patch work = {.task = task_of(app, caller, id), .edit = edit, .out = out};
    TRY(task_write(&work.task, patch, err));
    db_tidy(app->db);
    return STATUS_OK;
}

static const struct {
    unsigned         from; /* bit set of states */
    enum study_state to;
    const char      *kind, *reason;
} moves[] = {
    [STUDY_PAUSE] = {1u << STUDY_ACTIVE, STUDY_PAUSED, "study.paused", NULL},
    [STUDY_RESUME] = {1u << STUDY_PAUSED, STUDY_ACTIVE, "study.resumed", NULL},
    [STUDY_COMPLETE] = {1u << STUDY_ACTIVE | 1u << STUDY_PAUSED | 1u << STUDY_AWAITING_CANDIDATES, STUDY_COMPLETED,
                        "study.completed", "requested"},
    [STUDY_REOPEN] = {1u << STUDY_COMPLETED, STUDY_ACTIVE, "study.reopened", NULL},
};

/* A study of candidates that was closed before its matrix came waits for it again. */
static enum status state_after(struct db_conn *conn, const struct study *study, enum study_verb verb,
                               enum study_state *state, struct error *err)
{
    *state = moves[verb].to;
    if (verb != STUDY_REOPEN || study->spec.space.kind != SPACE_CANDIDATES)
        return STATUS_OK;
    bool is_complete;
    TRY(candidates_complete(conn, study->id, &is_complete, err));
    if (!is_complete)
        *state = STUDY_AWAITING_CANDIDATES;
    return STATUS_OK;
}

struct move {
    struct task     task;
    enum study_verb verb;
    struct study   *out;
};

static enum status move(struct db_conn *conn, void *arg, struct error *err)
{
    struct move     *work = arg;
    struct task     *task = &work->task;
    enum study_state state;
    bool             was_locked = false;
    TRY(task_open(conn, task, err));
    TRY(match(&task->study, task->caller, err));
    state = task->study.state;
    if (work->verb == STUDY_RESUME && state == STUDY_AWAITING_CANDIDATES)
        TRY(candidates_unlock(conn, task->id, &was_locked, err));
    *work->out = task->study;
    if (!was_locked && state == moves[work->verb].to) // a repeat: its first answer may have been lost
        return STATUS_OK;
    if (!was_locked && (moves[work->verb].from >> state & 1u) == 0)
        return study_refuse(&task->study, err);
    if (!was_locked) // a study that waits goes on waiting, and takes uploads again
        TRY(state_after(conn, &task->study, work->verb, &state, err));
    TRY(task_set_state(conn, task, state, moves[work->verb].reason, moves[work->verb].kind, err));
    if (work->verb == STUDY_REOPEN) // it is gone on with
        tally_anew(task);
    if (work->verb == STUDY_RESUME) // its last trials may have ended meanwhile
        TRY(task_complete_if_spent(conn, task, err));
    TRY(task_save(conn, task, err));
    *work->out = task->study;
    return STATUS_OK;
}

enum status study_move(struct app *app, struct caller *caller, const char *id, enum study_verb verb, struct study *out,
                       struct error *err)
{
    struct move work = {.task = task_of(app, caller, id), .verb = verb, .out = out};
    return task_write(&work.task, move, err);
}

/* From here on nobody finds it. */
static enum status erase(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(rows_study_get(conn, task->id, task->caller->arena, &task->study, err));
    TRY(match(&task->study, task->caller, err));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_APPEAR, BIND(TEXT(task->id), TEXT(STUDY_HIDDEN_STATE))));
    TRY(app_erase(conn, task->id, err));
    return event_log_leave(conn,
                           EVENT(.at_ms = task->now_ms, .study = task->id, .project = task->study.project,
                                 .revision = task->study.revision + 1, .actor = task->caller->token_id,
                                 .kind = "study.deleted"),
                           err);
}

enum status study_delete(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct task  task = task_of(app, caller, id);
    struct error why;
    TRY(task_write(&task, erase, err));
    operations_forget(app, id);
    session_drop(app, id);
    spec_cache_drop(app, id);
    if (import_remove(app, id, task.study.trials_total, &why) != STATUS_OK)
        log_event(LOG_ERROR, "study_remains", "study=%s code=%s", id, why.code);
    db_erase(app->db);
    return STATUS_OK;
}
