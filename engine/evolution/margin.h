/* Keeps a distribution from settling on one value where a coordinate is rounded: R. Hamano, S. Saito, M. Nomura & S. Shirakawa,
 * CMA-ES with Margin, arXiv:2205.13482. */
#ifndef GNOMON_ENGINE_MARGIN_H
#define GNOMON_ENGINE_MARGIN_H

#include "engine/evolution/strategy.h"
#include "engine/space/space.h"

/* Moves the mean and widens the spread of s, over the unit cube of the space, so that each draw has another value than the mean's
 * with probability 1 / (n population) at least: of a number with steps half of it on either side, where there are two, and of a
 * categorical for each other choice. */
void margin_keep(struct strategy *s, const struct space *space);

#endif
