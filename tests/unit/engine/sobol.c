/* Sobol points: the unscrambled ones against an independent implementation, what the scramble must keep. */
#include "engine/math/sobol.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

/* scipy.stats.qmc.Sobol(128, scramble=False) of SciPy 1.10, times 2^32. */
static void test_against_scipy(void)
{
    static const size_t dims[8] = {0, 1, 2, 7, 31, 63, 99, 127};
    static const struct {
        uint32_t index, bits[8];
    } rows[] = {
        {1, {0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000}},
        {5, {0xe0000000, 0xe0000000, 0x20000000, 0x60000000, 0xa0000000, 0xa0000000, 0x60000000, 0x20000000}},
        {37, {0xec000000, 0xa4000000, 0x94000000, 0xcc000000, 0x24000000, 0xd4000000, 0x2c000000, 0xac000000}},
        {1000, {0x38400000, 0x18c00000, 0x84c00000, 0xe6400000, 0x25400000, 0x72400000, 0x2fc00000, 0x8b400000}},
        {4095, {0x00100000, 0xf0f00000, 0x55900000, 0x64100000, 0x16700000, 0x8db00000, 0xf6700000, 0x42f00000}},
        {1048575, {0x00001000, 0xf000f000, 0xc5909000, 0xe3739000, 0xcd707000, 0x8a741000, 0x0917d000, 0x22fe1000}},
        {13579246, {0x98551500, 0x3803c300, 0x6dc00900, 0x6c2e9100, 0x0e72c500, 0xfbad4b00, 0xa8a0c500, 0xdd410b00}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < 8; k++)
            CU_ASSERT(sobol_bits(rows[i].index, dims[k]) == rows[i].bits[k]);
    for (size_t j = 0; j < 128; j++)
        CU_ASSERT(sobol_bits(0, j) == 0);
}

/* The first 2^k points have one coordinate in each of the 2^k intervals, in every dimension of the table. */
static void test_equidistribution(void)
{
    enum { D = 130, K = 8, N = 1 << K };
    static unsigned char seen[D][N];
    double               u[D];
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < N; i++) {
        sobol_point(20110823, i, D, u);
        for (size_t j = 0; j < D; j++) {
            CU_ASSERT_FATAL(u[j] >= 0 && u[j] < 1);
            seen[j][(size_t)(u[j] * N)]++;
        }
    }
    size_t missed = 0, missed_beyond = 0;
    for (size_t j = 0; j < D; j++)
        for (size_t k = 0; k < N; k++)
            *(j < 128 ? &missed : &missed_beyond) += seen[j][k] != 1;
    CU_ASSERT(missed == 0);
    CU_ASSERT(missed_beyond > 0); /* those are plain random numbers */
}

/* (t, m, s)-net property of the first two dimensions, t = 0: every elementary box of area 2^-8 has one point. */
static void test_elementary_boxes(void)
{
    enum { K = 8, N = 1 << K };
    for (int a = 0; a <= K; a++) {
        unsigned char seen[N] = {0};
        for (uint64_t i = 0; i < N; i++) {
            double u[2];
            sobol_point(31, i, 2, u);
            seen[(size_t)(u[0] * (1 << a)) * (1u << (K - a)) + (size_t)(u[1] * (1 << (K - a)))]++;
        }
        for (size_t k = 0; k < N; k++)
            CU_ASSERT(seen[k] == 1);
    }
}

/* Pure in (seed, index); another seed gives other points; dimensions do not share a scramble. */
static void test_seeds(void)
{
    double a[5], b[9], c[5], equal = 0;
    for (uint64_t i = 0; i < 50; i++) {
        sobol_point(77, i, 5, a);
        sobol_point(77, i, 9, b);
        sobol_point(78, i, 5, c);
        for (size_t j = 0; j < 5; j++) {
            CU_ASSERT(a[j] == b[j]);
            CU_ASSERT(fabs(a[j] - c[j]) > 1e-12);
            equal += j > 0 && fabs(a[j] - a[0]) < 1e-6;
        }
    }
    CU_ASSERT(equal == 0);
    sobol_point(77, 3, 5, a);
    sobol_point(77, 3 + (1ULL << 32), 5, c);
    CU_ASSERT(fabs(a[0] - c[0]) > 1e-9);
}

/* Integration error of a smooth function is far below that of random points. */
static void test_integration(void)
{
    enum { N = 4096, D = 6, SEEDS = 10 };
    double worst = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double sum = 0, u[D];
        for (uint64_t i = 0; i < N; i++) {
            double product = 1;
            sobol_point(seed, i, D, u);
            for (size_t j = 0; j < D; j++)
                product *= 1 + 0.7 * (u[j] - 0.5);
            sum += product / N;
        }
        worst = fmax(worst, fabs(sum - 1));
    }
    CU_ASSERT(worst < 5e-4); /* plain Monte Carlo: standard error 8e-3 */
    CU_ASSERT(worst > 1e-9);
}

CU_TestInfo suite_sobol[] = {
    {"against scipy", test_against_scipy},       {"equidistribution", test_equidistribution},
    {"elementary boxes", test_elementary_boxes}, {"seeds", test_seeds},
    {"integration", test_integration},           CU_TEST_INFO_NULL,
};
