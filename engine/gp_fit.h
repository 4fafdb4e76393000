/* Hyper-parameters by maximum a posteriori: log marginal likelihood plus log prior densities, by L-BFGS with the
 * analytic gradient over theta [groups + 2]: log length-scales, log variance, log noise variance.
 * The values are taken to be standardised (mean 0, standard deviation 1) and the inputs to lie in the unit cube.
 * Coordinates of one group share a length-scale (the values of a categorical parameter). */
#ifndef GNOMON_ENGINE_GP_FIT_H
#define GNOMON_ENGINE_GP_FIT_H

#include "engine/gp.h"

#include <stdbool.h>

struct gp_fit {
    enum kernel_kind kind;
    size_t           dims, groups;
    const size_t    *group_of;    /* [dims] -> 0 .. groups - 1 */
    size_t           evaluations; /* of the likelihood, at most, from each start */
    bool (*late)(void *);         /* polled; true: the best so far will do.  NULL: no deadline */
    void *late_arg;
};

/* Where the search starts when nothing is known. */
void gp_fit_default(const struct gp_fit *fit, double *theta);

/* Log prior density at theta, and its gradient [groups + 2] (NULL: not wanted).
 *   length-scale    log-normal(sqrt2 + log(groups) / 2, sqrt3)     Hvarfner, Hellsten & Nardi 2024, section 4
 *   variance        log-normal, weak;  noise variance   log-normal, favours little noise */
double gp_fit_prior(const struct gp_fit *fit, const double *theta, double *gradient);

/* True if theta [groups + 2] is finite and inside the bounds of the search. */
bool gp_fit_allows(const struct gp_fit *fit, const double *theta);

/* Hyper-parameters in the form gp takes: length_scales [dims] storage by the caller, kernel borrows it. */
void gp_fit_expand(const struct gp_fit *fit, const double *theta, double *length_scales, struct kernel *kernel,
                   double *noise_variance);

/* theta [groups + 2] out: the better of the searches from the default and from warm (NULL: only the default).  When
 * nothing has a finite value: warm, or the default.  data->n > 0.  Errors: NO_MEMORY.
 * O(evaluations (n^3 + n^2 dims)). */
MUST_CHECK enum status gp_fit_run(const struct gp_fit *fit, const struct gp_data *data, const double *warm,
                                  double *theta, struct arena *scratch, struct error *err);

#endif
