/* The expected gain of the next trial: the largest expected improvement over the best posterior mean at a point tried
 * (acq.h), with standard deviations that the model's own residuals have corrected.
 *   trust^2 = (PRIOR + sum_i z_i^2) / (PRIOR + n),   z_i = (y_i - mean_-i) / sd_-i     leave-one-out, gp_loo.h
 * A model whose residuals are twice as large as it said has its standard deviations doubled.  As
 *   EI(mean, best, trust sd) = trust EI(mean / trust, best / trust, sd)
 * the acquisition function and its search need not know: they see a model with its weights alpha divided by trust.
 * Far from the best trial, outside the box that is searched first, an improvement counts a tenth: what the model says there
 * is the mean of the values tried, which were chosen to be good, and the spread of the function around it. */
#ifndef GNOMON_ENGINE_GP_GAIN_H
#define GNOMON_ENGINE_GP_GAIN_H

#include "engine/surrogate/gp_model.h"

/* trust, from the last 256 rows of the model: it costs O(256^3), however many there are.
 * Errors: NO_MEMORY, NUMERIC (a residual is not finite). */
MUST_CHECK enum status gp_gain_trust(const struct gp_model *model, double *trust, struct error *err);

/* *view := the model's Gaussian process with its means divided by trust; alpha in the model's scratch memory.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status gp_gain_view(const struct gp_model *model, double trust, struct gp *view, struct error *err);

/* The logarithm of what is expected of the better of two points: near, found in the box [2 dims] of the unit cube, and
 * far, found at u [dims]. */
struct gp_gain_found {
    double        near, far; /* log-EI */
    const double *box, *u;
};
double gp_gain_of(const struct gp_gain_found *found, size_t dims);

/* A difference of z above best in the units of the observations (by the slope of the warp at best: it is nowhere larger
 * above). */
double gp_gain_units(const struct gp_model *model, double best, double difference);

#endif
