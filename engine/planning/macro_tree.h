/* The tree of macro-action sequences that a plan looks at, and what the Gaussian process says along each path: all that
 * does not depend on outputs, computed once per path prefix and shared by every sample.
 * Along a path the outputs are y = m + L z with z ~ N(0, I), m and L L' the posterior mean and covariance (noise
 * included) given the data at the root.  So the expected sum of the outputs of a stage given the earlier ones is
 * linear in the earlier z:   1' mu_t(x_t+1) = c + g' z.         Kharkovskii, (4.1), (4.4), appendix B.1
 * Outputs count less the prior mean, which makes no difference between paths of equal length, and among others does
 * not prefer the longer ones for their length.
 * Knows nothing of samples and bounds. */
#ifndef GNOMON_ENGINE_MACRO_TREE_H
#define GNOMON_ENGINE_MACRO_TREE_H

#include "engine/gp/gp.h"
#include "engine/space/graph.h"

enum { MACRO_HORIZON_MAX = 8 };

/* The state at the root. */
struct macro_root {
    const struct graph *graph;
    uint64_t            seed; /* of the sample of macro-actions */
    const struct gp    *gp;   /* of values less the prior mean */
    double              beta;
    size_t              site; /* where the agent stands */
    /* Macro-actions that cannot be done: pairs of a start and a point [steps], or none. */
    const double *blocked; /* [blocked_len][1 + steps] */
    size_t        blocked_len;
};

/* A macro-action after those before it. */
struct macro_step {
    struct macro_action action;
    uint32_t            parent, first, children; /* children: first .. first + children - 1 */
    uint32_t            before;                  /* sites on the path before this macro-action */
    double              reward;                  /* c, and beta / 2 log|I + Sigma_f / noise|            (4.4) */
    double             *g;                       /* [before] */
    double             *rows;                    /* [len][before + len] of L; NULL at the last stage */
    double              spread;    /* Frobenius norm of the Cholesky factor of Sigma_t(x_t+1): sqrt of its trace */
    double              alpha;     /* |A|_F, A the weights of the earlier outputs of the path        lemma B.1 */
    double              lipschitz; /* L_t of the path that ends here                             definition B.1 */
    double              theta;     /* |V* - V of the most likely outputs| at its end is at most this (B.24), (B.25) */
    double              excess;    /* ... and V* - V at most this: theta, or less */
};

struct macro_tree {
    size_t             horizon, len;
    size_t             stage[MACRO_HORIZON_MAX + 2]; /* steps of stage t: stage[t] .. stage[t + 1] - 1; 0 is the root */
    struct macro_step *steps;                        /* breadth first; steps[0] is the root, without an action */
    size_t             widest;                       /* children of a step, at most */
    /* of the sites on the paths */
    size_t             sites_len, sites_room;
    struct macro_site *sites;
    uint32_t          *slots; /* [slots_len] open addressing: local number + 1 */
    size_t             slots_len;
    double            *means;       /* [sites_len] posterior mean at the root */
    double            *covariances; /* [sites_len][sites_len] lower triangle, of f */
};

struct macro_tree_options {
    size_t horizon;
    bool   wants_bounds;       /* alpha, lipschitz and theta; otherwise they are 0 */
    double (*left_ms)(void *); /* polled; too little for what comes next: BUSY "deadline".  NULL: there is no end */
    void *left_arg;
};

/* Everything in the arena.  theta uses E|y - mu| <= sqrt(tr Sigma), which is sqrt(kappa) below the thesis' bound.  It
 * grows with the product of the Lipschitz constants along the path, by nine orders of magnitude in eight stages.  excess is
 * at most what somebody could gain who knew the field: V* is at most the expected maximum, over the M paths that follow, of
 * sums that are normal with standard deviations of at most s, the sum of their stages'; and that is at most
 * s sqrt(2 ln M) above the greatest of their means, which is V.
 * Errors: NO_MEMORY, NUMERIC, BUSY "deadline".
 * O(m^2 n) for m sites on the paths and n data, then O((H kappa)^2) a step (times kappa except at the last stage). */
MUST_CHECK enum status macro_tree_build(const struct macro_root *root, const struct macro_tree_options *options,
                                        struct arena *arena, struct macro_tree *out, struct error *err);

/* The site that a path's local number stands for, and the posterior covariance of two of them. */
uint32_t macro_tree_site(const struct macro_tree *tree, uint32_t number);
double   macro_tree_covariance(const struct macro_tree *tree, uint32_t i, uint32_t j);

/* The N of theorem 4.3 for a loss of at most epsilon, with the constants of this tree in place of their orders
 * (appendix B.1.4): K = max L_t+1 sqrt(tr Sigma), lambda = epsilon / 4H^2, delta = epsilon / 8 theta H,
 *   N = 4 K^2 / lambda^2 (H log(4 K^2 H A / e lambda^2) + log(2 / delta)).
 * The tree has bounds.  1 when one stage is left. */
double macro_tree_samples(const struct macro_tree *tree, double epsilon, double *lambda);

#endif
