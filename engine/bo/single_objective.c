/* One Gaussian process, and the acquisition function on it. */
#include "engine/bo/single_objective.h"

#include "engine/acquisition/acq_search.h"
#include "engine/bo/gp_schedule.h"
#include "engine/bo/gp_insight.h"
#include "engine/bo/gp_note.h"
#include "engine/bo/gp_target.h"

#include <math.h>
#include <string.h>

enum { INSIST_EVERY = 4, GREEDY_ROWS = 1000 };
static const double         GREEDY = 0.25, GAIN_OF_NOISE = 0.5, NOISE_MUCH = 0.01;
static const struct gp_note NOTE = {.tag = "gpfit 3", .models = 1};

static size_t theta_len(const struct single_objective *own)
{
    return own->study->log.params_len + GP_SCALARS;
}

enum status single_objective_open(struct gp_study *study, const struct single_objective_rule *rule,
                                  struct single_objective *own, struct error *err)
{
    *own = (struct single_objective){.study = study, .rule = *rule};
    own->record.theta = ARENA_NEW(&study->kept, double, theta_len(own));
    return own->record.theta == NULL ? error_no_memory(err) : STATUS_OK;
}

static struct gp_fit fit_settings(const struct single_objective *own, const struct ask *ask)
{
    return gp_schedule_fit(own->study, own->rule.kernel, own->record.fitted == 0, ask);
}

void single_objective_tell(struct single_objective *own, const struct event *event)
{
    struct gp_fit  fit = fit_settings(own, NULL);
    struct gp_note head = NOTE;
    if (event->kind == EVENT_SUGGESTED)
        gp_note_read(event, &fit, 1, 1, &head, &own->record);
}

/* Not where values are noisy: parallel workers would gather around the best trial. */
static bool is_insisted(const struct gp_model *model, const struct ask *ask)
{
    return ask->trial % INSIST_EVERY == 0 && model->gp->noise_variance < NOISE_MUCH;
}

/* What is searched for: the bound and log-EI in the box, log-EI or what the rule names everywhere. */
enum stage { BOUND, NEAR, FAR };

static enum stage first_stage(const struct single_objective *own, const struct ask *ask, const struct gp_model *model)
{
    if (own->rule.acquisition != ACQ_LOG_EI)
        return FAR;
    return model->n <= GREEDY_ROWS || is_insisted(model, ask) ? BOUND : NEAR;
}

static struct acq acquisition(const struct single_objective *own, const struct gp_model *model, enum stage stage)
{
    const struct trial_log *log = &own->study->log;
    double                  beta = acq_beta(log->params_len, trial_log_finished(log) + 1);
    if (stage == BOUND)
        return (struct acq){.kind = ACQ_UCB, .beta = GREEDY * beta};
    if (own->rule.acquisition == ACQ_LOG_EI)
        return gp_target_log_ei(model);
    return (struct acq){.kind = own->rule.acquisition, .beta = isnan(own->rule.beta) ? beta : own->rule.beta};
}

/* Whether the point found in a stage before the last, with this value of the acquisition function, is worth a trial. */
static bool is_worth(const struct gp_model *model, const struct ask *ask, enum stage stage, double value)
{
    if (stage == NEAR)
        return gp_schedule_is_worth(exp(value));
    double gain = warp_inverse(&model->warp, value) - warp_inverse(&model->warp, model->best);
    return is_insisted(model, ask) ||
           (gp_schedule_is_worth(gain) && value - model->best >= GAIN_OF_NOISE * gp_target_noise_sd(model));
}

struct search {
    const struct single_objective *own;
    const struct ask              *ask;
    const struct space            *view; /* the space with what the ask holds */
    struct gp_target               target;
};

/* box NULL: everywhere. */
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
    return gp_schedule_search(search->own->study, search->ask, &wanted, point, model->scratch, err);
}

/* point and its place in the unit cube [params_len + dims], out. */
static enum status search_in_stages(struct search *search, const double *box, double *point, struct error *err)
{
    const struct single_objective *own = search->own;
    const struct ask              *ask = search->ask;
    struct gp_target              *target = &search->target;
    const struct gp_model         *model = target->model;
    double                        *u = point + own->study->log.params_len, mean, var, dmean, dsd;
    for (enum stage stage = first_stage(own, ask, model);; stage++) {
        target->acq = acquisition(own, model, stage);
        TRY(search_with(search, stage == FAR ? NULL : box, point, err));
        space_encode(model->space, point, u);
        bool is_last = stage == FAR || (stage == NEAR && acq_search_is_complete(search->view));
        if (is_last || (ask->late != NULL && ask->late(ask->late_arg)))
            return STATUS_OK;
        TRY(gp_posterior(model->gp, (struct points){u, 1}, &mean, &var, model->scratch, err));
        if (is_worth(model, ask, stage, acq_value(&target->acq, mean, acq_sd(var), &dmean, &dsd)))
            return STATUS_OK;
    }
}

/* Thompson has no acquisition value once the sample is gone: the posterior mean, as the model sees it, stands for it. */
static enum status diagnose(const struct single_objective *own, struct gp_target *target, const double *u,
                            struct diagnostics *out, struct error *err)
{
    const struct gp_model *model = target->model;
    double                 var;
    gp_insight_diagnose(model, own->study->group_of, out);
    out->acquisition = acq_names[target->acq.kind];
    if (target->acq.kind == ACQ_THOMPSON)
        return gp_posterior(model->gp, (struct points){u, 1}, &out->acquisition_value, &var, model->scratch, err);
    return gp_target_scores(target, u, 1, &out->acquisition_value, err);
}

/* The hyper-parameters of a proposal. */
struct chosen {
    double *theta;  /* [theta_len] */
    bool    is_due; /* theta is new, and to be recorded */
    double  fit_ms;
};

static enum status choose_theta(const struct single_objective *own, const struct ask *ask, struct gp_model *model,
                                struct chosen *chosen, struct error *err)
{
    struct gp_memory *memory = &own->study->memory;
    struct gp_fit     fit = fit_settings(own, ask);
    double            began = ask_clock_ms(ask);
    chosen->theta = ARENA_NEW(&memory->scratch, double, theta_len(own));
    if (chosen->theta == NULL)
        return error_no_memory(err);
    chosen->is_due = gp_schedule_milestone(trial_log_finished(&own->study->log)) > own->record.fitted;
    TRY(gp_study_theta(model, &fit, &own->record, chosen->is_due, chosen->theta, err));
    chosen->fit_ms = chosen->is_due ? ask_clock_ms(ask) - began : NAN;
    struct rng rng;
    return gp_model_condition(model, &fit, chosen->theta, gp_study_pending(own->study, ask, &rng), err);
}

enum status single_objective_ask(struct single_objective *own, const struct ask *ask, const struct space *view,
                                 struct proposal *out, struct error *err)
{
    struct gp_study *study = own->study;
    struct arena    *scratch = &study->memory.scratch;
    size_t           len = study->log.params_len, dims = study->problem->space->dims;
    struct gp_model  model = {
         .space = study->problem->space, .log = &study->log, .cache = &study->memory.cache, .scratch = scratch};
    struct search search = {.own = own, .ask = ask, .view = view};
    struct chosen chosen = {.fit_ms = NAN};
    double       *point = ARENA_NEW(scratch, double, len + 3 * dims), *box;
    search.target = (struct gp_target){.model = &model, .rng = rng_at(study->problem->seed, ask->trial, RNG_THOMPSON)};
    if (point == NULL)
        return error_no_memory(err);
    box = point + len + dims;
    model.limit = gp_schedule_rows(ask, 1);
    TRY(choose_theta(own, ask, &model, &chosen, err));
    TRY(gp_schedule_box(study, &model, model.anchors.place[0], chosen.theta, box, err));
    TRY(gp_target_init(&search.target, err));
    TRY(search_in_stages(&search, box, point, err));
    if (ask->diagnostics != NULL) {
        ask->diagnostics->fit_milliseconds = chosen.fit_ms;
        TRY(diagnose(own, &search.target, point + len, ask->diagnostics, err));
    }
    TRY(gp_study_describe(&model, point + len, out, err));
    memcpy(out->point, point, len * sizeof *point);
    if (chosen.is_due) {
        struct gp_note   head = NOTE;
        struct gp_record record = {.fitted = trial_log_finished(&study->log), .theta = chosen.theta};
        head.finished = record.fitted;
        gp_note_write(&head, &record, theta_len(own), out);
    }
    return STATUS_OK;
}

enum status single_objective_model(struct single_objective *own, struct gp_model *model, struct error *err)
{
    struct gp_study  *study = own->study;
    struct gp_memory *memory = &study->memory;
    struct gp_fit     fit = fit_settings(own, NULL);
    double           *theta = ARENA_NEW(&memory->scratch, double, theta_len(own));
    *model = (struct gp_model){
        .space = study->problem->space, .log = &study->log, .cache = &memory->cache, .scratch = &memory->scratch};
    if (theta == NULL)
        return error_no_memory(err);
    TRY(gp_study_theta(model, &fit, &own->record, own->record.fitted == 0, theta, err));
    return gp_model_condition(model, &fit, theta, NULL, err);
}
