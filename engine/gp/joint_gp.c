/* See joint_gp.h.  The table's own output is number 0; the others add their sums from the same arrays. */
#include "engine/gp/joint_gp.h"

#include "engine/gp/kernel.h"
#include "engine/math/mat.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

enum status joint_gp_init(struct joint_gp *gp, struct arena *arena, struct points table, size_t dims, size_t outputs,
                          struct error *err)
{
    assert(outputs >= 1 && outputs <= JOINT_OUTPUTS_MAX);
    *gp = (struct joint_gp){.arena = arena, .dims = dims, .outputs = outputs, .cells = table.n};
    if (table.n > 0)
        TRY(table_gp_init(&gp->table, arena, table.at, table.n, dims, err));
    for (size_t o = 1; o < outputs && table.n > 0; o++)
        if ((gp->sums[o] = ARENA_NEW(arena, double, table.n)) == NULL)
            return error_no_memory(err);
    joint_gp_reset(gp, 1, 1);
    return STATUS_OK;
}

void joint_gp_reset(struct joint_gp *gp, double length_scale, double noise)
{
    gp->length_scale = length_scale;
    gp->noise = noise;
    gp->t = 0;
    if (gp->cells > 0)
        table_gp_reset(&gp->table, &kernel_se, length_scale, noise);
    for (size_t o = 1; o < gp->outputs && gp->cells > 0; o++)
        memset(gp->sums[o], 0, gp->cells * sizeof(double));
}

/* The old arrays stay in the arena. */
static enum status grow(struct joint_gp *gp, struct error *err)
{
    size_t  old = gp->room, room = old == 0 ? FIRST_ROOM : 2 * old, rows = gp->outputs + 1;
    bool    has_table = gp->cells > 0;
    double *X = has_table ? NULL : ARENA_NEW(gp->arena, double, room * gp->dims);
    double *L = has_table ? NULL : ARENA_NEW(gp->arena, double, room *room);
    double *betas = ARENA_NEW(gp->arena, double, rows *room);
    if (betas == NULL || (!has_table && (X == NULL || L == NULL)))
        return error_no_memory(err);
    if (!has_table && old > 0)
        memcpy(X, gp->X, old * gp->dims * sizeof *X);
    for (size_t i = 0; i < old && !has_table; i++)
        memcpy(L + i * room, gp->L + i * old, old * sizeof *L);
    for (size_t o = 0; o < rows && old > 0; o++)
        memcpy(betas + o * room, gp->betas + o * old, old * sizeof *betas);
    gp->room = room, gp->X = X, gp->L = L, gp->betas = betas;
    return STATUS_OK;
}

static void covariances(const struct joint_gp *gp, const double *x, const double *Z, size_t m, double *out)
{
    const double inverse = 1 / gp->length_scale;
    for (size_t i = 0; i < m; i++) {
        double r2 = 0;
        for (size_t c = 0; c < gp->dims; c++) {
            double d = (x[c] - Z[i * gp->dims + c]) * inverse;
            r2 += d * d;
        }
        out[i] = kernel_value(&kernel_se, r2);
    }
}

/* The row of L that belongs to observation t, with its leading dimension. */
static const double *factor_row(const struct joint_gp *gp, size_t t)
{
    return gp->cells > 0 ? gp->table.L + t * gp->table.room : gp->L + t * gp->room;
}

static enum status append(struct joint_gp *gp, const double *x, size_t cell, double y, struct error *err)
{
    if (gp->t == gp->room)
        TRY(grow(gp, err));
    if (gp->cells > 0)
        return table_gp_observe(&gp->table, cell, y, err);
    double *row = gp->L + gp->t * gp->room;
    covariances(gp, x, gp->X, gp->t, row);
    row[gp->t] = 1 + gp->noise;
    memcpy(gp->X + gp->t * gp->dims, x, gp->dims * sizeof *x);
    return mat_cholesky_append(gp->L, gp->t, gp->room, row, 0, err);
}

enum status joint_gp_observe(struct joint_gp *gp, const double *x, size_t cell, const double *y, struct error *err)
{
    TRY(append(gp, x, cell, y[0], err));
    size_t        t = gp->t++;
    const double *l = factor_row(gp, t);
    for (size_t o = 0; o <= gp->outputs; o++) {
        double *beta = gp->betas + o * gp->room;
        beta[t] = ((o < gp->outputs ? y[o] : 1) - mat_dot(l, beta, t)) / l[t];
        if (!isfinite(beta[t]))
            return error_set(err, STATUS_NUMERIC, "singular", "", "observation %zu has no finite weight", t + 1);
    }
    for (size_t o = 1; o < gp->outputs && gp->cells > 0; o++) {
        const double beta = gp->betas[o * gp->room + t];
        const float *v = gp->table.V[t];
        for (size_t j = 0; j < gp->cells; j++)
            gp->sums[o][j] += (double)v[j] * beta;
    }
    return STATUS_OK;
}

void joint_gp_at_cell(const struct joint_gp *gp, size_t output, double c, size_t cell, double *mean, double *sd)
{
    const double *sum = output == 0 ? gp->table.sum : gp->sums[output];
    *mean = c + (sum[cell] - c * gp->table.sum_one[cell]);
    *sd = sqrt(fmax(gp->table.variance[cell], 0));
}

void joint_gp_at(const struct joint_gp *gp, size_t output, double c, const struct joint_inputs *at, double *mean,
                 double *sd)
{
    double *V = at->spare, *one = V + gp->t * JOINT_BLOCK;
    size_t  m = at->m;
    for (size_t i = 0; i < gp->t; i++)
        covariances(gp, gp->X + i * gp->dims, at->inputs, m, V + i * m);
    mat_solve_lower_many(gp->L, gp->t, gp->room, V, m, m);
    for (size_t j = 0; j < m; j++)
        mean[j] = one[j] = 0, sd[j] = 1;
    const double *beta = gp->betas + output * gp->room, *beta_one = gp->betas + gp->outputs * gp->room;
    for (size_t i = 0; i < gp->t; i++)
        for (size_t j = 0; j < m; j++) {
            const double v = V[i * m + j];
            mean[j] += v * beta[i];
            one[j] += v * beta_one[i];
            sd[j] -= v * v;
        }
    for (size_t j = 0; j < m; j++) {
        mean[j] = c + (mean[j] - c * one[j]);
        sd[j] = sqrt(fmax(sd[j], 0));
    }
}

void joint_gp_weights(const struct joint_gp *gp, size_t output, double c, double *alpha)
{
    const double *beta = gp->betas + output * gp->room, *beta_one = gp->betas + gp->outputs * gp->room;
    for (size_t i = 0; i < gp->t; i++)
        alpha[i] = beta[i] - c * beta_one[i];
    mat_solve_upper(factor_row(gp, 0), gp->t, gp->cells > 0 ? gp->table.room : gp->room, alpha);
}

void joint_gp_reduce(const struct joint_gp *gp, double *v)
{
    mat_solve_lower(factor_row(gp, 0), gp->t, gp->cells > 0 ? gp->table.room : gp->room, v);
}
