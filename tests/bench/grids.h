/* The grids of the regret tables, shared by the benches that run studies over them.
 *   gp      100 x 100 grid, side 8.5, f ~ GP(0, SE, length-scale 1.25, variance 1), noise variance 1e-5, delta 1e-5
 *   branin  31 x 31 grid, -ln(1 + Branin) in units of its standard deviation, length-scales by maximum likelihood over
 *           the full grid, delta 1e-3
 * A study is 5 random rows and 50 queries; its simple regret is in the units of f. */
#ifndef GNOMON_TESTS_GRIDS_H
#define GNOMON_TESTS_GRIDS_H

#include "engine/math/mat.h"
#include "engine/policy/session.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { INITIAL = 5, QUERIES = 50 };

struct grid {
    const char *name;
    size_t      side;
    double      low[2], high[2], length_scales[2];
    double      variance, noise, delta;
};

/* Branin's hyper-parameters: maximum of the likelihood of a GP with mean 0, one SE length-scale per coordinate and
 * noise, over the standardised 961 values (Kronecker form of the covariance). */
static const struct grid grid_gp = {"gp", 100, {0, 0}, {8.5, 8.5}, {1.25, 1.25}, 1, 1e-5, 1e-5};
static const struct grid grid_branin = {"branin", 31, {-5, 0}, {10, 15}, {0.56676, 1.31242}, 0.22934, 1.52e-7, 1e-3};

static inline void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static inline double *doubles(size_t n)
{
    return checked(malloc(n * sizeof(double)));
}

static inline double *grid_points(const struct grid *set)
{
    size_t  side = set->side;
    double *X = doubles(2 * side * side);
    for (size_t i = 0; i < side * side; i++) {
        X[2 * i] = set->low[0] + (set->high[0] - set->low[0]) * (double)(i / side) / (double)(side - 1);
        X[2 * i + 1] = set->low[1] + (set->high[1] - set->low[1]) * (double)(i % side) / (double)(side - 1);
    }
    return X;
}

/* A draw of the field: K = K1 x K1 with K1 = A A' along one side, so F = A E A' has covariance K. */
static inline void fill_gp(const struct grid *set, uint64_t run, double *f)
{
    size_t       side = set->side;
    double      *A = doubles(side * side), *s = doubles(side), *Vt = doubles(side * side), *E = doubles(side * side);
    struct rng   rng = rng_at(run, 1, RNG_TEST);
    struct error err = {0};
    for (size_t i = 0; i < side; i++)
        for (size_t k = 0; k < side; k++) {
            double step = (set->high[0] - set->low[0]) / (double)(side - 1) / set->length_scales[0];
            A[i * side + k] = exp(-0.5 * pow(step * ((double)i - (double)k), 2));
        }
    must(mat_svd(A, side, side, s, Vt, &err), &err);
    for (size_t i = 0; i < side * side; i++) {
        A[i] *= sqrt(s[i % side]);
        E[i] = rng_normal(&rng);
    }
    mat_multiply(A, E, side, side, side, Vt);
    for (size_t i = 0; i < side; i++) /* E := A' */
        for (size_t k = 0; k < side; k++)
            E[k * side + i] = A[i * side + k];
    mat_multiply(Vt, E, side, side, side, f);
    free(A), free(s), free(Vt), free(E);
}

static inline void fill_branin(const struct grid *set, double *f)
{
    const double pi = 3.141592653589793;
    size_t       n = set->side * set->side;
    double      *X = grid_points(set), mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double x = X[2 * i], y = X[2 * i + 1];
        double value = pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10;
        f[i] = -log1p(value);
        mean += f[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        squares += pow(f[i] - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++)
        f[i] = (f[i] - mean) / sqrt(squares);
    free(X);
}

static inline double largest(const double *f, size_t n)
{
    double value = f[0];
    for (size_t i = 1; i < n; i++)
        value = fmax(value, f[i]);
    return value;
}

/* f over the grid, for this run. */
static inline void fill(const struct grid *set, uint64_t run, double *f)
{
    if (set == &grid_gp)
        fill_gp(set, run, f);
    else
        fill_branin(set, f);
}

/* How a row's value reaches the modeller: what the curator does to it. */
typedef double answer_of(void *arg, double value);

/* A study of INITIAL + QUERIES trials over the rows; the largest f it met.  answer may be NULL. */
static inline double best_of_study(const struct problem *problem, const struct policy *policy, const double *f,
                                   double noise, answer_of *answer, void *arg)
{
    struct session        *session = NULL;
    struct error           err = {0};
    struct rng             rng = rng_at(problem->seed, 3, RNG_TEST);
    double                 best = -INFINITY;
    static struct proposal p;
    must(session_open(policy, problem, &session, &err), &err);
    for (uint64_t trial = 1; trial <= INITIAL + QUERIES; trial++) {
        must(policy->ask(session, &(struct ask){.trial = trial}, &p, &err), &err);
        struct event event = {
            .kind = EVENT_SUGGESTED, .trial = trial, .row = p.row, .note = p.note, .note_bytes = p.note_bytes};
        must(policy->tell(session, &event, &err), &err);
        double value = f[p.row] + sqrt(noise) * rng_normal(&rng);
        event = (struct event){
            .kind = EVENT_OBSERVED, .trial = trial, .row = p.row, .value = answer == NULL ? value : answer(arg, value)};
        must(policy->tell(session, &event, &err), &err);
        best = fmax(best, f[p.row]);
    }
    session_close(session);
    return best;
}

#endif
