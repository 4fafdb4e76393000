/* The maximum of a function phi(x)'omega over a parameter space, or of one such function per region.
 * Knows nothing of where omega comes from. */
#ifndef GNOMON_ENGINE_RFF_SEARCH_H
#define GNOMON_ENGINE_RFF_SEARCH_H

#include "engine/acquisition/acq_search.h"
#include "engine/space/region.h"
#include "engine/gp/rff.h"

struct rff_search {
    const struct space   *space;
    const struct rff     *rff;     /* of the space's unit cube */
    const struct regions *regions; /* of the space; NULL: omega is one vector */
    const double         *omega;   /* [regions][count] */
    /* set by rff_search_run */
    double *spare, *point;
};

/* search: space, finite, anchors, seed, trial, samples and the deadline are the caller's; the rest is filled in.
 * point [params_len] out.  Errors: as acq_search_run.  O((samples + starts evaluations) count dims). */
MUST_CHECK enum status rff_search_run(struct rff_search *function, struct acq_search *search, double *point,
                                      struct arena *scratch, struct error *err);

/* The function's value at u [dims], and its gradient unless that is NULL; after rff_search_run. */
double rff_search_value(void *function, const double *u, double *gradient);

#endif
