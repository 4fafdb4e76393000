/* See transfer_weights.h. */
#include "engine/transfer/transfer_weights.h"

#include <math.h>

static const double GAP_MAX = 1e12; /* so that sums stay finite over any number of rounds */

double transfer_weights_gap(const double *y, const double *mean, const double *sd, size_t n, double width, bool largest)
{
    double sum = 0.0, most = 0.0;
    for (size_t j = 0; j < n; j++) {
        double gap = fabs(y[j] - mean[j]) + width * sd[j];
        gap = gap <= GAP_MAX ? gap : GAP_MAX; /* NaN too */
        sum += gap / (double)n;
        most = fmax(most, gap);
    }
    return largest ? most : sum;
}

void transfer_weights_follow(const double *sums, size_t len, double rate, double *weights)
{
    double least = sums[0], total = 0.0;
    for (size_t i = 1; i < len; i++)
        least = fmin(least, sums[i]);
    for (size_t i = 0; i < len; i++)
        total += weights[i] = exp(-rate * (sums[i] - least));
    for (size_t i = 0; i < len; i++)
        weights[i] /= total;
}

double transfer_weights_decay(const double *weights, const double *gaps, size_t len, double slowest, double power)
{
    double sum = 0.0;
    for (size_t i = 0; i < len; i++)
        sum += weights[i] * gaps[i];
    return fmin(slowest, pow(sum, -power));
}
