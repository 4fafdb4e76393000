/* Chance or region, and the trend of a region. */
#include "engine/surrogate/gp_failure.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { AGAIN_TIMES = 4, TREND_DIMS_MAX = 200, ROUNDS_MAX = 30 };
static const double PRIOR_SD = 10.0, RATIO_MIN = 4.0;
static const double STEP_MAX = 3.0, STEP_LEAST = 1e-9; /* of the logits, in a round */

/* --- chance or region --- */

/* How many other trials at the place are pending, have a value, failed; is_first: none that failed came before. */
struct twins {
    size_t pending, observed, failed;
    bool   is_first;
};

static bool is_at(const struct trial_log *log, size_t i, const double *point)
{
    return memcmp(trial_log_point(log, i), point, log->params_len * sizeof *point) == 0;
}

static struct twins twins_of(const struct trial_log *log, size_t place)
{
    struct twins out = {.is_first = true};
    for (size_t i = 0; i < log->len; i++) {
        const struct log_trial *trial = &log->trials[i];
        if (i == place || !is_at(log, i, trial_log_point(log, place)))
            continue;
        out.pending += trial->state == LOG_PENDING;
        out.observed += trial->state == LOG_OBSERVED;
        out.failed += trial->is_failure;
        out.is_first = out.is_first && !(trial->is_failure && i < place);
    }
    return out;
}

static void count_as(struct trial_log *log, enum log_state state)
{
    log->regional = 0;
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].is_failure) {
            log->count[log->trials[i].state]--;
            log->trials[i].state = state;
            log->count[state]++;
            log->regional += state == LOG_INFEASIBLE;
        }
}

size_t gp_failure_settle(struct trial_log *log)
{
    size_t places = 0, tried = 0, healed = 0, confirmed = 0, wanted = 0, again = log->len;
    for (size_t i = 0; i < log->len && log->failures > 0; i++) {
        struct twins twins = {.is_first = false};
        if (log->trials[i].is_failure)
            twins = twins_of(log, i);
        if (!twins.is_first)
            continue;
        bool is_tried = twins.pending + twins.observed + twins.failed > 0;
        places++;
        tried += is_tried;
        healed += twins.observed > 0;
        confirmed += twins.observed == 0 && twins.failed > 0;
        again = is_tried ? again : i;
    }
    if (log->failures > 0 || log->regional > 0)
        count_as(log, healed > 0 && healed >= confirmed ? LOG_FAILED : LOG_INFEASIBLE);
    for (size_t n = 1; n <= places; n *= AGAIN_TIMES)
        wanted++;
    return tried < wanted ? again : log->len;
}

bool gp_failure_is_twice(const struct trial_log *log, const double *point)
{
    size_t times = 0;
    for (size_t i = 0; i < log->len && log->failures > 1; i++)
        times += log->trials[i].is_failure && is_at(log, i, point);
    return times > 1;
}

/* --- the trend --- */

/* Where a number lies between its bounds on a logarithmic scale, less a half; *slope: its derivative by u. */
static double logarithm(const struct param *p, double u, double *slope)
{
    *slope = 0.0;
    if (!param_is_number(p) || p->scale != SCALE_LINEAR || p->min <= 0.0 || p->max < RATIO_MIN * p->min)
        return 0.0;
    double x = p->min + u * (p->max - p->min), whole = log(p->max / p->min);
    *slope = (p->max - p->min) / x / whole;
    return log(x / p->min) / whole - 0.5;
}

/* phi [1 + 2 dims], slopes [dims] of the logarithms. */
static void features(const struct space *space, const double *u, double *phi, double *slopes)
{
    size_t j = 0;
    phi[0] = 1.0;
    for (size_t i = 0; i < space->params_len; i++)
        for (size_t width = param_width(&space->params[i]), k = 0; k < width; k++, j++) {
            phi[1 + j] = u[j] - 0.5;
            phi[1 + space->dims + j] = logarithm(&space->params[i], fmin(fmax(u[j], 0.0), 1.0), &slopes[j]);
        }
}

struct regression {
    size_t  n, m;
    double *phi, *y;   /* [n][m], [n] */
    double *s, *V, *H; /* [n] logits, [n][m], [m][m] */
    double *g, *spare; /* [m] */
};

/* A step of Newton's method is shortened where a logit would move too far; *step: how far the farthest moved. */
static enum status improve(struct regression *r, double *weights, double *step, struct error *err)
{
    double jitter;
    memset(r->H, 0, r->m * r->m * sizeof *r->H);
    for (size_t k = 0; k < r->m; k++) {
        double precision = k == 0 ? 1e-6 : 1.0 / PRIOR_SD / PRIOR_SD;
        r->g[k] = -weights[k] * precision;
        r->H[k * r->m + k] = precision;
    }
    for (size_t i = 0; i < r->n; i++) {
        double p = 1.0 / (1.0 + exp(-r->s[i])), root = sqrt(p * (1.0 - p));
        for (size_t k = 0; k < r->m; k++)
            r->V[i * r->m + k] = root * r->phi[i * r->m + k];
        mat_axpy(r->m, r->y[i] - p, r->phi + i * r->m, r->g);
    }
    mat_add_gram(r->V, r->n, r->m, r->H);
    TRY(mat_cholesky(r->H, r->m, r->m, r->spare, &jitter, err));
    mat_solve_lower(r->H, r->m, r->m, r->g);
    mat_solve_upper(r->H, r->m, r->m, r->g);
    *step = 0.0;
    for (size_t i = 0; i < r->n; i++)
        *step = fmax(*step, fabs(mat_dot(r->g, r->phi + i * r->m, r->m)));
    double share = *step > STEP_MAX ? STEP_MAX / *step : 1.0;
    mat_axpy(r->m, share, r->g, weights);
    for (size_t i = 0; i < r->n; i++)
        r->s[i] = mat_dot(weights, r->phi + i * r->m, r->m);
    return STATUS_OK;
}

static enum status regression_init(struct regression *r, const struct space *space, const struct trial_log *log,
                                   struct arena *arena, struct error *err)
{
    size_t rows = trial_log_finished(log);
    *r = (struct regression){.m = 1 + 2 * space->dims};
    r->phi = arena_alloc(arena, rows, r->m * sizeof *r->phi);
    r->V = arena_alloc(arena, rows, r->m * sizeof *r->V);
    r->H = arena_alloc(arena, r->m, r->m * sizeof *r->H);
    r->y = arena_zalloc(arena, 2 * rows, sizeof *r->y);
    r->g = arena_alloc(arena, 2 * r->m + 2 * space->dims, sizeof *r->g);
    if (r->phi == NULL || r->V == NULL || r->H == NULL || r->y == NULL || r->g == NULL)
        return error_no_memory(err);
    r->s = r->y + rows;
    r->spare = r->g + r->m;
    double *u = r->spare + r->m, *slopes = u + space->dims;
    for (size_t i = 0; i < log->len; i++) {
        if (!log_trial_is_row(&log->trials[i]))
            continue;
        space_encode(space, trial_log_point(log, i), u);
        features(space, u, r->phi + r->n * r->m, slopes);
        r->y[r->n++] = log->trials[i].state == LOG_INFEASIBLE ? 0.0 : 1.0;
    }
    return STATUS_OK;
}

enum status gp_trend_fit(const struct space *space, const struct trial_log *log, struct arena *arena,
                         struct gp_trend *out, struct error *err)
{
    struct regression r;
    double            step = HUGE_VAL;
    *out = (struct gp_trend){.space = space};
    if (space->dims > TREND_DIMS_MAX)
        return STATUS_OK;
    double *weights = arena_zalloc(arena, 1 + 2 * space->dims, sizeof *weights);
    if (weights == NULL)
        return error_no_memory(err);
    struct arena_mark mark = arena_mark(arena);
    TRY(regression_init(&r, space, log, arena, err));
    for (int round = 0; round < ROUNDS_MAX && step > STEP_LEAST; round++)
        TRY(improve(&r, weights, &step, err));
    arena_release(arena, mark);
    out->weights = weights;
    return STATUS_OK;
}

double gp_trend_at(const struct gp_trend *trend, const double *u, double weight, double *gradient)
{
    double phi[1 + 2 * TREND_DIMS_MAX], slopes[TREND_DIMS_MAX];
    if (trend->weights == NULL)
        return 0.0;
    size_t        dims = trend->space->dims;
    const double *w = trend->weights + 1, *of_log = w + dims;
    features(trend->space, u, phi, slopes);
    double t = tanh(0.5 * mat_dot(trend->weights, phi, 1 + 2 * dims)), rise = 0.25 * (1.0 - t * t);
    for (size_t j = 0; gradient != NULL && j < dims; j++)
        gradient[j] += weight * rise * (w[j] + of_log[j] * slopes[j]);
    return 0.5 * t;
}
