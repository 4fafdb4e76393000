/* A sum that nobody sees but as a whole, in integers: who is needed, how large each member's share of the noise is, and the
 * fixed point.  Masks and keys are service/model/secure.h's.
 *
 * n members have published keys.  A tenth of them (rounded up: d) may collude with the server, as many may be absent when the
 * vectors are sent, and as many more at the end.  A vector is opened for a list of n - d members or more, by t = n - 2d
 * shares of its member's self mask; and the pairwise masks of a member that is on no list by t shares of its key.  An honest
 * member gives, of every other, one of the two, once, and of at most d members the key.
 *
 * Claim.  Whatever the server says to whom, it and d colluders learn one sum of the vectors of at least h honest members,
 * with their noise, and nothing else:  h = n - d - floor((n - d) d / (t - d)).
 *  1. A self mask and a key of one member are never both opened: that takes 2 (t - d) > n - d honest answers.
 *  2. Let D be the honest members whose keys are opened.  Each needs t - d honest answers, of which there are (n - d) d at most.
 *  3. A sum over S without the other honest members can be unmasked only if all of S are opened and no mask is between S and
 *     those outside of S and D: they, r in number, must have been named absent to each of S.  Who was told of r absent ones,
 *     which is not said otherwise later, opens d - r keys at most, so |D| (t - d - r) <= (n - d)(d - r) + r^2, and |D| + r is largest at r = 0 because of 1.
 *  4. Two such sets are disjoint, up to their differences, and 2 h > n - d: so there is one.
 * Each honest member adds discrete Gaussian noise of variance sigma^2 = (z STEPS)^2 / h, so the sum has z^2 STEPS^2 or more: those who
 * were told of another sigma are not in it, since their masks with the others do not cancel.
 * Lemma: the sum of discrete Gaussians of sd s sqrt(a) and s is, number for number, within a factor e^(+-2e) of the discrete
 * Gaussian of sd s sqrt(a + 1), e = 3 exp(-pi^2 s^2), as the sum over k of exp(-(k - x)^2 (a + 1) / (2 a s^2)) depends on x
 * by less (Poisson; Kairouz, Liu & Steinke 2021, section 3).  With s >= 2^15 nothing is left of that, and curve.h's lemma goes on. */
#ifndef GNOMON_ENGINE_MASKED_SUM_H
#define GNOMON_ENGINE_MASKED_SUM_H

#include "engine/base/status.h"
#include "engine/privacy/sampler.h"

#include <stddef.h>
#include <stdint.h>

enum { MASKED_MEMBERS_MIN = 6, MASKED_MEMBERS_MAX = 255, MASKED_STEPS = 1 << 24 };

struct masked_sum {
    size_t   members;  /* n */
    size_t   absent;   /* d */
    size_t   listed;   /* n - d: of a list */
    size_t   openings; /* t */
    size_t   honest;   /* h */
    uint32_t sigma;    /* of a member's noise, in steps */
};

/* z: the noise multiplier of the whole sum, 0.1 .. 100.  Errors: INVALID "bad_agents" (6 to 255 members). */
MUST_CHECK enum status masked_plan(size_t members, double z, struct masked_sum *out, struct error *err);

/* sums [n] := message [n], clipped to length 1, in steps, with noise, modulo 2^64.  k [n] is scratch, as secret as the
 * message.  Errors: of the source of bits. */
struct masked_scratch {
    struct sampler *sampler;
    int64_t        *k;
};
MUST_CHECK enum status masked_quantise(const struct masked_sum *plan, const double *message, size_t n,
                                       const struct masked_scratch *scratch, uint64_t *sums, struct error *err);

#endif
