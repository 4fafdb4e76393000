/* See project.h. */
#include "service/app/project.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/app/token.h"
#include "service/base/etag.h"
#include "service/base/random.h"

#include <stdio.h>
#include <string.h>

#define SAVE_LIMIT(column, ...) REAL(from->quota.column),

struct work {
    struct app               *app;
    struct caller            *caller;
    const char               *id;
    const struct project_new *edit;
    const struct page        *asked;
    struct project           *out;
    struct project_page      *page;
    int64_t                   now_ms;
};

/* The only project that the caller may see; "": all. */
static const char *reach(const struct caller *caller)
{
    return caller->scope == SCOPE_OPERATOR ? "" : caller->project;
}

static enum status log_project(struct db_conn *conn, const struct work *work, const char *kind, struct error *err)
{
    return event_log(conn,
                     EVENT(.at_ms = work->now_ms, .kind = kind, .actor = work->caller->token_id, .detail = work->id,
                           .project = work->id),
                     err);
}

static void read_row(struct app *app, const struct row_project *from, struct project *out)
{
    enum { TRIAL_BYTES = 1000 };
    *out = (struct project){.version = from->version,
                            .quota = {PROJECT_LIMITS(TAKE)},
                            .usage = {.studies = from->used_studies,
                                      .trials = from->used_trials,
                                      .bytes = from->used_extra + TRIAL_BYTES * from->used_trials,
                                      .cpu_seconds_today = (double)quota_computed_ms(app, from) / 1000},
                            PROJECT_GIVEN(TAKE) PROJECT_KEPT(TAKE)};
    snprintf(out->id, sizeof out->id, "%s", from->id);
}

/* ---- find, list ---- */

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    const char    *only = reach(work->caller);
    if (only[0] != '\0' && strcmp(only, work->id) != 0)
        return caller_no_such("project", err);
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_PROJECT_GET, BIND(TEXT(work->id))));
    if (row_project(&rows) == NULL)
        return caller_no_such("project", err);
    read_row(work->app, row_project(&rows), work->out);
    return STATUS_OK;
}

enum status project_find(struct app *app, struct caller *caller, const char *id, struct project *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .out = out};
    return db_read(app->db, find, &work, err);
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct work         *work = arg;
    struct project_page *out = work->page;
    struct arena        *arena = work->caller->arena;
    int64_t              limit = page_limit(work->asked->limit);
    struct page_place    after;
    *out = (struct project_page){0};
    TRY(page_after_place(work->asked->cursor, &after, err));
    out->projects = ARENA_NEW(arena, struct project, (size_t)limit);
    if (out->projects == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, arena, err, SQL_PROJECT_LIST, BIND(TEXT(after.id), INT(limit + 1), TEXT(reach(work->caller))));
    while (db_next(&rows) && (int64_t)out->len < limit)
        read_row(work->app, row_project(&rows), &out->projects[out->len++]);
    if (rows.has_row) {
        const struct project *last = &out->projects[out->len - 1];
        rows.status = page_next_place(arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    return db_done(&rows);
}

enum status project_list(struct app *app, struct caller *caller, const struct page *page, struct project_page *out,
                         struct error *err)
{
    struct work work = {.app = app, .caller = caller, .asked = page, .page = out};
    return db_read(app->db, list, &work, err);
}

/* ---- change ---- */

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    struct work          *work = arg;
    const struct project *from = work->out;
    TRY(db_exec(conn, NULL, err, SQL_PROJECT_ADD,
                BIND(TEXT(from->id), INT(from->created_ms), PROJECT_GIVEN(SAVE) PROJECT_LIMITS(SAVE_LIMIT))));
    return log_project(conn, work, "project.created", err);
}

enum status project_create(struct app *app, struct caller *caller, const struct project_new *new, struct project *out,
                           struct error *err)
{
    const struct project_new *from = new;
    struct work               work = {.app = app, .caller = caller, .id = out->id, .out = out, .now_ms = app->now_ms()};
    *out = (struct project){.version = 1, .created_ms = work.now_ms, .updated_ms = work.now_ms, PROJECT_GIVEN(TAKE)};
#define LIMIT(column, ...) out->quota.column = new->quota.column == 0 ? (double)NAN : new->quota.column;
    PROJECT_LIMITS(LIMIT)
#undef LIMIT
    TRY(random_id(out->id, sizeof out->id, "prj_", 16, err));
    return app_transact(app, caller, create, &work, err);
}

static enum status match(const struct project *project, const struct caller *caller, struct error *err)
{
    char etag[ETAG_BYTES];
    etag_of(project->version, 0, etag);
    return etag_check(caller->if_match, etag, err);
}

static enum status edit(struct db_conn *conn, void *arg, struct error *err)
{
    struct work    *work = arg;
    struct project *project = work->out, *from = project;
    TRY(find(conn, work, err));
    TRY(match(project, work->caller, err));
#define EDIT(column, letter, ...)              \
    if (!IS_NONE_##letter(work->edit->column)) \
        project->column = work->edit->column;
    PROJECT_GIVEN(EDIT)
#undef EDIT
#define EDIT(column, ...)              \
    if (work->edit->quota.column != 0) \
        project->quota.column = work->edit->quota.column;
    PROJECT_LIMITS(EDIT)
#undef EDIT
    project->version++;
    project->updated_ms = work->now_ms;
    TRY(db_exec(conn, NULL, err, SQL_PROJECT_EDIT,
                BIND(TEXT(work->id), INT(work->now_ms), PROJECT_GIVEN(SAVE) PROJECT_LIMITS(SAVE_LIMIT))));
    return log_project(conn, work, "project.updated", err);
}

/* Puts the project's new limits in force, for requests under way, too. */
static enum status learn(struct db_conn *conn, void *arg, struct error *err)
{
    const struct work *work = arg;
    struct db_rows     rows = db_query(conn, NULL, err, SQL_PROJECT_GET, BIND(TEXT(work->id)));
    while (db_next(&rows))
        if (quota_learn(work->app, row_project(&rows)) == NULL)
            rows.status = error_no_memory(err);
    return db_done(&rows);
}

enum status project_edit(struct app *app, struct caller *caller, const char *id, const struct project_new *change,
                         struct project *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .edit = change, .out = out, .now_ms = app->now_ms()};
    TRY(app_transact(app, caller, edit, &work, err));
    return db_read(app->db, learn, &work, err);
}

static enum status erase(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    TRY(token_check_secret(conn, work->caller, err));
    TRY(find(conn, work, err));
    TRY(match(work->out, work->caller, err));
    if (strcmp(work->id, CALLER_DEFAULT_PROJECT) == 0)
        return error_set(err, STATUS_CONFLICT, "default_project", "", "the default project stays");
    TRY(db_find(conn, NULL, &rows, err, SQL_PROJECT_HOLDS, BIND(TEXT(work->id))));
    if (row_count(&rows)->count > 0)
        return error_set(err, STATUS_CONFLICT, "project_not_empty", "",
                         "it has studies, federations or games: delete them first");
    TRY(db_exec(conn, NULL, err, SQL_TOKEN_REVOKE_PROJECT, BIND(TEXT(work->id), INT(work->now_ms))));
    TRY(log_project(conn, work, "project.deleted", err));
    return db_exec(conn, NULL, err, SQL_PROJECT_DELETE, BIND(TEXT(work->id)));
}

enum status project_delete(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct project project;
    struct work    work = {.app = app, .caller = caller, .id = id, .out = &project, .now_ms = app->now_ms()};
    TRY(app_transact(app, caller, erase, &work, err));
    token_forget_project(app, id);
    return STATUS_OK;
}
