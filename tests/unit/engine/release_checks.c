/* Each check fires on what it is for and is named; genuine releases pass; and how often either fails. */
#include "engine/math/mat.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/release.h"
#include "engine/privacy/release_checks.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 1000, D_MAX = 50 };
enum kind { UNIFORM, GRID, INTEGERS, ONE_HOT, ROUNDED, GAUSS, LOG_NORMAL, MIXED, KINDS };

/* Tables as people have them; one-hot rows need two columns. */
static double value_of(enum kind kind, size_t c, size_t hot, struct rng *rng)
{
    switch (kind) {
    case UNIFORM:
        return rng_uniform(rng);
    case GRID:
        return (double)rng_below(rng, 10) / 9;
    case INTEGERS:
        return (double)rng_below(rng, 120);
    case ONE_HOT:
        return c == hot;
    case ROUNDED:
        return rint((50 + 12 * rng_normal(rng)) * 1000) / 1000;
    case GAUSS:
        return 5 + 2 * rng_normal(rng);
    case LOG_NORMAL:
        return exp(rng_normal(rng));
    case MIXED:
    case KINDS:
        break;
    }
    return c == 0 ? (double)rng_below(rng, 2) : c == 1 ? (double)rng_below(rng, 8) : rng_uniform(rng);
}

static void fill(enum kind kind, size_t n, size_t d, struct rng *rng, double *X)
{
    for (size_t i = 0; i < n; i++) {
        size_t hot = rng_below(rng, d);
        for (size_t c = 0; c < d; c++)
            X[i * d + c] = value_of(kind, c, hot, rng);
    }
}

static void centre(double *X, size_t n, size_t d)
{
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t c = 0; c < d; c++) {
            double mean = 0;
            for (size_t i = 0; i < n; i++)
                mean += X[i * d + c] / (double)n;
            for (size_t i = 0; i < n; i++)
                X[i * d + c] -= mean;
        }
}

/* Columns over their norm, or over their range. */
static void rescale(double *X, size_t n, size_t d, bool by_range)
{
    for (size_t c = 0; c < d; c++) {
        double low = INFINITY, high = -INFINITY, squares = 0;
        for (size_t i = 0; i < n; i++) {
            low = fmin(low, X[i * d + c]), high = fmax(high, X[i * d + c]);
            squares += X[i * d + c] * X[i * d + c];
        }
        for (size_t i = 0; i < n; i++)
            X[i * d + c] /= by_range ? high - low : sqrt(squares);
    }
}

static void principal_components(double *X, size_t n, size_t d)
{
    double s[D_MAX], *Vt = malloc(d * d * sizeof *Vt);
    CU_ASSERT_FATAL(Vt != NULL && mat_svd(X, n, d, s, Vt, NULL) == STATUS_OK);
    for (size_t i = 0; i < n * d; i++)
        X[i] *= s[i % d];
    free(Vt);
}

static struct arena arena_of_tests(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 26);
    return arena;
}

static enum status check_projection(const double *Z, size_t n, size_t r, struct error *err)
{
    struct arena              arena = arena_of_tests();
    struct release_projection release = {.Z = Z, .n = n, .r = r};
    enum status               status = release_check_projection(&release, &arena, err);
    arena_fini(&arena);
    return status;
}

/* Rows in random order, as a release has them: what lifting adds to a table without full rank follows the order. */
static void shuffle(double *Z, size_t n, size_t r, struct rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = rng_below(rng, i);
        for (size_t c = 0; c < r; c++) {
            double z = Z[other * r + c];
            Z[other * r + c] = Z[(i - 1) * r + c];
            Z[(i - 1) * r + c] = z;
        }
    }
}

/* A genuine projection of a random table; false when it is refused. */
static bool genuine_projection_passes(struct rng *rng)
{
    static const size_t rows[] = {60, 200, 1000}, columns[] = {4, 8, 20, 50}, dims[] = {3, 5, 9, 15};
    static const double epsilons[] = {1, 10, 3000};
    size_t              n = rows[rng_below(rng, 3)], d = columns[rng_below(rng, 4)], r = dims[rng_below(rng, 4)];
    struct projection   p = {.epsilon = epsilons[rng_below(rng, 3)], .delta = 1e-5, .dims = r < d ? r : d};
    struct arena        arena = arena_of_tests();
    double      *X = malloc(n * d * sizeof *X), *Z = malloc(n * d * sizeof *Z), *M = malloc(d * d * sizeof *M), scale;
    struct error err = {0};
    fill((enum kind)rng_below(rng, KINDS), n, d, rng, X);
    for (size_t i = 0; i < d * p.dims; i++)
        M[i] = rng_normal(rng);
    CU_ASSERT_FATAL(projection_prepare(X, n, d, NULL, &scale, &err) == STATUS_OK);
    CU_ASSERT_FATAL(projection_apply(&p, (struct projection_rows){X, n, d}, M, Z, &arena, &err) == STATUS_OK);
    centre(Z, n, p.dims);
    shuffle(Z, n, p.dims, rng);
    struct release_projection release = {.Z = Z, .n = n, .r = p.dims, .columns = d, .omega = p.omega};
    bool                      passes = release_check_projection(&release, &arena, &err) == STATUS_OK;
    if (!passes)
        printf("  refused: n %zu d %zu r %zu epsilon %g: %s\n", n, d, p.dims, p.epsilon, err.text);
    arena_fini(&arena);
    free(X), free(Z), free(M);
    return passes;
}

static void test_genuine_projections(void)
{
    struct rng rng = rng_at(71, 1, RNG_TEST);
    int        refused = 0;
    for (int i = 0; i < (thorough ? 300 : 100); i++)
        refused += !genuine_projection_passes(&rng);
    CU_ASSERT(refused == 0);
}

/* Untransformed tables are refused: as they are, z-scored, min-max scaled, as principal components; 8 kinds of each. */
static void test_raw_tables(void)
{
    enum { N = 200, D = 8, EACH = 12 };
    struct rng rng = rng_at(72, 1, RNG_TEST);
    double     X[N * D];
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (int transform = 0; transform < 4; transform++)
            for (int i = 0; i < EACH; i++) {
                struct error err = {0};
                fill((enum kind)kind, N, D, &rng, X);
                if (transform > 0)
                    centre(X, N, D);
                if (transform == 1 || transform == 2)
                    rescale(X, N, D, transform == 2);
                if (transform == 3)
                    principal_components(X, N, D);
                CU_ASSERT(check_projection(X, N, D, &err) == STATUS_INVALID);
                CU_ASSERT(strcmp(err.code, "not_a_release") == 0 && strcmp(err.path, "/candidates") == 0);
            }
}

/* Changes that no statistic sees, so that nobody believes otherwise. */
static void test_blind_spots(void)
{
    enum { N = 200, D = 4 };
    struct rng   rng = rng_at(73, 1, RNG_TEST);
    double       X[N * D];
    struct error err = {0};
    fill(GAUSS, N, D, &rng, X);
    centre(X, N, D);
    CU_ASSERT(check_projection(X, N, D, &err) == STATUS_OK);
}

/* A good matrix, spoilt in one way at a time. */
enum { GOOD_N = 120, GOOD_R = 3 };

static void good_matrix(double *Z)
{
    struct rng rng = rng_at(74, 1, RNG_TEST);
    for (size_t i = 0; i < GOOD_N; i++) {
        double a = rng_normal(&rng), b = rng_normal(&rng), c = rng_normal(&rng);
        Z[i * GOOD_R] = 2 * a, Z[i * GOOD_R + 1] = a + 3 * b, Z[i * GOOD_R + 2] = b - 0.4 * c;
    }
    centre(Z, GOOD_N, GOOD_R);
}

static void check_fires(const double *Z, const char *name)
{
    struct error err = {0};
    size_t       length = strlen(name);
    CU_ASSERT(check_projection(Z, GOOD_N, GOOD_R, &err) == STATUS_INVALID);
    CU_ASSERT(strncmp(err.text, name, length) == 0 && err.text[length] == ':');
}

enum spoilt { NOT_A_NUMBER, ZERO_COLUMN, SHIFTED, SHORT, SOME_ZERO, FEW_VALUES, ON_GRID, SERIES, DEPENDENT };

static double alternating(size_t i, size_t steps)
{
    return (i % 2 == 0 ? 1 : -1) * (double)(steps + 1);
}

/* Spoils a row of the good matrix; columns stay centred where the check is not about that. */
static void spoil(enum spoilt how, size_t i, const double *good, double *z)
{
    const double odd = 0.7853981633974483;
    switch (how) {
    case NOT_A_NUMBER:
        z[1] = i == 17 ? NAN : z[1];
        break;
    case ZERO_COLUMN:
        z[2] = 0;
        break;
    case SHIFTED:
        z[1] += 1e-6;
        break;
    case SHORT:
        z[0] = 1.5 * alternating(i, i / 2);
        break;
    case SOME_ZERO:
        z[0] = i == 5 ? 0 : i == 6 ? z[0] + good[5 * GOOD_R] : z[0];
        break;
    case FEW_VALUES:
        z[0] = odd * alternating(i, i / 2 % 20);
        break;
    case ON_GRID:
        z[0] = odd * alternating(i, i / 2 * 37 % 60);
        break;
    case SERIES:
        z[0] = 1.7 * sin(0.05235987755982988 * ((double)i + 0.317));
        break;
    case DEPENDENT:
        z[2] = 0.3 * z[0] - 0.7 * z[1];
        break;
    }
}

static void test_each_check(void)
{
    static const struct {
        enum spoilt how;
        const char *name;
    } rows[] = {
        {NOT_A_NUMBER, "C1"}, {ZERO_COLUMN, "C1"}, {SHIFTED, "C2"},  {SHORT, "C3"},   {SOME_ZERO, "C4"},
        {FEW_VALUES, "C5"},   {DEPENDENT, "C9"},   {ON_GRID, "C10"}, {SERIES, "C11"},
    };
    double Z[GOOD_N * GOOD_R], good[GOOD_N * GOOD_R];
    good_matrix(good);
    CU_ASSERT(check_projection(good, GOOD_N, GOOD_R, NULL) == STATUS_OK);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        memcpy(Z, good, sizeof Z);
        for (size_t i = 0; i < GOOD_N; i++)
            spoil(rows[k].how, i, good, Z + i * GOOD_R);
        check_fires(Z, rows[k].name);
    }
    memcpy(Z, good, sizeof Z);
    rescale(Z, GOOD_N, GOOD_R, false);
    check_fires(Z, "C6");
    memcpy(Z, good, sizeof Z);
    rescale(Z, GOOD_N, GOOD_R, true);
    check_fires(Z, "C7");
    memcpy(Z, good, sizeof Z);
    principal_components(Z, GOOD_N, GOOD_R);
    check_fires(Z, "C8");
    struct error err = {0};
    CU_ASSERT(check_projection(good, 3, 3, &err) == STATUS_INVALID && strncmp(err.text, "C9:", 3) == 0);
}

/* The combination of two coarse columns is a projection, though most of its gaps are equal: ten clusters of ten. */
static void test_two_coarse_columns(void)
{
    enum { N = 300 };
    struct rng   rng = rng_at(79, 1, RNG_TEST);
    double       Z[N];
    struct error err = {0};
    for (size_t i = 0; i < N; i++)
        Z[i] = 2.385174920183746 * (double)(i * 7 % 10) + 0.07139052281763519 * (double)(i / 10 % 10);
    shuffle(Z, N, 1, &rng);
    centre(Z, N, 1);
    CU_ASSERT(check_projection(Z, N, 1, &err) == STATUS_OK);
}

/* C12 needs the manifest: the same matrix under a threshold that it is too small for, and where the check is silent. */
static void test_spectrum(void)
{
    double       good[GOOD_N * GOOD_R];
    struct arena arena = arena_of_tests();
    struct error err = {0};
    good_matrix(good);
    struct release_projection release = {.Z = good, .n = GOOD_N, .r = GOOD_R, .columns = 12, .omega = 976};
    CU_ASSERT(release_check_projection(&release, &arena, &err) == STATUS_INVALID && strncmp(err.text, "C12:", 4) == 0);
    release.columns = 4;
    CU_ASSERT(release_check_projection(&release, &arena, &err) == STATUS_OK);
    release.columns = 12, release.omega = 3;
    CU_ASSERT(release_check_projection(&release, &arena, &err) == STATUS_OK);
    arena_fini(&arena);
    arena_init(&arena, 1024);
    CU_ASSERT(release_check_projection(&release, &arena, &err) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* Rows into the public ball by their own extremes, as somebody would who forgot the noise. */
static void into_ball(double *X, size_t n, size_t d)
{
    double longest = 0;
    rescale(X, n, d, true);
    centre(X, n, d);
    for (size_t i = 0; i < n; i++) {
        double squares = 0;
        for (size_t c = 0; c < d; c++)
            squares += X[i * d + c] * X[i * d + c];
        longest = fmax(longest, sqrt(squares));
    }
    for (size_t i = 0; i < n * d; i++)
        X[i] *= 25 / longest;
}

/* A genuine lattice release of a random table; false when it is refused. */
static bool genuine_lattice_passes(struct rng *rng, struct sampler *sampler)
{
    static const size_t rows[] = {60, 200, 1000}, columns[] = {1, 2, 3, 8};
    static const double epsilons[] = {1, 2.718281828459045, 7.38905609893065, 10}, zero[8] = {0};
    static const double one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    size_t              n = rows[rng_below(rng, 3)], d = columns[rng_below(rng, 4)];
    struct arena        arena = arena_of_tests();
    struct error        err = {0};
    double             *X = ARENA_NEW(&arena, double, n *d);
    struct release      r = {.mechanism = {.kind = (enum mechanism_kind)rng_below(rng, 4),
                                           .epsilon = epsilons[rng_below(rng, 4)],
                                           .delta = 1e-5,
                                           .distance = 1,
                                           .rows = n,
                                           .columns = d,
                                           .dims = d},
                             .scale = {.centre = zero, .length_scales = one, .radius = 25},
                             .indices = ARENA_NEW(&arena, int64_t, n * d),
                             .order = ARENA_NEW(&arena, size_t, n)};
    fill((enum kind)rng_below(rng, d > 1 ? KINDS : ONE_HOT), n, d, rng, X);
    into_ball(X, n, d);
    CU_ASSERT_FATAL(release_make(&r, X, sampler, &arena, &err) == STATUS_OK);
    struct release_lattice lattice = {
        .K = r.indices, .n = n, .p = d, .noise_sd = sqrt(r.mechanism.variance) / r.mechanism.gamma};
    bool passes = release_check_lattice(&lattice, &arena, &err) == STATUS_OK;
    if (!passes)
        printf("  refused: n %zu d %zu %s epsilon %g: %s\n", n, d, mechanism_name(r.mechanism.kind),
               r.mechanism.epsilon, err.text);
    arena_fini(&arena);
    return passes;
}

static void test_genuine_lattices(void)
{
    struct rng     rng = rng_at(75, 1, RNG_TEST), bits = rng_at(76, 1, RNG_TEST);
    struct sampler sampler;
    int            refused = 0;
    sampler_init(&sampler, bits_of_rng, &bits);
    for (int i = 0; i < (thorough ? 1000 : 300); i++)
        refused += !genuine_lattice_passes(&rng, &sampler);
    CU_ASSERT(refused <= 3);
}

/* Doubles that were never on a lattice, and tables rounded to it with the noise forgotten. */
static void test_raw_lattices(void)
{
    enum { N = 400, D = 3, EACH = 20 };
    struct rng   rng = rng_at(77, 1, RNG_TEST);
    double       X[N * D];
    int64_t      K[N * D];
    struct arena arena = arena_of_tests();
    for (unsigned kind = 0; kind < KINDS; kind++) {
        int caught = 0;
        for (int i = 0; i < EACH; i++) {
            struct error           err = {0};
            struct release_lattice lattice = {.K = K, .n = N, .p = D, .noise_sd = 2.45 * 1024};
            fill((enum kind)kind, N, D, &rng, X);
            into_ball(X, N, D);
            for (size_t k = 0; k < N * D; k++)
                K[k] = (int64_t)rint(X[k] * 1024);
            caught += release_check_lattice(&lattice, &arena, &err) == STATUS_INVALID;
        }
        bool is_discrete = kind == GRID || kind == INTEGERS || kind == ONE_HOT || kind == MIXED;
        CU_ASSERT(is_discrete ? caught == EACH : caught <= EACH);
    }
    arena_fini(&arena);
}

static void check_lattice_fires(const struct release_lattice *lattice, const char *name)
{
    struct arena arena = arena_of_tests();
    struct error err = {0};
    CU_ASSERT(release_check_lattice(lattice, &arena, &err) == STATUS_INVALID);
    CU_ASSERT(strncmp(err.text, name, 3) == 0 && strcmp(err.code, "not_a_release") == 0);
    arena_fini(&arena);
}

static void test_each_lattice_check(void)
{
    enum { N = 1000, P = 2 };
    int64_t                K[N * P], good[N * P];
    struct rng             rng = rng_at(78, 1, RNG_TEST);
    struct release_lattice lattice = {.K = good, .n = N, .p = P, .noise_sd = 2000};
    struct arena           arena = arena_of_tests();
    for (size_t i = 0; i < N * P; i++)
        good[i] = (int64_t)rint(2500 * rng_normal(&rng));
    CU_ASSERT(release_check_lattice(&lattice, &arena, NULL) == STATUS_OK);
    lattice.K = K;
    for (size_t i = 0; i < N * P; i++)
        K[i] = good[i] * 8;
    check_lattice_fires(&lattice, "L2:");
    for (size_t i = 0; i < N * P; i++)
        K[i] = i % P == 0 ? good[i % (N / 4 * P)] : good[i];
    check_lattice_fires(&lattice, "L3:"); /* one column repeats */
    memcpy(K, good, sizeof K);
    memcpy(K + 10, K + 50, 6 * sizeof *K);
    check_lattice_fires(&lattice, "L3:"); /* three rows repeat */
    for (size_t i = 0; i < N * P; i++)
        K[i] = i % P == 1 ? (int64_t)rint(1200 * rng_normal(&rng)) : good[i];
    check_lattice_fires(&lattice, "L4:");
    /* few rows that vary by a twelfth of their noise; and genuine ones, however few */
    struct release_lattice small = {.K = K, .n = 60, .p = 1, .noise_sd = 2000};
    for (size_t i = 0; i < N; i++)
        K[i] = (int64_t)rint(170 * rng_normal(&rng));
    check_lattice_fires(&small, "L4:");
    for (small.n = 2, small.K = good; small.n < 60; small.n++)
        CU_ASSERT(release_check_lattice(&small, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    arena_init(&arena, 1024);
    CU_ASSERT(release_check_lattice(&lattice, &arena, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

CU_TestInfo suite_release_checks[] = {
    {"genuine projections", test_genuine_projections},
    {"raw tables", test_raw_tables},
    {"blind spots", test_blind_spots},
    {"each check", test_each_check},
    {"two coarse columns", test_two_coarse_columns},
    {"spectrum", test_spectrum},
    {"genuine lattices", test_genuine_lattices},
    {"raw lattices", test_raw_lattices},
    {"each lattice check", test_each_lattice_check},
    CU_TEST_INFO_NULL,
};
