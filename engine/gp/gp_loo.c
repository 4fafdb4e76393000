/* Leave-one-out predictions.  The columns of L^-1 are made some at a time; column j is 0 above row j, so a chunk needs
 * the part of L below its first column only. */
#include "engine/gp/gp_loo.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 256 };

/* Squared norms of the first m columns of L^-1, L [rows][ld]; B [rows][m] scratch. */
static void add_columns(const double *L, size_t rows, size_t ld, size_t m, double *B, double *norms)
{
    memset(B, 0, rows * m * sizeof *B);
    for (size_t k = 0; k < m; k++)
        B[k * m + k] = 1.0;
    mat_solve_lower_many(L, rows, ld, B, m, m);
    memset(norms, 0, m * sizeof *norms);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < m; k++)
            norms[k] += B[i * m + k] * B[i * m + k];
}

enum status gp_loo_diagonal(const struct gp_factor *factor, double *diagonal, struct arena *scratch, struct error *err)
{
    const double     *L = factor->L;
    size_t            n = factor->n, ld = factor->ld;
    struct arena_mark mark = arena_mark(scratch);
    bool              is_late = false;
    double           *B = arena_alloc(scratch, n, (n < COLUMNS ? n : COLUMNS) * sizeof *B);
    if (B == NULL)
        return error_no_memory(err);
    for (size_t first = 0; first < n && !is_late; first += COLUMNS) {
        is_late = factor->late != NULL && factor->late(factor->late_arg);
        if (!is_late)
            add_columns(L + first * ld + first, n - first, ld, n - first < COLUMNS ? n - first : COLUMNS, B,
                        diagonal + first);
    }
    arena_release(scratch, mark);
    if (is_late)
        return error_set(err, STATUS_BUSY, "deadline", "", "the time is over");
    return mat_is_finite(diagonal, n)
               ? STATUS_OK
               : error_set(err, STATUS_NUMERIC, "not_finite", "", "the factor has no finite inverse");
}

enum status gp_loo(const struct gp *gp, struct gp_values y, double *mean, double *sd, struct arena *scratch,
                   struct error *err)
{
    const struct gp_factor factor = {gp->L, y.n, gp->capacity, y.late, y.late_arg};
    TRY(gp_loo_diagonal(&factor, sd, scratch, err));
    for (size_t i = 0; i < y.n; i++) {
        mean[i] = y.at[i] - gp->alpha[i] / sd[i];
        sd[i] = sqrt(1.0 / sd[i]);
    }
    return STATUS_OK;
}

double gp_loo_condition(const double *L, size_t n, size_t ld)
{
    double largest = 0.0, smallest = HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, L[i * ld + i]);
        smallest = fmin(smallest, L[i * ld + i]);
    }
    return n == 0 ? 1.0 : largest / smallest * (largest / smallest);
}

double gp_loo_log_density(double z, double sd)
{
    return -log(sd) - 0.5 * z * z - HALF_LOG_2PI;
}
