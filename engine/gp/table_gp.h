/* The Gaussian process posterior of every row of a candidate matrix, kept up to date one observation at a time.
 * Isotropic kernel with unit variance; the caller scales.  A share of the variance may belong to each row alone:
 * k(i, j) = (1 - own) kernel + own [i == j], which two answers for one row have in common (unlike noise).  Or rows lie
 * around their places with variances S_i along the columns (squared exponential only): then k(i, i) = 1, and for i != j
 *   k(i, j) = E[kernel] = prod_c (l^2 / w_c)^1/2 exp(-(x_ic - x_jc)^2 / (2 w_c)),   w_c = l^2 + S_ic + S_jc
 * as it is for normal distributions.  Knows nothing of studies, trials or acquisition.
 *
 *   L L' = K(X_t, X_t) + noise I        X_t: the t observed rows, in order
 *   V    = L^-1 K(X_t, all rows)        one array of n numbers per observation
 *   variance_j = 1 - sum_i V_ij^2       Rasmussen & Williams 2006, (2.24), by columns of L^-1
 *   mean_j     = c + sum_i V_ij (L^-1 (y - c))_i
 *
 * A new observation adds one row to L and one array to V and touches nothing older, so the sums over i run along.
 * Pending rows (asked for, not yet answered) stand after the observed ones and reduce the variance only
 * (hallucinated observations, Desautels et al. 2014); an observation drops them, except that the row it completes
 * stays when it was the first of them.
 *
 * Precision: L in double; V is rounded to single after sums in double, which halves the memory traffic and keeps
 * the whole within 3 times the matrix for t <= 2 columns.  Rounding row i of V is the same as changing row i of
 * K(X_t, all) by at most L_ii 2^-24 |V_ij|: no error grows along the rows.  The error of a variance is at most
 * 2 sum_i |w_ij| L_ii 2^-24 |V_ij| with the weights w_j = (L L')^-1 K(X_t, j); for rows that do not repeat each other
 * (w_ij L_ii = V_ij) that is 2^-23 = 1.2e-7 of the prior variance.  The error of a mean is at most
 * sum_i |alpha_i| L_ii 2^-24 |V_ij|, alpha = (L L')^-1 (y - c). */
#ifndef GNOMON_ENGINE_TABLE_GP_H
#define GNOMON_ENGINE_TABLE_GP_H

#include "engine/base/arena.h"
#include "engine/gp/kernel.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct table_gp {
    struct arena *arena;
    const double *rows;   /* [n][columns] row-major, borrowed */
    const double *spread; /* [n][columns] S, borrowed; NULL after init: none.  To be set right before a reset */
    size_t        n, columns;
    const struct kernel_kind *kind;
    double                    length_scale, noise; /* noise variance / signal variance */
    double                    own;                 /* 0 after init; to be set right before a reset, which leaves it */
    size_t                    observed, pending;   /* rows of V in use: observed, then pending */
    size_t                    room, kept;          /* capacity of the small arrays; arrays of V that exist */
    size_t                   *at;                  /* [room] row numbers */
    float                   **V;                   /* [room] arrays of n, padded to whole blocks */
    double                   *L;                   /* [room][room] */
    double                   *beta, *beta_one;     /* [room] L^-1 y and L^-1 1 */
    double                   *sum, *sum_one;       /* [n, padded] V' beta and V' beta_one */
    double *variance, *variance_pending;           /* [n, padded] given the observed; given the pending rows, too */
};

/* Allocates the four arrays of n.  Errors: NO_MEMORY. */
MUST_CHECK enum status table_gp_init(struct table_gp *gp, struct arena *arena, const double *rows, size_t n,
                                     size_t columns, struct error *err);

/* Back to the prior, with these hyper-parameters; memory is kept.  length_scale > 0, noise > 0.  O(n). */
void table_gp_reset(struct table_gp *gp, const struct kernel_kind *kind, double length_scale, double noise);

/* Adds an observation y of a row (a row may be observed again).  O(n (t + columns)).
 * Errors: NO_MEMORY; NUMERIC "singular" when the new pivot is not positive or y is not finite.  The model is then unchanged,
 * except that pending rows may have been dropped. */
MUST_CHECK enum status table_gp_observe(struct table_gp *gp, size_t row, double y, struct error *err);

/* Makes these the pending rows.  Those that are pending already, from the first on, cost nothing; each further one
 * costs O(n (t + columns)); O(n) per kept row when others are dropped.  Errors: as table_gp_observe. */
MUST_CHECK enum status table_gp_set_pending(struct table_gp *gp, const size_t *rows, size_t count, struct error *err);

/* E[kernel] of two rows with variances S and T: see above. */
double table_gp_expected(const double *x, const double *S, const double *z, const double *T, size_t columns,
                         double length_scale);

/* Mean (with the constant prior mean c) and standard deviation of a few rows given the observed ones, in double throughout:
 * without the rounding of V, which where noise is small is much of a variance.  sd NULL: not wanted.
 * Errors: NO_MEMORY.  O(t (t + columns)) a row. */
struct table_rows {
    const size_t *at; /* [len] */
    size_t        len;
};
MUST_CHECK enum status table_gp_exact(const struct table_gp *gp, struct table_rows rows, double c, double *mean,
                                      double *sd, struct error *err);

/* Posterior mean of row j with the constant prior mean c. */
double table_gp_mean(const struct table_gp *gp, size_t j, double c);
/* Posterior standard deviation of row j, as a part of the signal's; without noise. */
double table_gp_sd(const struct table_gp *gp, size_t j, bool with_pending);

#endif
