/* Which points of a parameter space have been used: a set of points, and ways to others.
 * A finite space is one that space_count can count: there is a walk over the rest, which may come to its end.  In another one
 * other points lie near, and there are always some left. */
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
    size_t              count;    /* of the space; SIZE_MAX: not finite, or points may come again */
    bool                repeats;  /* the set stays empty, and nothing is ever used */
    uint64_t           *slots;    /* [capacity] numbers of used points, open addressing */
    size_t              capacity; /* a power of two, or 0 */
    size_t              used;
};

/* repeats: points may come again. */
void used_points_init(struct used_points *set, struct arena *arena, const struct space *space, bool repeats);

/* Errors: NO_MEMORY. */
MUST_CHECK enum status used_points_add(struct used_points *set, const double *point, struct error *err);
bool                   used_points_has(const struct used_points *set, const double *point);

/* Moves point, unless it is not used, to one that is not; view: the space with what is held (space_hold).  Finite: on, step
 * by step; false: all are used.  Not finite: free doubles move by some hundredths of their ranges, or where there are none the others
 * step on, as often as points are used; if that and some random points find nothing, one comes again.  O(used) steps. */
bool used_points_find(const struct used_points *set, const struct space *view, double *point);

/* The error CONFLICT "search_space_exhausted" of an ask without a point left. */
enum status used_points_exhausted(struct error *err);
/* The reason of err when not only the view, but all of the space is used. */
#define USED_POINTS_ALL "search_space_exhausted"
enum status used_points_say_all(const struct used_points *set, enum status status, struct error *err);

#endif
