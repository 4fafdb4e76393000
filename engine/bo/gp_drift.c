/* See gp_drift.h. */
#include "engine/bo/gp_drift.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { DRIFT_ROWS = 256, DRIFT_VALUES = 8, DRIFT_EVERY = 4, DRIFT_FEW = 40, DRIFT_PASSES = 3 };
static const double CLEAR = 8.0;    /* standard deviations of the slope */
static const double LEAST = 1e-3;   /* of all trials together, in spreads of the values */
static const double FINITE = 1e300; /* larger values would leave the range of doubles on the way */
static const double LIKELIER = 6.0; /* logarithms */
/* They may be of another time, place or measure: they say nothing of a slope. */
static const double NOISE_OF_GIVEN = 1e12;

/* The time of the last trial, which is now; times [log->len] out. */
static double find_times(const struct trial_log *log, double *times)
{
    double now = 0.0;
    for (size_t i = 0; i < log->len; i++) {
        times[i] = now;
        now += log->trials[i].is_given || i + 1 == log->len ? 0.0 : 1.0;
    }
    return now;
}

/* What is known of a log's drift. */
struct drift {
    const struct trial_log *log;   /* as it was told */
    double                 *times; /* [log->len] */
    double                  now, slope;
    struct value_limits     limits; /* values beyond are penalties and the like, and do not drift */
};

static enum status drift_of(const struct gp_model *model, struct drift *out, struct error *err)
{
    *out = (struct drift){.log = model->log, .times = ARENA_NEW(model->scratch, double, model->log->len)};
    if (out->times == NULL)
        return error_no_memory(err);
    out->now = find_times(model->log, out->times);
    return trial_log_limits(model->log, model->scratch, &out->limits, err);
}

static enum status make_level(const struct drift *drift, struct arena *scratch, struct trial_log *out,
                              struct error *err)
{
    *out = *drift->log;
    out->trials = ARENA_NEW(scratch, struct log_trial, out->len);
    if (out->trials == NULL)
        return error_no_memory(err);
    memcpy(out->trials, drift->log->trials, out->len * sizeof *out->trials);
    for (size_t i = 0; i < out->len; i++)
        if (out->trials[i].value >= drift->limits.low && out->trials[i].value <= drift->limits.high)
            out->trials[i].value -= drift->slope * (drift->times[i] - drift->now);
    return STATUS_OK;
}

/* How many standard deviations the slope is, whichever of the innovations z is left out: one wrong value at either end looks
 * like a drift. */
static double clear_without_one(const double *t, const double *z, size_t n, double weight, double along)
{
    double least = HUGE_VAL;
    for (size_t k = 0; k < n; k++) {
        double rest = weight - t[k] * t[k];
        least = fmin(least, rest > 0.0 ? copysign(1.0, along) * (along - t[k] * z[k]) / sqrt(rest) : 0.0);
    }
    return least;
}

/* The rows from which a slope is found, and their covariance; the same in each pass. */
struct sample {
    size_t    n;
    size_t   *row; /* [n] of the model */
    double   *t, *z;
    struct gp gp;
};

/* Every so many-th row of model, whose values are warped. */
static enum status take_sample(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                               struct sample *out, bool *is_factored, struct error *err)
{
    struct arena *scratch = model->scratch;
    size_t        n = model->n < DRIFT_ROWS ? model->n : DRIFT_ROWS, dims = fit->dims;
    double       *X = arena_alloc(scratch, n, dims * sizeof *X), *length_scales = ARENA_NEW(scratch, double, dims);
    double       *variance = ARENA_NEW(scratch, double, n), noise;
    struct kernel kernel;
    *out = (struct sample){.n = n,
                           .row = ARENA_NEW(scratch, size_t, n),
                           .t = ARENA_NEW(scratch, double, n),
                           .z = ARENA_NEW(scratch, double, n)};
    if (X == NULL || length_scales == NULL || variance == NULL || out->row == NULL || out->t == NULL || out->z == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t i = out->row[k] = k * model->n / n;
        memcpy(X + k * dims, model->X + i * dims, dims * sizeof *X);
        variance[k] = model->log->trials[model->row[i]].is_given ? NOISE_OF_GIVEN : model->warped_noise[i];
    }
    gp_fit_expand(fit, theta, length_scales, &kernel, &noise);
    TRY(gp_init(&out->gp, scratch, &kernel, noise, n, err));
    *is_factored = gp_set_points_raised(&out->gp, X, variance, n, err) == STATUS_OK;
    return STATUS_OK;
}

/* Improves the slope by what is left of a drift; returns how clear that is, in standard deviations. */
static double improve(const struct gp_model *model, struct sample *sample, struct drift *drift)
{
    size_t n = sample->n;
    double middle = 0.0;
    for (size_t k = 0; k < n; k++)
        middle += drift->times[model->row[sample->row[k]]] / (double)n;
    for (size_t k = 0; k < n; k++) {
        size_t i = sample->row[k];
        sample->t[k] = (drift->times[model->row[i]] - middle) * warp_slope(&model->warp, model->y[i]);
        sample->z[k] = model->z[i];
    }
    mat_solve_lower(sample->gp.L, n, sample->gp.capacity, sample->t);
    mat_solve_lower(sample->gp.L, n, sample->gp.capacity, sample->z);
    double weight = mat_dot(sample->t, sample->t, n), along = mat_dot(sample->t, sample->z, n);
    drift->slope += weight > 0.0 ? along / weight * model->spread * model->unit : 0.0;
    return clear_without_one(sample->t, sample->z, n, weight, along);
}

/* Values that are freed of a drift have another warp, under which the slope is another.  What cannot be factored shows none. */
static enum status estimate(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                            struct drift *drift, struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct sample     sample;
    for (int pass = 0; pass < DRIFT_PASSES; pass++) {
        bool             is_factored = true;
        struct trial_log level;
        struct gp_model  own = {.space = model->space,
                                .log = &level,
                                .cache = model->cache,
                                .scratch = model->scratch,
                                .doubts = model->doubts};
        TRY(make_level(drift, model->scratch, &level, err));
        TRY(gp_model_rows(&own, 0, err));
        if (own.n < trial_log_finished(&level))
            break; /* a memory too small for all rows: others would be left out in each pass */
        gp_model_warp(&own, theta[fit->groups + 2]);
        if (pass == 0)
            TRY(take_sample(&own, fit, theta, &sample, &is_factored, err));
        double clear = is_factored ? improve(&own, &sample, drift) : 0.0, all = fabs(drift->slope) * drift->now;
        bool   is_clear = clear >= CLEAR && all / own.unit / own.spread >= LEAST;
        if ((pass == 0 && !is_clear) || !(all < FINITE && own.unit < FINITE)) {
            drift->slope = 0.0;
            break;
        }
    }
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static enum status let_fit(struct gp_model *model, const struct drift *drift, struct error *err)
{
    double *trend = ARENA_NEW(model->scratch, double, drift->log->len);
    if (trend == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < drift->log->len; i++)
        trend[i] = 2.0 * drift->times[i] / fmax(drift->now, 1.0) - 1.0;
    model->trend = trend;
    return STATUS_OK;
}

static enum status level(struct gp_model *model, const struct drift *drift, struct error *err)
{
    struct trial_log *log = ARENA_NEW(model->scratch, struct trial_log, 1);
    if (log == NULL)
        return error_no_memory(err);
    TRY(make_level(drift, model->scratch, log, err));
    model->told = drift->log;
    model->log = log;
    model->drift = drift->slope;
    model->now = drift->now;
    return STATUS_OK;
}

static bool may_drift(const struct gp_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->log->len && count < DRIFT_VALUES; i++)
        count += model->log->trials[i].state == LOG_OBSERVED && !model->log->trials[i].is_given;
    return count >= DRIFT_VALUES && model->log->len <= MODEL_ROWS_MAX;
}

/* A model that has no room for this goes without: how much there is depends on the log alone. */
static enum status forgive(enum status status, struct gp_model *model, const struct gp_model *before,
                           struct arena_mark mark)
{
    if (status != STATUS_NO_MEMORY)
        return status;
    *model = *before;
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static enum status find_level(struct gp_model *model, const struct gp_fit *fit, const double *theta, struct error *err)
{
    struct drift drift;
    TRY(drift_of(model, &drift, err));
    TRY(estimate(model, fit, theta, &drift, err));
    if (drift.slope == 0.0)
        return STATUS_OK;
    TRY(let_fit(model, &drift, err));
    return level(model, &drift, err);
}

enum status gp_drift_level(struct gp_model *model, const struct gp_fit *fit, const double *theta, struct error *err)
{
    struct arena_mark     mark = arena_mark(model->scratch);
    const struct gp_model before = *model;
    return may_drift(model) ? forgive(find_level(model, fit, theta, err), model, &before, mark) : STATUS_OK;
}

/* How often so many values are tested: grows with the quarter of the first values, then with each doubling. */
static uint64_t tests_until(uint64_t values)
{
    uint64_t tests = (values < DRIFT_FEW ? values : DRIFT_FEW) / DRIFT_EVERY;
    for (uint64_t n = values / 2; n >= DRIFT_FEW; n /= 2)
        tests++;
    return tests;
}

static enum status test(struct gp_model *model, const struct gp_fit *fit, double *theta, struct error *err)
{
    size_t       len = fit->groups + GP_SCALARS;
    double      *other = ARENA_NEW(model->scratch, double, len), without, with;
    struct drift drift;
    if (other == NULL)
        return error_no_memory(err);
    TRY(drift_of(model, &drift, err));
    TRY(gp_model_likelihood(model, fit, theta, &without, err));
    TRY(let_fit(model, &drift, err));
    TRY(gp_model_fit(model, fit, theta, other, err));
    TRY(gp_model_likelihood(model, fit, other, &with, err));
    TRY(estimate(model, fit, other, &drift, err));
    if (drift.slope == 0.0 || !(with > without + LIKELIER))
        return STATUS_OK;
    TRY(level(model, &drift, err));
    TRY(gp_model_rows(model, 0, err));
    memcpy(theta, other, len * sizeof *theta);
    return STATUS_OK;
}

enum status gp_drift_test(struct gp_model *model, const struct gp_fit *fit, uint64_t fitted, double *theta,
                          struct error *err)
{
    struct arena_mark     mark = arena_mark(model->scratch);
    const struct gp_model before = *model;
    if (model->drift != 0.0 || !may_drift(model) || fitted == 0 ||
        tests_until(trial_log_finished(model->log)) == tests_until(fitted))
        return STATUS_OK;
    return forgive(test(model, fit, theta, err), model, &before, mark);
}
