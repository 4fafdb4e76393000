/* See accountant.h.  The sums over binomials and the integral are taken in log space: their terms reach exp(10^5). */
#include "engine/privacy/accountant.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <stdbool.h>

static const double Z_MAX = 1e6;

/* A sum of exponentials that cannot overflow. */
struct log_sum {
    double largest, sum; /* sum of exp(term - largest) */
};

static void log_sum_add(struct log_sum *s, double term)
{
    if (term <= s->largest) {
        s->sum += exp(term - s->largest);
    } else {
        s->sum = s->sum * exp(s->largest - term) + 1.0;
        s->largest = term;
    }
}

static double log_moment_integer(double q, double z, double order)
{
    struct log_sum sum = {.largest = order * log1p(-q), .sum = 1.0};
    double         log_binomial = 0.0;
    for (double i = 1.0; i <= order; i++) {
        log_binomial += log((order - i + 1.0) / i);
        log_sum_add(&sum, log_binomial + i * log(q) + (order - i) * log1p(-q) + i * (i - 1.0) / (2.0 * z * z));
    }
    return sum.largest + log(sum.sum);
}

double accountant_log_ratio(double q, double z, double x)
{
    double t = (2.0 * x - 1.0) / (2.0 * z * z);
    if (q == 1.0)
        return t;
    return t > 0.0 ? t + log(q + (1.0 - q) * exp(-t)) : log1p(q * expm1(t));
}

/* The integrand is analytic but for |imaginary part| >= pi z^2: the rule errs by about exp(-2 pi^2 z^2 / step). */
static double log_moment_fraction(double q, double z, double order)
{
    enum { SDS = 14 };
    struct log_sum sum = {.largest = -HUGE_VAL};
    double         step = fmin(z / 16.0, z * z / 2.0), low = -SDS * z, steps = ceil((order + 2.0 * SDS * z) / step);
    for (double i = 0.0; i <= steps; i++) {
        double x = low + i * step;
        log_sum_add(&sum, order * accountant_log_ratio(q, z, x) - x * x / (2.0 * z * z));
    }
    return sum.largest + log(sum.sum) + log(step / z) - HALF_LOG_2PI;
}

double accountant_log_moment(double q, double z, double order)
{
    if (q == 1.0)
        return order * (order - 1.0) / (2.0 * z * z);
    return order == floor(order) ? log_moment_integer(q, z, order) : log_moment_fraction(q, z, order);
}

/* --- curves --- */

/* Orders from, from + step, ... up to. */
struct range {
    double from, step, last;
};

// clang-format off
static const struct range ranges[][6] = {
    [ACCOUNTANT_INTEGER] = {{2, 1, 64}, {80, 16, 96}, {128, 32, 192}, {256, 64, 512}},
    [ACCOUNTANT_FINE] = {{1.1, 0.1, 10.9}, {11, 1, 64}, {128, 128, 256}, {512, 512, 1024}},
    [ACCOUNTANT_MOMENTS] = {{2, 1, 33}},
};
// clang-format on

void accountant_init(struct accountant *accountant, enum accountant_orders kind)
{
    *accountant = (struct accountant){.kind = kind};
    for (const struct range *r = ranges[kind]; r->step > 0.0; r++)
        for (size_t i = 0; r->from + (double)i * r->step < r->last + 0.5 * r->step; i++) {
            double order = r->from + (double)i * r->step;
            accountant->order[accountant->len++] = r->step < 1.0 ? rint(10.0 * order) / 10.0 : order;
        }
}

static enum status check_rate(double q, struct error *err)
{
    if (!(q > 0.0 && q <= 1.0))
        return error_set(err, STATUS_INVALID, "bad_sampling_rate", "/q", "q must be in (0, 1]");
    return STATUS_OK;
}

static enum status check_release(double q, double z, uint64_t releases, struct error *err)
{
    TRY(check_rate(q, err));
    if (!(z >= ACCOUNTANT_Z_MIN && z <= Z_MAX))
        return error_set(err, STATUS_INVALID, "bad_noise_multiplier", "/z", "z must be from %g to %g", ACCOUNTANT_Z_MIN,
                         Z_MAX);
    if (releases > ACCOUNTANT_RELEASES_MAX)
        return error_set(err, STATUS_INVALID, "bad_releases", "/releases", "at most %d releases",
                         ACCOUNTANT_RELEASES_MAX);
    return STATUS_OK;
}

static enum status check_delta(double delta, struct error *err)
{
    if (!(delta > 0.0 && delta < 1.0))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must be between 0 and 1");
    return STATUS_OK;
}

static enum status check_epsilon(double epsilon, struct error *err)
{
    if (!(epsilon > 0.0 && isfinite(epsilon)))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be positive");
    return STATUS_OK;
}

enum status accountant_spend(struct accountant *accountant, double q, double z, uint64_t releases, struct error *err)
{
    TRY(check_release(q, z, releases, err));
    for (size_t i = 0; i < accountant->len && releases > 0; i++) {
        double order = accountant->order[i];
        accountant->rdp[i] += (double)releases * (accountant_log_moment(q, z, order) / (order - 1.0));
    }
    return STATUS_OK;
}

/* The best order's epsilon when every divergence is factor times what was spent. */
static double best_epsilon(const struct accountant *accountant, double factor, enum accountant_conversion conversion,
                           double delta, double *order)
{
    double best = HUGE_VAL;
    bool   is_spent = false;
    *order = NAN;
    for (size_t i = 0; i < accountant->len; i++) {
        double a = accountant->order[i], rdp = factor * accountant->rdp[i];
        double epsilon = conversion == ACCOUNTANT_CLASSIC ? rdp - log(delta) / (a - 1.0)
                                                          : rdp + log1p(-1.0 / a) - log(delta * a) / (a - 1.0);
        is_spent |= rdp > 0.0;
        if (epsilon < best) {
            best = epsilon;
            *order = a;
        }
    }
    return is_spent ? fmax(best, 0.0) : 0.0;
}

enum status accountant_epsilon(const struct accountant *accountant, enum accountant_conversion conversion, double delta,
                               double *epsilon, double *order, struct error *err)
{
    double at;
    TRY(check_delta(delta, err));
    *epsilon = best_epsilon(accountant, 1.0, conversion, delta, &at);
    if (order != NULL)
        *order = at;
    if (!isfinite(*epsilon))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the privacy loss is not finite");
    return STATUS_OK;
}

/* --- runs --- */

static enum status run_epsilon(const struct accountant_run *run, enum accountant_orders kind,
                               enum accountant_conversion conversion, double *epsilon, struct error *err)
{
    struct accountant spent;
    accountant_init(&spent, kind);
    TRY(accountant_spend(&spent, run->q, run->z, run->releases, err));
    return accountant_epsilon(&spent, conversion, run->delta, epsilon, NULL, err);
}

enum status accountant_promise(const struct accountant_run *run, double *epsilon, struct error *err)
{
    return run_epsilon(run, ACCOUNTANT_INTEGER, ACCOUNTANT_IMPROVED, epsilon, err);
}

enum status accountant_multiplier(const struct accountant_run *run, double epsilon, enum accountant_orders kind,
                                  double *z, struct error *err)
{
    static const double   unit = 1e4; /* steps of z per 1 */
    struct accountant_run trial = *run;
    TRY(check_epsilon(epsilon, err));
    TRY(check_delta(run->delta, err));
    TRY(check_release(run->q, 1.0, run->releases, err));
    uint64_t low = (uint64_t)(ACCOUNTANT_Z_MIN * unit) - 1, high = (uint64_t)(Z_MAX * unit) + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        double   spent = HUGE_VAL;
        trial.z = (double)middle / unit;
        enum status status = run_epsilon(&trial, kind, ACCOUNTANT_IMPROVED, &spent, err);
        if (status != STATUS_OK && status != STATUS_NUMERIC)
            return status;
        *(status == STATUS_OK && spent <= epsilon ? &high : &low) = middle;
    }
    *z = (double)high / unit;
    if (*z > Z_MAX)
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon",
                         "no noise multiplier up to %g keeps epsilon %g", Z_MAX, epsilon);
    return STATUS_OK;
}
