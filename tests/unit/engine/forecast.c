/* The forecast of a release: more noise costs more, none costs nothing, and the same seed says the same. */
#include "engine/finite_set/forecast.h"

#include "tests/unit/engine/suites.h"

#include <string.h>

enum { D = 2 };
static const double centre[D] = {12.5, -3}, length_scales[D] = {2.385, 0.7};
static const size_t sides[D] = {6, 6};

static struct forecast plan_of(enum mechanism_kind kind, double epsilon, double distance)
{
    struct forecast f = {
        .mechanism = {.kind = kind, .epsilon = epsilon, .delta = 1e-5, .distance = distance, .rows = 500, .columns = D},
        .sides = sides,
        .scale = {.centre = centre, .length_scales = length_scales, .radius = 5},
        .trials = 24,
        .seed = 2385};
    CU_ASSERT_EQUAL_FATAL(mechanism_plan(&f.mechanism, NULL), STATUS_OK);
    return f;
}

static void run(struct forecast *f)
{
    struct arena arena;
    arena_init(&arena, 1 << 28);
    struct error err = {.text = ""};
    CU_ASSERT_EQUAL(forecast_run(f, &arena, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    arena_fini(&arena);
}

static void test_noise_costs(void)
{
    static struct forecast none, some, much, again;
    none = plan_of(MECHANISM_DISCRETE_LAPLACE, 900, 1);
    some = plan_of(MECHANISM_DISCRETE_LAPLACE, 1, 1);
    again = some;
    much = plan_of(MECHANISM_DISCRETE_LAPLACE, 1, 50);
    run(&none), run(&some), run(&much), run(&again);
    CU_ASSERT(none.pairs == FORECAST_PAIRS_MAX && none.mark[0] == 6 && none.mark[1] == 12 && none.mark[2] == 24);
    CU_ASSERT(fabs(none.mean_cost) < 0.1);
    CU_ASSERT(much.mean_cost > some.mean_cost + 0.1 && much.mean_cost > 4 * much.mean_cost_se);
    CU_ASSERT(memcmp(some.regret, again.regret, sizeof some.regret) == 0);
    CU_ASSERT(memcmp(some.regret[FORECAST_OPEN], much.regret[FORECAST_OPEN], sizeof some.regret[0]) == 0);
    for (size_t arm = 0; arm < FORECAST_ARMS; arm++)
        for (size_t t = 1; t < some.trials; t++)
            CU_ASSERT(some.regret[arm][t] >= 0 && some.regret[arm][t] <= some.regret[arm][t - 1]);
    CU_ASSERT(some.regret[FORECAST_OPEN][23] < some.regret[FORECAST_RANDOM][23]);
    CHECK_NEAR(some.cost[2], some.regret[FORECAST_RELEASED][23] - some.regret[FORECAST_OPEN][23], 1e-12);
}

/* Every mechanism has one. */
static void test_mechanisms(void)
{
    for (unsigned kind = MECHANISM_DISCRETE_LAPLACE; kind < MECHANISM_KINDS; kind++) {
        static struct forecast f;
        f = plan_of((enum mechanism_kind)kind, 3, 1);
        f.trials = 8;
        run(&f);
        CU_ASSERT(f.pairs == FORECAST_PAIRS_MAX && isfinite(f.mean_cost) && f.cost_se[2] > 0);
    }
}

static double ticks;
static double tick(void)
{
    return ticks += 40;
}

static void test_limits(void)
{
    struct arena small;
    struct error err = {.code = ""};
    arena_init(&small, 1 << 12);
    struct forecast f = plan_of(MECHANISM_DISCRETE_LAPLACE, 1, 1);
    CU_ASSERT_EQUAL(forecast_run(&f, &small, &err), STATUS_NO_MEMORY);
    f.trials = 201;
    CU_ASSERT_EQUAL(forecast_run(&f, &small, &err), STATUS_INVALID);
    f.trials = 4, f.clock_ms = tick, f.limit_ms = 100;
    run(&f);
    CU_ASSERT_EQUAL(f.pairs, 4);
    arena_fini(&small);
}

CU_TestInfo suite_forecast[] = {
    {"noise costs", test_noise_costs},
    {"mechanisms", test_mechanisms},
    {"limits", test_limits},
    CU_TEST_INFO_NULL,
};
