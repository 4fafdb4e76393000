/* Cells, inputs and upper confidence bounds, read off the models in the open round. */
#include "engine/game/game_state.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <string.h>

void game_encode(const struct actions *actions, const struct game_action *action, double *features)
{
    const struct space *space = actions->space;
    if (space->kind == SPACE_CANDIDATES)
        memcpy(features, space->rows + action->row * actions->dims, actions->dims * sizeof *features);
    else
        space_encode(space, action->point, features);
    for (size_t c = 0; c < actions->dims; c++)
        features[c] /= actions->scales[c];
}

size_t game_cell(const struct game *game, const size_t *rows)
{
    size_t cell = 0;
    for (size_t a = 0; a < game->problem->agents_len; a++)
        cell = cell * game->actions[a].n + rows[a];
    return cell;
}

double game_beta_root(const struct game *game, size_t agent)
{
    const struct game_options *options = &game->problem->options;
    double                     t = 1;
    if (game->rounds > options->initial)
        t = (double)(game->rounds - options->initial + 1);
    double beta = log(2 * t);
    if (options->theory)
        beta = 2 * log((double)game->actions[agent].n * t * t * PI * PI / (3 * options->delta));
    return sqrt(fmax(options->beta_scale * beta, 0));
}

double game_signal(const struct game *game, size_t agent)
{
    bool is_scaled = !isnan(game->problem->options.variance);
    return sqrt(game->groups[game->group_of[agent]].variance) * (is_scaled ? 1 : game->unit[agent]);
}

/* A mean and a standard deviation of the model as a bound in the units of strategies. */
static double bound(const struct game *game, size_t agent, double mean, double sd, double beta_root)
{
    return (mean + beta_root * game_signal(game, agent) * sd - game->offset[agent]) / game->unit[agent];
}

double game_bound_at_cell(const struct game *game, size_t agent, size_t cell, double beta_root)
{
    double mean, sd;
    joint_gp_at_cell(&game->groups[game->group_of[agent]].gp, game->output_of[agent], game->centre[agent], cell, &mean,
                     &sd);
    return bound(game, agent, mean, sd, beta_root);
}

size_t game_spare(const struct game *game)
{
    return (game->rounds + 2) * JOINT_BLOCK;
}

void game_bounds(const struct game *game, size_t agent, const double *inputs, size_t m, double *spare, double *out)
{
    double                   *sd = spare + (game->rounds + 1) * JOINT_BLOCK, beta_root = game_beta_root(game, agent);
    const struct joint_inputs at = {.inputs = inputs, .m = m, .spare = spare};
    joint_gp_at(&game->groups[game->group_of[agent]].gp, game->output_of[agent], game->centre[agent], &at, out, sd);
    for (size_t i = 0; i < m; i++)
        out[i] = bound(game, agent, out[i], sd[i], beta_root);
}
