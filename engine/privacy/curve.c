/* See curve.h. */
#include "engine/privacy/curve.h"

#include "engine/math/golden.h"

#include <math.h>

static const double ROUNDING = 1 + 0x1p-40; /* of the sums and exponentials here, upwards */

struct curve curve_of_release(const struct mechanism *m, const struct relation_shift *shift)
{
    double rate = (double)m->rate * 0x1p-32, sigma = m->sigma,
           projected = MECHANISM_PROJECTION_SCALE * shift->s2 / sigma;
    if (shift->d2 == 0)
        return (struct curve){.kind = CURVE_PURE, .value = 0};
    switch (m->kind) {
    case MECHANISM_DISCRETE_LAPLACE:
        return (struct curve){.kind = CURVE_PURE, .value = rate * shift->s1};
    case MECHANISM_CELLS:
        return (struct curve){.kind = CURVE_PURE, .value = 2 * rate};
    case MECHANISM_QUADTREE: /* its levels have rates of their own */
        return (struct curve){.kind = CURVE_PURE, .value = m->epsilon};
    case MECHANISM_DISCRETE_GAUSSIAN:
        if (sigma > 2)
            return (struct curve){.kind = CURVE_GAUSSIAN, .value = shift->s2 / sqrt(sigma * sigma - 4)};
        break;
    case MECHANISM_PROJECTED_GAUSSIAN:
        return (struct curve){.kind = CURVE_PROJECTED, .value = projected * projected, .dims = m->dims};
    case MECHANISM_AUTO:
    case MECHANISM_KINDS:
        break;
    }
    return (struct curve){.kind = CURVE_NONE};
}

struct curve curve_of_outcomes(const struct mechanism_outcome *m, bool are_of_cells)
{
    double epsilon = (double)m->rate * 0x1p-32 * ((m->high - m->low) / m->gamma + 1 + 0x1p-20);
    return (struct curve){.kind = CURVE_PURE, .value = are_of_cells ? 2 * epsilon : epsilon};
}

/* --- what a list adds up to --- */

struct sums {
    double pure, squares; /* of epsilon; of mu */
    bool   is_pure, is_gaussian;
    double k_max; /* of the projected */
};

static enum status sum_up(const struct curve *curves, size_t n, double delta, struct sums *out, struct error *err)
{
    *out = (struct sums){.is_pure = true, .is_gaussian = true};
    if (!(delta >= 0 && delta < 1))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must be in [0, 1)");
    for (size_t i = 0; i < n; i++) {
        double value = curves[i].value;
        if (curves[i].kind == CURVE_NONE || !(value >= 0))
            return error_set(err, STATUS_INVALID, "no_bound", "", "release %zu has no bound that adds up", i + 1);
        out->pure += curves[i].kind == CURVE_PURE ? value : 0;
        out->squares += curves[i].kind == CURVE_GAUSSIAN ? value * value : 0;
        out->k_max = curves[i].kind == CURVE_PROJECTED ? fmax(out->k_max, value) : out->k_max;
        out->is_pure &= curves[i].kind == CURVE_PURE || value == 0;
        out->is_gaussian &= curves[i].kind == CURVE_GAUSSIAN || value == 0;
    }
    return STATUS_OK;
}

/* --- Renyi; b = a - 1 --- */

/* b R(1 + b). */
static double moment(const struct curve *curve, double b)
{
    double v = curve->value;
    switch (curve->kind) {
    case CURVE_PURE:
        return b * v - log1p(exp(-v)) + log1p(exp(-v - 2 * b * v));
    case CURVE_GAUSSIAN:
        return b * (1 + b) * v * v / 2;
    case CURVE_PROJECTED:
        return b * (1 + b) * v < 1 ? -0.5 * (double)curve->dims * log1p(-b * (1 + b) * v) : INFINITY;
    case CURVE_NONE:
        break;
    }
    return INFINITY;
}

struct renyi {
    const struct curve *curves;
    size_t              n;
    double              log_delta;
};

/* u = log b. */
static double epsilon_at(const void *arg, double u)
{
    const struct renyi *renyi = arg;
    double              b = exp(u), sum = b * u - (1 + b) * log1p(b) - renyi->log_delta;
    for (size_t i = 0; i < renyi->n; i++)
        sum += moment(&renyi->curves[i], b);
    return fmax(sum / b, 0);
}

/* At any order; the orders at which epsilon is below a given one are an interval, as log delta is convex in the order. */
static double renyi_epsilon(const struct renyi *renyi, double k_max)
{
    double high = k_max > 0 ? log(0.5 * (sqrt(1 + 4 / k_max) - 1)) : 40; /* a (a - 1) k < 1 */
    return golden_section(epsilon_at, renyi, -30, high, NULL);
}

enum status curves_epsilon(const struct curve *curves, size_t n, double delta, double *epsilon, struct arena *scratch,
                           struct error *err)
{
    struct sums sums;
    (void)scratch;
    TRY(sum_up(curves, n, delta, &sums, err));
    double best = sums.is_pure ? sums.pure : INFINITY;
    if (delta > 0 && sums.is_gaussian && sums.squares > 0)
        best = fmin(best, mechanism_gaussian_epsilon(sqrt(sums.squares), delta));
    else if (delta > 0)
        best = fmin(best, renyi_epsilon(&(struct renyi){curves, n, log(delta)}, sums.k_max));
    *epsilon = best * ROUNDING;
    return STATUS_OK;
}

enum status curves_filter(const struct curve *curves, size_t n, double delta, double order, double *epsilon,
                          struct error *err)
{
    struct sums sums;
    TRY(sum_up(curves, n, delta, &sums, err));
    if (!(order > 1 && isfinite(order)))
        return error_set(err, STATUS_INVALID, "bad_order", "/order", "the order of a filter is over 1");
    double best = sums.is_pure ? sums.pure : INFINITY;
    if (delta > 0)
        best = fmin(best, epsilon_at(&(struct renyi){curves, n, log(delta)}, log(order - 1)));
    *epsilon = best * ROUNDING;
    return STATUS_OK;
}

struct budget {
    double epsilon, log_delta;
};

/* -rho of all Gaussians that fit: b (1 + b) rho = b epsilon + log delta - b log b + (1 + b) log(1 + b). */
static double used_up(const void *arg, double u)
{
    const struct budget *budget = arg;
    double               b = exp(u);
    return -(b * budget->epsilon + budget->log_delta - b * u + (1 + b) * log1p(b)) / (b * (1 + b));
}

double curves_filter_order(double epsilon, double delta)
{
    double u;
    golden_section(used_up, &(struct budget){epsilon, log(delta)}, -10, 20, &u);
    return 1 + exp(u);
}
