/* Products over axes: an image [height][width][channels] is a matrix for each of its axes. */
#include "engine/linear/pixel_prior.h"

#include "engine/gp/kernel.h"
#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

static const double CHANNELS_CORRELATION = 0.5;
static const double ROUNDING = 1e-6; /* on the diagonal: neighbours of a long prior are nearly the same */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Channels get their cells first: they are few, or all there is. */
static struct image_shape cells_of(const struct image_shape *pixels)
{
    struct image_shape cells = {.channels = least(pixels->channels, PRIOR_CELLS_MAX)};
    size_t             left = PRIOR_CELLS_MAX / cells.channels, side = (size_t)sqrt((double)left);
    cells.height = least(pixels->height, side);
    cells.width = least(pixels->width, least(left / cells.height, PRIOR_SIDE_MAX));
    cells.height = least(pixels->height, least(left / cells.width, PRIOR_SIDE_MAX));
    return cells;
}

/* The factor of one axis, and its transpose. */
static enum status factor_axis(size_t n, double length, double *L, double *transposed, struct error *err)
{
    double jitter;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double r = ((double)i - (double)j) / ((double)n * length);
            L[i * n + j] = kernel_value(&kernel_matern32, r * r) + (i == j ? ROUNDING : 0.0);
        }
    TRY(mat_cholesky(L, n, n, transposed, &jitter, err)); // transposed: its spare, before it is filled
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            L[i * n + j] = j <= i ? L[i * n + j] : 0.0;
            transposed[j * n + i] = L[i * n + j];
        }
    return STATUS_OK;
}

enum status pixel_prior_init(struct pixel_prior *prior, const struct image_shape *pixels, double length,
                             struct arena *arena, struct error *err)
{
    struct image_shape cells = cells_of(pixels);
    double             c = (double)cells.channels, own = cells.channels == 1 ? 1.0 : 1.0 - CHANNELS_CORRELATION;
    *prior = (struct pixel_prior){.pixels = *pixels, .cells = cells, .own = sqrt(own)};
    prior->shared = (sqrt(own + c * (1.0 - own)) - prior->own) / c;
    prior->rows = arena_alloc(arena, cells.height * cells.height, sizeof(double));
    prior->rows_transposed = arena_alloc(arena, cells.height * cells.height, sizeof(double));
    prior->columns = arena_alloc(arena, cells.width * cells.width, sizeof(double));
    prior->columns_transposed = arena_alloc(arena, cells.width * cells.width, sizeof(double));
    if (prior->rows == NULL || prior->rows_transposed == NULL || prior->columns == NULL ||
        prior->columns_transposed == NULL)
        return error_no_memory(err);
    TRY(factor_axis(cells.height, length, prior->rows, prior->rows_transposed, err));
    return factor_axis(cells.width, length, prior->columns, prior->columns_transposed, err);
}

/* out := the image multiplied along its three axes; out is not in. */
static void multiply_axes(const struct pixel_prior *prior, const double *rows, const double *columns, double *in,
                          double *out)
{
    size_t h = prior->cells.height, w = prior->cells.width, c = prior->cells.channels, line = w * c;
    for (size_t i = 0; i < h * w; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < c; k++)
            sum += in[i * c + k];
        for (size_t k = 0; k < c; k++)
            in[i * c + k] = prior->own * in[i * c + k] + prior->shared * sum;
    }
    mat_multiply(rows, in, h, h, line, out);
    memcpy(in, out, h * line * sizeof *in);
    for (size_t i = 0; i < h; i++)
        mat_multiply(columns, in + i * line, w, w, c, out + i * line);
}

void pixel_prior_weights(const struct pixel_prior *prior, const double *z, double *w, double *scratch)
{
    memcpy(scratch, z, pixel_prior_len(prior) * sizeof *z);
    multiply_axes(prior, prior->rows, prior->columns, scratch, w);
}

/* Which of n cells pixel i of `of` lies in. */
static size_t cell_of(size_t i, size_t of, size_t n)
{
    return i * n / of;
}

static size_t cell_at(const struct pixel_prior *prior, size_t i, size_t j, size_t k)
{
    const struct image_shape *from = &prior->pixels, *to = &prior->cells;
    size_t                    row = cell_of(i, from->height, to->height), column = cell_of(j, from->width, to->width);
    return (row * to->width + column) * to->channels + cell_of(k, from->channels, to->channels);
}

void pixel_prior_features(const struct pixel_prior *prior, const double *image, double *f, double *scratch)
{
    const struct image_shape *shape = &prior->pixels;
    double                    scale = 1.0 / sqrt((double)image_len(shape));
    memset(scratch, 0, pixel_prior_len(prior) * sizeof *scratch);
    for (size_t i = 0; i < shape->height; i++)
        for (size_t j = 0; j < shape->width; j++)
            for (size_t k = 0; k < shape->channels; k++)
                scratch[cell_at(prior, i, j, k)] += scale * *image++;
    multiply_axes(prior, prior->rows_transposed, prior->columns_transposed, scratch, f);
}

void pixel_prior_corner(const struct pixel_prior *prior, const double *w, double low, double high, double *image)
{
    const struct image_shape *shape = &prior->pixels;
    for (size_t i = 0; i < shape->height; i++)
        for (size_t j = 0; j < shape->width; j++)
            for (size_t k = 0; k < shape->channels; k++)
                *image++ = w[cell_at(prior, i, j, k)] >= 0.0 ? high : low;
}
