/* Optimal stopping: the fit and the rule against an independent implementation (numpy and scipy, 100,000 paths), what
 * the losses must do to it, gaps, tables, refusals. */
#include "engine/stopping/stopping_table.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { EPOCHS = 50, WARM_UP = 8, DECISIONS = EPOCHS - WARM_UP - 1 };

/* Posterior of the error at epoch 50, share of paths inside (0, 1), and the lowest cell that stops after epochs 9 .. 49;
 * the first few differ from one simulation to the next, since few paths come by. */
static const struct reference {
    double        errors[WARM_UP], incumbent, k1, alpha, beta, mean, sd, kept;
    size_t        settled;
    unsigned char lowest[DECISIONS];
} references[] = {
    {{0.7984, 0.7168, 0.658, 0.6094, 0.5709, 0.5316, 0.5006, 0.4771},
     0.235,
     100,
     1.643724,
     18.341187,
     0.1569019,
     0.0873926,
     0.963,
     2,
     {48, 99, 46, 45, 45, 44, 43, 43, 43, 42, 41, 41, 40, 40, 40, 39, 39, 39, 38, 38, 38,
      38, 37, 37, 36, 36, 36, 36, 35, 35, 35, 34, 34, 34, 34, 33, 33, 33, 32, 32, 32}},
    {{0.8302, 0.7695, 0.7049, 0.646, 0.6019, 0.5744, 0.5316, 0.4902},
     0.12,
     279,
     2.0,
     32.108458,
     0.0908640,
     0.0869007,
     0.8517,
     4,
     {99, 99, 99, 99, 44, 43, 42, 41, 40, 39, 39, 38, 37, 36, 36, 35, 35, 34, 34, 33, 33,
      32, 32, 31, 31, 30, 30, 29, 29, 29, 28, 28, 27, 27, 27, 26, 26, 25, 25, 24, 24}},
};
static const double first_epochs[WARM_UP] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct stopping problem_of(const struct reference *reference)
{
    struct stopping problem = stopping_recommended();
    problem.last = EPOCHS;
    problem.seen = WARM_UP;
    problem.epochs = first_epochs;
    problem.errors = reference->errors;
    problem.incumbent = reference->incumbent;
    problem.k1 = reference->k1;
    problem.rng = rng_at(2385, 1, RNG_PATHS);
    return problem;
}

static struct stopping_rule solve(const struct stopping *problem, struct arena *arena)
{
    struct stopping_rule rule = {0};
    CU_ASSERT_FATAL(stopping_solve(problem, arena, arena, &rule, NULL) == STATUS_OK);
    return rule;
}

static size_t lowest_stop(const struct stopping_rule *rule, size_t epoch)
{
    size_t cell = 0;
    while (cell < STOPPING_CELLS &&
           stopping_decide(rule, epoch, ((double)cell + 0.5) / STOPPING_CELLS) != STOPPING_WORSE)
        cell++;
    return cell;
}

static size_t count_decisions(const struct stopping_rule *rule, enum stopping_decision decision)
{
    size_t count = 0;
    for (size_t i = 0; i < (rule->last - rule->first) * STOPPING_CELLS; i++)
        count += rule->decisions[i] == decision;
    return count;
}

static void test_reference(void)
{
    struct arena arena;
    arena_init(&arena, 64 << 20);
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *reference = &references[i];
        struct stopping         problem = problem_of(reference);
        struct stopping_rule    rule = solve(&problem, &arena);
        CU_ASSERT(rule.first == WARM_UP + 1 && rule.last == EPOCHS);
        CHECK_NEAR(rule.alpha, reference->alpha, 2e-3 * reference->alpha);
        CHECK_NEAR(rule.beta, reference->beta, 3e-3 * reference->beta);
        CHECK_NEAR(rule.mean, reference->mean, 2e-4);
        CHECK_NEAR(rule.sd, reference->sd, 2e-4);
        CHECK_NEAR((double)rule.kept / 1e5, reference->kept, 5e-3);
        double mean = 0, sd = 0;
        CU_ASSERT(stopping_forecast(&problem, &mean, &sd, &arena, NULL) == STATUS_OK);
        CHECK_NEAR(mean, rule.mean, 1e-9);
        CHECK_NEAR(sd, rule.sd, 1e-9);
        for (size_t s = reference->settled; s < DECISIONS; s++)
            CHECK_NEAR(lowest_stop(&rule, WARM_UP + 1 + s), reference->lowest[s], 1);
    }
    arena_fini(&arena);
}

/* Dearer mistakes stop less, a worse incumbent stops less, and nothing stops what is certain to be better. */
static void test_losses(void)
{
    struct arena arena;
    size_t       before = SIZE_MAX;
    arena_init(&arena, 64 << 20);
    for (double k1 = 10; k1 < 4000; k1 *= 7) {
        struct stopping problem = problem_of(&references[0]);
        problem.k1 = k1;
        problem.paths = 20000;
        struct stopping_rule rule = solve(&problem, &arena);
        size_t               stops = count_decisions(&rule, STOPPING_WORSE);
        CU_ASSERT(stops < before && stops > 0);
        before = stops;
    }
    struct stopping problem = problem_of(&references[0]);
    problem.paths = 20000;
    problem.incumbent = 0.97;
    struct stopping_rule rule = solve(&problem, &arena);
    CU_ASSERT(count_decisions(&rule, STOPPING_WORSE) == 0 && count_decisions(&rule, STOPPING_BETTER) > 0);
    problem.incumbent = -0.25;
    rule = solve(&problem, &arena);
    CU_ASSERT(count_decisions(&rule, STOPPING_WORSE) > 0 && count_decisions(&rule, STOPPING_BETTER) == 0);
    arena_fini(&arena);
}

static void test_repeatable(void)
{
    struct arena         arena;
    struct stopping      problem = problem_of(&references[0]);
    struct stopping_rule a, b, other;
    arena_init(&arena, 64 << 20);
    problem.paths = 3001;
    a = solve(&problem, &arena);
    b = solve(&problem, &arena);
    problem.rng = rng_at(2386, 1, RNG_PATHS);
    other = solve(&problem, &arena);
    CU_ASSERT(memcmp(a.decisions, b.decisions, DECISIONS * STOPPING_CELLS) == 0 && a.kept == b.kept);
    CU_ASSERT(memcmp(a.decisions, other.decisions, DECISIONS * STOPPING_CELLS) != 0);
    CU_ASSERT(a.kept <= 3001);
    arena_fini(&arena);
}

/* Paths that leave (0, 1) are dropped; with too few left, nothing is ever stopped. */
static void test_dropped(void)
{
    static const double errors[] = {0.6, 0.25, 0.05, 0.0};
    struct arena        arena;
    struct stopping     problem = problem_of(&references[0]);
    arena_init(&arena, 64 << 20);
    problem.seen = 4;
    problem.errors = errors;
    problem.alpha = 0.5;
    problem.beta = 2.5;
    problem.paths = 2000;
    problem.incumbent = 0.1;
    problem.noise_variance = 1e-6;
    problem.last = 60;
    struct stopping_rule rule = solve(&problem, &arena);
    CU_ASSERT(rule.alpha == 0.5 && rule.beta == 2.5 && rule.first == 5);
    CU_ASSERT(rule.kept < STOPPING_PATHS_MIN);
    CU_ASSERT(count_decisions(&rule, STOPPING_CONTINUE) == 55 * STOPPING_CELLS);
    arena_fini(&arena);
}

/* A single epoch before the end leaves one decision; the last one given leaves nothing to decide. */
static void test_short(void)
{
    struct arena    arena;
    struct stopping problem = problem_of(&references[0]);
    arena_init(&arena, 64 << 20);
    problem.paths = 1000;
    problem.last = 9;
    struct stopping_rule rule = solve(&problem, &arena);
    CU_ASSERT(rule.first == 9 && rule.last == 9);
    CU_ASSERT(stopping_decide(&rule, 9, 0.5) == STOPPING_CONTINUE);
    problem.last = 10;
    problem.seen = 1;
    problem.epochs = first_epochs + 7;
    rule = solve(&problem, &arena);
    CU_ASSERT(rule.first == 9 && rule.last == 10);
    CU_ASSERT(stopping_decide(&rule, 9, 0.97) != STOPPING_BETTER);
    CU_ASSERT(stopping_decide(&rule, 9, NAN) == STOPPING_CONTINUE);
    CU_ASSERT(stopping_decide(&rule, 8, 0.5) == STOPPING_CONTINUE);
    arena_fini(&arena);
}

static void test_mean(void)
{
    static const double whole[] = {1, 2, 3, 4, 5}, errors[] = {0.9, 0.7, 0.55, 0.45, 0.4};
    CHECK_NEAR(stopping_mean(whole, errors, 5, 3), (0.55 + 0.45 + 0.4) / 3, 1e-15);
    CHECK_NEAR(stopping_mean(whole, errors, 4, 4), 0.45, 1e-15);
    static const double gaps[] = {2, 4, 9}, values[] = {0.8, 0.6, 0.35};
    CHECK_NEAR(stopping_mean(gaps, values, 3, 3), (0.7 + 0.6 + 0.55 + 0.5 + 0.45 + 0.4 + 0.35) / 7, 1e-15);
    CHECK_NEAR(stopping_mean(gaps, values, 2, 1), (0.8 + 0.8 + 0.7 + 0.6) / 4, 1e-15);
    CU_ASSERT(stopping_cell(0.0) == 0 && stopping_cell(1.0) == STOPPING_CELLS - 1);
    CU_ASSERT(stopping_cell(0.385) == 38 && stopping_cell(-1e-9) == STOPPING_CELLS);
    CU_ASSERT(stopping_cell(NAN) == STOPPING_CELLS && stopping_cell(1.01) == STOPPING_CELLS);
}

/* A small version of tests/bench/stopping: what the recommended setting promises. */
static void test_promise(void)
{
    struct arena arena;
    size_t       worse = 0, stopped = 0, late = 0;
    arena_init(&arena, 64 << 20);
    for (uint64_t i = 0; i < 60; i++) {
        struct rng rng = rng_at(91, i, RNG_TEST);
        double     errors[EPOCHS], end = 0.02 + 0.58 * rng_uniform(&rng), rate = 0.05 * pow(10, rng_uniform(&rng));
        for (size_t n = 0; n < EPOCHS; n++)
            errors[n] = end + (0.9 - end) * exp(-rate * (double)(n + 1)) + 0.005 * rng_normal(&rng);
        double          delta = end + (0.9 - end) * exp(-rate * EPOCHS) - 0.2, sum = 0;
        struct stopping problem = problem_of(&references[0]);
        problem.errors = errors;
        problem.incumbent = 0.2;
        problem.k1 = 100;
        problem.paths = 4000;
        struct arena_mark    mark = arena_mark(&arena);
        struct stopping_rule rule = solve(&problem, &arena);
        size_t               n = rule.first;
        for (; n < EPOCHS; n++) {
            sum += errors[n - 1];
            if (stopping_decide(&rule, n, sum / (double)(n - WARM_UP)) == STOPPING_WORSE)
                break;
        }
        arena_release(&arena, mark);
        CU_ASSERT(delta > -0.02 || n == EPOCHS);
        worse += delta > 0.1;
        stopped += delta > 0.1 && n < EPOCHS;
        late += delta > 0.1 && n > 25;
    }
    CU_ASSERT(worse > 15 && stopped >= worse - 1 && late <= worse / 5);
    arena_fini(&arena);
}

static void test_refused(void)
{
    static const double flat[] = {1, 2, 2, 3}, bad_errors[] = {0.5, NAN, 0.25}, high[] = {0.5, 1.5};
    struct arena        arena;
    struct error        err;
    struct stopping     bad[24];
    size_t              n = 0;
    for (size_t i = 0; i < 24; i++)
        bad[i] = problem_of(&references[0]);
    bad[n++].seen = 0;
    bad[n++].seen = STOPPING_SEEN_MAX + 1;
    bad[n++].last = 8;
    bad[n++].last = STOPPING_EPOCHS_MAX + 1;
    bad[n].seen = 4, bad[n++].epochs = flat;
    bad[n].seen = 3, bad[n++].errors = bad_errors;
    bad[n].seen = 2, bad[n++].errors = high;
    bad[n++].k1 = 0;
    bad[n++].k1 = NAN;
    bad[n++].k2 = -1;
    bad[n++].k2 = HUGE_VAL;
    bad[n++].cost = 0;
    bad[n++].noise_variance = 0;
    bad[n++].noise_variance = NAN;
    bad[n++].offset_variance = -1e-9;
    bad[n++].alpha_max = 0;
    bad[n++].incumbent = NAN;
    bad[n++].incumbent = -HUGE_VAL;
    bad[n++].paths = 0;
    bad[n++].alpha = 0;
    bad[n++].beta = -1;
    bad[n++].beta = HUGE_VAL;
    arena_init(&arena, 64 << 20);
    for (size_t i = 0; i < n; i++) {
        struct stopping_rule rule;
        CU_ASSERT(stopping_solve(&bad[i], &arena, &arena, &rule, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, "bad_curve") == 0);
    }
    arena_fini(&arena);
}

static void test_memory(void)
{
    size_t refused = 0;
    for (size_t bytes = 100; bytes < 4 << 20; bytes = bytes * 3 / 2) {
        struct arena         arena;
        struct stopping      problem = problem_of(&references[0]);
        struct stopping_rule rule;
        problem.paths = 300;
        arena_init(&arena, bytes);
        enum status status = stopping_solve(&problem, &arena, &arena, &rule, NULL);
        CU_ASSERT(status == STATUS_OK || status == STATUS_NO_MEMORY);
        refused += status == STATUS_NO_MEMORY;
        arena_fini(&arena);
    }
    CU_ASSERT(refused > 5 && refused < 25);
}

/* A table says what the rule says, without the epochs that are taken out; only what was written is read. */
static void test_table(void)
{
    static unsigned char table[STOPPING_TABLE_MAX];
    bool                 allowed[DECISIONS];
    struct arena         arena;
    struct stopping      problem = problem_of(&references[0]);
    arena_init(&arena, 64 << 20);
    struct stopping_rule rule = solve(&problem, &arena);
    for (size_t i = 0; i < DECISIONS; i++)
        allowed[i] = i % 3 != 1;
    size_t bytes = stopping_table_write(&rule, allowed, table);
    CU_ASSERT(bytes <= sizeof table && stopping_table_is_sound(table, bytes, EPOCHS));
    CU_ASSERT(stopping_table_first(table) == WARM_UP + 1);
    for (size_t epoch = 0; epoch <= EPOCHS + 3; epoch++)
        for (size_t cell = 0; cell <= STOPPING_CELLS; cell++) {
            double mean = ((double)cell + 0.385) / STOPPING_CELLS;
            bool   stops = epoch > WARM_UP && epoch < EPOCHS && allowed[epoch - WARM_UP - 1] &&
                         stopping_decide(&rule, epoch, mean) == STOPPING_WORSE;
            CU_ASSERT(stopping_table_stops(table, epoch, mean) == stops);
        }
    CU_ASSERT(stopping_table_next(table, 20) == 21 && stopping_table_next(table, 27) == 29);
    CU_ASSERT(!allowed[28 - WARM_UP - 1] && stopping_table_next(table, 2) >= WARM_UP + 1);
    CU_ASSERT(stopping_table_next(table, 48) == 0 || stopping_table_next(table, 48) == 49);
    CU_ASSERT(stopping_table_next(table, 49) == 0 && stopping_table_next(table, 1000) == 0);
    CU_ASSERT(!stopping_table_is_sound(NULL, 0, EPOCHS) && !stopping_table_is_sound(table, bytes, EPOCHS + 1));
    CU_ASSERT(!stopping_table_is_sound(table, bytes - 1, EPOCHS) && !stopping_table_is_sound(table, 7, EPOCHS));
    for (size_t i = 0; i < STOPPING_TABLE_HEAD; i++) {
        table[i] ^= 0x41;
        CU_ASSERT(!stopping_table_is_sound(table, bytes, EPOCHS));
        table[i] ^= 0x41;
    }
    arena_fini(&arena);
}

CU_TestInfo suite_stopping[] = {
    {"reference", test_reference}, {"losses", test_losses},   {"repeatable", test_repeatable},
    {"dropped", test_dropped},     {"short", test_short},     {"mean", test_mean},
    {"promise", test_promise},     {"refused", test_refused}, {"memory", test_memory},
    {"table", test_table},         CU_TEST_INFO_NULL,
};
