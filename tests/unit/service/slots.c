/* Slots to compute: owners take turns, who waits for nobody leaves, and so does who waits for too long. */
#include "service/app/slots.h"

#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MANY = 5 };

struct visitor {
    struct slots *slots;
    struct world *world;
    struct caller caller;
    pthread_t     thread;
    size_t       *entered; /* how many were in before */
    size_t        place;
    enum status   status;
    struct error  err;
};

static void *visit(void *arg)
{
    struct visitor *visitor = arg;
    visitor->status = slots_enter(visitor->slots, visitor->world->app, &visitor->caller, &visitor->err);
    if (visitor->status != STATUS_OK)
        return NULL;
    visitor->place = (*visitor->entered)++; // one at a time is inside
    slots_leave(visitor->slots, &visitor->caller, "gp");
    return NULL;
}

static void wait_until_waiting(struct slots *slots, size_t count)
{
    for (int i = 0; i < 3000 && slots_waiting(slots) != count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CU_ASSERT_EQUAL_FATAL(slots_waiting(slots), count);
}

static void start(struct visitor *visitor, const char *owner)
{
    snprintf(visitor->caller.token_id, sizeof visitor->caller.token_id, "%s", owner);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
}

static void test_owners_take_turns(void)
{
    struct world  *world = world_new();
    struct slots  *slots = slots_new(1);
    size_t         entered = 0;
    struct visitor visitors[MANY + 2];
    CU_ASSERT_EQUAL_FATAL(slots_enter(slots, world->app, &world->caller, &world->err), STATUS_OK);
    for (size_t i = 0; i < MANY + 2; i++) {
        visitors[i] = (struct visitor){.slots = slots, .world = world, .entered = &entered};
        start(&visitors[i], i < MANY ? "many" : "few");
        wait_until_waiting(slots, i + 1);
    }
    slots_leave(slots, &world->caller, "random");
    static const size_t places[MANY + 2] = {0, 2, 4, 5, 6, 1, 3};
    for (size_t i = 0; i < MANY + 2; i++) {
        pthread_join(visitors[i].thread, NULL);
        CU_ASSERT_EQUAL(visitors[i].status, STATUS_OK);
        CU_ASSERT_EQUAL(visitors[i].place, places[i]);
    }
    slots_free(slots);
    world_end(world);
}

static bool says(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

static void test_nobody_waits_for_nothing(void)
{
    struct world  *world = world_new();
    struct slots  *slots = slots_new(1);
    size_t         entered = 0;
    atomic_bool    has_left = false;
    struct visitor gone = {.slots = slots, .world = world, .entered = &entered}, late = gone, other = gone;
    CU_ASSERT_EQUAL_FATAL(slots_enter(slots, world->app, &world->caller, &world->err), STATUS_OK);
    gone.caller.has_left = says;
    gone.caller.left_arg = &has_left;
    start(&gone, "one");
    wait_until_waiting(slots, 1);
    late.caller.until_ms = world->app->monotonic_ms() + 50;
    start(&late, "one");
    pthread_join(late.thread, NULL);
    CU_ASSERT_EQUAL(late.status, STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(late.err.code, "deadline_exceeded");
    atomic_store(&has_left, true);
    pthread_join(gone.thread, NULL);
    CU_ASSERT_EQUAL(gone.status, STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(gone.err.code, "stopped");
    CU_ASSERT_EQUAL(slots_waiting(slots), 0);
    slots_leave(slots, &world->caller, "random");
    start(&other, "one"); // the slot is free: those who gave up took none
    pthread_join(other.thread, NULL);
    CU_ASSERT_EQUAL(other.status, STATUS_OK);
    slots_free(slots);
    world_end(world);
}

/* What the owner took is with the caller, and what all took with the slots. */
static void test_what_is_taken_is_counted(void)
{
    static struct slots_stats stats;
    struct world             *world = world_new();
    struct slots             *slots = slots_new(1);
    size_t                    entered = 0;
    struct visitor            visitor = {.slots = slots, .world = world, .entered = &entered};
    CU_ASSERT_EQUAL_FATAL(slots_enter(slots, world->app, &world->caller, &world->err), STATUS_OK);
    start(&visitor, "other");
    wait_until_waiting(slots, 1);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    slots_leave(slots, &world->caller, "random");
    pthread_join(visitor.thread, NULL);
    CU_ASSERT_EQUAL_FATAL(slots_enter(slots, world->app, &world->caller, &world->err), STATUS_OK);
    slots_leave(slots, &world->caller, NULL);
    slots_stats(slots, &stats);
    CU_ASSERT_TRUE(world->caller.spent.computed_us >= 20000);
    CU_ASSERT_TRUE(visitor.caller.spent.waited_us >= 20000);
    CU_ASSERT_TRUE(stats.waited_us >= (uint64_t)visitor.caller.spent.waited_us);
    CU_ASSERT_EQUAL(stats.waits[0] + stats.waits[1] + stats.waits[2], 2); // the owner's two; one waited for long
    static const char *const names[] = {"random", "gp", ""};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(stats.computed[i].algorithm, names[i]);
        CU_ASSERT_EQUAL(stats.computed[i].times, 1);
    }
    CU_ASSERT_PTR_NULL(stats.computed[3].algorithm);
    CU_ASSERT_TRUE(stats.computed[0].us >= 20000);
    slots_free(slots);
    world_end(world);
}

CU_TestInfo suite_slots[] = {
    {"owners take turns", test_owners_take_turns},
    {"nobody waits for nothing", test_nobody_waits_for_nothing},
    {"what is taken is counted", test_what_is_taken_is_counted},
    CU_TEST_INFO_NULL,
};
