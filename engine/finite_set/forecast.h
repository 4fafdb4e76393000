/* Forecast of what the noise of a release costs, before it is drawn: searches of functions from a Gaussian process prior
 * with the public length-scales, at as many rows, drawn uniformly in the public box, as the table has.  Each function is
 * searched by po-gp-ucb on the rows as they are, by po-gp-ucb on a release of them, and at random.  Public numbers only:
 * nothing here has seen the table, and none of it can be computed from it.  A guess: rows and outcomes of the table may be
 * easier or harder, and the noise of private outcomes is left out. */
#ifndef GNOMON_ENGINE_FORECAST_H
#define GNOMON_ENGINE_FORECAST_H

#include "engine/privacy/quadtree.h"

enum { FORECAST_TRIALS_MAX = 200, FORECAST_ROWS_MAX = 5000, FORECAST_PAIRS_MAX = 32, FORECAST_MARKS = 3 };
enum forecast_arm { FORECAST_OPEN, FORECAST_RELEASED, FORECAST_RANDOM, FORECAST_ARMS };

struct forecast {
    struct mechanism     mechanism; /* in: planned; rows: more than FORECAST_ROWS_MAX are taken for as many */
    const size_t        *sides;     /* in: [columns], of cells */
    struct release_scale scale;     /* in */
    size_t               trials;    /* in: T, 4 to FORECAST_TRIALS_MAX */
    uint64_t             seed;      /* in, public */
    double (*clock_ms)(void);       /* in: no pair begins after limit_ms; NULL: all pairs */
    double limit_ms;
    /* out: regret in standard deviations of the function */
    size_t pairs;                                         /* searches made of each kind, at least 2 */
    double regret[FORECAST_ARMS][FORECAST_TRIALS_MAX];    /* after 1 .. T trials, mean */
    size_t mark[FORECAST_MARKS];                          /* T/4, T/2, T */
    double cost[FORECAST_MARKS], cost_se[FORECAST_MARKS]; /* of the release, above the open rows: paired */
    double mean_cost, mean_cost_se;                       /* over all trials */
};

/* Errors: NO_MEMORY; INVALID, as the release (trials out of range: bad_size). */
MUST_CHECK enum status forecast_run(struct forecast *f, struct arena *scratch, struct error *err);

#endif
