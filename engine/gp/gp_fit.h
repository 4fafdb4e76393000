/* Hyper-parameters by maximum a posteriori: log marginal likelihood plus log prior densities, by L-BFGS with the
 * analytic gradient over theta [groups + GP_SCALARS]: log length-scales, log variance, log noise variance, log a of the
 * values' warp.  The values are taken to have standard deviation 1 and the inputs to lie in the unit cube.
 * Coordinates of one group share a length-scale (the values of a categorical parameter). */
#ifndef GNOMON_ENGINE_GP_FIT_H
#define GNOMON_ENGINE_GP_FIT_H

#include "engine/gp/gp.h"
#include "engine/gp/warp.h"

#include <stdbool.h>

enum { GP_SCALARS = 3 }; /* how long theta is beyond the length-scales */

struct gp_fit {
    const struct kernel_kind *kind;
    size_t                    dims, groups;
    const size_t             *group_of;    /* [dims] -> 0 .. groups - 1 */
    size_t                    evaluations; /* of the likelihood, at most, from each start */
    double least_a;       /* of the warp; 0: no bound, infinity: values are modelled as they are, or nearly */
    bool   from_default;  /* a search starts there too, and not from warm alone */
    bool (*late)(void *); /* polled; true: the best so far will do.  NULL: no deadline */
    void *late_arg;
};

/* The start of a search without an earlier fit. */
void gp_fit_default(const struct gp_fit *fit, double *theta);

/* Log prior density at theta, up to a constant, and its gradient [groups + GP_SCALARS] (NULL: not wanted).
 *   length-scale    log-normal(sqrt2 + log(groups) / 2, sqrt3)     Hvarfner, Hellsten & Nardi 2024, section 4
 *                   times normal densities of sd 0.6 of log l_j about the mean of all log l: parameters are alike
 *                   until values tell them apart
 *   variance        log-normal, weak;  noise variance   normal in its logarithm, sd 4: little is likelier
 *   a               log-normal, weak */
double gp_fit_prior(const struct gp_fit *fit, const double *theta, double *gradient);

/* True if theta [groups + GP_SCALARS] is finite and inside the bounds of the search. */
bool gp_fit_allows(const struct gp_fit *fit, const double *theta);

/* Hyper-parameters in the form gp takes: length_scales [dims] storage by the caller, kernel borrows it. */
void gp_fit_expand(const struct gp_fit *fit, const double *theta, double *length_scales, struct kernel *kernel,
                   double *noise_variance);

/* theta [groups + GP_SCALARS] out: the best of the searches from warm (NULL: none) and from the default.  data->y are values
 * before the warp.  When nothing has a finite value: warm, or the default.  data->n > 0.  Errors: NO_MEMORY.
 * O(evaluations (n^3 + n^2 dims)). */
MUST_CHECK enum status gp_fit_run(const struct gp_fit *fit, const struct gp_data *data, const double *warm,
                                  double *theta, struct arena *scratch, struct error *err);

/* The function that gp_fit_run maximises: the log likelihood of data->y plus the log prior, at theta; NaN where it has no
 * finite value.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status gp_fit_value(const struct gp_fit *fit, const struct gp_data *data, const double *theta,
                                    double *value, struct arena *scratch, struct error *err);

#endif
