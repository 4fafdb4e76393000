/* The Gaussian process posteriors of several outputs that share their inputs, kernel and noise: V = L^-1 K and the
 * variance are computed once for all of them.  Squared exponential kernel of unit variance; the caller scales.
 * With a table of all inputs the posterior there is kept up to date (table_gp.h); without, it is computed where it
 * is asked for.  Knows nothing of games. */
#ifndef GNOMON_ENGINE_JOINT_GP_H
#define GNOMON_ENGINE_JOINT_GP_H

#include "engine/base/arena.h"
#include "engine/gp/table_gp.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { JOINT_OUTPUTS_MAX = 8, JOINT_BLOCK = 512 };

struct joint_gp {
    struct arena   *arena;
    size_t          dims, outputs, cells; /* cells 0: there is no table */
    double          length_scale, noise;  /* noise variance / signal variance */
    size_t          t, room;
    struct table_gp table;
    double         *sums[JOINT_OUTPUTS_MAX]; /* [cells] of outputs from 1; output 0 is the table's */
    double         *X, *L;                   /* [room][dims], [room][room]; without a table */
    double         *betas;                   /* [outputs + 1][room] L^-1 y of each output, then L^-1 1 */
};

/* table: the cells, borrowed; or none.  Errors: NO_MEMORY. */
MUST_CHECK enum status joint_gp_init(struct joint_gp *gp, struct arena *arena, struct points table, size_t dims,
                                     size_t outputs, struct error *err);
/* Back to the prior with these hyper-parameters; memory is kept. */
void joint_gp_reset(struct joint_gp *gp, double length_scale, double noise);
/* y [outputs] at x [dims], or at a cell.  O(cells (t + dims)), or O(t^2).  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status joint_gp_observe(struct joint_gp *gp, const double *x, size_t cell, const double *y,
                                        struct error *err);

/* Posterior of an output with the constant prior mean c; sd as a part of the signal's, without noise. */
void joint_gp_at_cell(const struct joint_gp *gp, size_t output, double c, size_t cell, double *mean, double *sd);
/* As joint_gp_at_cell, at several inputs and without a table.  O(m t^2). */
struct joint_inputs {
    const double *inputs; /* [m][dims] */
    size_t        m;      /* at most JOINT_BLOCK */
    double       *spare;  /* [(t + 1) JOINT_BLOCK] */
};
void joint_gp_at(const struct joint_gp *gp, size_t output, double c, const struct joint_inputs *at, double *mean,
                 double *sd);

/* alpha [t] := (K + noise)^-1 (y - c) of an output; and v [t] := L^-1 v.  O(t^2). */
void joint_gp_weights(const struct joint_gp *gp, size_t output, double c, double *alpha);
void joint_gp_reduce(const struct joint_gp *gp, double *v);

#endif
