/* Sub-regions of a parameter space, of equal volume: each of some parameters is cut into equal slices, and a region is a
 * box of slices (thesis 6.3.2).  Which parameters are cut is a function of the space and the number of regions alone:
 * the prime factors of the number, the largest first, each go to the parameter that has the fewest slices so far and can
 * be cut so (the first of them).  A double can be cut into any number of slices; an int, a discrete number or a
 * categorical into a divisor of the number of its values; a parameter with conditions not at all.  "Equal" is by
 * quantiles of the uniform distribution on the parameter's scale: space_quantile.
 * Region numbers are from 0, the slices of the first parameter count most. */
#ifndef GNOMON_ENGINE_REGION_H
#define GNOMON_ENGINE_REGION_H

#include "engine/base/arena.h"
#include "engine/space/space.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { REGIONS_MAX = 64 };

struct regions {
    const struct space *space;
    size_t              count;
    size_t             *slices; /* [params_len] */
};

/* Errors: INVALID "bad_regions" (not in 1..REGIONS_MAX, candidates, or more than one with constraints: boxes would not be
 * equal), "regions_do_not_divide" (no way to cut the parameters into so many); both at /regions.  NO_MEMORY. */
MUST_CHECK enum status regions_init(struct regions *regions, const struct space *space, size_t count,
                                    struct arena *arena, struct error *err);

/* The region in which a point of the space lies. */
size_t regions_of_point(const struct regions *regions, const double *point);

/* v [params_len] in [0, 1), quantiles in the whole space, become quantiles in the region. */
void regions_squeeze(const struct regions *regions, size_t region, double *v);

/* Which region the agent at a seat (any number) begins in: a public function of the federation's seed and the seat alone,
 * so that it does not depend on who else takes part.  Neighbouring seats begin in neighbouring regions, so that any number
 * of seats are spread evenly. */
size_t regions_of_seat(uint64_t seed, uint64_t seat, size_t count);

#endif
