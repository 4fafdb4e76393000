/* Leave-one-out predictions from the factor against models that never saw the point; the condition bound. */
#include "engine/policy/session.h"
#include "engine/gp/gp_loo.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { N = 61, D = 2, LARGE = 600 };
static const double scales[D] = {0.37, 0.81};
static const double NOISE = 0.021;

struct data {
    double X[LARGE * D], y[LARGE], noise[LARGE];
};

static void data_fill(struct data *data, size_t n)
{
    struct rng rng = rng_at(71, 5, RNG_TEST);
    for (size_t i = 0; i < n; i++) {
        double *x = data->X + i * D;
        x[0] = rng_uniform(&rng);
        x[1] = rng_uniform(&rng);
        data->y[i] = sin(6.1 * x[0]) * (0.3 + x[1]) + 0.12 * rng_normal(&rng);
        data->noise[i] = i % 3 == 0 ? 0.04 * rng_uniform(&rng) : 0.0;
    }
}

static void gp_of(struct gp *gp, struct arena *arena, const struct data *data, size_t n, size_t capacity)
{
    struct kernel kernel = {.kind = &kernel_matern52, .dims = D, .variance = 1.43, .length_scales = scales};
    CU_ASSERT_EQUAL_FATAL(gp_init(gp, arena, &kernel, NOISE, capacity, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_points(gp, data->X, data->noise, n, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_set_values(gp, data->y, NULL), STATUS_OK);
}

/* The prediction at point i by a model of all the others, its noise included. */
static void predict_without(const struct data *data, size_t n, size_t i, double *mean, double *sd)
{
    static struct data rest;
    struct arena       arena;
    struct gp          gp;
    double             var;
    size_t             after = n - i - 1;
    rest = *data;
    memmove(rest.X + i * D, rest.X + (i + 1) * D, after * D * sizeof *rest.X);
    memmove(rest.y + i, rest.y + i + 1, after * sizeof *rest.y);
    memmove(rest.noise + i, rest.noise + i + 1, after * sizeof *rest.noise);
    arena_init(&arena, 1 << 25);
    gp_of(&gp, &arena, &rest, n - 1, n - 1);
    CU_ASSERT_EQUAL_FATAL(gp_posterior(&gp, (struct points){data->X + i * D, 1}, mean, &var, &arena, NULL), STATUS_OK);
    *sd = sqrt(var + NOISE + data->noise[i]);
    arena_fini(&arena);
}

static void test_refits(void)
{
    static struct data data;
    struct arena       arena;
    struct gp          gp;
    double             mean[N], sd[N], expected_mean, expected_sd;
    data_fill(&data, N);
    memcpy(data.X + 7 * D, data.X + 6 * D, D * sizeof *data.X); /* an exact duplicate */
    arena_init(&arena, 1 << 22);
    gp_of(&gp, &arena, &data, N, N + 9);
    CU_ASSERT_EQUAL_FATAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = N}, mean, sd, &arena, NULL), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        predict_without(&data, N, i, &expected_mean, &expected_sd);
        CHECK_NEAR(mean[i], expected_mean, 1e-11);
        CHECK_NEAR(sd[i], expected_sd, 1e-11);
        CU_ASSERT(sd[i] > sqrt(NOISE));
    }
    arena_fini(&arena);
}

/* More observations than are worked on at once; and pending points behind them change nothing. */
static void test_chunks(void)
{
    static struct data data;
    static double      mean[LARGE], sd[LARGE], again[LARGE], sd_again[LARGE];
    struct arena       arena;
    struct gp          gp;
    const size_t       some[] = {0, 255, 256, 511, 512, 599};
    double             expected_mean, expected_sd;
    data_fill(&data, LARGE);
    arena_init(&arena, 1 << 25);
    gp_of(&gp, &arena, &data, LARGE, LARGE + 2);
    CU_ASSERT_EQUAL_FATAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = LARGE}, mean, sd, &arena, NULL), STATUS_OK);
    for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
        predict_without(&data, LARGE, some[k], &expected_mean, &expected_sd);
        CHECK_NEAR(mean[some[k]], expected_mean, 1e-10);
        CHECK_NEAR(sd[some[k]], expected_sd, 1e-10);
    }
    CU_ASSERT_EQUAL_FATAL(gp_append(&gp, (const double[D]){0.415, 0.77}, 0.0, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = LARGE}, again, sd_again, &arena, NULL),
                          STATUS_OK);
    CU_ASSERT(memcmp(mean, again, sizeof mean) == 0 && memcmp(sd, sd_again, sizeof sd) == 0);
    arena_fini(&arena);
}

static bool third_time(void *times)
{
    return ++*(int *)times == 3;
}

/* Asked before each part, of which there are three. */
static void test_who_is_late_ends_it(void)
{
    static struct data data;
    static double      mean[LARGE], sd[LARGE];
    struct arena       arena;
    struct gp          gp;
    struct error       err;
    data_fill(&data, LARGE);
    arena_init(&arena, 1 << 25);
    gp_of(&gp, &arena, &data, LARGE, LARGE);
    for (int times = 0; times < 4; times += 3) {
        int              asked = times;
        struct gp_values values = {.at = data.y, .n = LARGE, .late = third_time, .late_arg = &asked};
        enum status      status = gp_loo(&gp, values, mean, sd, &arena, &err);
        CU_ASSERT_EQUAL(status, times == 0 ? STATUS_BUSY : STATUS_OK);
        CU_ASSERT(status == STATUS_OK || strcmp(err.code, "deadline") == 0);
        CU_ASSERT_EQUAL(asked, times + 3);
    }
    arena_fini(&arena);
}

/* With a single observation the rest is the prior. */
static void test_alone(void)
{
    static struct data data;
    struct arena       arena;
    struct gp          gp;
    double             mean, sd;
    data_fill(&data, 1);
    arena_init(&arena, 1 << 20);
    gp_of(&gp, &arena, &data, 1, 1);
    CU_ASSERT_EQUAL_FATAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = 1}, &mean, &sd, &arena, NULL), STATUS_OK);
    CHECK_NEAR(mean, 0.0, 1e-15);
    CHECK_NEAR(sd, sqrt(1.43 + NOISE + data.noise[0]), 1e-14);
    arena_fini(&arena);
}

/* --- through the algorithms --- */

enum { ROWS = 30, COLUMNS = 2, SEEN = 19, OPTIONS_MAX = 32 };

/* A session of po-gp-ucb with given hyper-parameters that observed the first SEEN rows, but for one. */
static struct session *session_without(const struct problem *problem, const double *values, size_t left_out)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    struct session      *session;
    CU_ASSERT_EQUAL_FATAL(session_open(policy, problem, &session, NULL), STATUS_OK);
    for (size_t i = 0; i < SEEN; i++) {
        struct event event = {.kind = EVENT_SUGGESTED, .trial = 40 - i, .row = i % (SEEN - 1)};
        if (i == left_out)
            continue;
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        event.kind = EVENT_OBSERVED;
        event.value = values[i];
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
    }
    return session;
}

/* Row 0 is observed twice, and trials have falling numbers. */
static void test_candidates(void)
{
    static const struct {
        const char *name;
        double      value;
    } given[] = {{"length_scale", 0.43}, {"signal_variance", 2.385}, {"noise_variance", 0.031}, {"mean", 7.1}};
    const struct policy *policy = policy_find("po-gp-ucb");
    double               rows[ROWS * COLUMNS], values[SEEN], options[OPTIONS_MAX], mean, sd, observed;
    struct space         space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = ROWS, .columns = COLUMNS};
    struct problem       problem = {.space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 22};
    struct rng           rng = rng_at(17, 4, RNG_TEST);
    struct arena         arena;
    struct residual     *r;
    size_t               len;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        rows[i] = rng_uniform(&rng);
    for (size_t i = 0; i < SEEN; i++)
        values[i] = 6.5 + rows[i % (SEEN - 1) * COLUMNS] + 0.2 * rng_normal(&rng);
    policy_defaults(policy, options);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        options[policy_option(policy, given[i].name)] = given[i].value;
    arena_init(&arena, 1 << 20);
    struct session *whole = session_without(&problem, values, SEEN);
    CU_ASSERT_EQUAL_FATAL(policy->residuals(whole, NULL, &arena, &r, &len, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(len, SEEN);
    for (size_t k = 0; k < SEEN; k++) { /* by trial: the last observed comes first */
        size_t          i = SEEN - 1 - k, row = i % (SEEN - 1);
        struct session *session = session_without(&problem, values, i);
        CU_ASSERT_EQUAL_FATAL(
            policy->predict(
                session, &(struct prediction){.rows = &row, .m = 1, .mean = &mean, .sd = &sd, .sd_observed = &observed},
                NULL),
            STATUS_OK);
        CU_ASSERT(r[k].trial == 40 - i && r[k].value == values[i]);
        CHECK_NEAR(r[k].mean, mean, 1e-6); /* predict rounds to single inside */
        CHECK_NEAR(r[k].sd, sd, 1e-6);
        CHECK_NEAR(r[k].sd_observed, observed, 1e-6);
        CHECK_NEAR(observed, sqrt(sd * sd + 0.031), 1e-6);
        CHECK_NEAR(r[k].z, (r[k].value - r[k].mean) / r[k].sd_observed, 1e-12);
        CHECK_NEAR(exp(r[k].log_density), exp(-0.5 * r[k].z * r[k].z) / r[k].sd_observed / sqrt(8.0 * atan(1.0)),
                   1e-12);
        session_close(session);
    }
    session_close(whole);
    arena_fini(&arena);
}

/* Residuals of 14 values in this unit. */
static void residuals_in_unit(double unit, struct arena *arena, struct residual **out)
{
    static const struct param params[] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -2.5, .max = 4.125}};
    const struct policy      *policy = policy_find("gp");
    struct space              space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 1};
    double                    options[OPTIONS_MAX];
    struct problem            problem = {.space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24};
    struct session           *session;
    size_t                    len;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    CU_ASSERT_EQUAL_FATAL(session_open(policy, &problem, &session, NULL), STATUS_OK);
    for (uint64_t trial = 1; trial <= 14; trial++) {
        double       x = -2.5 + 0.41 * (double)trial;
        struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = &x, .value = unit * sin(1.3 * x)};
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        event.kind = EVENT_OBSERVED;
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL_FATAL(policy->residuals(session, NULL, arena, out, &len, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(len, 14);
    session_close(session);
}

/* Outputs of any size: residuals scale with them, z does not. */
static void test_scale(void)
{
    const double     units[] = {1e300, 1e-300};
    struct residual *r, *s;
    struct arena     arena;
    arena_init(&arena, 1 << 20);
    residuals_in_unit(1.0, &arena, &r);
    for (size_t u = 0; u < 2; u++) {
        residuals_in_unit(units[u], &arena, &s);
        for (size_t i = 0; i < 14; i++) {
            CHECK_NEAR(s[i].mean / units[u], r[i].mean, 1e-6);
            CHECK_NEAR(s[i].sd / units[u], r[i].sd, 1e-6 * r[i].sd);
            CHECK_NEAR(s[i].z, r[i].z, 1e-3);
            CHECK_NEAR(s[i].log_density, r[i].log_density - log(units[u]), 1e-3);
        }
    }
    arena_fini(&arena);
}

static void test_failures(void)
{
    static struct data data;
    struct arena       arena, small;
    struct gp          gp;
    double             mean[N], sd[N];
    data_fill(&data, N);
    arena_init(&arena, 1 << 22);
    arena_init(&small, 4096);
    gp_of(&gp, &arena, &data, N, N);
    CU_ASSERT_EQUAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = N}, mean, sd, &small, NULL), STATUS_NO_MEMORY);
    gp.L[11 * gp.capacity + 11] = 0.0;
    CU_ASSERT_EQUAL(gp_loo(&gp, (struct gp_values){.at = data.y, .n = N}, mean, sd, &arena, NULL), STATUS_NUMERIC);
    arena_fini(&arena);
    arena_fini(&small);
}

static void test_condition(void)
{
    const double L[9] = {2.0, NAN, NAN, 0.3, 0.25, NAN, 7.0, 0.1, 1.1};
    CHECK_NEAR(gp_loo_condition(L, 3, 3), 64.0, 1e-12);
    CHECK_NEAR(gp_loo_condition(L, 1, 3), 1.0, 0.0);
    CHECK_NEAR(gp_loo_condition(L, 0, 3), 1.0, 0.0);
}

CU_TestInfo suite_gp_loo[] = {
    {"against refits", test_refits},
    {"in chunks, with pending points", test_chunks},
    {"a single observation", test_alone},
    {"who is late ends it", test_who_is_late_ends_it},
    {"failures", test_failures},
    {"candidates against sessions without the trial", test_candidates},
    {"outputs of any size", test_scale},
    {"condition", test_condition},
    CU_TEST_INFO_NULL,
};
