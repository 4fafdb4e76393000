/* Where a model has a part of the trials only: what those near a point say.
 * A Gaussian process of the LOCAL_ROWS trials nearest to the point, by the model's length-scales, with a constant mean, a
 * variance, noise and one factor of the length-scales of their own by restricted maximum likelihood (Patterson & Thompson
 * 1971), in the units of the values and without a warp.  What is known of the noise of a value is not used, and forecasts
 * are not.  It is a function of (log, model, point). */
#ifndef GNOMON_ENGINE_GP_LOCAL_H
#define GNOMON_ENGINE_GP_LOCAL_H

#include "engine/surrogate/gp_model.h"

/* Replaces mean, sd and sd_observed [m] (the last may be NULL), each in the units of the observations, at those of the
 * points U [m][dims] where the mean of that process, leave-one-out, comes closer than the model's to the JUDGES nearest trials
 * that the model has left out.  Does nothing where there are not so many among the LOCAL_ROWS, where these have one value,
 * to a model that is to have few rows (limit), and when there is no memory for it.
 * O(m (n dims + LOCAL_ROWS^3)), n all trials. */
void gp_local_replace(const struct gp_model *model, struct points U, double *mean, double *sd, double *sd_observed);

#endif
