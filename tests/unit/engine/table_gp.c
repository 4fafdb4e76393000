/* The incremental posterior of all candidates against a dense one in double, its bookkeeping of pending rows, the
 * fit of its hyper-parameters, and PO-GP-UCB's choice of a row. */
#include "engine/policy/session.h"
#include "engine/gp/table_fit.h"
#include "engine/gp/table_gp.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { OPTIONS_MAX = 32, N = 1100, COLUMNS = 7, T = 60 };
static const double LENGTH = 2.385;

struct setting {
    double rows[N * COLUMNS];
    size_t at[T];
    double y[T];
};

static void setting_fill(struct setting *s)
{
    struct rng rng = rng_at(11, 1, RNG_TEST);
    for (size_t i = 0; i < N * COLUMNS; i++)
        s->rows[i] = rng_normal(&rng);
    for (size_t i = 0; i < T; i++) {
        s->at[i] = i % 13 == 12 ? s->at[i - 5] : rng_below(&rng, N); /* some rows twice */
        s->y[i] = 3.7 + 1.3 * rng_normal(&rng);
    }
}

/* Dense reference: SE kernel, unit variance; Cholesky in place of [t][t]. */
struct dense {
    double L[T * T], alpha[T];
    size_t t;
};

static double se(const struct setting *s, size_t i, size_t k)
{
    double r2 = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        r2 += pow((s->rows[i * COLUMNS + c] - s->rows[k * COLUMNS + c]) / LENGTH, 2);
    return exp(-0.5 * r2);
}

static void forward(const double *L, size_t t, double *v)
{
    for (size_t i = 0; i < t; i++) {
        for (size_t k = 0; k < i; k++)
            v[i] -= L[i * T + k] * v[k];
        v[i] /= L[i * T + i];
    }
}

static void dense_fit(struct dense *g, const struct setting *s, size_t t, double noise, double centre)
{
    g->t = t;
    for (size_t i = 0; i < t; i++) {
        double row[T];
        for (size_t k = 0; k < i; k++)
            row[k] = se(s, s->at[i], s->at[k]);
        forward(g->L, i, row);
        double pivot = 1 + noise;
        for (size_t k = 0; k < i; k++)
            pivot -= row[k] * row[k];
        memcpy(g->L + i * T, row, i * sizeof *row);
        g->L[i * T + i] = sqrt(pivot);
        g->alpha[i] = s->y[i] - centre;
    }
    forward(g->L, t, g->alpha);
}

static void dense_posterior(const struct dense *g, const struct setting *s, size_t row, double *mean, double *var)
{
    double v[T];
    *mean = 0;
    *var = 1;
    for (size_t i = 0; i < g->t; i++)
        v[i] = se(s, s->at[i], row);
    forward(g->L, g->t, v);
    for (size_t i = 0; i < g->t; i++) {
        *mean += v[i] * g->alpha[i];
        *var -= v[i] * v[i];
    }
}

static struct setting setting;
static struct dense   dense;

static void start(struct table_gp *gp, struct arena *arena, double noise)
{
    arena_init(arena, (size_t)1 << 26);
    setting_fill(&setting);
    CU_ASSERT_FATAL(table_gp_init(gp, arena, setting.rows, N, COLUMNS, NULL) == STATUS_OK);
    table_gp_reset(gp, &kernel_se, LENGTH, noise);
}

/* Variance within 1e-6 of the signal's; the mean within what the header's bound allows for these values. */
static void check_against_dense(double noise, double mean_tolerance)
{
    struct table_gp gp;
    struct arena    arena;
    double          worst_mean = 0, worst_var = 0;
    start(&gp, &arena, noise);
    for (size_t i = 0; i < T; i++)
        CU_ASSERT_FATAL(table_gp_observe(&gp, setting.at[i], setting.y[i], NULL) == STATUS_OK);
    dense_fit(&dense, &setting, T, noise, 3.1);
    for (size_t j = 0; j < N; j++) {
        double mean, var, sd = table_gp_sd(&gp, j, false);
        dense_posterior(&dense, &setting, j, &mean, &var);
        worst_mean = fmax(worst_mean, fabs(table_gp_mean(&gp, j, 3.1) - 3.1 - mean));
        worst_var = fmax(worst_var, fabs(sd * sd - var));
        CU_ASSERT(table_gp_sd(&gp, j, true) == sd);
    }
    CU_ASSERT(worst_var <= 1e-6 && worst_var > 0);
    CU_ASSERT(worst_mean <= mean_tolerance);
    arena_fini(&arena);
}

/* To 1e-8 where noise is so small that the rounding of V is a part of the deviation. */
static void test_exact(void)
{
    struct table_gp gp;
    struct arena    arena;
    size_t          rows[N];
    double          means[N], sds[N], only[N], worst = 0;
    start(&gp, &arena, 1e-6);
    for (size_t i = 0; i < T; i++)
        CU_ASSERT_FATAL(table_gp_observe(&gp, setting.at[i], setting.y[i], NULL) == STATUS_OK);
    dense_fit(&dense, &setting, T, 1e-6, 3.1);
    for (size_t j = 0; j < N; j++)
        rows[j] = (7 * j + 3) % N;
    CU_ASSERT_FATAL(table_gp_set_pending(&gp, rows, 3, NULL) == STATUS_OK); /* which do not count */
    CU_ASSERT(table_gp_exact(&gp, (struct table_rows){rows, N}, 3.1, means, sds, NULL) == STATUS_OK);
    CU_ASSERT(table_gp_exact(&gp, (struct table_rows){rows, N}, 3.1, only, NULL, NULL) == STATUS_OK);
    for (size_t j = 0; j < N; j++) {
        double mean, var;
        dense_posterior(&dense, &setting, rows[j], &mean, &var);
        CHECK_NEAR(means[j] - 3.1, mean, 1e-8);
        CHECK_NEAR(sds[j], sqrt(fmax(var, 0)), 1e-8);
        CU_ASSERT(only[j] == means[j]);
        worst = fmax(worst, fabs(sds[j] - table_gp_sd(&gp, rows[j], false)));
    }
    CU_ASSERT(worst > 1e-7);
    arena_fini(&arena);
}

static void test_against_dense(void)
{
    check_against_dense(0.04, 1e-5);
    check_against_dense(1e-3, 1e-4);
    check_against_dense(1e-5, 1e-2);
}

/* Pending rows reduce the variance as observations do and leave the mean alone. */
static void test_pending(void)
{
    struct table_gp gp;
    struct arena    arena;
    start(&gp, &arena, 0.01);
    for (size_t i = 0; i < 30; i++)
        CU_ASSERT_FATAL(table_gp_observe(&gp, setting.at[i], setting.y[i], NULL) == STATUS_OK);
    for (size_t count = 1; count <= 9; count++)
        CU_ASSERT_FATAL(table_gp_set_pending(&gp, setting.at + 30, count, NULL) == STATUS_OK);
    dense_fit(&dense, &setting, 39, 0.01, 0);
    for (size_t j = 0; j < N; j += 7) {
        double mean, var, sd = table_gp_sd(&gp, j, true);
        dense_posterior(&dense, &setting, j, &mean, &var);
        CHECK_NEAR(sd * sd, var, 1e-6);
    }
    dense_fit(&dense, &setting, 30, 0.01, 0);
    for (size_t j = 0; j < N; j += 7) {
        double mean, var, sd = table_gp_sd(&gp, j, false);
        dense_posterior(&dense, &setting, j, &mean, &var);
        CHECK_NEAR(sd * sd, var, 1e-6);
        CHECK_NEAR(table_gp_mean(&gp, j, 0), mean, 3e-5);
    }
    arena_fini(&arena);
}

static bool is_same(const struct table_gp *a, const struct table_gp *b)
{
    size_t bytes = N * sizeof(double);
    return a->observed == b->observed && a->pending == b->pending && memcmp(a->sum, b->sum, bytes) == 0 &&
           memcmp(a->sum_one, b->sum_one, bytes) == 0 && memcmp(a->variance, b->variance, bytes) == 0 &&
           memcmp(a->variance_pending, b->variance_pending, bytes) == 0;
}

/* However it came there, the state is bitwise that of a model told the same observations and pending rows. */
static void test_same_by_any_way(void)
{
    struct table_gp gp, fresh;
    struct arena    arena, other;
    struct rng      rng = rng_at(12, 1, RNG_TEST);
    start(&gp, &arena, 0.003);
    for (size_t t = 0; t + 10 < T; t++) {
        size_t ahead = 1 + rng_below(&rng, 4);
        size_t shuffled[4] = {setting.at[t + 5], setting.at[t], setting.at[t + 2], setting.at[t + 5]};
        CU_ASSERT(table_gp_set_pending(&gp, setting.at + t + rng_below(&rng, 2), ahead, NULL) == STATUS_OK);
        CU_ASSERT(table_gp_set_pending(&gp, shuffled + t % 2, rng_below(&rng, 4), NULL) == STATUS_OK);
        CU_ASSERT(table_gp_observe(&gp, setting.at[t], setting.y[t], NULL) == STATUS_OK);
    }
    CU_ASSERT(table_gp_set_pending(&gp, setting.at + 20, 30, NULL) == STATUS_OK); /* grows the small arrays */
    CU_ASSERT(table_gp_set_pending(&gp, setting.at + 50, 6, NULL) == STATUS_OK);
    CU_ASSERT(table_gp_set_pending(&gp, setting.at + 50, 3, NULL) == STATUS_OK);
    start(&fresh, &other, 0.003);
    for (size_t t = 0; t + 10 < T; t++)
        CU_ASSERT(table_gp_observe(&fresh, setting.at[t], setting.y[t], NULL) == STATUS_OK);
    CU_ASSERT(!is_same(&gp, &fresh) && gp.room > fresh.room);
    CU_ASSERT(table_gp_set_pending(&fresh, setting.at + 50, 3, NULL) == STATUS_OK);
    CU_ASSERT(is_same(&gp, &fresh));
    table_gp_reset(&gp, &kernel_se, 1.1, 0.5);
    table_gp_reset(&gp, &kernel_se, LENGTH, 0.003);
    for (size_t t = 0; t + 10 < T; t++)
        CU_ASSERT(table_gp_observe(&gp, setting.at[t], setting.y[t], NULL) == STATUS_OK);
    CU_ASSERT(table_gp_set_pending(&gp, setting.at + 50, 3, NULL) == STATUS_OK);
    CU_ASSERT(is_same(&gp, &fresh));
    arena_fini(&arena);
    arena_fini(&other);
}

static void test_refused(void)
{
    struct table_gp gp;
    struct arena    arena;
    struct error    err = {0};
    start(&gp, &arena, 0.003);
    CU_ASSERT(table_gp_observe(&gp, 3, 1.25, NULL) == STATUS_OK);
    double before = table_gp_mean(&gp, 9, 0);
    CU_ASSERT(table_gp_observe(&gp, 5, INFINITY, &err) == STATUS_NUMERIC && strcmp(err.code, "singular") == 0);
    CU_ASSERT(table_gp_observe(&gp, 5, NAN, NULL) == STATUS_NUMERIC);
    CU_ASSERT(gp.observed == 1 && table_gp_mean(&gp, 9, 0) == before);
    arena_fini(&arena);
    arena_init(&arena, 20000);
    CU_ASSERT(table_gp_init(&gp, &arena, setting.rows, N, COLUMNS, &err) == STATUS_NO_MEMORY);
    arena_fini(&arena);
    arena_init(&arena, 200000);
    enum status status = table_gp_init(&gp, &arena, setting.rows, N, COLUMNS, NULL);
    for (size_t i = 0; i < T && status == STATUS_OK; i++)
        status = table_gp_observe(&gp, setting.at[i], setting.y[i], NULL);
    CU_ASSERT(status == STATUS_NO_MEMORY && gp.observed > 0 && gp.observed < T);
    CU_ASSERT(isfinite(table_gp_mean(&gp, 9, 0)));
    arena_fini(&arena);
}

/* Distances beyond the range of double are a covariance of 0 in every kernel. */
static void test_hostile_rows(void)
{
    static const double rows[] = {0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308};
    for (size_t k = 0; k < KERNELS; k++) {
        struct table_gp gp;
        struct arena    arena;
        arena_init(&arena, 1 << 20);
        CU_ASSERT_FATAL(table_gp_init(&gp, &arena, rows, 6, 1, NULL) == STATUS_OK);
        table_gp_reset(&gp, kernel_kinds[k], 0.75, 0.25);
        CU_ASSERT(table_gp_observe(&gp, 1, 2.0, NULL) == STATUS_OK);
        CU_ASSERT(table_gp_observe(&gp, 0, -3.0, NULL) == STATUS_OK);
        CHECK_NEAR(table_gp_mean(&gp, 1, 0), 1.6, 1e-6);
        CHECK_NEAR(table_gp_mean(&gp, 3, 0), -2.4, 1e-6);
        CHECK_NEAR(table_gp_mean(&gp, 5, 0), 0, 1e-12);
        CHECK_NEAR(table_gp_sd(&gp, 5, true), 1, 1e-12);
        arena_fini(&arena);
    }
}

static bool is_late(void *polls)
{
    return --*(int *)polls < 0;
}

/* The objective of table_fit by the dense reference of this file's shape. */
static double fit_cost(const struct table_fit *f, const double theta[3], const double centre[3])
{
    static double       L[T * T];
    double              v[T], sum = 0;
    static const double prior_sd[3] = {1.5, 1.0, 2.0};
    for (size_t i = 0; i < f->n; i++) {
        double pivot = exp(theta[1]) + exp(theta[2]);
        for (size_t k = 0; k < i; k++) {
            double r2 = 0;
            for (size_t c = 0; c < f->columns; c++)
                r2 += pow((f->X[i * f->columns + c] - f->X[k * f->columns + c]) / exp(theta[0]), 2);
            v[k] = exp(theta[1] - 0.5 * r2);
        }
        forward(L, i, v);
        for (size_t k = 0; k < i; k++)
            pivot -= v[k] * v[k];
        memcpy(L + i * T, v, i * sizeof *v);
        L[i * T + i] = sqrt(pivot);
        sum += log(pivot);
    }
    memcpy(v, f->y, f->n * sizeof *v);
    forward(L, f->n, v);
    for (size_t i = 0; i < f->n; i++)
        sum += v[i] * v[i];
    for (int k = 0; k < 3; k++)
        sum += pow((theta[k] - centre[k]) / prior_sd[k], 2);
    return sum / 2;
}

static void test_fit(void)
{
    double       X[T * 2], y[T];
    struct rng   rng = rng_at(13, 1, RNG_TEST);
    struct arena arena;
    arena_init(&arena, 1 << 24);
    for (size_t i = 0; i < T; i++) {
        X[2 * i] = 8 * rng_uniform(&rng);
        X[2 * i + 1] = 8 * rng_uniform(&rng);
        y[i] = sin(X[2 * i]) + cos(1.3 * X[2 * i + 1]) + 0.1 * rng_normal(&rng);
    }
    const double     centre[3] = {log(3.2), log(1.1), log(0.02)};
    struct table_fit fit = {.kind = &kernel_se,
                            .n = T,
                            .columns = 2,
                            .X = X,
                            .y = y,
                            .length_scale = 3.2,
                            .variance = 1.1,
                            .noise = 0.02},
                     fixed = fit;
    CU_ASSERT(table_fit(&fit, &arena, NULL) == STATUS_OK);
    double theta[3] = {log(fit.length_scale), log(fit.variance), log(fit.noise)};
    double best = fit_cost(&fit, theta, centre);
    CU_ASSERT(best < fit_cost(&fit, centre, centre) - 1);
    for (int k = 0; k < 6; k++) {
        double moved[3] = {theta[0], theta[1], theta[2]};
        moved[k / 2] += k % 2 == 0 ? 0.05 : -0.05;
        CU_ASSERT(fit_cost(&fit, moved, centre) > best - 1e-9);
    }
    CU_ASSERT(fit.length_scale > 0.8 && fit.length_scale < 2.5 && fit.noise > 0.004 && fit.noise < 0.03);
    fixed.fixed_length_scale = fixed.fixed_noise = true;
    CU_ASSERT(table_fit(&fixed, &arena, NULL) == STATUS_OK);
    CU_ASSERT(fixed.length_scale == 3.2 && fixed.noise == 0.02 && fixed.variance != 1.1);
    arena_fini(&arena);
}

static void test_fit_stops(void)
{
    static const double X[4] = {0.3, 0.9, 1.7, 4.1}, y[4] = {-1, 0.2, 1.1, 0.3}, bad[4] = {1, NAN, 0, 2};
    struct arena        arena;
    int                 polls = 3;
    struct table_fit    fit = {.kind = &kernel_matern52,
                               .n = 4,
                               .columns = 1,
                               .X = X,
                               .y = y,
                               .length_scale = 1.5,
                               .variance = 1,
                               .noise = 0.1,
                               .late = is_late,
                               .late_arg = &polls};
    arena_init(&arena, 1 << 20);
    CU_ASSERT(table_fit(&fit, &arena, NULL) == STATUS_OK);
    CU_ASSERT(polls < 0 && polls > -8); /* stopped at once */
    fit.late = NULL;
    fit.y = bad;
    fit.length_scale = 2.25;
    CU_ASSERT(table_fit(&fit, &arena, NULL) == STATUS_NUMERIC && fit.length_scale == 2.25);
    arena_fini(&arena);
    arena_init(&arena, 64);
    CU_ASSERT(table_fit(&fit, &arena, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* A study over the setting's rows with everything given, and the calls on it. */
static struct space space = {.kind = SPACE_CANDIDATES, .rows = setting.rows, .rows_len = N, .columns = COLUMNS};

static struct session *open_ucb(double *options, uint64_t seed, struct problem *problem)
{
    struct session *session = NULL;
    *problem = (struct problem){.space = &space, .options = options, .seed = seed, .memory_bytes = 1 << 26};
    CU_ASSERT_FATAL(session_open(policy_find("po-gp-ucb"), problem, &session, NULL) == STATUS_OK);
    return session;
}

static void tell(struct session *session, enum event_kind kind, uint64_t trial, size_t row, double value)
{
    struct event event = {.kind = kind, .trial = trial, .row = row, .value = value};
    CU_ASSERT(policy_find("po-gp-ucb")->tell(session, &event, NULL) == STATUS_OK);
}

/* The row is the argmax of mean + sqrt(2 ln(n t^2 pi^2 / 6 delta')) sd over rows not yet used, by the dense GP. */
static void test_ucb_choice(void)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    double               options[OPTIONS_MAX] = {0.05, LENGTH, 1.69, 1.69 * 0.01, 3.1, 5, 0, 0};
    struct problem       problem;
    struct session      *session = open_ucb(options, 5, &problem);
    setting_fill(&setting);
    for (size_t i = 0; i < 12; i++) {
        tell(session, EVENT_SUGGESTED, i + 1, setting.at[i], 0);
        tell(session, EVENT_OBSERVED, i + 1, setting.at[i], setting.y[i]);
    }
    dense_fit(&dense, &setting, 12, 0.01, 3.1);
    double width = sqrt(2 * log(N * 13.0 * 13.0 * 9.869604401089358 / (6 * 0.05))), highest = -INFINITY, mean, var;
    size_t best = 0;
    for (size_t j = 0; j < N; j++) {
        bool used = false;
        for (size_t i = 0; i < 12; i++)
            used |= setting.at[i] == j;
        dense_posterior(&dense, &setting, j, &mean, &var);
        double ucb = 3.1 + mean + width * sqrt(1.69 * var);
        best = !used && ucb > highest ? j : best;
        highest = !used ? fmax(ucb, highest) : highest;
    }
    struct proposal *p = &(struct proposal){0};
    CU_ASSERT(policy->ask(session, &(struct ask){.trial = 13}, p, NULL) == STATUS_OK);
    CU_ASSERT(p->row == best && p->fallback == NULL && p->observations == 12 && p->note_bytes == 0);
    dense_posterior(&dense, &setting, best, &mean, &var);
    CHECK_NEAR(p->mean, 3.1 + mean, 3e-5);
    CHECK_NEAR(p->sd, sqrt(1.69 * var), 3e-6);
    session_close(session);
}

/* The width itself: of a row near the only informative one and a row far from all, the choice turns at the value
 * where mean + sqrt(beta_t) sd are equal by hand. */
static void test_ucb_width(void)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    static const double  far[9] = {0, 1.3, 1e3, 2e3, 3e3, 4e3, 5e3, 6e3, 7e3};
    struct space         line = {.kind = SPACE_CANDIDATES, .rows = far, .rows_len = 9, .columns = 1};
    double               options[OPTIONS_MAX] = {0.04, 2.0, 2.25, 0.09, -0.5, 0, 0, 0}, noise = 0.09 / 2.25;
    struct problem       problem = {.space = &line, .options = options, .memory_bytes = 1 << 22};
    struct proposal     *p = &(struct proposal){0};
    for (size_t t = 2; t <= 6; t++)
        for (int side = -1; side <= 1; side += 2) {
            struct session *session = NULL;
            double          rho = exp(-0.5 * 1.3 * 1.3 / 4), sd = sqrt(1 - rho * rho / (1 + noise));
            double          beta = 2 * log(9.0 * (double)(t * t) * 9.869604401089358 / (6 * 0.04));
            double          crossing = -0.5 + (1 + noise) / rho * sqrt(beta) * 1.5 * (1 - sd);
            CU_ASSERT_FATAL(session_open(policy, &problem, &session, NULL) == STATUS_OK);
            tell(session, EVENT_OBSERVED, 1, 0, crossing + side * 1e-3);
            for (size_t k = 0; k + 2 < t; k++)
                tell(session, EVENT_OBSERVED, k + 2, 8 - k, -0.5); /* far away, as expected: says nothing */
            CU_ASSERT(policy->ask(session, &(struct ask){.trial = t}, p, NULL) == STATUS_OK);
            CU_ASSERT(p->row == (side > 0 ? 1 : 2));
            session_close(session);
        }
}

/* Equal rows: ties go to the lowest free row; every row once; then CONFLICT. */
static void test_ucb_exhausts(void)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    static const double  equal[40] = {0};
    struct space         small = {.kind = SPACE_CANDIDATES, .rows = equal, .rows_len = 20, .columns = 2};
    double               options[OPTIONS_MAX] = {NAN, 1.2, 1, 0.01, 0, 1, 0, 0};
    struct problem       problem = {.space = &small, .options = options, .seed = 6, .memory_bytes = 1 << 22};
    struct session      *session = NULL;
    struct proposal     *p = &(struct proposal){0};
    bool                 seen[20] = {false};
    size_t               lowest = 0;
    CU_ASSERT_FATAL(session_open(policy, &problem, &session, NULL) == STATUS_OK);
    for (uint64_t trial = 1; trial <= 20; trial++) {
        CU_ASSERT(policy->ask(session, &(struct ask){.trial = trial}, p, NULL) == STATUS_OK);
        CU_ASSERT(p->row < 20 && !seen[p->row] && (trial == 1 || p->row == lowest));
        seen[p->row] = true;
        while (lowest < 20 && seen[lowest])
            lowest++;
        tell(session, EVENT_SUGGESTED, trial, p->row, 0);
        tell(session, EVENT_OBSERVED, trial, p->row, 1.5);
    }
    struct error err = {0};
    CU_ASSERT(policy->ask(session, &(struct ask){.trial = 21}, p, &err) == STATUS_CONFLICT);
    CU_ASSERT(strcmp(err.code, "search_space_exhausted") == 0);
    session_close(session);
}

/* Fits come at 5, 10, 20 observations and not in between, and only when something is left open. */
static void test_ucb_fits(void)
{
    const struct policy *policy = policy_find("po-gp-ucb");
    double           open[OPTIONS_MAX] = {NAN, NAN, NAN, NAN, NAN, 3}, given[OPTIONS_MAX] = {NAN, 2, 1, 0.1, NAN, 3};
    struct proposal *p = &(struct proposal){0};
    setting_fill(&setting);
    for (int pass = 0; pass < 2; pass++) {
        struct problem  problem;
        struct session *session = open_ucb(pass == 0 ? open : given, 9, &problem);
        for (uint64_t trial = 1; trial <= 24; trial++) {
            CU_ASSERT(policy->ask(session, &(struct ask){.trial = trial}, p, NULL) == STATUS_OK);
            bool due = pass == 0 && (trial == 6 || trial == 11 || trial == 21);
            CU_ASSERT((p->note_bytes > 0) == due && p->fallback == NULL);
            struct event event = {
                .kind = EVENT_SUGGESTED, .trial = trial, .row = p->row, .note = p->note, .note_bytes = p->note_bytes};
            CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
            tell(session, EVENT_OBSERVED, trial, p->row, setting.y[trial] + setting.rows[p->row * COLUMNS]);
        }
        session_close(session);
    }
}

CU_TestInfo suite_table_gp[] = {
    {"against a dense model", test_against_dense},
    {"exact", test_exact},
    {"pending rows", test_pending},
    {"the same by any way", test_same_by_any_way},
    {"refused", test_refused},
    {"hostile rows", test_hostile_rows},
    {"fit", test_fit},
    {"fit stops", test_fit_stops},
    {"po-gp-ucb: choice", test_ucb_choice},
    {"po-gp-ucb: width", test_ucb_width},
    {"po-gp-ucb: exhausts", test_ucb_exhausts},
    {"po-gp-ucb: fits", test_ucb_fits},
    CU_TEST_INFO_NULL,
};
