/* The side of a trust region after lists of values, by hand, and its box. */
#include "engine/bo/trust_region.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

static const struct trust_rule rule = {.start = 0.71, .least = 0.3, .above = INFINITY, .below = -INFINITY};

/* A log of so many trials, NaN: infeasible; the length after it. */
static double length_by(struct trust_rule by, size_t params_len, const double *values, size_t len)
{
    struct arena        arena;
    struct trial_log    log;
    struct trust_region region;
    double              point[20] = {0};
    arena_init(&arena, 1 << 20);
    trial_log_init(&log, &arena, params_len);
    for (size_t i = 0; i < len; i++) {
        struct event event = {.kind = isnan(values[i]) ? EVENT_INFEASIBLE : EVENT_OBSERVED,
                              .trial = i + 1,
                              .point = point,
                              .value = values[i]};
        CU_ASSERT_EQUAL_FATAL(trial_log_tell(&log, &event, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL(trust_region_find(&log, by, &arena, &region, NULL), STATUS_OK);
    arena_fini(&arena);
    return region.length;
}

static double length_after(size_t params_len, const double *values, size_t len)
{
    return length_by(rule, params_len, values, len);
}

/* Values beyond the rule's bounds are failures, and no measure of an improvement. */
static void test_bounds(void)
{
    static const double values[8] = {1.3, 4.29, 0.7, 2.2, NAN, 3.3, -1e9, 4.32};
    struct trust_rule   by = rule;
    CU_ASSERT_DOUBLE_EQUAL(length_by(by, 2, values, 8), rule.start * exp2(-0.5), 1e-9);
    by.below = -1e3;
    CU_ASSERT_DOUBLE_EQUAL(length_by(by, 2, values, 8), rule.start * exp2(1.0 / 3 - 0.25), 1e-9);
    by.above = 4.3;
    CU_ASSERT_DOUBLE_EQUAL(length_by(by, 2, values, 8), rule.start * exp2(-0.5), 1e-9);
}

/* Values after the first 6 of 2 parameters, the best of which is 4.29. */
static void test_length(void)
{
    static const struct {
        double more[12];
        size_t len;
        double halvings, doublings;
    } cases[] = {
        {{0}, 0, 0, 0},
        {{4.29, 4.28, 1.1, 4.29}, 4, 1, 0},                  /* four failures halve it */
        {{5.1, 6.2, 7.3}, 3, 0, 1},                          /* three successes double it */
        {{5.1, 1.7, 6.2, 7.3, 1.7}, 5, 0.5, 1},              /* in any order */
        {{NAN, 5.1, NAN}, 3, 0.5, 1.0 / 3},                  /* what is infeasible is a failure */
        {{4.2901}, 1, 0.25, 0},                              /* and so is what is hardly better */
        {{5, 6, 7, 8, 9, 10, 11}, 7, 0, 1.1721809753826804}, /* 1.6 at most */
        {{4, 4, 4, 4, 4}, 5, 0, 0},                          /* below 0.3: as at the start, */
        {{4, 4, 4, 4, 4, 1, 2, 3, 2.385, 1, 2}, 11, 0, 0},   /* the initial trials included */
        {{4, 4, 4, 4, 4, 1, 2, 3, 2.385, 1, 2, 3.5}, 12, 0, 1.0 / 3},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        double values[18] = {1.3, 4.29, 0.7, 2.2, NAN, 3.3};
        for (size_t i = 0; i < cases[c].len; i++)
            values[6 + i] = cases[c].more[i];
        double expected = rule.start * exp2(cases[c].doublings - cases[c].halvings);
        CU_ASSERT_DOUBLE_EQUAL(length_after(2, values, 6 + cases[c].len), expected, 1e-9);
    }
}

/* Seven failures halve it with ten parameters, after eight initial trials. */
static void test_many_parameters(void)
{
    double values[15];
    for (size_t i = 0; i < 15; i++)
        values[i] = 2.385;
    CU_ASSERT_EQUAL(trust_region_initial(10), 8);
    CU_ASSERT_DOUBLE_EQUAL(length_after(10, values, 8), rule.start, 0);
    CU_ASSERT_DOUBLE_EQUAL(length_after(10, values, 15), rule.start / 2, 1e-12);
}

/* Values far off count as three times as far below the best as the others, or ten times as far above them. */
static void test_limits(void)
{
    static const struct {
        double values[9];
        size_t len;
        double low, high, wrong;
    } cases[] = {
        {{1, 2, 3, 4, -2.9e3, 4}, 6, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
        {{1, 2, 3, 4, -3.1e3, 4}, 6, 4 - 3 * 3, HUGE_VAL, 4 - 3e6},
        {{-290, -290, 1, 2, 3, 4, -290}, 7, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
        {{-310, -310, 1, 2, 3, 4, -310}, 7, 4 - 3 * 3, HUGE_VAL, 4 - 3e6},
        {{-1e7, -1.7e308, 1, 2, 3, 4, -1.7e308}, 7, 4 - 3 * (4 + 1e7), HUGE_VAL, 4 - 1e6 * (4 + 1e7)},
        {{1e308, 0.5e308, -1e308, -1.7e308}, 4, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
        {{1, 2, 3, 4, 1e9}, 5, -HUGE_VAL, 4 + 10 * 3, -HUGE_VAL},
        {{1, 2, 3, 4, 1e9, 1.1e9},
         6,
         -HUGE_VAL,
         HUGE_VAL,
         -HUGE_VAL}, /* two of them: that is where the good ones are */
        {{1, 1 - 1e-9, 1 - 2e-9, 0.5, 0.4, 0.3, 0.2, 0.1},
         8,
         -HUGE_VAL,
         HUGE_VAL,
         -HUGE_VAL}, /* what has converged hides nothing */
        {{3, -1e300}, 2, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
        {{5, 5, 5, 5, 5}, 5, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        double values[9];
        memcpy(values, cases[c].values, sizeof values);
        struct value_limits limits = value_limits(values, cases[c].len);
        CU_ASSERT(limits.low == cases[c].low || fabs(limits.low - cases[c].low) < 1e-9);
        CU_ASSERT(limits.high == cases[c].high || fabs(limits.high - cases[c].high) < 1e-9);
        CU_ASSERT(limits.wrong == cases[c].wrong || fabs(limits.wrong / cases[c].wrong - 1.0) < 1e-12);
    }
}

/* A single value unlike the others does not keep improvements from being seen. */
static void test_outlier(void)
{
    const double values[] = {-1e20, 4.29, 0.7, 2.2, 1.3, 3.3, 5.1, 6.2, 7.3};
    CU_ASSERT_DOUBLE_EQUAL(length_after(2, values, 9), 2 * rule.start, 1e-9);
}

/* A categorical of three columns beside two doubles: geometric mean of the sides over parameters is the length. */
static void test_box(void)
{
    static const size_t       group_of[5] = {0, 1, 1, 1, 2};
    static const double       theta[3] = {-1.5, -0.2, 0.3}, centre[5] = {0.41, 0.5, 0.5, 0.97, 0.63};
    const struct space        space = {.params_len = 3, .dims = 5};
    const struct trust_region region = {.length = 0.11};
    double                    box[10], *lower = box, *upper = box + 5, product = 1;
    trust_region_box(&region, &space, group_of, theta, centre, box);
    for (size_t j = 0; j < 5; j++)
        CU_ASSERT(lower[j] < centre[j] && centre[j] < upper[j] && lower[j] >= 0 && upper[j] <= 1);
    for (size_t j = 0; j < 5; j += j == 0 ? 1 : 3)
        product *= upper[j] - lower[j];
    CU_ASSERT_DOUBLE_EQUAL(product, 0.11 * 0.11 * 0.11, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL((upper[4] - lower[4]) / (upper[0] - lower[0]), exp(1.8), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(upper[1] + lower[1], 1.0, 1e-12);
    CU_ASSERT_EQUAL(upper[3], 1.0);
}

CU_TestInfo suite_trust_region[] = {
    {"length after lists of values", test_length},
    {"failures with many parameters", test_many_parameters},
    {"limits of values", test_limits},
    {"an outlier", test_outlier},
    {"values beyond the bounds", test_bounds},
    {"box", test_box},
    CU_TEST_INFO_NULL,
};
