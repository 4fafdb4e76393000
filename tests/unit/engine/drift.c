/* Values that change from trial to trial: gp sees it where it is clear, and says what the values would be now. */
#include "engine/math/rng.h"
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { D = 2, TRIALS = 40, MANY = 500, SEEDS = 5 };

struct world {
    struct space    space;
    struct problem  problem;
    struct session *session;
    double          options[16];
    struct event    events[2 * MANY + 2];
    double          points[MANY + 1][D];
    size_t          events_len;
};

static const struct param     box[D] = {{.name = "a", .kind = PARAM_DOUBLE, .min = -2, .max = 3},
                                        {.name = "b", .kind = PARAM_DOUBLE, .min = 10, .max = 20}};
static const struct policy   *policy;
static const enum metric_kind objective[1] = {METRIC_OBJECTIVE};

static double worth(const double *x)
{
    double a = x[0] - 1.1, b = 0.3 * (x[1] - 13);
    return -a * a - b * b - 0.4 * a * b + 0.5 * cos(3 * a);
}

static void open_world(struct world *w, uint64_t seed)
{
    policy = policy_find("gp");
    w->events_len = 0;
    w->space = (struct space){.kind = SPACE_PARAMETERS, .params = box, .params_len = D};
    policy_defaults(policy, w->options);
    w->problem = (struct problem){.space = &w->space,
                                  .options = w->options,
                                  .seed = seed,
                                  .memory_bytes = 32 << 20,
                                  .metrics = objective,
                                  .metrics_len = 1};
    CU_ASSERT_EQUAL_FATAL(space_init(&w->space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_open(policy, &w->problem, &w->session, NULL), STATUS_OK);
}

static void tell(struct world *w, const struct event *event)
{
    w->events[w->events_len++] = *event;
    CU_ASSERT_EQUAL_FATAL(policy->tell(w->session, event, NULL), STATUS_OK);
}

/* The measured function, and its disturbances. */
struct truth {
    double drift;                   /* with each trial */
    double step;                    /* in the second half */
    bool   has_penalty, is_extreme; /* at one side; nothing but the number of the trial, up to the end of doubles */
};

static double measured(const struct truth *truth, const double *point, uint64_t trial)
{
    if (truth->is_extreme && truth->step > 0)
        return trial > TRIALS / 2 ? 1.7e308 : -1.7e308;
    if (truth->is_extreme)
        return 1.7e308 * (2.0 * (double)trial / TRIALS - 1.0);
    if (truth->has_penalty && point[0] < -0.5)
        return -1e7;
    return worth(point) + truth->drift * (double)trial + (trial > TRIALS / 2 ? truth->step : 0);
}

static struct proposal proposals[MANY + 1]; /* events have their notes */

static void ask(struct world *w, uint64_t trial)
{
    struct proposal *proposal = &proposals[trial];
    *proposal = (struct proposal){.point = w->points[trial]};
    CU_ASSERT_EQUAL_FATAL(policy->ask(w->session, &(struct ask){.trial = trial}, proposal, NULL), STATUS_OK);
    CU_ASSERT(proposal->fallback == NULL || strcmp(proposal->fallback, "initial") == 0);
    tell(w, &(struct event){.kind = EVENT_SUGGESTED,
                            .trial = trial,
                            .point = proposal->point,
                            .note = proposal->note,
                            .note_bytes = proposal->note_bytes});
}

/* Trials from first on, by suggestion, so many at a time. */
static void search(struct world *w, uint64_t first, uint64_t batch, const struct truth *truth)
{
    for (uint64_t trial = first; trial + batch <= TRIALS + 1; trial += batch) {
        for (uint64_t i = trial; i < trial + batch; i++)
            ask(w, i);
        for (uint64_t i = trial; i < trial + batch; i++)
            tell(w, &(struct event){.kind = EVENT_OBSERVED,
                                    .trial = i,
                                    .point = w->points[i],
                                    .value = measured(truth, w->points[i], i)});
    }
}

/* The best that was tried, were it measured now. */
static double nearest(const struct world *w)
{
    double best = -HUGE_VAL;
    for (size_t t = 1; t <= TRIALS; t++)
        best = fmax(best, worth(w->points[t]));
    return best;
}

static struct diagnostics look(struct session *session, const double *point, double *mean)
{
    double             lengths[D];
    struct diagnostics said = {.length_scales = lengths};
    CU_ASSERT_EQUAL_FATAL(
        policy->predict(session, &(struct prediction){.points = point, .m = 1, .mean = mean, .diagnostics = &said},
                        NULL),
        STATUS_OK);
    return said;
}

/* The search comes as near to the best point as one without a drift, and the slope and what the model says of the function
 * are about right: it has one value for each time. */
static void test_seen(void)
{
    static const double drifts[] = {0.07, -0.3, 2.5};
    static struct world w;
    for (size_t k = 0; k < SEEDS * sizeof drifts / sizeof drifts[0]; k++) {
        double drift = drifts[k / SEEDS], mean;
        open_world(&w, 51 + k % SEEDS);
        search(&w, 1, 1, &(struct truth){.drift = drift});
        struct diagnostics said = look(w.session, w.points[TRIALS], &mean);
        CHECK_NEAR(said.drift, drift, 0.2 * fabs(drift));
        CU_ASSERT_EQUAL(said.now, TRIALS - 1);
        CHECK_NEAR(mean, worth(w.points[TRIALS]) + drift * TRIALS, 0.1 * fabs(drift * TRIALS));
        CU_ASSERT(nearest(&w) > worth((const double[D]){1.1, 13}) - 1e-3);
        session_close(w.session);
    }
}

/* Values and means of residuals are those of the trial's own time. */
static void check_residuals(struct world *w, const struct truth *truth)
{
    struct residual *items = NULL;
    struct arena     arena;
    size_t           len = 0, far = 0;
    double           mean, course = fabs(truth->drift) * TRIALS + fabs(truth->step);
    CU_ASSERT(look(w->session, w->points[1], &mean).drift != 0);
    arena_init(&arena, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(policy->residuals(w->session, NULL, &arena, &items, &len, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(len, TRIALS);
    for (size_t i = 0; i < len; i++) {
        double value = measured(truth, w->points[i + 1], i + 1);
        CU_ASSERT_EQUAL(items[i].value, value);
        far += !truth->has_penalty && fabs(items[i].mean - value) > 12 * items[i].sd_observed + 0.25 * course;
    }
    CU_ASSERT(far <= TRIALS / 3); /* of another time half would be; few are if the time of a step is not quite seen */
    arena_fini(&arena);
}

/* A session that is told the log says the same bit by bit. */
static void check_replayed(struct world *w)
{
    struct session    *again;
    double             lived, replayed, point[D], other[D];
    struct proposal    first = {.point = point}, second = {.point = other};
    struct diagnostics says, said;
    CU_ASSERT_EQUAL_FATAL(session_open(policy, &w->problem, &again, NULL), STATUS_OK);
    for (size_t i = 0; i < w->events_len; i++)
        CU_ASSERT_EQUAL_FATAL(policy->tell(again, &w->events[i], NULL), STATUS_OK);
    says = look(w->session, w->points[3], &lived);
    said = look(again, w->points[3], &replayed);
    CU_ASSERT(says.drift != 0);
    CU_ASSERT_EQUAL(says.drift, said.drift);
    CU_ASSERT_EQUAL(says.from, said.from);
    CU_ASSERT_EQUAL(lived, replayed);
    CU_ASSERT_EQUAL(policy->ask(w->session, &(struct ask){.trial = TRIALS + 1}, &first, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(policy->ask(again, &(struct ask){.trial = TRIALS + 1}, &second, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(memcmp(point, other, sizeof point), 0);
    CU_ASSERT_EQUAL(first.note_bytes, second.note_bytes);
    session_close(again);
}

/* The size of a step, its time but for some trials, and what the model says of the function since; the search is as near as
 * without one.  Residuals are of each trial's own time. */
static void test_step(void)
{
    static const double steps[] = {0.6, -2, 40};
    static struct world w;
    for (size_t k = 0; k < SEEDS * sizeof steps / sizeof steps[0]; k++) {
        const struct truth truth = {.step = steps[k / SEEDS]};
        double             mean;
        open_world(&w, 51 + k % SEEDS);
        search(&w, 1, 1, &truth);
        struct diagnostics said = look(w.session, w.points[TRIALS], &mean);
        CHECK_NEAR(said.drift, truth.step, 0.01 * fabs(truth.step));
        CHECK_NEAR(said.from, TRIALS / 2, 4);
        CHECK_NEAR(mean, measured(&truth, w.points[TRIALS], TRIALS), 0.01);
        check_residuals(&w, &truth);
        CU_ASSERT(nearest(&w) > worth((const double[D]){1.1, 13}) - 1e-3);
        check_replayed(&w);
        session_close(w.session);
    }
}

/* More values than the time is sought among: it is that of the first value after the step all the same. */
static void test_step_of_many(void)
{
    static struct world w;
    const struct truth  truth = {.step = 2};
    double              mean;
    struct rng          rng = rng_at(61, 0, RNG_TEST);
    open_world(&w, 61);
    search(&w, 1, 1, &truth);
    for (uint64_t trial = TRIALS + 1; trial <= MANY; trial++) {
        double *point = w.points[trial];
        for (size_t i = 0; i < D; i++)
            point[i] = box[i].min + rng_uniform(&rng) * (box[i].max - box[i].min);
        tell(&w, &(struct event){.kind = EVENT_SUGGESTED, .trial = trial, .point = point});
        tell(&w, &(struct event){
                     .kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = measured(&truth, point, trial)});
    }
    struct diagnostics said = look(w.session, w.points[MANY], &mean);
    CHECK_NEAR(said.drift, truth.step, 0.02);
    CU_ASSERT_EQUAL(said.from, TRIALS / 2);
    session_close(w.session);
}

/* Nothing is seen where nothing drifts, nor where trials came with their values in an order of these. */
static void test_not_seen(void)
{
    static struct world w;
    double              mean;
    open_world(&w, 8);
    search(&w, 1, 1, &(struct truth){0});
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    session_close(w.session);
    open_world(&w, 9);
    for (uint64_t trial = 1; trial <= 20; trial++) {
        double *point = w.points[trial];
        point[0] = 1.1 + 0.15 * (20 - (double)trial) * (trial % 2 == 0 ? 0.6 : -1);
        point[1] = 13;
        tell(&w, &(struct event){.kind = EVENT_SUGGESTED, .trial = trial, .point = point, .is_given = true});
        tell(&w, &(struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = worth(point)});
    }
    search(&w, 21, 1, &(struct truth){0});
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    session_close(w.session);
}

static void test_residuals(void)
{
    static const struct truth truth = {.drift = 0.5};
    static struct world       w;
    open_world(&w, 5);
    search(&w, 1, 1, &truth);
    check_residuals(&w, &truth);
    session_close(w.session);
}

/* Values near the end of doubles: nothing overflows.  Equal penalties stay equal. */
static void test_extremes(void)
{
    static const struct truth extreme = {.is_extreme = true}, penalty = {.drift = 0.3, .has_penalty = true};
    static struct world       w;
    double                    mean;
    open_world(&w, 3);
    search(&w, 1, 1, &extreme);
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    CU_ASSERT(isfinite(mean));
    session_close(w.session);
    open_world(&w, 4);
    search(&w, 1, 1, &(struct truth){.is_extreme = true, .step = 1});
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    CU_ASSERT(isfinite(mean));
    session_close(w.session);
    open_world(&w, 12);
    search(&w, 1, 1, &penalty);
    CHECK_NEAR(look(w.session, w.points[TRIALS], &mean).drift, 0.3, 0.01);
    CHECK_NEAR(mean, worth(w.points[TRIALS]) + 0.3 * TRIALS, 0.05);
    check_residuals(&w, &penalty);
    session_close(w.session);
}

/* With batches of four a fit never comes with a multiple of four values. */
static void test_batches(void)
{
    static const struct truth truth = {.drift = 0.5};
    static struct world       w;
    double                    mean;
    open_world(&w, 41);
    ask(&w, 1);
    tell(&w, &(struct event){
                 .kind = EVENT_OBSERVED, .trial = 1, .point = w.points[1], .value = measured(&truth, w.points[1], 1)});
    search(&w, 2, 4, &truth);
    CHECK_NEAR(look(w.session, w.points[1], &mean).drift, 0.5, 0.01);
    session_close(w.session);
}

/* Values measured outside the space have no time. */
static void test_outside(void)
{
    static const struct truth truth = {.drift = 0.5};
    static struct world       w;
    double                    mean;
    open_world(&w, 6);
    for (uint64_t trial = 1; trial <= 10; trial++) {
        w.points[trial][0] = 3.1;
        w.points[trial][1] = 10 + 0.9 * (double)trial;
        tell(&w, &(struct event){.kind = EVENT_OBSERVED,
                                 .trial = trial,
                                 .point = w.points[trial],
                                 .value = worth(w.points[trial]),
                                 .is_outside = true});
    }
    search(&w, 11, 1, &truth);
    struct diagnostics said = look(w.session, w.points[TRIALS], &mean);
    CHECK_NEAR(said.drift, 0.5, 0.01);
    CU_ASSERT_EQUAL(said.now, TRIALS - 10 - 1);
    session_close(w.session);
}

static void test_replayed(void)
{
    static struct world w;
    open_world(&w, 77);
    search(&w, 1, 1, &(struct truth){.drift = -0.4, .step = 1});
    check_replayed(&w);
    session_close(w.session);
}

CU_TestInfo suite_drift[] = {
    {"seen", test_seen},
    {"step", test_step},
    {"step of many", test_step_of_many},
    {"residuals", test_residuals},
    {"not seen", test_not_seen},
    {"extremes", test_extremes},
    {"batches", test_batches},
    {"outside", test_outside},
    {"replayed", test_replayed},
    CU_TEST_INFO_NULL,
};
