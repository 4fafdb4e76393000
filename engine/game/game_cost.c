/* The cost of a game, before it is played: time and memory as a function of its rounds, from sizes alone.
 * The figures are nanoseconds of one core as measured in 2026, good to a factor of two; they follow the loops of
 * game_state.c, game_level0.c and game_reason.c and change when those do. */
#include "engine/game/game.h"

#include <math.h>

static const double COVARIANCE_NS = 40, FEATURE_NS = 2, SOLVE_NS = 0.3; /* a pair of inputs; of its features; a term */
static const double CELL_NS = 1.5, LOOK_NS = 10; /* an observation seen at a cell; a bound there */
static const double WAVE_NS = 2, FIT_NS = 1e8;   /* of EXP3; a fit to FIT_LEN rounds */
enum { FIT_LEN = 256, FIRST_FIT = 10, FIRST_ROOM = 64, REFINED = 128, BLOCK_BYTES = 1 << 16 };

struct sizes {
    const struct game_problem *problem;
    size_t                     dims, groups, cells;
};

static size_t list_of(const struct space *space)
{
    return space->kind == SPACE_PARAMETERS ? GAME_LIST_LEN : space->rows_len;
}

static bool is_estimated(const struct game_problem *problem)
{
    return isnan(problem->agents[0].length_scale);
}

static struct sizes measure(const struct game_problem *problem)
{
    struct sizes sizes = {.problem = problem, .cells = game_cells(problem), .groups = game_groups(problem)};
    for (size_t a = 0; a < problem->agents_len; a++) {
        const struct space *space = problem->agents[a].actions;
        sizes.dims += space->kind == SPACE_PARAMETERS ? space->dims : space->columns;
    }
    return sizes;
}

/* ---- time ---- */

/* The posterior at one joint input after t rounds, without a table. */
static double input_ns(const struct sizes *sizes, double t)
{
    return t * (COVARIANCE_NS + FEATURE_NS * (double)sizes->dims) + SOLVE_NS * t * t / 2;
}

/* As input_ns, summed over t rounds. */
static double inputs_ns(const struct sizes *sizes, double t)
{
    return t * t / 2 * (COVARIANCE_NS + FEATURE_NS * (double)sizes->dims) + SOLVE_NS * t * t * t / 6;
}

/* All of t rounds told to one model. */
static double observe_ns(const struct sizes *sizes, double t)
{
    double outputs = (double)(sizes->problem->agents_len + 1 - sizes->groups);
    if (sizes->cells == 0)
        return inputs_ns(sizes, t);
    return (double)sizes->cells * (CELL_NS * t * t / 2 + t * (FEATURE_NS * (double)sizes->dims + outputs));
}

static double models_ns(const struct sizes *sizes, size_t rounds)
{
    double total = observe_ns(sizes, (double)rounds);
    for (size_t n = FIRST_FIT; n <= rounds && is_estimated(sizes->problem);
         n += n / 4 > FIRST_FIT ? n / 4 : FIRST_FIT) {
        double used = fmin((double)n, FIT_LEN) / FIT_LEN;
        total += observe_ns(sizes, (double)n) + FIT_NS * used * used * used +
                 FEATURE_NS * (double)sizes->dims * used * used * FIT_LEN * FIT_LEN;
    }
    return (double)sizes->groups * total;
}

static bool is_kept(const struct game_problem *problem, size_t agent, enum game_strategy strategy)
{
    for (size_t thinker = 0; thinker < problem->agents_len; thinker++)
        if (problem->agents[thinker].level0[agent] == strategy)
            return true;
    return false;
}

static double strategies_ns(const struct sizes *sizes, double rounds)
{
    const struct game_problem *problem = sizes->problem;
    double                     features = (double)problem->options.features, total = 0;
    for (size_t a = 0; a < problem->agents_len; a++) {
        double n = (double)list_of(problem->agents[a].actions);
        if (is_kept(problem, a, GAME_GP_MW))
            total += n * (sizes->cells > 0 ? rounds * LOOK_NS : inputs_ns(sizes, rounds));
        if (is_kept(problem, a, GAME_EXP3))
            total += rounds * n * features * features / 2 * WAVE_NS;
    }
    return total;
}

struct thought {
    const struct sizes *sizes;
    double              rounds;
    bool                is_lite;
    bool                seen[GAME_MINDS_MAX][GAME_AGENTS_MAX];
};

static double respond_ns(const struct thought *thought, size_t agent, bool is_mixed)
{
    const struct sizes        *sizes = thought->sizes;
    const struct game_problem *problem = sizes->problem;
    const struct space        *space = problem->agents[agent].actions;
    size_t                     n = list_of(space), most = GAME_PAIRS_MAX / n;
    size_t                     draws = problem->options.samples < most ? problem->options.samples : most;
    if (sizes->cells > 0)
        return (double)sizes->cells * LOOK_NS;
    n += space->kind == SPACE_PARAMETERS ? REFINED : 0;
    return (double)(n * (is_mixed ? draws : 1)) * input_ns(sizes, thought->rounds);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as levels, which are at most GAME_LEVEL_MAX */
static double think_ns(struct thought *thought, size_t agent, const struct game_mind *mind)
{
    double total = 0;
    bool   is_mixed = false;
    if (mind->level == 0 || thought->seen[mind->id][agent])
        return 0;
    thought->seen[mind->id][agent] = true;
    for (size_t b = 0; b < thought->sizes->problem->agents_len; b++) {
        if (b == agent)
            continue;
        is_mixed = is_mixed || (mind->others[b]->level == 0 && !thought->is_lite);
        total += think_ns(thought, b, mind->others[b]);
    }
    return total + respond_ns(thought, agent, is_mixed);
}

double game_act_seconds(const struct game_problem *problem, size_t rounds)
{
    struct sizes sizes = measure(problem);
    double       longest = 0;
    for (size_t a = 0; a < problem->agents_len; a++) {
        struct thought thought = {.sizes = &sizes, .rounds = (double)rounds, .is_lite = problem->agents[a].is_lite};
        longest = fmax(longest, think_ns(&thought, a, problem->agents[a].mind));
    }
    return 1e-9 * longest;
}

double game_tell_seconds(const struct game_problem *problem, size_t rounds)
{
    struct sizes sizes = measure(problem);
    return 1e-9 * (models_ns(&sizes, rounds) + strategies_ns(&sizes, (double)rounds));
}

/* ---- memory ---- */

double game_rounds_bytes(const struct game_problem *problem, size_t rounds)
{
    struct sizes sizes = measure(problem);
    double       room = FIRST_ROOM, array = 4.0 * (double)sizes.cells;
    while (room < (double)rounds)
        room *= 2;
    if (array < BLOCK_BYTES) // what is left of a block may be too little for another
        array *= 2;
    double small = 16 * room * (room + (double)sizes.dims); // outgrown arrays stay in the arena
    return 2 * small + (double)sizes.groups * (small + array * (double)rounds);
}
