/* Acquisition for several metrics, of the independent posteriors N(mean_k, sd_k^2) of each at a point; larger is better.
 *   one objective       log-EI over best
 *   several objectives  the logarithm of the expected hypervolume improvement (ehvi), or
 *                       log-EI of a random augmented Chebyshev scalarisation (ParEGO: Knowles 2006) of their values,
 *                       f |-> min_k c_k + rho sum_k c_k,  c_k = weight_k (f_k - reference_k), estimated from fixed
 *                       normal samples (as qNParEGO: Daulton, Balandat & Bakshy 2020)
 * An objective with a band counts as minus its distance: alone by log-EI whatever reach says, of several by its moments.
 *   constraints         + sum_k log Phi((mean_k - bound_k) / sd_k)          Gardner et al. 2014, the logarithm of (6)
 * With one objective a bound, mean + sqrt(beta) sd, may stand for log-EI.
 * When nothing feasible is known the constraints stand alone.  Knows nothing of models or points. */
#ifndef GNOMON_ENGINE_ACQ_SEVERAL_H
#define GNOMON_ENGINE_ACQ_SEVERAL_H

#include "engine/acquisition/ehvi.h"

enum { ACQ_METRICS_MAX = METRICS_MAX + 1, ACQ_SAMPLES = 64 };

/* For one objective GREEDY and WIDE are confidence bounds, WIDE of ACQ_WIDE_SD standard deviations; for a scalarisation they
 * choose the samples; a hypervolume is always expected. */
enum { ACQ_WIDE_SD = 3 };
enum acq_reach { ACQ_EXPECTED, ACQ_GREEDY, ACQ_WIDE };

struct acq_several {
    size_t         objectives; /* the first so many of len; 0 when nothing feasible is known */
    size_t         first, len; /* constraints are first .. len - 1 */
    enum acq_reach reach;
    bool           is_volume; /* several objectives: ehvi, and nothing of what follows but bound */
    struct ehvi    ehvi;
    double         best; /* of the objective, or of the scalarisation */
    double         beta; /* of one objective: the bound's */
    double         weight[OBJECTIVES_MAX], reference[OBJECTIVES_MAX];
    double         bound[ACQ_METRICS_MAX];
    bool           is_banded[OBJECTIVES_MAX]; /* objectives that are to lie in a band (acq_band.h): */
    struct band    band[OBJECTIVES_MAX];
    double         floor; /* of the last constraint: a standard deviation that its model has besides */
    bool   is_demanded;   /* where z of the last constraint is below 1 no other part counts, and z alone decides */
    double samples[ACQ_SAMPLES][OBJECTIVES_MAX];
};

/* Names acq_several_value, its constraints left out, for the diagnostics: "log-ei", "ucb" (greedy or wide), "log-ehvi",
 * "scalarized-log-ei", "scalarized-ucb" (greedy or wide) or "feasibility" (the constraints alone). */
const char *acq_several_name(const struct acq_several *acq);

/* The scalarisation of f [objectives]; *worst: which component decides. */
double acq_several_scalar(const struct acq_several *acq, const double *f, size_t *worst);

/* Value at mean [len], sd [len] > 0; dmean [len] and dsd [len] receive the derivatives. */
double acq_several_value(const struct acq_several *acq, const double *mean, const double *sd, double *dmean,
                         double *dsd);

#endif
