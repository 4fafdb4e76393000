/* See rank_model.h. */
#include "engine/federated/rank_model.h"

#include "engine/gp/kernel.h"
#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { ALIKE = 5, UNLIKE = 15 };
const double        RANK_NOISE = 1e-3;
static const double FLAT = 25.0; /* variance of c, in units of s */
static const double GUIDED = 0.8, SCALE_MAX = 1e3,
                    WEIGHT_MIN = 1e-300; /* prior probability of the model with M; of u and 1 / u; of its weight */
static const double RHOS[] = {0.05, 0.2, 0.6};
static const double FACTORS[ALIKE] = {0.4, 0.7, 1, 1.6, 2.5};
static const double MEDIAN = 0.25, SPREAD = 0.7,
                    PULL = 0.3; /* of length-scales, a side of the cube being 1 / sqrt(d) */

/* A choice of length-scales, rho and model, and what it comes to. */
struct trial_fit {
    double evidence, rho, u;
    bool   is_guided;
    size_t number; /* of the length-scales */
};

/* Length-scales number: some that are alike in all coordinates, then draws, always the same.  Returns their log prior. */
static double length_scales_of(size_t number, size_t dims, double *out)
{
    struct rng rng = rng_at(0, number, RNG_FIT);
    double     base = MEDIAN * sqrt((double)dims), squares = 0.0;
    for (size_t j = 0; j < dims; j++) {
        double factor = number < ALIKE ? FACTORS[number] : exp(SPREAD * rng_normal(&rng));
        out[j] = base * factor;
        squares += pow(log(factor), 2) / (double)dims;
    }
    return -PULL * squares;
}

/* Lower triangle of L [rows][rows] := the covariance of the first rows of the data. */
static void covariance(const struct rank_model *m, double rho, size_t rows)
{
    size_t        dims = m->basis->space->dims;
    struct kernel kernel = {.kind = &kernel_matern52, .dims = dims, .variance = rho, .length_scales = m->length_scales};
    kernel_matrix(&kernel, m->data->U, rows, m->L, rows);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j <= i; j++)
            m->L[i * rows + j] += FLAT;
        m->L[i * rows + i] += RANK_NOISE;
    }
}

/* prior [n] is M at the data, work [3 n].  u solves d/du = 0 of (n - 1) log u - |u a - b|^2 / 2, a = L^-1 y, b = L^-1 M. */
static enum status weigh(const struct rank_model *m, const double *prior, double *work, struct trial_fit *fit,
                         struct error *err)
{
    size_t  n = m->data->n;
    double *a = work, *b = work + n, *spare = work + 2 * n, jitter, log_prior, free = fmax((double)n - 1.0, 1.0);
    log_prior = length_scales_of(fit->number, m->basis->space->dims, m->length_scales);
    covariance(m, fit->rho, n);
    TRY(mat_cholesky(m->L, n, n, spare, &jitter, err));
    memcpy(a, m->data->y, n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        b[i] = fit->is_guided ? prior[i] : 0.0;
    mat_solve_lower(m->L, n, n, a);
    mat_solve_lower(m->L, n, n, b);
    double aa = fmax(mat_dot(a, a, n), 1e-3), ab = mat_dot(a, b, n);
    fit->u = n < 2 ? 1.0 : fmin(fmax((ab + sqrt(ab * ab + 4.0 * aa * free)) / (2.0 * aa), 1.0 / SCALE_MAX), SCALE_MAX);
    double squares = fit->u * fit->u * mat_dot(a, a, n) - 2.0 * fit->u * ab + mat_dot(b, b, n);
    fit->evidence = free * log(fit->u) - 0.5 * (squares + mat_log_det(m->L, n, n)) + log_prior +
                    log(fit->is_guided ? GUIDED : 1.0 - GUIDED);
    return STATUS_OK;
}

static enum status choose(struct rank_model *m, const double *prior, double *work, struct trial_fit *best,
                          struct error *err)
{
    enum { RHOS_LEN = sizeof RHOS / sizeof RHOS[0] };
    struct trial_fit likeliest[2] = {{.evidence = -HUGE_VAL}, {.evidence = -HUGE_VAL}}; /* without M, and with it */
    for (size_t i = 0; i < (ALIKE + UNLIKE) * (RHOS_LEN + 1); i++) {
        size_t           rho = i % (RHOS_LEN + 1);
        struct trial_fit fit = {
            .is_guided = rho < RHOS_LEN, .rho = rho < RHOS_LEN ? RHOS[rho] : 1.0, .number = i / (RHOS_LEN + 1)};
        TRY(weigh(m, prior, work, &fit, err));
        if (fit.evidence > likeliest[fit.is_guided].evidence)
            likeliest[fit.is_guided] = fit;
    }
    m->weight = fmax(1 / (1 + exp(likeliest[0].evidence - likeliest[1].evidence)), WEIGHT_MIN);
    *best = likeliest[m->weight >= 0.5];
    return STATUS_OK;
}

/* The factor of all rows, whose first n rows are that of the values. */
static enum status condition(struct rank_model *m, const struct trial_fit *fit, const double *prior, double *work,
                             struct error *err)
{
    size_t n = m->data->n, rows = n + m->data->pending;
    m->is_guided = fit->is_guided;
    m->rho = fit->rho;
    m->u = fit->u;
    m->best = -HUGE_VAL;
    (void)length_scales_of(fit->number, m->basis->space->dims, m->length_scales);
    covariance(m, fit->rho, rows);
    TRY(mat_cholesky(m->L, rows, rows, work, &m->jitter, err));
    for (size_t i = 0; i < n; i++) {
        m->alpha[i] = fit->u * m->data->y[i] - (fit->is_guided ? prior[i] : 0.0);
        m->best = fmax(m->best, fit->u * m->data->y[i]);
    }
    mat_solve_lower(m->L, n, rows, m->alpha);
    mat_solve_upper(m->L, n, rows, m->alpha);
    return STATUS_OK;
}

enum status rank_model_fit(struct rank_model *m, struct arena *arena, struct error *err)
{
    size_t  n = m->data->n, rows = n + m->data->pending, dims = m->basis->space->dims;
    double *prior = ARENA_NEW(arena, double, rows + 1), *work = ARENA_NEW(arena, double, 3 * rows + 1);
    m->length_scales = ARENA_NEW(arena, double, dims);
    m->L = arena_alloc(arena, rows * rows + 1, sizeof(double));
    m->alpha = ARENA_NEW(arena, double, rows + 1);
    m->row = ARENA_NEW(arena, double, rows + 1);
    m->spare = ARENA_NEW(arena, double, m->basis->count);
    if (prior == NULL || work == NULL || m->length_scales == NULL || m->L == NULL || m->alpha == NULL ||
        m->row == NULL || m->spare == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        prior[i] = rank_basis_sum(m->basis, m->mean, m->data->U + i * dims, m->spare);
    m->weight = GUIDED;
    struct trial_fit fit = {.is_guided = true, .rho = RHOS[1], .u = 1.0, .number = ALIKE / 2};
    if (n > 0)
        TRY(choose(m, prior, work, &fit, err));
    return condition(m, &fit, prior, work, err);
}

void rank_model_at(const struct rank_model *m, const double *u, double *mean, double *variance)
{
    size_t        n = m->data->n, rows = n + m->data->pending;
    struct kernel kernel = {
        .kind = &kernel_matern52, .dims = m->basis->space->dims, .variance = m->rho, .length_scales = m->length_scales};
    kernel_row(&kernel, u, m->data->U, rows, m->row);
    for (size_t i = 0; i < rows; i++)
        m->row[i] += FLAT;
    *mean = (m->is_guided ? rank_basis_sum(m->basis, m->mean, u, m->spare) : 0.0) + mat_dot(m->row, m->alpha, n);
    mat_solve_lower(m->L, rows, rows, m->row);
    *variance = fmax(m->rho + FLAT - mat_dot(m->row, m->row, rows), 0.0);
}
