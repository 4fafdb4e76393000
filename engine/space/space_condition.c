/* Parameters that exist only where others have given values, and the walk over a finite space, which has to know.
 * Parents come before their children, so one pass from the front decides every parameter of a point. */
#include "engine/math/rng.h"
#include "engine/space/space.h"

#include <string.h>

/* A parent that does not exist is NaN: then its children do not exist either. */
bool space_condition_holds(const struct condition *condition, double value)
{
    if (condition->values == NULL)
        return value >= condition->min && value <= condition->max;
    for (size_t k = 0; k < condition->values_len; k++)
        if (condition->values[k] == value)
            return !condition->is_not;
    return condition->is_not && !isnan(value);
}

size_t space_alternative_end(const struct condition *list, size_t len, size_t at)
{
    do
        at++;
    while (at < len && !list[at].is_or);
    return at;
}

size_t space_alternative(const struct condition *list, size_t len, const double *point, size_t from)
{
    for (size_t at = from, end; at < len; at = end) {
        size_t c = at;
        end = space_alternative_end(list, len, at);
        while (c < end && space_condition_holds(&list[c], point[list[c].parent]))
            c++;
        if (c == end)
            return at;
    }
    return len;
}

bool space_is_active(const struct space *space, const double *point, size_t param)
{
    const struct param *p = &space->params[param];
    return p->when_len == 0 || space_alternative(p->when, p->when_len, point, 0) < p->when_len;
}

bool space_lacks(const struct space *space, const double *points, size_t n, bool *lacks)
{
    bool any = false;
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        lacks[i] = false;
        for (size_t c = 0; c < p->when_len; c++)
            lacks[i] = lacks[i] || lacks[p->when[c].parent];
        for (size_t k = 0; k < n && !lacks[i]; k++) {
            const double *point = points + k * space->params_len;
            lacks[i] = isnan(point[i]) && space_is_active(space, point, i);
        }
        any = any || lacks[i];
    }
    return any;
}

/* --- checks --- */

static enum status check_condition(const struct space *space, size_t i, const struct condition *condition,
                                   struct error *err)
{
    if (condition->parent >= i)
        return param_refuse(err, i, "when", "bad_condition", "a parameter may depend on earlier ones only");
    const struct param *parent = &space->params[condition->parent];
    if (parent->kind == PARAM_DOUBLE)
        return param_refuse(err, i, "when", "bad_condition", "no parameter may depend on a double without a step");
    if (condition->values_len == 0 && condition->values != NULL)
        return param_refuse(err, i, "when", "bad_condition", "a condition needs at least one value");
    for (size_t k = 0; k < condition->values_len; k++)
        if (!param_has(parent, condition->values[k]))
            return param_refuse(err, i, "when", "bad_condition", "a value is none of the other parameter's");
    return STATUS_OK;
}

/* marked [params_len]: the parameter and all that it depends on, directly or not. */
static void mark_ancestors(const struct space *space, size_t param, bool *marked)
{
    memset(marked, 0, space->params_len);
    marked[param] = true;
    for (size_t i = param + 1; i-- > 0;)
        for (size_t c = 0; marked[i] && c < space->params[i].when_len; c++)
            marked[space->params[i].when[c].parent] = true;
}

static bool has_alternatives(const struct param *p)
{
    return space_alternative_end(p->when, p->when_len, 0) < p->when_len;
}

/* True if each condition of a marked parameter on this parent allows the value; alternatives of others are taken to. */
static bool all_allow(const struct space *space, const bool *marked, size_t parent, size_t last, double value)
{
    for (size_t i = parent + 1; i <= last; i++)
        for (size_t c = 0; marked[i] && c < space->params[i].when_len; c++)
            if (space->params[i].when[c].parent == parent && !space_condition_holds(&space->params[i].when[c], value) &&
                !has_alternatives(&space->params[i]))
                return false;
    return true;
}

/* Whether some value of the parent is allowed by a condition and by all_allow: the listed ones are tried, or those of the
 * parent up to WALK_VALUES; beyond, one is taken to be there. */
enum { WALK_VALUES = 4096 };
static bool has_value(const struct space *space, const bool *marked, const struct condition *condition, size_t param)
{
    const struct param *parent = &space->params[condition->parent];
    bool                is_listed = condition->values != NULL && !condition->is_not;
    double              count = is_listed ? (double)condition->values_len : param_count(parent);
    for (double k = 0; k < fmin(count, WALK_VALUES); k++) {
        double value = is_listed ? condition->values[(size_t)k] : param_value(parent, k);
        if (space_condition_holds(condition, value) && all_allow(space, marked, condition->parent, param, value))
            return true;
    }
    return count > WALK_VALUES;
}

/* The conditions of a parameter and of its ancestors are about one parent each, so they can all hold if and only if,
 * parent by parent, some value is in all lists. */
static bool can_exist(const struct space *space, size_t param)
{
    bool marked[SPACE_PARAMS_MAX];
    mark_ancestors(space, param, marked);
    const struct param *p = &space->params[param];
    for (size_t c = 0; c < p->when_len; c++)
        if (!has_value(space, marked, &p->when[c], param))
            return false;
    return true;
}

/* Parameters are checked in order, so what a parameter depends on can exist; only its own conditions are new. */
enum status space_check_conditions(const struct space *space, struct error *err)
{
    size_t values = 0;
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        if (p->when_len > SPACE_WHEN_MAX)
            return param_refuse(err, i, "when", "out_of_range", "at most 64 conditions are allowed");
        for (size_t c = 0; c < p->when_len; c++) {
            TRY(check_condition(space, i, &p->when[c], err));
            values += p->when[c].values_len;
        }
        if (values > SPACE_WHEN_VALUES_MAX)
            return param_refuse(err, i, "when", "out_of_range", "all conditions together list over 4096 values");
        if (p->when_len > 0 && !can_exist(space, i))
            return param_refuse(err, i, "when", "impossible_condition", "the conditions can never hold together");
    }
    return STATUS_OK;
}

/* --- the walk --- */

/* Whether the number is 0 because as many as may be of a constraint are used, before i or held. */
static bool is_spent(const struct space *space, const double *point, size_t i, size_t number)
{
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        size_t                   used = 0;
        bool                     has = false;
        for (size_t j = 0; j < c->len && c->at_most > 0; j++) {
            size_t q = c->params[j];
            has |= q == number;
            used += q < i ? point[q] != 0 : !space_is_free(space, q) && space->held[q] != 0;
        }
        if (has && used >= c->at_most)
            return true;
    }
    return false;
}

/* The least value above 0 that constraints leave a number where it is used; 0: any. */
static double least_used(const struct space *space, size_t i)
{
    double least = 0;
    for (size_t k = 0; k < space->constraints_len; k++)
        for (size_t j = 0; j < space->constraints[k].len && space->constraints[k].at_most > 0; j++)
            if (space->constraints[k].params[j] == i)
                least = fmax(least, space->constraints[k].min_used[j]);
    return least;
}

/* The least and the most that the terms but i of a constraint may add up to, those before i as they are. */
static double rest_at(const struct space *space, const struct constraint *c, const double *point, size_t i,
                      double rest[2])
{
    double size = 0;
    rest[0] = rest[1] = 0;
    for (size_t j = 0; j < c->len; j++) {
        size_t              q = c->params[j];
        const struct param *p = &space->params[q];
        bool                is_known = q < i || !space_is_free(space, q);
        double              known = q < i ? point[q] : space_is_free(space, q) ? p->min : space->held[q];
        double              x = known, y = is_known ? known : p->max, a = c->coefficients[j];
        if (q == i || (!is_known && is_spent(space, point, i, q)))
            continue;
        x = a * (c->is_product ? log(x) : x);
        y = a * (c->is_product ? log(y) : y);
        rest[0] += fmin(x, y);
        rest[1] += fmax(x, y);
        size += fmax(fabs(x), fabs(y));
    }
    return size;
}

/* The range that the constraints leave a number, given those before it, and a little more for rounding. */
static void range_at(const struct space *space, const double *point, size_t i, double *low, double *high)
{
    bool is_zero = is_spent(space, point, i, i);
    *low = is_zero ? 0 : space->params[i].min;
    *high = is_zero ? 0 : space->params[i].max;
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        double                   a = 0, rest[2];
        for (size_t j = 0; j < c->len; j++)
            a = c->params[j] == i ? c->coefficients[j] : a;
        if (a == 0)
            continue;
        double room = 1e-8 * (1 + rest_at(space, c, point, i, rest));
        double min = !c->is_product ? c->min : c->min > 0 ? log(c->min) : -INFINITY;
        double max = c->is_product ? log(c->max) : c->max;
        double from = (min - rest[1] - room) / a, to = (max - rest[0] + room) / a;
        double least = fmin(from, to), most = fmax(from, to);
        *low = fmax(*low, c->is_product ? exp(least) : least);
        *high = fmin(*high, c->is_product ? exp(most) : most);
    }
}

/* Sets the first value from index on that the constraints may leave; false: there is none. */
static bool set_value(const struct space *space, double *point, size_t i, double index)
{
    const struct param *p = &space->params[i];
    double              low, high;
    if (!space_is_free(space, i) || !space_is_active(space, point, i)) {
        point[i] = space_is_free(space, i) ? NAN : space->held[i];
        return index == 0;
    }
    if (index >= param_count(p))
        return false;
    point[i] = param_value(p, index);
    if (!param_is_number(p) || space->constraints_len == 0)
        return true;
    range_at(space, point, i, &low, &high);
    if (point[i] < low)
        point[i] = param_quantile_within(p, low, high, 0);
    if (point[i] > 0 && point[i] < least_used(space, i))
        point[i] = param_quantile_within(p, least_used(space, i), high, 0);
    return point[i] <= high;
}

/* Whether a forbidden combination is there whose last parameter is i. */
static bool ends_forbidden(const struct space *space, const double *point, size_t i)
{
    const struct condition *list = space->forbid;
    for (size_t at = 0; (at = space_alternative(list, space->forbid_len, point, at)) < space->forbid_len;) {
        at = space_alternative_end(list, space->forbid_len, at);
        if (list[at - 1].parent == i)
            return true;
    }
    return false;
}

/* As set_value, of values that are not forbidden with those before. */
static bool set_from(const struct space *space, double *point, size_t i, double index)
{
    bool is_set = set_value(space, point, i, index);
    while (is_set && ends_forbidden(space, point, i))
        is_set = space_is_free(space, i) && set_value(space, point, i, param_index(&space->params[i], point[i]) + 1);
    return is_set;
}

/* The next point depth first, from the first value of parameter i on (i = params_len: after the point): a parameter takes only
 * values from which the rest may be met. */
static bool walk(const struct space *space, size_t i, double *point)
{
    bool forward = i == 0;
    for (;;) {
        if (forward && i == space->params_len && space_broken(space, point, 0) == NULL)
            return true;
        if (forward && i < space->params_len && set_from(space, point, i, 0)) {
            i++;
            continue;
        }
        forward = false;
        if (i-- == 0)
            return false;
        if (!space_is_free(space, i) || isnan(point[i]))
            continue;
        forward = set_from(space, point, i, param_index(&space->params[i], point[i]) + 1);
        i += forward;
    }
}

bool space_first(const struct space *space, double *point)
{
    return walk(space, 0, point);
}

bool space_step(const struct space *space, double *point)
{
    if (walk(space, space->params_len, point))
        return true;
    (void)space_first(space, point);
    return false;
}

bool space_draw_finite(const struct space *space, struct rng *rng, double *point)
{
    double draft[SPACE_PARAMS_MAX], low, high;
    for (size_t k = 0; k < space->constrained_len; k++)
        if (param_count(&space->params[space->constrained[k]]) == 0 &&
            (space->used_params == NULL || space_is_free(space, space->constrained[k])))
            return false;
    for (int attempt = 0; attempt < 200; attempt++) {
        size_t k = 0;
        memcpy(draft, point, space->params_len * sizeof *draft);
        for (; k < space->constrained_len; k++) {
            size_t              i = space->constrained[k];
            const struct param *p = &space->params[i];
            range_at(space, draft, i, &low, &high);
            draft[i] = space_is_free(space, i) ? param_quantile_within(p, low, high, rng_uniform(rng)) : space->held[i];
            if (isnan(draft[i]))
                break;
        }
        if (k == space->constrained_len && space_broken(space, draft, 0) == NULL) {
            memcpy(point, draft, space->params_len * sizeof *draft);
            return true;
        }
    }
    return false;
}
