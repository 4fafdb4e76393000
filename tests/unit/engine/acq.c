/* Acquisition functions against quadrature and finite differences; joint samples against the joint posterior; the
 * search for their maximum on functions whose maximum is known; the set of used points. */
#include "engine/acquisition/acq.h"
#include "engine/acquisition/acq_band.h"
#include "engine/acquisition/acq_search.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

/* int_0^inf t^power exp(z t - t^2 / 2) dt by Simpson's rule: Phi(z) / phi(z) for power 0, h(z) / phi(z) for 1. */
static double ratio_integral(double z, int power)
{
    enum { STEPS = 20000 };
    double end = z < 0.0 ? 160.0 / (-z + sqrt(z * z + 160.0)) : z + sqrt(z * z + 160.0), sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        double t = end * i / STEPS, weight = i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        sum += weight * (power == 0 ? 1.0 : t) * exp(z * t - t * t / 2.0);
    }
    return sum * end / STEPS / 3.0;
}

static void test_log_h(void)
{
    static const double zs[] = {-1e10, -3.7e4, -37.5, -8.13, -4.0001, -3.9999, -1.3, 0.217, 2.74, 11.9};
    for (size_t i = 0; i < sizeof zs / sizeof zs[0]; i++) {
        double to_mean, to_sd, z = zs[i], value = acq_log_h(z, &to_mean, &to_sd);
        double Phi = ratio_integral(z, 0), h = ratio_integral(z, 1);
        double expected = log(h) - z * z / 2.0 - log(2.0 * acos(-1.0)) / 2.0;
        CHECK_NEAR(value, expected, 1e-11 * (1.0 + fabs(expected)));
        CHECK_NEAR(to_mean, Phi / h, 1e-10 * Phi / h);
        CHECK_NEAR(to_sd, 1.0 / h, 1e-10 / h);
    }
    double a, b;
    CU_ASSERT(isfinite(acq_log_h(-1e300, &a, &b)) && isfinite(a) && isfinite(b));
    CU_ASSERT(isfinite(acq_log_h(1e300, &a, &b)) && isfinite(a) && isfinite(b));
}

static void test_gradients(void)
{
    static const double means[] = {-2.3, 0.41, 1.87, -31.0}, sds[] = {0.83, 0.057, 2.1, 0.4};
    for (size_t i = 0; i < 4; i++)
        for (enum acq_kind kind = ACQ_LOG_EI; kind <= ACQ_UCB; kind++) {
            struct acq acq = {.kind = kind, .best = 0.635, .beta = 3.21, .noise_sd = i % 2 == 0 ? 0.0 : 0.385};
            double     dmean, dsd, a, b, h = 1e-6, mean = means[i], sd = sds[i];
            acq_value(&acq, mean, sd, &dmean, &dsd);
            double along_mean = (acq_value(&acq, mean + h, sd, &a, &b) - acq_value(&acq, mean - h, sd, &a, &b)) / 2e-6;
            double along_sd = (acq_value(&acq, mean, sd + h, &a, &b) - acq_value(&acq, mean, sd - h, &a, &b)) / 2e-6;
            CHECK_NEAR(dmean, along_mean, 1e-6 * (1.0 + fabs(dmean)));
            CHECK_NEAR(dsd, along_sd, 1e-6 * (1.0 + fabs(dsd)));
        }
    struct acq ucb = {.kind = ACQ_UCB, .beta = 2.25};
    struct acq exact = {.best = 0.3}, noisy = {.best = 0.3, .noise_sd = 0.7};
    double     a, b;
    CHECK_NEAR(acq_value(&noisy, 0.1, 2.4, &a, &b) - acq_value(&exact, 0.1, 2.4, &a, &b), log(1.0 - 0.7 / 2.5), 1e-14);
    CHECK_NEAR(acq_value(&ucb, 0.7, 0.4, &a, &b), 0.7 + 1.5 * 0.4, 1e-15);
    CHECK_NEAR(acq_beta(6, 17), 0.2 * 6.0 * log(34.0), 1e-13);
}

/* Integrals of 40 digits, made with mpmath's quadrature over the definition. */
static const struct in_band {
    struct band band;
    double      distance, mean, sd, log_ei;
} in_bands[] = {
    {{0.3, 0.3}, 0.7, 0.217, 0.413, -0.96567092669393947}, {{0.3, 0.3}, 1e-06, 0.29, 0.413, -27.665945099614548},
    {{0.3, 0.3}, 0.02, 5.7, 0.11, -1206.9572474284035},    {{0.3, 0.3}, 0.02, -5.7, 0.011, -147788.27330372275},
    {{-0.4, 0.9}, 0.31, 0.1, 0.05, -1.1711829815029451},   {{-0.4, 0.9}, 0.31, 1.7, 0.3, -5.1013918112611926},
    {{-0.4, 0.9}, 3e-07, 0.83, 0.2, -15.47073443345828},   {{-0.4, -0.1}, 0.013, 2.9, 1.7, -8.6671866722041037},
    {{0.3, 0.3}, 2.1, 0.301, 0.0001, 0.74146104083849594}, {{0.3, 0.3}, 0.0031, -41.0, 0.013, -5045683.9617421192},
    {{0.3, 0.3}, 0.3, 1.9, 0.27, -17.080314056323197},     {{-0.4, 0.9}, 0.31, -6.3, 0.017, -54079.04129806195},
};

static void test_band(void)
{
    for (size_t i = 0; i < sizeof in_bands / sizeof *in_bands; i++) {
        const struct in_band *c = &in_bands[i];
        double                dmean, dsd, a, b, h = 1e-5 * c->sd, best = -c->distance;
        CHECK_NEAR(acq_band_log_ei(&c->band, best, c->mean, c->sd, &dmean, &dsd), c->log_ei,
                   1e-10 + 1e-14 * fabs(c->log_ei));
        double along_mean = (acq_band_log_ei(&c->band, best, c->mean + h, c->sd, &a, &b) -
                             acq_band_log_ei(&c->band, best, c->mean - h, c->sd, &a, &b)) /
                            (2 * h);
        double along_sd = (acq_band_log_ei(&c->band, best, c->mean, c->sd + h, &a, &b) -
                           acq_band_log_ei(&c->band, best, c->mean, c->sd - h, &a, &b)) /
                          (2 * h);
        CHECK_NEAR(dmean, along_mean, 1e-5 * (1.0 / c->sd + fabs(dmean)));
        CHECK_NEAR(dsd, along_sd, 1e-5 * (1.0 / c->sd + fabs(dsd)));
    }
}

static void test_band_far(void)
{
    static const double sds[] = {1e-12, 1e-3, 1e9}, bests[] = {0.0, -1e-9, -1e9}, means[] = {-1e6, 0.29, 0.3, 1e9};
    const struct band   bands[] = {{0.3, 0.3}, {-1e5, 0.3}};
    for (size_t i = 0; i < 2 * 3 * 3 * 4; i++) {
        double dmean, dsd;
        double value = acq_band_log_ei(&bands[i % 2], bests[i / 2 % 3], means[i / 18], sds[i / 6 % 3], &dmean, &dsd);
        CU_ASSERT(!isnan(value) && value < 1e12 && !isnan(dmean) && !isnan(dsd));
    }
    const struct band widest = {-1e308, -1e308};
    CU_ASSERT_EQUAL(band_worth(&widest, 1e308), -1.7976931348623157e308);
    CU_ASSERT(band_worth(&bands[1], -7.3) == 0.0);
    CHECK_NEAR(band_worth(&bands[1], 0.55), -0.25, 1e-15);
}

static void test_band_moments(void)
{
    static const struct {
        struct band band;
        double      mean, sd, moment[2];
    } cases[] = {{{0.3, 0.3}, 0.217, 0.413, {-0.33615852847436222, 0.25388076676651066}},
                 {{-0.4, 0.9}, 1.7, 0.31, {-0.80048257210464314, 0.30860955932195815}},
                 {{-0.4, 0.9}, -2.3, 0.7, {-1.9007084807755531, 0.69787217054365613}}};
    for (size_t i = 0; i < 3; i++) {
        double             h = 1e-6;
        struct acq_moments at = acq_band_moments(&cases[i].band, cases[i].mean, cases[i].sd);
        CHECK_NEAR(at.mean, cases[i].moment[0], 1e-14);
        CHECK_NEAR(at.sd, cases[i].moment[1], 1e-11);
        for (int by = 0; by < 2; by++) {
            double             m = by == 0 ? h : 0.0, s = by == 1 ? h : 0.0;
            struct acq_moments up = acq_band_moments(&cases[i].band, cases[i].mean + m, cases[i].sd + s);
            struct acq_moments down = acq_band_moments(&cases[i].band, cases[i].mean - m, cases[i].sd - s);
            CHECK_NEAR(at.to[by][0], (up.mean - down.mean) / (2 * h), 1e-8);
            CHECK_NEAR(at.to[by][1], (up.sd - down.sd) / (2 * h), 1e-8);
        }
    }
}

/* Mean and covariance of many draws, within five standard errors. */
static void test_thompson(void)
{
    enum { M = 3, DRAWS = 4000 };
    static const double X[4] = {0.12, 0.37, 0.58, 0.91}, y[4] = {0.7, -0.4, 1.1, 0.2}, Z[M] = {0.25, 0.47, 0.75};
    double              l = 0.31, mean[M], C[M * M], draw[M], sum[M] = {0}, products[M * M] = {0};
    struct kernel       kernel = {.kind = &kernel_matern52, .dims = 1, .variance = 1.4, .length_scales = &l};
    struct arena        arena;
    struct gp           gp;
    arena_init(&arena, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(gp_init(&gp, &arena, &kernel, 0.01, 4, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_points(&gp, X, NULL, 4, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_values(&gp, y, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_joint(&gp, (struct points){Z, M}, mean, C, &arena, NULL), STATUS_OK);
    struct rng rng = rng_at(5, 1, RNG_TEST);
    for (size_t r = 0; r < DRAWS; r++) {
        CU_ASSERT_EQUAL_FATAL(acq_thompson(&gp, (struct points){Z, M}, &rng, draw, &arena, NULL), STATUS_OK);
        for (size_t i = 0; i < M; i++) {
            sum[i] += draw[i] / DRAWS;
            for (size_t k = 0; k <= i; k++)
                products[i * M + k] += (draw[i] - mean[i]) * (draw[k] - mean[k]) / DRAWS;
        }
    }
    for (size_t i = 0; i < M; i++) {
        CHECK_NEAR(sum[i], mean[i], 5.0 * sqrt(C[i * M + i] / DRAWS));
        for (size_t k = 0; k <= i; k++)
            CHECK_NEAR(products[i * M + k], C[i * M + k], 5.0 * sqrt(2.0 * C[i * M + i] * C[k * M + k] / DRAWS));
    }
    arena_fini(&arena);
    arena_init(&arena, 16);
    CU_ASSERT_EQUAL(acq_thompson(&gp, (struct points){Z, M}, &rng, draw, &arena, NULL), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* A score with its maximum 0 at a known encoded point. */
struct hill {
    size_t        dims;
    const double *top;
    bool          is_nan;
    size_t        scored;
    bool (*has)(const double *u, size_t dims); /* every evaluated u must pass */
    bool all_valid;
};

static double hill_slope(void *arg, const double *u, double *gradient)
{
    struct hill *hill = arg;
    double       value = 0.0;
    for (size_t j = 0; j < hill->dims; j++) {
        value -= (u[j] - hill->top[j]) * (u[j] - hill->top[j]) * (1.0 + (double)j);
        gradient[j] = -2.0 * (u[j] - hill->top[j]) * (1.0 + (double)j);
    }
    hill->all_valid &= hill->has == NULL || hill->has(u, hill->dims);
    return value;
}

static enum status hill_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct hill *hill = arg;
    double       gradient[16];
    (void)err;
    for (size_t k = 0; k < m; k++)
        out[k] = hill->is_nan ? NAN : hill_slope(arg, U + k * hill->dims, gradient);
    hill->scored += m;
    return STATUS_OK;
}

static const struct param mixed_params[] = {
    {.name = "lr", .kind = PARAM_DOUBLE, .scale = SCALE_LOG, .min = 1e-5, .max = 0.1},
    {.name = "layers", .kind = PARAM_INT, .min = 3, .max = 43},
    {.name = "optimizer", .kind = PARAM_CATEGORICAL, .max = 3, .choices = 4},
    {.name = "momentum", .kind = PARAM_DOUBLE, .min = -2.5, .max = 7.5},
};
static const struct param finite_params[] = {
    {.name = "a", .kind = PARAM_INT, .min = -2, .max = 2},
    {.name = "b", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
    {.name = "c", .kind = PARAM_INT, .min = 10, .max = 11},
};

/* Whether u is a point of the mixed space: the int at a step, the categorical one-hot. */
static bool is_mixed_point(const double *u, size_t dims)
{
    double step = u[1] * 40.0, hot = 0.0;
    for (size_t j = 2; j < 6; j++)
        hot += u[j] == 1.0 ? 1.0 : u[j] == 0.0 ? 0.0 : 7.0;
    return dims == 7 && fabs(step - round(step)) < 1e-9 && hot == 1.0 && u[0] >= 0.0 && u[0] <= 1.0 && u[6] >= 0.0 &&
           u[6] <= 1.0;
}

struct setting {
    struct arena       arena, scratch;
    struct space       space;
    struct used_points used;
    struct hill        hill;
    struct acq_search  search;
};

static void setting_init(struct setting *s, const struct param *params, size_t len, const double *top)
{
    *s = (struct setting){.space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = len}};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    arena_init(&s->arena, 1 << 20);
    arena_init(&s->scratch, 1 << 24);
    used_points_init(&s->used, &s->arena, &s->space, false);
    s->hill = (struct hill){.dims = s->space.dims, .top = top, .all_valid = true};
    s->search = (struct acq_search){.space = &s->space,
                                    .used = &s->used,
                                    .seed = 9,
                                    .trial = 31,
                                    .samples = 200,
                                    .starts = 3,
                                    .evaluations = 50,
                                    .scores = hill_scores,
                                    .slope = hill_slope,
                                    .arg = &s->hill};
}

static void setting_fini(struct setting *s)
{
    arena_fini(&s->arena);
    arena_fini(&s->scratch);
}

static const double mixed_top[7] = {0.3137, 0.6751, 0.1, 0.2, 0.9, 0.1, 0.8713};

static void test_mixed(void)
{
    struct setting s;
    double         point[4], again[4], fixed[4] = {NAN, 7, NAN, NAN}, anchor[4] = {1e-3, 20, 1, 3.3};
    setting_init(&s, mixed_params, 4, mixed_top);
    s.hill.has = is_mixed_point;
    CU_ASSERT_EQUAL_FATAL(acq_search_run(&s.search, point, &s.scratch, NULL), STATUS_OK);
    CU_ASSERT_TRUE(s.hill.all_valid);
    CU_ASSERT_TRUE(space_has(&s.space, point));
    CHECK_NEAR(log(point[0] / 1e-5) / log(1e4), 0.3137, 1e-5);
    CU_ASSERT_EQUAL(point[1], 30); /* 3 + 40 * 0.6751 = 30.004 */
    CU_ASSERT_EQUAL(point[2], 2);
    CHECK_NEAR(point[3], -2.5 + 10.0 * 0.8713, 1e-5);
    CU_ASSERT_EQUAL(acq_search_run(&s.search, again, &s.scratch, NULL), STATUS_OK);
    CU_ASSERT(memcmp(point, again, sizeof point) == 0);
    s.space.held = fixed;
    s.search.anchors = anchor;
    s.search.anchors_len = 1;
    fixed[0] = 2.385e-4;
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, NULL), STATUS_OK);
    CU_ASSERT(point[0] == 2.385e-4 && point[1] == 7 && point[2] == 2);
    CHECK_NEAR(point[3], -2.5 + 10.0 * 0.8713, 1e-5);
    setting_fini(&s);
}

/* Every point of a finite space comes once, the best first; then there is an end. */
static void test_finite(void)
{
    static const double top[6] = {0.9, 0.1, 0.8, 0.2, 0.3};
    struct setting      s;
    struct error        err;
    double              point[3], last = 1.0, fixed[3] = {NAN, 1, NAN}, u[5], ignored[5];
    setting_init(&s, finite_params, 3, top);
    CU_ASSERT_EQUAL_FATAL(s.space.dims, 5);
    for (size_t k = 0; k < 30; k++) {
        CU_ASSERT_EQUAL_FATAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_OK);
        CU_ASSERT_TRUE(space_has(&s.space, point));
        CU_ASSERT_FALSE(used_points_has(&s.used, point));
        space_encode(&s.space, point, u);
        double score = hill_slope(&s.hill, u, ignored);
        CU_ASSERT(score <= last);
        last = score;
        CU_ASSERT_EQUAL(used_points_add(&s.used, point, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(used_points_add(&s.used, point, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(s.used.used, k + 1);
    }
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.code, "search_space_exhausted");
    setting_fini(&s);
    setting_init(&s, finite_params, 3, top);
    s.space.held = fixed;
    CU_ASSERT_EQUAL(space_count(&s.space), 10);
    for (size_t k = 0; k < 10; k++) {
        CU_ASSERT_EQUAL_FATAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_OK);
        CU_ASSERT_EQUAL(point[1], 1);
        CU_ASSERT_EQUAL(used_points_add(&s.used, point, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_CONFLICT);
    setting_fini(&s);
}

/* Too many points to enumerate, nearly all used: the walk finds the ones that are left. */
static void test_nearly_used(void)
{
    static const struct param params[] = {{.name = "a", .kind = PARAM_INT, .min = 1, .max = 90},
                                          {.name = "b", .kind = PARAM_INT, .min = -30, .max = 30}};
    static const double       top[2] = {0.4, 0.6};
    struct setting            s;
    double                    point[2] = {1, -30};
    setting_init(&s, params, 2, top);
    for (size_t i = 0; i < 90 * 61; i++, (void)space_step(&s.space, point))
        if (!(point[0] == 71 && (point[1] == 5 || point[1] == -7)))
            CU_ASSERT_EQUAL(used_points_add(&s.used, point, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(s.used.used, 90 * 61 - 2);
    for (size_t k = 0; k < 2; k++) {
        CU_ASSERT_EQUAL_FATAL(acq_search_run(&s.search, point, &s.scratch, NULL), STATUS_OK);
        CU_ASSERT(point[0] == 71 && (point[1] == 5 || point[1] == -7));
        CU_ASSERT_EQUAL(used_points_add(&s.used, point, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, NULL), STATUS_CONFLICT);
    setting_fini(&s);
}

static bool countdown(void *arg)
{
    int *left = arg;
    return (*left)-- <= 0;
}

static void test_troubles(void)
{
    struct setting s;
    struct error   err;
    double         point[4];
    int            left = 0;
    setting_init(&s, mixed_params, 4, mixed_top);
    s.search.late = countdown;
    s.search.late_arg = &left;
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_OK);
    CU_ASSERT_TRUE(space_has(&s.space, point));
    CU_ASSERT_EQUAL(s.hill.scored, 32); /* late from the start: a few points all the same */
    s.hill.scored = 0;
    left = 1;
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_OK);
    CU_ASSERT_TRUE(space_has(&s.space, point));
    CU_ASSERT(s.hill.scored > 0 && s.hill.scored <= 256);
    s.search.late = NULL;
    s.hill.is_nan = true;
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_NUMERIC);
    arena_fini(&s.scratch);
    arena_init(&s.scratch, 1000);
    CU_ASSERT_EQUAL(acq_search_run(&s.search, point, &s.scratch, &err), STATUS_NO_MEMORY);
    setting_fini(&s);
}

CU_TestInfo suite_acq[] = {
    {"log h", test_log_h},
    {"gradients", test_gradients},
    {"band", test_band},
    {"far from a band", test_band_far},
    {"moments", test_band_moments},
    {"thompson", test_thompson},
    {"mixed space", test_mixed},
    {"finite space", test_finite},
    {"nearly used", test_nearly_used},
    {"troubles", test_troubles},
    CU_TEST_INFO_NULL,
};
