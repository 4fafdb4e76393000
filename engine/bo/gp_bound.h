/* The bound that is searched first, near the best trial: mean + sqrt(beta) sd with few sds, so that what promises most is
 * tried.  Where it promises no gain that matters, log-EI is searched. */
#ifndef GNOMON_ENGINE_GP_BOUND_H
#define GNOMON_ENGINE_GP_BOUND_H

#include "engine/surrogate/gp_model.h"
#include "engine/policy/policy.h"

bool gp_bound_is_tried(const struct gp_model *model, const struct ask *ask);

/* A quarter of the customary beta after the trials of the log. */
double gp_bound_beta(const struct trial_log *log);

/* Whether the point that was found is worth the trial.  value: of the bound there, less what may not be feasible; best: the
 * best posterior mean so far; both as in the model. */
bool gp_bound_is_worth(const struct gp_model *model, const struct ask *ask, double value, double best);

#endif
