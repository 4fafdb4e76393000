/* Squared exponential: exp(-r^2/2).                                       Rasmussen & Williams 2006, (4.9) */
#include "engine/gp/kernel_formula.h"

KERNEL_FUNCTIONS(kernel_gaussian)

static double frequency(struct rng *rng)
{
    (void)rng; // the spectral density is the normal one itself
    return 1.0;
}

const struct kernel_kind kernel_se = {
    .name = "se",
    .help = "squared exponential: functions without any edge",
    KERNEL_RECORD,
    .frequency = frequency,
};
