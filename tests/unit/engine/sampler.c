/* Exact samplers: goodness of fit over 10^6 draws each, against probabilities computed here, and broken sources. */
#include "engine/privacy/sampler.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1000000 };

/* Upper tail bound of chi^2 at 1e-6 (Wilson and Hilferty). */
static double chi2_limit(double k)
{
    return k * pow(1 - 2 / (9 * k) + 4.7534 * sqrt(2 / (9 * k)), 3);
}

/* Cells of `width` values around 0, the ends open; chi^2 of counts against the distribution function below[]. */
enum { CELLS = 61 };

struct fit {
    int64_t width;
    double  count[CELLS], sum, squares, cubes;
};

static void fit_add(struct fit *fit, int64_t k)
{
    int64_t half = fit->width * CELLS / 2, at = (k + half) / fit->width;
    at = k + half < 0 ? 0 : at >= CELLS ? CELLS - 1 : at;
    fit->count[at]++;
    fit->sum += (double)k / DRAWS;
    fit->squares += (double)k * (double)k / DRAWS;
    fit->cubes += pow((double)k, 3) / DRAWS;
}

/* probability(arg, k) up to a factor; summed over |k| <= reach. */
static void fit_check(const struct fit *fit, double (*weight)(double, double), double arg, int64_t reach)
{
    double  expected[CELLS] = {0}, total = 0, variance = 0, chi2 = 0;
    int64_t half = fit->width * CELLS / 2;
    int     used = 0;
    for (int64_t k = -reach; k <= reach; k++) {
        int64_t at = (k + half) / fit->width;
        at = k + half < 0 ? 0 : at >= CELLS ? CELLS - 1 : at;
        expected[at] += weight(arg, (double)k);
        total += weight(arg, (double)k);
        variance += weight(arg, (double)k) * (double)k * (double)k;
    }
    for (int i = 0; i < CELLS; i++) {
        double mean = expected[i] / total * DRAWS;
        if (mean < 10) {
            CU_ASSERT(fit->count[i] < 60);
            continue;
        }
        used++;
        chi2 += (fit->count[i] - mean) * (fit->count[i] - mean) / mean;
    }
    CU_ASSERT(used >= 3);
    CU_ASSERT(chi2 < chi2_limit(used - 1));
    variance /= total;
    CHECK_NEAR(fit->sum / sqrt(variance), 0, 4.9 / sqrt(DRAWS));
    CHECK_NEAR(fit->squares / variance, 1, 4.9 * sqrt(5.0 / DRAWS));
    CHECK_NEAR(fit->cubes / pow(variance, 1.5), 0, 4.9 * sqrt(90.0 / DRAWS));
}

static double weight_laplace(double t, double k)
{
    return exp(-t * fabs(k));
}

static double weight_gaussian(double sigma, double k)
{
    return exp(-k * k / (2 * sigma * sigma));
}

/* Rates as they occur: epsilon 1 in two columns, 10 in one; coarse ones where single values have cells. */
static void test_laplace(void)
{
    static const struct {
        uint64_t rate;
        int64_t  width, reach;
    } rows[] = {
        {2961730, 200, 60000},
        {41902118, 15, 4000},
        {1581838337, 1, 120},
        {0x123456789A, 1, 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rng     rng = rng_at(410 + i, 1, RNG_TEST);
        struct sampler sampler;
        struct fit     fit = {.width = rows[i].width};
        sampler_init(&sampler, bits_of_rng, &rng);
        for (int n = 0; n < DRAWS; n++) {
            int64_t k = 0;
            CU_ASSERT_FATAL(sampler_laplace(&sampler, rows[i].rate, &k, NULL) == STATUS_OK);
            fit_add(&fit, k);
        }
        if (rows[i].rate > 1ULL << 33) { /* almost all zeros: compare three counts by hand */
            double t = (double)rows[i].rate * 0x1p-32, zero = tanh(t / 2), mean = DRAWS * (1 - zero);
            CHECK_NEAR(fit.count[CELLS / 2], DRAWS * zero, 5 * sqrt(mean));
            continue;
        }
        fit_check(&fit, weight_laplace, (double)rows[i].rate * 0x1p-32, rows[i].reach);
    }
}

/* Pairs cell by cell where the lattice is coarse; in more dimensions the variance of each coordinate, which has no direction
 * of its own. */
static void test_isotropic(void)
{
    enum { REACH = 6, SIDE = 2 * REACH + 1, FAR = 90 };
    const double   t = 0.71;
    const uint64_t rate = (uint64_t)(t * 0x1p32);
    static double  count[SIDE][SIDE];
    double         total = 0, chi2 = 0;
    int            used = 0;
    struct rng     rng = rng_at(450, 1, RNG_TEST);
    struct sampler sampler;
    sampler_init(&sampler, bits_of_rng, &rng);
    for (int n = 0; n < DRAWS / 2; n++) {
        int64_t k[2];
        CU_ASSERT_FATAL(sampler_isotropic(&sampler, rate, 2, k, NULL) == STATUS_OK);
        if (llabs(k[0]) <= REACH && llabs(k[1]) <= REACH)
            count[k[0] + REACH][k[1] + REACH]++;
    }
    for (int i = -FAR; i <= FAR; i++)
        for (int j = -FAR; j <= FAR; j++)
            total += exp(-t * hypot(i, j));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double mean = exp(-t * hypot(i - REACH, j - REACH)) / total * (DRAWS / 2);
            CU_ASSERT(mean > 10);
            chi2 += (count[i][j] - mean) * (count[i][j] - mean) / mean;
            used++;
        }
    CU_ASSERT(chi2 < chi2_limit(used));
    for (size_t d = 1; d <= 9; d += 4) {
        const double fine = 0.0021;
        const int    draws = 40000;
        double       squares = 0, product = 0, sum = 0;
        for (int n = 0; n < draws; n++) {
            int64_t k[SAMPLER_ISOTROPIC_MAX] = {0};
            CU_ASSERT_FATAL(sampler_isotropic(&sampler, (uint64_t)(fine * 0x1p32), d, k, NULL) == STATUS_OK);
            squares += pow((double)k[0] * fine, 2) / draws;
            product += (double)k[0] * (double)k[d - 1] * fine * fine / draws;
            sum += (double)k[0] * fine / draws;
        }
        double variance = (double)d + 1;
        CHECK_NEAR(squares / variance, 1, 5 * sqrt(5.0 / draws));
        CHECK_NEAR(sum, 0, 5 * sqrt(variance / draws));
        CHECK_NEAR(product / variance, d == 1 ? 1 : 0, 5 * sqrt(5.0 / draws));
    }
}

static void test_gaussian(void)
{
    static const struct {
        uint32_t sigma;
        int64_t  width, reach;
    } rows[] = {
        {1, 1, 40}, {7, 1, 200}, {64, 5, 2000}, {4145, 300, 60000}, {530201, 40000, 8000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += thorough ? 1 : 2) {
        struct rng     rng = rng_at(430 + i, 1, RNG_TEST);
        struct sampler sampler;
        struct fit     fit = {.width = rows[i].width};
        sampler_init(&sampler, bits_of_rng, &rng);
        for (int n = 0; n < DRAWS; n++) {
            int64_t k = 0;
            CU_ASSERT_FATAL(sampler_gaussian(&sampler, rows[i].sigma, &k, NULL) == STATUS_OK);
            fit_add(&fit, k);
        }
        fit_check(&fit, weight_gaussian, rows[i].sigma, rows[i].reach);
    }
}

/* The widest sigma: nothing overflows, the spread is right. */
static void test_wide_gaussian(void)
{
    enum { N = 20000 };
    const double   sigma = 2147483647;
    struct rng     rng = rng_at(440, 1, RNG_TEST);
    struct sampler sampler;
    double         squares = 0, largest = 0;
    sampler_init(&sampler, bits_of_rng, &rng);
    for (int n = 0; n < N; n++) {
        int64_t k = 0;
        CU_ASSERT_FATAL(sampler_gaussian(&sampler, 2147483647, &k, NULL) == STATUS_OK);
        squares += pow((double)k / sigma, 2) / N;
        largest = fmax(largest, fabs((double)k / sigma));
    }
    CHECK_NEAR(squares, 1, 4.9 * sqrt(2.0 / N));
    CU_ASSERT(largest > 3.5 && largest < 7);
}

static void test_below(void)
{
    struct rng     rng = rng_at(441, 1, RNG_TEST);
    struct sampler sampler;
    uint64_t       k, half = 1ULL << 63;
    int            count[5] = {0}, low = 0;
    sampler_init(&sampler, bits_of_rng, &rng);
    for (int i = 0; i < 50000; i++) {
        CU_ASSERT_FATAL(sampler_below(&sampler, 5, &k, NULL) == STATUS_OK && k < 5);
        count[k]++;
    }
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(count[i], 10000, 4.5 * sqrt(8000));
    for (int i = 0; i < 1000; i++) { /* a plain remainder would give 2 : 1 here */
        CU_ASSERT_FATAL(sampler_below(&sampler, half + half / 2, &k, NULL) == STATUS_OK);
        low += k < half / 2;
    }
    CHECK_NEAR(low, 1000.0 / 3, 4.5 * sqrt(1000 * 2.0 / 9));
}

struct broken {
    uint32_t word;
    int      calls, fail_at;
};

static enum status bits_broken(void *arg, void *out, size_t length, struct error *err)
{
    struct broken *broken = arg;
    if (++broken->calls == broken->fail_at)
        return error_set(err, STATUS_BUSY, "entropy", "", "no bits");
    for (size_t i = 0; i < length; i += 4)
        memcpy((char *)out + i, &broken->word, 4);
    return STATUS_OK;
}

static enum status draw(struct sampler *sampler, int kind, struct error *err)
{
    int64_t  k;
    uint64_t u;
    int64_t  row[3];
    if (kind == 3)
        return sampler_isotropic(sampler, 4190211, 3, row, err);
    return kind == 0   ? sampler_laplace(sampler, 2961730, &k, err)
           : kind == 1 ? sampler_gaussian(sampler, 4145, &k, err)
                       : sampler_below(sampler, 5, &u, err);
}

/* Constant words never loop for ever; within a thousand draws they are seen, or every draw is fine by itself. */
static void test_constant_bits(void)
{
    static const uint32_t words[] = {0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    int                   caught = 0;
    for (int kind = 0; kind < 4; kind += kind == 1 ? 2 : 1)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            struct broken  broken = {.word = words[i]};
            struct sampler sampler;
            struct error   err = {0};
            enum status    status = STATUS_OK;
            sampler_init(&sampler, bits_broken, &broken);
            for (int n = 0; n < 1000 && status == STATUS_OK; n++)
                status = draw(&sampler, kind, &err);
            caught += status == STATUS_INTERNAL && strcmp(err.code, "not_random") == 0;
            CU_ASSERT(status == STATUS_OK || status == STATUS_INTERNAL);
        }
    CU_ASSERT(caught >= 8);
}

/* The caller's error comes through, at once and at every later call. */
static void test_failing_bits(void)
{
    for (int kind = 0; kind < 3; kind++)
        for (int fail_at = 1; fail_at < 4; fail_at++) {
            struct broken  broken = {.word = 0x9E3779B9, .fail_at = fail_at};
            struct sampler sampler;
            struct error   err = {0};
            enum status    status = STATUS_OK;
            sampler_init(&sampler, bits_broken, &broken);
            for (int n = 0; n < 100000 && status == STATUS_OK; n++)
                status = draw(&sampler, kind, &err);
            CU_ASSERT(status == STATUS_BUSY && strcmp(err.code, "entropy") == 0);
            err.code[0] = '\0';
            CU_ASSERT(draw(&sampler, (kind + 1) % 3, &err) == STATUS_BUSY && strcmp(err.code, "entropy") == 0);
            CU_ASSERT(broken.calls == fail_at);
        }
}

/* Words that were used, and all of them after a wipe, are gone from memory. */
static void test_wipe(void)
{
    struct broken  broken = {.word = 0x9E3779B9};
    struct sampler sampler;
    uint64_t       k;
    sampler_init(&sampler, bits_broken, &broken);
    CU_ASSERT(sampler_u64(&sampler, &k, NULL) == STATUS_OK && k == 0x9E3779B99E3779B9);
    CU_ASSERT(sampler.words[0] == 0 && sampler.words[1] == 0 && sampler.words[2] == 0x9E3779B9);
    sampler_wipe(&sampler);
    for (size_t i = 0; i < SAMPLER_WORDS; i++)
        CU_ASSERT(sampler.words[i] == 0);
    CU_ASSERT(sampler_u64(&sampler, &k, NULL) == STATUS_OK && k != 0 && broken.calls == 2);
}

CU_TestInfo suite_sampler[] = {
    {"discrete Laplace", test_laplace},
    {"isotropic Laplace", test_isotropic},
    {"discrete Gaussian", test_gaussian},
    {"wide discrete Gaussian", test_wide_gaussian},
    {"below", test_below},
    {"constant bits", test_constant_bits},
    {"failing bits", test_failing_bits},
    {"wipe", test_wipe},
    CU_TEST_INFO_NULL,
};
