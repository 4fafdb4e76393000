/* Trust-region Bayesian optimisation, for many parameters (TuRBO-1: Eriksson, Pearce, Gardner, Turner & Poloczek 2019).
 * A Gaussian process sees the trials of the current run; the next point is the best of a joint posterior sample at
 * points of a box around the best one, with sides in proportion to the length-scales, of which only some coordinates
 * differ from it.  The box doubles after SUCCESSES improvements in a row, halves after as many failures in a row as
 * there are parameters, and when it is smaller than LENGTH_MIN a new run starts from nothing.
 * All of this is found again from the log at each proposal; the session keeps the log and nothing that matters. */
#include "engine/acq.h"
#include "engine/gp_insight.h"
#include "engine/gp_study.h"
#include "engine/sobol.h"

#include <math.h>
#include <string.h>

enum { SUCCESSES = 3, FAILURES_MIN = 4, CANDIDATES = 512, EVALUATIONS = 25, PERTURBED = 20 };
static const double LENGTH_START = 0.8, LENGTH_MIN = 0.0078125, LENGTH_MAX = 1.6, IMPROVEMENT = 1e-3;

enum { REPEAT };
static const struct option options[] = {
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

struct session {
    struct gp_study study;
};

static void close_session(struct session *session)
{
    gp_study_close((struct gp_study *)session);
}

static enum status open_session(const struct problem *problem, struct session **out, struct error *err)
{
    struct gp_study *study;
    enum status      status = gp_study_open(problem, sizeof **out, problem->options[REPEAT] == 1, &study, err);
    *out = (struct session *)study; /* which it starts with */
    return status;
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    return gp_study_tell(&session->study, event, err);
}

static size_t bytes(const struct session *session)
{
    return gp_study_bytes(&session->study);
}

/* --- the trust region --- */

struct region {
    double length, best;
    size_t successes, failures, finished; /* finished: trials of this run */
    size_t start;                         /* finished trials of the runs before */
};

static size_t initial_len(const struct space *space)
{
    return space->params_len < 10 ? 10 : space->params_len;
}

static void region_restart(struct region *region, size_t start)
{
    *region = (struct region){.length = LENGTH_START, .best = -HUGE_VAL, .start = start};
}

/* Takes in the next finished trial; an infeasible one is a failure. */
static void region_update(struct region *region, const struct space *space, const struct log_trial *trial)
{
    double value = trial->state == LOG_OBSERVED ? trial->value : -HUGE_VAL;
    size_t failures_max = space->params_len < FAILURES_MIN ? FAILURES_MIN : space->params_len;
    bool   is_better = value > region->best + IMPROVEMENT * fabs(region->best) || !isfinite(region->best);
    region->best = fmax(region->best, value);
    if (++region->finished <= initial_len(space))
        return;
    region->successes = is_better ? region->successes + 1 : 0;
    region->failures = is_better ? 0 : region->failures + 1;
    if (region->successes == SUCCESSES) {
        region->length = fmin(2.0 * region->length, LENGTH_MAX);
        region->successes = 0;
    } else if (region->failures == failures_max) {
        region->length /= 2.0;
        region->failures = 0;
    }
    if (region->length < LENGTH_MIN)
        region_restart(region, region->start + region->finished);
}

/* The region after the whole log, and a log of its run: the trials that finished since its start, and those that did
 * not finish. */
static enum status region_find(struct session *session, struct region *region, struct trial_log *run, struct error *err)
{
    const struct trial_log *log = &session->study.log;
    size_t n = trial_log_finished(log), *order = ARENA_NEW(&session->study.memory.scratch, size_t, n + 1);
    if (order == NULL)
        return error_no_memory(err);
    trial_log_order(log, order);
    region_restart(region, 0);
    for (size_t i = 0; i < n; i++)
        region_update(region, session->study.problem->space, &log->trials[order[i]]);
    trial_log_init(run, &session->study.memory.scratch, log->params_len);
    for (size_t i = 0; i < log->len; i++) {
        enum log_state state = log->trials[i].state;
        struct event   event = {.kind = state == LOG_PENDING ? EVENT_SUGGESTED : EVENT_FAILED,
                                .trial = log->trials[i].number,
                                .point = trial_log_point(log, i)};
        if (state == LOG_PENDING || state == LOG_FAILED)
            TRY(trial_log_tell(run, &event, err));
    }
    for (size_t i = region->start; i < n; i++) {
        const struct log_trial *trial = &log->trials[order[i]];
        struct event            event = {.kind = trial->state == LOG_OBSERVED ? EVENT_OBSERVED : EVENT_INFEASIBLE,
                                         .trial = trial->number,
                                         .point = trial_log_point(log, order[i]),
                                         .value = trial->value,
                                         .stddev = trial->stddev};
        TRY(trial_log_tell(run, &event, err));
    }
    return STATUS_OK;
}

/* --- the model --- */

static enum status model_make(struct session *session, struct gp_model *model, const struct ask *ask, double *theta,
                              struct error *err)
{
    const struct space *space = session->study.problem->space;
    struct gp_fit       fit = {.kind = KERNEL_MATERN52,
                               .dims = space->dims,
                               .groups = space->params_len,
                               .group_of = session->study.group_of,
                               .evaluations = EVALUATIONS,
                               .starts = FIT_DEFAULT,
                               .late = ask == NULL ? NULL : ask->late,
                               .late_arg = ask == NULL ? NULL : ask->late_arg};
    TRY(gp_model_rows(model, &session->study.memory.cache, 0, err));
    TRY(gp_model_fit(model, &fit, NULL, theta, err));
    return gp_model_condition(model, &fit, theta, ask != NULL, &session->study.memory.cache, err);
}

/* One point of the box: coordinates of the centre, some of which are replaced by those of a Sobol point v [params_len].
 * width [params_len]: sides of the box. */
static void candidate_point(const struct space *space, struct rng *rng, const double *centre, const double *width,
                            const double *v, double *u)
{
    double chance = fmin(1.0, (double)PERTURBED / (double)space->params_len);
    size_t always = rng_below(rng, space->params_len);
    for (size_t i = 0, j = 0; i < space->params_len; i++) {
        size_t values = param_width(&space->params[i]);
        bool   moves = rng_uniform(rng) < chance || i == always;
        double low = fmax(centre[j] - width[i] / 2.0, 0.0), high = fmin(centre[j] + width[i] / 2.0, 1.0);
        memcpy(u + j, centre + j, values * sizeof *u);
        if (moves && values == 1)
            u[j] = low + (high - low) * v[i];
        else if (moves && v[i] < width[i])
            for (size_t choice = rng_below(rng, values), c = 0; c < values; c++)
                u[j + c] = c == choice ? 1.0 : 0.0;
        j += values;
    }
}

/* Candidates of the box that are not used: points [m][params_len], U [m][dims]; returns how many. */
static size_t candidates_fill(struct session *session, uint64_t trial, const struct space *space, const double *centre,
                              const double *width, double *points, double *U, double *v)
{
    struct rng rng = rng_at(session->study.problem->seed, trial, RNG_STARTS);
    uint64_t   scramble = rng_u64(&rng);
    size_t     m = 0;
    for (size_t k = 0; k < CANDIDATES; k++) {
        double *point = points + m * space->params_len, *u = U + m * space->dims;
        sobol_point(scramble, k, space->params_len, v);
        candidate_point(space, &rng, centre, width, v, u);
        space_decode(space, u, point);
        space_encode(space, point, u);
        if (!finite_has(&session->study.used, point))
            m++;
    }
    return m;
}

/* Sides of the box: in proportion to the length-scales, with the volume of length^d. */
static void box_sides(size_t len, const double *theta, double length, double *width)
{
    double mean = 0.0;
    for (size_t i = 0; i < len; i++)
        mean += theta[i] / (double)len;
    for (size_t i = 0; i < len; i++)
        width[i] = length * exp(theta[i] - mean);
}

/* What a proposal is made from. */
struct situation {
    const struct ask *ask;
    struct space      view; /* the space with what the ask holds */
    struct region     region;
    struct trial_log  run;
};

static enum status propose(struct session *session, const struct situation *now, struct proposal *out,
                           struct error *err)
{
    const struct space *space = &now->view;
    struct arena       *scratch = &session->study.memory.scratch;
    size_t              len = space->params_len, dims = space->dims;
    double             *theta = ARENA_NEW(scratch, double, 3 * len + HYPER + dims);
    double             *points = arena_alloc(scratch, CANDIDATES, len * sizeof *points);
    double             *U = arena_alloc(scratch, CANDIDATES, dims * sizeof *U);
    double             *sample = ARENA_NEW(scratch, double, CANDIDATES), mean, var;
    struct rng          rng = rng_at(session->study.problem->seed, now->ask->trial, RNG_THOMPSON);
    struct gp_model     model = {.space = space, .log = &now->run, .scratch = scratch};
    if (theta == NULL || points == NULL || U == NULL || sample == NULL)
        return error_no_memory(err);
    double *width = theta + len + HYPER, *v = width + len, *centre = v + len;
    double  began = ask_clock_ms(now->ask);
    TRY(model_make(session, &model, now->ask, theta, err));
    double fit_ms = ask_clock_ms(now->ask) - began;
    box_sides(len, theta, now->region.length, width);
    space_encode(space, trial_log_point(&now->run, model.anchors.place[0]), centre);
    size_t m = candidates_fill(session, now->ask->trial, space, centre, width, points, U, v), best = 0;
    if (m == 0)
        return error_set(err, STATUS_NUMERIC, "no_candidates", "", "every point of the trust region has been used");
    TRY(acq_thompson(model.gp, U, m, &rng, sample, scratch, err));
    for (size_t k = 1; k < m; k++)
        best = sample[k] > sample[best] ? k : best;
    TRY(gp_study_describe(&model, U + best * dims, out, &mean, &var, err));
    memcpy(out->point, points + best * len, len * sizeof *out->point);
    struct diagnostics *diagnostics = now->ask->diagnostics;
    if (diagnostics != NULL) {
        gp_insight_diagnose(&model, session->study.group_of, diagnostics);
        diagnostics->fit_milliseconds = fit_ms;
        diagnostics->acquisition = acq_names[ACQ_THOMPSON];
        diagnostics->acquisition_value = mean;
    }
    return STATUS_OK;
}

/* --- the record --- */

static enum status ask_scratch(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct situation now = {.ask = ask};
    TRY(space_hold(session->study.problem->space, ask->fixed, &session->study.memory.scratch, &now.view, err));
    TRY(gp_study_quasi_random(&session->study, ask, &now.view, out->point, err));
    if (ask->late != NULL && ask->late(ask->late_arg)) {
        out->fallback = "deadline";
        return STATUS_OK;
    }
    enum status status = region_find(session, &now.region, &now.run, err);
    size_t      tried = now.region.finished + session->study.log.count[LOG_PENDING];
    if (status == STATUS_OK && (now.run.count[LOG_OBSERVED] == 0 || tried < initial_len(session->study.problem->space)))
        return STATUS_OK;
    if (status == STATUS_OK)
        status = propose(session, &now, out, err);
    out->fallback = status == STATUS_OK ? NULL : status == STATUS_NO_MEMORY ? "memory" : "numerical";
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    proposal_clear(out);
    gp_study_begin(&session->study);
    enum status status = ask_scratch(session, ask, out, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* The model of the current run, or of all trials while that has no value; gp_memory_end in every case. */
static enum status begin_model(struct session *session, struct trial_log *run, struct gp_model *model,
                               struct error *err)
{
    const struct space *space = session->study.problem->space;
    struct arena       *scratch = &session->study.memory.scratch;
    struct region       region;
    TRY(gp_study_has_values(&session->study, err));
    gp_study_begin(&session->study);
    double *theta = ARENA_NEW(scratch, double, space->params_len + HYPER);
    if (theta == NULL)
        return error_no_memory(err);
    TRY(region_find(session, &region, run, err));
    *model = (struct gp_model){.space = space, .scratch = scratch};
    model->log = run->count[LOG_OBSERVED] > 0 ? run : &session->study.log;
    return model_make(session, model, NULL, theta, err);
}

static enum status predict(struct session *session, const double *points, const size_t *rows, size_t m, double *mean,
                           double *sd, struct error *err)
{
    struct trial_log run;
    struct gp_model  model;
    (void)rows;
    enum status status = begin_model(session, &run, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_predict(&model, points, m, mean, sd, err);
    gp_memory_end(&session->study.memory);
    return status;
}

static enum status residuals(struct session *session, struct arena *arena, struct residual **out, size_t *len,
                             struct error *err)
{
    struct trial_log run;
    struct gp_model  model;
    enum status      status = begin_model(session, &run, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_residuals(&model, arena, out, len, err);
    gp_memory_end(&session->study.memory);
    return status;
}

const struct policy policy_turbo = {
    .name = "turbo",
    .help =
        "trust-region Bayesian optimisation, for 20 parameters and more: a Gaussian process and Thompson samples in a "
        "box around the best point that grows with success, shrinks with failure and starts anew when it is small",
    .spaces = SPACE_PARAMETERS,
    .options = options,
    .open = open_session,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .bytes = bytes,
    .close = close_session,
};
