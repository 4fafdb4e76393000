/* Pareto sets and hypervolumes, against definitions and closed forms. */
#include "engine/acquisition/pareto.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <CUnit/TestRun.h>
#include <string.h>

enum { N = 60 };

static double volume(const double *values, size_t n, size_t m, const double *reference)
{
    struct arena arena;
    double       out = NAN;
    arena_init(&arena, 1 << 24);
    CU_ASSERT(pareto_hypervolume(&(struct pareto_set){.values = values, .n = n, .m = m, .reference = reference}, &out,
                                 &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    return out;
}

static bool is_dominated(const double *values, size_t n, size_t m, size_t i)
{
    for (size_t k = 0; k < n; k++) {
        size_t larger = 0, smaller = 0;
        for (size_t j = 0; j < m; j++) {
            larger += values[k * m + j] > values[i * m + j];
            smaller += values[k * m + j] < values[i * m + j];
        }
        if (smaller == 0 && larger > 0)
            return true;
    }
    return false;
}

/* Small integers, so that equal vectors and equal components are there. */
static void test_front(void)
{
    struct rng   rng = rng_at(11, 1, RNG_TEST);
    struct arena arena;
    double       values[N * OBJECTIVES_MAX];
    bool         is_best[N];
    arena_init(&arena, 1 << 20);
    for (size_t m = 1; m <= OBJECTIVES_MAX; m++)
        for (int round = 0; round < 20; round++) {
            for (size_t i = 0; i < N * m; i++)
                values[i] = (double)rng_below(&rng, 7) - 3.0;
            CU_ASSERT(pareto_front(values, N, m, is_best, &arena, NULL) == STATUS_OK);
            for (size_t i = 0; i < N; i++)
                CU_ASSERT(is_best[i] == !is_dominated(values, N, m, i));
        }
    CU_ASSERT(pareto_front(values, 0, 3, is_best, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    arena_init(&arena, 100);
    CU_ASSERT(pareto_front(values, N, 2, is_best, &arena, NULL) == STATUS_NO_MEMORY);
    CU_ASSERT(pareto_hypervolume(&(struct pareto_set){.values = values, .n = N, .m = 2, .reference = values}, values,
                                 &arena, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

static void test_boxes(void)
{
    const double reference[] = {-1.25, 0.5, 2.0, -3.5}, one[] = {1.0, 2.0, 2.75, -1.0};
    const double sides[] = {2.25, 1.5, 0.75, 2.5};
    double       expected = 1.0;
    for (size_t m = 1; m <= 4; m++) {
        expected *= sides[m - 1];
        CHECK_NEAR(volume(one, 1, m, reference), expected, 1e-14);
        CU_ASSERT(volume(reference, 1, m, reference) == 0.0);
        CU_ASSERT(volume(one, 0, m, reference) == 0.0);
    }
    const double stairs[] = {1, 5, 2, 3, 2, 3, 4, 1.5, 1.5, 2.5, 7, -1}; /* one dominated, one below the reference */
    CHECK_NEAR(volume(stairs, 6, 2, (const double[]){0, 0}), 5 + 3 + 2 * 1.5, 1e-14);
}

/* With its sign, the volume that the boxes of a set of three have in common. */
static double signed_overlap(const double *v, size_t m, unsigned set)
{
    double product = 1.0;
    int    size = 0;
    for (size_t j = 0; j < m; j++) {
        double least = HUGE_VAL;
        for (unsigned i = 0; i < 3; i++)
            least = set & 1u << i ? fmin(least, v[i * m + j]) : least;
        product *= least;
    }
    for (unsigned i = 0; i < 3; i++)
        size += (set & 1u << i) != 0;
    return size % 2 == 1 ? product : -product;
}

/* Two and three boxes in every dimension: inclusion and exclusion. */
static void test_inclusion(void)
{
    struct rng   rng = rng_at(12, 1, RNG_TEST);
    const double zero[4] = {0};
    for (size_t m = 2; m <= 4; m++)
        for (int round = 0; round < 50; round++) {
            double v[12], expected = 0.0;
            for (size_t i = 0; i < 3 * m; i++)
                v[i] = 0.1 + rng_uniform(&rng);
            for (unsigned set = 1; set < 8; set++)
                expected += signed_overlap(v, m, set);
            CHECK_NEAR(volume(v, 3, m, zero), expected, 1e-13);
        }
}

/* The points of a grid with coordinates summing to n: sums of binomial coefficients in closed form. */
static void test_simplex(void)
{
    enum { STEPS = 6 };
    const double zero[4] = {0};
    double       v[400 * 4];
    size_t       n = 0;
    for (int a = 1; a <= STEPS; a++)
        for (int b = 1; a + b <= STEPS + 1; b++) {
            v[3 * n] = a, v[3 * n + 1] = b, v[3 * n + 2] = STEPS + 2 - a - b;
            n++;
        }
    CHECK_NEAR(volume(v, n, 3, zero), STEPS * (STEPS + 1) * (STEPS + 2) / 6.0, 1e-11);
    n = 0;
    for (int a = 1; a <= STEPS; a++)
        for (int b = 1; a + b <= STEPS + 1; b++)
            for (int c = 1; a + b + c <= STEPS + 2; c++) {
                v[4 * n] = a, v[4 * n + 1] = b, v[4 * n + 2] = c, v[4 * n + 3] = STEPS + 3 - a - b - c;
                n++;
            }
    CHECK_NEAR(volume(v, n, 4, zero), STEPS * (STEPS + 1) * (STEPS + 2) * (STEPS + 3) / 24.0, 1e-11);
}

static bool is_late(void *arg)
{
    size_t *left = arg;
    return (*left)-- == 0;
}

/* On a line that falls all are on the front, and each is compared with all before it. */
static void test_late(void)
{
    enum { LINE = 4000 };
    static double     values[2 * LINE];
    static bool       is_best[LINE];
    struct arena      arena;
    struct error      err;
    double            out;
    const double      reference[2] = {-1, -1};
    size_t            left = 0;
    struct pareto_set set = {
        .values = values, .n = LINE, .m = 2, .reference = reference, .late = is_late, .late_arg = &left};
    for (size_t i = 0; i < LINE; i++) {
        values[2 * i] = (double)i;
        values[2 * i + 1] = (double)(LINE - i);
    }
    arena_init(&arena, 1 << 24);
    CU_ASSERT(pareto_front_of(&set, is_best, &arena, &err) == STATUS_BUSY);
    left = 2;
    CU_ASSERT(pareto_hypervolume(&set, &out, &arena, &err) == STATUS_BUSY);
    left = 1000;
    CU_ASSERT(pareto_front_of(&set, is_best, &arena, &err) == STATUS_OK && left < 1000);
    CU_ASSERT(is_best[0] && is_best[LINE / 2] && is_best[LINE - 1]);
    arena_fini(&arena);
}

CU_TestInfo suite_pareto[] = {
    {"late", test_late},       {"front", test_front},
    {"boxes", test_boxes},     {"inclusion and exclusion", test_inclusion},
    {"simplex", test_simplex}, CU_TEST_INFO_NULL,
};
