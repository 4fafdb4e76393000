/* See gp_elsewhere.h. */
#include "engine/bo/gp_elsewhere.h"

#include "engine/bo/gp_bound.h"
#include "engine/bo/gp_schedule.h"

#include <math.h>

enum { WAIT = 2, WAIT_NOISY = 2, SECOND_EVERY = 3 };
static const double NEAR = 0.1, APART = 0.5; /* of every range: what is near the best, what is another basin */
static const double SHARE = 1.5;             /* trials elsewhere for each one near */

static double apart(const double *a, const double *b, size_t dims)
{
    double most = 0.0;
    for (size_t j = 0; j < dims; j++)
        most = fmax(most, fabs(a[j] - b[j]));
    return most;
}

static size_t row_of(const struct gp_model *model, size_t place)
{
    size_t k = 0;
    while (k + 1 < model->n && model->row[k] != place)
        k++;
    return k;
}

/* Whether row k lies near the best and is as good, but for a gain that is not worth a trial. */
static bool is_as_good(const struct gp_model *model, const double *centre, size_t k)
{
    size_t dims = model->gp->kernel.dims;
    double best = model->anchors.key[0], mean = model->z[k] - gp_model_noise_at(model, k) * model->alpha[k];
    return apart(model->X + k * dims, centre, dims) <= NEAR &&
           !gp_schedule_is_worth(warp_inverse(&model->warp, best) - warp_inverse(&model->warp, mean));
}

struct gp_elsewhere gp_elsewhere_count(const struct gp_model *model)
{
    const struct gp    *gp = model->gp;
    size_t              dims = gp->kernel.dims, best = row_of(model, model->anchors.place[0]), k = 0;
    struct gp_elsewhere out = {.centre = model->X + best * dims};
    while (k < best && !is_as_good(model, out.centre, k))
        k++;
    while (++k < gp->n) {
        bool is_near = apart(gp->X + k * dims, out.centre, dims) <= NEAR;
        out.misses += is_near && k < model->n;
        out.near += is_near;
        out.away += !is_near;
    }
    return out;
}

bool gp_elsewhere_is_due(const struct gp_elsewhere *counts, const struct gp_model *model)
{
    size_t wait = (model->space->params_len + WAIT) * (gp_bound_is_noisy(model) ? WAIT_NOISY : 1);
    return counts->misses >= wait && (double)counts->away <= SHARE * (double)(counts->near - wait);
}

bool gp_elsewhere_second(const struct gp_elsewhere *counts, const struct gp_model *model, struct gp_anchors *second,
                         double *box)
{
    size_t dims = model->space->dims;
    double best = -HUGE_VAL;
    second->len = 0;
    for (size_t k = 0; k < model->n; k++) {
        const double *u = model->X + k * dims;
        if (apart(u, counts->centre, dims) <= APART || model->z[k] <= best)
            continue;
        *second = (struct gp_anchors){.len = 1, .place = {model->row[k]}, .key = {best = model->z[k]}};
        for (size_t j = 0; j < dims; j++) {
            box[j] = fmax(u[j] - 0.5 * APART, 0.0);
            box[dims + j] = fmin(u[j] + 0.5 * APART, 1.0);
        }
    }
    return second->len > 0 && counts->away % SECOND_EVERY == SECOND_EVERY - 1;
}

enum status gp_elsewhere_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    const struct gp_model *model = arg;
    const struct gp       *gp = model->gp;
    size_t                 dims = gp->kernel.dims;
    (void)err;
    for (size_t i = 0; i < m; i++) {
        out[i] = HUGE_VAL;
        for (size_t k = 0; k < gp->n; k++) {
            double sum = 0.0;
            for (size_t j = 0; j < dims; j++)
                sum += (U[i * dims + j] - gp->X[k * dims + j]) * (U[i * dims + j] - gp->X[k * dims + j]);
            out[i] = fmin(out[i], sum);
        }
    }
    return STATUS_OK;
}
