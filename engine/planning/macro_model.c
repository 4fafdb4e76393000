/* See macro_model.h. */
#include "engine/planning/macro_model.h"

#include "engine/math/minimize.h"

#include <math.h>
#include <string.h>

enum { EVALUATIONS = 80, STARTS = 3 };

/* ---- hyper-parameters ---- */

struct fit {
    size_t                    n, dims;
    const struct kernel_kind *kind;
    const double             *X, *values;                                      /* [n][dims], [n] */
    double                   *y;                                               /* [n] scratch: values less the mean */
    double                    centre[MACRO_THETA_MAX], width[MACRO_THETA_MAX]; /* of the prior of each theta */
    struct gp_work            work;
};

/* Minus the log posterior density, and its gradient. */
static double objective(void *arg, const double *theta, double *gradient)
{
    struct fit   *fit = arg;
    double        length_scales[GRAPH_DIMS_MAX], likelihood, own[GRAPH_DIMS_MAX + 2], value = 0;
    size_t        dims = fit->dims;
    struct kernel kernel = {
        .kind = fit->kind, .dims = dims, .variance = exp(theta[dims]), .length_scales = length_scales};
    const struct gp_data data = {.n = fit->n, .dims = dims, .X = fit->X, .y = fit->y};
    for (size_t j = 0; j < dims; j++)
        length_scales[j] = exp(theta[j]);
    for (size_t i = 0; i < fit->n; i++)
        fit->y[i] = fit->values[i] - theta[dims + 2];
    if (gp_likelihood(&data, &kernel, exp(theta[dims + 1]), &fit->work, &likelihood, own) != STATUS_OK)
        return INFINITY;
    for (size_t k = 0; k < dims + 3; k++) {
        double z = (theta[k] - fit->centre[k]) / fit->width[k], slope = 0;
        for (size_t i = 0; k == dims + 2 && i < fit->n; i++)
            slope += fit->work.vector[i]; // d log p / d mean = 1' alpha
        if (k < dims + 2)
            slope = own[k];
        value += 0.5 * z * z;
        if (gradient != NULL)
            gradient[k] = z / fit->width[k] - slope;
    }
    return value - likelihood;
}

static void set_priors(struct fit *fit)
{
    double mean = 0, variance = 0;
    size_t n = fit->n, dims = fit->dims;
    for (size_t i = 0; i < n; i++)
        mean += fit->values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow(fit->values[i] - mean, 2) / (double)n;
    variance = variance > 0 ? variance : 1;
    for (size_t j = 0; j < dims; j++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            low = fmin(low, fit->X[i * dims + j]);
            high = fmax(high, fit->X[i * dims + j]);
        }
        fit->centre[j] = log(high > low ? (high - low) / 5 : 1);
        fit->width[j] = 1;
    }
    fit->centre[dims] = log(variance);
    fit->width[dims] = 1.5;
    fit->centre[dims + 1] = log(variance / 100);
    fit->width[dims + 1] = 2;
    fit->centre[dims + 2] = mean;
    fit->width[dims + 2] = sqrt(variance);
}

/* The best of searches that start with short, middling and long length-scales. */
static enum status search(struct fit *fit, double *theta, struct arena *scratch, struct error *err)
{
    double lower[MACRO_THETA_MAX], upper[MACRO_THETA_MAX], start[MACRO_THETA_MAX], best = INFINITY;
    size_t len = fit->dims + 3;
    for (size_t k = 0; k < len; k++) {
        lower[k] = isnan(theta[k]) ? fit->centre[k] - 5 * fit->width[k] : theta[k];
        upper[k] = isnan(theta[k]) ? fit->centre[k] + 5 * fit->width[k] : theta[k];
    }
    const struct minimize problem = {.dims = len,
                                     .lower = lower,
                                     .upper = upper,
                                     .function = objective,
                                     .arg = fit,
                                     .evaluations = EVALUATIONS,
                                     .f_tolerance = 1e-9,
                                     .x_tolerance = 1e-6};
    for (int s = 0; s < STARTS; s++) {
        double value;
        for (size_t k = 0; k < len; k++)
            start[k] = fmin(upper[k], fmax(lower[k], fit->centre[k] + (k < fit->dims ? s - 1 : 0)));
        TRY(minimize_lbfgs(&problem, start, &value, scratch, err));
        if (value < best || s == 0)
            memcpy(theta, start, len * sizeof *theta);
        best = fmin(best, value);
    }
    return STATUS_OK;
}

enum status macro_model_fit(const struct graph *graph, const struct kernel_kind *kind, double *theta,
                            struct arena *scratch, struct error *err)
{
    size_t n = graph->prior_len, dims = graph->dims;
    bool   is_given = true;
    for (size_t k = 0; k < dims + 3; k++)
        is_given = is_given && !isnan(theta[k]);
    if (is_given)
        return STATUS_OK;
    struct arena_mark mark = arena_mark(scratch);
    struct fit        fit = {.n = n, .dims = dims, .kind = kind};
    double           *X = arena_alloc(scratch, n + 1, dims * sizeof *X), *values = ARENA_NEW(scratch, double, n + 1);
    fit.y = ARENA_NEW(scratch, double, n + 1);
    if (X == NULL || values == NULL || fit.y == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        graph_coordinates(graph, graph->prior_sites[i], X + i * dims);
        values[i] = graph->sign * graph->prior_values[i];
    }
    fit.X = X;
    fit.values = values;
    TRY(gp_work_init(&fit.work, scratch, n, err));
    set_priors(&fit);
    TRY(search(&fit, theta, scratch, err));
    arena_release(scratch, mark);
    return STATUS_OK;
}

/* ---- the log ---- */

void macro_model_init(struct macro_model *model, const struct space *space, struct arena *arena,
                      const struct kernel_kind *kind, const double *theta)
{
    size_t dims = space->graph->dims;
    *model = (struct macro_model){.graph = space->graph,
                                  .arena = arena,
                                  .point_len = space_point_len(space),
                                  .kernel = {.kind = kind, .dims = dims, .variance = exp(theta[dims])},
                                  .noise_variance = exp(theta[dims + 1]),
                                  .mean = theta[dims + 2]};
    for (size_t j = 0; j < dims; j++)
        model->length_scales[j] = exp(theta[j]);
    model->kernel.length_scales = model->length_scales;
}

/* Finds a trial's place in the list, or adds it there. */
static enum status find_visit(struct macro_model *model, const struct event *event, struct visit **out,
                              struct error *err)
{
    size_t at = model->len;
    while (at > 0 && model->visits[at - 1].number > event->trial)
        at--;
    if (at > 0 && model->visits[at - 1].number == event->trial) {
        *out = &model->visits[at - 1];
        return STATUS_OK;
    }
    struct visit *visits = arena_grown(model->arena, model->visits, model->len, sizeof *visits, &model->room);
    if (visits == NULL)
        return error_no_memory(err);
    model->visits = visits;
    double *own = ARENA_NEW(model->arena, double, 2 * model->point_len);
    if (own == NULL)
        return error_no_memory(err);
    memmove(model->visits + at + 1, model->visits + at, (model->len - at) * sizeof *model->visits);
    model->len++;
    memcpy(own, event->point, model->point_len * sizeof *own);
    for (size_t i = 0; i < model->point_len; i++)
        own[model->point_len + i] = NAN;
    model->visits[at] = (struct visit){.number = event->trial,
                                       .steps = graph_point_steps(event->point, model->point_len),
                                       .sites = own,
                                       .values = own + model->point_len};
    *out = &model->visits[at];
    return STATUS_OK;
}

enum status macro_model_tell(struct macro_model *model, const struct event *event, struct error *err)
{
    static const enum visit_state states[] = {[EVENT_SUGGESTED] = VISIT_PENDING,
                                              [EVENT_OBSERVED] = VISIT_MEASURED,
                                              [EVENT_INFEASIBLE] = VISIT_BLOCKED,
                                              [EVENT_FAILED] = VISIT_NONE,
                                              [EVENT_ABANDONED] = VISIT_NONE};
    struct visit                 *visit;
    TRY(find_visit(model, event, &visit, err));
    visit->state = states[event->kind];
    if (event->kind == EVENT_OBSERVED && event->values != NULL)
        memcpy(visit->values, event->values, model->point_len * sizeof *visit->values);
    return STATUS_OK;
}

/* How many sites of a trial the agent visited, or will. */
static size_t visited(const struct visit *visit)
{
    size_t measured = 0;
    if (visit->state != VISIT_MEASURED)
        return visit->state == VISIT_PENDING ? visit->steps : 0;
    while (measured < visit->steps && !isnan(visit->values[measured]))
        measured++;
    return measured;
}

/* The site before visit number at. */
static size_t place_before(const struct macro_model *model, size_t at)
{
    for (; at > 0; at--) {
        const struct visit *visit = &model->visits[at - 1];
        if (visited(visit) > 0)
            return (size_t)visit->sites[visited(visit) - 1];
    }
    return model->graph->start;
}

size_t macro_model_place(const struct macro_model *model)
{
    return place_before(model, model->len);
}

enum status macro_model_blocked(const struct macro_model *model, struct arena *arena, double **out, size_t *len,
                                struct error *err)
{
    size_t width = 1 + model->graph->steps, found = 0;
    *len = 0;
    for (size_t i = 0; i < model->len; i++)
        found += model->visits[i].state == VISIT_BLOCKED;
    *out = arena_alloc(arena, found + 1, width * sizeof **out);
    if (*out == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < model->len; i++) {
        if (model->visits[i].state != VISIT_BLOCKED)
            continue;
        double *row = *out + width * (*len)++;
        row[0] = (double)place_before(model, i);
        memcpy(row + 1, model->visits[i].sites, (width - 1) * sizeof *row);
    }
    return STATUS_OK;
}

/* ---- the process ---- */

struct data {
    double *X, *y, *pending; /* [..][dims], [..], [..][dims] */
    size_t  n, pending_len;
};

static enum status collect(const struct macro_model *model, struct arena *arena, struct data *data, struct error *err)
{
    size_t dims = model->graph->dims, room = model->graph->prior_len + 1;
    for (size_t i = 0; i < model->len; i++)
        room += visited(&model->visits[i]);
    data->X = arena_alloc(arena, room, dims * sizeof *data->X);
    data->pending = arena_alloc(arena, room, dims * sizeof *data->pending);
    data->y = ARENA_NEW(arena, double, room);
    if (data->X == NULL || data->pending == NULL || data->y == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < model->graph->prior_len; i++) {
        graph_coordinates(model->graph, model->graph->prior_sites[i], data->X + data->n * dims);
        data->y[data->n++] = model->graph->sign * model->graph->prior_values[i] - model->mean;
    }
    for (size_t i = 0; i < model->len; i++) {
        const struct visit *visit = &model->visits[i];
        for (size_t k = 0; k < visited(visit); k++) {
            bool    is_value = visit->state == VISIT_MEASURED;
            double *x = is_value ? data->X + data->n * dims : data->pending + data->pending_len * dims;
            graph_coordinates(model->graph, (size_t)visit->sites[k], x);
            if (is_value)
                data->y[data->n++] = visit->values[k] - model->mean;
            else
                data->pending_len++;
        }
    }
    return STATUS_OK;
}

enum status macro_model_gp(const struct macro_model *model, bool with_pending, struct arena *arena, struct gp *out,
                           size_t *measured, struct error *err)
{
    struct data data = {0};
    TRY(collect(model, arena, &data, err));
    TRY(gp_init(out, arena, &model->kernel, model->noise_variance, data.n + data.pending_len + 1, err));
    if (data.n > 0) {
        TRY(gp_set_points(out, data.X, NULL, data.n, err));
        TRY(gp_set_values(out, data.y, err));
    }
    for (size_t i = 0; i < data.pending_len && with_pending; i++)
        TRY(gp_append(out, data.pending + i * model->graph->dims, 0, err));
    *measured = data.n;
    return STATUS_OK;
}
