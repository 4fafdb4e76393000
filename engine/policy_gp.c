/* Bayesian optimisation with a Gaussian process.
 * Parameter spaces: the first trials are points of a Sobol sequence scrambled by the study's seed, point number trial.
 * Then the model (gp_model) is made anew from the log for each proposal, with the hyper-parameters of the last note in
 * the log; they are fitted again, and leave as a note, when the number of values reaches the next size of a schedule:
 * each of the first REFIT_ALWAYS, then growth by a tenth, at most by REFIT_STEP.  The acquisition function is maximised
 * by acq_search.  Two things guard log-EI against a wrong model and against lingering: of the first FEW trials every
 * third sees a model with longer length-scales (fitted for it alone), and every fourth trial is near the maximum of the
 * posterior mean.
 * The session keeps the log, the last recorded fit, the set of used points of a finite space and a cache of the factor;
 * an ask changes none of them but the cache, which is a function of the others, so a proposal is a function of (problem, log, trial).
 * Several metrics, or infeasible trials: policy_metrics makes the model-based proposals.
 * Candidate spaces: a rule over policy_candidates. */
#include "engine/acq.h"
#include "engine/acq_search.h"
#include "engine/gp_insight.h"
#include "engine/policy.h"
#include "engine/policy_candidates.h"
#include "engine/policy_metrics.h"
#include "engine/sobol.h"

#include <math.h>
#include <string.h>

enum { ACQUISITION, KERNEL, BETA, INITIAL, REPEAT };
enum { REFIT_ALWAYS = 40, REFIT_STEP = 100, INITIAL_MAX = 12, FEW = 60, SMOOTH_EVERY = 3, EXPLOIT_EVERY = 4 };
static const double EXPLOIT_BETA = 0.01;

static const char *const      acquisitions[] = {"log-ei", "ucb", "thompson", NULL}; /* enum acq_kind */
static const char *const      kernels[] = {"matern52", "matern32", "matern12", "se", NULL};
static const enum kernel_kind kernel_kinds[] = {KERNEL_MATERN52, KERNEL_MATERN32, KERNEL_MATERN12, KERNEL_SE};

static const struct option options[] = {
    [ACQUISITION] = {.name = "acquisition",
                     .kind = OPTION_CHOICE,
                     .max = 2,
                     .choices = acquisitions,
                     .help = "logarithm of expected improvement, upper confidence bound, or a joint posterior sample "
                             "(thompson: parameter spaces only)"},
    [KERNEL] = {.name = "kernel",
                .kind = OPTION_CHOICE,
                .max = 3,
                .choices = kernels,
                .help = "covariance function; one length-scale per parameter, one for all columns of candidates"},
    [BETA] = {.name = "beta",
              .kind = OPTION_REAL,
              .min = 0,
              .max = 1e6,
              .fallback = NAN,
              .help = "ucb: mean + sqrt(beta) sd; when not given 0.2 d ln(2 t) for d parameters, and "
                      "2 ln(n t^2 pi^2 / 0.15) for n candidates, t = observations + 1"},
    [INITIAL] = {.name = "initial",
                 .kind = OPTION_INT,
                 .min = 0,
                 .max = 10000,
                 .fallback = NAN,
                 .help = "trials before the model is asked (Sobol points, or random candidates); at least until one "
                         "has a value; when not given min(2 d + 2, 12) for d parameters, 5 for candidates"},
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

struct session {
    const struct problem *problem;
    struct arena          kept, scratch; /* kept also holds the session */
    struct candidates    *candidates;    /* candidate spaces: this and problem, nothing else */
    struct metrics       *metrics;       /* parameter spaces */
    struct trial_log      log;
    struct gp_cache       cache; /* of the last proposal: a function of log and fit, may be dropped */
    struct finite         used;
    size_t               *group_of; /* [dims] */
    double               *theta;    /* [params_len + HYPER] the last recorded fit ... */
    size_t                fitted;   /* ... and how many values it was made from; 0: none */
    double               *v;        /* [params_len] scratch */
};

static double option_value(const struct problem *problem, size_t option)
{
    double value = problem->options[option];
    return isnan(value) ? options[option].fallback : value;
}

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the study does not fit into its memory limit");
}

static enum status check(const struct problem *problem, struct error *err)
{
    if (problem->space->kind == SPACE_CANDIDATES && option_value(problem, ACQUISITION) == ACQ_THOMPSON)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/acquisition",
                         "thompson is for parameter spaces; candidates have log-ei and ucb");
    if (problem->metrics_len > 1 && option_value(problem, ACQUISITION) != ACQ_LOG_EI)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/acquisition", "several metrics need log-ei");
    TRY(metrics_check(problem, err));
    return policy_check_repeat(problem, option_value(problem, REPEAT), err);
}

/* --- candidates --- */

static double candidates_beta(const struct candidates_view *view)
{
    double beta = option_value(view->problem, BETA), t = (double)view->observations + 1.0;
    double n = (double)view->problem->space->rows_len;
    return isnan(beta) ? 2.0 * (log(n) + 2.0 * log(t) + log(9.869604401089358 / 0.15)) : beta;
}

static void score_candidates(const struct candidates_view *view, size_t m, const double *mean, const double *sd,
                             double *score)
{
    struct acq acq = {.kind = (enum acq_kind)option_value(view->problem, ACQUISITION),
                      .best = view->best,
                      .beta = candidates_beta(view)};
    double     dmean, dsd;
    for (size_t k = 0; k < m; k++)
        score[k] = sd[k] > 0.0 ? acq_value(&acq, mean[k], sd[k], &dmean, &dsd) : NAN;
}

static enum status open_candidates(struct session *session, struct error *err)
{
    const struct problem  *problem = session->problem;
    double                 initial = option_value(problem, INITIAL);
    struct candidates_rule rule = {
        .kind = kernel_kinds[(size_t)option_value(problem, KERNEL)],
        .length_scale = NAN,
        .variance = NAN,
        .noise = NAN,
        .mean = NAN,
        .initial = isnan(initial) ? 5 : (size_t)initial,
        .reserved_bytes = session->kept.taken_bytes,
        .each_row_once = true,
        .acquisition = acquisitions[(size_t)option_value(problem, ACQUISITION)],
        .score = score_candidates,
    };
    return candidates_open(problem, &rule, &session->candidates, err);
}

/* --- the session --- */

static enum status open_parameters(struct session *session, struct error *err)
{
    const struct space *space = session->problem->space;
    struct arena       *kept = &session->kept;
    session->group_of = ARENA_NEW(kept, size_t, space->dims);
    session->theta = ARENA_NEW(kept, double, space->params_len + HYPER);
    session->v = ARENA_NEW(kept, double, space->params_len);
    if (session->group_of == NULL || session->theta == NULL || session->v == NULL)
        return no_memory(err);
    gp_model_groups(space, session->group_of);
    trial_log_init(&session->log, kept, space->params_len);
    finite_init(&session->used, kept, space, option_value(session->problem, REPEAT) == 1);
    const struct metrics_rule rule = {.kind = kernel_kinds[(size_t)option_value(session->problem, KERNEL)],
                                      .used = &session->used,
                                      .log = &session->log,
                                      .group_of = session->group_of};
    return metrics_open(session->problem, &rule, kept, &session->metrics, err);
}

static void close_session(struct session *session)
{
    if (session == NULL)
        return;
    candidates_close(session->candidates);
    metrics_drop(session->metrics);
    arena_fini(&session->scratch);
    gp_cache_drop(&session->cache);
    struct arena kept = session->kept; /* the session lies in it */
    arena_fini(&kept);
}

static enum status open_session(const struct problem *problem, struct session **out, struct error *err)
{
    struct arena kept;
    *out = NULL;
    arena_init(&kept, problem->memory_bytes);
    struct session *session = ARENA_NEW(&kept, struct session, 1);
    if (session == NULL)
        return no_memory(err);
    *session = (struct session){.problem = problem, .kept = kept};
    bool        is_candidates = problem->space->kind == SPACE_CANDIDATES;
    enum status status = is_candidates ? open_candidates(session, err) : open_parameters(session, err);
    if (status != STATUS_OK)
        close_session(session);
    else
        *out = session;
    return status;
}

static size_t bytes(const struct session *session)
{
    size_t candidates = session->candidates == NULL ? 0 : candidates_bytes(session->candidates);
    size_t metrics = session->metrics == NULL ? 0 : metrics_bytes(session->metrics);
    return candidates + metrics + session->kept.taken_bytes + session->cache.arena.taken_bytes +
           session->scratch.taken_bytes;
}

/* x within [low, high]. */
static size_t clamp_size(double x, size_t low, size_t high)
{
    return x > (double)high ? high : x > (double)low ? (size_t)x : low;
}

static struct gp_fit fit_settings(const struct session *session, const struct ask *ask)
{
    const struct problem *problem = session->problem;
    size_t                values = trial_log_finished(&session->log);
    return (struct gp_fit){
        .kind = kernel_kinds[(size_t)option_value(problem, KERNEL)],
        .dims = problem->space->dims,
        .groups = problem->space->params_len,
        .group_of = session->group_of,
        .starts = values < FEW      ? FIT_DEFAULT | FIT_NOISY | FIT_WARPED
                  : values % 4 == 0 ? FIT_DEFAULT
                                    : 0,
        .evaluations = values < FEW || session->fitted == 0 ? 60 : clamp_size(1400.0 / (double)values, 12, 20),
        .late = ask == NULL ? NULL : ask->late,
        .late_arg = ask == NULL ? NULL : ask->late_arg,
    };
}

/* --- notes --- */

struct note_head {
    char     tag[8];
    uint64_t fitted;
    /* theta [params_len + HYPER] follows */
};
static const char NOTE_TAG[8] = "gpfit 2";

static size_t note_bytes(const struct session *session)
{
    return sizeof(struct note_head) + (session->log.params_len + HYPER) * sizeof(double);
}

static void note_write(const struct session *session, const double *theta, struct proposal *out)
{
    struct note_head head = {.fitted = trial_log_finished(&session->log)};
    _Static_assert(sizeof head + (SPACE_PARAMS_MAX + HYPER) * sizeof *theta <= POLICY_NOTE_MAX, "a fit must fit");
    memcpy(head.tag, NOTE_TAG, sizeof head.tag);
    memcpy(out->note, &head, sizeof head);
    memcpy(out->note + sizeof head, theta, (session->log.params_len + HYPER) * sizeof *theta);
    out->note_bytes = note_bytes(session);
}

/* Anything but a sound note is passed over: the fit is then made again. */
static enum status note_read(struct session *session, const struct event *event, struct error *err)
{
    struct note_head  head;
    size_t            theta_bytes = (session->log.params_len + HYPER) * sizeof(double);
    struct gp_fit     fit = fit_settings(session, NULL);
    struct arena_mark mark = arena_mark(&session->kept);
    if (event->note == NULL || event->note_bytes != note_bytes(session))
        return STATUS_OK;
    double *theta = arena_alloc(&session->kept, 1, theta_bytes);
    if (theta == NULL)
        return no_memory(err);
    memcpy(&head, event->note, sizeof head);
    memcpy(theta, (const unsigned char *)event->note + sizeof head, theta_bytes);
    if (memcmp(head.tag, NOTE_TAG, sizeof head.tag) == 0 && head.fitted > 0 && gp_fit_allows(&fit, theta)) {
        memcpy(session->theta, theta, theta_bytes);
        session->fitted = head.fitted;
    }
    arena_release(&session->kept, mark);
    return STATUS_OK;
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    if (session->candidates != NULL)
        return candidates_tell(session->candidates, event, err);
    TRY(trial_log_tell(&session->log, event, err));
    TRY(finite_add(&session->used, event->point, err));
    TRY(metrics_tell(session->metrics, event, err));
    return event->kind == EVENT_SUGGESTED ? note_read(session, event, err) : STATUS_OK;
}

/* --- proposals --- */

/* The largest size of the schedule that is not over n. */
static size_t milestone(size_t n)
{
    if (n <= REFIT_ALWAYS)
        return n;
    size_t size = REFIT_ALWAYS;
    for (size_t step; step = size / 10 < REFIT_STEP ? size / 10 : REFIT_STEP, size + step <= n;)
        size += step;
    return size;
}

/* Point number trial of the study's Sobol sequence at the quantiles of the priors, or in a finite space the next one
 * that is not used. */
static bool quasi_random_point(const struct session *session, const struct ask *ask, const struct space *view,
                               double *point)
{
    sobol_point(session->problem->seed, ask->trial, view->params_len, session->v);
    (void)space_prior_quantile(view, session->v, point);
    return finite_find(&session->used, view, point);
}

static bool is_initial(const struct session *session)
{
    const size_t *count = session->log.count;
    size_t        tried = trial_log_finished(&session->log) + count[LOG_PENDING] + count[LOG_FAILED];
    double        initial = option_value(session->problem, INITIAL), d = (double)session->log.params_len;
    return count[LOG_OBSERVED] == 0 || (double)tried < (isnan(initial) ? fmin(2.0 * d + 2.0, INITIAL_MAX) : initial);
}

/* What the search sees of the model. */
struct target {
    struct gp_model *model;
    struct acq       acq;
    struct rng       rng;  /* Thompson */
    double          *work; /* [3 n + 2 dims] */
};

static const double SD_MIN = 1e-12; /* standardised; keeps the logarithm finite at observed points */

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct target    *target = arg;
    struct gp_model  *model = target->model;
    struct arena_mark mark = arena_mark(model->scratch);
    if (target->acq.kind == ACQ_THOMPSON)
        return acq_thompson(model->gp, U, m, &target->rng, out, model->scratch, err);
    double *mean = ARENA_NEW(model->scratch, double, m), dmean, dsd;
    if (mean == NULL)
        return no_memory(err);
    TRY(gp_posterior(model->gp, U, m, mean, out, model->scratch, err));
    for (size_t k = 0; k < m; k++)
        out[k] = acq_value(&target->acq, mean[k], sqrt(out[k]) + SD_MIN, &dmean, &dsd);
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
    double sd = sqrt(at.var), value = acq_value(&target->acq, at.mean, sd + SD_MIN, &dmean, &dsd);
    for (size_t j = 0; j < dims; j++)
        gradient[j] = dmean * at.dmean[j] + (sd > 0.0 ? dsd * at.dvar[j] / (2.0 * sd) : 0.0);
    return value;
}

/* Effort falls with n: beyond about 1,100 rows a point costs a pass over megabytes, so some fifty are scored, half of
 * them near the best ones, and one is refined by a few steps. */
static enum status search_model(struct session *session, const struct ask *ask, const struct space *space,
                                struct target *target, double *point, struct error *err)
{
    struct gp_model *model = target->model;
    double           squared = (double)(model->gp->n * model->gp->n);
    bool             is_joint = target->acq.kind == ACQ_THOMPSON;
    double          *anchors = arena_alloc(model->scratch, MODEL_ANCHORS, space->params_len * sizeof *anchors);
    if (anchors == NULL)
        return no_memory(err);
    for (size_t k = 0; k < model->anchors_len; k++)
        memcpy(anchors + k * space->params_len, trial_log_point(&session->log, model->anchors[k]),
               space->params_len * sizeof *anchors);
    size_t            widest = clamp_size(1e6 / (double)space->dims, 64, is_joint ? 400 : 500);
    struct acq_search search = {
        .space = space,
        .finite = &session->used,
        .anchors = anchors,
        .anchors_len = model->anchors_len,
        .seed = session->problem->seed,
        .trial = ask->trial,
        .samples = clamp_size(1.2e8 / squared, 32, widest),
        .starts = squared < 2.5e5   ? 4
                  : squared < 1.2e6 ? 2
                                    : 1,
        .evaluations = clamp_size(1.2e7 / squared, 3, 40),
        .late = ask->late,
        .late_arg = ask->late_arg,
        .scores = scores,
        .slope = is_joint ? NULL : slope,
        .arg = target,
    };
    return acq_search_run(&search, point, model->scratch, err);
}

/* The hyper-parameters of this proposal: of the last fit if it is recent enough, or of a new one, which leaves as the
 * note.  *fitted: how many values they were made from, 0: all. */
static enum status find_theta(struct session *session, struct gp_model *model, const struct gp_fit *fit, double *theta,
                              size_t *fitted, struct error *err)
{
    bool is_due = milestone(trial_log_finished(&session->log)) > session->fitted;
    *fitted = is_due ? 0 : session->fitted;
    TRY(gp_model_rows(model, &session->cache, *fitted, err));
    if (is_due)
        return gp_model_fit(model, fit, session->fitted > 0 ? session->theta : NULL, theta, err);
    memcpy(theta, session->theta, (session->log.params_len + HYPER) * sizeof *theta);
    return STATUS_OK;
}

/* A fit with longer length-scales, when it is this trial's turn.  It is not recorded: only this trial uses it. */
static enum status smooth_theta(const struct session *session, const struct ask *ask, struct gp_model *model,
                                const double *theta, double *used, struct error *err)
{
    struct gp_fit fit = fit_settings(session, ask);
    fit.is_smooth = true;
    memcpy(used, theta, (fit.groups + HYPER) * sizeof *used);
    bool is_turn = ask->trial % SMOOTH_EVERY == 1 && trial_log_finished(&session->log) < FEW;
    return is_turn ? gp_model_fit(model, &fit, NULL, used, err) : STATUS_OK;
}

static struct acq acquisition(const struct session *session, const struct ask *ask, const struct gp_model *model)
{
    double        beta = option_value(session->problem, BETA);
    enum acq_kind kind = (enum acq_kind)option_value(session->problem, ACQUISITION);
    if (kind == ACQ_LOG_EI && ask->trial % EXPLOIT_EVERY == 0)
        return (struct acq){.kind = ACQ_UCB, .beta = EXPLOIT_BETA};
    beta = isnan(beta) ? acq_beta(session->log.params_len, trial_log_finished(&session->log) + 1) : beta;
    return (struct acq){.kind = kind, .best = model->best, .beta = beta};
}

/* Thompson has no acquisition value once the sample is gone: the posterior mean stands for it. */
static void diagnose(const struct session *session, const struct target *target, double mean, double sd,
                     struct diagnostics *out)
{
    double dmean, dsd;
    bool   is_joint = target->acq.kind == ACQ_THOMPSON;
    gp_insight_diagnose(target->model, session->group_of, out);
    out->acquisition = acquisitions[target->acq.kind];
    out->acquisition_value = is_joint ? mean : acq_value(&target->acq, mean, sd + SD_MIN, &dmean, &dsd);
}

/* Milliseconds that nothing but the diagnostics sees. */
static double now(const struct ask *ask)
{
    return ask->clock_ms == NULL ? NAN : ask->clock_ms();
}

/* The proposal of the model; out is only changed when there is one. */
static enum status propose(struct session *session, const struct ask *ask, const struct space *view,
                           struct proposal *out, struct error *err)
{
    struct arena   *scratch = &session->scratch;
    size_t          len = session->log.params_len, dims = session->problem->space->dims, fitted;
    struct gp_model model = {.space = session->problem->space, .log = &session->log, .scratch = scratch};
    struct gp_fit   fit = fit_settings(session, ask);
    double         *theta = ARENA_NEW(scratch, double, len + HYPER), *used = ARENA_NEW(scratch, double, len + HYPER);
    double         *point = ARENA_NEW(scratch, double, len + dims), mean, var;
    if (theta == NULL || used == NULL || point == NULL)
        return no_memory(err);
    double began = now(ask);
    TRY(find_theta(session, &model, &fit, theta, &fitted, err));
    TRY(smooth_theta(session, ask, &model, theta, used, err));
    bool   is_fitted = fitted == 0 || memcmp(used, theta, (len + HYPER) * sizeof *used) != 0;
    double fit_ms = is_fitted ? now(ask) - began : NAN;
    TRY(gp_model_condition(&model, &fit, used, true, &session->cache, err));
    struct target target = {
        .model = &model,
        .acq = acquisition(session, ask, &model),
        .rng = rng_at(session->problem->seed, ask->trial, RNG_THOMPSON),
        .work = ARENA_NEW(scratch, double, 3 * model.gp->n + 2 * dims),
    };
    if (target.work == NULL)
        return no_memory(err);
    TRY(search_model(session, ask, view, &target, point, err));
    space_encode(session->problem->space, point, point + len);
    TRY(gp_posterior(model.gp, point + len, 1, &mean, &var, scratch, err));
    memcpy(out->point, point, len * sizeof *point);
    if (ask->diagnostics != NULL) {
        ask->diagnostics->fit_milliseconds = fit_ms;
        diagnose(session, &target, mean, sqrt(var), ask->diagnostics);
    }
    out->mean = mean;
    out->sd = sqrt(var);
    gp_model_units(&model, &out->mean, &out->sd);
    out->observations = model.n;
    if (fitted == 0)
        note_write(session, theta, out);
    return STATUS_OK;
}

static bool needs_metrics(const struct session *session)
{
    return metrics_is_needed(session->metrics) && option_value(session->problem, ACQUISITION) == ACQ_LOG_EI;
}

static void begin_scratch(struct session *session)
{
    size_t left = session->problem->memory_bytes - session->kept.taken_bytes;
    session->cache.limit_bytes = left / 8 * 5; /* of the log alone: a full cache must not change an answer */
    if (session->cache.arena.taken_bytes > session->cache.limit_bytes)
        gp_cache_drop(&session->cache);
    arena_init(&session->scratch, left - session->cache.limit_bytes);
}

static enum status propose_by_model(struct session *session, const struct ask *ask, const struct space *view,
                                    struct proposal *out, struct error *err)
{
    if (needs_metrics(session)) {
        gp_cache_drop(&session->cache);
        return metrics_ask(session->metrics, ask, view, out, err);
    }
    begin_scratch(session);
    enum status status = propose(session, ask, view, out, err);
    arena_fini(&session->scratch);
    return status;
}

/* view: the space with what the ask holds. */
static enum status ask_point(struct session *session, const struct ask *ask, const struct space *view,
                             struct proposal *out, struct error *err)
{
    if (!quasi_random_point(session, ask, view, out->point))
        return error_set(err, STATUS_CONFLICT, "search_space_exhausted", "", "every point has been used");
    if (is_initial(session))
        return STATUS_OK;
    out->fallback = "deadline";
    if (ask->late != NULL && ask->late(ask->late_arg))
        return STATUS_OK;
    enum status status = propose_by_model(session, ask, view, out, err);
    out->fallback = status == STATUS_OK          ? NULL
                    : status == STATUS_BUSY      ? "deadline"
                    : status == STATUS_NO_MEMORY ? "memory"
                                                 : "numerical";
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space      view;
    struct arena_mark mark = arena_mark(&session->kept);
    if (session->candidates != NULL)
        return candidates_ask(session->candidates, ask, out, err);
    out->fallback = NULL;
    out->row = out->observations = out->note_bytes = 0;
    out->mean = out->sd = NAN;
    TRY(space_hold(session->problem->space, ask->fixed, &session->kept, &view, err));
    enum status status = ask_point(session, ask, &view, out, err);
    arena_release(&session->kept, mark);
    return status;
}

/* The posterior given every value, without pending trials. */
static enum status condition_on_values(struct session *session, struct gp_model *model, struct error *err)
{
    const struct space *space = session->problem->space;
    struct arena       *scratch = &session->scratch;
    struct gp_fit       fit = fit_settings(session, NULL);
    double             *theta = ARENA_NEW(scratch, double, space->params_len + HYPER);
    *model = (struct gp_model){.space = space, .log = &session->log, .scratch = scratch};
    if (theta == NULL)
        return no_memory(err);
    TRY(gp_model_rows(model, &session->cache, session->fitted, err));
    if (session->fitted > 0)
        memcpy(theta, session->theta, (space->params_len + HYPER) * sizeof *theta);
    else
        TRY(gp_model_fit(model, &fit, NULL, theta, err));
    return gp_model_condition(model, &fit, theta, false, &session->cache, err);
}

/* The model that predictions are of, of the first objective; end_model in every case. */
static enum status begin_model(struct session *session, struct gp_model *model, struct error *err)
{
    if (needs_metrics(session)) {
        gp_cache_drop(&session->cache);
        return metrics_begin_model(session->metrics, model, err);
    }
    begin_scratch(session);
    return condition_on_values(session, model, err);
}

static void end_model(struct session *session)
{
    metrics_end_model(session->metrics);
    arena_fini(&session->scratch);
}

static enum status no_observations(struct error *err)
{
    return error_set(err, STATUS_CONFLICT, "no_observations", "", "there is nothing to predict from yet");
}

static enum status predict(struct session *session, const double *points, const size_t *rows, size_t m, double *mean,
                           double *sd, struct error *err)
{
    struct gp_model model;
    if (session->candidates != NULL)
        return candidates_predict(session->candidates, rows, m, mean, sd, err);
    if (session->log.count[LOG_OBSERVED] == 0)
        return no_observations(err);
    enum status status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_predict(&model, points, m, mean, sd, err);
    end_model(session);
    return status;
}

static enum status residuals(struct session *session, struct arena *arena, struct residual **out, size_t *len,
                             struct error *err)
{
    struct gp_model model;
    if (session->candidates != NULL)
        return candidates_residuals(session->candidates, arena, out, len, err);
    if (session->log.count[LOG_OBSERVED] == 0)
        return no_observations(err);
    *out = ARENA_NEW(arena, struct residual, session->log.count[LOG_OBSERVED]);
    if (*out == NULL)
        return no_memory(err);
    enum status status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_residuals(&model, *out, len, err);
    end_model(session);
    return status;
}

const struct policy policy_gp = {
    .name = "gp",
    .help =
        "Bayesian optimisation with a Gaussian process: maximum a posteriori hyper-parameters, one length-scale per "
        "parameter, pending trials taken into account",
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES,
    .several_metrics = SPACE_PARAMETERS,
    .uses_each_row_once = true,
    .options = options,
    .check = check,
    .open = open_session,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .bytes = bytes,
    .close = close_session,
};
