/* A hash set of point numbers.  The number of a point is its place in the order of an odometer whose last wheel, the
 * last parameter, turns fastest. */
#include "engine/finite.h"

#include <math.h>
#include <string.h>

static const uint64_t EMPTY = UINT64_MAX;

void finite_init(struct finite *finite, struct arena *arena, const struct space *space)
{
    *finite = (struct finite){.space = space, .arena = arena, .count = space_count(space)};
}

static uint64_t values(const struct param *param)
{
    return (uint64_t)(param->max - param->min) + 1;
}

static uint64_t number(const struct finite *finite, const double *point)
{
    uint64_t number = 0;
    for (size_t i = 0; i < finite->space->params_len; i++) {
        const struct param *param = &finite->space->params[i];
        number = number * values(param) + (uint64_t)(point[i] - param->min);
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

static enum status grow(struct finite *finite, struct error *err)
{
    size_t    capacity = finite->capacity == 0 ? 64 : 2 * finite->capacity;
    uint64_t *slots = ARENA_NEW(finite->arena, uint64_t, capacity);
    if (slots == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "no memory for the set of used points");
    memset(slots, 0xff, capacity * sizeof *slots);
    for (size_t i = 0; i < finite->capacity; i++)
        if (finite->slots[i] != EMPTY)
            *slot_of(slots, capacity, finite->slots[i]) = finite->slots[i];
    finite->slots = slots;
    finite->capacity = capacity;
    return STATUS_OK;
}

enum status finite_add(struct finite *finite, const double *point, struct error *err)
{
    if (finite->count == SIZE_MAX || !space_has(finite->space, point))
        return STATUS_OK;
    if (2 * (finite->used + 1) > finite->capacity)
        TRY(grow(finite, err));
    uint64_t *slot = slot_of(finite->slots, finite->capacity, number(finite, point));
    finite->used += *slot == EMPTY;
    *slot = number(finite, point);
    return STATUS_OK;
}

bool finite_has(const struct finite *finite, const double *point)
{
    return finite->used > 0 && *slot_of(finite->slots, finite->capacity, number(finite, point)) != EMPTY;
}

static bool is_free(const double *fixed, size_t i)
{
    return fixed == NULL || isnan(fixed[i]);
}

size_t finite_count(const struct finite *finite, const double *fixed)
{
    size_t count = 1;
    if (finite->count == SIZE_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < finite->space->params_len; i++)
        if (is_free(fixed, i))
            count *= (size_t)values(&finite->space->params[i]);
    return count;
}

void finite_step(const struct finite *finite, const double *fixed, double *point)
{
    for (size_t i = finite->space->params_len; i-- > 0;) {
        const struct param *param = &finite->space->params[i];
        if (!is_free(fixed, i))
            continue;
        if (point[i] < param->max) {
            point[i] += 1.0;
            return;
        }
        point[i] = param->min;
    }
}

/* Among any used + 1 points one is not used, so the walk is short unless nearly everything is. */
bool finite_find(const struct finite *finite, const double *fixed, double *point)
{
    size_t steps = finite_count(finite, fixed);
    while (finite_has(finite, point)) {
        if (--steps == 0)
            return false;
        finite_step(finite, fixed, point);
    }
    return true;
}
