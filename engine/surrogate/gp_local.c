/* See gp_local.h. */
#include "engine/surrogate/gp_local.h"

#include "engine/math/mat.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LOCAL_ROWS = 128, LOCAL_ROWS_MIN = 32, JUDGES = 16 };
enum { LENGTHS = 7, NOISES = 5, LENGTH_START = 3 };
/* Length-scales, in medians of the distance to the nearest trials, and noise, of variance 1. */
static const double length_of[LENGTHS] = {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0};
static const double noise_of[NOISES] = {1e-6, 1e-4, 1e-2, 0.1, 1.0};
static const double TRUST_PRIOR = 5.0; /* residuals */

struct local {
    const struct gp_model *model;
    size_t                 n, k, dims;
    double                *U, *y, *r2;                   /* of all trials with a value [n][dims], [n], [n] */
    bool                  *is_row;                       /* [n] in the model */
    size_t                *nearest;                      /* [k] of [n] */
    double                *X, *z, *ones, *cross, *spare; /* [k][dims], [k] .. */
    double                *K, *unit;                     /* [k][k]; [k][JUDGES] */
    double                *length_scales, radius;        /* [dims] */
    struct kernel          kernel;
    double                 mean, variance, along; /* along: 1' K^-1 1 */
};

/* False: there is no memory. */
static bool local_init(struct local *local, const struct gp_model *model)
{
    const struct trial_log *log = model->log;
    size_t                  n = log->len, k = LOCAL_ROWS, dims = model->space->dims;
    struct arena           *arena = model->scratch;
    *local = (struct local){.model = model, .dims = dims};
    local->U = arena_alloc(arena, n, dims * sizeof(double));
    local->y = ARENA_NEW(arena, double, n);
    local->r2 = ARENA_NEW(arena, double, n);
    local->is_row = arena_zalloc(arena, n, sizeof(bool));
    local->nearest = ARENA_NEW(arena, size_t, k);
    local->X = arena_alloc(arena, k, dims * sizeof(double));
    local->z = ARENA_NEW(arena, double, 4 * k);
    local->K = arena_alloc(arena, k, (k + JUDGES) * sizeof(double));
    local->length_scales = ARENA_NEW(arena, double, dims);
    if (local->U == NULL || local->y == NULL || local->r2 == NULL || local->is_row == NULL || local->nearest == NULL ||
        local->X == NULL || local->z == NULL || local->K == NULL || local->length_scales == NULL)
        return false;
    local->ones = local->z + k;
    local->cross = local->ones + k;
    local->spare = local->cross + k;
    local->unit = local->K + k * k;
    local->kernel = model->gp->kernel;
    local->kernel.variance = 1.0;
    for (size_t i = 0; i < model->n; i++)
        local->is_row[model->row[i]] = true;
    return true;
}

/* Trials that count, in the order of the log. */
static void take_trials(struct local *local)
{
    const struct gp_model *model = local->model;
    for (size_t i = 0; i < model->log->len; i++) {
        const struct log_trial *trial = &model->log->trials[i];
        if (!log_trial_has_value(trial) || trial->state == LOG_FORECAST || trial->value > model->above ||
            trial->value < model->below)
            continue;
        space_encode(model->space, trial_log_point(model->log, i), local->U + local->n * local->dims);
        local->y[local->n] = gp_model_limited(model, trial->value) / model->unit;
        local->is_row[local->n++] = local->is_row[i];
    }
}

/* Finds the nearest rows, of equals the first.  Sets k, and radius: the median distance. */
static void find_nearest(struct local *local, const double *u)
{
    double *r2 = local->r2;
    kernel_distances(&local->model->gp->kernel, u, local->U, local->n, r2);
    local->k = 0;
    for (size_t i = 0; i < local->n; i++) {
        size_t at = local->k;
        if (at < LOCAL_ROWS)
            local->k++;
        else if (!(r2[i] < r2[local->nearest[--at]]))
            continue;
        for (; at > 0 && r2[i] < r2[local->nearest[at - 1]]; at--)
            local->nearest[at] = local->nearest[at - 1];
        local->nearest[at] = i;
    }
    local->radius = sqrt(r2[local->nearest[local->k / 2]]);
}

/* Whether the nearest trials say anything of distances and of values. */
static bool is_telling(const struct local *local)
{
    for (size_t i = 1; i < local->k && local->radius > 0.0; i++)
        if (local->y[local->nearest[i]] != local->y[local->nearest[0]])
            return true;
    return false;
}

/* The restricted likelihood's logarithm, mean and variance at their best; K becomes its factor, ones L^-1 1 and z
 * L^-1 (y - mean).  -INFINITY: there is none. */
static double likelihood(struct local *local, size_t length, size_t noise)
{
    size_t k = local->k;
    double jitter, squares, degrees = (double)k - 1.0;
    for (size_t j = 0; j < local->dims; j++)
        local->length_scales[j] = local->model->gp->kernel.length_scales[j] * local->radius * length_of[length];
    local->kernel.length_scales = local->length_scales;
    kernel_matrix(&local->kernel, local->X, k, local->K, k);
    for (size_t i = 0; i < k; i++) {
        local->K[i * (k + 1)] += noise_of[noise];
        local->ones[i] = 1.0;
        local->z[i] = local->y[local->nearest[i]];
    }
    if (mat_cholesky(local->K, k, k, local->spare, &jitter, NULL) != STATUS_OK)
        return -HUGE_VAL;
    mat_solve_lower(local->K, k, k, local->ones);
    mat_solve_lower(local->K, k, k, local->z);
    local->along = mat_dot(local->ones, local->ones, k);
    local->mean = mat_dot(local->ones, local->z, k) / local->along;
    squares = mat_dot(local->z, local->z, k);
    mat_axpy(k, -local->mean, local->ones, local->z);
    squares = fmax(mat_dot(local->z, local->z, k), DBL_EPSILON * DBL_EPSILON * squares + DBL_MIN);
    local->variance = squares / degrees;
    return -0.5 * (degrees * log(local->variance) + mat_log_det(local->K, k, k) + log(local->along));
}

/* Uphill on the grid, from where values without noise mostly end. */
static double fit(struct local *local, size_t *length, size_t *noise)
{
    static const int moves[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    bool             is_known[LENGTHS][NOISES] = {{false}};
    for (size_t i = 0; i < local->k; i++)
        memcpy(local->X + i * local->dims, local->U + local->nearest[i] * local->dims, local->dims * sizeof(double));
    *length = LENGTH_START, *noise = 0;
    double best = likelihood(local, *length, *noise);
    is_known[*length][*noise] = true;
    for (size_t m = 0; m < 4;) {
        size_t to = *length + (size_t)moves[m][0], with = *noise + (size_t)moves[m][1];
        double value = -HUGE_VAL;
        if (to < LENGTHS && with < NOISES && !is_known[to][with]) {
            is_known[to][with] = true;
            value = likelihood(local, to, with);
        }
        bool is_better = value > best;
        if (is_better)
            best = value, *length = to, *noise = with;
        m = is_better ? 0 : m + 1;
    }
    return likelihood(local, *length, *noise);
}

/* The sum of squared errors of the model's mean at the JUDGES nearest trials that it has left out, and where these are among
 * the nearest: judge [JUDGES] out.  0: there are not so many. */
static double model_error(struct local *local, size_t *judge)
{
    const struct gp_model *model = local->model;
    size_t                 len = 0, dims = local->dims;
    double                 mean[JUDGES], sum = 0.0;
    for (size_t i = 0; i < local->k && len < JUDGES; i++) {
        if (local->is_row[local->nearest[i]])
            continue;
        memcpy(local->X + len * dims, local->U + local->nearest[i] * dims, dims * sizeof(double));
        judge[len++] = i;
    }
    if (len < JUDGES || gp_mean(model->gp, local->X, JUDGES, mean, model->scratch, NULL) != STATUS_OK)
        return 0.0;
    for (size_t i = 0; i < JUDGES; i++) {
        double unused = 0.0;
        gp_model_units(model, &mean[i], &unused, NULL);
        double error = mean[i] / model->unit - local->y[local->nearest[judge[i]]];
        sum += error * error;
    }
    return sum;
}

/* As model_error, of the model's own mean, each time without the trial itself: Rasmussen & Williams 2006, (5.12); entries of
 * the inverse are squared lengths of columns of L^-1.  *trust: the root mean square of these errors in standard deviations,
 * as if TRUST_PRIOR more of them had been 1. */
static double own_error(struct local *local, const size_t *judge, double *trust)
{
    size_t  k = local->k;
    double *alpha = local->spare, *unit = local->unit, sum = 0.0, squares = TRUST_PRIOR;
    memset(unit, 0, k * JUDGES * sizeof *unit);
    for (size_t i = 0; i < JUDGES; i++)
        unit[judge[i] * JUDGES + i] = 1.0;
    mat_solve_lower_many(local->K, k, k, unit, JUDGES, JUDGES);
    memcpy(alpha, local->z, k * sizeof *alpha);
    mat_solve_upper(local->K, k, k, alpha);
    for (size_t i = 0; i < JUDGES; i++) {
        double inverse = 0.0;
        for (size_t r = judge[i]; r < k; r++)
            inverse += unit[r * JUDGES + i] * unit[r * JUDGES + i];
        double error = alpha[judge[i]] / inverse;
        sum += error * error;
        squares += error * alpha[judge[i]] / local->variance;
    }
    *trust = sqrt(squares / (TRUST_PRIOR + JUDGES));
    return sum;
}

struct found {
    double mean, sd, sd_observed;
};

/* At u, with a constant whose value is not known: Rasmussen & Williams 2006, (2.41), (2.42).  False: what the model says
 * is better, or all there is. */
static bool local_posterior(struct local *local, const double *u, struct found *found)
{
    size_t length, noise, k, judge[JUDGES];
    double trust;
    find_nearest(local, u);
    double error = model_error(local, judge);
    if (error == 0.0 || !is_telling(local) || !isfinite(fit(local, &length, &noise)) ||
        !(own_error(local, judge, &trust) < error))
        return false;
    k = local->k;
    kernel_row(&local->kernel, u, local->X, k, local->cross);
    mat_solve_lower(local->K, k, k, local->cross);
    double rest = 1.0 - mat_dot(local->ones, local->cross, k);
    double share = fmax(1.0 - mat_dot(local->cross, local->cross, k), 0.0) + rest * rest / local->along;
    double scale = trust * sqrt(local->variance) * local->model->unit;
    found->mean = (local->mean + mat_dot(local->cross, local->z, k)) * local->model->unit;
    found->sd = scale * sqrt(share);
    found->sd_observed = scale * sqrt(share + noise_of[noise]);
    return isfinite(found->mean) && isfinite(found->sd_observed);
}

void gp_local_replace(const struct gp_model *model, struct points U, double *mean, double *sd, double *sd_observed)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct local      local;
    struct found      found;
    if (model->limit == 0 && trial_log_finished(model->log) > model->n && local_init(&local, model)) {
        take_trials(&local);
        for (size_t p = 0; p < U.n && local.n >= LOCAL_ROWS_MIN; p++) {
            if (!local_posterior(&local, U.at + p * local.dims, &found))
                continue;
            mean[p] = found.mean;
            sd[p] = found.sd;
            if (sd_observed != NULL)
                sd_observed[p] = found.sd_observed;
        }
    }
    arena_release(model->scratch, mark);
}
