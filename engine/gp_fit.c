/* MAP estimation of the hyper-parameters.  It never fails for numerical reasons: a start that cannot be evaluated is
 * passed over, and the start values themselves are the last resort. */
#include "engine/gp_fit.h"

#include "engine/minimize.h"

#include <math.h>
#include <string.h>

enum { LENGTH_SCALE, VARIANCE, NOISE };

/* Log-normal priors (mean and sd of the logarithm) and the box of the search, in logarithms. */
static const struct prior {
    double mean, sd, lower, upper, start;
} priors[] = {
    [LENGTH_SCALE] = {1.4142135623730951, 1.7320508075688772, -5.3, 6.9, -0.7}, /* mean and start + log(groups) / 2 */
    [VARIANCE] = {1.0, 2.5, -6.9, 6.9, 0.0},
    [NOISE] = {-11.0, 3.0, -18.4, 0.7, -9.2},
};

static size_t prior_of(const struct gp_fit *fit, size_t i)
{
    return i < fit->groups ? LENGTH_SCALE : i == fit->groups ? VARIANCE : NOISE;
}

static double shift(const struct gp_fit *fit, size_t i)
{
    return i < fit->groups ? 0.5 * log((double)fit->groups) : 0.0;
}

void gp_fit_default(const struct gp_fit *fit, double *theta)
{
    for (size_t i = 0; i < fit->groups + 2; i++)
        theta[i] = priors[prior_of(fit, i)].start + shift(fit, i);
}

double gp_fit_prior(const struct gp_fit *fit, const double *theta, double *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < fit->groups + 2; i++) {
        const struct prior *prior = &priors[prior_of(fit, i)];
        double              z = (theta[i] - prior->mean - shift(fit, i)) / prior->sd;
        sum -= 0.5 * z * z + log(prior->sd) + 0.91893853320467274 + theta[i];
        if (gradient != NULL)
            gradient[i] = -z / prior->sd - 1.0;
    }
    return sum;
}

bool gp_fit_allows(const struct gp_fit *fit, const double *theta)
{
    for (size_t i = 0; i < fit->groups + 2; i++)
        if (!(theta[i] >= priors[prior_of(fit, i)].lower && theta[i] <= priors[prior_of(fit, i)].upper))
            return false;
    return true;
}

void gp_fit_expand(const struct gp_fit *fit, const double *theta, double *length_scales, struct kernel *kernel,
                   double *noise_variance)
{
    for (size_t j = 0; j < fit->dims; j++)
        length_scales[j] = exp(theta[fit->group_of[j]]);
    *kernel = (struct kernel){fit->kind, fit->dims, exp(theta[fit->groups]), length_scales};
    *noise_variance = exp(theta[fit->groups + 1]);
}

struct search {
    const struct gp_fit  *fit;
    const struct gp_data *data;
    struct gp_work        work;
    double               *length_scales, *gradient; /* [dims], [dims + 2] */
};

/* Minus the log posterior density of theta. */
static double objective(void *arg, const double *theta, double *gradient)
{
    struct search       *search = arg;
    const struct gp_fit *fit = search->fit;
    struct kernel        kernel;
    double               noise_variance, value;
    gp_fit_expand(fit, theta, search->length_scales, &kernel, &noise_variance);
    if (gp_likelihood(search->data, &kernel, noise_variance, &search->work, &value, search->gradient) != STATUS_OK)
        return NAN;
    value += gp_fit_prior(fit, theta, gradient);
    for (size_t j = 0; j < fit->dims; j++)
        gradient[fit->group_of[j]] += search->gradient[j];
    gradient[fit->groups] += search->gradient[fit->dims];
    gradient[fit->groups + 1] += search->gradient[fit->dims + 1];
    for (size_t i = 0; i < fit->groups + 2; i++)
        gradient[i] = -gradient[i];
    return -value;
}

static enum status search_init(struct search *search, struct arena *scratch, struct error *err)
{
    TRY(gp_work_init(&search->work, scratch, search->data->n, err));
    search->length_scales = ARENA_NEW(scratch, double, search->fit->dims);
    search->gradient = ARENA_NEW(scratch, double, search->fit->dims + 2);
    if (search->length_scales == NULL || search->gradient == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "no memory for the fit");
    return STATUS_OK;
}

/* Searches from the default and from warm; candidate and bounds are [3][groups + 2] of storage. */
static enum status search_both(struct search *search, const double *warm, double *theta, double *storage,
                               struct arena *scratch, struct error *err)
{
    const struct gp_fit *fit = search->fit;
    size_t               len = fit->groups + 2;
    double              *candidate = storage, *lower = storage + len, *upper = storage + 2 * len, best = HUGE_VAL;
    for (size_t i = 0; i < len; i++) {
        lower[i] = priors[prior_of(fit, i)].lower;
        upper[i] = priors[prior_of(fit, i)].upper;
    }
    struct minimize problem = {.dims = len,
                               .lower = lower,
                               .upper = upper,
                               .function = objective,
                               .arg = search,
                               .evaluations = fit->evaluations,
                               .f_tolerance = 1e-6,
                               .x_tolerance = 1e-4,
                               .late = fit->late,
                               .late_arg = fit->late_arg};
    gp_fit_default(fit, theta);
    if (warm != NULL)
        memcpy(theta, warm, len * sizeof *theta);
    for (int start = warm == NULL ? 1 : 0; start < 2; start++) {
        double value;
        if (start == 0)
            memcpy(candidate, warm, len * sizeof *candidate);
        else
            gp_fit_default(fit, candidate);
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
    double           *storage = ARENA_NEW(scratch, double, 3 * (fit->groups + 2));
    enum status       status = search_init(&search, scratch, err);
    if (status == STATUS_OK && storage == NULL)
        status = error_set(err, STATUS_NO_MEMORY, "no_memory", "", "no memory for the fit");
    if (status == STATUS_OK)
        status = search_both(&search, warm, theta, storage, scratch, err);
    arena_release(scratch, mark);
    return status;
}
