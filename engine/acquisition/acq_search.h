/* Maximises an acquisition function over a mixed parameter space.
 * Sobol points and neighbours of good points are scored together; the best few are refined by L-BFGS on the
 * doubles (within constraints by sequential quadratic programming) and by moves of one parameter on the others; a move
 * that brings parameters into being gives them the values of the best point that has them.  The function is only ever evaluated at valid
 * points, so there is no rounding at the end that could lose what was found.
 * A finite space small enough is enumerated.  Knows nothing of models: it sees scores of encoded points. */
#ifndef GNOMON_ENGINE_ACQ_SEARCH_H
#define GNOMON_ENGINE_ACQ_SEARCH_H

#include "engine/space/used_points.h"

struct acq_search {
    const struct space       *space;   /* from space_hold: with what is held */
    const struct used_points *used;    /* used points are not proposed */
    const double             *pending; /* [pending_len][params_len] proposed only when nothing else is left */
    size_t                    pending_len;
    const double             *anchors; /* [anchors_len][params_len] good points, neighbours of which are tried */
    size_t                    anchors_len;
    const double *lower, *upper; /* [dims] what is searched of the unit cube, around the first anchor, of which a
                                           point keeps most coordinates where there are many; NULL: everything */
    uint64_t      seed, trial;   /* key the randomness */
    size_t        samples;       /* Sobol points; half as many neighbours are added */
    size_t        starts;        /* how many points are refined */
    size_t        evaluations;   /* of slope, for each of them, at most */
    bool (*late)(void *);        /* polled; true: the best so far will do.  NULL: no deadline */
    void *late_arg;
    /* Scores m points U [m][dims]. */
    enum status (*scores)(void *arg, const double *U, size_t m, double *out, struct error *err);
    /* Score and gradient [dims] at u.  NULL: scores is called once, with all points, and the best of them wins. */
    double (*slope)(void *arg, const double *u, double *gradient);
    void *arg;
};

/* Whether a search with a slope looks at every point that is left of the space, in whatever box. */
bool acq_search_is_complete(const struct space *space);

/* point [params_len] out: satisfies space_has, constraints included, and is not used.
 * When it is late from the start, the best of a few points.
 * Errors: CONFLICT "search_space_exhausted"; NO_MEMORY (scratch: about 3 samples dims doubles); NUMERIC when no score was
 * a number; what scores returns. */
MUST_CHECK enum status acq_search_run(const struct acq_search *search, double *point, struct arena *scratch,
                                      struct error *err);

#endif
