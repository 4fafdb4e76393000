/* BO-BOS: Bayesian optimisation that stops the evaluations whose learning curves will not beat the best one.
 * Source: Dai 2021, chapter 4, Algorithm 4.1, and appendix A.
 *
 * The model is that of the gp algorithm over [x, n], the parameters and the epoch n = 1 .. N as one more parameter: an
 * inner session of it is told one row per trial at its last epoch and up to five at spaced epochs (the first, N/5,
 * 2 N/5, ..) when the trial ends, of a stopped one a forecast of N, too, and is asked with n held at N.  The first `initial` trials are those of sobol_start
 * and run to the end.
 *
 * judge, after N0 epochs (the first time a measurement comes behind them): the stopping problem is solved against the
 * best value so far (condition C1), and the epochs n where sd([x, N]) > kappa sd([x, n]) are taken out (C2), by the
 * model as it was without this trial.  What is left, a bit for each epoch and cell, is the verdict's note; from then on a
 * judgement looks it up, also after a restart.  The session keeps the notes of running trials.
 * Other than in the thesis, a trial that has twice the epochs its rule was made from has a new one made, from all of its
 * curve: the rule sees no more of the later epochs than their mean, and at 8 of 50 can tell bad from good, not worse
 * from better.  A curve has at most log2(N / N0) more of them. */
#include "engine/base/numbers.h"
#include "engine/bo/policy_gp.h"
#include "engine/gp/kernel_list.h"
#include "engine/stopping/curve.h"
#include "engine/space/used_points.h"
#include "engine/math/sobol.h"
#include "engine/stopping/stopping_table.h"
#include "engine/policy/trial_log.h"
#include "engine/policy/session.h"

#include <math.h>
#include <string.h>

enum {
    EPOCHS,
    WARM_UP,
    INITIAL,
    KAPPA,
    K1,
    K2,
    COST,
    GAMMA,
    NOISE,
    CORRECTION,
    CURVE_LOW,
    CURVE_HIGH,
    PATHS,
    ACQUISITION,
    BETA,
    REPEAT
};
enum { SPACED = 5, FINAL = 1023, ROW_NUMBERS = 1024 };
static const double K1_MAX = 1e12;

static const char *const acquisitions[] = {"log-ei", "ucb", NULL}; /* the first of those of gp */

static const struct option options[] = {
    [EPOCHS] = {.name = "epochs",
                .kind = OPTION_INT,
                .min = 2,
                .max = STOPPING_EPOCHS_MAX,
                .fallback = NAN,
                .required = true,
                .help =
                    "N, the epochs of a whole evaluation: reports are steps 1 .. N, and a value that is observed is "
                    "that after N"},
    [WARM_UP] = OPTION_INTEGER("warm_up", 1, STOPPING_SEEN_MAX, 8,
                               "N0: no trial is stopped before this epoch; less than epochs"),
    [INITIAL] = OPTION_INTEGER(
        "initial", 1, 10000, 6,
        "trials before the model is asked (the centre and Sobol points); until as many have a value none is stopped"),
    [KAPPA] = OPTION_NUMBER("kappa", 1, 1e6, 2, "stops at epoch n only where sd([x, N]) <= kappa sd([x, n])"),
    [K1] =
        OPTION_NUMBER("k1", 1e-6, 1e9, 100,
                      "loss of stopping a trial that would have been better, in the first iteration with a decision"),
    [K2] = OPTION_NUMBER("k2", 1e-6, 1e9, 99, "loss of taking a trial for better that will not be"),
    [COST] = OPTION_NUMBER("cost", 1e-6, 1e9, 1, "loss of one more epoch"),
    [GAMMA] = OPTION_NUMBER("gamma", 0.01, 1, 0.99, "k1 grows by 1 / gamma with each trial that has a value"),
    [NOISE] = OPTION_NUMBER("noise", 0, 1, 0.01,
                            "standard deviation of a measurement after an epoch, as a share of the curve's range; at "
                            "least 0.01 in the curve's model"),
    [CORRECTION] = OPTION_NUMBER("correction", 1e-9, 1 - 1e-9, NAN,
                                 "delta'': the best value is lowered by noise sqrt(2 ln(pi^2 t^2 (t - 1) / (6 "
                                 "delta''))); when not given it is not lowered"),
    [CURVE_LOW] = OPTION_NUMBER("curve_low", -1e300, 1e300, 0,
                                "smallest value of the metric that makes a difference, in its own units"),
    [CURVE_HIGH] =
        OPTION_NUMBER("curve_high", -1e300, 1e300, 1,
                      "largest value of the metric that makes a difference; an error or an accuracy has 0 and 1"),
    [PATHS] = OPTION_INTEGER("paths", 1000, 1000000, 100000, "simulated curves of a stopping problem"),
    [ACQUISITION] = {.name = "acquisition",
                     .kind = OPTION_CHOICE,
                     .max = 1,
                     .fallback = 1,
                     .choices = acquisitions,
                     .help = "acquisition function as for gp, at epoch N"},
    [BETA] =
        OPTION_NUMBER("beta", 0, 1e6, NAN,
                      "ucb: mean + sqrt(beta) sd; when not given 0.2 (d + 1) ln(2 t), t = trials with a value + 1"),
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

/* The rule of a running trial. */
struct slot {
    struct slot  *next;
    uint64_t      trial;
    unsigned char table[];
};

struct session {
    struct session_base  base;
    struct space         extended; /* the parameters, then the epoch */
    struct session_inner inner;
    struct trial_log     log; /* a stopped trial is observed in it */
    struct curves        curves;
    struct used_points   used;
    struct slot         *active, *unused;
    double              *point, *fixed, *lengths; /* [params_len + 1] scratch */
};

static size_t epochs_of(const struct problem *problem)
{
    return (size_t)problem->options[EPOCHS];
}

static enum status check(const struct problem *problem, struct error *err)
{
    if (problem->space->params_len >= SPACE_PARAMS_MAX)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/name", "there are too many parameters");
    if (problem->options[WARM_UP] >= problem->options[EPOCHS])
        return error_set(err, STATUS_INVALID, "bad_combination", "/algorithm/warm_up", "must be below epochs");
    if (problem->options[CURVE_LOW] >= problem->options[CURVE_HIGH])
        return error_set(err, STATUS_INVALID, "bad_combination", "/algorithm/curve_low", "must be below curve_high");
    return STATUS_OK;
}

/* --- the session --- */

static enum status extend_space(struct session *session, struct error *err)
{
    const struct space *space = session->base.problem->space;
    size_t              p = space->params_len;
    struct param       *params = ARENA_NEW(&session->base.kept, struct param, p + 1);
    if (params == NULL)
        return error_no_memory(err);
    memcpy(params, space->params, p * sizeof *params);
    params[p] =
        (struct param){.name = "", .kind = PARAM_INT, .min = 1, .max = (double)epochs_of(session->base.problem)};
    session->extended = (struct space){.kind = SPACE_PARAMETERS,
                                       .params = params,
                                       .params_len = p + 1,
                                       .constraints = space->constraints,
                                       .constraints_len = space->constraints_len,
                                       .forbid = space->forbid,
                                       .forbid_len = space->forbid_len};
    TRY(space_init(&session->extended, err));
    return space_hold(&session->extended, NULL, &session->base.kept, &session->extended, err);
}

static enum status open_inner(struct session *session, size_t memory_bytes, struct error *err)
{
    const struct problem *problem = session->base.problem;
    struct session_inner *inner = &session->inner;
    session_inner_init(inner, &policy_gp, problem, problem->options[REPEAT]);
    policy_set(&policy_gp, inner->options, "acquisition", problem->options[ACQUISITION]);
    policy_set(&policy_gp, inner->options, "kernel", KERNEL_MATERN52);
    policy_set(&policy_gp, inner->options, "initial", 0);
    inner->problem.space = &session->extended;
    inner->problem.memory_bytes = memory_bytes;
    return session_open_inner(&session->base, &policy_gp, &inner->problem, &inner->session, err);
}

static enum status begin(struct session *session, struct error *err)
{
    size_t p = session->base.problem->space->params_len, bytes = session->base.problem->memory_bytes;
    arena_init(&session->base.scratch, bytes / 4);
    session->point = ARENA_NEW(&session->base.kept, double, p + 1);
    session->fixed = ARENA_NEW(&session->base.kept, double, p + 1);
    session->lengths = ARENA_NEW(&session->base.kept, double, p + 1);
    if (session->point == NULL || session->fixed == NULL || session->lengths == NULL)
        return error_no_memory(err);
    trial_log_init(&session->log, &session->base.kept, p);
    curves_init(&session->curves, &session->base.kept);
    used_points_init(&session->used, &session->base.kept, session->base.problem->space,
                     session->base.problem->options[REPEAT] == 1);
    TRY(extend_space(session, err));
    return open_inner(session, bytes / 2, err);
}

/* --- rules of running trials --- */

static struct slot *find_slot(const struct session *session, uint64_t trial)
{
    struct slot *slot = session->active;
    while (slot != NULL && slot->trial != trial)
        slot = slot->next;
    return slot;
}

/* Anything but a sound table is passed over: the problem is then solved again. */
static enum status keep_table(struct session *session, const struct event *event, struct error *err)
{
    if (!stopping_table_is_sound(event->note, event->note_bytes, epochs_of(session->base.problem)))
        return STATUS_OK;
    struct slot *slot = find_slot(session, event->trial);
    if (slot == NULL) {
        slot = session->unused;
        if (slot != NULL)
            session->unused = slot->next;
        else
            slot =
                arena_alloc(&session->base.kept, 1,
                            sizeof *slot + STOPPING_TABLE_HEAD + STOPPING_TABLE_ROW * epochs_of(session->base.problem));
        if (slot == NULL)
            return error_no_memory(err);
        slot->trial = event->trial;
        slot->next = session->active;
        session->active = slot;
    }
    memcpy(slot->table, event->note, event->note_bytes);
    return STATUS_OK;
}

static void drop_table(struct session *session, uint64_t trial)
{
    for (struct slot **link = &session->active; *link != NULL; link = &(*link)->next) {
        struct slot *slot = *link;
        if (slot->trial != trial)
            continue;
        *link = slot->next;
        slot->next = session->unused;
        session->unused = slot;
        return;
    }
}

/* --- a curve as errors --- */

/* A value as an error in [0, 1]; what lies outside of the curve's range counts as its end. */
static double error_of(const struct problem *problem, double value)
{
    double low = problem->options[CURVE_LOW], high = problem->options[CURVE_HIGH];
    double error = (problem->is_minimized ? -value - low : high - value) / (high - low);
    return error < 0.0 ? 0.0 : error < 1.0 ? error : 1.0;
}

/* A value with this error; the other way round. */
static double value_of(const struct problem *problem, double error)
{
    double low = problem->options[CURVE_LOW], high = problem->options[CURVE_HIGH];
    return problem->is_minimized ? -(low + error * (high - low)) : high - error * (high - low);
}

/* The curve of a trial, as errors. */
struct measured {
    double *epochs, *errors; /* [len] */
    size_t  len;
};

/* more: one more measurement, or NULL. */
static enum status measure(struct session *session, uint64_t trial, const struct measurement *more,
                           struct measured *out, struct error *err)
{
    const struct curve *curve = curves_find(&session->curves, trial);
    size_t              n = curve == NULL ? 0 : curve->len;
    *out = (struct measured){.epochs = ARENA_NEW(&session->base.scratch, double, n + 1),
                             .errors = ARENA_NEW(&session->base.scratch, double, n + 1),
                             .len = n};
    if (out->epochs == NULL || out->errors == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        out->epochs[i] = curve->steps[i];
        out->errors[i] = error_of(session->base.problem, curve->values[i]);
    }
    if (more == NULL)
        return STATUS_OK;
    out->epochs[n] = (double)more->step;
    out->errors[n] = error_of(session->base.problem, more->value);
    out->len++;
    return STATUS_OK;
}

/* Keeps at most limit measurements, the last one and others evenly. */
static void thin(struct measured *measured, size_t limit)
{
    size_t n = measured->len;
    if (n <= limit)
        return;
    for (size_t k = 0; k < limit; k++) {
        size_t from = (k + 1) * n / limit - 1;
        measured->epochs[k] = measured->epochs[from];
        measured->errors[k] = measured->errors[from];
    }
    measured->len = limit;
}

/* The error to be beaten: of the best value of an ended trial, with the noise correction xi_t of Theorem 4.1. */
static double incumbent(const struct session *session)
{
    const struct problem *problem = session->base.problem;
    double                best = -HUGE_VAL, delta = problem->options[CORRECTION];
    double                t = (double)session->log.count[LOG_OBSERVED] + 1.0;
    for (size_t i = 0; i < session->log.len; i++)
        if (session->log.trials[i].state == LOG_OBSERVED)
            best = fmax(best, session->log.trials[i].value);
    if (isnan(delta))
        return error_of(problem, best);
    double xi = sqrt(2.0 * fmax(log(PI_SQUARED * t * t * (t - 1.0) / (6.0 * delta)), 0.0));
    return error_of(problem, best) + problem->options[NOISE] * xi;
}

/* Sets the inputs of the curve's model. */
static void set_curve(const struct problem *problem, const struct measured *seen, struct stopping *out)
{
    double noise = problem->options[NOISE];
    out->last = epochs_of(problem);
    out->seen = seen->len;
    out->epochs = seen->epochs;
    out->errors = seen->errors;
    out->noise_variance = fmax(noise * noise, out->noise_variance);
}

/* --- telling the model --- */

static enum status tell_inner(struct session *session, const struct event *event, enum event_kind kind, size_t row,
                              double epoch, struct error *err)
{
    struct event inner = *event;
    size_t       p = session->base.problem->space->params_len;
    memcpy(session->point, event->point, p * sizeof *session->point);
    session->point[p] = epoch;
    inner.kind = kind;
    inner.trial = event->trial * ROW_NUMBERS + row;
    inner.point = session->point;
    return policy_gp.tell(session->inner.session, &inner, err);
}

static enum status tell_measured(struct session *session, const struct event *event, const struct curve *curve,
                                 size_t i, struct error *err)
{
    struct event measured = {.trial = event->trial, .point = event->point, .value = curve->values[i]};
    size_t       row = (size_t)curve->steps[i];
    TRY(tell_inner(session, &measured, EVENT_SUGGESTED, row, curve->steps[i], err));
    return tell_inner(session, &measured, EVENT_OBSERVED, row, curve->steps[i], err);
}

/* The measurements of an ended trial at or before the spaced epochs, and of a stopped one the last. */
static enum status tell_curve(struct session *session, const struct event *event, struct error *err)
{
    const struct curve *curve = curves_find(&session->curves, event->trial);
    size_t              epochs = epochs_of(session->base.problem), newest = 0, stride = epochs / SPACED;
    size_t              whole = curve == NULL ? 0 : curve_upto(curve, (double)epochs - 1.0);
    stride = stride > 0 ? stride : 1;
    for (size_t k = 0; k < SPACED && whole > 0; k++) {
        size_t at = curve_upto(curve, k == 0 ? 1.0 : (double)(k * stride));
        at = at < whole ? at : whole;
        if (at > newest)
            TRY(tell_measured(session, event, curve, at - 1, err));
        newest = at > newest ? at : newest;
    }
    if (event->kind == EVENT_STOPPED && whole > newest)
        return tell_measured(session, event, curve, whole - 1, err);
    return STATUS_OK;
}

/* Forecasts the final value of a stopped trial by the curve's own model, and not better than the best value, since that is
 * why it stopped.  Half of its remaining gain is taken as uncertain.  False: there is no forecast. */
static enum status forecast(struct session *session, const struct event *stopped, struct event *out, bool *is_there,
                            struct error *err)
{
    const struct problem *problem = session->base.problem;
    double                range = problem->options[CURVE_HIGH] - problem->options[CURVE_LOW], mean, sd;
    struct stopping       stopping = stopping_recommended();
    struct measured       seen;
    *out = *stopped;
    if (fabs(value_of(problem, error_of(problem, stopped->value)) - stopped->value) > 1e-9 * range)
        return STATUS_OK; /* it is outside of the curve's range, of which the curve's model knows nothing */
    TRY(measure(session, stopped->trial, NULL, &seen, err));
    thin(&seen, STOPPING_SEEN_MAX);
    set_curve(problem, &seen, &stopping);
    enum status status = stopping_forecast(&stopping, &mean, &sd, &session->base.scratch, err);
    *is_there = status == STATUS_OK;
    if (!*is_there)
        return status == STATUS_NO_MEMORY ? status : STATUS_OK;
    double gain = seen.errors[seen.len - 1] - mean;
    out->is_forecast = true;
    out->value = value_of(problem, fmin(fmax(mean, incumbent(session)), 1.0));
    out->sd = range * sqrt(sd * sd + 0.25 * gain * gain);
    return STATUS_OK;
}

/* The model knows the epoch at which a stopped trial was left, and a forecast of the last one: without it, it would
 * expect there what it expected before, and propose the point again. */
static enum status tell_stopped(struct session *session, const struct event *event, struct error *err)
{
    bool              is_there = false;
    struct event      expected;
    struct arena_mark mark = arena_mark(&session->base.scratch);
    enum status       status = forecast(session, event, &expected, &is_there, err);
    arena_release(&session->base.scratch, mark);
    if (status != STATUS_OK)
        return status;
    return tell_inner(session, &expected, is_there ? EVENT_OBSERVED : EVENT_ABANDONED, FINAL,
                      (double)epochs_of(session->base.problem), err);
}

static enum status tell_end(struct session *session, const struct event *event, struct error *err)
{
    drop_table(session, event->trial);
    TRY(tell_curve(session, event, err));
    if (event->kind == EVENT_STOPPED)
        return tell_stopped(session, event, err);
    return tell_inner(session, event, event->kind, FINAL, (double)epochs_of(session->base.problem), err);
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    struct event logged = *event;
    TRY(curves_tell(&session->curves, event, err));
    if (event->kind == EVENT_MEASURED)
        return keep_table(session, event, err);
    if (event->kind == EVENT_HANDED_OVER) {
        drop_table(session, event->trial);
        return STATUS_OK;
    }
    if (event->kind == EVENT_STOPPED)
        logged.kind = EVENT_OBSERVED;
    TRY(trial_log_tell(&session->log, &logged, err));
    TRY(policy_use_point(&session->used, event, err));
    if (event->kind == EVENT_SUGGESTED)
        return tell_inner(session, event, event->kind, FINAL, (double)epochs_of(session->base.problem), err);
    return tell_end(session, event, err);
}

/* --- proposals --- */

static bool is_initial(const struct session *session)
{
    return (double)trial_log_tried(&session->log) < session->base.problem->options[INITIAL];
}

static enum status ask_initial(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space      view;
    struct arena_mark mark = arena_mark(&session->base.scratch);
    enum status       status = space_hold(session->base.problem->space, ask->fixed, &session->base.scratch, &view, err);
    if (status == STATUS_OK) {
        sobol_start(session->base.problem->seed, ask->trial, view.params_len, session->point);
        (void)space_prior_quantile(&view, session->point, out->point);
        if (!used_points_find(&session->used, &view, out->point))
            status = used_points_exhausted(err);
    }
    proposal_clear(out);
    arena_release(&session->base.scratch, mark);
    return status;
}

/* The space of the inner model has a parameter more, the epoch: the trials alone are not what it knows. */
static void keep_diagnostics(const struct diagnostics *inner, size_t params_len, struct diagnostics *out)
{
    double *lengths = out->length_scales;
    memcpy(lengths, inner->length_scales, params_len * sizeof *lengths);
    *out = *inner;
    out->length_scales = lengths;
    out->values.unit = 0;
}

static enum status ask_model(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    size_t             p = session->base.problem->space->params_len, t = session->log.count[LOG_OBSERVED] + 1;
    double             beta = session->base.problem->options[BETA], *point = out->point;
    struct diagnostics diagnostics = {.length_scales = session->lengths};
    struct ask         inner = *ask;
    for (size_t i = 0; i < p; i++)
        session->fixed[i] = ask->fixed == NULL ? NAN : ask->fixed[i];
    session->fixed[p] = (double)epochs_of(session->base.problem);
    inner.fixed = session->fixed;
    inner.diagnostics = ask->diagnostics == NULL ? NULL : &diagnostics;
    policy_set(&policy_gp, session->inner.options, "beta",
               isnan(beta) ? 0.2 * ((double)p + 1.0) * log(2.0 * (double)t) : beta);
    out->point = session->point;
    enum status status = policy_gp.ask(session->inner.session, &inner, out, err);
    out->point = point;
    if (status != STATUS_OK)
        return status;
    memcpy(point, session->point, p * sizeof *point);
    if (ask->diagnostics != NULL)
        keep_diagnostics(&diagnostics, p, ask->diagnostics);
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    return is_initial(session) ? ask_initial(session, ask, out, err) : ask_model(session, ask, out, err);
}

/* --- the model --- */

static enum status predict_at(struct session *session, const struct prediction *wanted, double epoch, struct error *err)
{
    size_t            p = session->base.problem->space->params_len;
    struct arena_mark mark = arena_mark(&session->base.scratch);
    double           *extended = arena_alloc(&session->base.scratch, wanted->m, (p + 1) * sizeof *extended);
    if (extended == NULL)
        return error_no_memory(err);
    struct prediction inner = *wanted;
    inner.points = extended;
    for (size_t i = 0; i < wanted->m; i++) {
        memcpy(extended + i * (p + 1), wanted->points + i * p, p * sizeof *extended);
        extended[i * (p + 1) + p] = epoch;
    }
    struct diagnostics diagnostics = {.length_scales = session->lengths};
    inner.diagnostics = wanted->diagnostics == NULL ? NULL : &diagnostics;
    enum status status = policy_gp.predict(session->inner.session, &inner, err);
    if (status == STATUS_OK && wanted->diagnostics != NULL)
        keep_diagnostics(&diagnostics, p, wanted->diagnostics);
    arena_release(&session->base.scratch, mark);
    return status;
}

static enum status predict(struct session *session, const struct prediction *wanted, struct error *err)
{
    if (session->log.count[LOG_OBSERVED] == 0)
        return policy_no_values(err);
    return predict_at(session, wanted, (double)epochs_of(session->base.problem), err);
}

/* The residuals of the rows at the last epoch. */
static enum status residuals(struct session *session, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    size_t kept = 0;
    if (session->log.count[LOG_OBSERVED] == 0)
        return policy_no_values(err);
    TRY(policy_gp.residuals(session->inner.session, ask, arena, out, len, err));
    for (size_t i = 0; i < *len; i++) {
        if ((*out)[i].trial % ROW_NUMBERS != FINAL)
            continue;
        (*out)[kept] = (*out)[i];
        (*out)[kept++].trial /= ROW_NUMBERS;
    }
    *len = kept;
    return STATUS_OK;
}

/* --- judgement --- */

/* K1 100/gamma^t of the thesis, t counted from the first trial that can be stopped. */
static double loss_of_stopping(const struct session *session)
{
    const struct problem *problem = session->base.problem;
    double                t = (double)session->log.count[LOG_OBSERVED] - problem->options[INITIAL];
    return fmin(problem->options[K1] * pow(problem->options[GAMMA], -t), K1_MAX);
}

/* C2: allowed [last - first], by the model before it knew this trial.  Without a prediction none is allowed. */
static enum status allow_epochs(struct session *session, uint64_t trial, const struct stopping_rule *rule,
                                bool *allowed, struct error *err)
{
    size_t  p = session->base.problem->space->params_len, m = rule->last - rule->first + 1, at;
    double *points = arena_alloc(&session->base.scratch, m, (p + 1) * sizeof *points);
    double *mean = ARENA_NEW(&session->base.scratch, double, m), *sd = ARENA_NEW(&session->base.scratch, double, m);
    if (points == NULL || mean == NULL || sd == NULL)
        return error_no_memory(err);
    memset(allowed, 0, m * sizeof *allowed);
    if (!trial_log_find(&session->log, trial, &at))
        return STATUS_OK;
    for (size_t i = 0; i < m; i++) {
        memcpy(points + i * (p + 1), trial_log_point(&session->log, at), p * sizeof *points);
        points[i * (p + 1) + p] = (double)(rule->first + i);
    }
    const struct prediction wanted = {.points = points, .m = m, .mean = mean, .sd = sd};
    enum status             status = policy_gp.predict(session->inner.session, &wanted, err);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? status : STATUS_OK;
    for (size_t i = 0; i + 1 < m; i++)
        allowed[i] = sd[m - 1] <= session->base.problem->options[KAPPA] * sd[i];
    return STATUS_OK;
}

/* Solves the trial's stopping problem given its curve so far; the table is the verdict's note. */
static enum status solve(struct session *session, uint64_t trial, struct measured *seen, struct verdict *out,
                         struct error *err)
{
    const struct problem *problem = session->base.problem;
    struct stopping       stopping = stopping_recommended();
    struct stopping_rule  rule;
    bool                  allowed[STOPPING_EPOCHS_MAX];
    thin(seen, STOPPING_SEEN_MAX);
    set_curve(problem, seen, &stopping);
    stopping.incumbent = incumbent(session);
    stopping.k1 = loss_of_stopping(session);
    stopping.k2 = problem->options[K2];
    stopping.cost = problem->options[COST];
    stopping.paths = (size_t)problem->options[PATHS];
    stopping.rng = rng_at(problem->seed, trial, RNG_PATHS);
    TRY(stopping_solve(&stopping, &session->base.scratch, &session->base.scratch, &rule, err));
    TRY(allow_epochs(session, trial, &rule, allowed, err));
    out->note_bytes = stopping_table_write(&rule, allowed, out->note);
    return STATUS_OK;
}

/* The epoch after which a new rule is made: twice the number of epochs that this one was made from. */
static size_t renewal(const unsigned char *table)
{
    return 2 * (stopping_table_first(table) - 1);
}

static void decide(const unsigned char *table, const struct measured *measured, size_t epochs, struct verdict *out)
{
    size_t first = stopping_table_first(table), epoch = (size_t)measured->epochs[measured->len - 1];
    size_t next = stopping_table_next(table, epoch),
           renewed = (epoch < renewal(table) ? renewal(table) : epoch + 1) + 1;
    double mean = epoch < first ? NAN : stopping_mean(measured->epochs, measured->errors, measured->len, first);
    out->stop = stopping_table_stops(table, epoch, mean);
    out->reason = out->stop ? "will_not_improve" : "may_improve";
    next = renewed < epochs && (next == 0 || renewed < next) ? renewed : next;
    out->next_step = out->stop ? 0 : next;
}

static enum status judge_in_scratch(struct session *session, const struct measurement *measurement, struct verdict *out,
                                    struct error *err)
{
    const struct problem *problem = session->base.problem;
    size_t                epochs = epochs_of(problem), warm_up = (size_t)problem->options[WARM_UP];
    const struct slot    *slot = find_slot(session, measurement->trial);
    struct measured       measured;
    bool                  has_few = (double)session->log.count[LOG_OBSERVED] < problem->options[INITIAL];
    out->reason = measurement->step >= epochs ? "last_epoch" : measurement->step < warm_up ? "warm_up" : "few_trials";
    out->next_step = measurement->step < warm_up ? warm_up + 1 : measurement->step + 2;
    out->next_step = out->next_step < epochs ? out->next_step : 0;
    if (measurement->step >= epochs || (slot == NULL && (measurement->step < warm_up || has_few)))
        return STATUS_OK;
    TRY(measure(session, measurement->trial, measurement, &measured, err));
    if (slot != NULL)
        decide(slot->table, &measured, epochs, out);
    else
        out->reason = "unsolved"; /* for want of memory, or numerically: the next measurement tries again */
    if (out->stop || (slot != NULL && measurement->step < renewal(slot->table)))
        return STATUS_OK;
    if (solve(session, measurement->trial, &measured, out, err) == STATUS_OK)
        decide(out->note, &measured, epochs, out);
    return STATUS_OK;
}

static enum status judge(struct session *session, const struct measurement *measurement, struct verdict *out,
                         struct error *err)
{
    struct arena_mark mark = arena_mark(&session->base.scratch);
    out->stop = false;
    out->note_bytes = 0;
    enum status status = judge_in_scratch(session, measurement, out, err);
    arena_release(&session->base.scratch, mark);
    return status;
}

const struct policy policy_bo_bos = {
    .name = "bo-bos",
    .help = "Bayesian optimisation over parameters and training epochs that stops trials by Bayesian optimal stopping "
            "of their learning curves (BO-BOS)",
    .spaces = SPACE_PARAMETERS,
    .options = options,
    .check = check,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .kept_share = 4,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .judge = judge,
    .epochs = epochs_of,
};
