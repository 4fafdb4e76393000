/* Leave-one-out predictions of a Gaussian process from the factor it has: nothing is fitted or factored again.
 *   mean_i = y_i - alpha_i / C_ii,   var_i = 1 / C_ii,   C = (K + noise)^-1      Rasmussen & Williams 2006, (5.12)
 * They are predictions of the observation y_i, its noise included; hyper-parameters are those of all observations. */
#ifndef GNOMON_ENGINE_GP_LOO_H
#define GNOMON_ENGINE_GP_LOO_H

#include "engine/gp/gp.h"

#include <stdbool.h>

/* diagonal [n] out: that of (L L')^-1, L [n][ld] a lower factor.  Errors: NO_MEMORY (256 n doubles), NUMERIC (not
 * finite), BUSY "deadline".  O(n^3/3). */
struct gp_factor {
    const double *L;
    size_t        n, ld;
    bool (*late)(void *); /* polled before every 256 columns; true: BUSY "deadline".  NULL: never */
    void *late_arg;
};
MUST_CHECK enum status gp_loo_diagonal(const struct gp_factor *factor, double *diagonal, struct arena *scratch,
                                       struct error *err);

/* The first n observations of gp given all others of them, from the values of gp_set_values: mean [n] and sd [n] out.
 * Rows that were appended without values (from n on) do not count.  Errors: NO_MEMORY, NUMERIC, BUSY.  O(n^3/3). */
struct gp_values {
    const double *at; /* [n] */
    size_t        n;
    bool (*late)(void *); /* as above */
    void *late_arg;
};
MUST_CHECK enum status gp_loo(const struct gp *gp, struct gp_values y, double *mean, double *sd, struct arena *scratch,
                              struct error *err);

/* A lower bound of the condition number of L L' in the 2-norm: (largest / smallest diagonal entry of L)^2.  O(n). */
double gp_loo_condition(const double *L, size_t n, size_t ld);

/* The logarithm of a normal density z standard deviations from its mean. */
double gp_loo_log_density(double z, double sd);

#endif
