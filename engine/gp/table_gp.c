/* Blocked over rows: 512 sums in double stay in the first-level cache while the arrays of V stream past.
 * Every value depends on (rows, hyper-parameters, observed rows and values in order, pending rows in order) and not
 * on how the model got there: what a pending row left is reused only where the same operations would follow. */
#include "engine/gp/table_gp.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512, FIRST_ROOM = 64, EXACT_BLOCK = 64 };

static size_t padded(size_t n)
{
    return (n + BLOCK - 1) / BLOCK * BLOCK;
}

enum status table_gp_init(struct table_gp *gp, struct arena *arena, const double *rows, size_t n, size_t columns,
                          struct error *err)
{
    *gp = (struct table_gp){.arena = arena, .rows = rows, .n = n, .columns = columns};
    double **const arrays[] = {&gp->sum, &gp->sum_one, &gp->variance, &gp->variance_pending};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if ((*arrays[i] = ARENA_NEW(arena, double, padded(n))) == NULL)
            return error_no_memory(err);
    table_gp_reset(gp, &kernel_se, 1, 1);
    return STATUS_OK;
}

void table_gp_reset(struct table_gp *gp, const struct kernel_kind *kind, double length_scale, double noise)
{
    gp->kind = kind;
    gp->length_scale = length_scale;
    gp->noise = noise;
    gp->observed = gp->pending = 0;
    for (size_t j = 0; j < padded(gp->n); j++) {
        gp->sum[j] = gp->sum_one[j] = 0;
        gp->variance[j] = gp->variance_pending[j] = 1;
    }
}

/* Doubles the room of everything that grows with the observations; the old arrays stay in the arena (at most a
 * third of the new ones). */
static bool grow(struct table_gp *gp)
{
    size_t  old = gp->room, room = old == 0 ? FIRST_ROOM : 2 * old;
    size_t *at = ARENA_NEW(gp->arena, size_t, room);
    float **V = ARENA_NEW(gp->arena, float *, room);
    double *L = ARENA_NEW(gp->arena, double, room *room);
    double *beta = ARENA_NEW(gp->arena, double, 2 * room);
    if (at == NULL || V == NULL || L == NULL || beta == NULL)
        return false;
    for (size_t i = 0; i < old; i++) {
        at[i] = gp->at[i];
        V[i] = i < gp->kept ? gp->V[i] : NULL;
        beta[i] = gp->beta[i];
        beta[room + i] = gp->beta_one[i];
        memcpy(&L[i * room], &gp->L[i * old], old * sizeof *L);
    }
    gp->room = room, gp->at = at, gp->V = V, gp->L = L, gp->beta = beta, gp->beta_one = beta + room;
    return true;
}

/* Makes room for one more array of V and one more row of L. */
static bool reserve(struct table_gp *gp)
{
    size_t t = gp->observed + gp->pending;
    if (t == gp->room && !grow(gp))
        return false;
    if (t < gp->kept)
        return true;
    float *array = ARENA_NEW(gp->arena, float, padded(gp->n));
    if (array == NULL)
        return false;
    gp->V[gp->kept++] = array;
    return true;
}

/* Four running sums, so that the additions do not wait for each other. */
static double squared_distance(const double *x, const double *z, size_t columns)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
        double d0 = x[c] - z[c], d1 = x[c + 1] - z[c + 1], d2 = x[c + 2] - z[c + 2], d3 = x[c + 3] - z[c + 3];
        s0 += d0 * d0;
        s1 += d1 * d1;
        s2 += d2 * d2;
        s3 += d3 * d3;
    }
    for (; c < columns; c++)
        s0 += (x[c] - z[c]) * (x[c] - z[c]);
    return (s0 + s1) + (s2 + s3);
}

double table_gp_expected(const double *x, const double *S, const double *z, const double *T, size_t columns,
                         double length_scale)
{
    double squared = length_scale * length_scale, sum = 0, shrink = 1;
    for (size_t c = 0; c < columns; c++) {
        double wider = squared + S[c] + T[c];
        sum += (x[c] - z[c]) * (x[c] - z[c]) / wider;
        shrink *= squared / wider;
    }
    return sqrt(shrink) * exp(-0.5 * sum);
}

/* The covariance of two rows, without a row's own part. */
static double covariance(const struct table_gp *gp, size_t i, size_t j)
{
    const double *x = gp->rows + i * gp->columns, *z = gp->rows + j * gp->columns;
    if (gp->spread != NULL)
        return table_gp_expected(x, gp->spread + i * gp->columns, z, gp->spread + j * gp->columns, gp->columns,
                                 gp->length_scale);
    double r2 = squared_distance(x, z, gp->columns);
    return (1 - gp->own) * kernel_value(gp->kind, r2 / (gp->length_scale * gp->length_scale));
}

static double own_variance(const struct table_gp *gp, size_t row)
{
    return gp->spread != NULL ? 1 - covariance(gp, row, row) : gp->own;
}

/* Row t of L for one more row of the matrix. */
static enum status append_factor(struct table_gp *gp, size_t t, size_t row, struct error *err)
{
    double *l = gp->L + t * gp->room;
    for (size_t i = 0; i < t; i++)
        l[i] = covariance(gp, row, gp->at[i]) + (gp->at[i] == row ? own_variance(gp, row) : 0);
    l[t] = 1 + gp->noise;
    return mat_cholesky_append(gp->L, t, gp->room, l, 0, err);
}

/* sum[BLOCK] -= l_i V_i over the arrays before t, for the rows from j on; four arrays at a time. */
static void subtract_earlier(const struct table_gp *gp, const double *l, size_t t, size_t j, double *restrict sum)
{
    size_t i = 0;
    for (; i + 4 <= t; i += 4) {
        const float *a = gp->V[i] + j, *b = gp->V[i + 1] + j, *c = gp->V[i + 2] + j, *d = gp->V[i + 3] + j;
        const double la = l[i], lb = l[i + 1], lc = l[i + 2], ld = l[i + 3];
        for (size_t k = 0; k < BLOCK; k++)
            sum[k] -= (la * (double)a[k] + lb * (double)b[k]) + (lc * (double)c[k] + ld * (double)d[k]);
    }
    for (; i < t; i++) {
        const float *a = gp->V[i] + j;
        const double la = l[i];
        for (size_t k = 0; k < BLOCK; k++)
            sum[k] -= la * (double)a[k];
    }
}

/* V_t = (K(x_t, all) - sum_{i < t} L_ti V_i) / L_tt. */
static void append_array(struct table_gp *gp, size_t t)
{
    const double *l = gp->L + t * gp->room, scale = 1 / l[t];
    for (size_t j = 0; j < gp->n; j += BLOCK) {
        double sum[BLOCK] = {0};
        size_t m = gp->n - j < BLOCK ? gp->n - j : BLOCK;
        for (size_t k = 0; k < m; k++)
            sum[k] = covariance(gp, gp->at[t], j + k);
        if (gp->at[t] >= j && gp->at[t] - j < m)
            sum[gp->at[t] - j] += own_variance(gp, gp->at[t]);
        memset(gp->V[t] + j, 0, BLOCK * sizeof(float));
        subtract_earlier(gp, l, t, j, sum);
        for (size_t k = 0; k < m; k++)
            gp->V[t][j + k] = (float)(sum[k] * scale);
    }
}

static void subtract_square(const float *v, size_t n, double *restrict variance)
{
    for (size_t j = 0; j < n; j++)
        variance[j] -= (double)v[j] * (double)v[j];
}

/* Appends a row to L and V behind the observed and pending ones. */
static enum status append(struct table_gp *gp, size_t row, struct error *err)
{
    size_t t = gp->observed + gp->pending;
    if (!reserve(gp))
        return error_no_memory(err);
    TRY(append_factor(gp, t, row, err));
    gp->at[t] = row;
    append_array(gp, t);
    return STATUS_OK;
}

/* Keeps the first few pending rows: the same subtractions in the same order as if they had been appended now. */
static void keep_pending(struct table_gp *gp, size_t count)
{
    if (count == gp->pending)
        return;
    memcpy(gp->variance_pending, gp->variance, padded(gp->n) * sizeof *gp->variance);
    gp->pending = count;
    for (size_t i = 0; i < count; i++)
        subtract_square(gp->V[gp->observed + i], padded(gp->n), gp->variance_pending);
}

static void add_value(struct table_gp *gp, double beta, double beta_one)
{
    size_t       t = gp->observed++, n = padded(gp->n);
    const float *v = gp->V[t];
    gp->beta[t] = beta;
    gp->beta_one[t] = beta_one;
    for (size_t j = 0; j < n; j++) {
        gp->sum[j] += (double)v[j] * beta;
        gp->sum_one[j] += (double)v[j] * beta_one;
    }
    subtract_square(v, n, gp->variance);
}

enum status table_gp_observe(struct table_gp *gp, size_t row, double y, struct error *err)
{
    size_t t = gp->observed;
    bool   was_first = gp->pending > 0 && gp->at[t] == row;
    if (!was_first) {
        keep_pending(gp, 0);
        TRY(append(gp, row, err));
    }
    const double *l = gp->L + t * gp->room;
    double        beta = (y - mat_dot(l, gp->beta, t)) / l[t], beta_one = (1 - mat_dot(l, gp->beta_one, t)) / l[t];
    if (!isfinite(beta) || !isfinite(beta_one))
        return error_set(err, STATUS_NUMERIC, "singular", "", "observation %zu has no finite weight", t + 1);
    add_value(gp, beta, beta_one);
    if (was_first)
        gp->pending--;
    else
        memcpy(gp->variance_pending, gp->variance, padded(gp->n) * sizeof *gp->variance);
    return STATUS_OK;
}

enum status table_gp_set_pending(struct table_gp *gp, const size_t *rows, size_t count, struct error *err)
{
    size_t same = 0;
    while (same < count && same < gp->pending && gp->at[gp->observed + same] == rows[same])
        same++;
    keep_pending(gp, same);
    for (size_t i = same; i < count; i++) {
        TRY(append(gp, rows[i], err));
        subtract_square(gp->V[gp->observed + gp->pending++], padded(gp->n), gp->variance_pending);
    }
    return STATUS_OK;
}

/* V [observed][m] := L^-1 K(X_t, rows). */
static void project(const struct table_gp *gp, const size_t *rows, size_t m, double *V)
{
    for (size_t i = 0; i < gp->observed; i++)
        for (size_t k = 0; k < m; k++)
            V[i * m + k] = covariance(gp, gp->at[i], rows[k]) + (gp->at[i] == rows[k] ? own_variance(gp, rows[k]) : 0);
    if (gp->observed > 0)
        mat_solve_lower_many(gp->L, gp->observed, gp->room, V, m, m);
}

enum status table_gp_exact(const struct table_gp *gp, struct table_rows rows, double c, double *mean, double *sd,
                           struct error *err)
{
    struct arena_mark mark = arena_mark(gp->arena);
    size_t            widest = rows.len < EXACT_BLOCK ? rows.len : EXACT_BLOCK;
    double           *V = ARENA_NEW(gp->arena, double, (gp->observed + 1) * widest);
    if (V == NULL)
        return error_no_memory(err);
    for (size_t from = 0; from < rows.len; from += EXACT_BLOCK) {
        size_t m = rows.len - from < EXACT_BLOCK ? rows.len - from : EXACT_BLOCK;
        project(gp, rows.at + from, m, V);
        for (size_t k = 0; k < m; k++) {
            double sum = c, variance = 1;
            for (size_t i = 0; i < gp->observed; i++) {
                sum += V[i * m + k] * (gp->beta[i] - c * gp->beta_one[i]);
                variance -= V[i * m + k] * V[i * m + k];
            }
            mean[from + k] = sum;
            if (sd != NULL)
                sd[from + k] = sqrt(fmax(variance, 0));
        }
    }
    arena_release(gp->arena, mark);
    return STATUS_OK;
}

double table_gp_mean(const struct table_gp *gp, size_t j, double c)
{
    return c + (gp->sum[j] - c * gp->sum_one[j]);
}

double table_gp_sd(const struct table_gp *gp, size_t j, bool with_pending)
{
    return sqrt(fmax((with_pending ? gp->variance_pending : gp->variance)[j], 0));
}
