/* Search spaces: every refused bound, and encode/decode as properties over random spaces. */
#include "engine/math/rng.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double HUGE_INT = 9007199254740992.0;

static struct space space_of(const struct param *params, size_t n)
{
    return (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = n};
}

static void test_refused(void)
{
    static const struct {
        struct param param;
        const char  *code, *path;
    } bad[] = {
        {PARAM("a", DOUBLE, LINEAR, -INFINITY, 1, 0), "bad_bound", "/space/parameters/1/min"},
        {PARAM("a", DOUBLE, LINEAR, 0.5, NAN, 0), "bad_bound", "/space/parameters/1/max"},
        {PARAM("a", DOUBLE, LINEAR, 2.385, 2.3849, 0), "empty_range", "/space/parameters/1/max"},
        {{.name = "a", .kind = PARAM_INT, .min = 1, .max = 9, .step = 3}, "bad_step", "/space/parameters/1/step"},
        {{.name = "a", .kind = PARAM_INT, .min = 1, .max = 9, .step = 1.5}, "out_of_range", "/space/parameters/1/step"},
        {{.name = "a", .kind = PARAM_STEPPED, .max = 1, .step = 0.3}, "bad_step", "/space/parameters/1/step"},
        {{.name = "a", .kind = PARAM_STEPPED, .max = 1, .step = 1e-13}, "bad_step", "/space/parameters/1/step"},
        {{.name = "a", .kind = PARAM_STEPPED, .scale = SCALE_LOG, .min = 1, .max = 3, .step = 1},
         "bad_combination",
         "/space/parameters/1/scale"},
        {{.name = "a", .kind = PARAM_INT, .min = -9e15, .max = 9e15, .step = 2},
         "bad_step",
         "/space/parameters/1/step"},
        {{.name = "a", .min = 1, .max = 1, .prior = {PRIOR_NORMAL, 1, 1}},
         "bad_prior",
         "/space/parameters/1/prior/normal/stddev"},
        {PARAM("a", ORDINAL, LINEAR, 0, 4, 4), "too_many_values", "/space/parameters/1/values"},
        {PARAM("a", INT, LINEAR, 7, -3, 0), "empty_range", "/space/parameters/1/max"},
        {PARAM("a", DOUBLE, LINEAR, -1e308, 1e308, 0), "bad_bound", "/space/parameters/1/max"},
        {PARAM("a", DOUBLE, LOG, 0, 3, 0), "bad_bound", "/space/parameters/1/min"},
        {PARAM("a", INT, LOG, -4, 3, 0), "bad_bound", "/space/parameters/1/min"},
        {PARAM("a", INT, LINEAR, 1.5, 3, 0), "bad_bound", "/space/parameters/1/min"},
        {PARAM("a", INT, LINEAR, 1, 3.25, 0), "bad_bound", "/space/parameters/1/max"},
        {PARAM("a", INT, LINEAR, 1, 1e16, 0), "bad_bound", "/space/parameters/1/max"},
        {PARAM("a", CATEGORICAL, LINEAR, 0, 0, 0), "empty_categorical", "/space/parameters/1/values"},
        {PARAM("a", CATEGORICAL, LINEAR, 0, 4, 4), "too_many_values", "/space/parameters/1/values"},
        {PARAM("a", CATEGORICAL, LINEAR, 0, 4000, 4001), "too_many_values", "/space/parameters/1/values"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct param params[2] = {PARAM("ok", INT, LINEAR, 2, 9, 0), bad[i].param};
        struct space space = space_of(params, 2);
        struct error err = {0};
        CU_ASSERT(space_init(&space, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, bad[i].code) == 0);
        CU_ASSERT(strcmp(err.path, bad[i].path) == 0);
    }
}

static void test_sizes(void)
{
    static struct param many[SPACE_PARAMS_MAX + 1];
    for (size_t i = 0; i < SPACE_PARAMS_MAX + 1; i++)
        many[i] = (struct param)PARAM("c", CATEGORICAL, LINEAR, 0, 4, 5);
    struct {
        struct space space;
        const char  *path;
    } bad[] = {
        {space_of(many, 0), "/space/parameters"},
        {space_of(many, SPACE_PARAMS_MAX + 1), "/space/parameters"},
        {space_of(many, 801), "/space/parameters"}, /* 4005 coordinates */
        {{.kind = SPACE_CANDIDATES, .rows_len = 0, .columns = 3}, "/space/rows"},
        {{.kind = SPACE_CANDIDATES, .rows_len = 1000001, .columns = 3}, "/space/rows"},
        {{.kind = SPACE_CANDIDATES, .rows_len = 3, .columns = 0}, "/space/columns"},
        {{.kind = SPACE_CANDIDATES, .rows_len = 3, .columns = 1025}, "/space/columns"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error err = {0};
        CU_ASSERT(space_init(&bad[i].space, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.path, bad[i].path) == 0);
    }
    struct space full = space_of(many, 800);
    CU_ASSERT(space_init(&full, NULL) == STATUS_OK && full.dims == 4000);
    struct space rows = {.kind = SPACE_CANDIDATES, .rows_len = 1000000, .columns = 1024};
    CU_ASSERT(space_init(&rows, NULL) == STATUS_OK && space_count(&rows) == 1000000);
}

static void test_values(void)
{
    const struct param params[] = {
        PARAM("lr", DOUBLE, LOG, 1e-5, 0.1, 0),
        PARAM("layers", INT, LINEAR, -2, 6, 0),
        PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
        PARAM("width", INT, LOG, 1, 1024, 0),
    };
    struct space space = space_of(params, 4);
    double       point[4] = {1e-3, 4, 1, 32}, u[6], back[4];
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK && space.dims == 6);
    space_encode(&space, point, u);
    CHECK_NEAR(u[0], 0.5, 1e-15);
    CHECK_NEAR(u[1], 0.75, 1e-15);
    CU_ASSERT(u[2] == 0 && u[3] == 1 && u[4] == 0);
    CHECK_NEAR(u[5], 0.5, 1e-15);
    space_decode(&space, (double[]){0.25, 0.44, 0.3, 0.2, 0.31, 0.9}, back);
    CHECK_NEAR(back[0], 1e-4, 1e-18);
    CU_ASSERT(back[1] == 2 && back[2] == 2 && back[3] == 512);
    space_decode(&space, (double[]){NAN, -7, NAN, NAN, NAN, INFINITY}, back);
    CU_ASSERT(back[0] == 1e-5 && back[1] == -2 && back[2] == 0 && back[3] == 1024);
    space_decode(&space, (double[]){2, NAN, -1, NAN, -2, 0.0001}, back);
    CU_ASSERT(back[0] == 0.1 && back[1] == -2 && back[2] == 1 && back[3] == 1);
    CU_ASSERT(space_has(&space, point) && space_has(&space, back));
    CU_ASSERT(space_count(&space) == SIZE_MAX);
}

static void test_has(void)
{
    const struct param params[] = {PARAM("x", DOUBLE, LINEAR, -1.5, 2.25, 0), PARAM("k", INT, LINEAR, -2, 6, 0),
                                   PARAM("c", CATEGORICAL, LINEAR, 0, 2, 3)};
    const double       bad[][3] = {{-1.5000001, 1, 1}, {2.3, 1, 1},  {NAN, 1, 1}, {0.1, 0.5, 1}, {0.1, 7, 1},
                                   {0.1, -3, 1},       {0.1, 1, -1}, {0.1, 1, 3}, {0.1, 1, 0.5}, {INFINITY, 1, 1}};
    struct space       space = space_of(params, 3);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT(space_has(&space, (double[]){-1.5, 6, 2}) && space_has(&space, (double[]){2.25, -2, 0}));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT(!space_has(&space, bad[i]));
}

static void test_counts(void)
{
    struct param params[] = {PARAM("k", INT, LOG, 3, 9, 0), PARAM("c", CATEGORICAL, LINEAR, 0, 4, 5)};
    struct space space = space_of(params, 2);
    CU_ASSERT(space_count(&space) == 35);
    params[0] = (struct param)PARAM("k", INT, LINEAR, -HUGE_INT / 2, HUGE_INT / 2 - 1, 0);
    CU_ASSERT(space_count(&space) == SIZE_MAX);
    space.params_len = 1;
    CU_ASSERT(space_count(&space) == 9007199254740992u);
    params[0].min -= 10;
    CU_ASSERT(space_count(&space) == SIZE_MAX);
}

/* Ranges as awkward as they come: subnormal, one ulp wide, 600 decades. */
static void test_extremes(void)
{
    const struct param params[] = {
        PARAM("tiny", DOUBLE, LOG, 5e-324, 1e-323, 0),
        PARAM("wide", DOUBLE, LOG, 5e-324, 1.7e308, 0),
        PARAM("ulp", DOUBLE, LINEAR, 0.99999999999999989, 1, 0),
        PARAM("ulp log", DOUBLE, LOG, 0.99999999999999989, 1, 0),
        PARAM("huge", DOUBLE, LINEAR, -8e307, 8e307, 0),
        PARAM("ints", INT, LINEAR, -HUGE_INT, HUGE_INT, 0),
        PARAM("log ints", INT, LOG, 1, HUGE_INT, 0),
    };
    struct space space = space_of(params, 7);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    struct rng rng = rng_at(4, 4, RNG_TEST);
    for (int i = 0; i < 2000; i++) {
        double u[7], point[7], back[7], again[7];
        for (size_t j = 0; j < 7; j++)
            u[j] = i == 0 ? 0 : i == 1 ? 1 : rng_uniform(&rng);
        space_decode(&space, u, point);
        space_quantile(&space, u, back);
        CU_ASSERT(space_has(&space, point) && space_has(&space, back));
        space_encode(&space, point, again);
        for (size_t j = 0; j < 7; j++) {
            CU_ASSERT(again[j] >= 0 && again[j] <= 1);
            CHECK_NEAR(again[j], u[j], j == 1 || j > 3 ? 0.02 : 1); /* small log ints are far apart */
        }
    }
}

enum { VALUES = 5 };

/* values [VALUES] is storage for a discrete parameter. */
static void random_param(struct rng *rng, struct param *p, double *values)
{
    double a = rng_normal(rng) * pow(10, 6 * rng_uniform(rng) - 3);
    *p =
        (struct param){.name = "p", .kind = (enum param_kind)rng_below(rng, 4), .scale = (enum scale)rng_below(rng, 3)};
    if (p->kind == PARAM_CATEGORICAL) {
        p->choices = 1 + rng_below(rng, 7);
        p->max = (double)(p->choices - 1);
        return;
    }
    p->min = p->scale != SCALE_LINEAR ? fabs(a) : a;
    p->max = p->min + fabs(a) * pow(10, 12 * rng_uniform(rng) - 4);
    if (p->kind == PARAM_DISCRETE) {
        p->choices = VALUES;
        p->values = values;
        for (size_t k = 0; k < VALUES; k++)
            values[k] = p->min + (p->max - p->min) * (double)k / (VALUES - 1);
        values[VALUES - 1] = p->max;
    }
    if (p->kind == PARAM_INT) {
        p->min = floor(p->min) + (p->scale != SCALE_LINEAR);
        p->max = floor(p->max) + 2;
    }
}

static void check_round_trip(const struct space *space, struct rng *rng)
{
    double v[6], point[6], u[42], back[6];
    for (size_t j = 0; j < space->params_len; j++)
        v[j] = rng_uniform(rng);
    space_quantile(space, v, point);
    CU_ASSERT(space_has(space, point));
    space_encode(space, point, u);
    space_decode(space, u, back);
    for (size_t j = 0; j < space->params_len; j++) {
        const struct param *p = &space->params[j];
        double              scale = p->scale == SCALE_LINEAR ? fmax(fabs(p->min), fabs(p->max))
                                    : p->scale == SCALE_LOG  ? point[j] * (1 + fabs(log(p->max / p->min)))
                                                             : p->max * (1 + fabs(log(p->max / p->min)));
        CHECK_NEAR(back[j], point[j], p->kind == PARAM_DOUBLE ? 4 * DBL_EPSILON * scale : 0);
    }
}

static void test_round_trips(void)
{
    struct rng rng = rng_at(5, 5, RNG_TEST);
    for (int i = 0; i < 3000; i++) {
        struct param params[6];
        double       values[6][VALUES];
        struct space space = space_of(params, 1 + rng_below(&rng, 6));
        for (size_t j = 0; j < space.params_len; j++)
            random_param(&rng, &params[j], values[j]);
        CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
        check_round_trip(&space, &rng);
    }
}

/* End values of an int have their full share; a log int follows the logarithm. */
static void test_quantiles(void)
{
    enum { N = 60000 };
    const struct param params[] = {PARAM("k", INT, LINEAR, 3, 8, 0), PARAM("l", INT, LOG, 1, 3, 0)};
    struct space       space = space_of(params, 2);
    int                linear[6] = {0}, logarithmic[3] = {0};
    for (int i = 0; i < N; i++) {
        double point[2], v = (i + 0.5) / N;
        space_quantile(&space, (double[]){v, v}, point);
        linear[(int)point[0] - 3]++;
        logarithmic[(int)point[1] - 1]++;
    }
    for (int k = 0; k < 6; k++)
        CU_ASSERT(abs(linear[k] - N / 6) <= 1);
    for (int k = 0; k < 3; k++) /* P(k) = ln((k + 1/2) / (k - 1/2)) / ln 7, k = 1, 2, 3 */
        CHECK_NEAR(logarithmic[k], N * log((k + 1.5) / (k + 0.5)) / log(7), 1.5);
}

CU_TestInfo suite_space[] = {
    {"refused bounds", test_refused},  {"sizes", test_sizes},         {"values", test_values},
    {"membership", test_has},          {"counts", test_counts},       {"extremes", test_extremes},
    {"round trips", test_round_trips}, {"quantiles", test_quantiles}, CU_TEST_INFO_NULL,
};
