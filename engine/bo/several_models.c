/* Each metric has a Gaussian process. */
#include "engine/bo/several_models.h"

#include "engine/base/numbers.h"
#include "engine/bo/gp_schedule.h"
#include "engine/acquisition/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double VALUE_FEASIBLE = 0.5; /* stands for a feasible trial; for an infeasible one its opposite does */

static const double OUTSIDE = 0.125; /* of the finished trials */

/* A warp has at least 5/6 of its slope at the best value at the front's median. */
static const double FRONT_TIMES = 5.0;

static const char NOTE_TAG[8] = "metric2";

static size_t theta_len(const struct problem *problem)
{
    return problem->space->params_len + GP_SCALARS;
}

enum status several_check(const struct problem *problem, struct error *err)
{
    if (problem->metrics_len < 2 || gp_note_bytes(problem->metrics_len + 1, theta_len(problem)) <= POLICY_NOTE_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_supported", "/metrics",
                     "%zu metrics of %zu parameters are more than this algorithm models", problem->metrics_len,
                     problem->space->params_len);
}

/* Objectives first. */
static void assign_parts(struct several *own)
{
    const struct problem *problem = own->study->base.problem;
    size_t                len = problem->metrics_len > 0 ? problem->metrics_len : 1;
    for (int kind = METRIC_OBJECTIVE; kind <= METRIC_CONSTRAINT; kind++)
        for (size_t k = 0; k < len; k++)
            if ((problem->metrics_len > 0 ? (int)problem->metrics[k] : METRIC_OBJECTIVE) == kind) {
                own->objectives += kind == METRIC_OBJECTIVE;
                own->metric_of[own->len++] = k;
            }
}

enum status several_open(struct gp_study *study, const struct kernel_kind *kernel, struct several **out,
                         struct error *err)
{
    struct arena   *kept = &study->base.kept;
    size_t          params_len = study->log.params_len;
    struct several *own = *out = ARENA_NEW(kept, struct several, 1);
    if (own == NULL)
        return error_no_memory(err);
    *own = (struct several){.study = study, .kernel = kernel};
    memcpy(own->head.tag, NOTE_TAG, sizeof NOTE_TAG);
    assign_parts(own);
    own->parts = arena_zalloc(kept, own->len + 1, sizeof *own->parts);
    if (own->parts == NULL)
        return error_no_memory(err);
    for (size_t p = 0; p <= own->len; p++) {
        trial_log_init(&own->parts[p].log, kept, params_len);
        own->parts[p].log.band = p < own->objectives ? problem_band(study->base.problem, own->metric_of[p]) : NULL;
        own->records[p].theta = ARENA_NEW(kept, double, theta_len(study->base.problem));
        if (own->records[p].theta == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

void several_drop(struct several *own)
{
    for (size_t p = 0; own != NULL && own->parts != NULL && p <= own->len; p++)
        gp_memory_drop(&own->parts[p].memory);
}

size_t several_bytes(const struct several *own)
{
    size_t bytes = 0;
    for (size_t p = 0; p <= own->len; p++)
        bytes += gp_memory_bytes(&own->parts[p].memory);
    return bytes;
}

size_t several_active(const struct several *own)
{
    return own->study->log.count[LOG_INFEASIBLE] > 0 ? own->len + 1 : own->len;
}

static struct gp_fit fit_settings(const struct several *own, const struct ask *ask)
{
    struct gp_fit fit = gp_schedule_fit(own->study, own->kernel, own->head.finished == 0, ask);
    fit.least_a = 0.0; /* fit_part's */
    return fit;
}

/* An infeasible trial is to the metrics one that failed. */
static enum status tell_part(struct several *own, size_t p, const struct event *event, struct error *err)
{
    struct event of_part = *event;
    size_t       k = own->metric_of[p], len = own->study->base.problem->metrics_len;
    if (event->kind == EVENT_INFEASIBLE)
        of_part.kind = EVENT_FAILED;
    if (event->kind == EVENT_OBSERVED && event->values != NULL) {
        of_part.value = event->values[k];
        of_part.sd = event->values[len + k];
    }
    return trial_log_tell(&own->parts[p].log, &of_part, err);
}

enum status several_tell(struct several *own, const struct event *event, struct error *err)
{
    struct gp_fit fit = fit_settings(own, NULL);
    for (size_t p = 0; own->len > 1 && p < own->len; p++)
        TRY(tell_part(own, p, event, err));
    if (event->kind == EVENT_SUGGESTED)
        gp_note_read(event, &fit, own->len, own->len + 1, &own->head, own->records);
    return STATUS_OK;
}

/* Derives the log of the last part, to which an infeasible trial is one with a value, or of one metric that of its part. */
static enum status derive_log(struct several *own, size_t p, struct error *err)
{
    const struct trial_log *from = &own->study->log;
    struct trial_log       *log = &own->parts[p].log;
    const struct band      *band = log->band;
    *log = *from;
    log->band = band;
    double *u = ARENA_NEW(&own->parts[p].memory.scratch, double, own->study->base.problem->space->dims);
    log->trials = ARENA_NEW(&own->parts[p].memory.scratch, struct log_trial, log->len);
    if (u == NULL || log->trials == NULL)
        return error_no_memory(err);
    memset(log->count, 0, sizeof log->count);
    for (size_t i = 0; i < log->len; i++) {
        struct log_trial *trial = &log->trials[i];
        *trial = from->trials[i];
        bool is_infeasible = trial->state == LOG_INFEASIBLE;
        if (p == own->len) {
            space_encode(own->study->base.problem->space, trial_log_point(from, i), u);
            trial->value = (is_infeasible ? -VALUE_FEASIBLE : VALUE_FEASIBLE) - gp_trend_at(&own->trend, u, 0.0, NULL);
            trial->sd = 0.0;
        }
        if (is_infeasible)
            trial->state = p == own->len ? LOG_OBSERVED : LOG_FAILED;
        log->count[trial->state]++;
    }
    return STATUS_OK;
}

/* Equal shares of what the logs leave, whichever parts are in use. */
enum status several_begin(struct several *own, bool is_search, struct error *err)
{
    const struct gp_study *study = own->study;
    size_t                 share = (study->base.problem->memory_bytes - study->base.kept.taken_bytes) / (own->len + 1);
    for (size_t p = 0; p <= own->len; p++)
        gp_memory_begin(&own->parts[p].memory, share);
    own->trend.weights = NULL;
    if (is_search && study->log.regional > 0)
        TRY(gp_trend_fit(study->base.problem->space, &study->log, &own->parts[own->len].memory.scratch, &own->trend,
                         err));
    for (size_t p = own->len == 1 ? 0 : own->len; p <= own->len; p++)
        TRY(derive_log(own, p, err));
    return STATUS_OK;
}

void several_end(struct several *own)
{
    for (size_t p = 0; p <= own->len; p++)
        gp_memory_end(&own->parts[p].memory);
}

bool several_is_due(const struct several *own)
{
    return gp_schedule_milestone(trial_log_finished(&own->study->log)) > own->head.finished ||
           several_active(own) > own->head.models;
}

bool several_is_feasible(const struct several *own, size_t place)
{
    for (size_t p = own->objectives; p < own->len; p++)
        if (own->parts[p].log.trials[place].value < 0.0)
            return false;
    return own->parts[0].log.trials[place].state == LOG_OBSERVED;
}

bool several_is_inside(const struct several *own)
{
    const struct trial_log *log = &own->study->log;
    size_t                  outside = log->count[LOG_INFEASIBLE];
    for (size_t i = 0; i < log->len; i++)
        outside += log->trials[i].state == LOG_OBSERVED && !several_is_feasible(own, i);
    return (double)outside < OUTSIDE * (double)trial_log_finished(log);
}

/* How far the median of the front lies below its best value of objective p; infinity without a front. */
static enum status find_depth(struct several *own, size_t p, double *depth, struct error *err)
{
    struct arena     *scratch = &own->parts[p].memory.scratch;
    struct arena_mark mark = arena_mark(scratch);
    size_t            len = own->parts[0].log.len, m = own->objectives, n = 0, on_front = 0;
    double           *f = arena_alloc(scratch, len, m * sizeof *f), *front = ARENA_NEW(scratch, double, len);
    bool             *is_best = ARENA_NEW(scratch, bool, len);
    if (f == NULL || front == NULL || is_best == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        if (!several_is_feasible(own, i))
            continue;
        for (size_t k = 0; k < m; k++)
            f[n * m + k] = trial_log_worth(&own->parts[k].log, own->parts[k].log.trials[i].value);
        n++;
    }
    TRY(pareto_front(f, n, m, is_best, scratch, err));
    for (size_t i = 0; i < n; i++)
        if (is_best[i])
            front[on_front++] = f[i * m + p];
    qsort(front, on_front, sizeof *front, numbers_order);
    *depth = n > 0 ? front[on_front - 1] - front[(on_front - 1) / 2] : HUGE_VAL;
    arena_release(scratch, mark);
    return STATUS_OK;
}

/* A warp resolves the values next to the best one, which are the end of a front of several objectives, at the cost of the
 * rest of it: of two it may only bend what lies far below the front, of more, where every value is far from some end, it
 * does nothing.  The two values of the last part need none. */
static enum status fit_part(struct several *own, size_t p, struct gp_fit *fit, double *theta, struct error *err)
{
    struct several_part    *part = &own->parts[p];
    const struct gp_record *record = &own->records[p];
    bool                    is_objective = p < own->objectives;
    TRY(gp_model_rows(&part->model, 0, err));
    bool is_flat = p == own->len || (is_objective && own->objectives > 2) || part->log.band != NULL;
    if (is_flat)
        fit->least_a = HUGE_VAL;
    if (!is_flat && is_objective && own->objectives == 2) {
        TRY(find_depth(own, p, &fit->least_a, err));
        fit->least_a *= FRONT_TIMES / part->model.unit / part->model.spread;
    }
    return gp_model_fit(&part->model, fit, record->fitted > 0 ? record->theta : NULL, theta, err);
}

enum status several_condition(struct several *own, size_t p, const struct ask *ask, bool is_due, struct rng *pending,
                              struct error *err)
{
    struct several_part *part = &own->parts[p];
    struct gp_memory    *memory = &part->memory;
    struct gp_fit        fit = fit_settings(own, ask);
    part->model = (struct gp_model){.space = own->study->base.problem->space,
                                    .log = &part->log,
                                    .cache = &memory->cache,
                                    .scratch = &memory->scratch,
                                    .limit = gp_schedule_rows(ask, several_active(own)),
                                    .is_robust = true};
    part->theta = ARENA_NEW(&memory->scratch, double, theta_len(own->study->base.problem));
    if (part->theta == NULL)
        return error_no_memory(err);
    if (is_due)
        TRY(fit_part(own, p, &fit, part->theta, err));
    else
        TRY(gp_study_theta(&part->model, &fit, &own->records[p], false, part->theta, err));
    TRY(gp_model_condition(&part->model, &fit, part->theta, pending, err));
    part->work = ARENA_NEW(&memory->scratch, double, 3 * part->model.gp->n + 2 * fit.dims);
    return part->work == NULL ? error_no_memory(err) : STATUS_OK;
}

bool several_show(struct several *own, size_t metric)
{
    own->shown = metric < own->len ? 0 : own->len;
    for (size_t p = 0; p < own->len; p++)
        if (own->metric_of[p] == metric)
            own->shown = p;
    bool is_there = own->shown < several_active(own);
    own->shown = is_there ? own->shown : 0;
    return is_there;
}

void several_note(const struct several *own, struct proposal *out)
{
    struct gp_note   head = own->head;
    struct gp_record records[ACQ_METRICS_MAX];
    head.finished = trial_log_finished(&own->study->log);
    head.models = several_active(own);
    for (size_t p = 0; p < head.models; p++)
        records[p] = (struct gp_record){.fitted = trial_log_finished(&own->parts[p].log), .theta = own->parts[p].theta};
    gp_note_write(&head, records, theta_len(own->study->base.problem), out);
}

double several_trend(const struct several *own, const double *u, double weight, double *gradient)
{
    const struct gp_model *last = &own->parts[own->len].model;
    return own->trend.weights == NULL
               ? 0.0
               : gp_trend_at(&own->trend, u, weight / last->unit / last->spread, gradient) / last->unit / last->spread;
}
