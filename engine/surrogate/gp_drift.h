/* Values that drift: what is measured changes from trial to trial by the same amount, whatever is tried (something warms up,
 * wears out, fills), or steps: once, at a time that is to be found (a tool was changed).  Where that is clear, all values are
 * modelled as if they had been measured now; where it is not, nothing is done.
 * Time is the number of trials that were asked for before: those that came with their values have no time of their own.
 * Logs of more than MODEL_ROWS_MAX trials are not looked at.
 * With t the times, f a GP with covariance K and values z = f + slope t, the slope is that of generalised least squares,
 *   (t' K^-1 z) / (t' K^-1 t),   of variance 1 / (t' K^-1 t)                     Rasmussen & Williams 2006, (2.42)
 * For a step t is 1 from its time on and 0 before, and the time is the likeliest: that of the largest
 * (t' K^-1 z)^2 / (t' K^-1 t). */
#ifndef GNOMON_ENGINE_GP_DRIFT_H
#define GNOMON_ENGINE_GP_DRIFT_H

#include "engine/surrogate/gp_model.h"

/* Before the rows are selected: if under theta the values of model->log drift clearly, or step if is_step, then log becomes one of
 * values as they would be now, in scratch, and drift, from and trend are set.  Errors: as gp_model_rows, but where there is no room
 * for this the model goes without.  O(n^3) of at most 256 rows n, and three times gp_model_rows; for a step
 * six times both, and twelve times beyond 256 trials. */
MUST_CHECK enum status gp_drift_level(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                      bool is_step, struct error *err);

/* After a fit that knows of no drift, whose theta is in and out: a second one allows for it, one or two more for a step where
 * there may be one, and the likelier takes the place of the first if it is much likelier and the drift under it is clear; then
 * as gp_drift_level, rows included.  Each costs as much as a fit, so that it is made with every fourth value of the first 40,
 * then when there are 80, 160, ...; fitted: the values of the last fit, 0: there was none, and nothing is tested.
 * Errors: as above. */
MUST_CHECK enum status gp_drift_test(struct gp_model *model, const struct gp_fit *fit, uint64_t fitted, double *theta,
                                     struct error *err);

#endif
