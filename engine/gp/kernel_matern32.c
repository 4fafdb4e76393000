/* Matern 3/2: (1 + sqrt3 r) exp(-sqrt3 r).                    Rasmussen & Williams 2006, (4.17), nu = 3/2 */
#include "engine/gp/kernel_formula.h"

#include <math.h>

static const double SQRT3 = 1.7320508075688772;

static inline double formula(double s2, double r2, double *slope)
{
    double r = sqrt(r2), e = s2 * kernel_exp(-SQRT3 * r);
    *slope = -1.5 * e;
    return (1.0 + SQRT3 * r) * e;
}
KERNEL_FUNCTIONS(formula)

static double frequency(struct rng *rng)
{
    return kernel_matern_frequency(3, rng);
}

const struct kernel_kind kernel_matern32 = {
    .name = "matern32",
    .help = "Matern 3/2: functions with one derivative",
    KERNEL_RECORD,
    .frequency = frequency,
};
