/* Bounds, and the map between natural units and the unit cube; one table of checks, no state. */
#include "engine/space.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const double INTEGER_MAX = 9007199254740992.0; /* 2^53 */

static enum status refuse(struct error *err, size_t i, const char *member, const char *code, const char *why)
{
    char path[sizeof err->path];
    snprintf(path, sizeof path, "/space/parameters/%zu/%s", i, member);
    return error_set(err, STATUS_INVALID, code, path, "%s", why);
}

static bool is_integer(double x)
{
    return fabs(x) <= INTEGER_MAX && x == floor(x);
}

static enum status number_check(const struct param *p, size_t i, struct error *err)
{
    if (!isfinite(p->min))
        return refuse(err, i, "min", "bad_bound", "min must be a finite number");
    if (!isfinite(p->max))
        return refuse(err, i, "max", "bad_bound", "max must be a finite number");
    if (p->min >= p->max)
        return refuse(err, i, "max", "empty_range", "max must be greater than min");
    if (!isfinite(p->max - p->min))
        return refuse(err, i, "max", "bad_bound", "max - min must be below 1.8e308");
    if (p->scale == SCALE_LOG && p->min <= 0)
        return refuse(err, i, "min", "bad_bound", "a log scale needs min > 0");
    if (p->kind == PARAM_INT && !is_integer(p->min))
        return refuse(err, i, "min", "bad_bound", "min of an int must be an integer within 2^53");
    if (p->kind == PARAM_INT && !is_integer(p->max))
        return refuse(err, i, "max", "bad_bound", "max of an int must be an integer within 2^53");
    return STATUS_OK;
}

static enum status categorical_check(const struct param *p, size_t i, struct error *err)
{
    if (p->choices == 0)
        return refuse(err, i, "values", "empty_categorical", "a categorical needs at least one value");
    if (p->choices > SPACE_DIMS_MAX || p->min != 0 || p->max != (double)(p->choices - 1))
        return refuse(err, i, "values", "too_many_values", "too many values");
    return STATUS_OK;
}

static enum status candidates_check(const struct space *space, struct error *err)
{
    if (space->rows_len == 0 || space->rows_len > SPACE_CANDIDATES_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/rows", "rows must be 1 to %d", SPACE_CANDIDATES_MAX);
    if (space->columns == 0 || space->columns > SPACE_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/columns", "columns must be 1 to %d",
                         SPACE_COLUMNS_MAX);
    return STATUS_OK;
}

enum status space_init(struct space *space, struct error *err)
{
    space->dims = 0;
    if (space->kind == SPACE_CANDIDATES)
        return candidates_check(space, err);
    if (space->params_len == 0 || space->params_len > SPACE_PARAMS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/parameters", "1 to %d parameters are allowed",
                         SPACE_PARAMS_MAX);
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        TRY(p->kind == PARAM_CATEGORICAL ? categorical_check(p, i, err) : number_check(p, i, err));
        space->dims += p->kind == PARAM_CATEGORICAL ? p->choices : 1;
    }
    if (space->dims > SPACE_DIMS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/parameters",
                         "numbers and categorical values together exceed %d", SPACE_DIMS_MAX);
    return STATUS_OK;
}

bool space_has(const struct space *space, const double *point)
{
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        if (!(point[i] >= p->min && point[i] <= p->max))
            return false;
        if (p->kind != PARAM_DOUBLE && !is_integer(point[i]))
            return false;
    }
    return true;
}

/* ln(x / min) without losing digits when x is close to min and without overflow when it is far away. */
static double log_ratio(double x, double min)
{
    return x < 2 * min ? log1p((x - min) / min) : log(x) - log(min);
}

static double log_ratio_inverse(double ratio, double min)
{
    return ratio < 0.5 ? min + min * expm1(ratio) : exp(log(min) + ratio);
}

static double unit_from_number(const struct param *p, double x)
{
    if (x <= p->min)
        return 0;
    if (x >= p->max)
        return 1;
    return p->scale == SCALE_LOG ? log_ratio(x, p->min) / log_ratio(p->max, p->min)
                                 : (x - p->min) / (p->max - p->min);
}

static double number_from_unit(const struct param *p, double u)
{
    if (!(u > 0))
        return p->min + 0.0;
    if (u >= 1)
        return p->max + 0.0;
    double x = p->scale == SCALE_LOG ? log_ratio_inverse(u * log_ratio(p->max, p->min), p->min)
                                     : p->min + u * (p->max - p->min);
    if (p->kind == PARAM_INT)
        x = round(x);
    return fmin(fmax(x, p->min), p->max) + 0.0; /* + 0.0: no negative zero */
}

void space_encode(const struct space *space, const double *point, double *u)
{
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        if (p->kind != PARAM_CATEGORICAL) {
            *u++ = unit_from_number(p, point[i]);
            continue;
        }
        for (size_t c = 0; c < p->choices; c++)
            *u++ = point[i] == (double)c ? 1 : 0;
    }
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

void space_decode(const struct space *space, const double *u, double *point)
{
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        bool is_number = p->kind != PARAM_CATEGORICAL;
        point[i] = is_number ? number_from_unit(p, *u) : (double)largest(u, p->choices);
        u += is_number ? 1 : p->choices;
    }
}

/* How many values an int or a categorical has; 0 for a double. */
static double values_count(const struct param *p)
{
    return p->kind == PARAM_DOUBLE ? 0 : p->max - p->min + 1;
}

/* An int takes half a step more at both ends, so that its end values get their share. */
static double quantile(const struct param *p, double v)
{
    double count = values_count(p);
    if (count == 0)
        return number_from_unit(p, v);
    double x = p->min + floor(v * count);
    if (p->scale == SCALE_LOG && p->kind == PARAM_INT)
        x = round(log_ratio_inverse(v * log_ratio(p->max + 0.5, p->min - 0.5), p->min - 0.5));
    return fmin(fmax(x, p->min), p->max) + 0.0;
}

void space_quantile(const struct space *space, const double *v, double *point)
{
    for (size_t i = 0; i < space->params_len; i++)
        point[i] = quantile(&space->params[i], v[i] > 0 ? fmin(v[i], 1) : 0);
}

size_t space_count(const struct space *space)
{
    if (space->kind == SPACE_CANDIDATES)
        return space->rows_len;
    double count = 1;
    for (size_t i = 0; i < space->params_len; i++) {
        count *= values_count(&space->params[i]);
        if (count == 0 || count > INTEGER_MAX)
            return SIZE_MAX;
    }
    return (size_t)count;
}
