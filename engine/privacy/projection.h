/* The curator's transform: Algorithm 2 of Kharkovskii's thesis (ch. 3).  Distance-preserving obfuscation.
 * It carries NO differential privacy guarantee when there are more rows than columns (service/curator/GUIDE.md says why).
 * The names epsilon and delta are the thesis' parameters of the threshold omega, nothing else.
 * Pure: the caller supplies the normal variates (from the CSPRNG). */
#ifndef GNOMON_ENGINE_PROJECTION_H
#define GNOMON_ENGINE_PROJECTION_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct projection {
    double epsilon, delta; /* > 0; delta < 1 */
    size_t dims;           /* r, columns of the result */
    /* out */
    double omega;        /* threshold, line 5 */
    double sigma_min;    /* smallest singular value of the centred, scaled matrix */
    bool   lifted;       /* the else branch: singular values became sqrt(s^2 + omega^2) */
    size_t dims_advised; /* the largest r with sigma_min >= omega, 0 when there is none */
};

/* omega(r) = 16 sqrt(r ln(2/delta)) ln(16 r/delta) / epsilon, natural logarithms; line 5. */
double projection_omega(double epsilon, double delta, size_t r);

/* The largest r <= limit with sigma_min >= omega(r), or 0. */
size_t projection_advise(double epsilon, double delta, double sigma_min, size_t limit);

enum { PROJECTION_NORM = 25 }; /* the thesis' maximal row norm, section 3.6 */

/* In place: subtracts column means, divides column j by length_scales[j] (NULL: by nothing), then scales so that the
 * largest row norm is PROJECTION_NORM.  *scale receives the last factor (0 when all rows are equal: INVALID). */
MUST_CHECK enum status projection_prepare(double *X, size_t n, size_t d, const double *length_scales, double *scale,
                                          struct error *err);

struct projection_rows {
    double *X; /* [n][d] prepared; overwritten */
    size_t  n, d;
};

/* Z [n][r] = r^-1/2 X~ M.  n > d; M [d][r] standard normal.
 * Errors: INVALID (sizes, parameters), NUMERIC, NO_MEMORY.  O(n d (d + r)). */
MUST_CHECK enum status projection_apply(struct projection *p, struct projection_rows rows, const double *M, double *Z,
                                        struct arena *scratch, struct error *err);

#endif
