/* linear-ts: linear Thompson sampling (Agrawal & Goyal 2013) over images, with a Gaussian process over the pixels as
 * the prior.  The value is modelled as y = w' x + b + noise, which is exact for no classifier, but within a small
 * bound nearly so, and the weights of pixels that lie close together as alike.  A proposal draws w from its posterior,
 * with deviations from the mean that are `exploration` times as large, and is the corner where w' x is largest: bound
 * sign(w). The first proposals are corners of draws from the prior: patches of the prior's length.  All of it is
 * computed anew from the log at each proposal, so there are no notes. */
#include "engine/linear/linear_model.h"
#include "engine/linear/pixel_prior.h"

#include "engine/gp/gp_loo.h"
#include "engine/gp/kernel.h"
#include "engine/math/mat.h"
#include "engine/policy/session.h"
#include "engine/policy/trial_log.h"

#include <math.h>
#include <string.h>

enum { LENGTH, EXPLORATION };
enum { ROWS_MAX = 600, ATTEMPTS = 8 }; /* values in the model: the most recent, and the best; until a corner is new */
static const double LEAST_EXPLORATION = 0.1; /* of the second attempt, which must not be the first one again */

static const struct option options[] = {
    [LENGTH] = OPTION_NUMBER("length", 0.001, 10, 0.1,
                             "how far apart pixels still have weights that are alike, in parts of a side"),
    [EXPLORATION] = OPTION_NUMBER("exploration", 0, 10, 0.3,
                                  "how far a draw from the posterior is from its mean, in parts of the posterior's "
                                  "deviation; 1 is Thompson sampling as published, 0 always the mean"),
    {.name = NULL},
};

struct session {
    struct session_base base;
    struct pixel_prior  prior;
    struct trial_log    log;          /* of features in place of points */
    size_t              len;          /* of features */
    double             *f, *w, *work; /* [len + 1], [len], [2 len + ROWS_MAX + 2] */
};

static enum status begin(struct session *session, struct error *err)
{
    const struct space      *space = session->base.problem->space;
    const struct image_shape shape = {space->height, space->width, space->channels};
    struct arena            *kept = &session->base.kept;
    TRY(pixel_prior_init(&session->prior, &shape, session->base.problem->options[LENGTH], kept, err));
    session->len = pixel_prior_len(&session->prior);
    trial_log_init(&session->log, kept, session->len);
    session->f = ARENA_NEW(kept, double, session->len + 1);
    session->w = ARENA_NEW(kept, double, session->len);
    session->work = ARENA_NEW(kept, double, 2 * session->len + ROWS_MAX + 2);
    return session->f == NULL || session->w == NULL || session->work == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    struct event seen = *event;
    size_t       at;
    if (!trial_log_find(&session->log, event->trial, &at))
        pixel_prior_features(&session->prior, event->point, session->f, session->work);
    seen.point = session->f;
    return trial_log_tell(&session->log, &seen, err);
}

/* ---- values ---- */

struct rows {
    size_t             n;
    double            *F, *y; /* [n][len]; [n] standardised */
    struct value_scale scale;
};

static enum status choose_rows(struct session *session, struct rows *rows, struct error *err)
{
    const struct trial_log *log = &session->log;
    struct value_limits     limits;
    size_t values = log->count[LOG_OBSERVED] + log->count[LOG_FORECAST], best = trial_log_best(log), len = session->len;
    size_t skipped = values > ROWS_MAX ? values - ROWS_MAX : 0;
    *rows = (struct rows){.F = arena_alloc(&session->base.scratch, (values - skipped) * len, sizeof(double)),
                          .y = ARENA_NEW(&session->base.scratch, double, values - skipped)};
    if (rows->F == NULL || rows->y == NULL)
        return error_no_memory(err);
    TRY(trial_log_limits(log, &session->base.scratch, &limits, err));
    for (size_t i = 0; i < log->len; i++) {
        const struct log_trial *trial = &log->trials[i];
        if (!log_trial_has_value(trial))
            continue;
        if (skipped > 0 && i != best) {
            skipped--;
            continue;
        }
        memcpy(rows->F + rows->n * len, trial_log_point(log, i), len * sizeof *rows->F);
        rows->y[rows->n++] = fmin(fmax(trial->value, limits.low), limits.high);
    }
    rows->scale = values_standardise(rows->y, rows->n);
    return STATUS_OK;
}

/* ---- a proposal ---- */

/* Whether a trial has the features f [len]; a trial that was given up does not count. */
static bool is_known(const struct session *session, const double *f)
{
    for (size_t i = 0; i < session->log.len; i++)
        if (session->log.trials[i].state != LOG_ABANDONED &&
            memcmp(trial_log_point(&session->log, i), f, session->len * sizeof *f) == 0)
            return true;
    return false;
}

/* model NULL: of the prior.  Nothing is measured twice, if further draws can help it.  Returns the drawn function's
 * value at the point, standardised; session->f: the point's features. */
static double draw_point(struct session *session, const struct ask *ask, const struct linear_model *model,
                         double *point)
{
    const struct problem *problem = session->base.problem;
    struct rng            rng = rng_at(problem->seed, ask->trial, RNG_THOMPSON);
    double                scale = problem->options[EXPLORATION], bound = problem->space->bound, b = 0.0, value = 0.0;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (model != NULL)
            b = linear_model_draw(model, scale, &rng, session->f, session->work);
        else
            rng_fill_normal(&rng, session->f, session->len + session->len % 2);
        pixel_prior_weights(&session->prior, session->f, session->w, session->work);
        pixel_prior_corner(&session->prior, session->w, -bound, bound, point);
        memcpy(session->w, session->f, session->len * sizeof *session->f);
        pixel_prior_features(&session->prior, point, session->f, session->work);
        value = b + mat_dot(session->f, session->w, session->len);
        if (!is_known(session, session->f))
            break;
        scale = fmax(2.0 * scale, LEAST_EXPLORATION);
    }
    return value;
}

static void diagnose(const struct session *session, const struct linear_model *model, struct diagnostics *out)
{
    out->acquisition = "thompson";
    out->kernel = kernel_matern32.name;
    out->signal_variance = model->q;
    out->noise_variance = model->q * model->s2;
    out->jitter = model->q * model->jitter;
    out->condition = gp_loo_condition(model->L, model->data.n, model->data.n);
    out->length_scales[0] = session->base.problem->options[LENGTH];
}

static enum status propose(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct rows         rows;
    struct linear_model model;
    double              mean, var, from_ms = ask_clock_ms(ask), fit_ms;
    TRY(choose_rows(session, &rows, err));
    if (ask_is_late(ask))
        return error_set(err, STATUS_BUSY, "deadline", "", "there was no time for a model");
    const struct linear_data data = {.F = rows.F, .y = rows.y, .n = rows.n, .p = session->len};
    TRY(linear_model_fit(&model, &data, &session->base.scratch, err));
    fit_ms = ask_clock_ms(ask) - from_ms;
    double value = draw_point(session, ask, &model, out->point);
    linear_model_predict(&model, session->f, &mean, &var, session->work);
    mean = (mean * rows.scale.spread + rows.scale.centre) * rows.scale.unit;
    double scale = rows.scale.spread * rows.scale.unit, sd = sqrt(var) * scale,
           sd_observed = sqrt(var + model.q * model.s2) * scale;
    if (!isfinite(mean) || !isfinite(sd_observed))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the posterior is not finite");
    out->mean = mean;
    out->sd = sd;
    out->sd_observed = sd_observed;
    out->observations = rows.n;
    if (ask->diagnostics != NULL) {
        diagnose(session, &model, ask->diagnostics);
        ask->diagnostics->acquisition_value = value;
        ask->diagnostics->fit_ms = fit_ms;
    }
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    const size_t *count = session->log.count;
    enum status   status = STATUS_OK;
    bool          has_model = count[LOG_OBSERVED] + count[LOG_FORECAST] >= 2;
    proposal_clear(out);
    if (ask->diagnostics != NULL)
        ask->diagnostics->kernel = NULL;
    arena_init(&session->base.scratch, session->base.problem->memory_bytes - session->base.kept.taken_bytes);
    if (has_model)
        status = propose(session, ask, out, err);
    if (!has_model || status != STATUS_OK)
        (void)draw_point(session, ask, NULL, out->point);
    out->fallback = proposal_fallback(status);
    arena_fini(&session->base.scratch);
    return STATUS_OK;
}

const struct policy policy_linear_ts = {
    .name = "linear-ts",
    .help = "for inputs that look like images: linear Thompson sampling, with a Gaussian process over the pixels as "
            "the prior "
            "of the weights",
    .spaces = SPACE_IMAGE,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .tell = tell,
    .ask = ask_next,
};
