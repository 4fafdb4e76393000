/* Playing: suggestions, observations, rounds.
 * Invariants: a round's plays are complete exactly when its number is at most the game's rounds; a play never changes, but
 * for a payoff that was not known; the session was told the rounds up to live->seq. */
#include "service/app/app_transact.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/codec/codec_game.h"
#include "service/game/games.h"
#include "service/session/session.h"

#include <math.h>
#include <string.h>

/* ---- plays in the store ---- */

struct range {
    int64_t first, last; /* rounds, inclusive */
};

/* plays [last - first + 1][agents_len], zeroed by the caller. */
static enum status read_plays(struct db_conn *conn, const struct game_row *game, const struct range *range,
                              struct arena *arena, struct game_play *plays, struct error *err)
{
    size_t         len = game->spec->problem.agents_len;
    struct db_rows rows =
        db_query(conn, arena, err, SQL_PLAY_LIST, BIND(TEXT(game->id), INT(range->first - 1), INT(range->last)));
    while (db_next(&rows)) {
        const struct row_play *row = row_play(&rows);
        plays[(size_t)(row->round - range->first) * len + (size_t)row->agent] = (struct game_play){
            .is_in = true, .row = row->row, .point = row->point.bytes, .payoff = row->payoff, .at_ms = row->at_ms};
    }
    return db_done(&rows);
}

/* ---- the session ---- */

struct look {
    struct app       *app;
    struct caller    *caller;
    const char       *id;
    struct live      *live;
    struct game_row  *game;
    struct game_play *plays; /* those that the session does not know */
    bool              all;   /* from the first round */
    bool              is_cut;
};

/* Reads the game as it is now, and its new rounds. */
static enum status read_news(struct db_conn *conn, void *arg, struct error *err)
{
    struct look *look = arg;
    TRY(games_refresh(conn, look->id, look->caller->arena, look->game, err));
    const struct range range = {.first = look->all ? 1 : look->live->seq + 1, .last = look->game->rounds};
    size_t             len = look->game->spec->problem.agents_len, count = (size_t)(range.last - range.first + 1);
    look->plays = arena_zalloc(look->caller->arena, count * len + 1, sizeof *look->plays);
    if (look->plays == NULL)
        return error_no_memory(err);
    return read_plays(conn, look->game, &range, look->caller->arena, look->plays, err);
}

static enum status open_session(struct look *look, struct error *err)
{
    struct game_spec *own; // lives as long as the session
    TRY(codec_game_parse(look->game->spec_text, &look->live->arena, &own, err));
    struct game_problem *problem = &own->problem;
    if (look->live->arena.taken_bytes >= look->app->options.session_bytes)
        return error_no_memory(err);
    problem->memory_bytes = look->app->options.session_bytes - look->live->arena.taken_bytes;
    return game_open(problem, &look->live->game, err);
}

/* The price of the rounds that the session does not know yet. */
static double price_news(const struct look *look)
{
    const struct game_problem *problem = &look->game->spec->problem;
    double                     all = game_tell_seconds(problem, (size_t)look->game->rounds);
    return price_seconds(look->app, all - game_tell_seconds(problem, (size_t)look->live->seq));
}

static double price_action(const struct look *look)
{
    return price_seconds(look->app, game_act_seconds(&look->game->spec->problem, (size_t)look->game->rounds));
}

/* Announces the price before the session is locked, as if it were up to date. */
static enum status announce(const struct look *look, struct error *err)
{
    return slots_announce(look->caller, price_action(look), err);
}

/* Tells the session the plays of new rounds: replaying a long game takes a minute. */
static enum status tell_plays(struct look *look, const struct game_play *plays, struct error *err)
{
    struct live            *live = look->live;
    const struct game_spec *spec = look->game->spec;
    size_t                  len = spec->problem.agents_len, rounds = (size_t)(look->game->rounds - live->seq);
    for (size_t i = 0; i < rounds; i++) {
        TRY(slots_go_on(look->app, look->caller, err));
        struct game_action actions[GAME_AGENTS_MAX];
        double             payoffs[GAME_AGENTS_MAX];
        for (size_t a = 0; a < len; a++) {
            const struct game_play *play = &plays[i * len + a];
            actions[a] = (struct game_action){.row = play->row < 0 ? 0 : (size_t)play->row, .point = play->point};
            payoffs[a] = games_sign(spec, a) * play->payoff;
        }
        TRY(game_tell(live->game, actions, payoffs, err));
        live->seq++;
    }
    return STATUS_OK;
}

/* Under the session's lock. */
static enum status catch_up(struct look *look, struct error *err)
{
    struct live *live = look->live;
    enum status  status = db_read(look->app->db, read_news, look, err);
    if (status != STATUS_OK)
        return status;
    atomic_fetch_add(live->game == NULL ? &look->app->counters.session_misses : &look->app->counters.session_hits, 1);
    TRY(slots_enter(look->app, look->caller, price_news(look), err));
    if (live->game == NULL)
        status = open_session(look, err);
    size_t known = look->all ? (size_t)live->seq : 0;
    if (status == STATUS_OK)
        status = tell_plays(look, look->plays + known * look->game->spec->problem.agents_len, err);
    slots_leave(look->app, look->caller, "r2-b2");
    if (status != STATUS_OK)
        session_forget(live);
    return status;
}

/* ---- suggest ---- */

static enum status check_agent(const struct caller *caller, const struct game_spec *spec, const char *agent,
                               size_t *out, struct error *err)
{
    *out = games_agent(spec, agent);
    if (*out == spec->problem.agents_len)
        return error_set(err, STATUS_NOT_FOUND, "agent_not_found", "", "no agent of the game has this name");
    if (caller->agent[0] != '\0' && strcmp(caller->agent, agent) != 0)
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token speaks for another agent");
    return STATUS_OK;
}

static enum status check_active(const struct game_row *game, struct error *err)
{
    if (game->state == GAMES_ACTIVE)
        return STATUS_OK;
    return error_state(err, "game", "completed", game->reason);
}

static bool is_late(void *arg)
{
    struct look *look = arg;
    struct error why;
    look->is_cut = look->is_cut || slots_go_on(look->app, look->caller, &why) != STATUS_OK;
    return look->is_cut;
}

static enum status act(struct look *look, size_t agent, struct game_turn *out, struct error *err)
{
    TRY(slots_enter(look->app, look->caller, price_action(look), err));
    const struct game_patience patience = {.late = is_late, .arg = look};
    enum status status = game_act(look->live->game, agent, &patience, look->caller->arena, &out->action, err);
    slots_leave(look->app, look->caller, "r2-b2");
    return look->is_cut ? app_go_on(look->app, look->caller, err) : status;
}

/* The point may lie in the session, which goes on without us: it is copied. */
static enum status keep_point(struct caller *caller, const struct game_spec *spec, size_t agent,
                              struct game_action *action, struct error *err)
{
    size_t params_len = spec->sets[agent].space.params_len;
    if (action->point == NULL)
        return STATUS_OK;
    double *copy = ARENA_NEW(caller->arena, double, params_len);
    if (copy == NULL)
        return error_no_memory(err);
    action->point = memcpy(copy, action->point, params_len * sizeof *copy);
    return STATUS_OK;
}

static enum status suggest(struct look *look, const char *agent, struct game_turn *out, struct error *err)
{
    TRY(catch_up(look, err));
    const struct game_row *game = look->game;
    TRY(check_agent(look->caller, game->spec, agent, &out->agent, err));
    TRY(check_active(game, err));
    out->spec = game->spec;
    out->round = game->rounds + 1;
    TRY(act(look, out->agent, out, err));
    return keep_point(look->caller, game->spec, out->agent, &out->action, err);
}

enum status games_suggest(struct app *app, struct caller *caller, const char *id, const char *agent,
                          struct game_turn *out, struct error *err)
{
    struct game_row game;
    struct look     look = {.app = app, .caller = caller, .id = id, .game = &game};
    TRY(games_find(app, caller, id, &game, err)); // a missing game gets no session
    TRY(announce(&look, err));
    TRY(session_lock(app, caller, id, SESSION_ALONE, &look.live, err));
    enum status status = suggest(&look, agent, out, err);
    session_unlock(app, look.live);
    if (status == STATUS_OK)
        atomic_fetch_add(&app->counters.suggestions, 1);
    return status;
}

/* ---- observe ---- */

struct observing {
    struct app                    *app;
    struct caller                 *caller;
    const char                    *id;
    const struct game_observation *observation;
    struct game_observed          *out;
    struct game_row                game;
    int64_t                        now_ms;
};

static bool same_action(const struct game_spec *spec, size_t a, const struct game_play *x, const struct game_play *y)
{
    size_t params_len = spec->sets[a].space.params_len;
    if (x->point == NULL || y->point == NULL)
        return x->point == y->point && x->row == y->row;
    for (size_t i = 0; i < params_len; i++)
        if (x->point[i] != y->point[i] && !(isnan(x->point[i]) && isnan(y->point[i])))
            return false;
    return true;
}

/* A payoff that followed from others may have been rounded on its way. */
static bool same_payoff(const struct game_spec *spec, double x, double y)
{
    double slack = spec->problem.sum == GAME_CONSTANT ? 1e-9 * (fabs(spec->total) + fabs(x)) : 0;
    return fabs(x - y) <= slack;
}

/* Merges an observed play into the known one.  *news: something was new. */
static enum status merge(const struct observing *work, size_t a, struct game_play *known, bool *news, struct error *err)
{
    const struct game_play *play = &work->observation->plays[a];
    const char             *name = work->game.spec->names[a];
    if (play->is_in && known->is_in && !same_action(work->game.spec, a, play, known))
        return error_set(err, STATUS_CONFLICT, "round_observed", "", "%s was observed with another action", name);
    if (!isnan(play->payoff) && !isnan(known->payoff) && !same_payoff(work->game.spec, play->payoff, known->payoff))
        return error_set(err, STATUS_CONFLICT, "round_observed", "", "%s was observed with another payoff", name);
    if (play->is_in && !known->is_in) {
        double payoff = known->payoff;
        *known = *play;
        known->payoff = payoff;
        known->at_ms = work->now_ms;
        *news = true;
    }
    if (!isnan(play->payoff) && isnan(known->payoff)) {
        known->payoff = play->payoff;
        *news = true;
    }
    return STATUS_OK;
}

static const char *where_of(const struct observing *work, size_t a)
{
    return work->observation->where[a] == NULL ? "" : work->observation->where[a];
}

/* Common payoffs are equal; of constant-sum payoffs the last one follows.  Refused when they do not fit. */
static enum status infer(const struct observing *work, struct game_play *plays, struct error *err)
{
    const struct game_spec *spec = work->game.spec;
    size_t                  len = spec->problem.agents_len, missing = 0, last = 0;
    double                  sum = 0, size = fabs(spec->total), common = NAN;
    for (size_t a = 0; a < len; a++) {
        if (isnan(plays[a].payoff)) {
            missing++;
            last = a;
            continue;
        }
        sum += plays[a].payoff;
        size += fabs(plays[a].payoff);
        if (spec->problem.sum == GAME_COMMON && !isnan(common) && plays[a].payoff != common)
            return error_set(err, STATUS_INVALID, "payoffs_differ", where_of(work, a),
                             "the game's payoffs are common, and %s has another", spec->names[a]);
        common = plays[a].payoff;
    }
    if (spec->problem.sum == GAME_CONSTANT && missing == 0 && fabs(sum - spec->total) > 1e-9 * size)
        return error_set(err, STATUS_INVALID, "payoffs_do_not_add_up", where_of(work, 0),
                         "payoffs must add up to %.10g, and these make %.10g", spec->total, sum);
    if (spec->problem.sum == GAME_CONSTANT && missing == 1)
        plays[last].payoff = spec->total - sum;
    for (size_t a = 0; a < len && spec->problem.sum == GAME_COMMON; a++)
        plays[a].payoff = common;
    return STATUS_OK;
}

/* Each action that is in needs a payoff, its own or one that follows from others'; but for general sums once all are in. */
static enum status check_payoffs(const struct observing *work, const struct game_play *plays, bool *is_closed,
                                 struct error *err)
{
    const struct game_spec *spec = work->game.spec;
    bool                    all_in = true;
    size_t                  silent = spec->problem.agents_len;
    for (size_t a = 0; a < spec->problem.agents_len; a++) {
        all_in = all_in && plays[a].is_in;
        if (isnan(plays[a].payoff) && (spec->problem.sum == GAME_GENERAL ? plays[a].is_in : true))
            silent = a;
    }
    *is_closed = all_in && silent == spec->problem.agents_len;
    if (silent == spec->problem.agents_len || (!all_in && spec->problem.sum != GAME_GENERAL))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "missing_member", where_of(work, silent),
                     "the payoff of %s is missing and does not follow from others", spec->names[silent]);
}

static enum status write_plays(struct db_conn *conn, const struct observing *work, const struct game_play *plays,
                               struct error *err)
{
    for (size_t a = 0; a < work->game.spec->problem.agents_len; a++) {
        const struct game_play *play = &plays[a];
        size_t bytes = play->point == NULL ? 0 : work->game.spec->sets[a].space.params_len * sizeof *play->point;
        if (play->is_in)
            TRY(db_exec(conn, NULL, err, SQL_PLAY_PUT,
                        BIND(TEXT(work->id), INT(work->observation->round), INT((int64_t)a), BLOB(play->point, bytes),
                             INT(play->row), REAL(play->payoff), INT(play->at_ms))));
    }
    return STATUS_OK;
}

static void reply(const struct observing *work, const struct game_play *plays, bool is_duplicate, bool is_closed)
{
    struct game_observed *out = work->out;
    *out = (struct game_observed){.spec = work->game.spec,
                                  .round = work->observation->round,
                                  .is_duplicate = is_duplicate,
                                  .is_closed = is_closed};
    memcpy(out->plays, plays, work->game.spec->problem.agents_len * sizeof *plays);
}

/* An agent's token is for what the agent did. */
static enum status check_observation(const struct observing *work, struct error *err)
{
    const struct game_spec *spec = work->game.spec;
    for (size_t a = 0; a < spec->problem.agents_len && work->caller->agent[0] != '\0'; a++) {
        const struct game_play *play = &work->observation->plays[a];
        if ((play->is_in || !isnan(play->payoff)) && strcmp(spec->names[a], work->caller->agent) != 0)
            return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token speaks for %s only",
                             work->caller->agent);
    }
    return STATUS_OK;
}

static enum status observe(struct db_conn *conn, void *arg, struct error *err)
{
    struct observing *work = arg;
    struct game_row  *game = &work->game;
    struct game_play  plays[GAME_AGENTS_MAX] = {0};
    bool              news = false, is_closed = false;
    TRY(check_observation(work, err));
    TRY(games_refresh(conn, work->id, work->caller->arena, game, err));
    const struct range range = {.first = work->observation->round, .last = work->observation->round};
    if (range.first > game->rounds)
        TRY(check_active(game, err));
    if (range.first > game->rounds + 1)
        return error_set(err, STATUS_CONFLICT, "round_not_open", "/round", "round %lld is open",
                         (long long)game->rounds + 1);
    for (size_t a = 0; a < GAME_AGENTS_MAX; a++)
        plays[a].payoff = NAN;
    TRY(read_plays(conn, game, &range, work->caller->arena, plays, err));
    for (size_t a = 0; a < game->spec->problem.agents_len; a++)
        TRY(merge(work, a, &plays[a], &news, err));
    if (range.first <= game->rounds || !news) {
        reply(work, plays, true, range.first <= game->rounds);
        return STATUS_OK;
    }
    TRY(infer(work, plays, err));
    TRY(check_payoffs(work, plays, &is_closed, err));
    TRY(write_plays(conn, work, plays, err));
    reply(work, plays, false, is_closed);
    game->rounds += is_closed;
    return games_save(conn, game, is_closed ? "game.round" : "game.observed", work->caller, work->now_ms, err);
}

enum status games_observe(struct app *app, struct caller *caller, const char *id,
                          const struct game_observation *observation, struct game_observed *out, struct error *err)
{
    struct observing work = {
        .app = app, .caller = caller, .id = id, .observation = observation, .out = out, .now_ms = app->now_ms()};
    TRY(games_find(app, caller, id, &work.game, err));
    TRY(app_transact(app, caller, observe, &work, err));
    atomic_fetch_add(&app->counters.observations, !out->is_duplicate);
    return STATUS_OK;
}

/* ---- rounds ---- */

/* Everything that was observed with running means; the page is cut out of it. */
static void fill_rounds(const struct game_row *game, const struct game_play *plays, double *const *regrets,
                        struct game_round *out)
{
    size_t len = game->spec->problem.agents_len;
    double sums[GAME_AGENTS_MAX] = {0};
    for (int64_t i = 0; i < game->rounds; i++) {
        out[i].number = i + 1;
        for (size_t a = 0; a < len; a++) {
            out[i].plays[a] = plays[(size_t)i * len + a];
            sums[a] += out[i].plays[a].payoff;
            out[i].mean[a] = sums[a] / (double)(i + 1);
            out[i].regret[a] = regrets[a][i];
        }
    }
}

static enum status read_regrets(struct look *look, double **regrets, struct error *err)
{
    size_t len = look->game->spec->problem.agents_len;
    for (size_t a = 0; a < len; a++) {
        regrets[a] = ARENA_NEW(look->caller->arena, double, (size_t)look->game->rounds + 1);
        if (regrets[a] == NULL)
            return error_no_memory(err);
        TRY(slots_enter(look->app, look->caller, price_action(look), err));
        enum status status = game_regret(look->live->game, a, look->caller->arena, regrets[a], err);
        slots_leave(look->app, look->caller, "r2-b2");
        TRY(status);
    }
    return STATUS_OK;
}

static enum status list_rounds(struct look *look, int64_t after, int64_t limit, struct game_rounds *out,
                               struct error *err)
{
    double *regrets[GAME_AGENTS_MAX];
    TRY(catch_up(look, err));
    TRY(read_regrets(look, regrets, err));
    const struct game_row *game = look->game;
    struct game_round     *all = ARENA_NEW(look->caller->arena, struct game_round, (size_t)game->rounds + 1);
    if (all == NULL)
        return error_no_memory(err);
    fill_rounds(game, look->plays, regrets, all);
    int64_t left = after < game->rounds ? game->rounds - after : 0, len = left < limit ? left : limit;
    *out = (struct game_rounds){.spec = game->spec,
                                .rounds = all + (left > 0 ? after : 0),
                                .len = (size_t)len,
                                .is_over = game->state == GAMES_COMPLETED};
    return len < left ? page_next(look->caller->arena, after + len, &out->next_cursor, err) : STATUS_OK;
}

enum status games_rounds(struct app *app, struct caller *caller, const char *id, const struct page *page,
                         struct game_rounds *out, struct error *err)
{
    struct game_row game;
    struct look     look = {.app = app, .caller = caller, .id = id, .game = &game, .all = true};
    int64_t         after;
    TRY(games_find(app, caller, id, &game, err));
    TRY(page_after(page->cursor, &after, err));
    TRY(announce(&look, err));
    TRY(session_lock(app, caller, id, SESSION_ALONE, &look.live, err));
    enum status status = list_rounds(&look, after, page_limit(page->limit), out, err);
    session_unlock(app, look.live);
    return status;
}

/* ---- best responses ---- */

static enum status draw_curve(struct look *look, size_t other, struct game_curves *out, struct error *err)
{
    const struct game_spec *spec = out->spec;
    const size_t            pair[] = {out->agent, other};
    size_t                  len = game_curve_len(look->live->game, out->agent, other);
    struct game_response   *curve = ARENA_NEW(look->caller->arena, struct game_response, len + 1);
    if (curve == NULL)
        return error_no_memory(err);
    TRY(slots_enter(look->app, look->caller, price_action(look), err));
    const struct game_patience patience = {.late = is_late, .arg = look};
    enum status                status = STATUS_OK;
    if (len > 0)
        status = game_curve(look->live->game, pair, &patience, look->caller->arena, curve, err);
    slots_leave(look->app, look->caller, "r2-b2");
    TRY(look->is_cut ? app_go_on(look->app, look->caller, err) : status);
    for (size_t i = 0; i < len; i++) {
        TRY(keep_point(look->caller, spec, out->agent, &curve[i].own, err));
        TRY(keep_point(look->caller, spec, other, &curve[i].other, err));
        curve[i].mean *= games_sign(spec, out->agent);
    }
    out->curves[other] = curve;
    out->lens[other] = len;
    return STATUS_OK;
}

static enum status draw_curves(struct look *look, const char *agent, struct game_curves *out, struct error *err)
{
    TRY(catch_up(look, err));
    *out = (struct game_curves){.spec = look->game->spec, .rounds = look->game->rounds};
    TRY(check_agent(look->caller, out->spec, agent, &out->agent, err));
    for (size_t b = 0; b < out->spec->problem.agents_len; b++)
        if (b != out->agent)
            TRY(draw_curve(look, b, out, err));
    return STATUS_OK;
}

enum status games_responses(struct app *app, struct caller *caller, const char *id, const char *agent,
                            struct game_curves *out, struct error *err)
{
    struct game_row game;
    struct look     look = {.app = app, .caller = caller, .id = id, .game = &game};
    TRY(games_find(app, caller, id, &game, err));
    TRY(announce(&look, err));
    TRY(session_lock(app, caller, id, SESSION_ALONE, &look.live, err));
    enum status status = draw_curves(&look, agent, out, err);
    session_unlock(app, look.live);
    return status;
}
