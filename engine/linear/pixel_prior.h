/* A Gaussian process over the pixels of an image, as a product over its axes:
 *   cov(w_ijc, w_klm) = m(|i - k| / H) m(|j - l| / W) r(c, m),   m(x) = (1 + sqrt3 x / length) exp(-sqrt3 x / length),
 *   r(c, m) = 1 where c = m, otherwise 1/2
 * for weights w [height][width][channels] of a linear function of the image.  It is S = R R' with R a product too, so
 * that R z costs a small matrix product for each axis.  Large images are seen through cells: blocks of pixels that have
 * one weight together, at most PRIOR_SIDE_MAX along a side and PRIOR_CELLS_MAX in all.  Knows nothing of trials. */
#ifndef GNOMON_ENGINE_PIXEL_PRIOR_H
#define GNOMON_ENGINE_PIXEL_PRIOR_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/space/image.h"

enum { PRIOR_SIDE_MAX = 128, PRIOR_CELLS_MAX = 4096 };

struct pixel_prior {
    struct image_shape pixels, cells;
    double            *rows, *columns; /* [cells.height]^2, [cells.width]^2: Cholesky factors of m over each axis */
    double            *rows_transposed, *columns_transposed;
    double             own, shared; /* of the root of r: own I + shared 11' */
};

/* length > 0: in parts of a side.  Errors: NO_MEMORY, NUMERIC (not for any length that options allow).
 * O(cells.height^3 + cells.width^3). */
MUST_CHECK enum status pixel_prior_init(struct pixel_prior *prior, const struct image_shape *pixels, double length,
                                        struct arena *arena, struct error *err);

/* The number of weights: one for each pixel of the cells. */
static inline size_t pixel_prior_len(const struct pixel_prior *prior)
{
    return image_len(&prior->cells);
}

/* w := R z, for z ~ N(0, I) a draw of the weights.  z, w [len]; scratch [len].  O(len (height + width) of cells). */
void pixel_prior_weights(const struct pixel_prior *prior, const double *z, double *w, double *scratch);

/* f := R' C x / sqrt(number of pixels), where C adds up the pixels of each cell: but for that factor f' z is the sum
 * of w x over all pixels for w = R z.  image [pixels]; f [len] out; scratch [len]. */
void pixel_prior_features(const struct pixel_prior *prior, const double *image, double *f, double *scratch);

/* image [pixels] := high where the cell's weight is >= 0, otherwise low. */
void pixel_prior_corner(const struct pixel_prior *prior, const double *w, double low, double high, double *image);

#endif
