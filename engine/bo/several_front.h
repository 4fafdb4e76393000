/* Where the front ends that the models of several objectives expect.  Knows nothing of what a trial aims at. */
#ifndef GNOMON_ENGINE_SEVERAL_FRONT_H
#define GNOMON_ENGINE_SEVERAL_FRONT_H

#include "engine/bo/several_models.h"

struct several_front_task {
    struct several     *own;
    const struct ask   *ask;
    const struct space *view;  /* the space with what the ask holds */
    const double       *bound; /* of the constraints, by part */
    double             *u;     /* [len][dims] places to begin from, at least one */
    size_t              len;
};

/* reference [objectives] out: beyond the ends of the front of posterior means, in the units of the models; of what is expected to be
 * infeasible only the given places count.
 * Errors: NO_MEMORY.  O(n dims) for each of some hundred points, of fewer where the models have many rows. */
MUST_CHECK enum status several_front_reference(const struct several_front_task *task, double *reference,
                                               struct error *err);

/* The extent of component k over the chosen ones of f [n][m], 1 when there is none; *high: its largest value there. */
double several_front_extent(const double *f, const bool *chosen, size_t n, size_t m, size_t k, double *high);

#endif
