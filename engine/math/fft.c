/* Cooley & Tukey 1965, radix 2, decimation in time: numbers in bit-reversed order, then butterflies of growing width. */
#include "engine/math/fft.h"

#include "engine/base/numbers.h"

#include <math.h>

enum status fft_init(struct fft *fft, size_t n, struct arena *arena, struct error *err)
{
    *fft = (struct fft){.n = n, .roots = ARENA_NEW(arena, double, n)};
    if (fft->roots == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n / 2; k++) {
        double angle = -2.0 * PI * (double)k / (double)n;
        fft->roots[2 * k] = cos(angle);
        fft->roots[2 * k + 1] = sin(angle);
    }
    return STATUS_OK;
}

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

static void reverse_bits(double *x, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            swap(x + 2 * i, x + 2 * j);
            swap(x + 2 * i + 1, x + 2 * j + 1);
        }
    }
}

void fft_run(const struct fft *fft, double *x, bool inverse)
{
    size_t n = fft->n;
    double sign = inverse ? -1.0 : 1.0;
    reverse_bits(x, n);
    for (size_t half = 1; half < n; half *= 2)
        for (size_t block = 0; block < n; block += 2 * half)
            for (size_t k = 0; k < half; k++) {
                const double *root = fft->roots + 2 * (k * (n / 2 / half));
                double       *low = x + 2 * (block + k), *high = low + 2 * half;
                double        re = high[0] * root[0] - sign * high[1] * root[1];
                double        im = high[1] * root[0] + sign * high[0] * root[1];
                high[0] = low[0] - re;
                high[1] = low[1] - im;
                low[0] += re;
                low[1] += im;
            }
    for (size_t i = 0; i < 2 * n && inverse; i++)
        x[i] /= (double)n;
}
