/* Images as [height][width][channels] doubles, row by row, the channels of a pixel together.  Knows nothing of spaces
 * or models. */
#ifndef GNOMON_ENGINE_IMAGE_H
#define GNOMON_ENGINE_IMAGE_H

#include <stddef.h>

struct image_shape {
    size_t height, width, channels; /* all > 0 */
};

static inline size_t image_len(const struct image_shape *shape)
{
    return shape->height * shape->width * shape->channels;
}

/* out [to] := in [from] by bilinear interpolation between the centres of the pixels: pixel i of n lies at (i + 1/2) / n
 * of the side, and what lies beyond the outermost centres has their values.  Constants stay, straight lines stay
 * straight between the outermost centres, and every number lies between the smallest and the largest of in, but for
 * rounding.  Both have the same number of channels.  O(length of out). */
void image_resize(const double *in, const struct image_shape *from, double *out, const struct image_shape *to);

#endif
