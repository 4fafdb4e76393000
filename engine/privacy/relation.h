/* The protected row: how far it may move in raw units, and how far the release moves with it.
 * Must not know of rows, randomness or noise.
 *
 * Neighbours have the same number of rows; one row differs.  Column j of it moves by v_j:
 *   limited columns   sum_j (v_j / P_j)^2 <= 1
 *   any columns       no limit but the public interval [low_j, high_j] of width w_j
 * and its outcome may be any.  Every value is clamped to its interval before all else, which moves no two rows apart.
 *
 * In scaled space a raw unit of column j is k_j = 25 / (length_scale_j radius), and the ball has radius 25.  With
 * P_j := min(P_j, w_j):
 *   diam = sqrt(sum (k_j w_j)^2)
 *   D2   = min(50, diam, sqrt((max_limited k_j P_j)^2 + sum_any (k_j w_j)^2))
 *   L1   = sqrt(sum_limited (k_j P_j)^2) + sum_any k_j w_j
 *   D1   = min(sqrt(d) D2, c L1),  c = 1 when the scaled box lies in the ball, else (1 + sqrt d) / 2
 * Proof.  |k v|_2 over the ellipsoid is at most its largest semi-axis, |k v|_1 at most the Cauchy-Schwarz value.  The
 * projection on the ball does not enlarge l2 distances; its Jacobian is s (I - u u') with 0 < s <= 1, |u| = 1, whose
 * columns have an l1 norm of at most 1 - u_j^2 + |u_j| sqrt(d - 1) sqrt(1 - u_j^2) <= (1 + sqrt d) / 2: in l1 the
 * projection is NOT non-expansive, but nothing is projected when the box lies in the ball.
 * Floating point: mechanism_scaling_error(d) = e a row, and integers are rounded by at most 1/2 a coordinate:
 *   S1 = (D1 + 2 sqrt(d) e) / gamma + d,   S2 = (D2 + 2 e) / gamma + sqrt(d)                         in lattice steps
 * (e is twice what the rows need; the other half covers the rounding of D1 and D2.) */
#ifndef GNOMON_ENGINE_RELATION_H
#define GNOMON_ENGINE_RELATION_H

#include "engine/base/status.h"
#include "engine/privacy/release.h"

#include <stdbool.h>
#include <stddef.h>

struct relation_column {
    double move;      /* P > 0; INFINITY: any */
    double low, high; /* low <= high; may be infinite */
};
/* The columns of one release, in its order. */
struct relation {
    const struct relation_column *columns; /* [len] */
    size_t                        len;
    bool                          any_change; /* read every move as INFINITY */
};

struct relation_shift {
    double d1, d2; /* scaled space; both 0: no column can move */
    double s1, s2; /* lattice steps */
};

/* How far one release with this scale and lattice step moves.  scale->centre and length_scales are [relation->len].
 * Errors: INVALID bad_relation (no columns, a move that is not positive, an interval that is none), bad_scale. */
MUST_CHECK enum status relation_shift(const struct relation *relation, const struct release_scale *scale, double gamma,
                                      struct relation_shift *out, struct error *err);

#endif
