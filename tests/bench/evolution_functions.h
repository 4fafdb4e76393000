/* Functions after those of the Black-Box Optimization Benchmark (Hansen, Finck, Ros & Auger 2009), each moved and turned by a
 * seed: the least value is 0, in [-4, 4] of a box [-5, 5]; without the distortions that make theirs irregular.  A run has a target
 * when it has found a value below it. */
#ifndef GNOMON_TESTS_BENCH_EVOLUTION_FUNCTIONS_H
#define GNOMON_TESTS_BENCH_EVOLUTION_FUNCTIONS_H

#include "engine/base/numbers.h"
#include "engine/math/rng.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { WORLD_DIMS = 200, WORLD_PEAKS = 101 };

struct world {
    size_t d;
    double (*form)(const struct world *world, const double *z); /* of turned coordinates, 0 at 0 */
    double optimum[WORLD_DIMS], turn[WORLD_DIMS][WORLD_DIMS];
    double peak[WORLD_PEAKS][WORLD_DIMS];
};

static double square(double x)
{
    return x * x;
}

/* 0 to 1 along the coordinates. */
static double share(const struct world *w, size_t j)
{
    return w->d > 1 ? (double)j / (double)(w->d - 1) : 0;
}

static double sphere(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++)
        sum += z[j] * z[j];
    return sum;
}

static double ellipsoid(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++)
        sum += pow(1e6, share(w, j)) * z[j] * z[j];
    return sum;
}

static double discus(const struct world *w, const double *z)
{
    return sphere(w, z) + (1e6 - 1) * z[0] * z[0];
}

static double rosenbrock(const struct world *w, const double *z)
{
    double scale = fmax(1, sqrt((double)w->d) / 8), sum = 0;
    for (size_t j = 0; j + 1 < w->d; j++)
        sum += 100 * square(square(scale * z[j] + 1) - scale * z[j + 1] - 1) + square(scale * z[j]);
    return sum;
}

static double sector(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++)
        sum += square((z[j] * w->optimum[j] > 0 ? 100 : 1) * pow(10, 0.5 * share(w, j)) * z[j]);
    return pow(sum, 0.9);
}

static double steps(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++) {
        double x = pow(10, 0.5 * share(w, j)) * z[j];
        x = fabs(x) > 0.5 ? floor(0.5 + x) : floor(0.5 + 10 * x) / 10;
        sum += pow(100, share(w, j)) * x * x;
    }
    return 0.1 * fmax(fabs(z[0]) / 1e4, sum);
}

static double powers(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++)
        sum += pow(fabs(z[j]), 2 + 4 * share(w, j));
    return sqrt(sum);
}

static double ridge(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 1; j < w->d; j++)
        sum += z[j] * z[j];
    return z[0] * z[0] + 100 * sqrt(sum);
}

static double rastrigin(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j < w->d; j++) {
        double x = pow(10, 0.5 * share(w, j)) * z[j];
        sum += 10 * (1 - cos(2 * PI * x)) + x * x;
    }
    return sum;
}

static double schaffers(const struct world *w, const double *z)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < w->d; j++) {
        double a = pow(10, 0.5 * share(w, j)) * z[j], b = pow(10, 0.5 * share(w, j + 1)) * z[j + 1], s = hypot(a, b);
        sum += sqrt(s) * (1 + square(sin(50 * pow(s, 0.2))));
    }
    return square(sum / (double)(w->d - 1));
}

/* A valley of Griewank's hills. */
static double griewank(const struct world *w, const double *z)
{
    double scale = fmax(1, sqrt((double)w->d) / 8), sum = 0;
    for (size_t j = 0; j + 1 < w->d; j++) {
        double s = 100 * square(square(scale * z[j] + 1) - scale * z[j + 1] - 1) + square(scale * z[j]);
        sum += s / 4000 - cos(s) + 1;
    }
    return 10 * sum / (double)(w->d - 1);
}

/* Gallagher's peaks: the highest is at 0. */
static double gallagher(const struct world *w, const double *z)
{
    double most = 0;
    for (size_t k = 0; k < WORLD_PEAKS; k++) {
        double sum = 0, height = k == 0 ? 10 : 1.1 + 8 * (double)(k - 1) / (WORLD_PEAKS - 2);
        double bent = pow(1000, k == 0 ? 1 : (double)((k * 37) % 100) / 99);
        for (size_t j = 0; j < w->d; j++)
            sum += pow(bent, 0.5 * share(w, (j * 7 + k) % w->d) - 0.25) * square(z[j] - w->peak[k][j]);
        most = fmax(most, height * exp(-sum / (2 * (double)w->d)));
    }
    return square(10 - most);
}

static const struct {
    const char *name;
    double (*form)(const struct world *world, const double *z);
} forms[] = {
    {"sphere", sphere},       {"ellipsoid", ellipsoid}, {"discus", discus},     {"rosenbrock", rosenbrock},
    {"sector", sector},       {"steps", steps},         {"powers", powers},     {"ridge", ridge},
    {"rastrigin", rastrigin}, {"schaffers", schaffers}, {"griewank", griewank}, {"gallagher", gallagher},
};
enum { FORMS = sizeof forms / sizeof *forms };

static void draw_turn(struct rng *rng, size_t d, double turn[WORLD_DIMS][WORLD_DIMS])
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            turn[i][j] = rng_normal(rng);
        for (size_t k = 0; k < i; k++) {
            double dot = 0;
            for (size_t j = 0; j < d; j++)
                dot += turn[i][j] * turn[k][j];
            for (size_t j = 0; j < d; j++)
                turn[i][j] -= dot * turn[k][j];
        }
        double length = 0;
        for (size_t j = 0; j < d; j++)
            length += turn[i][j] * turn[i][j];
        for (size_t j = 0; j < d; j++)
            turn[i][j] /= sqrt(length);
    }
}

static void world_make(struct world *w, size_t form, size_t d, uint64_t seed)
{
    struct rng rng = rng_at(seed, form, RNG_TEST);
    *w = (struct world){.d = d, .form = forms[form].form};
    draw_turn(&rng, d, w->turn);
    for (size_t j = 0; j < d; j++)
        w->optimum[j] = -4 + 8 * rng_uniform(&rng);
    for (size_t k = 1; k < WORLD_PEAKS; k++)
        for (size_t j = 0; j < d; j++)
            w->peak[k][j] = -5 + 10 * rng_uniform(&rng);
    if (w->form == gallagher) /* the others lie in the box as it is turned around the highest */
        for (size_t k = 1; k < WORLD_PEAKS; k++) {
            double from[WORLD_DIMS];
            for (size_t j = 0; j < d; j++)
                from[j] = w->peak[k][j] - w->optimum[j];
            for (size_t i = 0; i < d; i++) {
                w->peak[k][i] = 0;
                for (size_t j = 0; j < d; j++)
                    w->peak[k][i] += w->turn[i][j] * from[j];
            }
        }
}

/* At x [d] in [-5, 5]. */
static double world_value(const struct world *w, const double *x)
{
    double z[WORLD_DIMS];
    for (size_t i = 0; i < w->d; i++) {
        z[i] = 0;
        for (size_t j = 0; j < w->d; j++)
            z[i] += w->turn[i][j] * (x[j] - w->optimum[j]);
    }
    return w->form(w, z);
}

#endif
