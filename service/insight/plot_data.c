/* See plot_data.h. */
#include "service/insight/plot_data.h"

#include "service/store/rows.h"

#include <math.h>
#include <string.h>

/* ---- the trials ---- */

static bool make_room(struct plot_work *work, size_t room)
{
    struct plot_data *data = &work->data;
    double          **columns[] = {&data->number, &data->value,           &data->worth,      &data->mean,
                                   &data->stddev, &data->stddev_observed, &data->started_ms, &data->finished_ms};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if ((*columns[i] = ARENA_NEW(work->arena, double, room)) == NULL)
            return false;
    data->state = ARENA_NEW(work->arena, enum trial_state, room);
    data->is_feasible = ARENA_NEW(work->arena, bool, room);
    data->lease = ARENA_NEW(work->arena, int64_t, room);
    data->worker = ARENA_NEW(work->arena, const char *, room);
    data->points = arena_alloc(work->arena, room, (data->params + 1) * sizeof *data->points);
    data->values = arena_alloc(work->arena, room, data->metrics * sizeof *data->values);
    return data->state != NULL && data->is_feasible != NULL && data->lease != NULL && data->worker != NULL &&
           data->points != NULL && data->values != NULL;
}

/* The values of all metrics, or NULL. */
static const double *values_of(const struct spec *spec, const struct row_plot *row)
{
    return spec->space.kind == SPACE_GRAPH ? NULL : row->outcome.bytes;
}

/* The value of a trial that failed, say, is not the function's; recorded metrics count as they are. */
static double value_of(const struct spec *spec, const struct row_plot *row, enum trial_state state, size_t k)
{
    const double *values = values_of(spec, row);
    bool          counts = k >= spec->metrics_len || state == TRIAL_COMPLETED || state == TRIAL_STOPPED;
    double        value = values != NULL ? values[2 * k] : k == spec->first ? row->value : (double)NAN;
    return counts ? value : (double)NAN;
}

static enum status keep(struct plot_work *work, const struct row_plot *row, struct error *err)
{
    struct plot_data  *data = &work->data;
    const struct spec *spec = &work->task.study.spec;
    size_t             i = data->n, k = work->out->metric;
    int                state;
    TRY(rows_state(trial_state_names, row->state, "a trial", &state, err));
    bool is_first = k == spec->first;
    for (size_t m = 0; m < data->metrics; m++)
        data->values[i * data->metrics + m] = value_of(spec, row, (enum trial_state)state, m);
    data->number[i] = (double)row->number;
    data->state[i] = (enum trial_state)state;
    data->value[i] = value_of(spec, row, (enum trial_state)state, k);
    data->worth[i] = isnan(data->value[i]) ? (double)NAN : spec_value(spec, k, data->value[i]);
    data->is_feasible[i] = row->feasible != 0;
    data->lease[i] = row->lease;
    data->mean[i] = is_first ? row->model_mean : (double)NAN;
    data->stddev[i] = is_first ? row->model_stddev : (double)NAN;
    data->stddev_observed[i] = is_first ? row->model_stddev_observed : (double)NAN;
    data->started_ms[i] = row->started_ms > 0 ? (double)row->started_ms : (double)NAN;
    data->finished_ms[i] = row->finished_ms > 0 ? (double)row->finished_ms : (double)NAN;
    data->worker[i] = "";
    if (work->request->kind == PLOT_WORKERS)
        data->worker[i] = arena_strndup(work->arena, row->holder, strlen(row->holder));
    if (data->worker[i] == NULL)
        return error_no_memory(err);
    if (data->params > 0 && row->point.length >= data->params * sizeof(double))
        memcpy(data->points + i * data->params, row->point.bytes, data->params * sizeof(double));
    data->n++;
    return STATUS_OK;
}

enum status plot_read(struct db_conn *conn, struct plot_work *work, struct error *err)
{
    struct plot_data          *data = &work->data;
    const struct study        *study = &work->task.study;
    const struct plot_request *request = work->request;
    size_t                     room = (size_t)study->trials_total + 1;
    data->params = study->spec.space.kind == SPACE_PARAMETERS ? study->spec.space.params_len : 0;
    data->metrics = study->spec.space.kind == SPACE_GRAPH ? 1 : study->spec.metrics_len;
    if (!make_room(work, room))
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_PLOT,
                                   BIND(TEXT(work->task.id), INT(request->from > 0 ? request->from : 1),
                                        INT(request->to > 0 ? request->to : INT64_MAX)));
    while (db_next(&rows))
        rows.status = data->n < room ? keep(work, row_plot(&rows), err) : error_no_memory(err);
    TRY(db_done(&rows));
    work->out->of = (int64_t)data->n;
    return STATUS_OK;
}

/* ---- tables ---- */

struct plot_table *plot_table(struct plot_work *work, const char *name, const size_t *rows, size_t len, size_t columns)
{
    struct plot_table *table = &work->out->tables[work->out->tables_len++];
    *table = (struct plot_table){
        .name = name, .len = len, .rows = rows, .columns = ARENA_NEW(work->arena, struct plot_column, columns + 1)};
    if (table->columns == NULL) {
        table->len = 0;
        work->is_short = true;
    }
    return table;
}

static void add(struct plot_table *table, struct plot_column column)
{
    if (table->columns != NULL)
        table->columns[table->columns_len++] = column;
}

void plot_put(struct plot_table *table, const char *name, enum plot_what what, const double *numbers)
{
    add(table, (struct plot_column){.name = name, .what = what, .numbers = numbers});
}

void plot_put_texts(struct plot_table *table, const char *name, const char *const *texts)
{
    add(table, (struct plot_column){.name = name, .what = PLOT_TEXT, .texts = texts});
}

void plot_take_from(struct plot_work *work, struct plot_table *table, const char *name, enum plot_what what,
                    const double *from, size_t stride)
{
    double *numbers = ARENA_NEW(work->arena, double, table->len + 1);
    work->is_short |= numbers == NULL;
    for (size_t i = 0; numbers != NULL && i < table->len; i++)
        numbers[i] = from[table->rows[i] * stride];
    plot_put(table, name, what, numbers);
}

void plot_take_states(struct plot_work *work, struct plot_table *table)
{
    const char **texts = ARENA_NEW(work->arena, const char *, table->len + 1);
    work->is_short |= texts == NULL;
    for (size_t i = 0; texts != NULL && i < table->len; i++)
        texts[i] = trial_state_names[work->data.state[table->rows[i]]];
    plot_put_texts(table, "state", texts);
}

double plot_place(const struct param *param, double value)
{
    double u;
    if (isnan(value))
        return NAN;
    if (param->kind == PARAM_CATEGORICAL)
        return (value + 0.5) / (double)param->choices;
    param_encode(param, value, &u);
    return u;
}
