/* Periodic: exp(-r^2/2) of (sin(pi d) / pi)^2 / l^2 summed over the coordinates, a product of one factor each.
 * MacKay 1998, (47).  The period is 1, the side of the unit cube; near 0 this is the squared exponential.
 * With a = 1 / (2 pi l)^2 a factor is exp(a (cos(2 pi d) - 1)), which as a function of 2 pi d is the characteristic
 * function of the difference of two Poisson variables of mean a / 2: that, times 2 pi, is a random frequency. */
#include "engine/gp/kernel_formula.h"

#include "engine/base/numbers.h"

KERNEL_FUNCTIONS(kernel_gaussian)

static const double POISSON_MAX = 100.0; /* mean from which the difference is taken for a rounded normal variable */

static double part(double difference)
{
    double s = sin(PI * difference) / PI;
    return s * s;
}

static double part_slope(double difference)
{
    return sin(2.0 * PI * difference) / PI;
}

/* Arrivals of rate 1 in this time. */
static double poisson(double mean, struct rng *rng)
{
    double count = -1.0;
    for (double at = 0.0; at <= mean; count += 1.0)
        at -= log1p(-rng_uniform(rng));
    return count;
}

static double part_frequency(double length_scale, struct rng *rng)
{
    double mean = 0.5 / pow(2.0 * PI * length_scale, 2);
    if (mean > POISSON_MAX)
        return 2.0 * PI * round(sqrt(2.0 * mean) * rng_normal(rng));
    double first = poisson(mean, rng);
    return 2.0 * PI * (first - poisson(mean, rng));
}

const struct kernel_kind kernel_periodic = {
    .name = "periodic",
    .help = "periodic: functions without any edge that are the same at both ends of each range, as of angles",
    KERNEL_RECORD,
    .part = part,
    .part_slope = part_slope,
    .part_frequency = part_frequency,
};
