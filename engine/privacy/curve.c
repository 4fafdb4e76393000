/* See curve.h. */
#include "engine/privacy/curve.h"

#include "engine/math/golden.h"
#include "engine/privacy/pld.h"

#include <math.h>

static const double ROUNDING = 1 + 0x1p-40; /* of the sums and exponentials here, upwards */

struct privacy_curve curve_of_release(const struct mechanism *m, const struct relation_shift *shift)
{
    double rate = (double)m->rate * 0x1p-32, sigma = m->sigma,
           projected = MECHANISM_PROJECTION_SCALE * shift->s2 / sigma;
    if (shift->d2 == 0)
        return (struct privacy_curve){.kind = CURVE_PURE, .value = 0};
    switch (m->kind) {
    case MECHANISM_DISCRETE_LAPLACE:
        return (struct privacy_curve){.kind = CURVE_PURE, .value = rate * shift->s1};
    case MECHANISM_ISOTROPIC_LAPLACE:
        return (struct privacy_curve){.kind = CURVE_PURE, .value = rate * shift->s2 + MECHANISM_ISOTROPIC_SLACK};
    case MECHANISM_CELLS:
        return (struct privacy_curve){.kind = CURVE_PURE, .value = 2 * rate};
    case MECHANISM_QUADTREE: /* each level has a rate of its own */
        return (struct privacy_curve){.kind = CURVE_PURE, .value = m->epsilon};
    case MECHANISM_DISCRETE_GAUSSIAN:
        if (sigma > 2)
            return (struct privacy_curve){.kind = CURVE_GAUSSIAN, .value = shift->s2 / sqrt(sigma * sigma - 4)};
        break;
    case MECHANISM_PROJECTED_GAUSSIAN:
        return (struct privacy_curve){.kind = CURVE_PROJECTED, .value = projected * projected, .dims = m->dims};
    case MECHANISM_AUTO:
    case MECHANISM_KINDS:
        break;
    }
    return (struct privacy_curve){.kind = CURVE_NONE};
}

struct privacy_curve curve_of_outcomes(const struct mechanism_outcome *m, bool are_of_cells)
{
    double epsilon = (double)m->rate * 0x1p-32 * ((m->high - m->low) / m->gamma + 1 + 0x1p-20);
    return (struct privacy_curve){.kind = CURVE_PURE, .value = are_of_cells ? 2 * epsilon : epsilon};
}

/* --- what a list adds up to --- */

struct list {
    const struct privacy_curve *curves;
    size_t                      n;
    double                      delta;
    double                      pure, pure_min, pure_max; /* their sum, and the least and the largest above 0 */
    double                      squares;                  /* of mu */
    double                      k_max;                    /* of the projected */
    bool                        is_pure;
};

static enum status sum_up(const struct privacy_curve *curves, size_t n, double delta, struct list *out,
                          struct error *err)
{
    *out = (struct list){.curves = curves, .n = n, .delta = delta, .is_pure = true, .pure_min = INFINITY};
    if (!(delta >= 0 && delta < 1))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must be in [0, 1)");
    for (size_t i = 0; i < n; i++) {
        double value = curves[i].value;
        if (curves[i].kind == CURVE_NONE || !(value >= 0) || !isfinite(value))
            return error_set(err, STATUS_INVALID, "no_bound", "", "release %zu has no bound that adds up", i + 1);
        out->pure += curves[i].kind == CURVE_PURE ? value : 0;
        if (curves[i].kind == CURVE_PURE && value > 0)
            out->pure_min = fmin(out->pure_min, value);
        out->pure_max = curves[i].kind == CURVE_PURE ? fmax(out->pure_max, value) : out->pure_max;
        out->squares += curves[i].kind == CURVE_GAUSSIAN ? value * value : 0;
        out->k_max = curves[i].kind == CURVE_PROJECTED ? fmax(out->k_max, value) : out->k_max;
        out->is_pure &= curves[i].kind == CURVE_PURE || value == 0;
    }
    return STATUS_OK;
}

/* --- Renyi; b = a - 1 --- */

/* b R(1 + b). */
static double moment(const struct privacy_curve *curve, double b)
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

/* u = log b. */
static double epsilon_at(const void *arg, double u)
{
    const struct list *list = arg;
    double             b = exp(u), sum = b * u - (1 + b) * log1p(b) - log(list->delta);
    for (size_t i = 0; i < list->n; i++)
        sum += moment(&list->curves[i], b);
    return fmax(sum / b, 0);
}

/* At any order; the orders at which epsilon is below a given one are an interval, as log delta is convex in the order. */
static double renyi_epsilon(const struct list *list)
{
    double high = log(0.5 * (sqrt(1 + 4 / list->k_max) - 1)); /* a (a - 1) k < 1 */
    return golden_section(epsilon_at, list, -30, high, NULL);
}

/* How many curves are pure with the epsilon of curves[at]; 0 unless it is the first of them. */
static uint64_t equal_from(const struct list *list, size_t at)
{
    const struct privacy_curve *curves = list->curves;
    uint64_t                    count = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool is_equal = curves[i].kind == CURVE_PURE && curves[i].value == curves[at].value;
        if (is_equal && i < at)
            return 0;
        count += is_equal;
    }
    return count;
}

/* The epsilon of pure curves and Gaussians, composed as privacy-loss distributions.  The step divides the largest
 * epsilon, so that equal ones fall on the lattice, and is small beside the least one, so that what falls between is
 * hardly enlarged. */
static enum status pld_epsilon_of(const struct list *list, double *epsilon, struct arena *scratch, struct error *err)
{
    struct pld all, some;
    double     step = list->pure_max, cut = pld_cut(list->delta, (double)list->n);
    while (step > fmin(list->pure / 1024, fmax(list->pure_min / 16, list->pure_max * 0x1p-30)))
        step /= 2;
    TRY(pld_nothing(&all, step, scratch, err));
    for (size_t i = 0; i < list->n; i++) {
        uint64_t times = list->curves[i].kind == CURVE_PURE && list->curves[i].value > 0 ? equal_from(list, i) : 0;
        struct arena_mark mark = arena_mark(scratch);
        if (times == 0)
            continue;
        TRY(pld_pure(&some, list->curves[i].value, step, scratch, err));
        TRY(pld_power(&some, times, cut, scratch, err));
        TRY(pld_compose(&all, &some, cut, scratch, err));
        arena_release(scratch, mark);
    }
    *epsilon = pld_epsilon(&all, sqrt(list->squares), list->delta);
    return STATUS_OK;
}

enum status curves_epsilon(const struct privacy_curve *curves, size_t n, double delta, double *epsilon,
                           struct arena *scratch, struct error *err)
{
    struct list       list;
    struct arena_mark mark = arena_mark(scratch);
    enum status       status = STATUS_OK;
    double            composed = INFINITY;
    TRY(sum_up(curves, n, delta, &list, err));
    double best = list.is_pure ? list.pure : INFINITY;
    if (delta > 0 && list.squares > 0 && list.k_max == 0)
        best = list.pure + mechanism_gaussian_epsilon(sqrt(list.squares), delta);
    if (delta > 0 && list.pure > 0 && list.k_max == 0)
        status = pld_epsilon_of(&list, &composed, scratch, err);
    else if (delta > 0 && list.k_max > 0)
        composed = renyi_epsilon(&list);
    arena_release(scratch, mark);
    *epsilon = fmin(best, composed) * ROUNDING;
    return status;
}

enum status curves_filter(const struct privacy_curve *curves, size_t n, double delta, double order, double *epsilon,
                          struct error *err)
{
    struct list list;
    TRY(sum_up(curves, n, delta, &list, err));
    if (!(order > 1 && isfinite(order)))
        return error_set(err, STATUS_INVALID, "bad_order", "/order", "the order of a filter is over 1");
    double best = list.is_pure ? list.pure : INFINITY;
    if (delta > 0)
        best = fmin(best, epsilon_at(&list, log(order - 1)));
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
