/* The search of the acquisition function over several models. */
#include "engine/bo/several_search.h"

#include "engine/acquisition/acq.h"
#include "engine/bo/gp_bound.h"
#include "engine/surrogate/gp_gain.h"
#include "engine/bo/gp_schedule.h"
#include "engine/surrogate/gp_insight.h"
#include "engine/surrogate/gp_target.h"
#include "engine/bo/several_acquisition.h"
#include "engine/math/rng.h"

#include <math.h>
#include <string.h>

static const double BOX_COST = 15.0; /* of a box, in units of a row squared */
static const double NEAR = 0.17;     /* times sqrt(dims): how far from the centre a wide search goes */

struct target {
    struct several    *own;
    struct acq_several acq;
    struct gp_anchors  anchors;
    double            *centre; /* [dims]; NULL: no place is preferred */
};

/* Log density, but for a constant, of a normal distribution about the centre: 0 without one.  gradient [dims], unless
 * NULL, receives the derivatives in addition. */
static double nearness(const struct target *target, const double *u, double *gradient)
{
    size_t dims = target->own->study->base.problem->space->dims;
    double sum = 0.0, var = NEAR * NEAR * (double)dims;
    for (size_t j = 0; target->centre != NULL && j < dims; j++) {
        double away = u[j] - target->centre[j];
        sum -= 0.5 * away * away / var;
        if (gradient != NULL)
            gradient[j] -= away / var;
    }
    return sum;
}

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct target       *target = arg;
    struct several_part *part = target->own->parts;
    struct arena        *scratch = &part[0].memory.scratch;
    struct arena_mark    mark = arena_mark(scratch);
    size_t               parts = target->acq.len, dims = target->own->study->base.problem->space->dims;
    double              *mean = arena_alloc(scratch, parts, m * sizeof *mean);
    double              *var = arena_alloc(scratch, parts, m * sizeof *var);
    if (mean == NULL || var == NULL)
        return error_no_memory(err);
    for (size_t p = 0; p < parts; p++)
        TRY(gp_posterior(part[p].model.gp, (struct points){U, m}, mean + p * m, var + p * m, &part[p].memory.scratch,
                         err));
    for (size_t i = 0; i < m; i++) {
        double at[ACQ_METRICS_MAX] = {0}, sd[ACQ_METRICS_MAX] = {0};
        double dmean[ACQ_METRICS_MAX], dsd[ACQ_METRICS_MAX];
        for (size_t p = 0; p < parts; p++) {
            at[p] = mean[p * m + i];
            sd[p] = acq_sd(var[p * m + i]);
        }
        at[parts - 1] += several_trend(target->own, U + i * dims, 0.0, NULL);
        out[i] = acq_several_value(&target->acq, at, sd, dmean, dsd) + nearness(target, U + i * dims, NULL);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

static double slope(void *arg, const double *u, double *gradient)
{
    struct target  *target = arg;
    size_t          dims = target->own->study->base.problem->space->dims, parts = target->acq.len;
    double          mean[ACQ_METRICS_MAX] = {0}, sd[ACQ_METRICS_MAX] = {0};
    double          dmean[ACQ_METRICS_MAX], dsd[ACQ_METRICS_MAX];
    struct gp_slope at[ACQ_METRICS_MAX];
    for (size_t p = 0; p < parts; p++) {
        const struct several_part *part = &target->own->parts[p];
        double                    *work = part->work, *slopes = work + 3 * part->model.gp->n;
        at[p] = (struct gp_slope){.dmean = slopes, .dvar = slopes + dims};
        gp_gradient(part->model.gp, u, work, &at[p]);
        mean[p] = at[p].mean;
        sd[p] = acq_sd(at[p].var);
    }
    mean[parts - 1] += several_trend(target->own, u, 0.0, NULL);
    double value = acq_several_value(&target->acq, mean, sd, dmean, dsd);
    memset(gradient, 0, dims * sizeof *gradient);
    (void)several_trend(target->own, u, dmean[parts - 1], gradient);
    for (size_t p = 0; p < parts; p++)
        acq_add_gradient(&at[p], dims, dmean[p], dsd[p], gradient);
    return value + nearness(target, u, gradient);
}

/* point and its place in the unit cube [params_len + dims], out.  box [2 dims], NULL: everywhere. */
static enum status search(const struct ask *ask, const struct space *view, struct target *target, const double *box,
                          double *point, struct error *err)
{
    struct several        *own = target->own;
    double                 n = (double)own->parts[0].model.gp->n;
    const struct gp_search wanted = {.view = view,
                                     .anchors = &target->anchors,
                                     .rows_squared =
                                         n * n * (double)target->acq.len + BOX_COST * (double)target->acq.ehvi.len,
                                     .scores = scores,
                                     .slope = slope,
                                     .arg = target,
                                     .lower = box,
                                     .upper = box == NULL ? NULL : box + view->dims};
    TRY(gp_schedule_search(own->study, ask, &wanted, point, &own->parts[0].memory.scratch, err));
    space_encode(own->study->base.problem->space, point, point + view->params_len);
    return STATUS_OK;
}

/* A violated constraint is a failure to the trust region. */
static enum status make_box(const struct target *target, const double *theta, double *box, struct error *err)
{
    const struct several *own = target->own;
    struct gp_model       model = own->parts[0].model;
    struct trial_log      log = *model.log;
    log.trials = ARENA_NEW(model.scratch, struct log_trial, log.len);
    if (log.trials == NULL)
        return error_no_memory(err);
    memcpy(log.trials, model.log->trials, log.len * sizeof *log.trials);
    for (size_t i = 0; i < log.len; i++)
        if (log.trials[i].state == LOG_OBSERVED && !several_is_feasible(own, i))
            log.trials[i].state = LOG_INFEASIBLE;
    model.log = &log;
    return gp_schedule_box(own->study, &model, target->anchors.place[0], theta, box, err);
}

static bool is_worth(const struct target *target, const struct ask *ask, double value)
{
    const struct gp_model *model = &target->own->parts[0].model;
    if (target->acq.is_banded[0])
        return gp_schedule_is_close(target->acq.best, value);
    return target->acq.reach == ACQ_GREEDY ? gp_bound_is_worth(model, ask, value, target->acq.best)
                                           : gp_schedule_is_worth(exp(value));
}

/* A single objective is searched near its best value first, and while the search is inside the bound comes before log-EI,
 * both as in single_objective.  point as in search. */
static enum status search_near(const struct ask *ask, const struct space *view, struct target *target,
                               const double *theta, double *point, struct error *err)
{
    const struct several *own = target->own;
    struct acq_several   *acq = &target->acq;
    double               *box = ARENA_NEW(&own->parts[0].memory.scratch, double, 2 * view->dims), value;
    bool                  is_near = acq->objectives == 1 && acq->reach == ACQ_EXPECTED && !acq_search_is_complete(view);
    if (box == NULL)
        return error_no_memory(err);
    if (is_near) {
        TRY(make_box(target, theta, box, err));
        acq->beta = gp_bound_beta(&own->study->log);
        if (several_is_inside(own) && !acq->is_banded[0] && gp_bound_is_tried(&own->parts[0].model, ask))
            acq->reach = ACQ_GREEDY;
    }
    while (is_near) {
        TRY(search(ask, view, target, box, point, err));
        TRY(scores(target, point + view->params_len, 1, &value, err));
        if (is_worth(target, ask, value) || ask_is_late(ask))
            return STATUS_OK;
        is_near = acq->reach == ACQ_GREEDY;
        acq->reach = ACQ_EXPECTED;
    }
    return search(ask, view, target, NULL, point, err);
}

/* A feasible region in several parts, or a good value close to infeasible trials, is found by looking for it: wide
 * searches keep near a place of their own, wherever it is. */
static enum status choose_centre(struct target *target, const struct ask *ask, struct error *err)
{
    const struct problem *problem = target->own->study->base.problem;
    struct rng            rng = rng_at(problem->seed, ask->trial, RNG_WEIGHTS);
    if (target->acq.reach != ACQ_WIDE)
        return STATUS_OK;
    target->centre = ARENA_NEW(&target->own->parts[0].memory.scratch, double, problem->space->dims);
    if (target->centre == NULL)
        return error_no_memory(err);
    for (size_t k = 0; target->acq.objectives > 1 && k < target->acq.objectives; k++)
        (void)rng_uniform(&rng); /* the weights are made of these, and go with any place */
    for (size_t j = 0; j < problem->space->dims; j++)
        target->centre[j] = rng_uniform(&rng);
    return STATUS_OK;
}

static enum status condition_all(struct several *own, const struct ask *ask, bool is_due, struct error *err)
{
    struct rng rng, *pending = gp_study_pending(own->study, ask, &rng);
    for (size_t p = 0; p < several_active(own); p++)
        TRY(several_condition(own, p, ask, is_due, pending, err));
    return STATUS_OK;
}

static enum status propose(struct several *own, const struct ask *ask, const struct space *view, struct proposal *out,
                           struct error *err)
{
    const struct space  *space = own->study->base.problem->space;
    struct several_part *first = &own->parts[0];
    bool                 is_due = several_is_due(own);
    struct target        target = {.own = own};
    double               began = ask_clock_ms(ask);
    TRY(condition_all(own, ask, is_due, err));
    double fit_ms = is_due ? ask_clock_ms(ask) - began : NAN;
    TRY(several_acquisition(own, ask, view, &target.acq, &target.anchors, err));
    TRY(choose_centre(&target, ask, err));
    double *point = ARENA_NEW(&first->memory.scratch, double, space->params_len + space->dims);
    if (point == NULL)
        return error_no_memory(err);
    TRY(search_near(ask, view, &target, first->theta, point, err));
    double *u = point + space->params_len;
    if (ask->diagnostics != NULL) {
        gp_insight_diagnose(&first->model, ask->diagnostics);
        ask->diagnostics->acquisition = acq_several_name(&target.acq);
        ask->diagnostics->fit_ms = fit_ms;
        TRY(scores(&target, u, 1, &ask->diagnostics->acquisition_value, err));
    }
    TRY(gp_study_describe(&first->model, u, out, err));
    memcpy(out->point, point, space->params_len * sizeof *point);
    if (is_due)
        several_note(own, out);
    return STATUS_OK;
}

enum status several_ask(struct several *own, const struct ask *ask, const struct space *view, struct proposal *out,
                        struct error *err)
{
    enum status status = several_begin(own, true, err);
    if (status == STATUS_OK)
        status = propose(own, ask, view, out, err);
    several_end(own);
    return status;
}

enum status several_model(struct several *own, struct gp_model *model, struct error *err)
{
    TRY(several_begin(own, false, err));
    size_t p = own->shown;
    TRY(several_condition(own, p, NULL, own->records[p].fitted == 0, NULL, err));
    *model = own->parts[p].model;
    return STATUS_OK;
}

/* Each part with the trust of its own residuals; the last one's values, feasible or not, are no normal ones. */
static enum status trust_parts(struct target *target, struct gp *views, double *trust, struct error *err)
{
    struct several *own = target->own;
    for (size_t p = 0; p < target->acq.len; p++) {
        struct gp_model *model = &own->parts[p].model;
        trust[p] = 1.0;
        if (p < own->len)
            TRY(gp_gain_trust(model, &trust[p], err));
        TRY(gp_gain_view(model, trust[p], &views[p], err));
        model->gp = &views[p];
        target->acq.bound[p] /= trust[p];
    }
    return STATUS_OK;
}

/* The noise of the objective, which the acquisition function leaves out, counts here as in single_objective. */
static enum status score_gain(struct target *target, const double *u, double *log_ei, struct error *err)
{
    const struct gp_model *model = &target->own->parts[0].model;
    double                 mean, var, ignored = 0.0;
    TRY(scores(target, u, 1, log_ei, err));
    TRY(gp_posterior(model->gp, (struct points){u, 1}, &mean, &var, model->scratch, err));
    *log_ei += acq_log_worth(acq_sd(var), gp_target_noise_sd(model), &ignored);
    return STATUS_OK;
}

static enum status search_gain(const struct ask *ask, const struct space *view, struct target *target,
                               const double *box, double *log_ei, struct error *err)
{
    double *point = ARENA_NEW(&target->own->parts[0].memory.scratch, double, view->params_len + view->dims);
    struct gp_gain_found found = {.box = box};
    if (point == NULL)
        return error_no_memory(err);
    found.u = point + view->params_len;
    TRY(search(ask, view, target, box, point, err));
    TRY(score_gain(target, found.u, &found.near, err));
    TRY(search(ask, view, target, NULL, point, err));
    TRY(score_gain(target, found.u, &found.far, err));
    *log_ei = gp_gain_of(&found, view->dims);
    return STATUS_OK;
}

static enum status find_gain(struct several *own, const struct ask *ask, const struct space *view, struct gain *out,
                             struct error *err)
{
    struct several_part *first = &own->parts[0];
    struct target        target = {.own = own};
    struct gp            views[ACQ_METRICS_MAX];
    double trust[ACQ_METRICS_MAX], log_ei, *box = ARENA_NEW(&first->memory.scratch, double, 2 * view->dims);
    if (box == NULL)
        return error_no_memory(err);
    for (size_t p = 0; p < several_active(own); p++)
        TRY(several_condition(own, p, NULL, own->records[p].fitted == 0, NULL, err));
    TRY(several_acquisition(own, ask, view, &target.acq, &target.anchors, err));
    if (target.acq.objectives != 1)
        return STATUS_OK;
    TRY(make_box(&target, first->theta, box, err));
    TRY(trust_parts(&target, views, trust, err));
    double best = target.anchors.key[0]; // of what is observed; the target's may be that of a pending trial
    target.acq.best = best / trust[0];
    target.acq.band[0] = (struct band){target.acq.band[0].low / trust[0], target.acq.band[0].high / trust[0]};
    target.acq.reach = ACQ_EXPECTED;
    TRY(search_gain(ask, view, &target, box, &log_ei, err));
    *out = (struct gain){.expected = gp_gain_units(&first->model, best, trust[0] * exp(log_ei)), .trust = trust[0]};
    return STATUS_OK;
}

enum status several_gain(struct several *own, const struct ask *ask, const struct space *view, struct gain *out,
                         struct error *err)
{
    enum status status = several_begin(own, true, err);
    if (status == STATUS_OK)
        status = find_gain(own, ask, view, out, err);
    several_end(own);
    return status;
}
