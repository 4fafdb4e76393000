/* Checks, scales and rounding of one parameter. */
#include "engine/space/param.h"

#include "engine/math/log_gamma.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const double INTEGER_MAX = 9007199254740992.0; /* 2^53 */
static const double UNIT_GAP_MIN = 1e-12;             /* between discrete values */

enum status param_refuse(struct error *err, size_t i, const char *member, const char *code, const char *why)
{
    char path[sizeof err->path];
    snprintf(path, sizeof path, "/space/parameters/%zu/%s", i, member);
    return error_set(err, STATUS_INVALID, code, path, "%s", why);
}

static bool is_integer(double x)
{
    return fabs(x) <= INTEGER_MAX && x == floor(x);
}

/* --- scales --- */

/* ln(x / min) without losing digits when x is close to min and without overflow when it is far away. */
static double log_ratio(double x, double min)
{
    return x < 2 * min ? log1p((x - min) / min) : log(x) - log(min);
}

static double log_ratio_inverse(double ratio, double min)
{
    return ratio < 0.5 ? min + min * expm1(ratio) : exp(log(min) + ratio);
}

static double mirrored(const struct param *p, double x)
{
    return p->min + (p->max - x);
}

static double unit_from_number(const struct param *p, double x)
{
    if (x <= p->min)
        return 0;
    if (x >= p->max)
        return 1;
    switch (p->scale) {
    case SCALE_LOG:
        return log_ratio(x, p->min) / log_ratio(p->max, p->min);
    case SCALE_REVERSE_LOG:
        return 1 - log_ratio(mirrored(p, x), p->min) / log_ratio(p->max, p->min);
    case SCALE_LINEAR:
        break;
    }
    return (x - p->min) / (p->max - p->min);
}

/* As unit_from_number, the scale continued below 0 and above 1.  NaN where it has no number. */
static double unit_beyond(const struct param *p, double x)
{
    if (x >= p->min && x <= p->max)
        return unit_from_number(p, x);
    switch (p->scale) {
    case SCALE_LOG:
        return x > 0 ? log_ratio(x, p->min) / log_ratio(p->max, p->min) : (double)NAN;
    case SCALE_REVERSE_LOG:
        x = mirrored(p, x);
        return x > 0 ? 1 - log_ratio(x, p->min) / log_ratio(p->max, p->min) : (double)NAN;
    case SCALE_LINEAR:
        break;
    }
    return (x - p->min) / (p->max - p->min);
}

/* Inverse of the scale alone, not rounded to a value of the parameter. */
static double number_from_unit(const struct param *p, double u)
{
    if (!(u > 0))
        return p->min + 0.0;
    if (u >= 1)
        return p->max + 0.0;
    double x = p->min + u * (p->max - p->min);
    if (p->scale == SCALE_LOG)
        x = log_ratio_inverse(u * log_ratio(p->max, p->min), p->min);
    if (p->scale == SCALE_REVERSE_LOG)
        x = p->max - (log_ratio_inverse((1 - u) * log_ratio(p->max, p->min), p->min) - p->min);
    return fmin(fmax(x, p->min), p->max) + 0.0; /* + 0.0: no negative zero */
}

/* --- kinds --- */

/* How many of the discrete values are below x. */
static size_t values_below(const struct param *p, double x)
{
    size_t low = 0, high = p->choices;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->values[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double nearest_discrete(const struct param *p, double x)
{
    size_t above = values_below(p, x);
    if (above == p->choices || above == 0 || p->values[above] == x)
        return p->values[above == p->choices ? above - 1 : above];
    double u = unit_from_number(p, x), low = p->values[above - 1], high = p->values[above];
    return u - unit_from_number(p, low) < unit_from_number(p, high) - u ? low : high;
}

static double step_of(const struct param *p)
{
    return p->step > 1 || p->kind == PARAM_STEPPED ? p->step : 1;
}

static double to_step(const struct param *p, double x)
{
    return p->step > 1 ? p->min + round((x - p->min) / p->step) * p->step : round(x);
}

/* min + k step as decimal numbers add up: 3 steps of 0.1 are 0.3.  Over the least power of ten that makes integers of both,
 * numbers up to 2^53 and powers up to 10^22 are exact, so that the one division rounds to the nearest double. */
static double stepped_value(const struct param *p, double k)
{
    for (double ten = 1; ten <= 1e22; ten *= 10) {
        double min = round(p->min * ten), step = round(p->step * ten);
        if (!(fabs(min) + k * step <= INTEGER_MAX))
            break;
        if (min / ten == p->min && step / ten == p->step)
            return (min + k * step) / ten + 0.0;
    }
    return p->min + k * p->step + 0.0;
}

static double nearest_stepped(const struct param *p, double x)
{
    return stepped_value(p, round((fmin(fmax(x, p->min), p->max) - p->min) / p->step));
}

static double nearest_integer(const struct param *p, double x)
{
    return fmin(fmax(to_step(p, x), p->min), p->max) + 0.0;
}

static double nearest_double(const struct param *p, double x)
{
    (void)p;
    return x;
}

static enum status check_range(const struct param *p, size_t i, struct error *err)
{
    const char *min = p->kind == PARAM_DISCRETE ? "values" : "min", *max = p->kind == PARAM_DISCRETE ? "values" : "max";
    if (!isfinite(p->min))
        return param_refuse(err, i, min, "bad_bound", "min must be a finite number");
    if (!isfinite(p->max))
        return param_refuse(err, i, max, "bad_bound", "max must be a finite number");
    if (p->min > p->max)
        return param_refuse(err, i, max, "empty_range", "max must be min or greater");
    if (!isfinite(p->max - p->min))
        return param_refuse(err, i, max, "bad_bound", "max - min must be below 1.8e308");
    if (p->scale != SCALE_LINEAR && p->min <= 0)
        return param_refuse(err, i, min, "bad_bound", "a log or reverse_log scale needs numbers above 0");
    return STATUS_OK;
}

static enum status check_int(const struct param *p, size_t i, struct error *err)
{
    TRY(check_range(p, i, err));
    if (!is_integer(p->min))
        return param_refuse(err, i, "min", "bad_bound", "min of an int must be an integer within 2^53");
    if (!is_integer(p->max))
        return param_refuse(err, i, "max", "bad_bound", "max of an int must be an integer within 2^53");
    if (!is_integer(p->step) || p->step < 0)
        return param_refuse(err, i, "step", "out_of_range", "must be an integer from 1 on");
    if (p->step > 1 && (p->max - p->min > INTEGER_MAX || fmod(p->max - p->min, p->step) != 0))
        return param_refuse(err, i, "step", "bad_step", "max must be min and a whole number of steps, within 2^53");
    return STATUS_OK;
}

static enum status check_stepped(const struct param *p, size_t i, struct error *err)
{
    TRY(check_range(p, i, err));
    if (p->scale != SCALE_LINEAR)
        return param_refuse(err, i, "scale", "bad_combination", "steps are even: leave out step or the scale");
    if (!(p->step >= UNIT_GAP_MIN * fmax(p->max - p->min, fmax(fabs(p->min), fabs(p->max))) && p->step > 0))
        return param_refuse(err, i, "step", "bad_step", "must be above 1e-12 of max - min and of either bound");
    if (nearest_stepped(p, p->max) != p->max)
        return param_refuse(err, i, "step", "bad_step", "max must be min and a whole number of steps");
    return STATUS_OK;
}

static enum status check_categorical(const struct param *p, size_t i, struct error *err)
{
    if (p->choices == 0)
        return param_refuse(err, i, "values", "empty_categorical", "a categorical needs at least one value");
    if (p->choices > PARAM_CHOICES_MAX || p->min != 0 || p->max != (double)(p->choices - 1))
        return param_refuse(err, i, "values", "too_many_values", "too many values");
    if (p->prior.kind != PRIOR_NONE)
        return param_refuse(err, i, "prior", "bad_prior", "names have no prior");
    return STATUS_OK;
}

static enum status check_discrete(const struct param *p, size_t i, struct error *err)
{
    if (p->choices < 1 || p->choices > PARAM_NUMBERS_MAX)
        return param_refuse(err, i, "values", "out_of_range", "a discrete parameter needs 1 to 20000 values");
    if (p->min != p->values[0] || p->max != p->values[p->choices - 1])
        return param_refuse(err, i, "values", "bad_bound", "values must ascend from min to max");
    TRY(check_range(p, i, err));
    for (size_t k = 1; k < p->choices; k++)
        if (!(unit_from_number(p, p->values[k]) - unit_from_number(p, p->values[k - 1]) > UNIT_GAP_MIN))
            return param_refuse(err, i, "values", "too_close", "values must differ by over 1e-12 of the range");
    return STATUS_OK;
}

static const struct kind {
    enum status (*check)(const struct param *p, size_t i, struct error *err);
    double (*nearest)(const struct param *p, double x); /* value to a number within the bounds */
} kinds[] = {
    [PARAM_DOUBLE] = {.check = check_range, .nearest = nearest_double},
    [PARAM_INT] = {.check = check_int, .nearest = nearest_integer},
    [PARAM_CATEGORICAL] = {.check = check_categorical, .nearest = nearest_integer},
    [PARAM_DISCRETE] = {.check = check_discrete, .nearest = nearest_discrete},
    [PARAM_ORDINAL] = {.check = check_categorical, .nearest = nearest_integer},
    [PARAM_STEPPED] = {.check = check_stepped, .nearest = nearest_stepped},
};

static enum status check_prior(const struct param *p, size_t i, struct error *err)
{
    const struct prior *prior = &p->prior;
    double              range = p->max - p->min;
    if (prior->kind == PRIOR_NORMAL && !(prior->a >= p->min && prior->a <= p->max))
        return param_refuse(err, i, "prior/normal/mean", "bad_prior", "the mean must lie in the parameter's range");
    if (prior->kind == PRIOR_NORMAL && !(prior->b >= 1e-9 * range && prior->b <= 1e3 * range))
        return param_refuse(err, i, "prior/normal/stddev", "bad_prior", "stddev must be 1e-9 to 1e3 times max - min");
    if (prior->kind == PRIOR_BETA && !(prior->a >= 0.01 && prior->a <= 1e4))
        return param_refuse(err, i, "prior/beta/a", "bad_prior", "a must be within [0.01, 10000]");
    if (prior->kind == PRIOR_BETA && !(prior->b >= 0.01 && prior->b <= 1e4))
        return param_refuse(err, i, "prior/beta/b", "bad_prior", "b must be within [0.01, 10000]");
    return STATUS_OK;
}

enum status param_check(const struct param *p, size_t i, struct error *err)
{
    TRY(kinds[p->kind].check(p, i, err));
    return check_prior(p, i, err);
}

bool param_has(const struct param *p, double x)
{
    return x >= p->min && x <= p->max && kinds[p->kind].nearest(p, x) == x;
}

/* Sums and logarithms of a client end some units in the last place away from a bound. */
enum { ROUNDING_ULPS = 8 };

double param_rounded(const struct param *p, double x)
{
    double near = fmin(fmax(kinds[p->kind].nearest(p, x), p->min), p->max);
    bool   is_far = p->kind == PARAM_STEPPED || (near == 0 && p->kind == PARAM_DOUBLE);
    double scale = is_far ? fmax(fabs(p->min), fabs(p->max)) : fabs(near);
    return fabs(x - near) <= ROUNDING_ULPS * DBL_EPSILON * scale ? near : x;
}

double param_last(const struct param *p)
{
    struct param longer = *p;
    double       steps = round((p->max - p->min) / step_of(p));
    longer.max = param_value(p, steps);
    return param_rounded(&longer, p->max) >= longer.max ? longer.max : param_value(p, steps - 1);
}

bool param_reaches(const struct param *p, double x)
{
    if (!param_is_number(p) || p->min == p->max)
        return param_has(p, x);
    double u = unit_beyond(p, x);
    return u >= -PARAM_REACH && u <= 1 + PARAM_REACH && (p->kind != PARAM_INT || is_integer(x));
}

size_t param_width(const struct param *p)
{
    return p->kind == PARAM_CATEGORICAL ? p->choices : 1;
}

void param_encode(const struct param *p, double x, double *u)
{
    if (p->kind != PARAM_CATEGORICAL) {
        *u = isnan(x) ? 0.5 : unit_beyond(p, x);
        return;
    }
    for (size_t c = 0; c < p->choices; c++)
        u[c] = isnan(x) ? 1 / (double)p->choices : x == (double)c ? 1 : 0;
}

/* The lowest index of the largest value; NaN counts as 0. */
static size_t largest(const double *u, size_t n)
{
    size_t best = 0;
    for (size_t c = 1; c < n; c++)
        if ((isnan(u[c]) ? 0 : u[c]) > (isnan(u[best]) ? 0 : u[best]))
            best = c;
    return best;
}

double param_decode(const struct param *p, const double *u)
{
    return p->kind == PARAM_CATEGORICAL ? (double)largest(u, p->choices)
                                        : kinds[p->kind].nearest(p, number_from_unit(p, *u));
}

double param_nearest(const struct param *p, double x)
{
    return kinds[p->kind].nearest(p, x);
}

/* --- quantiles --- */

/* A value takes half a step more at both ends of an int's logarithmic scale, so that the end values get their share;
 * never more than half of min, so that it stays above 0. */
static double log_integer(const struct param *p, double v)
{
    double half = 0.5 * step_of(p), low = p->min - fmin(half, 0.5 * p->min), ratio = log_ratio(p->max + half, low);
    if (p->scale == SCALE_REVERSE_LOG)
        return mirrored(p, to_step(p, log_ratio_inverse((1 - v) * ratio, low)));
    return to_step(p, log_ratio_inverse(v * ratio, low));
}

double param_quantile(const struct param *p, double v)
{
    double count = param_count(p);
    v = v > 0 ? fmin(v, 1) : 0;
    if (count == 0)
        return number_from_unit(p, v);
    if (p->kind == PARAM_INT && p->scale != SCALE_LINEAR)
        return fmin(fmax(log_integer(p, v), p->min), p->max) + 0.0;
    return param_value(p, fmin(floor(v * count), count - 1));
}

double param_quantile_within(const struct param *p, double low, double high, double v)
{
    if (!(low <= high))
        return NAN;
    if (param_count(p) == 0) {
        double from = unit_from_number(p, low), to = unit_from_number(p, high);
        return fmin(fmax(number_from_unit(p, from + v * (to - from)), low), high) + 0.0;
    }
    double first = ceil(low) - p->min, last = floor(high) - p->min;
    if (p->kind == PARAM_DISCRETE) {
        first = (double)values_below(p, low);
        last = (double)values_below(p, nextafter(high, INFINITY)) - 1;
    } else if (p->kind == PARAM_STEPPED) {
        first = round((low - p->min) / p->step);
        last = round((high - p->min) / p->step);
        first += stepped_value(p, first) < low;
        last -= stepped_value(p, last) > high;
    } else if (p->kind == PARAM_DOUBLE || p->step > 1) {
        first = ceil((low - p->min) / step_of(p));
        last = floor((high - p->min) / step_of(p));
    }
    return first <= last ? param_value(p, fmin(first + floor(v * (last - first + 1)), last)) : NAN;
}

double param_slope(const struct param *p, double x)
{
    if (p->scale == SCALE_LINEAR)
        return p->max - p->min;
    return (p->scale == SCALE_LOG ? x : mirrored(p, x)) * log_ratio(p->max, p->min);
}

static double normal_mass(double low, double high)
{
    return low > 0 ? normal_mass(-high, -low) : 0.5 * (erfc(-high / sqrt(2)) - erfc(-low / sqrt(2)));
}

/* Continued fraction of the incomplete beta function (Lentz's method; DLMF 8.17.22), for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m <= 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

/* I_x(a, b), the distribution function of beta(a, b). */
static double beta_mass(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - beta_mass(b, a, 1 - x);
    return exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x)) * beta_fraction(a, b, x) /
           a;
}

/* The part of the prior below number x, or below position x on the scale. */
static double prior_mass(const struct param *p, double low, double x)
{
    const struct prior *prior = &p->prior;
    return prior->kind == PRIOR_BETA ? beta_mass(prior->a, prior->b, x)
                                     : normal_mass((low - prior->a) / prior->b, (x - prior->a) / prior->b);
}

/* Bisection: the distribution function rises, and 200 halvings leave neighbouring doubles of any range. */
double param_prior_quantile(const struct param *p, double v)
{
    if (p->prior.kind == PRIOR_NONE)
        return param_quantile(p, v);
    bool   is_beta = p->prior.kind == PRIOR_BETA;
    bool   has_steps = p->kind == PARAM_INT || p->kind == PARAM_STEPPED;
    double half = has_steps && !is_beta ? 0.5 * step_of(p) : 0;
    double from = is_beta ? 0 : p->min - half, low = from, high = is_beta ? 1 : p->max + half;
    double target = (v > 0 ? fmin(v, 1) : 0) * prior_mass(p, from, high);
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (prior_mass(p, from, middle) < target)
            low = middle;
        else
            high = middle;
    }
    return is_beta ? param_quantile(p, high) : kinds[p->kind].nearest(p, fmin(fmax(high, p->min), p->max)) + 0.0;
}

/* --- numbers of values --- */

double param_count(const struct param *p)
{
    if (p->kind == PARAM_DOUBLE)
        return p->min == p->max ? 1 : 0;
    if (p->kind == PARAM_STEPPED)
        return round((p->max - p->min) / p->step) + 1;
    return p->kind == PARAM_INT ? (p->max - p->min) / step_of(p) + 1 : (double)p->choices;
}

double param_index(const struct param *p, double x)
{
    if (p->kind == PARAM_STEPPED)
        return round((x - p->min) / p->step);
    return p->kind == PARAM_DISCRETE ? (double)values_below(p, x) : (x - p->min) / step_of(p);
}

double param_value(const struct param *p, double index)
{
    if (p->kind == PARAM_STEPPED)
        return stepped_value(p, index);
    return p->kind == PARAM_DISCRETE ? p->values[(size_t)index] : p->min + index * step_of(p) + 0.0;
}
