/* Predictions, importances, slices and residuals: each takes the study's session alone. */
#include "service/insight/insight.h"

#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/codec/codec_trial.h"
#include "service/store/rows.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/trial/trial.h"

#include <float.h>
#include <math.h>

/* Points between two looks whether somebody still waits or is next: up to 40 ms with the largest model.  Models take 256
 * at once: pieces of another length would change the last digit.  Those that look near take 2 to 4 ms for each. */
enum { PIECE = 256, PIECE_NEAR = 16, PIECE_OF_MEANS = 512 };

struct work {
    struct app    *app;
    struct caller *caller;
    struct live   *live;
    enum status (*run)(struct work *work, struct error *err); /* under the session's lock, in a slot */
    void               *out;
    size_t              metric;
    enum quantity       quantity;
    const struct study *study;
    double              price_ms;
    enum price_part     part;
    bool                is_cut;
};
const char *const insight_quantity_names[] = {"value", "feasibility", NULL};

static enum status run_residuals(struct work *work, struct error *err);

static enum status run_locked(struct work *work, struct error *err)
{
    TRY(session_catch_up(work->app, work->caller, work->study, work->live, err));
    const struct policy *policy = work->live->spec.policy;
    const struct graph  *graph = work->live->spec.space.graph; // a graph may have prior observations
    if (policy->predict == NULL || (policy->residuals == NULL && work->run == run_residuals))
        return error_set(err, STATUS_CONFLICT, "no_model", "", "the algorithm %s has no model", policy->name);
    if (work->live->observations == 0 && (graph == NULL || graph->prior_len == 0))
        return error_set(err, STATUS_CONFLICT, "no_observations", "", "there is nothing to predict from yet");
    TRY(slots_enter(work->app, work->caller, work->price_ms, err));
    if (policy->show != NULL)
        (void)policy->show(work->live->streams.session, work->metric);
    enum status status = work->run(work, err);
    if (policy->show != NULL)
        (void)policy->show(work->live->streams.session, work->live->spec.first);
    double took_ms = slots_leave(work->app, work->caller, policy->name);
    if (status == STATUS_OK)
        price_learn_part(work->app, work->part, work->price_ms, took_ms);
    return status;
}

static enum status run(struct work *work, const struct study *study, double price_ms, struct error *err)
{
    work->study = study;
    work->price_ms = price_ms;
    TRY(slots_announce(work->caller, price_ms, err));
    TRY(session_lock(work->app, work->caller, study->id, SESSION_ALONE, &work->live, err));
    enum status status = run_locked(work, err);
    session_unlock(work->app, work->live);
    return status;
}

/* ---- what is asked of the model ---- */

/* The number of models asked: all that say whether a trial is feasible, or 1. */
static double models_asked(const struct work *work, const struct study *study)
{
    return work->quantity == QUANTITY_FEASIBILITY ? (double)study->spec.metrics_len : 1;
}

static double price_points(struct work *work, const struct study *study, double points)
{
    const struct price_model model = session_price(work->app, study);
    work->part = PRICE_PREDICT;
    return models_asked(work, study) * price_predict(work->app, &model, points);
}

static double probability(double mean, double sd)
{
    return 0.5 * erfc(-mean / (sqrt(2) * fmax(sd, DBL_MIN)));
}

/* mean [m] out: the probability that a trial there meets all constraints and has values at all (number metrics_len). */
static enum status feasibility(struct work *work, const struct prediction *wanted, struct error *err)
{
    const struct spec   *spec = &work->live->spec;
    const struct policy *policy = spec->policy;
    struct arena        *arena = work->caller->arena;
    struct arena_mark    mark = arena_mark(arena);
    struct prediction    part = *wanted;
    size_t               models = 0;
    part.mean = ARENA_NEW(arena, double, wanted->m);
    part.sd = ARENA_NEW(arena, double, wanted->m);
    part.sd_observed = NULL;
    part.diagnostics = NULL;
    if (part.mean == NULL || part.sd == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < wanted->m; i++) {
        wanted->mean[i] = 1;
        if (wanted->sd != NULL)
            wanted->sd[i] = wanted->sd_observed[i] = NAN;
    }
    for (size_t k = 0; k <= spec->metrics_len && policy->show != NULL; k++) {
        if ((k < spec->metrics_len && spec->kinds[k] == METRIC_OBJECTIVE) ||
            !policy->show(work->live->streams.session, k))
            continue;
        TRY(slots_go_on(work->app, work->caller, err));
        TRY(policy->predict(work->live->streams.session, &part, err));
        for (size_t i = 0; i < wanted->m; i++)
            wanted->mean[i] *= probability(part.mean[i], part.sd[i]);
        models++;
    }
    arena_release(arena, mark);
    return models > 0 ? STATUS_OK
                      : error_set(err, STATUS_CONFLICT, "no_constraints", "",
                                  "the study has no constraint, and no trial was infeasible");
}

static enum status posterior_at_once(struct work *work, const struct prediction *wanted, struct error *err)
{
    TRY(slots_go_on(work->app, work->caller, err));
    return work->quantity == QUANTITY_FEASIBILITY
               ? feasibility(work, wanted, err)
               : work->live->spec.policy->predict(work->live->streams.session, wanted, err);
}

static enum status posterior(struct work *work, const struct prediction *wanted, struct error *err)
{
    size_t                   len = space_point_len(&work->live->spec.space), m = wanted->m, from = 0;
    struct prediction        part = *wanted;
    const struct price_model model = session_price(work->app, work->study);
    part.looks_near = wanted->sd != NULL && work->quantity == QUANTITY_VALUE && price_looks_near(&model);
    size_t piece = wanted->sd == NULL ? PIECE_OF_MEANS : part.looks_near ? PIECE_NEAR : PIECE;
    for (; m - from > piece; from += piece) {
        part.m = piece;
        TRY(posterior_at_once(work, &part, err));
        part.points = part.points == NULL ? NULL : part.points + piece * len;
        part.rows = part.rows == NULL ? NULL : part.rows + piece;
        part.mean += piece;
        part.sd = part.sd == NULL ? NULL : part.sd + piece;
        part.sd_observed = part.sd_observed == NULL ? NULL : part.sd_observed + piece;
        part.diagnostics = NULL;
    }
    part.m = m - from;
    return posterior_at_once(work, &part, err);
}

static double shown(const struct work *work, double mean)
{
    return work->quantity == QUANTITY_FEASIBILITY ? mean : spec_shown(&work->live->spec, work->metric, mean);
}

/* ---- predictions ---- */

struct predicting {
    const struct predict_request *request;
    struct predict_reply         *reply;
};

/* The model is of what is modelled: slacks of constraints, larger is better. */
static enum status run_prediction(struct work *work, struct error *err)
{
    const struct predicting      *predicting = work->out;
    const struct predict_request *request = predicting->request;
    struct predict_reply         *out = predicting->reply;
    const struct spec            *spec = &work->live->spec;
    struct arena                 *arena = work->caller->arena;
    struct diagnostics diagnostics = {.length_scales = ARENA_NEW(arena, double, space_point_len(&spec->space) + 1),
                                      .acquisition_value = NAN,
                                      .fit_ms = NAN};
    if (diagnostics.length_scales == NULL)
        return error_no_memory(err);
    TRY(posterior(work,
                  &(struct prediction){.points = request->points,
                                       .rows = request->rows,
                                       .m = request->len,
                                       .mean = out->mean,
                                       .sd = out->sd,
                                       .sd_observed = out->sd_observed,
                                       .diagnostics = &diagnostics},
                  err));
    TRY(codec_diagnostics(spec, work->metric, &diagnostics, arena, &out->diagnostics, err));
    for (size_t i = 0; i < request->len; i++) {
        if (out->feasible != NULL)
            out->feasible[i] = probability(out->mean[i], out->sd[i]);
        out->mean[i] = shown(work, out->mean[i]);
    }
    out->revision = work->live->revision;
    out->observations = work->live->observations;
    return STATUS_OK;
}

enum status insight_predict(struct app *app, struct caller *caller, const char *id,
                            const struct predict_request *request, struct predict_reply *out, struct error *err)
{
    struct predicting predicting = {.request = request, .reply = out};
    struct work       work = {
              .app = app, .caller = caller, .run = run_prediction, .out = &predicting, .quantity = request->quantity};
    struct study study;
    TRY(study_find(app, caller, id, &study, err));
    *out = (struct predict_reply){.mean = ARENA_NEW(caller->arena, double, request->len),
                                  .sd = ARENA_NEW(caller->arena, double, request->len),
                                  .sd_observed = ARENA_NEW(caller->arena, double, request->len)};
    TRY(spec_find_modelled(&study.spec, request->metric, &work.metric, err));
    bool is_constraint =
        study.spec.kinds[work.metric] == METRIC_CONSTRAINT && request->quantity != QUANTITY_FEASIBILITY;
    out->metric = work.metric;
    out->feasible = is_constraint ? ARENA_NEW(caller->arena, double, request->len) : NULL;
    if (out->mean == NULL || out->sd == NULL || out->sd_observed == NULL || (is_constraint && out->feasible == NULL))
        return error_no_memory(err);
    return run(&work, &study, price_points(&work, &study, (double)request->len), err);
}

static enum status check_parameters(const struct study *study, struct error *err)
{
    if (study->spec.space.kind == SPACE_PARAMETERS)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "no_parameters", "", "the space has no parameters to vary");
}

/* ---- importances ---- */

/* Larger is better inside; indices do not depend on the sign, so that is left to the end. */
static enum status values_at(void *arg, const double *V, size_t m, double *out, struct error *err)
{
    struct work      *work = arg;
    struct space      space;
    struct arena     *arena = work->caller->arena;
    struct arena_mark mark = arena_mark(arena);
    TRY(space_hold(&work->live->spec.space, NULL, arena, &space, err));
    double *points = arena_alloc(arena, m, space.params_len * sizeof *points);
    if (points == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < m; i++)
        space_quantile(&space, V + i * space.params_len, points + i * space.params_len);
    TRY(posterior(work, &(struct prediction){.points = points, .m = m, .mean = out}, err));
    arena_release(arena, mark);
    return STATUS_OK;
}

/* The largest power of two that keeps the time in the order of a second: a value costs about n (d + 10) of the
 * operations of which there are some 1e9 in one. */
static size_t samples_for(size_t params, int64_t observations)
{
    double d = (double)params, each = SENSITIVITY_REPLICATES * (d + 2) * (double)observations * (d + 10);
    size_t samples = 1024;
    while (samples > 16 && (double)samples * each > 1.5e9)
        samples /= 2;
    return samples;
}

static enum status run_importances(struct work *work, struct error *err)
{
    struct importances *out = work->out;
    const struct spec  *spec = &work->live->spec;
    int64_t             n = work->live->observations, each = work->quantity == QUANTITY_FEASIBILITY ? n / 16 + 1 : 1;
    struct sensitivity  s = {.dims = spec->space.params_len,
                             .samples = samples_for(spec->space.params_len, n * each),
                             .seed = spec->seed,
                             .values = values_at,
                             .arg = work};
    TRY(sensitivity_run(&s, work->caller->arena, &out->result, err));
    out->result.mean = shown(work, out->result.mean);
    out->metric = work->metric;
    out->revision = work->live->revision;
    out->observations = work->live->observations;
    return STATUS_OK;
}

static double price_samples(struct work *work, const struct study *study)
{
    const struct price_model model = session_price(work->app, study);
    size_t                   dims = study->spec.space.params_len;
    bool                     is_feasibility = work->quantity == QUANTITY_FEASIBILITY;
    int64_t                  n = (int64_t)model.values;
    double                   samples = (double)samples_for(dims, is_feasibility ? n * (n / 16 + 1) : n);
    double                   points = SENSITIVITY_REPLICATES * ((double)dims + 2) * samples;
    work->part = PRICE_MEANS;
    return is_feasibility ? price_points(work, study, points) : price_means(work->app, &model, points);
}

enum status insight_importances(struct app *app, struct caller *caller, const char *id, const char *metric,
                                struct importances *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .run = run_importances, .out = out, .quantity = out->quantity};
    TRY(study_find(app, caller, id, &out->study, err));
    TRY(spec_find_modelled(&out->study.spec, metric, &work.metric, err));
    TRY(check_parameters(&out->study, err));
    if (out->study.spec.space.params_len > INSIGHT_PARAMS_MAX)
        return error_set(err, STATUS_CONFLICT, "too_many_parameters", "", "importances are for up to %d parameters",
                         INSIGHT_PARAMS_MAX);
    return run(&work, &out->study, price_samples(&work, &out->study), err);
}

/* ---- slices ---- */

/* Every value where there are few, otherwise even steps on the parameter's scale from end to end; what rounds to the
 * same value is there once. */
static enum status fill_axis(const struct param *param, size_t points, struct arena *arena, double **grid, size_t *len,
                             struct error *err)
{
    double count = param_count(param);
    bool   is_whole = param->kind == PARAM_CATEGORICAL || (count > 0 && count <= (double)points);
    size_t room = is_whole ? (size_t)count : points;
    *grid = ARENA_NEW(arena, double, room);
    *len = 0;
    if (*grid == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < room; k++) {
        double value = is_whole ? param_value(param, (double)k) : param_quantile(param, (double)k / (double)(room - 1));
        if (*len == 0 || value != (*grid)[*len - 1])
            (*grid)[(*len)++] = value;
    }
    return STATUS_OK;
}

static enum status plan_slice(struct arena *arena, const struct slice_request *request, struct slice *out,
                              struct error *err)
{
    const struct space      *space = &out->study.spec.space;
    const char *const        names[] = {request->x, request->y};
    static const char *const paths[] = {"/x", "/y"};
    size_t                   points = request->points > 0 ? (size_t)request->points : request->y == NULL ? 50 : 20;
    out->axes = request->y == NULL ? 1 : 2;
    out->len[1] = 1;
    for (size_t a = 0; a < out->axes; a++)
        TRY(spec_find_param(&out->study.spec, names[a], "unknown_parameter", paths[a], &out->param[a], err));
    if (out->axes == 2 && out->param[0] == out->param[1])
        return error_set(err, STATUS_INVALID, "bad_combination", "/y", "x and y must be two parameters");
    for (size_t a = 0; a < out->axes; a++)
        TRY(fill_axis(&space->params[out->param[a]], points, arena, &out->grid[a], &out->len[a], err));
    if (out->len[0] * out->len[1] > SLICE_POINTS_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/points",
                         "the grid would have %zu points, %d are allowed", out->len[0] * out->len[1], SLICE_POINTS_MAX);
    return STATUS_OK;
}

/* Point number k of the grid; false when it does not lie in the space.  A parameter that exists there, but not in the
 * trial, is at its middle. */
static bool grid_point(const struct slice *slice, const struct space *space, size_t k, double *point)
{
    size_t x = slice->param[0], y = slice->param[slice->axes - 1];
    for (size_t i = 0; i < space->params_len; i++)
        point[i] = isnan(slice->point[i]) ? param_quantile(&space->params[i], 0.5) : slice->point[i];
    point[y] = slice->grid[slice->axes - 1][k % slice->len[1]];
    point[x] = slice->grid[0][k / slice->len[1]];
    for (size_t i = 0; i < space->params_len; i++)
        if (!space_is_active(space, point, i))
            point[i] = NAN;
    return !isnan(point[x]) && !isnan(point[y]) && space_has(space, point);
}

/* Only points of the space are predicted, one after the other; then they go to their places, the last first. */
static enum status run_slice(struct work *work, struct error *err)
{
    struct slice      *out = work->out;
    const struct spec *spec = &work->live->spec;
    struct arena      *arena = work->caller->arena;
    size_t             params_len = spec->space.params_len, len = out->len[0] * out->len[1], m = 0;
    double            *points = arena_alloc(arena, len + 1, params_len * sizeof *points);
    out->mean = ARENA_NEW(arena, double, len);
    out->sd = ARENA_NEW(arena, double, len);
    out->sd_observed = ARENA_NEW(arena, double, len);
    if (points == NULL || out->mean == NULL || out->sd == NULL || out->sd_observed == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < len; k++)
        m += grid_point(out, &spec->space, k, points + m * params_len);
    if (m == 0)
        return error_set(err, STATUS_CONFLICT, "outside_space", "",
                         "no point of the grid lies in the space with the trial's other values");
    TRY(posterior(work,
                  &(struct prediction){
                      .points = points, .m = m, .mean = out->mean, .sd = out->sd, .sd_observed = out->sd_observed},
                  err));
    for (size_t k = len; k-- > 0;) {
        bool is_point = grid_point(out, &spec->space, k, points);
        m -= is_point;
        out->mean[k] = is_point ? shown(work, out->mean[m]) : NAN;
        out->sd[k] = is_point ? out->sd[m] : NAN;
        out->sd_observed[k] = is_point ? out->sd_observed[m] : NAN;
    }
    out->metric = work->metric;
    out->revision = work->live->revision;
    out->observations = work->live->observations;
    return STATUS_OK;
}

struct look {
    struct caller *caller;
    const char    *id;
    struct slice  *out;
    size_t         metric;
};

static size_t violated(const struct spec *spec, const struct trial *trial)
{
    size_t count = 0;
    for (size_t k = 0; k < spec->metrics_len && trial->values != NULL; k++)
        count += spec->kinds[k] == METRIC_CONSTRAINT && spec_value(spec, k, trial->values[2 * k]) < 0;
    return count;
}

/* With several objectives no trial is the best: the one with the best value of the metric stands for it, or of the first
 * objective when the metric is a constraint.  It is feasible if any is; else among those that violate the fewest. */
static enum status find_best(struct db_conn *conn, void *arg, struct error *err)
{
    struct look       *look = arg;
    const struct spec *spec = &look->out->study.spec;
    size_t            k = spec->kinds[look->metric] == METRIC_OBJECTIVE ? look->metric : spec->first, fewest = SIZE_MAX;
    double            best = -HUGE_VAL;
    struct arena_mark mark = arena_mark(look->caller->arena);
    struct db_rows    rows = db_query(conn, look->caller->arena, err, SQL_TRIAL_COMPLETED, BIND(TEXT(look->id)));
    while (db_next(&rows)) {
        struct trial trial;
        rows.status = rows_trial(row_trial(&rows), &trial, err);
        if (rows.status == STATUS_OK && !codec_is_outside(spec, trial.point)) {
            double value = spec_value(spec, k, trial.values == NULL ? trial.value : trial.values[2 * k]);
            size_t count = violated(spec, &trial);
            if (count < fewest || (count == fewest && value > best)) {
                fewest = count;
                best = value;
                look->out->trial = trial.number;
            }
        }
        arena_release(look->caller->arena, mark);
    }
    return db_done(&rows);
}

static enum status choose_trial(struct work *work, const char *id, int64_t given, struct slice *out, struct error *err)
{
    struct look look = {.caller = work->caller, .id = id, .out = out, .metric = work->metric};
    out->trial = given > 0 ? given : out->study.best_trial;
    if (out->trial == 0)
        TRY(db_read(work->app->db, find_best, &look, err));
    if (out->trial == 0)
        return error_set(err, STATUS_CONFLICT, "no_observations", "", "there is no completed trial yet");
    return STATUS_OK;
}

enum status insight_slice(struct app *app, struct caller *caller, const char *id, const struct slice_request *request,
                          struct slice *out, struct error *err)
{
    struct work  work = {.app = app, .caller = caller, .run = run_slice, .out = out, .quantity = request->quantity};
    struct trial trial;
    out->quantity = request->quantity;
    TRY(study_find(app, caller, id, &out->study, err));
    TRY(check_parameters(&out->study, err));
    TRY(spec_find_modelled(&out->study.spec, request->metric, &work.metric, err));
    TRY(plan_slice(caller->arena, request, out, err));
    TRY(choose_trial(&work, id, request->trial, out, err));
    TRY(trial_find(app, caller, id, out->trial, &trial, err));
    out->point = trial.point;
    return run(&work, &out->study, price_points(&work, &out->study, (double)(out->len[0] * out->len[1])), err);
}

/* ---- residuals ---- */

static void summarise(struct residuals *out)
{
    static const double Z68 = 0.9944578832097532, Z95 = 1.959963984540054;
    double              n = (double)out->len, squares = 0, unit = 0;
    for (size_t i = 0; i < out->len; i++)
        unit = fmax(unit, fabs(out->items[i].value - out->items[i].mean));
    for (size_t i = 0; i < out->len; i++) {
        const struct residual *item = &out->items[i];
        out->log_density += item->log_density / n;
        out->coverage_68 += (fabs(item->z) <= Z68) / n;
        out->coverage_95 += (fabs(item->z) <= Z95) / n;
        if (unit > 0)
            squares += pow((item->value - item->mean) / unit, 2) / n;
    }
    out->rms = unit * sqrt(squares);
}

static bool is_late(void *arg)
{
    struct work *work = arg;
    struct error unused;
    work->is_cut = work->is_cut || slots_go_on(work->app, work->caller, &unused) != STATUS_OK;
    return work->is_cut;
}

static enum status run_residuals(struct work *work, struct error *err)
{
    struct residuals    *out = work->out;
    const struct policy *policy = work->live->spec.policy;
    const struct spec   *spec = &work->live->spec;
    double               sign = spec_is_mirrored(spec, work->metric) ? -1 : 1;
    const struct ask     patience = {.late = is_late, .late_arg = work};
    enum status          status =
        policy->residuals(work->live->streams.session, &patience, work->caller->arena, &out->items, &out->len, err);
    if (work->is_cut)
        TRY(app_go_on(work->app, work->caller, err));
    TRY(status);
    for (size_t i = 0; i < out->len; i++) {
        struct residual *item = &out->items[i];
        item->value = spec_shown(spec, work->metric, item->value);
        item->mean = spec_shown(spec, work->metric, item->mean);
        item->z *= sign;
    }
    summarise(out);
    out->metric = work->metric;
    out->revision = work->live->revision;
    out->observations = work->live->observations;
    return STATUS_OK;
}

enum status insight_residuals(struct app *app, struct caller *caller, const char *id, const char *metric,
                              struct residuals *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .run = run_residuals, .out = out, .part = PRICE_RESIDUALS};
    *out = (struct residuals){0};
    TRY(study_find(app, caller, id, &out->study, err));
    TRY(spec_find_modelled(&out->study.spec, metric, &work.metric, err));
    const struct price_model model = session_price(app, &out->study);
    return run(&work, &out->study, price_residuals(app, &model), err);
}
