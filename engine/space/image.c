/* Bilinear resizing. */
#include "engine/space/image.h"

#include <math.h>

/* Where pixel i of `to` lies among `from` pixels: between low and high, weight that of high. */
struct place {
    size_t low, high;
    double weight;
};

static struct place place_of(size_t i, size_t from, size_t to)
{
    double at = ((double)i + 0.5) * (double)from / (double)to - 0.5, last = (double)(from - 1);
    at = fmin(fmax(at, 0.0), last);
    size_t low = (size_t)at;
    return (struct place){.low = low, .high = low + 1 < from ? low + 1 : low, .weight = at - (double)low};
}

static double between(double low, double high, double weight)
{
    return low + weight * (high - low);
}

void image_resize(const double *in, const struct image_shape *from, double *out, const struct image_shape *to)
{
    size_t channels = from->channels, line = from->width * channels;
    for (size_t i = 0; i < to->height; i++) {
        struct place  row = place_of(i, from->height, to->height);
        const double *upper = in + row.low * line, *lower = in + row.high * line;
        for (size_t j = 0; j < to->width; j++) {
            struct place column = place_of(j, from->width, to->width);
            size_t       left = column.low * channels, right = column.high * channels;
            for (size_t c = 0; c < channels; c++)
                *out++ = between(between(upper[left + c], upper[right + c], column.weight),
                                 between(lower[left + c], lower[right + c], column.weight), row.weight);
        }
    }
}
