/* Acquisition functions of the posterior mean and standard deviation at a point; larger is better.
 *   UCB      mean + sqrt(beta) sd                                  Srinivas et al. 2010
 *   log-EI   log sd + log h((mean - best) / sd), h(z) = phi(z) + z Phi(z)     Ament et al. 2023, (8), (9)
 *            + log(1 - noise_sd / sqrt(sd^2 + noise_sd^2))      Huang, Allen, Notz & Zeng 2006 (augmented EI): another
 *            measurement where the mean is known better than a measurement tells is worth little
 * Thompson sampling has no such function: acq_thompson draws the posterior jointly at a finite set. */
#ifndef GNOMON_ENGINE_ACQ_H
#define GNOMON_ENGINE_ACQ_H

#include "engine/acquisition/acq_h.h"
#include "engine/gp/gp.h"
#include "engine/policy/policy.h"
#include "engine/math/rng.h"

enum acq_kind { ACQ_LOG_EI, ACQ_UCB, ACQ_THOMPSON };
extern const char *const acq_names[]; /* as options name them, in this order, then NULL */

struct acq {
    enum acq_kind kind;
    double        best;     /* log-EI: what is to be improved on */
    double        noise_sd; /* log-EI: of a measurement; 0: none */
    struct band   band;     /* log-EI, is_banded: what is improved on is best, minus a distance (acq_band.h) */
    bool          is_banded;
    double        beta; /* UCB: >= 0 */
};

/* log(1 - t / sqrt(sd^2 + t^2)): what noise of standard deviation t leaves of an improvement; *dsd += its derivative. */
double acq_log_worth(double sd, double t, double *dsd);

/* Value at (mean, sd), sd > 0; *dmean and *dsd receive the derivatives.  Not for ACQ_THOMPSON. */
double acq_value(const struct acq *acq, double mean, double sd, double *dmean, double *dsd);

/* gradient [dims] += that of a function of mean and acq_sd(var) with the derivatives dmean and dsd, by the chain rule. */
void acq_add_gradient(const struct gp_slope *at, size_t dims, double dmean, double dsd, double *gradient);

/* The schedule of the theses (GP-UCB as implemented by Kandasamy et al. 2015): beta_t = 0.2 d log(2 t), t >= 1. */
double acq_beta(size_t d, size_t t);

/* An exact draw of f at the m points Z: out [m].
 * Errors: NO_MEMORY (scratch: m^2 + n m doubles), NUMERIC.  O(n^2 m + n m^2 + m^3/3). */
MUST_CHECK enum status acq_thompson(const struct gp *gp, struct points Z, struct rng *rng, double *out,
                                    struct arena *scratch, struct error *err);

#endif
