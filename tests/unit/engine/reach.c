/* Widths of intervals by their record: by hand, whatever order values come in, and that 95 of 100 hold of forecasts that are too
 * sure of themselves, too unsure, and of which errors have no variance. */
#include "engine/math/reach.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

enum { N = 2000 };
static double off[N], began[N], came[N], out[N];

static void run(size_t n)
{
    struct error       err = {0};
    struct arena       arena;
    const struct reach record = {.n = n, .off = off, .began = began, .came = came};
    arena_init(&arena, 1 << 20);
    CU_ASSERT_EQUAL(reach_of(&record, out, &arena, &err), STATUS_OK);
    arena_fini(&arena);
    arena_init(&arena, 16);
    CU_ASSERT_EQUAL(reach_of(&record, out, &arena, &err), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

static void put(size_t i, double distance, double start, double end)
{
    off[i] = distance, began[i] = start, came[i] = end;
}

static void test_by_hand(void)
{
    put(0, 2.385, 1, 2); // holds
    put(1, NAN, 2, 3);   // failed
    put(2, 7.5, 3, 9);   // does not, and its value comes late
    put(3, 2.5, 5, 6);
    put(4, 1.1, 10, NAN); // runs
    run(5);
    const double held = exp(-0.7 * 0.05), missed = exp(0.7 * 0.95);
    const double expected[] = {2.94, 2.94 * held, 2.94 * held, 2.94 * held, 2.94 * held * held * missed};
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_DOUBLE_EQUAL(out[i], expected[i], 1e-12);
}

static void test_limits(void)
{
    for (size_t i = 0; i < N; i++)
        put(i, i < N / 2 ? 0 : HUGE_VAL, (double)i, (double)i + 0.5);
    run(N);
    CU_ASSERT_EQUAL(out[N / 2], 1);
    CU_ASSERT_EQUAL(out[N - 1], 12);
}

/* Errors times scale; heavy: a ratio of two normal numbers, which has no variance. */
static double share_held(double scale, bool is_heavy)
{
    struct rng rng = rng_at(2385, 0, RNG_TEST);
    size_t     held = 0;
    for (size_t i = 0; i < N; i++) {
        double z = rng_normal(&rng), other = rng_normal(&rng);
        put(i, scale * fabs(is_heavy ? z / other : z), (double)i, (double)i + 0.5);
    }
    run(N);
    for (size_t i = 0; i < N; i++)
        held += off[i] <= out[i];
    return (double)held / N;
}

static void test_share(void)
{
    CU_ASSERT_DOUBLE_EQUAL(share_held(0.5, false), 0.95, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(share_held(1, false), 0.95, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(share_held(4, false), 0.95, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(share_held(0.4, true), 0.95, 0.01);
}

CU_TestInfo suite_reach[] = {
    {"by hand", test_by_hand},
    {"limits", test_limits},
    {"95 of 100 hold", test_share},
    CU_TEST_INFO_NULL,
};
