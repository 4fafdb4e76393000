/* Sobol' indices by quasi-Monte Carlo.
 * Layout: a block of dims + 2 points for each base point: a, b, ab_0 .. ab_{dims-1}. */
#include "engine/math/sensitivity.h"

#include "engine/math/rng.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

enum { R = SENSITIVITY_REPLICATES };
static const double CONSTANT = 1e-12;

/* The block of one base point; u [2 dims] holds a and b. */
static void fill_block(const double *u, size_t dims, double *block)
{
    memcpy(block, u, 2 * dims * sizeof *u);
    for (size_t i = 0; i < dims; i++) {
        double *mixed = block + (2 + i) * dims;
        memcpy(mixed, u, dims * sizeof *u);
        mixed[i] = u[dims + i];
    }
}

static void fill_points(const struct sensitivity *s, double *u, double *V)
{
    struct rng rng = rng_at(s->seed, s->dims, RNG_SCRAMBLE);
    for (size_t r = 0; r < R; r++) {
        uint64_t scramble = rng_u64(&rng);
        for (size_t k = 0; k < s->samples; k++) {
            sobol_point(scramble, k, 2 * s->dims, u);
            fill_block(u, s->dims, V);
            V += (s->dims + 2) * s->dims;
        }
    }
}

/* f := (f - mean) / unit, mean and variance over the base points.  unit: the largest magnitude, so that nothing
 * overflows.  False when a value is not finite. */
struct moments {
    double unit, mean, variance, part[R]; /* mean in the units of f, variances after scaling; part: of a replicate */
};

static bool centre(const struct sensitivity *s, double *f, struct moments *m)
{
    size_t width = s->dims + 2, n = R * s->samples;
    *m = (struct moments){.unit = 0.0};
    for (size_t k = 0; k < n * width; k++) {
        if (!isfinite(f[k]))
            return false;
        m->unit = fmax(m->unit, fabs(f[k]));
    }
    if (m->unit == 0.0)
        return true;
    for (size_t k = 0; k < n; k++)
        m->mean += (f[k * width] / m->unit + f[k * width + 1] / m->unit) / (double)(2 * n);
    for (size_t k = 0; k < n * width; k++)
        f[k] = f[k] / m->unit - m->mean;
    for (size_t k = 0; k < n; k++) {
        const double *block = f + k * width;
        m->part[k / s->samples] += (block[0] * block[0] + block[1] * block[1]) / (double)(2 * s->samples);
    }
    for (size_t r = 0; r < R; r++)
        m->variance += m->part[r] / R;
    m->mean *= m->unit;
    return true;
}

/* mean(part) / variance and the standard error of that ratio, whose denominator comes from the same replicates. */
static double ratio(const double part[R], const struct moments *m, double *error)
{
    double mean = 0.0, squares = 0.0;
    for (size_t r = 0; r < R; r++)
        mean += part[r] / R;
    double value = mean / m->variance;
    for (size_t r = 0; r < R; r++)
        squares += pow(part[r] - value * m->part[r], 2);
    *error = sqrt(squares / (R * (R - 1))) / m->variance;
    return value;
}

static void estimate(const struct sensitivity *s, const double *f, const struct moments *m,
                     struct sensitivity_result *out)
{
    size_t width = s->dims + 2;
    double sum[R] = {0};
    for (size_t i = 0; i < s->dims; i++) {
        double first[R] = {0}, total[R] = {0};
        for (size_t k = 0; k < R * s->samples; k++) {
            const double *block = f + k * width;
            double        difference = block[2 + i] - block[0];
            first[k / s->samples] += block[1] * difference / (double)s->samples;
            total[k / s->samples] += difference * difference / (double)(2 * s->samples);
        }
        for (size_t r = 0; r < R; r++)
            sum[r] += first[r];
        out->index[i].first = ratio(first, m, &out->index[i].first_error);
        out->index[i].total = ratio(total, m, &out->index[i].total_error);
    }
    out->sum = ratio(sum, m, &out->sum_error);
}

enum status sensitivity_run(const struct sensitivity *s, struct arena *arena, struct sensitivity_result *out,
                            struct error *err)
{
    size_t n = R * s->samples, evaluations = n * (s->dims + 2);
    *out = (struct sensitivity_result){
        .index = arena_zalloc(arena, s->dims, sizeof *out->index), .samples = n, .evaluations = evaluations};
    struct arena_mark mark = arena_mark(arena);
    struct moments    m;
    double           *V = arena_alloc(arena, evaluations, s->dims * sizeof *V);
    double           *f = ARENA_NEW(arena, double, evaluations), *u = ARENA_NEW(arena, double, 2 * s->dims);
    if (out->index == NULL || V == NULL || f == NULL || u == NULL)
        return error_no_memory(err);
    fill_points(s, u, V);
    TRY(s->values(s->arg, V, evaluations, f, err));
    if (!centre(s, f, &m))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the function is not finite everywhere");
    out->mean = m.mean;
    out->is_constant = m.variance <= CONSTANT * CONSTANT;
    if (!out->is_constant) {
        out->sd = sqrt(m.variance) * m.unit;
        estimate(s, f, &m, out);
    }
    arena_release(arena, mark);
    return STATUS_OK;
}
