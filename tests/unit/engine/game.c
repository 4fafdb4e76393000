/* Games against values from an independent dense computation (numpy), the table against the model without one, replay
 * equality, bounds, and harm from nothing. */
#include "engine/game/game.h"
#include "engine/math/mat.h"
#include "engine/gp/rff.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <string.h>

enum { MEMORY = 1 << 26 };

/* Minds of each level; all others are one level below. */
struct minds {
    struct game_mind        minds[GAME_LEVEL_MAX + 1];
    const struct game_mind *others[GAME_LEVEL_MAX + 1][GAME_AGENTS_MAX];
};

static void minds_init(struct minds *m)
{
    for (unsigned level = 0; level <= GAME_LEVEL_MAX; level++) {
        m->minds[level] = (struct game_mind){.level = level, .others = m->others[level], .id = level};
        for (size_t b = 0; b < GAME_AGENTS_MAX; b++)
            m->others[level][b] = level == 0 ? NULL : &m->minds[level - 1];
    }
}

static const struct game_options given = {.variance = 0.31,
                                          .noise = 0.017,
                                          .beta_scale = 1,
                                          .delta = 0.1,
                                          .learning_rate = 1.3,
                                          .uniform_share = 0.17,
                                          .features = 4,
                                          .samples = 60,
                                          .initial = 2};

static struct space rows_space(const double *rows, size_t n, size_t columns)
{
    return (struct space){.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = n, .columns = columns, .dims = columns};
}

static struct game *opened(const struct game_problem *problem)
{
    struct game *game;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(game_open(problem, &game, &err), STATUS_OK);
    return game;
}

static void tell_rows(struct game *game, const size_t *rows, size_t agents, const double *payoffs)
{
    struct game_action actions[GAME_AGENTS_MAX];
    struct error       err;
    for (size_t a = 0; a < agents; a++)
        actions[a] = (struct game_action){.row = rows[a]};
    CU_ASSERT_EQUAL_FATAL(game_tell(game, actions, payoffs, &err), STATUS_OK);
}

static size_t acted(const struct game *game, size_t agent)
{
    struct game_action action;
    struct arena       scratch;
    struct error       err;
    arena_init(&scratch, MEMORY);
    CU_ASSERT_EQUAL_FATAL(game_act(game, agent, NULL, &scratch, &action, &err), STATUS_OK);
    arena_fini(&scratch);
    return action.row;
}

/* ---- two agents, against numpy ---- */

static const double pair_1[] = {0.13, 0.71, 1.04}, pair_2[] = {0.27, 0.55, 0.83, 1.61};
static const size_t pair_rows[7][2] = {{2, 2}, {2, 2}, {0, 3}, {2, 3}, {1, 2}, {2, 0}, {1, 1}};
static const double pair_payoffs[7][2] = {{0.833, 0.766}, {-0.095, 0.752}, {-0.519, 1.185}, {1.551, 1.252},
                                          {0.396, 0.416}, {0.663, 1.457},  {-0.37, 0.636}};

struct pair {
    struct minds        minds;
    struct space        spaces[2];
    struct game_agent   agents[2];
    struct game_problem problem;
};

static void pair_init(struct pair *p, unsigned level, enum game_strategy strategy)
{
    const double lengths[] = {0.37, 0.59};
    minds_init(&p->minds);
    p->spaces[0] = rows_space(pair_1, 3, 1);
    p->spaces[1] = rows_space(pair_2, 4, 1);
    for (size_t a = 0; a < 2; a++)
        p->agents[a] = (struct game_agent){.actions = &p->spaces[a],
                                           .length_scale = lengths[a],
                                           .mean = 0.42,
                                           .level0 = {strategy, strategy},
                                           .mind = &p->minds.minds[level]};
    p->problem = (struct game_problem){.agents = p->agents,
                                       .agents_len = 2,
                                       .minds = GAME_LEVEL_MAX + 1,
                                       .options = given,
                                       .seed = 2385,
                                       .memory_bytes = MEMORY};
}

static struct game *pair_played(struct pair *p)
{
    struct game *game = opened(&p->problem);
    for (size_t i = 0; i < 7; i++)
        tell_rows(game, pair_rows[i], 2, pair_payoffs[i]);
    return game;
}

static void test_gp_mw(void)
{
    static const double expected_1[] = {0.049488090357, 0.378971482771, 0.571540426872};
    static const double expected_2[] = {0.151563091274, 0.036675875346, 0.016793919799, 0.79496711358};
    struct pair         p;
    double              actual[4];
    pair_init(&p, 0, GAME_GP_MW);
    struct game *game = pair_played(&p);
    game_strategy_of(game, 0, GAME_GP_MW, actual);
    for (size_t i = 0; i < 3; i++)
        CHECK_NEAR(actual[i], expected_1[i], 2e-6);
    game_strategy_of(game, 1, GAME_GP_MW, actual);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(actual[i], expected_2[i], 2e-6);
    game_close(game);
}

static void test_levels(void)
{
    static const size_t expected[GAME_LEVEL_MAX + 1][2] = {{0, 0}, {2, 3}, {1, 0}, {0, 3}, {1, 2}};
    for (unsigned level = 1; level <= GAME_LEVEL_MAX; level++) {
        struct pair p;
        pair_init(&p, level, GAME_GP_MW);
        struct game *game = pair_played(&p);
        CU_ASSERT_EQUAL(acted(game, 0), expected[level][0]);
        CU_ASSERT_EQUAL(acted(game, 1), expected[level][1]);
        game_close(game);
    }
}

static void test_regret(void)
{
    static const double expected[2][7] = {
        {0.0, 0.0, 0.646893402, 0.485170052, 0.426764198, 0.355636832, 0.377695624},
        {0.592685085, 0.592685085, 0.27554467, 0.206658502, 0.276547116, 0.20056125, 0.225120635}};
    struct pair  p;
    struct arena scratch;
    struct error err;
    double       actual[7];
    pair_init(&p, 0, GAME_RANDOM);
    struct game *game = pair_played(&p);
    arena_init(&scratch, MEMORY);
    for (size_t a = 0; a < 2; a++) {
        CU_ASSERT_EQUAL_FATAL(game_regret(game, a, &scratch, actual, &err), STATUS_OK);
        for (size_t i = 0; i < 7; i++)
            CHECK_NEAR(actual[i], expected[a][i], 2e-6);
    }
    arena_fini(&scratch);
    game_close(game);
}

static void exp3_probabilities(const double *gains, double *p)
{
    double total = 0;
    for (size_t i = 0; i < 4; i++)
        total += p[i] = exp(given.learning_rate * gains[i]);
    for (size_t i = 0; i < 4; i++)
        p[i] = given.uniform_share / 4 + (1 - given.uniform_share) * p[i] / total;
}

/* x := A^-1 x by elimination without pivots; A is overwritten. */
static void eliminate(double A[4][4], double *x)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t r = 0; r < 4; r++) {
            double factor = r == k ? 0 : A[r][k] / A[k][k];
            for (size_t c = 0; c < 4; c++)
                A[r][c] -= factor * A[k][c];
            x[r] -= factor * x[k];
        }
    for (size_t k = 0; k < 4; k++)
        x[k] /= A[k][k];
}

/* The formula of EXP3 on the waves that the seed draws. */
static void exp3_reference(double waves[4][4], double *p)
{
    double gains[4] = {0};
    for (size_t round = 1; round < 7; round++) { // the second one is the last of the initial ones
        double Q[4][4] = {{0}}, weights[4];
        exp3_probabilities(gains, p);
        for (size_t f = 0; f < 4; f++)
            for (size_t g = 0; g < 4; g++)
                for (size_t i = 0; i < 4; i++)
                    Q[f][g] += p[i] * waves[i][f] * waves[i][g];
        memcpy(weights, waves[pair_rows[round][1]], sizeof weights);
        eliminate(Q, weights);
        for (size_t i = 0; i < 4; i++)
            for (size_t f = 0; f < 4; f++)
                gains[i] += waves[i][f] * weights[f] * pair_payoffs[round][1];
    }
    exp3_probabilities(gains, p);
}

static void test_exp3(void)
{
    struct pair         p;
    struct arena        arena;
    struct rff          rff;
    struct error        err;
    double              waves[4][4], expected[4], actual[4];
    const double        length = 0.59;
    const struct kernel kernel = {.kind = &kernel_se, .dims = 1, .variance = 1, .length_scales = &length};
    struct rng          rng = rng_at(2385, 1, RNG_FEATURES);
    arena_init(&arena, MEMORY);
    CU_ASSERT_EQUAL_FATAL(rff_draw(&rff, &kernel, 4, &rng, &arena, &err), STATUS_OK);
    for (size_t i = 0; i < 4; i++)
        for (size_t f = 0; f < 4; f++)
            waves[i][f] = cos(rff.frequencies[f] * pair_2[i] + rff.phases[f]);
    arena_fini(&arena);
    exp3_reference(waves, expected);
    pair_init(&p, 0, GAME_EXP3);
    struct game *game = pair_played(&p);
    game_strategy_of(game, 1, GAME_EXP3, actual);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(actual[i], expected[i], 1e-9);
    CU_ASSERT_TRUE(fabs(actual[0] - actual[1]) > 1e-3);
    game_close(game);
}

/* Draws of a level-0 agent follow its strategy; before the initial rounds are over they are uniform. */
static void test_draws(void)
{
    struct pair p;
    double      expected[3];
    int         counts[3] = {0}, initial[3] = {0};
    enum { DRAWS = 1500 };
    pair_init(&p, 0, GAME_GP_MW);
    for (int i = 0; i < DRAWS; i++) {
        p.problem.seed = (uint64_t)i;
        struct game *game = opened(&p.problem);
        tell_rows(game, pair_rows[0], 2, pair_payoffs[0]);
        initial[acted(game, 0)]++;
        for (size_t k = 1; k < 7; k++)
            tell_rows(game, pair_rows[k], 2, pair_payoffs[k]);
        counts[acted(game, 0)]++;
        game_strategy_of(game, 0, GAME_GP_MW, expected);
        game_close(game);
    }
    for (int k = 0; k < 3; k++) { // four standard deviations
        CHECK_NEAR(counts[k] / (double)DRAWS, expected[k], 4 * sqrt(expected[k] * (1 - expected[k]) / DRAWS));
        CHECK_NEAR(initial[k] / (double)DRAWS, 1 / 3.0, 4 * sqrt(2 / 9.0 / DRAWS));
    }
}

/* Against a pure opponent of a Lite agent's imagination: its action is a best response to one of them. */
static void test_lite(void)
{
    static const size_t best[4] = {0, 0, 1, 1}; // numpy: argmax of the bounds against each row of the opponent
    struct pair         p;
    bool                seen[3] = {false};
    pair_init(&p, 1, GAME_RANDOM);
    p.agents[0].is_lite = true;
    for (uint64_t seed = 0; seed < 60; seed++) {
        p.problem.seed = seed;
        struct game *game = pair_played(&p);
        seen[acted(game, 0)] = true;
        game_close(game);
    }
    for (size_t k = 0; k < 3; k++)
        CU_ASSERT_EQUAL(seen[k], k == best[0] || k == best[3]);
}

/* ---- three agents, against numpy (E.1, E.3) ---- */

static void test_three(void)
{
    static const double rows_1[] = {0.13, 0.71, 1.04}, rows_2[] = {0.27, 1.61},
                        rows_3[] = {0.33, 0.1, 0.52, 0.9, 1.3, -0.4};
    static const size_t played[6][3] = {{0, 1, 1}, {1, 0, 2}, {1, 1, 1}, {1, 0, 1}, {0, 1, 0}, {2, 1, 1}};
    static const double payoffs[6][3] = {{-0.218, 2.257, -0.214}, {0.661, 2.318, 0.32},  {0.48, 0.042, 0.634},
                                         {-1.089, -0.053, 1.586}, {0.548, 0.232, 0.661}, {0.69, 0.506, 0.805}};
    static const double expected[] = {0.707548397668, 0.051810124611, 0.24064147772};
    const struct space  spaces[] = {rows_space(rows_1, 3, 1), rows_space(rows_2, 2, 1), rows_space(rows_3, 3, 2)};
    struct minds        m;
    minds_init(&m);
    const struct game_mind *zero = &m.minds[0], *one = &m.minds[1];
    const struct game_mind *mixed[2][3] = {{NULL, one, zero}, {NULL, zero, one}};
    const struct game_mind  second[2] = {{.level = 2, .others = mixed[0], .id = 5},
                                         {.level = 2, .others = mixed[1], .id = 6}};
    const struct game_mind *of_third[] = {&m.minds[2], one, NULL};
    const struct game_mind  third = {.level = 3, .others = of_third, .id = 7};
    // agent 0 at level 2 with 1, 0 / 0, 1 / 1, 1 above it, then all on level 1; agent 2 always on level 3
    const struct game_mind *of_first[] = {&second[0], &second[1], &m.minds[2], one};
    const size_t            action[] = {0, 2, 0, 2};
    for (size_t k = 0; k < 4; k++) {
        struct game_agent   agents[3];
        struct game_problem problem = {
            .agents = agents, .agents_len = 3, .minds = 8, .options = given, .seed = 3, .memory_bytes = MEMORY};
        problem.options.initial = 1;
        for (size_t a = 0; a < 3; a++)
            agents[a] = (struct game_agent){.actions = &spaces[a],
                                            .length_scale = 0.83,
                                            .mean = 0.42,
                                            .level0 = {GAME_GP_MW, GAME_GP_MW, GAME_GP_MW},
                                            .mind = a == 0   ? of_first[k]
                                                    : a == 1 ? one
                                                             : &third};
        struct game *game = opened(&problem);
        for (size_t i = 0; i < 6; i++)
            tell_rows(game, played[i], 3, payoffs[i]);
        CU_ASSERT_EQUAL(acted(game, 0), action[k]);
        CU_ASSERT_EQUAL(acted(game, 1), 0);
        CU_ASSERT_EQUAL(acted(game, 2), 1);
        double p[3];
        game_strategy_of(game, 2, GAME_GP_MW, p);
        for (size_t i = 0; i < 3; i++)
            CHECK_NEAR(p[i], expected[i], 2e-6);
        game_close(game);
    }
}

/* ---- with and without a table ---- */

static const struct param slider[] = {PARAM("x", DOUBLE, LINEAR, -1.5, 2.5, 0)};
static const struct param panel[] = {PARAM("lr", DOUBLE, LOG, 1e-4, 0.3, 0), PARAM("k", INT, LINEAR, 1, 6, 0),
                                     PARAM("kind", CATEGORICAL, LINEAR, 0, 2, 3)};

static struct space box(const struct param *params, size_t len)
{
    struct space space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    return space;
}

/* A set of 70 rows against one of 1000: too many pairs for a table, though every agent is as in the small game. */
static void test_without_table(void)
{
    enum { MANY = 1000, FEW = 70 };
    static double many[MANY], few[FEW], small[FEW];
    struct rng    rng = rng_at(9, 1, RNG_TEST);
    for (size_t i = 0; i < MANY; i++)
        many[i] = rng_uniform(&rng);
    for (size_t i = 0; i < FEW; i++)
        few[i] = rng_uniform(&rng), small[i] = many[i];
    struct space large[] = {rows_space(few, FEW, 1), rows_space(many, MANY, 1)};
    struct space table[] = {rows_space(few, FEW, 1), rows_space(small, FEW, 1)};
    struct pair  p;
    struct game *games[2];
    double       strategy[2][FEW];
    for (int k = 0; k < 2; k++) {
        pair_init(&p, 2, GAME_GP_MW);
        p.agents[0].actions = k == 0 ? &large[0] : &table[0];
        p.agents[1].actions = k == 0 ? &large[1] : &table[1];
        p.problem.options.learning_rate = 0.3;
        games[k] = opened(&p.problem);
        rng = rng_at(10, 1, RNG_TEST);
        for (int i = 0; i < 25; i++) {
            const size_t rows[] = {rng_below(&rng, FEW), rng_below(&rng, FEW)};
            const double y[] = {sin(5 * few[rows[0]] + 3 * small[rows[1]]), cos(4 * few[rows[0]] - small[rows[1]])};
            tell_rows(games[k], rows, 2, y);
        }
        game_strategy_of(games[k], 0, GAME_GP_MW, strategy[k]);
        game_close(games[k]);
    }
    for (size_t i = 0; i < FEW; i++)
        CHECK_NEAR(strategy[0][i], strategy[1][i], 1e-5);
}

/* Agent 1 likes to be where agent 0 is, and agent 0 half a unit to its right; the higher level gets its way. */
static void test_boxes(void)
{
    const struct space space = box(slider, 1);
    struct pair        p;
    double             total = 0;
    pair_init(&p, 1, GAME_RANDOM);
    p.agents[0].actions = p.agents[1].actions = &space;
    p.agents[0].mind = &p.minds.minds[2];
    p.agents[0].length_scale = p.agents[1].length_scale = 0.3;
    p.problem.options.variance = p.problem.options.noise = NAN;
    struct game *game = opened(&p.problem);
    struct arena scratch;
    struct error err;
    arena_init(&scratch, MEMORY);
    for (int round = 0; round < 40; round++) {
        struct game_action actions[2];
        double             x[2];
        for (size_t a = 0; a < 2; a++) {
            CU_ASSERT_EQUAL_FATAL(game_act(game, a, NULL, &scratch, &actions[a], &err), STATUS_OK);
            CU_ASSERT_TRUE(space_has(&space, actions[a].point));
            x[a] = actions[a].point[0];
        }
        const double y[] = {-pow(x[0] - x[1] - 0.5, 2), -pow(x[1] - x[0], 2) - 0.1 * pow(x[1] - 0.7, 2)};
        CU_ASSERT_EQUAL_FATAL(game_tell(game, actions, y, &err), STATUS_OK);
        total += round >= 20 ? fabs(x[0] - x[1] - 0.5) / 20 : 0;
    }
    CU_ASSERT_TRUE(total < 0.8); // 0.16 to 0.46 over seeds, at random 1.4; samples make what is imagined inexact
    CU_ASSERT_TRUE(total > 0);
    arena_fini(&scratch);
    game_close(game);
}

/* ---- replay ---- */

enum { REPLAY_ROUNDS = 26 };

static bool same_action(const struct game_action *a, const struct game_action *b, size_t params_len)
{
    if (a->point == NULL || b->point == NULL)
        return a->point == b->point && a->row == b->row;
    return memcmp(a->point, b->point, params_len * sizeof *a->point) == 0;
}

/* Every round of a game that lived through it against one that is opened for that round. */
static void check_replay(const struct game_problem *problem)
{
    struct game_action log[REPLAY_ROUNDS][GAME_AGENTS_MAX], again;
    double             payoffs[REPLAY_ROUNDS][GAME_AGENTS_MAX], points[REPLAY_ROUNDS][GAME_AGENTS_MAX][3];
    struct game       *lived = opened(problem);
    struct arena       scratch;
    struct error       err;
    struct rng         rng = rng_at(problem->seed, 5, RNG_TEST);
    for (int round = 0; round < REPLAY_ROUNDS; round++) {
        struct game *fresh = opened(problem);
        arena_init(&scratch, MEMORY);
        for (int i = 0; i < round; i++)
            CU_ASSERT_EQUAL_FATAL(game_tell(fresh, log[i], payoffs[i], &err), STATUS_OK);
        for (size_t a = 0; a < problem->agents_len; a++) {
            const struct space *space = problem->agents[a].actions;
            CU_ASSERT_EQUAL_FATAL(game_act(lived, a, NULL, &scratch, &log[round][a], &err), STATUS_OK);
            CU_ASSERT_EQUAL_FATAL(game_act(fresh, a, NULL, &scratch, &again, &err), STATUS_OK);
            CU_ASSERT_TRUE(same_action(&log[round][a], &again, space->params_len));
            CU_ASSERT_EQUAL_FATAL(game_act(lived, a, NULL, &scratch, &again, &err), STATUS_OK);
            CU_ASSERT_TRUE(same_action(&log[round][a], &again, space->params_len));
            CU_ASSERT_TRUE(again.point != NULL ? space_has(space, again.point) : again.row < space->rows_len);
            payoffs[round][a] = 23.85 + 7 * rng_normal(&rng);
            if (again.point != NULL)
                log[round][a].point = memcpy(points[round][a], again.point, space->params_len * sizeof(double));
        }
        arena_fini(&scratch);
        CU_ASSERT_EQUAL_FATAL(game_tell(lived, log[round], payoffs[round], &err), STATUS_OK);
        game_close(fresh);
    }
    game_close(lived);
}

static void test_replay(void)
{
    const struct space spaces[] = {rows_space(pair_1, 3, 1), box(panel, 3), rows_space(pair_2, 4, 1)};
    struct minds       m;
    minds_init(&m);
    for (unsigned k = 0; k < 24; k += thorough ? 1 : 5) {
        enum game_strategy  strategy = k % GAME_STRATEGY_COUNT;
        bool                has_box = k / 3 % 2 == 1, is_estimated = k / 6 % 2 == 1;
        struct game_agent   agents[3];
        struct game_problem problem = {.agents = agents,
                                       .agents_len = k / 12 == 1 ? 3 : 2,
                                       .minds = GAME_LEVEL_MAX + 1,
                                       .sum = is_estimated && k % 4 == 0 ? GAME_COMMON : GAME_GENERAL,
                                       .options = given,
                                       .seed = k,
                                       .memory_bytes = MEMORY};
        problem.options.variance = problem.options.noise = NAN;
        problem.options.theory = k % 5 == 0;
        problem.options.samples = 9;
        for (size_t a = 0; a < 3; a++)
            agents[a] = (struct game_agent){.actions = &spaces[has_box && a == 0 ? 1
                                                               : a == 1          ? 2
                                                                                 : 0],
                                            .length_scale = is_estimated ? NAN : 0.7,
                                            .level0 = {strategy, strategy, strategy},
                                            .mind = &m.minds[(k + a) % 4],
                                            .is_lite = (k + a) % 4 == 1 && k % 2 == 0};
        check_replay(&problem);
    }
}

/* ---- limits ---- */

static void test_memory(void)
{
    struct pair  p;
    struct game *game = NULL;
    struct error err;
    bool         opens = false;
    for (size_t bytes = 1 << 10; bytes < (1 << 21); bytes *= 2) {
        pair_init(&p, 2, GAME_EXP3);
        p.problem.memory_bytes = bytes;
        if (game_open(&p.problem, &game, &err) != STATUS_OK) {
            CU_ASSERT_EQUAL(err.status, STATUS_NO_MEMORY);
            CU_ASSERT_PTR_NULL(game);
            continue;
        }
        opens = true;
        enum status              status = STATUS_OK;
        const struct game_action actions[2] = {{.row = 1}, {.row = 2}};
        for (int i = 0; i < 300 && status == STATUS_OK; i++)
            status = game_tell(game, actions, pair_payoffs[i % 7], &err);
        CU_ASSERT_TRUE(status == STATUS_OK || status == STATUS_NO_MEMORY);
        CU_ASSERT_TRUE(game_bytes(game) <= bytes);
        game_close(game);
    }
    CU_ASSERT_TRUE(opens);
    game_close(NULL);
}

static bool is_late(void *arg)
{
    (void)arg;
    return true;
}

/* The work of a chain of beliefs does not grow with the thoughts on its way, and estimates grow with their subject. */
static void test_work(void)
{
    enum { CHAINED = 60, ROUNDS = 20 };
    static struct game_mind        chain[CHAINED];
    static const struct game_mind *others[CHAINED][2];
    const struct space             space = box(slider, 1);
    struct pair                    p;
    struct arena                   scratch;
    struct error                   err;
    size_t                         taken[2];
    pair_init(&p, 1, GAME_GP_MW);
    p.agents[0].actions = p.agents[1].actions = &space;
    p.problem.minds = GAME_LEVEL_MAX + 1 + CHAINED;
    for (size_t i = 0; i < CHAINED; i++) { // everybody believes the next one; levels are not looked at but for 0
        others[i][0] = others[i][1] = i + 1 < CHAINED ? &chain[i + 1] : &p.minds.minds[0];
        chain[i] = (struct game_mind){.level = 1, .others = others[i], .id = GAME_LEVEL_MAX + 1 + i};
    }
    struct game *game = opened(&p.problem);
    double       point[2] = {0.3, 0.7};
    for (size_t round = 0; round < ROUNDS; round++) {
        point[0] = fmod(point[0] + 0.385, 1);
        const struct game_action actions[2] = {{.point = &point[0]}, {.point = &point[1]}};
        CU_ASSERT_EQUAL_FATAL(game_tell(game, actions, pair_payoffs[round % 7], &err), STATUS_OK);
    }
    double seconds[2];
    for (size_t i = 0; i < 2; i++) {
        struct game_action action;
        p.agents[0].mind = i == 0 ? &chain[CHAINED - 1] : &chain[0];
        arena_init(&scratch, MEMORY);
        CU_ASSERT_EQUAL_FATAL(game_act(game, 0, NULL, &scratch, &action, &err), STATUS_OK);
        CU_ASSERT_TRUE(space_has(&space, action.point));
        taken[i] = scratch.taken_bytes;
        const struct game_patience none = {.late = is_late};
        CU_ASSERT_EQUAL(game_act(game, 0, &none, &scratch, &action, &err), STATUS_BUSY);
        seconds[i] = game_act_seconds(&p.problem, ROUNDS);
        arena_fini(&scratch);
    }
    CU_ASSERT_TRUE(taken[1] < taken[0] + CHAINED * 8192);
    CU_ASSERT_TRUE(seconds[1] > 1.05 * seconds[0] && seconds[1] < CHAINED * seconds[0]);
    CU_ASSERT_TRUE(game_act_seconds(&p.problem, 2 * ROUNDS) > 2 * seconds[1]);
    CU_ASSERT_TRUE(game_tell_seconds(&p.problem, 2 * ROUNDS) > 4 * game_tell_seconds(&p.problem, ROUNDS));
    CU_ASSERT_TRUE((double)game_bytes(game) < game_rounds_bytes(&p.problem, ROUNDS) + (1 << 20));
    game_close(game);
}

/* Huge, equal and alternating payoffs, on one joint action over and over. */
static void test_hostile_payoffs(void)
{
    static const double values[] = {1e100, -1e100, 0, 2.385e-90};
    for (unsigned k = 0; k < 6; k++) {
        struct pair p;
        pair_init(&p, 3, k % 3);
        p.problem.options.variance = p.problem.options.noise = NAN;
        if (k >= 3)
            p.agents[0].length_scale = p.agents[1].length_scale = NAN;
        struct game *game = opened(&p.problem);
        for (int i = 0; i < 45; i++) {
            const double y[] = {values[i / 3 % 4], values[i % 4]};
            tell_rows(game, pair_rows[i < 20 ? 0 : i % 7], 2, y);
            CU_ASSERT_TRUE(acted(game, 0) < 3 && acted(game, 1) < 4);
        }
        game_close(game);
    }
}

CU_TestInfo suite_game[] = {
    {"strategies of GP-MW", test_gp_mw},
    {"strategies of EXP3", test_exp3},
    {"draws", test_draws},
    {"levels 1 to 4", test_levels},
    {"R2-B2-Lite", test_lite},
    {"three agents", test_three},
    {"regret", test_regret},
    {"without a table", test_without_table},
    {"boxes", test_boxes},
    {"replay", test_replay},
    {"memory", test_memory},
    {"work", test_work},
    {"hostile payoffs", test_hostile_payoffs},
    CU_TEST_INFO_NULL,
};
