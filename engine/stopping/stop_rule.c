/* The rules on whole curves.  A step at which nothing was measured takes the last measurement before it (means), or the
 * first one behind it (rungs). */
#include "engine/stopping/stop_rule.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <stdlib.h>

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, numbers_order);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static double best_of(const struct curve *curve, double value)
{
    for (size_t i = 0; curve != NULL && i < curve->len; i++)
        value = fmax(value, curve->values[i]);
    return value;
}

static enum status judge_median(const struct stop_rule *rule, const struct curves *curves,
                                const struct measurement *measurement, struct verdict *out, struct arena *scratch,
                                struct error *err)
{
    size_t  n = 0, step = measurement->step;
    double *means = ARENA_NEW(scratch, double, curves->len + 1);
    if (means == NULL)
        return error_no_memory(err);
    out->next_step = step < rule->warm_up ? rule->warm_up : step + 1;
    out->reason = "warm_up";
    if (step < rule->warm_up)
        return STATUS_OK;
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        size_t              known = curve->state == CURVE_COMPLETED ? curve_upto(curve, (double)step) : 0;
        if (known > 0)
            means[n++] = curve->sums[known - 1] / (double)known;
    }
    out->reason = "few_trials";
    if (n < rule->min_trials)
        return STATUS_OK;
    double best = best_of(curves_find(curves, measurement->trial), measurement->value);
    out->stop = best < median_of(means, n);
    out->reason = out->stop ? "below_median" : "above_median";
    return STATUS_OK;
}

/* Whether a value is among the best of those that have reached the rung, itself included. */
static bool is_in_top(const struct stop_rule *rule, const struct curves *curves, const struct measurement *measurement,
                      size_t rung)
{
    size_t reached = 1, better = 0;
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        size_t              before = curve_upto(curve, (double)rung - 1.0);
        if (curve->trial == measurement->trial || before == curve->len)
            continue;
        reached++;
        better += curve->values[before] > measurement->value;
    }
    size_t top = reached / rule->reduction;
    return better < (top > 0 ? top : 1);
}

static void judge_asha(const struct stop_rule *rule, const struct curves *curves, const struct measurement *measurement,
                       struct verdict *out)
{
    const struct curve *curve = curves_find(curves, measurement->trial);
    size_t              last = curve == NULL || curve->len == 0 ? 0 : (size_t)curve->steps[curve->len - 1], rung;
    out->reason = "between_rungs";
    for (rung = rule->min_epochs; rung < rule->epochs && rung <= measurement->step; rung *= rule->reduction) {
        if (rung <= last)
            continue;
        out->stop = out->stop || !is_in_top(rule, curves, measurement, rung);
        out->reason = out->stop ? "below_top" : "in_top";
    }
    out->next_step = rung < rule->epochs ? rung : 0;
}

enum status stop_rule_judge(const struct stop_rule *rule, const struct curves *curves,
                            const struct measurement *measurement, struct verdict *out, struct arena *scratch,
                            struct error *err)
{
    enum status status = STATUS_OK;
    out->stop = false;
    out->note_bytes = out->next_step = 0;
    out->reason = measurement->step >= rule->epochs ? "last_epoch" : "no_rule";
    if (measurement->step >= rule->epochs)
        return STATUS_OK;
    struct arena_mark mark = arena_mark(scratch);
    if (rule->kind == STOP_RULE_MEDIAN)
        status = judge_median(rule, curves, measurement, out, scratch, err);
    else if (rule->kind == STOP_RULE_ASHA)
        judge_asha(rule, curves, measurement, out);
    arena_release(scratch, mark);
    out->next_step = out->stop || out->next_step >= rule->epochs ? 0 : out->next_step;
    return status;
}
