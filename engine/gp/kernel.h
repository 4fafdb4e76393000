/* Stationary covariance functions with one length-scale per coordinate (ARD), and matrices of them.
 *   r^2 = sum_j ((x_j - x'_j) / l_j)^2,   k = s2 f(r^2),   f(0) = 1
 * or, with another function of a difference than the square, r^2 = sum_j part(x_j - x'_j) / l_j^2: then f is exp(-r^2/2),
 * and k a product of one covariance for each coordinate.
 * One kind of kernel = one f = one file kernel_NAME.c with one const record + one line in kernel_list.h.  f is a
 * covariance in any number of dimensions, so (of squares) a mixture of squared exponentials (Schoenberg 1938): a random
 * frequency of it is a standard normal vector, divided by the length-scales, times a random factor.  The length-scales have no bounds
 * of a kind: what is sensible is that of the cube the inputs lie in, see gp_fit.c. */
#ifndef GNOMON_ENGINE_KERNEL_H
#define GNOMON_ENGINE_KERNEL_H

#include "engine/gp/kernel_list.h"
#include "engine/math/rng.h"

#include <stddef.h>

enum { KERNEL_BLOCK = 32 }; /* points whose distances become covariances together */

struct kernel_kind {
    const char *name; /* as options and kernel_list.h have it */
    const char *help;
    double (*value)(double r2); /* f, for 0 <= r2 <= KERNEL_R2_MAX */
    double (*slope)(double r2); /* df/d(r2); Matern 1/2 has none at 0: 0 there */
    /* r2[KERNEL_BLOCK] := s2 f(r2), slopes[KERNEL_BLOCK] := s2 df/d(r2): with s2 = 1 bitwise value and slope. */
    void (*map)(double s2, double *restrict r2, double *restrict slopes);
    double (*frequency)(struct rng *rng); /* that factor: one draw of it; NULL with a part of its own */
    /* NULL: the square.  As even as it is: a coordinate's part of r2 l^2, its derivative, and one draw of a frequency. */
    double (*part)(double difference);
    double (*part_slope)(double difference);
    double (*part_frequency)(double length_scale, struct rng *rng);
};

/* In the order of the documentation; the value of an option with the choices kernel_names is an index of kernel_kinds. */
extern const struct kernel_kind *const kernel_kinds[]; /* [KERNELS] */
extern const char *const               kernel_names[]; /* [KERNELS], then NULL */
const char                            *kernel_help(size_t number);
extern const char *const               kernel_names_any_units[]; /* the first of them, then NULL */
#define KERNEL_CHOICES .max = KERNELS - 1, .choices = kernel_names, .choice_help = kernel_help
#define KERNEL_CHOICES_ANY_UNITS \
    .max = KERNELS_ANY_UNITS - 1, .choices = kernel_names_any_units, .choice_help = kernel_help

/* Points that a model is asked of. */
struct points {
    const double *at; /* [n][dims] row-major */
    size_t        n;
};

struct kernel {
    const struct kernel_kind *kind;
    size_t                    dims;
    double                    variance;      /* s2 > 0 */
    const double             *length_scales; /* [dims] > 0; borrowed */
};

/* f of any r2 >= 0: beyond KERNEL_R2_MAX f no longer changes, and a formula may overflow. */
#define KERNEL_R2_MAX 1e100
double kernel_value(const struct kernel_kind *kind, double r2);

/* Half of the derivative of a coordinate's part of r^2 l^2 by the difference. */
static inline double kernel_half_slope(const struct kernel_kind *kind, double difference)
{
    return kind->part_slope == NULL ? difference : 0.5 * kind->part_slope(difference);
}

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

/* sum over pairs i > k of W_ik (x_ij - x_kj)^2 / l_j^2 (or part there), for each coordinate j: sums [dims].
 * W [n][n], strictly lower triangle.  This is what the likelihood gradient needs.  Cost O(n^2 dims). */
void kernel_weigh_distances(const struct kernel *kernel, const double *X, size_t n, const double *W, double *sums);

#endif
