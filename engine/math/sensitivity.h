/* Which coordinates of a function on the unit cube its variance comes from: Sobol' indices by quasi-Monte Carlo.
 * Coordinates are independent and uniform.  Knows neither models nor parameters: the function is a callback. */
#ifndef GNOMON_ENGINE_SENSITIVITY_H
#define GNOMON_ENGINE_SENSITIVITY_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENSITIVITY_REPLICATES = 8 };

struct sensitivity {
    size_t   dims;    /* >= 1 */
    size_t   samples; /* of each replicate, >= 1; a power of two is best */
    uint64_t seed;
    /* Values at m points V [m][dims] of [0, 1): out [m].  Called once. */
    enum status (*values)(void *arg, const double *V, size_t m, double *out, struct error *err);
    void *arg;
};

struct sensitivity_index {
    double first, first_error; /* part of the variance due to this coordinate alone, and its standard error */
    double total, total_error; /* due to it alone and together with others */
};

struct sensitivity_result {
    struct sensitivity_index *index;          /* [dims], in the arena; all 0 when the function is constant */
    double                    sum, sum_error; /* of the first-order indices: 1 for an additive function */
    double                    mean, sd;       /* of the function over the cube; sd 0 when it is constant */
    bool                      is_constant;    /* within rounding: sd <= 1e-12 of the largest magnitude */
    size_t                    samples;        /* base points: replicates times samples */
    size_t                    evaluations;    /* samples (dims + 2) */
};

/* Two base points a and b from one scrambled Sobol' point in 2 dims dimensions, and a with coordinate i of b for each i:
 *   first_i = mean(f(b) (f(ab_i) - f(a))) / variance      Saltelli et al. 2010, table 2 (b)
 *   total_i = mean((f(a) - f(ab_i))^2) / (2 variance)     Jansen 1999
 * with f centred, and the variance that of all f(a) and f(b).  Replicates differ in their scramble only; a standard
 * error is that of a ratio of means over the replicates.  An estimate of a small index may come out below 0.
 * Errors: those of values; NO_MEMORY (evaluations (dims + 1) doubles); NUMERIC (a value is not finite). */
MUST_CHECK enum status sensitivity_run(const struct sensitivity *s, struct arena *arena, struct sensitivity_result *out,
                                       struct error *err);

#endif
