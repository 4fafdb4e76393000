#include "engine/privacy/denoise.h"

#include "engine/math/mat.h"

#include <math.h>

enum { ROWS_MIN = 50, NUMBERS_MAX = 500000, POINTS_MAX = 1024, SAMPLE_MAX = 2048, STEPS = 50 };
static const double SHARE_MIN = 0.25, SHARE_MAX = 0.6, MISFIT_MAX = 1.1;

struct support {
    size_t  len, own_every; /* points; released row k own_every is point k; 0: a grid */
    double *points;         /* [len][columns] */
    double  cell;           /* variance of a cell, along the widest column */
    double *pi;             /* [len] */
};

static double noise_share(const struct denoise *d)
{
    double sum = 0;
    for (size_t c = 0; c < d->columns; c++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < d->n; i++)
            mean += d->rows[i * d->columns + c] / (double)d->n;
        for (size_t i = 0; i < d->n; i++) {
            double difference = d->rows[i * d->columns + c] - mean;
            squares += difference * difference / (double)d->n;
        }
        sum += squares;
    }
    return (double)d->columns * d->variance / sum;
}

/* Centres of the cells of a grid over what was released, within the bound.  False: they lie too far apart. */
static bool make_grid(const struct denoise *d, struct support *s)
{
    size_t side = d->columns == 1 ? POINTS_MAX : (size_t)sqrt(POINTS_MAX), block = 1;
    s->len = d->columns == 1 ? side : side * side;
    for (size_t c = d->columns; c-- > 0; block *= side) {
        double low = d->bound, high = -d->bound;
        for (size_t i = 0; i < d->n; i++) {
            low = fmin(low, d->rows[i * d->columns + c]);
            high = fmax(high, d->rows[i * d->columns + c]);
        }
        low = fmax(low, -d->bound), high = fmin(high, d->bound);
        double step = (high - low) / (double)side;
        if (!(step * step <= d->variance))
            return false;
        s->cell = fmax(s->cell, step * step / 12);
        for (size_t g = 0; g < s->len; g++)
            s->points[g * d->columns + c] = low + ((double)(g / block % side) + 0.5) * step;
    }
    return true;
}

static void take_rows(const struct denoise *d, struct support *s)
{
    s->own_every = (d->n + POINTS_MAX - 1) / POINTS_MAX;
    s->len = (d->n + s->own_every - 1) / s->own_every;
    for (size_t g = 0; g < s->len; g++)
        for (size_t c = 0; c < d->columns; c++)
            s->points[g * d->columns + c] = d->rows[g * s->own_every * d->columns + c];
}

/* log p(z - u) up to a constant. */
static double log_density(const struct denoise *d, const double *z, const double *u)
{
    double sum = 0, squares = 0;
    for (size_t c = 0; c < d->columns; c++) {
        sum += fabs(z[c] - u[c]);
        squares += (z[c] - u[c]) * (z[c] - u[c]);
    }
    switch (d->shape) {
    case DENOISE_LAPLACE:
        return -sum / sqrt(d->variance / 2);
    case DENOISE_ISOTROPIC: /* the radius is Gamma(d, b), and (d + 1) b^2 the variance along a column */
        return -sqrt(squares * ((double)d->columns + 1) / d->variance);
    case DENOISE_NORMAL:
        break;
    }
    return -squares / (2 * d->variance);
}

/* out [len]: the noise's density at z_i - u_g as a part of the largest of them. */
static void likelihood(const struct denoise *d, const struct support *s, size_t i, double *out)
{
    double best = -INFINITY;
    for (size_t g = 0; g < s->len; g++) {
        bool is_own = s->own_every > 0 && i == g * s->own_every;
        out[g] = is_own ? -INFINITY : log_density(d, d->rows + i * d->columns, s->points + g * d->columns);
        best = fmax(best, out[g]);
    }
    for (size_t g = 0; g < s->len; g++)
        out[g] = exp(out[g] - best);
}

/* pi, from at most SAMPLE_MAX rows: L [sample][len], D [sample]. */
static void maximise(const struct denoise *d, struct support *s, double *L, double *D, double *sums)
{
    size_t every = (d->n + SAMPLE_MAX - 1) / SAMPLE_MAX, sample = (d->n + every - 1) / every;
    for (size_t i = 0; i < sample; i++)
        likelihood(d, s, i * every, L + i * s->len);
    for (size_t g = 0; g < s->len; g++)
        s->pi[g] = 1 / (double)s->len;
    for (int step = 0; step < STEPS; step++) {
        mat_vector(L, sample, s->len, false, s->pi, D);
        for (size_t i = 0; i < sample; i++)
            D[i] = 1 / (fmax(D[i], 1e-300) * (double)sample);
        mat_vector(L, sample, s->len, true, D, sums);
        for (size_t g = 0; g < s->len; g++)
            s->pi[g] *= sums[g];
    }
}

static void row_moments(const struct denoise *d, const struct support *s, size_t i, double *weights)
{
    double total = 0, *mean = d->means + i * d->columns, *variance = d->variances + i * d->columns;
    likelihood(d, s, i, weights);
    for (size_t g = 0; g < s->len; g++) {
        weights[g] *= s->pi[g];
        total += weights[g];
    }
    for (size_t c = 0; c < d->columns; c++) {
        double z = d->rows[i * d->columns + c], first = 0, second = 0; /* about z, against cancellation */
        for (size_t g = 0; g < s->len; g++) {
            double away = s->points[g * d->columns + c] - z;
            first += weights[g] * away;
            second += weights[g] * away * away;
        }
        first /= fmax(total, 1e-300);
        mean[c] = z + first;
        variance[c] = fmax(second / fmax(total, 1e-300) - first * first, 0) + s->cell;
    }
}

/* Mean of variance + (mean - z)^2, as a part of the noise's: 1 when both are right.  Adds what is missing. */
static bool calibrate(const struct denoise *d)
{
    double sum = 0;
    size_t count = d->n * d->columns;
    for (size_t k = 0; k < count; k++) {
        double away = d->means[k] - d->rows[k];
        sum += (d->variances[k] + away * away) / (double)count;
    }
    for (size_t k = 0; k < count; k++)
        d->variances[k] += fmax(d->variance - sum, 0);
    return sum <= MISFIT_MAX * d->variance;
}

enum status denoise_rows(const struct denoise *d, struct arena *scratch, bool *helps, struct error *err)
{
    *helps = false;
    if (d->n < ROWS_MIN || d->n * d->columns > NUMBERS_MAX)
        return STATUS_OK;
    double share = noise_share(d);
    if (!(share >= SHARE_MIN && share <= SHARE_MAX))
        return STATUS_OK;
    struct arena_mark mark = arena_mark(scratch);
    struct support    s = {.points = ARENA_NEW(scratch, double, POINTS_MAX * d->columns),
                           .pi = ARENA_NEW(scratch, double, POINTS_MAX)};
    double *L = ARENA_NEW(scratch, double, (size_t)SAMPLE_MAX *POINTS_MAX), *D = ARENA_NEW(scratch, double, SAMPLE_MAX),
           *sums = ARENA_NEW(scratch, double, POINTS_MAX);
    enum status status = STATUS_OK;
    if (s.points == NULL || s.pi == NULL || L == NULL || D == NULL || sums == NULL)
        status = error_no_memory(err);
    else if (d->columns > 2 || make_grid(d, &s)) {
        if (d->columns > 2)
            take_rows(d, &s);
        maximise(d, &s, L, D, sums);
        for (size_t i = 0; i < d->n; i++)
            row_moments(d, &s, i, sums);
        *helps = calibrate(d);
    }
    arena_release(scratch, mark);
    return status;
}
