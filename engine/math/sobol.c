/* A coordinate is the XOR of the direction numbers at the set bits of the index's Gray code (Antonov & Saleev 1979).
 * Direction numbers are worked out on the way: v_k = m_k 2^(32-k), with the recurrence of Joe & Kuo 2008, section 2.
 * Nothing is kept between points, so a point is a pure function of (seed, index). */
#include "engine/math/sobol.h"

#include "engine/math/rng.h"
#include "engine/math/sobol_directions.h"

enum { BITS = 32, SCRAMBLE_BIT = 63 };

static int degree(unsigned polynomial)
{
    int s = 0;
    while (polynomial >> (s + 1) != 0)
        s++;
    return s;
}

/* v_1 .. v_count for one dimension, v[k - 1] = v_k. */
static void directions(const struct sobol_direction *dim, int count, uint32_t *v)
{
    int s = degree(dim->polynomial);
    for (int k = 0; k < count; k++) {
        if (k < s || s == 0) {
            v[k] = (uint32_t)(s == 0 ? 1 : dim->initial[k]) << (BITS - 1 - k);
            continue;
        }
        v[k] = v[k - s] ^ (v[k - s] >> s);
        for (int i = 1; i < s; i++)
            if (dim->polynomial >> (s - i) & 1)
                v[k] ^= v[k - i];
    }
}

uint32_t sobol_bits(uint32_t index, size_t dim)
{
    uint32_t gray = index ^ index >> 1, v[BITS], x = 0;
    int      count = 0;
    while (count < BITS && gray >> count != 0)
        count++;
    directions(&sobol_directions[dim], count, v);
    for (int k = 0; k < count; k++)
        if (gray >> k & 1)
            x ^= v[k];
    return x;
}

static uint32_t reversed(uint32_t x)
{
    x = x >> 16 | x << 16;
    x = (x & 0xFF00FF00u) >> 8 | (x & 0x00FF00FFu) << 8;
    x = (x & 0xF0F0F0F0u) >> 4 | (x & 0x0F0F0F0Fu) << 4;
    x = (x & 0xCCCCCCCCu) >> 2 | (x & 0x33333333u) << 2;
    return (x & 0xAAAAAAAAu) >> 1 | (x & 0x55555555u) << 1;
}

/* In reversed bits every step lets a bit depend on itself and on more significant bits of the coordinate only.
 * Multipliers: Burley, Practical hash-based Owen scrambling, JCGT 9 (2020), listing 1. */
static uint32_t scrambled(uint32_t x, uint32_t key)
{
    x = reversed(x) + key;
    x ^= x * 0x6C50B47Cu;
    x ^= x * 0xB82F1E52u;
    x ^= x * 0xC7AFE638u;
    x ^= x * 0x8D22F6E6u;
    return reversed(x);
}

void sobol_point(uint64_t seed, uint64_t index, size_t d, double *u)
{
    struct rng low = rng_at(seed, index, RNG_SCRAMBLE);
    struct rng keys = rng_at(seed, (uint64_t)1 << SCRAMBLE_BIT | index >> BITS, RNG_SCRAMBLE);
    for (size_t j = 0; j < d; j++) {
        u[j] = rng_uniform(&low);
        if (j < SOBOL_DIMS) {
            uint32_t bits = scrambled(sobol_bits((uint32_t)index, j), (uint32_t)rng_u64(&keys));
            u[j] = ((double)bits + (double)(uint32_t)(u[j] * 0x1p21) * 0x1p-21) * 0x1p-32;
        }
    }
}

void sobol_start(uint64_t seed, uint64_t trial, size_t d, double *u)
{
    sobol_point(seed, trial, d, u);
    for (size_t j = 0; trial == 1 && j < d; j++)
        u[j] = 0.5;
}
