/* Exact Gaussian-process regression: factor, append, posterior, likelihood. */
#include "engine/gp/gp.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    LINE = 8 /* doubles; rows of L start on cache lines: BLAS may add in another order on other alignments, and the
                same rows must give the same numbers whatever the capacity */
};

static const double EXACT_NOISE = 1e-6;  /* of the signal's variance */
static const double PIVOT_LEAST = 1e-14; /* of the signal's variance */

/* Room for at least n observations. */
static enum status reserve(struct gp *gp, size_t n, struct error *err)
{
    if (n <= gp->capacity)
        return STATUS_OK;
    size_t capacity = n > 2 * gp->capacity ? n : 2 * gp->capacity, dims = gp->kernel.dims;
    capacity = (capacity + LINE - 1) / LINE * LINE;
    double *X = arena_alloc(gp->arena, capacity * dims, sizeof *X);
    double *noise = ARENA_NEW(gp->arena, double, capacity);
    double *alpha = ARENA_NEW(gp->arena, double, capacity);
    double *L = arena_alloc(gp->arena, capacity, capacity * sizeof *L);
    if (X == NULL || noise == NULL || alpha == NULL || L == NULL)
        return error_no_memory(err);
    if (gp->n > 0) {
        memcpy(X, gp->X, gp->n * dims * sizeof *X);
        memcpy(noise, gp->noise, gp->n * sizeof *noise);
        memcpy(alpha, gp->alpha, gp->n * sizeof *alpha);
    }
    for (size_t i = 0; i < gp->n; i++)
        memcpy(L + i * capacity, gp->L + i * gp->capacity, (i + 1) * sizeof *L);
    gp->X = X, gp->noise = noise, gp->alpha = alpha, gp->L = L, gp->capacity = capacity;
    return STATUS_OK;
}

enum status gp_init(struct gp *gp, struct arena *arena, const struct kernel *kernel, double noise_variance,
                    size_t capacity, struct error *err)
{
    *gp = (struct gp){.arena = arena, .kernel = *kernel, .noise_variance = noise_variance};
    double *length_scales = ARENA_NEW(arena, double, kernel->dims);
    if (length_scales == NULL)
        return error_no_memory(err);
    gp->kernel.length_scales = memcpy(length_scales, kernel->length_scales, kernel->dims * sizeof *length_scales);
    return reserve(gp, capacity, err);
}

enum status gp_set_points(struct gp *gp, const double *X, const double *noise, size_t n, struct error *err)
{
    gp->n = 0;
    TRY(reserve(gp, n, err));
    if (n == 0)
        return STATUS_OK;
    memcpy(gp->X, X, n * gp->kernel.dims * sizeof *X);
    kernel_matrix(&gp->kernel, X, n, gp->L, gp->capacity);
    for (size_t i = 0; i < n; i++) {
        gp->noise[i] = noise == NULL ? 0.0 : noise[i];
        gp->L[i * gp->capacity + i] += gp->noise_variance + gp->noise[i];
    }
    TRY(mat_cholesky(gp->L, n, gp->capacity, gp->alpha, &gp->jitter, err));
    memset(gp->alpha, 0, n * sizeof *gp->alpha);
    gp->n = n;
    return STATUS_OK;
}

enum status gp_set_points_raised(struct gp *gp, const double *X, const double *noise, size_t n, struct error *err)
{
    enum status status = STATUS_NUMERIC;
    for (double raised = gp->noise_variance; status == STATUS_NUMERIC && raised <= 1e4;
         raised = fmax(100.0 * raised, 1e-6)) {
        gp->noise_variance = raised;
        status = gp_set_points(gp, X, noise, n, err);
    }
    return status;
}

enum status gp_append(struct gp *gp, const double *x, double noise, struct error *err)
{
    size_t n = gp->n, dims = gp->kernel.dims;
    TRY(reserve(gp, n + 1, err));
    double *row = gp->L + n * gp->capacity;
    memcpy(gp->X + n * dims, x, dims * sizeof *x);
    kernel_row(&gp->kernel, x, gp->X, n + 1, row);
    row[n] += gp->noise_variance + noise + gp->jitter;
    TRY(mat_cholesky_append(gp->L, n, gp->capacity, row, PIVOT_LEAST * gp->kernel.variance, err));
    gp->noise[n] = noise;
    gp->alpha[n] = 0.0;
    gp->n = n + 1;
    return STATUS_OK;
}

/* Beyond noise_variance, of an observation without noise. */
static double exact_noise(const struct gp *gp)
{
    return fmin(EXACT_NOISE * gp->kernel.variance - gp->noise_variance, 0.0);
}

enum status gp_append_exact(struct gp *gp, const double *x, struct error *err)
{
    return gp_append(gp, x, exact_noise(gp), err);
}

/* The corner C [m][m] of the factor, given what is left of the covariance in it. */
static enum status factor_corner(const struct gp *gp, double *C, size_t m, double *spare, struct error *err)
{
    double jitter, least = HUGE_VAL;
    TRY(mat_cholesky(C, m, m, spare, &jitter, err));
    for (size_t i = 0; i < m; i++)
        least = fmin(least, C[i * m + i] * C[i * m + i]);
    if (jitter > 0.0 || !(least > PIVOT_LEAST * gp->kernel.variance))
        return error_set(err, STATUS_NUMERIC, "not_positive_definite", "", "the least new pivot is %g", least);
    return STATUS_OK;
}

/* [[L, 0], [V', chol(C)]] with V = L^-1 K(X, Z) and C = K(Z, Z) + noise - V' V. */
enum status gp_append_many(struct gp *gp, struct points Z, bool exact, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    size_t            n = gp->n, m = Z.n, dims = gp->kernel.dims;
    TRY(reserve(gp, n + m, err));
    double *V = arena_alloc(scratch, n, m * sizeof *V), *C = arena_alloc(scratch, m, m * sizeof *C);
    double *spare = ARENA_NEW(scratch, double, m), noise = exact ? exact_noise(gp) : 0.0;
    if (V == NULL || C == NULL || spare == NULL) {
        arena_release(scratch, mark);
        return error_no_memory(err);
    }
    kernel_cross(&gp->kernel, gp->X, n, Z.at, m, V);
    mat_solve_lower_many(gp->L, n, gp->capacity, V, m, m);
    kernel_matrix(&gp->kernel, Z.at, m, C, m);
    mat_subtract_gram(V, n, m, C);
    for (size_t i = 0; i < m; i++)
        C[i * m + i] += gp->noise_variance + noise + gp->jitter;
    enum status status = factor_corner(gp, C, m, spare, err);
    for (size_t i = 0; i < m && status == STATUS_OK; i++) {
        double *row = gp->L + (n + i) * gp->capacity;
        for (size_t k = 0; k < n; k++)
            row[k] = V[k * m + i];
        memcpy(row + n, C + i * m, (i + 1) * sizeof *row);
        memcpy(gp->X + (n + i) * dims, Z.at + i * dims, dims * sizeof *gp->X);
        gp->noise[n + i] = noise;
        gp->alpha[n + i] = 0.0;
    }
    gp->n = status == STATUS_OK ? n + m : n;
    arena_release(scratch, mark);
    return status;
}

void gp_truncate(struct gp *gp, size_t n)
{
    assert(n <= gp->n);
    gp->n = n;
}

enum status gp_set_values(struct gp *gp, const double *y, struct error *err)
{
    if (gp->n == 0)
        return STATUS_OK;
    memcpy(gp->alpha, y, gp->n * sizeof *y);
    mat_solve_lower(gp->L, gp->n, gp->capacity, gp->alpha);
    mat_solve_upper(gp->L, gp->n, gp->capacity, gp->alpha);
    if (!mat_is_finite(gp->alpha, gp->n))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the values do not have finite weights");
    return STATUS_OK;
}

/* V [n][Z.n] := L^-1 K(X, Z), and the means. */
static void project(const struct gp *gp, struct points Z, double *V, double *mean)
{
    kernel_cross(&gp->kernel, gp->X, gp->n, Z.at, Z.n, V);
    mat_vector(V, gp->n, Z.n, true, gp->alpha, mean);
    mat_solve_lower_many(gp->L, gp->n, gp->capacity, V, Z.n, Z.n);
}

enum status gp_posterior(const struct gp *gp, struct points Z, double *mean, double *var, struct arena *scratch,
                         struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    double           *V = arena_alloc(scratch, gp->n, (Z.n < GP_CHUNK ? Z.n : GP_CHUNK) * sizeof *V);
    if (V == NULL)
        return error_no_memory(err);
    for (size_t from = 0; from < Z.n; from += GP_CHUNK) {
        size_t  points = Z.n - from < GP_CHUNK ? Z.n - from : GP_CHUNK;
        double *out = var + from;
        project(gp, (struct points){Z.at + from * gp->kernel.dims, points}, V, mean + from);
        for (size_t k = 0; k < points; k++)
            out[k] = gp->kernel.variance;
        for (size_t i = 0; i < gp->n; i++)
            for (size_t k = 0; k < points; k++)
                out[k] -= V[i * points + k] * V[i * points + k];
        for (size_t k = 0; k < points; k++)
            out[k] = fmax(out[k], 0.0);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

enum status gp_mean(const struct gp *gp, const double *Z, size_t m, double *mean, struct arena *scratch,
                    struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    double           *K = arena_alloc(scratch, gp->n, (m < GP_CHUNK ? m : GP_CHUNK) * sizeof *K);
    if (K == NULL)
        return error_no_memory(err);
    for (size_t from = 0; from < m; from += GP_CHUNK) {
        size_t points = m - from < GP_CHUNK ? m - from : GP_CHUNK;
        kernel_cross(&gp->kernel, gp->X, gp->n, Z + from * gp->kernel.dims, points, K);
        mat_vector(K, gp->n, points, true, gp->alpha, mean + from);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

void gp_gradient(const struct gp *gp, const double *z, double *work, struct gp_slope *out)
{
    const struct kernel *kernel = &gp->kernel;
    size_t               n = gp->n, dims = kernel->dims;
    double              *k = work, *slope = work + n, *beta = work + 2 * n;
    memset(out->dmean, 0, dims * sizeof *out->dmean);
    memset(out->dvar, 0, dims * sizeof *out->dvar);
    kernel_row_slope(kernel, z, gp->X, n, k, slope);
    memcpy(beta, k, n * sizeof *beta);
    out->mean = mat_dot(k, gp->alpha, n);
    mat_solve_lower(gp->L, n, gp->capacity, beta);
    out->var = fmax(kernel->variance - mat_dot(beta, beta, n), 0.0);
    mat_solve_upper(gp->L, n, gp->capacity, beta);
    for (size_t i = 0; i < n; i++) {
        const double *x = gp->X + i * dims;
        double        a = 2.0 * gp->alpha[i] * slope[i], b = -4.0 * beta[i] * slope[i];
        for (size_t j = 0; j < dims; j++) {
            double half = kernel_half_slope(kernel->kind, z[j] - x[j]);
            out->dmean[j] += a * half;
            out->dvar[j] += b * half;
        }
    }
    for (size_t j = 0; j < dims; j++) {
        out->dmean[j] /= kernel->length_scales[j] * kernel->length_scales[j];
        out->dvar[j] /= kernel->length_scales[j] * kernel->length_scales[j];
    }
}

enum status gp_joint(const struct gp *gp, struct points Z, double *mean, double *C, struct arena *scratch,
                     struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    double           *V = arena_alloc(scratch, gp->n, Z.n * sizeof *V);
    if (V == NULL)
        return error_no_memory(err);
    project(gp, Z, V, mean);
    kernel_matrix(&gp->kernel, Z.at, Z.n, C, Z.n);
    mat_subtract_gram(V, gp->n, Z.n, C);
    arena_release(scratch, mark);
    return STATUS_OK;
}

enum status gp_work_init(struct gp_work *work, struct arena *arena, size_t n, struct error *err)
{
    work->A = arena_alloc(arena, n, n * sizeof(double));
    work->B = arena_alloc(arena, n, n * sizeof(double));
    work->vector = ARENA_NEW(arena, double, 3 * n);
    return work->A == NULL || work->B == NULL || work->vector == NULL ? error_no_memory(err) : STATUS_OK;
}

static void add_trend(const double *t, size_t n, double *A)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            A[i * n + k] += t[i] * t[k];
}

/* tr((alpha alpha' - K^-1) t t'), which is no part of the kernel's. */
static double trend_part(const struct gp_data *data, const double *alpha, const double *inverse)
{
    const double *t = data->trend;
    size_t        n = data->n;
    double        along = mat_dot(t, alpha, n), sum = along * along;
    for (size_t i = 0; i < n; i++)
        sum -= t[i] * (2.0 * mat_dot(inverse + i * n, t, i) + t[i] * inverse[i * n + i]);
    return sum;
}

/* A holds L on entry and K^-1 on return; B holds the slopes on entry and is overwritten.
 * The trace of K^-1 times the noise-free K needs no second matrix: K_f = K - N with N the diagonal of all noise, so
 * tr(K^-1 K_f) = n - sum N_i K^-1_ii, and alpha' K_f alpha = y'alpha - sum N_i alpha_i^2. */
static enum status likelihood_gradient(const struct gp_data *data, const struct kernel *kernel, struct gp_work *work,
                                       double noise_variance, double *gradient)
{
    size_t        n = data->n;
    const double *alpha = work->vector, *noise = work->vector + n;
    double       *A = work->A, *B = work->B;
    TRY(mat_inverse_from_cholesky(A, n, n, A, NULL));
    double fit = mat_dot(data->y, alpha, n) - (double)n, white = 0.0;
    for (size_t i = 0; i < n; i++) {
        double difference = alpha[i] * alpha[i] - A[i * n + i];
        fit -= noise[i] * difference;
        white += difference;
        for (size_t k = 0; k < i; k++)
            B[i * n + k] *= alpha[i] * alpha[k] - A[i * n + k];
    }
    if (data->trend != NULL)
        fit -= trend_part(data, alpha, A);
    kernel_weigh_distances(kernel, data->X, n, B, gradient);
    for (size_t j = 0; j < kernel->dims; j++)
        gradient[j] *= -2.0;
    gradient[kernel->dims] = 0.5 * fit;
    gradient[kernel->dims + 1] = 0.5 * noise_variance * white;
    return mat_is_finite(gradient, kernel->dims + 2) ? STATUS_OK : STATUS_NUMERIC;
}

enum status gp_likelihood(const struct gp_data *data, const struct kernel *kernel, double noise_variance,
                          struct gp_work *work, double *value, double *gradient)
{
    size_t  n = data->n;
    double *alpha = work->vector, *noise = work->vector + n, jitter = 0.0;
    kernel_matrix_slope(kernel, data->X, n, work->A, work->B);
    for (size_t i = 0; i < n; i++) {
        noise[i] = noise_variance + (data->noise == NULL ? 0.0 : data->noise[i]);
        work->A[i * n + i] += noise[i];
    }
    if (data->trend != NULL)
        add_trend(data->trend, n, work->A);
    TRY(mat_cholesky(work->A, n, n, work->vector + 2 * n, &jitter, NULL));
    memcpy(alpha, data->y, n * sizeof *alpha);
    mat_solve_lower(work->A, n, n, alpha);
    *value = -0.5 * (mat_dot(alpha, alpha, n) + mat_log_det(work->A, n, n) + (double)n * LOG_2PI);
    mat_solve_upper(work->A, n, n, alpha);
    if (!isfinite(*value) || !mat_is_finite(alpha, n))
        return STATUS_NUMERIC;
    for (size_t i = 0; i < n; i++)
        noise[i] += jitter;
    return gradient == NULL ? STATUS_OK : likelihood_gradient(data, kernel, work, noise_variance, gradient);
}
