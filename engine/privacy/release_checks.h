/* Statistical checks of what a curator uploads, so that a table that was never transformed is refused: a seat belt
 * against accidents.  They cannot catch somebody who wants to deceive, and they prove no privacy.
 * Pure functions of a matrix and of its manifest's numbers.  A refusal names its check and echoes nothing of the data.
 * Not caught (tests/bench/checks.c measures it): continuous data centred, or rotated, or with 1 % noise, as a projection;
 * continuous data rounded to the lattice without noise, as a lattice release, unless their spread is small.
 *
 * A refusal is INVALID "not_a_release" at path "/candidates", its text begins with the name of the check. */
#ifndef GNOMON_ENGINE_RELEASE_CHECKS_H
#define GNOMON_ENGINE_RELEASE_CHECKS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A bare projection Z [n][r] in double precision (obfuscation only):
 *   C1  every value finite, no column of zeros          C2  |column mean| <= 1e-9 rms
 *   C3  <= 1 % short decimals (7 digits)                C4  no zero in a row that is not zero
 *   C5  distinct values per column >= 0.99 distinct rows - 1, both in steps of 1e-10 rms
 *   C6  column norms differ (spread >= 1e-6)            C7  column ranges differ (>= 1e-6)
 *   C8  some |correlation| >= 1e-6                      C9  s_r >= 1e-10 s_1
 *   C10 <= 90 % of a column's distinct values whole multiples of its smallest gap away from the middle one (20 gaps of
 *       1e-7 rms or more; of the gaps themselves, a projection of two coarse columns can have as many)
 *   C11 |lag-1 autocorrelation| <= 6 / sqrt(n), n >= 50
 *   C12 s_r >= 0.25 omega (sqrt(d / r) - 1), where d >= 1.5 r
 * C6 to C8 and C11 say nothing for one column or one row. */
struct release_projection {
    const double *Z; /* [n][r] */
    size_t        n, r;
    size_t        columns; /* d of the manifest; 0: not known, no C12 */
    double        omega;   /* of the manifest */
};
/* Errors: the refusal; NO_MEMORY (two matrices like Z).  O(n r (r + log n)). */
MUST_CHECK enum status release_check_projection(const struct release_projection *release, struct arena *scratch,
                                                struct error *err);

/* Noisy rows K [n][p] in lattice steps, noise_sd the standard deviation per coordinate in steps, by the manifest:
 *   L2  low bits uniform: chi^2 <= k + 8 sqrt(2 k), k = 2^bits - 1, 4 bits below 4000 values, else 5; fewer when the
 *       noise is narrower than 8 times that; none below 16 steps
 *   L3  pairs of equal values in a column <= e + 8 sqrt(e) + 8 n / sd + 5, e = n (n - 1) / (4 sd): what the noise alone
 *       gives; at most 2 rows equal to another one, where chance gives a tenth of a pair or less (5 n^2 <= (2 sd)^p)
 *   L4  column variance >= sd^2 exp(-8 sqrt(5 / (n - 1))): 8 standard errors of a Laplace sample's variance when n is large, and
 *       something left of the check when it is not */
struct release_lattice {
    const int64_t *K; /* [n][p] */
    size_t         n, p;
    double         noise_sd;
};
/* Errors: the refusal; NO_MEMORY (8 n bytes).  O(n p log n). */
MUST_CHECK enum status release_check_lattice(const struct release_lattice *release, struct arena *scratch,
                                             struct error *err);

#endif
