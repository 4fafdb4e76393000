/* The generator: published vectors, distributions, independence of streams. */
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

/* Known-answer vectors of the Random123 distribution for philox4x32-10. */
static void test_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint32_t out[4];
        rng_philox(vectors[i].counter, vectors[i].key, out);
        CU_ASSERT(memcmp(out, vectors[i].out, sizeof out) == 0);
    }
}

static void test_streams(void)
{
    struct rng a = rng_at(2385, 17, RNG_POINT), same = rng_at(2385, 17, RNG_POINT);
    struct rng others[] = {rng_at(2386, 17, RNG_POINT), rng_at(2385, 18, RNG_POINT), rng_at(2385, 17, RNG_FIT),
                           rng_at(2385 + (1ULL << 32), 17, RNG_POINT), rng_at(2385, 17 + (1ULL << 32), RNG_POINT)};
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(&a);
        CU_ASSERT(x == rng_u64(&same));
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            CU_ASSERT(x != rng_u64(&others[k]));
    }
}

/* The block counter carries into the next word instead of starting again. */
static void test_long_stream(void)
{
    struct rng a = rng_at(7, 9, RNG_TEST);
    uint64_t   first = rng_u64(&a);
    a.counter[0] = 0xffffffff;
    a.left = 0;
    rng_u64(&a), rng_u64(&a);
    CU_ASSERT(rng_u64(&a) != first);
    CU_ASSERT(a.counter[1] == (((uint32_t)RNG_TEST << 24) | 1));
}

/* Pairs from both branches: mean, variance, fourth moment, and no correlation within or between pairs. */
static void test_fill_normal(void)
{
    enum { N = 200000 };
    static double x[N];
    struct rng    rng = rng_at(92, 5, RNG_TEST);
    double        sum = 0, squares = 0, fourth = 0, within = 0, between = 0;
    rng_fill_normal(&rng, x, N);
    for (int i = 0; i < N; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        fourth += pow(x[i], 4);
        within += i % 2 == 0 ? x[i] * x[i + 1] : 0;
        between += i % 2 == 1 && i + 1 < N ? x[i] * x[i + 1] : 0;
    }
    CHECK_NEAR(sum / N, 0, 4 / sqrt(N));
    CHECK_NEAR(squares / N, 1, 4 * sqrt(2.0 / N));
    CHECK_NEAR(fourth / N, 3, 4 * sqrt(96.0 / N));
    CHECK_NEAR(within / N * 2, 0, 4 / sqrt(N / 2.0));
    CHECK_NEAR(between / N * 2, 0, 4 / sqrt(N / 2.0));
    struct rng first = rng_at(92, 5, RNG_TEST);
    CU_ASSERT(x[0] == rng_normal(&first)); /* its cosine branch */
}

static void test_uniform(void)
{
    enum { N = 200000, BINS = 64 };
    struct rng rng = rng_at(91, 3, RNG_TEST);
    double     sum = 0, squares = 0, chi2 = 0;
    int        bins[BINS] = {0};
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&rng);
        CU_ASSERT_FATAL(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
        bins[(int)(u * BINS)]++;
    }
    for (int k = 0; k < BINS; k++)
        chi2 += pow(bins[k] - (double)N / BINS, 2) / ((double)N / BINS);
    CHECK_NEAR(sum / N, 0.5, 4 * sqrt(1.0 / 12 / N));
    CHECK_NEAR(squares / N, 1.0 / 3, 4 * sqrt(4.0 / 45 / N));
    CU_ASSERT(chi2 > 29 && chi2 < 112); /* 1e-4 tails of chi^2 with 63 degrees of freedom */
}

static void test_normal(void)
{
    enum { N = 200000 };
    struct rng rng = rng_at(92, 4, RNG_TEST);
    double     moments[5] = {0}, largest = 0;
    int        beyond = 0;
    for (int i = 0; i < N; i++) {
        double z = rng_normal(&rng), power = 1;
        for (int k = 1; k <= 4; k++)
            moments[k] += (power *= z) / N;
        beyond += fabs(z) > 1.959963984540054;
        largest = fmax(largest, fabs(z));
    }
    CHECK_NEAR(moments[1], 0, 4 * sqrt(1.0 / N));
    CHECK_NEAR(moments[2], 1, 4 * sqrt(2.0 / N));
    CHECK_NEAR(moments[3], 0, 4 * sqrt(15.0 / N));
    CHECK_NEAR(moments[4], 3, 4 * sqrt(96.0 / N));
    CHECK_NEAR(beyond / (double)N, 0.05, 4 * sqrt(0.05 * 0.95 / N));
    CU_ASSERT(largest > 4 && largest < 8.6);
}

static void test_below(void)
{
    enum { N = 70000, BOUND = 7 };
    struct rng rng = rng_at(93, 5, RNG_TEST);
    int        count[BOUND] = {0};
    for (int i = 0; i < N; i++) {
        size_t k = rng_below(&rng, BOUND);
        CU_ASSERT_FATAL(k < BOUND);
        count[k]++;
    }
    for (int k = 0; k < BOUND; k++)
        CHECK_NEAR(count[k], N / BOUND, 4.5 * sqrt((double)N / BOUND));
    CU_ASSERT(rng_below(&rng, 1) == 0);
    /* A bound just above 2^63 refuses almost half of the draws; a plain remainder would favour low values 2 : 1. */
    size_t half = (size_t)1 << 63, low = 0;
    for (int i = 0; i < 1000; i++)
        low += rng_below(&rng, half + half / 2) < half / 2;
    CHECK_NEAR((double)low, 1000.0 / 3, 4 * sqrt(1000 * 2.0 / 9));
}

CU_TestInfo suite_rng[] = {
    {"known answers", test_known_answers},
    {"streams differ", test_streams},
    {"a long stream goes on", test_long_stream},
    {"uniform", test_uniform},
    {"normal", test_normal},
    {"many normals", test_fill_normal},
    {"below", test_below},
    CU_TEST_INFO_NULL,
};
