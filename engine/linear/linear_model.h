/* Bayesian linear regression on more features than there are values, in the n x n space of the values:
 *   y = sqrt(q) (F z / sqrt(t) + b + sqrt(s2) e),   z, b, e ~ N(0, 1) each,   t = |F|^2 / n
 *   M = F F' / t + 11' + s2 I = L L',   alpha = M^-1 y,   q = y' alpha / n
 * q is the likeliest one for each s2, and s2 that of LINEAR_RATIOS with which
 *   log p(y) = -n/2 log q - 1/2 log |M| + const
 * is largest.  So nothing is searched for, and the same values give the same model.  Knows nothing of images. */
#ifndef GNOMON_ENGINE_LINEAR_MODEL_H
#define GNOMON_ENGINE_LINEAR_MODEL_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/math/rng.h"

#include <stddef.h>

enum { LINEAR_RATIOS_LEN = 3 };
extern const double LINEAR_RATIOS[LINEAR_RATIOS_LEN]; /* of the noise's variance to the signal's */

struct linear_data {
    const double *F, *y; /* [n][p] row-major, [n] */
    size_t        n, p;
};

struct linear_model {
    struct linear_data data; /* borrowed */
    double             t, s2, q, likelihood, jitter;
    double            *L, *alpha; /* [n][n], [n] */
};

/* F finite, y [n] of about unit size, n >= 1.  What is equal everywhere, of F or y, is taken as 0 with scale 1.
 * Errors: NO_MEMORY (3 n^2 doubles), NUMERIC.  O(n^2 p + n^3). */
MUST_CHECK enum status linear_model_fit(struct linear_model *model, const struct linear_data *data, struct arena *arena,
                                        struct error *err);

/* z [p] := a draw of sqrt(q / t) z, given y, but that all it differs from its mean by is multiplied by scale >= 0:
 *   scale z0 + F' M^-1 (y - scale (F z0 + b0 + noise0)) / t         Matheron's rule; z0, b0, noise0 from the prior
 * Returns the draw of sqrt(q) b.  work [p + 1 + n] scratch, made even.  O(n p + n^2). */
double linear_model_draw(const struct linear_model *model, double scale, struct rng *rng, double *z, double *work);

/* Mean and variance of the linear function (b included, noise not) at f [p].  work [n].  var >= 0.  O(n p + n^2). */
void linear_model_predict(const struct linear_model *model, const double *f, double *mean, double *var, double *work);

#endif
