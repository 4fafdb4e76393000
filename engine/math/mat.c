/* Dense linear algebra on CBLAS and LAPACKE; the only file that names them.
 * A row-major lower triangle is the same memory as a column-major upper one, so LAPACK is called with 'U' in column
 * order: LAPACKE's row-major mode would copy and transpose the matrix at every call.
 * The _work functions are used because the finiteness checks are done here. */
#include "engine/math/mat.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static int to_int(size_t n)
{
    assert(n <= INT_MAX);
    return (int)n;
}

/* x * 0 is 0 for a finite x and NaN otherwise; eight sums keep the additions independent of each other. */
bool mat_is_finite(const double *x, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sum[k] += x[i + k] * 0.0;
    for (; i < n; i++)
        sum[0] += x[i] * 0.0;
    for (size_t k = 1; k < 8; k++)
        sum[0] += sum[k];
    return sum[0] == 0.0;
}

static bool is_lower_finite(const double *A, size_t n, size_t ld)
{
    for (size_t i = 0; i < n; i++)
        if (!mat_is_finite(A + i * ld, i + 1))
            return false;
    return true;
}

/* The rows of a factor have the norms of the square roots of A's diagonal, and a NaN in a row reaches its diagonal:
 * so a finite positive diagonal says that all of L is finite. */
static bool has_good_diagonal(const double *L, size_t n, size_t ld)
{
    for (size_t i = 0; i < n; i++)
        if (!(L[i * ld + i] > 0.0) || !isfinite(L[i * ld + i]))
            return false;
    return true;
}

static bool factor(double *A, size_t n, size_t ld)
{
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', to_int(n), A, to_int(ld)) == 0 && has_good_diagonal(A, n, ld);
}

enum { TILE = 16, INVERT_WHOLE = 24, INVERT_COLUMNS = 32 };

/* upper := lower' (save), or lower := upper' (restore), without the diagonal; in tiles, so that both stay in cache.
 * Of 256 rows, the most of a fit, the columns of a larger tile would share too few sets of it. */
static void mirror(double *A, size_t n, size_t ld, bool save)
{
    for (size_t i0 = 0; i0 < n; i0 += TILE)
        for (size_t k0 = 0; k0 <= i0; k0 += TILE)
            for (size_t i = i0; i < i0 + TILE && i < n; i++)
                for (size_t k = k0; k < k0 + TILE && k < i; k++) {
                    double *lower = A + i * ld + k, *upper = A + k * ld + i;
                    *(save ? upper : lower) = save ? *lower : *upper;
                }
}

static void restore(double *A, size_t n, size_t ld, const double *diagonal, double jitter)
{
    mirror(A, n, ld, false);
    for (size_t i = 0; i < n; i++)
        A[i * ld + i] = diagonal[i] + jitter;
}

enum status mat_cholesky(double *A, size_t n, size_t ld, double *spare, double *jitter, struct error *err)
{
    *jitter = 0.0;
    if (n == 0)
        return STATUS_OK;
    double mean = 0.0;
    for (size_t i = 0; i < n; i++) {
        spare[i] = A[i * ld + i];
        mean += spare[i] / (double)n;
    }
    mirror(A, n, ld, true);
    if (factor(A, n, ld))
        return STATUS_OK;
    restore(A, n, ld, spare, 0.0);
    if (!is_lower_finite(A, n, ld)) /* only looked for when it matters: it is a pass over the matrix */
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the matrix has an entry that is not finite");
    for (int power = -10; power <= -4; power++) {
        *jitter = mean * pow(10.0, power);
        restore(A, n, ld, spare, *jitter);
        if (factor(A, n, ld))
            return STATUS_OK;
    }
    return error_set(err, STATUS_NUMERIC, "not_positive_definite", "", "no jitter makes the matrix positive definite");
}

enum status mat_cholesky_append(const double *L, size_t n, size_t ld, double *row, double floor, struct error *err)
{
    if (!mat_is_finite(row, n + 1))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the new row has an entry that is not finite");
    mat_solve_lower(L, n, ld, row);
    double pivot = row[n] - mat_dot(row, row, n);
    if (!(pivot > floor))
        return error_set(err, STATUS_NUMERIC, "not_positive_definite", "", "the new pivot is %g", pivot);
    row[n] = sqrt(pivot);
    return STATUS_OK;
}

void mat_solve_lower(const double *L, size_t n, size_t ld, double *x)
{
    if (n > 0)
        cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n), L, to_int(ld), x, 1);
}

void mat_solve_upper(const double *L, size_t n, size_t ld, double *x)
{
    if (n > 0)
        cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, to_int(n), L, to_int(ld), x, 1);
}

/* L := L^-1 by halves, [[A, 0], [B, C]] -> [[A^-1, 0], [-C^-1 B A^-1, C^-1]], so that nearly all of it is products of
 * matrices: dtrtri takes some three times as long at n = 100 to 256. */
static bool invert_lower(double *L, size_t n, size_t ld)
{
    if (n <= INVERT_WHOLE)
        return LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', to_int(n), L, to_int(ld)) == 0;
    size_t  half = n / 2, rest = n - half;
    double *B = L + half * ld, *C = B + half;
    if (!invert_lower(L, half, ld) || !invert_lower(C, rest, ld))
        return false;
    cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(rest), to_int(half), -1.0, C,
                to_int(ld), B, to_int(ld));
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, to_int(rest), to_int(half), 1.0, L,
                to_int(ld), B, to_int(ld));
    return true;
}

/* OpenBLAS has no dtrsm of its own for processors with AVX-512, where products take a half to a quarter of its time. */
static bool has_slow_solve(void)
{
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    size_t                   i = 0;
    while (i < sizeof names / sizeof names[0] && strcmp(mat_core_name(), names[i]) != 0)
        i++;
    return i < sizeof names / sizeof names[0];
}

/* B := L^-1 B for a block on the diagonal of L, which is inverted; false: it is singular. */
static bool solve_block(const double *L, size_t n, size_t ld, double *B, size_t m, size_t ldb)
{
    _Alignas(
        MAT_LINE) double inverse[INVERT_WHOLE * INVERT_WHOLE]; /* as rows: the bits are not to depend on the stack */
    for (size_t i = 0; i < n; i++)
        memcpy(inverse + i * n, L + i * ld, (i + 1) * sizeof *inverse);
    if (!invert_lower(inverse, n, n))
        return false;
    cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n), to_int(m), 1.0, inverse,
                to_int(n), B, to_int(ldb));
    return true;
}

/* C [m][n] := alpha A [m][k] B [k][n] + beta C. */
struct product {
    size_t        m, n, k;
    double        alpha, beta;
    const double *A, *B;
    double       *C;
    size_t        lda, ldb, ldc;
};

/* On processors with AVX-512 OpenBLAS copies one to four columns beyond a multiple of eight, and does not check that it got
 * the memory for them.  So these columns are products with vectors. */
static void multiply(const struct product *p)
{
    size_t whole = p->n % 8 > 4 ? p->n : p->n - p->n % 8;
    if (whole > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_int(p->m), to_int(whole), to_int(p->k), p->alpha,
                    p->A, to_int(p->lda), p->B, to_int(p->ldb), p->beta, p->C, to_int(p->ldc));
    for (size_t j = whole; j < p->n; j++)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, to_int(p->m), to_int(p->k), p->alpha, p->A, to_int(p->lda), p->B + j,
                    to_int(p->ldb), p->beta, p->C + j, to_int(p->ldc));
}

void mat_solve_lower_many(const double *L, size_t n, size_t ld, double *B, size_t m, size_t ldb)
{
    if (n == 0 || m == 0)
        return;
    bool is_slow = has_slow_solve();
    if (is_slow && n > INVERT_WHOLE) {
        size_t half = n / 2, rest = n - half;
        mat_solve_lower_many(L, half, ld, B, m, ldb);
        multiply(&(struct product){.m = rest,
                                   .n = m,
                                   .k = half,
                                   .alpha = -1.0,
                                   .beta = 1.0,
                                   .A = L + half * ld,
                                   .B = B,
                                   .C = B + half * ldb,
                                   .lda = ld,
                                   .ldb = ldb,
                                   .ldc = ldb});
        mat_solve_lower_many(L + half * ld + half, rest, ld, B + half * ldb, m, ldb);
    } else if (!is_slow || m < INVERT_COLUMNS || !solve_block(L, n, ld, B, m, ldb))
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n), to_int(m), 1.0, L,
                    to_int(ld), B, to_int(ldb));
}

enum status mat_inverse_from_cholesky(const double *L, size_t n, size_t ld, double *out, struct error *err)
{
    for (size_t i = 0; i < n && out != L; i++)
        memmove(out + i * n, L + i * ld, (i + 1) * sizeof *out);
    if (n > 0 &&
        (!invert_lower(out, n, n) || LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'U', to_int(n), out, to_int(n)) != 0))
        return error_set(err, STATUS_NUMERIC, "singular", "", "the factor has a zero pivot");
    if (!is_lower_finite(out, n, n))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the inverse is not finite");
    return STATUS_OK;
}

double mat_log_det(const double *L, size_t n, size_t ld)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += 2.0 * log(L[i * ld + i]);
    return sum;
}

double mat_dot(const double *x, const double *y, size_t n)
{
    return cblas_ddot(to_int(n), x, 1, y, 1);
}

void mat_axpy(size_t n, double a, const double *x, double *y)
{
    cblas_daxpy(to_int(n), a, x, 1, y, 1);
}

void mat_vector(const double *A, size_t m, size_t n, bool transposed, const double *x, double *y)
{
    if (m == 0 || n == 0) {
        memset(y, 0, (transposed ? n : m) * sizeof *y);
        return;
    }
    cblas_dgemv(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, to_int(m), to_int(n), 1.0, A, to_int(n), x, 1,
                0.0, y, 1);
}

void mat_multiply(const double *A, const double *B, size_t m, size_t k, size_t n, double *C)
{
    if (k == 0)
        memset(C, 0, m * n * sizeof *C);
    else if (m > 0 && n > 0)
        multiply(&(struct product){
            .m = m, .n = n, .k = k, .alpha = 1.0, .A = A, .B = B, .C = C, .lda = k, .ldb = n, .ldc = n});
}

static void add_gram(double factor, const double *V, size_t n, size_t m, double *C)
{
    if (n > 0 && m > 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, to_int(m), to_int(n), factor, V, to_int(m), 1.0, C,
                    to_int(m));
}

void mat_subtract_gram(const double *V, size_t n, size_t m, double *C)
{
    add_gram(-1.0, V, n, m, C);
}

void mat_add_gram(const double *V, size_t n, size_t m, double *C)
{
    add_gram(1.0, V, n, m, C);
}

void mat_gram(const double *A, size_t m, size_t k, double *C)
{
    if (m > 0 && k > 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, to_int(m), to_int(k), 1.0, A, to_int(k), 0.0, C,
                    to_int(m));
}

void mat_multiply_lower(const double *L, size_t n, size_t ld, double *x)
{
    if (n > 0)
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n), L, to_int(ld), x, 1);
}

/* In column order the same memory is A' = V diag(s) U'.  With job 'O' LAPACK leaves U' in A and V in its own array,
 * which read row by row are U and V'; for a square A it is the other way round. */
enum status mat_svd(double *A, size_t m, size_t n, double *s, double *Vt, struct error *err)
{
    assert(m >= n && n > 0);
    if (!mat_is_finite(A, m * n))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the matrix has an entry that is not finite");
    bool       square = m == n;
    double     unused = 0.0;
    lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'O', to_int(n), to_int(m), A, to_int(n), s,
                                     square ? &unused : Vt, to_int(n), square ? Vt : &unused, to_int(n));
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return error_no_memory(err);
    if (info != 0 || !mat_is_finite(s, n) || !mat_is_finite(A, m * n) || !mat_is_finite(Vt, n * n))
        return error_set(err, STATUS_NUMERIC, "no_convergence", "", "the singular values did not converge");
    if (square)
        cblas_dswap(to_int(n * n), A, 1, Vt, 1);
    return STATUS_OK;
}

/* LAPACK's eigenvectors are columns in column order, which are rows here. */
enum status mat_eigen(double *A, size_t n, double *w, struct error *err)
{
    if (!is_lower_finite(A, n, n))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the matrix has an entry that is not finite");
    lapack_int info = LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', to_int(n), A, to_int(n), w);
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return error_no_memory(err);
    if (info != 0 || !mat_is_finite(w, n) || !mat_is_finite(A, n * n))
        return error_set(err, STATUS_NUMERIC, "no_convergence", "", "the eigenvalues did not converge");
    return STATUS_OK;
}

bool mat_use_one_thread(void)
{
    openblas_set_num_threads(1);
    return openblas_get_parallel() != OPENBLAS_OPENMP;
}

const char *mat_core_name(void)
{
    return openblas_get_corename();
}
