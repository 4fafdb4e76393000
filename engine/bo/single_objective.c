/* A Gaussian process, and the acquisition function on it. */
#include "engine/bo/single_objective.h"

#include "engine/acquisition/acq_search.h"
#include "engine/bo/gp_bound.h"
#include "engine/surrogate/gp_context.h"
#include "engine/surrogate/gp_gain.h"
#include "engine/bo/gp_schedule.h"
#include "engine/surrogate/gp_insight.h"
#include "engine/bo/gp_steps.h"
#include "engine/surrogate/gp_target.h"

#include <math.h>
#include <string.h>

static const double STEP_NOISE = 0.5; /* of the distance from the best value to the next */

enum status single_objective_open(struct gp_study *study, const struct single_objective_rule *rule,
                                  struct single_objective *own, struct error *err)
{
    own->rule = *rule;
    TRY(gp_single_open(study, rule->kernel, "gpfit 4", &own->single, err));
    /* Thompson sampling needs whole draws, and so do workers that repeat the few points there are, lest all take one. */
    own->single.near_mean = rule->acquisition != ACQ_THOMPSON &&
                            (study->used.count != SIZE_MAX || space_count(study->base.problem->space) == SIZE_MAX);
    bool is_banded = study->log.band != NULL;
    own->single.drifts = !is_banded && !space_has_context(study->base.problem->space);
    /* a point may be measured again */
    own->single.doubts = !is_banded && study->used.count == SIZE_MAX && !space_has_context(study->base.problem->space);
    return STATUS_OK;
}

/* Stages of a search: the bound and log-EI in the box, log-EI or the rule's function everywhere. */
enum stage { BOUND, NEAR, FAR };

struct search {
    const struct single_objective *own;
    const struct ask              *ask;
    const struct space            *view; /* the space with what the ask holds */
    struct gp_target               target;
    double                         gap; /* of gp_steps_find */
};

/* Where values have steps the box is left at once: a smooth model promises gains on the step that it stands on, for ever. */
static enum stage first_stage(const struct search *search)
{
    const struct gp_model *model = search->target.model;
    if (search->own->rule.acquisition != ACQ_LOG_EI || search->gap > 0.0)
        return FAR;
    return isnan(model->band.low) && gp_bound_is_tried(model, search->ask) ? BOUND : NEAR;
}

/* The values of a function with steps do not tell a point from those beside it: as if by noise of half the last step. */
static struct acq acquisition(const struct search *search, enum stage stage)
{
    const struct single_objective *own = search->own;
    const struct trial_log        *log = &own->single.study->log;
    double                         beta = own->rule.beta;
    if (stage == BOUND)
        return (struct acq){.kind = ACQ_UCB, .beta = gp_bound_beta(log)};
    if (own->rule.acquisition == ACQ_LOG_EI) {
        struct acq acq = gp_target_log_ei(search->target.model);
        acq.noise_sd = fmax(acq.noise_sd, STEP_NOISE * search->gap);
        return acq;
    }
    if (isnan(beta))
        beta = acq_beta(log->params_len, trial_log_finished(log) + 1);
    return (struct acq){.kind = own->rule.acquisition, .beta = beta};
}

/* Whether the point found in a stage before the last, with this value of the acquisition function, is worth a trial. */
static bool is_worth(const struct search *search, enum stage stage, double value)
{
    const struct gp_model *model = search->target.model;
    if (!isnan(model->band.low))
        return gp_schedule_is_close(model->best, value);
    return stage == NEAR ? gp_schedule_is_worth(exp(value)) : gp_bound_is_worth(model, search->ask, value, model->best);
}

/* point and its place in the unit cube [params_len + dims], out.  box NULL: everywhere. */
static enum status search_with(struct search *search, const double *box, double *point, struct error *err)
{
    struct gp_target      *target = &search->target;
    const struct gp_model *model = target->model;
    const struct gp_search wanted = {.view = search->view,
                                     .anchors = &model->anchors,
                                     .rows_squared = (double)(model->gp->n * model->gp->n),
                                     .scores = gp_target_scores,
                                     .slope = target->acq.kind == ACQ_THOMPSON ? NULL : gp_target_slope,
                                     .arg = target,
                                     .lower = box,
                                     .upper = box == NULL ? NULL : box + model->space->dims};
    target->next = 0;
    TRY(gp_schedule_search(search->own->single.study, search->ask, &wanted, point, model->scratch, err));
    space_encode(model->space, point, point + model->space->params_len);
    return STATUS_OK;
}

/* The point that the first stage finds which finds one worth a trial.  point as in search_with. */
static enum status search_in_stages(struct search *search, const double *box, double *point, struct error *err)
{
    struct gp_target *target = &search->target;
    double            value;
    enum stage        stage = first_stage(search);
    if (stage == BOUND)
        TRY(gp_target_keep(target, err));
    for (;; stage++) {
        target->acq = acquisition(search, stage);
        TRY(search_with(search, stage == FAR ? NULL : box, point, err));
        bool is_last = stage == FAR || (stage == NEAR && acq_search_is_complete(search->view));
        if (is_last || ask_is_late(search->ask))
            return STATUS_OK;
        TRY(gp_target_scores(target, point + target->model->space->params_len, 1, &value, err));
        if (is_worth(search, stage, value))
            return STATUS_OK;
    }
}

/* The point of a trial whose value is in doubt, or the one that the stages find. */
static enum status choose(struct search *search, const double *box, double *point, struct error *err)
{
    const struct gp_model  *model = search->target.model;
    const struct trial_log *log = model->log;
    TRY(gp_steps_find(model, &search->gap, err));
    TRY(search_in_stages(search, box, point, err));
    if (model->again == log->len || search->ask->fixed != NULL)
        return STATUS_OK;
    memcpy(point, trial_log_point(log, model->again), log->params_len * sizeof *point);
    space_encode(model->space, point, point + log->params_len);
    return STATUS_OK;
}

/* Thompson has no acquisition value once the sample is gone: the posterior mean, as the model sees it, stands for it. */
static enum status diagnose(struct search *search, const double *u, struct diagnostics *out, struct error *err)
{
    struct gp_target      *target = &search->target;
    const struct gp_model *model = target->model;
    double                 var;
    gp_insight_diagnose(model, out);
    out->acquisition = acq_names[target->acq.kind];
    if (target->acq.kind == ACQ_THOMPSON)
        return gp_posterior(model->gp, (struct points){u, 1}, &out->acquisition_value, &var, model->scratch, err);
    return gp_target_scores(target, u, 1, &out->acquisition_value, err);
}

enum status single_objective_ask(struct single_objective *own, const struct ask *ask, const struct space *view,
                                 struct proposal *out, struct error *err)
{
    struct gp_study *study = own->single.study;
    size_t           len = study->log.params_len, dims = study->base.problem->space->dims;
    struct search    search = {.own = own, .ask = ask, .view = view};
    double          *point = ARENA_NEW(&study->memory.scratch, double, len + 3 * dims), *box;
    struct gp_model  model;
    struct gp_choice chosen;
    struct rng       rng;
    search.target =
        (struct gp_target){.model = &model, .rng = rng_at(study->base.problem->seed, ask->trial, RNG_THOMPSON)};
    if (point == NULL)
        return error_no_memory(err);
    box = point + len + dims;
    TRY(gp_single_model(&own->single, ask, gp_study_pending(study, ask, &rng), &model, &chosen, err));
    if (space_has_context(view))
        TRY(gp_context_set(&model, view, err));
    TRY(gp_schedule_box(study, &model, model.anchors.place[0], chosen.theta, box, err));
    TRY(gp_target_init(&search.target, err));
    TRY(choose(&search, box, point, err));
    if (ask->diagnostics != NULL) {
        ask->diagnostics->fit_ms = chosen.fit_ms;
        TRY(diagnose(&search, point + len, ask->diagnostics, err));
    }
    TRY(gp_study_describe(&model, point + len, out, err));
    memcpy(out->point, point, len * sizeof *point);
    gp_single_note(&own->single, &chosen, out);
    return STATUS_OK;
}

/* Log-EI of the model that the target sees. */
static enum status search_gain(struct search *search, const double *box, double *log_ei, struct error *err)
{
    struct gp_target      *target = &search->target;
    const struct gp_model *model = target->model;
    size_t                 len = model->space->params_len, dims = model->space->dims;
    double                *point = ARENA_NEW(model->scratch, double, len + dims);
    struct gp_gain_found   found = {.box = box};
    if (point == NULL)
        return error_no_memory(err);
    found.u = point + len;
    TRY(search_with(search, box, point, err));
    TRY(gp_target_scores(target, found.u, 1, &found.near, err));
    TRY(search_with(search, NULL, point, err));
    TRY(gp_target_scores(target, found.u, 1, &found.far, err));
    *log_ei = gp_gain_of(&found, dims);
    return STATUS_OK;
}

enum status single_objective_gain(struct single_objective *own, const struct ask *ask, const struct space *view,
                                  struct gain *out, struct error *err)
{
    struct gp_study *study = own->single.study;
    size_t           dims = study->base.problem->space->dims;
    struct search    search = {.own = own, .ask = ask, .view = view};
    double          *box = ARENA_NEW(&study->memory.scratch, double, 2 * dims), trust, log_ei;
    struct gp_model  model;
    struct gp_choice chosen;
    struct gp        scaled;
    if (box == NULL)
        return error_no_memory(err);
    TRY(gp_single_model(&own->single, NULL, NULL, &model, &chosen, err));
    TRY(gp_schedule_box(study, &model, model.anchors.place[0], chosen.theta, box, err));
    TRY(gp_gain_trust(&model, &trust, err));
    TRY(gp_gain_view(&model, trust, &scaled, err));
    double best = model.anchors.key[0];
    model.gp = &scaled;
    model.best = best / trust;
    model.band = (struct band){model.band.low / trust, model.band.high / trust};
    search.target = (struct gp_target){.model = &model, .acq = gp_target_log_ei(&model)};
    TRY(gp_target_init(&search.target, err));
    TRY(search_gain(&search, box, &log_ei, err));
    *out = (struct gain){.expected = gp_gain_units(&model, best, trust * exp(log_ei)), .trust = trust};
    return STATUS_OK;
}
