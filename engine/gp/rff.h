/* Random Fourier features: a Gaussian process with a stationary kernel as a Bayesian linear model (Rahimi & Recht 2007;
 * Dai, thesis, 5.2.1; Dai et al. 2020, section 2).  Knows nothing of studies.
 *   v_i(x)  = cos(s_i' x + b_i),  s_i from the kernel's spectral density, b_i uniform in [0, 2 pi)
 *   phi(x)  = sqrt(variance) v(x) / |v(x)|     so that phi(x)'phi(x) is k(x, x) exactly
 *   Sigma   = Phi'Phi + noise I,  nu = Sigma^-1 Phi'y,  omega ~ N(nu, noise Sigma^-1)
 * and phi(x)'omega is a draw of the function. */
#ifndef GNOMON_ENGINE_RFF_H
#define GNOMON_ENGINE_RFF_H

#include "engine/base/arena.h"
#include "engine/gp/kernel.h"
#include "engine/math/rng.h"
#include "engine/base/status.h"

struct rff {
    size_t  dims, count; /* count is M */
    double  variance;    /* of the function */
    double *frequencies; /* [count][dims] */
    double *phases;      /* [count] */
};

/* Draws count >= 1 features of the kernel from the stream.  Errors: NO_MEMORY.  O(count dims). */
MUST_CHECK enum status rff_draw(struct rff *rff, const struct kernel *kernel, size_t count, struct rng *rng,
                                struct arena *arena, struct error *err);

/* phi [n][count] of the points X [n][dims].  O(n count dims). */
void rff_features(const struct rff *rff, const double *X, size_t n, double *phi);

/* phi(x)'omega, and its gradient by x [dims] unless that is NULL; spare [2 count].  O(count dims). */
double rff_value(const struct rff *rff, const double *omega, const double *x, double *gradient, double *spare);

/* The posterior of omega given n values. */
struct rff_posterior {
    size_t  count;
    double  noise, jitter;
    double *L;  /* [count][count] Cholesky factor of Sigma */
    double *nu; /* [count] */
};

/* Values of the function, and the features where they were taken. */
struct rff_data {
    size_t        n, count; /* n may be 0 */
    const double *phi;      /* [n][count] */
    const double *y;        /* [n] */
    double        noise;    /* > 0 */
};

/* Errors: NO_MEMORY; NUMERIC (not finite, or Sigma cannot be factored).
 * O(n count^2 + count^3 / 3). */
MUST_CHECK enum status rff_condition(struct rff_posterior *posterior, const struct rff_data *data, struct arena *arena,
                                     struct error *err);

/* omega [count] := nu + sqrt(noise) L^-T z, z standard normal from the stream.  O(count^2). */
void rff_sample(const struct rff_posterior *posterior, struct rng *rng, double *omega);

#endif
