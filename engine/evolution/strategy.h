/* The covariance matrix adaptation evolution strategy: N. Hansen, The CMA Evolution Strategy: A Tutorial,
 * arXiv:1604.00772 (equations by their numbers there), with active covariance, and what is injected shortened as in
 * N. Hansen, Injecting external solutions into CMA-ES, arXiv:1110.4181.
 * A point is mean + sigma * widen * y with y from N(0, C); y = E' (axis * z), z from N(0, I), E the eigenvectors of C.
 * Knows nothing of spaces and logs: it is told the points of a generation, the best first, and no value.
 * Nothing in it depends on values but by their order, nor on the axes: turned points give a turned distribution. */
#ifndef GNOMON_ENGINE_STRATEGY_H
#define GNOMON_ENGINE_STRATEGY_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Table 1 of the tutorial, for n coordinates and a population of so many. */
struct strategy_rates {
    size_t n, population, parents;
    double positive, negative; /* weights from their logarithms, by rank: of the better half, of the others */
    double mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu;
    double chi; /* E |N(0, I)| */
    size_t
        every; /* generations between two decompositions of C, which have changed it by a tenth of a coordinate's share */
};
size_t                strategy_population(size_t n); /* 4 + [3 ln n] */
struct strategy_rates strategy_rates(size_t n, size_t population);
/* The weight of rank 0, the best, to population - 1.  Those of the parents add up to 1, the others are not above 0. */
double strategy_weight(const struct strategy_rates *rates, size_t rank);

struct strategy {
    struct strategy_rates rates;
    double               *mean, *path_sigma, *path_c; /* [n] */
    double               *widen;                      /* [n] of coordinates that are rounded (margin.h); 1 of others */
    double               *C, *E;                      /* [n][n]; lower triangle; eigenvectors as rows */
    double               *axis;                       /* [n] square roots of eigenvalues, ascending */
    double               *y;                          /* [2 n] scratch */
    double                sigma;
    size_t                generation; /* since strategy_start */
};

/* Takes its memory.  Errors: NO_MEMORY. */
MUST_CHECK enum status strategy_init(struct strategy *s, size_t n, struct arena *arena, struct error *err);
/* From mean [n], with C = I. */
void strategy_start(struct strategy *s, size_t population, const double *mean, double sigma);
/* x [n] out, from z [n] of N(0, I). */
void strategy_sample(const struct strategy *s, const double *z, double *x);
/* A point that was not drawn from this distribution: its distance counts as at most that of the far ones that are. */
struct strategy_member {
    const double *x; /* [n] */
    bool          is_injected;
};
/* The next generation; each generation's draws are of the last decomposition.  members [population], the best first.  Errors: NO_MEMORY; NUMERIC when C has no positive
 * eigenvalues any more: start anew.  O(population n^2 + n^3 / every). */
MUST_CHECK enum status strategy_update(struct strategy *s, const struct strategy_member *members, struct arena *scratch,
                                       struct error *err);
/* The standard deviation along coordinate j. */
double strategy_spread(const struct strategy *s, size_t j);

#endif
