/* Trust-region Bayesian optimisation, for many parameters: TuRBO-1 of Eriksson, Pearce, Gardner, Turner & Poloczek 2019
 * with another acquisition, other steps and a more local model.
 * A Gaussian process sees some trials of the current run (gp_model: the best, the most recent, the nearest to the best);
 * the next point is the best by log-EI in the trust region; when that is too small a new run starts from nothing.  All of
 * this but the last fit is found again from the log at each proposal. */
#include "engine/bo/gp_schedule.h"
#include "engine/surrogate/gp_failure.h"
#include "engine/surrogate/gp_insight.h"
#include "engine/bo/gp_single.h"
#include "engine/surrogate/gp_target.h"
#include "engine/bo/trust_region.h"

#include <math.h>
#include <string.h>

enum { ROWS_MIN = 150, ROWS_OF_PARAM = 6, ROWS_MAX = 400 }; /* of the model */
enum { FIT_FIRST = 40, FIT_AGAIN = 20 };                    /* evaluations of a fit from each start */
enum { SAMPLES = 256, STARTS = 2, EVALUATIONS = 30 };       /* of the search */
static const struct trust_rule RULE = {.start = 1.6, .least = 1e-3, .above = INFINITY, .below = -INFINITY};

enum { REPEAT };
static const struct option options[] = {
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

struct session {
    struct gp_study  study;
    struct gp_single single;
};

static enum status begin(struct session *session, struct error *err)
{
    TRY(gp_study_init(&session->study, session->study.base.problem->options[REPEAT] == 1, err));
    return gp_single_open(&session->study, &kernel_matern52, "turbo 1", &session->single, err);
}

/* A single start beside the last fit, and fewer steps than gp's.  The two were changed together, and gave better values at
 * 100 trials on the two functions tried (of 24 and 30 parameters, three seeds each). */
static struct gp_fit fit_settings(const struct session *session, bool is_first, const struct ask *ask)
{
    struct gp_fit fit = gp_schedule_fit(&session->study, &kernel_matern52, is_first, ask);
    fit.from_default = true;
    fit.evaluations = is_first ? FIT_FIRST : FIT_AGAIN;
    return fit;
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    TRY(gp_study_tell(&session->study, event, err));
    gp_single_tell(&session->single, event);
    return STATUS_OK;
}

/* --- the model --- */

/* The inputs of a proposal. */
struct situation {
    const struct ask   *ask;  /* NULL: none, the model is for predictions */
    struct space        view; /* the space with what the ask holds */
    struct trust_region region;
    struct gp_model     model;
    struct gp_choice    choice;
};

/* The current run's model. */
static enum status model_make(struct session *session, struct situation *now, struct error *err)
{
    const struct gp_record *record = &session->single.record;
    size_t        len = gp_single_theta_len(&session->single), rows = ROWS_OF_PARAM * session->study.log.params_len;
    bool          is_new = record->fitted <= now->region.start;
    size_t        fitted = is_new ? 0 : record->fitted - now->region.start;
    struct gp_fit fit = fit_settings(session, is_new, now->ask);
    struct rng    rng;
    now->choice.is_due = is_new || (now->ask != NULL && gp_schedule_milestone(now->region.finished) > fitted);
    now->model = (struct gp_model){.space = session->study.base.problem->space,
                                   .log = &session->study.log,
                                   .cache = &session->study.memory.cache,
                                   .scratch = &session->study.memory.scratch,
                                   .skipped = now->region.start,
                                   .is_robust = true,
                                   .limit = rows < ROWS_MIN   ? ROWS_MIN
                                            : rows < ROWS_MAX ? rows
                                                              : ROWS_MAX};
    TRY(gp_model_rows(&now->model, 0, err));
    memcpy(now->choice.theta, record->theta, len * sizeof *now->choice.theta);
    if (now->choice.is_due)
        TRY(gp_model_fit(&now->model, &fit, is_new ? NULL : record->theta, now->choice.theta, err));
    return gp_model_condition(&now->model, &fit, now->choice.theta, gp_study_pending(&session->study, now->ask, &rng),
                              err);
}

/* point [params_len] out, then its place in the unit cube [dims] out, then scratch [2 dims]. */
static enum status search(struct session *session, const struct situation *now, struct gp_target *target, double *point,
                          struct error *err)
{
    const struct gp_model *model = &now->model;
    size_t                 len = model->log->params_len, dims = model->space->dims, count = model->anchors.len;
    double *anchors = arena_alloc(model->scratch, count, len * sizeof *anchors), *u = point + len, *box = u + dims;
    if (anchors == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < count; k++)
        memcpy(anchors + k * len, trial_log_point(model->log, model->anchors.place[k]), len * sizeof *anchors);
    space_encode(model->space, anchors, u);
    trust_region_box(&now->region, model->space, session->study.group_of, now->choice.theta, u, box);
    struct acq_search wanted = {.space = &now->view,
                                .used = &session->study.used,
                                .anchors = anchors,
                                .anchors_len = count,
                                .lower = box,
                                .upper = box + dims,
                                .seed = session->study.base.problem->seed,
                                .trial = now->ask->trial,
                                .samples = SAMPLES,
                                .starts = STARTS,
                                .evaluations = EVALUATIONS,
                                .late = now->ask->late,
                                .late_arg = now->ask->late_arg,
                                .scores = gp_target_scores,
                                .slope = gp_target_slope,
                                .arg = target};
    TRY(trial_log_pending(model->log, model->scratch, &wanted.pending, &wanted.pending_len, err));
    TRY(acq_search_run(&wanted, point, model->scratch, err));
    space_encode(model->space, point, u);
    return STATUS_OK;
}

static enum status diagnose(struct gp_target *target, const double *u, struct diagnostics *out, struct error *err)
{
    gp_insight_diagnose(target->model, out);
    out->values.unit = 0; /* the model is of the present run's trials */
    out->acquisition = acq_names[target->acq.kind];
    return gp_target_scores(target, u, 1, &out->acquisition_value, err);
}

static enum status propose(struct session *session, struct situation *now, struct proposal *out, struct error *err)
{
    size_t  len = gp_single_theta_len(&session->single), dims = now->view.dims;
    double *theta = ARENA_NEW(&session->study.memory.scratch, double, 2 * len + 3 * dims);
    if (theta == NULL)
        return error_no_memory(err);
    double *point = theta + len, *u = point + session->study.log.params_len, began = ask_clock_ms(now->ask);
    now->choice.theta = theta;
    TRY(model_make(session, now, err));
    now->choice.fit_ms = now->choice.is_due ? ask_clock_ms(now->ask) - began : NAN;
    struct gp_target target = {.model = &now->model, .acq = gp_target_log_ei(&now->model)};
    TRY(gp_target_init(&target, err));
    TRY(search(session, now, &target, point, err));
    if (now->ask->diagnostics != NULL) {
        now->ask->diagnostics->fit_ms = now->choice.fit_ms;
        TRY(diagnose(&target, u, now->ask->diagnostics, err));
    }
    TRY(gp_study_describe(&now->model, u, out, err));
    memcpy(out->point, point, session->study.log.params_len * sizeof *out->point);
    gp_single_note(&session->single, &now->choice, out);
    return STATUS_OK;
}

/* --- the record --- */

static enum status region_find(struct session *session, struct trust_region *region, struct error *err)
{
    return trust_region_find(&session->study.log, RULE, &session->study.memory.scratch, region, err);
}

static enum status ask_scratch(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct situation        now = {.ask = ask};
    const struct trial_log *log = &session->study.log;
    size_t                  again = gp_failure_settle(&session->study.log);
    TRY(space_hold(session->study.base.problem->space, ask->fixed, &session->study.memory.scratch, &now.view, err));
    TRY(gp_study_quasi_random(&session->study, ask, &now.view, out->point, err));
    if (ask_is_late(ask)) {
        out->fallback = "deadline";
        return STATUS_OK;
    }
    enum status status = region_find(session, &now.region, err);
    size_t      tried = now.region.finished - now.region.outside + session->study.log.count[LOG_PENDING];
    if (status == STATUS_OK &&
        (!isfinite(now.region.best) || tried < trust_region_initial(session->study.log.params_len)))
        return STATUS_OK;
    if (again < log->len && ask->fixed == NULL && session->study.used.count == SIZE_MAX) {
        memcpy(out->point, trial_log_point(log, again), log->params_len * sizeof *out->point);
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = propose(session, &now, out, err);
    out->fallback = proposal_fallback(status);
    if (!gp_failure_is_twice(log, out->point))
        return STATUS_OK;
    proposal_clear(out);
    return gp_study_quasi_random(&session->study, ask, &now.view, out->point, err);
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    proposal_clear(out);
    gp_study_begin(&session->study);
    enum status status = ask_scratch(session, ask, out, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* The model of the current run, or while that has no value of everything; gp_memory_end in every case. */
static enum status begin_model(struct session *session, struct situation *now, struct error *err)
{
    (void)gp_failure_settle(&session->study.log);
    TRY(gp_study_has_values(&session->study, err));
    gp_study_begin(&session->study);
    *now = (struct situation){
        .choice.theta = ARENA_NEW(&session->study.memory.scratch, double, gp_single_theta_len(&session->single))};
    if (now->choice.theta == NULL)
        return error_no_memory(err);
    TRY(region_find(session, &now->region, err));
    if (!isfinite(now->region.best))
        now->region.start = 0;
    return model_make(session, now, err);
}

static enum status predict(struct session *session, const struct prediction *wanted, struct error *err)
{
    struct situation now;
    enum status      status = begin_model(session, &now, err);
    if (status == STATUS_OK)
        status = gp_insight_predict(&now.model, wanted, err);
    if (status == STATUS_OK && wanted->diagnostics != NULL)
        wanted->diagnostics->values.unit = 0;
    gp_memory_end(&session->study.memory);
    return status;
}

static enum status residuals(struct session *session, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    struct situation now;
    enum status      status = begin_model(session, &now, err);
    if (status == STATUS_OK)
        status = gp_insight_residuals(&now.model, ask, arena, out, len, err);
    gp_memory_end(&session->study.memory);
    return status;
}

const struct policy policy_turbo = {
    .name = "turbo",
    .help = "trust-region Bayesian optimisation, for 20 parameters and more: a local Gaussian process and expected "
            "improvement in a box around the best point that grows with success, shrinks with failure and starts anew "
            "when it is small",
    .spaces = SPACE_PARAMETERS,
    .takes_bands = SPACE_PARAMETERS,
    .is_local = true,
    .takes_outside = true,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .bytes_beside = gp_study_bytes,
    .end = gp_study_end,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
};
