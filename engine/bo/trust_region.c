/* The side of the box, trial by trial. */
#include "engine/bo/trust_region.h"

#include <math.h>

enum { FAILURES_MIN = 4 };
/* FAILURES halve the box, as a share of the parameters; an improvement is of that share of the best value's lead over
 * the average of recent ones, so that neither the values' zero nor the worst of them matter. */
static const double LENGTH_MAX = 1.6, FAILURES = 0.7, IMPROVEMENT = 0.01;

size_t trust_region_initial(size_t params_len)
{
    size_t len = 2 * params_len + 2;
    return len < TRUST_INITIAL_MAX ? len : TRUST_INITIAL_MAX;
}

static void restart(struct trust_region *region, size_t start)
{
    *region =
        (struct trust_region){.rule = region->rule, .length = region->rule.start, .best = -HUGE_VAL, .start = start};
}

/* Takes in the next finished trial, one without a value is a failure. */
static void update(struct trust_region *region, const struct trial_log *log, const struct log_trial *trial,
                   const struct value_limits *limits)
{
    bool   is_outside = trial->state == LOG_CONTEXT;
    size_t tried = ++region->finished - (region->outside += is_outside);
    if (is_outside)
        return;
    double len = (double)log->params_len, window = fmin(fmax(len, FAILURES_MIN), (double)tried);
    bool   is_first = !isfinite(region->best);
    bool   is_observed =
        trial->state == LOG_OBSERVED && !(trial->value > region->rule.above) && !(trial->value < region->rule.below);
    double least = region->best + (IMPROVEMENT * region->best - IMPROVEMENT * region->recent);
    double value = fmin(fmax(trial_log_worth(log, trial->value), limits->low), limits->high);
    bool   is_better = is_observed && (is_first || value > least);
    if (is_observed) {
        region->best = fmax(region->best, value);
        region->recent = is_first ? value : region->recent + (value / window - region->recent / window);
    }
    if (tried <= trust_region_initial(log->params_len))
        return;
    region->length *= exp2(is_better ? 1.0 / TRUST_SUCCESSES : -1.0 / fmax(FAILURES * len, FAILURES_MIN));
    region->length = fmin(region->length, LENGTH_MAX);
    if (region->length < region->rule.least)
        restart(region, region->start + region->finished);
}

enum status trust_region_find(const struct trial_log *log, struct trust_rule rule, struct arena *scratch,
                              struct trust_region *out, struct error *err)
{
    struct arena_mark   mark = arena_mark(scratch);
    size_t              n = trial_log_finished(log), *order = ARENA_NEW(scratch, size_t, n + 1);
    struct value_limits limits;
    if (order == NULL)
        return error_no_memory(err);
    TRY(trial_log_limits(log, scratch, &limits, err));
    trial_log_order(log, order);
    *out = (struct trust_region){.rule = rule};
    restart(out, 0);
    for (size_t i = 0; i < n; i++)
        update(out, log, &log->trials[order[i]], &limits);
    arena_release(scratch, mark);
    return STATUS_OK;
}

void trust_region_box(const struct trust_region *region, const struct space *space, const size_t *group_of,
                      const double *theta, const double *centre, double *box)
{
    double mean = 0.0, *lower = box, *upper = box + space->dims;
    for (size_t i = 0; i < space->params_len; i++)
        mean += theta[i] / (double)space->params_len;
    for (size_t j = 0; j < space->dims; j++) {
        double half = 0.5 * region->length * exp(theta[group_of[j]] - mean), middle = centre[j];
        lower[j] = fmax(middle - half, 0.0);
        upper[j] = fmin(middle + half, 1.0);
    }
}
