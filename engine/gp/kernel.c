/* Covariance matrices.
 * Work goes over tiles of KERNEL_BLOCK points by CHUNK coordinates, transposed and divided by the length-scales, so
 * that the inner loops run over neighbouring doubles and have a fixed length, which compilers turn into vector
 * instructions without being allowed to reorder sums.  A block of distances becomes one of covariances before it is
 * stored. */
#include "engine/gp/kernel_formula.h"
#include "engine/math/mat.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CHUNK = 16 };

const struct kernel_kind *const kernel_kinds[] = {
#define X(number, name) [KERNEL_##number] = &kernel_##name,
    KERNEL_LIST(X)
#undef X
};
const char *const kernel_names[] = {
#define X(number, name) [KERNEL_##number] = #name,
    KERNEL_LIST(X)
#undef X
        [KERNELS] = NULL,
};
const char *const kernel_names_any_units[] = {
#define X(number, name) [KERNEL_##number] = #name,
    KERNEL_LIST_ANY_UNITS(X)
#undef X
        [KERNELS_ANY_UNITS] = NULL,
};

const char *kernel_help(size_t number)
{
    return kernel_kinds[number]->help;
}

double kernel_value(const struct kernel_kind *kind, double r2)
{
    return kind->value(fmin(r2, KERNEL_R2_MAX));
}

struct tile {
    const struct kernel_kind *kind;
    size_t                    from, points;   /* of the matrix's rows */
    size_t                    dim, dims;      /* of its coordinates */
    double                    inverse[CHUNK]; /* of length-scales */
    double scale[CHUNK]; /* the same, or 1 when the kind has a part: its differences are in units of the coordinates */
    _Alignas(MAT_LINE) double x[CHUNK][KERNEL_BLOCK]; /* 0 beyond points */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void tile_load(struct tile *tile, const struct kernel *kernel, const double *Z, size_t m)
{
    tile->points = smaller(KERNEL_BLOCK, m - tile->from);
    tile->dims = smaller(CHUNK, kernel->dims - tile->dim);
    memset(tile->x, 0, tile->dims * sizeof tile->x[0]);
    for (size_t j = 0; j < tile->dims; j++)
        tile->inverse[j] = 1.0 / kernel->length_scales[tile->dim + j];
    for (size_t j = 0; j < tile->dims; j++)
        tile->scale[j] = tile->kind->part == NULL ? tile->inverse[j] : 1.0;
    for (size_t k = 0; k < tile->points; k++) {
        const double *z = Z + (tile->from + k) * kernel->dims + tile->dim;
        for (size_t j = 0; j < tile->dims; j++)
            tile->x[j][k] = z[j] * tile->scale[j];
    }
}

/* The tile's coordinate j of the part of r^2 between it and point k. */
static double part_at(const struct tile *tile, const double *x, size_t j, size_t k)
{
    return tile->kind->part(x[tile->dim + j] - tile->x[j][k]) * (tile->inverse[j] * tile->inverse[j]);
}

/* r2[KERNEL_BLOCK] += the part of r^2 between x and the tile's points that lies in the tile's coordinates. */
KERNEL_WIDE static void tile_distances(const struct tile *tile, const double *x, double *restrict r2)
{
    for (size_t j = 0; j < tile->dims; j++) {
        double xj = x[tile->dim + j] * tile->inverse[j];
        const double *restrict zj = tile->x[j];
        for (size_t k = 0; k < KERNEL_BLOCK; k++)
            r2[k] += (xj - zj[k]) * (xj - zj[k]);
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
    _Alignas(MAT_LINE) double r2[KERNEL_BLOCK] = {0}, slope[KERNEL_BLOCK];
    size_t                    points = target->lower ? smaller(tile->points, i - tile->from + 1) : tile->points;
    size_t                    at = i * target->ld + tile->from;
    bool                      is_last = tile->dim + tile->dims == kernel->dims;
    if (tile->dim > 0)
        memcpy(r2, target->out + at, points * sizeof *r2);
    if (tile->kind->part == NULL)
        tile_distances(tile, x, r2);
    for (size_t j = 0; j < tile->dims && tile->kind->part != NULL; j++)
        for (size_t k = 0; k < points; k++)
            r2[k] += part_at(tile, x, j, k);
    if (is_last && target->values != NULL)
        target->values->kind->map(target->values->variance, r2, slope);
    memcpy(target->out + at, r2, points * sizeof *r2);
    if (is_last && target->slope != NULL)
        memcpy(target->slope + at, slope, points * sizeof *slope);
}

static void fill(const struct kernel *kernel, const double *X, size_t n, const double *Z, size_t m,
                 const struct target *target)
{
    struct tile tile = {.kind = kernel->kind};
    for (tile.from = 0; tile.from < m; tile.from += KERNEL_BLOCK)
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
    for (size_t from = 0; from < len; from += KERNEL_BLOCK) {
        double values[KERNEL_BLOCK] = {0}, slopes[KERNEL_BLOCK];
        size_t points = smaller(KERNEL_BLOCK, len - from);
        for (size_t k = 0; k < points; k++)
            values[k] = factor * r2[from + k];
        kernel->kind->map(kernel->variance, values, slopes);
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
KERNEL_WIDE static void tile_weigh(const struct tile *tile, const double *x, const double *restrict w,
                                   double (*restrict sums)[KERNEL_BLOCK])
{
    for (size_t j = 0; j < tile->dims; j++) {
        double xj = x[tile->dim + j] * tile->inverse[j];
        const double *restrict zj = tile->x[j];
        for (size_t k = 0; k < KERNEL_BLOCK; k++)
            sums[j][k] += w[k] * ((xj - zj[k]) * (xj - zj[k]));
    }
}

/* As tile_weigh for a product kernel, whose parts take the place of squares; points: how many of the tile's are wanted. */
static void tile_weigh_parts(const struct tile *tile, const double *x, const double *w, size_t points,
                             double (*sums)[KERNEL_BLOCK])
{
    for (size_t j = 0; j < tile->dims; j++)
        for (size_t k = 0; k < points; k++)
            sums[j][k] += w[k] * part_at(tile, x, j, k);
}

void kernel_weigh_distances(const struct kernel *kernel, const double *X, size_t n, const double *W, double *sums)
{
    struct tile tile = {.kind = kernel->kind};
    memset(sums, 0, kernel->dims * sizeof *sums);
    for (tile.from = 0; tile.from < n; tile.from += KERNEL_BLOCK)
        for (tile.dim = 0; tile.dim < kernel->dims; tile.dim += CHUNK) {
            double parts[CHUNK][KERNEL_BLOCK] = {{0}};
            tile_load(&tile, kernel, X, n);
            for (size_t i = tile.from + 1; i < n; i++) {
                double w[KERNEL_BLOCK] = {0};
                size_t points = smaller(tile.points, i - tile.from);
                memcpy(w, W + i * n + tile.from, points * sizeof *w);
                if (tile.kind->part == NULL)
                    tile_weigh(&tile, X + i * kernel->dims, w, parts);
                else
                    tile_weigh_parts(&tile, X + i * kernel->dims, w, points, parts);
            }
            for (size_t j = 0; j < tile.dims; j++)
                for (size_t k = 0; k < KERNEL_BLOCK; k++)
                    sums[tile.dim + j] += parts[j][k];
        }
}
