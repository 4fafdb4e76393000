/* The values that the next trial of several metrics is to improve on: the incumbent among the observed and pending places of
 * the log, the volume that they dominate or the weights of a random scalarisation, and where a search starts. */
#ifndef GNOMON_ENGINE_SEVERAL_ACQUISITION_H
#define GNOMON_ENGINE_SEVERAL_ACQUISITION_H

#include "engine/bo/several_models.h"

/* view: the space with what the ask holds.  acq out; anchors: the best observed places, or when nothing is feasible those
 * that miss the bounds by least.
 * Every part in use has its model.  Errors: NO_MEMORY. */
MUST_CHECK enum status several_acquisition(struct several *own, const struct ask *ask, const struct space *view,
                                           struct acq_several *acq, struct gp_anchors *anchors, struct error *err);

#endif
