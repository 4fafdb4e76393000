/* See rank_forecast.h. */
#include "engine/federated/rank_forecast.h"

#include <math.h>

/* Measured: the noise, and the change of regret. */
static const struct {
    double noise, change;
} measured[] = {{0.02, -0.45}, {0.1, -0.38}, {0.4, -0.24}, {0.7, -0.18}, {2.5, -0.03}, {6, 0.02}, {20, 0.05}};
enum { MEASURED = sizeof measured / sizeof measured[0] };

static double change_at(double noise)
{
    size_t above = 0;
    while (above < MEASURED && measured[above].noise < noise)
        above++;
    if (above == 0 || above == MEASURED)
        return measured[above == 0 ? 0 : MEASURED - 1].change;
    double low = log(measured[above - 1].noise), share = (log(noise) - low) / (log(measured[above].noise) - low);
    return measured[above - 1].change + share * (measured[above].change - measured[above - 1].change);
}

struct rank_forecast rank_forecast(size_t seats, size_t features, double multiplier)
{
    double sd = multiplier / (double)seats, noise = (double)features * sd * sd, change = change_at(noise);
    return (struct rank_forecast){
        .sd = sd, .noise = noise, .share = noise / (noise + 0.5), .change = change, .hurts = change > 0};
}
