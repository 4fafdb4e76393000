/* Failures: chance or region, the trend of a region against an independent solution, and the studies that follow. */
#include "engine/surrogate/gp_failure.h"
#include "tests/unit/engine/gp_world.h"

#include <math.h>
#include <string.h>

enum { RESULTS = 20, RUNS_MAX = 35, CHANCE_TRIALS = 40 };

static const struct param pair[2] = {
    {.name = "a", .kind = PARAM_DOUBLE, .min = 2, .max = 16},
    {.name = "b", .kind = PARAM_DOUBLE, .max = 1},
};

static void log_tell(struct trial_log *log, enum event_kind kind, uint64_t trial, const double *point)
{
    struct event event = {.kind = kind, .trial = trial, .point = point, .value = 1.7};
    CU_ASSERT_EQUAL_FATAL(trial_log_tell(log, &event, NULL), STATUS_OK);
}

/* The weights were found by elimination and halved steps in plain Python, from the same eight trials. */
static void test_trend(void)
{
    static const double points[8][2] = {{2.0, .1},  {3.5, .9}, {7.0, .4},   {11.0, .2},
                                        {12.5, .8}, {15, .5},  {16.0, .05}, {9.0, .7}};
    static const bool   is_bad[8] = {[3] = true, [4] = true, [5] = true, [6] = true};
    static const double weights[5] = {1.9265235500772528, -8.374578518186686, 2.601455895323335, -5.64379194942694, 0};
    static const double at[3][3] = {
        {5, .3, 0.48423340103094825}, {10, .6, 0.010553741782944659}, {14, .9, -0.42296238838238415}};
    struct space     space = {.kind = SPACE_PARAMETERS, .params = pair, .params_len = 2};
    struct arena     arena;
    struct trial_log log;
    struct gp_trend  trend;
    arena_init(&arena, 1 << 20);
    trial_log_init(&log, &arena, 2);
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    for (size_t i = 0; i < 8; i++)
        log_tell(&log, is_bad[i] ? EVENT_FAILED : EVENT_OBSERVED, i + 1, points[i]);
    (void)gp_failure_settle(&log);
    CU_ASSERT_EQUAL_FATAL(gp_trend_fit(&space, &log, &arena, &trend, NULL), STATUS_OK);
    for (size_t k = 0; k < 5; k++)
        CU_ASSERT_DOUBLE_EQUAL(trend.weights[k], weights[k], 1e-7);
    for (size_t i = 0; i < 3; i++) {
        double u[2], gradient[2] = {0}, h = 1e-6;
        space_encode(&space, at[i], u);
        CU_ASSERT_DOUBLE_EQUAL(gp_trend_at(&trend, u, 2.5, gradient), at[i][2], 1e-7);
        for (size_t j = 0; j < 2; j++) {
            double low[2] = {u[0], u[1]}, high[2] = {u[0], u[1]};
            low[j] -= h;
            high[j] += h;
            double rise = (gp_trend_at(&trend, high, 0, NULL) - gp_trend_at(&trend, low, 0, NULL)) / (2 * h);
            CU_ASSERT_DOUBLE_EQUAL(gradient[j], 2.5 * rise, 1e-6);
        }
    }
    arena_fini(&arena);
}

/* F: failed, V: has a value, P: is pending; then the place of each.  The trial to try again, from 1, 0: none; and how many
 * failures are the fault of their places. */
static void test_settle(void)
{
    static const struct {
        const char *states, *places;
        size_t      again, regional;
    } cases[] = {
        {"VV", "ab", 0, 0},         {"VF", "ab", 2, 1},         {"FVFV", "abcd", 3, 2}, {"FVP", "aba", 0, 1},
        {"FVF", "aba", 0, 2},       {"FVV", "aba", 0, 0},       {"FFV", "abb", 0, 0},   {"FFFFF", "aabcd", 5, 5},
        {"FFFFFV", "aabcdd", 0, 0}, {"FFFFFF", "aabcdd", 0, 6}, {"FPV", "aab", 0, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct arena     arena;
        struct trial_log log;
        size_t           again, failed = 0, len = strlen(cases[c].states);
        arena_init(&arena, 1 << 20);
        trial_log_init(&log, &arena, 1);
        for (size_t i = 0; i < len; i++) {
            double point = cases[c].places[i];
            char   state = cases[c].states[i];
            log_tell(&log, EVENT_SUGGESTED, i + 1, &point);
            if (state != 'P')
                log_tell(&log, state == 'F' ? EVENT_FAILED : EVENT_OBSERVED, i + 1, &point);
            failed += state == 'F';
        }
        for (int round = 0; round < 2; round++) {
            again = gp_failure_settle(&log);
            CU_ASSERT_EQUAL(again == log.len ? 0 : again + 1, cases[c].again);
            CU_ASSERT_EQUAL(log.regional, cases[c].regional);
            CU_ASSERT_EQUAL(log.count[LOG_INFEASIBLE], cases[c].regional);
            CU_ASSERT_EQUAL(log.count[LOG_FAILED], failed - cases[c].regional);
        }
        arena_fini(&arena);
    }
}

/* --- studies --- */

static const struct param line[1] = {{.name = "x", .kind = PARAM_DOUBLE, .max = 1}};

static size_t times_failed(const struct study *s, const double *point)
{
    size_t times = 0;
    for (size_t i = 0; i < s->events_len; i++)
        times +=
            s->events[i].kind == EVENT_FAILED && memcmp(s->points[i], point, s->space.params_len * sizeof *point) == 0;
    return times;
}

static void step(struct study *s, bool is_bad, double value)
{
    study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
    study_tell(s, is_bad ? EVENT_FAILED : EVENT_OBSERVED, s->trials, s->point, value);
}

/* More is better up to 0.7, and beyond it all fails. */
static void test_region(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct study *s = study_new(line, 1, NULL);
        s->problem.seed = seed;
        double best = 0;
        for (size_t results = 0; results < RESULTS && s->trials < RUNS_MAX;) {
            study_ask(s, NULL);
            bool is_bad = s->point[0] > 0.7;
            CU_ASSERT(times_failed(s, s->point) < 2);
            step(s, is_bad, s->point[0]);
            results += !is_bad;
            best = is_bad ? best : fmax(best, s->point[0]);
        }
        CU_ASSERT(s->trials < RUNS_MAX);
        CU_ASSERT(best > 0.695);
        study_check_replay(s);
        study_free(s);
    }
}

/* Every fifth trial is lost, wherever it is. */
static void test_chance(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct study *s = study_new(box2, 2, NULL);
        s->problem.seed = seed;
        double best = HUGE_VAL;
        while (s->trials < CHANCE_TRIALS) {
            study_ask(s, NULL);
            struct rng rng = rng_at(seed, s->trials, RNG_TEST);
            bool       is_bad = rng_uniform(&rng) < 0.2;
            double     value = branin(s->point);
            step(s, is_bad, value);
            best = is_bad ? best : fmin(best, fabs(value) - 0.397887);
        }
        CU_ASSERT(best < 0.01);
        study_check_replay(s);
        study_free(s);
    }
}

CU_TestInfo suite_failure[] = {
    {"trend", test_trend},   {"settle", test_settle}, {"a region that fails", test_region},
    {"chance", test_chance}, CU_TEST_INFO_NULL,
};
