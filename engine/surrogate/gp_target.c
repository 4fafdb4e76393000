/* See gp_target.h. */
#include "engine/surrogate/gp_target.h"

#include <math.h>
#include <string.h>

static const double NOISE_TRACE = 1e-6; /* of variance 1 */

double gp_target_noise_sd(const struct gp_model *model)
{
    return sqrt(fmax(model->gp->noise_variance - NOISE_TRACE, 0.0));
}

struct acq gp_target_log_ei(const struct gp_model *model)
{
    return (struct acq){.kind = ACQ_LOG_EI,
                        .best = model->best,
                        .noise_sd = gp_target_noise_sd(model),
                        .band = model->band,
                        .is_banded = !isnan(model->band.low)};
}

enum status gp_target_init(struct gp_target *target, struct error *err)
{
    const struct gp *gp = target->model->gp;
    target->work = ARENA_NEW(target->model->scratch, double, 3 * gp->n + 2 * gp->kernel.dims);
    return target->work == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status gp_target_keep(struct gp_target *target, struct error *err)
{
    struct arena *scratch = target->model->scratch;
    size_t        dims = target->model->gp->kernel.dims;
    while (target->kept_len < sizeof target->kept / sizeof *target->kept) {
        double *room = arena_alloc(scratch, GP_CHUNK, (dims + 2) * sizeof *room);
        if (room == NULL)
            return error_no_memory(err);
        target->kept[target->kept_len++] =
            (struct gp_forecasts){.mean = room, .var = room + GP_CHUNK, .U = room + (size_t)2 * GP_CHUNK};
    }
    return STATUS_OK;
}

/* Bits depend on the chunk in which a point is forecast, so whole chunks are compared. */
static enum status forecast(struct gp_target *target, struct points Z, double *mean, double *var, struct error *err)
{
    const struct gp_model *model = target->model;
    struct gp_forecasts   *kept = target->kept + target->next;
    size_t                 bytes = Z.n * sizeof *mean, places = bytes * model->gp->kernel.dims;
    if (target->next == target->kept_len || Z.n > GP_CHUNK)
        return gp_posterior(model->gp, Z, mean, var, model->scratch, err);
    if (kept->n == Z.n && memcmp(kept->U, Z.at, places) == 0) {
        memcpy(mean, kept->mean, bytes);
        memcpy(var, kept->var, bytes);
        target->next++;
        return STATUS_OK;
    }
    TRY(gp_posterior(model->gp, Z, mean, var, model->scratch, err));
    if (kept->n == 0) {
        memcpy(kept->mean, mean, bytes);
        memcpy(kept->var, var, bytes);
        memcpy(kept->U, Z.at, places);
        kept->n = Z.n;
        target->next++;
    }
    return STATUS_OK;
}

enum status gp_target_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct gp_target *target = arg;
    struct gp_model  *model = target->model;
    struct arena_mark mark = arena_mark(model->scratch);
    if (target->acq.kind == ACQ_THOMPSON)
        return acq_thompson(model->gp, (struct points){U, m}, &target->rng, out, model->scratch, err);
    double *mean = ARENA_NEW(model->scratch, double, m), dmean, dsd;
    if (mean == NULL)
        return error_no_memory(err);
    TRY(forecast(target, (struct points){U, m}, mean, out, err));
    for (size_t k = 0; k < m; k++)
        out[k] = acq_value(&target->acq, mean[k], acq_sd(out[k]), &dmean, &dsd);
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

double gp_target_slope(void *arg, const double *u, double *gradient)
{
    struct gp_target *target = arg;
    const struct gp  *gp = target->model->gp;
    size_t            dims = gp->kernel.dims;
    struct gp_slope   at = {.dmean = target->work + 3 * gp->n, .dvar = target->work + 3 * gp->n + dims};
    double            dmean, dsd;
    gp_gradient(gp, u, target->work, &at);
    double value = acq_value(&target->acq, at.mean, acq_sd(at.var), &dmean, &dsd);
    memset(gradient, 0, dims * sizeof *gradient);
    acq_add_gradient(&at, dims, dmean, dsd, gradient);
    return value;
}
