/* A hash set of point numbers.  The number of a point is its place in the grid of all values, the last parameter
 * fastest; a parameter that does not exist counts as having its first value, which its parents' values tell apart.  Where there is no
 * grid it is a hash of the values: of two points with one hash the second is avoided, too. */
#include "engine/space/used_points.h"

#include "engine/math/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t EMPTY = UINT64_MAX;
enum { TRIES = 16 };
static const double NUDGE = 0.01; /* of the ranges; each try has one more */

void used_points_init(struct used_points *set, struct arena *arena, const struct space *space, bool repeats)
{
    *set = (struct used_points){
        .space = space, .arena = arena, .count = repeats ? SIZE_MAX : space_count(space), .repeats = repeats};
}

static uint64_t hash(const double *point, size_t len)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < len; i++) {
        double   x = isnan(point[i]) ? (double)NAN : point[i] + 0.0; /* one NaN, one zero */
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash >> 1; /* not EMPTY */
}

static uint64_t number(const struct used_points *set, const double *point)
{
    uint64_t number = 0;
    if (set->count == SIZE_MAX)
        return hash(point, set->space->params_len);
    for (size_t i = 0; i < set->space->params_len; i++) {
        const struct param *param = &set->space->params[i];
        number = number * (uint64_t)param_count(param);
        number += isnan(point[i]) ? 0 : (uint64_t)param_index(param, point[i]);
    }
    return number;
}

/* The slot that holds the number, or the empty one where it belongs. */
static uint64_t *slot_of(uint64_t *slots, size_t capacity, uint64_t number)
{
    size_t at = (size_t)((number * 0x9E3779B97F4A7C15u) >> 20) & (capacity - 1);
    while (slots[at] != number && slots[at] != EMPTY)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static enum status grow(struct used_points *set, struct error *err)
{
    size_t    capacity = set->capacity == 0 ? 64 : 2 * set->capacity;
    uint64_t *slots = ARENA_NEW(set->arena, uint64_t, capacity);
    if (slots == NULL)
        return error_no_memory(err);
    memset(slots, 0xff, capacity * sizeof *slots);
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != EMPTY)
            *slot_of(slots, capacity, set->slots[i]) = set->slots[i];
    set->slots = slots;
    set->capacity = capacity;
    return STATUS_OK;
}

enum status used_points_add(struct used_points *set, const double *point, struct error *err)
{
    if (set->repeats || !space_has(set->space, point))
        return STATUS_OK;
    if (2 * (set->used + 1) > set->capacity)
        TRY(grow(set, err));
    uint64_t *slot = slot_of(set->slots, set->capacity, number(set, point));
    set->used += *slot == EMPTY;
    *slot = number(set, point);
    return STATUS_OK;
}

bool used_points_has(const struct used_points *set, const double *point)
{
    return set->used > 0 && *slot_of(set->slots, set->capacity, number(set, point)) != EMPTY;
}

/* The walk is a cycle of different points, and among any used + 1 of them one is not used: if there were only used
 * ones, the cycle is shorter than that. */
static bool walk(const struct used_points *set, const struct space *view, double *point)
{
    size_t steps = set->used < set->count ? set->used : 0;
    while (used_points_has(set, point)) {
        if (steps-- == 0)
            return false;
        (void)space_step(view, point);
    }
    return true;
}

/* Moves the free doubles that exist; false: there are none.  Nothing depends on whether a double exists, so all else stays, but for
 * what the constraints want. */
static bool nudge(const struct space *view, const double *from, double scale, struct rng *rng, double *point)
{
    double fill[SPACE_PARAMS_MAX], u;
    bool   moves = false;
    for (size_t i = 0; i < view->params_len; i++) {
        const struct param *p = &view->params[i];
        fill[i] = param_quantile(p, 0.5);
        point[i] = from[i];
        if (p->kind != PARAM_DOUBLE || !space_is_free(view, i) || isnan(from[i]))
            continue;
        param_encode(p, from[i], &u);
        u += scale * rng_normal(rng);
        point[i] = param_decode(p, &u);
        moves |= p->min < p->max;
    }
    space_settle(view, fill, point);
    return moves;
}

static void leave(const struct used_points *set, const struct space *view, double *point)
{
    double     from[SPACE_PARAMS_MAX], v[SPACE_PARAMS_MAX];
    struct rng rng = rng_at(number(set, point), set->used, RNG_POINT);
    bool       moves = true;
    memcpy(from, point, view->params_len * sizeof *from);
    for (int k = 1; moves && k <= TRIES && used_points_has(set, point); k++)
        moves = nudge(view, from, NUDGE * k, &rng, point);
    if (!moves)
        (void)walk(set, view, point);
    for (int k = 0; k < TRIES && used_points_has(set, point); k++) {
        for (size_t i = 0; i < view->params_len; i++)
            v[i] = rng_uniform(&rng);
        (void)space_prior_quantile(view, v, point);
    }
}

bool used_points_find(const struct used_points *set, const struct space *view, double *point)
{
    if (set->count < SIZE_MAX)
        return walk(set, view, point);
    if (used_points_has(set, point))
        leave(set, view, point);
    return true;
}

enum status used_points_exhausted(struct error *err)
{
    return error_set(err, STATUS_CONFLICT, "search_space_exhausted", "", "every point has been used");
}

enum status used_points_say_all(const struct used_points *set, enum status status, struct error *err)
{
    if (status == STATUS_CONFLICT && err != NULL && set->used >= set->count)
        snprintf(err->reason, sizeof err->reason, USED_POINTS_ALL);
    return status;
}
