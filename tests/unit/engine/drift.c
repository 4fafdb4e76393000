/* Values that change from trial to trial: gp sees it where it is clear, and says what the values would be now. */
#include "engine/policy/policy.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { D = 2, TRIALS = 40 };

struct world {
    struct space    space;
    struct problem  problem;
    struct session *session;
    double          options[16];
    struct event    events[2 * TRIALS + 2];
    double          points[TRIALS + 1][D];
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
    for (size_t o = 0; policy->options[o].name != NULL; o++)
        w->options[o] = policy->options[o].fallback;
    w->problem = (struct problem){.space = &w->space,
                                  .options = w->options,
                                  .seed = seed,
                                  .memory_bytes = 32 << 20,
                                  .metrics = objective,
                                  .metrics_len = 1};
    CU_ASSERT_EQUAL_FATAL(space_init(&w->space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(policy->open(policy, &w->problem, &w->session, NULL), STATUS_OK);
}

static void tell(struct world *w, const struct event *event)
{
    w->events[w->events_len++] = *event;
    CU_ASSERT_EQUAL_FATAL(policy->tell(w->session, event, NULL), STATUS_OK);
}

/* Trials from first on, by suggestion. */
static void search(struct world *w, uint64_t first, uint64_t last, double drift, double step)
{
    static struct proposal proposals[TRIALS + 1];
    for (uint64_t trial = first; trial <= last; trial++) {
        struct proposal *proposal = &proposals[trial];
        *proposal = (struct proposal){.point = w->points[trial]};
        CU_ASSERT_EQUAL_FATAL(policy->ask(w->session, &(struct ask){.trial = trial}, proposal, NULL), STATUS_OK);
        tell(w, &(struct event){.kind = EVENT_SUGGESTED,
                                .trial = trial,
                                .point = proposal->point,
                                .note = proposal->note,
                                .note_bytes = proposal->note_bytes});
        double value = worth(proposal->point) + drift * (double)trial + (trial > last / 2 ? step : 0);
        tell(w, &(struct event){
                    .kind = EVENT_OBSERVED, .trial = trial, .point = proposal->point, .value = value, .sd = 0});
    }
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

/* The slope and what the model says of the function, as of the last trial; the search comes as near to the best point as one
 * without a drift. */
static void test_seen(void)
{
    static const double drifts[] = {0.07, -0.3, 2.5};
    static struct world w;
    for (size_t k = 0; k < sizeof drifts / sizeof drifts[0]; k++) {
        double mean, nearest = -HUGE_VAL;
        open_world(&w, 31 + k);
        search(&w, 1, TRIALS, drifts[k], 0);
        struct diagnostics said = look(w.session, w.points[TRIALS], &mean);
        CHECK_NEAR(said.drift, drifts[k], 0.01 * fabs(drifts[k]));
        CU_ASSERT_EQUAL(said.now, TRIALS - 1);
        CHECK_NEAR(mean, worth(w.points[TRIALS]) + drifts[k] * TRIALS, 0.01);
        for (size_t t = 1; t <= TRIALS; t++)
            nearest = fmax(nearest, worth(w.points[t]));
        CHECK_NEAR(nearest, worth((const double[D]){1.1, 13}), 1e-3);
        policy->close(w.session);
    }
}

/* Nothing is seen where nothing drifts, nor where trials came with their values in an order of these. */
static void test_not_seen(void)
{
    static struct world w;
    double              mean;
    open_world(&w, 8);
    search(&w, 1, TRIALS, 0, 0);
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    policy->close(w.session);
    open_world(&w, 9);
    for (uint64_t trial = 1; trial <= 20; trial++) {
        double *point = w.points[trial];
        point[0] = 1.1 + 0.15 * (20 - (double)trial) * (trial % 2 == 0 ? 0.6 : -1);
        point[1] = 13;
        tell(&w, &(struct event){.kind = EVENT_SUGGESTED, .trial = trial, .point = point, .is_given = true});
        tell(&w, &(struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = worth(point)});
    }
    search(&w, 21, TRIALS, 0, 0);
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    policy->close(w.session);
}

/* An ask and its value for each trial, of value_of(point, trial). */
static void run(struct world *w, double (*value_of)(const double *point, double trial))
{
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        struct proposal proposal = {.point = w->points[trial]};
        CU_ASSERT_EQUAL_FATAL(policy->ask(w->session, &(struct ask){.trial = trial}, &proposal, NULL), STATUS_OK);
        CU_ASSERT(proposal.fallback == NULL || strcmp(proposal.fallback, "initial") == 0);
        tell(w, &(struct event){.kind = EVENT_SUGGESTED,
                                .trial = trial,
                                .point = proposal.point,
                                .note = proposal.note,
                                .note_bytes = proposal.note_bytes});
        tell(w, &(struct event){.kind = EVENT_OBSERVED,
                                .trial = trial,
                                .point = proposal.point,
                                .value = value_of(proposal.point, (double)trial)});
    }
}

static double end_of_doubles(const double *point, double trial)
{
    (void)point;
    return 1.7e308 * (2 * trial / TRIALS - 1);
}

static double with_penalty(const double *point, double trial)
{
    return point[0] < -0.5 ? -1e7 : worth(point) + 0.3 * trial;
}

static double with_drift(const double *point, double trial)
{
    return worth(point) + 0.5 * trial;
}

/* Values and means of residuals are those of the trial's own time. */
static void check_residuals(struct world *w, double (*value_of)(const double *point, double trial))
{
    struct residual *items = NULL;
    struct arena     arena;
    size_t           len = 0;
    double           mean;
    CU_ASSERT(look(w->session, w->points[1], &mean).drift != 0);
    arena_init(&arena, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(policy->residuals(w->session, NULL, &arena, &items, &len, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(len, TRIALS);
    for (size_t i = 0; i < len; i++) {
        double value = value_of(w->points[i + 1], (double)(i + 1));
        CU_ASSERT_EQUAL(items[i].value, value);
        CU_ASSERT(value_of == with_penalty || fabs(items[i].mean - value) < 12 * items[i].sd_observed + 1e-6);
    }
    arena_fini(&arena);
}

static void test_residuals(void)
{
    static struct world w;
    open_world(&w, 5);
    run(&w, with_drift);
    check_residuals(&w, with_drift);
    policy->close(w.session);
}

/* Values near the end of doubles: nothing overflows.  Equal penalties stay equal. */
static void test_extremes(void)
{
    static struct world w;
    double              mean;
    open_world(&w, 3);
    run(&w, end_of_doubles);
    CU_ASSERT_EQUAL(look(w.session, w.points[1], &mean).drift, 0);
    CU_ASSERT(isfinite(mean));
    policy->close(w.session);
    open_world(&w, 12);
    run(&w, with_penalty);
    CHECK_NEAR(look(w.session, w.points[TRIALS], &mean).drift, 0.3, 0.01);
    CHECK_NEAR(mean, worth(w.points[TRIALS]) + 0.3 * TRIALS, 0.05);
    check_residuals(&w, with_penalty);
    policy->close(w.session);
}

/* A session that is told the log says the same bit by bit. */
static void test_replayed(void)
{
    static struct world w;
    struct session     *again;
    double              lived, replayed, point[D], other[D];
    struct proposal     first = {.point = point}, second = {.point = other};
    open_world(&w, 77);
    search(&w, 1, TRIALS, -0.4, 1);
    CU_ASSERT_EQUAL_FATAL(policy->open(policy, &w.problem, &again, NULL), STATUS_OK);
    for (size_t i = 0; i < w.events_len; i++)
        CU_ASSERT_EQUAL_FATAL(policy->tell(again, &w.events[i], NULL), STATUS_OK);
    CU_ASSERT(look(w.session, w.points[3], &lived).drift != 0);
    CU_ASSERT_EQUAL(look(w.session, w.points[3], &lived).drift, look(again, w.points[3], &replayed).drift);
    CU_ASSERT_EQUAL(lived, replayed);
    CU_ASSERT_EQUAL(policy->ask(w.session, &(struct ask){.trial = TRIALS + 1}, &first, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(policy->ask(again, &(struct ask){.trial = TRIALS + 1}, &second, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(memcmp(point, other, sizeof point), 0);
    CU_ASSERT_EQUAL(first.note_bytes, second.note_bytes);
    policy->close(again);
    policy->close(w.session);
}

CU_TestInfo suite_drift[] = {
    {"seen", test_seen},         {"residuals", test_residuals}, {"not seen", test_not_seen},
    {"extremes", test_extremes}, {"replayed", test_replayed},   CU_TEST_INFO_NULL,
};
