/* TAF, the transfer acquisition function, for comparison: the study's expected improvement and the improvements that
 * earlier studies predict, weighted by how alike they order the study's own points.
 *   a(x) = (w EI(x) + sum_i w_i max(0, mean_i(x) - best_i)) / (w + sum_i w_i),   w = 3/4
 *   best_i: what study i predicts at the best, by its own account, of the points tried so far (before: its mean)
 * Source: Wistuba, Schilling & Schmidt-Thieme 2018, Scalable Gaussian process-based transfer surrogates (TAF-R). */
#include "engine/acquisition/acq.h"
#include "engine/transfer/transfer_rank.h"
#include "engine/transfer/transfer.h"

#include <math.h>

enum { BANDWIDTH = TRANSFER_OWN };

// clang-format off
static const struct option options[] = {
    TRANSFER_OPTIONS(TRANSFER_EACH),
    [BANDWIDTH] = {.name = "bandwidth", .kind = OPTION_REAL, .min = 0.01, .max = 1, .fallback = 0.5,
                   .help = "share of pairs in the wrong order from which on an earlier study has weight 0"},
    {.name = NULL},
};
// clang-format on

static double largest(const double *values, size_t n, double otherwise)
{
    double most = n > 0 ? values[0] : otherwise;
    for (size_t j = 1; j < n; j++)
        most = fmax(most, values[j]);
    return most;
}

static enum status weigh(struct transfer_view *view, struct error *err)
{
    (void)err;
    size_t len = view->len, n = view->target->n;
    double bandwidth = view->problem->options[BANDWIDTH], sum = 0.0;
    view->seen = (double)view->observations;
    for (size_t i = 0; i < len; i++) {
        const double *mean = view->point_mean + i * n;
        view->factors[i] = view->task[i].is_broken ? 0.0 : transfer_rank_kernel(mean, view->y, n, bandwidth);
        view->bests[i] = largest(mean, n, view->task[i].shift);
        sum += view->factors[i];
    }
    view->factors[len] = n > 0 ? 0.75 : 0.0;
    view->bests[len] = largest(view->y, n, 0.0);
    double total = sum + view->factors[len];
    view->nu = total > 0.0 ? fmin(sum / total, 1.0) : 0.0;
    for (size_t i = 0; i < len; i++)
        view->weights[i] = sum > 0.0 ? view->factors[i] / sum : 0.0;
    for (size_t i = 0; i <= len; i++)
        view->factors[i] /= total > 0.0 ? total : 1.0;
    return STATUS_OK;
}

static double combine(const struct transfer_view *view, const struct transfer_parts *parts)
{
    double sum = 0.0;
    for (size_t i = 0; i < parts->k; i++) {
        double factor = view->factors[parts->active[i]], best = view->bests[parts->active[i]],
               gain = fmax(0.0, parts->mean[i] - best);
        struct acq acq = {.kind = ACQ_LOG_EI, .best = best};
        parts->dmean[i] = gain > 0.0 ? factor : 0.0;
        parts->dsd[i] = 0.0;
        if (parts->active[i] == view->len) {
            gain = exp(acq_value(&acq, parts->mean[i], parts->sd[i], &parts->dmean[i], &parts->dsd[i]));
            parts->dmean[i] *= factor * gain;
            parts->dsd[i] *= factor * gain;
        }
        sum += factor * gain;
    }
    return sum;
}

static const struct transfer_rule rule = {
    .acquisition = "log-ei", .wants_points = true, .weigh = weigh, .combine = combine};

const struct policy policy_taf = {
    .name = "taf",
    .help = "learns from earlier studies: their predicted improvements beside its own expected improvement "
            "(for comparison)",
    .options = options,
    .rule = &rule,
    TRANSFER_POLICY,
};
