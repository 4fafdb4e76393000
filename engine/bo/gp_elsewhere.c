/* See gp_elsewhere.h. */
#include "engine/bo/gp_elsewhere.h"

#include "engine/bo/gp_bound.h"
#include "engine/bo/gp_schedule.h"

#include <math.h>

enum { WAIT = 2, WAIT_NOISY = 2, SECOND_EVERY = 3 };
static const double NEAR = 0.1, APART = 0.5; /* of every range: what is near the best, what is another basin */
static const double KNOWN = 0.01;            /* of the cube's side: what is as good as tried */
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

/* gp_model_mean_at without the values drawn for pending trials. */
static double mean_at(const struct gp_model *model, size_t k)
{
    return model->z[k] - gp_model_noise_at(model, k) * model->alpha[k];
}

/* Whether row k lies near the best and is as good, but for a gain that is not worth a trial. */
static bool is_as_good(const struct gp_model *model, const double *centre, size_t k)
{
    size_t dims = model->gp->kernel.dims;
    double best = warp_inverse(&model->warp, model->anchors.key[0]);
    return apart(model->X + k * dims, centre, dims) <= NEAR &&
           !gp_schedule_is_worth(best - warp_inverse(&model->warp, mean_at(model, k)));
}

struct gp_elsewhere gp_elsewhere_count(const struct gp_model *model)
{
    const struct gp    *gp = model->gp;
    size_t              dims = gp->kernel.dims, best = row_of(model, model->anchors.place[0]), k = 0;
    struct gp_elsewhere out = {.centre = model->X + best * dims};
    while (k < best && !is_as_good(model, out.centre, k))
        k++;
    while (++k < gp->n) {
        bool is_near = apart(gp->X + k * dims, out.centre, dims) <= NEAR,
             has_failed = k >= model->n && k < model->settled;
        out.misses += is_near && k < model->n;
        out.near += is_near && !has_failed;
        out.away += !is_near && !has_failed;
    }
    return out;
}

bool gp_elsewhere_is_due(const struct gp_elsewhere *counts, const struct gp_model *model)
{
    bool   is_whole = model->skipped + model->n == trial_log_finished(model->log);
    size_t wait = (model->space->params_len + WAIT) * (gp_bound_is_noisy(model) ? WAIT_NOISY : 1);
    return is_whole && counts->misses >= wait && (double)counts->away <= SHARE * (double)(counts->near - wait);
}

static bool may_be_second(const struct gp_elsewhere *counts, const struct gp_model *model, size_t k)
{
    size_t dims = model->space->dims;
    return model->log->trials[model->row[k]].state == LOG_OBSERVED && !gp_model_is_doubted(model, k) &&
           apart(model->X + k * dims, counts->centre, dims) > APART;
}

bool gp_elsewhere_second(const struct gp_elsewhere *counts, const struct gp_model *model, struct gp_anchors *second,
                         double *box)
{
    size_t dims = model->space->dims, at = model->n;
    for (size_t k = 0; k < model->n; k++)
        if (may_be_second(counts, model, k) && (at == model->n || mean_at(model, k) > mean_at(model, at)))
            at = k;
    if (at == model->n || counts->away % SECOND_EVERY != SECOND_EVERY - 1)
        return false;
    *second = (struct gp_anchors){.len = 1, .place = {model->row[at]}, .key = {mean_at(model, at)}};
    for (size_t j = 0; j < dims; j++) {
        box[j] = fmax(model->X[at * dims + j] - 0.5 * APART, 0.0);
        box[dims + j] = fmin(model->X[at * dims + j] + 0.5 * APART, 1.0);
    }
    return true;
}

double gp_elsewhere_distance(const struct gp_model *model, const double *u)
{
    const struct gp *gp = model->gp;
    double           least = HUGE_VAL;
    for (size_t k = 0; k < gp->n; k++) {
        double sum = 0.0;
        for (size_t j = 0; j < gp->kernel.dims; j++)
            sum += (u[j] - gp->X[k * gp->kernel.dims + j]) * (u[j] - gp->X[k * gp->kernel.dims + j]);
        least = fmin(least, sum);
    }
    return sqrt(least);
}

bool gp_elsewhere_is_new(const struct gp_elsewhere *counts, const struct gp_model *model, const double *u)
{
    return apart(u, counts->centre, model->space->dims) > NEAR && gp_elsewhere_distance(model, u) > KNOWN;
}

enum status gp_elsewhere_scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < m; i++)
        out[i] = gp_elsewhere_distance(arg, U + i * ((const struct gp_model *)arg)->space->dims);
    return STATUS_OK;
}
