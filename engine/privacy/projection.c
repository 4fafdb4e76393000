/* Algorithm 2 of Kharkovskii's thesis, as the text has it: the lifted singular values are sqrt(s^2 + omega^2).
 * Must not know of files, randomness or privacy claims. */
#include "engine/privacy/projection.h"

#include "engine/math/mat.h"

#include <math.h>

double projection_omega(double epsilon, double delta, size_t r)
{
    double dims = (double)r;
    return 16 * sqrt(dims * log(2 / delta)) * log(16 * dims / delta) / epsilon;
}

size_t projection_advise(double epsilon, double delta, double sigma_min, size_t limit)
{
    size_t r = 0;
    while (r < limit && sigma_min >= projection_omega(epsilon, delta, r + 1))
        r++; /* omega grows with r */
    return r;
}

/* Relative to the first row, so that a column of equal numbers becomes exactly 0. */
static void centre_columns(double *X, size_t n, size_t d, const double *length_scales)
{
    for (size_t c = 0; c < d; c++) {
        double first = X[c], mean = 0, inverse = 1 / (length_scales == NULL ? 1 : length_scales[c]);
        for (size_t i = 0; i < n; i++)
            mean += (X[i * d + c] - first) / (double)n;
        for (size_t i = 0; i < n; i++)
            X[i * d + c] = (X[i * d + c] - first - mean) * inverse;
    }
}

static double largest_row_norm(const double *X, size_t n, size_t d)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < d; c++)
            sum += X[i * d + c] * X[i * d + c];
        largest = sum > largest || isnan(sum) ? sum : largest;
    }
    return sqrt(largest);
}

enum status projection_prepare(double *X, size_t n, size_t d, const double *length_scales, double *scale,
                               struct error *err)
{
    *scale = 0;
    for (size_t c = 0; c < d && length_scales != NULL; c++)
        if (!(length_scales[c] > 0) || !isfinite(length_scales[c]))
            return error_set(err, STATUS_INVALID, "bad_length_scale", "", "length-scale %zu is not positive", c + 1);
    centre_columns(X, n, d, length_scales);
    double norm = largest_row_norm(X, n, d);
    if (norm == 0)
        return error_set(err, STATUS_INVALID, "equal_rows", "", "all rows are equal");
    if (!isfinite(norm) || !isfinite(PROJECTION_NORM / norm))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "a row has no finite norm");
    *scale = PROJECTION_NORM / norm;
    for (size_t i = 0; i < n * d; i++)
        X[i] *= *scale;
    return STATUS_OK;
}

static enum status parameters_check(const struct projection *p, size_t n, size_t d, struct error *err)
{
    if (!(p->epsilon > 0) || !isfinite(p->epsilon))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be positive");
    if (!(p->delta > 0 && p->delta < 1))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must lie between 0 and 1");
    if (p->dims == 0)
        return error_set(err, STATUS_INVALID, "bad_dims", "/dims", "at least one dimension is needed");
    if (d == 0 || n <= d)
        return error_set(err, STATUS_INVALID, "bad_size", "", "%zu rows do not exceed %zu columns", n, d);
    return STATUS_OK;
}

/* Rows of scaled V' (s_k v_k') times M, so that Z = U of it: [d][r]. */
static void weights_from_svd(const struct projection *p, const double *s, double *Vt, size_t d, const double *M,
                             double *W)
{
    double factor = 1 / sqrt((double)p->dims);
    for (size_t k = 0; k < d; k++) {
        double lifted = p->lifted ? sqrt(s[k] * s[k] + p->omega * p->omega) : s[k];
        for (size_t c = 0; c < d; c++)
            Vt[k * d + c] *= lifted * factor;
    }
    mat_multiply(Vt, M, d, d, p->dims, W);
}

enum status projection_apply(struct projection *p, struct projection_rows rows, const double *M, double *Z,
                             struct arena *scratch, struct error *err)
{
    enum { ADVISED_LIMIT = 1000 };
    size_t n = rows.n, d = rows.d;
    TRY(parameters_check(p, n, d, err));
    struct arena_mark mark = arena_mark(scratch);
    double           *s = ARENA_NEW(scratch, double, d), *Vt = ARENA_NEW(scratch, double, d *d);
    double           *W = ARENA_NEW(scratch, double, d * p->dims);
    enum status       status = STATUS_NO_MEMORY;
    if (s == NULL || Vt == NULL || W == NULL)
        error_no_memory(err);
    else
        status = mat_svd(rows.X, n, d, s, Vt, err);
    if (status == STATUS_OK) {
        p->omega = projection_omega(p->epsilon, p->delta, p->dims);
        p->sigma_min = s[d - 1];
        p->lifted = p->sigma_min < p->omega;
        p->dims_advised = projection_advise(p->epsilon, p->delta, p->sigma_min, ADVISED_LIMIT);
        weights_from_svd(p, s, Vt, d, M, W);
        mat_multiply(rows.X, W, n, d, p->dims, Z); /* it holds U */
    }
    arena_release(scratch, mark);
    if (status == STATUS_OK && !mat_is_finite(Z, n * p->dims))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the projection is not finite");
    return status;
}
