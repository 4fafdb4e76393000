/* Memory that requests have together: what is admitted, what waits, and what is given back. */
#include "service/app/memory.h"

#include "service/trial/trial_report.h"
#include "service/main/app_open.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#define WITH_EPOCHS                                                                                               \
    "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"parameters\",\"parameters\":[" \
    "{\"name\":\"x\",\"type\":\"double\",\"min\":0,\"max\":1}]},\"stopping\":{\"rule\":\"median\",\"epochs\":9}," \
    "\"seed\":1"

static struct arena_pool pool;

static struct world *begin(size_t limit_bytes)
{
    struct world *world = world_new();
    pool = (struct arena_pool){.limit_bytes = limit_bytes};
    world->app->memory = &pool;
    return world;
}

static bool leaves(void *arg)
{
    (void)arg;
    return true;
}

/* A quarter is left for what is small; who has a thread that others need does not wait for it. */
static void test_admit(void)
{
    struct world  *world = begin(1000);
    struct caller *caller = &world->caller;
    CU_ASSERT_EQUAL(memory_admit(world->app, caller, &world->err), STATUS_OK);
    CU_ASSERT_TRUE(arena_pool_take(&pool, 750));
    CU_ASSERT_EQUAL(memory_admit(world->app, caller, &world->err), STATUS_OK);
    CU_ASSERT_TRUE(arena_pool_take(&pool, 10));
    CU_ASSERT_EQUAL(memory_admit(world->app, caller, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "busy");
    caller->may_defer = true;
    CU_ASSERT_EQUAL(memory_admit(world->app, caller, &world->err), STATUS_BUSY);
    CU_ASSERT_TRUE(caller->is_deferred);
    caller->may_defer = false;
    caller->has_left = leaves;
    CU_ASSERT_EQUAL(memory_admit(world->app, caller, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "stopped");
    world_end(world);
}

/* So much in all, not again each time; who alone wants more than there is gets half of it. */
static void test_hold(void)
{
    struct world *world = begin(1000);
    struct caller other = {.token_id = "other"};
    CU_ASSERT_EQUAL(memory_hold(world->app, &world->caller, 300, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(memory_hold(world->app, &world->caller, 200, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(pool.taken_bytes, 300);
    CU_ASSERT_EQUAL(memory_hold(world->app, &world->caller, 1e12, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(pool.taken_bytes, 500);
    CU_ASSERT_EQUAL(memory_hold(world->app, &other, 300, &world->err), STATUS_BUSY);
    memory_let_go(world->app, &world->caller);
    memory_let_go(world->app, &world->caller);
    CU_ASSERT_EQUAL(pool.taken_bytes, 0);
    CU_ASSERT_EQUAL(memory_hold(world->app, &other, 300, &world->err), STATUS_OK);
    memory_let_go(world->app, &other);
    world->app->memory = NULL;
    CU_ASSERT_EQUAL(memory_hold(world->app, &other, 1e12, &world->err), STATUS_OK);
    world_end(world);
}

/* There is no model to judge with: it was not opened yet, or what was read of it is forgotten again. */
static void test_report_without_a_model(void)
{
    struct world               *world = world_new();
    const struct study          study = world_study(world, WITH_EPOCHS, "{\"name\":\"gp\"}", 0);
    const struct suggest_reply  given = world_suggest(world, study.id, 1, "");
    const struct report_request request = {.held = {.number = given.trials[0].number}, .step = 1, .given.value = 0.5};
    struct report_reply         reply;
    app_close(world->app);
    world_open(world);
    struct app *app = world->app;
    size_t      session_bytes = app->options.session_bytes;
    pool = (struct arena_pool){.limit_bytes = 1000, .taken_bytes = 900};
    app->memory = &pool;
    CU_ASSERT_EQUAL(trial_report(app, &world->caller, study.id, &request, &reply, &world->err), STATUS_BUSY);
    app->memory = NULL;
    app->options.session_bytes = 1;
    CU_ASSERT_EQUAL(trial_report(app, &world->caller, study.id, &request, &reply, &world->err), STATUS_NO_MEMORY);
    app->options.session_bytes = session_bytes;
    CU_ASSERT_EQUAL(trial_report(app, &world->caller, study.id, &request, &reply, &world->err), STATUS_OK);
    world_end(world);
}

CU_TestInfo suite_memory[] = {
    {"admit", test_admit},
    {"hold", test_hold},
    {"report without a model", test_report_without_a_model},
    CU_TEST_INFO_NULL,
};
