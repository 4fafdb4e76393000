/* How wide intervals have to be for 95 of 100 to hold, whatever the model is worth: by its own record.  Adaptive conformal
 * inference (Gibbs & Candes 2021, (2)) on the logarithm of the width: a forecast whose interval did not hold makes the next
 * ones twice as wide, one whose interval held makes them 3.4 % narrower, so that in the long run one in twenty does not hold.
 * The rate and the start were chosen on ten functions and judged on others: tests/bench/HISTORY.md.  Knows no study. */
#ifndef GNOMON_ENGINE_REACH_H
#define GNOMON_ENGINE_REACH_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>

/* n forecasts, in the order in which they were made. */
struct reach {
    size_t        n;
    const double *off;          /* [n] |value - mean| in standard deviations; NaN: no forecast, or no value */
    const double *began, *came; /* [n] when the forecast was made, and the value known; NaN: never */
};

/* out [n]: the half-width of each interval in standard deviations, by the values that had come when its forecast was made.
 * Errors: NO_MEMORY.  O(n log n). */
MUST_CHECK enum status reach_of(const struct reach *record, double *out, struct arena *scratch, struct error *err);

#endif
