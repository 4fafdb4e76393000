/* Regret and best responses, read off the models.  The kernel k of a joint action is a product over agents, so the mean
 * over what the rest did in the rounds is again a Gaussian process; with the rounds' actions (x_i, y_i, z_i) of the
 * agent, the other and the rest, weights alpha = (K + noise)^-1 (payoffs - c) and rest_i = mean over rounds r of
 * k(z_r, z_i):
 *   mean(x, y) = c + sum_i alpha_i k(x, x_i) k(y, y_i) rest_i
 *   var(x, y)  = mean of rest - |L^-1 (k(x, x_i) k(y, y_i) rest_i)_i|^2 */
#include "engine/game/game_state.h"

#include "engine/math/mat.h"

#include <math.h>

enum { BLOCK = 256, BOX_LEN = 64 };

size_t game_curve_len(const struct game *game, size_t agent, size_t other)
{
    const struct actions *theirs = &game->actions[other];
    size_t                len = theirs->points != NULL && theirs->n > BOX_LEN ? BOX_LEN : theirs->n;
    return game->rounds > 0 && len <= GAME_CELLS_MAX / game->actions[agent].n ? len : 0;
}

/* The numbers that all actions of a curve are compared with. */
struct curve {
    const struct game *game;
    size_t             agent, other;
    double             scale;                      /* 1 over the length-scale */
    double            *alpha, *rest, *reduced, *w; /* [rounds] */
    double            *blocks, *values;            /* [BLOCK][rounds], [BLOCK] */
};

/* Squared distance of two vectors, in length-scales. */
static double distance(const struct curve *c, const double *x, const double *y, size_t dims)
{
    double r2 = 0;
    for (size_t i = 0; i < dims; i++) {
        double d = (x[i] - y[i]) * c->scale;
        r2 += d * d;
    }
    return r2;
}

/* out [rounds]: the kernel between features of an agent's action and what it did. */
static void compare(const struct curve *c, const struct actions *actions, const double *features, double *out)
{
    for (size_t i = 0; i < c->game->rounds; i++)
        out[i] = kernel_value(&kernel_se,
                              distance(c, features, c->game->inputs + i * c->game->dims + actions->at, actions->dims));
}

/* For each round the mean kernel, over all rounds, of the agents other than the two; 1 where there are no others. */
static enum status average_rest(struct curve *c, const struct game_patience *patience, struct error *err)
{
    const struct game *game = c->game;
    for (size_t i = 0; i < game->rounds; i++) {
        if (patience != NULL && patience->late(patience->arg))
            return error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no time");
        c->rest[i] = game->problem->agents_len == 2 ? 1 : 0;
        for (size_t r = 0; r < game->rounds && game->problem->agents_len > 2; r++) {
            double r2 = 0;
            for (size_t b = 0; b < game->problem->agents_len; b++)
                if (b != c->agent && b != c->other)
                    r2 += distance(c, game->inputs + i * game->dims + game->actions[b].at,
                                   game->inputs + r * game->dims + game->actions[b].at, game->actions[b].dims);
            c->rest[i] += kernel_value(&kernel_se, r2) / (double)game->rounds;
        }
    }
    return STATUS_OK;
}

static struct game_action listed(const struct actions *actions, size_t row)
{
    size_t params_len = actions->points == NULL ? 0 : actions->space->params_len;
    return (struct game_action){.row = row, .point = params_len == 0 ? NULL : actions->points + row * params_len};
}

/* Takes what is better of the agent's actions from first on than what was found; mean is without c meanwhile. */
static void search_block(struct curve *c, size_t first, size_t len, struct game_response *out, size_t out_len)
{
    const struct actions *own = &c->game->actions[c->agent], *theirs = &c->game->actions[c->other];
    size_t                rounds = c->game->rounds;
    for (size_t x = 0; x < len; x++)
        compare(c, own, own->features + (first + x) * own->dims, c->blocks + x * rounds);
    for (size_t y = 0; y < out_len; y++) {
        compare(c, theirs, theirs->features + y * theirs->dims, c->w);
        for (size_t i = 0; i < rounds; i++)
            c->w[i] *= c->alpha[i] * c->rest[i];
        mat_vector(c->blocks, len, rounds, false, c->w, c->values);
        for (size_t x = 0; x < len; x++)
            if (first + x == 0 || c->values[x] > out[y].mean)
                out[y] = (struct game_response){listed(theirs, y), listed(own, first + x), c->values[x], 0};
    }
}

/* The deviations of what was found, in units of the payoffs. */
static void finish(struct curve *c, struct game_response *out, size_t out_len)
{
    const struct game    *game = c->game;
    const struct group   *group = &game->groups[game->group_of[c->agent]];
    const struct actions *own = &game->actions[c->agent], *theirs = &game->actions[c->other];
    double                spread = 0, signal = game_signal(game, c->agent);
    for (size_t i = 0; i < game->rounds; i++)
        spread += c->rest[i] / (double)game->rounds;
    for (size_t y = 0; y < out_len; y++) {
        compare(c, own, own->features + out[y].own.row * own->dims, c->reduced);
        compare(c, theirs, theirs->features + y * theirs->dims, c->w);
        for (size_t i = 0; i < game->rounds; i++)
            c->reduced[i] *= c->w[i] * c->rest[i];
        joint_gp_reduce(&group->gp, c->reduced);
        out[y].mean += game->centre[c->agent];
        out[y].sd = signal * sqrt(fmax(spread - mat_dot(c->reduced, c->reduced, game->rounds), 0));
    }
}

enum status game_curve(const struct game *game, const size_t pair[2], const struct game_patience *patience,
                       struct arena *scratch, struct game_response *out, struct error *err)
{
    const struct group *group = &game->groups[game->group_of[pair[0]]];
    size_t              n = game->actions[pair[0]].n, out_len = game_curve_len(game, pair[0], pair[1]);
    struct curve        c = {.game = game, .agent = pair[0], .other = pair[1], .scale = 1 / group->gp.length_scale};
    struct arena_mark   mark = arena_mark(scratch);
    c.alpha = ARENA_NEW(scratch, double, 4 * game->rounds);
    c.blocks = ARENA_NEW(scratch, double, BLOCK *(game->rounds + 1));
    if (c.alpha == NULL || c.blocks == NULL)
        return error_no_memory(err);
    c.rest = c.alpha + game->rounds;
    c.reduced = c.rest + game->rounds;
    c.w = c.reduced + game->rounds;
    c.values = c.blocks + BLOCK * game->rounds;
    joint_gp_weights(&group->gp, game->output_of[c.agent], game->centre[c.agent], c.alpha);
    TRY(average_rest(&c, patience, err));
    for (size_t first = 0; first < n; first += BLOCK) {
        if (patience != NULL && patience->late(patience->arg))
            return error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no time");
        search_block(&c, first, n - first < BLOCK ? n - first : BLOCK, out, out_len);
    }
    finish(&c, out, out_len);
    arena_release(scratch, mark);
    return STATUS_OK;
}

/* ---- regret ---- */

static void regret_in_table(const struct game *game, size_t agent, double *sums, double *out)
{
    const struct group *group = &game->groups[game->group_of[agent]];
    size_t              n = game->actions[agent].n, stride = 1;
    double              played = 0;
    for (size_t b = agent + 1; b < game->problem->agents_len; b++)
        stride *= game->actions[b].n;
    for (size_t round = 0; round < game->rounds; round++) {
        size_t cell = game->cell_of[round], row = cell / stride % n, first = cell - row * stride;
        double best = -INFINITY, mean, sd;
        for (size_t i = 0; i < n; i++) {
            joint_gp_at_cell(&group->gp, game->output_of[agent], game->centre[agent], first + i * stride, &mean, &sd);
            sums[i] += mean;
            best = fmax(best, sums[i]);
            played += i == row ? mean : 0;
        }
        out[round] = (best - played) / (double)(round + 1);
    }
}

/* The kernel of rounds r and i in everybody but the agent. */
static double kernel_of_others(const struct curve *c, size_t r, size_t i)
{
    const struct game *game = c->game;
    double             r2 = 0;
    for (size_t b = 0; b < game->problem->agents_len; b++)
        if (b != c->agent)
            r2 += distance(c, game->inputs + r * game->dims + game->actions[b].at,
                           game->inputs + i * game->dims + game->actions[b].at, game->actions[b].dims);
    return kernel_value(&kernel_se, r2);
}

/* Over the listed actions and those that were played: what a fixed one would have brought, but for the prior mean, which
 * is in the played ones as well.  c->blocks [rounds][rounds] holds the kernel of the others. */
static void regret_by_list(const struct curve *c, double *played, double *out)
{
    const struct game    *game = c->game;
    const struct actions *own = &game->actions[c->agent];
    size_t                n = game->rounds;
    for (size_t r = 0; r < n; r++) {
        out[r] = -INFINITY;
        for (size_t i = 0; i < n; i++)
            c->blocks[r * n + i] = kernel_of_others(c, r, i);
    }
    for (size_t j = 0; j < own->n + n; j++) {
        const double *features = game->inputs + (j < own->n ? 0 : j - own->n) * game->dims + own->at;
        double        sum = 0;
        compare(c, own, j < own->n ? own->features + j * own->dims : features, c->w);
        for (size_t i = 0; i < n; i++)
            c->w[i] *= c->alpha[i];
        mat_vector(c->blocks, n, n, false, c->w, c->rest);
        for (size_t r = 0; r < n; r++)
            out[r] = fmax(out[r], sum += c->rest[r]);
        if (j >= own->n)
            played[j - own->n] = c->rest[j - own->n];
    }
    double sum = 0;
    for (size_t r = 0; r < n; r++) {
        sum += played[r];
        out[r] = (out[r] - sum) / (double)(r + 1);
    }
}

enum status game_regret(const struct game *game, size_t agent, struct arena *scratch, double *out, struct error *err)
{
    const struct group *group = &game->groups[game->group_of[agent]];
    size_t              n = game->rounds;
    struct arena_mark   mark = arena_mark(scratch);
    if (game->cells > 0 || n == 0) {
        double *sums = arena_zalloc(scratch, game->actions[agent].n, sizeof(double));
        if (sums == NULL)
            return error_no_memory(err);
        regret_in_table(game, agent, sums, out);
    } else {
        struct curve c = {.game = game, .agent = agent, .scale = 1 / group->gp.length_scale};
        c.alpha = ARENA_NEW(scratch, double, n *(n + 4));
        if (c.alpha == NULL)
            return error_no_memory(err);
        c.rest = c.alpha + n;
        c.w = c.rest + n;
        c.blocks = c.w + 2 * n;
        joint_gp_weights(&group->gp, game->output_of[agent], game->centre[agent], c.alpha);
        regret_by_list(&c, c.w + n, out);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}
