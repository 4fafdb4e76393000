/* A Gaussian process for some trials of a member, whose prior mean is the release of its federation:
 *   y = c + s (M + r) + e,   M the prior mean,   r ~ GP(0, rho Matern 5/2),   e of variance NOISE in units of s
 * with c flat, s > 0 fitted in closed form, rho and the length-scales from short lists; against the same with M = 0 and
 * rho = 1.  The prior probabilities of the two are 4 : 1, and the likelier one after the values is taken. */
#ifndef GNOMON_ENGINE_RANK_MODEL_H
#define GNOMON_ENGINE_RANK_MODEL_H

#include "engine/federated/rank_basis.h"

enum { RANK_ROWS_MAX = 128 };

/* Values, and points that wait for one. */
struct rank_data {
    size_t        n, pending; /* n + pending <= RANK_ROWS_MAX */
    const double *U;          /* [n + pending][dims] of the unit cube */
    const double *y;          /* [n] of mean 0 and variance 1, or all 0 */
};

struct rank_model {
    const struct rank_basis *basis;
    const double            *mean; /* [count] of the prior */
    const struct rank_data  *data;
    /* of the likelier model */
    bool    is_guided; /* it has the prior mean */
    double  weight;    /* posterior probability of the model with M against that with M = 0, each at its likeliest */
    double  rho, u;    /* u = 1 / s */
    double *length_scales, *L, *alpha, *row, *spare;
    double best, jitter; /* the largest value, as the model sees values: u y; what was added to factor the covariance */
};

/* Errors: NO_MEMORY, NUMERIC.  O(80 n^3 / 3). */
MUST_CHECK enum status rank_model_fit(struct rank_model *model, struct arena *arena, struct error *err);

/* Posterior at u [dims], in units of s, pending points counted as if their values were the means there.  O(n^2). */
void rank_model_at(const struct rank_model *model, const double *u, double *mean, double *variance);

extern const double RANK_NOISE; /* variance of e */

#endif
