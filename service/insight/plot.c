/* See plot.h. */
#include "service/insight/plot.h"

#include "service/base/page.h"
#include "service/store/rows.h"
#include "service/insight/plot_data.h"

const char *const plot_kind_names[PLOT_KIND_COUNT + 1] = {
    [PLOT_HISTORY] = "history", [PLOT_PARALLEL] = "parallel", [PLOT_SLICE] = "slice",     [PLOT_CONTOUR] = "contour",
    [PLOT_PARETO] = "pareto",   [PLOT_CURVES] = "curves",     [PLOT_WORKERS] = "workers", [PLOT_LATENTS] = "latents",
};

static enum status (*const makers[PLOT_KIND_COUNT])(struct db_conn *, struct plot_work *, struct error *) = {
    [PLOT_HISTORY] = plot_history, [PLOT_PARALLEL] = plot_parallel, [PLOT_SLICE] = plot_cells,
    [PLOT_CONTOUR] = plot_cells,   [PLOT_PARETO] = plot_pareto,     [PLOT_CURVES] = plot_some_curves,
    [PLOT_WORKERS] = plot_workers, [PLOT_LATENTS] = plot_latents,
};

/* ---- all kinds ---- */

static enum status make(struct db_conn *conn, void *arg, struct error *err)
{
    struct plot_work *work = arg;
    struct plot      *out = work->out;
    TRY(task_open(conn, &work->task, err));
    out->study = work->task.study;
    TRY(spec_find_metric(&out->study.spec, work->request->metric, &out->metric, err));
    TRY(makers[work->request->kind](conn, work, err));
    return work->is_short ? error_no_memory(err) : STATUS_OK;
}

enum status plot_make(struct app *app, struct caller *caller, const char *study, const struct plot_request *request,
                      struct plot *out, struct error *err)
{
    struct plot_work work = {
        .task = task_of(app, caller, study), .request = request, .out = out, .arena = caller->arena};
    *out = (struct plot){.kind = request->kind};
    return task_read(&work.task, make, err);
}

/* ---- curves, whole ---- */

struct paging {
    struct task         task;
    int64_t             after, limit;
    const char         *metric;
    size_t              k; /* which that is */
    struct curves_page *out;
};

/* At the end of a page of so many curves, or so many measurements. */
static bool is_full(const struct paging *paging, int64_t trial, size_t numbers)
{
    enum { NUMBERS_MAX = 200000 };
    const struct curves_page *out = paging->out;
    bool                      is_new = out->len == 0 || out->items[out->len - 1].trial != trial;
    return is_new && out->len > 0 && ((int64_t)out->len >= paging->limit || numbers >= NUMBERS_MAX);
}

static enum status add_point(struct paging *paging, const struct row_curve_point *row, size_t *room, struct error *err)
{
    struct arena       *arena = paging->task.caller->arena;
    struct curves_page *out = paging->out;
    int                 state;
    if (out->len == 0 || out->items[out->len - 1].trial != row->trial) {
        TRY(rows_state(trial_state_names, row->state, "a trial", &state, err));
        out->items[out->len++] = (struct whole_curve){.trial = row->trial, .state = trial_state_names[state]};
        *room = 0;
    }
    struct whole_curve *curve = &out->items[out->len - 1];
    void               *steps = curve->steps, *values = curve->values;
    size_t              same = *room;
    if (!rows_grow(arena, &steps, curve->len, room, sizeof *curve->steps) ||
        !rows_grow(arena, &values, curve->len, &same, sizeof *curve->values))
        return error_no_memory(err);
    curve->steps = steps;
    curve->values = values;
    curve->steps[curve->len] = (double)row->step;
    curve->values[curve->len++] = plot_measured(&paging->task.study.spec, paging->k, row->value, &row->outcome);
    return STATUS_OK;
}

static enum status page_curves(struct db_conn *conn, void *arg, struct error *err)
{
    struct paging      *paging = arg;
    struct curves_page *out = paging->out;
    size_t              room = 0, numbers = 0;
    TRY(task_open(conn, &paging->task, err));
    TRY(spec_find_modelled(&paging->task.study.spec, paging->metric, &paging->k, err));
    out->items = ARENA_NEW(paging->task.caller->arena, struct whole_curve, (size_t)paging->limit + 1);
    if (out->items == NULL)
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, NULL, err, SQL_CURVE_POINTS, BIND(TEXT(paging->task.id), INT(paging->after)));
    bool           has_more = false;
    while (!has_more && db_next(&rows)) {
        const struct row_curve_point *row = row_curve_point(&rows);
        has_more = is_full(paging, row->trial, numbers++);
        if (!has_more)
            rows.status = add_point(paging, row, &room, err);
    }
    TRY(db_done(&rows));
    return has_more ? page_next(paging->task.caller->arena, out->items[out->len - 1].trial, &out->next_cursor, err)
                    : STATUS_OK;
}

enum status plot_curves(struct app *app, struct caller *caller, const char *study, const struct curves_request *request,
                        struct curves_page *out, struct error *err)
{
    struct paging paging = {.task = task_of(app, caller, study),
                            .limit = page_limit(request->page.limit),
                            .metric = request->metric,
                            .out = out};
    *out = (struct curves_page){0};
    TRY(page_after(request->page.cursor, &paging.after, err));
    return task_read(&paging.task, page_curves, err);
}
