/* Bayesian linear regression, see the header. */
#include "engine/linear/linear_model.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

const double LINEAR_RATIOS[LINEAR_RATIOS_LEN] = {0.001, 0.01, 0.1};

/* With noise ratio s2; G is F F' (lower triangle), spare [n]. */
static enum status condition(struct linear_model *model, const double *G, double *spare, struct error *err)
{
    const double *y = model->data.y;
    size_t        n = model->data.n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            model->L[i * n + j] = G[i * n + j] / model->t + 1.0 + (i == j ? model->s2 : 0.0);
    TRY(mat_cholesky(model->L, n, n, spare, &model->jitter, err));
    memcpy(model->alpha, y, n * sizeof *y);
    mat_solve_lower(model->L, n, n, model->alpha);
    mat_solve_upper(model->L, n, n, model->alpha);
    model->q = mat_dot(y, model->alpha, n) / (double)n;
    if (!(model->q > 0.0))
        model->q = 1.0;
    model->likelihood = -0.5 * ((double)n * log(model->q) + mat_log_det(model->L, n, n));
    return STATUS_OK;
}

enum status linear_model_fit(struct linear_model *model, const struct linear_data *data, struct arena *arena,
                             struct error *err)
{
    size_t              n = data->n;
    double             *G = arena_alloc(arena, n * n, sizeof *G), *spare = ARENA_NEW(arena, double, n), t = 0.0;
    struct linear_model tried = {.data = *data}, best = {.likelihood = -HUGE_VAL};
    if (G == NULL || spare == NULL)
        return error_no_memory(err);
    mat_gram(data->F, n, data->p, G);
    for (size_t i = 0; i < n; i++)
        t += G[i * n + i] / (double)n;
    tried.t = t > 0.0 ? t : 1.0;
    for (size_t k = 0; k < LINEAR_RATIOS_LEN; k++) {
        tried.s2 = LINEAR_RATIOS[k];
        tried.L = arena_alloc(arena, n * n, sizeof *tried.L);
        tried.alpha = ARENA_NEW(arena, double, n);
        if (tried.L == NULL || tried.alpha == NULL)
            return error_no_memory(err);
        TRY(condition(&tried, G, spare, err));
        if (k == 0 || tried.likelihood > best.likelihood)
            best = tried;
    }
    *model = best;
    return STATUS_OK;
}

double linear_model_draw(const struct linear_model *model, double scale, struct rng *rng, double *z, double *work)
{
    const struct linear_data *data = &model->data;
    size_t                    n = data->n, p = data->p, len = p + 1 + n;
    double                   *residual = work + p + 1, sd = scale * sqrt(model->q), in_z = sd / sqrt(model->t);
    rng_fill_normal(rng, work, len + len % 2);
    for (size_t j = 0; j < p; j++)
        work[j] *= in_z;
    for (size_t i = 0; i < n; i++)
        residual[i] = data->y[i] - mat_dot(data->F + i * p, work, p) - sd * (work[p] + sqrt(model->s2) * residual[i]);
    mat_solve_lower(model->L, n, n, residual);
    mat_solve_upper(model->L, n, n, residual);
    mat_vector(data->F, n, p, true, residual, z);
    for (size_t j = 0; j < p; j++)
        z[j] = z[j] / model->t + work[j];
    double b = sd * work[p];
    for (size_t i = 0; i < n; i++)
        b += residual[i];
    return b;
}

void linear_model_predict(const struct linear_model *model, const double *f, double *mean, double *var, double *work)
{
    size_t n = model->data.n, p = model->data.p;
    mat_vector(model->data.F, n, p, false, f, work);
    for (size_t i = 0; i < n; i++)
        work[i] = work[i] / model->t + 1.0;
    *mean = mat_dot(work, model->alpha, n);
    mat_solve_lower(model->L, n, n, work);
    *var = model->q * fmax(mat_dot(f, f, p) / model->t + 1.0 - mat_dot(work, work, n), 0.0);
}
