/* Combinations of values that may not occur together, and the ways out of them.
 * A draft has a value for every parameter, also for those that do not exist in its point: so a way out that brings a
 * parameter into being has a value for it. */
#include "engine/space/space.h"

#include <string.h>

enum { ROUNDS = 16 };

bool space_forbids(const struct space *space, const double *point)
{
    return space_alternative(space->forbid, space->forbid_len, point, 0) < space->forbid_len;
}

/* How many forbidden combinations a draft has. */
static size_t count_met(const struct space *space, const double *draft)
{
    double point[SPACE_PARAMS_MAX];
    size_t met = 0, at = 0;
    for (size_t i = 0; i < space->params_len; i++)
        point[i] = space_is_active(space, point, i) ? draft[i] : (double)NAN;
    while ((at = space_alternative(space->forbid, space->forbid_len, point, at)) < space->forbid_len) {
        at = space_alternative_end(space->forbid, space->forbid_len, at);
        met++;
    }
    return met;
}

bool space_draft_forbidden(const struct space *space, const double *draft)
{
    return space->forbid_len > 0 && count_met(space, draft) > 0;
}

/* The nearest values below and above x with which a condition that holds for x does not; NaN: there is none. */
static void ways_out(const struct condition *condition, const struct param *p, double x, double out[2])
{
    out[0] = out[1] = NAN;
    if (condition->values == NULL) {
        if (condition->min > p->min)
            out[0] = param_quantile_within(p, p->min, nextafter(condition->min, -INFINITY), 1);
        if (condition->max < p->max)
            out[1] = param_quantile_within(p, nextafter(condition->max, INFINITY), p->max, 0);
        return;
    }
    for (size_t k = 0; condition->is_not && k < condition->values_len; k++) {
        double value = condition->values[k];
        size_t side = value > x;
        if (isnan(out[side]) || fabs(value - x) < fabs(out[side] - x))
            out[side] = value;
    }
    for (int side = 0; !condition->is_not && side < 2; side++)
        for (double k = param_index(p, x); k >= 0 && k < param_count(p) && isnan(out[side]); k += side == 0 ? -1 : 1)
            if (!space_condition_holds(condition, param_value(p, k)))
                out[side] = param_value(p, k);
}

/* The draft with one value changed that has the fewest forbidden combinations, and of those the nearest. */
struct way {
    double *draft; /* [params_len] */
    size_t  met;   /* SIZE_MAX: there is none yet */
    double  far;
};

static void try_value(const struct space *space, const double *draft, size_t i, double value, struct way *best)
{
    double              trial[SPACE_PARAMS_MAX], from, to, far = 1;
    const struct param *p = &space->params[i];
    if (isnan(value))
        return;
    memcpy(trial, draft, space->params_len * sizeof *draft);
    trial[i] = value;
    space_bring_in(space, trial);
    size_t met = trial[i] == draft[i] ? SIZE_MAX : count_met(space, trial);
    if (p->kind != PARAM_CATEGORICAL) {
        param_encode(p, draft[i], &from);
        param_encode(p, trial[i], &to);
        far = fabs(to - from);
    }
    if (met < best->met || (met == best->met && met < SIZE_MAX && far < best->far)) {
        best->met = met;
        best->far = far;
        memcpy(best->draft, trial, space->params_len * sizeof *trial);
    }
}

void space_escape(const struct space *space, double *draft)
{
    double point[SPACE_PARAMS_MAX], moved[SPACE_PARAMS_MAX], out[2];
    for (int round = 0; round < ROUNDS; round++) {
        struct way best = {.draft = moved, .met = SIZE_MAX};
        for (size_t i = 0; i < space->params_len; i++)
            point[i] = space_is_active(space, point, i) ? draft[i] : (double)NAN;
        size_t at = space_alternative(space->forbid, space->forbid_len, point, 0);
        if (at == space->forbid_len)
            return;
        for (size_t end = space_alternative_end(space->forbid, space->forbid_len, at); at < end; at++) {
            size_t i = space->forbid[at].parent;
            ways_out(&space->forbid[at], &space->params[i], draft[i], out);
            for (int side = 0; side < 2 && space_is_free(space, i); side++)
                try_value(space, draft, i, out[side], &best);
        }
        if (best.met == SIZE_MAX)
            break;
        memcpy(draft, moved, space->params_len * sizeof *draft);
    }
    if (space->allowed != NULL && space_draft_forbidden(space, draft))
        memcpy(draft, space->allowed, space->params_len * sizeof *draft);
}

void space_keep_out(const struct space *space, const double *point, double *low, double *high)
{
    for (size_t at = 0, end; at < space->forbid_len; at = end) {
        const struct condition *side = NULL;
        bool                    stays_out = false;
        end = space_alternative_end(space->forbid, space->forbid_len, at);
        for (size_t c = at; c < end; c++) {
            const struct condition *condition = &space->forbid[c];
            double                  x = point[condition->parent];
            if (space_condition_holds(condition, x))
                continue;
            if (space->params[condition->parent].kind == PARAM_DOUBLE && !isnan(x))
                side = condition;
            else
                stays_out = true;
        }
        if (stays_out || side == NULL)
            continue;
        size_t i = side->parent;
        if (point[i] < side->min)
            high[i] = fmin(high[i], nextafter(side->min, -INFINITY));
        else
            low[i] = fmax(low[i], nextafter(side->max, INFINITY));
    }
}

enum status space_check_forbid(const struct space *space, struct error *err)
{
    size_t values = 0;
    for (size_t c = 0; c < space->forbid_len; c++)
        values += space->forbid[c].values_len;
    if (space->forbid_len > SPACE_FORBID_MAX || values > SPACE_WHEN_VALUES_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/forbid",
                         "there are at most %d parts with %d listed values in all", SPACE_FORBID_MAX,
                         SPACE_WHEN_VALUES_MAX);
    return STATUS_OK;
}
