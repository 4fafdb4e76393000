/* Covariance matrices.
 * Work goes over tiles of BLOCK points by CHUNK coordinates, transposed and divided by the length-scales, so that the
 * inner loops run over neighbouring doubles and have a fixed length, which compilers turn into vector instructions
 * without being allowed to reorder sums. */
#include "engine/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 32, CHUNK = 16 };

static const double SQRT3 = 1.7320508075688772, SQRT5 = 2.2360679774997897;

double kernel_value(enum kernel_kind kind, double r2)
{
    double r = sqrt(r2);
    switch (kind) {
    case KERNEL_SE:
        return exp(-0.5 * r2);
    case KERNEL_MATERN12:
        return exp(-r);
    case KERNEL_MATERN32:
        return (1.0 + SQRT3 * r) * exp(-SQRT3 * r);
    case KERNEL_MATERN52:
        return (1.0 + SQRT5 * r + 5.0 / 3.0 * r2) * exp(-SQRT5 * r);
    }
    return NAN;
}

double kernel_slope(enum kernel_kind kind, double r2)
{
    double r = sqrt(r2);
    switch (kind) {
    case KERNEL_SE:
        return -0.5 * exp(-0.5 * r2);
    case KERNEL_MATERN12:
        return r > 0.0 ? -0.5 / r * exp(-r) : 0.0;
    case KERNEL_MATERN32:
        return -1.5 * exp(-SQRT3 * r);
    case KERNEL_MATERN52:
        return -5.0 / 6.0 * (1.0 + SQRT5 * r) * exp(-SQRT5 * r);
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
static void tile_distances(const struct tile *tile, const double *x, double *restrict r2)
{
    for (size_t j = 0; j < tile->dims; j++) {
        double xj = x[tile->dim + j] * tile->inverse[j];
        const double *restrict zj = tile->x[j];
        for (size_t k = 0; k < BLOCK; k++)
            r2[k] += (xj - zj[k]) * (xj - zj[k]);
    }
}

struct target {
    double *r2; /* [n][ld] out */
    size_t  ld;
    bool    lower; /* X is Z: only the lower triangle */
};

static void distances(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m,
                      const struct target *out)
{
    struct tile tile;
    for (tile.from = 0; tile.from < m; tile.from += BLOCK)
        for (tile.dim = 0; tile.dim < kernel->dims; tile.dim += CHUNK) {
            tile_load(&tile, kernel, Z, m);
            for (size_t i = out->lower ? tile.from : 0; i < n; i++) {
                double  r2[BLOCK] = {0};
                double *at = out->r2 + i * out->ld + tile.from;
                size_t  points = out->lower ? smaller(tile.points, i - tile.from + 1) : tile.points;
                if (tile.dim > 0)
                    memcpy(r2, at, points * sizeof *r2);
                tile_distances(&tile, X + i * kernel->dims, r2);
                memcpy(at, r2, points * sizeof *r2);
            }
        }
}

/* r^2 -> s2 k(r^2), in place. */
static void map_values(const struct kernel *kernel, double *r2, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r2[i] = kernel->variance * kernel_value(kernel->kind, r2[i]);
}

void kernel_distances(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *r2)
{
    distances(kernel, x, 1, Z, m, &(struct target){.r2 = r2, .ld = m});
}

void kernel_row(const struct kernel *kernel, const double *x, const double *Z, size_t m, double *out)
{
    kernel_distances(kernel, x, Z, m, out);
    map_values(kernel, out, m);
}

void kernel_cross(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m, double *out)
{
    distances(kernel, X, n, Z, m, &(struct target){.r2 = out, .ld = m});
    map_values(kernel, out, n * m);
}

void kernel_matrix(const struct kernel *kernel, const double *X, size_t n, double *out, size_t ld)
{
    distances(kernel, X, n, X, n, &(struct target){.r2 = out, .ld = ld, .lower = true});
    for (size_t i = 0; i < n; i++)
        map_values(kernel, out + i * ld, i + 1);
}

/* One exponential for the value and the slope. */
static void map_both(const struct kernel *kernel, double *r2, double *slope, size_t n)
{
    double s2 = kernel->variance;
    for (size_t i = 0; i < n; i++) {
        double q = r2[i], r = sqrt(q), e;
        switch (kernel->kind) {
        case KERNEL_SE:
            r2[i] = s2 * exp(-0.5 * q);
            slope[i] = -0.5 * r2[i];
            break;
        case KERNEL_MATERN12:
            r2[i] = s2 * exp(-r);
            slope[i] = r > 0.0 ? -0.5 / r * r2[i] : 0.0;
            break;
        case KERNEL_MATERN32:
            e = s2 * exp(-SQRT3 * r);
            r2[i] = (1.0 + SQRT3 * r) * e;
            slope[i] = -1.5 * e;
            break;
        case KERNEL_MATERN52:
            e = s2 * exp(-SQRT5 * r);
            r2[i] = (1.0 + SQRT5 * r + 5.0 / 3.0 * q) * e;
            slope[i] = -5.0 / 6.0 * (1.0 + SQRT5 * r) * e;
            break;
        }
    }
}

void kernel_matrix_slope(const struct kernel *kernel, const double *X, size_t n, double *out, double *slope)
{
    distances(kernel, X, n, X, n, &(struct target){.r2 = out, .ld = n, .lower = true});
    for (size_t i = 0; i < n; i++)
        map_both(kernel, out + i * n, slope + i * n, i + 1);
}

/* sums[j][k] += w[k] (x_j - z_kj)^2 / l_j^2 for the tile's coordinates and points. */
static void tile_weigh(const struct tile *tile, const double *x, const double *restrict w,
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
