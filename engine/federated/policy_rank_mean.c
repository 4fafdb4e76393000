/* The member's algorithm in a rank-mean federation: rank_mean.h says what it does.  The session keeps a `gp` session of
 * its own, which is told every event but the release, the log, the public functions and the release. */
#include "engine/acquisition/acq.h"
#include "engine/acquisition/acq_search.h"
#include "engine/bo/policy_gp.h"
#include "engine/federated/fts_inbox.h"
#include "engine/federated/rank_model.h"
#include "engine/gp/gp_loo.h"
#include "engine/policy/trial_log.h"
#include "engine/policy/session.h"

#include <math.h>

enum { FEATURES, INITIAL, GUIDED, RELEASE_SD, ACCEPT_NOISE, REPEAT };
static const double DOUBT = 2; /* standard deviations that are taken off a mean before it is ranked */
enum { SAMPLES = 2000 };
enum { OWN_SHARE = 8 }; /* of the memory: the rest is gp's */

static const struct option options[] = {
    [FEATURES] =
        OPTION_INTEGER("features", 1, RANK_FEATURES_MAX, 20, "number of public functions, and of numbers in a message"),
    [INITIAL] = OPTION_INTEGER("initial", 1, 10000, 20,
                               "trials of a member before it sends what it knows; at least until one has a value"),
    [GUIDED] = OPTION_INTEGER("guided", 0, 100, 5,
                              "so many trials after the release came may follow it; the others are those of gp"),
    [RELEASE_SD] = OPTION_NUMBER("release_sd", 0, 1e6, 0,
                                 "standard deviation of the noise in each number of the release; it follows from the "
                                 "federation"),
    [ACCEPT_NOISE] =
        {.name = "accept_noise",
         .kind = OPTION_BOOL,
         .max = 1,
         .help = "make the federation although it is likelier to hurt than to help: so few members or so small "
                 "an epsilon"},
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

struct session {
    struct session_base  base;
    struct space         space; /* the problem's, held nowhere */
    struct trial_log     log;
    struct used_points   used;
    struct fts_inbox     inbox;
    struct rank_basis    basis;
    double               mean[RANK_FEATURES_MAX]; /* of the prior, from the release */
    bool                 is_useful;               /* there is a release, and it is more than noise */
    size_t               before;                  /* trials that were there when it came */
    struct session_inner gp;
};

/* --- the session --- */

static enum status begin(struct session *s, struct error *err)
{
    const struct problem *problem = s->base.problem;
    TRY(space_hold(problem->space, NULL, &s->base.kept, &s->space, err));
    TRY(rank_basis_init(&s->basis, &s->space, (size_t)problem->options[FEATURES], &s->base.kept, err));
    trial_log_init(&s->log, &s->base.kept, problem->space->params_len);
    used_points_init(&s->used, &s->base.kept, problem->space, problem->options[REPEAT] == 1);
    fts_inbox_init(&s->inbox, &s->base.kept, s->basis.count, true);
    session_inner_init(&s->gp, &policy_gp, problem, problem->options[REPEAT]);
    s->gp.problem.memory_bytes -= problem->memory_bytes / OWN_SHARE;
    return session_open_inner(&s->base, &policy_gp, &s->gp.problem, &s->gp.session, err);
}

/* The trials that follow the release count among gp's first points, and do not stand for all of them: those that are left are
 * what brings back a reader whom the release has led astray. */
static enum status receive(struct session *s, const struct event *event, struct error *err)
{
    TRY(fts_inbox_put(&s->inbox, event, err));
    s->before = trial_log_tried(&s->log);
    s->is_useful = rank_shrink(&s->basis, s->inbox.received->vectors, s->base.problem->options[RELEASE_SD], s->mean);
    return STATUS_OK;
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    if (event->kind == EVENT_RECEIVED)
        return receive(s, event, err);
    TRY(trial_log_tell(&s->log, event, err));
    TRY(policy_use_point(&s->used, event, err));
    return policy_gp.tell(s->gp.session, event, err);
}

/* --- proposals --- */

/* The values and the waiting points of the log. */
static enum status collect(const struct session *s, struct rank_data *data, struct value_scale *scale,
                           struct arena *scratch, struct error *err)
{
    const struct trial_log *log = &s->log;
    size_t                  dims = s->space.dims, rows = log->count[LOG_OBSERVED] + log->count[LOG_PENDING];
    double *U = arena_alloc(scratch, rows + 1, dims * sizeof *U), *y = ARENA_NEW(scratch, double, rows + 1);
    if (U == NULL || y == NULL)
        return error_no_memory(err);
    *data = (struct rank_data){.n = log->count[LOG_OBSERVED], .pending = log->count[LOG_PENDING], .U = U, .y = y};
    double *observed = U, *pending = U + data->n * dims, *value = y;
    for (size_t i = 0; i < log->len; i++) {
        bool is_value = log->trials[i].state == LOG_OBSERVED;
        if (!is_value && log->trials[i].state != LOG_PENDING)
            continue;
        space_encode(&s->space, trial_log_point(log, i), is_value ? observed : pending);
        *(is_value ? &observed : &pending) += dims;
        if (is_value)
            *value++ = log->trials[i].value;
    }
    *scale = values_standardise(y, data->n);
    return STATUS_OK;
}

/* The logarithm of the expected improvement; before the first value the mean and, far from what waits, a deviation more. */
static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    const struct rank_model *model = arg;
    const struct acq         acq = {.kind = ACQ_LOG_EI, .best = model->best};
    double                   mean, variance, dmean, dsd;
    (void)err;
    for (size_t k = 0; k < m; k++) {
        rank_model_at(model, U + k * model->basis->space->dims, &mean, &variance);
        out[k] = model->data->n == 0 ? mean + sqrt(variance) : acq_value(&acq, mean, acq_sd(variance), &dmean, &dsd);
    }
    return STATUS_OK;
}

static double in_units(const struct value_scale *scale, double y)
{
    return fmin(fmax((y * scale->spread + scale->centre) * scale->unit, -1e308), 1e308);
}

/* In the units of standardised values. */
static void diagnose(const struct session *s, struct rank_model *model, const double *u, struct diagnostics *out)
{
    double square = model->u * model->u;
    out->kernel = kernel_matern52.name;
    out->signal_variance = model->rho / square;
    out->noise_variance = RANK_NOISE / square;
    out->jitter = model->jitter / square;
    out->condition = gp_loo_condition(model->L, model->data->n, model->data->n + model->data->pending);
    out->fit_ms = (double)NAN;
    out->acquisition = acq_names[ACQ_LOG_EI];
    (void)scores(model, u, 1, &out->acquisition_value, NULL);
    for (size_t i = 0, j = 0; i < s->space.params_len; j += param_width(&s->space.params[i++]))
        out->length_scales[i] = model->length_scales[j];
}

static void describe(const struct rank_model *model, const struct value_scale *scale, const double *u,
                     struct proposal *out)
{
    double mean, variance, unit = scale->spread * scale->unit / model->u;
    rank_model_at(model, u, &mean, &variance);
    out->observations = model->data->n;
    out->mean = in_units(scale, mean / model->u);
    out->sd = fmin(sqrt(variance) * unit, 1e308);
    out->sd_observed = fmin(sqrt(variance + RANK_NOISE) * unit, 1e308);
}

static enum status search(const struct session *s, const struct ask *ask, struct rank_model *model,
                          struct proposal *out, struct arena *scratch, struct error *err)
{
    struct space      view;
    size_t            best = trial_log_best(&s->log);
    struct acq_search found = {.space = &view,
                               .used = &s->used,
                               .anchors = best < s->log.len ? trial_log_point(&s->log, best) : NULL,
                               .anchors_len = best < s->log.len,
                               .seed = s->base.problem->seed,
                               .trial = ask->trial,
                               .samples = SAMPLES,
                               .late = ask->late,
                               .late_arg = ask->late_arg,
                               .scores = scores,
                               .arg = model};
    TRY(space_hold(s->base.problem->space, ask->fixed, scratch, &view, err));
    TRY(trial_log_pending(&s->log, scratch, &found.pending, &found.pending_len, err));
    return acq_search_run(&found, out->point, scratch, err);
}

/* use->is_followed: the proposal is made, by a model that the values so far speak for. */
static enum status guide(const struct session *s, const struct ask *ask, struct proposal *out, struct release_use *use,
                         struct arena *scratch, struct error *err)
{
    double            *u = ARENA_NEW(scratch, double, s->space.dims);
    struct rank_data   data;
    struct rank_model  model = {.basis = &s->basis, .mean = s->mean, .data = &data};
    struct value_scale scale;
    if (u == NULL)
        return error_no_memory(err);
    TRY(collect(s, &data, &scale, scratch, err));
    TRY(rank_model_fit(&model, scratch, err));
    if (model.is_guided)
        TRY(search(s, ask, &model, out, scratch, err));
    *use = (struct release_use){.is_followed = model.is_guided, .weight = model.weight};
    if (!model.is_guided || data.n == 0)
        return STATUS_OK;
    space_encode(&s->space, out->point, u);
    describe(&model, &scale, u, out);
    if (ask->diagnostics != NULL)
        diagnose(s, &model, u, ask->diagnostics);
    return STATUS_OK;
}

/* The release guides the trials after it, as long as its model is quickly made. */
static bool is_guiding(const struct session *s)
{
    const size_t *count = s->log.count;
    return s->is_useful && (double)trial_log_tried(&s->log) < (double)s->before + s->base.problem->options[GUIDED] &&
           count[LOG_OBSERVED] + count[LOG_PENDING] <= RANK_ROWS_MAX;
}

/* Whatever keeps the model from a proposal, gp makes one. */
static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct arena       scratch;
    enum status        status = STATUS_OK;
    struct release_use use = {.weight = 0};
    proposal_clear(out);
    if (is_guiding(s) && !ask_is_late(ask)) {
        arena_init(&scratch, s->base.problem->memory_bytes / OWN_SHARE);
        (void)guide(s, ask, out, &use, &scratch, NULL);
        arena_fini(&scratch);
    }
    if (!use.is_followed)
        status = policy_gp.ask(s->gp.session, ask, out, err);
    if (ask->diagnostics != NULL)
        ask->diagnostics->release = use;
    return status;
}

/* --- what is sent --- */

/* Ranks what is surely good: where nothing was tried the mean is that of all values, which is more than many a place that was
 * tried and is poor, and a member that kept to the good ones would send the way to all others. */
static enum status message(struct session *s, uint64_t round, double *vector, struct error *err)
{
    double            mean[RANK_CANDIDATES], sd[RANK_CANDIDATES], scored[RANK_CANDIDATES];
    struct prediction wanted = {.points = s->basis.points, .m = RANK_CANDIDATES, .mean = mean, .sd = sd};
    (void)round;
    TRY(policy_gp.predict(s->gp.session, &wanted, err));
    for (size_t c = 0; c < RANK_CANDIDATES; c++)
        mean[c] -= DOUBT * sd[c];
    rank_scores(mean, scored);
    rank_message(&s->basis, scored, vector);
    return STATUS_OK;
}

/* --- what gp's model says --- */

static enum status predict(struct session *s, const struct prediction *wanted, struct error *err)
{
    return policy_gp.predict(s->gp.session, wanted, err);
}

static enum status residuals(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    return policy_gp.residuals(s->gp.session, ask, arena, out, len, err);
}

static enum status gain(struct session *s, const struct ask *ask, struct gain *out, struct error *err)
{
    return policy_gp.gain(s->gp.session, ask, out, err);
}

const struct policy policy_rank_mean = {
    .name = "rank-mean",
    .help = "gp, some of whose trials follow what all members of a federation found together, released once with "
            "noise; for "
            "members of a federation",
    .spaces = SPACE_PARAMETERS,
    .looks_near = true,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .kept_share = OWN_SHARE,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .gain = gain,
    .message = message,
};
