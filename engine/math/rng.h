/* Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): a stream is a pure function of its key,
 * so a suggestion can be recomputed from (seed, trial, purpose).  Not for secrets: privacy noise is the CSPRNG's. */
#ifndef GNOMON_ENGINE_RNG_H
#define GNOMON_ENGINE_RNG_H

#include <stddef.h>
#include <stdint.h>

enum rng_purpose {
    RNG_POINT = 1,
    RNG_STARTS,
    RNG_THOMPSON,
    RNG_FIT,
    RNG_SCRAMBLE,
    RNG_INITIAL,
    RNG_TEST,
    RNG_WEIGHTS,
    RNG_FEATURES,
    RNG_REGION,
    RNG_AGENT,
    RNG_MESSAGE,
    RNG_GAME_PLAY,
    RNG_GAME_THINK,
    RNG_PATHS,
    RNG_PARTITION,
    RNG_MACRO_PATHS,
    RNG_MACRO_PLAN,
    RNG_MACRO_TIES,
    RNG_PENDING,
    RNG_PLOT,
};

struct rng {
    uint32_t key[2], counter[4], block[4];
    unsigned left; /* unused words of block */
};

/* The stream of (seed, number, purpose). */
struct rng rng_at(uint64_t seed, uint64_t number, enum rng_purpose purpose);
/* A block of Philox 4x32-10; the published known-answer vectors are tested on it. */
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t rng_u64(struct rng *rng);
double   rng_uniform(struct rng *rng);                            /* [0, 1), 53 bits */
double   rng_normal(struct rng *rng);                             /* N(0, 1) */
void     rng_fill_normal(struct rng *rng, double *out, size_t n); /* n of N(0, 1), two per block; n even */
size_t   rng_below(struct rng *rng, size_t bound);                /* 0 .. bound-1, unbiased; bound > 0 */

#endif
