/* See transfer_task.h. */
#include "engine/transfer/transfer_task.h"

#include <math.h>

static const double SD_MIN = 1e-12; /* of z; keeps logarithms finite at observed points */

enum status transfer_task_fit(struct transfer_task *task, const struct transfer_model *model, const double *warm,
                              struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    size_t            dims = model->fit.dims, n = task->n < TRANSFER_TASK_FIT_ROWS ? task->n : TRANSFER_TASK_FIT_ROWS;
    double           *X = arena_alloc(scratch, n, dims * sizeof *X), *z = ARENA_NEW(scratch, double, n);
    if (X == NULL || z == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t i = k * task->n / n;
        z[k] = task->z[i];
        for (size_t j = 0; j < dims; j++)
            X[k * dims + j] = task->X[i * dims + j] / model->unit;
    }
    struct gp_data data = {.n = n, .dims = dims, .X = X, .y = z};
    TRY(gp_fit_run(&model->fit, &data, warm, task->theta, scratch, err));
    arena_release(scratch, mark);
    for (size_t i = 0; i < model->fit.groups + GP_SCALARS; i++)
        task->theta[i] = (double)(float)task->theta[i];
    task->has_theta = true;
    return STATUS_OK;
}

enum status transfer_task_ready(struct transfer_task *task, const struct transfer_model *model, size_t room,
                                struct arena *arena, struct error *err)
{
    size_t        dims = model->fit.dims;
    double       *length_scales = ARENA_NEW(arena, double, dims), noise;
    struct kernel kernel;
    if (length_scales == NULL)
        return error_no_memory(err);
    gp_fit_expand(&model->fit, task->theta, length_scales, &kernel, &noise);
    for (size_t j = 0; j < dims; j++)
        length_scales[j] *= task->lacks != NULL && task->lacks[j] ? HUGE_VAL : model->unit;
    TRY(gp_init(&task->gp, arena, &kernel, noise, room, err));
    enum status status = gp_set_points_raised(&task->gp, task->X, task->noise, task->n, err);
    if (status == STATUS_OK)
        status = gp_set_values(&task->gp, task->z, err);
    if (status == STATUS_NO_MEMORY)
        return status;
    task->is_ready = true;
    task->is_broken = status != STATUS_OK;
    return STATUS_OK;
}

enum status transfer_task_posterior(const struct transfer_task *task, struct points U, double *mean, double *sd,
                                    struct arena *scratch, struct error *err)
{
    if (task->gp.n > 0)
        TRY(gp_posterior(&task->gp, U, mean, sd, scratch, err));
    for (size_t k = 0; k < U.n && task->gp.n == 0; k++) {
        mean[k] = 0.0;
        sd[k] = task->gp.kernel.variance;
    }
    for (size_t k = 0; k < U.n; k++) {
        mean[k] = task->shift + task->scale * mean[k];
        sd[k] = task->scale * (sqrt(sd[k]) + SD_MIN);
    }
    return STATUS_OK;
}

double transfer_task_slope(const struct transfer_task *task, const double *u, double *work, struct gp_slope *out)
{
    size_t dims = task->gp.kernel.dims;
    if (task->gp.n > 0)
        gp_gradient(&task->gp, u, work, out);
    for (size_t j = 0; j < dims && task->gp.n == 0; j++) {
        out->mean = out->dmean[j] = out->dvar[j] = 0.0;
        out->var = task->gp.kernel.variance;
    }
    double root = sqrt(out->var), sd = task->scale * (root + SD_MIN);
    out->mean = task->shift + task->scale * out->mean;
    for (size_t j = 0; j < dims; j++) {
        out->dmean[j] *= task->scale;
        out->dvar[j] *= root > 0.0 ? task->scale / (2.0 * root) : 0.0;
    }
    return sd;
}
