/* Functions drawn from a Gaussian process on 1,000 points of [0, 1], exact Thompson sampling on them, and agents'
 * messages: what tests/bench/federated.c runs on. */
#ifndef GNOMON_BENCH_SYNTHETIC_H
#define GNOMON_BENCH_SYNTHETIC_H

#include "engine/federated/fts.h"
#include "engine/math/mat.h"
#include "tests/bench/bench.h"
#include "tests/unit/bits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 1000, RANK_MAX = 120, VALUES_MAX = 110, FEATURES_MAX = 200 };
static const double LENGTH_SCALE = 0.03, NOISE = 0.01;

struct synthetic {
    double       x[POINTS], K[POINTS][POINTS];
    size_t       rank;
    double       F[RANK_MAX][POINTS]; /* K = F'F: a draw is F'z */
    double       work[POINTS];
    struct arena arena; /* for one call at a time */
};

static inline void synthetic_init(struct synthetic *s)
{
    const struct kernel kernel = {.kind = &kernel_se, .dims = 1, .variance = 1.0, .length_scales = &LENGTH_SCALE};
    double             *A = malloc(sizeof s->K), *Vt = malloc(sizeof s->K), *values = s->work;
    for (size_t i = 0; i < POINTS; i++)
        s->x[i] = (double)i / (POINTS - 1);
    kernel_cross(&kernel, s->x, POINTS, s->x, POINTS, s->K[0]);
    memcpy(A, s->K, sizeof s->K);
    check(mat_svd(A, POINTS, POINTS, values, Vt, NULL));
    for (s->rank = 0; s->rank < RANK_MAX && values[s->rank] > 1e-9 * values[0]; s->rank++)
        for (size_t i = 0; i < POINTS; i++)
            s->F[s->rank][i] = sqrt(values[s->rank]) * Vt[s->rank * POINTS + i];
    free(A);
    free(Vt);
    arena_init(&s->arena, 64 << 20);
}

/* A draw of the prior. */
static inline void synthetic_draw(const struct synthetic *s, struct rng *rng, double *f)
{
    double z[RANK_MAX];
    for (size_t r = 0; r < s->rank; r++)
        z[r] = rng_normal(rng);
    mat_vector(s->F[0], s->rank, POINTS, true, z, f);
}

/* n draws of the prior: f [n][POINTS]; z [n][RANK_MAX] is scratch. */
static inline void synthetic_draws(const struct synthetic *s, struct rng *rng, size_t n, double *z, double *f)
{
    for (size_t i = 0; i < n * s->rank; i++)
        z[i] = rng_normal(rng);
    mat_multiply(z, s->F[0], n, s->rank, POINTS, f);
}

/* A draw, scaled to [0, 1]. */
static inline void synthetic_function(const struct synthetic *s, struct rng *rng, double *f)
{
    double low = INFINITY, high = -INFINITY;
    synthetic_draw(s, rng, f);
    for (size_t i = 0; i < POINTS; i++) {
        low = fmin(low, f[i]);
        high = fmax(high, f[i]);
    }
    for (size_t i = 0; i < POINTS; i++)
        f[i] = (f[i] - low) / (high - low);
}

/* f + d or f - d, by a coin at every point. */
static inline void synthetic_shift(const double *f, double d, struct rng *rng, double *g)
{
    for (size_t i = 0; i < POINTS; i++)
        g[i] = f[i] + (rng_u64(rng) >> 63 ? d : -d);
}

struct data {
    size_t n, at[VALUES_MAX];
    double y[VALUES_MAX];
};

static inline void data_add(struct data *data, size_t at, const double *f, struct rng *rng)
{
    data->at[data->n] = at;
    data->y[data->n++] = f[at] + sqrt(NOISE) * rng_normal(rng);
}

/* A point of from .. until - 1 that is not there yet. */
static inline size_t data_fresh(const struct data *data, size_t from, size_t until, struct rng *rng)
{
    size_t at, k;
    do {
        at = from + rng_below(rng, until - from);
        for (k = 0; k < data->n && data->at[k] != at; k++)
            continue;
    } while (k < data->n);
    return at;
}

/* The maximum of an exact draw of the posterior, by Matheron's rule from a draw p [POINTS] of the prior, which is
 * overwritten. */
static inline size_t synthetic_thompson(const struct synthetic *s, const struct data *data, struct rng *rng, double *p)
{
    double K[VALUES_MAX * VALUES_MAX], r[VALUES_MAX], spare[VALUES_MAX], jitter;
    size_t n = data->n, best = 0;
    for (size_t i = 0; i < n; i++) {
        r[i] = data->y[i] - p[data->at[i]] - sqrt(NOISE) * rng_normal(rng);
        for (size_t j = 0; j <= i; j++)
            K[i * n + j] = s->K[data->at[i]][data->at[j]] + (i == j ? NOISE : 0);
    }
    check(mat_cholesky(K, n, n, spare, &jitter, NULL));
    mat_solve_lower(K, n, n, r);
    mat_solve_upper(K, n, n, r);
    for (size_t i = 0; i < n; i++)
        mat_axpy(POINTS, r[i], s->K[data->at[i]], p);
    for (size_t i = 1; i < POINTS; i++)
        best = p[i] > p[best] ? i : best;
    return best;
}

/* Shared features, at every point. */
struct features {
    size_t count;
    double phi[POINTS * FEATURES_MAX];
};

static inline void features_draw(struct features *features, struct synthetic *s, size_t count, struct rng *rng)
{
    const struct kernel kernel = {.kind = &kernel_se, .dims = 1, .variance = 1.0, .length_scales = &LENGTH_SCALE};
    struct arena_mark   mark = arena_mark(&s->arena);
    struct rff          rff;
    check(rff_draw(&rff, &kernel, count, rng, &s->arena, NULL));
    features->count = count;
    rff_features(&rff, s->x, POINTS, features->phi);
    arena_release(&s->arena, mark);
}

static inline void features_values(const struct features *features, const double *omega, double *out)
{
    mat_vector(features->phi, POINTS, features->count, false, omega, out);
}

static inline size_t features_argmax(const struct features *features, const double *omega, double *work)
{
    size_t best = 0;
    features_values(features, omega, work);
    for (size_t i = 1; i < POINTS; i++)
        best = work[i] > work[best] ? i : best;
    return best;
}

/* omega ~ N(nu, NOISE Sigma^-1). */
static inline void features_message(const struct features *features, struct synthetic *s, const struct data *data,
                                    struct rng *rng, double *omega)
{
    struct arena_mark    mark = arena_mark(&s->arena);
    struct rff_posterior posterior;
    double              *phi = arena_alloc(&s->arena, data->n, features->count * sizeof *phi);
    if (phi == NULL)
        check(STATUS_NO_MEMORY);
    for (size_t k = 0; k < data->n; k++)
        memcpy(phi + k * features->count, features->phi + data->at[k] * features->count, features->count * sizeof *phi);
    const struct rff_data given = {.n = data->n, .count = features->count, .phi = phi, .y = data->y, .noise = NOISE};
    check(rff_condition(&posterior, &given, &s->arena, NULL));
    rff_sample(&posterior, rng, omega);
    arena_release(&s->arena, mark);
}

#endif
