/* A textbook rival: a Gaussian process with a Matern 5/2 kernel, values standardised, one length-scale for each coordinate
 * under the prior log l ~ N(sqrt 2 + log(d) / 2, 3) (Hvarfner, Hellsten & Nardi 2024), the maximum a posteriori from two
 * starts, log expected improvement everywhere.  First points as gp's.  It shares the kernel, the likelihood and the search of
 * points with the engine, and nothing that decides where a trial goes. */
#ifndef GNOMON_TESTS_BENCH_OUTSIDE_PLAIN_H
#define GNOMON_TESTS_BENCH_OUTSIDE_PLAIN_H

#include "engine/acquisition/acq.h"
#include "engine/acquisition/acq_search.h"
#include "engine/gp/gp.h"
#include "engine/math/minimize.h"
#include "engine/math/sobol.h"
#include "tests/bench/outside_worlds.h"

enum { PLAIN_ROWS = 400, PLAIN_STARTS = 4, PLAIN_SAMPLES = 1000, PLAIN_EVALUATIONS = 60, PLAIN_FIT = 100 };

struct plain {
    const struct space *space;
    uint64_t            seed;
    struct arena        kept, scratch;
    struct used_points  used;
    size_t              n;
    double              X[PLAIN_ROWS * WORLD_DIMS], points[PLAIN_ROWS * WORLD_PARAMS], y[PLAIN_ROWS];
    double              theta[WORLD_DIMS + 2], standard[PLAIN_ROWS];
    struct gp_work      work;
    struct gp           gp;
    double              best, centre, sd, *slopes;
};

static void plain_must(enum status status)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "plain: status %d\n", (int)status);
    exit(2);
}

static void plain_open(struct plain *plain, const struct space *space, uint64_t seed)
{
    plain->space = space;
    plain->seed = seed;
    plain->n = 0;
    arena_init(&plain->kept, 1 << 28);
    used_points_init(&plain->used, &plain->kept, space, false);
    for (size_t j = 0; j < space->dims + 2; j++)
        plain->theta[j] = j < space->dims ? log(0.5) + 0.5 * log((double)space->dims) : j == space->dims ? 0 : -9;
}

static void plain_close(struct plain *plain)
{
    arena_fini(&plain->kept);
}

/* Minus the log posterior density; theta: log length-scales, log variance, log noise. */
static double plain_objective(void *arg, const double *theta, double *gradient)
{
    struct plain *plain = arg;
    size_t        d = plain->space->dims;
    double        lengths[WORLD_DIMS], value, sum = 0;
    for (size_t j = 0; j < d; j++)
        lengths[j] = exp(theta[j]);
    const struct kernel kernel = {
        .kind = &kernel_matern52, .dims = d, .variance = exp(theta[d]), .length_scales = lengths};
    const struct gp_data data = {.n = plain->n, .dims = d, .X = plain->X, .y = plain->standard};
    if (gp_likelihood(&data, &kernel, exp(theta[d + 1]), &plain->work, &value, gradient) != STATUS_OK)
        return NAN;
    for (size_t j = 0; j < d + 2; j++) {
        double mean = j < d ? sqrt(2) + 0.5 * log((double)d) : j == d ? 0 : -8, sd = j < d ? sqrt(3) : j == d ? 1 : 4;
        sum += 0.5 * square((theta[j] - mean) / sd);
        gradient[j] = -(gradient[j] - (theta[j] - mean) / sd / sd);
    }
    return sum - value;
}

static void plain_fit(struct plain *plain)
{
    size_t d = plain->space->dims;
    double lower[WORLD_DIMS + 2], upper[WORLD_DIMS + 2], start[WORLD_DIMS + 2], value, best = HUGE_VAL;
    for (size_t j = 0; j < d + 2; j++) {
        lower[j] = j < d ? -5 : j == d ? -5 : -18;
        upper[j] = j < d ? 5 : j == d ? 5 : 1;
    }
    const struct minimize problem = {.dims = d + 2,
                                     .lower = lower,
                                     .upper = upper,
                                     .function = plain_objective,
                                     .arg = plain,
                                     .evaluations = PLAIN_FIT,
                                     .f_tolerance = 1e-6,
                                     .x_tolerance = 1e-4};
    double                found[WORLD_DIMS + 2];
    memcpy(found, plain->theta, sizeof found);
    for (int k = 0; k < 2; k++) {
        memcpy(start, plain->theta, sizeof start);
        for (size_t j = 0; k == 1 && j < d + 2; j++)
            start[j] = j < d ? log(0.5) + 0.5 * log((double)d) : j == d ? 0 : -9;
        plain_must(minimize_lbfgs(&problem, start, &value, &plain->scratch, NULL));
        if (value < best) {
            best = value;
            memcpy(found, start, sizeof found);
        }
    }
    memcpy(plain->theta, found, sizeof found);
}

static enum status plain_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct plain     *plain = arg;
    const struct acq  acq = {.kind = ACQ_LOG_EI, .best = plain->best};
    struct arena_mark mark = arena_mark(&plain->scratch);
    double           *mean = ARENA_NEW(&plain->scratch, double, m), dmean, dsd;
    plain_must(gp_posterior(&plain->gp, (struct points){U, m}, mean, out, &plain->scratch, err));
    for (size_t k = 0; k < m; k++)
        out[k] = acq_value(&acq, mean[k], acq_sd(out[k]), &dmean, &dsd);
    arena_release(&plain->scratch, mark);
    return STATUS_OK;
}

static double plain_slope(void *arg, const double *u, double *gradient)
{
    struct plain    *plain = arg;
    const struct acq acq = {.kind = ACQ_LOG_EI, .best = plain->best};
    size_t           d = plain->space->dims;
    struct gp_slope  at = {.dmean = plain->slopes + 3 * plain->n, .dvar = plain->slopes + 3 * plain->n + d};
    double           dmean, dsd;
    gp_gradient(&plain->gp, u, plain->slopes, &at);
    double value = acq_value(&acq, at.mean, acq_sd(at.var), &dmean, &dsd);
    memset(gradient, 0, d * sizeof *gradient);
    acq_add_gradient(&at, d, dmean, dsd, gradient);
    return value;
}

/* Values become standard ones, the larger the better, and the model is fitted to them; anchors: the best trials. */
static void plain_model(struct plain *plain, double *anchors, size_t *anchors_len)
{
    double sum = 0, squares = 0, count = 0, worst = -HUGE_VAL, lengths[WORLD_DIMS], mean[PLAIN_ROWS], var[PLAIN_ROWS];
    size_t d = plain->space->dims;
    for (size_t i = 0; i < plain->n; i++)
        if (!isnan(plain->y[i])) {
            sum += plain->y[i];
            squares += plain->y[i] * plain->y[i];
            count++;
            worst = fmax(worst, plain->y[i]);
        }
    double centre = count > 0 ? sum / count : 0, sd = count > 0 ? sqrt(fmax(squares / count - centre * centre, 0)) : 0;
    plain->centre = centre;
    plain->sd = sd > 0 ? sd : 1;
    for (size_t i = 0; i < plain->n; i++)
        plain->standard[i] = (centre - (isnan(plain->y[i]) ? worst : plain->y[i])) / plain->sd;
    plain_must(gp_work_init(&plain->work, &plain->scratch, plain->n, NULL));
    plain_fit(plain);
    for (size_t j = 0; j < d; j++)
        lengths[j] = exp(plain->theta[j]);
    const struct kernel kernel = {
        .kind = &kernel_matern52, .dims = d, .variance = exp(plain->theta[d]), .length_scales = lengths};
    plain_must(gp_init(&plain->gp, &plain->scratch, &kernel, exp(plain->theta[d + 1]), plain->n, NULL));
    plain_must(gp_set_points_raised(&plain->gp, plain->X, NULL, plain->n, NULL));
    plain_must(gp_set_values(&plain->gp, plain->standard, NULL));
    plain_must(gp_posterior(&plain->gp, (struct points){plain->X, plain->n}, mean, var, &plain->scratch, NULL));
    plain->best = -HUGE_VAL;
    for (size_t i = 0; i < plain->n; i++)
        plain->best = isnan(plain->y[i]) ? plain->best : fmax(plain->best, mean[i]);
    for (*anchors_len = 0; *anchors_len < 5 && *anchors_len < plain->n; ++*anchors_len) {
        size_t at = 0;
        for (size_t i = 1; i < plain->n; i++)
            at = mean[i] > mean[at] ? i : at;
        memcpy(anchors + *anchors_len * plain->space->params_len, plain->points + at * plain->space->params_len,
               plain->space->params_len * sizeof *anchors);
        mean[at] = -HUGE_VAL;
    }
}

/* Whether the trial is one of the first, which are Sobol points. */
static bool plain_first(struct plain *plain, uint64_t trial, double *point)
{
    double unit[WORLD_PARAMS];
    size_t len = plain->space->params_len;
    if (trial > (2 * len + 2 < 8 ? 2 * len + 2 : 8))
        return false;
    sobol_start(plain->seed, trial, len, unit);
    (void)space_quantile(plain->space, unit, point);
    if (!used_points_find(&plain->used, plain->space, point))
        plain_must(STATUS_CONFLICT);
    return true;
}

static struct acq_search plain_search(struct plain *plain, uint64_t trial)
{
    return (struct acq_search){.space = plain->space,
                               .used = &plain->used,
                               .seed = plain->seed,
                               .trial = trial,
                               .samples = PLAIN_SAMPLES,
                               .starts = PLAIN_STARTS,
                               .evaluations = PLAIN_EVALUATIONS,
                               .scores = plain_scores,
                               .slope = plain_slope,
                               .arg = plain};
}

static inline void plain_ask(struct plain *plain, uint64_t trial, double *point)
{
    double            anchors[5 * WORLD_PARAMS];
    struct acq_search search = plain_search(plain, trial);
    if (plain_first(plain, trial, point))
        return;
    arena_init(&plain->scratch, 1 << 28);
    plain_model(plain, anchors, &search.anchors_len);
    search.anchors = anchors;
    plain->slopes = ARENA_NEW(&plain->scratch, double, 3 * plain->n + 2 * plain->space->dims);
    plain_must(acq_search_run(&search, point, &plain->scratch, NULL));
    arena_fini(&plain->scratch);
}

/* value: NAN of an infeasible trial. */
static void plain_tell(struct plain *plain, const double *point, double value)
{
    space_encode(plain->space, point, plain->X + plain->n * plain->space->dims);
    memcpy(plain->points + plain->n * plain->space->params_len, point, plain->space->params_len * sizeof *point);
    plain->y[plain->n++] = value;
    plain_must(used_points_add(&plain->used, point, NULL));
}

#endif
