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
static const double NOISE_OF_GIVEN =
    1e12; /* they may be of another time, place or measure: they say nothing of a slope */

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

/* Improves the slope by what is left of a drift in the rows of model; *clear: in standard deviations. */
static enum status improve(struct gp_model *model, const struct gp_fit *fit, const double *theta, struct drift *drift,
                           double *clear, struct error *err)
{
    struct arena *scratch = model->scratch;
    size_t        n = model->n;
    double       *t = ARENA_NEW(scratch, double, n), *length_scales = ARENA_NEW(scratch, double, fit->dims), noise,
           middle = 0;
    struct kernel kernel;
    struct gp     gp;
    if (t == NULL || length_scales == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n; k++)
        if (model->log->trials[model->row[k]].is_given)
            model->noise[k] = NOISE_OF_GIVEN;
    gp_model_warp(model, theta[fit->groups + 2]);
    gp_fit_expand(fit, theta, length_scales, &kernel, &noise);
    TRY(gp_init(&gp, scratch, &kernel, noise, n, err));
    *clear = 0.0;
    if (gp_set_points_raised(&gp, model->X, model->warped_noise, n, err) != STATUS_OK)
        return STATUS_OK; /* what cannot be factored shows no drift */
    for (size_t k = 0; k < n; k++)
        middle += drift->times[model->row[k]] / (double)n;
    for (size_t k = 0; k < n; k++)
        t[k] = (drift->times[model->row[k]] - middle) * warp_slope(&model->warp, model->y[k]);
    mat_solve_lower(gp.L, n, gp.capacity, t);
    mat_solve_lower(gp.L, n, gp.capacity, model->z);
    double weight = mat_dot(t, t, n), along = mat_dot(t, model->z, n), slope = weight > 0.0 ? along / weight : 0.0;
    drift->slope += slope * model->spread * model->unit;
    *clear = clear_without_one(t, model->z, n, weight, along);
    return STATUS_OK;
}

/* Values that are freed of a drift have another warp, under which the slope is another. */
static enum status estimate(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                            struct drift *drift, struct error *err)
{
    for (int pass = 0; pass < DRIFT_PASSES; pass++) {
        struct arena_mark mark = arena_mark(model->scratch);
        struct trial_log  level;
        struct gp_model   own = {.space = model->space,
                                 .log = &level,
                                 .cache = model->cache,
                                 .scratch = model->scratch,
                                 .limit = DRIFT_ROWS,
                                 .doubts = model->doubts};
        double            clear;
        TRY(make_level(drift, model->scratch, &level, err));
        TRY(gp_model_rows(&own, 0, err));
        TRY(improve(&own, fit, theta, drift, &clear, err));
        arena_release(model->scratch, mark);
        double all = fabs(drift->slope) * drift->now;
        bool   is_clear = clear >= CLEAR && all / own.unit / own.spread >= LEAST;
        if ((pass == 0 && !is_clear) || !(all < FINITE && own.unit < FINITE)) {
            drift->slope = 0.0;
            break;
        }
    }
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
    return count >= DRIFT_VALUES;
}

enum status gp_drift_level(struct gp_model *model, const struct gp_fit *fit, const double *theta, struct error *err)
{
    struct drift drift;
    if (!may_drift(model))
        return STATUS_OK;
    TRY(drift_of(model, &drift, err));
    TRY(estimate(model, fit, theta, &drift, err));
    if (drift.slope == 0.0)
        return STATUS_OK;
    TRY(let_fit(model, &drift, err));
    return level(model, &drift, err);
}

/* How often so many values are tested: grows with the quarter of the first values, then with each doubling. */
static uint64_t tests_until(uint64_t values)
{
    uint64_t tests = (values < DRIFT_FEW ? values : DRIFT_FEW) / DRIFT_EVERY;
    for (uint64_t n = values / 2; n >= DRIFT_FEW; n /= 2)
        tests++;
    return tests;
}

enum status gp_drift_test(struct gp_model *model, const struct gp_fit *fit, uint64_t fitted, double *theta,
                          struct error *err)
{
    size_t       len = fit->groups + GP_SCALARS;
    double      *other = ARENA_NEW(model->scratch, double, len), without, with;
    struct drift drift;
    if (model->drift != 0.0 || !may_drift(model) || fitted == 0 ||
        tests_until(trial_log_finished(model->log)) == tests_until(fitted))
        return STATUS_OK;
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
    memcpy(theta, other, len * sizeof *theta);
    TRY(level(model, &drift, err));
    return gp_model_rows(model, 0, err);
}
