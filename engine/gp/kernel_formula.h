/* Macros and functions for the files of kernels and kernel.c alone.
 * A kernel is one formula, from which KERNEL_FUNCTIONS makes the functions of its record: at one point, and for a block of
 * them in a loop of fixed length, which compilers turn into vector instructions.  For the same reason the exponential is one
 * of ours. */
#ifndef GNOMON_ENGINE_KERNEL_FORMULA_H
#define GNOMON_ENGINE_KERNEL_FORMULA_H

#include "engine/gp/kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Makes loops use wider vectors where the processor has them, chosen when the program starts.  Results are the same: there
 * is no fused multiply-add in either, and no sum is reordered.  Not under ThreadSanitizer: the choice is made by code that
 * it instruments, before it is there; nor with clang, which here has no such clones. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define KERNEL_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KERNEL_WIDE
#endif

/* exp(x) for x <= 0 to within an ulp or so; 0 below -708.  x = n log 2 + r with |r| <= log(2) / 2 (Cody & Waite
 * 1980), the Taylor series of exp(r), times 2^n made from bits.  Adding 1.5 * 2^52 leaves n in the lowest bits. */
static inline double kernel_exp(double x)
{
    const double magic = 6755399441055744.0, log2_high = 6.93147180369123816490e-01,
                 log2_low = 1.90821492927058770002e-10;
    double   low = x < -708.0 ? -708.0 : x, shifted = low * 1.4426950408889634 + magic, n = shifted - magic;
    double   r = (low - n * log2_high) - n * log2_low, q = 1.0 / 6227020800, power;
    uint64_t bits;
    q = q * r + 1.0 / 479001600;
    q = q * r + 1.0 / 39916800;
    q = q * r + 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return (1.0 + (r + r * r * q)) * (x < -708.0 ? 0.0 : power);
}

/* exp(-r^2/2), a formula in the sense of KERNEL_FUNCTIONS. */
static inline double kernel_gaussian(double s2, double r2, double *slope)
{
    double k = s2 * kernel_exp(-0.5 * r2);
    *slope = -0.5 * k;
    return k;
}

/* A Matern kernel's spectral density is a multivariate t distribution: a normal vector over the root of an independent
 * chi-squared variable per degree of freedom, of which it has 2 nu. */
static inline double kernel_matern_frequency(unsigned degrees, struct rng *rng)
{
    double chi2 = 0.0;
    for (unsigned i = 0; i < degrees; i++) {
        double z = rng_normal(rng);
        chi2 += z * z;
    }
    return sqrt(degrees / chi2);
}

/* formula: static inline double formula(double s2, double r2, double *slope), s2 k(r2) and its derivative by r2. */
#define KERNEL_FUNCTIONS(formula)                                                        \
    static double value(double r2)                                                       \
    {                                                                                    \
        double slope;                                                                    \
        return formula(1.0, r2, &slope);                                                 \
    }                                                                                    \
    static double slope(double r2)                                                       \
    {                                                                                    \
        double result;                                                                   \
        (void)formula(1.0, r2, &result);                                                 \
        return result;                                                                   \
    }                                                                                    \
    KERNEL_WIDE static void map(double s2, double *restrict r2, double *restrict slopes) \
    {                                                                                    \
        for (size_t k = 0; k < KERNEL_BLOCK; k++)                                        \
            r2[k] = formula(s2, r2[k], &slopes[k]);                                      \
    }
#define KERNEL_RECORD .value = value, .slope = slope, .map = map

#endif
