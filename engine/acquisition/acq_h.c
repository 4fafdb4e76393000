/* Expected improvement in its own units, and the probability of one. */
#include "engine/acquisition/acq_h.h"

#include "engine/base/numbers.h"

#include <math.h>

static const double SD_MIN = 1e-12;
enum { FRACTION_TERMS = 20 }; /* full precision from t = TAIL on */
static const double TAIL = 4.0;

/* K = 1/(t + 2/(t + 3/(t + ...))) for t > 0, with which Phi(-t) = phi(t) / (t + K) (Laplace's continued fraction). */
static double fraction(double t)
{
    double K = t;
    for (int i = FRACTION_TERMS; i >= 2; i--)
        K = t + i / K;
    return 1.0 / K;
}

/* For t = -z > 0: h(z) = phi(t) (1 - t / (t + K)) = phi(t) K / (t + K), so that no difference of nearly equal numbers is left. */
static double log_h_tail(double t, double *to_mean, double *to_sd)
{
    double K = fraction(t);
    *to_mean = 1.0 / K;
    *to_sd = (t + K) / K;
    return -0.5 * t * t - HALF_LOG_2PI + log(K) - log(t + K);
}

double acq_log_h(double z, double *to_mean, double *to_sd)
{
    if (z < -TAIL)
        return log_h_tail(fmin(-z, 1e100), to_mean, to_sd);
    double phi = exp(-0.5 * z * z - HALF_LOG_2PI), Phi = 0.5 * erfc(-z * SQRT_HALF), h = phi + z * Phi;
    *to_mean = Phi / h;
    *to_sd = phi / h;
    return log(h);
}

double acq_log_phi(double z, double *slope)
{
    if (z >= -TAIL) {
        double Phi = 0.5 * erfc(-z * SQRT_HALF);
        *slope = exp(-0.5 * z * z - HALF_LOG_2PI) / Phi;
        return log(Phi);
    }
    double t = fmin(-z, 1e100);
    *slope = t + fraction(t);
    return -0.5 * t * t - HALF_LOG_2PI - log(*slope);
}

double acq_sd(double var)
{
    return sqrt(var) + SD_MIN;
}
