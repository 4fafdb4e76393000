/* Equations are those of the tutorial; where it allows a choice, that of its appendix C, and c_m = 1. */
#include "engine/evolution/strategy.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

size_t strategy_population(size_t n)
{
    return 4 + (size_t)(3.0 * log((double)n));
}

/* (49) */
static double raw_weight(size_t population, size_t rank)
{
    return log(0.5 * (double)(population + 1)) - log((double)(rank + 1));
}

/* (49) to (58). */
struct strategy_rates strategy_rates(size_t n, size_t population)
{
    struct strategy_rates r = {.n = n, .population = population, .parents = population / 2};
    double                d = (double)n, sum[2] = {0}, squares[2] = {0};
    for (size_t i = 0; i < population; i++) {
        double w = raw_weight(population, i);
        sum[i >= r.parents] += w;
        squares[i >= r.parents] += w * w;
    }
    double mu = sum[0] * sum[0] / squares[0], mu_minus = sum[1] * sum[1] / squares[1];
    r.mu_eff = mu;
    r.c_1 = 2 / ((d + 1.3) * (d + 1.3) + mu);
    r.c_mu = fmin(1 - r.c_1, 2 * (0.25 + mu + 1 / mu - 2) / ((d + 2) * (d + 2) + mu));
    r.c_c = (4 + mu / d) / (d + 4 + 2 * mu / d);
    r.c_sigma = (mu + 2) / (d + mu + 5);
    r.d_sigma = 1 + 2 * fmax(0, sqrt((mu - 1) / (d + 1)) - 1) + r.c_sigma;
    r.chi = sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));
    r.every = (size_t)fmax(1, 1 / (10 * d * (r.c_1 + r.c_mu)));
    r.positive = 1 / sum[0];
    r.negative =
        fmin(1 + r.c_1 / r.c_mu, fmin(1 + 2 * mu_minus / (mu + 2), (1 - r.c_1 - r.c_mu) / (d * r.c_mu))) / -sum[1];
    return r;
}

double strategy_weight(const struct strategy_rates *rates, size_t rank)
{
    double w = raw_weight(rates->population, rank);
    return w * (w > 0 ? rates->positive : rates->negative);
}

enum status strategy_init(struct strategy *s, size_t n, struct arena *arena, struct error *err)
{
    double *at = arena_zalloc(arena, 2 * n + 7, n * sizeof *at);
    if (at == NULL)
        return error_no_memory(err);
    *s = (struct strategy){.C = at, .E = at + n * n, .mean = at + 2 * n * n, .path_sigma = at + (2 * n + 1) * n};
    s->path_c = s->path_sigma + n;
    s->widen = s->path_c + n;
    s->axis = s->widen + n;
    s->y = s->axis + n;
    s->rates.n = n;
    return STATUS_OK;
}

void strategy_start(struct strategy *s, size_t population, const double *mean, double sigma)
{
    size_t n = s->rates.n;
    s->rates = strategy_rates(n, population);
    s->sigma = sigma;
    s->generation = 0;
    memset(s->C, 0, n * n * sizeof *s->C);
    memset(s->E, 0, n * n * sizeof *s->E);
    memset(s->path_sigma, 0, n * sizeof *s->path_sigma);
    memset(s->path_c, 0, n * sizeof *s->path_c);
    for (size_t j = 0; j < n; j++) {
        s->mean[j] = mean[j];
        s->C[j * n + j] = s->E[j * n + j] = s->axis[j] = s->widen[j] = 1;
    }
}

double strategy_spread(const struct strategy *s, size_t j)
{
    return s->sigma * s->widen[j] * sqrt(s->C[j * s->rates.n + j]);
}

/* (38) to (40) */
void strategy_sample(const struct strategy *s, const double *z, double *x)
{
    size_t n = s->rates.n;
    for (size_t j = 0; j < n; j++)
        s->y[j] = s->axis[j] * z[j];
    mat_vector(s->E, n, n, true, s->y, x);
    for (size_t j = 0; j < n; j++)
        x[j] = s->mean[j] + s->sigma * s->widen[j] * x[j];
}

/* white [n] := axis^-1 E y, which has the length of C^(-1/2) y. */
static double whiten(const struct strategy *s, const double *y, double *white)
{
    mat_vector(s->E, s->rates.n, s->rates.n, false, y, white);
    for (size_t j = 0; j < s->rates.n; j++)
        white[j] /= s->axis[j];
    return sqrt(mat_dot(white, white, s->rates.n));
}

/* Y [population][n] := the steps of the members; what is injected is cut to length sqrt(n) + 2 n / (n + 2).  squares
 * [population] of their lengths. */
static void steps_of(const struct strategy *s, const struct strategy_member *members, double *Y, double *squares)
{
    size_t n = s->rates.n;
    double d = (double)n, longest = sqrt(d) + 2 * d / (d + 2);
    for (size_t i = 0; i < s->rates.population; i++) {
        double *y = Y + i * n;
        for (size_t j = 0; j < n; j++)
            y[j] = (members[i].x[j] - s->mean[j]) / (s->sigma * s->widen[j]);
        double length = whiten(s, y, s->y);
        double cut = members[i].is_injected && length > longest ? longest / length : 1;
        for (size_t j = 0; j < n; j++)
            y[j] *= cut;
        squares[i] = cut * cut * length * length;
    }
}

/* (46), (47): C lower triangle. */
static void adapt(struct strategy *s, const double *Y, const double *squares, double forgotten)
{
    const struct strategy_rates *r = &s->rates;
    size_t                       n = r->n;
    double                       sum = 0;
    for (size_t i = 0; i < r->population; i++)
        sum += strategy_weight(r, i);
    double keep = 1 + r->c_1 * forgotten - r->c_1 - r->c_mu * sum;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++)
            s->C[j * n + k] = keep * s->C[j * n + k] + r->c_1 * s->path_c[j] * s->path_c[k];
    for (size_t i = 0; i < r->population; i++) {
        const double *y = Y + i * n;
        double        w = strategy_weight(r, i);
        w *= w >= 0 ? 1 : (double)n / (squares[i] + 1e-300);
        for (size_t j = 0; j < n; j++)
            mat_axpy(j + 1, r->c_mu * w * y[j], y, s->C + j * n);
    }
}

static enum status find_axes(struct strategy *s, struct error *err)
{
    size_t n = s->rates.n;
    memcpy(s->E, s->C, n * n * sizeof *s->E);
    TRY(mat_eigen(s->E, n, s->axis, err));
    if (!(s->axis[0] > 0) || !isfinite(s->sigma) || !(s->sigma > 0))
        return error_set(err, STATUS_NUMERIC, "no_convergence", "", "the covariance matrix is not positive definite");
    for (size_t j = 0; j < n; j++)
        s->axis[j] = sqrt(s->axis[j]);
    return STATUS_OK;
}

static enum status update(struct strategy *s, const struct strategy_member *members, double *Y, struct error *err)
{
    const struct strategy_rates *r = &s->rates;
    size_t                       n = r->n;
    double                      *squares = Y + r->population * n, *step = squares + r->population, *white = s->y + n;
    steps_of(s, members, Y, squares);
    memset(step, 0, n * sizeof *step);
    for (size_t i = 0; i < r->parents; i++) /* (41), (42) */
        mat_axpy(n, strategy_weight(r, i), Y + i * n, step);
    for (size_t j = 0; j < n; j++)
        s->mean[j] += s->sigma * s->widen[j] * step[j];
    (void)whiten(s, step, white);
    mat_vector(s->E, n, n, true, white, s->y); /* (43), (44) */
    for (size_t j = 0; j < n; j++)
        s->path_sigma[j] =
            (1 - r->c_sigma) * s->path_sigma[j] + sqrt(r->c_sigma * (2 - r->c_sigma) * r->mu_eff) * s->y[j];
    double length = sqrt(mat_dot(s->path_sigma, s->path_sigma, n));
    s->generation++;
    s->sigma *= exp(fmin(1, r->c_sigma / r->d_sigma * (length / r->chi - 1)));
    double grown = sqrt(1 - pow(1 - r->c_sigma, 2 * (double)(s->generation + 1)));
    bool   is_fast = length / grown >= (1.4 + 2 / ((double)n + 1)) * r->chi;
    for (size_t j = 0; j < n; j++) /* (45) */
        s->path_c[j] = (1 - r->c_c) * s->path_c[j] + (is_fast ? 0 : sqrt(r->c_c * (2 - r->c_c) * r->mu_eff)) * step[j];
    adapt(s, Y, squares, is_fast ? r->c_c * (2 - r->c_c) : 0);
    return s->generation % r->every == 0 ? find_axes(s, err) : STATUS_OK;
}

enum status strategy_update(struct strategy *s, const struct strategy_member *members, struct arena *scratch,
                            struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    double           *Y = arena_alloc(scratch, s->rates.population + 1, (s->rates.n + 1) * sizeof *Y);
    if (Y == NULL)
        return error_no_memory(err);
    enum status status = update(s, members, Y, err);
    arena_release(scratch, mark);
    return status;
}
