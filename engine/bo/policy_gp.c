/* Bayesian optimisation with a Gaussian process: the record, its options, and who makes a proposal.
 * Parameter spaces: the first trial is in the middle, the next ones are points of a Sobol sequence scrambled by the
 * study's seed, point number trial; then single_objective proposes, or with several metrics or infeasible trials
 * several_search.
 * Candidate spaces: a rule over row_policy.
 * The session keeps the log, the last recorded fits, the set of used points of a finite space and caches of factors,
 * which are functions of the others: so a proposal is a function of (problem, log, trial). */
#include "engine/surrogate/gp_insight.h"
#include "engine/finite_set/row_policy.h"
#include "engine/bo/several_search.h"
#include "engine/bo/gp_schedule.h"
#include "engine/bo/policy_gp.h"

#include "engine/base/numbers.h"
#include "engine/bo/single_objective.h"
#include "engine/bo/trust_region.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

enum { ACQUISITION, KERNEL, BETA, INITIAL, REPEAT };
enum { INITIAL_CANDIDATES = 5, CORNER_FAILURES = 4 };

static const struct option options[] = {
    [ACQUISITION] =
        {.name = "acquisition",
         .kind = OPTION_CHOICE,
         .max = 2,
         .choices = acq_names,
         .help = "log-ei: logarithm of expected improvement, for parameters in a box around the best trial first, "
                 "after an upper confidence bound there with a quarter of ucb's beta, as long as they "
                 "promise a gain that matters; ucb: upper confidence bound; thompson: a joint posterior "
                 "sample (parameter spaces only)"},
    [KERNEL] = {.name = "kernel",
                .kind = OPTION_CHOICE,
                KERNEL_CHOICES,
                .help = "covariance function; one length-scale per parameter, one for all columns of candidates"},
    [BETA] = OPTION_NUMBER("beta", 0, 1e6, NAN,
                           "ucb: mean + sqrt(beta) sd; when not given 0.2 d ln(2 t) for d parameters, and 2 ln(n t^2 "
                           "pi^2 / 0.15) for n candidates, t = observations + 1"),
    [INITIAL] =
        OPTION_INTEGER("initial", 0, 10000, NAN,
                       "trials before the model is asked (the centre and Sobol points, or random candidates); at least "
                       "until one has a value; when not given min(2 d + 2, 8) for d parameters, 5 for candidates"),
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

struct session {
    struct gp_study         study;      /* candidate spaces: its arena alone is used */
    struct row_policy      *candidates; /* candidate spaces */
    struct several         *several;    /* parameter spaces */
    struct single_objective single;     /* parameter spaces */
};

/* Whether every coordinate is a range whose ends a periodic kernel can take for the same; of an int or a categorical they
 * are two values. */
static bool has_ends(const struct space *space)
{
    for (size_t i = 0; i < space->params_len; i++)
        if (space->params[i].kind != PARAM_DOUBLE)
            return false;
    return space->kind == SPACE_PARAMETERS;
}

static enum status check(const struct problem *problem, struct error *err)
{
    if (problem->space->kind == SPACE_CANDIDATES && problem->options[ACQUISITION] == ACQ_THOMPSON)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/acquisition",
                         "must be log-ei or ucb: thompson is for parameter spaces, not candidates");
    if (kernel_kinds[(size_t)problem->options[KERNEL]]->part != NULL && !has_ends(problem->space))
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/kernel",
                         "periodic is for parameters of type double, whose ends are taken for the same");
    if (problem->metrics_len > 1 && problem->options[ACQUISITION] != ACQ_LOG_EI)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/acquisition",
                         "must be log-ei with several metrics");
    if (problem_band(problem, 0) != NULL && problem->options[ACQUISITION] != ACQ_LOG_EI)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/acquisition",
                         "must be log-ei with a target or a range");
    return several_check(problem, err);
}

/* --- candidates --- */

static double candidates_beta(const struct row_policy_view *view)
{
    double beta = view->problem->options[BETA], t = (double)view->observations + 1.0;
    double n = (double)view->problem->space->rows_len;
    return isnan(beta) ? 2.0 * (log(n) + 2.0 * log(t) + log(PI_SQUARED / 0.15)) : beta;
}

static void score_candidates(const struct row_policy_view *view, size_t m, const double *mean, const double *sd,
                             double *score)
{
    struct acq acq = {
        .kind = (enum acq_kind)view->problem->options[ACQUISITION], .best = view->best, .beta = candidates_beta(view)};
    double dmean, dsd;
    for (size_t k = 0; k < m; k++)
        score[k] = sd[k] > 0.0 ? acq_value(&acq, mean[k], sd[k], &dmean, &dsd) : NAN;
}

static enum status open_candidates(struct session *session, struct error *err)
{
    const struct problem  *problem = session->study.base.problem;
    double                 initial = problem->options[INITIAL];
    struct row_policy_rule rule = {
        .kind = kernel_kinds[(size_t)problem->options[KERNEL]],
        .length_scale = NAN,
        .variance = NAN,
        .noise = NAN,
        .mean = NAN,
        .initial = isnan(initial) ? INITIAL_CANDIDATES : (size_t)initial,
        .each_row_once = true,
        .acquisition = acq_names[(size_t)problem->options[ACQUISITION]],
        .score = score_candidates,
    };
    return row_policy_open(&session->study.base, &rule, &session->candidates, err);
}

/* --- the session --- */

static enum status open_parameters(struct session *session, struct error *err)
{
    const struct problem              *problem = session->study.base.problem;
    const struct single_objective_rule rule = {.kernel = kernel_kinds[(size_t)problem->options[KERNEL]],
                                               .acquisition = (enum acq_kind)problem->options[ACQUISITION],
                                               .beta = problem->options[BETA]};
    TRY(single_objective_open(&session->study, &rule, &session->single, err));
    return several_open(&session->study, rule.kernel, &session->several, err);
}

static void end(struct session *session)
{
    several_drop(session->several);
    gp_study_end(session);
}

static enum status begin(struct session *session, struct error *err)
{
    const struct problem *problem = session->study.base.problem;
    TRY(gp_study_init(&session->study, problem->options[REPEAT] == 1, err));
    return problem->space->kind == SPACE_CANDIDATES ? open_candidates(session, err) : open_parameters(session, err);
}

static size_t bytes_beside(const struct session *session)
{
    return gp_study_bytes(session) + (session->several == NULL ? 0 : several_bytes(session->several));
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    if (session->candidates != NULL)
        return row_policy_tell(session->candidates, event, err);
    TRY(gp_study_tell(&session->study, event, err));
    gp_single_tell(&session->single.single, event);
    return several_tell(session->several, event, err);
}

/* --- proposals --- */

static bool is_initial(const struct session *session)
{
    const struct trial_log *log = &session->study.log;
    double                  initial = session->study.base.problem->options[INITIAL];
    return log->count[LOG_OBSERVED] == 0 ||
           (double)trial_log_tried(log) < (isnan(initial) ? (double)trust_region_initial(log->params_len) : initial);
}

/* Other acquisitions than log-EI take an infeasible trial for one with the worst value. */
static bool needs_several(const struct session *session)
{
    return several_active(session->several) > 1 && session->single.rule.acquisition == ACQ_LOG_EI;
}

/* Memory is either single_objective' or several_search'. */
static enum status propose(struct session *session, const struct ask *ask, const struct space *view,
                           struct proposal *out, struct error *err)
{
    if (needs_several(session)) {
        gp_memory_drop(&session->study.memory);
        return several_ask(session->several, ask, view, out, err);
    }
    gp_study_begin(&session->study);
    enum status status = single_objective_ask(&session->single, ask, view, out, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* Sobol points are never near the corners, and one of these may be all that works: while everything failed every other of the
 * first points has its coordinates in the lowest quarter, the highest, or each in the nearer one. */
static void go_to_corner(struct session *session, const struct ask *ask, const struct space *view, double *point)
{
    const struct trial_log *log = &session->study.log;
    if (log->count[LOG_OBSERVED] > 0 || log->failures < CORNER_FAILURES || ask->trial % 2 == 1)
        return;
    sobol_start(session->study.base.problem->seed, ask->trial, view->params_len, session->study.unit);
    for (size_t j = 0; j < view->params_len; j++) {
        double v = session->study.unit[j], low = v / 4.0;
        size_t turn = ask->trial / 2 % 3;
        session->study.unit[j] = turn == 0 || (turn == 2 && v < 0.5) ? low : 0.75 + low;
    }
    (void)space_prior_quantile(view, session->study.unit, point);
    used_points_find(&session->study.used, view, point);
}

/* The trial that is to be tried once more (gp_failure.h).  Where points are used once there is none. */
static bool is_again(const struct session *session, const struct ask *ask, size_t again, double *point)
{
    const struct trial_log *log = &session->study.log;
    if (again == log->len || ask->fixed != NULL || session->study.used.count != SIZE_MAX)
        return false;
    memcpy(point, trial_log_point(log, again), log->params_len * sizeof *point);
    return true;
}

/* view: the space with what the ask holds. */
static enum status ask_point(struct session *session, const struct ask *ask, const struct space *view,
                             struct proposal *out, struct error *err)
{
    size_t again = gp_failure_settle(&session->study.log);
    TRY(gp_study_quasi_random(&session->study, ask, view, out->point, err));
    if (is_initial(session)) {
        go_to_corner(session, ask, view, out->point);
        return STATUS_OK;
    }
    if (is_again(session, ask, again, out->point))
        return STATUS_OK;
    out->fallback = "deadline";
    if (ask_is_late(ask))
        return STATUS_OK;
    enum status status = propose(session, ask, view, out, err);
    out->fallback = proposal_fallback(status);
    if (!gp_failure_is_twice(&session->study.log, out->point))
        return STATUS_OK;
    proposal_clear(out);
    return gp_study_quasi_random(&session->study, ask, view, out->point, err);
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space      view;
    struct arena     *kept = &session->study.base.kept;
    struct arena_mark mark = arena_mark(kept);
    if (session->candidates != NULL)
        return row_policy_ask(session->candidates, ask, out, err);
    proposal_clear(out);
    TRY(space_hold(session->study.base.problem->space, ask->fixed, kept, &view, err));
    enum status status = ask_point(session, ask, &view, out, err);
    arena_release(kept, mark);
    return used_points_say_all(&session->study.used, status, err);
}

/* --- what is left to gain --- */

/* A smaller model, for those in a hurry, would say something else. */
static bool may_say(const struct session *session, const struct ask *ask)
{
    size_t rows = gp_schedule_rows(ask, 1);
    return !is_initial(session) && (rows == 0 || trial_log_finished(&session->study.log) <= rows);
}

static enum status gain_of(struct session *session, const struct ask *ask, struct gain *out, struct error *err)
{
    const struct space *space = session->study.base.problem->space;
    if (needs_several(session)) {
        gp_memory_drop(&session->study.memory);
        return several_gain(session->several, ask, space, out, err);
    }
    gp_study_begin(&session->study);
    enum status status = single_objective_gain(&session->single, ask, space, out, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* Where everything was tried, or nothing can be computed, it is not known: then the proposal says so.  Nor is it where it
 * depends on a context. */
static enum status gain(struct session *session, const struct ask *ask, struct gain *out, struct error *err)
{
    const struct gain unknown = {.expected = NAN, .trust = NAN, .finished = trial_log_finished(&session->study.log)};
    *out = unknown;
    (void)gp_failure_settle(&session->study.log);
    if (session->candidates != NULL || space_has_context(session->study.base.problem->space) || !may_say(session, ask))
        return STATUS_OK;
    enum status status = gain_of(session, ask, out, err);
    if (status != STATUS_OK || ask_is_late(ask))
        *out = unknown;
    out->finished = unknown.finished;
    return status == STATUS_NO_MEMORY ? status : STATUS_OK;
}

static bool show(struct session *session, size_t metric)
{
    (void)gp_failure_settle(&session->study.log);
    bool is_there = metric == 0 || (session->several != NULL && needs_several(session));
    return session->several == NULL ? is_there : several_show(session->several, metric) && is_there;
}

/* The model that predictions are of; end_model in every case. */
static enum status begin_model(struct session *session, struct gp_model *model, struct error *err)
{
    struct gp_choice choice;
    (void)gp_failure_settle(&session->study.log);
    TRY(gp_study_has_values(&session->study, err));
    if (needs_several(session)) {
        gp_memory_drop(&session->study.memory);
        return several_model(session->several, model, err);
    }
    gp_study_begin(&session->study);
    return gp_single_model(&session->single.single, NULL, NULL, model, &choice, err);
}

static void end_model(struct session *session)
{
    several_end(session->several);
    gp_memory_end(&session->study.memory);
}

static enum status predict(struct session *session, const struct prediction *wanted, struct error *err)
{
    struct gp_model model;
    if (session->candidates != NULL)
        return row_policy_predict(session->candidates, wanted, err);
    enum status status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_predict(&model, wanted, err);
    end_model(session);
    return status;
}

static enum status residuals(struct session *session, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    struct gp_model model;
    if (session->candidates != NULL)
        return row_policy_residuals(session->candidates, ask, arena, out, len, err);
    enum status status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_residuals(&model, ask, arena, out, len, err);
    end_model(session);
    return status;
}

const struct policy policy_gp = {
    .name = "gp",
    .help =
        "Bayesian optimisation with a Gaussian process: maximum a posteriori hyper-parameters, one length-scale per "
        "parameter, pending trials taken into account",
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES,
    .takes_bands = SPACE_PARAMETERS,
    .several_metrics = SPACE_PARAMETERS,
    .uses_each_row_once = true,
    .takes_outside = true,
    .takes_context = true,
    .looks_near = true,
    .options = options,
    .check = check,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .bytes_beside = bytes_beside,
    .end = end,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .gain = gain,
    .show = show,
};
