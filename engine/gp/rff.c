/* See rff.h. */
#include "engine/gp/rff.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"

#include <math.h>

enum status rff_draw(struct rff *rff, const struct kernel *kernel, size_t count, struct rng *rng, struct arena *arena,
                     struct error *err)
{
    size_t dims = kernel->dims;
    *rff = (struct rff){.dims = dims, .count = count, .variance = kernel->variance};
    rff->frequencies = arena_alloc(arena, count, dims * sizeof(double));
    rff->phases = ARENA_NEW(arena, double, count);
    if (rff->frequencies == NULL || rff->phases == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct kernel_kind *kind = kernel->kind;
        double                    factor = kind->part == NULL ? kind->frequency(rng) : 1.0;
        for (size_t j = 0; j < dims; j++)
            rff->frequencies[i * dims + j] = kind->part == NULL ? factor * rng_normal(rng) / kernel->length_scales[j]
                                                                : kind->part_frequency(kernel->length_scales[j], rng);
        rff->phases[i] = 2.0 * PI * rng_uniform(rng);
    }
    return STATUS_OK;
}

void rff_features(const struct rff *rff, const double *X, size_t n, double *phi)
{
    for (size_t k = 0; k < n; k++) {
        double *row = phi + k * rff->count, *frequency = rff->frequencies;
        for (size_t i = 0; i < rff->count; i++, frequency += rff->dims)
            row[i] = cos(rff->phases[i] + mat_dot(frequency, X + k * rff->dims, rff->dims));
        double norm = sqrt(mat_dot(row, row, rff->count));
        for (size_t i = 0; i < rff->count; i++)
            row[i] *= sqrt(rff->variance) / norm;
    }
}

double rff_value(const struct rff *rff, const double *omega, const double *x, double *gradient, double *spare)
{
    double *v = spare, *slope = spare + rff->count, scale = sqrt(rff->variance);
    for (size_t i = 0; i < rff->count; i++) {
        double angle = rff->phases[i] + mat_dot(rff->frequencies + i * rff->dims, x, rff->dims);
        v[i] = cos(angle);
        slope[i] = -sin(angle);
    }
    double norm = sqrt(mat_dot(v, v, rff->count)), value = mat_dot(v, omega, rff->count);
    if (gradient != NULL) {
        // d(v'omega / |v|) = (v'omega)' / |v| - (v'omega) (v'v') / |v|^3
        for (size_t i = 0; i < rff->count; i++)
            slope[i] *= (omega[i] - value * v[i] / (norm * norm)) * scale / norm;
        mat_vector(rff->frequencies, rff->count, rff->dims, true, slope, gradient);
    }
    return scale * value / norm;
}

enum status rff_condition(struct rff_posterior *posterior, const struct rff_data *data, struct arena *arena,
                          struct error *err)
{
    size_t count = data->count;
    *posterior = (struct rff_posterior){.count = count, .noise = data->noise};
    posterior->L = arena_zalloc(arena, count * count, sizeof(double));
    posterior->nu = ARENA_NEW(arena, double, count);
    struct arena_mark mark = arena_mark(arena);
    double           *spare = ARENA_NEW(arena, double, count);
    if (posterior->L == NULL || posterior->nu == NULL || spare == NULL)
        return error_no_memory(err);
    mat_add_gram(data->phi, data->n, count, posterior->L);
    for (size_t i = 0; i < count; i++)
        posterior->L[i * count + i] += data->noise;
    TRY(mat_cholesky(posterior->L, count, count, spare, &posterior->jitter, err));
    mat_vector(data->phi, data->n, count, true, data->y, posterior->nu);
    mat_solve_lower(posterior->L, count, count, posterior->nu);
    mat_solve_upper(posterior->L, count, count, posterior->nu);
    arena_release(arena, mark);
    if (!mat_is_finite(posterior->nu, count))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the posterior of the features is not finite");
    return STATUS_OK;
}

void rff_sample(const struct rff_posterior *posterior, struct rng *rng, double *omega)
{
    size_t count = posterior->count;
    for (size_t i = 0; i < count; i++)
        omega[i] = rng_normal(rng);
    mat_solve_upper(posterior->L, count, count, omega);
    for (size_t i = 0; i < count; i++)
        omega[i] = posterior->nu[i] + sqrt(posterior->noise) * omega[i];
}
