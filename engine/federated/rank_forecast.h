/* A forecast of what a rank-mean federation will bring, from what is public before anybody joins: the number of seats,
 * the number of functions and the noise.  Looks at no data. */
#ifndef GNOMON_ENGINE_RANK_FORECAST_H
#define GNOMON_ENGINE_RANK_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

struct rank_forecast {
    double sd;     /* of the noise in each number of the release: multiplier / seats */
    double noise;  /* the square of the noise's length, features sd^2; that of the mean of the messages is at most 1 */
    double share;  /* of the release that is noise, if the members agree half: noise / (noise + 1/2) */
    double change; /* of the mean regret of a reader's first 20 trials, as a share of gp's own; below 0: it helps */
    bool   hurts;  /* more than it helps, on the average of families */
};

/* The change is read from a table of measurements by `tests/bench/rank_mean` over the logarithm of the noise: the mean over
 * landmine, svm, mlp, both branin and both hartmann at 7, 10, 20 and 50 members and epsilon 0.5, 1 and 3.  The standard deviation of
 * these families is a quarter of gp's regret where there is little noise; the farthest, branin-far, is off by a half. */
struct rank_forecast rank_forecast(size_t seats, size_t features, double multiplier);

#endif
