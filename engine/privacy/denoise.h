/* Where rows were before their noise: the distribution of rows, estimated from a noisy release by expectation-maximisation,
 * and each row's mean and variance given what was released of it.  Post-processing: public numbers only.
 *
 *   w_ig = pi_g p(z_i - u_g) / sum_h pi_h p(z_i - u_h),   pi_g = mean_i w_ig      50 times from the uniform pi
 *   mean_i = sum_g w_ig u_g,   variance_i = sum_g w_ig u_g^2 - mean_i^2           along each column
 * The points u are a grid in one or two dimensions (the variance of a cell is added), and released rows in more, where a
 * row is not its own point: it would be found where it was released, without doubt.  Few points make sure of too much, so
 * a part of the noise's variance is added to all, such that z is as far from x as the noise says, on average. */
#ifndef GNOMON_ENGINE_DENOISE_H
#define GNOMON_ENGINE_DENOISE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum denoise_shape { DENOISE_NORMAL, DENOISE_LAPLACE, DENOISE_ISOTROPIC }; /* exp of -|u|^2, -|u|_1, -|u|, scaled */
struct denoise {
    const double      *rows; /* [n][columns] as released */
    size_t             n, columns;
    double             variance; /* of the noise along each column */
    double             bound;    /* no row lay farther from 0 along a column; INFINITY: not known */
    enum denoise_shape shape;
    double            *means, *variances; /* out: [n][columns] */
};

/* *helps: false where there is nothing to gain or the estimate does not fit what was released: fewer than 50 rows or more
 * than 500,000 numbers; noise that is less than 1/4 or more than 3/5 of what varies (less of it and searches ended worse
 * than with rows left alone, more and nothing could be found), or narrower than the points lie.  means and variances are
 * then without meaning.  Errors: NO_MEMORY (17 MB and 8 KB a column).  O(50 2048 1024 + 1024 n columns). */
MUST_CHECK enum status denoise_rows(const struct denoise *d, struct arena *scratch, bool *helps, struct error *err);

#endif
