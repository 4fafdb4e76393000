/* Mean regrets of R2-B2 on synthetic games against a reference, and the time of a round.
 *   games [INITS [TEXT]]        DATA=payoffs.npy games [INITS [TEXT]]
 * TEXT: only the regrets of the games whose name contains it.
 * DATA is a float64 array [game, agent, i, j] of payoffs in [0, 1] on 100 x 100 actions: the ten games that the
 * reference was made on.  Every line is then compared with it (within two standard errors of the difference), and so
 * are the orderings.  Otherwise the one game in tests/data is played, with the orderings that hold in single games.
 * Settings: squared exponential kernel of length-scale 0.1 in units of the grid's side, mean 0.5, variance 0.03, noise
 * of standard deviation 0.01, sqrt(beta_t) = sqrt(log 2t), one random joint action, then 150 rounds; regret is 1 - f_1
 * averaged over them.
 * Three-agent games (thesis E.6.1.2): payoffs drawn from the kernel on 20 x 20 x 20 actions, scaled to [0, 1]. */
#include "engine/game/game.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 100, CELLS = SIDE * SIDE, ROUNDS = 150, SIDE3 = 20, CELLS3 = SIDE3 * SIDE3 * SIDE3, GAMES3 = 12 };
enum { LEVELS_LEN = 5, GAMES_MAX = 10, HEADER_BYTES = 128, MEMORY_BYTES = 1 << 28 };

static const struct levels {
    const char *name;
    unsigned    level[2];
    bool        is_lite;
} pairs[LEVELS_LEN] = {
    {"0v0", {0, 0}, false}, {"1v0-Lite", {1, 0}, true}, {"1v0", {1, 0}, false},
    {"2v1", {2, 1}, false}, {"3v2", {3, 2}, false},
};

/* Mean and standard error over the ten games (three starts each) of an independent simulation; agent 1. */
static const struct row {
    const char        *name;
    enum game_strategy strategy;
    double             learning_rate;
    enum game_sum      sum;
    double             mean[LEVELS_LEN], se[LEVELS_LEN];
} rows[] = {
    {"gp-mw 0.1, common",
     GAME_GP_MW,
     0.1,
     GAME_COMMON,
     {.46852, .43754, .3384, .06863, .08144},
     {.015, .01558, .01624, .01069, .01266}},
    {"gp-mw 0.1, general",
     GAME_GP_MW,
     0.1,
     GAME_GENERAL,
     {.50467, .48716, .43969, .24083, .24085},
     {.0135, .01001, .01168, .02453, .02684}},
    {"gp-mw 0.1, constant",
     GAME_GP_MW,
     0.1,
     GAME_CONSTANT,
     {.52847, .51624, .48149, .35445, .24619},
     {.01132, .00909, .00901, .02775, .02594}},
    {"gp-mw 0.5, common",
     GAME_GP_MW,
     0.5,
     GAME_COMMON,
     {.25574, .22618, .16112, .07259, .07396},
     {.01792, .01488, .01879, .01023, .00856}},
    {"gp-mw 0.5, general",
     GAME_GP_MW,
     0.5,
     GAME_GENERAL,
     {.43334, .44609, .38544, .26918, .24953},
     {.01861, .01272, .01905, .03085, .03043}},
    {"gp-mw 0.5, constant",
     GAME_GP_MW,
     0.5,
     GAME_CONSTANT,
     {.52687, .5295, .50653, .332, .22236},
     {.00947, .01006, .01049, .02155, .02632}},
    {"random, common",
     GAME_RANDOM,
     0.1,
     GAME_COMMON,
     {.52947, .49883, .44644, .08062, .08791},
     {.01409, .01093, .01206, .00907, .01137}},
    {"random, general",
     GAME_RANDOM,
     0.1,
     GAME_GENERAL,
     {.52921, .4934, .4448, .22206, .24624},
     {.01436, .01053, .01322, .02348, .03263}},
    {"random, constant",
     GAME_RANDOM,
     0.1,
     GAME_CONSTANT,
     {.52802, .49044, .448, .33635, .25057},
     {.01238, .01254, .00961, .0281, .02934}},
    {"exp3 0.1, common",
     GAME_EXP3,
     0.1,
     GAME_COMMON,
     {.45071, .41562, .34333, .07666, .08422},
     {.02099, .0211, .01992, .01076, .01227}},
    {"exp3 0.1, general",
     GAME_EXP3,
     0.1,
     GAME_GENERAL,
     {.49229, .45783, .41034, .28049, .26627},
     {.01472, .01677, .01833, .02655, .02592}},
    {"exp3 0.1, constant",
     GAME_EXP3,
     0.1,
     GAME_CONSTANT,
     {.52791, .48816, .44792, .3696, .19956},
     {.01066, .00939, .0099, .01821, .01877}},
};
enum { ROWS_LEN = sizeof rows / sizeof rows[0] };

static void *checked(void *memory)
{
    if (memory == NULL)
        exit(2);
    return memory;
}

/* ---- one game ---- */

struct match {
    size_t             agents, side;
    const double      *payoffs[3]; /* [side^agents], the last agent's action changing fastest */
    bool               is_mirrored[3];
    unsigned           level[3];
    bool               is_lite; /* agent 1 */
    enum game_strategy strategy;
    double             learning_rate;
    enum game_sum      sum;
    uint64_t           seed;
};

static double payoff(const struct match *match, size_t agent, const struct game_action *actions)
{
    size_t cell = 0;
    for (size_t a = 0; a < match->agents; a++)
        cell = cell * match->side + actions[a].row;
    double value = match->payoffs[agent][cell];
    return match->is_mirrored[agent] ? 1 - value : value;
}

/* A mind of each level, who believes that all others are one level below. */
static void make_minds(struct game_mind *minds, const struct game_mind *(*others)[GAME_AGENTS_MAX])
{
    for (unsigned level = 0; level <= GAME_LEVEL_MAX; level++) {
        minds[level] = (struct game_mind){.level = level, .others = others[level], .id = level};
        for (size_t b = 0; b < GAME_AGENTS_MAX; b++)
            others[level][b] = level == 0 ? NULL : &minds[level - 1];
    }
}

static void tell(struct game *game, const struct match *match, const struct game_action *actions, struct rng *noise)
{
    struct error err;
    double       y[3];
    for (size_t a = 0; a < match->agents; a++)
        y[a] = payoff(match, a, actions) + 0.01 * rng_normal(noise);
    if (match->sum != GAME_GENERAL) // one measurement
        for (size_t a = 1; a < match->agents; a++)
            y[a] = match->sum == GAME_COMMON ? y[0] : 1 - y[0];
    must(game_tell(game, actions, y, &err), &err);
}

struct outcome {
    double regret;   /* of agent 1, mean over the rounds */
    double drift;    /* of the last third less the first */
    double round_ms; /* what one round took at the 100th and after */
};

static struct outcome play(const struct match *match)
{
    static double           grid[SIDE];
    struct game_mind        minds[GAME_LEVEL_MAX + 1];
    const struct game_mind *others[GAME_LEVEL_MAX + 1][GAME_AGENTS_MAX];
    struct space space = {.kind = SPACE_CANDIDATES, .rows = grid, .rows_len = match->side, .columns = 1, .dims = 1};
    struct game_agent agents[3];
    struct error      err;
    make_minds(minds, others);
    for (size_t i = 0; i < match->side; i++)
        grid[i] = (double)i / (double)(match->side - 1);
    for (size_t a = 0; a < match->agents; a++) {
        agents[a] = (struct game_agent){.actions = &space,
                                        .length_scale = 0.1,
                                        .mean = 0.5,
                                        .mind = &minds[match->level[a]],
                                        .is_lite = a == 0 && match->is_lite};
        for (size_t b = 0; b < match->agents; b++)
            agents[a].level0[b] = match->strategy;
    }
    const struct game_problem problem = {.agents = agents,
                                         .agents_len = match->agents,
                                         .minds = GAME_LEVEL_MAX + 1,
                                         .sum = match->sum,
                                         .options = {.variance = 0.03,
                                                     .noise = 1e-4,
                                                     .beta_scale = 1,
                                                     .delta = 0.1,
                                                     .learning_rate = match->learning_rate,
                                                     .uniform_share = 0.1,
                                                     .features = 5,
                                                     .samples = 100,
                                                     .initial = 1},
                                         .seed = match->seed,
                                         .memory_bytes = MEMORY_BYTES};
    struct game              *game;
    struct arena              scratch;
    struct rng                noise = rng_at(match->seed, 1, RNG_TEST);
    double                    thirds[3] = {0}, start = 0;
    must(game_open(&problem, &game, &err), &err);
    for (int round = 0; round <= ROUNDS; round++) {
        struct game_action actions[3];
        if (round == 100)
            start = cpu_seconds();
        arena_init(&scratch, MEMORY_BYTES);
        for (size_t a = 0; a < match->agents; a++)
            must(game_act(game, a, NULL, &scratch, &actions[a], &err), &err);
        arena_fini(&scratch);
        if (round > 0)
            thirds[(round - 1) * 3 / ROUNDS] += 3 * (1 - payoff(match, 0, actions)) / ROUNDS;
        tell(game, match, actions, &noise);
    }
    const struct outcome out = {.regret = (thirds[0] + thirds[1] + thirds[2]) / 3,
                                .drift = thirds[2] - thirds[0],
                                .round_ms = 1e3 * (cpu_seconds() - start) / (ROUNDS + 1 - 100)};
    game_close(game);
    return out;
}

/* ---- two agents ---- */

static double *read_payoffs(const char *path, bool is_double, size_t games)
{
    size_t  len = games * 2 * CELLS, width = is_double ? 8 : 4;
    double *out = checked(malloc(len * sizeof *out));
    char   *bytes = checked(malloc(len * width));
    FILE   *file = fopen(path, "rb");
    if (file == NULL || fseek(file, HEADER_BYTES, SEEK_SET) != 0 || fread(bytes, width, len, file) != len) {
        fprintf(stderr, "%s: cannot read %zu numbers\n", path, len);
        exit(2);
    }
    fclose(file);
    for (size_t i = 0; i < len; i++) {
        float single;
        memcpy(is_double ? (void *)&out[i] : (void *)&single, bytes + i * width, width);
        if (!is_double)
            out[i] = single;
    }
    free(bytes);
    return out;
}

struct table {
    const double *payoffs;
    size_t        games, inits;
    bool          has_reference;
    const char   *only; /* rows whose name contains it; NULL: all */
    double regret[ROWS_LEN][LEVELS_LEN][GAMES_MAX], drift[ROWS_LEN][LEVELS_LEN][GAMES_MAX]; /* means over starts */
};

static bool is_wanted(const struct table *table, size_t row)
{
    return table->only == NULL || strstr(rows[row].name, table->only) != NULL;
}

static void play_all(struct table *table)
{
    for (size_t r = 0; r < ROWS_LEN; r++)
        for (size_t l = 0; l < LEVELS_LEN && is_wanted(table, r); l++)
            for (size_t g = 0; g < table->games; g++)
                for (size_t i = 0; i < table->inits; i++) {
                    const double  *f = table->payoffs + g * 2 * CELLS;
                    struct match   match = {.agents = 2,
                                            .side = SIDE,
                                            .payoffs = {f, rows[r].sum == GAME_GENERAL ? f + CELLS : f},
                                            .is_mirrored = {false, rows[r].sum == GAME_CONSTANT},
                                            .level = {pairs[l].level[0], pairs[l].level[1]},
                                            .is_lite = pairs[l].is_lite,
                                            .strategy = rows[r].strategy,
                                            .learning_rate = rows[r].learning_rate,
                                            .sum = rows[r].sum,
                                            .seed = 1000 * g + i + 7};
                    struct outcome outcome = play(&match);
                    table->regret[r][l][g] += outcome.regret / (double)table->inits;
                    table->drift[r][l][g] += outcome.drift / (double)table->inits;
                }
}

struct summary {
    double mean, se;
};

/* Summarises regrets, or differences to another cell of the same games. */
static struct summary summarise(const double *values, const double *minus, size_t n)
{
    struct summary out = {0, 0};
    for (size_t i = 0; i < n; i++)
        out.mean += (values[i] - (minus == NULL ? 0 : minus[i])) / (double)n;
    for (size_t i = 0; i < n && n > 1; i++) {
        double d = values[i] - (minus == NULL ? 0 : minus[i]) - out.mean;
        out.se += d * d / (double)(n * (n - 1));
    }
    out.se = sqrt(out.se);
    return out;
}

static int report(bool good, const char *name, const char *what, double figure, double se, double target)
{
    printf("%s,%s,%.4f,%.4f,%.4f,%s\n", name, what, figure, se, target, good ? "ok" : "NOT");
    return good ? 0 : 1;
}

static int report_reference(const struct table *table)
{
    int bad = 0;
    for (size_t r = 0; r < ROWS_LEN; r++)
        for (size_t l = 0; l < LEVELS_LEN && is_wanted(table, r); l++) {
            struct summary s = summarise(table->regret[r][l], NULL, table->games);
            bool           good = fabs(s.mean - rows[r].mean[l]) <= 2 * hypot(s.se, rows[r].se[l]);
            printf("%s,%s,%.4f,%.4f,%.4f,%s,%.4f\n", rows[r].name, pairs[l].name, s.mean, s.se, rows[r].mean[l],
                   !table->has_reference ? ""
                   : good                ? "ok"
                                         : "NOT",
                   rows[r].se[l]);
            bad += table->has_reference && !good;
        }
    return bad;
}

/* The orderings of the figures, paired over the games: 1v0 < Lite, Lite <= 0v0 within its error, 2v1 and 3v2 < 1v0;
 * constant sum: 3v2 < 2v1.  GP-MW at rate 0.5 learns so fast that only the last three hold; of one game only that 2v1
 * and 3v2 < 0v0. */
static const struct ordering {
    size_t low, high;
    bool   of_learners, of_one, of_constant; /* whether it holds for rate 0.5, in one game; only of constant sums */
} orderings[] = {{2, 1, false, false, false}, {1, 0, false, false, false}, {3, 2, true, false, false},
                 {4, 2, true, false, false},  {4, 3, true, false, true},   {3, 0, true, true, false},
                 {4, 0, true, true, false}};

static int report_orderings(const struct table *table)
{
    int bad = 0;
    for (size_t r = 0; r < ROWS_LEN; r++)
        for (size_t o = 0; o < sizeof orderings / sizeof orderings[0]; o++) {
            char                   name[40];
            const struct ordering *ordering = &orderings[o];
            if ((rows[r].learning_rate > 0.1 && !ordering->of_learners) ||
                (!table->has_reference && !ordering->of_one) || (ordering->of_constant && rows[r].sum != GAME_CONSTANT))
                continue;
            struct summary s =
                summarise(table->regret[r][ordering->low], table->regret[r][ordering->high], table->games);
            snprintf(name, sizeof name, "%s minus %s", pairs[ordering->low].name, pairs[ordering->high].name);
            bad += report(s.mean < (o == 1 ? 2 * s.se : 0), rows[r].name, name, s.mean, s.se, 0);
        }
    return bad;
}

/* Both on level 0: who plays at random does not get better; who learns does, when both want the same. */
static int report_drifts(const struct table *table)
{
    int bad = 0;
    for (size_t r = 0; r < ROWS_LEN; r++) {
        struct summary s = summarise(table->drift[r][0], NULL, table->games);
        if (rows[r].sum != GAME_COMMON || !table->has_reference)
            continue;
        bad += report(rows[r].strategy == GAME_RANDOM ? fabs(s.mean) < 3 * s.se : s.mean < 0, rows[r].name,
                      "0v0 last third minus first", s.mean, s.se, 0);
    }
    return bad;
}

/* ---- three agents ---- */

/* A draw from the product kernel on the cube, scaled to [0, 1]. */
static void draw_payoffs(uint64_t stream, double *f)
{
    static double L[SIDE3 * SIDE3], spare[SIDE3], line[SIDE3];
    double        jitter, low = INFINITY, high = -INFINITY;
    struct error  err;
    struct rng    rng = rng_at(stream, 3, RNG_TEST);
    for (int i = 0; i < SIDE3; i++)
        for (int j = 0; j < SIDE3; j++)
            L[i * SIDE3 + j] = exp(-0.5 * pow((i - j) / (0.1 * (SIDE3 - 1)), 2));
    must(mat_cholesky(L, SIDE3, SIDE3, spare, &jitter, &err), &err);
    for (int i = 0; i < CELLS3; i++)
        f[i] = rng_normal(&rng);
    for (int stride = 1; stride < CELLS3; stride *= SIDE3) // L along each axis
        for (int i = 0; i < CELLS3; i++) {
            if (i / stride % SIDE3 != 0)
                continue;
            for (int k = 0; k < SIDE3; k++)
                line[k] = f[i + k * stride];
            mat_multiply_lower(L, SIDE3, SIDE3, line);
            for (int k = 0; k < SIDE3; k++)
                f[i + k * stride] = line[k];
        }
    for (int i = 0; i < CELLS3; i++)
        low = fmin(low, f[i]), high = fmax(high, f[i]);
    for (int i = 0; i < CELLS3; i++)
        f[i] = (f[i] - low) / (high - low);
}

/* Independent payoffs, or an adversary (agent 1) against two agents who share the mirror image of its payoffs. */
static int report_three(bool is_adversary)
{
    static const struct {
        const char *name;
        unsigned    level[3];
        bool        is_lite;
    } triples[] = {{"0v0v0", {0, 0, 0}, false},
                   {"1v0v0-Lite", {1, 0, 0}, true},
                   {"1v0v0", {1, 0, 0}, false},
                   {"1v1v1", {1, 1, 1}, false},
                   {"2v1v1", {2, 1, 1}, false}};
    static double regret[5][GAMES3], f[3][CELLS3];
    for (int g = 0; g < GAMES3; g++) {
        for (int a = 0; a < 3; a++)
            draw_payoffs((uint64_t)g * 3 + (is_adversary ? 0 : (uint64_t)a), f[a]);
        for (size_t l = 0; l < 5; l++) {
            struct match match = {.agents = 3,
                                  .side = SIDE3,
                                  .payoffs = {f[0], f[1], f[2]},
                                  .is_mirrored = {false, is_adversary, is_adversary},
                                  .level = {triples[l].level[0], triples[l].level[1], triples[l].level[2]},
                                  .is_lite = triples[l].is_lite,
                                  .strategy = GAME_GP_MW,
                                  .learning_rate = 0.1,
                                  .sum = GAME_GENERAL,
                                  .seed = (uint64_t)g + 77};
            regret[l][g] = play(&match).regret;
        }
    }
    static const size_t one_level[][2] = {{1, 0}, {2, 0}, {4, 3}};
    const char         *kind = is_adversary ? "one against two" : "three agents";
    int                 bad = 0;
    for (size_t l = 0; l < 5; l++) {
        struct summary s = summarise(regret[l], NULL, GAMES3);
        printf("%s,%s,%.4f,%.4f,,\n", kind, triples[l].name, s.mean, s.se);
    }
    for (size_t o = 0; o < 3; o++) {
        char           name[60];
        struct summary s = summarise(regret[one_level[o][0]], regret[one_level[o][1]], GAMES3);
        snprintf(name, sizeof name, "%s minus %s", triples[one_level[o][0]].name, triples[one_level[o][1]].name);
        bad += report(s.mean < (o == 0 ? 2 * s.se : 0), kind, name, s.mean, s.se, 0);
    }
    return bad;
}

/* ---- speed ---- */

static int report_speed(const double *f)
{
    struct match match = {.agents = 2,
                          .side = SIDE,
                          .payoffs = {f, f + CELLS},
                          .level = {3, 2},
                          .strategy = GAME_GP_MW,
                          .learning_rate = 0.1,
                          .sum = GAME_GENERAL,
                          .seed = 5};
    double       ms = play(&match).round_ms;
    return report(ms < 20, "speed", "milliseconds of a core for a round of both agents from t = 100 (levels 3 and 2)",
                  ms, 0, 20);
}

/* Two agents with two parameters each, on levels 2 and 1, so that expectations are means over 100 samples. */
static int report_boxes(void)
{
    static const struct param params[] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -1, .max = 1},
                                          {.name = "y", .kind = PARAM_DOUBLE, .min = -1, .max = 1}};
    struct game_mind          minds[GAME_LEVEL_MAX + 1];
    const struct game_mind   *others[GAME_LEVEL_MAX + 1][GAME_AGENTS_MAX];
    struct space              space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 2};
    struct game_agent         agents[2];
    struct game              *game;
    struct arena              scratch;
    struct error              err;
    double                    start = 0;
    make_minds(minds, others);
    must(space_init(&space, &err), &err);
    for (size_t a = 0; a < 2; a++)
        agents[a] = (struct game_agent){.actions = &space,
                                        .length_scale = NAN,
                                        .mean = NAN,
                                        .level0 = {GAME_GP_MW, GAME_GP_MW},
                                        .mind = &minds[2 - a]};
    const struct game_problem problem = {.agents = agents,
                                         .agents_len = 2,
                                         .minds = GAME_LEVEL_MAX + 1,
                                         .options = {.variance = NAN,
                                                     .noise = NAN,
                                                     .beta_scale = 1,
                                                     .learning_rate = 0.1,
                                                     .uniform_share = 0.1,
                                                     .features = 5,
                                                     .samples = 100,
                                                     .initial = 5},
                                         .memory_bytes = MEMORY_BYTES};
    must(game_open(&problem, &game, &err), &err);
    for (int round = 0; round <= ROUNDS; round++) {
        struct game_action actions[2];
        if (round == 100)
            start = cpu_seconds();
        arena_init(&scratch, MEMORY_BYTES);
        for (size_t a = 0; a < 2; a++)
            must(game_act(game, a, NULL, &scratch, &actions[a], &err), &err);
        const double *x = actions[0].point, *z = actions[1].point;
        const double  y[] = {sin(3 * x[0] + z[1]) - x[1] * z[0], cos(2 * z[0] - x[1]) - z[1] * z[1]};
        must(game_tell(game, actions, y, &err), &err);
        arena_fini(&scratch);
    }
    double ms = 1e3 * (cpu_seconds() - start) / (ROUNDS + 1 - 100);
    game_close(game);
    return report(ms < 500, "speed", "milliseconds of a core for a round of two boxes from t = 100 (levels 2 and 1)",
                  ms, 0, 500);
}

int main(int argc, char **argv)
{
    static struct table table;
    const char         *path = getenv("DATA");
    (void)mat_use_one_thread();
    table.has_reference = path != NULL;
    table.games = path != NULL ? GAMES_MAX : 1;
    table.payoffs =
        read_payoffs(path != NULL ? path : "tests/data/games/game0_2x100x100.npy", path != NULL, table.games);
    long inits = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
    table.inits = inits > 0 ? (size_t)inits : 1;
    table.only = argc > 2 ? argv[2] : NULL;
    puts("game,levels,regret or difference,standard error,target,verdict,target's standard error");
    double start = cpu_seconds();
    play_all(&table);
    int bad = report_reference(&table);
    if (table.only != NULL)
        return bad == 0 ? 0 : 1;
    bad += report_orderings(&table) + report_drifts(&table);
    bad += report_three(false) + report_three(true);
    bad += report_speed(table.payoffs) + report_boxes();
    printf("# %.0f s, %d lines are not as they should be\n", cpu_seconds() - start, bad);
    return bad == 0 ? 0 : 1;
}
