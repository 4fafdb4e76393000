/* An agent's action in the open round: the recursion over levels, and best responses.  The conduct of another agent is a
 * draw from a strategy over its list, a draw from the uniform distribution over a box, or a single action; each agent's
 * reasoning is asked for its action once. */
#include "engine/game/game_state.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <string.h>

enum { REFINEMENTS = 4, REFINEMENT_LEN = 32 };
static const double REFINEMENT_RADIUS = 0.15; /* of the unit cube; a third of it each time */

/* The conduct of an agent: a pure action, or a mixed strategy. */
struct conduct {
    bool          is_pure;
    size_t        row;
    const double *features; /* [dims] pure */
    const double *point;    /* pure, of parameters */
    const double *p;        /* [n] over the list; NULL: uniform over the box */
};

struct reasoning {
    const struct game          *game;
    size_t                      thinker;
    struct arena               *scratch;
    struct conduct             *found; /* [minds][agents_len] */
    bool                       *is_found;
    double                      beta_root[GAME_AGENTS_MAX];
    struct error               *err;
    const struct game_patience *patience; /* or NULL */
    bool                        is_late;
};

/* True once the time is over; results found after that are not used. */
static bool is_late(struct reasoning *r)
{
    r->is_late = r->is_late || (r->patience != NULL && r->patience->late(r->patience->arg));
    return r->is_late;
}

/* ---- strategies and draws ---- */

static enum status mixed_conduct(struct reasoning *r, size_t agent, enum game_strategy strategy, struct conduct *out)
{
    const struct actions *actions = &r->game->actions[agent];
    *out = (struct conduct){.is_pure = false};
    if (strategy == GAME_RANDOM && actions->points != NULL)
        return STATUS_OK;
    double *p = ARENA_NEW(r->scratch, double, actions->n);
    if (p == NULL)
        return error_no_memory(r->err);
    game_strategy_of(r->game, agent, strategy, p);
    out->p = p;
    return STATUS_OK;
}

/* A point of the box from the uniform distribution, and its features. */
static void draw_point(const struct actions *actions, struct rng *rng, double *quantiles, double *point,
                       double *features)
{
    for (size_t i = 0; i < actions->space->params_len; i++)
        quantiles[i] = rng_uniform(rng);
    (void)space_quantile(actions->space, quantiles, point);
    game_encode(actions, &(struct game_action){.point = point}, features);
}

/* Features [dims] of a draw; those of a box need spare [2 params_len]. */
static void draw_features(const struct actions *actions, const struct conduct *conduct, struct rng *rng, double *spare,
                          double *features)
{
    if (conduct->is_pure) {
        memcpy(features, conduct->features, actions->dims * sizeof *features);
    } else if (conduct->p == NULL) {
        draw_point(actions, rng, spare, spare + actions->space->params_len, features);
    } else {
        size_t row = game_draw(rng, conduct->p, actions->n);
        memcpy(features, actions->features + row * actions->dims, actions->dims * sizeof *features);
    }
}

static void listed_conduct(const struct actions *actions, size_t row, struct conduct *out)
{
    *out = (struct conduct){.is_pure = true, .row = row, .features = actions->features + row * actions->dims};
    if (actions->points != NULL)
        out->point = actions->points + row * actions->space->params_len;
}

static enum status draw_conduct(struct reasoning *r, size_t agent, const struct conduct *from, struct rng *rng,
                                struct conduct *out)
{
    const struct actions *actions = &r->game->actions[agent];
    if (from->p != NULL) {
        listed_conduct(actions, game_draw(rng, from->p, actions->n), out);
        return STATUS_OK;
    }
    size_t  params_len = actions->space->params_len;
    double *features = ARENA_NEW(r->scratch, double, actions->dims + 2 * params_len);
    if (features == NULL)
        return error_no_memory(r->err);
    draw_point(actions, rng, features + actions->dims, features + actions->dims + params_len, features);
    *out = (struct conduct){.is_pure = true, .features = features, .point = features + actions->dims + params_len};
    return STATUS_OK;
}

/* ---- best responses over a table ---- */

/* sums [n] of the agent: expected bounds.  Walks the cells in order, skipping what has no probability. */
static void expect_cells(const struct reasoning *r, size_t agent, const struct conduct *others, double *sums)
{
    const struct game *game = r->game;
    size_t             rows[GAME_AGENTS_MAX] = {0}, len = game->problem->agents_len;
    memset(sums, 0, game->actions[agent].n * sizeof *sums);
    for (size_t cell = 0; cell < game->cells; cell++) {
        double weight = 1;
        for (size_t b = 0; b < len; b++)
            if (b != agent)
                weight *= others[b].is_pure ? (double)(others[b].row == rows[b]) : others[b].p[rows[b]];
        if (weight > 0)
            sums[rows[agent]] += weight * game_bound_at_cell(game, agent, cell, r->beta_root[agent]);
        for (size_t b = len; b-- > 0 && ++rows[b] == game->actions[b].n;)
            rows[b] = 0;
    }
}

static enum status respond_in_table(struct reasoning *r, size_t agent, const struct conduct *others,
                                    struct conduct *out)
{
    double *sums = ARENA_NEW(r->scratch, double, r->game->actions[agent].n);
    if (sums == NULL)
        return error_no_memory(r->err);
    expect_cells(r, agent, others, sums);
    listed_conduct(&r->game->actions[agent], numbers_largest(sums, r->game->actions[agent].n), out);
    return STATUS_OK;
}

/* ---- best responses by samples ---- */

/* Joint inputs of the others, and the block in which they meet the agent's own features. */
struct sampled {
    size_t  agent, count;
    double *draws; /* [count][dims] joint; the agent's own part is not set */
    double *inputs, *bounds, *spare;
};

static enum status draw_others(struct reasoning *r, size_t agent, const struct conduct *others, struct sampled *out)
{
    const struct game *game = r->game;
    struct rng         rng = game_rng(game, r->thinker, RNG_GAME_THINK);
    size_t widest = 0, most = GAME_PAIRS_MAX / game->actions[agent].n, samples = game->problem->options.samples;
    bool   all_pure = true;
    for (size_t b = 0; b < game->problem->agents_len; b++) {
        all_pure = all_pure && (b == agent || others[b].is_pure);
        if (game->actions[b].space->params_len > widest)
            widest = game->actions[b].space->params_len;
    }
    *out = (struct sampled){.agent = agent, .count = all_pure ? 1 : samples < most ? samples : most};
    out->draws = ARENA_NEW(r->scratch, double, out->count * game->dims);
    out->inputs = ARENA_NEW(r->scratch, double, JOINT_BLOCK * game->dims);
    out->bounds = ARENA_NEW(r->scratch, double, JOINT_BLOCK + 2 * widest);
    out->spare = ARENA_NEW(r->scratch, double, game_spare(game));
    if (out->draws == NULL || out->inputs == NULL || out->bounds == NULL || out->spare == NULL)
        return error_no_memory(r->err);
    for (size_t s = 0; s < out->count; s++)
        for (size_t b = 0; b < game->problem->agents_len; b++)
            if (b != agent)
                draw_features(&game->actions[b], &others[b], &rng, out->bounds + JOINT_BLOCK,
                              out->draws + s * game->dims + game->actions[b].at);
    return STATUS_OK;
}

/* values [m]: mean bounds of the agent's actions with these features [m][its dims]. */
static void expect_draws(struct reasoning *r, const struct sampled *sampled, const double *features, size_t m,
                         double *values)
{
    const struct game    *game = r->game;
    const struct actions *own = &game->actions[sampled->agent];
    size_t                held = 0, first = 0; // inputs in the block, and the pair (action, draw) of its first
    memset(values, 0, m * sizeof *values);
    for (size_t pair = 0; pair < m * sampled->count; pair++) {
        double *input = sampled->inputs + held++ * game->dims;
        memcpy(input, sampled->draws + pair % sampled->count * game->dims, game->dims * sizeof *input);
        memcpy(input + own->at, features + pair / sampled->count * own->dims, own->dims * sizeof *input);
        if (held < JOINT_BLOCK && pair + 1 < m * sampled->count)
            continue;
        if (is_late(r))
            return;
        game_bounds(game, sampled->agent, sampled->inputs, held, sampled->spare, sampled->bounds);
        for (size_t i = 0; i < held; i++)
            values[(first + i) / sampled->count] += sampled->bounds[i] / (double)sampled->count;
        first += held;
        held = 0;
    }
}

/* Points around the best so far, nearer each time; whatever is drawn is a point of the box. */
static enum status refine(struct reasoning *r, const struct sampled *sampled, double best, struct conduct *out)
{
    const struct actions *own = &r->game->actions[sampled->agent];
    size_t                params_len = own->space->params_len, dims = own->dims;
    struct rng            rng = game_rng(r->game, sampled->agent, RNG_STARTS);
    double               *features = ARENA_NEW(r->scratch, double, REFINEMENTS *REFINEMENT_LEN *(dims + params_len));
    double               *u = ARENA_NEW(r->scratch, double, dims), values[REFINEMENT_LEN], radius = REFINEMENT_RADIUS;
    if (features == NULL || u == NULL)
        return error_no_memory(r->err);
    double *points = features + REFINEMENTS * REFINEMENT_LEN * dims;
    for (int step = 0; step < REFINEMENTS; step++, radius /= 3) {
        for (size_t i = 0; i < REFINEMENT_LEN; i++) {
            for (size_t c = 0; c < dims; c++) {
                double moved = out->features[c] * own->scales[c] + radius * rng_normal(&rng);
                u[c] = fmin(fmax(moved, 0), 1);
            }
            space_decode(own->space, u, points + i * params_len);
            game_encode(own, &(struct game_action){.point = points + i * params_len}, features + i * dims);
        }
        expect_draws(r, sampled, features, REFINEMENT_LEN, values);
        size_t i = numbers_largest(values, REFINEMENT_LEN);
        if (values[i] > best) {
            best = values[i];
            *out = (struct conduct){.is_pure = true, .features = features + i * dims, .point = points + i * params_len};
        }
        features += REFINEMENT_LEN * dims;
        points += REFINEMENT_LEN * params_len;
    }
    return STATUS_OK;
}

/* Candidates come and go in scratch: a point that won is copied. */
static enum status respond_by_samples(struct reasoning *r, size_t agent, const struct conduct *others,
                                      struct conduct *out)
{
    const struct actions *own = &r->game->actions[agent];
    size_t                params_len = own->points == NULL ? 0 : own->space->params_len;
    struct sampled        sampled;
    double               *kept = ARENA_NEW(r->scratch, double, own->dims + params_len + own->n), *values = kept;
    if (kept == NULL)
        return error_no_memory(r->err);
    values += own->dims + params_len;
    struct arena_mark mark = arena_mark(r->scratch);
    TRY(draw_others(r, agent, others, &sampled));
    expect_draws(r, &sampled, own->features, own->n, values);
    size_t best = numbers_largest(values, own->n);
    listed_conduct(own, best, out);
    if (own->points != NULL) {
        TRY(refine(r, &sampled, values[best], out));
        out->features = memcpy(kept, out->features, own->dims * sizeof *kept);
        out->point = memcpy(kept + own->dims, out->point, params_len * sizeof *kept);
    }
    arena_release(r->scratch, mark);
    return STATUS_OK;
}

/* ---- the recursion ---- */

static enum status conduct_of(struct reasoning *r, size_t agent, const struct game_mind *mind, struct conduct *out);

/* With R2-B2-Lite a draw takes the place of every strategy. */
static enum status imagine_others(struct reasoning *r, size_t agent, const struct game_mind *mind,
                                  struct conduct *others)
{
    const struct game_agent *thinker = &r->game->problem->agents[r->thinker];
    for (size_t b = 0; b < r->game->problem->agents_len; b++) {
        if (b == agent)
            continue;
        TRY(conduct_of(r, b, mind->others[b], &others[b]));
        uint64_t       number = (uint64_t)r->game->rounds * GAME_AGENTS_MAX + r->thinker; // with b: of nobody's samples
        struct rng     rng = rng_at(r->game->problem->seed, (uint64_t)(b + 1) << 32 | number, RNG_GAME_THINK);
        struct conduct strategy = others[b];
        if (thinker->is_lite && !strategy.is_pure)
            TRY(draw_conduct(r, b, &strategy, &rng, &others[b]));
    }
    return STATUS_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as levels, which are at most GAME_LEVEL_MAX */
static enum status conduct_of(struct reasoning *r, size_t agent, const struct game_mind *mind, struct conduct *out)
{
    const struct game_agent *thinker = &r->game->problem->agents[r->thinker];
    if (mind->level == 0)
        return mixed_conduct(r, agent, thinker->level0[agent], out);
    size_t         at = mind->id * r->game->problem->agents_len + agent;
    struct conduct others[GAME_AGENTS_MAX] = {0};
    if (!r->is_found[at]) {
        TRY(imagine_others(r, agent, mind, others));
        TRY(r->game->cells > 0 ? respond_in_table(r, agent, others, &r->found[at])
                               : respond_by_samples(r, agent, others, &r->found[at]));
        r->is_found[at] = true;
    }
    *out = r->found[at];
    return STATUS_OK;
}

enum status game_act(const struct game *game, size_t agent, const struct game_patience *patience, struct arena *scratch,
                     struct game_action *out, struct error *err)
{
    const struct game_problem *problem = game->problem;
    const struct game_agent   *self = &problem->agents[agent];
    struct reasoning           r = {.game = game,
                                    .thinker = agent,
                                    .scratch = scratch,
                                    .found = arena_zalloc(scratch, problem->minds * problem->agents_len, sizeof *r.found),
                                    .is_found = arena_zalloc(scratch, problem->minds * problem->agents_len, 1),
                                    .err = err,
                                    .patience = patience};
    struct conduct             conduct, strategy;
    struct rng                 rng = game_rng(game, agent, RNG_GAME_PLAY);
    if (r.found == NULL || r.is_found == NULL)
        return error_no_memory(err);
    for (size_t b = 0; b < problem->agents_len; b++)
        r.beta_root[b] = game_beta_root(game, b);
    bool is_initial = game->rounds < problem->options.initial;
    if (is_initial || self->mind->level == 0) {
        TRY(mixed_conduct(&r, agent, is_initial ? GAME_RANDOM : self->level0[agent], &strategy));
        TRY(draw_conduct(&r, agent, &strategy, &rng, &conduct));
    } else {
        TRY(conduct_of(&r, agent, self->mind, &conduct));
    }
    *out = (struct game_action){.row = conduct.row, .point = conduct.point};
    return r.is_late ? error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no time") : STATUS_OK;
}
