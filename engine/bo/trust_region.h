/* A trust region: the box around the best trial in which the next one is looked for (Eriksson, Pearce, Gardner, Turner &
 * Poloczek 2019, with other steps).  It grows with each success and shrinks with each failure, by steps so that
 * TRUST_SUCCESSES double it: unlike counts of successes in a row they do not depend on the order in which pending trials
 * finish.  A box that became too small ends a run, and the next begins with a large one.
 * All of it is found again from the log. */
#ifndef GNOMON_ENGINE_TRUST_REGION_H
#define GNOMON_ENGINE_TRUST_REGION_H

#include "engine/policy/trial_log.h"

enum { TRUST_SUCCESSES = 3, TRUST_INITIAL_MAX = 8 };

/* Sides, as a share of the unit cube's. */
struct trust_rule {
    double start;        /* of a run */
    double least;        /* a smaller box ends the run */
    double above, below; /* values beyond are none; infinite */
};
struct trust_region {
    struct trust_rule rule;
    double            length;
    double best, recent;    /* values: the best; the average of about as many of the last as there are parameters */
    size_t start, finished; /* trials that finished: before this run; in it */
    size_t outside;         /* of these in it: outside the space.  They neither grow the box nor shrink it */
};

/* How many trials of a run come before its box changes: 2 parameters + 2, or the most there are. */
size_t trust_region_initial(size_t params_len);

/* After the whole log.  Errors: NO_MEMORY.  O(log->len). */
MUST_CHECK enum status trust_region_find(const struct trial_log *log, struct trust_rule rule, struct arena *scratch,
                                         struct trust_region *out, struct error *err);

/* The box around centre [dims], which may be box: lower, then upper bounds [2 dims] out, sides in proportion to the length-scales;
 * length is their geometric mean over the parameters as long as the box is inside the cube.
 * theta: a logarithm for each parameter; group_of [dims]. */
void trust_region_box(const struct trust_region *region, const struct space *space, const size_t *group_of,
                      const double *theta, const double *centre, double *box);

#endif
