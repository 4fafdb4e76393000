/* Gaussian process: append and truncate against a new factor, posterior against the textbook formula in its plainest
 * form, gradients of posterior, likelihood, prior by finite differences, MAP fit, failure paths.
 * tests/golden/gp_sklearn.py compares values with another implementation. */
#include "engine/gp/gp.h"
#include "engine/gp/gp_fit.h"
#include "engine/math/mat.h"
#include "engine/math/minimize.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { N = 43, D = 3 };
static const double length_scales[D] = {0.435, 1.27, 0.81};
static const double NOISE = 0.0137;

struct data {
    double X[N * D], y[N], noise[N];
};

static void data_fill(struct data *data)
{
    struct rng rng = rng_at(43, 3, RNG_TEST);
    for (size_t i = 0; i < N; i++) {
        double *x = data->X + i * D;
        for (size_t j = 0; j < D; j++)
            x[j] = rng_uniform(&rng);
        data->y[i] = sin(5.3 * x[0]) + 0.7 * x[1] * x[2] + 0.08 * rng_normal(&rng);
        data->noise[i] = 0.02 * rng_uniform(&rng);
    }
}

static struct kernel kernel_of(const struct kernel_kind *kind)
{
    return (struct kernel){.kind = kind, .dims = D, .variance = 1.37, .length_scales = length_scales};
}

static void test_append(void)
{
    static struct data data;
    struct arena       arena, scratch;
    struct gp          whole, grown;
    struct kernel      kernel = kernel_of(&kernel_matern52);
    double             a[2], b[2], z[2 * D] = {0.31, 0.72, 0.55, 0.05, 0.11, 0.93}, va[2], vb[2];
    data_fill(&data);
    arena_init(&arena, 1 << 22);
    arena_init(&scratch, 1 << 22);
    CU_ASSERT_EQUAL_FATAL(gp_init(&whole, &arena, &kernel, NOISE, N, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_init(&grown, &arena, &kernel, NOISE, 2, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_points(&whole, data.X, data.noise, N, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_points(&grown, data.X, data.noise, 7, NULL), STATUS_OK);
    for (size_t i = 7; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(gp_append(&grown, data.X + i * D, data.noise[i], NULL), STATUS_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k <= i; k++)
            CHECK_NEAR(grown.L[i * grown.capacity + k], whole.L[i * whole.capacity + k], 1e-12);
    CU_ASSERT_EQUAL_FATAL(gp_set_values(&whole, data.y, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_values(&grown, data.y, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp_posterior(&whole, (struct points){z, 2}, a, va, &scratch, NULL), STATUS_OK);

    CU_ASSERT_EQUAL(gp_mean(&whole, z, 2, b, &scratch, NULL), STATUS_OK);
    CU_ASSERT(memcmp(a, b, sizeof a) == 0);

    /* a believer leaves means alone, lowers the variance, and truncation takes it back exactly */
    CU_ASSERT_EQUAL_FATAL(gp_append(&whole, z, 0.0, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp_posterior(&whole, (struct points){z, 2}, b, vb, &scratch, NULL), STATUS_OK);
    CHECK_NEAR(b[0], a[0], 1e-12);
    CHECK_NEAR(b[1], a[1], 1e-12);
    CU_ASSERT(vb[0] < 0.9 * va[0] && vb[1] < va[1]);
    gp_truncate(&whole, N);
    CU_ASSERT_EQUAL(gp_posterior(&whole, (struct points){z, 2}, b, vb, &scratch, NULL), STATUS_OK);
    CU_ASSERT(memcmp(a, b, sizeof a) == 0 && memcmp(va, vb, sizeof va) == 0);
    arena_fini(&arena);
    arena_fini(&scratch);
}

/* Many at once are within rounding of one by one; where one of them cannot be appended, none is. */
static void test_append_many(void)
{
    static struct data data;
    struct arena       arena, scratch;
    struct gp          each, many;
    struct kernel      kernel = kernel_of(&kernel_matern52);
    arena_init(&arena, 1 << 22);
    for (int exact = 0; exact < 2; exact++) {
        data_fill(&data);
        arena_init(&scratch, 1 << 22);
        CU_ASSERT_EQUAL_FATAL(gp_init(&each, &arena, &kernel, NOISE, N, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_init(&many, &arena, &kernel, NOISE, 5, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_points(&each, data.X, NULL, 5, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_points(&many, data.X, NULL, 5, NULL), STATUS_OK);
        for (size_t i = 5; i < N; i++)
            CU_ASSERT_EQUAL_FATAL(exact ? gp_append_exact(&each, data.X + i * D, NULL)
                                        : gp_append(&each, data.X + i * D, 0.0, NULL),
                                  STATUS_OK);
        struct points rest = {data.X + 5 * D, N - 5};
        CU_ASSERT_EQUAL_FATAL(gp_append_many(&many, rest, exact, &scratch, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(many.n, N);
        CU_ASSERT(memcmp(many.X, each.X, sizeof data.X) == 0);
        CU_ASSERT(memcmp(many.noise, each.noise, N * sizeof *many.noise) == 0);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k <= i; k++)
                CHECK_NEAR(many.L[i * many.capacity + k], each.L[i * each.capacity + k], 1e-10);
        many.noise_variance = 0.0; // now one point twice is singular
        memcpy(data.X + 9 * D, data.X + 7 * D, D * sizeof *data.X);
        CU_ASSERT_EQUAL(gp_append_many(&many, rest, false, &scratch, NULL), STATUS_NUMERIC);
        CU_ASSERT_EQUAL(many.n, N);
        arena_fini(&scratch);
        arena_init(&scratch, 64);
        CU_ASSERT_EQUAL(gp_append_many(&many, rest, false, &scratch, NULL), STATUS_NO_MEMORY);
        CU_ASSERT_EQUAL(many.n, N);
        arena_fini(&scratch);
    }
    arena_fini(&arena);
}

/* mean = k' (K + N)^-1 y and var = k(z,z) - k' (K + N)^-1 k, with the inverse written out. */
static void test_posterior(void)
{
    static struct data data;
    static double      inverse[N * N], C[4];
    struct arena       arena, scratch;
    struct gp          gp;
    double             z[2 * D] = {0.31, 0.72, 0.55, 0.05, 0.11, 0.93}, mean[2], var[2], joint[2], cross = 0.0;
    data_fill(&data);
    for (size_t q = 0; q < KERNELS; q++) {
        struct kernel kernel = kernel_of(kernel_kinds[q]);
        double        k[2][N];
        arena_init(&arena, 1 << 22);
        arena_init(&scratch, 1 << 22);
        CU_ASSERT_EQUAL_FATAL(gp_init(&gp, &arena, &kernel, NOISE, N, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_points(&gp, data.X, data.noise, N, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_values(&gp, data.y, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(mat_inverse_from_cholesky(gp.L, N, gp.capacity, inverse, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(gp_posterior(&gp, (struct points){z, 2}, mean, var, &scratch, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(gp_joint(&gp, (struct points){z, 2}, joint, C, &scratch, NULL), STATUS_OK);
        for (size_t p = 0; p < 2; p++)
            kernel_row(&kernel, z + p * D, data.X, N, k[p]);
        double expected_mean = 0.0, expected_var = 1.37;
        kernel_row(&kernel, z, z + D, 1, &cross);
        for (size_t i = 0; i < N; i++)
            for (size_t l = 0; l < N; l++) {
                double entry = l <= i ? inverse[i * N + l] : inverse[l * N + i];
                expected_mean += k[1][i] * entry * data.y[l];
                expected_var -= k[1][i] * entry * k[1][l];
                cross -= k[0][i] * entry * k[1][l];
            }
        CHECK_NEAR(mean[1], expected_mean, 1e-10);
        CHECK_NEAR(var[1], expected_var, 1e-10);
        CHECK_NEAR(joint[1], mean[1], 1e-13);
        CHECK_NEAR(C[3], var[1], 1e-13);
        CHECK_NEAR(C[2], cross, 1e-10);
        arena_fini(&arena);
        arena_fini(&scratch);
    }
}

static void test_gradient(void)
{
    static struct data data;
    static double      work[3 * N];
    struct arena       arena, scratch;
    struct gp          gp;
    data_fill(&data);
    arena_init(&scratch, 1 << 22);
    for (size_t q = 0; q < KERNELS; q++) {
        double          z[D] = {0.313, 0.727, 0.551}, dmean[D], dvar[D], h = 1e-5;
        struct kernel   kernel = kernel_of(kernel_kinds[q]);
        struct gp_slope at = {.dmean = dmean, .dvar = dvar};
        arena_init(&arena, 1 << 22);
        CU_ASSERT_EQUAL_FATAL(gp_init(&gp, &arena, &kernel, NOISE, N, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_points(&gp, data.X, NULL, N, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(gp_set_values(&gp, data.y, NULL), STATUS_OK);
        gp_gradient(&gp, z, work, &at);
        for (size_t j = 0; j < D; j++) {
            double pair[2 * D], mean[2], var[2];
            memcpy(pair, z, sizeof z);
            memcpy(pair + D, z, sizeof z);
            pair[j] -= h;
            pair[D + j] += h;
            CU_ASSERT_EQUAL(gp_posterior(&gp, (struct points){pair, 2}, mean, var, &scratch, NULL), STATUS_OK);
            CHECK_NEAR(dmean[j], (mean[1] - mean[0]) / (2.0 * h), 1e-6);
            CHECK_NEAR(dvar[j], (var[1] - var[0]) / (2.0 * h), 1e-6);
            CU_ASSERT(at.mean > fmin(mean[0], mean[1]) && at.mean < fmax(mean[0], mean[1]));
        }
        arena_fini(&arena);
    }
    arena_fini(&scratch);
}

static double likelihood_at(const struct gp_data *data, const struct kernel_kind *kind, const double *theta,
                            struct gp_work *work, double *gradient)
{
    double        scales[D], value = NAN;
    struct kernel kernel = {.kind = kind, .dims = D, .variance = exp(theta[D]), .length_scales = scales};
    for (size_t j = 0; j < D; j++)
        scales[j] = exp(theta[j]);
    CU_ASSERT_EQUAL(gp_likelihood(data, &kernel, exp(theta[D + 1]), work, &value, gradient), STATUS_OK);
    return value;
}

/* K + t t' by the determinant lemma and Sherman and Morrison's formula, from what is known of K. */
static double trend_likelihood(const struct gp_data *set, const struct kernel_kind *kind, const double *theta,
                               struct gp_work *work)
{
    struct gp_data plain = *set, along = *set;
    double         gradient[D + 2], alpha[N], part = 0, both = 0;
    plain.trend = along.trend = NULL;
    along.y = set->trend;
    double value = likelihood_at(&plain, kind, theta, work, gradient);
    memcpy(alpha, work->vector, sizeof alpha);
    likelihood_at(&along, kind, theta, work, gradient); /* vector: K^-1 t */
    for (size_t i = 0; i < N; i++) {
        part += set->trend[i] * work->vector[i];
        both += set->trend[i] * alpha[i];
    }
    return value + 0.5 * both * both / (1 + part) - 0.5 * log(1 + part);
}

static void check_slopes(const struct gp_data *set, const struct kernel_kind *kind, struct gp_work *work)
{
    double theta[D + 2] = {-0.83, 0.24, -0.21, 0.31, -4.29}, gradient[D + 2], h = 1e-5;
    likelihood_at(set, kind, theta, work, gradient);
    for (size_t j = 0; j < D + 2; j++) {
        double centre = theta[j];
        theta[j] = centre + h;
        double above = likelihood_at(set, kind, theta, work, NULL);
        theta[j] = centre - h;
        double below = likelihood_at(set, kind, theta, work, NULL);
        theta[j] = centre;
        CHECK_NEAR(gradient[j], (above - below) / (2.0 * h), 1e-6 * (1.0 + fabs(gradient[j])));
    }
}

static void test_likelihood(void)
{
    static struct data data;
    struct arena       arena;
    struct gp_work     work;
    double             trend[N];
    data_fill(&data);
    for (size_t i = 0; i < N; i++)
        trend[i] = 0.37 * (double)i - 2.0;
    arena_init(&arena, 1 << 22);
    CU_ASSERT_EQUAL_FATAL(gp_work_init(&work, &arena, N, NULL), STATUS_OK);
    struct gp_data set = {.n = N, .dims = D, .X = data.X, .y = data.y, .noise = data.noise};
    for (size_t q = 0; q < KERNELS; q++)
        check_slopes(&set, kernel_kinds[q], &work);
    set.trend = trend;
    check_slopes(&set, &kernel_matern52, &work);
    const double theta[D + 2] = {-0.83, 0.24, -0.21, 0.31, -4.29};
    double       expected = trend_likelihood(&set, &kernel_matern52, theta, &work);
    CHECK_NEAR(likelihood_at(&set, &kernel_matern52, theta, &work, NULL), expected, 1e-9 * fabs(expected));
    arena_fini(&arena);
}

static const size_t groups[D] = {0, 1, 1};

static void test_prior(void)
{
    struct gp_fit fit = {.kind = &kernel_se, .dims = D, .groups = 2, .group_of = groups};
    double        theta[5] = {-0.83, 0.24, 0.31, -4.29, 0.77}, gradient[5], h = 1e-6;
    /* the length-scales' part is the published density of l, and that of the distance between the two logarithms, whose
     * variance is 2 * 0.6^2: the difference of two values knows no constant */
    double low = gp_fit_prior(&fit, theta, gradient), mu = sqrt(2.0) + 0.5 * log(2.0), l = exp(-0.83), m = 1.9;
    theta[0] = log(m);
    double expected = log(l / m) + (pow(log(l) - mu, 2) - pow(log(m) - mu, 2)) / 6.0;
    expected += (pow(log(l) - 0.24, 2) - pow(log(m) - 0.24, 2)) / (4.0 * 0.36);
    CHECK_NEAR(gp_fit_prior(&fit, theta, NULL) - low, expected, 1e-12);
    theta[0] = -0.83;
    for (size_t j = 0; j < 5; j++) {
        double centre = theta[j];
        theta[j] = centre + h;
        double above = gp_fit_prior(&fit, theta, NULL);
        theta[j] = centre - h;
        CHECK_NEAR(gradient[j], (above - gp_fit_prior(&fit, theta, NULL)) / (2.0 * h), 1e-7);
        theta[j] = centre;
    }
    CU_ASSERT_TRUE(gp_fit_allows(&fit, theta));
    theta[2] = NAN;
    CU_ASSERT_FALSE(gp_fit_allows(&fit, theta));
    theta[2] = 50.0;
    CU_ASSERT_FALSE(gp_fit_allows(&fit, theta));
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static double posterior_density(const struct gp_fit *fit, const struct gp_data *data, const double *theta)
{
    struct arena   arena;
    struct gp_work work;
    struct kernel  kernel;
    struct warp    warp;
    double         scales[D], noise, value = NAN, z[N], determinant = 0;
    arena_init(&arena, 1 << 22);
    CU_ASSERT_EQUAL_FATAL(gp_work_init(&work, &arena, data->n, NULL), STATUS_OK);
    gp_fit_expand(fit, theta, scales, &kernel, &noise);
    CU_ASSERT_EQUAL(scales[1], scales[2]);
    warp_make(&warp, data->y, data->n, theta[4]);
    for (size_t i = 0; i < data->n; i++) {
        z[i] = warp_value(&warp, data->y[i]);
        determinant += log(warp_slope(&warp, data->y[i]));
    }
    struct gp_data warped = *data;
    warped.y = z;
    CU_ASSERT_EQUAL(gp_likelihood(&warped, &kernel, noise, &work, &value, NULL), STATUS_OK);
    arena_fini(&arena);
    return value + determinant + gp_fit_prior(fit, theta, NULL);
}

/* The fit beats its start and every neighbour; a late one still answers; a bad start does not matter. */
static void test_fit(void)
{
    static struct data data;
    struct gp_fit      fit = {
             .kind = &kernel_matern52, .dims = D, .groups = 2, .group_of = groups, .evaluations = 80, .from_default = true};
    struct arena scratch;
    double       theta[5], start[5], warm[5] = {5.1, -4.9, 6.2, 0.6, 4.4}, again[5];
    data_fill(&data);
    struct gp_data set = {.n = N, .dims = D, .X = data.X, .y = data.y};
    arena_init(&scratch, 1 << 22);
    gp_fit_default(&fit, start);
    CU_ASSERT_EQUAL_FATAL(gp_fit_run(&fit, &set, NULL, theta, &scratch, NULL), STATUS_OK);
    double best = posterior_density(&fit, &set, theta);
    CU_ASSERT(best > posterior_density(&fit, &set, start) + 1.0);
    for (size_t j = 0; j < 5; j++)
        for (double step = -0.1; step < 0.2; step += 0.2) {
            double moved[5];
            memcpy(moved, theta, sizeof moved);
            moved[j] += step;
            CU_ASSERT(!gp_fit_allows(&fit, moved) || posterior_density(&fit, &set, moved) < best);
        }
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, warm, again, &scratch, NULL), STATUS_OK);
    CU_ASSERT(posterior_density(&fit, &set, again) > best - 1e-3);
    fit.least_a = exp(theta[4] + 0.75);
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, NULL, again, &scratch, NULL), STATUS_OK);
    CHECK_NEAR(again[4], theta[4] + 0.75, 1e-9); /* the free optimum is outside */
    fit.least_a = HUGE_VAL;
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, warm, again, &scratch, NULL), STATUS_OK);
    CU_ASSERT(again[4] > 6.0 && gp_fit_allows(&fit, again));
    fit.least_a = 0.0;
    fit.late = always;
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, theta, again, &scratch, NULL), STATUS_OK);
    CU_ASSERT(memcmp(again, theta, sizeof theta) == 0);
    double broken[N];
    memcpy(broken, data.y, sizeof broken);
    broken[5] = NAN;
    set.y = broken;
    fit.late = NULL;
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, warm, again, &scratch, NULL), STATUS_OK);
    CU_ASSERT(memcmp(again, warm, sizeof warm) == 0);
    arena_fini(&scratch);
    arena_init(&scratch, 4096);
    CU_ASSERT_EQUAL(gp_fit_run(&fit, &set, NULL, theta, &scratch, NULL), STATUS_NO_MEMORY);
    arena_fini(&scratch);
}

static void test_failures(void)
{
    static struct data data;
    struct arena       arena;
    struct gp          gp;
    struct kernel      kernel = kernel_of(&kernel_se);
    double             nan_point[D] = {0.3, NAN, 0.2}, nan_values[3] = {0.4, NAN, 0.1};
    data_fill(&data);
    arena_init(&arena, 1 << 16);
    CU_ASSERT_EQUAL(gp_init(&gp, &arena, &kernel, NOISE, 400, NULL), STATUS_NO_MEMORY);
    CU_ASSERT_EQUAL_FATAL(gp_init(&gp, &arena, &kernel, NOISE, 3, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp_set_points(&gp, nan_point, NULL, 1, NULL), STATUS_NUMERIC);
    CU_ASSERT_EQUAL(gp.n, 0);
    CU_ASSERT_EQUAL_FATAL(gp_set_points(&gp, data.X, NULL, 3, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp_append(&gp, nan_point, 0.0, NULL), STATUS_NUMERIC);
    CU_ASSERT_EQUAL(gp.n, 3);
    CU_ASSERT_EQUAL(gp_set_values(&gp, nan_values, NULL), STATUS_NUMERIC);
    arena_fini(&arena);
}

/* Rosenbrock's valley with the minimum (1, 1) cut off by the box: on its edge x = 0.7, y = 0.49. */
static double rosenbrock(void *arg, const double *x, double *gradient)
{
    size_t *calls = arg;
    double  a = x[1] - x[0] * x[0];
    (*calls)++;
    gradient[0] = -400.0 * a * x[0] - 2.0 * (1.0 - x[0]);
    gradient[1] = 200.0 * a;
    return 100.0 * a * a + (1.0 - x[0]) * (1.0 - x[0]);
}

static void test_minimize(void)
{
    double          lower[2] = {-2.1, -1.3}, upper[2] = {0.7, 2.4}, x[2] = {-1.7, 1.9}, value;
    size_t          calls = 0;
    struct arena    scratch;
    struct minimize problem = {.dims = 2,
                               .lower = lower,
                               .upper = upper,
                               .function = rosenbrock,
                               .arg = &calls,
                               .evaluations = 300,
                               .f_tolerance = 1e-12,
                               .x_tolerance = 1e-12};
    arena_init(&scratch, 1 << 16);
    CU_ASSERT_EQUAL(minimize_lbfgs(&problem, x, &value, &scratch, NULL), STATUS_OK);
    CHECK_NEAR(x[0], 0.7, 1e-6);
    CHECK_NEAR(x[1], 0.49, 1e-6);
    CHECK_NEAR(value, 0.09, 1e-9);
    calls = 0;
    problem.late = always;
    x[0] = -1.7;
    CU_ASSERT_EQUAL(minimize_lbfgs(&problem, x, &value, &scratch, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(x[0], -1.7);
    problem.late = NULL;
    problem.evaluations = 9;
    calls = 0;
    CU_ASSERT_EQUAL(minimize_lbfgs(&problem, x, &value, &scratch, NULL), STATUS_OK);
    CU_ASSERT(calls <= 10);
    x[0] = NAN; /* no finite value anywhere on the way */
    CU_ASSERT_EQUAL(minimize_lbfgs(&problem, x, &value, &scratch, NULL), STATUS_OK);
    arena_fini(&scratch);
}

CU_TestInfo suite_gp[] = {
    {"append", test_append},     {"append many", test_append_many}, {"posterior", test_posterior},
    {"gradient", test_gradient}, {"likelihood", test_likelihood},   {"prior", test_prior},
    {"fit", test_fit},           {"failures", test_failures},       {"minimize", test_minimize},
    CU_TEST_INFO_NULL,
};
