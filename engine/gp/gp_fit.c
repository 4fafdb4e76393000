/* MAP estimation of the hyper-parameters.  It never fails for numerical reasons: a start that cannot be evaluated is
 * passed over, and the start values themselves are the last resort. */
#include "engine/gp/gp_fit.h"

#include "engine/base/numbers.h"
#include "engine/math/minimize.h"

#include <math.h>
#include <string.h>

enum { LENGTH_SCALE, VARIANCE, NOISE, WARP };

/* Log-normal priors (mean and sd of the logarithm) and the box of the search, in logarithms.  of_logarithm: the mode is
 * that of the logarithm's density.  The noise variance's own density favours the smallest so much that a dozen noisy
 * values would be explained by length-scales shorter than their distances. */
static const struct prior {
    double mean, sd, lower, upper, start;
    bool   of_logarithm;
} priors[] = {
    [LENGTH_SCALE] = {.mean = 1.4142135623730951, /* and upper and start: + log(groups) / 2 */
                      .sd = 1.7320508075688772,
                      .lower = -5.3,
                      .upper = 0.6,
                      .start = -0.7},
    [VARIANCE] = {.mean = 2.5, .sd = 2.5, .lower = -6.9, .upper = 6.9, .start = 0.0},
    [NOISE] = {.mean = -8.0, .sd = 4.0, .lower = -23.4, .upper = 0.7, .start = -9.2, .of_logarithm = true},
    [WARP] = {.mean = 1.0, .sd = 1.2, .lower = -9.2, .upper = 6.9, .start = 0.0},
};

/* Standard deviation of a log length-scale from the mean of all.  Without it the fit of a dozen values calls some
 * parameters irrelevant and others wild by chance. */
static const double ALIKE = 0.6;
static const double F_TOLERANCE = 1e-6, X_TOLERANCE = 1e-4;

static size_t prior_of(const struct gp_fit *fit, size_t i)
{
    return i < fit->groups ? LENGTH_SCALE : VARIANCE + (i - fit->groups);
}

static double shift(const struct gp_fit *fit, size_t i)
{
    return i < fit->groups ? 0.5 * log((double)fit->groups) : 0.0;
}

/* A length-scale of a few cubes says that a parameter does not matter; longer ones would say it with a certainty that
 * few observations do not give. */
static double upper_bound(const struct gp_fit *fit, size_t i)
{
    return priors[prior_of(fit, i)].upper + shift(fit, i);
}

/* Least log a; least_a 0: that of the prior. */
static double warp_bound(const struct gp_fit *fit)
{
    return fmin(fmax(log(fit->least_a), priors[WARP].lower), priors[WARP].upper);
}

void gp_fit_default(const struct gp_fit *fit, double *theta)
{
    for (size_t i = 0; i < fit->groups + GP_SCALARS; i++)
        theta[i] = priors[prior_of(fit, i)].start + shift(fit, i);
}

static double alike_prior(const struct gp_fit *fit, const double *theta, double *gradient)
{
    double mean = 0.0, sum = 0.0;
    for (size_t i = 0; i < fit->groups; i++)
        mean += theta[i] / (double)fit->groups;
    for (size_t i = 0; i < fit->groups; i++) {
        double z = (theta[i] - mean) / ALIKE;
        sum -= 0.5 * z * z;
        if (gradient != NULL)
            gradient[i] -= z / ALIKE;
    }
    return sum;
}

double gp_fit_prior(const struct gp_fit *fit, const double *theta, double *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < fit->groups + GP_SCALARS; i++) {
        const struct prior *prior = &priors[prior_of(fit, i)];
        double              z = (theta[i] - prior->mean - shift(fit, i)) / prior->sd;
        sum -= 0.5 * z * z + log(prior->sd) + HALF_LOG_2PI + (prior->of_logarithm ? 0.0 : theta[i]);
        if (gradient != NULL)
            gradient[i] = -z / prior->sd - (prior->of_logarithm ? 0.0 : 1.0);
    }
    return sum + alike_prior(fit, theta, gradient);
}

bool gp_fit_allows(const struct gp_fit *fit, const double *theta)
{
    for (size_t i = 0; i < fit->groups + GP_SCALARS; i++)
        if (!(theta[i] >= priors[prior_of(fit, i)].lower && theta[i] <= upper_bound(fit, i)))
            return false;
    return true;
}

void gp_fit_expand(const struct gp_fit *fit, const double *theta, double *length_scales, struct kernel *kernel,
                   double *noise_variance)
{
    for (size_t j = 0; j < fit->dims; j++)
        length_scales[j] = exp(theta[fit->group_of[j]]);
    *kernel = (struct kernel){
        .kind = fit->kind, .dims = fit->dims, .variance = exp(theta[fit->groups]), .length_scales = length_scales};
    *noise_variance = exp(theta[fit->groups + 1]);
}

struct search {
    const struct gp_fit  *fit;
    const struct gp_data *data;
    struct gp_work        work;
    double               *length_scales, *gradient; /* [dims], [dims + 2] */
    double               *z, *noise, *dz, *dlog;    /* [n] of the warp; dlog: see there */
    double               *storage;                  /* [3][groups + GP_SCALARS] */
};

/* Log likelihood of the values under the warp, and its gradient [groups + GP_SCALARS] added to gradient. */
static double log_likelihood(struct search *search, const double *theta, double *gradient)
{
    const struct gp_fit *fit = search->fit;
    struct gp_data       data = *search->data;
    struct kernel        kernel;
    struct warp          warp;
    double               noise_variance, value;
    warp_make(&warp, data.y, data.n, theta[fit->groups + 2]);
    for (size_t i = 0; i < data.n; i++) {
        double slope = warp_slope(&warp, data.y[i]);
        search->z[i] = warp_value(&warp, data.y[i]);
        search->noise[i] = data.noise == NULL ? 0.0 : data.noise[i] * slope * slope;
    }
    double determinant = warp_derivatives(&warp, data.y, data.n, search->dz, search->dlog);
    data.y = search->z, data.noise = search->noise;
    gp_fit_expand(fit, theta, search->length_scales, &kernel, &noise_variance);
    if (gp_likelihood(&data, &kernel, noise_variance, &search->work, &value, search->gradient) != STATUS_OK)
        return NAN;
    for (size_t j = 0; j < fit->dims; j++)
        gradient[fit->group_of[j]] += search->gradient[j];
    gradient[fit->groups] += search->gradient[fit->dims];
    gradient[fit->groups + 1] += search->gradient[fit->dims + 1];
    for (size_t i = 0; i < data.n; i++) {
        double alpha = search->work.vector[i], by_noise = 0.5 * (alpha * alpha - search->work.A[i * (data.n + 1)]);
        gradient[fit->groups + 2] +=
            search->dlog[i] - alpha * search->dz[i] + by_noise * 2.0 * data.noise[i] * search->dlog[i];
    }
    return value + determinant;
}

/* Minus the log posterior density of theta. */
static double objective(void *arg, const double *theta, double *gradient)
{
    struct search *search = arg;
    double         value = gp_fit_prior(search->fit, theta, gradient);
    value += log_likelihood(search, theta, gradient); /* adds its gradient to the prior's */
    for (size_t i = 0; i < search->fit->groups + GP_SCALARS; i++)
        gradient[i] = -gradient[i];
    return -value;
}

static enum status search_init(struct search *search, struct arena *scratch, struct error *err)
{
    size_t n = search->data->n;
    TRY(gp_work_init(&search->work, scratch, n, err));
    search->length_scales = ARENA_NEW(scratch, double, search->fit->dims);
    search->gradient = ARENA_NEW(scratch, double, search->fit->dims + 2);
    search->z = ARENA_NEW(scratch, double, 4 * n);
    search->storage = ARENA_NEW(scratch, double, 3 * (search->fit->groups + GP_SCALARS));
    if (search->length_scales == NULL || search->gradient == NULL || search->z == NULL || search->storage == NULL)
        return error_no_memory(err);
    search->noise = search->z + n;
    search->dz = search->z + 2 * n;
    search->dlog = search->z + 3 * n;
    return STATUS_OK;
}

/* A search begins at warm; NULL: at the default. */
static void start_at(const struct gp_fit *fit, const double *warm, double *theta)
{
    gp_fit_default(fit, theta);
    if (warm != NULL)
        memcpy(theta, warm, (fit->groups + GP_SCALARS) * sizeof *theta);
    theta[fit->groups + 2] = fmax(theta[fit->groups + 2], warp_bound(fit));
}

static enum status search_all(struct search *search, const double *warm, double *theta, struct arena *scratch,
                              struct error *err)
{
    const struct gp_fit *fit = search->fit;
    size_t               len = fit->groups + GP_SCALARS;
    double *candidate = search->storage, *lower = candidate + len, *upper = lower + len, best = HUGE_VAL, value;
    for (size_t i = 0; i < len; i++) {
        lower[i] = priors[prior_of(fit, i)].lower;
        upper[i] = upper_bound(fit, i);
    }
    lower[len - 1] = warp_bound(fit);
    struct minimize problem = {.dims = len,
                               .lower = lower,
                               .upper = upper,
                               .function = objective,
                               .arg = search,
                               .evaluations = fit->evaluations,
                               .f_tolerance = F_TOLERANCE,
                               .x_tolerance = X_TOLERANCE,
                               .late = fit->late,
                               .late_arg = fit->late_arg};
    start_at(fit, warm, theta);
    const double *const starts[] = {warm, NULL}; /* NULL: the default */
    size_t              first = warm == NULL ? 1 : 0, after = warm == NULL || fit->from_default ? 2 : 1;
    for (size_t k = first; k < after; k++) {
        start_at(fit, starts[k], candidate);
        TRY(minimize_lbfgs(&problem, candidate, &value, scratch, err));
        if (value < best) {
            best = value;
            memcpy(theta, candidate, len * sizeof *theta);
        }
        if (fit->late != NULL && fit->late(fit->late_arg))
            break;
    }
    return STATUS_OK;
}

enum status gp_fit_run(const struct gp_fit *fit, const struct gp_data *data, const double *warm, double *theta,
                       struct arena *scratch, struct error *err)
{
    struct search     search = {.fit = fit, .data = data};
    struct arena_mark mark = arena_mark(scratch);
    enum status       status = search_init(&search, scratch, err);
    if (status == STATUS_OK)
        status = search_all(&search, warm, theta, scratch, err);
    arena_release(scratch, mark);
    return status;
}

enum status gp_fit_value(const struct gp_fit *fit, const struct gp_data *data, const double *theta, double *value,
                         struct arena *scratch, struct error *err)
{
    struct search     search = {.fit = fit, .data = data};
    struct arena_mark mark = arena_mark(scratch);
    enum status       status = search_init(&search, scratch, err);
    if (status == STATUS_OK)
        *value = -objective(&search, theta, search.storage);
    arena_release(scratch, mark);
    return status;
}
