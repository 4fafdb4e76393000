/* Random features: gradients by finite differences, and the posterior against the same Gaussian process
 * in its function-space form.  That they stand for their kernel is in kernel_contract.c. */
#include "engine/math/mat.h"
#include "engine/gp/rff.h"
#include "tests/unit/engine/rff_values.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { DIMS = 3, FEW = 37, ROWS = 11 };

static const double length_scales[DIMS] = {0.31, 0.77, 1.9};

static struct arena fresh(void)
{
    struct arena arena;
    arena_init(&arena, 64u << 20);
    return arena;
}

static void draw(struct rff *rff, const struct kernel_kind *kind, size_t count, struct arena *arena)
{
    struct rng    rng = rng_at(2385, 7, RNG_FEATURES);
    struct kernel kernel = {.kind = kind, .dims = DIMS, .variance = 1.723, .length_scales = length_scales};
    struct error  err;
    CU_ASSERT_EQUAL_FATAL(rff_draw(rff, &kernel, count, &rng, arena, &err), STATUS_OK);
}

static void fill(double *X, size_t n)
{
    struct rng rng = rng_at(91, 2, RNG_TEST);
    for (size_t i = 0; i < n; i++)
        X[i] = rng_uniform(&rng);
}

static void test_gradient(void)
{
    struct arena arena = fresh();
    struct rff   rff;
    double       omega[FEW], phi[FEW], spare[2 * FEW], gradient[DIMS], x[DIMS] = {0.613, 0.207, 0.881};
    draw(&rff, &kernel_matern52, FEW, &arena);
    fill(omega, FEW);
    rff_features(&rff, x, 1, phi);
    CHECK_NEAR(rff_value(&rff, omega, x, gradient, spare), mat_dot(phi, omega, FEW), 1e-13);
    for (size_t j = 0; j < DIMS; j++) {
        double up[DIMS] = {x[0], x[1], x[2]}, down[DIMS] = {x[0], x[1], x[2]}, h = 1e-6;
        up[j] += h;
        down[j] -= h;
        double slope = rff_value(&rff, omega, up, NULL, spare) - rff_value(&rff, omega, down, NULL, spare);
        CHECK_NEAR(gradient[j], slope / (2.0 * h), 1e-7);
    }
    arena_fini(&arena);
}

/* nu'phi(x) = k_x'(K + noise I)^-1 y with K = Phi Phi'. */
static void test_posterior(void)
{
    struct arena         arena = fresh();
    struct rff           rff;
    struct rff_posterior posterior;
    struct error         err;
    double X[(ROWS + 1) * DIMS], phi[(ROWS + 1) * FEW], y[ROWS], K[ROWS * ROWS], k[ROWS], spare[ROWS], jitter;
    double noise = 0.0173;
    fill(X, (ROWS + 1) * DIMS);
    draw(&rff, &kernel_se, FEW, &arena);
    rff_features(&rff, X, ROWS + 1, phi);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = sin(5.3 * X[i * DIMS]) - X[i * DIMS + 1];
    CU_ASSERT_EQUAL_FATAL(rff_condition(&posterior,
                                        &(struct rff_data){.n = ROWS, .count = FEW, .phi = phi, .y = y, .noise = noise},
                                        &arena, &err),
                          STATUS_OK);
    for (size_t i = 0; i < ROWS; i++) {
        k[i] = mat_dot(phi + ROWS * FEW, phi + i * FEW, FEW);
        for (size_t j = 0; j <= i; j++)
            K[i * ROWS + j] = mat_dot(phi + i * FEW, phi + j * FEW, FEW) + (i == j ? noise : 0.0);
    }
    CU_ASSERT_EQUAL_FATAL(mat_cholesky(K, ROWS, ROWS, spare, &jitter, &err), STATUS_OK);
    mat_solve_lower(K, ROWS, ROWS, y);
    mat_solve_lower(K, ROWS, ROWS, k);
    CHECK_NEAR(mat_dot(posterior.nu, phi + ROWS * FEW, FEW), mat_dot(k, y, ROWS), 1e-10);
    double u[FEW], prior = mat_dot(phi + ROWS * FEW, phi + ROWS * FEW, FEW); // and the variance
    for (size_t i = 0; i < FEW; i++)
        u[i] = phi[ROWS * FEW + i];
    mat_solve_lower(posterior.L, FEW, FEW, u);
    CHECK_NEAR(noise * mat_dot(u, u, FEW), prior - mat_dot(k, k, ROWS), 1e-10);
    arena_fini(&arena);
}

static void test_sample(void)
{
    struct arena         arena = fresh();
    struct rff_posterior posterior;
    struct error         err;
    struct rng           rng = rng_at(5, 6, RNG_THOMPSON), same = rng;
    double               phi[4 * FEW], y[4] = {0.3, -1.7, 2.2, 0.9}, omega[FEW];
    fill(phi, 4 * FEW);
    CU_ASSERT_EQUAL_FATAL(rff_condition(&posterior,
                                        &(struct rff_data){.n = 4, .count = FEW, .phi = phi, .y = y, .noise = 0.217},
                                        &arena, &err),
                          STATUS_OK);
    rff_sample(&posterior, &rng, omega);
    for (size_t i = 0; i < FEW; i++) { // L'(omega - nu) / sigma is the stream of normals
        double z = 0.0;
        for (size_t k = i; k < FEW; k++)
            z += posterior.L[k * FEW + i] * (omega[k] - posterior.nu[k]);
        CHECK_NEAR(z / sqrt(0.217), rng_normal(&same), 1e-11);
    }
    CU_ASSERT_EQUAL(rff_condition(&posterior,
                                  &(struct rff_data){.n = 0, .count = FEW, .phi = phi, .y = y, .noise = 0.217}, &arena,
                                  &err),
                    STATUS_OK); // the prior
    CU_ASSERT_EQUAL(posterior.nu[3], 0.0);
    phi[5] = NAN;
    CU_ASSERT_EQUAL(rff_condition(&posterior,
                                  &(struct rff_data){.n = 4, .count = FEW, .phi = phi, .y = y, .noise = 0.217}, &arena,
                                  &err),
                    STATUS_NUMERIC);
    arena_fini(&arena);
    arena_init(&arena, 1);
    CU_ASSERT_EQUAL(rff_condition(&posterior,
                                  &(struct rff_data){.n = 4, .count = FEW, .phi = phi, .y = y, .noise = 0.217}, &arena,
                                  &err),
                    STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* The means that the authors' program computed from its features and data. */
static void test_authors(void)
{
    struct rff rff = {.dims = 2, .count = AUTHORS_FEATURES, .variance = 1};
    double     frequencies[2 * AUTHORS_FEATURES], phases[AUTHORS_FEATURES], X[2 * AUTHORS_ROWS], y[AUTHORS_ROWS];
    double     phi[AUTHORS_ROWS * AUTHORS_FEATURES];
    memcpy(frequencies, authors_frequencies, sizeof frequencies);
    memcpy(phases, authors_phases, sizeof phases);
    rff.frequencies = frequencies;
    rff.phases = phases;
    for (size_t agent = 0; agent < AUTHORS_AGENTS; agent++) {
        struct arena         arena = fresh();
        struct rff_posterior posterior;
        for (size_t k = 0; k < AUTHORS_ROWS; k++) {
            X[2 * k] = authors_data[agent][k][0];
            X[2 * k + 1] = authors_data[agent][k][1];
            y[k] = authors_data[agent][k][2];
        }
        rff_features(&rff, X, AUTHORS_ROWS, phi);
        CU_ASSERT_FATAL(
            rff_condition(
                &posterior,
                &(struct rff_data){.n = AUTHORS_ROWS, .count = AUTHORS_FEATURES, .phi = phi, .y = y, .noise = 1e-6},
                &arena, NULL) == STATUS_OK);
        for (size_t i = 0; i < AUTHORS_FEATURES; i++)
            CHECK_NEAR(posterior.nu[i], authors_means[agent][i], 1e-5);
        arena_fini(&arena);
    }
}

CU_TestInfo suite_rff[] = {
    {"the gradient agrees with finite differences", test_gradient},
    {"the posterior is the Gaussian process's", test_posterior},
    {"the authors' posterior means", test_authors},
    {"a sample is a whitened stream; errors", test_sample},
    CU_TEST_INFO_NULL,
};
