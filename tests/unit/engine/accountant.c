/* The accountant against two other accountants and the theses' published losses, the discrete Gaussian against the
 * formula for the continuous one, limits, calibration, and refusals. */
#include "engine/privacy/accountant.h"
#include "engine/math/fft.h"
#include "engine/privacy/mechanism.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/accountant_values.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static double epsilon_of(const struct accountant_run *run, enum accountant_orders kind,
                         enum accountant_conversion conversion)
{
    struct accountant spent;
    double            epsilon = NAN;
    accountant_init(&spent, kind);
    CU_ASSERT(accountant_spend(&spent, run->q, run->z, run->releases, NULL) == STATUS_OK);
    CU_ASSERT(accountant_epsilon(&spent, conversion, run->delta, &epsilon, NULL, NULL) == STATUS_OK);
    return epsilon;
}

static double promise(double q, double z, uint64_t releases, double delta)
{
    double epsilon = NAN;
    CU_ASSERT(accountant_promise(&(struct accountant_run){q, z, delta, releases}, &epsilon, NULL) == STATUS_OK);
    return epsilon;
}

static double estimate(const struct accountant_run *run)
{
    double       epsilon = NAN;
    struct arena arena;
    arena_init(&arena, 16 << 20);
    CU_ASSERT(accountant_estimate(run, &epsilon, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    return epsilon;
}

static void test_reference(void)
{
    CU_ASSERT(COUNT(privacy_losses) == 37);
    for (size_t i = 0; i < COUNT(privacy_losses); i += thorough ? 1 : 3) {
        struct accountant_run run = {.q = privacy_losses[i].q,
                                     .z = privacy_losses[i].z,
                                     .releases = privacy_losses[i].releases,
                                     .delta = privacy_losses[i].delta};
        CHECK_NEAR(epsilon_of(&run, ACCOUNTANT_MOMENTS, ACCOUNTANT_CLASSIC), privacy_losses[i].moments, 1e-6);
        CHECK_NEAR(epsilon_of(&run, ACCOUNTANT_FINE, ACCOUNTANT_CLASSIC), privacy_losses[i].classic, 1e-6);
        CHECK_NEAR(epsilon_of(&run, ACCOUNTANT_FINE, ACCOUNTANT_IMPROVED), privacy_losses[i].fine, 1e-6);
        CHECK_NEAR(promise(run.q, run.z, run.releases, run.delta), privacy_losses[i].integer, 1e-6);
    }
}

static void test_estimate(void)
{
    for (size_t i = 0; i < COUNT(privacy_losses); i++) {
        struct accountant_run run = {.q = privacy_losses[i].q,
                                     .z = privacy_losses[i].z,
                                     .releases = privacy_losses[i].releases,
                                     .delta = privacy_losses[i].delta};
        CHECK_NEAR(estimate(&run) - privacy_losses[i].exact, 1.4e-4, 1.6e-4); /* it dominates */
    }
    struct accountant_run gaussian = {.q = 1, .z = 2.385, .releases = 7, .delta = 3.1e-6};
    CHECK_NEAR(estimate(&gaussian), mechanism_gaussian_epsilon(sqrt(7) / 2.385, 3.1e-6), 1e-4);
    struct accountant_run none = {.q = 0.3, .z = 2.385, .releases = 0, .delta = 3.1e-6};
    CHECK_NEAR(estimate(&none), 0, 0);
}

static void test_log_moments(void)
{
    for (size_t i = 0; i < COUNT(log_moments); i++)
        CHECK_NEAR(accountant_log_moment(log_moments[i].q, log_moments[i].z, log_moments[i].order) /
                       log_moments[i].log_moment,
                   1, 1e-11);
    CHECK_NEAR(accountant_log_moment(1, 2.385, 7.25), 7.25 * 6.25 / (2 * 2.385 * 2.385), 1e-12);
    for (double order = 2; order < 60; order += 9) /* the integral and the sum */
        CHECK_NEAR(accountant_log_moment(0.17, 1.3, order + 1e-10) / accountant_log_moment(0.17, 1.3, order), 1, 1e-8);
}

/* log E[(P/Q)^a] and log E[(Q/P)^(a-1)] under Q and P, of the discrete Gaussian shifted by the integer d, by summing. */
static void discrete_moments(double q, double sigma, int d, double a, double *there, double *back)
{
    double weight = 0, sum = 0, reverse = 0;
    int    far = (int)(12 * sigma) + 10 * d;
    for (int k = -far; k <= far; k++) {
        double base = exp(-k * k / (2 * sigma * sigma));
        double ratio = 1 - q + q * exp((2.0 * k * d - (double)d * d) / (2 * sigma * sigma));
        weight += base;
        sum += base * pow(ratio, a);
        reverse += base * pow(ratio, 1 - a);
    }
    *there = log(sum / weight);
    *back = log(reverse / weight);
}

/* What the promise rests on: at integer orders the discrete Gaussian has exactly the divergence of the formula, and in
 * the other direction less, even when sigma is one step of the lattice; at others it has not. */
static void test_discrete(void)
{
    static const struct {
        double q, sigma;
        int    d;
    } cases[] = {{0.35, 1, 1}, {0.15, 2, 3}, {0.5, 17, 10}, {0.8, 1, 2}, {0.02, 0.5, 1}};
    double there, back, worst = 0;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (double order = 2; order <= 9; order++) {
            discrete_moments(cases[i].q, cases[i].sigma, cases[i].d, order, &there, &back);
            double formula = accountant_log_moment(cases[i].q, cases[i].sigma / cases[i].d, order);
            CHECK_NEAR(there / formula, 1, 1e-10);
            CU_ASSERT(back <= formula);
        }
    discrete_moments(0.5, 0.4, 1, 2.5, &there, &back);
    worst = there / accountant_log_moment(0.5, 0.4, 2.5);
    CU_ASSERT(fabs(worst - 1) > 1e-3);
}

static void test_monotone(void)
{
    double before = 0;
    for (uint64_t releases = 0; releases < 200; releases += 7) {
        double epsilon = promise(0.2385, 1.1, releases, 1e-4);
        CU_ASSERT(releases == 0 ? epsilon == 0 : epsilon > before);
        before = epsilon;
    }
    for (double z = 0.5; z < 20; z *= 1.3)
        CU_ASSERT(promise(0.2385, z * 1.3, 40, 1e-4) < promise(0.2385, z, 40, 1e-4));
    for (double q = 0.01; q < 0.9; q *= 1.1)
        CU_ASSERT(promise(q * 1.1, 1.1, 40, 1e-4) > promise(q, 1.1, 40, 1e-4));
    for (double delta = 1e-9; delta < 0.05; delta *= 10)
        CU_ASSERT(promise(0.2385, 1.1, 40, delta * 10) < promise(0.2385, 1.1, 40, delta));
}

/* Runs on the same agents add up, in any order, and a run is as much as its parts. */
static void test_composition(void)
{
    struct accountant parts, turned, whole;
    double            a, b, c, order = 0;
    accountant_init(&parts, ACCOUNTANT_INTEGER);
    turned = whole = parts;
    CU_ASSERT(parts.len == 73 && parts.order[0] == 2 && parts.order[62] == 64 && parts.order[72] == 512);
    CU_ASSERT(accountant_spend(&parts, 0.2, 1.3, 11, NULL) == STATUS_OK);
    CU_ASSERT(accountant_spend(&parts, 0.5, 4.1, 23, NULL) == STATUS_OK);
    CU_ASSERT(accountant_spend(&parts, 0.2, 1.3, 5, NULL) == STATUS_OK);
    CU_ASSERT(accountant_spend(&turned, 0.5, 4.1, 23, NULL) == STATUS_OK);
    CU_ASSERT(accountant_spend(&turned, 0.2, 1.3, 16, NULL) == STATUS_OK);
    CU_ASSERT(accountant_spend(&whole, 0.2, 1.3, 16, NULL) == STATUS_OK);
    CU_ASSERT(accountant_epsilon(&parts, ACCOUNTANT_IMPROVED, 1e-5, &a, &order, NULL) == STATUS_OK);
    CU_ASSERT(accountant_epsilon(&turned, ACCOUNTANT_IMPROVED, 1e-5, &b, NULL, NULL) == STATUS_OK);
    CU_ASSERT(accountant_epsilon(&whole, ACCOUNTANT_IMPROVED, 1e-5, &c, NULL, NULL) == STATUS_OK);
    CHECK_NEAR(a, b, 1e-12);
    CU_ASSERT(a > c && order >= 2 && order == floor(order));
    accountant_init(&whole, ACCOUNTANT_FINE);
    CU_ASSERT(whole.len == 157 && whole.order[0] == 1.1 && whole.order[98] == 10.9 && whole.order[156] == 1024);
}

static void test_multiplier(void)
{
    double z = 0;
    for (size_t i = 0; i < COUNT(multipliers); i++) {
        struct accountant_run run = {
            .q = multipliers[i].q, .releases = multipliers[i].releases, .delta = multipliers[i].delta};
        CU_ASSERT(accountant_multiplier(&run, multipliers[i].epsilon, ACCOUNTANT_FINE, &z, NULL) == STATUS_OK);
        CHECK_NEAR(z - multipliers[i].fine, 0.5e-4, 0.51e-4); /* rounded up */
        CU_ASSERT(accountant_multiplier(&run, multipliers[i].epsilon, ACCOUNTANT_INTEGER, &z, NULL) == STATUS_OK);
        CU_ASSERT(promise(run.q, z, run.releases, run.delta) <= multipliers[i].epsilon);
        CU_ASSERT(promise(run.q, z - 1e-4, run.releases, run.delta) > multipliers[i].epsilon);
    }
}

static void check_refused(struct accountant_run run, double target, const char *code)
{
    struct error err = {0};
    double       out = 0;
    bool         is_target = strcmp(code, "bad_epsilon") == 0;
    if (!is_target) {
        CU_ASSERT(accountant_promise(&run, &out, &err) == STATUS_INVALID && strcmp(err.code, code) == 0);
        err.code[0] = 0;
        CU_ASSERT(accountant_estimate(&run, &out, &(struct arena){0}, &err) == STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, code) == 0);
    }
    if (strcmp(code, "bad_noise_multiplier") != 0)
        CU_ASSERT(accountant_multiplier(&run, target, ACCOUNTANT_INTEGER, &out, &err) == STATUS_INVALID &&
                  strcmp(err.code, code) == 0);
}

static void test_refusals(void)
{
    static const double bad[] = {0, -0.25, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        check_refused((struct accountant_run){bad[i], 1, 1e-3, 3}, 1, "bad_sampling_rate");
        check_refused((struct accountant_run){0.25, bad[i], 1e-3, 3}, 1, "bad_noise_multiplier");
        check_refused((struct accountant_run){0.25, 1, bad[i], 3}, 1, "bad_delta");
        check_refused((struct accountant_run){0.25, 1, 1e-3, 3}, bad[i], "bad_epsilon");
    }
    check_refused((struct accountant_run){1.0001, 1, 1e-3, 3}, 1, "bad_sampling_rate");
    check_refused((struct accountant_run){0.25, 0.099, 1e-3, 3}, 1, "bad_noise_multiplier");
    check_refused((struct accountant_run){0.25, 1, 1, 3}, 1, "bad_delta");
    check_refused((struct accountant_run){0.25, 1, 1e-3, 1000000001}, 1, "bad_releases");
    struct accountant_run many = {.q = 1, .delta = 1e-9, .releases = 1000000000};
    double                z = 0;
    struct error          err = {0};
    CU_ASSERT(accountant_multiplier(&many, 1e-5, ACCOUNTANT_INTEGER, &z, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, "bad_epsilon") == 0);
}

/* No memory; a delta below what the transforms resolve; losses in the thousands. */
static void test_estimate_limits(void)
{
    struct accountant_run run = {.q = 0.25, .z = 1.3, .releases = 40, .delta = 1e-5};
    struct arena          arena;
    struct error          err = {0};
    double                epsilon = 0;
    arena_init(&arena, 1 << 18);
    CU_ASSERT(accountant_estimate(&run, &epsilon, &arena, &err) == STATUS_NO_MEMORY);
    arena_fini(&arena);
    arena_init(&arena, 16 << 20);
    run.delta = 1e-14;
    CU_ASSERT(accountant_estimate(&run, &epsilon, &arena, &err) == STATUS_NUMERIC);
    CU_ASSERT(strcmp(err.code, "out_of_range") == 0);
    arena_fini(&arena);
    run = (struct accountant_run){.q = 1, .z = 0.1, .releases = 400, .delta = 1e-5};
    double exact = mechanism_gaussian_epsilon(200, 1e-5);
    CHECK_NEAR(estimate(&run) / exact, 1, 1e-4);
    CU_ASSERT(promise(1, 0.1, 400, 1e-5) >= exact);
}

static void test_fft(void)
{
    enum { N = 64 };
    struct arena arena;
    struct fft   fft;
    struct rng   rng = rng_at(2385, 1, RNG_TEST);
    double       x[2 * N], y[2 * N];
    arena_init(&arena, 1 << 16);
    CU_ASSERT_FATAL(fft_init(&fft, N, &arena, NULL) == STATUS_OK);
    for (size_t i = 0; i < 2 * N; i++)
        y[i] = x[i] = rng_normal(&rng);
    fft_run(&fft, y, false);
    for (size_t k = 0; k < N; k++) {
        double re = 0, im = 0;
        for (size_t j = 0; j < N; j++) {
            double angle = -2 * acos(-1) * (double)(j * k) / N;
            re += x[2 * j] * cos(angle) - x[2 * j + 1] * sin(angle);
            im += x[2 * j] * sin(angle) + x[2 * j + 1] * cos(angle);
        }
        CHECK_NEAR(y[2 * k], re, 1e-12);
        CHECK_NEAR(y[2 * k + 1], im, 1e-12);
    }
    fft_run(&fft, y, true);
    for (size_t i = 0; i < 2 * N; i++)
        CHECK_NEAR(y[i], x[i], 1e-14);
    arena_fini(&arena);
    arena_init(&arena, 64);
    CU_ASSERT(fft_init(&fft, 1 << 20, &arena, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

CU_TestInfo suite_accountant[] = {
    {"37 reference cases", test_reference},
    {"exact estimate", test_estimate},
    {"log moments", test_log_moments},
    {"discrete Gaussian", test_discrete},
    {"monotone", test_monotone},
    {"composition", test_composition},
    {"multiplier for a budget", test_multiplier},
    {"refusals", test_refusals},
    {"limits of the estimate", test_estimate_limits},
    {"transform", test_fft},
    CU_TEST_INFO_NULL,
};
