/* Decimation: each keeps what it promises, compared with a count over all points. */
#include "engine/math/decimate.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { N = 5000, COLUMNS = 37 };

static void noise(double *y, size_t n, uint64_t seed)
{
    struct rng rng = rng_at(seed, 1, RNG_TEST);
    for (size_t i = 0; i < n; i++)
        y[i] = rng_normal(&rng);
}

/* The kept points have the extremes and the ends of every column, in order and once; few points stay all. */
static void test_m4(void)
{
    static double x[N], y[N];
    static size_t out[4 * COLUMNS];
    noise(y, N, 7);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)i * 0.37 + 2.385;
    y[100] = y[4999] = NAN;
    double low = x[50], high = x[4900];
    size_t len = decimate_m4(x, y, N, &(struct decimate_span){.low = low, .high = high, .columns = COLUMNS}, out);
    CU_ASSERT_TRUE(len > 3 * COLUMNS && len <= 4 * COLUMNS);
    for (size_t i = 1; i < len; i++)
        CU_ASSERT_TRUE(out[i] > out[i - 1]);
    for (size_t c = 0; c < COLUMNS; c++) {
        double lowest = HUGE_VAL, highest = -HUGE_VAL, kept_low = HUGE_VAL, kept_high = -HUGE_VAL;
        size_t first = N, last = 0, kept_first = N, kept_last = 0;
        for (size_t i = 0, k = 0; i < N; i++) {
            bool is_kept = k < len && out[k] == i;
            k += is_kept;
            double share = (x[i] - low) / (high - low) * COLUMNS;
            if (isnan(y[i]) || share < 0 || x[i] > high || (share >= COLUMNS ? COLUMNS - 1 : (size_t)share) != c) {
                CU_ASSERT_FALSE(is_kept && (isnan(y[i]) || x[i] < low || x[i] > high));
                continue;
            }
            lowest = fmin(lowest, y[i]);
            highest = fmax(highest, y[i]);
            first = first == N ? i : first;
            last = i;
            kept_low = is_kept ? fmin(kept_low, y[i]) : kept_low;
            kept_high = is_kept ? fmax(kept_high, y[i]) : kept_high;
            kept_first = is_kept && kept_first == N ? i : kept_first;
            kept_last = is_kept ? i : kept_last;
        }
        CU_ASSERT_EQUAL(lowest, kept_low);
        CU_ASSERT_EQUAL(highest, kept_high);
        CU_ASSERT_EQUAL(first, kept_first);
        CU_ASSERT_EQUAL(last, kept_last);
    }
    CU_ASSERT_EQUAL(decimate_m4(x, y, 4, &(struct decimate_span){x[0], x[3], COLUMNS}, out), 4);
    CU_ASSERT_EQUAL(decimate_m4(x, y, 1, &(struct decimate_span){x[0], x[0], COLUMNS}, out), 1);
    CU_ASSERT_EQUAL(decimate_m4(x, y, 0, &(struct decimate_span){0, 1, COLUMNS}, out), 0);
}

static void test_best(void)
{
    static const double y[] = {NAN, -3.25, -3.25, -4, 2.385, NAN, 2.385, 1, 7};
    size_t              out[9];
    CU_ASSERT_EQUAL_FATAL(decimate_best(y, 9, out), 3);
    CU_ASSERT_TRUE(out[0] == 1 && out[1] == 4 && out[2] == 8);
    CU_ASSERT_EQUAL(decimate_best(y, 1, out), 0);
}

static void test_grid(void)
{
    static double               u[N], v[N], y[N];
    static struct decimate_cell cells[7 * 7];
    struct rng                  rng = rng_at(3, 1, RNG_TEST);
    size_t                      total = 0;
    noise(y, N, 9);
    for (size_t i = 0; i < N; i++) {
        u[i] = 1.2 * rng_uniform(&rng) - 0.1;
        v[i] = rng_uniform(&rng);
    }
    u[5] = NAN;
    decimate_grid(u, v, y, N, 7, cells);
    for (size_t c = 0; c < 49; c++) {
        size_t count = 0, best = N;
        for (size_t i = 0; i < N; i++) {
            double clamped = fmin(fmax(u[i], 0), 1);
            if (isnan(u[i]) || (clamped >= 1 ? 6 : (size_t)(clamped * 7)) * 7 + (size_t)(v[i] * 7) != c)
                continue;
            count++;
            best = best == N || y[i] > y[best] ? i : best;
        }
        CU_ASSERT_EQUAL(cells[c].count, count);
        CU_ASSERT_TRUE(count == 0 || cells[c].best == best);
        total += cells[c].count;
    }
    CU_ASSERT_EQUAL(total, N - 1);
}

static void test_ranks(void)
{
    static double         y[N], weights[300];
    static size_t         out[300];
    struct decimate_ranks ranks = {
        .y = y, .n = N, .best = 60, .wanted = 300, .rng = rng_at(5, 1, RNG_TEST), .rows = out, .weights = weights};
    struct arena arena;
    struct error err;
    double       sum = 0;
    arena_init(&arena, 8 << 20);
    noise(y, N, 11);
    y[17] = NAN;
    CU_ASSERT_EQUAL_FATAL(decimate_ranks(&ranks, &arena, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(ranks.len, 300);
    for (size_t i = 0; i < ranks.len; i++) {
        sum += weights[i];
        CU_ASSERT_TRUE(i == 0 || y[out[i]] <= y[out[i - 1]]);
        CU_ASSERT_TRUE(i < 60 ? weights[i] == 1 : weights[i] > 1);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum, N - 1, 1e-6);
    size_t better = 0;
    for (size_t i = 0; i < N; i++)
        better += y[i] > y[out[59]];
    CU_ASSERT_EQUAL(better, 59); // the best are all there
    ranks.n = 200;
    CU_ASSERT_EQUAL(decimate_ranks(&ranks, &arena, &err), STATUS_OK);
    CU_ASSERT_EQUAL(ranks.len, 199);
    CU_ASSERT_EQUAL(weights[150], 1.0);
    arena_fini(&arena);
}

static void test_quantiles(void)
{
    double values[] = {4, 1, 3, 2};
    decimate_sort(values, 4);
    CU_ASSERT_DOUBLE_EQUAL(decimate_quantile(values, 4, 0.5), 2.5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(decimate_quantile(values, 4, 0.05), 1.15, 1e-15);
    CU_ASSERT_EQUAL(decimate_quantile(values, 4, 1), 4.0);
    CU_ASSERT_EQUAL(decimate_quantile(values, 1, 0.75), 1.0);
}

CU_TestInfo suite_decimate[] = {
    {"M4", test_m4},       {"the best so far", test_best}, {"a grid", test_grid},
    {"ranks", test_ranks}, {"quantiles", test_quantiles},  CU_TEST_INFO_NULL,
};
