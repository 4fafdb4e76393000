/* Attacks on a release, with what they prove: the curator's way to see a guarantee fail, or hold.
 * Every attack knows the mechanism and the data but not the secret randomness; none is a proof of privacy, each can be a
 * proof of its absence.  Pure and reproducible: the attacks' own choices come from a seed. */
#ifndef GNOMON_ENGINE_AUDIT_H
#define GNOMON_ENGINE_AUDIT_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct audit_matrix {
    const double *at;
    size_t        rows, columns;
}; /* row-major */

/* Exact (Clopper & Pearson) two-sided limits of a probability with hits of trials at this confidence. */
struct audit_limits {
    double low, high;
};
struct audit_limits audit_limits_of(size_t hits, size_t trials, double confidence);

/* A test between two neighbouring data sets, after trials with each.  right[i]: how often set i was named when it was true. */
struct audit_counts {
    size_t trials, right[2];
};
/* No test of an (epsilon, delta)-DP release can be right more often than this: (e^epsilon + delta) / (1 + e^epsilon). */
double audit_success_bound(double epsilon, double delta);
/* The largest epsilon that the counts rule out at this delta, with joint confidence 95 %; 0: none.
 *   ln((P(name 2 | 2) - delta) / P(name 2 | 1)), and with 1 and 2 exchanged, at limits of 97.5 % each. */
double audit_epsilon_bound(const struct audit_counts *counts, double delta);

/* The column-space attack on one release: in each trial a random row is moved by `distance` in a random direction, and
 * the data set with the smaller residual is named.  X in the order of Z.  Half of a guaranteed release, all of a bare
 * projection.  O(trials rows columns^2).
 * The residual is |(I - P) Zc|_F / |Zc|_F, with P the projection on the column space of Xc (both centred): rounding error
 * when Z is any linear map of X, of order 1 when Z has its own noise in more directions than X has columns.
 * Errors: NO_MEMORY (3 matrices like X), NUMERIC, INVALID equal_rows, INVALID bad_size (fewer rows than columns + 2). */
struct audit_columns {
    size_t trials;
    double distance;
    /* out */
    size_t right;
    double own_residual, other_residual_min;
};
MUST_CHECK enum status audit_column_space(struct audit_matrix X, struct audit_matrix Z, uint64_t seed,
                                          struct arena *scratch, struct audit_columns *out, struct error *err);

/* The known-rows attack: `known` random rows fit an affine map from Z to X, which then guesses all others.
 * median_error: of the guesses; typical: median distance of the guessed rows from the mean of the known.
 * Errors: INVALID bad_size (no row known, or none left), NO_MEMORY, NUMERIC. */
struct audit_known {
    size_t known;
    double median_error, typical;
};
MUST_CHECK enum status audit_known_rows(struct audit_matrix X, struct audit_matrix Z, uint64_t seed,
                                        struct arena *scratch, struct audit_known *out, struct error *err);

#endif
