/* Minimisation of smooth functions in a box, or in a part of it: the only place that names NLopt.
 * Deterministic: no random numbers, no clock. */
#ifndef GNOMON_ENGINE_MINIMIZE_H
#define GNOMON_ENGINE_MINIMIZE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct minimize {
    size_t        dims;
    const double *lower, *upper; /* [dims]; equal bounds hold a coordinate */
    /* Value and gradient [dims] at x.  A value that is not finite ends the search. */
    double (*function)(void *arg, const double *x, double *gradient);
    void *arg;
    /* For minimize_within alone: limits writes g [limits_len], which shall be at most 0, and the gradients
     * [limits_len][dims]; a point counts only if is_allowed says so. */
    size_t limits_len;
    void (*limits)(void *arg, const double *x, double *g, double *gradient);
    bool (*is_allowed)(void *arg, const double *x);
    size_t evaluations;   /* at most */
    double f_tolerance;   /* stop when a step changes the value by less, relative */
    double x_tolerance;   /* ... every coordinate by less, absolute */
    bool (*late)(void *); /* polled before each evaluation but the first; true: stop.  NULL: never */
    void *late_arg;
};

/* L-BFGS within bounds (NLopt's LD_LBFGS; Nocedal 1980, Liu & Nocedal 1989).  x [dims]: start on entry, the best
 * evaluated point on return; *value: the function there, +infinity if it was never finite.
 * However the search ends, that is a result.  Errors: NO_MEMORY. */
MUST_CHECK enum status minimize_lbfgs(const struct minimize *problem, double *x, double *value, struct arena *scratch,
                                      struct error *err);

/* As minimize_lbfgs, but within inequalities: sequential quadratic programming (LD_SLSQP; Kraft 1994), O(dims^3) a step. */
MUST_CHECK enum status minimize_within(const struct minimize *problem, double *x, double *value, struct arena *scratch,
                                       struct error *err);

#endif
