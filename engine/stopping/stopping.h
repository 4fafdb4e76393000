/* Bayesian optimal stopping of a learning curve: after each epoch, stop because the last one will not be good enough,
 * or go on?  Knows nothing of trials, metrics or the model of the search; whoever measures turns a value into an error
 * in [0, 1], smaller is better.
 *
 * The errors of the first epochs are given to a Gaussian process of mean 0 over epochs whose covariance is that of
 * exponential decays with Gamma distributed rates,
 *   k(n, n') = offset_variance + beta^alpha / (n + n' + beta)^alpha       Dai 2021, (A.1); Swersky et al. 2014
 * Noise-free paths of it up to epoch `last` are simulated; those that leave (0, 1) are dropped.  A path is summarised
 * by its running mean since the simulation began, in STOPPING_CELLS equal cells of [0, 1].  Backward induction over
 * epochs and cells (Algorithm 1.1) then finds the decision of least expected loss, with P the share of a cell's paths
 * that end better than the incumbent:
 *   d1  stop, it will not be better     k1 P
 *   d2  it will be better               k2 (1 - P)
 *   d0  look at one more epoch          cost + the mean loss in the cells of the next epoch
 * Where few paths came by, and everywhere when few paths are left, the decision is d0.  Same inputs, same bits. */
#ifndef GNOMON_ENGINE_STOPPING_H
#define GNOMON_ENGINE_STOPPING_H

#include "engine/base/arena.h"
#include "engine/math/rng.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STOPPING_CELLS = 99,
    STOPPING_CELL_PATHS = 30,   /* a cell with so many paths or fewer says d0 */
    STOPPING_PATHS_MIN = 100,   /* with fewer paths inside (0, 1) every cell says d0 */
    STOPPING_EPOCHS_MAX = 1000, /* of `last` */
    STOPPING_SEEN_MAX = 200,
};
enum stopping_decision { STOPPING_CONTINUE, STOPPING_WORSE, STOPPING_BETTER }; /* d0, d1, d2 */

struct stopping {
    size_t        last;            /* the epoch whose error counts */
    size_t        seen;            /* how many epochs are given, at least 1 */
    const double *epochs;          /* [seen] ascending, from 1 to below last; not all need be there */
    const double *errors;          /* [seen] within [0, 1] */
    double        incumbent;       /* the error to be beaten at the last epoch */
    double        k1, k2, cost;    /* all above 0 */
    double        noise_variance;  /* of the errors given */
    double        offset_variance; /* 0: the curves decay to 0 in the end */
    double        alpha, beta;     /* NaN: by maximum likelihood */
    double        alpha_max;       /* bound of that; beta lies in [0.01, 1000] */
    size_t        paths;
    struct rng    rng;
};

/* The recommended settings: k1 100, k2 99, cost 1, noise variance 1e-4, alpha by maximum likelihood up to 2 (without
 * this bound the likelihood has a ridge and curves are predicted to fall to 0), 100,000 paths.  last, seen, epochs,
 * errors, incumbent and rng are left to the caller. */
struct stopping stopping_recommended(void);

struct stopping_rule {
    size_t         first, last; /* decisions are taken after first (the epoch after the last given) .. last - 1 */
    double         alpha, beta;
    double         mean, sd;  /* of the error at the last epoch, before paths are dropped */
    size_t         kept;      /* paths inside (0, 1) */
    unsigned char *decisions; /* [last - first][STOPPING_CELLS] of enum stopping_decision */
};

/* Solves the problem; rule->decisions lies in arena, everything else in scratch (arena may be scratch).
 * Errors: INVALID "bad_curve" (what the fields above do not allow, NaN), NO_MEMORY, NUMERIC.
 * O(paths (last - seen)) after the fit, which is O(seen^3); 100,000 paths of 42 epochs take about 60 ms and 4 MB. */
MUST_CHECK enum status stopping_solve(const struct stopping *problem, struct arena *arena, struct arena *scratch,
                                      struct stopping_rule *rule, struct error *err);

/* Mean and standard deviation of the error at the last epoch given the curve, as stopping_solve has them; nothing is
 * simulated, and incumbent, k1, k2, cost and paths do not matter.  Errors: as stopping_solve.  O(seen^3). */
MUST_CHECK enum status stopping_forecast(const struct stopping *problem, double *mean, double *sd,
                                         struct arena *scratch, struct error *err);

/* The decision after an epoch whose error is known, given the mean of the errors of the epochs from rule->first to it.
 * d2 means: go on.  Other epochs than first .. last - 1: d0.  O(1). */
enum stopping_decision stopping_decide(const struct stopping_rule *rule, size_t epoch, double mean);

/* That mean from errors of which some are missing: the gaps are filled linearly.  epochs [n] ascending, the last one is
 * the epoch of the decision; one before `first` is of use where first itself is missing.  O(n). */
double stopping_mean(const double *epochs, const double *errors, size_t n, size_t first);

/* The cell of a mean; STOPPING_CELLS when it is not within [0, 1]. */
size_t stopping_cell(double mean);

#endif
