/* The evolution strategy: Table 1 of the tutorial in numbers, what it must not depend on, the evaluations that it needs, the
 * margin, and how the log is folded: out of order, with failures, constraints, points that came with their results. */
#include "engine/evolution/margin.h"
#include "engine/evolution/strategy.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/one_study.h"

#include <string.h>

enum { N = 10, LAMBDA = 10, OPTIONS_MAX = 8 };

/* --- the strategy --- */

/* n = 10 and 10 points; the figures were computed from the equations elsewhere. */
static void test_rates(void)
{
    struct strategy_rates r = strategy_rates(N, LAMBDA);
    double                sum = 0;
    CU_ASSERT_EQUAL(strategy_population(N), 10);
    CU_ASSERT_EQUAL(strategy_population(40), 15);
    CU_ASSERT_EQUAL(r.parents, 5);
    CU_ASSERT(r.every == 1 && strategy_rates(200, 19).every == 2); /* B.2 of the tutorial */
    CHECK_NEAR(r.mu_eff, 3.1672992814107035, 1e-12);
    CHECK_NEAR(r.c_sigma, 0.2844285879463675, 1e-12);
    CHECK_NEAR(r.d_sigma, 1.2844285879463675, 1e-12);
    CHECK_NEAR(r.c_c, 0.29499038303562225, 1e-12);
    CHECK_NEAR(r.c_1, 0.015283824524751714, 1e-14);
    CHECK_NEAR(r.c_mu, 0.023551776650417484, 1e-14);
    CHECK_NEAR(r.chi, 3.0847265651690123, 1e-12);
    CHECK_NEAR(strategy_weight(&r, 0), 0.45627264690340597, 1e-12);
    for (size_t i = 0; i < 5; i++)
        sum += strategy_weight(&r, i);
    CHECK_NEAR(sum, 1, 1e-14);
    for (size_t i = 5; i < LAMBDA; i++) {
        CU_ASSERT(strategy_weight(&r, i) < 0 && strategy_weight(&r, i) < strategy_weight(&r, i - 1));
        sum += strategy_weight(&r, i);
    }
    CHECK_NEAR(1 - sum, 1.6489457144406465, 1e-12);
}

static struct strategy strategy_new(struct arena *arena, size_t n, const double *mean, double sigma)
{
    struct strategy s;
    CU_ASSERT_EQUAL_FATAL(strategy_init(&s, n, arena, NULL), STATUS_OK);
    strategy_start(&s, strategy_population(n), mean, sigma);
    return s;
}

/* Two strategies, one of which sees everything turned: their distributions are the same, turned. */
static void test_rotation(void)
{
    enum { POINTS = 9, D = 6 };
    struct arena arena;
    struct rng   rng = rng_at(11, 0, RNG_TEST);
    double       turn[D * D], w[D], mean[D] = {0.25, 0.5, -0.75, 0.125, 2.385, 1}, turned[D], C[D * D], D_[D * D];
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < D * D; i++)
        C[i] = rng_normal(&rng);
    mat_gram(C, D, D, turn); /* its eigenvectors are a rotation */
    CU_ASSERT_EQUAL_FATAL(mat_eigen(turn, D, w, NULL), STATUS_OK);
    mat_vector(turn, D, D, false, mean, turned);
    struct strategy a = strategy_new(&arena, D, mean, 0.5), b = strategy_new(&arena, D, turned, 0.5);
    CU_ASSERT_EQUAL(a.rates.population, POINTS);
    for (int generation = 0; generation < 30; generation++) {
        double                 x[POINTS][D], y[POINTS][D], z[D];
        struct strategy_member members[POINTS], others[POINTS];
        for (size_t i = 0; i < POINTS; i++) {
            for (size_t j = 0; j < D; j++)
                z[j] = rng_normal(&rng);
            strategy_sample(&a, z, x[i]);
            mat_vector(turn, D, D, false, x[i], y[i]);
            members[i] = (struct strategy_member){x[i], i == 3};
            others[i] = (struct strategy_member){y[i], i == 3};
        }
        CU_ASSERT_EQUAL_FATAL(strategy_update(&a, members, &arena, NULL), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(strategy_update(&b, others, &arena, NULL), STATUS_OK);
    }
    mat_vector(turn, D, D, false, a.mean, turned);
    CHECK_NEAR(a.sigma, b.sigma, 1e-9 * a.sigma);
    for (size_t j = 0; j < D; j++) {
        CHECK_NEAR(turned[j], b.mean[j], 1e-9);
        CHECK_NEAR(a.axis[j], b.axis[j], 1e-9);
    }
    for (size_t i = 0; i < D; i++) /* turn C turn' */
        for (size_t k = 0; k < D; k++)
            C[i * D + k] = i >= k ? a.C[i * D + k] : a.C[k * D + i];
    mat_multiply(turn, C, D, D, D, D_);
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k <= i; k++)
            CHECK_NEAR(mat_dot(D_ + i * D, turn + k * D, D), b.C[i * D + k], 1e-9);
    arena_fini(&arena);
}

/* A point that is injected from far away moves the mean no further than a far draw would. */
static void test_injected(void)
{
    struct arena arena;
    double       mean[N] = {0}, far[N] = {1e9}, near[LAMBDA][N];
    arena_init(&arena, 1 << 20);
    struct strategy        s = strategy_new(&arena, N, mean, 0.5);
    struct strategy_member members[LAMBDA] = {{far, true}};
    memset(near, 0, sizeof near);
    for (size_t i = 1; i < LAMBDA; i++)
        members[i] = (struct strategy_member){near[i], false};
    CU_ASSERT_EQUAL_FATAL(strategy_update(&s, members, &arena, NULL), STATUS_OK);
    CHECK_NEAR(s.mean[0], 0.5 * strategy_weight(&s.rates, 0) * (sqrt(N) + 2.0 * N / (N + 2)), 1e-9);
    arena_fini(&arena);
}

/* However small the steps have become, another value of an int, and another choice, come as often as the margin says. */
static void test_margin(void)
{
    static const struct param params[] = {PARAM("k", INT, LINEAR, 0, 10, 0), PARAM("first", INT, LOG, 1, 64, 0),
                                          PARAM("c", CATEGORICAL, LINEAR, 0, 2, 3),
                                          PARAM("x", DOUBLE, LINEAR, 0, 1, 0)};
    enum { DIMS = 6, DRAWS = 200000 };
    struct space space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 4};
    double       mean[DIMS] = {0.51, 0.01, 0.2, 0.9, 0.1, 0.5}, count[4] = {0};
    struct arena arena;
    struct rng   rng = rng_at(5, 0, RNG_TEST);
    arena_init(&arena, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    struct strategy s = strategy_new(&arena, DIMS, mean, 1e-7);
    double          margin = 1 / (double)(DIMS * s.rates.population);
    margin_keep(&s, &space);
    for (size_t i = 0; i < DRAWS; i++) {
        double z[DIMS], x[DIMS], point[4];
        for (size_t j = 0; j < DIMS; j++)
            z[j] = rng_normal(&rng);
        strategy_sample(&s, z, x);
        space_decode(&space, x, point);
        count[0] += (point[0] < 5) / (double)DRAWS;
        count[1] += (point[0] > 5) / (double)DRAWS;
        count[2] += (point[1] > 1) / (double)DRAWS;
        count[3] += (point[2] != 1) / (double)DRAWS;
    }
    CHECK_NEAR(count[0], margin / 2, 0.1 * margin);
    CHECK_NEAR(count[1], margin / 2, 0.1 * margin);
    CHECK_NEAR(count[2], margin, 0.1 * margin);
    CU_ASSERT(count[3] > margin && count[3] < 2.5 * margin);
    CHECK_NEAR(strategy_spread(&s, 5), 1e-7, 1e-20);
    arena_fini(&arena);
}

/* --- the algorithm --- */

static const double *study_ask(struct study *s, uint64_t trial)
{
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &(struct ask){.trial = trial}, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_FATAL(space_has(&s->space, s->point) && s->proposal.fallback == NULL);
    return s->point;
}

static void study_tell(struct study *s, struct event event)
{
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
}

static void study_suggested(struct study *s, uint64_t trial)
{
    study_tell(s,
               (struct event){
                   .trial = trial, .point = s->point, .note = s->proposal.note, .note_bytes = s->proposal.note_bytes});
}

static void study_observed(struct study *s, uint64_t trial, const double *point, double value)
{
    study_tell(s, (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = value});
}

static double sphere(const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < N; j++)
        sum += (x[j] - 1) * (x[j] - 1);
    return sum;
}

static double ellipsoid(const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < N; j++)
        sum += pow(1e6, (double)j / (N - 1)) * (x[j] - 1) * (x[j] - 1);
    return sum;
}

static double rosenbrock(const double *x)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < N; j++)
        sum += 100 * pow(x[j + 1] - x[j] * x[j], 2) + pow(1 - x[j], 2);
    return sum;
}

static double bent_sphere(const double *x)
{
    return -exp(-sqrt(sqrt(sphere(x))));
}

static const struct param *box(void)
{
    static struct param params[N];
    for (size_t j = 0; j < N; j++)
        params[j] = (struct param){.name = "x", .min = -5, .max = 5};
    return params;
}

/* Evaluations until a value is below target, most at most; trace [most][N]: the points, or NULL. */
static size_t evaluations_to(double (*f)(const double *), double target, size_t most, double *trace)
{
    struct study *s = study_new("cma-es", box(), N, NULL, 0);
    size_t        trial = 0;
    double        value = INFINITY;
    while (value >= target && trial++ < most) {
        value = f(study_ask(s, trial));
        if (trace != NULL)
            memcpy(trace + (trial - 1) * N, s->point, N * sizeof *trace);
        study_suggested(s, trial);
        study_observed(s, trial, s->point, -value);
    }
    study_free(s);
    return trial;
}

/* BBOB-2009's figures of CMA-ES for 10 parameters and 1e-8: sphere 1.7e3, ellipsoid 6e3, rosenbrock 7e3. */
static void test_published(void)
{
    CU_ASSERT(evaluations_to(sphere, 1e-8, 10000, NULL) < 2000);
    CU_ASSERT(evaluations_to(ellipsoid, 1e-8, 10000, NULL) < 6500);
    CU_ASSERT(evaluations_to(rosenbrock, 1e-8, 20000, NULL) < 9000);
}

/* Only the order of the values counts. */
static void test_monotone(void)
{
    enum { TRIALS = 600 };
    static double a[TRIALS][N], b[TRIALS][N];
    (void)evaluations_to(sphere, -INFINITY, TRIALS, a[0]);
    (void)evaluations_to(bent_sphere, -INFINITY, TRIALS, b[0]);
    CU_ASSERT(memcmp(a, b, sizeof a) == 0);
}

/* Many workers, who finish in any order, of whom some fail and some are never heard of again. */
static void test_asynchronous(void)
{
    enum { WORKERS = 16, TRIALS = 6000 };
    static double points[TRIALS + 1][N];
    uint64_t      open[WORKERS] = {0};
    double        best = INFINITY;
    struct rng    rng = rng_at(3, 0, RNG_TEST);
    struct study *s = study_new("cma-es", box(), N, NULL, 0);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        size_t w = rng_below(&rng, WORKERS), dice = rng_below(&rng, 100);
        if (open[w] > 0 && dice >= 5) {
            double value = sphere(points[open[w]]);
            best = fmin(best, value);
            study_observed(s, open[w], points[open[w]], -value);
        } else if (open[w] > 0 && dice > 0) {
            study_tell(s, (struct event){.kind = dice > 3   ? EVENT_ABANDONED
                                                 : dice > 2 ? EVENT_INFEASIBLE
                                                            : EVENT_FAILED,
                                         .trial = open[w],
                                         .point = points[open[w]]});
        }
        memcpy(points[trial], study_ask(s, trial), sizeof points[0]);
        study_suggested(s, trial);
        open[w] = trial;
    }
    CU_ASSERT(best < 1e-8);
    study_free(s);
}

/* The least of the sphere where a constraint cuts it off: x0 >= 2. */
static void test_constraint(void)
{
    static const enum metric_kind metrics[] = {METRIC_OBJECTIVE, METRIC_CONSTRAINT};
    struct study                 *s = study_new("cma-es", box(), N, metrics, 2);
    double                        best = INFINITY;
    for (uint64_t trial = 1; trial <= 4000; trial++) {
        double value = sphere(study_ask(s, trial)), slack = s->point[0] - 2, values[4] = {-value, slack, 0, 0};
        study_suggested(s, trial);
        study_tell(s,
                   (struct event){
                       .kind = EVENT_OBSERVED, .trial = trial, .point = s->point, .value = -value, .values = values});
        best = slack >= 0 ? fmin(best, value) : best;
    }
    CHECK_NEAR(best, 1, 1e-3);
    study_free(s);
}

/* The first run begins at the best of the points that came with their results, with a quarter of the step; what is worse than it
 * is no member. */
static void test_given(void)
{
    struct study *s = study_new("cma-es", box(), N, NULL, 0);
    double        good[N], bad[N], mean = 0, squares = 0;
    s->options[policy_option(s->policy, "step")] = 0.1;
    for (size_t j = 0; j < N; j++) {
        good[j] = 3.25;
        bad[j] = -4;
    }
    for (uint64_t trial = 1; trial <= 40; trial++) {
        const double *point = trial == 7 ? good : bad;
        study_tell(s, (struct event){.trial = trial, .point = point, .is_given = true});
        study_observed(s, trial, point, trial == 7 ? -2.385 : -1000);
    }
    for (uint64_t trial = 41; trial <= 240; trial++) {
        double x = study_ask(s, trial)[0];
        mean += x / 200;
        squares += (x - 3.25) * (x - 3.25) / 200;
    }
    CHECK_NEAR(mean, 3.25, 0.1);
    CHECK_NEAR(sqrt(squares), 0.025 * 10, 0.05);
    study_free(s);
}

/* A run whose values differ by less than anybody asks is followed by another, which begins far off. */
static void test_restart(void)
{
    enum { TRIALS = 2000 };
    struct study *s = study_new("cma-es", box(), N, NULL, 0);
    size_t        near = 0, again = 0;
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        double value = sphere(study_ask(s, trial));
        near = value < 1e-3 ? trial : near;
        again += near > 0 && value > 1;
        study_suggested(s, trial);
        study_observed(s, trial, s->point, -100 - value);
    }
    CU_ASSERT(near > 0 && again > 0);
    study_free(s);
}

/* A value that is told again differently, and a trial that is opened again, give what a session gives that knew it at once. */
static void test_corrected(void)
{
    static double points[61][N];
    struct study *s = study_new("cma-es", box(), N, NULL, 0), *other = study_new("cma-es", box(), N, NULL, 0);
    for (uint64_t trial = 1; trial <= 60; trial++) {
        memcpy(points[trial], study_ask(s, trial), sizeof points[0]);
        study_suggested(s, trial);
        other->proposal = s->proposal;
        other->proposal.point = other->point;
        memcpy(other->point, s->point, sizeof s->point);
        study_suggested(other, trial);
        study_observed(s, trial, points[trial], trial == 12 ? 1e6 : -sphere(points[trial]));
        if (trial != 30)
            study_observed(other, trial, points[trial], -sphere(points[trial]));
    }
    (void)study_ask(s, 61);
    study_observed(s, 12, points[12], -sphere(points[12]));
    study_tell(s, (struct event){.trial = 30, .point = points[30]});
    double a[N];
    memcpy(a, study_ask(s, 61), sizeof a);
    CU_ASSERT(memcmp(a, study_ask(other, 61), sizeof a) == 0);
    study_free(s);
    study_free(other);
}

/* A function of ints and names has its least found, and a plateau does not hold a run for ever. */
static void test_mixed(void)
{
    static const struct param params[] = {PARAM("k", INT, LINEAR, 0, 100, 0),
                                          PARAM("l", INT, LOG, 1, 512, 0),
                                          PARAM("c", CATEGORICAL, LINEAR, 0, 5, 6),
                                          PARAM("x", DOUBLE, LOG, 1e-5, 1, 0),
                                          {.name = "s", .kind = PARAM_STEPPED, .min = 0, .max = 1, .step = 0.05}};
    struct study             *s = study_new("cma-es", params, 5, NULL, 0);
    double                    best = INFINITY;
    for (uint64_t trial = 1; trial <= 3000; trial++) {
        const double *x = study_ask(s, trial);
        double        value =
            fabs(x[0] - 77) / 10 + fabs(log(x[1] / 24)) + (x[2] != 4) + pow(log10(x[3]) + 2, 2) + fabs(x[4] - 0.25);
        best = fmin(best, value);
        study_suggested(s, trial);
        study_observed(s, trial, s->point, -value);
    }
    CU_ASSERT(best < 1e-6);
    study_free(s);
}

static void test_refusals(void)
{
    static const enum metric_kind two[] = {METRIC_OBJECTIVE, METRIC_OBJECTIVE};
    static struct param           many[600];
    const struct policy          *policy = policy_find("cma-es");
    double                        options[OPTIONS_MAX] = {0};
    struct error                  err;
    for (size_t i = 0; i < 600; i++)
        many[i] = (struct param){.name = "c", .kind = PARAM_CATEGORICAL, .max = 1, .choices = 2};
    struct space   space = {.kind = SPACE_PARAMETERS, .params = many, .params_len = 600};
    struct problem problem = {.space = &space, .options = options, .metrics = two, .metrics_len = 1};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(policy_check(policy, &problem, &err), STATUS_INVALID);
    space.params_len = 3;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(policy_check(policy, &problem, &err), STATUS_OK);
    problem.metrics_len = 2;
    CU_ASSERT_EQUAL(policy_check(policy, &problem, &err), STATUS_INVALID);
}

CU_TestInfo suite_evolution[] = {
    {"rates", test_rates},
    {"rotation", test_rotation},
    {"injected", test_injected},
    {"margin", test_margin},
    {"published evaluations", test_published},
    {"monotone", test_monotone},
    {"asynchronous", test_asynchronous},
    {"constraint", test_constraint},
    {"given", test_given},
    {"restart", test_restart},
    {"corrected", test_corrected},
    {"mixed", test_mixed},
    {"refusals", test_refusals},
    CU_TEST_INFO_NULL,
};
