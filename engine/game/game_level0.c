/* Mixed strategies over an agent's list of actions.
 *   GP-MW  p ~ exp(eta sum_s alpha_s(x, what the others played in s))                      thesis E.1, Sessa et al. 2019
 *   EXP3   a(x)_i = cos(s_i'x + b_i), frequencies s_i of the kernel's spectral density, phases uniform in [0, 2 pi);
 *          estimated payoff of x in a round: a(x)'Q^-1 a(x_played) y, Q = sum_x p(x) a(x) a(x)';
 *          p = gamma / n + (1 - gamma) exp(eta sum of estimates) / sum of these
 *                                                thesis 8.3.1.1; Lattimore & Szepesvari 2020, ch. 27
 * Both are kept up to date whatever the agent plays, since the others may reason against them. */
#include "engine/game/game_state.h"

#include "engine/math/mat.h"
#include "engine/gp/rff.h"

#include <math.h>
#include <string.h>

static const struct game_options *options_of(const struct game *game)
{
    return &game->problem->options;
}

struct rng game_rng(const struct game *game, size_t agent, enum rng_purpose purpose)
{
    return rng_at(game->problem->seed, (uint64_t)game->rounds * GAME_AGENTS_MAX + agent, purpose);
}

size_t game_draw(struct rng *rng, const double *p, size_t n)
{
    double left = rng_uniform(rng);
    for (size_t i = 0; i + 1 < n; i++) {
        left -= p[i];
        if (left < 0)
            return i;
    }
    return n - 1;
}

void game_strategy_of(const struct game *game, size_t agent, enum game_strategy strategy, double *p)
{
    size_t        n = game->actions[agent].n;
    const double *gains = game->mixed[agent][strategy].gains;
    double        share = strategy == GAME_EXP3 ? options_of(game)->uniform_share : 0, best = -INFINITY, total = 0;
    for (size_t i = 0; i < n; i++)
        best = gains == NULL ? 0 : fmax(best, gains[i]);
    for (size_t i = 0; i < n; i++)
        total += p[i] = gains == NULL ? 1 : exp(options_of(game)->learning_rate * (gains[i] - best));
    for (size_t i = 0; i < n; i++)
        p[i] = share / (double)n + (1 - share) * p[i] / total;
}

/* ---- the states ---- */

static enum status draw_waves(struct game *game, size_t agent, struct error *err)
{
    const struct actions *actions = &game->actions[agent];
    size_t                count = options_of(game)->features;
    struct rng            rng = rng_at(game->problem->seed, agent, RNG_FEATURES);
    double               *waves = ARENA_NEW(&game->arena, double, actions->n *count);
    double               *scales = ARENA_NEW(&game->arena, double, actions->dims);
    if (waves == NULL || scales == NULL)
        return error_no_memory(err);
    for (size_t c = 0; c < actions->dims; c++)
        scales[c] = game->groups[game->group_of[agent]].gp.length_scale;
    const struct kernel kernel = {.kind = &kernel_se, .dims = actions->dims, .variance = 1, .length_scales = scales};
    struct rff          rff;
    TRY(rff_draw(&rff, &kernel, count, &rng, &game->arena, err));
    for (size_t i = 0; i < actions->n; i++)
        for (size_t f = 0; f < count; f++)
            waves[i * count + f] = cos(rff.phases[f] + mat_dot(rff.frequencies + f * actions->dims,
                                                               actions->features + i * actions->dims, actions->dims));
    game->mixed[agent][GAME_EXP3].waves = waves;
    return STATUS_OK;
}

static enum status keep(struct game *game, size_t agent, enum game_strategy strategy, struct error *err)
{
    struct mixed *mixed = &game->mixed[agent][strategy];
    if (strategy == GAME_RANDOM || mixed->gains != NULL)
        return STATUS_OK;
    mixed->gains = arena_zalloc(&game->arena, game->actions[agent].n, sizeof(double));
    if (mixed->gains == NULL)
        return error_no_memory(err);
    return strategy == GAME_EXP3 ? draw_waves(game, agent, err) : STATUS_OK;
}

enum status game_level0_init(struct game *game, struct error *err)
{
    for (size_t thinker = 0; thinker < game->problem->agents_len; thinker++)
        for (size_t agent = 0; agent < game->problem->agents_len; agent++)
            TRY(keep(game, agent, game->problem->agents[thinker].level0[agent], err));
    return STATUS_OK;
}

/* ---- one round ---- */

static enum status tell_gp_mw(struct game *game, size_t agent, struct error *err)
{
    const struct actions *actions = &game->actions[agent];
    double               *gains = game->mixed[agent][GAME_GP_MW].gains, beta_root = game_beta_root(game, agent);
    size_t                last = game->rounds - 1, n = actions->n;
    if (game->cells > 0) {
        size_t stride = 1;
        for (size_t b = agent + 1; b < game->problem->agents_len; b++)
            stride *= game->actions[b].n;
        size_t cell = game->cell_of[last], first = cell - cell / stride % n * stride;
        for (size_t i = 0; i < n; i++)
            gains[i] += game_bound_at_cell(game, agent, first + i * stride, beta_root);
        return STATUS_OK;
    }
    struct arena_mark mark = arena_mark(&game->arena);
    double           *inputs = ARENA_NEW(&game->arena, double, JOINT_BLOCK *(game->dims + 1));
    double           *spare = ARENA_NEW(&game->arena, double, game_spare(game));
    if (inputs == NULL || spare == NULL)
        return error_no_memory(err);
    double *bounds = inputs + JOINT_BLOCK * game->dims;
    for (size_t start = 0; start < n; start += JOINT_BLOCK) {
        size_t m = n - start < JOINT_BLOCK ? n - start : JOINT_BLOCK;
        for (size_t i = 0; i < m; i++) {
            double *input = inputs + i * game->dims;
            memcpy(input, game->inputs + last * game->dims, game->dims * sizeof *input);
            memcpy(input + actions->at, actions->features + (start + i) * actions->dims, actions->dims * sizeof *input);
        }
        game_bounds(game, agent, inputs, m, spare, bounds);
        for (size_t i = 0; i < m; i++)
            gains[start + i] += bounds[i];
    }
    arena_release(&game->arena, mark);
    return STATUS_OK;
}

/* The waves of what was played; an action between the points of a list has those of the nearest. */
static const double *played_waves(const struct game *game, size_t agent)
{
    const struct actions *actions = &game->actions[agent];
    const double         *played = game->inputs + (game->rounds - 1) * game->dims + actions->at;
    size_t                nearest = 0;
    double                least = INFINITY;
    for (size_t i = 0; i < actions->n; i++) {
        double r2 = 0;
        for (size_t c = 0; c < actions->dims; c++)
            r2 += (played[c] - actions->features[i * actions->dims + c]) *
                  (played[c] - actions->features[i * actions->dims + c]);
        if (r2 < least)
            least = r2, nearest = i;
    }
    return game->mixed[agent][GAME_EXP3].waves + nearest * options_of(game)->features;
}

/* weights := Q^-1 a(x_played) */
static enum status exp3_weights(const struct game *game, size_t agent, const double *p, struct arena *arena,
                                double *weights, struct error *err)
{
    size_t        n = game->actions[agent].n, count = options_of(game)->features;
    const double *waves = game->mixed[agent][GAME_EXP3].waves;
    double       *Q = arena_zalloc(arena, count * count, sizeof(double)), *spare = ARENA_NEW(arena, double, count);
    double        jitter;
    if (Q == NULL || spare == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < count; f++)
            for (size_t g = 0; g <= f; g++)
                Q[f * count + g] += p[i] * waves[i * count + f] * waves[i * count + g];
    TRY(mat_cholesky(Q, count, count, spare, &jitter, err));
    memcpy(weights, played_waves(game, agent), count * sizeof *weights);
    mat_solve_lower(Q, count, count, weights);
    mat_solve_upper(Q, count, count, weights);
    return STATUS_OK;
}

static enum status tell_exp3(struct game *game, size_t agent, struct error *err)
{
    size_t            n = game->actions[agent].n, count = options_of(game)->features;
    struct mixed     *mixed = &game->mixed[agent][GAME_EXP3];
    struct arena_mark mark = arena_mark(&game->arena);
    double           *p = ARENA_NEW(&game->arena, double, n), *weights = ARENA_NEW(&game->arena, double, count);
    if (p == NULL || weights == NULL)
        return error_no_memory(err);
    game_strategy_of(game, agent, GAME_EXP3, p);
    enum status status = exp3_weights(game, agent, p, &game->arena, weights, err);
    double      payoff = game->payoffs[(game->rounds - 1) * game->problem->agents_len + agent];
    payoff = (payoff - game->offset[agent]) / game->unit[agent];
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        mixed->gains[i] += payoff * mat_dot(mixed->waves + i * count, weights, count);
    arena_release(&game->arena, mark);
    return status;
}

enum status game_level0_tell(struct game *game, struct error *err)
{
    for (size_t agent = 0; agent < game->problem->agents_len; agent++) {
        if (game->mixed[agent][GAME_GP_MW].gains != NULL)
            TRY(tell_gp_mw(game, agent, err));
        if (game->mixed[agent][GAME_EXP3].gains != NULL)
            TRY(tell_exp3(game, agent, err));
    }
    return STATUS_OK;
}
