/* The moves and projections of space_equation.c, for faces. */
#ifndef GNOMON_ENGINE_SPACE_EQUATION_H
#define GNOMON_ENGINE_SPACE_EQUATION_H

#include "engine/space/space.h"

/* Projects a draft on one broken constraint after the other, rounds, and projects its doubles; false: some are still broken. */
bool space_equation_enter(const struct space *space, double *point);

/* So many moves of a point that satisfies the constraints. */
void space_equation_chain(const struct space *space, size_t steps, struct rng *rng, double *point);

/* Moves pairs of numbers that are no doubles to the values that are nearest to the draft's. */
void space_equation_approach(const struct space *space, const double *draft, struct rng *rng, double *point);

/* The warm point that is nearest to the draft. */
const double *space_equation_nearest(const struct space *space, const double *draft);

#endif
