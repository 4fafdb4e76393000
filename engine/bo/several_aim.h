/* What the next trial of several metrics is to improve on: the incumbent among the observed and pending places of the
 * log, the volume that they dominate or the weights of a random scalarisation, and where a search starts. */
#ifndef GNOMON_ENGINE_SEVERAL_AIM_H
#define GNOMON_ENGINE_SEVERAL_AIM_H

#include "engine/bo/several_models.h"

/* acq out; anchors: the best observed places, or when nothing is feasible those that miss the bounds by least.
 * Every part in use has its model.  Errors: NO_MEMORY. */
MUST_CHECK enum status metrics_aim(struct metrics *own, const struct ask *ask, struct acq_metrics *acq,
                                   struct gp_anchors *anchors, struct error *err);

#endif
