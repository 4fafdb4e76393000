/* Learning curves: those of some trials, and quantiles of the others.  See plot.h. */
#include "engine/math/decimate.h"
#include "service/store/rows.h"
#include "service/insight/plot_data.h"

#include <math.h>

enum { BEST = 20, SHOWN_MAX = 200, NUMBERS = 7000, STEPS_MAX = 200, FAN_STEPS = 100, QUANTILES = 5 };
static const double      quantiles[QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
static const char *const quantile_names[QUANTILES] = {"q05", "q25", "q50", "q75", "q95"};

/* All measurements, one curve after the other: that of the data's row i has those of [from[i], from[i + 1]). */
struct measured {
    double *steps, *values;
    size_t *from, len, room;
    double  last_step;
};

static bool grow(struct plot_work *work, struct measured *curves)
{
    void  *steps = curves->steps, *values = curves->values;
    size_t room = curves->room, same = room;
    bool   good = rows_grow(work->arena, &steps, curves->len, &room, sizeof(double)) &&
                rows_grow(work->arena, &values, curves->len, &same, sizeof(double));
    curves->steps = steps;
    curves->values = values;
    curves->room = room;
    return good;
}

static enum status read_curves(struct db_conn *conn, struct plot_work *work, struct measured *curves, struct error *err)
{
    const struct plot_data *data = &work->data;
    size_t                  i = 0;
    curves->from = ARENA_NEW(work->arena, size_t, data->n + 2);
    if (curves->from == NULL)
        return error_no_memory(err);
    curves->from[0] = 0;
    struct db_rows rows = db_query(conn, NULL, err, SQL_PLOT_POINTS,
                                   BIND(TEXT(work->task.id), INT(data->n == 0 ? 1 : (int64_t)data->number[0]),
                                        INT(data->n == 0 ? 0 : (int64_t)data->number[data->n - 1])));
    while (db_next(&rows)) {
        const struct row_plot_point *row = row_plot_point(&rows);
        while (i < data->n && data->number[i] < (double)row->trial)
            curves->from[++i] = curves->len;
        if (i == data->n || data->number[i] != (double)row->trial || data->lease[i] != row->lease)
            continue; // of a lease that was lost
        if (!grow(work, curves)) {
            rows.status = error_no_memory(err);
            continue;
        }
        curves->steps[curves->len] = (double)row->step;
        curves->values[curves->len++] =
            plot_measured(&work->task.study.spec, work->out->metric, row->value, &row->outcome);
        curves->last_step = fmax(curves->last_step, (double)row->step);
    }
    while (i < data->n)
        curves->from[++i] = curves->len;
    return db_done(&rows);
}

static bool has_curve(const struct measured *curves, size_t i)
{
    return curves->from[i + 1] > curves->from[i];
}

/* The best of the completed, then the newest of those that are stopped or running; true: it is shown. */
static enum status choose(struct plot_work *work, const struct measured *curves, bool *is_shown, size_t *shown,
                          struct error *err)
{
    const struct plot_data *data = &work->data;
    double                 *worth = ARENA_NEW(work->arena, double, data->n + 1), weights[BEST];
    size_t                  rows[BEST];
    if (worth == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++)
        worth[i] = has_curve(curves, i) && data->state[i] == TRIAL_COMPLETED ? data->worth[i] : (double)NAN;
    struct decimate_ranks best = {
        .y = worth, .n = data->n, .best = BEST, .wanted = BEST, .rows = rows, .weights = weights};
    TRY(decimate_ranks(&best, work->arena, err));
    for (size_t i = 0; i < best.len; i++)
        is_shown[rows[i]] = true;
    *shown = best.len;
    for (size_t i = data->n; i-- > 0 && *shown < SHOWN_MAX;) {
        bool is_wanted = data->state[i] == TRIAL_STOPPED || data->state[i] == TRIAL_RUNNING;
        if (is_wanted && has_curve(curves, i)) {
            is_shown[i] = true;
            (*shown)++;
        }
    }
    return STATUS_OK;
}

static enum status put_shown(struct plot_work *work, const struct measured *curves, const bool *is_shown, size_t shown,
                             struct error *err)
{
    const struct plot_data *data = &work->data;
    size_t                  each = shown == 0 ? 0 : NUMBERS / shown < STEPS_MAX ? NUMBERS / shown : STEPS_MAX, len = 0;
    size_t                  columns = each / 4 > 0 ? each / 4 : 1, picked[STEPS_MAX + 4];
    double                 *trial = ARENA_NEW(work->arena, double, (shown + 1) * (4 * columns + 1));
    double                 *step = ARENA_NEW(work->arena, double, (shown + 1) * (4 * columns + 1));
    double                 *value = ARENA_NEW(work->arena, double, (shown + 1) * (4 * columns + 1));
    if (trial == NULL || step == NULL || value == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++) {
        size_t from = curves->from[i], n = curves->from[i + 1] - from;
        if (!is_shown[i])
            continue;
        const double *steps = curves->steps + from, *values = curves->values + from;
        size_t        count =
            decimate_m4(steps, values, n,
                        &(struct decimate_span){.low = steps[0], .high = steps[n - 1], .columns = columns}, picked);
        for (size_t k = 0; k < count; k++, len++) {
            trial[len] = data->number[i];
            step[len] = steps[picked[k]];
            value[len] = values[picked[k]];
        }
    }
    struct plot_table *table = plot_table(work, "curves", NULL, len, 3);
    plot_put(table, "trial", PLOT_INTEGER, trial);
    plot_put(table, "step", PLOT_INTEGER, step);
    plot_put(table, "value", PLOT_NUMBER, value);
    return STATUS_OK;
}

double plot_measured(const struct spec *spec, size_t k, double value, const struct db_blob *outcome)
{
    const double *values = outcome->bytes; // of one metric NULL
    return values == NULL || k >= spec->metrics_len ? value : values[k];
}

/* The trials to which the curves belong. */
static enum status put_trials(struct plot_work *work, const bool *is_shown, size_t shown, struct error *err)
{
    const struct plot_data *data = &work->data;
    size_t                 *rows = ARENA_NEW(work->arena, size_t, shown + 1), len = 0;
    if (rows == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++)
        if (is_shown[i])
            rows[len++] = i;
    struct plot_table *table = plot_table(work, "trials_shown", rows, len, 6);
    plot_take(work, table, "trial", PLOT_INTEGER, data->number);
    plot_take_states(work, table);
    plot_take(work, table, "value", PLOT_NUMBER, data->value);
    plot_take(work, table, "mean", PLOT_NUMBER, data->mean);
    plot_take(work, table, "stddev", PLOT_NUMBER, data->stddev);
    plot_take(work, table, "stddev_observed", PLOT_NUMBER, data->stddev_observed);
    return STATUS_OK;
}

/* ---- the others ---- */

struct fan {
    size_t  steps; /* parts of 1 .. last_step */
    size_t *from;  /* [steps + 1] of the values of each part */
    double *values;
};

static size_t part_of(const struct measured *curves, const struct fan *fan, double step)
{
    size_t part = (size_t)((step - 1) / curves->last_step * (double)fan->steps);
    return part < fan->steps ? part : fan->steps - 1;
}

/* The last value of each curve in each part; used NULL: only counted into from[part + 1]. */
static void fill_fan(const struct plot_work *work, const struct measured *curves, const bool *is_shown, struct fan *fan,
                     size_t *used)
{
    for (size_t i = 0; i < work->data.n; i++)
        for (size_t k = curves->from[i]; k < curves->from[i + 1] && !is_shown[i]; k++) {
            size_t part = part_of(curves, fan, curves->steps[k]);
            if (k + 1 < curves->from[i + 1] && part_of(curves, fan, curves->steps[k + 1]) == part)
                continue;
            if (used == NULL)
                fan->from[part + 1]++;
            else
                fan->values[fan->from[part] + used[part]++] = curves->values[k];
        }
}

static enum status put_fan(struct plot_work *work, const struct measured *curves, const bool *is_shown,
                           struct error *err)
{
    size_t     last = (size_t)curves->last_step, steps = last < FAN_STEPS ? last : FAN_STEPS, len = 0;
    struct fan fan = {.steps = steps, .from = arena_zalloc(work->arena, steps + 2, sizeof(size_t))};
    size_t    *used = arena_zalloc(work->arena, steps + 2, sizeof *used);
    if (fan.from == NULL || used == NULL)
        return error_no_memory(err);
    fill_fan(work, curves, is_shown, &fan, NULL);
    for (size_t s = 0; s < steps; s++) {
        len += fan.from[s + 1] > 0;
        fan.from[s + 1] += fan.from[s];
    }
    fan.values = ARENA_NEW(work->arena, double, fan.from[steps] + 1);
    struct plot_table *table = plot_table(work, "fan", NULL, len, QUANTILES + 2);
    double            *step = ARENA_NEW(work->arena, double, (QUANTILES + 2) * len + 1);
    if (fan.values == NULL || step == NULL)
        return error_no_memory(err);
    double *count = step + len, *q = count + len;
    fill_fan(work, curves, is_shown, &fan, used);
    plot_put(table, "step", PLOT_INTEGER, step);
    plot_put(table, "count", PLOT_INTEGER, count);
    for (size_t j = 0; j < QUANTILES; j++)
        plot_put(table, quantile_names[j], PLOT_NUMBER, q + j * len);
    for (size_t s = 0, i = 0; s < steps; s++) {
        size_t n = fan.from[s + 1] - fan.from[s];
        if (n == 0)
            continue;
        decimate_sort(fan.values + fan.from[s], n);
        step[i] = ceil((double)(s + 1) * curves->last_step / (double)steps);
        count[i] = (double)n;
        for (size_t j = 0; j < QUANTILES; j++)
            q[j * len + i] = decimate_quantile(fan.values + fan.from[s], n, quantiles[j]);
        i++;
    }
    return STATUS_OK;
}

enum status plot_some_curves(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    struct measured curves = {.last_step = 0};
    size_t          shown = 0;
    TRY(plot_read(conn, work, err));
    TRY(read_curves(conn, work, &curves, err));
    bool *is_shown = arena_zalloc(work->arena, work->data.n + 1, sizeof *is_shown);
    if (is_shown == NULL)
        return error_no_memory(err);
    TRY(choose(work, &curves, is_shown, &shown, err));
    int64_t of = 0;
    for (size_t i = 0; i < work->data.n; i++)
        of += has_curve(&curves, i);
    work->out->of = of;
    work->out->shown = (int64_t)shown;
    TRY(put_trials(work, is_shown, shown, err));
    TRY(put_shown(work, &curves, is_shown, shown, err));
    return put_fan(work, &curves, is_shown, err);
}
