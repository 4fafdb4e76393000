/* The acquisition function of an objective that is to lie in a band (struct band of policy.h): a model of the value itself, not
 * of its distance, knows on which side of the band a point lies, so that the search closes in as the secant method does.
 *   EI = E max(0, b - d(y)),  d(y) = max(low - y, y - high, 0),  y ~ N(mean, sd^2),  b: distance of the best
 *      = f(high + b) - f(high) - f(low) + f(low - b),  f(c) = E max(0, c - y) = sd h((c - mean) / sd)     (h: acq.h) */
#ifndef GNOMON_ENGINE_ACQ_BAND_H
#define GNOMON_ENGINE_ACQ_BAND_H

#include "engine/policy/policy.h"

/* log EI over best, minus the distance of the best, at mean and sd > 0; *dmean and *dsd receive the derivatives.  No difference
 * of nearly equal numbers is left: relative error of EI below 1e-10, in any tail. */
double acq_band_log_ei(const struct band *band, double best, double mean, double sd, double *dmean, double *dsd);

/* Mean and standard deviation of minus the distance to the band of N(mean, sd^2), which stand for a normal value where several
 * objectives are weighed against each other; to [2][2]: derivatives of both by mean, then by sd. */
struct acq_moments {
    double mean, sd, to[2][2];
};
struct acq_moments acq_band_moments(const struct band *band, double mean, double sd);

#endif
