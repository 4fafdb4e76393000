/* The data of plots: the trials of a study as columns of numbers.  Internal to plot.h. */
#ifndef GNOMON_SERVICE_STUDY_PLOT_DATA_H
#define GNOMON_SERVICE_STUDY_PLOT_DATA_H

#include "service/store/task.h"
#include "service/insight/plot.h"

/* [n] in the order of numbers; NaN: none.  value is the metric's own, worth is larger when better. */
struct plot_data {
    size_t            n;
    double           *number, *value, *worth, *mean, *stddev, *stddev_observed, *started_ms, *finished_ms;
    enum trial_state *state;
    bool             *is_feasible;
    int64_t          *lease; /* the present one, or the last */
    const char      **worker;
    double           *points; /* [n][params] */
    double           *values; /* [n][metrics] */
    size_t            params, metrics;
};

struct plot_work {
    struct task                task;
    const struct plot_request *request;
    struct plot               *out;
    struct plot_data           data;
    struct arena              *arena;
    bool is_short; /* a table or a column found no memory: the plot is none, and plot_make says so */
};

/* Within a transaction, of the task's study. */
MUST_CHECK enum status plot_read(struct db_conn *conn, struct plot_work *work, struct error *err);

/* A new table of the plot with room for so many columns; rows [len]: which trials they are, or NULL.  Without memory it has
 * no rows and takes no columns. */
struct plot_table *plot_table(struct plot_work *work, const char *name, const size_t *rows, size_t len, size_t columns);
/* Adds a column of these numbers [len]. */
void plot_put(struct plot_table *table, const char *name, enum plot_what what, const double *numbers);
void plot_put_texts(struct plot_table *table, const char *name, const char *const *texts);
/* Adds a column with the values of the table's rows, which are stride apart from one trial to the next. */
void plot_take_from(struct plot_work *work, struct plot_table *table, const char *name, enum plot_what what,
                    const double *from, size_t stride);
static inline void plot_take(struct plot_work *work, struct plot_table *table, const char *name, enum plot_what what,
                             const double *from)
{
    plot_take_from(work, table, name, what, from, 1);
}
/* Adds the states of the table's trials, as words. */
void plot_take_states(struct plot_work *work, struct plot_table *table);

/* The value of metric k after a step, of whose row these are the value and the outcome. */
double plot_measured(const struct spec *spec, size_t k, double value, const struct db_blob *outcome);

/* Where a parameter's value lies on its scale, 0 .. 1; NaN for NaN. */
double plot_place(const struct param *param, double value);

/* The kinds. */
enum status plot_history(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_parallel(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_cells(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_pareto(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_some_curves(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_workers(struct db_conn *conn, struct plot_work *work, struct error *err);
enum status plot_latents(struct db_conn *conn, struct plot_work *work, struct error *err);

#endif
