/* The modeller's kernel for noisy rows: against Monte Carlo through the exact samplers, and through po-gp-ucb against
 * the dense formula. */
#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "engine/gp/table_fit.h"
#include "engine/math/mat.h"
#include "engine/privacy/denoise.h"
#include "engine/privacy/mechanism.h"
#include "engine/registry.h"
#include "engine/privacy/sampler.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

/* E[k(x, x')] for x = z - noise, x' = z' - noise', with z - z' given: what the effective kernel stands for. */
static double monte_carlo(const struct mechanism *plan, const double *difference, size_t d, double length_scale)
{
    enum { DRAWS = 200000 };
    struct rng     rng = rng_at(81, 1, RNG_TEST);
    struct sampler sampler;
    double         sum = 0;
    sampler_init(&sampler, bits_of_rng, &rng);
    for (int i = 0; i < DRAWS; i++) {
        double r2 = 0;
        for (size_t c = 0; c < d; c++) {
            int64_t a = 0, b = 0;
            bool    laplace = plan->kind == MECHANISM_DISCRETE_LAPLACE;
            CU_ASSERT_FATAL((laplace ? sampler_laplace(&sampler, plan->rate, &a, NULL)
                                     : sampler_gaussian(&sampler, plan->sigma, &a, NULL)) == STATUS_OK);
            CU_ASSERT_FATAL((laplace ? sampler_laplace(&sampler, plan->rate, &b, NULL)
                                     : sampler_gaussian(&sampler, plan->sigma, &b, NULL)) == STATUS_OK);
            r2 += pow(difference[c] - (double)(a - b) * plan->gamma, 2);
        }
        sum += exp(-r2 / (2 * length_scale * length_scale)) / DRAWS;
    }
    return sum;
}

static double effective(const struct mechanism *plan, double r2, double length_scale)
{
    struct mechanism_kernel k = mechanism_effective_kernel(length_scale, 1, plan->variance, plan->dims);
    return k.variance * exp(-r2 / (2 * k.length_scale * k.length_scale));
}

/* Exact for Gaussian noise; matched in variance for Laplace noise, where a published run of the same had 0.5914 for
 * 0.5855 (epsilon 1, length-scale 5, squared distance 17). */
static void test_monte_carlo(void)
{
    const double     difference[2] = {4, 1};
    struct mechanism gaussian = {
        .kind = MECHANISM_DISCRETE_GAUSSIAN, .epsilon = 1, .delta = 1e-3, .distance = 1, .rows = 9, .columns = 2};
    struct mechanism laplace = {
        .kind = MECHANISM_DISCRETE_LAPLACE, .epsilon = 1, .distance = 1, .rows = 9, .columns = 2};
    CU_ASSERT_FATAL(mechanism_plan(&gaussian, NULL) == STATUS_OK && mechanism_plan(&laplace, NULL) == STATUS_OK);
    CHECK_NEAR(monte_carlo(&gaussian, difference, 2, 5), effective(&gaussian, 17, 5), 0.003);
    CHECK_NEAR(effective(&laplace, 17, 5), 0.5855, 0.0005);
    CHECK_NEAR(monte_carlo(&laplace, difference, 2, 5), 0.5914, 0.003);
}

enum { N = 14, D = 2, OBSERVED = 5 };
static const double S2 = 0.31, LENGTH = 1.7, VARIANCE = 2.385, NOISE = 0.02, MEAN = 0.4;

static void fill_rows(double *rows)
{
    struct rng rng = rng_at(82, 1, RNG_TEST);
    for (size_t i = 0; i < N * D; i++)
        rows[i] = 2 * rng_normal(&rng);
}

/* E[exp(-(difference + e)^2 / (2 l^2))], e ~ N(0, variance), by trapezoids. */
static double expected(double difference, double variance)
{
    double sum = 0, sd = sqrt(variance), step = 1.0 / 64;
    for (double u = -9; u <= 9; u += step)
        sum += step * exp(-u * u / 2 - pow(difference + sd * u, 2) / (2 * LENGTH * LENGTH)) / sqrt(2 * PI);
    return sum;
}

/* spread: of each row along each column; NULL: S2 for all. */
static double covariance(const double *rows, const double *spread, size_t i, size_t j)
{
    double product = VARIANCE;
    for (size_t c = 0; c < D && spread != NULL && i != j; c++)
        product *= expected(rows[i * D + c] - rows[j * D + c], spread[i * D + c] + spread[j * D + c]);
    if (spread != NULL)
        return product;
    struct mechanism_kernel k = mechanism_effective_kernel(LENGTH, VARIANCE, S2, D);
    double                  r2 = pow(rows[i * D] - rows[j * D], 2) + pow(rows[i * D + 1] - rows[j * D + 1], 2);
    return k.variance * exp(-r2 / (2 * k.length_scale * k.length_scale)) + (i == j ? k.row_variance : 0);
}

/* R&W (2.25), (2.26) with the kernel spelt out, row 3 observed twice. */
static void dense_posterior(const struct space *space, const size_t *at, const double *y, size_t j, double *mean,
                            double *sd)
{
    const double *rows = space->rows, *spread = space->row_variances;
    double        K[OBSERVED * OBSERVED], spare[OBSERVED], k[OBSERVED], v[OBSERVED], jitter;
    for (size_t a = 0; a < OBSERVED; a++) {
        for (size_t b = 0; b <= a; b++)
            K[a * OBSERVED + b] = covariance(rows, spread, at[a], at[b]) + (a == b ? NOISE : 0);
        k[a] = covariance(rows, spread, at[a], j);
        v[a] = y[a] - MEAN;
    }
    CU_ASSERT_FATAL(mat_cholesky(K, OBSERVED, OBSERVED, spare, &jitter, NULL) == STATUS_OK && jitter == 0);
    mat_solve_lower(K, OBSERVED, OBSERVED, v);
    mat_solve_lower(K, OBSERVED, OBSERVED, k);
    *mean = MEAN + mat_dot(k, v, OBSERVED);
    *sd = sqrt(VARIANCE - mat_dot(k, k, OBSERVED));
}

static void observe(const struct policy *policy, struct session *session, uint64_t trial, size_t row, double value)
{
    struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .row = row};
    CU_ASSERT_FATAL(policy->tell(session, &event, NULL) == STATUS_OK);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .row = row, .value = value};
    CU_ASSERT_FATAL(policy->tell(session, &event, NULL) == STATUS_OK);
}

/* The predictions of po-gp-ucb at a few rows agree with the dense formula at the rows' places. */
static void check_policy(struct space *space, double noise, size_t memory_bytes, const struct space *placed)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    const size_t         at[OBSERVED] = {3, 7, 0, 3, 12};
    const double         y[OBSERVED] = {1.1, -0.7, 0.2, 1.25, 2.3};
    double               options[32];
    struct problem       problem = {.space = space, .options = options, .seed = 9, .memory_bytes = memory_bytes};
    struct session      *session = NULL;
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    policy_defaults(policy, options);
    options[policy_option(policy, "length_scale")] = LENGTH;
    options[policy_option(policy, "signal_variance")] = VARIANCE;
    options[policy_option(policy, "noise_variance")] = NOISE;
    options[policy_option(policy, "mean")] = MEAN;
    options[policy_option(policy, "release_noise")] = noise; /* release_dims: the columns */
    CU_ASSERT_FATAL(session_open(policy, &problem, &session, NULL) == STATUS_OK);
    for (size_t i = 0; i < OBSERVED; i++)
        observe(policy, session, i + 1, at[i], y[i]);
    for (size_t j = 0; j < N; j++) {
        double mean, sd, expected_mean, expected_sd;
        CU_ASSERT_FATAL(policy->predict(session, &(struct prediction){.rows = &j, .m = 1, .mean = &mean, .sd = &sd},
                                        NULL) == STATUS_OK);
        dense_posterior(placed, at, y, j, &expected_mean, &expected_sd);
        CHECK_NEAR(mean, expected_mean, 2e-6);
        CHECK_NEAR(sd, expected_sd, 2e-6);
    }
    session_close(session);
}

static void test_policy(void)
{
    double       rows[N * D], spread[N * D];
    struct space space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = N, .columns = D};
    fill_rows(rows);
    check_policy(&space, S2, 1 << 22, &space);
    for (size_t k = 0; k < N * D; k++)
        spread[k] = 0.05 + 0.09 * (double)(k % 7);
    space.row_variances = spread;
    check_policy(&space, NAN, 1 << 22, &space);
}

/* With enough rows they are put where they probably were; with little memory they are left. */
static void test_denoised(void)
{
    enum { MANY = 300 };
    static double rows[MANY * D], means[MANY * D], variances[MANY * D];
    struct rng    rng = rng_at(84, 1, RNG_TEST);
    struct arena  arena;
    bool          helps = false;
    arena_init(&arena, 1 << 26);
    for (size_t k = 0; k < MANY * D; k++)
        rows[k] = (double)(k / D % 3) + sqrt(S2) * rng_normal(&rng);
    struct denoise d = {.rows = rows, .n = MANY, .columns = D, .variance = S2, .bound = INFINITY, .means = means};
    d.variances = variances;
    CU_ASSERT_FATAL(denoise_rows(&d, &arena, &helps, NULL) == STATUS_OK && helps);
    struct space space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = MANY, .columns = D}, placed = space;
    placed.rows = means;
    placed.row_variances = variances;
    check_policy(&space, S2, 1 << 27, &placed);
    check_policy(&space, S2, 1 << 24, &space);
    arena_fini(&arena);
}

/* Hyper-parameters of the function come back from noisy rows: the fitted length-scale is near the true one with the
 * noise stated, and a third of it or less without. */
static void test_fit(void)
{
    enum { M = 60, TABLES = 12 };
    struct rng rng = rng_at(83, 1, RNG_TEST);
    double     fitted[2] = {0, 0};
    for (int table = 0; table < TABLES; table++) {
        size_t       at[M];
        double       X[M * D], Z[M * D], K[M * M], y[M], spare[M], jitter;
        struct arena arena;
        for (size_t i = 0; i < M * D; i++) {
            at[i / D] = i / D;
            X[i] = 8 * rng_uniform(&rng);
            Z[i] = X[i] + 0.8 * rng_normal(&rng);
        }
        for (size_t i = 0; i < M; i++) {
            y[i] = rng_normal(&rng);
            for (size_t k = 0; k <= i; k++) {
                double r2 = pow(X[i * D] - X[k * D], 2) + pow(X[i * D + 1] - X[k * D + 1], 2);
                K[i * M + k] = exp(-r2 / (2 * LENGTH * LENGTH)) + (i == k ? 1e-4 : 0);
            }
        }
        CU_ASSERT_FATAL(mat_cholesky(K, M, M, spare, &jitter, NULL) == STATUS_OK);
        mat_multiply_lower(K, M, M, y);
        for (int stated = 0; stated < 2; stated++) {
            struct table_fit fit = {.kind = &kernel_se,
                                    .n = M,
                                    .columns = D,
                                    .X = Z,
                                    .rows = at,
                                    .y = y,
                                    .length_scale = 3,
                                    .variance = 1,
                                    .noise = 0.01,
                                    .fixed_variance = true,
                                    .fixed_noise = true,
                                    .release_noise = stated * 0.64,
                                    .release_dims = D};
            arena_init(&arena, 1 << 22);
            CU_ASSERT_FATAL(table_fit(&fit, &arena, NULL) == STATUS_OK);
            fitted[stated] += log(fit.length_scale / LENGTH) / TABLES;
            arena_fini(&arena);
        }
    }
    CHECK_NEAR(fitted[1], 0, 0.3);
    CU_ASSERT(fitted[0] < -1);
}

CU_TestInfo suite_release_kernel[] = {
    {"Monte Carlo", test_monte_carlo},
    {"po-gp-ucb", test_policy},
    {"po-gp-ucb, denoised", test_denoised},
    {"fit", test_fit},
    CU_TEST_INFO_NULL,
};
