/* The accountant against two other accountants, brackets of the truth, exact lattice sums of the discrete Gaussian that is
 * drawn; its lattices against closed forms; limits, calibration, and refusals. */
#include "engine/privacy/accountant.h"

#include "engine/privacy/mechanism.h"
#include "engine/privacy/pld.h"
#include "tests/unit/engine/accountant_values.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
static const double thesis_delta = 0.0029435200932623716; /* 200^-1.1 */

static struct arena scratch;

static double promise_all(const struct accountant_run *runs, size_t n, double delta)
{
    double epsilon = NAN;
    arena_init(&scratch, 1 << 20);
    CU_ASSERT(accountant_promise(runs, n, delta, &epsilon, &scratch, NULL) == STATUS_OK);
    arena_fini(&scratch);
    return epsilon;
}

static double promise(double q, double z, uint64_t releases, double delta)
{
    return promise_all(&(struct accountant_run){q, z, releases}, 1, delta);
}

/* The epsilon of one direction of releases at one step of the lattice. */
static double at_step(const struct pld_gaussian *gaussian, unsigned releases, double delta, double step)
{
    struct pld pld;
    arena_init(&scratch, 1 << 20);
    CU_ASSERT_FATAL(pld_subsampled(&pld, gaussian, step, 1e-25, &scratch, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(pld_power(&pld, releases, 1e-16, &scratch, NULL) == STATUS_OK);
    double epsilon = pld_epsilon(&pld, 0, delta);
    arena_fini(&scratch);
    return epsilon;
}

static void test_reference(void)
{
    CU_ASSERT(COUNT(privacy_losses) == 37);
    for (size_t i = 0; i < COUNT(privacy_losses); i++) {
        double promised =
            promise(privacy_losses[i].q, privacy_losses[i].z, privacy_losses[i].releases, privacy_losses[i].delta);
        CU_ASSERT(promised >= privacy_losses[i].exact - 2e-5); /* the reference's own error */
        CU_ASSERT(promised <= privacy_losses[i].exact * (privacy_losses[i].q < 0.002 ? 1.02 : 1.0015));
    }
    CU_ASSERT(promise(0.25, 1, 40, thesis_delta) <= 7.10);
}

static void test_brackets(void)
{
    CU_ASSERT(COUNT(brackets) == 18);
    for (size_t i = 0; i < COUNT(brackets); i++) {
        double promised = promise(brackets[i].q, brackets[i].z, brackets[i].releases, brackets[i].delta);
        CU_ASSERT(promised >= brackets[i].lower - 1e-6);
        CU_ASSERT(promised <= 1.005 * brackets[i].upper);
        struct pld_gaussian remove = {brackets[i].q, brackets[i].z, PLD_REMOVE};
        if (remove.q < 1)
            CHECK_NEAR(at_step(&remove, brackets[i].releases, brackets[i].delta, brackets[i].step), brackets[i].promise,
                       1e-5);
    }
    for (size_t i = 0; i < COUNT(same_grid); i++) {
        struct pld_gaussian remove = {0.25, 1, PLD_REMOVE}, add = {0.25, 1, PLD_ADD};
        CHECK_NEAR(at_step(&remove, 40, thesis_delta, same_grid[i].step), same_grid[i].remove, 2e-5);
        CHECK_NEAR(at_step(&add, 40, thesis_delta, same_grid[i].step), same_grid[i].add, 2e-5);
    }
}

/* A single release against the closed form, at every epsilon from above and not far above. */
static void test_dominates(void)
{
    static const struct accountant_run cases[] = {{0.25, 1, 1}, {0.011, 0.6, 1}, {0.93, 2.385, 1}, {0.5, 0.17, 1}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (double epsilon = 0.013; epsilon < 3; epsilon *= 1.37) {
            double q = cases[i].q, z = cases[i].z;
            double x = z * z * log((exp(epsilon) - 1 + q) / q) + 0.5;
            double other = 0.5 * erfc(x / z / sqrt(2)), own = (1 - q) * other + q * 0.5 * erfc((x - 1) / z / sqrt(2));
            double delta = own - exp(epsilon) * other;
            if (delta < 1e-9)
                continue;
            double step = at_step(&(struct pld_gaussian){q, z, PLD_REMOVE}, 1, delta, 0x1p-8) - epsilon;
            CU_ASSERT(step >= -1e-9 && step < 0x1p-8);
        }
}

/* The drawn noise: integers d with probability q more than noise of sd sigma.  Exact sums, one release, both directions. */
static void test_discrete(void)
{
    static const struct {
        double q, sigma, epsilon;
        int    d;
    } cases[] = {{0.35, 3, 0.4, 2}, {0.15, 7, 0.2, 16}, {0.5, 17, 0.9, 10}, {0.8, 40, 0.3, 41}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double q = cases[i].q, s = cases[i].sigma, weight = 0, removed = 0, added = 0;
        int    far = (int)(12 * s) + cases[i].d;
        for (int k = -far; k <= far; k++) {
            double base = exp(-k * k / (2 * s * s)), shifted = exp(-pow(k - cases[i].d, 2) / (2 * s * s));
            double mixed = (1 - q) * base + q * shifted;
            weight += base;
            removed += fmax(mixed - exp(cases[i].epsilon) * base, 0);
            added += fmax(base - exp(cases[i].epsilon) * mixed, 0);
        }
        double z = sqrt(s * s - 4) / cases[i].d,
               slack = at_step(&(struct pld_gaussian){q, z, PLD_REMOVE}, 1, removed / weight, 0x1p-10);
        CU_ASSERT(slack >= cases[i].epsilon);
        if (added > 0)
            CU_ASSERT(at_step(&(struct pld_gaussian){q, z, PLD_ADD}, 1, added / weight, 0x1p-10) >= cases[i].epsilon);
    }
}

/* Pure mechanisms: their sum where delta is nothing, the binomial law where it is something. */
static void test_pure(void)
{
    struct pld all, one;
    arena_init(&scratch, 1 << 20);
    CU_ASSERT_FATAL(pld_nothing(&all, 0x1p-7, &scratch, NULL) == STATUS_OK);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_FATAL(pld_pure(&one, 0.5, 0x1p-7, &scratch, NULL) == STATUS_OK);
        CU_ASSERT_FATAL(pld_compose(&all, &one, 0, &scratch, NULL) == STATUS_OK);
    }
    CHECK_NEAR(pld_epsilon(&all, 0, 1e-5), 4.998854120363982, 1e-8);
    CHECK_NEAR(pld_epsilon(&all, 0, 1e-300), 5, 1e-8);
    CU_ASSERT_FATAL(pld_pure(&one, 0.30103, 0x1p-7, &scratch, NULL) == STATUS_OK); /* between two atoms */
    CHECK_NEAR(pld_epsilon(&one, 0, 1e-5) - 0.30103, 0.004, 0.004);
    /* With a Gaussian: the mixture of its curve at epsilon - 1 and epsilon + 1. */
    CU_ASSERT_FATAL(pld_pure(&one, 1, 0x1p-7, &scratch, NULL) == STATUS_OK);
    double epsilon = pld_epsilon(&one, 0.24720692689389961, 1e-5), p = 1 / (1 + exp(-1));
    CHECK_NEAR(epsilon, 1.895642678198887, 1e-8);
    CHECK_NEAR(p * mechanism_gaussian_delta(epsilon - 1, 0.24720692689389961) +
                   (1 - p) * mechanism_gaussian_delta(epsilon + 1, 0.24720692689389961),
               1e-5, 1e-12);
    arena_fini(&scratch);
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

/* Runs on the same agents add up, in any order, on lattices of different steps, and a run is as much as its parts. */
static void test_composition(void)
{
    const struct accountant_run runs[] = {{0.25, 1, 40}, {0.1, 2, 25}}, turned[] = {runs[1], runs[0]};
    const struct accountant_run parts[] = {{0.25, 1, 11}, {0.25, 1, 29}};
    double                      both = promise_all(runs, 2, thesis_delta), whole = promise(0.25, 1, 40, thesis_delta);
    CHECK_NEAR(both, 7.1144, 0.0202); /* coarser steps: 7.13449 */
    CU_ASSERT(both <= 7.1345 && both > whole);
    CHECK_NEAR(promise_all(turned, 2, thesis_delta), both, 1e-6);
    CHECK_NEAR(promise_all(parts, 2, thesis_delta), whole, 1e-6);
    /* A Gaussian without sampling has its closed form, alone and with others. */
    CHECK_NEAR(promise(1, 2.385, 7, 3.1e-6), mechanism_gaussian_epsilon(sqrt(7) / 2.385, 3.1e-6), 1e-8);
    const struct accountant_run mixed[] = {{0.25, 1, 40}, {1, 500, 1}};
    CHECK_NEAR(promise_all(mixed, 2, thesis_delta), whole, 1e-3);
    CU_ASSERT(promise_all(NULL, 0, 1e-5) == 0);
    /* Forty runs of one release are one run of forty, in the same memory. */
    struct accountant_run singles[40];
    for (size_t i = 0; i < COUNT(singles); i++)
        singles[i] = (struct accountant_run){0.25, 1, 1};
    CHECK_NEAR(promise_all(singles, COUNT(singles), thesis_delta), whole, 1e-5);
}

static void test_multiplier(void)
{
    for (size_t i = 0; i < COUNT(multipliers); i++) {
        struct accountant_run run = {.q = multipliers[i].q, .releases = multipliers[i].releases};
        arena_init(&scratch, 1 << 20);
        CU_ASSERT(accountant_multiplier(&run, multipliers[i].delta, multipliers[i].epsilon, &scratch, NULL) ==
                  STATUS_OK);
        arena_fini(&scratch);
        CU_ASSERT(run.z >= multipliers[i].z - 0.0005 && run.z < 1.002 * multipliers[i].z);
        CU_ASSERT(promise(run.q, run.z, run.releases, multipliers[i].delta) <= multipliers[i].epsilon);
        CU_ASSERT(promise(run.q, run.z - 1e-4, run.releases, multipliers[i].delta) > multipliers[i].epsilon);
    }
}

static void check_refused(struct accountant_run run, double delta, double target, const char *code)
{
    struct error err = {0};
    double       out = 0;
    arena_init(&scratch, 1 << 20);
    if (strcmp(code, "bad_epsilon") != 0)
        CU_ASSERT(accountant_promise(&run, 1, delta, &out, &scratch, &err) == STATUS_INVALID &&
                  strcmp(err.code, code) == 0);
    if (strcmp(code, "bad_noise_multiplier") != 0)
        CU_ASSERT(accountant_multiplier(&run, delta, target, &scratch, &err) == STATUS_INVALID &&
                  strcmp(err.code, code) == 0);
    arena_fini(&scratch);
}

static void test_refusals(void)
{
    static const double bad[] = {0, -0.25, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        check_refused((struct accountant_run){bad[i], 1, 3}, 1e-3, 1, "bad_sampling_rate");
        check_refused((struct accountant_run){0.25, bad[i], 3}, 1e-3, 1, "bad_noise_multiplier");
        check_refused((struct accountant_run){0.25, 1, 3}, bad[i], 1, "bad_delta");
        check_refused((struct accountant_run){0.25, 1, 3}, 1e-3, bad[i], "bad_epsilon");
    }
    check_refused((struct accountant_run){1.0001, 1, 3}, 1e-3, 1, "bad_sampling_rate");
    check_refused((struct accountant_run){0.25, 0.099, 3}, 1e-3, 1, "bad_noise_multiplier");
    check_refused((struct accountant_run){0.25, 1, 3}, 1, 1, "bad_delta");
    check_refused((struct accountant_run){0.25, 1, 1000000001}, 1e-3, 1, "bad_releases");
    check_refused((struct accountant_run){.q = 1, .releases = 1000000000}, 1e-9, 1e-5, "bad_epsilon");
}

/* The hardest runs that are accepted have a promise, at once; no memory, and a delta below what is resolved, have none. */
static void test_limits(void)
{
    static const struct accountant_run hard[] = {
        {1e-6, 1, 1000000}, {0.5, 0.1, 1000000000}, {0.999999, 0.1, 1000}, {1e-3, 100, 1000000}};
    static const struct accountant_run light[] = {
        {1e-300, 1, 1}, {1e-300, 0.1, 100000}, {1e-12, 1, 10000}, {1e-9, 50, 1000}};
    struct accountant_run run = {.q = 0.25, .z = 1.3, .releases = 40};
    struct error          err = {0};
    double                epsilon = 0;
    for (size_t i = 0; i < COUNT(hard); i++)
        CU_ASSERT(promise_all(&hard[i], 1, 1e-6) > 0);
    for (size_t i = 0; i < COUNT(light);
         i++) /* hardly ever drawn: next to nothing, though rounding is all that is seen */
        CU_ASSERT(promise_all(&light[i], 1, 1e-6) < 1e-6);
    CU_ASSERT(promise(1, 0.1, 400, 1e-5) >= mechanism_gaussian_epsilon(200, 1e-5));
    arena_init(&scratch, 1 << 16);
    CU_ASSERT(accountant_promise(&run, 1, 1e-5, &epsilon, &scratch, &err) == STATUS_NO_MEMORY);
    arena_fini(&scratch);
    arena_init(&scratch, 1 << 20);
    CU_ASSERT(accountant_promise(&run, 1, 1e-310, &epsilon, &scratch, &err) == STATUS_NUMERIC);
    arena_fini(&scratch);
}

CU_TestInfo suite_accountant[] = {
    {"two other accountants", test_reference},
    {"brackets of the truth", test_brackets},
    {"one release, from above", test_dominates},
    {"the discrete Gaussian that is drawn", test_discrete},
    {"pure mechanisms", test_pure},
    {"monotone", test_monotone},
    {"runs add up", test_composition},
    {"calibration", test_multiplier},
    {"refusals", test_refusals},
    {"limits", test_limits},
    CU_TEST_INFO_NULL,
};
