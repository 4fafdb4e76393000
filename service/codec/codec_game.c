/* Games <-> JSON: one table per kind of object.  Beliefs become minds (engine/game/game.h): those that say nothing special
 * share one mind per level, the others get one each, so that a small text never becomes a large tree. */
#include "service/codec/codec_game.h"

#include "service/member/codec.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_space.h"
#include "service/member/codec_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARAMS_MAX = 100, COLUMNS_MAX = 1000 };
static const double seed_max = 9007199254740991.0; /* 2^53 - 1 */
static const double value_max = 1e100;

static const char *const sum_names[] = {
    [GAME_GENERAL] = "general", [GAME_COMMON] = "common", [GAME_CONSTANT] = "constant", NULL};
static const char *const strategy_names[] = {
    [GAME_RANDOM] = "random", [GAME_GP_MW] = "gp-mw", [GAME_EXP3] = "exp3", NULL};
static const char *const goal_names[] = {[GOAL_MAXIMIZE] = "maximize", [GOAL_MINIMIZE] = "minimize", NULL};
static const char *const set_names[] = {"parameters", "candidates", NULL};
static const char *const bound_names[] = {"log", "theory", NULL};
_Static_assert(sizeof(enum game_sum) == sizeof(int) && sizeof(enum game_strategy) == sizeof(int), "choices are ints");
_Static_assert(sizeof(enum goal) == sizeof(int), "choices are ints");

/* ---- sets of actions ---- */

struct set_form {
    const json_t *type, *rows, *parameters;
};
#define KEPT(form, member)                                          \
    {                                                               \
        AT(form, member), .required = true, .read = codec_read_kept \
    }
static const struct member        box_members[] = {KEPT(set_form, type), KEPT(set_form, parameters), {.name = NULL}};
static const struct member        rows_members[] = {KEPT(set_form, type), KEPT(set_form, rows), {.name = NULL}};
static const struct member *const set_members[] = {box_members, rows_members};

static enum status read_row(struct reading *in, const json_t *json, const char *where, size_t columns, double *out)
{
    char        path[CODEC_PATH_MAX];
    enum status whole = STATUS_OK;
    TRY(codec_read_list(in, json, where, columns, columns));
    for (size_t c = 0; c < columns; c++) {
        codec_read_path_item(path, where, c);
        if (!codec_read_is_finite(json_array_get(json, c), &out[c]) || fabs(out[c]) > value_max)
            TRY(codec_read_on(
                in, error_set(in->err, STATUS_INVALID, "wrong_type", path, "must be a number within 1e100"), &whole));
    }
    return whole;
}

static enum status read_rows(struct reading *in, const json_t *json, const char *where, struct space *space)
{
    char        path[CODEC_PATH_MAX];
    enum status whole = STATUS_OK;
    TRY(codec_read_list(in, json, where, 2, GAME_ACTIONS_MAX));
    const json_t *first = json_array_get(json, 0);
    codec_read_path_item(path, where, 0);
    TRY(codec_read_list(in, first, path, 1, COLUMNS_MAX));
    *space =
        (struct space){.kind = SPACE_CANDIDATES, .rows_len = json_array_size(json), .columns = json_array_size(first)};
    double *rows = ARENA_NEW(in->arena, double, space->rows_len * space->columns);
    if (rows == NULL)
        return error_no_memory(in->err);
    space->rows = rows;
    for (size_t i = 0; i < space->rows_len; i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, read_row(in, json_array_get(json, i), path, space->columns, rows + i * space->columns),
                          &whole));
    }
    return whole;
}

static enum status read_set(struct reading *in, const json_t *json, const char *where, struct spec *set)
{
    struct set_form form = {0};
    char            path[CODEC_PATH_MAX];
    int             type;
    TRY(codec_read_type(in, json, where, set_names, &type));
    TRY(codec_read_object(in, set_members[type], json, where, &form));
    codec_read_path(path, where, form.rows != NULL ? "rows" : "parameters");
    if (form.rows != NULL)
        return read_rows(in, form.rows, path, &set->space);
    TRY(codec_read_list(in, form.parameters, path, 1, PARAMS_MAX));
    set->space.kind = SPACE_PARAMETERS;
    TRY(codec_space_params(in, form.parameters, path, set));
    enum status status = space_init(&set->space, in->err);
    if (status == STATUS_INVALID && strncmp(in->err->path, "/space", 6) == 0) {
        snprintf(path, sizeof path, "%.40s%.80s", where, in->err->path + 6);
        memcpy(in->err->path, path, sizeof path);
    }
    return status;
}

/* ---- beliefs ---- */

struct reader {
    struct reading   *in;
    struct game_spec *spec;
};

struct belief_form {
    const char   *agent;
    int64_t       level;
    int           strategy;
    const json_t *beliefs;
};
#define BELIEF_MEMBERS                                                                                           \
    {AT(belief_form, agent), .required = true, .read = codec_read_text, .min = 1, .max = GAMES_NAME_MAX},        \
        {AT(belief_form, level), .required = true, .read = codec_read_integer, .min = 0, .max = GAME_LEVEL_MAX}, \
    {                                                                                                            \
        AT(belief_form, beliefs), .read = codec_read_kept                                                        \
    }
/* Beliefs of a believed agent have levels only: there is one opinion about each agent's level-0 strategy. */
static const struct member inner_members[] = {BELIEF_MEMBERS, {.name = NULL}};
static const struct member outer_members[] = {
    BELIEF_MEMBERS,
    {AS(belief_form, strategy, "level0"), .read = codec_read_choice, .names = strategy_names},
    {.name = NULL},
};

/* The agent whose reasoning is read: its own (thinker set), or another's belief about it. */
struct holder {
    size_t             agent, level;
    struct game_agent *thinker;
};

static enum status read_mind(const struct reader *r, const struct holder *holder, const json_t *beliefs,
                             const char *where, const struct game_mind **out);

static enum status read_belief(const struct reader *r, const struct holder *holder, const json_t *json,
                               const char *where, const struct game_mind **others)
{
    struct reading    *in = r->in;
    struct belief_form form = {.strategy = GAME_GP_MW};
    char               path[CODEC_PATH_MAX];
    TRY(codec_read_object(in, holder->thinker != NULL ? outer_members : inner_members, json, where, &form));
    size_t about;
    codec_read_path(path, where, "agent");
    TRY(games_find_agent(r->spec, form.agent, path, &about, in->err));
    if (about == holder->agent)
        return error_set(in->err, STATUS_INVALID, "cyclic_beliefs", path,
                         "must be another agent: nobody holds a belief about itself");
    if (others[about] != NULL)
        return error_set(in->err, STATUS_INVALID, "duplicate_name", path,
                         "is there twice: an agent has one belief about another");
    codec_read_path(path, where, "level");
    if ((size_t)form.level >= holder->level)
        return error_set(in->err, STATUS_INVALID, "cyclic_beliefs", path,
                         "must be at most %zu: who reasons on level %zu believes others to be on lower levels",
                         holder->level - 1, holder->level);
    if (holder->thinker != NULL)
        holder->thinker->level0[about] = (enum game_strategy)form.strategy;
    codec_read_path(path, where, "beliefs");
    return read_mind(r, &(struct holder){.agent = about, .level = (size_t)form.level}, form.beliefs, path,
                     &others[about]);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as levels */
static enum status read_mind(const struct reader *r, const struct holder *holder, const json_t *beliefs,
                             const char *where, const struct game_mind **out)
{
    struct game_problem *problem = &r->spec->problem;
    char                 path[CODEC_PATH_MAX];
    *out = &r->spec->minds[holder->level];
    if (beliefs == NULL)
        return STATUS_OK;
    TRY(codec_read_list(r->in, beliefs, where, 0, GAME_AGENTS_MAX));
    if (holder->level == 0 && json_array_size(beliefs) > 0)
        return error_set(r->in->err, STATUS_INVALID, "bad_combination", where,
                         "must be left out, or empty: on level 0 there are no beliefs");
    if (json_array_size(beliefs) == 0)
        return STATUS_OK;
    bool        is_own = holder->thinker != NULL;
    enum status whole = STATUS_OK;
    if (!is_own && problem->minds >= GAME_MINDS_MAX)
        return error_set(r->in->err, STATUS_INVALID, "game_too_large", where,
                         "a game has at most %zu beliefs about agents that spell out what these believe",
                         GAME_MINDS_MAX - GAME_LEVEL_MAX - 1 - problem->agents_len);
    struct game_mind        *mind = ARENA_NEW(r->in->arena, struct game_mind, 1);
    const struct game_mind **others = arena_zalloc(r->in->arena, GAME_AGENTS_MAX, sizeof *others);
    if (mind == NULL || others == NULL)
        return error_no_memory(r->in->err);
    *mind = (struct game_mind){.level = (unsigned)holder->level,
                               .others = others,
                               .id = is_own ? GAME_LEVEL_MAX + 1 + holder->agent : problem->minds++};
    for (size_t i = 0; i < json_array_size(beliefs); i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(r->in, read_belief(r, holder, json_array_get(beliefs, i), path, others), &whole));
    }
    for (size_t b = 0; b < problem->agents_len; b++)
        if (others[b] == NULL && b != holder->agent)
            others[b] = &r->spec->minds[holder->level - 1];
    *out = mind;
    return whole;
}

/* ---- agents ---- */

struct agent_form {
    const char   *name;
    int           goal, strategy;
    int64_t       level;
    bool          is_lite;
    double        length_scale, mean;
    const json_t *actions, *beliefs;
};
static const struct member agent_members[] = {
    {AT(agent_form, name), .required = true, .read = codec_read_text, .min = 1, .max = GAMES_NAME_MAX},
    {AT(agent_form, goal), .read = codec_read_choice, .names = goal_names},
    KEPT(agent_form, actions),
    {AT(agent_form, length_scale), .read = codec_read_number, .min = 1e-9, .max = 1e9},
    {AT(agent_form, mean), .read = codec_read_number, .min = -1e50, .max = 1e50},
    {AT(agent_form, level), .read = codec_read_integer, .min = 0, .max = GAME_LEVEL_MAX},
    {AS(agent_form, is_lite, "lite"), .read = codec_read_bool},
    {AS(agent_form, strategy, "level0"), .read = codec_read_choice, .names = strategy_names},
    {AT(agent_form, beliefs), .read = codec_read_kept},
    {.name = NULL},
};

/* Takes the name; one that the table of agents will refuse, or that is refused here, leaves "". */
static enum status take_name(struct reading *in, const json_t *json, const char *where, struct game_spec *spec)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    const char       *name = json_string_value(json_object_get(json, "name")), **kept;
    char              path[CODEC_PATH_MAX];
    codec_read_path(path, where, "name");
    size_t place = name == NULL ? 0 : games_agent(spec, name), length = name == NULL ? 0 : codec_read_characters(name);
    kept = &spec->names[spec->problem.agents_len++];
    *kept = "";
    if (length < 1 || length > GAMES_NAME_MAX)
        return STATUS_OK;
    if (strspn(name, letters) != strlen(name) || name[0] == '.')
        return error_set(in->err, STATUS_INVALID, "bad_name", path, "must be letters, digits, _, - and ., no . first");
    if (place < spec->problem.agents_len - 1)
        return error_set(in->err, STATUS_INVALID, "duplicate_name", path,
                         "must be another: agents/%zu has this name already", place);
    *kept = arena_strndup(in->arena, name, strlen(name));
    return *kept == NULL ? error_no_memory(in->err) : STATUS_OK;
}

/* Beliefs name agents, so they are read when all names are known. */
static enum status read_agent(const struct reader *r, size_t a, bool are_named, const json_t *json, const char *where)
{
    struct game_spec *spec = r->spec;
    struct agent_form form = {.strategy = GAME_GP_MW, .length_scale = NAN, .mean = NAN};
    char              path[CODEC_PATH_MAX];
    enum status       whole = STATUS_OK;
    TRY(codec_read_on(r->in, codec_read_object(r->in, agent_members, json, where, &form), &whole));
    bool is_known = whole == STATUS_OK;
    codec_read_path(path, where, "lite");
    if (is_known && form.is_lite && form.level != 1)
        TRY(codec_read_on(r->in,
                          error_set(r->in->err, STATUS_INVALID, "bad_combination", path,
                                    "must be false, or level 1: it is a way to reason on level 1"),
                          &whole));
    codec_read_path(path, where, "actions");
    if (form.actions != NULL)
        TRY(codec_read_on(r->in, read_set(r->in, form.actions, path, &spec->sets[a]), &whole));
    struct game_agent *agent = &spec->agents[a];
    *agent = (struct game_agent){
        .actions = &spec->sets[a].space, .length_scale = form.length_scale, .mean = form.mean, .is_lite = form.is_lite};
    for (size_t b = 0; b < GAME_AGENTS_MAX; b++)
        agent->level0[b] = GAME_GP_MW;
    agent->level0[a] = (enum game_strategy)form.strategy;
    spec->goals[a] = (enum goal)form.goal;
    codec_read_path(path, where, "beliefs");
    const struct holder holder = {.agent = a, .level = (size_t)form.level, .thinker = agent};
    if (is_known && are_named)
        TRY(codec_read_on(r->in, read_mind(r, &holder, form.beliefs, path, &agent->mind), &whole));
    return whole;
}

static enum status read_agents(struct reading *in, const json_t *json, struct game_spec *spec)
{
    const struct reader r = {.in = in, .spec = spec};
    char                path[CODEC_PATH_MAX];
    enum status         named = STATUS_OK, whole = STATUS_OK;
    if (json == NULL) // the table has said that
        return STATUS_OK;
    TRY(codec_read_list(in, json, "/agents", 2, GAME_AGENTS_MAX));
    for (size_t a = 0; a < json_array_size(json); a++) { // names first: beliefs are about those that come later, too
        codec_read_path_item(path, "/agents", a);
        TRY(codec_read_on(in, take_name(in, json_array_get(json, a), path, spec), &named));
    }
    spec->problem.minds += spec->problem.agents_len; // everybody's own, so that a text with all filled in has no more
    bool are_named = games_agent(spec, "") == spec->problem.agents_len;
    for (size_t a = 0; a < spec->problem.agents_len; a++) {
        codec_read_path_item(path, "/agents", a);
        TRY(codec_read_on(in, read_agent(&r, a, are_named, json_array_get(json, a), path), &whole));
    }
    return named != STATUS_OK ? named : whole;
}

/* ---- the model and the strategies ---- */

/* length_scale and mean are the agents', who get them at once. */
struct model_form {
    struct game_options options;
    double              length_scale, mean;
};
_Static_assert(offsetof(struct model_form, options) == 0, "the same table reads the form and writes the options");
static json_t *write_none(const struct writing *out, const struct member *member)
{
    (void)out, (void)member;
    return json_null();
}

#define NUMBER(into, shown, least, most) \
    AS(model_form, into, #shown), .read = codec_read_number, .min = (least), .max = (most)
#define COUNT(into, shown, most) AS(model_form, into, #shown), .read = codec_read_integer, .min = 1, .max = (most)
static const struct member model_members[] = {
    {NUMBER(length_scale, length_scale, 1e-9, 1e9), .optional = true, .write = write_none},
    {NUMBER(mean, mean, -1e50, 1e50), .optional = true, .write = write_none},
    {NUMBER(options.variance, variance, 1e-50, 1e50), .optional = true},
    {NUMBER(options.noise, noise, 0, 1e50), .optional = true},
    {.name = NULL},
};

static enum status read_bound(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    int place = 0;
    TRY(codec_read_choice(in, member, json, where, &place));
    *(bool *)out = place == 1;
    return STATUS_OK;
}

static json_t *write_bound(const struct writing *out, const struct member *member)
{
    return json_string(member->names[*(const bool *)codec_at(out, member)]);
}

_Static_assert(sizeof(size_t) == sizeof(int64_t), "a count that is not negative is read as an integer");
static const struct member strategy_members[] = {
    {NUMBER(options.learning_rate, learning_rate, 0, 1e6)},
    {NUMBER(options.uniform_share, uniform_share, 1e-6, 1)},
    {COUNT(options.features, features, GAME_FEATURES_MAX)},
    {COUNT(options.samples, samples, 512)},
    {AS(model_form, options.theory, "bound"), .read = read_bound, .write = write_bound, .names = bound_names},
    {NUMBER(options.beta_scale, beta_scale, 0, 1e6)},
    {NUMBER(options.delta, delta, 1e-12, 1)},
    {COUNT(options.initial, initial_rounds, 100)},
    {.name = NULL},
};

/* Fills in for the agents what they do not say themselves; how many then have a length-scale, and a mean. */
static void spread_model(struct game_spec *spec, const struct model_form *form, size_t given[2])
{
    given[0] = given[1] = 0;
    for (size_t a = 0; a < spec->problem.agents_len; a++) {
        struct game_agent *agent = &spec->agents[a];
        if (isnan(agent->length_scale))
            agent->length_scale = form->length_scale;
        if (isnan(agent->mean))
            agent->mean = form->mean;
        given[0] += isnan(agent->length_scale) ? 0 : 1;
        given[1] += isnan(agent->mean) ? 0 : 1;
        agent->mean *= games_sign(spec, a);
    }
}

/* Hyper-parameters are given or estimated as a whole. */
static enum status read_model(struct reading *in, const json_t *json, bool is_known, struct game_spec *spec)
{
    struct model_form    form = {.options.variance = NAN, .options.noise = NAN, .length_scale = NAN, .mean = NAN};
    struct game_options *options = &spec->problem.options;
    size_t               given[2], len = spec->problem.agents_len;
    if (json != NULL)
        TRY(codec_read_object(in, model_members, json, "/model", &form));
    if (!is_known)
        return STATUS_OK;
    spread_model(spec, &form, given);
    if (given[0] != 0 && given[0] != len)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/model/length_scale",
                         "must be given, or be in every agent, or in none: then it is estimated");
    if (given[1] != (isnan(form.options.variance) ? 0 : len))
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/model",
                         "must have a variance, and a mean (or each agent its own), or neither");
    if (given[0] == 0 && (given[1] != 0 || !isnan(form.options.noise)))
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/model",
                         "must have a length_scale (or each agent its own) where it has a mean, a variance or a "
                         "noise: they are estimated together");
    options->variance = form.options.variance;
    options->noise = form.options.noise;
    return STATUS_OK;
}

static enum status read_strategy(struct reading *in, const json_t *json, struct game_options *options)
{
    *options = (struct game_options){.beta_scale = 1,
                                     .delta = 0.1,
                                     .learning_rate = 0.1,
                                     .uniform_share = 0.1,
                                     .features = 5,
                                     .samples = 100,
                                     .initial = 1};
    return json == NULL ? STATUS_OK : codec_read_object(in, strategy_members, json, "/strategy", options);
}

/* ---- writing ---- */

static json_t *set_json(const struct spec *set)
{
    if (set->space.kind == SPACE_PARAMETERS)
        return codec_space_json(set);
    return json_pack("{s:s, s:o}", "type", "candidates", "rows",
                     codec_matrix(set->space.rows, set->space.rows_len, set->space.columns));
}

/* thinker: whose level-0 opinions are shown; NULL below the first level of beliefs.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as levels */
static json_t *beliefs_json(const struct game_spec *spec, const struct game_mind *mind, size_t holder,
                            const struct game_agent *thinker)
{
    json_t *list = json_array();
    for (size_t b = 0; b < spec->problem.agents_len && mind->level > 0; b++) {
        if (b == holder)
            continue;
        const struct game_mind *other = mind->others[b];
        bool                    is_special = other->id > GAME_LEVEL_MAX;
        json_t                 *item = json_pack("{s:s, s:i}", "agent", spec->names[b], "level", (int)other->level);
        if (thinker != NULL)
            codec_put(&item, "level0", json_string(strategy_names[thinker->level0[b]]));
        if (is_special)
            codec_put(&item, "beliefs", beliefs_json(spec, other, b, NULL));
        codec_append(&list, item);
    }
    return list;
}

static void put_given(json_t **object, const char *name, double value)
{
    if (!isnan(value))
        codec_put(object, name, codec_number(value));
}

static json_t *agent_json(const struct game_spec *spec, size_t a, bool with_reasoning)
{
    const struct game_agent *agent = &spec->agents[a];
    json_t *json = json_pack("{s:s, s:s, s:o}", "name", spec->names[a], "goal", goal_names[spec->goals[a]], "actions",
                             set_json(&spec->sets[a]));
    if (!with_reasoning)
        return json;
    put_given(&json, "length_scale", agent->length_scale);
    put_given(&json, "mean", games_sign(spec, a) * agent->mean);
    codec_put(&json, "level", json_integer((json_int_t)agent->mind->level));
    codec_put(&json, "lite", json_boolean(agent->is_lite));
    codec_put(&json, "level0", json_string(strategy_names[agent->level0[a]]));
    codec_put(&json, "beliefs", beliefs_json(spec, agent->mind, a, agent));
    return json;
}

/* To an agent nobody else's reasoning and no seed is shown; viewer agents_len sees everything. */
static json_t *write_agents(const struct writing *out, const struct member *member)
{
    const struct game_spec *spec = out->from;
    size_t                  len = spec->problem.agents_len;
    json_t                 *agents = json_array();
    (void)member;
    for (size_t a = 0; a < len; a++)
        codec_append(&agents, agent_json(spec, a, out->viewer == len || out->viewer == a));
    return agents;
}

static json_t *write_model(const struct writing *out, const struct member *member)
{
    const struct game_spec *spec = out->from;
    (void)member;
    return codec_write(model_members, &(struct writing){.from = &spec->problem.options});
}

static json_t *write_strategy(const struct writing *out, const struct member *member)
{
    const struct game_spec *spec = out->from;
    (void)member;
    return codec_write(strategy_members, &(struct writing){.from = &spec->problem.options});
}

static json_t *write_seed(const struct writing *out, const struct member *member)
{
    const struct game_spec *spec = out->from;
    (void)member;
    return out->viewer < spec->problem.agents_len ? json_null() : json_integer((json_int_t)spec->problem.seed);
}

/* ---- the whole ---- */

/* The table writes the specification alone, which is first. */
struct whole_form {
    struct game_spec spec;
    const json_t    *agents, *model, *strategy;
};
_Static_assert(offsetof(struct whole_form, spec) == 0, "the same table reads the form and writes the specification");
const struct member codec_game_members[] = {
    {AS(whole_form, spec.problem.sum, "payoffs"), .read = codec_read_choice, .names = sum_names},
    {AS(whole_form, spec.total, "total"), .optional = true, .read = codec_read_number, .min = -1e100, .max = 1e100},
    {AT(whole_form, agents), .required = true, .read = codec_read_kept, .write = write_agents},
    {AT(whole_form, model), .read = codec_read_kept, .write = write_model},
    {AT(whole_form, strategy), .read = codec_read_kept, .write = write_strategy},
    {AS(whole_form, spec.problem.seed, "seed"), .optional = true, .read = codec_read_integer, .min = 0, .max = seed_max,
     .write = write_seed},
    {.name = NULL},
};

static void make_minds(struct game_spec *spec)
{
    for (unsigned level = 0; level <= GAME_LEVEL_MAX; level++) {
        spec->minds[level] = (struct game_mind){.level = level, .others = spec->below[level], .id = level};
        for (size_t b = 0; b < GAME_AGENTS_MAX && level > 0; b++)
            spec->below[level][b] = &spec->minds[level - 1];
    }
    spec->problem.minds = GAME_LEVEL_MAX + 1;
}

/* The mirror image of a common payoff for one who minimises it is a game of opposites, to the engine as well. */
static enum status check_sum(struct reading *in, const struct game_spec *spec)
{
    bool is_constant = spec->problem.sum == GAME_CONSTANT;
    if (is_constant == isnan(spec->total))
        return error_set(in->err, STATUS_INVALID, is_constant ? "missing_member" : "bad_combination", "/total",
                         is_constant ? "is required of constant-sum payoffs"
                                     : "must be left out: only constant-sum payoffs have a total");
    for (size_t a = 1; a < spec->problem.agents_len; a++)
        if (is_constant && spec->goals[a] != spec->goals[0])
            return error_set(in->err, STATUS_INVALID, "bad_combination", "/payoffs",
                             "must be common or general: payoffs of a constant total are of agents with the same goal");
    return STATUS_OK;
}

enum status codec_game_read(struct reading *in, const json_t *members, uint64_t default_seed, struct game_spec **out)
{
    struct whole_form *form = arena_zalloc(in->arena, 1, sizeof *form);
    enum status        whole = STATUS_OK;
    if (form == NULL)
        return error_no_memory(in->err);
    struct game_spec *spec = *out = &form->spec;
    spec->total = NAN;
    spec->problem.seed = default_seed;
    spec->problem.agents = spec->agents;
    TRY(codec_read_on(in, codec_read_object(in, codec_game_members, members, "", form), &whole));
    make_minds(spec);
    TRY(codec_read_on(in, read_agents(in, form->agents, spec), &whole));
    bool is_known = whole == STATUS_OK;
    if (is_known)
        TRY(codec_read_on(in, check_sum(in, spec), &whole));
    TRY(codec_read_on(in, read_strategy(in, form->strategy, &spec->problem.options), &whole));
    TRY(codec_read_on(in, read_model(in, form->model, is_known, spec), &whole));
    return whole;
}

enum status codec_game_parse(const char *text, struct arena *arena, struct game_spec **out, struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = codec_game_read(&(struct reading){.arena = arena, .err = err}, json, 0, out);
    json_decref(json);
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    return error_set(err, STATUS_INTERNAL, "stored_spec", "", "the stored specification cannot be read");
}

json_t *codec_game_spec_json(const struct game_spec *spec, size_t viewer)
{
    return codec_write(codec_game_members, &(struct writing){.from = spec, .viewer = viewer});
}

/* ---- actions ---- */

enum status codec_game_action(struct reading *in, const json_t *json, const char *where, struct game_play *out)
{
    const struct spec *set = in->spec;
    struct error      *err = in->err;
    double             row;
    out->is_in = true;
    out->row = -1;
    if (set->space.kind == SPACE_PARAMETERS) {
        double *point = ARENA_NEW(in->arena, double, set->space.params_len);
        if (point == NULL)
            return error_no_memory(err);
        out->point = point;
        return codec_point(in, json, POINT_WHOLE, where, point);
    }
    if (!codec_read_is_integral(json, &row))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be the number of a row: 0 to %zu",
                         set->space.rows_len - 1);
    if (row < 0 || row >= (double)set->space.rows_len)
        return error_set(err, STATUS_INVALID, "out_of_range", where, "must be the number of a row: 0 to %zu",
                         set->space.rows_len - 1);
    out->row = (int64_t)row;
    return STATUS_OK;
}

json_t *codec_game_action_json(const struct game_spec *spec, size_t agent, int64_t row, const double *point)
{
    if (spec->sets[agent].space.kind == SPACE_PARAMETERS)
        return codec_point_json(&spec->sets[agent], point);
    return json_integer((json_int_t)row);
}
