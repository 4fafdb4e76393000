/* Which points of a finite parameter space have been used: a set of points, and a walk over the rest.
 * A space with a double, or with more than 2^53 points, is not finite: the set stays empty and nothing is ever used. */
#ifndef GNOMON_ENGINE_FINITE_H
#define GNOMON_ENGINE_FINITE_H

#include "engine/arena.h"
#include "engine/space.h"
#include "engine/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finite {
    const struct space *space;
    struct arena       *arena;
    size_t              count;    /* of the space; SIZE_MAX: not finite */
    uint64_t           *slots;    /* [capacity] numbers of used points, open addressing */
    size_t              capacity; /* a power of two, or 0 */
    size_t              used;
};

void finite_init(struct finite *finite, struct arena *arena, const struct space *space);

/* Errors: NO_MEMORY. */
MUST_CHECK enum status finite_add(struct finite *finite, const double *point, struct error *err);
bool                   finite_has(const struct finite *finite, const double *point);

/* How many points of a finite space have these values; fixed [params_len] with NaN where free, or NULL. */
size_t finite_count(const struct finite *finite, const double *fixed);

/* point := the next one with the same fixed values, the first after the last. */
void finite_step(const struct finite *finite, const double *fixed, double *point);

/* Steps on from point, itself included, to one that is not used.  False: all are.  O(used). */
bool finite_find(const struct finite *finite, const double *fixed, double *point);

#endif
