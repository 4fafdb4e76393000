/* Several objectives at once, all to be maximised: which vectors no other one dominates, and how much of the space
 * above a reference point they dominate.  a dominates b when no component of a is smaller and one is larger. */
#ifndef GNOMON_ENGINE_PARETO_H
#define GNOMON_ENGINE_PARETO_H

#include "engine/base/arena.h"
#include "engine/policy/policy.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Vectors, and the point above which the space that they dominate is measured. */
struct pareto_set {
    const double *values; /* [n][m]; 1 <= m <= OBJECTIVES_MAX */
    size_t        n, m;
    const double *reference; /* [m]; NULL where only the front is wanted */
    bool (*late)(
        void
            *); /* asked after so many comparisons as take some milliseconds; true: BUSY "deadline_exceeded".  Or NULL */
    void *late_arg;
};

/* is_best [n] out: those that are not dominated, equal ones all.
 * Errors: NO_MEMORY (scratch: n vectors), BUSY.  O(n log n + n f m), f how many there are. */
MUST_CHECK enum status pareto_front_of(const struct pareto_set *set, bool *is_best, struct arena *scratch,
                                       struct error *err);
/* As pareto_front_of for values [n][m], without a look at the time. */
MUST_CHECK enum status pareto_front(const double *values, size_t n, size_t m, bool *is_best, struct arena *scratch,
                                    struct error *err);

/* reference [m] out: of each component the least of values [n][m], and a tenth of the range below it. */
void pareto_reference(const double *values, size_t n, size_t m, double *reference);

/* *volume := the measure of the union of the boxes from the reference to each of the values; what is not above the
 * reference counts for nothing.  Exact, by slices along the last component (While, Hingston, Barone & Huband 2006).
 * Errors: NO_MEMORY (scratch: m n vectors), BUSY.  O(n log n) for m <= 2, and n times that for each further component. */
MUST_CHECK enum status pareto_hypervolume(const struct pareto_set *set, double *volume, struct arena *scratch,
                                          struct error *err);

#endif
