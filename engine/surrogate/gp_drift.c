/* See gp_drift.h. */
#include "engine/surrogate/gp_drift.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { DRIFT_ROWS = 256, DRIFT_VALUES = 8, DRIFT_EVERY = 4, DRIFT_FEW = 40, DRIFT_PASSES = 3 };
enum { STEP_SIDE = 3, STEP_FITS = 2 };    /* rows before and after it at least; each fit finds its time anew */
static const double CLEAR = 6.0;          /* standard deviations of the slope */
static const double STEP_CLEAR = 8.0;     /* of a step */
static const double LEAST = 1e-3;         /* of all trials together, in spreads of the values */
static const double FINITE = 1e300;       /* larger values would leave the range of doubles on the way */
static const double NO_WARP = 6.9;        /* the largest log a */
static const double LIKELIER = 8.0;       /* logarithms */
static const double STEP_LIKELIER = 10.0; /* and that of how many times a step may have besides */
static const double STEP_HOPE = 3.0;      /* that under the fit with a line; with less a step is not fitted */
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

/* The state of a log's drift. */
struct drift {
    bool                    is_step; /* whose time an estimate finds */
    double                  around;  /* rows around this time are in the sample; 0: all are as likely to be */
    const struct trial_log *log;     /* as it was told */
    double                 *times;   /* [log->len] */
    double                  now, slope;
    double                  gain;       /* how much likelier a step makes the values, in logarithms */
    double                  likelihood; /* of the values without it, under an estimate's theta, up to a constant */
    double                  from;   /* slope is that of a step, which those of this time and later have; 0: of a line */
    struct value_limits     limits; /* values beyond are penalties and the like, and do not drift */
};

/* The factor of the slope. */
static double course_at(const struct drift *drift, double t)
{
    return drift->from == 0.0 ? t : t >= drift->from ? 1.0 : 0.0;
}

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
            out->trials[i].value -= drift->slope * (course_at(drift, drift->times[i]) - course_at(drift, drift->now));
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
    bool      is_factored;
};

/* Every so many-th row of model; of more rows than that half are those around a time, which is one of theirs, if it is not 0. */
static void choose_rows(const struct gp_model *model, const struct drift *drift, struct sample *out)
{
    size_t place = 0, near = 0;
    if (drift->around > 0.0 && model->n > out->n)
        near = out->n / 2;
    while (near > 0 && place + near < model->n && drift->times[model->row[place + near / 2]] < drift->around)
        place++;
    for (size_t k = 0; k < near; k++)
        out->row[k] = place + k;
    for (size_t k = near; k < out->n; k++) {
        size_t i = (k - near) * (model->n - near) / (out->n - near);
        out->row[k] = i < place ? i : i + near;
    }
}

/* model's values are warped. */
static enum status take_sample(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                               const struct drift *drift, struct sample *out, struct error *err)
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
    choose_rows(model, drift, out);
    for (size_t k = 0; k < n; k++) {
        size_t i = out->row[k];
        memcpy(X + k * dims, model->X + i * dims, dims * sizeof *X);
        variance[k] = model->log->trials[model->row[i]].is_given ? NOISE_OF_GIVEN : model->warped_noise[i];
    }
    gp_fit_expand(fit, theta, length_scales, &kernel, &noise);
    TRY(gp_init(&out->gp, scratch, &kernel, noise, n, err));
    out->is_factored = gp_set_points_raised(&out->gp, X, variance, n, err) == STATUS_OK;
    return STATUS_OK;
}

static double time_of(const struct gp_model *model, const struct sample *sample, const struct drift *drift, size_t k)
{
    return drift->times[model->row[sample->row[k]]];
}

/* Innovations of the values.  Returns the log likelihood of these in their own units, up to a constant. */
static double set_values(const struct gp_model *model, struct sample *sample)
{
    double sum = 0.0;
    for (size_t k = 0; k < sample->n; k++) {
        sample->z[k] = model->z[sample->row[k]];
        sum += log(warp_slope(&model->warp, model->y[sample->row[k]])) - log(model->spread) - log(model->unit) -
               log(sample->gp.L[k * sample->gp.capacity + k]);
    }
    mat_solve_lower(sample->gp.L, sample->n, sample->gp.capacity, sample->z);
    return sum - 0.5 * mat_dot(sample->z, sample->z, sample->n);
}

/* Innovations of the course: their square, and along the values. */
struct course {
    double weight, along;
};

static struct course set_course(const struct gp_model *model, struct sample *sample, const struct drift *drift)
{
    size_t n = sample->n;
    double middle = 0.0;
    for (size_t k = 0; k < n; k++)
        middle += course_at(drift, time_of(model, sample, drift, k)) / (double)n;
    for (size_t k = 0; k < n; k++)
        sample->t[k] = (course_at(drift, time_of(model, sample, drift, k)) - middle) *
                       warp_slope(&model->warp, model->y[sample->row[k]]);
    mat_solve_lower(sample->gp.L, n, sample->gp.capacity, sample->t);
    return (struct course){mat_dot(sample->t, sample->t, n), mat_dot(sample->t, sample->z, n)};
}

/* Whether there are rows enough before a step and after it. */
static bool may_step(const struct gp_model *model, const struct sample *sample, const struct drift *drift)
{
    size_t after = 0;
    for (size_t k = 0; k < sample->n; k++)
        after += time_of(model, sample, drift, k) >= drift->from;
    return after >= STEP_SIDE && sample->n - after >= STEP_SIDE;
}

/* The likeliest step. */
static void find_step(const struct gp_model *model, struct sample *sample, struct drift *drift)
{
    double best = 0.0;
    drift->gain = 0.0;
    for (size_t k = 0; k < sample->n; k++) {
        drift->from = time_of(model, sample, drift, k);
        if (!may_step(model, sample, drift))
            continue;
        struct course step = set_course(model, sample, drift);
        double        gain = step.weight > 0.0 ? 0.5 * step.along * step.along / step.weight : 0.0;
        if (gain > drift->gain) {
            drift->gain = gain; /* the best multiple of it makes the values so much likelier, in logarithms */
            best = drift->from;
        }
    }
    drift->from = best;
}

/* Improves the slope by what is left of a drift; returns how clear that is, in standard deviations.  A step is found anew, and
 * is as clear as all of it. */
static double improve(const struct gp_model *model, struct sample *sample, struct drift *drift)
{
    size_t n = sample->n;
    double scale = model->spread * model->unit;
    drift->likelihood = set_values(model, sample);
    if (drift->is_step) {
        set_course(model, sample, drift);
        for (size_t k = 0; k < n; k++)
            sample->z[k] += drift->slope / scale * sample->t[k];
        find_step(model, sample, drift);
        drift->slope = 0.0;
        if (drift->from == 0.0)
            return 0.0;
    }
    struct course all = set_course(model, sample, drift);
    drift->slope += all.weight > 0.0 ? all.along / all.weight * scale : 0.0;
    return clear_without_one(sample->t, sample->z, n, all.weight, all.along);
}

static bool is_clear(const struct gp_model *model, const struct drift *drift, double deviations)
{
    double all = fabs(drift->slope) * course_at(drift, drift->now);
    return deviations >= (drift->from > 0.0 ? STEP_CLEAR : CLEAR) && all / model->unit / model->spread >= LEAST;
}

/* Values that are freed of a drift have another warp, under which the slope is another.  What cannot be factored shows none.
 * is_rough: the first pass is without a warp. */
static enum status estimate_from(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                 bool is_rough, struct drift *drift, struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct sample     sample;
    const int         judged = drift->is_step ? DRIFT_PASSES - 1 : 0;
    drift->slope = 0.0;
    drift->likelihood = -HUGE_VAL;
    for (int pass = 0; pass < DRIFT_PASSES; pass++) {
        struct trial_log level;
        struct gp_model  own = {.space = model->space,
                                .log = &level,
                                .cache = model->cache,
                                .scratch = model->scratch,
                                .doubts = model->doubts,
                                .is_robust = model->is_robust};
        TRY(make_level(drift, model->scratch, &level, err));
        TRY(gp_model_rows(&own, 0, err));
        if (own.n < trial_log_finished(&level))
            break; /* a memory too small for all rows: others would be left out in each pass */
        gp_model_warp(&own, is_rough && pass == 0 ? NO_WARP : theta[fit->groups + 2]);
        if (pass == 0)
            TRY(take_sample(&own, fit, theta, drift, &sample, err));
        double deviations = sample.is_factored ? improve(&own, &sample, drift) : 0.0;
        bool   is_finite = fabs(drift->slope) * course_at(drift, drift->now) < FINITE && own.unit < FINITE;
        if (!is_finite)
            drift->likelihood = -HUGE_VAL;
        if ((pass == judged && !is_clear(&own, drift, deviations)) || !is_finite ||
            (drift->is_step && drift->from == 0.0)) {
            drift->slope = 0.0;
            break;
        }
    }
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

/* A large step is found without a warp alone, a small one among values of all magnitudes with it alone. */
static enum status estimate_step(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                 struct drift *drift, struct error *err)
{
    struct drift rough = *drift;
    TRY(estimate_from(model, fit, theta, false, drift, err));
    TRY(estimate_from(model, fit, theta, true, &rough, err));
    if (rough.likelihood > drift->likelihood)
        *drift = rough;
    return STATUS_OK;
}

/* A step among more rows than a sample has is found once more among those around it. */
static enum status estimate(const struct gp_model *model, const struct gp_fit *fit, const double *theta,
                            struct drift *drift, struct error *err)
{
    if (!drift->is_step)
        return estimate_from(model, fit, theta, false, drift, err);
    drift->around = 0.0;
    TRY(estimate_step(model, fit, theta, drift, err));
    drift->around = drift->slope != 0.0 && drift->log->len > DRIFT_ROWS ? drift->from : 0.0;
    return drift->around > 0.0 ? estimate_step(model, fit, theta, drift, err) : STATUS_OK;
}

static enum status let_fit(struct gp_model *model, const struct drift *drift, struct error *err)
{
    double *trend = ARENA_NEW(model->scratch, double, drift->log->len);
    if (trend == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < drift->log->len; i++)
        trend[i] = 2.0 * course_at(drift, drift->times[i]) / fmax(course_at(drift, drift->now), 1.0) - 1.0;
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
    model->from = drift->from;
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

static enum status find_level(struct gp_model *model, const struct gp_fit *fit, const double *theta, bool is_step,
                              struct error *err)
{
    struct drift drift;
    TRY(drift_of(model, &drift, err));
    drift.is_step = is_step;
    TRY(estimate(model, fit, theta, &drift, err));
    if (drift.slope == 0.0)
        return STATUS_OK;
    TRY(let_fit(model, &drift, err));
    return level(model, &drift, err);
}

enum status gp_drift_level(struct gp_model *model, const struct gp_fit *fit, const double *theta, bool is_step,
                           struct error *err)
{
    struct arena_mark     mark = arena_mark(model->scratch);
    const struct gp_model before = *model;
    return may_drift(model) ? forgive(find_level(model, fit, theta, is_step, err), model, &before, mark) : STATUS_OK;
}

/* How often so many values are tested: grows with the quarter of the first values, then with each doubling. */
static uint64_t tests_until(uint64_t values)
{
    uint64_t tests = (values < DRIFT_FEW ? values : DRIFT_FEW) / DRIFT_EVERY;
    for (uint64_t n = values / 2; n >= DRIFT_FEW; n /= 2)
        tests++;
    return tests;
}

/* A drift, and the fit that allows for it. */
struct guess {
    struct drift drift;
    double      *theta, likelihood;
};

static enum status fit_guess(struct gp_model *model, const struct gp_fit *fit, const double *theta, struct guess *guess,
                             struct error *err)
{
    TRY(let_fit(model, &guess->drift, err));
    TRY(gp_model_fit(model, fit, theta, guess->theta, err));
    TRY(gp_model_likelihood(model, fit, guess->theta, &guess->likelihood, err));
    return estimate(model, fit, guess->theta, &guess->drift, err);
}

/* A step: its time is the likeliest one under the fit with a line, then under that with the step, which is made again if
 * that is another. */
static enum status fit_step(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                            const struct guess *line, struct guess *out, struct error *err)
{
    double from = 0.0;
    out->drift.is_step = true;
    out->likelihood = -HUGE_VAL;
    TRY(estimate(model, fit, line->theta, &out->drift, err));
    if (out->drift.gain < STEP_HOPE)
        return STATUS_OK;
    for (int i = 0; i < STEP_FITS && out->drift.from != from; i++) {
        from = out->drift.from;
        TRY(fit_guess(model, fit, i == 0 ? theta : out->theta, out, err));
    }
    out->likelihood -= log(out->drift.now);
    return STATUS_OK;
}

static enum status test(struct gp_model *model, const struct gp_fit *fit, double *theta, struct error *err)
{
    size_t       len = fit->groups + GP_SCALARS;
    double       without;
    struct guess line = {.theta = ARENA_NEW(model->scratch, double, len)}, step = line, *best = NULL;
    step.theta = ARENA_NEW(model->scratch, double, len);
    if (line.theta == NULL || step.theta == NULL)
        return error_no_memory(err);
    TRY(drift_of(model, &line.drift, err));
    step.drift = line.drift;
    TRY(gp_model_likelihood(model, fit, theta, &without, err));
    TRY(fit_guess(model, fit, theta, &line, err));
    TRY(fit_step(model, fit, theta, &line, &step, err));
    if (line.drift.slope != 0.0 && line.likelihood > without + LIKELIER)
        best = &line;
    if (step.drift.slope != 0.0 && step.likelihood > without + STEP_LIKELIER &&
        !(best != NULL && best->likelihood >= step.likelihood))
        best = &step;
    if (best == NULL)
        return STATUS_OK;
    TRY(let_fit(model, &best->drift, err));
    TRY(level(model, &best->drift, err));
    TRY(gp_model_rows(model, 0, err));
    memcpy(theta, best->theta, len * sizeof *theta);
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
