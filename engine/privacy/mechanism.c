/* Calibration by bisection in the logarithm of the noise: each delta is decreasing in sigma.
 * The bisections run until the doubles are next to each other and return the safe end. */
#include "engine/privacy/mechanism.h"

#include "engine/base/numbers.h"
#include "engine/math/golden.h"
#include "engine/privacy/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BISECTIONS = 128 };
static const double LOG_SIGMA_MIN = -16, LOG_SIGMA_MAX = 24;

/* log Phi(x); below -37 by the asymptotic series, where erfc underflows. */
static double log_normal_cdf(double x)
{
    if (x > -37)
        return log(0.5 * erfc(-x * SQRT_HALF));
    double w = 1 / (x * x);
    return -0.5 * x * x - log(-x) - HALF_LOG_2PI + log1p(-w * (1 - 3 * w * (1 - 5 * w)));
}

/* The difference of two tails, and what rounding may have taken off it: both are off by some units of 2^-53, and by the
 * square of the place times as many, since that is the exponent. */
double mechanism_gaussian_delta(double epsilon, double mu)
{
    double place = epsilon / mu - mu / 2, above = 0.5 * erfc(place * SQRT_HALF), reach = fmax(place, 0);
    double below = exp(epsilon + log_normal_cdf(-mu / 2 - epsilon / mu));
    return fmax(above - below, 0) + above * (8 + 2 * reach * reach + 4 * fabs(epsilon)) * 0x1p-52;
}

struct renyi {
    double epsilon, rho;
    size_t r;
};

/* log of exp((a - 1)(R(a) - epsilon)) (1 - 1/a)^a / (a - 1) at a = 1 + exp(u). */
static double log_delta_at(const void *arg, double u)
{
    const struct renyi *renyi = arg;
    double              b = exp(u), used = 2 * (1 + b) * b * renyi->rho / (double)renyi->r;
    double              moment = used < 1 ? -0.5 * (double)renyi->r * log1p(-used) : INFINITY; /* (a - 1) R(a) */
    return moment - b * renyi->epsilon + b * u - (1 + b) * log1p(b);
}

/* Convex in a (a cumulant function plus (a-1) log (a-1) - a log a), so with one valley in log(a - 1). */
static double renyi_delta(double epsilon, double rho, size_t r)
{
    struct renyi renyi = {epsilon, rho, r};
    double       high = log(0.5 * (sqrt(1 + 2 * (double)r / rho) - 1)); /* 1 - a (a - 1) 2 rho / r > 0 */
    return fmin(exp(golden_section(log_delta_at, &renyi, -30, high, NULL)), 1);
}

/* The least sigma of the Gaussian, or with r > 0 of the projected one. */
static double profile_sigma(double epsilon, double delta, size_t r)
{
    double low = LOG_SIGMA_MIN, high = LOG_SIGMA_MAX;
    for (int i = 0; i < BISECTIONS && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        double sigma = exp(middle);
        double found =
            r > 0 ? renyi_delta(epsilon, 0.5 / (sigma * sigma), r) : mechanism_gaussian_delta(epsilon, 1 / sigma);
        *(found <= delta ? &high : &low) = middle;
    }
    return exp(high);
}

double mechanism_gaussian_sigma(double epsilon, double delta)
{
    return profile_sigma(epsilon, delta, 0);
}

double mechanism_projected_sigma(double epsilon, double delta, size_t r)
{
    return profile_sigma(epsilon, delta, r);
}

double mechanism_gaussian_epsilon(double mu, double delta)
{
    double low = 0, high = 1;
    if (mechanism_gaussian_delta(0, mu) <= delta)
        return 0;
    while (mechanism_gaussian_delta(high, mu) > delta && high < 1e12)
        high *= 2;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        *(mechanism_gaussian_delta(middle, mu) <= delta ? &high : &low) = middle;
    }
    return high;
}

static const char *const names[MECHANISM_KINDS] = {
    [MECHANISM_AUTO] = "auto",
    [MECHANISM_DISCRETE_LAPLACE] = "discrete-laplace",
    [MECHANISM_ISOTROPIC_LAPLACE] = "isotropic-laplace",
    [MECHANISM_DISCRETE_GAUSSIAN] = "discrete-gaussian",
    [MECHANISM_PROJECTED_GAUSSIAN] = "projected-gaussian",
    [MECHANISM_CELLS] = "cells",
    [MECHANISM_QUADTREE] = "quadtree",
};

const char *mechanism_name(enum mechanism_kind kind)
{
    return names[kind];
}

enum mechanism_kind mechanism_find(const char *name)
{
    unsigned kind = 0;
    while (kind < MECHANISM_KINDS && strcmp(names[kind], name) != 0)
        kind++;
    return (enum mechanism_kind)kind;
}

/* Eight roundings on the way to a clipped coordinate and about d/2 in the norm, each relative 2^-53. */
double mechanism_scaling_error(size_t columns)
{
    return MECHANISM_NORM * ((double)columns + 16) * 0x1p-52;
}

static double power_of_two_below(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

/* 2^32 epsilon / steps, rounded down: 2^-50 covers the two roundings before the floor. */
static double rate_of(double epsilon, double steps)
{
    return floor(epsilon / steps * 0x1p32 * (1 - 0x1p-50));
}

/* Variance of a discrete Laplace variate, in steps squared: 2 e^-t / (1 - e^-t)^2 = 1 / (2 sinh^2(t/2)). */
static double laplace_variance(uint64_t rate)
{
    double half = sinh((double)rate * 0x1p-33);
    return 1 / (2 * half * half);
}

bool mechanism_is_partition(enum mechanism_kind kind)
{
    return kind == MECHANISM_CELLS || kind == MECHANISM_QUADTREE;
}

static enum status sizes_check(const struct mechanism *m, struct error *err)
{
    static const double DISTANCE_MIN = MECHANISM_NORM * 0x1p-20;
    if (!(m->epsilon >= 1e-4 && m->epsilon <= 1000))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be between 0.0001 and 1000");
    if (m->rows == 0 || m->columns == 0 || m->columns > MECHANISM_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "", "there must be rows, and 1 to %d columns",
                         MECHANISM_COLUMNS_MAX);
    if (!mechanism_is_partition(m->kind) && !(m->distance >= DISTANCE_MIN && m->distance <= 2 * MECHANISM_NORM))
        return error_set(err, STATUS_INVALID, "bad_distance", "/distance",
                         "the protected distance must be between %g and %d, of a ball of radius %d", DISTANCE_MIN,
                         2 * MECHANISM_NORM, MECHANISM_NORM);
    if (m->distance_l1 != 0 &&
        !(m->distance_l1 >= m->distance && m->distance_l1 <= sqrt((double)m->columns) * m->distance))
        return error_set(err, STATUS_INVALID, "bad_distance", "/distance_l1",
                         "a distance in l1 is 1 to sqrt(columns) times the distance");
    bool may_widen = m->kind == MECHANISM_PROJECTED_GAUSSIAN;
    if (m->dims > (may_widen ? MECHANISM_COLUMNS_MAX : m->columns))
        return error_set(err, STATUS_INVALID, "bad_dims", "/dims",
                         "a release has at most as many dimensions as the data");
    return STATUS_OK;
}

static enum status delta_check(const struct mechanism *m, struct error *err)
{
    bool needs_it = m->kind == MECHANISM_DISCRETE_GAUSSIAN || m->kind == MECHANISM_PROJECTED_GAUSSIAN;
    if (!(m->delta >= 0 && m->delta * (double)m->rows <= MECHANISM_DELTA_ROWS))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must be at most %g / the number of rows",
                         MECHANISM_DELTA_ROWS);
    if (needs_it && !(m->delta >= 1e-30))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "%s needs a delta above 0",
                         mechanism_name(m->kind));
    return STATUS_OK;
}

static double distance_l1(const struct mechanism *m)
{
    return m->distance_l1 == 0 ? sqrt((double)m->columns) * m->distance : m->distance_l1;
}

/* The noise with the least standard deviation; a tie goes to the one that comes first. */
static enum mechanism_kind choose(const struct mechanism *m)
{
    double d = (double)m->columns, spread = sqrt(2) * distance_l1(m) / m->distance, isotropic = sqrt(d + 1);
    bool   is_isotropic = isotropic < spread * (1 - 1e-9) && m->columns <= SAMPLER_ISOTROPIC_MAX;
    double pure = (is_isotropic ? isotropic : spread) / m->epsilon;
    if (m->delta >= 1e-30 && mechanism_gaussian_sigma(m->epsilon, m->delta) < pure)
        return MECHANISM_DISCRETE_GAUSSIAN;
    return is_isotropic ? MECHANISM_ISOTROPIC_LAPLACE : MECHANISM_DISCRETE_LAPLACE;
}

double mechanism_noise_variance(const struct mechanism *m)
{
    double t = (double)m->rate * 0x1p-32;
    if (m->kind == MECHANISM_ISOTROPIC_LAPLACE)
        return ((double)m->columns + 1) / (t * t);
    return m->kind == MECHANISM_DISCRETE_LAPLACE ? laplace_variance(m->rate) : (double)m->sigma * m->sigma;
}

static enum status plan_laplace(struct mechanism *m, struct error *err)
{
    enum { RATE_MIN = 256 }; /* so that rounding it down costs less than 0.4 % */
    bool   is_isotropic = m->kind == MECHANISM_ISOTROPIC_LAPLACE;
    double d = (double)m->columns, slack = 2 * mechanism_scaling_error(m->columns), squared = m->gamma * m->gamma;
    if (is_isotropic && m->columns > SAMPLER_ISOTROPIC_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "", "isotropic-laplace is for at most %d columns",
                         SAMPLER_ISOTROPIC_MAX);
    m->sensitivity = mechanism_is_partition(m->kind) ? 2
                     : is_isotropic                  ? (m->distance + slack) / m->gamma + sqrt(d)
                                                     : (distance_l1(m) + sqrt(d) * slack) / m->gamma + d;
    double rate = rate_of(m->epsilon - (is_isotropic ? MECHANISM_ISOTROPIC_SLACK : 0), m->sensitivity);
    if (rate < RATE_MIN)
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon is too small for so many columns");
    m->rate = (uint64_t)rate;
    m->delta = 0;
    m->variance = mechanism_is_partition(m->kind) ? 0 : mechanism_noise_variance(m) * squared * d / (double)m->dims;
    return STATUS_OK;
}

static enum status plan_gaussian(struct mechanism *m, struct error *err)
{
    bool   projects = m->kind == MECHANISM_PROJECTED_GAUSSIAN;
    double d = (double)m->columns, p = (double)m->dims, moved = m->distance + 2 * mechanism_scaling_error(m->columns);
    double unit = projects
                      ? mechanism_projected_sigma(m->epsilon, m->delta, m->dims) * MECHANISM_PROJECTION_SCALE * sqrt(p)
                      : mechanism_gaussian_sigma(m->epsilon, m->delta);
    m->sensitivity = moved / m->gamma + sqrt(d);
    double continuous = m->sensitivity * unit * (1 + 0x1p-40), sigma = ceil(hypot(continuous, projects ? 0 : 2));
    if (!(sigma < 0x1p31))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon is too small for this mechanism");
    m->sigma = (uint32_t)sigma;
    double sd = m->gamma * sigma / (projects ? MECHANISM_PROJECTION_SCALE * sqrt(p) : sqrt(p / d));
    m->variance = sd * sd;
    return STATUS_OK;
}

enum status mechanism_plan(struct mechanism *m, struct error *err)
{
    TRY(sizes_check(m, err));
    TRY(delta_check(m, err));
    if (m->kind == MECHANISM_AUTO)
        m->kind = choose(m);
    if (m->dims == 0)
        m->dims = m->columns;
    m->keeps_axes &=
        m->dims == m->columns && m->kind != MECHANISM_PROJECTED_GAUSSIAN && !mechanism_is_partition(m->kind);
    m->rate = m->sigma = 0;
    m->gamma = mechanism_is_partition(m->kind) ? 1 : power_of_two_below(m->distance) * 0x1p-10;
    bool laplace = m->kind == MECHANISM_DISCRETE_LAPLACE || m->kind == MECHANISM_ISOTROPIC_LAPLACE ||
                   mechanism_is_partition(m->kind);
    return laplace ? plan_laplace(m, err) : plan_gaussian(m, err);
}

/* Two clipped outcomes differ by at most s_y / gamma + 1 steps; an offset from low has at most 2^31 of them, so that its
 * rounding costs less than 2^-21 of a step on each side. */
enum status mechanism_plan_outcome(struct mechanism_outcome *m, struct error *err)
{
    double range = m->high - m->low;
    if (!(range > 0) || !isfinite(range))
        return error_set(err, STATUS_INVALID, "bad_range", "", "the range of outcomes must be finite and not empty");
    if (isnan(m->sensitivity))
        m->sensitivity = range;
    if (!(m->sensitivity >= range * 0x1p-20 && m->sensitivity <= range) || m->sensitivity < 0x1p-900)
        return error_set(err, STATUS_INVALID, "bad_sensitivity", "/sensitivity",
                         "the sensitivity of an outcome is positive and at most the range");
    if (!(m->epsilon >= 1e-4 && m->epsilon <= 1000))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be between 0.0001 and 1000");
    m->gamma = power_of_two_below(m->sensitivity) * 0x1p-10;
    m->rate = (uint64_t)rate_of(m->epsilon, m->sensitivity / m->gamma + 1 + 0x1p-20);
    m->variance = laplace_variance(m->rate) * m->gamma * m->gamma;
    return STATUS_OK;
}

struct mechanism_total mechanism_total_of(const struct mechanism *rows, const struct mechanism_outcome *outcomes)
{
    double answers = mechanism_is_partition(rows->kind) ? 2 : 1;
    return (struct mechanism_total){
        .epsilon = rows->epsilon + (outcomes == NULL ? 0 : answers * outcomes->epsilon),
        .delta = rows->delta,
    };
}

struct mechanism_kernel mechanism_effective_kernel(double length_scale, double variance, double s2, size_t p)
{
    if (s2 == 0)
        return (struct mechanism_kernel){.length_scale = length_scale, .variance = variance};
    double squared = length_scale * length_scale, wider = squared + 2 * s2;
    double rho = exp(0.5 * (double)p * log(squared / wider));
    return (struct mechanism_kernel){
        .length_scale = sqrt(wider),
        .variance = rho * variance,
        .row_variance = (1 - rho) * variance,
    };
}
