/* See gp_gain.h. */
#include "engine/surrogate/gp_gain.h"

#include "engine/gp/gp_loo.h"

#include <float.h>
#include <math.h>

enum { ROWS = 256 };
static const double PRIOR = 5.0;   /* values */
static const double DISTANT = 0.1; /* what an improvement far away is worth */

/* Column j of the inverse of the factor is 0 above row j: the last columns need nothing of what is above. */
enum status gp_gain_trust(const struct gp_model *model, double *trust, struct error *err)
{
    const struct gp  *gp = model->gp;
    struct arena_mark mark = arena_mark(model->scratch);
    size_t            first = model->n > ROWS ? model->n - ROWS : 0, n = model->n - first;
    double           *inverse = ARENA_NEW(model->scratch, double, n), sum = PRIOR, count = PRIOR;
    if (inverse == NULL)
        return error_no_memory(err);
    const struct gp_factor factor = {.L = gp->L + first * gp->capacity + first, .n = n, .ld = gp->capacity};
    TRY(gp_loo_diagonal(&factor, inverse, model->scratch, err));
    for (size_t i = 0; i < n; i++) {
        if (model->log->trials[model->row[first + i]].state != LOG_OBSERVED)
            continue;
        double alpha = model->alpha[first + i];
        sum += alpha * alpha / inverse[i];
        count += 1.0;
    }
    arena_release(model->scratch, mark);
    *trust = sqrt(sum / count);
    return isfinite(*trust) ? STATUS_OK : error_set(err, STATUS_NUMERIC, "not_finite", "", "a residual is not finite");
}

enum status gp_gain_view(const struct gp_model *model, double trust, struct gp *view, struct error *err)
{
    *view = gp_model_settled(model);
    view->alpha = ARENA_NEW(model->scratch, double, view->n);
    if (view->alpha == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < view->n; i++)
        view->alpha[i] = model->alpha[i] / trust;
    return STATUS_OK;
}

static bool is_in_box(const struct gp_gain_found *found, size_t dims)
{
    for (size_t j = 0; j < dims; j++)
        if (found->u[j] < found->box[j] || found->u[j] > found->box[dims + j])
            return false;
    return true;
}

double gp_gain_of(const struct gp_gain_found *found, size_t dims)
{
    return fmax(found->near, found->far + (is_in_box(found, dims) ? 0.0 : log(DISTANT)));
}

double gp_gain_units(const struct gp_model *model, double best, double difference)
{
    double slope = warp_slope(&model->warp, warp_inverse(&model->warp, best));
    return fmin(model->spread * (difference / slope) * model->unit, DBL_MAX);
}
