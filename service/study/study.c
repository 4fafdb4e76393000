/* The use cases of studies.  Each is one transaction; what a token may not see is not there. */
#include "service/base/page.h"
#include "service/study/study.h"

#include "service/app/app_transact.h"
#include "service/app/study_cache.h"
#include "service/base/text.h"
#include "service/candidates/candidates.h"
#include "service/codec/codec.h"
#include "service/study/federation_host.h"
#include "service/session/transfer_snapshot.h"
#include "service/study/operation.h"
#include "service/base/random.h"
#include "service/store/rows.h"
#include "service/store/spec_cache.h"
#include "service/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

struct create {
    struct app    *app;
    struct caller *caller;
    const struct study_new *new;
    struct transfer_sources earlier;
    struct study           *out;
};

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    struct create *work = arg;
    const struct study_new *new = work->new;
    struct study *out = work->out;
    const char   *spec_text = new->spec_text;
    if (new->spec.federation != NULL)
        TRY(federation_host(conn, work->caller, new, out, &spec_text, err));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_ADD,
                BIND(TEXT(out->id), TEXT(new->name), TEXT(study_state_names[out->state]), TEXT(out->labels),
                     TEXT(out->notes), INT(new->budget_trials), INT(out->created_ms), INT(out->created_ms))));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_SPEC_ADD, BIND(TEXT(out->id), TEXT(spec_text))));
    TRY(db_exec(conn, NULL, err, SQL_EVENT_ADD,
                BIND(INT(out->created_ms), TEXT("study.created"), TEXT(out->id), INT(0), INT(0),
                     TEXT(work->caller->token_id), TEXT(NULL))));
    const struct change change = {.actor = work->caller->token_id, .at_ms = out->created_ms};
    return transfer_store(conn, out, &work->earlier, &change, err);
}

enum status study_create(struct app *app, struct caller *caller, const struct study_new *new, struct study *out,
                         struct error *err)
{
    if (caller->resource[0] != '\0')
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token is bound to one study");
    int64_t now = app->now_ms();
    *out = (struct study){
        .name = new->name,
        .labels = new->labels == NULL ? "{}" : new->labels,
        .notes = new->notes == NULL ? "" : new->notes,
        .state = new->spec.space.kind == SPACE_CANDIDATES ? STUDY_AWAITING_CANDIDATES : STUDY_ACTIVE,
        .spec = new->spec,
        .budget_trials = new->budget_trials,
        .version = 1,
        .created_ms = now,
        .updated_ms = now,
    };
    TRY(random_id(out->id, sizeof out->id, "std_", 16, err));
    struct create work = {.app = app, .caller = caller, .new = new, .out = out};
    TRY(transfer_collect(app, caller, &new->spec, &work.earlier, err));
    return app_transact(app, caller, create, &work, err);
}

/* ---- find, list ---- */

struct find {
    struct app    *app;
    struct caller *caller;
    const char    *id;
    struct study  *out;
};

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct find *work = arg;
    return spec_cache_study(work->app, conn, work->id, work->caller->arena, work->out, err);
}

enum status study_find(struct app *app, struct caller *caller, const char *id, struct study *out, struct error *err)
{
    TRY(caller_sees(caller, "study", id, err));
    struct find work = {.app = app, .caller = caller, .id = id, .out = out};
    return db_read(app->db, find, &work, err);
}

struct list {
    struct app                *app;
    struct caller             *caller;
    const struct study_filter *filter;
    struct study_page         *out;
};

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* A label stands in the canonical text as "key":"value"; a quote inside either is escaped, so this cannot match
 * anything else. */
static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct list               *work = arg;
    struct study_page         *out = work->out;
    const struct study_filter *filter = work->filter;
    struct arena              *arena = work->caller->arena;
    struct page_place          after;
    TRY(page_after_place(filter->cursor, &after, err));
    const char *label = "";
    if (filter->label_key != NULL)
        label = codec_label(filter->label_key, or_empty(filter->label_value), arena);
    out->studies = ARENA_NEW(arena, struct study, (size_t)filter->limit);
    if (label == NULL || out->studies == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, arena, err, SQL_STUDY_LIST,
                 BIND(TEXT(or_empty(filter->state)), TEXT(or_empty(filter->name_part)), TEXT(label),
                      INT(after.created_ms), TEXT(after.id), TEXT(work->caller->resource), INT(filter->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < filter->limit)
        rows.status = rows_study(row_study(&rows), &out->studies[out->len++], err);
    if (rows.has_row) {
        const struct study *last = &out->studies[out->len - 1];
        rows.status = page_next_place(arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    TRY(db_done(&rows));
    for (struct study *study = out->studies; study < out->studies + out->len; study++)
        TRY(spec_cache_get(work->app, conn, study->id, arena, &study->spec, err));
    return STATUS_OK;
}

enum status study_list(struct app *app, struct caller *caller, const struct study_filter *filter,
                       struct study_page *out, struct error *err)
{
    struct study_filter bounded = *filter;
    bounded.limit = page_limit(filter->limit);
    *out = (struct study_page){0};
    struct list work = {.app = app, .caller = caller, .filter = &bounded, .out = out};
    return db_read(app->db, list, &work, err);
}

/* ---- change ---- */

/* What an edit, a change of state or a deletion has in common. */
struct alter {
    struct app              *app;
    struct caller           *caller;
    const char              *id;
    const struct study_edit *edit; /* patch */
    enum study_verb          verb; /* move */
    struct study            *out;
};

static enum status patch(struct db_conn *conn, void *arg, struct error *err)
{
    struct alter            *work = arg;
    const struct study_edit *edit = work->edit;
    struct study            *study = work->out;
    int64_t                  now = work->app->now_ms();
    TRY(spec_cache_study(work->app, conn, work->id, work->caller->arena, study, err));
    if (study->version != edit->version)
        return error_set(err, STATUS_STALE, "stale_version", "", "the study is at version %lld",
                         (long long)study->version);
    if (edit->name != NULL)
        study->name = edit->name;
    if (edit->labels != NULL)
        study->labels = edit->labels;
    if (edit->notes != NULL)
        study->notes = edit->notes;
    if (edit->budget_trials >= 0)
        study->budget_trials = edit->budget_trials;
    study->version++;
    study->updated_ms = now;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_EDIT,
                BIND(TEXT(study->id), TEXT(study->name), TEXT(study->labels), INT(study->budget_trials),
                     TEXT(study->notes), INT(now))));
    TRY(rows_log(
        conn, study,
        &(struct change){
            .kind = "study.updated", .actor = work->caller->token_id, .detail = NULL, .trial = 0, .at_ms = now},
        err));
    return rows_study_save(conn, study, now, err);
}

/* Runs one change of a study and makes it visible. */
static enum status alter(struct app *app, struct caller *caller, db_fn fn, struct alter *work, struct error *err)
{
    TRY(caller_sees(caller, "study", work->id, err));
    TRY(app_transact(app, caller, fn, work, err));
    study_cache_forget(app, work->id);
    return STATUS_OK;
}

enum status study_patch(struct app *app, struct caller *caller, const char *id, const struct study_edit *edit,
                        struct study *out, struct error *err)
{
    struct alter work = {.app = app, .caller = caller, .id = id, .edit = edit, .out = out};
    return alter(app, caller, patch, &work, err);
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

static enum status move(struct db_conn *conn, void *arg, struct error *err)
{
    struct alter *work = arg;
    struct study *study = work->out;
    int64_t       now = work->app->now_ms();
    TRY(spec_cache_study(work->app, conn, work->id, work->caller->arena, study, err));
    bool was_locked = false;
    if (work->verb == STUDY_RESUME && study->state == STUDY_AWAITING_CANDIDATES)
        TRY(candidates_unlock(conn, work->id, &was_locked, err));
    if (!was_locked && (moves[work->verb].from >> study->state & 1u) == 0)
        return study_refuse(study, err);
    if (!was_locked) // a study that waits goes on waiting, and takes uploads again
        TRY(state_after(conn, study, work->verb, &study->state, err));
    study->reason = moves[work->verb].reason;
    study->version++;
    study->updated_ms = now;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE,
                BIND(TEXT(study->id), TEXT(study_state_names[study->state]), TEXT(study->reason), INT(now))));
    TRY(rows_log(conn, study,
                 &(struct change){.kind = moves[work->verb].kind,
                                  .actor = work->caller->token_id,
                                  .detail = study->reason,
                                  .trial = 0,
                                  .at_ms = now},
                 err));
    return rows_study_save(conn, study, now, err);
}

enum status study_move(struct app *app, struct caller *caller, const char *id, enum study_verb verb, struct study *out,
                       struct error *err)
{
    struct alter work = {.app = app, .caller = caller, .id = id, .verb = verb, .out = out};
    return alter(app, caller, move, &work, err);
}

static enum status delete (struct db_conn *conn, void *arg, struct error *err) {
    struct alter *work = arg; struct study study; int64_t now = work->app->now_ms();
    TRY(rows_study_get(conn, work->id, work->caller->arena, &study, err));
    TRY(rows_log(
        conn, &study,
        &(struct change){
            .kind = "study.deleted", .actor = work->caller->token_id, .detail = NULL, .trial = 0, .at_ms = now},
        err));
    return db_exec(conn, NULL, err, SQL_STUDY_DELETE, BIND(TEXT(work->id)));
}

enum status study_delete(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct alter work = {.app = app, .caller = caller, .id = id};
    TRY(alter(app, caller, delete, &work, err));
    operations_forget(app, id);
    session_drop(app, id);
    spec_cache_drop(app, id);
    return STATUS_OK;
}
