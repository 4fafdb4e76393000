/* Whether a function has steps, as scores of trees, of the nearest row of a table, or rounded ones have: a parameter is
 * continuous, and of the better half of the values the best, or two different others, are there twice, to the last digit and at
 * different points.  A smooth model then promises gains on the step that it stands on, trial after trial.  (What a penalty or
 * a limit of the measurement gives is a single value that comes again.) */
#ifndef GNOMON_ENGINE_GP_STEPS_H
#define GNOMON_ENGINE_GP_STEPS_H

#include "engine/surrogate/gp_model.h"

/* *gap out: how far the best value lies above the next other one, in units of z; 0: there are no steps.  Values in doubt do
 * not count, nor do trials from outside the space.  model is conditioned.  Errors: NO_MEMORY.  O(n log n). */
MUST_CHECK enum status gp_steps_find(const struct gp_model *model, double *gap, struct error *err);

#endif
