/* One Gaussian process, and the acquisition function on it. */
#include "engine/policy_values.h"

#include "engine/gp_effort.h"
#include "engine/gp_insight.h"
#include "engine/gp_note.h"

#include <math.h>
#include <string.h>

enum { SMOOTH_EVERY = 3, EXPLOIT_EVERY = 4 };
static const double         EXPLOIT_BETA = 0.01, NOISE_TRACE = 1e-6, NOISE_MUCH = 0.01; /* of variance 1 */
static const struct gp_note NOTE = {.tag = "gpfit 3", .models = 1};

static size_t theta_len(const struct values *own)
{
    return own->study->log.params_len + HYPER;
}

enum status values_open(struct gp_study *study, const struct values_rule *rule, struct values *own, struct error *err)
{
    *own = (struct values){.study = study, .rule = *rule};
    own->record.theta = ARENA_NEW(&study->kept, double, theta_len(own));
    return own->record.theta == NULL ? error_no_memory(err) : STATUS_OK;
}

static struct gp_fit fit_settings(const struct values *own, const struct ask *ask)
{
    return gp_effort_fit(own->study, own->rule.kernel, own->record.fitted == 0, ask);
}

void values_tell(struct values *own, const struct event *event)
{
    struct gp_fit  fit = fit_settings(own, NULL);
    struct gp_note head = NOTE;
    if (event->kind == EVENT_SUGGESTED)
        gp_note_read(event, &fit, 1, 1, &head, &own->record);
}

/* What the search sees of the model. */
struct target {
    struct gp_model *model;
    struct acq       acq;
    struct rng       rng;  /* Thompson */
    double          *work; /* [3 n + 2 dims] */
};

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct target    *target = arg;
    struct gp_model  *model = target->model;
    struct arena_mark mark = arena_mark(model->scratch);
    if (target->acq.kind == ACQ_THOMPSON)
        return acq_thompson(model->gp, U, m, &target->rng, out, model->scratch, err);
    double *mean = ARENA_NEW(model->scratch, double, m), dmean, dsd;
    if (mean == NULL)
        return error_no_memory(err);
    TRY(gp_posterior(model->gp, U, m, mean, out, model->scratch, err));
    for (size_t k = 0; k < m; k++)
        out[k] = acq_value(&target->acq, mean[k], acq_sd(out[k]), &dmean, &dsd);
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static double slope(void *arg, const double *u, double *gradient)
{
    struct target   *target = arg;
    const struct gp *gp = target->model->gp;
    size_t           dims = gp->kernel.dims;
    struct gp_slope  at = {.dmean = target->work + 3 * gp->n, .dvar = target->work + 3 * gp->n + dims};
    double           dmean, dsd;
    gp_gradient(gp, u, target->work, &at);
    double value = acq_value(&target->acq, at.mean, acq_sd(at.var), &dmean, &dsd);
    memset(gradient, 0, dims * sizeof *gradient);
    acq_add_gradient(&at, dims, dmean, dsd, gradient);
    return value;
}

/* A fit with longer length-scales, when it is this trial's turn.  It is not recorded: only this trial uses it. */
static enum status smooth_theta(const struct values *own, const struct ask *ask, struct gp_model *model,
                                const double *theta, double *used, struct error *err)
{
    struct gp_fit fit = fit_settings(own, ask);
    fit.is_smooth = true;
    memcpy(used, theta, theta_len(own) * sizeof *used);
    bool is_turn = ask->trial % SMOOTH_EVERY == 1 && trial_log_finished(&own->study->log) < GP_FEW;
    return is_turn ? gp_model_fit(model, &fit, NULL, used, err) : STATUS_OK;
}

/* Of what the model takes for noise, what is more than the traces that a fit leaves. */
static double noise_sd(const struct gp_model *model)
{
    return sqrt(fmax(model->gp->noise_variance - NOISE_TRACE, 0.0));
}

static struct acq acquisition(const struct values *own, const struct ask *ask, const struct gp_model *model)
{
    double        beta = own->rule.beta;
    enum acq_kind kind = own->rule.acquisition;
    if (kind == ACQ_LOG_EI && ask->trial % EXPLOIT_EVERY == 0 && model->gp->noise_variance < NOISE_MUCH)
        return (struct acq){.kind = ACQ_UCB, .beta = EXPLOIT_BETA};
    beta = isnan(beta) ? acq_beta(own->study->log.params_len, trial_log_finished(&own->study->log) + 1) : beta;
    return (struct acq){.kind = kind, .best = model->best, .noise_sd = noise_sd(model), .beta = beta};
}

static enum status search(const struct values *own, const struct ask *ask, const struct space *view,
                          struct target *target, double *point, struct error *err)
{
    const struct gp_model *model = target->model;
    const struct gp_search wanted = {.view = view,
                                     .anchors = &model->anchors,
                                     .squared = (double)(model->gp->n * model->gp->n),
                                     .scores = scores,
                                     .slope = target->acq.kind == ACQ_THOMPSON ? NULL : slope,
                                     .arg = target};
    return gp_effort_search(own->study, ask, &wanted, point, model->scratch, err);
}

/* Thompson has no acquisition value once the sample is gone: the posterior mean stands for it. */
static void diagnose(const struct values *own, const struct target *target, double mean, double var,
                     struct diagnostics *out)
{
    double dmean, dsd;
    bool   is_joint = target->acq.kind == ACQ_THOMPSON;
    gp_insight_diagnose(target->model, own->study->group_of, out);
    out->acquisition = acq_names[target->acq.kind];
    out->acquisition_value = is_joint ? mean : acq_value(&target->acq, mean, acq_sd(var), &dmean, &dsd);
}

/* The hyper-parameters of a proposal. */
struct chosen {
    double *theta, *used; /* [theta_len] recorded; of this proposal */
    bool    is_due;
    double  fit_ms;
};

static enum status choose_theta(const struct values *own, const struct ask *ask, struct gp_model *model,
                                struct chosen *chosen, struct error *err)
{
    struct gp_memory *memory = &own->study->memory;
    struct gp_fit     fit = fit_settings(own, ask);
    size_t            len = theta_len(own);
    double            began = ask_clock_ms(ask);
    chosen->theta = ARENA_NEW(&memory->scratch, double, 2 * len);
    if (chosen->theta == NULL)
        return error_no_memory(err);
    chosen->used = chosen->theta + len;
    chosen->is_due = gp_effort_milestone(trial_log_finished(&own->study->log)) > own->record.fitted;
    TRY(gp_study_theta(model, &fit, &memory->cache, &own->record, chosen->is_due, chosen->theta, err));
    TRY(smooth_theta(own, ask, model, chosen->theta, chosen->used, err));
    bool is_fitted = chosen->is_due || memcmp(chosen->used, chosen->theta, len * sizeof(double)) != 0;
    chosen->fit_ms = is_fitted ? ask_clock_ms(ask) - began : NAN;
    return gp_model_condition(model, &fit, chosen->used, true, &memory->cache, err);
}

enum status values_ask(struct values *own, const struct ask *ask, const struct space *view, struct proposal *out,
                       struct error *err)
{
    struct gp_study *study = own->study;
    struct arena    *scratch = &study->memory.scratch;
    size_t           len = study->log.params_len, dims = study->problem->space->dims;
    struct gp_model  model = {.space = study->problem->space, .log = &study->log, .scratch = scratch};
    struct target    target = {.model = &model, .rng = rng_at(study->problem->seed, ask->trial, RNG_THOMPSON)};
    struct chosen    chosen = {.fit_ms = NAN};
    double          *point = ARENA_NEW(scratch, double, len + dims), mean, var;
    if (point == NULL)
        return error_no_memory(err);
    model.limit = gp_effort_rows(ask);
    TRY(choose_theta(own, ask, &model, &chosen, err));
    target.acq = acquisition(own, ask, &model);
    target.work = ARENA_NEW(scratch, double, 3 * model.gp->n + 2 * dims);
    if (target.work == NULL)
        return error_no_memory(err);
    TRY(search(own, ask, view, &target, point, err));
    space_encode(study->problem->space, point, point + len);
    TRY(gp_study_describe(&model, point + len, out, &mean, &var, err));
    memcpy(out->point, point, len * sizeof *point);
    if (ask->diagnostics != NULL) {
        ask->diagnostics->fit_milliseconds = chosen.fit_ms;
        diagnose(own, &target, mean, var, ask->diagnostics);
    }
    if (chosen.is_due) {
        struct gp_note   head = NOTE;
        struct gp_record record = {.fitted = trial_log_finished(&study->log), .theta = chosen.theta};
        head.finished = record.fitted;
        gp_note_write(&head, &record, theta_len(own), out);
    }
    return STATUS_OK;
}

enum status values_model(struct values *own, struct gp_model *model, struct error *err)
{
    struct gp_study  *study = own->study;
    struct gp_memory *memory = &study->memory;
    struct gp_fit     fit = fit_settings(own, NULL);
    double           *theta = ARENA_NEW(&memory->scratch, double, theta_len(own));
    *model = (struct gp_model){.space = study->problem->space, .log = &study->log, .scratch = &memory->scratch};
    if (theta == NULL)
        return error_no_memory(err);
    TRY(gp_study_theta(model, &fit, &memory->cache, &own->record, own->record.fitted == 0, theta, err));
    return gp_model_condition(model, &fit, theta, false, &memory->cache, err);
}
