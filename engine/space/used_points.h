/* Which points of a finite parameter space have been used: a set of points, and a walk over the rest.
 * A space that space_count cannot count is not finite: the set stays empty and nothing is ever used. */
#ifndef GNOMON_ENGINE_USED_POINTS_H
#define GNOMON_ENGINE_USED_POINTS_H

#include "engine/base/arena.h"
#include "engine/space/space.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct used_points {
    const struct space *space;
    struct arena       *arena;
    size_t              count;    /* of the space; SIZE_MAX: not finite */
    uint64_t           *slots;    /* [capacity] numbers of used points, open addressing */
    size_t              capacity; /* a power of two, or 0 */
    size_t              used;
};

/* repeats: points may come again; the space is then treated as one that is not finite. */
void used_points_init(struct used_points *set, struct arena *arena, const struct space *space, bool repeats);

/* Errors: NO_MEMORY. */
MUST_CHECK enum status used_points_add(struct used_points *set, const double *point, struct error *err);
bool                   used_points_has(const struct used_points *set, const double *point);

/* Steps on from point, itself included, to one that is not used; view: the space with what is held (space_hold).
 * False: all are used.  O(used) steps. */
bool used_points_find(const struct used_points *set, const struct space *view, double *point);

/* The error CONFLICT "search_space_exhausted" of an ask without a point left. */
enum status used_points_exhausted(struct error *err);
/* The reason of err when not only the view, but all of the space is used. */
#define USED_POINTS_ALL "search_space_exhausted"
enum status used_points_say_all(const struct used_points *set, enum status status, struct error *err);

#endif
