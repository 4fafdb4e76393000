/* Exact Gaussian-process regression with prior mean 0.
 * y_i = f(x_i) + e_i,  f ~ GP(0, k),  e_i ~ N(0, noise_variance + noise_i)
 * X [n][d] inputs, y [n] values, L the Cholesky factor of K(X,X) + noise, alpha = (L L')^-1 y.
 * Does not know where the hyper-parameters come from (gp_fit) nor what the values mean. */
#ifndef GNOMON_ENGINE_GP_H
#define GNOMON_ENGINE_GP_H

#include "engine/base/arena.h"
#include "engine/gp/kernel.h"
#include "engine/base/status.h"

#include <stdbool.h>

enum { GP_CHUNK = 256 }; /* points whose posterior is computed together */

struct gp {
    struct arena *arena;
    struct kernel kernel; /* length_scales is the gp's own copy */
    double        noise_variance;
    double        jitter; /* what the factor needed, absolute */
    size_t        n, capacity;
    double       *X;     /* [capacity][dims] */
    double       *noise; /* [capacity] variance of each observation beyond noise_variance */
    double       *L;     /* [capacity][capacity], lower triangle */
    double       *alpha; /* [capacity] */
};

/* An empty model. kernel->length_scales is copied; room for capacity observations is taken at once, more is taken by
 * doubling.  Memory stays in the arena until the arena gives it back.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_init(struct gp *gp, struct arena *arena, const struct kernel *kernel, double noise_variance,
                               size_t capacity, struct error *err);

/* Replaces the observations: X [n][dims], noise [n] or NULL (all 0).  alpha is 0 until gp_set_values.
 * Errors: NO_MEMORY, NUMERIC (the jitter ladder was not enough); the model is then empty.  O(n^3/3). */
MUST_CHECK enum status gp_set_points(struct gp *gp, const double *X, const double *noise, size_t n, struct error *err);

/* As gp_set_points; when the matrix cannot be factored, the noise variance is raised by factors of 100 up to 1e4, far above
 * the variance 1 of the values. */
MUST_CHECK enum status gp_set_points_raised(struct gp *gp, const double *X, const double *noise, size_t n,
                                            struct error *err);

/* Appends one observation whose value is the posterior mean there: alpha gets a 0, means stay, variances shrink.
 * (A real value needs gp_set_values afterwards.)  Errors: NO_MEMORY, NUMERIC; the model is then unchanged.  O(n^2). */
MUST_CHECK enum status gp_append(struct gp *gp, const double *x, double noise, struct error *err);

/* As gp_append, of a value without noise (or nearly so: the factor stays regular); no observation has less. */
MUST_CHECK enum status gp_append_exact(struct gp *gp, const double *x, struct error *err);

/* As gp_append or, exact, gp_append_exact of each of the points, at most GP_CHUNK, in time of products of matrices and to
 * within rounding.  Errors: NO_MEMORY (scratch: n m doubles), NUMERIC (one of them cannot be appended); the model is then
 * unchanged.  O(n^2 m + n m^2 + m^3/3). */
MUST_CHECK enum status gp_append_many(struct gp *gp, struct points Z, bool exact, struct arena *scratch,
                                      struct error *err);

/* Forgets the observations from number n on.  Exact: the first n rows of L do not depend on later ones.
 * alpha is what it was if those were appended without values. */
void gp_truncate(struct gp *gp, size_t n);

/* alpha from y [n].  Errors: NUMERIC (not finite).  O(n^2). */
MUST_CHECK enum status gp_set_values(struct gp *gp, const double *y, struct error *err);

/* Posterior mean and variance of f at the m points Z.
 *   mean = k(Z,X) alpha;   var = k(z,z) - |L^-1 k(X,z)|^2        Rasmussen & Williams 2006, (2.25), (2.26)
 * mean   [m] out;  var [m] out, >= 0; noise is not included
 * Errors: NO_MEMORY (scratch: 256 n doubles).  O(n^2 m). */
MUST_CHECK enum status gp_posterior(const struct gp *gp, struct points Z, double *mean, double *var,
                                    struct arena *scratch, struct error *err);

/* Only the mean: as gp_posterior, O(n dims m). */
MUST_CHECK enum status gp_mean(const struct gp *gp, const double *Z, size_t m, double *mean, struct arena *scratch,
                               struct error *err);

/* Posterior at one point z [dims] with gradients: *mean, *var, dmean [dims], dvar [dims] out; work [3 n] scratch.
 *   dmean = sum_i alpha_i dk(z,x_i);   dvar = -2 sum_i ((L L')^-1 k)_i dk(z,x_i).  O(n^2 + n dims). */
struct gp_slope {
    double  mean, var;
    double *dmean, *dvar; /* [dims] storage by the caller */
};
void gp_gradient(const struct gp *gp, const double *z, double *work, struct gp_slope *out);

/* Joint posterior of f at the m points Z: mean [m], lower triangle of C [m][m].
 * Errors: NO_MEMORY (scratch: n m doubles).  O(n^2 m + n m^2). */
MUST_CHECK enum status gp_joint(const struct gp *gp, struct points Z, double *mean, double *C, struct arena *scratch,
                                struct error *err);

/* The data of a likelihood. */
struct gp_data {
    size_t        n, dims;
    const double *X;     /* [n][dims] */
    const double *y;     /* [n] */
    const double *noise; /* [n] variances beyond noise_variance, or NULL */
    const double *trend; /* [n] a common trend of the values, times an unknown number from N(0, 1); or NULL */
};

/* Storage of gp_likelihood for n observations, reusable.  After a call with gradient: A is the inverse of K (lower
 * triangle), vector starts with alpha. */
struct gp_work {
    double *A, *B;  /* [n][n] */
    double *vector; /* [3 n] */
};
MUST_CHECK enum status gp_work_init(struct gp_work *work, struct arena *arena, size_t n, struct error *err);

/* Log marginal likelihood and its gradient with respect to the logarithms of the hyper-parameters.
 *   -1/2 y'alpha - 1/2 log|K| - n/2 log 2 pi                      Rasmussen & Williams 2006, (5.8)
 *   1/2 tr((alpha alpha' - K^-1) dK/dlog theta)                    (5.9)
 * gradient [dims + 2] out: log length-scales, log variance, log noise_variance; NULL: not wanted.
 * Errors: NUMERIC.  O(n^3/3), with the gradient O(n^3 + n^2 dims). */
MUST_CHECK enum status gp_likelihood(const struct gp_data *data, const struct kernel *kernel, double noise_variance,
                                     struct gp_work *work, double *value, double *gradient);

#endif
