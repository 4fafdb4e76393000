/* A single pass over the rows; only noisy integers reach the floating-point part behind the noise. */
#include "engine/privacy/release.h"

#include "engine/math/mat.h"

#include <math.h>

static void wipe(void *memory, size_t bytes)
{
    volatile unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        at[i] = 0;
}

enum status release_scale_check(const struct release_scale *scale, size_t d, struct error *err)
{
    if (!(scale->radius > 0) || !isfinite(scale->radius))
        return error_set(err, STATUS_INVALID, "bad_scale", "/radius", "the public radius must be positive");
    for (size_t c = 0; c < d; c++) {
        if (!(scale->length_scales[c] > 0) || !isnormal(MECHANISM_NORM / (scale->length_scales[c] * scale->radius)))
            return error_set(err, STATUS_INVALID, "bad_scale", "/length_scales", "length-scale %zu is not positive",
                             c + 1);
        if (!isfinite(scale->centre[c]))
            return error_set(err, STATUS_INVALID, "bad_scale", "/centre", "centre %zu is not finite", c + 1);
    }
    return STATUS_OK;
}

/* The norm, without overflow of the squares. */
static double row_norm(const double *x, size_t d)
{
    double largest = 0, sum = 0;
    for (size_t c = 0; c < d; c++)
        largest = fmax(largest, fabs(x[c]));
    for (size_t c = 0; c < d && largest > 0; c++)
        sum += x[c] / largest * (x[c] / largest);
    return largest * sqrt(sum);
}

/* out [d] := the raw row in scaled space, clipped.  False: an entry or a scaled entry is not finite. */
static bool scale_row(const struct release_scale *scale, const double *raw, size_t d, double *out, size_t *clipped)
{
    bool is_clipped = false;
    for (size_t c = 0; c < d; c++) {
        double value = scale->low == NULL ? raw[c] : fmin(fmax(raw[c], scale->low[c]), scale->high[c]);
        is_clipped |= value != raw[c];
        out[c] = (value - scale->centre[c]) * (MECHANISM_NORM / (scale->length_scales[c] * scale->radius));
    }
    if (!mat_is_finite(raw, d) || !mat_is_finite(out, d))
        return false;
    double norm = row_norm(out, d), factor = norm > MECHANISM_NORM ? MECHANISM_NORM / norm : 1;
    *clipped += is_clipped || factor < 1;
    for (size_t c = 0; c < d; c++)
        out[c] *= factor;
    return true;
}

/* Buffers between the rows and the indices. */
struct work {
    const struct mechanism *plan;
    struct sampler         *sampler;
    double                 *x;       /* [max(d, p)] */
    int64_t                *k;       /* [max(d, p)] */
    int64_t                *noise;   /* [max(d, p)] */
    double                 *Q;       /* [p][d] orthonormal rows times sqrt(d / p), or NULL */
    int64_t                *M;       /* [d][p], or NULL */
    double                 *z;       /* [p] */
    double                  squares; /* of all noise, in units of its variance */
    size_t                  draws;
};

/* Box and Muller, for Q alone. */
static enum status draw_normal(struct sampler *sampler, double *out, struct error *err)
{
    uint64_t u = 0, v = 0;
    TRY(sampler_u64(sampler, &u, err));
    TRY(sampler_u64(sampler, &v, err));
    *out = sqrt(-2 * log(((double)(u >> 11) + 0.5) * 0x1p-53)) * cos(6.283185307179586 * 0x1p-53 * (double)(v >> 11));
    return STATUS_OK;
}

/* Rows of normals made orthonormal one after the other, twice for precision: the first p rows of a Haar matrix. */
static enum status draw_rotation(struct work *work, struct error *err)
{
    size_t d = work->plan->columns, p = work->plan->dims;
    for (size_t i = 0; i < p; i++) {
        double *q = work->Q + i * d;
        for (size_t c = 0; c < d; c++)
            TRY(draw_normal(work->sampler, &q[c], err));
        double before = row_norm(q, d);
        for (size_t pass = 0; pass < 2; pass++)
            for (size_t e = 0; e < i; e++)
                mat_axpy(d, -mat_dot(q, work->Q + e * d, d), work->Q + e * d, q);
        double norm = row_norm(q, d);
        if (!(norm > 1e-9 * before))
            return error_set(err, STATUS_INTERNAL, "not_random", "", "the source of random bits is broken");
        for (size_t c = 0; c < d; c++)
            q[c] /= norm;
    }
    for (size_t i = 0; i < p * d; i++)
        work->Q[i] *= sqrt((double)d / (double)p);
    return STATUS_OK;
}

/* Adds noise to count integers; it is left in work->noise. */
static enum status add_noise(struct work *work, int64_t *k, size_t count, struct error *err)
{
    const struct mechanism *plan = work->plan;
    if (plan->kind == MECHANISM_ISOTROPIC_LAPLACE)
        TRY(sampler_isotropic(work->sampler, plan->rate, count, work->noise, err));
    for (size_t j = 0; j < count; j++) {
        if (plan->kind == MECHANISM_DISCRETE_LAPLACE)
            TRY(sampler_laplace(work->sampler, plan->rate, &work->noise[j], err));
        else if (plan->kind != MECHANISM_ISOTROPIC_LAPLACE)
            TRY(sampler_gaussian(work->sampler, plan->sigma, &work->noise[j], err));
        k[j] += work->noise[j];
        work->squares += (double)work->noise[j] * (double)work->noise[j];
    }
    work->draws += count;
    return STATUS_OK;
}

/* k [p] := k [d] times M.  |k| <= 25 / gamma + 1 <= 2^32 and |M| < 64 * 2^10, so that 2^10 products stay below 2^58. */
static void multiply_integers(struct work *work, int64_t *sum)
{
    size_t d = work->plan->columns, p = work->plan->dims;
    for (size_t j = 0; j < p; j++) {
        sum[j] = 0;
        for (size_t c = 0; c < d; c++)
            sum[j] += work->k[c] * work->M[c * p + j];
    }
}

/* Releases a row: x [d] scaled and clipped -> indices [p]. */
static enum status release_row(struct work *work, int64_t *indices, struct error *err)
{
    const struct mechanism *plan = work->plan;
    bool                    projects = work->M != NULL;
    size_t                  d = plan->columns, p = plan->dims;
    for (size_t c = 0; c < d; c++)
        work->k[c] = (int64_t)rint(work->x[c] / plan->gamma);
    int64_t *noisy = projects ? indices : work->k;
    if (projects)
        multiply_integers(work, noisy);
    TRY(add_noise(work, noisy, projects ? p : d, err));
    if (work->Q != NULL) {
        for (size_t c = 0; c < d; c++)
            work->x[c] = (double)work->k[c];
        mat_vector(work->Q, p, d, false, work->x, work->z);
    }
    for (size_t j = 0; j < p; j++)
        indices[j] = projects ? (int64_t)rint((double)noisy[j] / (MECHANISM_PROJECTION_SCALE * sqrt((double)p)))
                     : work->Q != NULL ? (int64_t)rint(work->z[j])
                                       : noisy[j];
    return STATUS_OK;
}

static enum status shuffle(size_t *order, size_t n, bool is_plain, struct sampler *sampler, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1 && !is_plain; i--) {
        uint64_t at = 0;
        TRY(sampler_below(sampler, i, &at, err));
        size_t swapped = order[at];
        order[at] = order[i - 1];
        order[i - 1] = swapped;
    }
    return STATUS_OK;
}

/* The guard against a build that forgets its noise.  Data have no part in it: below one half of the variance with a
 * thousand draws has a probability of about e^-25 for Laplace noise and less for Gaussian noise. */
static enum status noise_check(const struct work *work, struct error *err)
{
    enum { DRAWS_MIN = 1000 };
    const struct mechanism *plan = work->plan;
    if (work->draws >= DRAWS_MIN && !(work->squares >= 0.5 * mechanism_noise_variance(plan) * (double)work->draws))
        return error_set(err, STATUS_INTERNAL, "noise_test", "", "the noise does not have the variance it should have");
    return STATUS_OK;
}

static enum status draw_matrices(struct work *work, struct error *err)
{
    size_t count = work->plan->columns * work->plan->dims;
    for (size_t i = 0; i < count && work->M != NULL; i++)
        TRY(sampler_gaussian(work->sampler, MECHANISM_PROJECTION_SCALE, &work->M[i], err));
    return work->Q == NULL ? STATUS_OK : draw_rotation(work, err);
}

static enum status release_all(struct release *release, const double *rows, struct work *work, struct error *err)
{
    size_t n = release->mechanism.rows, d = release->mechanism.columns, p = release->mechanism.dims;
    if (release->order != NULL)
        TRY(shuffle(release->order, n, release->is_plain, work->sampler, err));
    TRY(draw_matrices(work, err));
    for (size_t i = 0; i < n; i++) {
        size_t row = release->order == NULL ? i : release->order[i];
        if (!scale_row(&release->scale, rows + row * d, d, work->x, &release->clipped))
            return error_set(err, STATUS_INVALID, "not_finite", "", "row %zu has a value that is not finite", row + 1);
        TRY(release_row(work, release->indices + i * p, err));
    }
    return noise_check(work, err);
}

enum status release_make(struct release *release, const double *rows, struct sampler *sampler, struct arena *scratch,
                         struct error *err)
{
    struct mechanism *plan = &release->mechanism;
    release->clipped = 0;
    if (mechanism_is_partition(plan->kind) || (release->order == NULL && !release->is_plain))
        return error_set(err, STATUS_INVALID, "bad_mechanism", "/mechanism", "this mechanism has a release of its own");
    TRY(mechanism_plan(plan, err));
    TRY(release_scale_check(&release->scale, plan->columns, err));
    size_t            d = plan->columns, p = plan->dims, widest = d > p ? d : p;
    bool              projects = plan->kind == MECHANISM_PROJECTED_GAUSSIAN;
    bool              rotates = !projects && (p < d || !(release->is_plain || plan->keeps_axes));
    struct arena_mark mark = arena_mark(scratch);
    struct work       work = {.plan = plan,
                              .sampler = sampler,
                              .x = ARENA_NEW(scratch, double, widest),
                              .k = ARENA_NEW(scratch, int64_t, widest),
                              .noise = ARENA_NEW(scratch, int64_t, widest),
                              .z = ARENA_NEW(scratch, double, p),
                              .Q = rotates ? ARENA_NEW(scratch, double, p *d) : NULL,
                              .M = projects ? ARENA_NEW(scratch, int64_t, d * p) : NULL};
    enum status       status;
    if (work.x == NULL || work.k == NULL || work.noise == NULL || work.z == NULL || (rotates && work.Q == NULL) ||
        (projects && work.M == NULL)) {
        status = error_no_memory(err);
    } else {
        status = release_all(release, rows, &work, err);
        wipe(work.x, widest * sizeof *work.x);
        wipe(work.k, widest * sizeof *work.k);
        wipe(work.noise, widest * sizeof *work.noise);
        wipe(rotates ? (void *)work.Q : work.M, rotates    ? p * d * sizeof *work.Q
                                                : projects ? d * p * sizeof *work.M
                                                           : 0);
    }
    arena_release(scratch, mark);
    return status;
}

bool release_fits_int32(const int64_t *indices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (indices[i] < INT32_MIN || indices[i] > INT32_MAX)
            return false;
    return true;
}

enum status release_outcome(const struct mechanism_outcome *plan, double value, struct sampler *sampler, int64_t *steps,
                            struct error *err)
{
    int64_t noise = 0;
    if (!isfinite(value))
        return error_set(err, STATUS_INVALID, "not_finite", "", "an outcome must be finite");
    TRY(sampler_laplace(sampler, plan->rate, &noise, err));
    *steps = (int64_t)rint((fmin(fmax(value, plan->low), plan->high) - plan->low) / plan->gamma) + noise;
    return STATUS_OK;
}

double release_outcome_value(const struct mechanism_outcome *plan, int64_t steps)
{
    return plan->low + (double)steps * plan->gamma;
}
