/* Parameters that exist only where others have given values, and the walk over a finite space, which has to know.
 * Parents come before their children, so one pass from the front decides every parameter of a point. */
#include "engine/space/space.h"

#include <string.h>

static bool contains(const struct condition *condition, double value)
{
    for (size_t k = 0; k < condition->values_len; k++)
        if (condition->values[k] == value)
            return true;
    return false;
}

/* A parent that does not exist is NaN, which no list contains: then its children do not exist either. */
bool space_is_active(const struct space *space, const double *point, size_t param)
{
    const struct param *p = &space->params[param];
    for (size_t c = 0; c < p->when_len; c++)
        if (!contains(&p->when[c], point[p->when[c].parent]))
            return false;
    return true;
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
        return param_refuse(err, i, "when", "bad_condition", "no parameter may depend on a double");
    if (condition->values_len == 0)
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

/* True if each condition of a marked parameter on this parent allows the value. */
static bool all_allow(const struct space *space, const bool *marked, size_t parent, size_t last, double value)
{
    for (size_t i = parent + 1; i <= last; i++)
        for (size_t c = 0; marked[i] && c < space->params[i].when_len; c++)
            if (space->params[i].when[c].parent == parent && !contains(&space->params[i].when[c], value))
                return false;
    return true;
}

/* The conditions of a parameter and of its ancestors are about one parent each, so they can all hold if and only if,
 * parent by parent, some value is in all lists. */
static bool can_exist(const struct space *space, size_t param)
{
    bool marked[SPACE_PARAMS_MAX];
    mark_ancestors(space, param, marked);
    const struct param *p = &space->params[param];
    for (size_t c = 0; c < p->when_len; c++) {
        const struct condition *condition = &p->when[c];
        size_t                  k = 0;
        while (k < condition->values_len && !all_allow(space, marked, condition->parent, param, condition->values[k]))
            k++;
        if (k == condition->values_len)
            return false;
    }
    return true;
}

/* Parameters are checked in order, so what a parameter depends on can exist; only its own conditions are new. */
enum status space_check_conditions(const struct space *space, struct error *err)
{
    size_t values = 0;
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *p = &space->params[i];
        if (p->when_len > SPACE_WHEN_MAX)
            return param_refuse(err, i, "when", "out_of_range", "at most 8 conditions are allowed");
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

/* The lowest value of every free parameter from this one on. */
static void begin_at(const struct space *space, size_t from, double *point)
{
    for (size_t i = from; i < space->params_len; i++)
        point[i] = !space_is_free(space, i)           ? space->held[i]
                   : space_is_active(space, point, i) ? param_value(&space->params[i], 0)
                                                      : NAN;
}

/* An odometer whose last wheel turns fastest and whose wheels come and go with the values before them. */
static bool advance(const struct space *space, double *point)
{
    for (size_t i = space->params_len; i-- > 0;) {
        const struct param *p = &space->params[i];
        if (!space_is_free(space, i) || isnan(point[i]))
            continue;
        double next = param_index(p, point[i]) + 1;
        if (next >= param_count(p))
            continue;
        point[i] = param_value(p, next);
        begin_at(space, i + 1, point);
        return true;
    }
    begin_at(space, 0, point);
    return false;
}

bool space_first(const struct space *space, double *point)
{
    begin_at(space, 0, point);
    while (space_broken(space, point, 0) != NULL)
        if (!advance(space, point))
            return false;
    return true;
}

bool space_step(const struct space *space, double *point)
{
    while (advance(space, point))
        if (space_broken(space, point, 0) == NULL)
            return true;
    (void)space_first(space, point);
    return false;
}
