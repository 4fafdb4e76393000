/* Exact integer noise: discrete Laplace and discrete Gaussian from random bits, by integers and comparisons only.
 * No floating point and no libm in this module, so the distribution released is the one of the proof.
 * Source: Canonne, Kamath & Steinke, The discrete Gaussian for differential privacy (2020), Algorithms 1 to 3.
 *
 * Randomness is the caller's: bits(arg, out, length, err) fills out with uniform bytes, from a CSPRNG where the noise
 * has to protect anything.  It is asked for whole buffers.  The first failure sticks: every later call returns it.
 * A source that is plainly not random (constant words) ends in INTERNAL "not_random" instead of a loop without end; with
 * uniform bits that has a probability below 2^-400 a draw.
 * Time depends on the draws (rejection), as with every exact sampler of this kind. */
#ifndef GNOMON_ENGINE_SAMPLER_H
#define GNOMON_ENGINE_SAMPLER_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum status sampler_bits(void *arg, void *out, size_t length, struct error *err);

enum { SAMPLER_WORDS = 1024 };
struct sampler {
    sampler_bits *bits;
    void         *arg;
    size_t        used;  /* of words */
    struct error  error; /* the failure that sticks */
    uint32_t      words[SAMPLER_WORDS];
};

void sampler_init(struct sampler *sampler, sampler_bits *bits, void *arg);
/* Overwrites the unused bits. */
void sampler_wipe(struct sampler *sampler);

/* 64 uniform bits. */
MUST_CHECK enum status sampler_u64(struct sampler *sampler, uint64_t *out, struct error *err);
/* Uniform over 0 .. bound - 1; bound > 0. */
MUST_CHECK enum status sampler_below(struct sampler *sampler, uint64_t bound, uint64_t *out, struct error *err);

/* P(k) = tanh(t/2) exp(-t |k|) with t = rate / 2^32, 0 < rate < 2^63.  |k| < 2^43 / rate (the proof's tail beyond it has
 * probability below e^-1000 and counts as "not_random"). */
MUST_CHECK enum status sampler_laplace(struct sampler *sampler, uint64_t rate, int64_t *out, struct error *err);

/* P(k) = exp(-E(k) / 2^48) / Z over k in Z^d, E(k) = floor(2^16 rate |k|), |k| the l2 norm, 256 <= rate < 2^46,
 * 1 <= d <= SAMPLER_ISOTROPIC_MAX.  By rejection: the k_j are discrete Laplace of rate' = floor(rate / sqrt d), kept with
 * probability exp(-(E(k) - 2^16 rate' |k|_1) / 2^48), a rational number that is never below 0, as |k|_1 <= sqrt(d) |k|.
 * 1.3 draws for d = 2, 11 for d = 10, 57 for d = 16. */
enum { SAMPLER_ISOTROPIC_MAX = 16 };
MUST_CHECK enum status sampler_isotropic(struct sampler *sampler, uint64_t rate, size_t d, int64_t *out,
                                         struct error *err);

/* P(k) ~ exp(-k^2 / (2 sigma^2)), 0 < sigma < 2^31.  |k| < 2^10 sigma. */
MUST_CHECK enum status sampler_gaussian(struct sampler *sampler, uint32_t sigma, int64_t *out, struct error *err);

#endif
