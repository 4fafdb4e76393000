/* See price.h.
 * The figures are milliseconds of one core as measured in 2026, fitted to suggestions of 1 to 500 parameters, 5 to 5,000
 * values and 1 to 8 metrics, 120 of them: five were off by more than 1.8.  They follow the loops of engine/bo and
 * engine/gp and change when those do.  What they do not know of an algorithm is learned from what its proposals take: a
 * factor for those with a fit, another for those without; and a factor for each other kind of computation. */
#include "service/app/price.h"

#include "engine/math/mat.h"
#include "service/base/clock.h"
#include "service/base/text.h"

#include <assert.h>
#include <math.h>

/* Limits as in engine/surrogate/gp_model.h. */
static const double ROWS_MAX = 2000, FIT_ROWS_MAX = 256;
static const double LOCAL_ROWS = 20,
                    LOCAL_ROWS_EACH = 5; // of a model of the last part: so many, and for each parameter

/* A proposal: itself, for each parameter, for several objectives; then for each model and value, value squared, value and
 * parameter; for each row of a finite set and value. */
static const double ASK = 0.2, ASK_PARAM = 0.025, ASK_SEVERAL = 1.3;
static const double ASK_VALUE = 7.5e-3, ASK_SQUARE = 5e-6, ASK_VALUE_PARAM = 1.7e-4, ASK_ROW_VALUE = 2.4e-6;
/* A fit: itself, then for each model and square, cube, square and parameter of the values that it uses; and the factor of
 * all, which is cubic; of a finite set the table, for each row and value squared. */
static const double FIT = 0.26, FIT_SQUARE = 3.1e-4, FIT_CUBE = 2.4e-6, FIT_SQUARE_PARAM = 5.5e-6, FACTOR = 1e-8,
                    TABLE = 3e-7;
/* Without a model: itself and for each parameter.  With a plan ahead; with an image. */
static const double DRAW = 3e-3, DRAW_PARAM = 5e-5, PLAN = 1000, IMAGE = 50;
/* An earlier study; a line of the log; a stopping rule of the algorithm's own; a message; a curve, and squared with three objectives. */
static const double EARLIER = 0.3, LINE = 3e-3, JUDGE = 2, MESSAGE = 3, CURVE = 1e-3, CURVE_SQUARE = 6e-6;
/* A point and value of a posterior, and squared; of its mean; of residuals, cubic. */
static const double POINT_VALUE = 9e-6, POINT_SQUARE = 4e-8, MEAN_VALUE_PARAM = 4.5e-7, RESIDUAL_CUBE = 3e-8;
/* Beyond the rows of a model a point is also looked at from near: itself, and for each value and parameter. */
static const double POINT_NEAR = 2.5, POINT_NEAR_VALUE_PARAM = 2.2e-6;
static const double VECTOR = 1e-4, VECTOR_SQUARE = 2e-6, CELL = 1e-6; // of a front; of a matrix

static const double MATRICES = 3;      // of a model, n by n
static const double GAIN_SEARCHES = 2; // near the best trial and everywhere

static const double LEARNED = 0.2, FACTOR_MAX = 16,
                    WORTH_MS = 1; // share of the last; bounds; what is too short to tell

/* ---- this machine ---- */

_Static_assert((int)PRICE_PARTS <= (int)PRICE_PARTS_MAX, "room for what was learned");

enum { KERNEL_ROWS = 160, KERNEL_TIMES = 16 };
static const double KERNEL_MS = 0.24;

/* Computes a covariance and its factor, as a fit does. */
static void compute_once(double *A, double *spare)
{
    double       jitter;
    struct error err;
    for (size_t i = 0; i < KERNEL_ROWS; i++)
        for (size_t j = 0; j < KERNEL_ROWS; j++)
            A[i * KERNEL_ROWS + j] = exp(-fabs((double)i - (double)j) / 7) + (i == j ? 0.01 : 0);
    enum status status = mat_cholesky(A, KERNEL_ROWS, KERNEL_ROWS, spare, &jitter, &err);
    assert(status == STATUS_OK);
}

double price_measure(void)
{
    static const size_t bytes = (KERNEL_ROWS + 1) * KERNEL_ROWS * sizeof(double);
    struct arena        arena;
    double              least = HUGE_VAL;
    arena_init(&arena, 4 * bytes);
    double *A = arena_alloc(&arena, bytes, 1);
    for (int i = 0; A != NULL && i < KERNEL_TIMES; i++) {
        int64_t from_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
        compute_once(A, A + KERNEL_ROWS * KERNEL_ROWS);
        least = fmin(least, 1e-3 * (double)(clock_us(CLOCK_THREAD_CPUTIME_ID) - from_us));
    }
    arena_fini(&arena);
    return isfinite(least) ? fmax(least / KERNEL_MS, 0.05) : 1;
}

/* ---- models ---- */

struct price_model price_model_of(const struct study *study)
{
    const int64_t *trials = study->trials;
    return (struct price_model){
        .spec = &study->spec,
        .values = (double)(trials[TRIAL_COMPLETED] + trials[TRIAL_STOPPED] + trials[TRIAL_INFEASIBLE]),
        .pending = (double)(trials[TRIAL_RUNNING] + trials[TRIAL_QUEUED] + trials[TRIAL_FAILED])};
}

bool price_has_fit(double values, int64_t values_then)
{
    double news = values - (double)values_then;
    return values_then < 0 || (news > 0 && (values <= 40 || 10 * news >= (double)values_then));
}

static double dims_of(const struct space *space)
{
    return fmax(1, space->kind == SPACE_CANDIDATES ? (double)space->columns : (double)space->params_len);
}

static double finite_rows(const struct space *space)
{
    return space->kind == SPACE_CANDIDATES ? (double)space->rows_len : 0;
}

static double local_rows(const struct price_model *model)
{
    return fmin(model->values, LOCAL_ROWS + LOCAL_ROWS_EACH * dims_of(&model->spec->space));
}

static double rows_of(const struct price_model *model)
{
    return model->spec->policy->is_local ? local_rows(model) : fmin(model->values, ROWS_MAX);
}

static double models_of(const struct spec *spec)
{
    return fmax(1, (double)spec->metrics_len);
}

static double earlier_of(const struct spec *spec)
{
    return (double)(spec->earlier.ids_len + spec->earlier.given_len);
}

static double factor_ms(const struct price_model *model)
{
    double n = rows_of(model);
    return models_of(model->spec) * FACTOR * n * n * n;
}

static double fit_ms(const struct price_model *model)
{
    double f = fmin(rows_of(model), FIT_ROWS_MAX), dims = dims_of(&model->spec->space);
    double table = TABLE * finite_rows(&model->spec->space) * rows_of(model) * rows_of(model);
    return FIT + models_of(model->spec) * (f * f * (FIT_SQUARE + FIT_CUBE * f + FIT_SQUARE_PARAM * dims) + table) +
           factor_ms(model);
}

/* Along a line there is more to see: the search takes up to 2.5 times as long. */
static double search_ms(const struct price_model *model)
{
    const struct spec *spec = model->spec;
    double             d = dims_of(&spec->space), n = rows_of(model) + fmin(model->pending, 500);
    double             finite = finite_rows(&spec->space);
    double ms = ASK + ASK_PARAM * d + (spec->objectives > 1 ? ASK_SEVERAL : 0) + EARLIER * earlier_of(spec) +
                models_of(spec) * n * (ASK_VALUE + ASK_SQUARE * n + ASK_VALUE_PARAM * d + ASK_ROW_VALUE * finite);
    return ms * (1 + 1.5 / (d * d));
}

static const struct policy *proposer(const struct price_model *model)
{
    const char *why;
    return spec_proposer(model->spec, (uint64_t)(model->values + model->pending) + 1, &why);
}

static double raw_ask(const struct price_model *model)
{
    const struct spec   *spec = model->spec;
    const struct policy *policy = proposer(model);
    if (policy->only_draws)
        return DRAW + DRAW_PARAM * dims_of(&spec->space) * (double)(1 + spec->space.constraints_len);
    if (policy->plans_ahead)
        return PLAN;
    struct price_model seen = *model;
    seen.values = policy->is_local ? local_rows(model) : model->values;
    return search_ms(&seen) + (model->has_fit ? fit_ms(&seen) : 0) + (spec->space.kind == SPACE_IMAGE ? IMAGE : 0);
}

/* ---- what was learned ---- */

static size_t index_of(const struct price_model *model)
{
    return text_hash(proposer(model)->name) % (PRICE_FACTORS / 2) * 2 + model->has_fit;
}

double price_ask(const struct app *app, const struct price_model *model)
{
    return raw_ask(model) * app->price_unit * exp(atomic_load(&app->price_logs[index_of(model)]));
}

/* Two at once lose the lesson of one. */
static void learn(_Atomic double *log_factor, double price_ms, double took_ms)
{
    double known = atomic_load(log_factor), bound = log(FACTOR_MAX);
    if (fmax(took_ms, price_ms) >= WORTH_MS && took_ms > 0 && price_ms > 0)
        atomic_store(log_factor, fmax(-bound, fmin(bound, known + LEARNED * log(took_ms / price_ms))));
}

void price_learn(struct app *app, const struct price_model *model, double took_ms)
{
    learn(&app->price_logs[index_of(model)], price_ask(app, model), took_ms);
}

void price_learn_part(struct app *app, enum price_part part, double price_ms, double took_ms)
{
    learn(&app->price_parts[part], price_ms, took_ms);
}

static double part_ms(const struct app *app, enum price_part part, double raw_ms)
{
    return raw_ms * app->price_unit * exp(atomic_load(&app->price_parts[part]));
}

/* ---- the others ---- */

double price_batch(const struct app *app, const struct price_model *model, int64_t count)
{
    struct price_model last = *model;
    last.pending += (double)(count - 1);
    last.has_fit = false;
    return price_ask(app, model) + (double)(count - 1) * price_ask(app, &last);
}

/* Bytes of each model's covariance and factor, and what a search needs besides; an algorithm that plans takes all it may. */
double price_bytes(const struct app *app, const struct price_model *model)
{
    double most = (double)app->options.session_bytes, n = rows_of(model) + fmin(model->pending, 500);
    double all = MATRICES * models_of(model->spec) * n * n * sizeof(double) +
                 finite_rows(&model->spec->space) * n * sizeof(double);
    all *= model->spec->stopping.guard ? 2 : 1; // sessions
    return model->spec->policy->only_draws ? 0 : model->spec->policy->plans_ahead ? most : fmin(all, most);
}

double price_gain(const struct app *app, const struct price_model *model)
{
    return part_ms(app, PRICE_GAIN, GAIN_SEARCHES * search_ms(model));
}

double price_verify(const struct app *app, const struct price_model *model, double values)
{
    struct price_model then = *model;
    then.values = fmin(then.values, values);
    return part_ms(app, PRICE_VERIFY, raw_ask(&then));
}

/* Prices the told lines; an algorithm that learns from earlier studies fits them when it opens. */
double price_tell(const struct app *app, const struct price_model *model)
{
    double earlier = model->news > model->values ? earlier_of(model->spec) : 0;
    double news = fmax(0, model->news); // another request may have read on meanwhile
    return part_ms(app, PRICE_TELL, LINE * news + 10 * EARLIER * earlier);
}

bool price_looks_near(const struct price_model *model)
{
    bool may = model->spec->policy->looks_near && model->spec->space.kind == SPACE_PARAMETERS;
    return may && model->values > ROWS_MAX;
}

double price_predict(const struct app *app, const struct price_model *model, double points)
{
    double n = rows_of(model), each = n * (POINT_VALUE + POINT_SQUARE * n);
    if (price_looks_near(model))
        each += POINT_NEAR + POINT_NEAR_VALUE_PARAM * model->values * dims_of(&model->spec->space);
    return part_ms(app, PRICE_PREDICT, points * each + (model->news > 0 ? factor_ms(model) : 0));
}

double price_means(const struct app *app, const struct price_model *model, double points)
{
    double each = MEAN_VALUE_PARAM * (dims_of(&model->spec->space) + 10);
    return part_ms(app, PRICE_MEANS, points * rows_of(model) * each + (model->news > 0 ? factor_ms(model) : 0));
}

double price_residuals(const struct app *app, const struct price_model *model)
{
    return part_ms(app, PRICE_RESIDUALS, RESIDUAL_CUBE * pow(rows_of(model), 3));
}

double price_judge(const struct app *app, const struct price_model *model, double curves)
{
    double own = model->spec->stopping.kind == STOP_RULE_OWN ? JUDGE : CURVE * curves;
    return part_ms(app, PRICE_JUDGE, own + (model->spec->objectives > 2 ? CURVE_SQUARE * curves * curves : 0));
}

double price_message(const struct app *app, const struct price_model *model)
{
    return part_ms(app, PRICE_MESSAGE, MESSAGE + factor_ms(model));
}

double price_pareto(const struct app *app, double vectors, size_t objectives)
{
    return part_ms(app, PRICE_PARETO, vectors * (VECTOR + (objectives > 2 ? VECTOR_SQUARE * vectors : 0)));
}

double price_check(const struct app *app, double rows, double columns)
{
    return part_ms(app, PRICE_CHECK, CELL * rows * columns * (columns + log2(rows + 1)));
}

double price_seconds(const struct app *app, double seconds)
{
    return app->price_unit * 1000 * seconds;
}
