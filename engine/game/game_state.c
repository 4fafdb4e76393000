/* A game's log, its models and what follows from them; see game_state.h for the other files. */
#include "engine/game/game_state.h"

#include "engine/gp/table_fit.h"
#include "engine/math/sobol.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 64, FIRST_FIT = 10, FIT_LEN_MAX = 256 };
static const double NOISE_DEFAULT = 0.01, NOISE_MIN = 1e-6; /* of the signal's variance */
static const double LENGTH_DEFAULT = 0.2;                   /* times the root of the dimension, of the range */

static bool is_estimated(const struct game_problem *problem)
{
    return isnan(problem->agents[0].length_scale);
}

/* ---- the actions ---- */

static void set_scales(const struct game_agent *agent, struct actions *actions)
{
    const struct space *space = actions->space;
    for (size_t c = 0; c < actions->dims; c++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < space->rows_len && space->kind == SPACE_CANDIDATES; i++) {
            low = fmin(low, space->rows[i * actions->dims + c]);
            high = fmax(high, space->rows[i * actions->dims + c]);
        }
        double range = high > low ? high - low : 1;
        actions->scales[c] = isnan(agent->length_scale) ? range : agent->length_scale;
    }
}

/* A box is stood for by the first points of a scrambled Sobol sequence. */
static enum status list_actions(struct game *game, size_t agent, struct error *err)
{
    struct actions     *actions = &game->actions[agent];
    const struct space *space = actions->space;
    bool                is_box = space->kind == SPACE_PARAMETERS;
    struct arena       *arena = &game->arena;
    actions->features = ARENA_NEW(arena, double, actions->n * actions->dims);
    actions->scales = ARENA_NEW(arena, double, actions->dims);
    actions->points = is_box ? ARENA_NEW(arena, double, actions->n * space->params_len) : NULL;
    double *quantiles = ARENA_NEW(arena, double, space->params_len + 1);
    if (actions->features == NULL || actions->scales == NULL || quantiles == NULL ||
        (is_box && actions->points == NULL))
        return error_no_memory(err);
    set_scales(&game->problem->agents[agent], actions);
    for (size_t i = 0; i < actions->n; i++) {
        struct game_action action = {.row = i};
        if (is_box) {
            double *point = actions->points + i * space->params_len;
            sobol_point(game->problem->seed + agent, i, space->params_len, quantiles);
            (void)space_quantile(space, quantiles, point);
            action.point = point;
        }
        game_encode(actions, &action, actions->features + i * actions->dims);
    }
    return STATUS_OK;
}

static size_t list_len(const struct space *space)
{
    return space->kind == SPACE_PARAMETERS ? GAME_LIST_LEN : space->rows_len;
}

static size_t dims_of(const struct space *space)
{
    return space->kind == SPACE_PARAMETERS ? space->dims : space->columns;
}

size_t game_cells(const struct game_problem *problem)
{
    size_t cells = 1, dims = 0;
    for (size_t a = 0; a < problem->agents_len; a++) {
        const struct space *space = problem->agents[a].actions;
        if (space->kind == SPACE_PARAMETERS || cells > GAME_CELLS_MAX)
            return 0;
        cells *= space->rows_len;
        dims += space->columns;
    }
    return cells <= GAME_CELLS_MAX && cells * dims <= GAME_NUMBERS_MAX ? cells : 0;
}

size_t game_rounds_max(const struct game_problem *problem)
{
    return game_cells(problem) > 0 ? GAME_ROUNDS_MAX : GAME_ROUNDS_SAMPLED;
}

static enum status open_actions(struct game *game, struct error *err)
{
    for (size_t a = 0; a < game->problem->agents_len; a++) {
        const struct space *space = game->problem->agents[a].actions;
        game->actions[a] =
            (struct actions){.space = space, .n = list_len(space), .dims = dims_of(space), .at = game->dims};
        game->dims += game->actions[a].dims;
        TRY(list_actions(game, a, err));
    }
    game->cells = game_cells(game->problem);
    return STATUS_OK;
}

static enum status open_table(struct game *game, struct error *err)
{
    size_t rows[GAME_AGENTS_MAX] = {0}, len = game->problem->agents_len;
    if (game->cells == 0)
        return STATUS_OK;
    game->table = ARENA_NEW(&game->arena, double, game->cells * game->dims);
    if (game->table == NULL)
        return error_no_memory(err);
    for (size_t cell = 0; cell < game->cells; cell++) {
        for (size_t a = 0; a < len; a++) {
            const struct actions *actions = &game->actions[a];
            memcpy(game->table + cell * game->dims + actions->at, actions->features + rows[a] * actions->dims,
                   actions->dims * sizeof(double));
        }
        for (size_t a = len; a-- > 0 && ++rows[a] == game->actions[a].n;)
            rows[a] = 0;
    }
    return STATUS_OK;
}

/* ---- the models ---- */

/* Given hyper-parameters are everybody's; estimated ones differ unless the payoffs are each other's mirror image. */
size_t game_groups(const struct game_problem *problem)
{
    bool is_shared = !is_estimated(problem) || problem->sum == GAME_COMMON ||
                     (problem->sum == GAME_CONSTANT && problem->agents_len == 2);
    return is_shared ? 1 : problem->agents_len;
}

static enum status open_groups(struct game *game, struct error *err)
{
    const struct game_problem *problem = game->problem;
    const struct game_options *options = &problem->options;
    bool                       is_scaled = !isnan(options->variance);
    double length = is_estimated(game->problem) ? LENGTH_DEFAULT * sqrt((double)game->dims) : 1, noise = NOISE_DEFAULT;
    if (!isnan(options->noise))
        noise = fmax(options->noise / (is_scaled ? options->variance : 1), NOISE_MIN);
    game->groups_len = game_groups(problem);
    for (size_t g = 0; g < game->groups_len; g++) {
        struct group *group = &game->groups[g];
        size_t        outputs = game->groups_len == 1 ? problem->agents_len : 1;
        group->variance = is_scaled ? options->variance : 1;
        TRY(joint_gp_init(&group->gp, &game->arena, (struct points){game->table, game->cells}, game->dims, outputs,
                          err));
        joint_gp_reset(&group->gp, length, noise);
        for (size_t o = 0; o < outputs; o++) {
            group->members[o] = g + o;
            game->group_of[g + o] = g;
            game->output_of[g + o] = o;
        }
    }
    return STATUS_OK;
}

static enum status fill(struct game *game, struct error *err)
{
    TRY(open_actions(game, err));
    TRY(open_table(game, err));
    TRY(open_groups(game, err));
    for (size_t a = 0; a < game->problem->agents_len; a++) {
        game->unit[a] = 1;
        game->centre[a] = isnan(game->problem->options.variance) ? 0 : game->problem->agents[a].mean;
    }
    return game_level0_init(game, err);
}

enum status game_open(const struct game_problem *problem, struct game **out, struct error *err)
{
    assert(problem->agents_len >= 2 && problem->agents_len <= GAME_AGENTS_MAX);
    struct arena arena;
    *out = NULL;
    arena_init(&arena, problem->memory_bytes);
    struct game *game = arena_zalloc(&arena, 1, sizeof *game);
    enum status  status = game == NULL ? error_no_memory(err) : STATUS_OK;
    if (status == STATUS_OK) {
        game->arena = arena;
        game->problem = problem;
        status = fill(game, err);
    }
    if (status == STATUS_OK)
        *out = game;
    else if (game != NULL)
        game_close(game);
    else
        arena_fini(&arena);
    return status;
}

void game_close(struct game *game)
{
    if (game == NULL)
        return;
    struct arena arena = game->arena; // the game lies in it
    arena_fini(&arena);
}

size_t game_bytes(const struct game *game)
{
    return game->arena.taken_bytes;
}

/* ---- the log ---- */

static enum status grow(struct game *game, struct error *err)
{
    size_t  old = game->room, room = old == 0 ? FIRST_ROOM : 2 * old, len = game->problem->agents_len;
    double *inputs = ARENA_NEW(&game->arena, double, room * game->dims);
    double *payoffs = ARENA_NEW(&game->arena, double, room *len);
    size_t *cell_of = ARENA_NEW(&game->arena, size_t, room);
    if (inputs == NULL || payoffs == NULL || cell_of == NULL)
        return error_no_memory(err);
    if (old > 0) {
        memcpy(inputs, game->inputs, old * game->dims * sizeof *inputs);
        memcpy(payoffs, game->payoffs, old * len * sizeof *payoffs);
        memcpy(cell_of, game->cell_of, old * sizeof *cell_of);
    }
    game->room = room, game->inputs = inputs, game->payoffs = payoffs, game->cell_of = cell_of;
    return STATUS_OK;
}

/* Mean and spread of an agent's payoffs, unless they are given. */
static void standardise(struct game *game, size_t agent)
{
    size_t n = game->rounds, len = game->problem->agents_len;
    double mean = 0, squares = 0;
    if (!isnan(game->problem->options.variance))
        return;
    for (size_t i = 0; i < n; i++)
        mean += game->payoffs[i * len + agent] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = game->payoffs[i * len + agent] - mean;
        squares += d * d / (double)n;
    }
    game->offset[agent] = game->centre[agent] = mean;
    game->unit[agent] = squares > 0 ? sqrt(squares) : 1;
}

static enum status observe(struct game *game, struct group *group, size_t round, struct error *err)
{
    double y[GAME_AGENTS_MAX];
    for (size_t o = 0; o < group->gp.outputs; o++)
        y[o] = game->payoffs[round * game->problem->agents_len + group->members[o]];
    return joint_gp_observe(&group->gp, game->inputs + round * game->dims, game->cell_of[round], y, err);
}

/* After 10 rounds, then after 10 more or a quarter more, whichever is later; from the latest rounds, with priors around
 * the defaults, so that a fit depends on no earlier one. */
static enum status refit(struct game *game, struct group *group, struct error *err)
{
    size_t n = game->rounds, step = group->fitted / 4 > FIRST_FIT ? group->fitted / 4 : FIRST_FIT;
    if (n < group->fitted + step)
        return STATUS_OK;
    size_t            used = n < FIT_LEN_MAX ? n : FIT_LEN_MAX, agent = group->members[0];
    struct arena_mark mark = arena_mark(&game->arena);
    double           *y = ARENA_NEW(&game->arena, double, used);
    struct table_fit  fit = {.kind = &kernel_se,
                             .n = used,
                             .columns = game->dims,
                             .X = game->inputs + (n - used) * game->dims,
                             .y = y,
                             .length_scale = LENGTH_DEFAULT * sqrt((double)game->dims),
                             .variance = 1,
                             .noise = NOISE_DEFAULT};
    if (y == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < used; i++)
        y[i] = (game->payoffs[(n - used + i) * game->problem->agents_len + agent] - game->offset[agent]) /
               game->unit[agent];
    enum status status = table_fit(&fit, &game->arena, err);
    arena_release(&game->arena, mark);
    if (status == STATUS_NO_MEMORY)
        return status;
    group->fitted = n;
    group->variance = fit.variance;
    joint_gp_reset(&group->gp, fit.length_scale, fmax(fit.noise / fit.variance, NOISE_MIN));
    for (size_t i = 0; i < n; i++)
        TRY(observe(game, group, i, err));
    return STATUS_OK;
}

enum status game_tell(struct game *game, const struct game_action *actions, const double *payoffs, struct error *err)
{
    size_t rows[GAME_AGENTS_MAX], len = game->problem->agents_len, round = game->rounds;
    if (round == game->room)
        TRY(grow(game, err));
    for (size_t a = 0; a < len; a++) {
        game_encode(&game->actions[a], &actions[a], game->inputs + round * game->dims + game->actions[a].at);
        game->payoffs[round * len + a] = payoffs[a];
        rows[a] = actions[a].row;
    }
    game->cell_of[round] = game->cells > 0 ? game_cell(game, rows) : 0;
    game->rounds++;
    for (size_t a = 0; a < len; a++)
        standardise(game, a);
    for (size_t g = 0; g < game->groups_len; g++) {
        TRY(observe(game, &game->groups[g], round, err));
        if (is_estimated(game->problem))
            TRY(refit(game, &game->groups[g], err));
    }
    return game->rounds < game->problem->options.initial ? STATUS_OK : game_level0_tell(game, err);
}
