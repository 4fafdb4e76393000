/* The additive Gaussian process: decomposition, likelihood, posterior of one group and of the sum. */
#include "engine/gp/additive.h"

#include "engine/base/numbers.h"
#include "engine/gp/kernel.h"
#include "engine/math/mat.h"
#include "engine/math/minimize.h"

#include <math.h>
#include <string.h>

enum { LENGTH, VARIANCE, NOISE };

/* Log-normal priors (mean and sd of the logarithm), the box of the search and where it starts, in logarithms. */
static const double lower[ADDITIVE_HYPER] = {-2.3, -4.6, -13.8}, upper[ADDITIVE_HYPER] = {3.4, 9.2, 0.0},
                    start[ADDITIVE_HYPER] = {1.1, 1.6, -4.6};
static const double prior_mean[ADDITIVE_HYPER] = {1.0, 1.0, -4.0}, prior_sd[ADDITIVE_HYPER] = {1.0, 1.5, 3.0};

enum status partition_draw(struct partition *partition, size_t dims, size_t groups, struct rng *rng,
                           struct arena *arena, struct error *err)
{
    size_t *order = ARENA_NEW(arena, size_t, dims);
    if (order == NULL)
        return error_no_memory(err);
    *partition = (struct partition){.dims = dims, .groups = groups < dims ? groups : dims, .order = order};
    for (size_t i = 0; i < dims; i++) { /* Fisher-Yates, inside out */
        size_t at = rng_below(rng, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t j = 0; j <= partition->groups; j++)
        partition->start[j] = dims * j / partition->groups;
    return STATUS_OK;
}

static size_t width_of(const struct partition *partition, size_t j)
{
    return partition->start[j + 1] - partition->start[j];
}

/* X: group after group [n][coordinates of the group]. */
static void gather(const struct partition *partition, const double *U, size_t n, double *X)
{
    for (size_t j = 0; j < partition->groups; j++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = partition->start[j]; k < partition->start[j + 1]; k++)
                *X++ = U[i * partition->dims + partition->order[k]];
}

/* The length scale of every coordinate, in the order of the groups. */
static void scales_fill(const struct partition *partition, double length, double *scales)
{
    for (size_t j = 0; j < partition->groups; j++)
        for (size_t k = partition->start[j]; k < partition->start[j + 1]; k++)
            scales[k] = length * sqrt((double)width_of(partition, j));
}

static struct kernel kernel_of(const struct partition *partition, size_t j, double variance, const double *scales)
{
    return (struct kernel){.kind = &kernel_matern52,
                           .dims = width_of(partition, j),
                           .variance = variance,
                           .length_scales = scales + partition->start[j]};
}

/* ---- likelihood ---- */

struct search {
    size_t        n, groups;
    const double *y;
    double       *squares;              /* [groups][n][n] squared distances over the group's width, lower triangles */
    double       *K, *slope;            /* [n][n] */
    double       *alpha, *row, *slopes; /* [n] */
};

static enum status search_init(struct search *search, const struct partition *partition,
                               const struct additive_data *data, struct arena *scratch, struct error *err)
{
    size_t  n = data->known;
    double *X = arena_alloc(scratch, n, partition->dims * sizeof *X);
    double *scales = ARENA_NEW(scratch, double, partition->dims);
    double *matrices = arena_alloc(scratch, n * n, (partition->groups + 2) * sizeof *matrices);
    *search = (struct search){.n = n, .groups = partition->groups, .y = data->y, .squares = matrices};
    search->alpha = ARENA_NEW(scratch, double, 3 * n);
    if (X == NULL || scales == NULL || matrices == NULL || search->alpha == NULL)
        return error_no_memory(err);
    search->row = search->alpha + n;
    search->slopes = search->row + n;
    search->K = matrices + n * n * partition->groups;
    search->slope = search->K + n * n;
    gather(partition, data->U, n, X);
    scales_fill(partition, 1.0, scales);
    for (size_t j = 0; j < partition->groups; j++) {
        struct kernel kernel = kernel_of(partition, j, 1.0, scales);
        kernel_distance_matrix(&kernel, X + n * partition->start[j], n, matrices + n * n * j);
    }
    return STATUS_OK;
}

/* K and dK/dlog l of the known rows, lower triangles. */
static void fill(struct search *search, double inverse_square, double variance)
{
    const struct kernel kernel = {.kind = &kernel_matern52, .variance = variance};
    size_t              n = search->n;
    for (size_t i = 0; i < n; i++) {
        double *K = search->K + i * n, *slope = search->slope + i * n;
        memset(K, 0, (i + 1) * sizeof *K);
        memset(slope, 0, (i + 1) * sizeof *slope);
        for (size_t j = 0; j < search->groups; j++) {
            const double *r2 = search->squares + (j * n + i) * n;
            kernel_map(&kernel, inverse_square, r2, i + 1, search->row, search->slopes);
            for (size_t k = 0; k <= i; k++) { /* r^2 falls as l^-2 */
                K[k] += search->row[k];
                slope[k] -= 2.0 * inverse_square * r2[k] * search->slopes[k];
            }
        }
    }
}

static enum status likelihood(struct search *search, const double *theta, double *value, double *gradient)
{
    size_t  n = search->n;
    double  variance = exp(theta[VARIANCE]) / (double)search->groups, noise = exp(theta[NOISE]), jitter;
    double *K = search->K, *alpha = search->alpha;
    fill(search, exp(-2.0 * theta[LENGTH]), variance);
    for (size_t i = 0; i < n; i++)
        K[i * n + i] += noise;
    TRY(mat_cholesky(K, n, n, search->row, &jitter, NULL));
    memcpy(alpha, search->y, n * sizeof *alpha);
    mat_solve_lower(K, n, n, alpha);
    *value = -0.5 * (mat_dot(alpha, alpha, n) + mat_log_det(K, n, n) + (double)n * LOG_2PI);
    mat_solve_upper(K, n, n, alpha);
    if (!isfinite(*value) || !mat_is_finite(alpha, n))
        return STATUS_NUMERIC;
    if (gradient == NULL)
        return STATUS_OK;
    TRY(mat_inverse_from_cholesky(K, n, n, K, NULL));
    double by_length = 0.0, white = 0.0;
    for (size_t i = 0; i < n; i++) {
        white += alpha[i] * alpha[i] - K[i * n + i];
        for (size_t k = 0; k < i; k++)
            by_length += (alpha[i] * alpha[k] - K[i * n + k]) * search->slope[i * n + k];
    }
    gradient[LENGTH] = by_length;
    /* tr(K^-1 K_f) = n - (noise + jitter) tr K^-1, and alpha' K_f alpha alike: no third matrix is needed */
    gradient[VARIANCE] = 0.5 * (mat_dot(search->y, alpha, n) - (double)n - (noise + jitter) * white);
    gradient[NOISE] = 0.5 * noise * white;
    return mat_is_finite(gradient, ADDITIVE_HYPER) ? STATUS_OK : STATUS_NUMERIC;
}

enum status additive_likelihood(const struct partition *partition, const struct additive_data *data,
                                const double *theta, double *value, double *gradient, struct arena *scratch)
{
    struct search     search;
    struct arena_mark mark = arena_mark(scratch);
    enum status       status = search_init(&search, partition, data, scratch, NULL);
    if (status == STATUS_OK)
        status = likelihood(&search, theta, value, gradient);
    arena_release(scratch, mark);
    return status;
}

/* Minus the log likelihood, and half the squared distances from the priors' means in standard deviations. */
static double objective(void *arg, const double *theta, double *gradient)
{
    double value;
    if (likelihood(arg, theta, &value, gradient) != STATUS_OK)
        return NAN;
    for (size_t i = 0; i < ADDITIVE_HYPER; i++) {
        double z = (theta[i] - prior_mean[i]) / prior_sd[i];
        value -= 0.5 * z * z;
        gradient[i] = z / prior_sd[i] - gradient[i];
    }
    return -value;
}

enum status additive_fit(const struct partition *partition, const struct additive_data *data,
                         const struct additive_fit *fit, double *theta, struct arena *scratch, struct error *err)
{
    struct search     search;
    double            value;
    struct arena_mark mark = arena_mark(scratch);
    struct minimize   problem = {.dims = ADDITIVE_HYPER,
                                 .lower = lower,
                                 .upper = upper,
                                 .function = objective,
                                 .arg = &search,
                                 .evaluations = fit->evaluations,
                                 .f_tolerance = 1e-4,
                                 .x_tolerance = 1e-2,
                                 .late = fit->late,
                                 .late_arg = fit->late_arg};
    memcpy(theta, fit->warm != NULL ? fit->warm : start, ADDITIVE_HYPER * sizeof *theta);
    enum status status = search_init(&search, partition, data, scratch, err);
    if (status == STATUS_OK)
        status = minimize_lbfgs(&problem, theta, &value, scratch, err);
    arena_release(scratch, mark);
    return status;
}

/* ---- posterior ---- */

static struct kernel model_kernel(const struct additive *model, size_t j)
{
    return kernel_of(model->partition, j, model->variance, model->scales);
}

static const double *points_of(const struct additive *model, size_t j)
{
    return model->X + model->n * model->partition->start[j];
}

/* part [n][n] is overwritten. */
static void factor_fill(const struct additive *model, double *part)
{
    size_t n = model->n;
    memset(model->L, 0, n * n * sizeof *model->L);
    for (size_t j = 0; j < model->partition->groups; j++) {
        struct kernel kernel = model_kernel(model, j);
        kernel_matrix(&kernel, points_of(model, j), n, part, n);
        for (size_t i = 0; i < n; i++)
            mat_axpy(i + 1, 1.0, part + i * n, model->L + i * n);
    }
    for (size_t i = 0; i < n; i++)
        model->L[i * n + i] += model->noise_variance;
}

enum status additive_condition(struct additive *model, const struct partition *partition,
                               const struct additive_data *data, const double *theta, struct arena *arena,
                               struct error *err)
{
    size_t n = data->n, known = data->known;
    *model = (struct additive){.partition = partition,
                               .n = n,
                               .length = exp(theta[LENGTH]),
                               .variance = exp(theta[VARIANCE]) / (double)partition->groups,
                               .noise_variance = exp(theta[NOISE])};
    model->X = arena_alloc(arena, n, partition->dims * sizeof(double));
    model->L = arena_alloc(arena, n, n * sizeof(double));
    model->alpha = ARENA_NEW(arena, double, n);
    model->scales = ARENA_NEW(arena, double, partition->dims);
    struct arena_mark mark = arena_mark(arena);
    double           *part = arena_alloc(arena, n, n * sizeof *part);
    if (model->X == NULL || model->L == NULL || model->alpha == NULL || model->scales == NULL || part == NULL)
        return error_no_memory(err);
    gather(partition, data->U, n, model->X);
    scales_fill(partition, model->length, model->scales);
    factor_fill(model, part);
    arena_release(arena, mark);
    TRY(mat_cholesky(model->L, n, n, model->alpha, &model->jitter, err));
    memset(model->alpha, 0, n * sizeof *model->alpha);
    memcpy(model->alpha, data->y, known * sizeof *model->alpha);
    mat_solve_lower(model->L, known, n, model->alpha); /* the leading rows are the factor of the known ones */
    mat_solve_upper(model->L, known, n, model->alpha);
    if (!mat_is_finite(model->alpha, known))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the values do not have finite weights");
    return STATUS_OK;
}

enum status additive_group(const struct additive *model, struct group_points at, double *mean, double *var,
                           struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    size_t            n = model->n, m = at.m;
    double           *V = arena_alloc(scratch, n, m * sizeof *V);
    struct kernel     kernel = model_kernel(model, at.j);
    if (V == NULL)
        return error_no_memory(err);
    kernel_cross(&kernel, points_of(model, at.j), n, at.Z, m, V);
    mat_vector(V, n, m, true, model->alpha, mean);
    mat_solve_lower_many(model->L, n, n, V, m, m);
    for (size_t k = 0; k < m; k++)
        var[k] = model->variance;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            var[k] -= V[i * m + k] * V[i * m + k];
    for (size_t k = 0; k < m; k++)
        var[k] = fmax(var[k], 0.0);
    arena_release(scratch, mark);
    return STATUS_OK;
}

double additive_group_ucb(const struct additive *model, size_t j, const double *z, double sqrt_beta, double *gradient,
                          double *work)
{
    struct kernel kernel = model_kernel(model, j);
    size_t        n = model->n, width = kernel.dims;
    const double *X = points_of(model, j);
    double       *slope = work, *solved = work + n;
    double        factor = 2.0 / (kernel.length_scales[0] * kernel.length_scales[0]);
    kernel_row_slope(&kernel, z, X, n, solved, slope);
    double mean = mat_dot(solved, model->alpha, n);
    mat_solve_lower(model->L, n, n, solved);
    double sd = sqrt(fmax(model->variance - mat_dot(solved, solved, n), 1e-12 * model->variance));
    mat_solve_upper(model->L, n, n, solved);
    for (size_t i = 0; i < n; i++)
        slope[i] *= factor * (model->alpha[i] - sqrt_beta / sd * solved[i]);
    memset(gradient, 0, width * sizeof *gradient);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            gradient[k] += slope[i] * (z[k] - X[i * width + k]);
    return mean + sqrt_beta * sd;
}

void additive_posterior(const struct additive *model, const double *u, double *work, double *mean, double *var)
{
    const struct partition *partition = model->partition;
    size_t                  n = model->n;
    double                 *sum = work, *row = work + n, *z = work + 2 * n;
    memset(sum, 0, n * sizeof *sum);
    for (size_t j = 0; j < partition->groups; j++) {
        for (size_t k = partition->start[j]; k < partition->start[j + 1]; k++)
            z[k] = u[partition->order[k]];
        struct kernel kernel = model_kernel(model, j);
        kernel_row(&kernel, z + partition->start[j], points_of(model, j), n, row);
        mat_axpy(n, 1.0, row, sum);
    }
    *mean = mat_dot(sum, model->alpha, n);
    mat_solve_lower(model->L, n, n, sum);
    *var = fmax((double)partition->groups * model->variance - mat_dot(sum, sum, n), 0.0);
}
