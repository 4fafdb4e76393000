/* The rules on whole curves.  A step at which nothing was measured takes the last measurement before it (means), or the
 * first one behind it (rungs). */
#include "engine/stopping/stop_rule.h"

#include "engine/base/numbers.h"
#include "engine/stopping/rank.h"

#include <math.h>
#include <stdlib.h>

/* The inputs of the judges, who change nothing but out and scratch. */
struct judging {
    const struct stop_rule   *rule;
    const struct curves      *curves;
    const struct curve       *own; /* before the measurement; NULL: it is the first */
    const struct measurement *measurement;
    struct verdict           *out;
    struct arena             *scratch;
};

/* Between neighbours, so that half of an even number of values lies in the middle of two.  Sorts. */
static double percentile_of(double *values, size_t n, double percent)
{
    qsort(values, n, sizeof *values, numbers_order);
    double place = 0.01 * percent * (double)(n - 1), share = place - floor(place);
    size_t low = (size_t)place, high = low + 1 < n ? low + 1 : low;
    return (1.0 - share) * values[low] + share * values[high];
}

static double best_of(const struct curve *curve, double value)
{
    for (size_t i = 0; curve != NULL && i < curve->len; i++)
        value = fmax(value, curve->values[i]);
    return value;
}

/* --- several metrics --- */

bool stop_rule_takes_several(enum stop_rule_kind kind)
{
    return kind != STOP_RULE_OWN && kind != STOP_RULE_PATIENCE;
}

/* Trials that are compared by what they have after a step, of constraints by what that will probably come to. */
struct field {
    const struct curves *curves;
    struct curve_line    lines[METRICS_MAX]; /* [metrics_len] */
    double              *values;             /* [n][metrics_len] as rank.h has them */
    const struct curve **trials;             /* [n]; NULL: the one whose measurement the curves do not have yet */
    size_t              *order;              /* [n] */
    size_t               n;
};

static enum status field_init(struct field *field, const struct curves *curves, size_t step, struct arena *scratch,
                              struct error *err)
{
    size_t room = curves->len + 1;
    *field = (struct field){.curves = curves};
    for (size_t k = 0; k < curves->metrics_len; k++)
        field->lines[k] = curves_line(&curves->of[k], (double)step);
    field->values = ARENA_NEW(scratch, double, room * curves->metrics_len);
    field->trials = ARENA_NEW(scratch, const struct curve *, room);
    field->order = ARENA_NEW(scratch, size_t, room);
    bool is_made = field->values != NULL && field->trials != NULL && field->order != NULL;
    return is_made ? STATUS_OK : error_no_memory(err);
}

/* Adds a trial with its value of each metric. */
static void field_add(struct field *field, const struct curve *trial, const double *values)
{
    const struct curves *curves = field->curves;
    double              *out = field->values + field->n * curves->metrics_len;
    for (size_t k = 0; k < curves->metrics_len; k++)
        out[k] = curves->metrics[k] == METRIC_CONSTRAINT ? curve_line_final(&field->lines[k], values[k]) : values[k];
    field->trials[field->n++] = trial;
}

static enum status field_order(const struct field *field, struct arena *scratch, struct error *err)
{
    const struct curves  *curves = field->curves;
    const struct rank_set set = {field->values, curves->metrics, field->n, curves->metrics_len};
    return rank_order(&set, field->order, scratch, err);
}

/* Whether the trial with the new measurement is among the best `most`. */
static enum status field_has_own(const struct field *field, size_t most, struct arena *scratch, bool *out,
                                 struct error *err)
{
    TRY(field_order(field, scratch, err));
    *out = false;
    for (size_t i = 0; i < most && i < field->n; i++)
        *out = *out || field->trials[field->order[i]] == NULL;
    return STATUS_OK;
}

/* Whether the measurement is among the best `most` of it and of what the completed trials had after the same step.  Means and
 * the best so far say nothing of a metric that grows with the steps, such as seconds. */
static enum status is_ahead_of_completed(const struct judging *at, size_t most, bool *out, struct error *err)
{
    const struct curves *curves = at->curves;
    double               values[METRICS_MAX];
    struct field         field;
    TRY(field_init(&field, curves, at->measurement->step, at->scratch, err));
    field_add(&field, NULL, at->measurement->values);
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        size_t known = curve->state == CURVE_COMPLETED ? curve_upto(curve, (double)at->measurement->step) : 0;
        for (size_t k = 0; k < curves->metrics_len && known > 0; k++)
            values[k] = curves->of[k].items[i].values[known - 1];
        if (known > 0)
            field_add(&field, curve, values);
    }
    return field_has_own(&field, most, at->scratch, out, err);
}

/* --- median, percentile --- */

static enum status judge_by_means(const struct judging *at, double percent, const char *below, const char *above,
                                  struct error *err)
{
    const struct stop_rule *rule = at->rule;
    size_t                  n = 0, step = at->measurement->step;
    double                 *means = ARENA_NEW(at->scratch, double, at->curves->len + 1);
    if (means == NULL)
        return error_no_memory(err);
    at->out->next_step = step < rule->warm_up ? rule->warm_up : step + 1;
    at->out->reason = "warm_up";
    if (step < rule->warm_up)
        return STATUS_OK;
    for (size_t i = 0; i < at->curves->len; i++) {
        const struct curve *curve = &at->curves->items[i];
        size_t              known = curve->state == CURVE_COMPLETED ? curve_upto(curve, (double)step) : 0;
        if (known > 0)
            means[n++] = curve->sums[known - 1] / (double)known;
    }
    at->out->reason = "few_trials";
    if (n < rule->min_trials)
        return STATUS_OK;
    bool is_ahead = false; // of several metrics: not behind as many as the percentile has above it
    if (at->curves->metrics_len > 0)
        TRY(is_ahead_of_completed(at, n - (size_t)ceil(0.01 * percent * (double)(n - 1)), &is_ahead, err));
    at->out->stop = at->curves->metrics_len > 0
                        ? !is_ahead
                        : best_of(at->own, at->measurement->value) < percentile_of(means, n, percent);
    at->out->reason = at->out->stop ? below : above;
    return STATUS_OK;
}

static enum status judge_median(const struct judging *at, struct error *err)
{
    return judge_by_means(at, 50.0, "below_median", "above_median", err);
}

static enum status judge_percentile(const struct judging *at, struct error *err)
{
    return judge_by_means(at, (double)at->rule->percentile, "below_percentile", "above_percentile", err);
}

/* --- patience --- */

static enum status judge_patience(const struct judging *at, struct error *err)
{
    (void)err;
    size_t step = at->measurement->step, since = step;
    double best = at->measurement->value, completed = -HUGE_VAL;
    for (size_t i = at->own == NULL ? 0 : at->own->len; i-- > 0;)
        if (at->own->values[i] >= best) {
            best = at->own->values[i];
            since = (size_t)at->own->steps[i];
        }
    for (size_t i = 0; i < at->curves->len; i++)
        if (at->curves->items[i].state == CURVE_COMPLETED)
            completed = fmax(completed, at->curves->items[i].final);
    bool is_idle = step - since >= at->rule->patience;
    at->out->stop = is_idle && best < completed;
    at->out->reason = at->out->stop ? "no_improvement" : is_idle ? "above_best" : "improving";
    at->out->next_step = is_idle ? step + 1 : since + at->rule->patience;
    return STATUS_OK;
}

/* --- asha, hyperband --- */

static size_t count_rungs(const struct stop_rule *rule)
{
    size_t n = 0;
    for (size_t rung = rule->min_epochs; rung < rule->epochs; rung *= rule->reduction)
        n++;
    return n;
}

/* How many of the first rungs a trial of that number passes by.  Bracket k has reduction^(rungs - k) / (rungs - k + 1)
 * parts of the trials; multiples of the golden section scatter its members evenly. */
static size_t bracket_of(const struct stop_rule *rule, uint64_t trial)
{
    if (rule->kind != STOP_RULE_HYPERBAND)
        return 0;
    size_t rungs = count_rungs(rule), k = rungs;
    double total = 0.0, part = 1.0, at = (double)(uint32_t)(trial * UINT64_C(2654435769)) / 4294967296.0;
    for (size_t left = 0; left <= rungs; left++, part *= (double)rule->reduction)
        total += part / (double)(left + 1);
    part = 1.0;
    for (at = at * total - 1.0; at > 0.0 && k > 0; k--) {
        part *= (double)rule->reduction;
        at -= part / (double)(rungs - k + 2);
    }
    return k;
}

/* Where a value stands among those of the bracket that have reached the rung. */
struct standing {
    size_t top;           /* how many of them, itself included, go on; at least one */
    size_t better, equal; /* of the others; equal: those alone that went on from the rung */
};

static bool is_paused_at(const struct stop_rule *rule, const struct curve *curve, size_t rung)
{
    double last = curve->len > 0 ? curve->steps[curve->len - 1] : 0.0;
    size_t next = rung * rule->reduction;
    return curve->state == CURVE_STOPPED && last >= (double)rung && (last < (double)next || next >= rule->epochs);
}

static size_t top_of(const struct stop_rule *rule, size_t reached)
{
    return reached < rule->reduction ? 1 : reached / rule->reduction;
}

static struct standing stand(const struct stop_rule *rule, const struct curves *curves, uint64_t trial, double value,
                             size_t rung, size_t bracket)
{
    struct standing standing = {0};
    size_t          reached = 1;
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        size_t              before = curve_upto(curve, (double)rung - 1.0);
        if (curve->trial == trial || before == curve->len || bracket_of(rule, curve->trial) != bracket)
            continue;
        reached++;
        standing.better += curve->values[before] > value;
        standing.equal += curve->values[before] == value && !is_paused_at(rule, curve, rung);
    }
    standing.top = top_of(rule, reached);
    return standing;
}

/* A rung of a bracket. */
struct rung {
    const struct stop_rule *rule;
    const struct curves    *curves;
    size_t                  step, bracket;
};

/* Adds the trials of the bracket that have reached the rung, but for one; those that wait there come last, so that of equal
 * ones they go on last. */
static void field_add_reached(struct field *field, const struct rung *rung, uint64_t but)
{
    const struct curves *curves = rung->curves;
    double               values[METRICS_MAX];
    for (int waits = 0; waits <= 1; waits++)
        for (size_t i = 0; i < curves->len; i++) {
            const struct curve *curve = &curves->items[i];
            size_t              before = curve_upto(curve, (double)rung->step - 1.0);
            if (curve->trial == but || before == curve->len || bracket_of(rung->rule, curve->trial) != rung->bracket ||
                is_paused_at(rung->rule, curve, rung->step) != waits)
                continue;
            for (size_t k = 0; k < curves->metrics_len; k++)
                values[k] = curves->of[k].items[i].values[before];
            field_add(field, curve, values);
        }
}

/* Whether the measurement is among the top of its rung. */
static enum status is_in_top(const struct judging *at, size_t step, size_t bracket, bool *out, struct error *err)
{
    const struct rung         rung = {.rule = at->rule, .curves = at->curves, .step = step, .bracket = bracket};
    const struct measurement *own = at->measurement;
    struct field              field;
    if (at->curves->metrics_len == 0) {
        struct standing standing = stand(at->rule, at->curves, own->trial, own->value, step, bracket);
        *out = standing.better < standing.top;
        return STATUS_OK;
    }
    TRY(field_init(&field, at->curves, step, at->scratch, err));
    field_add(&field, NULL, own->values);
    field_add_reached(&field, &rung, own->trial);
    return field_has_own(&field, top_of(at->rule, field.n), at->scratch, out, err);
}

static enum status judge_rungs(const struct judging *at, struct error *err)
{
    const struct stop_rule *rule = at->rule;
    size_t last = at->own == NULL ? 0 : (size_t)at->own->steps[at->own->len - 1], rung = rule->min_epochs;
    size_t bracket = bracket_of(rule, at->measurement->trial);
    at->out->reason = "between_rungs";
    for (size_t k = 0; k < bracket; k++)
        rung *= rule->reduction;
    for (; rung < rule->epochs && rung <= at->measurement->step; rung *= rule->reduction) {
        if (rung <= last)
            continue;
        bool goes_on = true;
        TRY(is_in_top(at, rung, bracket, &goes_on, err));
        at->out->stop = at->out->stop || !goes_on;
        at->out->reason = at->out->stop ? "below_top" : "in_top";
    }
    at->out->next_step = rung < rule->epochs ? rung : 0;
    return STATUS_OK;
}

/* The best of the trials paused at the rung, by the value with which they reached it; NULL: it does not go on, so none of
 * them does. */
static const struct curve *find_resumable(const struct stop_rule *rule, const struct curves *curves, size_t rung,
                                          size_t bracket)
{
    const struct curve *best = NULL;
    double              value = 0.0;
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        if (!is_paused_at(rule, curve, rung) || bracket_of(rule, curve->trial) != bracket)
            continue;
        double reached = curve->values[curve_upto(curve, (double)rung - 1.0)];
        if (best != NULL && reached <= value)
            continue;
        best = curve;
        value = reached;
    }
    if (best == NULL)
        return NULL;
    struct standing standing = stand(rule, curves, best->trial, value, rung, bracket);
    return standing.better + standing.equal < standing.top ? best : NULL;
}

/* By several metrics: the best of the top that waits at the rung. */
static enum status find_in_top(const struct rung *rung, struct arena *scratch, const struct curve **out,
                               struct error *err)
{
    struct field field;
    TRY(field_init(&field, rung->curves, rung->step, scratch, err));
    field_add_reached(&field, rung, 0);
    TRY(field_order(&field, scratch, err));
    for (size_t i = 0; i < top_of(rung->rule, field.n) && i < field.n && *out == NULL; i++)
        if (is_paused_at(rung->rule, field.trials[field.order[i]], rung->step))
            *out = field.trials[field.order[i]];
    return STATUS_OK;
}

static enum status resume_at(const struct rung *rung, struct arena *scratch, const struct curve **out,
                             struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    if (rung->curves->metrics_len == 0) {
        *out = find_resumable(rung->rule, rung->curves, rung->step, rung->bracket);
        return STATUS_OK;
    }
    enum status status = find_in_top(rung, scratch, out, err);
    arena_release(scratch, mark);
    return status;
}

enum status stop_rule_resume(const struct stop_rule *rule, const struct curves *curves, const struct curve **out,
                             struct arena *scratch, struct error *err)
{
    bool        has_rungs = rule->kind == STOP_RULE_ASHA || rule->kind == STOP_RULE_HYPERBAND;
    size_t      rungs = has_rungs ? count_rungs(rule) : 0;
    struct rung rung = {.rule = rule, .curves = curves, .step = rule->min_epochs};
    *out = NULL;
    for (size_t k = 1; k < rungs; k++)
        rung.step *= rule->reduction;
    for (size_t k = rungs; k-- > 0 && *out == NULL; rung.step /= rule->reduction)
        for (rung.bracket = 0; rung.bracket <= (rule->kind == STOP_RULE_HYPERBAND ? k : 0) && *out == NULL;
             rung.bracket++)
            TRY(resume_at(&rung, scratch, out, err));
    return STATUS_OK;
}

/* --- the guard --- */

static const double LEADERS[] = {0.4, 0.3, 0.2, 0.1}; /* what each of the best weighs */
enum { LEADERS_LEN = sizeof LEADERS / sizeof *LEADERS };

/* The weighted part of the best completed trials that are whole; missing ones count as whole. */
static double part_of_whole(const struct curves *curves)
{
    const struct curve *best[LEADERS_LEN] = {NULL};
    double              whole = 0.0;
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = curves->items[i].state == CURVE_COMPLETED ? &curves->items[i] : NULL;
        for (size_t k = 0; k < LEADERS_LEN && curve != NULL; k++)
            if (best[k] == NULL || curve->final > best[k]->final) {
                const struct curve *next = best[k];
                best[k] = curve;
                curve = next;
            }
    }
    for (size_t k = 0; k < LEADERS_LEN; k++)
        whole += best[k] == NULL || best[k]->is_whole ? LEADERS[k] : 0.0;
    return whole;
}

/* Completed, with all constraints kept. */
static bool is_valid(const struct curves *curves, size_t i)
{
    bool is_kept = curves->items[i].state == CURVE_COMPLETED;
    for (size_t k = 0; k < curves->metrics_len; k++)
        is_kept = is_kept && (curves->metrics[k] == METRIC_OBJECTIVE || curves->of[k].items[i].final >= 0.0);
    return is_kept;
}

/* Whether trial j dominates trial i in the end. */
static bool is_dominated(const struct curves *curves, size_t i, size_t j)
{
    double                finals[2 * METRICS_MAX];
    const struct rank_set set = {finals, curves->metrics, 2, curves->metrics_len};
    for (size_t k = 0; k < curves->metrics_len; k++) {
        finals[k] = curves->of[k].items[j].final;
        finals[curves->metrics_len + k] = curves->of[k].items[i].final;
    }
    return rank_dominates(&set, 0, 1);
}

/* The part of the front's trials that are whole; missing ones count as whole. */
static double part_of_whole_front(const struct curves *curves)
{
    size_t front = 0, whole = 0;
    for (size_t i = 0; i < curves->len; i++) {
        bool is_best = is_valid(curves, i);
        for (size_t j = 0; j < curves->len && is_best; j++)
            is_best = !is_valid(curves, j) || !is_dominated(curves, i, j);
        front += is_best;
        whole += is_best && curves->items[i].is_whole;
    }
    size_t missing = front < LEADERS_LEN ? LEADERS_LEN - front : 0;
    return (double)(whole + missing) / (double)(front + missing);
}

/* The next trial is counted with its first epoch, a whole one with that at least, and while it runs with all that it will
 * take. */
bool stop_rule_is_due(const struct stop_rule *rule, const struct curves *curves)
{
    double part = !rule->guard ? 0.0 : curves->metrics_len > 0 ? part_of_whole_front(curves) : part_of_whole(curves);
    double share = GUARD_LEAST + (GUARD_MOST - GUARD_LEAST) * part, whole = 0.0, epochs = 1.0;
    for (size_t i = 0; i < curves->len && rule->guard; i++) {
        const struct curve *curve = &curves->items[i];
        double              measured = curve->len > 0 ? curve->steps[curve->len - 1] : curve->is_whole ? 1.0 : 0.0;
        double              spent = curve->is_whole && curve->state == CURVE_RUNNING ? (double)rule->epochs : measured;
        epochs += spent;
        whole += curve->is_whole ? spent : 0.0;
    }
    return rule->guard && whole < share * epochs;
}

static enum status judge(const struct judging *at, struct error *err)
{
    static enum status (*const judges[])(const struct judging *, struct error *) = {
        [STOP_RULE_MEDIAN] = judge_median,         [STOP_RULE_ASHA] = judge_rungs,
        [STOP_RULE_PERCENTILE] = judge_percentile, [STOP_RULE_PATIENCE] = judge_patience,
        [STOP_RULE_HYPERBAND] = judge_rungs,
    };
    bool is_whole = at->rule->guard && curves_is_whole(at->curves, at->measurement->trial);
    at->out->reason = is_whole ? "guarded" : at->out->reason;
    return is_whole || judges[at->rule->kind] == NULL ? STATUS_OK : judges[at->rule->kind](at, err);
}

enum status stop_rule_judge(const struct stop_rule *rule, const struct curves *curves,
                            const struct measurement *measurement, struct verdict *out, struct arena *scratch,
                            struct error *err)
{
    const struct judging at = {rule, curves, curves_find(curves, measurement->trial), measurement, out, scratch};
    out->stop = false;
    out->note_bytes = out->next_step = 0;
    out->reason = measurement->step >= rule->epochs ? "last_epoch" : "no_rule";
    if (measurement->step >= rule->epochs)
        return STATUS_OK;
    struct arena_mark mark = arena_mark(scratch);
    enum status       status = judge(&at, err);
    arena_release(scratch, mark);
    out->next_step = out->stop || out->next_step >= rule->epochs ? 0 : out->next_step;
    return status;
}
