/* Expected hypervolume improvement: by how much a vector of independent normal components N(mean_j, sd_j^2) will enlarge
 * what a front dominates above a reference point, all to be maximised.
 * The region above the reference that the front does not dominate is a union of disjoint boxes (l, u), and of a vector f
 * the improvement is the sum over them of prod_j max(0, min(f_j, u_j) - l_j).  Expectations of products of independent
 * factors are products (as for two objectives in Emmerich, Yang, Deutz, Wang & Fonseca 2016), so exactly
 *   EHVI = sum_boxes prod_j [psi_j(l_j) - psi_j(u_j)],  psi_j(a) = E max(0, f_j - a) = sd_j h((mean_j - a) / sd_j)
 * with h of acq.h.  The logarithm is what is computed, as for log-EI (Ament et al. 2023).
 * Knows nothing of models or points. */
#ifndef GNOMON_ENGINE_EHVI_H
#define GNOMON_ENGINE_EHVI_H

#include "engine/acquisition/pareto.h"

struct ehvi_edge;
struct ehvi_box;
struct ehvi {
    size_t            m, len;                    /* objectives; boxes */
    size_t            edges_len[OBJECTIVES_MAX]; /* distinct places of the boxes' sides */
    struct ehvi_edge *edges[OBJECTIVES_MAX];     /* ascending, from the reference to infinity */
    struct ehvi_box  *boxes;
};

/* 2 <= m <= OBJECTIVES_MAX; what is dominated, or not above the reference, makes no difference.
 * About n boxes for m = 2, a few n for m = 3, of order n^2 for m = 4.  Errors: NO_MEMORY. */
MUST_CHECK enum status ehvi_init(struct ehvi *ehvi, const struct pareto_set *front, struct arena *arena,
                                 struct error *err);

/* log EHVI at mean [m], sd [m] > 0; dmean [m] and dsd [m] receive the derivatives.  Uses the edges as scratch.
 * O(n m + boxes m). */
double ehvi_value(const struct ehvi *ehvi, const double *mean, const double *sd, double *dmean, double *dsd);

#endif
