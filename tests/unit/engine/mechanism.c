/* Calibration against two independent accountants, composition, the choice of a mechanism, and refusals. */
#include "engine/privacy/mechanism.h"
#include "engine/privacy/curve.h"
#include "tests/unit/engine/privacy_values.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

#define COUNT(table)                             (sizeof(table) / sizeof(table)[0])
#define CHECK_RATIO(actual, expected, tolerance) CHECK_NEAR((actual) / (expected), 1, tolerance)

static void test_gaussian(void)
{
    for (size_t i = 0; i < COUNT(analytic_gaussian); i++) {
        double epsilon = analytic_gaussian[i].epsilon, delta = analytic_gaussian[i].delta;
        double sigma = mechanism_gaussian_sigma(epsilon, delta);
        CHECK_RATIO(sigma, analytic_gaussian[i].sigma, 1e-12);
        CHECK_RATIO(mechanism_gaussian_delta(epsilon, 1 / sigma), delta, 1e-9);
        CHECK_RATIO(mechanism_gaussian_epsilon(1 / sigma, delta), epsilon, 1e-11);
    }
    /* Far in the tails the two terms of delta stay finite: no noise to speak of, and far too much. */
    CHECK_NEAR(mechanism_gaussian_delta(2.385, 1e3), 1, 1e-12);
    CHECK_NEAR(mechanism_gaussian_delta(2.385, 1e-3), 0, 1e-300);
    CHECK_NEAR(mechanism_gaussian_epsilon(1e-9, 0.001), 0, 0);
}

/* Where two tails nearly cancel, epsilon is not below the truth (by 60 digits): they were by up to 8e-7 of it. */
static void test_small_mu(void)
{
    static const double cases[][3] = {{1.1283496035968206e-09, 1.4474289776339714e-26, 9.26653255599751402e-9},
                                      {8.347754776780479e-09, 3.601297469230107e-16, 4.20715525061830606e-8},
                                      {2.850144009140834e-08, 1.9518724147316665e-24, 2.28348822744290944e-7},
                                      {1.3951995932103171e-06, 1.9376566009308706e-08, 2.52659064981288944e-6},
                                      {0.0006677515765270198, 2.8505753704319937e-27, 0.00656264639420004047}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double epsilon = mechanism_gaussian_epsilon(cases[i][0], cases[i][1]);
        CU_ASSERT(epsilon >= cases[i][2] && epsilon < cases[i][2] * (1 + 1e-4));
    }
}

static void test_mixture(void)
{
    for (size_t i = 0; i < COUNT(chi_mixture); i++) {
        double epsilon = chi_mixture[i].epsilon, delta = chi_mixture[i].delta;
        /* The released noise is calibrated by a bound: never below the exact value, and not far above. */
        double bound = mechanism_projected_sigma(epsilon, delta, chi_mixture[i].r) / chi_mixture[i].sigma;
        CU_ASSERT(bound > 1 && bound < (chi_mixture[i].r >= 10 ? 1.22 : 1.5));
    }
    /* Many dimensions: |v'M|^2 / r tends to |v|^2, and the bound to that of zCDP for one fixed sensitivity. */
    for (size_t i = 0; i < COUNT(analytic_gaussian); i++)
        CHECK_RATIO(mechanism_projected_sigma(analytic_gaussian[i].epsilon, analytic_gaussian[i].delta, 4000000),
                    analytic_gaussian[i].sigma_zcdp, 1e-4);
}

/* delta by a fine grid over a, another way to the minimum. */
static void test_projected_minimum(void)
{
    const double epsilon = 1.7, r = 17, k = 1 / (r * pow(mechanism_projected_sigma(epsilon, 1e-5, 17), 2));
    double       least = 1;
    for (double a = 1.001; a * (a - 1) * k < 1; a *= 1.00001)
        least = fmin(least, exp(-r / 2 * log1p(-a * (a - 1) * k) - (a - 1) * epsilon) * pow(1 - 1 / a, a) / (a - 1));
    CHECK_RATIO(least, 1e-5, 1e-6);
}

static void test_discrete_laplace(void)
{
    for (size_t i = 0; i < COUNT(discrete_laplace); i++) {
        struct mechanism m = {.kind = MECHANISM_DISCRETE_LAPLACE,
                              .epsilon = discrete_laplace[i].epsilon,
                              .distance = 1,
                              .rows = 961,
                              .columns = discrete_laplace[i].d,
                              .delta = 1e-4};
        CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
        double t = (double)m.rate * 0x1p-32;
        CU_ASSERT(m.kind == MECHANISM_DISCRETE_LAPLACE && m.gamma == 0x1p-10 && m.delta == 0 && m.dims == m.columns);
        CU_ASSERT(t <= discrete_laplace[i].t && t > discrete_laplace[i].t * (1 - 1e-6));
        CHECK_RATIO(sqrt(m.variance), discrete_laplace[i].sd, 1e-6);
        CU_ASSERT(t * m.sensitivity <= m.epsilon);
    }
}

/* The lattice follows Delta, and a projection to fewer dimensions stretches what is left. */
static void test_lattice(void)
{
    struct mechanism m = {
        .kind = MECHANISM_DISCRETE_LAPLACE, .epsilon = 2.385, .distance = 2.7, .rows = 60, .columns = 12};
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    CHECK_NEAR(m.gamma, 0x1p-9, 0);
    CHECK_RATIO(m.sensitivity, sqrt(12) * 2.7 * 512 + 12, 1e-9);
    CU_ASSERT(m.sensitivity > sqrt(12) * 2.7 * 512 + 12);
    double wide = m.variance;
    m.dims = 5;
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    CHECK_RATIO(m.variance, wide * 12 / 5, 1e-14);
    CHECK_RATIO(m.variance, 2 * 12 * 2.7 * 2.7 / (2.385 * 2.385) * 12 / 5,
                0.01); /* 2 d Delta^2 / epsilon^2, stretched */
}

/* The least of sqrt(2 d) / epsilon, sqrt(d + 1) / epsilon (up to 16 columns) and the analytic Gaussian, which has 3.7306 at
 * epsilon 1, 0.4999 at epsilon 10, at delta 1e-5. */
static void test_choice(void)
{
    static const struct {
        double epsilon;
        size_t last;
    } rows[] = {{1, 12}, {10, 16}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t d = 1; d <= 40; d++) {
            struct mechanism m = {.epsilon = rows[i].epsilon, .delta = 1e-5, .distance = 1, .rows = 500, .columns = d};
            enum mechanism_kind pure = d == 1 ? MECHANISM_DISCRETE_LAPLACE : MECHANISM_ISOTROPIC_LAPLACE;
            CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
            CU_ASSERT(m.kind == (d <= rows[i].last ? pure : MECHANISM_DISCRETE_GAUSSIAN));
            CU_ASSERT((m.delta == 0) == (m.kind == pure));
        }
    struct mechanism pure = {.epsilon = 1, .delta = 0, .distance = 1, .rows = 500, .columns = 40};
    CU_ASSERT(mechanism_plan(&pure, NULL) == STATUS_OK && pure.kind == MECHANISM_DISCRETE_LAPLACE);
    /* When a single column moves, its l1 distance is the l2 one, and each coordinate has its own noise. */
    struct mechanism narrow = {.epsilon = 1, .distance = 1, .distance_l1 = 1.05, .rows = 500, .columns = 2};
    CU_ASSERT(mechanism_plan(&narrow, NULL) == STATUS_OK && narrow.kind == MECHANISM_DISCRETE_LAPLACE);
}

static void test_isotropic(void)
{
    for (size_t d = 1; d <= SAMPLER_ISOTROPIC_MAX; d++) {
        struct mechanism m = {
            .kind = MECHANISM_ISOTROPIC_LAPLACE, .epsilon = 1.7, .distance = 2.385, .rows = 500, .columns = d};
        CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
        CU_ASSERT((double)m.rate * 0x1p-32 * m.sensitivity + 0x1p-48 <= 1.7);
        CHECK_RATIO(sqrt(m.variance), sqrt((double)d + 1) * 2.385 / 1.7, 0.005);
        struct relation_shift shift = {1, 1, 1e9, m.sensitivity};
        CU_ASSERT(curve_of_release(&m, &shift).kind == CURVE_PURE);
        CHECK_RATIO(curve_of_release(&m, &shift).value, 1.7, 1e-6);
    }
    struct mechanism wide = {
        .kind = MECHANISM_ISOTROPIC_LAPLACE, .epsilon = 1, .distance = 1, .rows = 500, .columns = 17};
    CU_ASSERT(mechanism_plan(&wide, NULL) == STATUS_INVALID);
}

static void test_gaussians(void)
{
    struct mechanism m = {
        .kind = MECHANISM_DISCRETE_GAUSSIAN, .epsilon = 1, .delta = 1e-5, .distance = 1, .rows = 500, .columns = 20};
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    double steps = 1024 + sqrt(20);
    CU_ASSERT(m.sigma >= steps * 3.730631634816059 && m.sigma < steps * 3.730631634816059 + 1.01);
    CHECK_NEAR(m.variance, pow(m.sigma * 0x1p-10, 2), 1e-12);
    CU_ASSERT(mechanism_gaussian_delta(1, m.sensitivity / sqrt((double)m.sigma * m.sigma - 4)) <= 1e-5);
    m.kind = MECHANISM_PROJECTED_GAUSSIAN;
    m.dims = 10;
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    double sd = m.sigma * 0x1p-10 / (MECHANISM_PROJECTION_SCALE * sqrt(10));
    CHECK_NEAR(sqrt(m.variance), sd, 1e-12);
    CHECK_NEAR(sd, mechanism_projected_sigma(1, 1e-5, 10) * steps / 1024, 1e-4);
}

static void test_names(void)
{
    for (unsigned kind = 0; kind < MECHANISM_KINDS; kind++)
        CU_ASSERT(mechanism_find(mechanism_name((enum mechanism_kind)kind)) == (enum mechanism_kind)kind);
    CU_ASSERT(mechanism_find("projection-only") == MECHANISM_KINDS);
}

static void test_refused(void)
{
    static const struct {
        struct mechanism m;
        const char      *code;
    } bad[] = {
        {{.epsilon = 0, .distance = 1, .rows = 9, .columns = 2}, "bad_epsilon"},
        {{.epsilon = -2, .distance = 1, .rows = 9, .columns = 2}, "bad_epsilon"},
        {{.epsilon = NAN, .distance = 1, .rows = 9, .columns = 2}, "bad_epsilon"},
        {{.epsilon = 2e3, .distance = 1, .rows = 9, .columns = 2}, "bad_epsilon"},
        {{.epsilon = 1e-4, .distance = 1, .rows = 9, .columns = 900}, "bad_epsilon"}, /* the rate would be lost */
        {{.kind = MECHANISM_PROJECTED_GAUSSIAN,
          .epsilon = 1e-4,
          .delta = 1e-29,
          .distance = 1,
          .rows = 9,
          .columns = 900},
         "bad_epsilon"},
        {{.epsilon = 1, .distance = 1, .rows = 0, .columns = 2}, "bad_size"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 0}, "bad_size"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 1025}, "bad_size"},
        {{.epsilon = 1, .distance = 0, .rows = 9, .columns = 2}, "bad_distance"},
        {{.epsilon = 1, .distance = NAN, .rows = 9, .columns = 2}, "bad_distance"},
        {{.epsilon = 1, .distance = 50.1, .rows = 9, .columns = 2}, "bad_distance"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 2, .dims = 3}, "bad_dims"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 2, .delta = 0.112}, "bad_delta"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 2, .delta = -1e-9}, "bad_delta"},
        {{.epsilon = 1, .distance = 1, .rows = 9, .columns = 2, .delta = NAN}, "bad_delta"},
        {{.kind = MECHANISM_DISCRETE_GAUSSIAN, .epsilon = 1, .distance = 1, .rows = 9, .columns = 2}, "bad_delta"},
        {{.kind = MECHANISM_PROJECTED_GAUSSIAN, .epsilon = 1, .distance = 1, .rows = 9, .columns = 2}, "bad_delta"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct mechanism m = bad[i].m;
        struct error     err = {0};
        CU_ASSERT(mechanism_plan(&m, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, bad[i].code) == 0);
    }
}

static void test_outcomes(void)
{
    struct mechanism_outcome m = {.low = -3, .high = 5, .sensitivity = NAN, .epsilon = 2.385};
    CU_ASSERT_FATAL(mechanism_plan_outcome(&m, NULL) == STATUS_OK);
    CU_ASSERT(m.sensitivity == 8 && m.gamma == 0x1p-7);
    double t = (double)m.rate * 0x1p-32;
    CU_ASSERT(t * (8 / 0x1p-7 + 1) <= 2.385 && t * (8 / 0x1p-7 + 1) > 2.385 * (1 - 1e-6));
    CHECK_RATIO(m.variance, 2 * pow(8 / 2.385, 2), 0.01);
    struct mechanism       rows = {.epsilon = 0.7, .delta = 1e-6};
    struct mechanism_total total = mechanism_total_of(&rows, &m), alone = mechanism_total_of(&rows, NULL);
    CHECK_NEAR(total.epsilon, 3.085, 1e-15);
    CU_ASSERT(total.delta == 1e-6 && alone.epsilon == 0.7 && alone.delta == 1e-6);
    static const struct {
        struct mechanism_outcome m;
        const char              *code;
    } bad[] = {
        {{.low = 2, .high = 2, .sensitivity = NAN, .epsilon = 1}, "bad_range"},
        {{.low = 0, .high = INFINITY, .sensitivity = NAN, .epsilon = 1}, "bad_range"},
        {{.low = 0, .high = 2, .sensitivity = 2.1, .epsilon = 1}, "bad_sensitivity"},
        {{.low = 0, .high = 2, .sensitivity = 0, .epsilon = 1}, "bad_sensitivity"},
        {{.low = 0, .high = 2, .sensitivity = NAN, .epsilon = 0}, "bad_epsilon"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct mechanism_outcome refused = bad[i].m;
        struct error             err = {0};
        CU_ASSERT(mechanism_plan_outcome(&refused, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, bad[i].code) == 0);
    }
}

/* Two Gaussians at once. */
static void test_composition(void)
{
    double sigma = mechanism_gaussian_sigma(1, 1e-5), both = mechanism_gaussian_epsilon(sqrt(2) / sigma, 1e-5);
    CU_ASSERT(both > sqrt(2) && both < 1.5);
    CHECK_NEAR(mechanism_gaussian_delta(both, sqrt(2) / sigma), 1e-5, 1e-14);
}

static void test_effective_kernel(void)
{
    for (size_t i = 0; i < COUNT(effective_kernel); i++) {
        const double            sf2 = 2.385;
        struct mechanism_kernel k = mechanism_effective_kernel(effective_kernel[i].length_scale, sf2,
                                                               effective_kernel[i].s2, effective_kernel[i].d);
        double                  q = effective_kernel[i].distance2 / (k.length_scale * k.length_scale);
        CHECK_NEAR(k.variance / sf2, effective_kernel[i].rho, 1e-13);
        CHECK_NEAR(k.variance / sf2 * exp(-q / 2), effective_kernel[i].k, 1e-13);
        CHECK_NEAR(k.variance + k.row_variance, sf2, 1e-14);
    }
}

CU_TestInfo suite_mechanism[] = {
    {"analytic Gaussian and zCDP", test_gaussian},
    {"Gaussian of hardly any shift", test_small_mu},
    {"mixture", test_mixture},
    {"the minimum of a projected release", test_projected_minimum},
    {"discrete Laplace", test_discrete_laplace},
    {"lattice", test_lattice},
    {"choice", test_choice},
    {"isotropic Laplace", test_isotropic},
    {"Gaussians", test_gaussians},
    {"names", test_names},
    {"refused", test_refused},
    {"outcomes", test_outcomes},
    {"composition", test_composition},
    {"effective kernel", test_effective_kernel},
    CU_TEST_INFO_NULL,
};
