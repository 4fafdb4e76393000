/* Matern 5/2: (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r).          Rasmussen & Williams 2006, (4.17), nu = 5/2 */
#include "engine/gp/kernel_formula.h"

#include <math.h>

static const double SQRT5 = 2.2360679774997897;

static inline double formula(double s2, double r2, double *slope)
{
    double r = sqrt(r2), e = s2 * kernel_exp(-SQRT5 * r);
    *slope = -5.0 / 6.0 * (1.0 + SQRT5 * r) * e;
    return (1.0 + SQRT5 * r + 5.0 / 3.0 * r2) * e;
}
KERNEL_FUNCTIONS(formula)

static double frequency(struct rng *rng)
{
    return kernel_matern_frequency(5, rng);
}

const struct kernel_kind kernel_matern52 = {
    .name = "matern52",
    .help = "Matern 5/2: functions with two derivatives",
    KERNEL_RECORD,
    .frequency = frequency,
};
