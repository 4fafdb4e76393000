/* linear-ts: its prior over pixels against the dense matrix, its regression against the closed form in the space of the
 * weights, its draws against the posterior's moments, and what the algorithm promises of proposals. */
#include "engine/policy/session.h"
#include "engine/linear/linear_model.h"
#include "engine/linear/pixel_prior.h"
#include "engine/policy/trial_log.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the prior ---- */

static struct pixel_prior prior_of(size_t height, size_t width, size_t channels, double length, struct arena *arena)
{
    const struct image_shape shape = {height, width, channels};
    struct pixel_prior       prior;
    CU_ASSERT_EQUAL_FATAL(pixel_prior_init(&prior, &shape, length, arena, NULL), STATUS_OK);
    CU_ASSERT(pixel_prior_len(&prior) <= PRIOR_CELLS_MAX);
    CU_ASSERT(prior.cells.height <= PRIOR_SIDE_MAX && prior.cells.width <= PRIOR_SIDE_MAX);
    return prior;
}

static double covariance(double a, double b, double length)
{
    double x = sqrt(3.0) * fabs(a - b) / length;
    return (1.0 + x) * exp(-x);
}

static void test_prior(void)
{
    enum { H = 5, W = 4, C = 3, LEN = H * W * C };
    static double R[LEN][LEN], z[LEN], scratch[LEN];
    struct arena  arena;
    arena_init(&arena, 1 << 20);
    struct pixel_prior prior = prior_of(H, W, C, 0.37, &arena);
    CU_ASSERT_EQUAL_FATAL(pixel_prior_len(&prior), LEN);
    for (size_t k = 0; k < LEN; k++) { /* R[k]: its k-th column */
        memset(z, 0, sizeof z);
        z[k] = 1.0;
        pixel_prior_weights(&prior, z, R[k], scratch);
    }
    for (size_t a = 0; a < LEN; a++)
        for (size_t b = 0; b < LEN; b++) {
            double found = 0.0;
            double rows = covariance((double)(a / (W * C)) / H, (double)(b / (W * C)) / H, 0.37);
            double columns = covariance((double)(a / C % W) / W, (double)(b / C % W) / W, 0.37);
            for (size_t k = 0; k < LEN; k++)
                found += R[k][a] * R[k][b];
            CU_ASSERT_DOUBLE_EQUAL(found, rows * columns * (a % C == b % C ? 1.0 : 0.5), 1e-5);
        }
    arena_fini(&arena);
}

/* f' z is the sum of w x over all pixels, of any shape; a corner follows the weights' signs, cell by cell. */
static void check_features(size_t height, size_t width, size_t channels)
{
    struct arena  arena;
    size_t        len = height * width * channels;
    double       *image = calloc(len, sizeof *image), *corner = calloc(len, sizeof *corner), sum = 0.0;
    static double z[PRIOR_CELLS_MAX], w[PRIOR_CELLS_MAX], f[PRIOR_CELLS_MAX], scratch[PRIOR_CELLS_MAX], dot;
    struct rng    rng = rng_at(5, len, RNG_TEST);
    arena_init(&arena, 1 << 21);
    struct pixel_prior prior = prior_of(height, width, channels, 0.1, &arena);
    CU_ASSERT_FATAL(image != NULL && corner != NULL);
    for (size_t i = 0; i < pixel_prior_len(&prior); i++)
        z[i] = rng_normal(&rng);
    for (size_t i = 0; i < len; i++)
        image[i] = rng_uniform(&rng) - 0.3;
    pixel_prior_weights(&prior, z, w, scratch);
    pixel_prior_features(&prior, image, f, scratch);
    pixel_prior_corner(&prior, w, -0.375, 0.25, corner);
    for (size_t i = 0; i < len; i++) {
        size_t row = i / (width * channels) * prior.cells.height / height,
               channel = i % channels * prior.cells.channels / channels;
        size_t column = i / channels % width * prior.cells.width / width;
        double weight = w[(row * prior.cells.width + column) * prior.cells.channels + channel];
        sum += weight * image[i] / sqrt((double)len);
        CU_ASSERT(corner[i] == (weight >= 0 ? 0.25 : -0.375));
    }
    dot = 0.0;
    for (size_t i = 0; i < pixel_prior_len(&prior); i++)
        dot += f[i] * z[i];
    CU_ASSERT_DOUBLE_EQUAL(dot, sum, 1e-8 * (1.0 + fabs(sum)));
    arena_fini(&arena);
    free(image);
    free(corner);
}

static void test_features(void)
{
    check_features(5, 4, 2);
    check_features(28, 28, 1);
    check_features(1, 1, 1);
    check_features(97, 131, 3); /* larger than its cells, by no whole number */
    check_features(1, 5003, 1);
    check_features(5003, 1, 1);
    check_features(1, 1, 10007);
}

/* ---- the regression ---- */

enum { N = 7, P = 4, ALL = P + 1 };

static const double F[N * P] = {0.31, -1.2, 0.44, 0.9, -0.7, 0.25, 1.31, -0.4, 0.11,  0.62, -0.93, 1.7,  0.5,  -0.36,
                                0.27, 0.8,  1.9,  0.1, -0.3, 0.6,  -1.1, 0.75, -0.21, 0.34, 0.58,  -0.6, 0.95, -1.4};
static const double y[N] = {0.9, -1.3, 0.4, 0.7, 1.1, -0.2, -1.6};

/* x := A^-1 x for A [n][n], which is spent; returns log |A|. */
static double solve(double *A, size_t n, double *x)
{
    double log_det = 0.0;
    for (size_t k = 0; k < n; k++) { /* positive definite: no pivoting */
        log_det += log(A[k * n + k]);
        for (size_t i = k + 1; i < n; i++) {
            double factor = A[i * n + k] / A[k * n + k];
            for (size_t j = k; j < n; j++)
                A[i * n + j] -= factor * A[k * n + j];
            x[i] -= factor * x[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            x[k] -= A[k * n + j] * x[j];
        x[k] /= A[k * n + k];
    }
    return log_det;
}

static double mean_square(void)
{
    double t = 0.0;
    for (size_t i = 0; i < N * P; i++)
        t += F[i] * F[i] / N;
    return t;
}

/* Phi [i]: features of row f divided by sqrt(t), then 1 for b. */
static double phi(const double *f, size_t j)
{
    return j == P ? 1.0 : f[j] / sqrt(mean_square());
}

/* The posterior of (z, b) with noise ratio s2 in their own space: precision Phi'Phi / s2 + I.  x := its inverse x. */
static void solve_weights(double s2, double *x)
{
    double A[ALL * ALL];
    for (size_t j = 0; j < ALL; j++)
        for (size_t k = 0; k < ALL; k++) {
            A[j * ALL + k] = j == k ? 1.0 : 0.0;
            for (size_t i = 0; i < N; i++)
                A[j * ALL + k] += phi(F + i * P, j) * phi(F + i * P, k) / s2;
        }
    (void)solve(A, ALL, x);
}

static void mean_weights(double s2, double *out)
{
    for (size_t j = 0; j < ALL; j++) {
        out[j] = 0.0;
        for (size_t i = 0; i < N; i++)
            out[j] += phi(F + i * P, j) * y[i] / s2;
    }
    solve_weights(s2, out);
}

static double likelihood(double s2, double *q)
{
    double M[N * N], x[N];
    memcpy(x, y, sizeof y);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            M[i * N + k] = i == k ? s2 : 0.0;
            for (size_t j = 0; j < ALL; j++)
                M[i * N + k] += phi(F + i * P, j) * phi(F + k * P, j);
        }
    double log_det = solve(M, N, x);
    *q = 0.0;
    for (size_t i = 0; i < N; i++)
        *q += y[i] * x[i] / N;
    return -0.5 * (N * log(*q) + log_det);
}

static const struct linear_data data = {.F = F, .y = y, .n = N, .p = P};

static struct linear_model fit(struct arena *arena)
{
    struct linear_model model;
    arena_init(arena, 1 << 18);
    CU_ASSERT_EQUAL_FATAL(linear_model_fit(&model, &data, arena, NULL), STATUS_OK);
    return model;
}

static void test_regression(void)
{
    struct arena        arena;
    struct linear_model model = fit(&arena);
    double              best = -HUGE_VAL, q, weights[ALL], work[N], mean, var;
    for (size_t k = 0; k < LINEAR_RATIOS_LEN; k++)
        best = fmax(best, likelihood(LINEAR_RATIOS[k], &q));
    CU_ASSERT_DOUBLE_EQUAL(model.likelihood, best, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(likelihood(model.s2, &q), best, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(model.q, q, 1e-10);
    mean_weights(model.s2, weights);
    static const double at[][P] = {{0.2, -0.5, 1.1, 0.7}, {-3.1, 0.4, 0, 2.2}, {0, 0, 0, 0}};
    for (size_t k = 0; k < 3; k++) {
        double wanted = 0.0, variance = 0.0, x[ALL];
        for (size_t j = 0; j < ALL; j++) {
            wanted += weights[j] * phi(at[k], j);
            x[j] = phi(at[k], j);
        }
        solve_weights(model.s2, x);
        for (size_t j = 0; j < ALL; j++)
            variance += q * phi(at[k], j) * x[j];
        linear_model_predict(&model, at[k], &mean, &var, work);
        CU_ASSERT_DOUBLE_EQUAL(mean, wanted, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(var, variance, 1e-9);
    }
    arena_fini(&arena);
}

/* Without deviations a draw is the mean; with them its moments are the posterior's, whose deviations they scale. */
static void test_draws(void)
{
    enum { DRAWS = 20000 };
    struct arena        arena;
    struct linear_model model = fit(&arena);
    struct rng          rng = rng_at(3, 1, RNG_TEST);
    double              weights[ALL], z[ALL], work[P + N + 2], root = sqrt(mean_square());
    mean_weights(model.s2, weights);
    CU_ASSERT_DOUBLE_EQUAL(linear_model_draw(&model, 0.0, &rng, z, work), weights[P], 1e-9);
    for (size_t j = 0; j < P; j++)
        CU_ASSERT_DOUBLE_EQUAL(z[j] * root, weights[j], 1e-9);
    double sum[ALL] = {0}, squares[ALL] = {0}, scale = 0.5;
    for (int draw = 0; draw < DRAWS; draw++) {
        z[P] = linear_model_draw(&model, scale, &rng, z, work) / root;
        for (size_t j = 0; j < ALL; j++) {
            double deviation = z[j] * root - weights[j];
            sum[j] += deviation / DRAWS;
            squares[j] += deviation * deviation / DRAWS;
        }
    }
    for (size_t j = 0; j < ALL; j++) {
        double unit[ALL] = {0};
        unit[j] = 1.0;
        solve_weights(model.s2, unit);
        double variance = scale * scale * model.q * unit[j];
        CU_ASSERT(fabs(sum[j]) < 4.0 * sqrt(variance / DRAWS));
        CU_ASSERT(fabs(squares[j] / variance - 1.0) < 4.0 * sqrt(2.0 / DRAWS));
    }
    arena_fini(&arena);
}

/* Nothing to learn from: zeros as features, equal values.  Too little memory is said. */
static void test_nothing(void)
{
    static const double      zeros[N * P];
    const struct linear_data empty = {zeros, zeros, N, P}, single = {F, zeros, 1, P};
    struct arena             arena;
    struct linear_model      model;
    double                   mean, var, work[N];
    arena_init(&arena, 1 << 18);
    CU_ASSERT_EQUAL_FATAL(linear_model_fit(&model, &empty, &arena, NULL), STATUS_OK);
    linear_model_predict(&model, F, &mean, &var, work);
    CU_ASSERT(mean == 0.0 && var > 0.0 && isfinite(var));
    CU_ASSERT_EQUAL(linear_model_fit(&model, &single, &arena, NULL), STATUS_OK);
    arena_fini(&arena);
    arena_init(&arena, 100);
    CU_ASSERT_EQUAL(linear_model_fit(&model, &data, &arena, NULL), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* ---- the algorithm ---- */

enum { SIDE = 9, LEN = SIDE * SIDE, TRIALS_MAX = 700 };

static const struct latent one_size[] = {{3, 3}};
static const struct space  space = {.kind = SPACE_IMAGE,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .channels = 1,
                                    .bound = 0.375,
                                    .latents = one_size,
                                    .latents_len = 1};

struct study {
    const struct policy *policy;
    struct problem       problem;
    double               options[8];
    struct session      *session;
    double               points[TRIALS_MAX][LEN];
    struct proposal      proposal;
    uint64_t             trials;
};

static struct study *study_new(double exploration)
{
    struct study *s = calloc(1, sizeof *s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    s->policy = policy_find("linear-ts");
    policy_defaults(s->policy, s->options);
    s->options[policy_option(s->policy, "exploration")] = exploration;
    s->problem = (struct problem){.space = &space, .options = s->options, .seed = 77, .memory_bytes = 64 << 20};
    CU_ASSERT_EQUAL_FATAL(session_open(s->policy, &s->problem, &s->session, NULL), STATUS_OK);
    return s;
}

static void study_free(struct study *s)
{
    session_close(s->session);
    free(s);
}

static const double *suggest(struct study *s)
{
    s->proposal.point = s->points[s->trials++];
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &(struct ask){.trial = s->trials}, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT(s->proposal.fallback == NULL && s->proposal.note_bytes == 0);
    for (size_t i = 0; i < LEN; i++)
        CU_ASSERT(fabs(s->proposal.point[i]) == 0.375);
    struct event event = {.kind = EVENT_SUGGESTED, .trial = s->trials, .point = s->proposal.point};
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
    return s->proposal.point;
}

static void finish(struct study *s, uint64_t trial, double value)
{
    struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = s->points[trial - 1], .value = value};
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
}

/* Linear, with weights that are alike in neighbours; its largest value is most. */
static double score(const double *point, double *most)
{
    double sum = -3.5;
    *most = -3.5;
    for (size_t i = 0; i < LEN; i++) {
        double weight = sin(0.9 * (double)(i / SIDE)) + cos(0.7 * (double)(i % SIDE) + 1.0);
        sum += weight * point[i];
        *most += fabs(weight) * 0.375;
    }
    return sum;
}

/* A linear function is solved in fewer trials than there are pixels, and predicted. */
static void test_linear(void)
{
    struct study *s = study_new(0.3);
    double        best = -HUGE_VAL, most = 0.0;
    for (size_t k = 0; k < 40; k++) {
        double value = score(suggest(s), &most);
        CU_ASSERT(isnan(s->proposal.mean) == (k < 2) && (k < 2 || s->proposal.observations == k));
        if (k > 20)
            CU_ASSERT(fabs(value - s->proposal.mean) < 5.0 * s->proposal.sd_observed + 0.05 * most);
        finish(s, s->trials, value);
        best = fmax(best, value);
    }
    CU_ASSERT(best > 0.97 * most);
    study_free(s);
}

static bool is_repeated(const struct study *s)
{
    for (uint64_t before = 1; before < s->trials; before++)
        if (memcmp(s->points[before - 1], s->points[s->trials - 1], sizeof s->points[0]) == 0)
            return true;
    return false;
}

/* No corner is proposed twice, though the mean would be, again and again; nor to workers who wait for values. */
static void test_repeats(void)
{
    struct study *s = study_new(0);
    double        most;
    for (size_t k = 0; k < 60; k++) {
        const double *point = suggest(s);
        CU_ASSERT(!is_repeated(s));
        if (k < 30 || k % 4 == 0)
            finish(s, s->trials, score(point, &most));
    }
    study_free(s);
}

/* More values than the model takes; the best one, the first, stays in it. */
static void test_many(void)
{
    struct study *s = study_new(0.3);
    for (size_t k = 0; k < TRIALS_MAX - 1; k++) {
        double *point = s->points[s->trials++];
        for (size_t i = 0; i < LEN; i++)
            point[i] = 0.25 * sin((double)(i * k + k));
        struct event event = {.kind = EVENT_SUGGESTED, .trial = s->trials, .point = point};
        CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
        finish(s, s->trials, k == 0 ? 9.5 : -0.001 * (double)k);
    }
    suggest(s);
    CU_ASSERT_EQUAL(s->proposal.observations, 600);
    CU_ASSERT(isfinite(s->proposal.mean) && s->proposal.sd > 0.0);
    study_free(s);
}

static bool is_always(void *arg)
{
    (void)arg;
    return true;
}

/* Late, it proposes without a model and says so. */
static void test_late(void)
{
    struct study *s = study_new(0.3);
    double        most;
    for (size_t k = 0; k < 5; k++) {
        const double *point = suggest(s);
        finish(s, s->trials, score(point, &most));
    }
    s->proposal.point = s->points[5];
    struct ask ask = {.trial = 6, .late = is_always};
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "deadline");
    CU_ASSERT(space_has(&space, s->proposal.point) && isnan(s->proposal.mean));
    study_free(s);
}

/* Against mean and variance by hand; the largest numbers do not overflow, and what is all alike has no variance. */
static void test_standardised(void)
{
    double             few[] = {3.0, 1.0, 2.0}, large[] = {DBL_MAX, -DBL_MAX}, alike[] = {-4.0, -4.0}, none[] = {0.0};
    struct value_scale scale = values_standardise(few, 3);
    CU_ASSERT_DOUBLE_EQUAL(few[0], sqrt(1.5), 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(few[1], -sqrt(1.5), 1e-15);
    CU_ASSERT_DOUBLE_EQUAL((few[0] * scale.spread + scale.centre) * scale.unit, 3.0, 1e-15);
    scale = values_standardise(large, 2);
    CU_ASSERT(large[0] == 1.0 && large[1] == -1.0 && scale.unit == DBL_MAX);
    scale = values_standardise(alike, 2);
    CU_ASSERT(alike[0] == 0.0 && alike[1] == 0.0 && scale.spread == 1.0);
    scale = values_standardise(none, 1);
    CU_ASSERT(none[0] == 0.0 && scale.unit == 1.0 && scale.spread == 1.0);
}

CU_TestInfo suite_linear_ts[] = {
    {"prior", test_prior},
    {"features", test_features},
    {"regression", test_regression},
    {"draws", test_draws},
    {"nothing", test_nothing},
    {"linear", test_linear},
    {"repeats", test_repeats},
    {"many", test_many},
    {"late", test_late},
    {"standardised", test_standardised},
    CU_TEST_INFO_NULL,
};
