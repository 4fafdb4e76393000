/* RGPE, for comparison: expected improvement of a mixture of the models of all studies, each with the share of draws in
 * which it orders the study's own points best.
 *   mean(x) = sum_i w_i mean_i(x),  sd(x)^2 = sum_i w_i^2 sd_i(x)^2
 * With fewer than three points there is no order to compare: the earlier studies have the same weights, the study
 * itself none, and improvement is over what they expect at the best point so far, or their own best points.
 * Source: Feurer, Letham & Bakshy 2018, Scalable meta-learning for Bayesian optimization. */
#include "engine/acquisition/acq.h"
#include "engine/base/numbers.h"
#include "engine/gp/gp_loo.h"
#include "engine/transfer/transfer_rank.h"
#include "engine/transfer/transfer.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = TRANSFER_OWN };
enum { POINTS_MIN = 3 };

// clang-format off
static const struct option options[] = {
    TRANSFER_OPTIONS(TRANSFER_EACH),
    [SAMPLES] = {.name = "samples", .kind = OPTION_INT, .min = 10, .max = 1000, .fallback = 100,
                 .help = "draws by which the models are compared"},
    {.name = NULL},
};
// clang-format on

/* The weights from the order of all points; the last is the study's own. */
static enum status rank_models(struct transfer_view *view, double *weights, struct error *err)
{
    size_t  n = view->target->n, len = view->len;
    double *mean = ARENA_NEW(view->scratch, double, 2 * (len + 1) * n);
    if (mean == NULL)
        return error_no_memory(err);
    double *sd = mean + (len + 1) * n;
    memcpy(mean, view->point_mean, len * n * sizeof *mean);
    memcpy(sd, view->point_sd, len * n * sizeof *sd);
    TRY(gp_loo(&view->target->gp, (struct gp_values){.at = view->target->z, .n = n}, mean + len * n, sd + len * n,
               view->scratch, err));
    for (size_t j = len * n; j < (len + 1) * n; j++) {
        mean[j] = view->target->shift + view->target->scale * mean[j];
        sd[j] = view->target->scale * sd[j];
    }
    struct transfer_rank rank = {.models = len + 1,
                                 .n = n,
                                 .samples = (size_t)view->problem->options[SAMPLES],
                                 .mean = mean,
                                 .sd = sd,
                                 .y = view->y};
    struct rng           rng = rng_at(view->problem->seed, view->trial, RNG_WEIGHTS);
    return transfer_rank_ensemble(&rank, &rng, weights, view->scratch, err);
}

/* The mixture's best expected value: at the best measured point; without points, from the earlier studies' best values. */
static double incumbent(const struct transfer_view *view)
{
    size_t n = view->target->n, best = numbers_largest(view->y, n);
    double sum = 0.0;
    if (view->factors[view->len] > 0.0)
        return view->y[best];
    for (size_t i = 0; i < view->len; i++) {
        double most = n > 0 ? view->point_mean[i * n + best] : -HUGE_VAL;
        for (size_t j = 0; j < view->task[i].n && n == 0; j++)
            most = fmax(most, transfer_task_y(&view->task[i], j));
        sum += view->factors[i] * most;
    }
    return sum;
}

static enum status weigh(struct transfer_view *view, struct error *err)
{
    size_t len = view->len;
    view->seen = (double)view->observations;
    for (size_t i = 0; i <= len; i++)
        view->factors[i] = i < len ? 1.0 / (double)len : len == 0;
    if (view->target->n >= POINTS_MIN && len > 0)
        TRY(rank_models(view, view->factors, err));
    view->nu = fmin(fmax(1.0 - view->factors[len], 0.0), 1.0);
    for (size_t i = 0; i < len; i++)
        view->weights[i] = view->nu > 0.0 ? view->factors[i] / view->nu : 0.0;
    view->bests[len] = incumbent(view);
    return STATUS_OK;
}

static double combine(const struct transfer_view *view, const struct transfer_parts *parts)
{
    struct acq acq = {.kind = ACQ_LOG_EI, .best = view->bests[view->len]};
    double     sum = 0.0, variance = 0.0, by_mean, by_sd;
    for (size_t i = 0; i < parts->k; i++) {
        double factor = view->factors[parts->active[i]];
        sum += factor * parts->mean[i];
        variance += factor * factor * parts->sd[i] * parts->sd[i];
    }
    double value = acq_value(&acq, sum, sqrt(variance), &by_mean, &by_sd);
    for (size_t i = 0; i < parts->k; i++) {
        double factor = view->factors[parts->active[i]];
        parts->dmean[i] = by_mean * factor;
        parts->dsd[i] = by_sd * factor * factor * parts->sd[i] / sqrt(variance);
    }
    return value;
}

static const struct transfer_rule rule = {
    .acquisition = "log-ei", .wants_points = true, .weigh = weigh, .combine = combine};

const struct policy policy_rgpe = {
    .name = "rgpe",
    .help = "learns from earlier studies: a mixture of models ranked by how well they order the study's own points "
            "(for comparison)",
    .options = options,
    .rule = &rule,
    TRANSFER_POLICY,
};
