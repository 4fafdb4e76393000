/* Answers of a model, in the units of the observations. */
#include "engine/surrogate/gp_insight.h"

#include "engine/surrogate/gp_local.h"
#include "engine/gp/gp_loo.h"

#include <math.h>
#include <stdlib.h>

enum status gp_insight_predict(const struct gp_model *model, const struct prediction *wanted, struct error *err)
{
    const double       *points = wanted->points;
    double             *mean = wanted->mean, *sd = wanted->sd, *observed = wanted->sd_observed;
    size_t              m = wanted->m;
    const struct space *space = model->space;
    struct arena_mark   mark = arena_mark(model->scratch);
    double             *U = arena_alloc(model->scratch, GP_CHUNK, space->dims * sizeof *U);
    if (U == NULL)
        return error_no_memory(err);
    for (size_t from = 0; from < m; from += GP_CHUNK) {
        size_t count = m - from < GP_CHUNK ? m - from : GP_CHUNK;
        for (size_t i = 0; i < count; i++)
            space_encode(space, points + (from + i) * space->params_len, U + i * space->dims);
        if (sd == NULL)
            TRY(gp_mean(model->gp, U, count, mean + from, model->scratch, err));
        else
            TRY(gp_posterior(model->gp, (struct points){U, count}, mean + from, sd + from, model->scratch, err));
        for (size_t i = from; i < from + count; i++) {
            double unused = 0.0, *scale = sd == NULL ? &unused : sd + i;
            *scale = sqrt(*scale);
            gp_model_units(model, mean + i, scale, observed == NULL ? NULL : observed + i);
        }
        if (sd != NULL && wanted->looks_near)
            gp_local_replace(model, (struct points){U, count}, mean + from, sd + from,
                             observed == NULL ? NULL : observed + from);
    }
    if (wanted->diagnostics != NULL)
        gp_insight_diagnose(model, wanted->diagnostics);
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static int by_trial(const void *a, const void *b)
{
    const struct residual *x = a, *y = b;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

enum status gp_insight_residuals(const struct gp_model *model, const struct ask *ask, struct arena *arena,
                                 struct residual **out, size_t *len, struct error *err)
{
    struct gp_values  values = {.at = model->z, .n = model->n};
    struct arena_mark mark = arena_mark(model->scratch);
    double           *mean = ARENA_NEW(model->scratch, double, model->n);
    double           *sd = ARENA_NEW(model->scratch, double, model->n);
    *out = ARENA_NEW(arena, struct residual, model->n);
    if (mean == NULL || sd == NULL || *out == NULL)
        return error_no_memory(err);
    if (ask != NULL)
        values.late = ask->late, values.late_arg = ask->late_arg;
    TRY(gp_loo(model->gp, values, mean, sd, model->scratch, err));
    *len = 0;
    for (size_t k = 0; k < model->n; k++) {
        const struct log_trial *trial = &model->log->trials[model->row[k]];
        double                  told = model->told == NULL ? trial->value : model->told->trials[model->row[k]].value;
        if (!log_trial_has_value(trial) || trial->state == LOG_FORECAST || gp_model_is_doubted(model, k))
            continue;
        double           z = (model->z[k] - mean[k]) / sd[k];
        double           slope = log(warp_slope(&model->warp, model->y[k]) / model->spread) - log(model->unit);
        struct residual *item = &(*out)[(*len)++];
        *item = (struct residual){.trial = trial->number,
                                  .value = told,
                                  .mean = mean[k],
                                  .sd = sqrt(fmax(sd[k] * sd[k] - gp_model_noise_at(model, k), 0.0)),
                                  .sd_observed = sd[k],
                                  .z = z,
                                  .log_density = gp_loo_log_density(z, sd[k]) + slope};
        gp_model_units(model, &item->mean, &item->sd, NULL);
        item->mean += told - trial->value; /* as of then */
        gp_model_units(model, &mean[k], &item->sd_observed, NULL);
    }
    qsort(*out, *len, sizeof **out, by_trial);
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

void gp_insight_diagnose(const struct gp_model *model, struct diagnostics *out)
{
    const struct gp   *gp = model->gp;
    const struct warp *warp = &model->warp;
    out->kernel = gp->kernel.kind->name;
    out->signal_variance = gp->kernel.variance;
    out->noise_variance = gp->noise_variance;
    out->jitter = gp->jitter;
    out->condition = gp_loo_condition(gp->L, gp->n, gp->capacity);
    out->drift = model->drift;
    out->now = model->now;
    out->from = model->from;
    out->values.unit = model->unit;
    out->values.centre = model->centre;
    out->values.spread = model->spread;
    out->values.top = warp->top;
    out->values.c = warp->c;
    out->values.warp_centre = warp->centre;
    out->values.warp_scale = warp->scale;
    out->doubted_above = model->above;
    out->doubted_below = model->below;
    for (size_t k = 0; k < model->n; k++)
        out->doubted += gp_model_is_doubted(model, k);
    for (size_t i = 0, j = 0; i < model->space->params_len; j += param_width(&model->space->params[i++]))
        out->length_scales[i] = gp->kernel.length_scales[j];
}
