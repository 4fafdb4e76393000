/* The attacks: a bare projection is told apart every time, a guaranteed release never beyond its bound.
 * Expected success rates are those of an independent implementation (eps 1, 3 columns, a move of 1), or closed forms. */
#include "engine/privacy/audit.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/release.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <stdlib.h>
#include <string.h>

enum { N = 100, D = 3, R = 10 };

static void test_limits(void)
{
    /* scipy.stats.beta.ppf */
    static const struct {
        size_t hits, trials;
        double confidence, low, high;
    } rows[] = {
        {17, 50, 0.95, 0.2120547134353817, 0.48765248772158837},
        {2, 9, 0.99, 0.01212358908062271, 0.6926063507685438},
        {4985, 5000, 0.95, 0.9950567759686951, 0.9983199806250636},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct audit_limits limits = audit_limits_of(rows[i].hits, rows[i].trials, rows[i].confidence);
        CHECK_NEAR(limits.low, rows[i].low, 1e-9);
        CHECK_NEAR(limits.high, rows[i].high, 1e-9);
    }
    struct audit_limits none = audit_limits_of(0, 5000, 0.95), all = audit_limits_of(5000, 5000, 0.95);
    CHECK_NEAR(none.low, 0, 0);
    CHECK_NEAR(none.high, 1 - pow(0.025, 1.0 / 5000), 1e-12);
    CHECK_NEAR(all.low, pow(0.025, 1.0 / 5000), 1e-12);
    CHECK_NEAR(all.high, 1, 0);
}

/* 0 errors in 2 x 5000 rule out an epsilon of 7.2 at delta 1e-3; coin tosses rule out nothing. */
static void test_epsilon_bound(void)
{
    struct audit_counts perfect = {.trials = 5000, .right = {5000, 5000}},
                        coin = {.trials = 5000, .right = {2531, 2480}};
    CHECK_NEAR(audit_epsilon_bound(&perfect, 1e-3), 7.21, 0.01);
    CHECK_NEAR(audit_epsilon_bound(&coin, 1e-3), 0, 0);
    CHECK_NEAR(audit_success_bound(1, 1e-3), 0.7313, 5e-5);
    struct audit_counts skewed = {.trials = 5000, .right = {4999, 900}}; /* rarely names 2, but then rightly */
    double expected = log((audit_limits_of(900, 5000, 0.95).low - 0.01) / audit_limits_of(1, 5000, 0.95).high);
    CHECK_NEAR(audit_epsilon_bound(&skewed, 0.01), expected, 1e-12);
}

/* Rows in the public ball, and one of two neighbours of them released by each mechanism. */
struct fixture {
    struct arena   arena;
    struct rng     rng;
    struct sampler sampler;
    double         X[N * D], other[N * D], Z[N * R];
    int64_t        indices[N * R];
};

static void setup(struct fixture *f, uint64_t seed)
{
    struct rng data = rng_at(58, 1, RNG_TEST);
    double     scale;
    arena_init(&f->arena, 1 << 22);
    f->rng = rng_at(seed, 2, RNG_TEST);
    sampler_init(&f->sampler, bits_of_rng, &f->rng);
    for (size_t i = 0; i < N * D; i++)
        f->X[i] = (double)(i % D + 1) * rng_normal(&data);
    CU_ASSERT_FATAL(projection_prepare(f->X, N, D, NULL, &scale, NULL) == STATUS_OK);
    memcpy(f->other, f->X, sizeof f->X);
    double *x = f->X + 37 * D, norm = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (size_t c = 0; c < D; c++)
        f->other[37 * D + c] -= x[c] / norm; /* towards the centre, so that it stays in the ball */
}

static void release_bare(struct fixture *f, const double *rows)
{
    double            X[N * D], M[D * R];
    struct projection p = {.epsilon = 1, .delta = 1e-3, .dims = R};
    memcpy(X, rows, sizeof X);
    for (size_t i = 0; i < D * R; i++)
        M[i] = rng_normal(&f->rng);
    CU_ASSERT_FATAL(projection_apply(&p, (struct projection_rows){X, N, D}, M, f->Z, &f->arena, NULL) == STATUS_OK &&
                    p.lifted);
}

/* Not permuted, as the attack would undo it where it can. */
static void release_with(struct fixture *f, const double *rows, enum mechanism_kind kind)
{
    static const double centre[D] = {0, 0, 0}, one[D] = {1, 1, 1};
    bool                projects = kind == MECHANISM_PROJECTED_GAUSSIAN;
    size_t              p = projects ? R : D;
    struct release      r = {
             .mechanism = {.kind = kind, .epsilon = 1, .delta = 1e-3, .distance = 1, .rows = N, .columns = D, .dims = p},
             .scale = {.centre = centre, .length_scales = one, .radius = 25},
             .is_plain = true,
             .indices = f->indices};
    CU_ASSERT_FATAL(release_make(&r, rows, &f->sampler, &f->arena, NULL) == STATUS_OK);
    for (size_t i = 0; i < N * p; i++)
        f->Z[i] = (double)f->indices[i] * r.mechanism.gamma;
}

static enum status residual_of(struct audit_matrix X, struct audit_matrix Z, struct arena *scratch, double *out,
                               struct error *err)
{
    struct audit_columns columns = {.distance = 1};
    enum status          status = audit_column_space(X, Z, 1, scratch, &columns, err);
    *out = columns.own_residual;
    return status;
}

/* Independent releases of X or of its neighbour; the adversary knows both and guesses by the residuals. */
static struct audit_counts column_space(enum mechanism_kind kind, size_t trials)
{
    struct fixture     *f = malloc(sizeof *f);
    struct audit_counts counts = {.trials = trials};
    CU_ASSERT_FATAL(f != NULL);
    setup(f, 59);
    for (size_t i = 0; i < 2 * trials; i++) {
        size_t        set = i % 2;
        const double *rows = set == 0 ? f->X : f->other;
        if (kind == MECHANISM_KINDS)
            release_bare(f, rows);
        else
            release_with(f, rows, kind);
        struct audit_matrix Z = {f->Z, N, kind == MECHANISM_KINDS || kind == MECHANISM_PROJECTED_GAUSSIAN ? R : D};
        double              first, second;
        CU_ASSERT_FATAL(residual_of((struct audit_matrix){f->X, N, D}, Z, &f->arena, &first, NULL) == STATUS_OK);
        CU_ASSERT_FATAL(residual_of((struct audit_matrix){f->other, N, D}, Z, &f->arena, &second, NULL) == STATUS_OK);
        counts.right[set] += (second < first) == (set == 1);
    }
    arena_fini(&f->arena);
    free(f);
    return counts;
}

static double success(const struct audit_counts *counts)
{
    return (double)(counts->right[0] + counts->right[1]) / (2 * (double)counts->trials);
}

static void test_column_space(void)
{
    size_t              trials = thorough ? 1000 : 300;
    struct audit_counts bare = column_space(MECHANISM_KINDS, 500),
                        laplace = column_space(MECHANISM_DISCRETE_LAPLACE, trials);
    struct audit_counts projected = column_space(MECHANISM_PROJECTED_GAUSSIAN, trials);
    CHECK_NEAR(success(&bare), 1, 0);
    CU_ASSERT(audit_epsilon_bound(&bare, 1e-3) > 4); /* it claims 1 */
    CU_ASSERT(success(&laplace) < 0.66 && audit_epsilon_bound(&laplace, 0) <= 1);
    CHECK_NEAR(success(&projected), 0.557, 4 * 0.5 / sqrt(2 * (double)trials)); /* 0.569 with 20 % less noise */
    CU_ASSERT(audit_epsilon_bound(&projected, 1e-3) <= 1);
}

static void test_one_release(void)
{
    struct fixture *f = malloc(sizeof *f);
    CU_ASSERT_FATAL(f != NULL);
    setup(f, 60);
    struct audit_matrix  X = {f->X, N, D}, Z = {f->Z, N, R};
    struct audit_columns out = {.trials = 200, .distance = 1};
    release_bare(f, f->X);
    CU_ASSERT_FATAL(audit_column_space(X, Z, 61, &f->arena, &out, NULL) == STATUS_OK);
    CU_ASSERT(out.right == 200 && out.own_residual < 1e-13 && out.other_residual_min > 1e-6);
    Z.columns = D;
    release_with(f, f->X, MECHANISM_DISCRETE_LAPLACE);
    CU_ASSERT_FATAL(audit_column_space(X, Z, 61, &f->arena, &out, NULL) == STATUS_OK);
    CU_ASSERT(out.right > 70 && out.right < 150 && out.own_residual > 0.1);
    arena_fini(&f->arena);
    free(f);
}

/* Four known rows give all others away; with noise, half of the rows do not. */
static void test_known_rows(void)
{
    struct fixture *f = malloc(sizeof *f);
    CU_ASSERT_FATAL(f != NULL);
    setup(f, 62);
    struct audit_matrix X = {f->X, N, D}, Z = {f->Z, N, R};
    struct audit_known  out = {.known = D + 1};
    release_bare(f, f->X);
    CU_ASSERT_FATAL(audit_known_rows(X, Z, 63, &f->arena, &out, NULL) == STATUS_OK);
    CU_ASSERT(out.median_error < 1e-9 && out.typical > 5);
    out.known = 50;
    CU_ASSERT_FATAL(audit_known_rows(X, Z, 63, &f->arena, &out, NULL) == STATUS_OK && out.median_error < 1e-12);
    release_with(f, f->X, MECHANISM_PROJECTED_GAUSSIAN);
    CU_ASSERT_FATAL(audit_known_rows(X, Z, 63, &f->arena, &out, NULL) == STATUS_OK);
    CU_ASSERT(out.median_error > 1.5 && out.median_error < 9);
    Z.columns = D;
    release_with(f, f->X, MECHANISM_DISCRETE_LAPLACE);
    CU_ASSERT_FATAL(audit_known_rows(X, Z, 63, &f->arena, &out, NULL) == STATUS_OK);
    CU_ASSERT(out.median_error > 1.5 && out.median_error < 7);
    arena_fini(&f->arena);
    free(f);
}

static void test_refused(void)
{
    struct fixture *f = malloc(sizeof *f);
    CU_ASSERT_FATAL(f != NULL);
    setup(f, 64);
    release_bare(f, f->X);
    struct audit_matrix X = {f->X, N, D}, Z = {f->Z, N, R}, few = {f->X, D + 1, D}, fewer = {f->Z, D + 1, R};
    struct audit_known  known = {.known = N};
    double              residual;
    struct error        err = {0};
    CU_ASSERT(residual_of(few, fewer, &f->arena, &residual, &err) == STATUS_INVALID &&
              strcmp(err.code, "bad_size") == 0);
    CU_ASSERT(residual_of(X, fewer, &f->arena, &residual, &err) == STATUS_INVALID);
    CU_ASSERT(audit_known_rows(X, Z, 1, &f->arena, &known, &err) == STATUS_INVALID &&
              strcmp(err.code, "bad_size") == 0);
    struct arena         small;
    struct audit_columns columns = {.trials = 1, .distance = 1};
    arena_init(&small, 4096);
    known.known = 5;
    CU_ASSERT(residual_of(X, Z, &small, &residual, &err) == STATUS_NO_MEMORY);
    CU_ASSERT(audit_column_space(X, Z, 1, &small, &columns, &err) == STATUS_NO_MEMORY);
    CU_ASSERT(audit_known_rows(X, Z, 1, &small, &known, &err) == STATUS_OK); /* needs little */
    arena_fini(&small);
    arena_init(&small, 256);
    CU_ASSERT(audit_known_rows(X, Z, 1, &small, &known, &err) == STATUS_NO_MEMORY);
    arena_fini(&small);
    for (size_t i = 0; i < N * D; i++)
        f->X[i] = 0.7;
    CU_ASSERT(residual_of(X, Z, &f->arena, &residual, &err) == STATUS_INVALID && strcmp(err.code, "equal_rows") == 0);
    f->Z[7] = NAN;
    CU_ASSERT(residual_of(X, Z, &f->arena, &residual, &err) == STATUS_NUMERIC);
    arena_fini(&f->arena);
    free(f);
}

CU_TestInfo suite_audit[] = {
    {"limits", test_limits},
    {"epsilon bound", test_epsilon_bound},
    {"column space", test_column_space},
    {"one release", test_one_release},
    {"known rows", test_known_rows},
    {"refused", test_refused},
    CU_TEST_INFO_NULL,
};
