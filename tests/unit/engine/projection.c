/* The curator's transform: thresholds against published values, both branches against closed forms, distances. */
#include "engine/privacy/projection.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Line 5 of Algorithm 2, evaluated independently (mpmath) for the tables of the thesis. */
static void test_omega(void)
{
    static const struct {
        size_t r;
        double log_epsilon, delta, omega;
    } table[] = {
        {10, 0, 1e-3, 1671.5352971392028},   {10, 1.1, 1e-5, 976.06930101373621},
        {15, 1.1, 1e-5, 1224.656067880645},  {15, 1.3, 1e-5, 1002.6635847174406},
        {20, 1.3, 1e-5, 1177.3760392209906}, {20, 1.5, 1e-5, 963.95397124737337},
        {30, 1.5, 1e-5, 1208.2977195783737}, {10, 2.3, 1e-3, 167.58619613302969},
        {15, 2.3, 1e-3, 212.19536814473733}, {15, 2.5, 1e-3, 173.73087356080032},
        {20, 2.5, 1e-3, 205.26561236307225}, {20, 2.7, 1e-3, 168.05726939103121},
        {30, 2.7, 1e-3, 212.41100217525775}, {3, 1.1, 1e-5, 495.8125},
        {20, 1.1, 1e-5, 1438.0503},          {12, 1.3, 1e-5, 885.0335},
        {50, 1.5, 1e-5, 1604.9587},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double omega = projection_omega(exp(table[i].log_epsilon), table[i].delta, table[i].r);
        CHECK_NEAR(omega, table[i].omega, i < 13 ? 1e-9 : 5e-5);
    }
}

/* Uniform side x side grid over [0, a] x [0, b]. */
static double *grid(size_t side, double a, double b)
{
    double *X = malloc(side * side * 2 * sizeof *X);
    CU_ASSERT_FATAL(X != NULL);
    for (size_t i = 0; i < side * side; i++) {
        X[2 * i] = a * (double)(i / side) / (double)(side - 1);
        X[2 * i + 1] = b * (double)(i % side) / (double)(side - 1);
    }
    return X;
}

static double *normals(size_t n, uint64_t seed)
{
    double    *M = malloc(n * sizeof *M);
    struct rng rng = rng_at(seed, 1, RNG_TEST);
    CU_ASSERT_FATAL(M != NULL);
    for (size_t i = 0; i < n; i++)
        M[i] = rng_normal(&rng);
    return M;
}

/* Prepares and projects; the caller's X is overwritten. */
static void project(struct projection *p, double *X, size_t n, size_t d, const double *M, double *Z)
{
    struct arena arena;
    arena_init(&arena, 1 << 24);
    CU_ASSERT_FATAL(projection_apply(p, (struct projection_rows){X, n, d}, M, Z, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
}

/* The 100 x 100 grid of the thesis: sigma_min 1030.88, and for each epsilon the largest r of its tables. */
static void test_gp_grid(void)
{
    static const struct {
        double log_epsilon;
        size_t passes, fails, advised;
    } rows[] = {{1.1, 10, 15, 11}, {1.3, 15, 20, 15}, {1.5, 20, 30, 22}};
    for (size_t i = 0; i < 3; i++) {
        double           *X = grid(100, 8.5, 8.5), *M = normals(2 * 30, i), *Z = malloc(10000 * 30 * sizeof *Z), scale;
        struct projection p = {.epsilon = exp(rows[i].log_epsilon), .delta = 1e-5, .dims = rows[i].passes};
        CU_ASSERT_FATAL(projection_prepare(X, 10000, 2, NULL, &scale, NULL) == STATUS_OK);
        CHECK_NEAR(scale, 25 / (8.5 / sqrt(2)), 1e-12);
        double *again = malloc(20000 * sizeof *again);
        memcpy(again, X, 20000 * sizeof *again);
        project(&p, X, 10000, 2, M, Z);
        CHECK_NEAR(p.sigma_min, 1030.87847863, 1e-7);
        CU_ASSERT(!p.lifted && p.dims_advised == rows[i].advised);
        p.dims = rows[i].fails;
        project(&p, again, 10000, 2, M, Z);
        CU_ASSERT(p.lifted && p.dims_advised == rows[i].advised);
        CU_ASSERT(projection_advise(p.epsilon, p.delta, p.sigma_min, 7) == 7);
        CU_ASSERT(projection_advise(p.epsilon, p.delta, 3.5, 100) == 0);
        free(X), free(M), free(Z), free(again);
    }
}

/* Branin's 31 x 31 grid with a length-scale ratio of 2.25: sigma_min lies where all three tables need it. */
static void test_branin_grid(void)
{
    double           *X = grid(31, 15, 15), *M = normals(20, 5), *Z = malloc(961 * 10 * sizeof *Z), scale;
    struct projection p = {.epsilon = exp(2.3), .delta = 1e-3, .dims = 10};
    const double      length_scales[2] = {2.6, 2.25 * 2.6};
    CU_ASSERT_FATAL(projection_prepare(X, 961, 2, length_scales, &scale, NULL) == STATUS_OK);
    project(&p, X, 961, 2, M, Z);
    CU_ASSERT(p.sigma_min > 173.7 && p.sigma_min < 205.3 && !p.lifted);
    free(X), free(M), free(Z);
}

/* Columns have mean 0, the longest row norm 25, and column ratios follow the length-scales. */
static void test_prepare(void)
{
    enum { N = 97, D = 4 };
    double     X[N * D], raw[N * D], scale, longest = 0;
    struct rng rng = rng_at(21, 2, RNG_TEST);
    for (size_t i = 0; i < N * D; i++)
        raw[i] = X[i] = 7.1 + 3 * rng_normal(&rng) * (double)(i % D + 1);
    const double length_scales[D] = {0.5, 2.385, 11, 1.25};
    CU_ASSERT_FATAL(projection_prepare(X, N, D, length_scales, &scale, NULL) == STATUS_OK);
    for (size_t c = 0; c < D; c++) {
        double sum = 0;
        for (size_t i = 0; i < N; i++)
            sum += X[i * D + c];
        CHECK_NEAR(sum / N, 0, 1e-13);
        CHECK_NEAR(X[5 * D + c] - X[9 * D + c], scale * (raw[5 * D + c] - raw[9 * D + c]) / length_scales[c], 1e-12);
    }
    for (size_t i = 0; i < N; i++) {
        double squares = 0;
        for (size_t c = 0; c < D; c++)
            squares += X[i * D + c] * X[i * D + c];
        longest = fmax(longest, sqrt(squares));
    }
    CHECK_NEAR(longest, 25, 1e-12);
}

enum { ROWS = 60, COLS = 3 };

static void random_rows(double *X)
{
    struct rng rng = rng_at(22, 3, RNG_TEST);
    double     scale;
    for (size_t i = 0; i < ROWS; i++) {
        double a = rng_normal(&rng), b = rng_normal(&rng), c = rng_normal(&rng);
        X[COLS * i] = 3 * a, X[COLS * i + 1] = a + 2 * b, X[COLS * i + 2] = b - a + 0.7 * c;
    }
    CU_ASSERT_FATAL(projection_prepare(X, ROWS, COLS, NULL, &scale, NULL) == STATUS_OK);
}

/* Not lifted: Z = r^-1/2 X M, entry by entry. */
static void test_plain_branch(void)
{
    enum { R = 5 };
    double            X[ROWS * COLS], copy[ROWS * COLS], Z[ROWS * R], *M = normals(COLS * R, 23);
    struct projection p = {.epsilon = 300, .delta = 0.01, .dims = R};
    random_rows(X);
    memcpy(copy, X, sizeof copy);
    project(&p, X, ROWS, COLS, M, Z);
    CU_ASSERT(!p.lifted && p.sigma_min >= p.omega);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < R; k++) {
            double sum = 0;
            for (size_t c = 0; c < COLS; c++)
                sum += copy[i * COLS + c] * M[c * R + k];
            CHECK_NEAR(Z[i * R + k], sum / sqrt(R), 1e-11);
        }
    free(M);
}

/* Lifted, with M = r^1/2 I so that Z = X~:  X~'X~ = X'X + omega^2 I, and X'X~ is symmetric and positive. */
static void test_lifted_branch(void)
{
    double            X[ROWS * COLS], copy[ROWS * COLS], Z[ROWS * COLS], M[COLS * COLS] = {0};
    struct projection p = {.epsilon = 2, .delta = 0.01, .dims = COLS};
    for (size_t c = 0; c < COLS; c++)
        M[c * COLS + c] = sqrt(COLS);
    random_rows(X);
    memcpy(copy, X, sizeof copy);
    project(&p, X, ROWS, COLS, M, Z);
    CU_ASSERT(p.lifted && p.sigma_min < p.omega);
    for (size_t a = 0; a < COLS; a++)
        for (size_t b = 0; b < COLS; b++) {
            double plain = a == b ? p.omega * p.omega : 0, lifted = 0, cross = 0, crossed = 0;
            for (size_t i = 0; i < ROWS; i++) {
                plain += copy[i * COLS + a] * copy[i * COLS + b];
                lifted += Z[i * COLS + a] * Z[i * COLS + b];
                cross += copy[i * COLS + a] * Z[i * COLS + b];
                crossed += copy[i * COLS + b] * Z[i * COLS + a];
            }
            CHECK_NEAR(lifted / plain, 1, a == b ? 1e-12 : 1e-8);
            CHECK_NEAR(cross, crossed, 1e-9 * fabs(p.omega * p.omega));
            CU_ASSERT(a != b || cross > 0);
        }
}

/* |z - z'|^2 / |x - x'|^2 is chi^2_r / r over draws of M (Lemma 3.1: unbiased, sd sqrt(2 / r)). */
static void test_distances(void)
{
    enum { R = 10, DRAWS = 2000 };
    double X[ROWS * COLS], copy[ROWS * COLS], Z[ROWS * R], sum = 0, squares = 0, before = 0;
    int    below = 0;
    random_rows(copy);
    for (size_t c = 0; c < COLS; c++)
        before += pow(copy[4 * COLS + c] - copy[31 * COLS + c], 2);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        struct projection p = {.epsilon = 2000, .delta = 0.01, .dims = R};
        double           *M = normals(COLS * R, 1000 + draw), after = 0;
        memcpy(X, copy, sizeof X);
        project(&p, X, ROWS, COLS, M, Z);
        CU_ASSERT(!p.lifted);
        for (size_t k = 0; k < R; k++)
            after += pow(Z[4 * R + k] - Z[31 * R + k], 2);
        sum += after / before;
        squares += pow(after / before - 1, 2);
        below += after / before < 0.93418; /* the median of chi^2_10 / 10 */
        free(M);
    }
    CHECK_NEAR(sum / DRAWS, 1, 4 * sqrt(2.0 / R / DRAWS));
    CHECK_NEAR(squares / DRAWS, 2.0 / R, 0.04);
    CHECK_NEAR(below / (double)DRAWS, 0.5, 4 * 0.5 / sqrt(DRAWS));
}

static void test_refused(void)
{
    static const struct {
        struct projection p;
        size_t            n, d;
        const char       *code;
    } bad[] = {
        {{.epsilon = 0, .delta = 0.1, .dims = 2}, 60, 3, "bad_epsilon"},
        {{.epsilon = NAN, .delta = 0.1, .dims = 2}, 60, 3, "bad_epsilon"},
        {{.epsilon = INFINITY, .delta = 0.1, .dims = 2}, 60, 3, "bad_epsilon"},
        {{.epsilon = 1, .delta = 0, .dims = 2}, 60, 3, "bad_delta"},
        {{.epsilon = 1, .delta = 1, .dims = 2}, 60, 3, "bad_delta"},
        {{.epsilon = 1, .delta = 0.1, .dims = 0}, 60, 3, "bad_dims"},
        {{.epsilon = 1, .delta = 0.1, .dims = 2}, 3, 3, "bad_size"},
        {{.epsilon = 1, .delta = 0.1, .dims = 2}, 60, 0, "bad_size"},
    };
    double       X[ROWS * COLS], Z[ROWS * 2], M[COLS * 2] = {0.3, -1, 2, 0.7, 1.1, 0.2}, scale;
    struct arena arena;
    struct error err;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct projection p = bad[i].p;
        random_rows(X);
        CU_ASSERT(projection_apply(&p, (struct projection_rows){X, bad[i].n, bad[i].d}, M, Z, &arena, &err) ==
                  STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, bad[i].code) == 0);
    }
    struct projection p = {.epsilon = 1, .delta = 0.1, .dims = 2};
    X[7] = NAN;
    CU_ASSERT(projection_apply(&p, (struct projection_rows){X, ROWS, COLS}, M, Z, &arena, &err) == STATUS_NUMERIC);
    CU_ASSERT(projection_prepare(X, ROWS, COLS, NULL, &scale, &err) == STATUS_NUMERIC && scale == 0);
    arena_fini(&arena);
    arena_init(&arena, 100);
    random_rows(X);
    CU_ASSERT(projection_apply(&p, (struct projection_rows){X, ROWS, COLS}, M, Z, &arena, &err) == STATUS_NO_MEMORY);
    arena_fini(&arena);
    for (size_t i = 0; i < ROWS * COLS; i++)
        X[i] = 0.1 * (double)(i % COLS);
    CU_ASSERT(projection_prepare(X, ROWS, COLS, NULL, &scale, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, "equal_rows") == 0 && scale == 0);
    CU_ASSERT(projection_prepare(X, ROWS, COLS, (double[]){1, 0, 1}, &scale, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, "bad_length_scale") == 0);
}

CU_TestInfo suite_projection[] = {
    {"omega", test_omega},         {"the GP grid", test_gp_grid},       {"the Branin grid", test_branin_grid},
    {"prepare", test_prepare},     {"plain branch", test_plain_branch}, {"lifted branch", test_lifted_branch},
    {"distances", test_distances}, {"refused", test_refused},           CU_TEST_INFO_NULL,
};
