/* log |gamma(x)| without lgamma, which leaves the sign in a global that all threads write.  The C library has lgamma_r
 * beside it, but declares it only beyond POSIX. */
#ifndef GNOMON_ENGINE_LOG_GAMMA_H
#define GNOMON_ENGINE_LOG_GAMMA_H

double lgamma_r(double x, int *sign);

static inline double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

#endif
