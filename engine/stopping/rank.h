/* Which of several trials come first, by what was measured of each after the same step: those that keep the constraints, in the
 * order of how many of these dominate them (so the first front is first; Fonseca & Fleming 1993), and of equal ones those that
 * dominate most.  That counts as the hypervolume in ranks does, and needs no units of the metrics.  Those that miss a
 * constraint come last, by how much they miss, each constraint's largest miss counting as 1.  Knows nothing of curves. */
#ifndef GNOMON_ENGINE_RANK_H
#define GNOMON_ENGINE_RANK_H

#include "engine/policy/policy.h"

struct rank_set {
    const double           *values;  /* [n][metrics_len] larger is better; of a constraint its slack, NaN: kept */
    const enum metric_kind *metrics; /* [metrics_len], up to METRICS_MAX */
    size_t                  n, metrics_len;
};

/* order [n] out: best first, of equal ones the earlier.  Errors: NO_MEMORY (scratch: n places).  O(n log n) of two objectives at most, else
 * O(n^2 metrics_len). */
MUST_CHECK enum status rank_order(const struct rank_set *set, size_t *order, struct arena *scratch, struct error *err);

/* Whether i is behind j in no objective, and ahead of it in one. */
bool rank_dominates(const struct rank_set *set, size_t i, size_t j);

#endif
