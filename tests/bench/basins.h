/* Functions of many basins, and of one, in the unit cube: another with each seed, whose optimum is 0 and anywhere in the
 * inner 80 % of each range; tests/bench/basins.c says what the kinds are. */
#ifndef GNOMON_TESTS_BENCH_BASINS_H
#define GNOMON_TESTS_BENCH_BASINS_H

#include "tests/bench/functions.h"

enum { D_MAX = 6, WELLS = 8 };

/* The function of this seed. */
static struct {
    double best[D_MAX], axes[D_MAX][D_MAX], well[WELLS][D_MAX], depth[WELLS], width[WELLS], phase[3], turn[3][D_MAX];
} world;

/* Axes: Gram and Schmidt's of normal vectors. */
static void make_axes(struct rng *rng, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        double squares = 0;
        for (size_t j = 0; j < d; j++)
            world.axes[i][j] = rng_normal(rng);
        for (size_t k = 0; k < i; k++) {
            double along = 0;
            for (size_t j = 0; j < d; j++)
                along += world.axes[i][j] * world.axes[k][j];
            for (size_t j = 0; j < d; j++)
                world.axes[i][j] -= along * world.axes[k][j];
        }
        for (size_t j = 0; j < d; j++)
            squares += square(world.axes[i][j]);
        for (size_t j = 0; j < d; j++)
            world.axes[i][j] /= sqrt(squares);
    }
}

static double distance2(const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += square(a[j] - b[j]);
    return sum;
}

/* The first well is the deepest; the others keep a distance from it. */
static inline void make_world(uint64_t seed, size_t d)
{
    struct rng rng = rng_at(seed, 1, RNG_TEST);
    make_axes(&rng, d);
    for (size_t j = 0; j < d; j++)
        world.best[j] = 0.1 + 0.8 * rng_uniform(&rng);
    for (size_t w = 0; w < WELLS; w++) {
        do
            for (size_t j = 0; j < d; j++)
                world.well[w][j] = w == 0 ? world.best[j] : rng_uniform(&rng);
        while (w > 0 && distance2(world.well[w], world.best, d) < square(0.3) * (double)d / 2);
        world.depth[w] = w == 0 ? 1 : 0.4 + 0.4 * rng_uniform(&rng);
        world.width[w] = (w == 0 ? 0.1 : 0.08 + 0.12 * rng_uniform(&rng)) * sqrt((double)d);
    }
    for (size_t k = 0; k < 3; k++) {
        world.phase[k] = 2 * PI * rng_uniform(&rng);
        for (size_t j = 0; j < d; j++)
            world.turn[k][j] = rng_normal(&rng) / sqrt((double)d);
    }
}

/* Coordinates along the axes, from the optimum. */
static inline void turned(const double *x, size_t d, double *z)
{
    for (size_t i = 0; i < d; i++) {
        z[i] = 0;
        for (size_t j = 0; j < d; j++)
            z[i] += world.axes[i][j] * (x[j] - world.best[j]);
    }
}

static double wells(const double *x, size_t d)
{
    double lowest = 0;
    for (size_t w = 0; w < WELLS; w++)
        lowest = fmax(lowest, world.depth[w] * exp(-0.5 * distance2(x, world.well[w], d) / square(world.width[w])));
    return 1 - lowest + 0.1 * distance2(x, world.best, d);
}

static double hole(const double *x, size_t d)
{
    double bowl = 3 * distance2(x, world.well[1], d) / (double)d;
    return (0.5 + bowl) * (1 - exp(-0.5 * distance2(x, world.best, d) / (square(0.08) * (double)d)));
}

static double waves(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i < d; i++)
        sum += 20 * square(z[i]) + 1 - cos(2 * PI * z[i] / 0.25);
    return sum;
}

static double ripples(const double *x, size_t d)
{
    double r2 = distance2(x, world.best, d), sum = 3 * r2 + 1 - cos(25 * sqrt(r2));
    for (size_t k = 0; k < 3; k++) {
        double along = 0;
        for (size_t j = 0; j < d; j++)
            along += world.turn[k][j] * (x[j] - world.best[j]);
        sum += 1 - cos(20 * along);
    }
    return sum;
}

static double valley(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i + 1 < d; i++)
        sum += 30 * square(z[i + 1] - 2 * square(z[i])) + square(z[i]) + 0.5 * (1 - cos(2 * PI * z[i] / 0.3));
    return sum;
}

static double trap(const double *x, size_t d)
{
    double corner[D_MAX];
    for (size_t j = 0; j < d; j++)
        corner[j] = world.best[j] < 0.5 ? 1 : 0;
    double near = sqrt(distance2(x, world.best, d)), size = sqrt((double)d);
    return fmin(6 * near / size, 0.3 + sqrt(distance2(x, corner, d)) / size);
}

static double bowl(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i < d; i++)
        sum += pow(30, (double)i / (double)(d - 1)) * square(z[i]);
    return sum;
}

#define KIND(label, formula, dims, sd)                                                                            \
    {                                                                                                             \
        .name = label, .value = formula, .d = dims, .lower = 0, .upper = 1, .noise = sd, .trials = { 20, 40, 80 } \
    }
enum { DEVELOPMENT = 9 };
static const struct function kinds[] = {
    KIND("wells2", wells, 2, 0),
    KIND("wells4", wells, 4, 0),
    KIND("hole3", hole, 3, 0),
    KIND("waves2", waves, 2, 0),
    KIND("valley4", valley, 4, 0),
    KIND("trap2", trap, 2, 0),
    KIND("noisy_wells2", wells, 2, 0.05),
    KIND("bowl4", bowl, 4, 0),
    KIND("noisy_bowl3", bowl, 3, 0.2),
    KIND("wells3", wells, 3, 0),
    KIND("wells5", wells, 5, 0),
    KIND("hole2", hole, 2, 0),
    KIND("ripples2", ripples, 2, 0),
    KIND("ripples3", ripples, 3, 0),
    KIND("waves3", waves, 3, 0),
    KIND("valley6", valley, 6, 0),
    KIND("trap3", trap, 3, 0),
    KIND("noisy_wells3", wells, 3, 0.05),
    KIND("noisy_ripples2", ripples, 2, 0.2),
    KIND("bowl5", bowl, 5, 0),
    KIND("noisy_bowl2", bowl, 2, 0.2),
};
enum { KINDS = sizeof kinds / sizeof *kinds };

#endif
