/* Inequalities between numbers, of sums and of products.
 * Whether a point satisfies them is decided by one sum or product in double arithmetic and nothing else: every way into the
 * region ends with that test, so no tolerance of a method shows in a point. */
#include "engine/space/space.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const double PRODUCT_LOG_MAX = 600; /* of a product's logarithm */

/* --- checks --- */

static enum status refuse(struct error *err, size_t k, const char *member, const char *code, const char *why)
{
    char path[sizeof err->path];
    snprintf(path, sizeof path, "/space/constraints/%zu%s", k, member);
    return error_set(err, STATUS_INVALID, code, path, "%s", why);
}

/* A bound of what the sum, or the product's logarithm, can be. */
static double term_size(const struct constraint *c, size_t j, const struct param *p)
{
    return fabs(c->coefficients[j]) *
           (c->is_product ? fmax(fabs(log(p->min)), fabs(log(p->max))) : fmax(fabs(p->min), fabs(p->max)));
}

static enum status check_terms(const struct space *space, size_t k, struct error *err)
{
    const struct constraint *c = &space->constraints[k];
    const char              *member = c->at_most > 0 ? "/of" : c->is_product ? "/product" : "/coefficients";
    double                   largest = 0;
    if (c->len == 0)
        return refuse(err, k, member, "bad_constraint", "there must be at least one coefficient");
    for (size_t j = 0; j < c->len; j++) {
        if (c->params[j] >= space->params_len || (j > 0 && c->params[j] <= c->params[j - 1]))
            return refuse(err, k, member, "bad_constraint", "each parameter may be there once");
        const struct param *p = &space->params[c->params[j]];
        if (!param_is_number(p))
            return refuse(err, k, member, "bad_constraint", "a categorical has no place in a constraint");
        if (p->when_len > 0)
            return refuse(err, k, member, "bad_constraint",
                          "a parameter with a condition has no place in a constraint");
        if (!isfinite(c->coefficients[j]) || c->coefficients[j] == 0)
            return refuse(err, k, member, "bad_constraint", "coefficients must be finite and not 0");
        if (c->is_product && !(p->min > 0))
            return refuse(err, k, member, "bad_constraint", "a product is of numbers above 0");
        largest += term_size(c, j, p);
    }
    if (c->is_product && !(largest < PRODUCT_LOG_MAX))
        return refuse(err, k, member, "bad_constraint", "the product must stay within 1e-260 and 1e260");
    if (!(largest < 1e300))
        return refuse(err, k, member, "bad_constraint", "coefficient times value must stay below 1e300");
    return STATUS_OK;
}

/* At most so many of the numbers are used: each may be 0, and has a value from min_used on. */
static enum status check_used(const struct space *space, size_t k, struct error *err)
{
    const struct constraint *c = &space->constraints[k];
    if (c->at_most > c->len)
        return refuse(err, k, "/at_most", "out_of_range", "must not be more than there are names in 'of'");
    for (size_t j = 0; j < c->len; j++) {
        const struct param *p = &space->params[c->params[j]];
        if (!param_has(p, 0))
            return refuse(err, k, "/of", "bad_constraint",
                          "each number needs 0 as one of its values, for what is not used");
        if (!(c->min_used[j] >= 0 && c->min_used[j] <= p->max) || (c->min_used[j] > 0 && p->min < 0))
            return refuse(err, k, "/min_used", "bad_constraint",
                          "must be 0 to the number's max, and a number with one has no values below 0");
    }
    return STATUS_OK;
}

/* The most that the terms of a sum may add up to in the direction of sign, if of the numbers of `few` at most so many are used. */
static double most_of(const struct space *space, const struct constraint *c, double sign, const struct constraint *few)
{
    double used[SPACE_CONSTRAINED_MAX], most = 0;
    size_t len = 0;
    for (size_t j = 0; j < c->len; j++) {
        const struct param *p = &space->params[c->params[j]];
        double              a = sign * c->coefficients[j], term = fmax(a * p->min, a * p->max);
        size_t              q = 0, at = len;
        while (q < few->len && few->params[q] != c->params[j])
            q++;
        if (q == few->len) {
            most += term;
            continue;
        }
        for (len++; at > 0 && used[at - 1] < term; at--)
            used[at] = used[at - 1];
        used[at] = term;
    }
    for (size_t j = 0; j < len && j < few->at_most; j++)
        most += used[j];
    return most;
}

/* A sum reaches its bounds with as few numbers as may be used. */
static enum status check_reach(const struct space *space, size_t k, const struct constraint *few, struct error *err)
{
    const struct constraint *c = &space->constraints[k];
    double                   least = 0 - most_of(space, c, -1, few), most = most_of(space, c, 1, few), size = 0;
    const char              *member = c->min == c->max ? "/equals" : c->min > most ? "/min" : "/max";
    char                     why[sizeof err->text];
    for (size_t j = 0; j < c->len; j++)
        size += term_size(c, j, &space->params[c->params[j]]);
    if (c->min <= most + SPACE_EQUATION * size && c->max >= least - SPACE_EQUATION * size)
        return STATUS_OK;
    snprintf(why, sizeof why, "with at most %zu of these numbers in use, by constraint %zu, the sum is %.6g to %.6g",
             few->at_most, (size_t)(few - space->constraints), least, most);
    return refuse(err, k, member, "no_feasible_point", why);
}

/* An equation has a value that the ranges reach, and its doubles are in no equation of the other kind: along those no line
 * keeps both. */
static enum status check_equation(const struct space *space, size_t k, struct error *err)
{
    const struct constraint *c = &space->constraints[k];
    double                   least = 0, most = 0, size = 0;
    char                     why[sizeof err->text];
    for (size_t j = 0; j < c->len; j++) {
        const struct param *p = &space->params[c->params[j]];
        double              a = c->coefficients[j], x = a * (c->is_product ? log(p->min) : p->min);
        double              y = a * (c->is_product ? log(p->max) : p->max);
        least += fmin(x, y);
        most += fmax(x, y);
        size += term_size(c, j, p);
        for (size_t other = 0; other < k && p->kind == PARAM_DOUBLE && p->min < p->max; other++) {
            const struct constraint *d = &space->constraints[other];
            for (size_t q = 0; q < d->len && d->min == d->max && d->is_product != c->is_product; q++)
                if (d->params[q] == c->params[j])
                    return refuse(err, k, "", "bad_constraint",
                                  "a double may be in equations of sums or in equations of products, not in both");
        }
    }
    double value = c->is_product ? log(c->min) : c->min, room = SPACE_EQUATION * (size + c->is_product);
    if (value >= least - room && value <= most + room)
        return STATUS_OK;
    snprintf(why, sizeof why, "within the ranges the %s is %.6g to %.6g", c->is_product ? "product" : "sum",
             c->is_product ? exp(least) : least, c->is_product ? exp(most) : most);
    return refuse(err, k, "/equals", "no_feasible_point", why);
}

static enum status check_one(const struct space *space, size_t k, struct error *err)
{
    const struct constraint *c = &space->constraints[k];
    TRY(check_terms(space, k, err));
    if (c->at_most > 0)
        TRY(check_used(space, k, err));
    else if (isnan(c->min) || isnan(c->max) || (isinf(c->min) && isinf(c->max)))
        return refuse(err, k, "", "bad_constraint", "min, max or both must be there");
    if (!(c->min <= c->max))
        return refuse(err, k, "/max", "empty_range", "max must be min (an equation) or greater");
    if (c->is_product && (c->max <= 0 || (isfinite(c->min) && c->min <= 0)))
        return refuse(err, k, c->max <= 0 ? "/max" : "/min", "bad_constraint", "a bound of a product is above 0");
    return c->min == c->max ? check_equation(space, k, err) : STATUS_OK;
}

enum status space_check_constraints(const struct space *space, struct error *err)
{
    bool   seen[SPACE_PARAMS_MAX] = {false};
    size_t used = 0;
    if (space->constraints_len > SPACE_CONSTRAINTS_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/constraints", "at most %d are allowed",
                         SPACE_CONSTRAINTS_MAX);
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        TRY(check_one(space, k, err));
        for (size_t j = 0; j < c->len; j++) {
            used += !seen[c->params[j]];
            seen[c->params[j]] = true;
        }
    }
    if (used > SPACE_CONSTRAINED_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/constraints",
                         "the constraints together are about over %d parameters", SPACE_CONSTRAINED_MAX);
    for (size_t k = 0; k < space->constraints_len; k++)
        for (size_t few = 0; few < space->constraints_len && space->constraints[k].at_most == 0; few++)
            if (!space->constraints[k].is_product && space->constraints[few].at_most > 0)
                TRY(check_reach(space, k, &space->constraints[few], err));
    return STATUS_OK;
}

/* --- the test --- */

/* The sum or the product without term `without` (len: of all), and by how many times DBL_EPSILON it may be wrong. */
static double value_at(const struct constraint *c, const double *point, size_t without, double *size)
{
    double value = c->is_product ? 1 : 0, error = 0;
    for (size_t j = 0; j < c->len; j++) {
        double a = c->coefficients[j], x = point[c->params[j]];
        if (j == without)
            continue;
        value = c->is_product ? value * pow(x, a) : value + a * x;
        error += c->is_product ? 2 + fabs(a) : fabs(a * x);
    }
    *size = c->is_product ? error * fabs(value) : error;
    return value;
}

double space_total(const struct constraint *c, const double *point)
{
    double size;
    return value_at(c, point, c->len, &size);
}

/* More numbers are used than may be, or one of them is too small. */
static bool is_overused(const struct constraint *c, const double *point, double slack)
{
    double room = slack > 0 ? c->tolerance : 0;
    size_t used = 0;
    for (size_t j = 0; j < c->len; j++) {
        double x = fabs(point[c->params[j]]);
        if (x <= room)
            continue;
        used++;
        if (x < c->min_used[j] * (1 - slack * DBL_EPSILON) - room)
            return true;
    }
    return used > c->at_most;
}

/* The sum of a constraint is NaN exactly when one of its values is missing. */
static const struct constraint *find_broken(const struct space *space, const double *point, double slack, bool is_rest)
{
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        double                   size, sum = value_at(c, point, c->len, &size), room = slack * DBL_EPSILON * size;
        if (c->min == c->max)
            room = fmax(SPACE_EQUATION * size, slack > 0 ? c->tolerance : 0);
        if (!(sum >= c->min - room && sum <= c->max + room) && !(is_rest && isnan(sum)))
            return c;
        if (c->at_most > 0 && !isnan(sum) && is_overused(c, point, slack))
            return c;
    }
    return NULL;
}

const struct constraint *space_broken(const struct space *space, const double *point, double slack)
{
    return find_broken(space, point, slack, false);
}

const struct constraint *space_broken_rest(const struct space *space, const double *point, double slack)
{
    return find_broken(space, point, slack, true);
}

/* --- ways into the region --- */

/* The draft moved by share t towards the centre; ints and discrete numbers to the nearest value. */
static void draw_in(const struct space *space, const double *draft, double t, double *point)
{
    for (size_t k = 0; k < space->constrained_len; k++) {
        size_t              i = space->constrained[k];
        const struct param *p = &space->params[i];
        double              from, to;
        if (!space_is_free(space, i))
            continue;
        param_encode(p, draft[i], &from);
        param_encode(p, space->centre[i], &to);
        from += t * (to - from);
        point[i] = t >= 1 ? space->centre[i] : param_decode(p, &from);
    }
}

/* Rounding makes the way uneven, but its end, the centre, is in the region, and the last t tried that is too is kept. */
void space_repair(const struct space *space, double *point)
{
    if (space_broken(space, point, 0) == NULL)
        return;
    double draft[SPACE_PARAMS_MAX], outside = 0, inside = 1;
    memcpy(draft, point, space->params_len * sizeof *point);
    for (int i = 0; i < 30; i++) {
        double middle = outside + (inside - outside) / 2;
        draw_in(space, draft, middle, point);
        if (space_broken(space, point, 0) == NULL)
            inside = middle;
        else
            outside = middle;
    }
    draw_in(space, draft, inside, point);
}

/* Solves for the value of a term that puts the whole at a bound, given the rest. */
static double solve(const struct constraint *c, double bound, double rest, double a)
{
    if (c->is_product)
        return pow((isinf(bound) && bound < 0 ? 0 : bound) / rest, 1 / a);
    return (bound - rest) / a;
}

/* Narrows [low, high] to the values of a parameter that one constraint allows, the others given. */
static void narrow(const struct constraint *c, const double *point, size_t param, double *low, double *high)
{
    size_t j = 0;
    while (j < c->len && c->params[j] != param)
        j++;
    if (j == c->len)
        return;
    double size, rest = value_at(c, point, j, &size), a = c->coefficients[j];
    double at_min = solve(c, c->min, rest, a), at_max = solve(c, c->max, rest, a);
    *low = fmax(*low, a > 0 ? at_min : at_max);
    *high = fmin(*high, a > 0 ? at_max : at_min);
}

void space_spread(const struct space *space, const double *v, double *point)
{
    for (size_t k = 0; k < space->constrained_len; k++) {
        size_t              i = space->constrained[k];
        const struct param *p = &space->params[i];
        double              low = p->min, high = p->max, before = point[i];
        if (!space_is_free(space, i))
            continue;
        for (size_t c = 0; c < space->constraints_len; c++)
            narrow(&space->constraints[c], point, i, &low, &high);
        double value = param_quantile_within(p, low, high, v[i]);
        point[i] = isnan(value) ? before : value;
        if (space_broken(space, point, 0) != NULL)
            point[i] = before;
    }
}

/* How far a value is over a bound (sign 1) or under it (-1), as a share of width: above 0 if and only if it is. */
static double excess_of(const struct constraint *c, double sign, double value, double bound, double width)
{
    double excess = sign * (c->is_product ? log(value / bound) : value - bound) / width;
    return sign * value > sign * bound ? fmax(excess, DBL_MIN) : fmin(excess, 0);
}

void space_excess(const struct space *space, const double *u, double *out, double *gradient)
{
    size_t at[SPACE_PARAMS_MAX]; /* of each parameter in u */
    double point[SPACE_PARAMS_MAX];
    for (size_t i = 0, next = 0; i < space->params_len; next += param_width(&space->params[i++]))
        at[i] = next;
    memset(gradient, 0, 2 * space->constraints_len * space->dims * sizeof *gradient);
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        double                  *above = gradient + 2 * k * space->dims, *below = above + space->dims;
        double                   width = 0, size;
        for (size_t j = 0; j < c->len; j++) {
            const struct param *p = &space->params[c->params[j]];
            point[c->params[j]] = param_decode(p, &u[at[c->params[j]]]);
            width += fabs(c->coefficients[j]) * (c->is_product ? log(p->max / p->min) : p->max - p->min);
        }
        double value = value_at(c, point, c->len, &size);
        width = width > 0 ? width : 1; // of constants alone
        double room = c->min == c->max ? SPACE_EQUATION / 2 * (c->is_product ? 1 : size) / width : 0;
        for (size_t j = 0; j < c->len; j++) {
            const struct param *p = &space->params[c->params[j]];
            size_t              column = at[c->params[j]];
            double              x = point[c->params[j]], slope = c->coefficients[j] * param_slope(p, x) / width;
            slope /= c->is_product ? x : 1;
            above[column] = isinf(c->max) ? 0 : slope;
            below[column] = isinf(c->min) ? 0 : -slope;
        }
        out[2 * k] = isinf(c->max) ? -1 : excess_of(c, 1, value, c->max, width) - room;
        out[2 * k + 1] = isinf(c->min) ? -1 : excess_of(c, -1, value, c->min, width) - room;
    }
}
