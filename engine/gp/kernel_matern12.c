/* Matern 1/2: exp(-r).                                        Rasmussen & Williams 2006, (4.17), nu = 1/2 */
#include "engine/gp/kernel_formula.h"

#include <math.h>

static inline double formula(double s2, double r2, double *slope)
{
    double r = sqrt(r2), k = s2 * kernel_exp(-r);
    *slope = -0.5 / (r > 0.0 ? r : HUGE_VAL) * k;
    return k;
}
KERNEL_FUNCTIONS(formula)

static double frequency(struct rng *rng)
{
    return kernel_matern_frequency(1, rng);
}

const struct kernel_kind kernel_matern12 = {
    .name = "matern12",
    .help = "Matern 1/2: functions that are continuous and nowhere smooth",
    KERNEL_RECORD,
    .frequency = frequency,
};
