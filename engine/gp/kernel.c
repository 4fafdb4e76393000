/* Covariance matrices.
 * Work goes over tiles of BLOCK points by CHUNK coordinates, transposed and divided by the length-scales, so that the
 * inner loops run over neighbouring doubles and have a fixed length, which compilers turn into vector instructions
 * without being allowed to reorder sums.  For the same reason the exponential is one of ours, and a block of distances
 * becomes one of covariances before it is stored. */
#include "engine/gp/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 32, CHUNK = 16 };

/* The same loops with wider vectors where the processor has them, chosen when the program starts.  Results are the same:
 * there is no fused multiply-add in either, and no sum is reordered.  Not under ThreadSanitizer: the choice is made by
 * code that it instruments, before it is there; nor with clang, which here has no such clones. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

static const double SQRT3 = 1.7320508075688772, SQRT5 = 2.2360679774997897;

/* exp(x) for x <= 0 to within an ulp or so; 0 below -708.  x = n log 2 + r with |r| <= log(2) / 2 (Cody & Waite
 * 1980), the Taylor series of exp(r), times 2^n made from bits.  Adding 1.5 * 2^52 leaves n in the lowest bits. */
static inline double exp_of(double x)
{
    const double magic = 6755399441055744.0, log2_high = 6.93147180369123816490e-01,
                 log2_low = 1.90821492927058770002e-10;
    double   low = x < -708.0 ? -708.0 : x, shifted = low * 1.4426950408889634 + magic, n = shifted - magic;
    double   r = (low - n * log2_high) - n * log2_low, q = 1.0 / 6227020800, power;
    uint64_t bits;
    q = q * r + 1.0 / 479001600;
    q = q * r + 1.0 / 39916800;
    q = q * r + 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return (1.0 + (r + r * r * q)) * (x < -708.0 ? 0.0 : power);
}

double kernel_value(enum kernel_kind kind, double r2)
{
    double r = sqrt(r2);
    switch (kind) {
    case KERNEL_SE:
        return exp_of(-0.5 * r2);
    case KERNEL_MATERN12:
        return exp_of(-r);
    case KERNEL_MATERN32:
        return (1.0 + SQRT3 * r) * exp_of(-SQRT3 * r);
    case KERNEL_MATERN52:
        return (1.0 + SQRT5 * r + 5.0 / 3.0 * r2) * exp_of(-SQRT5 * r);
    }
    return NAN;
}

double kernel_slope(enum kernel_kind kind, double r2)
{
    double r = sqrt(r2);
    switch (kind) {
    case KERNEL_SE:
        return -0.5 * exp_of(-0.5 * r2);
    case KERNEL_MATERN12:
        return r > 0.0 ? -0.5 / r * exp_of(-r) : 0.0;
    case KERNEL_MATERN32:
        return -1.5 * exp_of(-SQRT3 * r);
    case KERNEL_MATERN52:
        return -5.0 / 6.0 * (1.0 + SQRT5 * r) * exp_of(-SQRT5 * r);
    }
    return NAN;
}

struct tile {
    size_t from, points; /* of the matrix's rows */
    size_t dim, dims;    /* of its coordinates */
    double inverse[CHUNK];
    double x[CHUNK][BLOCK]; /* 0 beyond points */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void tile_load(struct tile *tile, const struct kernel *kernel, const double *Z, size_t m)
{
    tile->points = smaller(BLOCK, m - tile->from);
    tile->dims = smaller(CHUNK, kernel->dims - tile->dim);
    memset(tile->x, 0, tile->dims * sizeof tile->x[0]);
    for (size_t j = 0; j < tile->dims; j++)
        tile->inverse[j] = 1.0 / kernel->length_scales[tile->dim + j];
    for (size_t k = 0; k < tile->points; k++) {
        const double *z = Z + (tile->from + k) * kernel->dims + tile->dim;
        for (size_t j = 0; j < tile->dims; j++)
            tile->x[j][k] = z[j] * tile->inverse[j];
    }
}

/* r2[BLOCK] += the part of r^2 between x and the tile's points that lies in the tile's coordinates. */
WIDE static void tile_distances(const struct tile *tile, const double *x, double *restrict r2)
{
    for (size_t j = 0; j < tile->dims; j++) {
        double xj = x[tile->dim + j] * tile->inverse[j];
        const double *restrict zj = tile->x[j];
        for (size_t k = 0; k < BLOCK; k++)
            r2[k] += (xj - zj[k]) * (xj - zj[k]);
    }
}

/* A block of r^2 becomes s2 k, and slope s2 dk/d(r^2).  One loop for each kind. */
WIDE static void map_block(const struct kernel *kernel, double *restrict r2, double *restrict slope)
{
    double s2 = kernel->variance;
    switch (kernel->kind) {
    case KERNEL_SE:
        for (size_t k = 0; k < BLOCK; k++) {
            r2[k] = s2 * exp_of(-0.5 * r2[k]);
            slope[k] = -0.5 * r2[k];
        }
        break;
    case KERNEL_MATERN12:
        for (size_t k = 0; k < BLOCK; k++) {
            double r = sqrt(r2[k]);
            r2[k] = s2 * exp_of(-r);
            slope[k] = -0.5 / (r > 0.0 ? r : HUGE_VAL) * r2[k];
        }
        break;
    case KERNEL_MATERN32:
        for (size_t k = 0; k < BLOCK; k++) {
            double r = sqrt(r2[k]), e = s2 * exp_of(-SQRT3 * r);
            r2[k] = (1.0 + SQRT3 * r) * e;
            slope[k] = -1.5 * e;
        }
        break;
    case KERNEL_MATERN52:
        for (size_t k = 0; k < BLOCK; k++) {
            double q = r2[k], r = sqrt(q), e = s2 * exp_of(-SQRT5 * r);
            r2[k] = (1.0 + SQRT5 * r + 5.0 / 3.0 * q) * e;
            slope[k] = -5.0 / 6.0 * (1.0 + SQRT5 * r) * e;
        }
        break;
    }
}

struct target {
    double              *out;   /* [n][ld] */
    double              *slope; /* [n][ld], or NULL */
    size_t               ld;
    bool                 lower;  /* X is Z: only the lower triangle */
    const struct kernel *values; /* NULL: out is r^2 */
};

/* Row i of the tile, whose part of r^2 from the coordinates before is in out. */
static void fill_row(const struct tile *tile, const struct kernel *kernel, const double *x, size_t i,
                     const struct target *target)
{
    double r2[BLOCK] = {0}, slope[BLOCK];
    size_t points = target->lower ? smaller(tile->points, i - tile->from + 1) : tile->points;
    size_t at = i * target->ld + tile->from;
    bool   is_last = tile->dim + tile->dims == kernel->dims;
    if (tile->dim > 0)
        memcpy(r2, target->out + at, points * sizeof *r2);
    tile_distances(tile, x, r2);
    if (is_last && target->values != NULL)
        map_block(target->values, r2, slope);
    memcpy(target->out + at, r2, points * sizeof *r2);
    if (is_last && target->slope != NULL)
        memcpy(target->slope + at, slope, points * sizeof *slope);
}

static void fill(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m,
                 const struct target *target)
{
    struct tile tile;
    for (tile.from = 0; tile.from < m; tile.from += BLOCK)
        for (tile.dim = 0; tile.dim < kernel->dims; tile.dim += CHUNK) {
            tile_load(&tile, kernel, Z, m);
            for (size_t i = target->lower ? tile.from : 0; i < n; i++)
                fill_row(&tile, kernel, X + i * kernel->dims, i, target);
        }
}

void kernel_distances(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *r2)
{
    fill(kernel, x, 1, Z, m, &(struct target){.out = r2, .ld = m});
}

void kernel_distance_matrix(const struct kernel *kernel, const double *X, size_t n, double *out)
{
    fill(kernel, X, n, X, n, &(struct target){.out = out, .ld = n, .lower = true});
}

void kernel_row(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *out)
{
    fill(kernel, x, 1, Z, m, &(struct target){.out = out, .ld = m, .values = kernel});
}

void kernel_row_slope(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *out,
                      double *slope)
{
    fill(kernel, x, 1, Z, m, &(struct target){.out = out, .slope = slope, .ld = m, .values = kernel});
}

void kernel_map(const struct kernel *kernel, double factor, const double *r2, size_t len, double *out, double *slope)
{
    for (size_t from = 0; from < len; from += BLOCK) {
        double values[BLOCK] = {0}, slopes[BLOCK];
        size_t points = smaller(BLOCK, len - from);
        for (size_t k = 0; k < points; k++)
            values[k] = factor * r2[from + k];
        map_block(kernel, values, slopes);
        memcpy(out + from, values, points * sizeof *out);
        memcpy(slope + from, slopes, points * sizeof *slope);
    }
}

void kernel_cross(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m, double *out)
{
    fill(kernel, X, n, Z, m, &(struct target){.out = out, .ld = m, .values = kernel});
}

void kernel_matrix(const struct kernel *kernel, const double *X, size_t n, double *out, size_t ld)
{
    fill(kernel, X, n, X, n, &(struct target){.out = out, .ld = ld, .lower = true, .values = kernel});
}

void kernel_matrix_slope(const struct kernel *kernel, const double *X, size_t n, double *out, double *slope)
{
    fill(kernel, X, n, X, n, &(struct target){.out = out, .slope = slope, .ld = n, .lower = true, .values = kernel});
}

/* sums[j][k] += w[k] (x_j - z_kj)^2 / l_j^2 for the tile's coordinates and points. */
WIDE static void tile_weigh(const struct tile *tile, const double *x, const double *restrict w,
                            double (*restrict sums)[BLOCK])
{
    for (size_t j = 0; j < tile->dims; j++) {
        double xj = x[tile->dim + j] * tile->inverse[j];
        const double *restrict zj = tile->x[j];
        for (size_t k = 0; k < BLOCK; k++)
            sums[j][k] += w[k] * ((xj - zj[k]) * (xj - zj[k]));
    }
}

void kernel_weigh_distances(const struct kernel *kernel, const double *X, size_t n, const double *W, double *sums)
{
    struct tile tile;
    memset(sums, 0, kernel->dims * sizeof *sums);
    for (tile.from = 0; tile.from < n; tile.from += BLOCK)
        for (tile.dim = 0; tile.dim < kernel->dims; tile.dim += CHUNK) {
            double parts[CHUNK][BLOCK] = {{0}};
            tile_load(&tile, kernel, X, n);
            for (size_t i = tile.from + 1; i < n; i++) {
                double w[BLOCK] = {0};
                memcpy(w, W + i * n + tile.from, smaller(tile.points, i - tile.from) * sizeof *w);
                tile_weigh(&tile, X + i * kernel->dims, w, parts);
            }
            for (size_t j = 0; j < tile.dims; j++)
                for (size_t k = 0; k < BLOCK; k++)
                    sums[tile.dim + j] += parts[j][k];
        }
}
