/* Federated Thompson sampling at an agent, without and with distributed exploration: fts.h says what it does.
 * The session keeps the log, the last recorded fit, the shared features, and what was received: of fts one vector per
 * sender, of dp-fts-de the last broadcast.  What has been received is numbered as it comes (serial, from 1); a proposal
 * that maximises one of them names its serial in its note, and once suggested that one is used up.  The agent's own
 * posterior is a gp_single, and so is its note.  So all is a function of (problem, log, trial). */
#include "engine/space/region.h"
#include "engine/federated/fts.h"
#include "engine/federated/fts_inbox.h"
#include "engine/surrogate/gp_insight.h"
#include "engine/bo/gp_single.h"
#include "engine/math/mat.h"
#include "engine/policy/policy.h"
#include "engine/acquisition/rff_search.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

/* ---- options ---- */

enum { FEATURES, SEED, LENGTH_SCALE, NOISE, CENTRE, SPREAD, SCHEDULE, REPEAT, INITIAL, REGIONS, REGION };

#define SHARED_OPTIONS                                                                                                \
    [FEATURES] = OPTION_INTEGER("features", FTS_FEATURES_MIN, FTS_FEATURES_MAX, 100,                                  \
                                "number of random features that all agents share, and of numbers in a message"),      \
    [SEED] = OPTION_INTEGER("features_seed", 0, 9007199254740991.0, 0,                                                \
                            "seed of the shared features, the same for all agents"),                                  \
    [LENGTH_SCALE] =                                                                                                  \
        OPTION_NUMBER("length_scale", 1e-3, 10, 0.1, "of the shared features, in the unit cube of the parameters"),   \
    [NOISE] = OPTION_NUMBER("noise", 1e-6, 1, 0.01, "variance of the noise in messages, in units of spread squared"), \
    [CENTRE] =                                                                                                        \
        OPTION_NUMBER("centre", -1e100, 1e100, 0, "public: a value enters a message as (value - centre) / spread"),   \
    [SPREAD] = OPTION_NUMBER("spread", 1e-100, 1e100, 1, "public: see centre"),                                       \
    [SCHEDULE] =                                                                                                      \
        {.name = "schedule",                                                                                          \
         .kind = OPTION_CHOICE,                                                                                       \
         .max = 2,                                                                                                    \
         .choices = fts_schedules,                                                                                    \
         .help =                                                                                                      \
             "probability of a draw from the agent's own model at iteration t: 1 - 1/sqrt(t), 1 - 1/t or 1 - 1/t^2"}, \
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP}

static const struct option fts_options[] = {
    SHARED_OPTIONS,
    [INITIAL] = OPTION_INTEGER("initial", 1, 10000, 5,
                               "quasi-random trials before the first iteration; at least until one has a value"),
    {.name = NULL},
};

static const struct option dp_options[] = {
    SHARED_OPTIONS,
    [INITIAL] = OPTION_INTEGER(
        "initial", 1, 10000, 10,
        "quasi-random trials in the agent's region before the first iteration; at least until one has a value"),
    [REGIONS] = OPTION_INTEGER("regions", 1, REGIONS_MAX, 1, "boxes of equal volume into which the space is cut"),
    [REGION] = OPTION_INTEGER("region", 0, REGIONS_MAX - 1, 0, "region of this agent's initial trials, from 0"),
    {.name = NULL},
};

enum { OWN_FEATURES = 100, OWN_SAMPLES = 600, RECEIVED_SAMPLES = 2000 };
static const double NOISE_MIN = 1e-5; /* of the own posterior: below it the features' error dominates anyway */

extern const struct policy policy_dp_fts_de; /* below */

struct session {
    struct gp_study  study;
    struct gp_single single;
    bool             is_broadcast; /* dp-fts-de */
    struct rff       shared;
    struct regions   regions;
    struct fts_inbox inbox;
};

static enum status check_dp(const struct problem *problem, struct error *err)
{
    struct arena   arena;
    struct regions regions;
    double         count = problem->options[REGIONS];
    arena_init(&arena, 1 << 16);
    enum status status = regions_init(&regions, problem->space, (size_t)count, &arena, err);
    arena_fini(&arena);
    if (status != STATUS_OK && err != NULL)
        memcpy(err->path, "/algorithm/regions", sizeof "/algorithm/regions");
    if (status == STATUS_OK && problem->options[REGION] >= count)
        return error_set(err, STATUS_INVALID, "bad_region", "/algorithm/region", "there is no region with this number");
    return status;
}

/* --- the session --- */

static enum status begin(struct session *session, struct error *err)
{
    const struct problem *problem = session->study.base.problem;
    struct arena         *kept = &session->study.base.kept;
    session->is_broadcast = session->study.base.policy == &policy_dp_fts_de;
    size_t regions = session->is_broadcast ? (size_t)problem->options[REGIONS] : 1;
    TRY(gp_study_init(&session->study, problem->options[REPEAT] == 1, err));
    TRY(gp_single_open(&session->study, &kernel_se, "fts own", &session->single, err));
    session->single.is_robust = true;
    TRY(regions_init(&session->regions, problem->space, regions, kept, err));
    fts_inbox_init(&session->inbox, kept, regions * (size_t)problem->options[FEATURES], session->is_broadcast);
    const struct fts_shared shared = {.count = (size_t)problem->options[FEATURES],
                                      .seed = (uint64_t)problem->options[SEED],
                                      .length_scale = problem->options[LENGTH_SCALE]};
    return fts_features(&shared, problem->space, kept, &session->shared, err);
}

/* --- notes --- */

/* The note of a proposal that maximises a received message. */
struct note {
    char     tag[8];
    uint64_t serial;
};
static const char NOTE_TAG[8] = "fts 1";

static void note_write(uint64_t serial, struct proposal *out)
{
    struct note note = {.serial = serial};
    memcpy(note.tag, NOTE_TAG, sizeof note.tag);
    memcpy(out->note, &note, sizeof note);
    out->note_bytes = sizeof note;
}

/* Anything but a sound note is passed over. */
static void note_read(struct session *session, const struct event *event)
{
    struct note note;
    gp_single_tell(&session->single, event);
    if (event->note == NULL || event->note_bytes != sizeof note)
        return;
    memcpy(&note, event->note, sizeof note);
    if (memcmp(note.tag, NOTE_TAG, sizeof note.tag) == 0)
        fts_inbox_use(&session->inbox, note.serial);
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    if (event->kind == EVENT_RECEIVED)
        return fts_inbox_put(&session->inbox, event, err);
    TRY(gp_study_tell(&session->study, event, err));
    if (event->kind == EVENT_SUGGESTED)
        note_read(session, event);
    return STATUS_OK;
}

/* --- maximising a function of features --- */

static struct acq_search search_of(const struct session *session, const struct ask *ask, const struct space *view,
                                   size_t samples)
{
    size_t most = 400000 / (session->shared.count + view->dims);
    return (struct acq_search){
        .space = view,
        .used = &session->study.used,
        .seed = session->study.base.problem->seed,
        .trial = ask->trial,
        .samples = most < samples ? most : samples,
        .late = ask->late,
        .late_arg = ask->late_arg,
    };
}

static enum status propose_received(struct session *session, const struct ask *ask, const struct space *view,
                                    const struct fts_received *received, struct proposal *out, struct error *err)
{
    double           *point = ARENA_NEW(&session->study.memory.scratch, double, view->params_len);
    struct acq_search search = search_of(session, ask, view, RECEIVED_SAMPLES);
    struct rff_search function = {.space = session->study.base.problem->space,
                                  .rff = &session->shared,
                                  .regions = &session->regions,
                                  .omega = received->vectors};
    if (point == NULL)
        return error_no_memory(err);
    TRY(trial_log_pending(&session->study.log, &session->study.memory.scratch, &search.pending, &search.pending_len,
                          err));
    enum status status = rff_search_run(&function, &search, point, &session->study.memory.scratch, err);
    if (status == STATUS_OK)
        memcpy(out->point, point, view->params_len * sizeof *point);
    if (status == STATUS_OK || status == STATUS_NUMERIC) /* a message that is no function is used up too */
        note_write(received->serial, out);
    return status;
}

/* --- the agent's own posterior --- */

/* Fresh features and one draw of omega given the model's values; a row that is noisier than others counts for less. */
static enum status draw_own(struct session *session, const struct ask *ask, const struct gp_model *model,
                            struct rff *rff, double **omega, struct error *err)
{
    struct arena        *scratch = &session->study.memory.scratch;
    struct rng           rng = rng_at(session->study.base.problem->seed, ask->trial, RNG_THOMPSON);
    struct rff_posterior posterior;
    double               noise = fmax(model->gp->noise_variance, NOISE_MIN);
    *omega = ARENA_NEW(scratch, double, OWN_FEATURES);
    double *phi = arena_alloc(scratch, model->n, OWN_FEATURES * sizeof *phi), *z = ARENA_NEW(scratch, double, model->n);
    if (*omega == NULL || phi == NULL || z == NULL)
        return error_no_memory(err);
    TRY(rff_draw(rff, &model->gp->kernel, OWN_FEATURES, &rng, scratch, err));
    rff_features(rff, model->X, model->n, phi);
    for (size_t k = 0; k < model->n; k++) {
        double weight = sqrt(noise / (noise + model->warped_noise[k]));
        z[k] = weight * model->z[k];
        for (size_t i = 0; i < OWN_FEATURES; i++)
            phi[k * OWN_FEATURES + i] *= weight;
    }
    const struct rff_data given = {.n = model->n, .count = OWN_FEATURES, .phi = phi, .y = z, .noise = noise};
    TRY(rff_condition(&posterior, &given, scratch, err));
    rff_sample(&posterior, &rng, *omega);
    return STATUS_OK;
}

static enum status anchors_of(struct session *session, const struct gp_model *model, double **anchors,
                              struct error *err)
{
    size_t len = session->study.log.params_len;
    *anchors = arena_alloc(&session->study.memory.scratch, MODEL_ANCHORS, len * sizeof **anchors);
    if (*anchors == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < model->anchors.len; k++)
        memcpy(*anchors + k * len, trial_log_point(&session->study.log, model->anchors.place[k]),
               len * sizeof **anchors);
    return STATUS_OK;
}

static enum status propose_own(struct session *session, const struct ask *ask, const struct space *view,
                               struct proposal *out, struct error *err)
{
    struct arena     *scratch = &session->study.memory.scratch;
    size_t            len = session->study.log.params_len;
    struct gp_model   model;
    struct gp_choice  choice;
    struct rff        rff;
    struct rff_search function = {.space = session->study.base.problem->space, .rff = &rff};
    struct acq_search search = search_of(session, ask, view, OWN_SAMPLES);
    double           *point = ARENA_NEW(scratch, double, len), *u = ARENA_NEW(scratch, double, view->dims);
    double           *anchors, *omega;
    if (point == NULL || u == NULL)
        return error_no_memory(err);
    TRY(gp_single_model(&session->single, ask, NULL, &model, &choice, err));
    TRY(anchors_of(session, &model, &anchors, err));
    TRY(draw_own(session, ask, &model, &rff, &omega, err));
    function.omega = omega;
    search.anchors = anchors;
    search.anchors_len = model.anchors.len;
    TRY(trial_log_pending(&session->study.log, scratch, &search.pending, &search.pending_len, err));
    TRY(rff_search_run(&function, &search, point, scratch, err));
    space_encode(model.space, point, u);
    TRY(gp_study_describe(&model, u, out, err));
    memcpy(out->point, point, len * sizeof *point);
    if (ask->diagnostics != NULL) {
        gp_insight_diagnose(&model, ask->diagnostics);
        ask->diagnostics->acquisition = "thompson";
        ask->diagnostics->acquisition_value = rff_search_value(&function, u, NULL);
        ask->diagnostics->fit_ms = choice.fit_ms;
    }
    gp_single_note(&session->single, &choice, out);
    return STATUS_OK;
}

/* --- proposals --- */

static bool is_initial(const struct session *session)
{
    return session->study.log.count[LOG_OBSERVED] == 0 ||
           (double)trial_log_tried(&session->study.log) < session->study.base.problem->options[INITIAL];
}

/* Point number trial of the study's Sobol sequence, in the agent's region at first, or the next that is not used. */
static bool quasi_random_point(const struct session *session, const struct ask *ask, const struct space *view,
                               double *point)
{
    sobol_point(session->study.base.problem->seed, ask->trial, view->params_len, session->study.unit);
    if (session->is_broadcast && is_initial(session))
        regions_squeeze(&session->regions, (size_t)session->study.base.problem->options[REGION], session->study.unit);
    (void)(session->regions.count > 1 ? space_quantile : space_prior_quantile)(view, session->study.unit, point);
    return used_points_find(&session->study.used, view, point);
}

/* Chooses the function that this iteration maximises: a received message, or NULL for the agent's own draw. */
static const struct fts_received *choose(const struct session *session, const struct ask *ask)
{
    struct rng        rng = rng_at(session->study.base.problem->seed, ask->trial, RNG_AGENT);
    enum fts_schedule schedule = (enum fts_schedule)session->study.base.problem->options[SCHEDULE];
    double            t =
        fmax((double)trial_log_tried(&session->study.log) - session->study.base.problem->options[INITIAL], 0.0) + 1.0;
    if (rng_uniform(&rng) < fts_own_probability(schedule, !session->is_broadcast, (uint64_t)t))
        return NULL;
    return fts_inbox_pick(&session->inbox, &rng);
}

static enum status propose(struct session *session, const struct ask *ask, const struct space *view,
                           struct proposal *out, struct error *err)
{
    const struct fts_received *received = choose(session, ask);
    gp_study_begin(&session->study);
    enum status status = received == NULL ? propose_own(session, ask, view, out, err)
                                          : propose_received(session, ask, view, received, out, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* view: the space with what the ask holds. */
static enum status ask_point(struct session *session, const struct ask *ask, const struct space *view,
                             struct proposal *out, struct error *err)
{
    if (!quasi_random_point(session, ask, view, out->point))
        return used_points_exhausted(err);
    if (is_initial(session))
        return STATUS_OK;
    out->fallback = "deadline";
    if (ask_is_late(ask))
        return STATUS_OK;
    enum status status = propose(session, ask, view, out, err);
    out->fallback = proposal_fallback(status);
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space      view;
    struct arena_mark mark = arena_mark(&session->study.base.kept);
    proposal_clear(out);
    TRY(space_hold(session->study.base.problem->space, ask->fixed, &session->study.base.kept, &view, err));
    enum status status = ask_point(session, ask, &view, out, err);
    arena_release(&session->study.base.kept, mark);
    return status;
}

/* --- messages --- */

/* Every observed trial: U [n][dims], y [n]. */
static void collect(const struct session *session, double *U, double *y)
{
    const struct space *space = session->study.base.problem->space;
    double sign = session->study.base.problem->is_minimized ? -1 : 1; // the centre is in the metric's own units
    double centre = sign * session->study.base.problem->options[CENTRE],
           spread = session->study.base.problem->options[SPREAD];
    size_t n = 0;
    for (size_t i = 0; i < session->study.log.len; i++) {
        if (session->study.log.trials[i].state != LOG_OBSERVED)
            continue;
        space_encode(space, trial_log_point(&session->study.log, i), U + n * space->dims);
        y[n++] = (session->study.log.trials[i].value - centre) / spread;
    }
}

static enum status make_message(struct session *session, uint64_t round, double *vector, struct error *err)
{
    struct arena        *scratch = &session->study.memory.scratch;
    size_t               n = session->study.log.count[LOG_OBSERVED], count = session->shared.count;
    double              *U = arena_alloc(scratch, n, session->study.base.problem->space->dims * sizeof *U);
    double              *y = ARENA_NEW(scratch, double, n), *phi = arena_alloc(scratch, n, count * sizeof *phi);
    struct rng           rng = rng_at(session->study.base.problem->seed, round, RNG_MESSAGE);
    struct rff_posterior posterior;
    if (U == NULL || y == NULL || phi == NULL)
        return error_no_memory(err);
    collect(session, U, y);
    rff_features(&session->shared, U, n, phi);
    const struct rff_data given = {
        .n = n, .count = count, .phi = phi, .y = y, .noise = session->study.base.problem->options[NOISE]};
    TRY(rff_condition(&posterior, &given, scratch, err));
    rff_sample(&posterior, &rng, vector);
    if (!mat_is_finite(vector, count))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the message is not finite");
    return STATUS_OK;
}

static enum status message(struct session *session, uint64_t round, double *vector, struct error *err)
{
    TRY(gp_study_has_values(&session->study, err));
    gp_study_begin(&session->study);
    enum status status = make_message(session, round, vector, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* --- what the agent's own model says --- */

/* gp_memory_end in every case. */
static enum status begin_model(struct session *session, struct gp_model *model, struct error *err)
{
    struct gp_choice choice;
    TRY(gp_study_has_values(&session->study, err));
    gp_study_begin(&session->study);
    return gp_single_model(&session->single, NULL, NULL, model, &choice, err);
}

static enum status predict(struct session *session, const struct prediction *wanted, struct error *err)
{
    struct gp_model model;
    enum status     status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_predict(&model, wanted, err);
    gp_memory_end(&session->study.memory);
    return status;
}

static enum status residuals(struct session *session, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    struct gp_model model;
    enum status     status = begin_model(session, &model, err);
    if (status == STATUS_OK)
        status = gp_insight_residuals(&model, ask, arena, out, len, err);
    gp_memory_end(&session->study.memory);
    return status;
}

/* Members that both records have in common. */
#define IN_COMMON                                                                                                    \
    .spaces = SPACE_PARAMETERS, .session_bytes = sizeof(struct session), .begin = begin, .tell = tell,               \
    .ask = ask_next, .predict = predict, .residuals = residuals, .message = message, .bytes_beside = gp_study_bytes, \
    .end = gp_study_end

const struct policy policy_fts = {
    .name = "fts",
    .help =
        "federated Thompson sampling: at times the maximum of another agent's function in place of a draw of its own; "
        "for agents of a federation",
    .options = fts_options,
    IN_COMMON,
};

const struct policy policy_dp_fts_de = {
    .name = "dp-fts-de",
    .help =
        "federated Thompson sampling with distributed exploration: at times the maximum of the server's noisy average "
        "of the agents' functions in place of a draw of its own; for agents of a federation",
    .options = dp_options,
    .check = check_dp,
    IN_COMMON,
};
