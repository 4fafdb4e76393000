/* Plots of the trials themselves: see plot.h. */
#include "engine/acquisition/pareto.h"
#include "engine/math/decimate.h"
#include "engine/math/reach.h"
#include "service/insight/plot_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A reply stays below 200 kB: a cell takes some 40 bytes, a mark 60, a number of a parameter 11. */
enum {
    HISTORY_POINTS = 500,
    HISTORY_POINTS_MAX = 700,
    OTHERS_COLUMNS = 100,
    PARALLEL_BEST = 200,
    PARALLEL_POINTS = 1000,
    PARALLEL_NUMBERS = 14000,
    CELLS = 64,
    DOMINATED_CELLS = 48,
    FRONT_MAX = 1000,
    VOLUMES_MAX = 200,
    BARS_MAX = 900,
    LOST_MAX = 200, /* leases; of workers */
    LATENTS_MAX = 3000
};

static int64_t points_of(const struct plot_request *request, int64_t fallback, int64_t most)
{
    int64_t points = request->points > 0 ? request->points : fallback;
    return points < most ? points : most;
}

/* ---- history ---- */

/* A metric that is only recorded has no best. */
static enum status put_best(struct plot_work *work, size_t *rows, struct error *err)
{
    struct plot_data *data = &work->data;
    bool              has_best = work->out->metric < work->task.study.spec.metrics_len;
    double           *y = ARENA_NEW(work->arena, double, data->n + 1);
    if (y == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++)
        y[i] = has_best && data->is_feasible[i] && data->state[i] == TRIAL_COMPLETED ? data->worth[i] : (double)NAN;
    struct plot_table *best = plot_table(work, "best", rows, decimate_best(y, data->n, rows), 2);
    plot_take(work, best, "trial", PLOT_INTEGER, data->number);
    plot_take(work, best, "value", PLOT_NUMBER, data->value);
    return STATUS_OK;
}

/* The half-width of the interval of each trial's forecast, in its deviations, as the record was when the trial began. */
static enum status find_reach(struct plot_work *work, double **reach, struct error *err)
{
    struct plot_data *data = &work->data;
    double           *off = ARENA_NEW(work->arena, double, data->n + 1);
    *reach = ARENA_NEW(work->arena, double, data->n + 1);
    if (*reach == NULL || off == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++)
        off[i] = data->state[i] == TRIAL_COMPLETED ? fabs(data->value[i] - data->mean[i]) / data->stddev_observed[i]
                                                   : (double)NAN;
    const struct reach record = {.n = data->n, .off = off, .began = data->started_ms, .came = data->finished_ms};
    return reach_of(&record, *reach, work->arena, err);
}

static enum status put_marks(struct plot_work *work, size_t *rows, struct error *err)
{
    struct plot_data *data = &work->data;
    size_t            columns = (size_t)points_of(work->request, HISTORY_POINTS, HISTORY_POINTS_MAX);
    double            low = data->n == 0 ? 0 : data->number[0], high = data->n == 0 ? 0 : data->number[data->n - 1];
    const struct decimate_span span = {.low = low, .high = high, .columns = columns};
    size_t                     len = decimate_m4(data->number, data->value, data->n, &span, rows);
    struct plot_table         *marks = plot_table(work, "marks", rows, len, 7);
    double                    *reach;
    work->out->shown += (int64_t)len;
    plot_take(work, marks, "trial", PLOT_INTEGER, data->number);
    plot_take(work, marks, "value", PLOT_NUMBER, data->value);
    plot_take_states(work, marks);
    plot_take(work, marks, "mean", PLOT_NUMBER, data->mean);
    plot_take(work, marks, "stddev", PLOT_NUMBER, data->stddev);
    plot_take(work, marks, "stddev_observed", PLOT_NUMBER, data->stddev_observed);
    if (work->request->from > 1) // the record is of all trials before
        return STATUS_OK;
    TRY(find_reach(work, &reach, err));
    plot_take(work, marks, "reach", PLOT_NUMBER, reach);
    return STATUS_OK;
}

/* Among trials without a value, the first of each state in each column, and the number of the others. */
static enum status put_others(struct plot_work *work, size_t *rows, struct error *err)
{
    struct plot_data *data = &work->data;
    double           *counts = ARENA_NEW(work->arena, double, data->n + 1);
    size_t            len = 0, at[TRIAL_STATE_COUNT] = {0}, column = SIZE_MAX;
    if (counts == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++) {
        size_t own = i * OTHERS_COLUMNS / data->n, state = (size_t)data->state[i];
        if (own != column)
            memset(at, 0, sizeof at);
        column = own;
        if (!isnan(data->value[i]))
            continue;
        if (at[state] == 0) {
            rows[len] = i;
            counts[len] = 0;
            at[state] = ++len;
        }
        counts[at[state] - 1]++;
    }
    struct plot_table *others = plot_table(work, "others", rows, len, 3);
    work->out->shown += (int64_t)len;
    plot_take(work, others, "trial", PLOT_INTEGER, data->number);
    plot_take_states(work, others);
    plot_put(others, "count", PLOT_INTEGER, counts);
    return STATUS_OK;
}

enum status plot_history(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    TRY(plot_read(conn, work, err));
    size_t *rows = ARENA_NEW(work->arena, size_t, work->data.n + 4 * HISTORY_POINTS_MAX);
    if (rows == NULL)
        return error_no_memory(err);
    TRY(put_best(work, rows, err));
    TRY(put_marks(work, rows, err));
    return put_others(work, rows, err);
}

/* ---- parallel coordinates ---- */

static enum status check_parameters(const struct plot_work *work, struct error *err)
{
    if (work->task.study.spec.space.kind == SPACE_PARAMETERS)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "no_parameters", "", "the space has no parameters to vary");
}

/* A column of the parameter's values at the rows. */
static void put_parameter(struct plot_work *work, struct plot_table *table, size_t param, const char *name)
{
    plot_take_from(work, table, name, PLOT_VALUE, work->data.points + param, work->data.params);
    if (table->columns_len > 0)
        table->columns[table->columns_len - 1].param = param;
}

enum status plot_parallel(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    const struct space *space = &work->task.study.spec.space;
    TRY(check_parameters(work, err));
    TRY(plot_read(conn, work, err));
    struct plot_data *data = &work->data;
    size_t            wanted = (size_t)points_of(work->request, PARALLEL_POINTS, PARALLEL_POINTS);
    size_t            most = PARALLEL_NUMBERS / (space->params_len + 3);
    wanted = wanted < most ? wanted : most;
    struct decimate_ranks ranks = {.y = data->worth,
                                   .n = data->n,
                                   .best = wanted * PARALLEL_BEST / PARALLEL_POINTS,
                                   .wanted = wanted,
                                   .rng = rng_at(work->task.study.spec.seed, 1, RNG_PLOT),
                                   .rows = ARENA_NEW(work->arena, size_t, wanted + 1),
                                   .weights = ARENA_NEW(work->arena, double, wanted + 1)};
    if (ranks.rows == NULL || ranks.weights == NULL)
        return error_no_memory(err);
    TRY(decimate_ranks(&ranks, work->arena, err));
    struct plot_table *lines = plot_table(work, "lines", ranks.rows, ranks.len, 3);
    struct plot_table *parameters = plot_table(work, "parameters", ranks.rows, ranks.len, space->params_len);
    work->out->shown = (int64_t)ranks.len;
    plot_take(work, lines, "trial", PLOT_INTEGER, data->number);
    plot_take(work, lines, "value", PLOT_NUMBER, data->value);
    plot_put(lines, "weight", PLOT_NUMBER, ranks.weights);
    for (size_t p = 0; p < space->params_len; p++)
        put_parameter(work, parameters, p, space->params[p].name);
    return STATUS_OK;
}

/* ---- cells ---- */

/* Where y lies between the quantiles that leave out a hundredth at each end: what is far away does not squeeze the rest,
 * and is in the outermost cell. */
static enum status place_values(struct plot_work *work, const double *y, double *out, struct error *err)
{
    size_t  len = 0, n = work->data.n;
    double *sorted = ARENA_NEW(work->arena, double, n + 1);
    if (sorted == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!isnan(y[i]))
            sorted[len++] = y[i];
    decimate_sort(sorted, len);
    double low = len == 0 ? 0 : decimate_quantile(sorted, len, 0.01);
    double high = len == 0 ? 0 : decimate_quantile(sorted, len, 0.99);
    for (size_t i = 0; i < n; i++)
        out[i] = isnan(y[i]) ? (double)NAN : high > low ? (y[i] - low) / (high - low) : 0.5;
    return STATUS_OK;
}

struct cells {
    const double      *u, *v, *worth; /* [n] */
    size_t            *rows;          /* out: of those that are not empty */
    struct plot_table *table;         /* out: with their counts and trials */
};

static enum status put_cells(struct plot_work *work, struct cells *out, struct error *err)
{
    bool                  is_front = work->request->kind == PLOT_PARETO;
    size_t                side = is_front ? DOMINATED_CELLS : CELLS, len = 0;
    struct decimate_cell *cells = ARENA_NEW(work->arena, struct decimate_cell, side * side);
    double               *counts = ARENA_NEW(work->arena, double, side *side);
    out->rows = ARENA_NEW(work->arena, size_t, side * side);
    if (cells == NULL || counts == NULL || out->rows == NULL)
        return error_no_memory(err);
    decimate_grid(out->u, out->v, out->worth, work->data.n, side, cells);
    for (size_t c = 0; c < side * side; c++)
        if (cells[c].count > 0) {
            out->rows[len] = cells[c].best;
            counts[len++] = (double)cells[c].count;
        }
    out->table = plot_table(work, is_front ? "dominated" : "cells", out->rows, len, 5 + OBJECTIVES_MAX);
    work->out->shown += (int64_t)len;
    plot_put(out->table, "count", PLOT_INTEGER, counts);
    plot_take(work, out->table, "trial", PLOT_INTEGER, work->data.number);
    return STATUS_OK;
}

static enum status find_axis(const struct plot_work *work, const char *name, const char *path, size_t *out,
                             struct error *err)
{
    if (name == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", path, "this plot is over a parameter: name it");
    return spec_find_param(&work->task.study.spec, name, "unknown_parameter", path, out, err);
}

static enum status place_parameter(struct plot_work *work, size_t param, double **out, struct error *err)
{
    const struct plot_data *data = &work->data;
    *out = ARENA_NEW(work->arena, double, data->n + 1);
    if (*out == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++)
        (*out)[i] = plot_place(&work->task.study.spec.space.params[param], data->points[i * data->params + param]);
    return STATUS_OK;
}

enum status plot_cells(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    struct plot_data *data = &work->data;
    size_t            x, y = 0;
    double           *u, *v;
    bool              is_contour = work->request->kind == PLOT_CONTOUR;
    TRY(check_parameters(work, err));
    TRY(find_axis(work, work->request->x, "/x", &x, err));
    if (is_contour)
        TRY(find_axis(work, work->request->y, "/y", &y, err));
    TRY(plot_read(conn, work, err));
    TRY(place_parameter(work, x, &u, err));
    if (is_contour) {
        TRY(place_parameter(work, y, &v, err));
    } else {
        v = ARENA_NEW(work->arena, double, data->n + 1);
        if (v == NULL)
            return error_no_memory(err);
        TRY(place_values(work, data->value, v, err));
    }
    struct cells cells = {.u = u, .v = v, .worth = data->worth};
    TRY(put_cells(work, &cells, err));
    put_parameter(work, cells.table, x, "x");
    if (is_contour)
        put_parameter(work, cells.table, y, "y");
    plot_take(work, cells.table, "value", PLOT_NUMBER, data->value);
    return STATUS_OK;
}

/* ---- the front ---- */

/* A column for each objective at the rows. */
static void put_objectives(struct plot_work *work, struct plot_table *table)
{
    const struct spec *spec = &work->task.study.spec;
    for (size_t k = 0; k < spec->metrics_len; k++)
        if (spec->kinds[k] == METRIC_OBJECTIVE)
            plot_take_from(work, table, spec->metrics[k].name, PLOT_NUMBER, work->data.values + k, work->data.metrics);
}

struct front {
    double *values; /* [len][objectives], larger is better */
    size_t *rows, len;
    bool   *is_best;
};

static enum status find_front(struct plot_work *work, struct front *front, struct error *err)
{
    const struct spec      *spec = &work->task.study.spec;
    const struct plot_data *data = &work->data;
    size_t                  m = spec->objectives;
    *front = (struct front){.values = arena_alloc(work->arena, data->n + 1, m * sizeof(double)),
                            .rows = ARENA_NEW(work->arena, size_t, data->n + 1),
                            .is_best = ARENA_NEW(work->arena, bool, data->n + 1)};
    if (front->values == NULL || front->rows == NULL || front->is_best == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < data->n; i++) {
        if (!data->is_feasible[i] || data->state[i] != TRIAL_COMPLETED)
            continue;
        for (size_t k = 0, j = 0; k < spec->metrics_len; k++)
            if (spec->kinds[k] == METRIC_OBJECTIVE)
                front->values[front->len * m + j++] = spec_value(spec, k, data->values[i * data->metrics + k]);
        front->rows[front->len++] = i;
    }
    return pareto_front(front->values, front->len, m, front->is_best, work->arena, err);
}

/* The first so many of a front that is longer. */
static enum status put_front(struct plot_work *work, const struct front *front, struct error *err)
{
    size_t *rows = ARENA_NEW(work->arena, size_t, front->len + 1), len = 0;
    if (rows == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < front->len; i++)
        if (front->is_best[i] && len < FRONT_MAX)
            rows[len++] = front->rows[i];
    struct plot_table *table = plot_table(work, "front", rows, len, work->task.study.spec.objectives + 1);
    work->out->shown += (int64_t)len;
    plot_take(work, table, "trial", PLOT_INTEGER, work->data.number);
    put_objectives(work, table);
    return STATUS_OK;
}

/* A cell of dominated trials is shown by its best in the first objective. */
static enum status put_dominated(struct plot_work *work, const struct front *front, struct error *err)
{
    size_t  m = work->task.study.spec.objectives, n = work->data.n;
    double *places[3];
    for (size_t j = 0; j < 3; j++) {
        places[j] = ARENA_NEW(work->arena, double, n + 1);
        if (places[j] == NULL)
            return error_no_memory(err);
        for (size_t i = 0; i < n; i++)
            places[j][i] = NAN;
        for (size_t i = 0; i < front->len; i++)
            if (!front->is_best[i])
                places[j][front->rows[i]] = front->values[i * m + (j < 2 ? j : 0)];
    }
    TRY(place_values(work, places[0], places[0], err));
    TRY(place_values(work, places[1], places[1], err));
    struct cells cells = {.u = places[0], .v = places[1], .worth = places[2]};
    TRY(put_cells(work, &cells, err));
    put_objectives(work, cells.table);
    return STATUS_OK;
}

/* Adds v [m] to the points [len][m] that no other dominates, in place of those that it dominates; false: it is dominated. */
static bool take_in(double *kept, size_t *len, size_t m, const double *v)
{
    size_t left = 0;
    for (size_t i = 0; i < *len; i++) {
        bool is_more = false, is_less = false;
        for (size_t j = 0; j < m; j++) {
            is_more = is_more || v[j] > kept[i * m + j];
            is_less = is_less || v[j] < kept[i * m + j];
        }
        if (!is_more)
            return false; /* nor does it dominate an earlier one */
        if (is_less)
            memmove(kept + left++ * m, kept + i * m, m * sizeof *v);
    }
    memcpy(kept + left * m, v, m * sizeof *v);
    *len = left + 1;
    return true;
}

/* Over larger fronts so many hypervolumes would take longer than the rest of the plot. */
static const size_t volume_front_max[OBJECTIVES_MAX + 1] = {0, 0, 5000, 200, 40};

static enum status volume_at(struct plot_work *work, const struct pareto_set *set, double *out, struct error *err)
{
    *out = NAN;
    return set->n > volume_front_max[set->m] ? STATUS_OK : pareto_hypervolume(set, out, work->arena, err);
}

/* The volume that the front dominates, by trial, above the reference of the whole study: in each column the last trial that
 * enlarged it. */
static enum status put_volumes(struct plot_work *work, const struct front *front, struct error *err)
{
    size_t            m = work->task.study.spec.objectives, n = front->len, len = 0, column = 0;
    double            reference[OBJECTIVES_MAX], *values = ARENA_NEW(work->arena, double, VOLUMES_MAX);
    double           *kept = arena_alloc(work->arena, n + 1, m * sizeof *kept);
    size_t           *rows = ARENA_NEW(work->arena, size_t, VOLUMES_MAX);
    struct pareto_set set = {.values = kept, .m = m, .reference = reference};
    bool              is_due = false;
    if (values == NULL || kept == NULL || rows == NULL)
        return error_no_memory(err);
    pareto_reference(front->values, n, m, reference);
    (void)spec_set_thresholds(&work->task.study.spec, reference);
    for (size_t i = 0; i < n; i++) {
        size_t own = i * VOLUMES_MAX / n;
        if (is_due && own != column)
            TRY(volume_at(work, &set, &values[len - 1], err));
        is_due = is_due && own == column;
        if (!take_in(kept, &set.n, m, front->values + i * m))
            continue;
        len += !is_due;
        rows[len - 1] = front->rows[i];
        column = own;
        is_due = true;
    }
    if (is_due)
        TRY(volume_at(work, &set, &values[len - 1], err));
    struct plot_table *table = plot_table(work, "hypervolume", rows, len, 2);
    plot_take(work, table, "trial", PLOT_INTEGER, work->data.number);
    plot_put(table, "value", PLOT_NUMBER, values);
    return STATUS_OK;
}

enum status plot_pareto(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    struct front front;
    if (work->task.study.spec.objectives < 2)
        return error_set(err, STATUS_CONFLICT, "one_objective", "", "a study of one objective has no front");
    TRY(plot_read(conn, work, err));
    TRY(find_front(work, &front, err));
    TRY(put_front(work, &front, err));
    TRY(put_dominated(work, &front, err));
    return put_volumes(work, &front, err);
}

/* ---- workers ---- */

struct bar {
    const char *worker;
    double      start, end, trial;
    const char *state; /* of the trial, or bar_lost */
};
static const char bar_lost[] = "lost";

static int compare_bars(const void *a, const void *b)
{
    const struct bar *left = a, *right = b;
    int               workers = strcmp(left->worker, right->worker);
    return workers != 0 ? workers : (left->start > right->start) - (left->start < right->start);
}

static double ended(const struct plot_work *work, size_t i)
{
    const struct plot_data *data = &work->data;
    return data->state[i] == TRIAL_RUNNING ? (double)work->task.now_ms : data->finished_ms[i];
}

/* When the last 24 hours in which anything happened began. */
static double since_when(const struct plot_work *work)
{
    double last = 0;
    for (size_t i = 0; i < work->data.n; i++)
        if (!isnan(work->data.started_ms[i]))
            last = fmax(last, ended(work, i));
    return last - 86400e3;
}

static size_t read_bars(const struct plot_work *work, double since, struct bar *bars)
{
    const struct plot_data *data = &work->data;
    size_t                  len = 0;
    for (size_t i = 0; i < data->n; i++) {
        double end = ended(work, i);
        if (isnan(data->started_ms[i]) || isnan(end) || data->worker[i][0] == '\0' || end < since)
            continue;
        bars[len++] = (struct bar){.worker = data->worker[i],
                                   .start = data->started_ms[i],
                                   .end = fmax(end, data->started_ms[i]),
                                   .trial = data->number[i],
                                   .state = trial_state_names[data->state[i]]};
    }
    return len;
}

static double span_of(const struct bar *bars, size_t len)
{
    double first = HUGE_VAL, last = 0;
    for (size_t i = 0; i < len; i++) {
        first = fmin(first, bars[i].start);
        last = fmax(last, bars[i].end);
    }
    return len > 0 ? last - first : 0;
}

/* The lease of a trial, as the log has told so far: when it began, and, once it is over, when and whose it was. */
struct held {
    double      start, expired;
    const char *worker;
};

/* A line of the log; a bar when another worker took the trial. */
static enum status follow(struct plot_work *work, const struct row_event *row, struct held *held, struct bar *lost,
                          struct error *err)
{
    bool is_over = strcmp(row->kind, "trial.handed_over") == 0, is_back = strcmp(row->kind, "trial.started") == 0;
    *lost = (struct bar){0};
    if (strcmp(row->kind, "trial.expired") == 0) {
        held->expired = (double)row->at_ms;
        held->worker = row->detail == NULL ? "" : arena_strndup(work->arena, row->detail, strlen(row->detail));
        return held->worker == NULL ? error_no_memory(err) : STATUS_OK;
    }
    if (!is_over && !is_back && strcmp(row->kind, "trial.suggested") != 0 && strcmp(row->kind, "trial.resumed") != 0)
        return STATUS_OK;
    if (is_over && held->expired > 0 && held->worker[0] != '\0')
        *lost = (struct bar){.worker = held->worker,
                             .start = held->start,
                             .end = held->expired,
                             .trial = (double)row->trial,
                             .state = bar_lost};
    if (is_over || held->expired == 0)
        held->start = (double)row->at_ms; // who came back goes on
    held->expired = 0;
    return STATUS_OK;
}

/* Leases that were lost to another worker: the newest LOST_MAX.  The log is read only where a trial had a second one. */
static enum status read_lost(struct db_conn *conn, struct plot_work *work, double since, struct bar *bars, size_t *len,
                             struct error *err)
{
    const struct plot_data *data = &work->data;
    struct held            *held = ARENA_NEW(work->arena, struct held, data->n + 1);
    struct bar              lost;
    size_t                  count = 0, again = 0;
    for (size_t i = 0; i < data->n; i++)
        again += data->lease[i] > 1;
    if (held == NULL)
        return error_no_memory(err);
    if (again == 0)
        return STATUS_OK;
    memset(held, 0, data->n * sizeof *held);
    struct db_rows rows = db_query(conn, NULL, err, SQL_EVENT_OF_STUDY,
                                   BIND(TEXT(work->task.id), INT(0), TEXT("trial"), INT(0), INT(INT64_MAX), TEXT("")));
    while (db_next(&rows)) {
        const struct row_event *row = row_event(&rows);
        double                  place = (double)row->trial - data->number[0];
        if (!(place >= 0 && place < (double)data->n))
            continue;
        rows.status = follow(work, row, &held[(size_t)place], &lost, err);
        if (rows.status == STATUS_OK && lost.worker != NULL && lost.end >= since)
            bars[count++ % LOST_MAX] = lost;
    }
    *len = count < LOST_MAX ? count : LOST_MAX;
    return db_done(&rows);
}

/* Joins those of a worker between which it paused for less than gap. */
static size_t join_bars(const struct bar *bars, size_t len, double gap, struct bar *out, double *counts)
{
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        struct bar *last = kept > 0 ? &out[kept - 1] : NULL;
        if (last != NULL && strcmp(last->worker, bars[i].worker) == 0 && bars[i].start - last->end < gap &&
            (bars[i].state == bar_lost) == (last->state == bar_lost) &&
            (bars[i].end - bars[i].start < gap || last->end - last->start < gap)) {
            last->end = fmax(last->end, bars[i].end);
            last->state = strcmp(last->state, bars[i].state) == 0 ? last->state : "";
            counts[kept - 1]++;
            continue;
        }
        out[kept] = bars[i];
        counts[kept++] = 1;
    }
    return kept;
}

static enum status put_bars(struct plot_work *work, const struct bar *bars, size_t len, double *counts,
                            struct error *err)
{
    struct plot_table *table = plot_table(work, "bars", NULL, len, 6);
    const char       **workers = ARENA_NEW(work->arena, const char *, len + 1);
    const char       **states = ARENA_NEW(work->arena, const char *, len + 1);
    double            *start = ARENA_NEW(work->arena, double, 3 * len + 1);
    if (workers == NULL || states == NULL || start == NULL)
        return error_no_memory(err);
    double *end = start + len, *trial = end + len;
    for (size_t i = 0; i < len; i++) {
        start[i] = bars[i].start;
        end[i] = bars[i].end;
        trial[i] = bars[i].trial;
        workers[i] = bars[i].worker;
        states[i] = bars[i].state;
    }
    plot_put(table, "started_at", PLOT_TIME, start);
    plot_put(table, "ended_at", PLOT_TIME, end);
    plot_put(table, "trial", PLOT_INTEGER, trial);
    plot_put_texts(table, "worker", workers);
    plot_put_texts(table, "state", states);
    plot_put(table, "count", PLOT_INTEGER, counts);
    work->out->shown = (int64_t)len;
    return STATUS_OK;
}

enum status plot_workers(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    size_t lost = 0;
    TRY(plot_read(conn, work, err));
    struct bar *bars = ARENA_NEW(work->arena, struct bar, work->data.n + LOST_MAX + 1);
    struct bar *joined = ARENA_NEW(work->arena, struct bar, work->data.n + LOST_MAX + 1);
    double     *counts = ARENA_NEW(work->arena, double, work->data.n + LOST_MAX + 1);
    if (bars == NULL || joined == NULL || counts == NULL)
        return error_no_memory(err);
    double since = since_when(work);
    size_t len = read_bars(work, since, bars);
    TRY(read_lost(conn, work, since, bars + len, &lost, err));
    len += lost;
    qsort(bars, len, sizeof *bars, compare_bars);
    double span = span_of(bars, len),
           gap = 2 * span / (double)points_of(work->request, PLOT_POINTS_MAX, PLOT_POINTS_MAX);
    size_t kept = join_bars(bars, len, gap, joined, counts);
    for (; kept > BARS_MAX && gap <= span; gap *= 2)
        kept = join_bars(bars, len, gap, joined, counts);
    return put_bars(work, joined, kept < BARS_MAX ? kept : BARS_MAX, counts, err);
}

/* ---- latent sizes ---- */

/* Trials one after the other in the same size are one row.  first, last, size, count: [room] of the newest runs, in a
 * ring. */
struct latents {
    double *first, *last, *size, *count;
    size_t  room, runs;
};

static void add_latent(struct latents *l, double trial, double size)
{
    size_t newest = (l->runs + l->room - 1) % l->room;
    if (l->runs > 0 && l->size[newest] == size) {
        l->last[newest] = trial;
        l->count[newest]++;
        return;
    }
    size_t at = l->runs++ % l->room;
    l->first[at] = l->last[at] = trial;
    l->size[at] = size;
    l->count[at] = 1;
}

static enum status put_latents(struct plot_work *work, const struct latents *l, struct error *err)
{
    size_t             len = l->runs < l->room ? l->runs : l->room;
    size_t            *places = ARENA_NEW(work->arena, size_t, len + 1);
    struct plot_table *table = plot_table(work, "latents", places, len, 4);
    if (places == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++)
        places[i] = (l->runs - len + i) % l->room;
    plot_take(work, table, "first", PLOT_INTEGER, l->first);
    plot_take(work, table, "last", PLOT_INTEGER, l->last);
    plot_take(work, table, "size", PLOT_INTEGER, l->size);
    plot_take(work, table, "count", PLOT_INTEGER, l->count);
    work->out->shown = (int64_t)len;
    return STATUS_OK;
}

enum status plot_latents(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    const struct policy *policy = work->task.study.spec.policy;
    struct latents       l = {.first = ARENA_NEW(work->arena, double, 4 * LATENTS_MAX), .room = LATENTS_MAX};
    if (l.first == NULL)
        return error_no_memory(err);
    l.last = l.first + l.room;
    l.size = l.last + l.room;
    l.count = l.size + l.room;
    struct db_rows rows = db_query(conn, NULL, err, SQL_NOTE_HEADS,
                                   BIND(TEXT(work->task.id), INT(work->request->from),
                                        INT(work->request->to > 0 ? work->request->to : INT64_MAX)));
    while (db_next(&rows)) {
        const struct row_trial_note *row = row_trial_note(&rows);
        size_t                       size;
        if (policy->read_latent == NULL || !policy->read_latent(row->note.bytes, row->note.length, &size))
            continue;
        work->out->of++;
        add_latent(&l, (double)row->number, (double)size);
    }
    TRY(db_done(&rows));
    return put_latents(work, &l, err);
}
