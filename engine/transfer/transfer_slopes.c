/* See transfer_slopes.h. */
#include "engine/transfer/transfer_slopes.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

/* V := L^-1 (1, m_1 .. m_len, y), [n][len + 2]. */
static void whiten(const struct transfer_slopes *model, double *V)
{
    size_t k = model->len + 2;
    for (size_t j = 0; j < model->n; j++) {
        V[j * k] = 1.0;
        for (size_t i = 0; i < model->len; i++)
            V[j * k + 1 + i] = model->means[i * model->n + j];
        V[j * k + 1 + model->len] = model->y[j];
    }
    mat_solve_lower_many(model->L, model->n, model->ld, V, k, k);
}

enum status transfer_slopes_find(struct transfer_slopes *model, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    size_t            p = model->len + 1, k = p + 1;
    double *V = arena_alloc(scratch, model->n + 1, k * sizeof *V), *G = arena_zalloc(scratch, k * k, sizeof *G);
    double *A = arena_alloc(scratch, p, p * sizeof *A), *beta = ARENA_NEW(scratch, double, 3 * p);
    if (V == NULL || G == NULL || A == NULL || beta == NULL)
        return error_no_memory(err);
    double *rhs = beta + p, squares, jitter, before = model->trust * model->scale, logs = 0.0;
    whiten(model, V);
    mat_add_gram(V, model->n, k, G);
    squares = G[p * k + p];
    for (size_t i = 0; i < p; i++) {
        double precision = 1.0 / (i == 0 ? model->level : model->width), prior = i == 0 ? 0.0 : model->prior;
        memcpy(A + i * p, G + i * k, (i + 1) * sizeof *A);
        A[i * p + i] += precision;
        rhs[i] = beta[i] = G[p * k + i] + precision * prior;
        squares += precision * prior * prior;
        logs += log(precision);
    }
    TRY(mat_cholesky(A, p, p, beta + 2 * p, &jitter, err));
    mat_solve_lower(A, p, p, beta);
    squares -= mat_dot(beta, beta, p);
    mat_solve_upper(A, p, p, beta);
    model->constant = beta[0];
    memcpy(model->slopes, beta + 1, model->len * sizeof *beta);
    squares = squares > 0.0 ? squares : 0.0;
    double after = before + squares, weight = model->trust + (double)model->n;
    model->s = after / weight;
    model->evidence = 0.5 * (logs - mat_log_det(A, p, p) + model->trust * log(before) - weight * log(after));
    arena_release(scratch, mark);
    return STATUS_OK;
}
