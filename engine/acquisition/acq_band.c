/* Expected improvement of the distance to a band. */
#include "engine/acquisition/acq_band.h"

#include "engine/acquisition/acq_h.h"
#include "engine/base/numbers.h"

#include <float.h>
#include <math.h>

enum { NODES = 6, SEGMENTS = 3 };
/* Gauss and Legendre's rule on [0, 1]. */
static const double node[NODES] = {0.03376524289842399, 0.16939530676686774, 0.3806904069584015,
                                   0.6193095930415985,  0.8306046932331323,  0.966234757101576};
static const double weight[NODES] = {0.08566224618958517, 0.1803807865240693, 0.2339569672863455,
                                     0.2339569672863455,  0.1803807865240693, 0.08566224618958517};
static const double BEST_LEAST = 1e-12; /* of a distance: a logarithm needs one */

/* The band as it is seen from a mean at or above its middle, in standard deviations; below it is the mirror image. */
struct view {
    double z[4];           /* of high + b, high, low and low - b, descending */
    double width, b, from; /* of the band; the best's distance; z of the middle */
};

/* Where the corners are so close together that the density is nearly the same at all of them: the integral of b - d(y) times the density, in three pieces on
 * each of which it is smooth, by the density relative to that at the middle. */
static double by_quadrature(const struct view *view, double *dmean, double *dsd)
{
    double exponent[SEGMENTS][NODES], most = -HUGE_VAL, sum = 0.0, sum_z = 0.0, sum_zz = 0.0;
    double start[SEGMENTS] = {-0.5 * view->width - view->b, -0.5 * view->width, 0.5 * view->width};
    double length[SEGMENTS] = {view->b, view->width, view->b};
    for (int s = 0; s < SEGMENTS; s++)
        for (int i = 0; i < NODES; i++) {
            double away = start[s] + length[s] * node[i];
            exponent[s][i] = -away * (view->from + 0.5 * away);
            most = fmax(most, exponent[s][i]);
        }
    for (int s = 0; s < SEGMENTS; s++)
        for (int i = 0; i < NODES; i++) {
            double height = s == 0   ? node[i]
                            : s == 1 ? 1.0
                                     : 1.0 - node[i],
                   z = view->from + start[s] + length[s] * node[i];
            double part = weight[i] * length[s] * height * exp(exponent[s][i] - most);
            sum += part;
            sum_z += part * z;
            sum_zz += part * (z * z - 1.0);
        }
    *dmean = sum_z / sum;
    *dsd = sum_zz / sum;
    return log(view->b) + log(sum) + most - 0.5 * view->from * view->from - HALF_LOG_2PI;
}

/* log(h(z) / h(first)); where both are in the tail the squares, which are huge, do not meet. */
static double log_ratio(double z, double to_sd, double first, double first_to_sd, double log_h, double first_log_h)
{
    if (first > 0.0 || z > -1.0)
        return log_h - first_log_h;
    return 0.5 * (first - z) * (first + z) + log(first_to_sd / to_sd);
}

/* By the corners, relative to the first, which has the largest h. */
static double by_corners(const struct view *view, double *dmean, double *dsd)
{
    static const double sign[] = {1.0, -1.0, -1.0, 1.0};
    double              to_mean[4], to_sd[4], log_h[4], sum = 0.0, mean = 0.0, sd = 0.0;
    for (int i = 0; i < 4; i++) {
        log_h[i] = acq_log_h(view->z[i], &to_mean[i], &to_sd[i]);
        double share = sign[i] * exp(log_ratio(view->z[i], to_sd[i], view->z[0], to_sd[0], log_h[i], log_h[0]));
        sum += share;
        mean -= share * to_mean[i];
        sd += share * to_sd[i];
    }
    sum = fmax(sum, DBL_EPSILON);
    *dmean = mean / sum;
    *dsd = sd / sum;
    return log_h[0] + log(sum);
}

double acq_band_log_ei(const struct band *band, double best, double mean, double sd, double *dmean, double *dsd)
{
    double b = fmax(-best, BEST_LEAST), middle = 0.5 * band->low + 0.5 * band->high, value;
    bool   is_below = mean < middle;
    double high = is_below ? mean - band->low : band->high - mean,
           low = is_below ? mean - band->high : band->low - mean;
    struct view view = {.z = {(high + b) / sd, high / sd, low / sd, (low - b) / sd},
                        .width = (band->high - band->low) / sd,
                        .b = b / sd,
                        .from = (is_below ? mean - middle : middle - mean) / sd};
    double      extent = (view.width + 2.0 * view.b) * fmax(1.0, -view.from); // how far the density's logarithm falls
    value = extent < 1.0 ? by_quadrature(&view, dmean, dsd) : by_corners(&view, dmean, dsd);
    *dmean *= (is_below ? -1.0 : 1.0) / sd;
    *dsd /= sd;
    return value + log(sd);
}

/* E max(0, t)^k for t ~ N(m, s^2), k = 1 and 2, with Phi and phi at m / s. */
struct excess {
    double first, second, Phi, phi;
};
static struct excess excess_of(double m, double s)
{
    double z = m / s, Phi = 0.5 * erfc(-z * SQRT_HALF), phi = exp(-0.5 * z * z - HALF_LOG_2PI);
    return (struct excess){s * (phi + z * Phi), s * s * ((z * z + 1.0) * Phi + z * phi), Phi, phi};
}

struct acq_moments acq_band_moments(const struct band *band, double mean, double sd)
{
    struct excess under = excess_of(band->low - mean, sd), over = excess_of(mean - band->high, sd);
    double        distance = under.first + over.first, by_mean = over.Phi - under.Phi, by_sd = over.phi + under.phi;
    double        variance = under.second + over.second - distance * distance;
    struct acq_moments out = {.mean = -distance, .sd = acq_sd(fmax(variance, 0.0)), .to = {{-by_mean}, {-by_sd}}};
    out.to[0][1] = (over.first - under.first - distance * by_mean) / out.sd;
    out.to[1][1] = (sd * (over.Phi + under.Phi) - distance * by_sd) / out.sd;
    return out;
}
