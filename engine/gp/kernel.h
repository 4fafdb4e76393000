/* Stationary covariance functions with one length-scale per coordinate (ARD).
 *   r^2 = sum_j ((x_j - x'_j) / l_j)^2
 *   SE           s2 exp(-r^2/2)                                 Rasmussen & Williams 2006, (4.9)
 *   Matern 1/2   s2 exp(-r)                                     (4.17) with nu = 1/2 ...
 *   Matern 3/2   s2 (1 + sqrt3 r) exp(-sqrt3 r)
 *   Matern 5/2   s2 (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r) */
#ifndef GNOMON_ENGINE_KERNEL_H
#define GNOMON_ENGINE_KERNEL_H

#include <stddef.h>

enum kernel_kind { KERNEL_SE, KERNEL_MATERN12, KERNEL_MATERN32, KERNEL_MATERN52 };

struct kernel {
    enum kernel_kind kind;
    size_t           dims;
    double           variance;      /* s2 > 0 */
    const double    *length_scales; /* [dims] > 0; borrowed */
};

/* k as a function of r^2 (without s2), and dk/d(r^2) (without s2; Matern 1/2 has none at 0: returns 0 there). */
double kernel_value(enum kernel_kind kind, double r2);
double kernel_slope(enum kernel_kind kind, double r2);

/* r^2 between x and Z_i for i < m: r2[m].  x [dims], Z [m][dims] row-major.  Cost O(m dims). */
void kernel_distances(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *r2);

/* r^2 between X_i and X_k for k <= i < n: the lower triangle of out [n][n].  Cost O(n^2 dims). */
void kernel_distance_matrix(const struct kernel *kernel, const double *X, size_t n, double *out);

/* k(x, Z_i) for i < m: out[m].  x [dims], Z [m][dims] row-major.  Cost O(m dims). */
void kernel_row(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *out);

/* k(x, Z_i) as kernel_row, and slope[m] its derivative s2 dk/d(r^2). */
void kernel_row_slope(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *out,
                      double *slope);

/* out[len] := s2 k(factor r2[i]) and slope[len] := s2 dk/d(r^2) there; of the kernel only kind and variance. */
void kernel_map(const struct kernel *kernel, double factor, const double *r2, size_t len, double *out, double *slope);

/* K(X, Z): out [n][m].  X [n][dims], Z [m][dims].  Cost O(n m dims). */
void kernel_cross(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m, double *out);

/* K(X, X) without noise: out [n][ld], the lower triangle including the diagonal is set; ld >= n.  Cost O(n^2 dims). */
void kernel_matrix(const struct kernel *kernel, const double *X, size_t n, double *out, size_t ld);

/* K(X, X) as kernel_matrix with ld = n, and in the lower triangle of slope [n][n] its derivative s2 dk/d(r^2). */
void kernel_matrix_slope(const struct kernel *kernel, const double *X, size_t n, double *out, double *slope);

/* sum over pairs i > k of W_ik (x_ij - x_kj)^2 / l_j^2, for each coordinate j: sums [dims].
 * W [n][n], strictly lower triangle.  This is what the likelihood gradient needs.  Cost O(n^2 dims). */
void kernel_weigh_distances(const struct kernel *kernel, const double *X, size_t n, const double *W, double *sums);

#endif
