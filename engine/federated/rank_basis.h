/* The public functions that the members of a rank-mean federation describe their models with.
 *
 * Candidates are the first RANK_CANDIDATES points of a Sobol sequence in the space.  A function is a product of cosines
 * cos(pi k_1 u_1) .. cos(pi k_d u_d) in the unit cube of the encoded space, k of the least total degree first and then of
 * the fewest coordinates, made to have mean 0, mean square 1 and no correlation with those before it over the candidates.
 * A product of which nearly nothing is left by then is passed over, so that categorical and finite parameters need no rule
 * of their own.  All of it is a function of the space and the number of functions: no seed, no data, no eigenvectors, and
 * the same on all machines within the rounding of cos.
 *
 * Why a member's message has a norm of at most 1, whatever its data (Bessel): the scores g have mean square 1 or are all 0,
 * the functions are orthonormal in the mean over the K candidates, so sum_i (1/K sum_c g_c f_i(c))^2 <= 1/K sum_c g_c^2. */
#ifndef GNOMON_ENGINE_RANK_BASIS_H
#define GNOMON_ENGINE_RANK_BASIS_H

#include "engine/base/arena.h"
#include "engine/space/space.h"

enum { RANK_CANDIDATES = 512, RANK_FEATURES_MAX = 100 };

struct rank_basis {
    const struct space *space;
    size_t              count, rank; /* functions wanted, and found: those beyond rank are 0 everywhere */
    double             *orders;      /* [count][dims] k */
    double             *mix;         /* [count][count + 1] function i = sum_(j <= i) mix_ij product_j + mix_i,count */
    double             *points;      /* [RANK_CANDIDATES][params_len] the candidates, in natural units */
    double             *values;      /* [count][RANK_CANDIDATES] of the functions */
};

/* count <= RANK_FEATURES_MAX; space is one of space_hold and outlives the basis.  Errors: NO_MEMORY. */
MUST_CHECK enum status rank_basis_init(struct rank_basis *basis, const struct space *space, size_t count,
                                       struct arena *arena, struct error *err);

/* weights [count] times the functions at u [dims]; spare [count].  O(count (count + dims)). */
double rank_basis_sum(const struct rank_basis *basis, const double *weights, const double *u, double *spare);

/* scores [RANK_CANDIDATES] := the fourth power of the ranks of x in [0, 1], the middle rank where x are equal, moved and
 * scaled to mean 0 and mean square 1; all 0 when all x are equal. */
void rank_scores(const double *x, double *scores);

/* message [count] := the mean over the candidates of scores [RANK_CANDIDATES] times each function: |message| <= 1. */
void rank_message(const struct rank_basis *basis, const double *scores, double *message);

/* A release s = mean of the messages + noise of standard deviation sd in each number; mean [count] := what of it is
 * probably no noise, s max(0, 1 - rank sd^2 / |s|^2) (James & Stein 1961, positive part).  False: nothing is left. */
bool rank_shrink(const struct rank_basis *basis, const double *release, double sd, double *mean);

#endif
