/* The warp of values and its derivatives. */
#include "engine/gp/warp.h"

#include <math.h>

static double compressed(const struct warp *warp, double y)
{
    double t = warp->top - y;
    return t > 0.0 ? warp->c * log1p(t / warp->c) : t;
}

/* Between the two largest distinct values; 0 if there are no two. */
static double gap_below(double top, const double *y, size_t n)
{
    double second = -HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        if (y[i] < top)
            second = fmax(second, y[i]);
    return isfinite(second) ? top - second : 0.0;
}

void warp_make(struct warp *warp, const double *y, size_t n, double log_a)
{
    double sum = 0.0, squares = 0.0;
    *warp = (struct warp){.top = y[0], .a = exp(log_a), .scale = 1.0};
    for (size_t i = 1; i < n; i++)
        warp->top = fmax(warp->top, y[i]);
    warp->c = warp->a + gap_below(warp->top, y, n);
    for (size_t i = 0; i < n; i++)
        sum += compressed(warp, y[i]);
    warp->centre = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double z = warp_value(warp, y[i]);
        squares += z * z;
    }
    warp->scale = sqrt(squares / (double)n);
    if (!(warp->scale > 1e-13))
        warp->scale = 1.0;
}

double warp_value(const struct warp *warp, double y)
{
    return (warp->centre - compressed(warp, y)) / warp->scale;
}

double warp_slope(const struct warp *warp, double y)
{
    return warp->c / (warp->c + fmax(warp->top - y, 0.0)) / warp->scale;
}

double warp_inverse(const struct warp *warp, double z)
{
    double w = warp->centre - warp->scale * z;
    return warp->top - (w > 0.0 ? warp->c * expm1(w / warp->c) : w);
}

/* dw/dlog a = a/c (w - c t / (c + t)); the centre and the scale follow as the mean and the covariance with z. */
double warp_derivatives(const struct warp *warp, const double *y, size_t n, double *dz, double *dlog)
{
    double c = warp->c, share = warp->a / c, mean = 0.0, stretch = 0.0, sum = 0.0, inverse = 1.0 / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = warp->top - y[i];
        dz[i] = share * (compressed(warp, y[i]) - c * t / (c + t));
        mean += dz[i] * inverse;
    }
    for (size_t i = 0; i < n; i++)
        stretch -= warp_value(warp, y[i]) * (dz[i] - mean) * inverse / warp->scale;
    for (size_t i = 0; i < n; i++) {
        double t = warp->top - y[i];
        dz[i] = (mean - dz[i]) / warp->scale - warp_value(warp, y[i]) * stretch;
        dlog[i] = share * t / (c + t) - stretch;
        sum += log(warp_slope(warp, y[i]));
    }
    return sum;
}
