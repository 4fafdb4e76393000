/* Dense linear algebra: the only file that names CBLAS and LAPACKE.
 * All matrices are row-major.  A Cholesky factor is lower triangular; the upper triangle is never read.
 * LAPACK reports success on NaN, so inputs and factors are checked for finiteness here, once, for everybody. */
#ifndef GNOMON_ENGINE_MAT_H
#define GNOMON_ENGINE_MAT_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a line of the cache, where vectors start whatever the stack.  With AddressSanitizer GCC 12 places nothing on the
 * stack more exactly than at 32 (its bug 110027). */
#ifdef __SANITIZE_ADDRESS__
enum { MAT_LINE = 32 };
#else
enum { MAT_LINE = 64 };
#endif

bool mat_is_finite(const double *x, size_t n);

/* Makes BLAS compute on the calling thread only, so that the same inputs give the same bits.  To be called once, before
 * any other thread starts.  False when this OpenBLAS is the OpenMP flavour, where the setting does not reach others. */
bool mat_use_one_thread(void);
/* The name of the processor type whose kernels OpenBLAS uses: "Haswell", "SkylakeX", "Prescott" when it knows none. */
const char *mat_core_name(void);

/* A = L L' in place, with the least jitter on the diagonal that makes it work: 0, then 1e-10 .. 1e-4 of the mean
 * diagonal by factors of 10.  A [n][ld], lower triangle on entry, L on return; *jitter out (absolute).
 * A is needed again at each step: it is kept in the upper triangle, which is overwritten, and in spare [n].
 * Errors: NUMERIC (not finite, or not positive definite at the last step).  O(n^3/3). */
MUST_CHECK enum status mat_cholesky(double *A, size_t n, size_t ld, double *spare, double *jitter, struct error *err);

/* Appends one row to L [n][ld]: for A' = [[A, a], [a', d]]: row = [L^-1 a, sqrt(d - |L^-1 a|^2)].
 * row [n + 1] holds a and d on entry and the new row on return; the caller's L has room (row may be L + n*ld).
 * Errors: NUMERIC when the pivot is not above floor (>= 0).  O(n^2). */
MUST_CHECK enum status mat_cholesky_append(const double *L, size_t n, size_t ld, double *row, double floor,
                                           struct error *err);

/* x := L^-1 x and x := L^-T x for one vector.  O(n^2). */
void mat_solve_lower(const double *L, size_t n, size_t ld, double *x);
void mat_solve_upper(const double *L, size_t n, size_t ld, double *x);
/* B := L^-1 B for B [n][m] with leading dimension ldb.  O(n^2 m). */
void mat_solve_lower_many(const double *L, size_t n, size_t ld, double *B, size_t m, size_t ldb);
/* out [n][n] lower triangle := (L L')^-1; out may be L when ld is n.  O(2n^3/3).  Where all of it is needed, as by gradients.
 * Errors: NUMERIC. */
MUST_CHECK enum status mat_inverse_from_cholesky(const double *L, size_t n, size_t ld, double *out, struct error *err);
/* sum of 2 log L_ii. */
double mat_log_det(const double *L, size_t n, size_t ld);

double mat_dot(const double *x, const double *y, size_t n);
/* y := y + a x */
void mat_axpy(size_t n, double a, const double *x, double *y);
/* y := A x, A [m][n] (ld n); y := A' x with transposed. */
void mat_vector(const double *A, size_t m, size_t n, bool transposed, const double *x, double *y);
/* C [m][n] := A [m][k] B [k][n] */
void mat_multiply(const double *A, const double *B, size_t m, size_t k, size_t n, double *C);
/* Lower triangle of C [m][m] := C - V' V, V [n][m].  O(n m^2). */
void mat_subtract_gram(const double *V, size_t n, size_t m, double *C);
/* Lower triangle of C [m][m] := C + V' V, V [n][m].  O(n m^2). */
void mat_add_gram(const double *V, size_t n, size_t m, double *C);
/* Lower triangle of C [m][m] := A A', A [m][k].  O(k m^2). */
void mat_gram(const double *A, size_t m, size_t k, double *C);
/* x := L x.  O(n^2). */
void mat_multiply_lower(const double *L, size_t n, size_t ld, double *x);
/* Thin SVD A [m][n] = U diag(s) V', m >= n: U [m][n] replaces A, s [n] descending, Vt [n][n].
 * Errors: NUMERIC (not finite, no convergence), NO_MEMORY.  O(m n^2). */
MUST_CHECK enum status mat_svd(double *A, size_t m, size_t n, double *s, double *Vt, struct error *err);
/* A [n][n], symmetric, of which the lower triangle is read: w [n] its eigenvalues, ascending, and for each a row of A out, an
 * eigenvector of length 1.  Errors: NUMERIC (not finite, no convergence), NO_MEMORY.  O(n^3). */
MUST_CHECK enum status mat_eigen(double *A, size_t n, double *w, struct error *err);

#endif
