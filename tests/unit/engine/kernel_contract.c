/* The contract of every kind of kernel: a kind added to kernel_list.h is tested here with no edit.  The gradients of a
 * process with each kind are in gp.c, matrices of odd sizes in kernel.c, and what is proposed with each in contract.c. */
#include "engine/gp/kernel.h"
#include "engine/gp/rff.h"
#include "engine/math/mat.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { D = 3, N = 40, FEATURES = 40000, PLACES = 5 };

static const double length_scales[D] = {0.31, 0.77, 1.9};
static const double r2s[] = {1e-6, 0.00385, 0.0731, 0.385, 1.0, 2.385, 7.31, 38.5, 238.5};
enum { R2S = sizeof r2s / sizeof r2s[0] };

static struct kernel kernel_of(const struct kernel_kind *kind)
{
    return (struct kernel){.kind = kind, .dims = D, .variance = 1.723, .length_scales = length_scales};
}

static void draw_points(double *X, size_t n, uint64_t seed)
{
    struct rng rng = rng_at(seed, n, RNG_TEST);
    for (size_t i = 0; i < n * D; i++)
        X[i] = rng_uniform(&rng);
}

static bool is_plain_name(const char *name)
{
    return strlen(name) > 0 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static void test_records(void)
{
    for (size_t k = 0; k < KERNELS; k++) {
        const struct kernel_kind *kind = kernel_kinds[k];
        CU_ASSERT(is_plain_name(kind->name) && strcmp(kind->name, kernel_names[k]) == 0);
        CU_ASSERT(kind->help != NULL && strlen(kind->help) > 10);
        CU_ASSERT_FATAL(kind->value != NULL && kind->slope != NULL && kind->map != NULL);
        bool has_part = kind->part != NULL;
        CU_ASSERT_FATAL((kind->frequency == NULL) == has_part && (kind->part_slope != NULL) == has_part &&
                        (kind->part_frequency != NULL) == has_part);
        for (size_t other = 0; other < k; other++)
            CU_ASSERT(strcmp(kind->name, kernel_names[other]) != 0 && kind->value != kernel_kinds[other]->value);
    }
    CU_ASSERT_PTR_NULL(kernel_names[KERNELS]);
}

/* 1 at no distance, falling, never negative, and finite as far as doubles go. */
static void test_values(void)
{
    static const double far[] = {1e3, 1e10, 1e100, 1e300, HUGE_VAL};
    for (size_t k = 0; k < KERNELS; k++) {
        const struct kernel_kind *kind = kernel_kinds[k];
        double                    before = kernel_value(kind, 0.0);
        CU_ASSERT_EQUAL(before, 1.0);
        CU_ASSERT(isfinite(kind->slope(0.0)) && kind->slope(0.0) <= 0.0);
        for (size_t i = 0; i < R2S; i++) {
            double value = kernel_value(kind, r2s[i]);
            CU_ASSERT(value < before && value > 0.0 && kind->slope(r2s[i]) < 0.0);
            before = value;
        }
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
            double value = kernel_value(kind, far[i]), slope = kind->slope(fmin(far[i], KERNEL_R2_MAX));
            CU_ASSERT(value >= 0.0 && value <= before && slope <= 0.0 && isfinite(slope));
        }
    }
}

static void test_slopes(void)
{
    for (size_t k = 0; k < KERNELS; k++)
        for (size_t i = 0; i < R2S; i++) {
            double h = 1e-4 * r2s[i], slope = kernel_kinds[k]->slope(r2s[i]);
            double above = kernel_value(kernel_kinds[k], r2s[i] + h), below = kernel_value(kernel_kinds[k], r2s[i] - h);
            double rounding = 4e-16 / h; /* of the difference of two values, at most 1 */
            CHECK_NEAR(slope, (above - below) / (2.0 * h), 1e-6 * fabs(slope) + rounding);
        }
}

/* Even, 0 at 0, with its slope, and there the square. */
static void test_parts(void)
{
    static const double ds[] = {1e-5, 0.0731, 0.2385, 0.5, 0.731, 0.9385, 1.385};
    for (size_t k = 0; k < KERNELS; k++) {
        const struct kernel_kind *kind = kernel_kinds[k];
        if (kind->part == NULL)
            continue;
        CU_ASSERT(kind->part(0.0) == 0.0 && kind->part_slope(0.0) == 0.0);
        CHECK_NEAR(kind->part(1e-5), 1e-10, 1e-18);
        for (size_t i = 0; i < sizeof ds / sizeof ds[0]; i++) {
            double h = 1e-6, difference = (kind->part(ds[i] + h) - kind->part(ds[i] - h)) / (2.0 * h);
            CU_ASSERT(kind->part(ds[i]) >= 0.0 && kind->part(-ds[i]) == kind->part(ds[i]));
            CHECK_NEAR(kind->part_slope(ds[i]), difference, 1e-9);
            CHECK_NEAR(kernel_half_slope(kind, ds[i]), 0.5 * difference, 1e-9);
        }
    }
}

/* As the part is the square near 0, the mean square of frequencies is 1 / l^2, few or many. */
static void test_part_frequencies(void)
{
    static const double scales[] = {0.00385, 0.0114, 0.0731, 0.385, 1.385};
    for (size_t k = 0; k < KERNELS; k++)
        for (size_t i = 0; i < sizeof scales / sizeof scales[0] && kernel_kinds[k]->part != NULL; i++) {
            struct rng rng = rng_at(731, i, RNG_FEATURES);
            double     sum = 0.0, squares = 0.0, n = FEATURES, wanted = 1.0 / (scales[i] * scales[i]);
            for (size_t draw = 0; draw < FEATURES; draw++) {
                double square = pow(kernel_kinds[k]->part_frequency(scales[i], &rng), 2);
                sum += square / n;
                squares += square * square / n;
            }
            CHECK_NEAR(sum, wanted, 4.0 * sqrt((squares - sum * sum) / n));
        }
}

/* A block is bitwise its points, at any place in it; with a variance, to rounding. */
static void test_blocks(void)
{
    for (size_t k = 0; k < KERNELS; k++) {
        const struct kernel_kind *kind = kernel_kinds[k];
        double one[KERNEL_BLOCK], slope[KERNEL_BLOCK], scaled[KERNEL_BLOCK], scaled_slope[KERNEL_BLOCK];
        double r2[KERNEL_BLOCK] = {0.0};
        for (size_t i = 1; i < KERNEL_BLOCK; i++)
            r2[i] = r2s[i % R2S] * (1.0 + 0.01 * (double)i);
        memcpy(one, r2, sizeof r2);
        memcpy(scaled, r2, sizeof r2);
        kind->map(1.0, one, slope);
        kind->map(1.723, scaled, scaled_slope);
        for (size_t i = 0; i < KERNEL_BLOCK; i++) {
            double value = kind->value(r2[i]), its_slope = kind->slope(r2[i]);
            CU_ASSERT(memcmp(&one[i], &value, sizeof value) == 0 && memcmp(&slope[i], &its_slope, sizeof value) == 0);
            CHECK_NEAR(scaled[i], 1.723 * value, 1e-15 * value);
            CHECK_NEAR(scaled_slope[i], 1.723 * its_slope, 1e-15 * fabs(its_slope));
        }
    }
}

/* k(x, z) is k(z, x), and with hardly any noise a matrix of random points has a factor without help. */
static void test_matrices(void)
{
    for (size_t k = 0; k < KERNELS; k++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct kernel kernel = kernel_of(kernel_kinds[k]);
            double        X[N * D], K[N * N], L[N * N], spare[N], jitter = NAN;
            draw_points(X, N, seed);
            kernel_cross(&kernel, X, N, X, N, K);
            kernel_matrix(&kernel, X, N, L, N);
            for (size_t i = 0; i < N; i++) {
                for (size_t j = 0; j <= i; j++)
                    CU_ASSERT(K[i * N + j] == K[j * N + i] && K[i * N + j] == L[i * N + j]);
                CU_ASSERT(L[i * N + i] == 1.723);
                L[i * N + i] += 1e-9;
            }
            CU_ASSERT_EQUAL(mat_cholesky(L, N, N, spare, &jitter, NULL), STATUS_OK);
            CU_ASSERT_EQUAL(jitter, 0.0);
        }
}

/* The mean over features has a standard error of at most 1.723 / sqrt(2 * 40000) = 0.006. */
static void test_features(void)
{
    static double phi[PLACES * FEATURES];
    double        X[PLACES * D];
    draw_points(X, PLACES, 91);
    for (size_t kind = 0; kind < KERNELS; kind++) {
        struct arena  arena;
        struct rng    rng = rng_at(2385, 7, RNG_FEATURES);
        struct kernel kernel = kernel_of(kernel_kinds[kind]);
        struct rff    rff;
        arena_init(&arena, 64u << 20);
        CU_ASSERT_EQUAL_FATAL(rff_draw(&rff, &kernel, FEATURES, &rng, &arena, NULL), STATUS_OK);
        rff_features(&rff, X, PLACES, phi);
        for (size_t i = 0; i < PLACES; i++) {
            double k[PLACES];
            kernel_row(&kernel, X + i * D, X, PLACES, k);
            for (size_t j = 0; j < PLACES; j++)
                CHECK_NEAR(mat_dot(phi + i * FEATURES, phi + j * FEATURES, FEATURES), k[j], i == j ? 1e-12 : 0.025);
        }
        arena_fini(&arena);
    }
}

CU_TestInfo suite_kernel_contract[] = {
    {"records and the list of names", test_records},
    {"values from no distance to the farthest", test_values},
    {"slopes agree with finite differences", test_slopes},
    {"parts of coordinates, and their slopes", test_parts},
    {"frequencies of coordinates", test_part_frequencies},
    {"a block is bitwise its points", test_blocks},
    {"matrices are symmetric and positive definite", test_matrices},
    {"the product of random features is the kernel", test_features},
    CU_TEST_INFO_NULL,
};
