/* An additive Gaussian process for many coordinates (Duvenaud, Nickisch & Rasmussen 2011; Kandasamy, Schneider & Poczos
 * 2015): f is a sum of independent functions of disjoint groups of coordinates,
 *   k(x, x') = sum_j (s2 / M) m(|x^(j) - x'^(j)| / l_j),   l_j = l sqrt(coordinates of group j),  m: Matern 5/2 (kernel.h)
 * for M groups j, so that l = 1 is the scale on which a typical pair of points differs.  theta [ADDITIVE_HYPER] holds
 * log l, log s2, log noise variance.  Values are taken to have mean 0 and standard deviation 1, coordinates to lie in
 * [-1, 1].  Knows nothing of images or trials. */
#ifndef GNOMON_ENGINE_ADDITIVE_H
#define GNOMON_ENGINE_ADDITIVE_H

#include "engine/base/arena.h"
#include "engine/math/rng.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { ADDITIVE_GROUPS_MAX = 64, ADDITIVE_HYPER = 3 };

/* A decomposition: group j has the coordinates order[start[j]] .. order[start[j + 1] - 1]. */
struct partition {
    size_t  dims, groups;
    size_t *order; /* [dims] */
    size_t  start[ADDITIVE_GROUPS_MAX + 1];
};

/* A random one, into at most `groups` groups whose sizes differ by 1 at most. */
MUST_CHECK enum status partition_draw(struct partition *partition, size_t dims, size_t groups, struct rng *rng,
                                      struct arena *arena, struct error *err);

/* U [n][dims] row-major, y [known]: rows from known to n - 1 stand with their posterior means as values: they leave the
 * means as they are and take away variance. */
struct additive_data {
    size_t        n, known;
    const double *U, *y;
};

struct additive {
    const struct partition *partition;
    size_t                  n;
    double                  length, variance, noise_variance, jitter; /* variance: of one group */
    double                 *X;      /* group after group [n][coordinates of the group] */
    double                 *L;      /* [n][n], lower triangle */
    double                 *alpha;  /* [n], 0 from known on */
    double                 *scales; /* [dims] l_j of every coordinate, in the order of the groups */
};

/* Log marginal likelihood of the known rows and its gradient [ADDITIVE_HYPER] (NULL: not wanted) at theta.
 * Errors: NUMERIC, NO_MEMORY (scratch: (M + 3) n^2 doubles).  O(M n^2 + n^3). */
MUST_CHECK enum status additive_likelihood(const struct partition *partition, const struct additive_data *data,
                                           const double *theta, double *value, double *gradient, struct arena *scratch);

/* theta by maximum a posteriori, by L-BFGS within wide bounds from warm (NULL: from a fixed start).  The priors are weak
 * and log-normal; without them few values in many coordinates are likeliest as white noise.  When nothing has a finite
 * value, what it started from.  late: as struct minimize.  Errors: NO_MEMORY.  O(evaluations (M n^2 + n^3)). */
struct additive_fit {
    const double *warm;
    size_t        evaluations;
    bool (*late)(void *);
    void *late_arg;
};
MUST_CHECK enum status additive_fit(const struct partition *partition, const struct additive_data *data,
                                    const struct additive_fit *fit, double *theta, struct arena *scratch,
                                    struct error *err);

/* The posterior; the model lies in the arena and borrows the partition.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status additive_condition(struct additive *model, const struct partition *partition,
                                          const struct additive_data *data, const double *theta, struct arena *arena,
                                          struct error *err);

/* Posterior mean [m] and variance [m] of the function of a group at points in its coordinates.
 *   mean = k_j(Z, X) alpha;   var = s2 / M - |L^-1 k_j(X, z)|^2        Kandasamy et al. 2015, (4)
 * Errors: NO_MEMORY (scratch: n m doubles).  O(n^2 m). */
struct group_points {
    size_t        j;
    const double *Z; /* [m][coordinates of group j] */
    size_t        m;
};
MUST_CHECK enum status additive_group(const struct additive *model, struct group_points at, double *mean, double *var,
                                      struct arena *scratch, struct error *err);

/* mean + sqrt_beta sd of group j at z, and its gradient; work [2 n].  O(n^2). */
double additive_group_ucb(const struct additive *model, size_t j, const double *z, double sqrt_beta, double *gradient,
                          double *work);

/* Posterior mean and variance of the sum at u [dims]; work [2 n + dims]. */
void additive_posterior(const struct additive *model, const double *u, double *work, double *mean, double *var);

#endif
