/* Memory that requests have together: what is admitted, what waits, and what is given back. */
#include "service/app/memory.h"

#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

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

CU_TestInfo suite_memory[] = {
    {"admit", test_admit},
    {"hold", test_hold},
    CU_TEST_INFO_NULL,
};
