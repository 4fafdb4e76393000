/* Non-dominated vectors and their hypervolume. */
#include "engine/acquisition/pareto.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct place {
    double v[OBJECTIVES_MAX]; /* unused components are 0 */
    size_t index;
};

/* Largest first by the components in order, so that only an earlier place can dominate a later one. */
static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    for (size_t j = 0; j < OBJECTIVES_MAX; j++)
        if (left->v[j] != right->v[j])
            return left->v[j] > right->v[j] ? -1 : 1;
    return (left->index > right->index) - (left->index < right->index);
}

static bool dominates(const struct place *a, const struct place *b)
{
    bool is_larger = false;
    for (size_t j = 0; j < OBJECTIVES_MAX; j++) {
        if (a->v[j] < b->v[j])
            return false;
        is_larger = is_larger || a->v[j] > b->v[j];
    }
    return is_larger;
}

/* Counts comparisons, so that the time is looked at only now and then. */
struct patience {
    const struct pareto_set *set;
    size_t                   compared;
    bool                     is_late;
};
enum { COMPARISONS = 1 << 20 };

static bool is_late(struct patience *patience, size_t compared)
{
    patience->compared += compared;
    if (patience->compared >= COMPARISONS && patience->set->late != NULL) {
        patience->compared = 0;
        patience->is_late = patience->is_late || patience->set->late(patience->set->late_arg);
    }
    return patience->is_late;
}

/* Sorts the places and keeps those that are not dominated; how many. */
static size_t keep_front(struct place *places, size_t n, struct patience *patience)
{
    size_t kept = 0;
    qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0, k; i < n && !is_late(patience, kept); i++) {
        for (k = 0; k < kept && !dominates(&places[k], &places[i]);)
            k++;
        if (k == kept)
            places[kept++] = places[i];
    }
    return kept;
}

static struct place place_at(const double *values, size_t m, size_t index)
{
    struct place place = {.index = index};
    memcpy(place.v, values + index * m, m * sizeof *values);
    return place;
}

static enum status outcome(const struct patience *patience, struct error *err)
{
    return patience->is_late ? error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no time") : STATUS_OK;
}

enum status pareto_front_of(const struct pareto_set *set, bool *is_best, struct arena *scratch, struct error *err)
{
    size_t n = set->n, m = set->m;
    assert(m >= 1 && m <= OBJECTIVES_MAX);
    struct patience   patience = {.set = set};
    struct arena_mark mark = arena_mark(scratch);
    struct place     *places = ARENA_NEW(scratch, struct place, n + 1);
    if (places == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        places[i] = place_at(set->values, m, i);
        is_best[i] = false;
    }
    size_t kept = keep_front(places, n, &patience);
    for (size_t k = 0; k < kept; k++)
        is_best[places[k].index] = true;
    arena_release(scratch, mark);
    return outcome(&patience, err);
}

enum status pareto_front(const double *values, size_t n, size_t m, bool *is_best, struct arena *scratch,
                         struct error *err)
{
    return pareto_front_of(&(struct pareto_set){.values = values, .n = n, .m = m}, is_best, scratch, err);
}

void pareto_reference(const double *values, size_t n, size_t m, double *reference)
{
    for (size_t j = 0; j < m; j++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < n; i++) {
            low = fmin(low, values[i * m + j]);
            high = fmax(high, values[i * m + j]);
        }
        reference[j] = low - 0.1 * (high - low);
    }
}

/* The last of m components leads, the others follow: sorting then orders the slices. */
static void rotate(struct place *place, size_t m)
{
    double last = place->v[m - 1];
    memmove(place->v + 1, place->v, (m - 1) * sizeof last);
    place->v[0] = last;
}

/* The hypervolume of places above the reference, 0; on return they are fewer and in another order.  The section of a slice
 * along the leading component is that of the places so far.  storage [2 (m - 2)][room]. */
static double volume_of(struct place *places, size_t n, size_t m, struct place *storage, size_t room,
                        struct patience *patience)
{
    double volume = 0.0;
    for (size_t i = 0; i < n; i++)
        rotate(&places[i], m);
    n = keep_front(places, n, patience);
    for (size_t i = 0; i < n && !patience->is_late; i++) {
        double depth = places[i].v[0] - (i + 1 < n ? places[i + 1].v[0] : 0.0);
        if (m > 2) {
            storage[i] = (struct place){.index = i};
            memcpy(storage[i].v, places[i].v + 1, (m - 1) * sizeof depth);
        }
        if (!(depth > 0.0))
            continue;
        if (m > 2)
            memcpy(storage + room, storage, (i + 1) * sizeof *storage);
        volume += depth * (m == 1   ? 1.0
                           : m == 2 ? places[i].v[1]
                                    : volume_of(storage + room, i + 1, m - 1, storage + 2 * room, room, patience));
    }
    return volume;
}

enum status pareto_hypervolume(const struct pareto_set *set, double *volume, struct arena *scratch, struct error *err)
{
    size_t n = set->n, m = set->m;
    assert(m >= 1 && m <= OBJECTIVES_MAX);
    struct arena_mark mark = arena_mark(scratch);
    struct patience   patience = {.set = set};
    struct place     *places = arena_alloc(scratch, 2 * m * (n + 1), sizeof *places);
    size_t            above = 0;
    if (places == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct place place = place_at(set->values, m, i);
        bool         is_above = true;
        for (size_t j = 0; j < m; j++) {
            place.v[j] -= set->reference[j];
            is_above = is_above && place.v[j] > 0.0;
        }
        if (is_above)
            places[above++] = place;
    }
    *volume = volume_of(places, above, m, places + n + 1, n + 1, &patience);
    arena_release(scratch, mark);
    return outcome(&patience, err);
}
