/* Philox 4x32-10: ten rounds of two 32x32 -> 64 bit multiplications per block of four words.
 * The counter holds the block number (word 0, carrying into the low 24 bits of word 1), the purpose (the high 8 bits
 * of word 1) and the stream's number (words 2 and 3), so two streams never share a block.
 * Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011). */
#include "engine/math/rng.h"

#include <math.h>

enum { ROUNDS = 10, PURPOSE_SHIFT = 24 };

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p = (uint64_t)c0 * 0xD2511F53u, q = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)q;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

struct rng rng_at(uint64_t seed, uint64_t number, enum rng_purpose purpose)
{
    return (struct rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, (uint32_t)purpose << PURPOSE_SHIFT, (uint32_t)number, (uint32_t)(number >> 32)},
    };
}

static uint32_t next_word(struct rng *rng)
{
    if (rng->left == 0) {
        rng_philox(rng->counter, rng->key, rng->block);
        rng->left = 4;
        if (++rng->counter[0] == 0)
            rng->counter[1]++;
    }
    return rng->block[4 - rng->left--];
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t high = next_word(rng);
    return high << 32 | next_word(rng);
}

double rng_uniform(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

/* Box and Muller's cosine branch; the sine branch is dropped, so that a call keeps nothing for the next. */
double rng_normal(struct rng *rng)
{
    double radius = sqrt(-2.0 * log1p(-rng_uniform(rng)));
    return radius * cos(6.283185307179586 * rng_uniform(rng));
}

/* Both branches of Box and Muller's: half the logarithms and generator rounds of as many calls of rng_normal. */
void rng_fill_normal(struct rng *rng, double *out, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        double radius = sqrt(-2.0 * log1p(-rng_uniform(rng)));
        double angle = 6.283185307179586 * rng_uniform(rng);
        out[i] = radius * cos(angle);
        out[i + 1] = radius * sin(angle);
    }
}

/* The lowest 2^64 mod bound values are refused, which leaves a multiple of bound. */
size_t rng_below(struct rng *rng, size_t bound)
{
    uint64_t n = bound, refused = (0 - n) % n, draw;
    do
        draw = rng_u64(rng);
    while (draw < refused);
    return (size_t)(draw % n);
}
