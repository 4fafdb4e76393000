/* Studies with context parameters (struct param): their values are given with each ask, and what is best is best in that
 * context.  So the incumbent is no trial that was made: it is what the model expects of each of their points in this
 * context, the held values in the place of its own.
 *   best = max_i m(x_i, c),   x_i the free part of trial i, c the context
 * Improvements on it are what the acquisition function expects; the trials with the largest m(x_i, c) are where a search
 * starts. */
#ifndef GNOMON_ENGINE_GP_CONTEXT_H
#define GNOMON_ENGINE_GP_CONTEXT_H

#include "engine/surrogate/gp_model.h"

/* mean [model->n] out: of the model, which is conditioned, without what is pending, at the points of its rows in view, the
 * space with what is held.  Errors: NO_MEMORY, NUMERIC.  O(n^2). */
MUST_CHECK enum status gp_context_means(const struct gp_model *model, const struct space *view, double *mean,
                                        struct error *err);

/* The point, as it would be in view. */
void gp_context_move(const struct space *view, double *point);

/* best and anchors of the model as they are in view.  Errors and cost as above. */
MUST_CHECK enum status gp_context_set(struct gp_model *model, const struct space *view, struct error *err);

#endif
