/* Answers of a model of a study's trials, in the units of the observations: predictions, residuals, diagnostics.  Shared by
 * the algorithms that have a gp_model.  All of it needs gp_model_condition. */
#ifndef GNOMON_ENGINE_GP_INSIGHT_H
#define GNOMON_ENGINE_GP_INSIGHT_H

#include "engine/surrogate/gp_model.h"

/* Posterior at m points of the space [m][params_len]; without sd it costs O(n dims) for each point in place of O(n^2).
 * Errors: NO_MEMORY. */
MUST_CHECK enum status gp_insight_predict(const struct gp_model *model, const struct prediction *wanted,
                                          struct error *err);

/* Leave-one-out residuals of the observed trials in the model, by trial: *out [*len] in arena.  Infeasible trials are
 * in the model, but have no value of their own.  Errors: NO_MEMORY, NUMERIC.  O(n^3/3). */
MUST_CHECK enum status gp_insight_residuals(const struct gp_model *model, const struct ask *ask, struct arena *arena,
                                            struct residual **out, size_t *len, struct error *err);

/* Everything of the diagnostics but the acquisition and the time. */
void gp_insight_diagnose(const struct gp_model *model, struct diagnostics *out);

#endif
