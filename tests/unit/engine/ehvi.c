/* Expected hypervolume improvements against hypervolumes, samples and differences. */
#include "engine/acquisition/acq.h"
#include "engine/acquisition/ehvi.h"
#include "engine/acquisition/pareto.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <CUnit/TestRun.h>
#include <string.h>

enum { N = 14 };
static const double reference[OBJECTIVES_MAX] = {0.13, 0.08, -0.21, 0.05};

static double volume(const double *values, size_t n, size_t m)
{
    struct arena arena;
    double       out = NAN;
    arena_init(&arena, 1 << 24);
    CU_ASSERT(pareto_hypervolume(&(struct pareto_set){.values = values, .n = n, .m = m, .reference = reference}, &out,
                                 &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    return out;
}

/* Vectors on and inside a sphere, some not above the reference, two equal, two that differ in one component. */
static void make_front(struct rng *rng, size_t m, double *front)
{
    for (size_t i = 0; i < N; i++) {
        double squares = 0.0;
        for (size_t j = 0; j < m; j++) {
            front[i * m + j] = fabs(rng_normal(rng));
            squares += front[i * m + j] * front[i * m + j];
        }
        for (size_t j = 0; j < m; j++)
            front[i * m + j] *= (i % 4 == 0 ? 0.6 : 1.0) / sqrt(squares);
    }
    memcpy(front + m, front, m * sizeof *front);
    memcpy(front + 3 * m, front + 2 * m, m * sizeof *front);
    front[4 * m - 1] += 0.04;
}

static double added(double *front, size_t m, const double *y)
{
    double before = volume(front, N, m);
    memcpy(front + N * m, y, m * sizeof *y);
    return volume(front, N + 1, m) - before;
}

/* With next to no uncertainty it is the improvement, wherever the vector lies. */
static void test_certain(void)
{
    for (size_t m = 2; m <= OBJECTIVES_MAX; m++)
        for (uint64_t round = 1; round <= 20; round++) {
            struct rng   rng = rng_at(round, m, RNG_TEST);
            struct arena arena;
            struct ehvi  ehvi;
            double       front[(N + 1) * OBJECTIVES_MAX], y[OBJECTIVES_MAX], sd[] = {1e-9, 2e-9, 1e-9, 3e-9};
            double       dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX];
            arena_init(&arena, 1 << 22);
            make_front(&rng, m, front);
            CU_ASSERT_FATAL(ehvi_init(&ehvi,
                                      &(struct pareto_set){.values = front, .n = N, .m = m, .reference = reference},
                                      &arena, NULL) == STATUS_OK);
            for (int k = 0; k < 10; k++) {
                for (size_t j = 0; j < m; j++)
                    y[j] = 1.3 * rng_uniform(&rng);
                CHECK_NEAR(exp(ehvi_value(&ehvi, y, sd, dmean, dsd)), added(front, m, y), 1e-8);
            }
            arena_fini(&arena);
        }
}

/* Antithetic samples; their standard error decides. */
static void test_samples(void)
{
    const double mean[] = {0.55, 0.47, 0.62, 0.51}, sd[] = {0.21, 0.13, 0.32, 0.18};
    for (size_t m = 2; m <= OBJECTIVES_MAX; m++) {
        struct rng   rng = rng_at(5, m, RNG_TEST);
        struct arena arena;
        struct ehvi  ehvi;
        double       front[(N + 1) * OBJECTIVES_MAX], y[OBJECTIVES_MAX], sum = 0.0, squares = 0.0;
        double       dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX];
        enum { SAMPLES = 4000 };
        arena_init(&arena, 1 << 22);
        make_front(&rng, m, front);
        CU_ASSERT_FATAL(ehvi_init(&ehvi, &(struct pareto_set){.values = front, .n = N, .m = m, .reference = reference},
                                  &arena, NULL) == STATUS_OK);
        for (int s = 0; s < SAMPLES; s++) {
            for (size_t j = 0; j < m; j++)
                y[j] = mean[j] + sd[j] * rng_normal(&rng);
            double gain = added(front, m, y);
            sum += gain / SAMPLES;
            squares += gain * gain / SAMPLES;
        }
        double error = sqrt((squares - sum * sum) / SAMPLES);
        CU_ASSERT(error < 0.1 * sum);
        CHECK_NEAR(exp(ehvi_value(&ehvi, mean, sd, dmean, dsd)), sum, 4.0 * error);
        arena_fini(&arena);
    }
}

static void check_gradient(const struct ehvi *ehvi, double *mean, double *sd)
{
    double dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX], ignored[OBJECTIVES_MAX];
    CU_ASSERT(isfinite(ehvi_value(ehvi, mean, sd, dmean, dsd)));
    for (size_t j = 0; j < 2 * ehvi->m; j++) {
        double *x = j < ehvi->m ? &mean[j] : &sd[j - ehvi->m], kept = *x, step = 1e-6 * sd[j % ehvi->m];
        double  slope = j < ehvi->m ? dmean[j] : dsd[j - ehvi->m];
        *x = kept + step;
        double up = ehvi_value(ehvi, mean, sd, ignored, ignored);
        *x = kept - step;
        double down = ehvi_value(ehvi, mean, sd, ignored, ignored);
        *x = kept;
        CHECK_NEAR((up - down) / (2.0 * step), slope, 1e-6 * (fabs(slope) + fabs(up) / sd[j % ehvi->m]));
    }
}

/* From where the improvement is likely to where its logarithm is all that is left of it. */
static void test_gradients(void)
{
    for (size_t m = 2; m <= OBJECTIVES_MAX; m++) {
        struct rng   rng = rng_at(9, m, RNG_TEST);
        struct arena arena;
        struct ehvi  ehvi;
        double       front[(N + 1) * OBJECTIVES_MAX];
        arena_init(&arena, 1 << 22);
        make_front(&rng, m, front);
        CU_ASSERT_FATAL(ehvi_init(&ehvi, &(struct pareto_set){.values = front, .n = N, .m = m, .reference = reference},
                                  &arena, NULL) == STATUS_OK);
        for (double at = 0.9; at > -1.0; at -= 0.17)
            for (double width = 0.3; width > 1e-3; width /= 3.0) {
                double mean[] = {at, at - 0.05, at + 0.1, at}, sd[] = {width, 0.7 * width, 1.2 * width, 0.9 * width};
                check_gradient(&ehvi, mean, sd);
            }
        arena_fini(&arena);
    }
}

/* Nothing is dominated: one box, a product of expectations; and with one vector of two objectives three of them. */
static void test_few(void)
{
    struct arena arena;
    struct ehvi  ehvi;
    const double one[] = {0.7, 0.45}, sd[] = {0.2, 0.3};
    arena_init(&arena, 1 << 20);
    for (double at = 0.6; at > -60.0; at -= 4.1) {
        double       mean[] = {at, at + 0.2}, dmean[2], dsd[2], a[3], b[3], ignored, top;
        const double sides[2][2] = {{0.13, 0.7}, {0.08, 0.45}};
        struct acq   acq = {.kind = ACQ_LOG_EI};
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                acq.best = sides[j][k];
                (j == 0 ? a : b)[k] = acq_value(&acq, mean[j], sd[j], &ignored, &top);
            }
        CU_ASSERT_FATAL(ehvi_init(&ehvi, &(struct pareto_set){.values = one, .n = 0, .m = 2, .reference = reference},
                                  &arena, NULL) == STATUS_OK);
        CHECK_NEAR(ehvi_value(&ehvi, mean, sd, dmean, dsd), a[0] + b[0], 1e-9 * (1.0 + fabs(a[0] + b[0])));
        CU_ASSERT_FATAL(ehvi_init(&ehvi, &(struct pareto_set){.values = one, .n = 1, .m = 2, .reference = reference},
                                  &arena, NULL) == STATUS_OK);
        double right = a[1] + b[0], left = a[0] + b[1], both = a[1] + b[1]; /* right + left - both, in logarithms */
        top = fmax(right, left);
        CHECK_NEAR(ehvi_value(&ehvi, mean, sd, dmean, dsd),
                   top + log(exp(right - top) + exp(left - top) - exp(both - top)), 1e-9 * (1.0 + fabs(top)));
    }
    arena_fini(&arena);
}

CU_TestInfo suite_ehvi[] = {
    {"certain values", test_certain}, {"samples", test_samples}, {"gradients", test_gradients},
    {"few boxes", test_few},          CU_TEST_INFO_NULL,
};
