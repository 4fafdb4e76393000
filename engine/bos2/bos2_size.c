/* The dimension loop of BOS2: which size is searched next. */
#include "engine/bos2/bos2.h"
#include "engine/gp/gp_fit.h"

#include <math.h>

enum { INPUTS = 2, EVALUATIONS = 60, HORIZON = 20 }; /* HORIZON: loops that the unit of time has */
static const double SQRT_BETA = 2.0;

struct sizes {
    const struct bos2_log      *log;
    const struct bos2_settings *settings;
    size_t                      n, trials;
    double                     *X, *y;
};

/* Side and time in units in which the model's priors make sense: the largest side is 1. */
static void place(const struct sizes *sizes, size_t size, double trials, double *x)
{
    const struct space  *space = sizes->log->space;
    const struct latent *latent = &space->latents[size], *largest = &space->latents[space->latents_len - 1];
    x[0] = sqrt((double)(latent->height * latent->width) / (double)(largest->height * largest->width));
    x[1] = trials / (double)(BOS2_INITIAL_SIZES * sizes->settings->initial + HORIZON * sizes->settings->steps);
}

static enum status collect(struct sizes *sizes, struct arena *scratch, struct error *err)
{
    size_t             len = sizes->log->log.len;
    struct bos2_tuple *tuples = ARENA_NEW(scratch, struct bos2_tuple, len + 1);
    sizes->X = ARENA_NEW(scratch, double, INPUTS *(len + 1));
    sizes->y = ARENA_NEW(scratch, double, len + 1);
    if (tuples == NULL || sizes->X == NULL || sizes->y == NULL)
        return error_no_memory(err);
    sizes->n = bos2_tuples(sizes->log, sizes->settings->initial, tuples, &sizes->trials);
    double unit = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = 0; i < sizes->n; i++) {
        place(sizes, tuples[i].size, tuples[i].trials, sizes->X + INPUTS * i);
        unit = fmax(unit, fabs(tuples[i].best));
    }
    for (size_t i = 0; i < sizes->n; i++) {
        sizes->y[i] = unit > 0.0 ? tuples[i].best / unit : 0.0;
        mean += sizes->y[i] / (double)sizes->n;
    }
    for (size_t i = 0; i < sizes->n; i++)
        square += (sizes->y[i] - mean) * (sizes->y[i] - mean) / (double)sizes->n;
    for (size_t i = 0; i < sizes->n; i++)
        sizes->y[i] = square > 0.0 ? (sizes->y[i] - mean) / sqrt(square) : 0.0;
    return STATUS_OK;
}

/* y becomes what the fitted warp makes of it. */
static enum status condition(const struct sizes *sizes, struct gp *gp, struct arena *scratch, struct error *err)
{
    static const size_t groups[INPUTS] = {0, 1};
    const struct gp_fit fit = {
        .kind = &kernel_matern52, .dims = INPUTS, .groups = INPUTS, .group_of = groups, .evaluations = EVALUATIONS};
    const struct gp_data data = {.n = sizes->n, .dims = INPUTS, .X = sizes->X, .y = sizes->y};
    double               theta[INPUTS + GP_SCALARS], length_scales[INPUTS], noise;
    struct kernel        kernel;
    struct warp          warp;
    TRY(gp_fit_run(&fit, &data, NULL, theta, scratch, err));
    warp_make(&warp, sizes->y, sizes->n, theta[INPUTS + 2]);
    for (size_t i = 0; i < sizes->n; i++)
        sizes->y[i] = warp_value(&warp, sizes->y[i]);
    gp_fit_expand(&fit, theta, length_scales, &kernel, &noise);
    TRY(gp_init(gp, scratch, &kernel, noise, sizes->n, err));
    TRY(gp_set_points(gp, sizes->X, NULL, sizes->n, err));
    return gp_set_values(gp, sizes->y, err);
}

static enum status choose(struct sizes *sizes, size_t *size, struct arena *scratch, struct error *err)
{
    struct gp gp;
    double    best = -HUGE_VAL;
    TRY(collect(sizes, scratch, err));
    if (sizes->n == 0)
        return STATUS_OK;
    TRY(condition(sizes, &gp, scratch, err));
    for (size_t s = 0; s < sizes->log->space->latents_len; s++) {
        double x[INPUTS], mean, var;
        place(sizes, s, (double)(sizes->trials + sizes->settings->steps), x);
        TRY(gp_posterior(&gp, (struct points){x, 1}, &mean, &var, scratch, err));
        double value = mean + SQRT_BETA * sqrt(var);
        if (value > best) {
            best = value;
            *size = s;
        }
    }
    return STATUS_OK;
}

enum status bos2_choose_size(const struct bos2_log *log, const struct bos2_settings *settings, size_t *size,
                             struct arena *scratch, struct error *err)
{
    struct sizes      sizes = {.log = log, .settings = settings};
    struct arena_mark mark = arena_mark(scratch);
    *size = 0;
    if (log->space->latents_len == 1)
        return STATUS_OK;
    enum status status = choose(&sizes, size, scratch, err);
    arena_release(scratch, mark);
    return status == STATUS_NUMERIC ? STATUS_OK : status;
}
