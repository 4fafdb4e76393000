/* The discrete Fourier transform of n = 2^k complex numbers.  Knows nothing of what they mean. */
#ifndef GNOMON_ENGINE_FFT_H
#define GNOMON_ENGINE_FFT_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct fft {
    size_t  n;
    double *roots; /* [n / 2][2] exp(-2 pi i k / n), real and imaginary part */
};

/* n is a power of two, at least 2.  Errors: NO_MEMORY.  O(n). */
MUST_CHECK enum status fft_init(struct fft *fft, size_t n, struct arena *arena, struct error *err);

/* x [n][2] in place: X_k = sum_j x_j exp(-2 pi i j k / n); inverse: with + and divided by n.  O(n log n). */
void fft_run(const struct fft *fft, double *x, bool inverse);

#endif
