/* A round of DP-FTS-DE at the server (thesis, algorithm 6.1; Dai et al. 2021, algorithm 1), in integers:
 *   omega^(i) = 1/q sum over n in S of phi_n^(i) clip(omega_n, S / sqrt(P)) + noise,     i = 1..P
 * Pure: random bits come through a sampler.  Must not know of stores, names or ledgers.
 *
 * Why one broadcast is a Poisson-subsampled Gaussian with multiplier at least z, for a zero-out neighbour (the vector of
 * one agent n replaced by zero, nothing else):
 *  1. The weights are a function of the public table of registered agents (region_of), of a_t and b: they do not depend
 *     on who sent or who was drawn, and the sum is divided by the constant q.  As integers, W_n^(i) / 2^16 of the
 *     largest of them.
 *  2. Each vector becomes integers k_n, by rounding towards zero on a lattice of step clip / K, and is cut until the
 *     sum of squares, computed in integers, is at most K^2.  So |k_n| <= K whatever the agent sent; a vector with a NaN
 *     or infinity counts as zero.
 *  3. Agent n adds d = (W_n^(i) k_n) to the joint vector of integers, |d| = |W_n| |k_n| <= max_n |W_n| K =: D; sums stay
 *     below 2^20 agents x 2^16 x 2^20 = 2^56, so nothing overflows.
 *  4. Every coordinate gets exact discrete Gaussian noise (sampler.h) with the integer sd sigma >= z D.
 *  5. n is in the sum with probability q' <= q, by a coin of its own, and nobody learns how it fell.  Given the other
 *     coins, the two outcomes are shifts of one discrete Gaussian by 0 and by the integers d: accountant.h, for both
 *     directions.  It relies on sigma >= 2^22 z.
 *  6. Scaling to doubles comes after the noise.
 * BROADCAST_JOINT takes D as above: a standard deviation of z S / sqrt(P) max_n |phi_n| / q.  BROADCAST_WORST takes
 * sqrt(P) max_n,i W_n^(i) K for it, which is the thesis' z phi_max S / q and never less.
 *
 * Secret, and to be overwritten by the caller: sums and the subset. */
#ifndef GNOMON_ENGINE_BROADCAST_H
#define GNOMON_ENGINE_BROADCAST_H

#include "engine/space/region.h"
#include "engine/privacy/sampler.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BROADCAST_AGENTS_MAX = 1 << 20, BROADCAST_FEATURES_MAX = 10000 };

/* e^(a_t) for agents of a region, e^b for others: a_t is a in the first `hold` rounds, then falls linearly to b in
 * `decay` values, the first of them a and the last b, and is b for ever after.  Rounds count from 0. */
struct broadcast_schedule {
    double   a, b; /* b <= a <= 50, b >= 0 */
    uint64_t hold, decay;
};
double broadcast_exponent(const struct broadcast_schedule *schedule, uint64_t round);

enum broadcast_noise { BROADCAST_JOINT, BROADCAST_WORST };

struct broadcast {
    /* in, public, the same in every round of a run but for round */
    size_t                    agents;    /* registered: 2 .. BROADCAST_AGENTS_MAX */
    size_t                    features;  /* M */
    size_t                    regions;   /* P, 1 .. REGIONS_MAX */
    const size_t             *region_of; /* [agents] < regions; borrowed */
    struct broadcast_schedule schedule;
    uint64_t                  round;
    double                    clip; /* S >= 1e-100: of the joint vector; a message is clipped to S / sqrt(P) */
    double                    q, z;
    enum broadcast_noise      noise;
    /* out: the plan, public too */
    double   own[REGIONS_MAX], other[REGIONS_MAX];               /* phi^(i) of an agent of region i, and of others */
    uint32_t own_weight[REGIONS_MAX], other_weight[REGIONS_MAX]; /* W */
    uint64_t rate;                                               /* a coin shows with probability rate / 2^32 <= q */
    int64_t  clip_steps;                                         /* K */
    uint32_t sigma;                                              /* of the noise, in steps */
    double   step;     /* what one step of the sums is worth in the broadcast */
    double   noise_sd; /* sigma step */
};

/* Fills the out part; own[i] is 0 when no agent is of region i.
 * Errors: INVALID with a path: bad_agents, bad_features, bad_regions, bad_weights, bad_clip, bad_sampling_rate,
 * bad_noise_multiplier (not in [0.1, 100], or too large for a fine lattice with so many regions).  O(agents). */
MUST_CHECK enum status broadcast_plan(struct broadcast *broadcast, struct error *err);

/* Draws the agents in the sum: bit n % 8 of subset[n / 8], each with its own coin.  Errors: of the source of bits. */
MUST_CHECK enum status broadcast_draw(const struct broadcast *broadcast, struct sampler *sampler, uint8_t *subset,
                                      struct error *err);
static inline bool     broadcast_has(const uint8_t *subset, size_t n)
{
    return subset[n / 8] >> n % 8 & 1;
}

/* k [features] := message on the lattice, with a norm of at most clip_steps; zeros for a NaN or infinity in it.  True: the
 * message was over the clipping norm.  Reads features, regions, clip and clip_steps alone. */
bool broadcast_clip(const struct broadcast *broadcast, const double *message, int64_t *k);

/* sums [regions][features] += what agent n's message [features] adds; sums start at 0.  To be called at most once for
 * each n of the subset.  k [features] is scratch, secret too.  True: the message was over the clipping norm.
 * O(features regions). */
bool broadcast_add(const struct broadcast *broadcast, size_t n, const double *message, int64_t *k, int64_t *sums);

/* out [regions][features] := step (sums + noise).  To be called once: a second call is a second release.
 * Errors: of the source of bits; nothing of out may be used then. */
MUST_CHECK enum status broadcast_finish(const struct broadcast *broadcast, const int64_t *sums, struct sampler *sampler,
                                        double *out, struct error *err);

#endif
