/* Attacks on a release.  Residuals are formed as vectors, never as differences of norms, so that rounding error stays
 * rounding error. */
#include "engine/privacy/audit.h"

#include "engine/base/numbers.h"
#include "engine/math/log_gamma.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BISECTIONS = 100 };

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double       c = 1, d = 1 / fmax(1 - (a + b) * x / (a + 1), tiny), value = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d), c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d), c = 1 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return value;
}

/* I_x(a, b). */
static double beta_regularised(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(a * log(x) + b * log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double beta_quantile(double a, double b, double probability)
{
    double low = 0, high = 1;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        *(beta_regularised(a, b, middle) < probability ? &low : &high) = middle;
    }
    return high;
}

struct audit_limits audit_limits_of(size_t hits, size_t trials, double confidence)
{
    double k = (double)hits, n = (double)trials, tail = (1 - confidence) / 2;
    return (struct audit_limits){
        .low = hits == 0 ? 0 : beta_quantile(k, n - k + 1, tail),
        .high = hits == trials ? 1 : beta_quantile(k + 1, n - k, 1 - tail),
    };
}

double audit_success_bound(double epsilon, double delta)
{
    return (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon));
}

double audit_epsilon_bound(const struct audit_counts *counts, double delta)
{
    double bound = 0;
    for (int set = 0; set < 2; set++) {
        struct audit_limits named = audit_limits_of(counts->right[set], counts->trials, 0.95);
        struct audit_limits falsely = audit_limits_of(counts->trials - counts->right[1 - set], counts->trials, 0.95);
        if (named.low > delta)
            bound = fmax(bound, log((named.low - delta) / falsely.high));
    }
    return bound;
}

/* Relative to the first row, so that a column of equal numbers becomes exactly 0; twice, for the mean of the rest. */
static void centre(double *x, size_t n, size_t d)
{
    for (size_t c = 0; c < d; c++)
        for (int pass = 0; pass < 2; pass++) {
            double first = x[c], mean = 0;
            for (size_t i = 0; i < n; i++)
                mean += (x[i * d + c] - first) / (double)n;
            for (size_t i = 0; i < n; i++)
                x[i * d + c] = x[i * d + c] - first - mean;
        }
}

/* U [n][d] := an orthonormal basis of the columns of U after centring; columns beyond the rank are 0. */
static enum status column_basis(double *U, size_t n, size_t d, struct arena *scratch, struct error *err)
{
    double *s = ARENA_NEW(scratch, double, d), *Vt = ARENA_NEW(scratch, double, d *d);
    if (s == NULL || Vt == NULL)
        return error_no_memory(err);
    centre(U, n, d);
    TRY(mat_svd(U, n, d, s, Vt, err));
    if (!(s[0] > 0))
        return error_set(err, STATUS_INVALID, "equal_rows", "", "all rows are equal");
    for (size_t c = 0; c < d; c++)
        for (size_t i = 0; i < n && s[c] <= 1e-12 * s[0]; i++)
            U[i * d + c] = 0;
    return STATUS_OK;
}

/* Zc [p][n]: centred columns one after the other. */
static void columns_of(struct audit_matrix Z, double *Zc)
{
    for (size_t c = 0; c < Z.columns; c++) {
        for (size_t i = 0; i < Z.rows; i++)
            Zc[c * Z.rows + i] = Z.at[i * Z.columns + c];
        centre(Zc + c * Z.rows, Z.rows, 1);
    }
}

/* work [n + d] */
static double residual_of(const double *U, size_t n, size_t d, const double *Zc, size_t p, double *work)
{
    double off = 0, all = 0, *along = work + n;
    for (size_t c = 0; c < p; c++) {
        const double *z = Zc + c * n;
        mat_vector(U, n, d, true, z, along);
        mat_vector(U, n, d, false, along, work);
        for (size_t i = 0; i < n; i++) {
            off += (z[i] - work[i]) * (z[i] - work[i]);
            all += z[i] * z[i];
        }
    }
    return all > 0 ? sqrt(off / all) : NAN;
}

struct attack {
    struct audit_matrix X;
    size_t              p;
    double             *Zc, *U, *work;
    struct arena       *scratch;
};

static enum status attack_init(struct attack *attack, struct audit_matrix X, struct audit_matrix Z,
                               struct arena *scratch, struct error *err)
{
    if (X.rows != Z.rows || X.rows < X.columns + 2 || X.columns == 0 || Z.columns == 0)
        return error_set(err, STATUS_INVALID, "bad_size", "",
                         "the attack needs as many rows in both, two more than columns");
    if (!mat_is_finite(X.at, X.rows * X.columns) || !mat_is_finite(Z.at, Z.rows * Z.columns))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "a value is not finite");
    *attack = (struct attack){.X = X,
                              .p = Z.columns,
                              .Zc = ARENA_NEW(scratch, double, Z.rows *Z.columns),
                              .U = ARENA_NEW(scratch, double, X.rows *X.columns),
                              .work = ARENA_NEW(scratch, double, X.rows + X.columns),
                              .scratch = scratch};
    if (attack->Zc == NULL || attack->U == NULL || attack->work == NULL)
        return error_no_memory(err);
    columns_of(Z, attack->Zc);
    return STATUS_OK;
}

/* For X with v added to one row; v == NULL: for X itself. */
static enum status attack_residual(struct attack *attack, size_t row, const double *v, double *residual,
                                   struct error *err)
{
    struct audit_matrix X = attack->X;
    struct arena_mark   mark = arena_mark(attack->scratch);
    memcpy(attack->U, X.at, X.rows * X.columns * sizeof *attack->U);
    for (size_t c = 0; c < X.columns && v != NULL; c++)
        attack->U[row * X.columns + c] += v[c];
    enum status status = column_basis(attack->U, X.rows, X.columns, attack->scratch, err);
    if (status == STATUS_OK)
        *residual = residual_of(attack->U, X.rows, X.columns, attack->Zc, attack->p, attack->work);
    arena_release(attack->scratch, mark);
    return status;
}

static void random_direction(struct rng *rng, double length, size_t d, double *v)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++) {
        v[c] = rng_normal(rng);
        sum += v[c] * v[c];
    }
    for (size_t c = 0; c < d; c++)
        v[c] *= length / sqrt(sum);
}

static enum status column_trials(struct attack *attack, uint64_t seed, double *v, struct audit_columns *out,
                                 struct error *err)
{
    struct rng rng = rng_at(seed, 1, RNG_POINT);
    TRY(attack_residual(attack, 0, NULL, &out->own_residual, err));
    out->right = 0;
    out->other_residual_min = INFINITY;
    for (size_t i = 0; i < out->trials; i++) {
        double other;
        size_t row = rng_below(&rng, attack->X.rows);
        random_direction(&rng, out->distance, attack->X.columns, v);
        TRY(attack_residual(attack, row, v, &other, err));
        out->right += out->own_residual < other;
        out->other_residual_min = fmin(out->other_residual_min, other);
    }
    return STATUS_OK;
}

enum status audit_column_space(struct audit_matrix X, struct audit_matrix Z, uint64_t seed, struct arena *scratch,
                               struct audit_columns *out, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    struct attack     attack;
    double           *v = ARENA_NEW(scratch, double, X.columns);
    enum status       status = v == NULL ? error_no_memory(err) : attack_init(&attack, X, Z, scratch, err);
    if (status == STATUS_OK)
        status = column_trials(&attack, seed, v, out, err);
    arena_release(scratch, mark);
    return status;
}

/* The fit: B [p + 1][d] = pinv(A) X_known with A = [1 z] of the known rows, by the SVD of A or of A'. */
struct fit {
    struct audit_matrix X, Z;
    size_t             *order;       /* [n] known rows first */
    size_t              known, wide; /* p + 1 */
    double             *B, *row;
};

static double entry(const struct fit *fit, size_t k, size_t c)
{
    return c == 0 ? 1 : fit->Z.at[fit->order[k] * fit->Z.columns + c - 1];
}

static enum status fit_map(struct fit *fit, struct arena *scratch, struct error *err)
{
    size_t  m = fit->known, w = fit->wide, d = fit->X.columns, tall = m >= w ? m : w, thin = m >= w ? w : m;
    double *A = ARENA_NEW(scratch, double, m *w), *s = ARENA_NEW(scratch, double, thin);
    double *Vt = ARENA_NEW(scratch, double, thin *thin);
    if (A == NULL || s == NULL || Vt == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < tall; i++)
        for (size_t k = 0; k < thin; k++)
            A[i * thin + k] = m >= w ? entry(fit, i, k) : entry(fit, k, i);
    TRY(mat_svd(A, tall, thin, s, Vt, err));
    memset(fit->B, 0, w * d * sizeof *fit->B);
    for (size_t k = 0; k < thin && s[k] > 1e-10 * s[0]; k++)
        for (size_t i = 0; i < m; i++) {
            double at_row = m >= w ? A[i * thin + k] : Vt[k * thin + i];
            for (size_t c = 0; c < w; c++) {
                double at_column = m >= w ? Vt[k * thin + c] : A[c * thin + k];
                mat_axpy(d, at_column * at_row / s[k], fit->X.at + fit->order[i] * d, fit->B + c * d);
            }
        }
    return STATUS_OK;
}

static double distance_between(const double *x, const double *y, size_t d)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += (x[c] - y[c]) * (x[c] - y[c]);
    return sqrt(sum);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, numbers_order);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void guess_others(struct fit *fit, double *errors, struct audit_known *out)
{
    size_t  n = fit->X.rows, d = fit->X.columns, m = fit->known;
    double *mean = fit->row + d;
    memset(mean, 0, d * sizeof *mean);
    for (size_t k = 0; k < m; k++)
        mat_axpy(d, 1 / (double)m, fit->X.at + fit->order[k] * d, mean);
    for (size_t k = m; k < n; k++)
        errors[k - m] = distance_between(fit->X.at + fit->order[k] * d, mean, d);
    out->typical = median(errors, n - m);
    for (size_t k = m; k < n; k++) {
        memset(fit->row, 0, d * sizeof *fit->row);
        for (size_t c = 0; c < fit->wide; c++)
            mat_axpy(d, entry(fit, k, c), fit->B + c * d, fit->row);
        errors[k - m] = distance_between(fit->X.at + fit->order[k] * d, fit->row, d);
    }
    out->median_error = median(errors, n - m);
}

enum status audit_known_rows(struct audit_matrix X, struct audit_matrix Z, uint64_t seed, struct arena *scratch,
                             struct audit_known *out, struct error *err)
{
    if (X.rows != Z.rows || out->known == 0 || out->known >= X.rows)
        return error_set(err, STATUS_INVALID, "bad_size", "", "the attack needs a known row, and one to guess");
    struct arena_mark mark = arena_mark(scratch);
    struct rng        rng = rng_at(seed, 2, RNG_POINT);
    struct fit        fit = {.X = X,
                             .Z = Z,
                             .order = ARENA_NEW(scratch, size_t, X.rows),
                             .known = out->known,
                             .wide = Z.columns + 1,
                             .B = ARENA_NEW(scratch, double, (Z.columns + 1) * X.columns),
                             .row = ARENA_NEW(scratch, double, 2 * X.columns)};
    double           *errors = ARENA_NEW(scratch, double, X.rows);
    bool              has_memory = fit.order != NULL && fit.B != NULL && fit.row != NULL && errors != NULL;
    for (size_t i = 0; i < X.rows && has_memory; i++)
        fit.order[i] = i;
    for (size_t i = 0; i < out->known && has_memory; i++) {
        size_t other = i + rng_below(&rng, X.rows - i), row = fit.order[other];
        fit.order[other] = fit.order[i];
        fit.order[i] = row;
    }
    enum status status = has_memory ? fit_map(&fit, scratch, err) : error_no_memory(err);
    if (status == STATUS_OK)
        guess_others(&fit, errors, out);
    arena_release(scratch, mark);
    return status;
}
