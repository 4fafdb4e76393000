/* A monotone transform that compresses values towards the bad end before they are modelled (a warped Gaussian process,
 * Snelson, Ghahramani & Rasmussen 2004, with one parameter c):
 *   w(t) = c log(1 + t / c), t = top - y >= 0, and w(t) = t for t < 0;   z = (centre - w) / scale
 * top is the largest of the values it was made from; z has mean 0 and standard deviation 1 on them.  c = infinity is
 * the identity; a small c resolves orders of magnitude below the best.  c = a + the gap between the two largest distinct
 * values, a > 0 the parameter: values tell nothing about finer differences, and without it the likelihood of values of
 * which several are the largest would have no bound.  Knows nothing of models. */
#ifndef GNOMON_ENGINE_WARP_H
#define GNOMON_ENGINE_WARP_H

#include <stddef.h>

struct warp {
    double top, a, c, centre, scale;
};

/* From y [n], n > 0.  scale is 1 when all values are equal.  O(n). */
void warp_make(struct warp *warp, const double *y, size_t n, double log_a);

double warp_value(const struct warp *warp, double y);   /* z */
double warp_slope(const struct warp *warp, double y);   /* dz/dy > 0 */
double warp_inverse(const struct warp *warp, double z); /* y; -infinity when out of range */

/* Derivatives with respect to log a at the values it was made from: dz [n] of z, dlog [n] of log dz/dy.  Returns the sum
 * of log dz/dy, which turns a log density of z into one of y. */
double warp_derivatives(const struct warp *warp, const double *y, size_t n, double *dz, double *dlog);

#endif
