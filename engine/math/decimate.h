/* Decimation: fewer points that look the same in a plot, each with the number that it stands for. */
#ifndef GNOMON_ENGINE_DECIMATE_H
#define GNOMON_ENGINE_DECIMATE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/math/rng.h"

#include <stddef.h>

/* M4 (Jugel, Jerzak, Hackenbroich & Markl 2014): of each of the columns of a span the first, the lowest, the
 * highest and the last point, which draws the same line as all of them.
 * x    [n] ascending; what is outside low .. high, and where y is NaN, is left out
 * out  [4 columns] indices, ascending, each once.  Returns how many. */
struct decimate_span {
    double low, high;
    size_t columns;
};
size_t decimate_m4(const double *x, const double *y, size_t n, const struct decimate_span *span, size_t *out);

/* The points at which the largest y so far grows: exact.  y [n], NaN: none; out [n].  Returns how many. */
size_t decimate_best(const double *y, size_t n, size_t *out);

/* A grid over the unit square, [side][side]: how many points are in each cell, and which has the largest y.
 * u, v  [n] clamped to 0 .. 1; NaN: the point is in no cell */
struct decimate_cell {
    size_t best, count;
};
void decimate_grid(const double *u, const double *v, const double *y, size_t n, size_t side,
                   struct decimate_cell *cells);

/* The best points, and of the others as many from each of ten parts of equal size by rank of y, drawn without
 * replacement; weight: how many each stands for, so that they add up to all points whose y is no NaN. */
struct decimate_ranks {
    const double *y; /* [n] */
    size_t        n, best, wanted;
    struct rng    rng;
    size_t       *rows;    /* [wanted] out: in the order of rank, the best first */
    double       *weights; /* [wanted] out */
    size_t        len;     /* out: how many */
};
MUST_CHECK enum status decimate_ranks(struct decimate_ranks *ranks, struct arena *scratch, struct error *err);

/* The quantile p of sorted values [n >= 1], between two of them linearly. */
double decimate_quantile(const double *sorted, size_t n, double p);
void   decimate_sort(double *values, size_t n);

#endif
