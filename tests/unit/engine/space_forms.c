/* Spaces beyond the box: reverse_log and discrete numbers, priors against scipy, conditions, and constraints as
 * properties over random spaces, with brute force where there are few points. */
#include "engine/acquisition/acq_search.h"
#include "engine/math/rng.h"
#include "engine/math/simplex.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one parameter --- */

static void test_reverse_log(void)
{
    const struct param  p = {.name = "m", .min = 0.125, .max = 8.125, .scale = SCALE_REVERSE_LOG};
    static const double x[] = {0.125, 0.4, 2.385, 7.1, 8.0625, 8.125};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        double u, slope = param_slope(&p, x[i]), above, below;
        param_encode(&p, x[i], &u);
        CHECK_NEAR(u, 1 - log((8.25 - x[i]) / 0.125) / log(65), 1e-15);
        CHECK_NEAR(param_decode(&p, &u), x[i], 1e-14);
        if (i == 0 || i == 5)
            continue;
        above = param_decode(&p, &(double){u + 1e-6});
        below = param_decode(&p, &(double){u - 1e-6});
        CHECK_NEAR(slope, (above - below) / 2e-6, 1e-6 * slope);
    }
    /* as fine near max as log is near min */
    const struct param fine = {.name = "m", .min = 1e-9, .max = 1, .scale = SCALE_REVERSE_LOG};
    double             u;
    param_encode(&fine, 1 - 1e-8, &u);
    CHECK_NEAR(u, 1 - log(11) / log(1e9), 1e-8);
    CHECK_NEAR(1 - param_decode(&fine, &u), 1e-8, 1e-15);
}

static void test_discrete(void)
{
    static const double values[] = {0.1, 0.5, 2, 20};
    const struct param  p = {
         .name = "d", .kind = PARAM_DISCRETE, .scale = SCALE_LOG, .min = 0.1, .max = 20, .choices = 4, .values = values};
    const double bad[] = {0.2, 0.49999999999999994, 0.09, 20.1, NAN, INFINITY};
    struct error err;
    double       u;
    CU_ASSERT(param_check(&p, 0, &err) == STATUS_OK && param_count(&p) == 4);
    for (size_t k = 0; k < 4; k++) {
        CU_ASSERT(param_has(&p, values[k]) && param_index(&p, values[k]) == (double)k);
        CU_ASSERT(param_value(&p, (double)k) == values[k]);
        CU_ASSERT(param_quantile(&p, 0.25 * (double)k) == values[k]);
        CU_ASSERT(param_quantile(&p, 0.2499 + 0.25 * (double)k) == values[k]);
        param_encode(&p, values[k], &u);
        CHECK_NEAR(u, log(values[k] / 0.1) / log(200), 1e-15);
        CU_ASSERT(param_decode(&p, &u) == values[k]);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        CU_ASSERT(!param_has(&p, bad[k]));
    u = log(9.9) / log(200); /* 0.99, just below the geometric mean of 0.5 and 2 */
    CU_ASSERT(param_decode(&p, &u) == 0.5);
    u = log(10.1) / log(200);
    CU_ASSERT(param_decode(&p, &u) == 2);
    CU_ASSERT(param_quantile_within(&p, 0.11, 19, 0) == 0.5 && param_quantile_within(&p, 0.11, 19, 0.99) == 2);
    CU_ASSERT(isnan(param_quantile_within(&p, 0.6, 1.9, 0.5)) && isnan(param_quantile_within(&p, 3, 2.5, 0.5)));
}

/* References: scipy.stats.beta.ppf and truncnorm.ppf (SciPy 1.10). */
static void test_priors(void)
{
    static const struct {
        double          min, max, a, b, v, x;
        enum prior_kind kind;
    } rows[] = {
        {0, 1, 2, 5, 0.3, 0.18180347131894917, PRIOR_BETA},
        {0, 1, 0.5, 0.75, 0.9, 0.90149960229458836, PRIOR_BETA},
        {0, 1, 20, 60, 0.025, 0.16200592898349295, PRIOR_BETA},
        {0, 1, 0.01, 3, 0.6, 1.4668357443393277e-23, PRIOR_BETA},
        {0, 1, 1e4, 2e3, 0.77, 0.83585525376741843, PRIOR_BETA},
        {0, 1, 1, 1, 0.385, 0.385, PRIOR_BETA},
        {1e-5, 0.1, 0.01, 0.003, 0.3, 0.0084294205307732326, PRIOR_NORMAL},
        {-2, 7, 6.5, 1.5, 0.9, 6.7550299943636665, PRIOR_NORMAL},
        {-2, 7, -2, 0.25, 0.0125, -1.9960832330938074, PRIOR_NORMAL},
        {0, 1, 0.5, 300, 0.7, 0.69999992222204899, PRIOR_NORMAL},
        {-2, 7, 7, 1e-6, 0.4, 6.9999991583787669, PRIOR_NORMAL},
    };
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct param p = {
            .name = "p", .min = rows[i].min, .max = rows[i].max, .prior = {rows[i].kind, rows[i].a, rows[i].b}};
        CU_ASSERT(param_check(&p, 0, &err) == STATUS_OK);
        CHECK_NEAR(param_prior_quantile(&p, rows[i].v), rows[i].x, 2e-11 * fabs(rows[i].x));
        for (double v = -0.5; v < 1.6; v += 0.125)
            CU_ASSERT(param_has(&p, param_prior_quantile(&p, v)));
    }
}

/* The shares of an int and of discrete numbers are those of the prior around each. */
static void test_prior_shares(void)
{
    enum { N = 20000 };
    static const double values[] = {1, 2, 4};
    const struct param  k = {.name = "k", .kind = PARAM_INT, .min = 0, .max = 3, .prior = {PRIOR_NORMAL, 1.25, 0.8}};
    const struct param  d = {.name = "d",
                             .kind = PARAM_DISCRETE,
                             .min = 1,
                             .max = 4,
                             .choices = 3,
                             .values = values,
                             .prior = {PRIOR_BETA, 1, 3}};
    double              ints[4] = {0}, thirds[3] = {0}, all = erf(2.25 / 0.8 / sqrt(2)) + erf(1.75 / 0.8 / sqrt(2));
    for (int i = 0; i < N; i++) {
        ints[(int)param_prior_quantile(&k, (i + 0.5) / N)]++;
        thirds[(int)param_index(&d, param_prior_quantile(&d, (i + 0.5) / N))]++;
    }
    for (int j = 0; j < 4; j++)
        CHECK_NEAR(ints[j], N * (erf((j - 0.75) / 0.8 / sqrt(2)) - erf((j - 1.75) / 0.8 / sqrt(2))) / all, 1.5);
    for (int j = 0; j < 3; j++) /* I_x(1, 3) = 1 - (1 - x)^3 */
        CHECK_NEAR(thirds[j], N * (pow((3 - j) / 3.0, 3) - pow((2 - j) / 3.0, 3)), 1.5);
}

/* --- what is refused --- */

static const double one_two[] = {1, 2}, three[] = {3}, half[] = {0.5}, falling[] = {2, 1, 3},
                    tight[] = {1, 1.0000000000000002, 4};

static void test_refused_params(void)
{
    static const struct condition later[] = {{.parent = 3, .values = one_two, .values_len = 2}},
                                  of_double[] = {{.parent = 0, .values = half, .values_len = 1}},
                                  none[] = {{.parent = 1, .values = one_two, .values_len = 0}},
                                  outside[] = {{.parent = 1, .values = half, .values_len = 1}},
                                  one[] = {{.parent = 1, .values = one_two, .values_len = 2}},
                                  never[] = {{.parent = 2, .values = one_two, .values_len = 2},
                                             {.parent = 1, .values = three, .values_len = 1}};
    static const struct {
        struct param param;
        const char  *code, *path;
    } rows[] = {
        {{.kind = PARAM_DISCRETE, .min = 1, .max = 1, .choices = 0, .values = one_two}, "out_of_range", "values"},
        {{.kind = PARAM_DISCRETE, .min = 2, .max = 3, .choices = 3, .values = falling}, "too_close", "values"},
        {{.kind = PARAM_DISCRETE, .min = 1, .max = 4, .choices = 3, .values = tight}, "too_close", "values"},
        {{.kind = PARAM_DISCRETE, .min = 0, .max = 2, .choices = 2, .values = one_two}, "bad_bound", "values"},
        {{.min = 0, .max = 2, .scale = SCALE_REVERSE_LOG}, "bad_bound", "min"},
        {{.max = 2, .when = later, .when_len = 1}, "bad_condition", "when"},
        {{.max = 2, .when = of_double, .when_len = 1}, "bad_condition", "when"},
        {{.max = 2, .when = none, .when_len = 1}, "bad_condition", "when"},
        {{.max = 2, .when = outside, .when_len = 1}, "bad_condition", "when"},
        {{.max = 2, .when = never, .when_len = 2}, "impossible_condition", "when"},
        {{.max = 2, .when = never, .when_len = 65}, "out_of_range", "when"},
        {{.max = 2, .prior = {PRIOR_NORMAL, 2.385, 1}}, "bad_prior", "prior/normal/mean"},
        {{.max = 2, .prior = {PRIOR_NORMAL, 1, 1e-10}}, "bad_prior", "prior/normal/stddev"},
        {{.max = 2, .prior = {PRIOR_NORMAL, NAN, 1}}, "bad_prior", "prior/normal/mean"},
        {{.max = 2, .prior = {PRIOR_BETA, 0.001, 1}}, "bad_prior", "prior/beta/a"},
        {{.max = 2, .prior = {PRIOR_BETA, 1, INFINITY}}, "bad_prior", "prior/beta/b"},
        {{.kind = PARAM_CATEGORICAL, .max = 2, .choices = 3, .prior = {PRIOR_BETA, 1, 1}}, "bad_prior", "prior"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct param params[] = {PARAM("x", DOUBLE, LINEAR, 0, 1, 0),
                                       PARAM("k", INT, LINEAR, 0, 4, 0),
                                       {.name = "q", .kind = PARAM_INT, .max = 4, .when = one, .when_len = 1},
                                       rows[i].param};
        struct space       space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 4};
        struct error       err = {0};
        char               path[64];
        (void)snprintf(path, sizeof path, "/space/parameters/3/%s", rows[i].path);
        CU_ASSERT(space_init(&space, &err) == STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        CU_ASSERT_STRING_EQUAL(err.path, path);
    }
}

static void test_refused_constraints(void)
{
    static const size_t xk[] = {0, 1}, twice[] = {1, 1}, categorical[] = {0, 2}, conditional[] = {0, 3}, far[] = {0, 5},
                        positive[] = {4};
    static const double ones[] = {1, 1}, zero[] = {1, 0}, nan_too[] = {1, NAN}, huge[] = {1e308, 1};
    static const struct {
        struct constraint constraint;
        const char       *code, *path;
    } rows[] = {
        {{xk, ones, 0, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{twice, ones, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{categorical, ones, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{conditional, ones, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{far, ones, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{xk, zero, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{xk, nan_too, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{xk, huge, 2, 0, 1, .is_product = false}, "bad_constraint", "/space/constraints/0/coefficients"},
        {{xk, ones, 2, -INFINITY, INFINITY, .is_product = false}, "bad_constraint", "/space/constraints/0"},
        {{xk, ones, 2, NAN, 1, .is_product = false}, "bad_constraint", "/space/constraints/0"},
        {{xk, ones, 2, 2.385, 2.3849, .is_product = false}, "empty_range", "/space/constraints/0/max"},
        {{xk, ones, 2, 1e4, 1e4, .is_product = false}, "no_feasible_point", "/space/constraints/0/equals"},
        {{xk, ones, 2, 0.5, 1, .is_product = true}, "bad_constraint", "/space/constraints/0/product"}, /* with 0 */
        {{positive, ones, 1, 0, 1, .is_product = true}, "bad_constraint", "/space/constraints/0/min"},
        {{positive, ones, 1, -INFINITY, -1, .is_product = true}, "bad_constraint", "/space/constraints/0/max"},
        {{positive, huge, 1, 0.5, 1, .is_product = true}, "bad_constraint", "/space/constraints/0/product"},
        {{positive, ones, 0, 0.5, 1, .is_product = true}, "bad_constraint", "/space/constraints/0/product"},
    };
    static const struct condition one[] = {{.parent = 1, .values = one_two, .values_len = 2}};
    const struct param            params[] = {PARAM("x", DOUBLE, LINEAR, 0, 1, 0),
                                              PARAM("k", INT, LINEAR, 0, 4, 0),
                                              PARAM("c", CATEGORICAL, LINEAR, 0, 1, 2),
                                              {.name = "y", .max = 1, .when = one, .when_len = 1},
                                              PARAM("z", DOUBLE, LOG, 0.125, 1e30, 0)};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        struct space space = {.kind = SPACE_PARAMETERS,
                              .params = params,
                              .params_len = 5,
                              .constraints = &rows[i].constraint,
                              .constraints_len = 1};
        CU_ASSERT(space_init(&space, &err) == STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
    }
}

/* Every value of a step has its share, also at the ends of a logarithmic scale, and comes back from the cube. */
static void test_step(void)
{
    static const enum scale scales[] = {SCALE_LINEAR, SCALE_LOG, SCALE_REVERSE_LOG};
    for (size_t s = 0; s < 3; s++) {
        const struct param p = {.name = "k", .kind = PARAM_INT, .scale = scales[s], .min = 2, .max = 34, .step = 8};
        size_t             seen[5] = {0};
        struct error       err;
        double             u;
        CU_ASSERT(param_check(&p, 0, &err) == STATUS_OK && param_count(&p) == 5);
        for (size_t k = 0; k < 5; k++) {
            double x = 2 + 8 * (double)k;
            CU_ASSERT(param_value(&p, (double)k) == x && param_index(&p, x) == (double)k && param_has(&p, x));
            CU_ASSERT(!param_has(&p, x + 1) && param_nearest(&p, x + 3.9) == x && param_nearest(&p, x - 3.9) == x);
            param_encode(&p, x, &u);
            CU_ASSERT(param_decode(&p, &u) == x);
        }
        for (size_t k = 0; k < 10000; k++) {
            double x = param_quantile(&p, ((double)k + 0.5) / 10000), share = param_quantile_within(&p, 9, 27, 0.37);
            CU_ASSERT_FATAL(param_has(&p, x));
            CU_ASSERT(share == 10 || share == 18 || share == 26);
            seen[(size_t)param_index(&p, x)]++;
        }
        for (size_t k = 0; k < 5; k++)
            CU_ASSERT(s == 0 ? seen[k] == 2000 : seen[k] > 500);
        CU_ASSERT(isnan(param_quantile_within(&p, 11, 17, 0.5)));
    }
}

/* The steps of a double are the decimal numbers that a user would write, and come back from the cube and from sums. */
static void test_decimal_steps(void)
{
    static const struct {
        double min, step, max, last;
        char   decimals[8];
    } rows[] = {{0, 0.1, 1, 1, "%.1f"},
                {0, 1e-4, 1, 1, "%.4f"},
                {-0.3, 0.1, 0.77, 0.7, "%.1f"},
                {0.1, 0.2, 0.3, 0.3, "%.1f"},
                {1e-5, 1e-5, 1, 1, "%.5f"},
                {-7.25, 0.35, 7, 6.75, "%.2f"},
                {1000, 0.7, 2e4, 19999.4, "%.1f"},
                {2e-9, 3e-9, 9e-9, 8e-9, "%.9f"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct param p = {
            .name = "s", .kind = PARAM_STEPPED, .min = rows[r].min, .max = rows[r].max, .step = rows[r].step};
        struct error err;
        double       size = fmax(fabs(p.min), fabs(p.max)), u;
        char         text[32];
        p.max = param_last(&p);
        CU_ASSERT(p.max == rows[r].last && param_check(&p, 0, &err) == STATUS_OK);
        double count = param_count(&p);
        for (double k = 0; k<count; k += count> 999 ? 37 : 1) {
            double x = param_value(&p, k);
            (void)snprintf(text, sizeof text, rows[r].decimals, p.min + k * p.step);
            CU_ASSERT(x == strtod(text, NULL) && param_has(&p, x) && param_index(&p, x) == k);
            CU_ASSERT(param_rounded(&p, x + 7 * DBL_EPSILON * size) == x);
            CU_ASSERT(!param_has(&p, x + 0.4 * p.step) && param_nearest(&p, x + 0.4 * p.step) == x);
            CU_ASSERT(param_quantile_within(&p, x, x, 0.385) == x && param_quantile(&p, (k + 0.5) / count) == x);
            param_encode(&p, x, &u);
            CU_ASSERT(param_decode(&p, &u) == x);
        }
    }
}

/* A parameter of any kind with a single value is a constant: a finite space of one point. */
static void test_constants(void)
{
    static const double       one[] = {2.385};
    static const struct param params[] = {
        {.name = "d", .min = 2.385, .max = 2.385, .scale = SCALE_LOG},
        {.name = "k", .kind = PARAM_INT, .min = -7, .max = -7},
        {.name = "c", .kind = PARAM_CATEGORICAL, .choices = 1},
        {.name = "v", .kind = PARAM_DISCRETE, .min = 2.385, .max = 2.385, .choices = 1, .values = one},
        {.name = "o", .kind = PARAM_ORDINAL, .choices = 1},
    };
    struct space space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 5};
    double       v[5] = {0.1, 0.9, 0.5, 0.999, 0}, point[5], u[5], back[5];
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT(space_count(&space) == 1 && space.dims == 5);
    CU_ASSERT(space_quantile(&space, v, point) && space_has(&space, point));
    CU_ASSERT(point[0] == 2.385 && point[1] == -7 && point[2] == 0 && point[3] == 2.385 && point[4] == 0);
    space_encode(&space, point, u);
    space_decode(&space, u, back);
    CU_ASSERT(memcmp(point, back, sizeof point) == 0);
    CU_ASSERT(param_slope(&params[0], 2.385) == 0 && param_quantile_within(&params[0], 1, 3, 0.5) == 2.385);
    CU_ASSERT(space_first(&space, point) && !space_step(&space, point));
}

/* An ordinal is one coordinate, in the order of its choices. */
static void test_ordinal(void)
{
    const struct param p = {.name = "o", .kind = PARAM_ORDINAL, .max = 4, .choices = 5};
    double             u;
    CU_ASSERT(param_check(&p, 0, NULL) == STATUS_OK && param_width(&p) == 1 && !param_is_number(&p));
    for (size_t k = 0; k < 5; k++) {
        param_encode(&p, (double)k, &u);
        CHECK_NEAR(u, 0.25 * (double)k, 1e-15);
        CU_ASSERT(param_decode(&p, &u) == (double)k && param_quantile(&p, 0.2 * (double)k + 0.1) == (double)k);
    }
}

/* --- conditions --- */

static const double           sgd[] = {1, 2}, deep[] = {2, 3}, widths[] = {16, 32, 48}, wide[] = {48};
static const struct condition if_sgd[] = {{.parent = 0, .values = sgd, .values_len = 2}},
                              if_deep[] = {{.parent = 2, .values = deep, .values_len = 2}},
                              if_wide[] = {{.parent = 0, .values = sgd, .values_len = 2},
                                           {.parent = 3, .values = wide, .values_len = 1}};
static const struct param tree[] = {
    PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
    {.name = "momentum", .kind = PARAM_INT, .min = 0, .max = 1, .when = if_sgd, .when_len = 1},
    PARAM("layers", INT, LINEAR, 1, 3, 0),
    {.name = "width",
     .kind = PARAM_DISCRETE,
     .min = 16,
     .max = 48,
     .choices = 3,
     .values = widths,
     .when = if_deep,
     .when_len = 1},
    {.name = "drop", .kind = PARAM_CATEGORICAL, .max = 3, .choices = 4, .when = if_wide, .when_len = 2},
};

static void test_conditions(void)
{
    struct space        space = {.kind = SPACE_PARAMETERS, .params = tree, .params_len = 5};
    static const double good[][5] = {{0, NAN, 1, NAN, NAN}, {2, 1, 3, 48, 3}, {0, NAN, 2, 48, NAN}, {1, 0, 2, 16, NAN}};
    static const double bad[][5] = {{0, 1, 1, NAN, NAN},  {2, NAN, 3, 48, 3}, {2, 1, 3, 48, NAN},
                                    {0, NAN, 1, 48, NAN}, {0, NAN, 2, 48, 1}, {NAN, NAN, 1, NAN, NAN}};
    double              u[10], back[5], other[10];
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK && space.dims == 10);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT(space_has(&space, good[i]));
        space_encode(&space, good[i], u);
        space_decode(&space, u, back);
        CU_ASSERT(memcmp(back, good[i], sizeof back) == 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT(!space_has(&space, bad[i]));
    space_encode(&space, good[0], u);
    CU_ASSERT(u[3] == 0.5 && u[5] == 0.5 && u[6] == 0.25 && u[9] == 0.25);
    for (size_t j = 0; j < 10; j++) /* what an inactive coordinate holds does not matter */
        other[j] = j == 3 || j > 4 ? 0.9 - 0.1 * (double)j : u[j];
    space_decode(&space, other, back);
    CU_ASSERT(memcmp(back, good[0], sizeof back) == 0);
}

/* adam: 1 + 2 * 3 layouts; the two others: 2 momenta, and 4 drops at width 48. */
static void test_walk(void)
{
    enum { POINTS = 7 + 2 * 2 * (1 + 2 * (2 + 4)) };
    struct space  space = {.kind = SPACE_PARAMETERS, .params = tree, .params_len = 5}, view;
    static double seen[POINTS][5];
    double        point[5], fixed[5] = {1, NAN, NAN, NAN, NAN};
    size_t        n = 0;
    struct arena  arena;
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT(space_count(&space) == POINTS);
    bool more = space_first(&space, point);
    for (; more && n < POINTS; more = space_step(&space, point), n++) {
        CU_ASSERT(space_has(&space, point));
        for (size_t i = 0; i < n; i++)
            CU_ASSERT(memcmp(seen[i], point, sizeof point) != 0);
        memcpy(seen[n], point, sizeof point);
    }
    CU_ASSERT(!more && n == POINTS && memcmp(seen[0], point, sizeof point) == 0);
    CU_ASSERT(space_hold(&space, fixed, &arena, &view, NULL) == STATUS_OK);
    CU_ASSERT(space_count(&view) == 2 * (1 + 2 * (2 + 4)));
    arena_fini(&arena);
}

/* --- constraints --- */

enum { PARAMS = 6, VALUES = 4, CONSTRAINTS = 4 };
struct world {
    struct param      params[PARAMS];
    double            values[PARAMS][VALUES], coefficients[CONSTRAINTS][PARAMS], inside[PARAMS];
    size_t            terms[CONSTRAINTS][PARAMS];
    struct constraint constraints[CONSTRAINTS];
    int               products; /* 0: sums alone, 1: both, 2: products alone */
    struct space      space;
};

static void random_params(struct world *w, struct rng *rng, bool is_finite)
{
    for (size_t i = 0; i < w->space.params_len; i++) {
        struct param *p = &w->params[i];
        size_t        kind = is_finite ? 1 + rng_below(rng, 2) : rng_below(rng, 3);
        *p = (struct param){.name = "p", .min = 0.25 + rng_uniform(rng), .scale = (enum scale)rng_below(rng, 3)};
        p->kind = kind == 0 ? PARAM_DOUBLE : kind == 1 ? PARAM_INT : PARAM_DISCRETE;
        p->max = p->min + 4 * rng_uniform(rng) + 0.5;
        if (p->kind == PARAM_INT) {
            p->min = ceil(p->min);
            p->max = p->min + 1 + (double)rng_below(rng, is_finite ? 4 : 30);
            p->step = fmod(p->max - p->min, 3) == 0 ? 3 : 0;
        }
        if (p->kind == PARAM_DOUBLE && rng_below(rng, 8) == 0)
            p->max = p->min;
        for (size_t k = 0; k < VALUES; k++)
            w->values[i][k] = p->min + (p->max - p->min) * (double)(k * k) / ((VALUES - 1) * (VALUES - 1));
        w->values[i][VALUES - 1] = p->max;
        p->choices = VALUES;
        p->values = w->values[i];
        w->inside[i] = param_quantile(p, rng_uniform(rng));
    }
}

/* Each holds at w->inside with room on the side of max, or misses it when wrong. */
static void random_constraints(struct world *w, struct rng *rng, double room)
{
    for (size_t k = 0; k < w->space.constraints_len; k++) {
        struct constraint *c = &w->constraints[k];
        double             sum = 0;
        *c = (struct constraint){.params = w->terms[k], .coefficients = w->coefficients[k]};
        c->is_product = w->products > 0 && (int)rng_below(rng, 2) < w->products;
        for (size_t i = 0; i < w->space.params_len; i++) {
            if (rng_uniform(rng) < 0.3 && (i + 1 < w->space.params_len || c->len > 0))
                continue;
            w->terms[k][c->len] = i;
            w->coefficients[k][c->len] = rng_normal(rng) + 0.01;
            sum += w->coefficients[k][c->len++] * (c->is_product ? log(w->inside[i]) : w->inside[i]);
        }
        c->max = rng_uniform(rng) < 0.7 ? sum + room : INFINITY;
        c->min = isinf(c->max) || rng_uniform(rng) < 0.4 ? sum - room : -INFINITY;
        if (c->is_product) {
            c->max = exp(c->max);
            c->min = isinf(c->min) ? c->min : exp(c->min);
        }
    }
    w->space.constraints = w->constraints;
}

static void world_init(struct world *w, struct rng *rng, bool is_finite, double room, int products)
{
    *w = (struct world){.space = {.kind = SPACE_PARAMETERS, .params = w->params}, .products = products};
    w->space.params_len = 1 + rng_below(rng, is_finite ? 4 : PARAMS);
    w->space.constraints_len = 1 + rng_below(rng, CONSTRAINTS);
    random_params(w, rng, is_finite);
    random_constraints(w, rng, room);
    CU_ASSERT_FATAL(space_init(&w->space, NULL) == STATUS_OK);
}

/* Constraints that a known point satisfies are never refused, and every way to a point ends inside.  But where sums and
 * products meet, the search for a first point is no proof: it may miss one in ten thousand. */
static void test_feasible(void)
{
    struct rng rng = rng_at(61, 1, RNG_TEST);
    int        missed = 0, held = 0;
    for (int run = 0; run < (thorough ? 1500 : 400); run++) {
        struct world w;
        struct arena arena;
        struct space view;
        double       v[PARAMS], point[PARAMS], u[PARAMS], back[PARAMS], fixed[PARAMS];
        arena_init(&arena, 1 << 22);
        world_init(&w, &rng, false, run % 3 == 0 ? 0.01 : 0.05 + rng_uniform(&rng), run % 4 == 0 ? 2 : run % 4 == 1);
        CU_ASSERT_FATAL(space_has(&w.space, w.inside));
        CU_ASSERT_FATAL(space_hold(&w.space, NULL, &arena, &w.space, NULL) == STATUS_OK);
        for (int draw = 0; draw < 20; draw++) {
            for (size_t i = 0; i < PARAMS; i++) {
                v[i] = rng_uniform(&rng);
                u[i] = 3 * rng_uniform(&rng) - 1;
                fixed[i] = rng_uniform(&rng) < 0.4 ? w.inside[i] : NAN;
            }
            (void)space_quantile(&w.space, v, point);
            CU_ASSERT(space_has(&w.space, point));
            space_encode(&w.space, point, back);
            space_decode(&w.space, back, back);
            CU_ASSERT(space_has(&w.space, back));
            space_decode(&w.space, u, point);
            CU_ASSERT(space_has(&w.space, point));
            enum status status = space_hold(&w.space, fixed, &arena, &view, NULL);
            held++;
            missed += status != STATUS_OK;
            CU_ASSERT(status == STATUS_OK || w.products > 0);
            if (status != STATUS_OK)
                continue;
            (void)space_quantile(&view, v, point);
            CU_ASSERT(space_has(&w.space, point));
            for (size_t i = 0; i < w.space.params_len; i++)
                CU_ASSERT(isnan(fixed[i]) || point[i] == fixed[i]);
        }
        arena_fini(&arena);
    }
    CU_ASSERT(missed <= held / 10000 + 1);
}

/* On finite spaces the answer is that of trying every point. */
static void test_brute_force(void)
{
    struct rng rng = rng_at(62, 1, RNG_TEST);
    size_t     refused = 0, accepted = 0;
    for (int run = 0; run < 3000; run++) {
        struct world w;
        struct arena arena;
        struct error err;
        double       point[PARAMS];
        arena_init(&arena, 1 << 22);
        world_init(&w, &rng, true, 0.5, run % 2 == 0 ? 2 : 0);
        for (size_t k = 0; k < w.space.constraints_len; k++) { /* somewhere else, and narrower */
            double             by = 3 * rng_normal(&rng);
            struct constraint *c = &w.constraints[k];
            c->min = !c->is_product ? c->min + by : isinf(c->min) ? c->min : c->min * exp(by);
            c->max = c->is_product ? c->max * exp(by) : c->max + by;
        }
        bool        any = space_first(&w.space, point);
        enum status status = space_hold(&w.space, NULL, &arena, &w.space, &err);
        CU_ASSERT(status == (any ? STATUS_OK : STATUS_INVALID));
        CU_ASSERT(any ? space_count(&w.space) > 0 : space_count(&w.space) == 0);
        if (!any)
            CU_ASSERT(strcmp(err.code, "no_feasible_point") == 0 && strcmp(err.path, "/space/constraints") == 0);
        refused += !any;
        accepted += any;
        arena_fini(&arena);
    }
    CU_ASSERT(refused > 300 && accepted > 300);
}

/* The limits and slopes given to a maximiser agree with the test of a point, and with differences. */
static void test_excess(void)
{
    struct rng rng = rng_at(63, 1, RNG_TEST);
    for (int run = 0; run < 200; run++) {
        struct world w;
        double       point[PARAMS], u[PARAMS], out[2 * CONSTRAINTS], gradient[2 * CONSTRAINTS * PARAMS];
        double       above[2 * CONSTRAINTS], below[2 * CONSTRAINTS], unused[2 * CONSTRAINTS * PARAMS];
        world_init(&w, &rng, false, 0.05, run % 3);
        for (size_t i = 0; i < w.space.params_len; i++) {
            w.params[i].kind = PARAM_DOUBLE;
            u[i] = 0.05 + 0.9 * rng_uniform(&rng);
            point[i] = param_decode(&w.params[i], &u[i]);
        }
        space_excess(&w.space, u, out, gradient);
        bool is_over = false;
        for (size_t k = 0; k < 2 * w.space.constraints_len; k++)
            is_over |= out[k] > 0;
        CU_ASSERT(is_over == (space_broken(&w.space, point, 0) != NULL));
        for (size_t i = 0; i < w.space.params_len; i++) {
            double at = u[i];
            u[i] = at + 1e-6;
            space_excess(&w.space, u, above, unused);
            u[i] = at - 1e-6;
            space_excess(&w.space, u, below, unused);
            u[i] = at;
            for (size_t k = 0; k < 2 * w.space.constraints_len; k++)
                CHECK_NEAR(gradient[k * w.space.dims + i], (above[k] - below[k]) / 2e-6, 1e-4);
        }
    }
}

/* A product that is met exactly is met, and its logarithm would not be: 3 * 5^3 is 375. */
static void test_exact_product(void)
{
    static const struct param      params[] = {PARAM("a", INT, LOG, 1, 64, 0), PARAM("b", INT, LOG, 1, 64, 0)};
    static const size_t            both[] = {0, 1};
    static const double            exponents[] = {1, 3};
    static const struct constraint at_most[] = {
        {.params = both, .coefficients = exponents, .len = 2, .min = 375, .max = 376, .is_product = true}};
    struct space space = {
        .kind = SPACE_PARAMETERS, .params = params, .params_len = 2, .constraints = at_most, .constraints_len = 1};
    struct arena arena;
    double       point[2];
    size_t       count = 1;
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK &&
                    space_hold(&space, NULL, &arena, &space, NULL) == STATUS_OK);
    CU_ASSERT(space_has(&space, (const double[]){3, 5}) && !space_has(&space, (const double[]){3, 6}));
    CU_ASSERT(space_first(&space, point));
    for (; space_step(&space, point); count++)
        CU_ASSERT(point[0] * pow(point[1], 3) >= 375 && point[0] * pow(point[1], 3) <= 376);
    CU_ASSERT(count == 2 && space_count(&space) == 2); /* 3 * 5^3 and 47 * 2^3 */
    arena_fini(&arena);
}

/* By hand: max s, s <= x, s <= 2 y, x + y <= 2. */
static void test_simplex(void)
{
    double         table[4 * 4] = {-1, 0, 1, 0, 0, -2, 1, 0, 1, 1, 0, 2}, x[3];
    size_t         basis[3], outside[3];
    struct simplex lp = {.rows = 3, .columns = 3, .table = table, .basis = basis, .outside = outside};
    simplex_run(&lp, x);
    CHECK_NEAR(x[0], 4.0 / 3, 1e-15);
    CHECK_NEAR(x[1], 2.0 / 3, 1e-15);
    CHECK_NEAR(x[2], 4.0 / 3, 1e-15);
}

/* --- the search --- */

struct peak {
    const double *top;
    size_t        dims;
};

static double peak_slope(void *arg, const double *u, double *gradient)
{
    const struct peak *peak = arg;
    double             value = 0;
    for (size_t j = 0; j < peak->dims; j++) {
        value -= (u[j] - peak->top[j]) * (u[j] - peak->top[j]);
        gradient[j] = -2 * (u[j] - peak->top[j]);
    }
    return value;
}

static enum status peak_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    const struct peak *peak = arg;
    double             gradient[16];
    (void)err;
    for (size_t k = 0; k < m; k++)
        out[k] = peak_slope(arg, U + k * peak->dims, gradient);
    return STATUS_OK;
}

static void search_in(const struct space *space, const double *top, double *point, struct arena *arena)
{
    struct used_points used;
    struct peak        peak = {top, space->dims};
    struct acq_search  search = {.space = space,
                                 .used = &used,
                                 .seed = 3,
                                 .trial = 8,
                                 .samples = 200,
                                 .starts = 3,
                                 .evaluations = 60,
                                 .scores = peak_scores,
                                 .slope = peak_slope,
                                 .arg = &peak};
    used_points_init(&used, arena, space, false);
    CU_ASSERT_FATAL(acq_search_run(&search, point, arena, NULL) == STATUS_OK);
    CU_ASSERT(space_has(space, point));
}

/* The top lies outside: the best point inside is its projection, (0.8, 0.9) - 0.35 (1, 1). */
static void test_search_within(void)
{
    static const size_t            xy[] = {0, 1};
    static const double            scaled[] = {0.25, 0.1}, top[] = {0.8, 0.9};
    static const struct constraint sum[] = {{xy, scaled, 2, -INFINITY, 1, .is_product = false}}; /* u + v <= 1 */
    const struct param params[] = {PARAM("x", DOUBLE, LINEAR, 0, 4, 0), PARAM("y", DOUBLE, LINEAR, 0, 10, 0)};
    struct space       space = {
              .kind = SPACE_PARAMETERS, .params = params, .params_len = 2, .constraints = sum, .constraints_len = 1};
    struct arena arena;
    double       point[2];
    arena_init(&arena, 1 << 24);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_hold(&space, NULL, &arena, &space, NULL) == STATUS_OK);
    search_in(&space, top, point, &arena);
    CHECK_NEAR(point[0], 4 * 0.45, 1e-4);
    CHECK_NEAR(point[1], 10 * 0.55, 1e-4);
    arena_fini(&arena);
}

/* The top has a child at 0.7371, which only exists with the right value of the parent. */
static void test_search_conditional(void)
{
    static const double           second[] = {1}, top[] = {0, 1, 0, 0.7371, 0.1734};
    static const struct condition if_second[] = {{.parent = 0, .values = second, .values_len = 1}};
    const struct param            params[] = {PARAM("c", CATEGORICAL, LINEAR, 0, 2, 3),
                                              {.name = "x", .min = -1, .max = 9, .when = if_second, .when_len = 1},
                                              PARAM("y", DOUBLE, LINEAR, 0, 1, 0)};
    struct space                  space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 3};
    struct arena                  arena;
    double                        point[3];
    arena_init(&arena, 1 << 24);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    search_in(&space, top, point, &arena);
    CU_ASSERT(point[0] == 1);
    CHECK_NEAR(point[1], -1 + 10 * 0.7371, 1e-4);
    CHECK_NEAR(point[2], 0.1734, 1e-5);
    arena_fini(&arena);
}

/* A number out of the range lies on the same scale, continued. */
static void test_beyond(void)
{
    static const double values[] = {0.5, 2};
    const struct param  linear = {.name = "a", .min = -1, .max = 3};
    const struct param  steps = {.name = "k", .kind = PARAM_INT, .min = 0, .max = 8, .step = 2};
    const struct param  log2 = {.name = "l", .min = 0.5, .max = 2, .scale = SCALE_LOG};
    const struct param  mirror = {.name = "m", .min = 0.5, .max = 2, .scale = SCALE_REVERSE_LOG};
    const struct param  list = {
         .name = "d", .kind = PARAM_DISCRETE, .scale = SCALE_LOG, .min = 0.5, .max = 2, .choices = 2, .values = values};
    const struct param one = {.name = "o", .min = 3, .max = 3};
    const struct param names = {.name = "n", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3};
    const struct {
        const struct param *p;
        double              x, u; /* u NaN: the model cannot say where x is */
    } cases[] = {
        {&linear, -2.385, -0.34625},
        {&linear, 5, 1.5},
        {&linear, 43, 11},
        {&linear, 43.1, NAN},
        {&linear, -41.1, NAN},
        {&linear, NAN, NAN},
        {&linear, INFINITY, NAN},
        {&steps, 3, 0.375},
        {&steps, -4, -0.5},
        {&steps, 3.5, NAN},
        {&log2, 4, 1.5},
        {&log2, 0.25, -0.5},
        {&log2, 0, NAN},
        {&log2, -1, NAN},
        {&mirror, 2.25, 1.5},
        {&mirror, 2.5, NAN},
        {&mirror, -1.5, -0.5},
        {&list, 1, 0.5},
        {&list, 8, 2},
        {&one, 3, 0},
        {&one, 3.1, NAN},
        {&names, 3, NAN},
        {&names, -1, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double u = NAN;
        CU_ASSERT(param_reaches(cases[i].p, cases[i].x) == !isnan(cases[i].u));
        if (!isnan(cases[i].u)) {
            param_encode(cases[i].p, cases[i].x, &u);
            CHECK_NEAR(u, cases[i].u, 1e-14);
        }
    }
}

/* m points of which some know a and c, some a alone, ...; b exists where a is 1, d where b is 0. */
static void test_lacks(void)
{
    static const double    one[] = {1}, zero[] = {0}, sum[] = {1, 2};
    const struct condition with_a = {.parent = 0, .values = one, .values_len = 1},
                           with_b = {.parent = 1, .values = zero, .values_len = 1};
    const struct param      params[] = {{.name = "a", .kind = PARAM_INT, .max = 1},
                                        {.name = "b", .kind = PARAM_INT, .max = 1, .when = &with_a, .when_len = 1},
                                        {.name = "c", .max = 2.25},
                                        {.name = "d", .max = 1, .when = &with_b, .when_len = 1}};
    const size_t            terms[] = {0, 2};
    const struct constraint limit = {.params = terms, .coefficients = sum, .len = 2, .min = -INFINITY, .max = 3.5};
    struct space            space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 4};
    bool                    lacks[4];
    space.constraints = &limit;
    space.constraints_len = 1;
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    const double whole[] = {0, NAN, 1.5, NAN, 1, 0, 1.125, .5, 1, 1, .25, NAN};
    CU_ASSERT(!space_lacks(&space, whole, 3, lacks) && !lacks[0] && !lacks[1] && !lacks[2] && !lacks[3]);
    for (size_t k = 0; k < 3; k++)
        CU_ASSERT(space_nearly_has_rest(&space, whole + 4 * k, lacks, 0));
    CU_ASSERT(!space_nearly_has_rest(&space, (double[]){1, 0, 1.5, .5}, lacks, 0)); /* the constraint */
    CU_ASSERT(!space_nearly_has_rest(&space, (double[]){1, 0, NAN, .5}, lacks, 0));
    const double no_b[] = {0, NAN, 1.5, NAN, 1, NAN, 1.125, NAN}; /* the first point says nothing of b */
    CU_ASSERT(space_lacks(&space, no_b, 2, lacks) && !lacks[0] && lacks[1] && !lacks[2] && lacks[3]);
    CU_ASSERT(space_nearly_has_rest(&space, no_b, lacks, 0) && space_nearly_has_rest(&space, no_b + 4, lacks, 0));
    CU_ASSERT(!space_nearly_has_rest(&space, whole + 4, lacks, 0) && !space_has(&space, no_b + 4));
    const double only_c[] = {NAN, NAN, 2.25, NAN}; /* whatever a is, the constraint is not its */
    CU_ASSERT(space_lacks(&space, only_c, 1, lacks) && lacks[0] && lacks[1] && !lacks[2] && lacks[3]);
    CU_ASSERT(space_nearly_has_rest(&space, only_c, lacks, 0));
    CU_ASSERT(!space_nearly_has_rest(&space, (double[]){NAN, NAN, 2.5, NAN}, lacks, 0));
}

CU_TestInfo suite_space_forms[] = {
    {"points of which some parameters are unknown", test_lacks},
    {"beyond the range", test_beyond},
    {"reverse log", test_reverse_log},
    {"discrete", test_discrete},
    {"step", test_step},
    {"the steps of a double", test_decimal_steps},
    {"constants", test_constants},
    {"ordinal", test_ordinal},
    {"priors", test_priors},
    {"shares of priors", test_prior_shares},
    {"refused parameters", test_refused_params},
    {"refused constraints", test_refused_constraints},
    {"conditions", test_conditions},
    {"walk", test_walk},
    {"feasible constraints", test_feasible},
    {"brute force", test_brute_force},
    {"excess", test_excess},
    {"exact product", test_exact_product},
    {"simplex", test_simplex},
    {"search within constraints", test_search_within},
    {"search of conditional parameters", test_search_conditional},
    CU_TEST_INFO_NULL,
};
