/* Games: create, list, read, complete, delete; an agent's action, observations, rounds. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "api/base/json_text.h"
#include "service/base/text.h"
#include "service/codec/codec_game.h"
#include "api/core/route.h"
#include "service/member/codec_write.h"
#include "service/game/game_export.h"
#include "service/game/games.h"
#include "service/base/random.h"

#include <math.h>
#include <string.h>

static const double payoff_max = 1e100;

/* ---- one game ---- */

static json_t *write_open_round(const struct writing *out, const struct member *member)
{
    const struct game_row *game = out->from;
    json_t                *acted = json_array();
    (void)member;
    for (size_t a = 0; game->state == GAMES_ACTIVE && a < game->spec->problem.agents_len; a++)
        if (game->is_in[a])
            codec_append(&acted, json_string(game->spec->names[a]));
    if (game->state == GAMES_ACTIVE)
        return json_pack("{s:I, s:o}", "round", (json_int_t)game->rounds + 1, "acted", acted);
    json_decref(acted);
    return json_null();
}

static const struct member shown_budget[] = {
    {AS(game_row, budget_rounds, "rounds"), .read = codec_read_integer},
    {.name = NULL},
};
#define SHOWN(...) CODEC_MEMBER(game_row, , __VA_ARGS__)
// clang-format off
static const struct member game_members[] = {
    {AT(game_row, id), .write = codec_write_characters},
    GAME_GIVEN(SHOWN)
    {AT(game_row, state), .read = codec_read_choice, .names = games_state_names},
    {AT(game_row, reason), .read = codec_read_text, .nullable = true},
    {.name = "budget", .nullable = true, .read = codec_read_inside, .members = shown_budget},
    GAME_KEPT(SHOWN)
    {.name = "open_round", .nullable = true, .write = write_open_round},
    {AS(game_row, spec, ""), .is_pointer = true, .members = codec_game_members},
    {.name = NULL},
};
// clang-format on
/* A list leaves out members whose size is the client's choice. */
static const char *const no_spec[] = {"open_round", "payoffs", "total", "agents", "model", "strategy", "seed", NULL};
const struct shown       shown_game = {.members = game_members};
const struct shown       shown_games = {.members = game_members, .without = no_spec, PAGE(game_page, games)};

static json_t *render_game(struct call *call, const void *result)
{
    const struct game_row *game = result;
    if (call->reply.http == 201)
        call->reply.location = text_format(&call->arena, "/v1/games/%s", game->id);
    return codec_write(game_members, &(struct writing){.from = game, .viewer = game->viewer});
}

/* ---- create ---- */

static const struct member budget_fields[] = {
    {AS(game_new, budget_rounds, "rounds"), .read = codec_read_integer, .required = true, .min = 1,
     .max = GAME_ROUNDS_MAX},
    {.name = NULL},
};
#define GIVEN(...) CODEC_MEMBER(game_new, , __VA_ARGS__)
// clang-format off
static const struct member games_post_body[] = {
    GAME_GIVEN(GIVEN)
    {.name = "", .members = codec_game_members},
    {.name = "budget", .read = codec_read_inside, .nullable = true, .members = budget_fields},
    {.name = NULL},
};
// clang-format on
static enum status read_spec(struct call *call, struct error *err);
const struct form  form_games_post = {.body = games_post_body, .bytes = sizeof(struct game_new), .rest = read_spec};

/* With a seed within 2^53 for a game that brings none. */
static enum status read_spec(struct call *call, struct error *err)
{
    struct game_new *new = call->input;
    struct reading in = {.arena = &call->arena, .err = err, .problems = &call->problems};
    uint64_t       seed;
    TRY(random_bytes(&seed, sizeof seed, err));
    json_auto_t *own = codec_pick(codec_game_members, call->json);
    return own == NULL ? error_no_memory(err) : codec_game_read(&in, own, seed >> 11, &new->spec);
}

enum status handle_games_post(struct call *call, struct error *err)
{
    struct game_new *new = call->input;
    size_t  length;
    json_t *spec = codec_game_spec_json(new->spec, new->spec->problem.agents_len);
    new->spec_text = spec == NULL ? NULL : json_text(spec, &call->arena, &length);
    json_decref(spec);
    if (new->spec_text == NULL)
        return error_no_memory(err);
    return games_create(call->app, &call->caller, new, CALL_RESULT(call, struct game_row, 201, render_game), err);
}

/* ---- list, read, end ---- */

enum status handle_games_get(struct call *call, struct error *err)
{
    const struct page *input = call->input;
    struct game_page  *page = CALL_RESULT(call, struct game_page, 200, show_reply);
    TRY(games_list(call->app, &call->caller, input, page, err));
    for (size_t i = 0; i < page->len; i++)
        app_say_damaged(call->app, page->games[i].id, &page->games[i].reason);
    return STATUS_OK;
}

enum status handle_game_get(struct call *call, struct error *err)
{
    struct game_row *game = CALL_RESULT(call, struct game_row, 200, render_game);
    TRY(games_find(call->app, &call->caller, call->params[0], game, err));
    app_say_damaged(call->app, game->id, &game->reason);
    return STATUS_OK;
}

HANDLE_SHOW(game_complete, games_complete, game_row, render_game)
HANDLE_DELETE(game_delete, games_delete)

/* ---- a token for one agent ---- */

struct game_token_input {
    int64_t expires_in_seconds;
};
static const struct member game_token_body[] = {
    {AT(game_token_input, expires_in_seconds), .read = codec_read_integer, .nullable = true, .min = 1,
     .max = 3153600000.0, .fallback = 90 * 86400},
    {.name = NULL},
};
const struct form form_game_token_post = {.body = game_token_body, .bytes = sizeof(struct game_token_input)};

enum status handle_game_token_post(struct call *call, struct error *err)
{
    const struct game_token_input *input = call->input;
    const struct game_token asked = {.agent = call->params[1], .expires_in_ms = input->expires_in_seconds * 1000};
    return games_token(call->app, &call->caller, call->params[0], &asked,
                       CALL_RESULT(call, struct token, 201, show_reply), err);
}

/* ---- suggest ---- */

static json_t *render_turn(struct call *call, const void *result)
{
    (void)call;
    const struct game_turn *turn = result;
    return json_pack("{s:I, s:s, s:o}", "round", (json_int_t)turn->round, "agent", turn->spec->names[turn->agent],
                     "action",
                     codec_game_action_json(turn->spec, turn->agent, (int64_t)turn->action.row, turn->action.point));
}

enum status handle_game_suggest_post(struct call *call, struct error *err)
{
    return games_suggest(call->app, &call->caller, call->params[0], call->params[1],
                         CALL_RESULT(call, struct game_turn, 200, render_turn), err);
}

/* ---- observe ---- */

/* The whole round, or what one agent did. */
struct game_observe_input {
    int64_t       round;
    const json_t *actions, *payoffs, *action, *payoff;
    const char   *agent;
};
static const struct member game_observe_body[] = {
    {AT(game_observe_input, round), .read = codec_read_integer, .required = true, .min = 1, .max = GAME_ROUNDS_MAX},
    {AT(game_observe_input, actions), .read = codec_read_kept},
    {AT(game_observe_input, payoffs), .read = codec_read_kept},
    {AT(game_observe_input, agent), .read = codec_read_text, .min = 1, .max = GAMES_NAME_MAX},
    {AT(game_observe_input, action), .read = codec_read_kept},
    {AT(game_observe_input, payoff), .read = codec_read_kept},
    {.name = NULL},
};

static enum status read_payoff(struct call *call, const json_t *json, const char *where,
                               struct game_observation *observation, size_t agent, struct error *err)
{
    double *payoff = &observation->plays[agent].payoff;
    if (!codec_read_is_finite(json, payoff) || fabs(*payoff) > payoff_max)
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be a number within 1e100");
    observation->where[agent] = arena_strndup(&call->arena, where, strlen(where));
    return observation->where[agent] == NULL ? error_no_memory(err) : STATUS_OK;
}

/* Collects a problem, so that the reply has those of both objects. */
static enum status keep(struct call *call, enum status status, const struct error *problem)
{
    if (status == STATUS_INVALID)
        problems_add(&call->problems, problem);
    return status == STATUS_INVALID ? STATUS_OK : status;
}

static enum status read_own(struct call *call, const struct game_spec *spec, struct game_observation *observation,
                            struct error *err)
{
    const struct game_observe_input *input = call->input;
    const char                      *name = input->agent;
    size_t                           agent;
    if (name == NULL && call->caller.agent[0] != '\0')
        name = call->caller.agent;
    if (name == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", "/actions",
                         "is required, or agent and action: the whole round, or what one agent did");
    TRY(games_find_agent(spec, name, "/agent", &agent, err));
    if (input->action == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", "/action", "is required");
    if (input->payoff != NULL)
        TRY(keep(call, read_payoff(call, input->payoff, "/payoff", observation, agent, err), err));
    struct reading in = show_reading(call, &spec->sets[agent], err);
    enum status    whole = STATUS_OK;
    return codec_read_on(&in, codec_game_action(&in, input->action, "/action", &observation->plays[agent]), &whole);
}

static enum status read_named(struct call *call, const struct game_spec *spec, const json_t *json, bool are_payoffs,
                              struct game_observation *observation, struct error *err)
{
    const char *where = are_payoffs ? "/payoffs" : "/actions", *name;
    char        path[CODEC_PATH_MAX];
    json_t     *value;
    size_t      agent;
    if (!json_is_object(json))
        return keep(call, error_set(err, STATUS_INVALID, "wrong_type", where, "must be an object"), err);
    json_object_foreach ((json_t *)(uintptr_t)json, name, value) {
        codec_read_path(path, where, name);
        struct reading in = show_reading(call, NULL, err);
        enum status    status = games_find_agent(spec, name, path, &agent, err), whole = STATUS_OK;
        in.spec = status == STATUS_OK ? &spec->sets[agent] : NULL;
        if (status == STATUS_OK)
            status = are_payoffs ? read_payoff(call, value, path, observation, agent, err)
                                 : codec_game_action(&in, value, path, &observation->plays[agent]);
        TRY(codec_read_on(&in, status, &whole));
    }
    return STATUS_OK;
}

static enum status read_whole(struct call *call, const struct game_spec *spec, struct game_observation *observation,
                              struct error *err)
{
    const struct game_observe_input *input = call->input;
    char                             path[CODEC_PATH_MAX];
    TRY(read_named(call, spec, input->actions, false, observation, err));
    if (input->payoffs != NULL)
        TRY(read_named(call, spec, input->payoffs, true, observation, err));
    for (size_t a = 0; a < spec->problem.agents_len && json_is_object(input->actions); a++)
        if (json_object_get(input->actions, spec->names[a]) == NULL) {
            codec_read_path(path, "/actions", spec->names[a]);
            TRY(keep(call, error_set(err, STATUS_INVALID, "missing_member", path, "is required"), err));
        }
    return STATUS_OK;
}

static enum status read_observation(struct call *call, const struct game_spec *spec,
                                    struct game_observation *observation, struct error *err)
{
    const struct game_observe_input *input = call->input;
    bool                             is_whole = input->actions != NULL || input->payoffs != NULL;
    *observation = (struct game_observation){.round = input->round};
    for (size_t a = 0; a < GAME_AGENTS_MAX; a++)
        observation->plays[a] = (struct game_play){.row = -1, .payoff = NAN};
    if (is_whole && (input->agent != NULL || input->action != NULL || input->payoff != NULL))
        return error_set(err, STATUS_INVALID, "bad_combination", "/agent",
                         "an observation is of the whole round or of one agent");
    if (is_whole && input->actions == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", "/actions", "is required");
    return is_whole ? read_whole(call, spec, observation, err) : read_own(call, spec, observation, err);
}

/* An object with a value for each agent, by name. */
static json_t *by_agent(const struct game_spec *spec, const struct game_play *plays,
                        json_t *(*of)(const struct game_spec *spec, size_t agent, const struct game_play *play))
{
    json_t *object = json_object();
    for (size_t a = 0; a < spec->problem.agents_len; a++)
        codec_put(&object, spec->names[a], of(spec, a, &plays[a]));
    return object;
}

static json_t *action_of(const struct game_spec *spec, size_t agent, const struct game_play *play)
{
    return codec_game_action_json(spec, agent, play->row, play->point);
}

static json_t *payoff_of(const struct game_spec *spec, size_t agent, const struct game_play *play)
{
    (void)spec, (void)agent;
    return codec_number(play->payoff);
}

static json_t *waiting_json(const struct game_observed *observed)
{
    json_t *list = json_array();
    for (size_t a = 0; a < observed->spec->problem.agents_len; a++)
        if (!observed->plays[a].is_in)
            codec_append(&list, json_string(observed->spec->names[a]));
    return list;
}

/* An open round shows only which agents are missing. */
static json_t *render_observed(struct call *call, const void *result)
{
    (void)call;
    const struct game_observed *observed = result;
    bool                        is_closed = observed->is_closed;
    return json_pack("{s:I, s:b, s:b, s:o, s:o, s:o}", "round", (json_int_t)observed->round, "closed", is_closed,
                     "duplicate", observed->is_duplicate, "waiting_for", waiting_json(observed), "actions",
                     is_closed ? by_agent(observed->spec, observed->plays, action_of) : json_null(), "payoffs",
                     is_closed ? by_agent(observed->spec, observed->plays, payoff_of) : json_null());
}

const struct form form_game_observe_post = {
    .body = game_observe_body, .bytes = sizeof(struct game_observe_input), .reads_on = true};

enum status handle_game_observe_post(struct call *call, struct error *err)
{
    const struct game_observe_input *input = call->input;
    struct game_row                  game;
    struct game_observation          observation;
    if (input->agent == NULL && json_object_get(call->json, "agent") != NULL) // whose move it is cannot be read
        return STATUS_OK;
    TRY(games_find(call->app, &call->caller, call->params[0], &game, err));
    TRY(read_observation(call, game.spec, &observation, err));
    return games_observe(call->app, &call->caller, call->params[0], &observation,
                         CALL_RESULT(call, struct game_observed, 200, render_observed), err);
}

/* ---- rounds ---- */

static json_t *numbers_json(const struct game_spec *spec, const double *values)
{
    json_t *object = json_object();
    for (size_t a = 0; a < spec->problem.agents_len; a++)
        codec_put(&object, spec->names[a], codec_number(values[a]));
    return object;
}

static json_t *round_json(const struct game_spec *spec, const struct game_round *round)
{
    int64_t at_ms = 0;
    for (size_t a = 0; a < spec->problem.agents_len; a++)
        at_ms = round->plays[a].at_ms > at_ms ? round->plays[a].at_ms : at_ms;
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "round", (json_int_t)round->number, "actions",
                     by_agent(spec, round->plays, action_of), "payoffs", by_agent(spec, round->plays, payoff_of),
                     "mean_payoffs", numbers_json(spec, round->mean), "mean_regrets", numbers_json(spec, round->regret),
                     "observed_at", codec_time_json(at_ms));
}

static json_t *render_rounds(struct call *call, const void *result)
{
    const struct game_rounds *rounds = result;
    json_t                   *list = json_array();
    call->reply.is_final = rounds->is_over;
    for (size_t i = 0; i < rounds->len; i++)
        codec_append(&list, round_json(rounds->spec, &rounds->rounds[i]));
    return show_page("rounds", list, rounds->next_cursor);
}

HANDLE_PAGE(game_rounds_get, games_rounds, game_rounds, render_rounds)

/* ---- best responses ---- */

static json_t *curve_json(const struct game_curves *found, size_t other)
{
    json_t *list = json_array();
    for (size_t i = 0; i < found->lens[other]; i++) {
        const struct game_response *each = &found->curves[other][i];
        codec_append(
            &list, json_pack("{s:o, s:o, s:o, s:o}", "action",
                             codec_game_action_json(found->spec, other, (int64_t)each->other.row, each->other.point),
                             "response",
                             codec_game_action_json(found->spec, found->agent, (int64_t)each->own.row, each->own.point),
                             "mean", codec_number(each->mean), "stddev", codec_number(each->sd)));
    }
    return json_pack("{s:s, s:o}", "against", found->spec->names[other], "responses", list);
}

static json_t *render_responses(struct call *call, const void *result)
{
    (void)call;
    const struct game_curves *found = result;
    json_t                   *list = json_array();
    for (size_t b = 0; b < found->spec->problem.agents_len; b++)
        if (b != found->agent)
            codec_append(&list, curve_json(found, b));
    return json_pack("{s:s, s:I, s:o}", "agent", found->spec->names[found->agent], "rounds", (json_int_t)found->rounds,
                     "curves", list);
}

enum status handle_game_responses_get(struct call *call, struct error *err)
{
    return games_responses(call->app, &call->caller, call->params[0], call->params[1],
                           CALL_RESULT(call, struct game_curves, 200, render_responses), err);
}

enum status handle_game_export_get(struct call *call, struct error *err)
{
    int     file;
    int64_t bytes;
    TRY(games_export(call->app, &call->caller, call->params[0], &file, &bytes, err));
    return reply_file(call, "application/x-ndjson", file, bytes, err);
}
