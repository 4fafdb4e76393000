/* The present study given earlier ones, as a linear model with correlated errors:
 *   y_j = c + sum_i b_i m_i(x_j) + r(x_j),   r ~ GP(0, s k) with noise,   c ~ N(0, s C),   b_i ~ N(b0, s B)
 * m_i: the posterior mean of earlier study i.  1 / s is drawn from a gamma distribution, whose weight is that of some
 * values: Bayesian linear regression (Gelman et al. 2013, 14.2) in the metric of the process' covariance.  Slopes may turn
 * negative: a study whose values are the wrong way round is of as much use as one whose are not.
 * Pure functions of numbers. */
#ifndef GNOMON_ENGINE_TRANSFER_SLOPES_H
#define GNOMON_ENGINE_TRANSFER_SLOPES_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>

struct transfer_slopes {
    size_t        n, len;    /* values of the study; earlier studies */
    const double *y, *means; /* [n]; [len][n] */
    const double *L;         /* [n][ld] lower factor of k and noise at the study's points */
    size_t        ld;
    double        level, prior, width; /* C; b0; B */
    double        scale, trust;        /* of s before there are values, and of how many values that is worth */
    double       *slopes;              /* [len] out: their posterior means */
    double        constant, s;         /* out */
    double        evidence;            /* out: logarithm of the density of y, but for what len does not change */
};

/* The prior before there are values: together the slopes are 0.8, however many there are. */
static inline struct transfer_slopes transfer_slopes_of(size_t len, double *slopes)
{
    return (struct transfer_slopes){.len = len,
                                    .level = 4.0,
                                    .prior = 0.8 / (double)len,
                                    .width = 1.5 / (double)len,
                                    .scale = 0.5,
                                    .trust = 3.0,
                                    .slopes = slopes};
}

/* Errors: NO_MEMORY, NUMERIC.  O(n^2 len + n len^2 + len^3). */
MUST_CHECK enum status transfer_slopes_find(struct transfer_slopes *model, struct arena *scratch, struct error *err);

#endif
