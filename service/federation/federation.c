/* The use cases of the resource.  See federation.h. */
#include "service/federation/federation.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/base/npy.h"
#include "service/base/etag.h"
#include "service/base/text.h"
#include "service/base/digest.h"
#include "service/base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NPY_HEADER_MAX = 128 };

/* ---- create ---- */

/* The arguments that use cases hand to their transactions. */
struct work {
    struct app    *app;
    struct caller *caller;
    const char    *id;
    const struct federation_new *new;
    const struct federation_filter *filter;
    enum federation_verb            verb;
    struct federation              *federation;
    struct federation_page         *page;
    struct federation_agent        *agent;
    struct federation_agent_page   *agents;
    struct federation_file         *file;
    int64_t                         after, limit, now_ms;
};

static enum status make_features(const struct federation_spec *spec, struct arena *arena, struct federation_file *out,
                                 struct error *err)
{
    struct rff rff;
    TRY(federation_public(spec, arena, &rff, err));
    size_t         columns = rff.dims + 1;
    unsigned char *bytes = arena_alloc(arena, NPY_HEADER_MAX + rff.count * columns * sizeof(double), 1);
    if (bytes == NULL)
        return error_no_memory(err);
    size_t used = npy_write_header(rff.count, columns, NPY_F8, bytes);
    for (size_t i = 0; i < rff.count; i++) {
        memcpy(bytes + used, rff.frequencies + i * rff.dims, rff.dims * sizeof(double));
        used += rff.dims * sizeof(double);
        memcpy(bytes + used, &rff.phases[i], sizeof(double));
        used += sizeof(double);
    }
    out->bytes = bytes;
    out->length = used;
    sha256_hex(bytes, used, out->sha256);
    return STATUS_OK;
}

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    struct work             *work = arg;
    const struct federation *from = work->federation;
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_ADD,
                BIND(TEXT(from->id), TEXT(federation_state_names[from->state]), TEXT(work->new->spec_text),
                     BLOB(work->file->bytes, work->file->length), TEXT(work->file->sha256), INT(from->created_ms),
                     TEXT(caller_project(work->caller)), FEDERATION_GIVEN(SAVE))));
    return federation_log(conn, "federation.created", from->id, 0,
                          &(struct federation_by){.actor = work->caller->token_id, .at_ms = from->created_ms}, err);
}

enum status federation_create(struct app *app, struct caller *caller, const struct federation_new *new,
                              struct federation *out, struct error *err)
{
    struct federation_file file;
    struct work            work = {
                   .app = app, .caller = caller, .new = new, .federation = out, .file = &file, .now_ms = app->now_ms()};
    TRY(make_features(&new->spec, caller->arena, &file, err));
    const struct federation_new *from = new;
    *out = (struct federation){.spec = new->spec,
                               .features_sha256 = arena_strndup(caller->arena, file.sha256, strlen(file.sha256)),
                               .version = 1,
                               .round = 1,
                               .created_ms = work.now_ms,
                               .updated_ms = work.now_ms,
                               FEDERATION_GIVEN(TAKE)};
    if (out->features_sha256 == NULL)
        return error_no_memory(err);
    TRY(random_id(out->id, sizeof out->id, "fed_", 16, err));
    return app_transact(app, caller, create, &work, err);
}

/* ---- list ---- */

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct work            *work = arg;
    struct federation_page *out = work->page;
    struct arena           *arena = work->caller->arena;
    struct page_place       after;
    *out = (struct federation_page){0};
    TRY(page_after_place(work->filter->cursor, &after, err));
    out->federations = ARENA_NEW(arena, struct federation, (size_t)work->limit);
    if (out->federations == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, arena, err, SQL_FEDERATION_LIST,
                 BIND(TEXT(work->filter->state == NULL ? "" : work->filter->state), INT(after.created_ms),
                      TEXT(after.id), INT(work->limit + 1), TEXT(caller_project(work->caller))));
    while (db_next(&rows) && (int64_t)out->len < work->limit)
        rows.status = federation_read(row_federation(&rows), arena, &out->federations[out->len++], err);
    if (rows.has_row) {
        const struct federation *last = &out->federations[out->len - 1];
        rows.status = page_next_place(arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    return db_done(&rows);
}

enum status federation_list(struct app *app, struct caller *caller, const struct federation_filter *filter,
                            struct federation_page *out, struct error *err)
{
    struct work work = {
        .app = app, .caller = caller, .filter = filter, .page = out, .limit = page_limit(filter->limit)};
    return db_read(app->db, list, &work, err);
}

/* ---- change ---- */

static const struct {
    unsigned              from; /* bit set of states */
    enum federation_state to;
    const char           *reason;
} moves[] = {
    [FEDERATION_PAUSE] = {1u << FEDERATION_ACTIVE, FEDERATION_PAUSED, NULL},
    [FEDERATION_RESUME] = {1u << FEDERATION_PAUSED, FEDERATION_ACTIVE, NULL},
    [FEDERATION_COMPLETE] = {1u << FEDERATION_ACTIVE | 1u << FEDERATION_PAUSED, FEDERATION_COMPLETED, "requested"},
};

static enum status match(const struct federation *federation, const struct caller *caller, struct error *err)
{
    char etag[ETAG_BYTES];
    etag_of(federation->version, 0, etag);
    return etag_check(caller->if_match, etag, err);
}

static enum status move(struct db_conn *conn, void *arg, struct error *err)
{
    struct work       *work = arg;
    struct federation *federation = work->federation;
    TRY(federation_get(conn, work->id, work->caller->arena, work->federation, err));
    TRY(match(federation, work->caller, err));
    if (federation->state == moves[work->verb].to) // a repeat: its first answer may have been lost
        return STATUS_OK;
    if ((moves[work->verb].from >> federation->state & 1u) == 0)
        return error_state(err, "federation", federation_state_names[federation->state], federation->reason);
    return federation_set_state(conn, federation, moves[work->verb].to, moves[work->verb].reason,
                                &(struct federation_by){.actor = work->caller->token_id, .at_ms = work->now_ms}, err);
}

enum status federation_move(struct app *app, struct caller *caller, const char *id, enum federation_verb verb,
                            struct federation *out, struct error *err)
{
    struct work work = {
        .app = app, .caller = caller, .id = id, .verb = verb, .federation = out, .now_ms = app->now_ms()};
    TRY(caller_sees(caller, "federation", id, err));
    TRY(app_transact(app, caller, move, &work, err));
    if (out->state == FEDERATION_COMPLETED)
        db_scrub(app->db);
    return STATUS_OK;
}

/* The broadcasts are part of what such a study is made from. */
static enum status check_hosted(struct db_conn *conn, const char *id, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_FEDERATION_HOSTED, BIND(TEXT(id))));
    const struct row_count *row = row_count(&rows);
    return row->count == 0 ? STATUS_OK
                           : error_set(err, STATUS_CONFLICT, "federation_has_studies", "",
                                       "%lld studies are its agents: delete them first", (long long)row->count);
}

static enum status remove_row(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(federation_get(conn, work->id, work->caller->arena, work->federation, err));
    TRY(match(work->federation, work->caller, err));
    TRY(check_hosted(conn, work->id, err));
    TRY(db_exec(conn, NULL, err, SQL_TOKEN_REVOKE_RESOURCE, BIND(TEXT(work->id), INT(work->now_ms))));
    TRY(federation_log(conn, "federation.deleted", work->id, 0,
                       &(struct federation_by){.actor = work->caller->token_id, .at_ms = work->now_ms}, err));
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_DELETE, BIND(TEXT(work->id))));
    return app_erase(conn, work->id, err);
}

enum status federation_delete(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct federation federation;
    struct work work = {.app = app, .caller = caller, .id = id, .federation = &federation, .now_ms = app->now_ms()};
    TRY(caller_sees(caller, "federation", id, err));
    TRY(app_transact(app, caller, remove_row, &work, err));
    token_forget(app, id);
    db_erase(app->db);
    return STATUS_OK;
}

/* ---- agents ---- */

enum status federation_seat(struct db_conn *conn, struct federation *federation, struct federation_agent *agent,
                            const char *actor, int64_t now_ms, struct error *err)
{
    bool is_released = federation_is_once(federation->spec.study.policy) && federation->round > federation->spec.rounds;
    if (federation->state == FEDERATION_COMPLETED && !is_released)
        return error_state(err, "federation", "completed", federation->reason);
    if (federation->registered >= (is_released ? FEDERATION_SEATS_MAX : federation->spec.seats))
        return error_set(err, STATUS_CONFLICT, "federation_full", "", "all %lld seats are taken",
                         (long long)federation->spec.seats);
    agent->seat = ++federation->registered;
    agent->region = (int64_t)federation_region(&federation->spec, agent->seat);
    agent->created_ms = now_ms;
    federation->version++;
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_AGENT_ADD,
                BIND(TEXT(federation->id), INT(agent->seat), TEXT(agent->name), TEXT(agent->token_id),
                     TEXT(agent->study), INT(now_ms))));
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_REGISTER, BIND(TEXT(federation->id), INT(agent->seat), INT(now_ms))));
    return federation_log(conn, "agent.registered", federation->id, agent->seat,
                          &(struct federation_by){.actor = actor, .at_ms = now_ms}, err);
}

static enum status add_agent(struct db_conn *conn, void *arg, struct error *err)
{
    struct work             *work = arg;
    struct federation_agent *agent = work->agent;
    TRY(federation_get(conn, work->id, work->caller->arena, work->federation, err));
    TRY(federation_seat(conn, work->federation, agent, work->caller->token_id, work->now_ms, err));
    agent->token.agent = text_format(work->caller->arena, "%lld", (long long)agent->seat);
    if (agent->token.agent == NULL)
        return error_no_memory(err);
    return token_add(conn, work->caller, &agent->token, err);
}

enum status federation_register(struct app *app, struct caller *caller, const char *id, const char *name,
                                struct federation_agent *out, struct error *err)
{
    struct federation federation;
    struct work       work = {
              .app = app, .caller = caller, .id = id, .agent = out, .federation = &federation, .now_ms = app->now_ms()};
    const struct token_new token = TOKEN_NEW(.name = name, .scope = SCOPE_AGENT, .resource = id);
    TRY(caller_sees(caller, "federation", id, err));
    *out = (struct federation_agent){.name = name};
    TRY(token_draw(app, &token, &out->token, err));
    out->token_id = out->token.id;
    return app_transact(app, caller, add_agent, &work, err);
}

/* But for its token. */
static void read_agent(const struct row_agent *row, const struct federation_spec *spec, struct federation_agent *out)
{
    out->seat = row->seat;
    out->name = row->name;
    out->token_id = row->token;
    out->study = row->study;
    out->created_ms = row->created_ms;
    out->region = (int64_t)federation_region(spec, out->seat);
}

static enum status find_agent(struct db_conn *conn, struct work *work, struct error *err)
{
    struct db_rows rows;
    TRY(federation_get(conn, work->id, work->caller->arena, work->federation, err));
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_FEDERATION_AGENT_LIST,
                BIND(TEXT(work->id), INT(work->after), INT(1))));
    const struct row_agent *row = row_agent(&rows);
    if (row == NULL || row->seat != work->after + 1)
        return error_set(err, STATUS_NOT_FOUND, "agent_not_found", "", "no agent has this seat");
    read_agent(row, &work->federation->spec, work->agent);
    return STATUS_OK;
}

static enum status renew(struct db_conn *conn, void *arg, struct error *err)
{
    struct work             *work = arg;
    struct federation_agent *agent = work->agent;
    int64_t                  changes = 0;
    TRY(find_agent(conn, work, err));
    if (agent->study != NULL)
        return error_set(err, STATUS_CONFLICT, "seat_taken", "", "a study has this seat");
    TRY(db_exec(conn, &changes, err, SQL_TOKEN_REVOKE,
                BIND(TEXT(agent->token_id), INT(work->now_ms), TEXT(work->caller->project))));
    if (changes > 0 && work->caller->scope != SCOPE_ADMIN)
        return error_set(err, STATUS_CONFLICT, "seat_taken", "",
                         "an agent has this seat; an admin may give it another token");
    if (changes > 0)
        TRY(event_log(conn,
                      EVENT(.at_ms = work->now_ms, .kind = "token.revoked", .actor = work->caller->token_id,
                            .project = caller_project(work->caller), .detail = agent->token_id),
                      err));
    agent->token_id = agent->token.id;
    agent->token.name = agent->name;
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_AGENT_TOKEN,
                BIND(TEXT(work->id), INT(agent->seat), TEXT(agent->token.id))));
    return token_add(conn, work->caller, &agent->token, err);
}

enum status federation_renew(struct app *app, struct caller *caller, const char *id, int64_t seat,
                             struct federation_agent *out, struct error *err)
{
    const char       *name = text_format(caller->arena, "%lld", (long long)seat);
    struct federation federation;
    struct work       work = {.app = app,
                              .caller = caller,
                              .id = id,
                              .agent = out,
                              .federation = &federation,
                              .after = seat - 1,
                              .now_ms = app->now_ms()};
    if (name == NULL)
        return error_no_memory(err);
    const struct token_new token = TOKEN_NEW(.name = "", .scope = SCOPE_AGENT, .resource = id, .agent = name);
    TRY(caller_sees(caller, "federation", id, err));
    *out = (struct federation_agent){.seat = seat};
    TRY(token_draw(app, &token, &out->token, err));
    TRY(app_transact(app, caller, renew, &work, err));
    token_forget(app, id);
    return STATUS_OK;
}

static enum status list_agents(struct db_conn *conn, void *arg, struct error *err)
{
    struct work                  *work = arg;
    struct federation_agent_page *out = work->agents;
    struct arena                 *arena = work->caller->arena;
    TRY(federation_get(conn, work->id, arena, work->federation, err));
    out->agents = arena_zalloc(arena, (size_t)work->limit, sizeof *out->agents);
    if (out->agents == NULL)
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, arena, err, SQL_FEDERATION_AGENT_LIST,
                                   BIND(TEXT(work->id), INT(work->after), INT(work->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < work->limit)
        read_agent(row_agent(&rows), &work->federation->spec, &out->agents[out->len++]);
    if (rows.has_row)
        rows.status = page_next(arena, out->agents[out->len - 1].seat, &out->next_cursor, err);
    return db_done(&rows);
}

enum status federation_agents(struct app *app, struct caller *caller, const char *id, const struct page *page,
                              struct federation_agent_page *out, struct error *err)
{
    struct federation federation;
    struct work       work = {.app = app,
                              .caller = caller,
                              .id = id,
                              .agents = out,
                              .federation = &federation,
                              .limit = page_limit(page->limit)};
    *out = (struct federation_agent_page){0};
    TRY(caller_sees(caller, "federation", id, err));
    TRY(page_after(page->cursor, &work.after, err));
    return db_read(app->db, list_agents, &work, err);
}

/* ---- features ---- */

static enum status read_features(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_FEDERATION_FEATURES, BIND(TEXT(work->id))));
    const struct row_features *row = row_features(&rows);
    if (row == NULL)
        return caller_no_such("federation", err);
    *work->file = (struct federation_file){.bytes = row->features.bytes, .length = row->features.length};
    snprintf(work->file->sha256, sizeof work->file->sha256, "%s", row->features_sha256);
    return STATUS_OK;
}

enum status federation_features(struct app *app, struct caller *caller, const char *id, struct federation_file *out,
                                struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .file = out};
    TRY(caller_sees(caller, "federation", id, err));
    return db_read(app->db, read_features, &work, err);
}
