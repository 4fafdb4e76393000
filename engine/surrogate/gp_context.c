/* See gp_context.h. */
#include "engine/surrogate/gp_context.h"

#include <math.h>
#include <string.h>

/* Parameters that a held value brings into being get their middle value. */
void gp_context_move(const struct space *view, double *point)
{
    for (size_t i = 0; i < view->params_len; i++)
        if (isnan(point[i]))
            point[i] = param_quantile(&view->params[i], 0.5);
    space_settle(view, NULL, point);
}

enum status gp_context_means(const struct gp_model *model, const struct space *view, double *mean, struct error *err)
{
    struct gp         settled = gp_model_settled(model);
    struct arena_mark mark = arena_mark(model->scratch);
    size_t            len = view->params_len, dims = view->dims;
    double           *point = ARENA_NEW(model->scratch, double, len);
    double           *U = arena_alloc(model->scratch, model->n, dims * sizeof *U);
    if (U == NULL || point == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < model->n; k++) {
        memcpy(point, trial_log_point(model->log, model->row[k]), len * sizeof *point);
        gp_context_move(view, point);
        space_encode(view, point, U + k * dims);
    }
    TRY(gp_mean(&settled, U, model->n, mean, model->scratch, err));
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

enum status gp_context_set(struct gp_model *model, const struct space *view, struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    double           *mean = ARENA_NEW(model->scratch, double, model->n);
    if (mean == NULL)
        return error_no_memory(err);
    TRY(gp_context_means(model, view, mean, err));
    model->anchors.len = 0;
    for (size_t k = 0; k < model->n; k++)
        if (model->log->trials[model->row[k]].state == LOG_OBSERVED)
            gp_anchors_keep(&model->anchors, model->row[k], gp_model_worth(model, mean[k]));
    model->best = model->anchors.key[0];
    arena_release(model->scratch, mark);
    return STATUS_OK;
}
