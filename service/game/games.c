/* The use cases of games but for what is played in them (games_round.c).  Each is one transaction; what a token may not
 * see is not there. */
#include "service/game/games.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/codec/codec_game.h"
#include "service/base/random.h"
#include "service/session/session.h"
#include "service/store/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ACT_MAX_SECONDS = 5, REPLAY_MAX_SECONDS = 60 };

/* A token of scope agent that speaks for nobody sees no game at all. */
static enum status check_visible(const struct caller *caller, const char *id, struct error *err)
{
    bool is_nobody = caller->scope == SCOPE_AGENT && caller->agent[0] == '\0';
    return is_nobody ? caller_no_such("game", err) : caller_sees(caller, "game", id, err);
}

/* ---- rows ---- */

static enum status read_row(const struct row_game *from, struct game_row *out, struct error *err)
{
    int state;
    TRY(rows_state(games_state_names, from->state, from->id, &state, err));
    *out = (struct game_row){.state = (enum games_state)state,
                             .reason = from->reason,
                             .budget_rounds = from->budget,
                             .spec_text = from->spec,
                             GAME_GIVEN(TAKE) GAME_KEPT(TAKE)};
    snprintf(out->id, sizeof out->id, "%s", from->id);
    return STATUS_OK;
}

/* With its open round, but without what its specification says. */
static enum status read_game(struct db_conn *conn, enum sql sql, const char *id, struct arena *arena,
                             struct game_row *out, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, sql, BIND(TEXT(id))));
    if (row_game(&rows) == NULL)
        return caller_no_such("game", err);
    TRY(read_row(row_game(&rows), out, err));
    rows = db_query(conn, NULL, err, SQL_PLAY_LIST, BIND(TEXT(id), INT(out->rounds), INT(out->rounds + 1)));
    while (db_next(&rows))
        out->is_in[row_play(&rows)->agent] = true;
    return db_done(&rows);
}

enum status games_refresh(struct db_conn *conn, const char *id, struct arena *arena, struct game_row *game,
                          struct error *err)
{
    struct game_row now;
    TRY(read_game(conn, SQL_GAME_STATE, id, arena, &now, err));
    now.spec = game->spec;
    now.spec_text = game->spec_text;
    now.viewer = game->viewer;
    *game = now;
    return STATUS_OK;
}

static enum status log_game(struct db_conn *conn, const struct game_row *game, const char *kind,
                            const struct caller *caller, int64_t now_ms, struct error *err)
{
    return event_log(conn,
                     EVENT(.at_ms = now_ms, .kind = kind, .study = game->id, .project = caller->project,
                           .revision = game->rounds, .actor = caller->token_id),
                     err);
}

enum status games_save(struct db_conn *conn, struct game_row *game, const char *kind, const struct caller *caller,
                       int64_t now_ms, struct error *err)
{
    int64_t most = (int64_t)game_rounds_max(&game->spec->problem);
    bool    is_spent = game->rounds >= (game->budget_rounds > 0 ? game->budget_rounds : most);
    bool    completes = is_spent && game->state == GAMES_ACTIVE;
    if (completes) {
        game->state = GAMES_COMPLETED;
        game->reason = "budget_exhausted";
    }
    game->updated_ms = now_ms;
    TRY(db_exec(conn, NULL, err, SQL_GAME_SAVE,
                BIND(TEXT(game->id), TEXT(games_state_names[game->state]), TEXT(game->reason), INT(game->rounds),
                     INT(now_ms))));
    TRY(log_game(conn, game, kind, caller, now_ms, err));
    return completes ? log_game(conn, game, "game.completed", caller, now_ms, err) : STATUS_OK;
}

/* ---- create ---- */

struct work {
    struct app    *app;
    struct caller *caller;
    const char    *id, *agent;
    const struct game_new *new;
    struct game_row   *out;
    const struct page *asked;
    int64_t            limit;
    struct game_page  *page;
    struct token      *token;
};

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    struct work           *work = arg;
    const struct game_row *from = work->out;
    TRY(db_exec(conn, NULL, err, SQL_GAME_ADD,
                BIND(TEXT(from->id), TEXT(games_state_names[from->state]), TEXT(work->new->spec_text),
                     INT(from->budget_rounds), INT(from->created_ms), TEXT(caller_project(work->caller)),
                     GAME_GIVEN(SAVE))));
    return log_game(conn, from, "game.created", work->caller, from->created_ms, err);
}

/* Refuses a game that memory cannot hold before it is made; bytes: of the game without rounds. */
static enum status try_open(struct app *app, struct game_spec *spec, size_t *bytes, struct error *err)
{
    struct game *game;
    spec->problem.memory_bytes = app->options.session_bytes;
    TRY(game_open(&spec->problem, &game, err));
    *bytes = game_bytes(game);
    game_close(game);
    return STATUS_OK;
}

/* Whether the last of so many rounds could still be played; a part of a session's memory is for the specification. */
static bool fits(const struct app *app, const struct game_problem *problem, size_t bytes, size_t rounds)
{
    double free_bytes = 0.9375 * (double)app->options.session_bytes - (double)bytes;
    return game_rounds_bytes(problem, rounds) <= free_bytes && game_act_seconds(problem, rounds) <= ACT_MAX_SECONDS &&
           game_tell_seconds(problem, rounds) <= REPLAY_MAX_SECONDS;
}

static enum status check_size(struct app *app, const struct game_new *new, struct error *err)
{
    const struct game_problem *problem = &new->spec->problem;
    size_t                     bytes, few = 0, most = game_rounds_max(problem);
    size_t                     many = (new->budget_rounds > 0 ? (size_t) new->budget_rounds : most) + 1;
    TRY(try_open(app, new->spec, &bytes, err));
    while (many - few > 1) { // few rounds fit, many do not or are not asked for
        size_t half = few + (many - few) / 2;
        if (fits(app, problem, bytes, half))
            few = half;
        else
            many = half;
    }
    if (few == (new->budget_rounds > 0 ? (size_t) new->budget_rounds : most))
        return STATUS_OK;
    if (few == 0)
        return error_set(err, STATUS_INVALID, "game_too_large", "/agents", "not even a round could be played in time");
    return error_set(
        err, STATUS_INVALID, "game_too_large", "/budget/rounds",
        "with these agents, actions, samples and beliefs a game may have %zu rounds; after more, an answer "
        "would take too long or not fit in memory",
        few);
}

enum status games_create(struct app *app, struct caller *caller, const struct game_new *new, struct game_row *out,
                         struct error *err)
{
    int64_t now = app->now_ms(), most = (int64_t)game_rounds_max(&new->spec->problem);
    if (new->budget_rounds > most)
        return error_set(err, STATUS_INVALID, "out_of_range", "/budget/rounds",
                         "a game of so many joint actions has at most %lld rounds", (long long)most);
    const struct game_new *from = new;
    *out = (struct game_row){.spec = new->spec,
                             .budget_rounds = new->budget_rounds,
                             .created_ms = now,
                             .updated_ms = now,
                             .viewer = new->spec->problem.agents_len,
                             GAME_GIVEN(TAKE)};
    TRY(check_size(app, new, err));
    TRY(random_id(out->id, sizeof out->id, "gam_", 16, err));
    struct work work = {.app = app, .caller = caller, .new = new, .out = out};
    return app_transact(app, caller, create, &work, err);
}

/* ---- find, list ---- */

/* A token of an agent sees the game with its eyes. */
static enum status set_viewer(const struct caller *caller, struct game_row *game, struct error *err)
{
    if (caller->agent[0] == '\0')
        return STATUS_OK;
    game->viewer = games_agent(game->spec, caller->agent);
    return game->viewer < game->spec->problem.agents_len ? STATUS_OK : caller_no_such("game", err);
}

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    return read_game(conn, SQL_GAME_GET, work->id, work->caller->arena, work->out, err);
}

enum status games_find(struct app *app, struct caller *caller, const char *id, struct game_row *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .out = out};
    TRY(check_visible(caller, id, err));
    TRY(db_read(app->db, find, &work, err));
    TRY(codec_game_parse(out->spec_text, caller->arena, &out->spec, err)); // holds up no connection to the store
    out->viewer = out->spec->problem.agents_len;
    return set_viewer(caller, out, err);
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct work      *work = arg;
    struct game_page *out = work->page;
    struct arena     *arena = work->caller->arena;
    struct page_place after;
    TRY(page_after_place(work->asked->cursor, &after, err));
    *out = (struct game_page){.games = ARENA_NEW(arena, struct game_row, (size_t)work->limit)};
    if (out->games == NULL)
        return error_no_memory(err);
    bool           is_nobody = work->caller->scope == SCOPE_AGENT && work->caller->agent[0] == '\0';
    const char    *only = is_nobody ? "none" : work->caller->resource;
    struct db_rows rows = db_query(conn, arena, err, SQL_GAME_LIST,
                                   BIND(INT(after.created_ms), TEXT(after.id), TEXT(only), INT(work->limit + 1),
                                        TEXT(caller_project(work->caller))));
    while (db_next(&rows) && (int64_t)out->len < work->limit)
        rows.status = read_row(row_game(&rows), &out->games[out->len++], err);
    if (rows.has_row) {
        const struct game_row *last = &out->games[out->len - 1];
        rows.status = page_next_place(arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    return db_done(&rows);
}

enum status games_list(struct app *app, struct caller *caller, const struct page *page, struct game_page *out,
                       struct error *err)
{
    struct work work = {.app = app, .caller = caller, .asked = page, .limit = page_limit(page->limit), .page = out};
    return db_read(app->db, list, &work, err);
}

/* ---- change ---- */

static enum status complete(struct db_conn *conn, void *arg, struct error *err)
{
    struct work     *work = arg;
    struct game_row *game = work->out;
    TRY(games_refresh(conn, work->id, work->caller->arena, game, err));
    if (game->state != GAMES_ACTIVE) // a repeat: its first answer may have been lost
        return STATUS_OK;
    game->state = GAMES_COMPLETED;
    game->reason = "requested";
    return games_save(conn, game, "game.completed", work->caller, work->app->now_ms(), err);
}

enum status games_complete(struct app *app, struct caller *caller, const char *id, struct game_row *out,
                           struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .out = out};
    TRY(games_find(app, caller, id, out, err));
    return app_transact(app, caller, complete, &work, err);
}

static enum status erase(struct db_conn *conn, void *arg, struct error *err)
{
    struct work    *work = arg;
    struct game_row game = {.spec = NULL};
    TRY(games_refresh(conn, work->id, work->caller->arena, &game, err));
    TRY(app_erase(conn, work->id, err));
    TRY(db_exec(conn, NULL, err, SQL_GAME_DELETE, BIND(TEXT(work->id))));
    TRY(event_log_leave(conn,
                        EVENT(.at_ms = work->app->now_ms(), .kind = "game.deleted", .study = work->id,
                              .project = work->caller->project, .revision = game.rounds,
                              .actor = work->caller->token_id),
                        err));
    return event_log_stay(conn, work->id, err);
}

enum status games_delete(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id};
    TRY(check_visible(caller, id, err));
    TRY(app_transact(app, caller, erase, &work, err));
    db_erase(app->db);
    session_drop(app, id);
    return STATUS_OK;
}

static enum status add_token(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(games_refresh(conn, work->id, work->caller->arena, work->out, err));
    if (games_agent(work->out->spec, work->agent) == work->out->spec->problem.agents_len)
        return error_set(err, STATUS_NOT_FOUND, "agent_not_found", "", "no agent of the game has this name");
    return token_add(conn, work->caller, work->token, err);
}

enum status games_token(struct app *app, struct caller *caller, const char *id, const struct game_token *asked,
                        struct token *out, struct error *err)
{
    const char     *agent = asked->agent;
    struct game_row game;
    struct work     work = {.app = app, .caller = caller, .id = id, .agent = agent, .out = &game, .token = out};
    TRY(games_find(app, caller, id, &game, err));
    if (strlen(agent) > GAMES_NAME_MAX)
        return error_set(err, STATUS_NOT_FOUND, "agent_not_found", "", "no agent of the game has this name");
    const struct token_new new = TOKEN_NEW(.name = agent, .scope = SCOPE_AGENT, .resource = id, .agent = agent,
                                           .expires_in_ms = asked->expires_in_ms);
    TRY(token_draw(app, &new, out, err));
    return app_transact(app, caller, add_token, &work, err);
}
