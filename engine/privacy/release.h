/* A whole release of a table of rows, as the curator makes it: scale, clip, lattice, exact noise, secret rotation.
 * Pure: random bits come through a sampler.  Must not know of files or ledgers.
 *
 * Why discrete-laplace is epsilon-DP for data sets that differ in one row by at most Delta in scaled space:
 *  1. T(x) = x-scaled, projected on the ball of radius 25, is fixed by public numbers and non-expansive; in floating point
 *     it is off by at most e = mechanism_scaling_error(d) in l2.  So |T(x) - T(x')|_1 <= sqrt(d) (Delta + 2e).
 *  2. gamma is a power of two, so x/gamma is exact; rounding to integers moves a coordinate by at most 1/2.  So
 *     neighbouring rows of integers differ by at most sqrt(d) (Delta + 2e) / gamma + d = sensitivity in l1.
 *  3. Each integer gets its own noise with P(k) ~ exp(-t |k|), exactly (sampler.h), with t sensitivity <= epsilon, as t
 *     was rounded down to a multiple of 2^-32.  So the noisy integers are epsilon-DP: pure, no delta.
 *  4. All that follows (rotation, unless axes are kept, or projection by Q, order of the rows, rounding to the wire lattice) sees the noisy
 *     integers and independent randomness only.  Floating point is harmless there.
 * isotropic-laplace: the same with l2, (Delta + 2e)/gamma + sqrt(d) = sensitivity, and noise k in Z^d for the whole row with
 *     P(k) = exp(-E(k) / 2^48) / Z exactly, E(k) = floor(2^16 rate |k|) (sampler.h).  Z is the same for all rows, as these
 *     are integers; so for rows x, x' and every y the loss is (E(y - x') - E(y - x)) / 2^48, at most
 *     (2^16 rate |x - x'| + 1) / 2^48 <= rate 2^-32 sensitivity + 2^-48 <= epsilon.  Its standard deviation is
 *     sqrt(d + 1) / epsilon where discrete-laplace has sqrt(2 d) / epsilon: 13 % less for d = 2, 26 % for d = 10.
 * discrete-gaussian: the same with l2, (Delta + 2e)/gamma + sqrt(d), and the lemma of curve.h: as good as a Gaussian of sd
 *     sqrt(sigma^2 - 4), so that sigma^2 = (sensitivity sigma_AG(epsilon, delta))^2 + 4 will do.
 * projected-gaussian (the repaired projection): M has discrete Gaussian integers of sd 64, drawn after the data are
 *     fixed; K M is computed in integers, without rounding, and gets exact discrete Gaussian noise.  Shifts between
 *     neighbours are integers, so the divergences are those of mechanism_projected_sigma, M known or not.  A real-valued
 *     M would put floating-point sums of private numbers in the place of K M, which no proof covers; the price of the
 *     bound that holds for integers is a standard deviation above that of real Gaussians: by 24 to 47 % for one
 *     dimension, 12 to 21 % for 10, 8 to 15 % for 50 (epsilon 1 to 10, delta 1e-5 to 1e-3; the most for the largest
 *     delta and the least epsilon).
 * cells (1.0.0 made them; quadtree.h does better): counts over a public grid; any change of a row changes two counts by 1, so
 *     t = epsilon / 2 per step.
 *
 * What must not leave the curator: clipped, order.  Q and M are overwritten. */
#ifndef GNOMON_ENGINE_RELEASE_H
#define GNOMON_ENGINE_RELEASE_H

#include "engine/base/arena.h"
#include "engine/privacy/mechanism.h"
#include "engine/privacy/sampler.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Public numbers that say how raw rows become scaled ones: 25 (x_j - centre_j) / (length_scales_j radius). */
struct release_scale {
    const double *centre;        /* [d] */
    const double *length_scales; /* [d], > 0 */
    double        radius;        /* > 0, in units of the length-scales */
    const double *low, *high;    /* [d] the public interval that raw values are clamped to first; NULL: none */
};
/* Errors: INVALID bad_scale. */
MUST_CHECK enum status release_scale_check(const struct release_scale *scale, size_t d, struct error *err);

struct release {
    struct mechanism     mechanism; /* in: the request (rows and columns included); out: the plan */
    struct release_scale scale;
    bool                 is_plain; /* neither rotated nor permuted: for tests, not for a release */
    /* out, public; storage by the caller */
    int64_t *indices; /* [n][p] with p = dims, or columns when dims is 0: a value is gamma times its index */
    /* out, private */
    size_t *order;   /* [n] raw row of each released row; may be NULL when is_plain */
    size_t  clipped; /* rows outside the public intervals or the public ball */
};

/* Releases rows [n][d] by discrete Laplace, discrete Gaussian or projected Gaussian noise.
 * Errors: INVALID (as mechanism_plan; bad_scale; not_finite names the row), NO_MEMORY (about 8 d (p + 4) bytes), what the
 * source of bits returns, INTERNAL noise_test when a thousand or more draws have less than half of their variance.
 * Nothing of indices may be used after an error.  O(n d p). */
MUST_CHECK enum status release_make(struct release *release, const double *rows, struct sampler *sampler,
                                    struct arena *scratch, struct error *err);

/* True when every index fits in 32 bits, which is then the wire type. */
bool release_fits_int32(const int64_t *indices, size_t count);

/* Releases an outcome: clipped to [low, high], in steps of gamma from low, plus noise.  To be called once a row.
 * Errors: INVALID not_finite; what the source of bits returns. */
MUST_CHECK enum status release_outcome(const struct mechanism_outcome *plan, double value, struct sampler *sampler,
                                       int64_t *steps, struct error *err);
double                 release_outcome_value(const struct mechanism_outcome *plan, int64_t steps);

#endif
