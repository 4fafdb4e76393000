/* A Gaussian process, and the acquisition function on it. */
#include "engine/bo/single_objective.h"

#include "engine/acquisition/acq_search.h"
#include "engine/bo/gp_bound.h"
#include "engine/surrogate/gp_context.h"
#include "engine/bo/gp_elsewhere.h"
#include "engine/surrogate/gp_gain.h"
#include "engine/bo/gp_schedule.h"
#include "engine/surrogate/gp_insight.h"
#include "engine/surrogate/gp_target.h"

#include <math.h>
#include <string.h>

enum status single_objective_open(struct gp_study *study, const struct single_objective_rule *rule,
                                  struct single_objective *own, struct error *err)
{
    own->rule = *rule;
    TRY(gp_single_open(study, rule->kernel, "gpfit 3", &own->single, err));
    /* Thompson sampling needs whole draws, and so do workers that repeat the few points there are, lest all take one. */
    own->single.near_mean = rule->acquisition != ACQ_THOMPSON &&
                            (study->used.count != SIZE_MAX || space_count(study->problem->space) == SIZE_MAX);
    bool is_banded = study->log.band != NULL;
    own->single.drifts = !is_banded && !space_has_context(study->problem->space);
    /* a point may be measured again */
    own->single.doubts = !is_banded && study->used.count == SIZE_MAX && !space_has_context(study->problem->space);
    return STATUS_OK;
}

/* Stages of a search: the bound and log-EI in the box, log-EI or the rule's function everywhere. */
enum stage { BOUND, NEAR, FAR };

static enum stage first_stage(const struct single_objective *own, const struct ask *ask, const struct gp_model *model)
{
    if (own->rule.acquisition != ACQ_LOG_EI)
        return FAR;
    return isnan(model->band.low) && gp_bound_is_tried(model, ask) ? BOUND : NEAR;
}

static struct acq acquisition(const struct single_objective *own, const struct gp_model *model, enum stage stage)
{
    const struct trial_log *log = &own->single.study->log;
    double                  beta = own->rule.beta;
    if (stage == BOUND)
        return (struct acq){.kind = ACQ_UCB, .beta = gp_bound_beta(log)};
    if (own->rule.acquisition == ACQ_LOG_EI)
        return gp_target_log_ei(model);
    if (isnan(beta))
        beta = acq_beta(log->params_len, trial_log_finished(log) + 1);
    return (struct acq){.kind = own->rule.acquisition, .beta = beta};
}

/* Whether the point found in a stage before the last, with this value of the acquisition function, is worth a trial. */
static bool is_worth(const struct gp_model *model, const struct ask *ask, enum stage stage, double value)
{
    if (!isnan(model->band.low))
        return gp_schedule_is_close(model->best, value);
    return stage == NEAR ? gp_schedule_is_worth(exp(value)) : gp_bound_is_worth(model, ask, value, model->best);
}

struct search {
    const struct single_objective *own;
    const struct ask              *ask;
    const struct space            *view; /* the space with what the ask holds */
    struct gp_target               target;
    bool                           is_far; /* what was found is far from all, whatever the target says */
};

/* box NULL: everywhere. */
static struct gp_search search_of(struct search *search, const double *box)
{
    struct gp_target      *target = &search->target;
    const struct gp_model *model = target->model;
    return (struct gp_search){.view = search->view,
                              .anchors = &model->anchors,
                              .rows_squared = (double)(model->gp->n * model->gp->n),
                              .scores = gp_target_scores,
                              .slope = target->acq.kind == ACQ_THOMPSON ? NULL : gp_target_slope,
                              .arg = target,
                              .lower = box,
                              .upper = box == NULL ? NULL : box + model->space->dims};
}

static enum status search_with(struct search *search, const double *box, double *point, struct error *err)
{
    const struct gp_search wanted = search_of(search, box);
    return gp_schedule_search(search->own->single.study, search->ask, &wanted, point, search->target.model->scratch,
                              err);
}

/* Not where every point is looked at, where a context decides what is best, or where there is a band to come to. */
static bool is_elsewhere(const struct search *search, struct gp_elsewhere *counts)
{
    const struct gp_model *model = search->target.model;
    if (!isnan(model->band.low) || search->ask->fixed != NULL || space_has_context(search->view) ||
        acq_search_is_complete(search->view))
        return false;
    *counts = gp_elsewhere_count(model);
    return gp_elsewhere_is_due(counts, model);
}

static enum status search_far(struct search *search, double *point, struct error *err)
{
    struct gp_model *model = search->target.model;
    struct gp_search wanted = search_of(search, NULL);
    wanted.scores = gp_elsewhere_scores;
    wanted.slope = NULL;
    wanted.arg = model;
    search->is_far = true;
    return gp_schedule_search(search->own->single.study, search->ask, &wanted, point, model->scratch, err);
}

/* The bound in a second basin, or what is far from all.  As search_in_stages. */
static enum status search_elsewhere(struct search *search, const struct gp_elsewhere *counts, double *point,
                                    struct error *err)
{
    const struct gp_model *model = search->target.model;
    size_t                 dims = model->space->dims;
    double                *u = point + model->space->params_len, *box = ARENA_NEW(model->scratch, double, 2 * dims);
    struct gp_anchors      second;
    if (box == NULL)
        return error_no_memory(err);
    search->target.acq = acquisition(search->own, model, BOUND);
    if (gp_elsewhere_second(counts, model, &second, box)) {
        struct gp_search wanted = search_of(search, box);
        wanted.anchors = &second;
        TRY(gp_schedule_search(search->own->single.study, search->ask, &wanted, point, model->scratch, err));
        space_encode(model->space, point, u);
        if (gp_elsewhere_is_new(counts, model, u))
            return STATUS_OK;
    }
    TRY(search_far(search, point, err));
    space_encode(model->space, point, u);
    return STATUS_OK;
}

/* point and its place in the unit cube [params_len + dims], out. */
static enum status search_in_stages(struct search *search, const double *box, double *point, struct error *err)
{
    const struct single_objective *own = search->own;
    const struct ask              *ask = search->ask;
    struct gp_target              *target = &search->target;
    const struct gp_model         *model = target->model;
    double                        *u = point + own->single.study->log.params_len, mean, var, dmean, dsd;
    struct gp_elsewhere            counts;
    for (enum stage stage = first_stage(own, ask, model);; stage++) {
        target->acq = acquisition(own, model, stage);
        TRY(search_with(search, stage == FAR ? NULL : box, point, err));
        space_encode(model->space, point, u);
        bool is_last = stage == FAR || (stage == NEAR && acq_search_is_complete(search->view));
        if (is_last || ask_is_late(ask))
            return STATUS_OK;
        TRY(gp_posterior(model->gp, (struct points){u, 1}, &mean, &var, model->scratch, err));
        if (is_worth(model, ask, stage, acq_value(&target->acq, mean, acq_sd(var), &dmean, &dsd)))
            return STATUS_OK;
        if (is_elsewhere(search, &counts))
            return search_elsewhere(search, &counts, point, err);
    }
}

/* The point of a trial whose value is in doubt, or the one that the stages find. */
static enum status choose(struct search *search, const double *box, double *point, struct error *err)
{
    const struct gp_model  *model = search->target.model;
    const struct trial_log *log = model->log;
    TRY(search_in_stages(search, box, point, err));
    if (model->again == log->len || search->ask->fixed != NULL)
        return STATUS_OK;
    search->is_far = false;
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
    if (search->is_far) {
        out->acquisition = "distance";
        out->acquisition_value = gp_elsewhere_distance(model, u);
        return STATUS_OK;
    }
    out->acquisition = acq_names[target->acq.kind];
    if (target->acq.kind == ACQ_THOMPSON)
        return gp_posterior(model->gp, (struct points){u, 1}, &out->acquisition_value, &var, model->scratch, err);
    return gp_target_scores(target, u, 1, &out->acquisition_value, err);
}

enum status single_objective_ask(struct single_objective *own, const struct ask *ask, const struct space *view,
                                 struct proposal *out, struct error *err)
{
    struct gp_study *study = own->single.study;
    size_t           len = study->log.params_len, dims = study->problem->space->dims;
    struct search    search = {.own = own, .ask = ask, .view = view};
    double          *point = ARENA_NEW(&study->memory.scratch, double, len + 3 * dims), *box;
    struct gp_model  model;
    struct gp_choice chosen;
    struct rng       rng;
    search.target = (struct gp_target){.model = &model, .rng = rng_at(study->problem->seed, ask->trial, RNG_THOMPSON)};
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
    double                *point = ARENA_NEW(model->scratch, double, len + dims), *u;
    struct gp_gain_found   found = {.box = box};
    if (point == NULL)
        return error_no_memory(err);
    found.u = u = point + len;
    TRY(search_with(search, box, point, err));
    space_encode(model->space, point, u);
    TRY(gp_target_scores(target, u, 1, &found.near, err));
    TRY(search_with(search, NULL, point, err));
    space_encode(model->space, point, u);
    TRY(gp_target_scores(target, u, 1, &found.far, err));
    *log_ei = gp_gain_of(&found, dims);
    return STATUS_OK;
}

enum status single_objective_gain(struct single_objective *own, const struct ask *ask, const struct space *view,
                                  struct gain *out, struct error *err)
{
    struct gp_study *study = own->single.study;
    size_t           dims = study->problem->space->dims;
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
