/* Slots to compute: owners take turns, what is short does not wait for what is long, who waits for nobody leaves, and so
 * does who waits for too long. */
#include "service/app/slots.h"
#include "service/base/clock.h"

#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MANY = 5 };
static const double INSTANT = 0.1, SHORT = 5, LONG = 100; // milliseconds

struct visitor {
    struct world *world;
    double        price_ms;
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
    visitor->status = slots_enter(visitor->world->app, &visitor->caller, visitor->price_ms, &visitor->err);
    if (visitor->status != STATUS_OK)
        return NULL;
    visitor->place = (*visitor->entered)++; // one at a time is inside
    slots_leave(visitor->world->app, &visitor->caller, "gp");
    return NULL;
}

/* With one slot, and one beside it. */
static struct world *begin(void)
{
    struct world *world = world_new();
    slots_free(world->app->slots);
    world->app->slots = slots_new(1);
    return world;
}

static void enter(struct world *world, double price_ms)
{
    CU_ASSERT_EQUAL_FATAL(slots_enter(world->app, &world->caller, price_ms, &world->err), STATUS_OK);
}

static void wait_until_waiting(struct world *world, size_t count)
{
    for (int i = 0; i < 30000 && slots_waiting(world->app->slots) != count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CU_ASSERT_EQUAL_FATAL(slots_waiting(world->app->slots), count);
}

static void compute_ms(int64_t ms)
{
    for (int64_t until = clock_us(CLOCK_THREAD_CPUTIME_ID) + 1000 * ms; clock_us(CLOCK_THREAD_CPUTIME_ID) < until;)
        continue;
}

static void start(struct visitor *visitor, const char *owner)
{
    snprintf(visitor->caller.token_id, sizeof visitor->caller.token_id, "%s", owner);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
}

static void test_owners_take_turns(void)
{
    struct world  *world = begin();
    size_t         entered = 0;
    struct visitor visitors[MANY + 2];
    enter(world, LONG);
    for (size_t i = 0; i < MANY + 2; i++) {
        visitors[i] = (struct visitor){.world = world, .price_ms = LONG, .entered = &entered};
        start(&visitors[i], i < MANY ? "many" : "few");
        wait_until_waiting(world, i + 1);
    }
    slots_leave(world->app, &world->caller, "random");
    static const size_t places[MANY + 2] = {0, 2, 4, 5, 6, 1, 3};
    for (size_t i = 0; i < MANY + 2; i++) {
        pthread_join(visitors[i].thread, NULL);
        CU_ASSERT_EQUAL(visitors[i].status, STATUS_OK);
        CU_ASSERT_EQUAL(visitors[i].place, places[i]);
    }
    world_end(world);
}

/* A token that has computed for a while is behind one that has not, whoever came first. */
static void test_who_had_least_is_next(void)
{
    struct world  *world = begin();
    size_t         entered = 0;
    struct visitor greedy = {.world = world, .price_ms = LONG, .entered = &entered}, modest = greedy;
    snprintf(world->caller.token_id, sizeof world->caller.token_id, "greedy");
    enter(world, LONG);
    start(&greedy, "greedy");
    wait_until_waiting(world, 1);
    start(&modest, "modest");
    wait_until_waiting(world, 2);
    compute_ms(30);
    slots_leave(world->app, &world->caller, "gp");
    pthread_join(greedy.thread, NULL);
    pthread_join(modest.thread, NULL);
    CU_ASSERT_EQUAL(modest.place, 0);
    CU_ASSERT_EQUAL(greedy.place, 1);
    world_end(world);
}

static void test_short_does_not_wait_for_long(void)
{
    struct world  *world = begin();
    size_t         entered = 0;
    struct visitor quick = {.world = world, .price_ms = SHORT, .entered = &entered}, slow = quick, part = quick;
    slow.price_ms = LONG;
    part.caller.spent.price_ms = LONG; // short, but of what is long
    enter(world, LONG);
    start(&quick, "one");
    pthread_join(quick.thread, NULL);
    CU_ASSERT_EQUAL(quick.status, STATUS_OK);
    start(&slow, "one");
    start(&part, "one");
    wait_until_waiting(world, 2);
    struct caller other = {.token_id = "other"};
    CU_ASSERT_EQUAL_FATAL(slots_enter(world->app, &other, SHORT, &world->err), STATUS_OK);
    start(&quick, "one"); // now what is beside is taken, too
    wait_until_waiting(world, 3);
    struct caller instant = {.token_id = "one"};
    CU_ASSERT_EQUAL(slots_enter(world->app, &instant, INSTANT, &world->err), STATUS_OK);
    slots_leave(world->app, &instant, "random");
    slots_leave(world->app, &other, "gp");
    pthread_join(quick.thread, NULL);
    wait_until_waiting(world, 2);
    slots_leave(world->app, &world->caller, "gp");
    pthread_join(slow.thread, NULL);
    pthread_join(part.thread, NULL);
    world_end(world);
}

struct runner {
    struct world *world;
    struct caller caller;
    double        price_ms;
    pthread_t     thread;
    atomic_bool   is_in, stops;
    enum status   status;
    struct error  err;
};

/* Computes until it is told to stop, and looks up all the time. */
static void *run(void *arg)
{
    struct runner *runner = arg;
    struct app    *app = runner->world->app;
    runner->status = slots_enter(app, &runner->caller, runner->price_ms, &runner->err);
    atomic_store(&runner->is_in, true);
    while (runner->status == STATUS_OK && !atomic_load(&runner->stops))
        runner->status = slots_go_on(app, &runner->caller, &runner->err);
    slots_leave(app, &runner->caller, "gp");
    return NULL;
}

static void start_running(struct runner *runner)
{
    CU_ASSERT_EQUAL_FATAL(pthread_create(&runner->thread, NULL, run, runner), 0);
    while (!atomic_load(&runner->is_in))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void stop_running(struct runner *runner)
{
    atomic_store(&runner->stops, true);
    pthread_join(runner->thread, NULL);
    CU_ASSERT_EQUAL(runner->status, STATUS_OK);
}

/* It goes on when the others have had as much; what it does meanwhile is nothing. */
static void test_long_gives_way(void)
{
    struct world *world = begin();
    struct runner runner = {.world = world, .caller = {.token_id = "runner"}, .price_ms = LONG};
    start_running(&runner);
    for (int i = 0; i < 3; i++) {
        enter(world, LONG); // would wait for ever
        CU_ASSERT_EQUAL(slots_waiting(world->app->slots), 1);
        compute_ms(10);
        slots_leave(world->app, &world->caller, "gp");
    }
    stop_running(&runner);
    struct slots_stats stats;
    slots_stats(world->app->slots, &stats);
    CU_ASSERT_TRUE(stats.pauses >= 3);
    world_end(world);
}

/* Not at once for the same token: what came first is done first, until it has had much more than the other. */
static void test_long_gives_way_to_its_own_later(void)
{
    struct world  *world = begin();
    size_t         entered = 0;
    struct runner  runner = {.world = world, .caller = {.token_id = "one"}, .price_ms = LONG};
    struct visitor other = {.world = world, .price_ms = LONG, .entered = &entered};
    clockid_t      own; // of what the runner has spent
    start_running(&runner);
    start(&other, "one");
    wait_until_waiting(world, 1);
    CU_ASSERT_EQUAL_FATAL(pthread_getcpuclockid(runner.thread, &own), 0);
    pthread_join(other.thread, NULL);
    CU_ASSERT_TRUE(clock_us(own) >= 80000);
    CU_ASSERT_EQUAL(other.status, STATUS_OK);
    stop_running(&runner);
    world_end(world);
}

/* Two that were announced as short and are not: with the slot taken, they leave the place beside it to what is short. */
static void test_what_was_too_cheap_is_found_out(void)
{
    struct world *world = begin();
    struct runner liar = {.world = world, .caller = {.token_id = "liar"}, .price_ms = SHORT}, instant = liar;
    struct caller quick = {.token_id = "quick"};
    instant.price_ms = INSTANT;
    enter(world, LONG);
    start_running(&liar);
    wait_until_waiting(world, 1);
    start_running(&instant);
    wait_until_waiting(world, 2);
    CU_ASSERT_EQUAL(slots_enter(world->app, &quick, SHORT, &world->err), STATUS_OK);
    slots_leave(world->app, &quick, "gp");
    slots_leave(world->app, &world->caller, "gp");
    stop_running(&liar);
    stop_running(&instant);
    world_end(world);
}

static void test_announcing(void)
{
    struct caller caller = {.token_id = "one"};
    struct error  err;
    CU_ASSERT_EQUAL(slots_announce(&caller, LONG, &err), STATUS_OK);
    caller.may_defer = true;
    CU_ASSERT_EQUAL(slots_announce(&caller, SHORT, &err), STATUS_OK);
    CU_ASSERT_FALSE(caller.is_deferred);
    CU_ASSERT_EQUAL(slots_announce(&caller, LONG, &err), STATUS_BUSY);
    CU_ASSERT_TRUE(caller.is_deferred);
    CU_ASSERT_EQUAL(caller.spent.price_ms, LONG);
}

static bool says(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

static void test_nobody_waits_for_nothing(void)
{
    struct world  *world = begin();
    size_t         entered = 0;
    atomic_bool    has_left = false;
    struct visitor gone = {.world = world, .price_ms = LONG, .entered = &entered}, late = gone, other = gone;
    enter(world, LONG);
    gone.caller.has_left = says;
    gone.caller.request = &has_left;
    start(&gone, "one");
    wait_until_waiting(world, 1);
    late.caller.until_ms = world->app->monotonic_ms() + 50;
    start(&late, "one");
    pthread_join(late.thread, NULL);
    CU_ASSERT_EQUAL(late.status, STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(late.err.code, "deadline_exceeded");
    atomic_store(&has_left, true);
    pthread_join(gone.thread, NULL);
    CU_ASSERT_EQUAL(gone.status, STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(gone.err.code, "stopped");
    CU_ASSERT_EQUAL(slots_waiting(world->app->slots), 0);
    slots_leave(world->app, &world->caller, "random");
    start(&other, "one"); // the slot is free: those who gave up took none
    pthread_join(other.thread, NULL);
    CU_ASSERT_EQUAL(other.status, STATUS_OK);
    world_end(world);
}

/* A request that gives up while others have its place has none to give back. */
static void test_giving_up_in_a_pause(void)
{
    struct world *world = begin();
    struct runner runner = {.world = world, .caller = {.token_id = "runner"}, .price_ms = LONG};
    atomic_bool   has_left = false;
    runner.caller.has_left = says;
    runner.caller.request = &has_left;
    start_running(&runner);
    enter(world, LONG);
    atomic_store(&has_left, true);
    pthread_join(runner.thread, NULL);
    CU_ASSERT_EQUAL(runner.status, STATUS_BUSY);
    struct visitor other = {.world = world, .price_ms = LONG, .entered = &(size_t){0}};
    start(&other, "other");
    wait_until_waiting(world, 1);
    slots_leave(world->app, &world->caller, "gp");
    pthread_join(other.thread, NULL);
    world_end(world);
}

/* The owner's time is with the caller, and the time of all with the slots: time of the processor, not of the clock. */
static void test_what_is_taken_is_counted(void)
{
    static struct slots_stats stats;
    struct world             *world = begin();
    size_t                    entered = 0;
    struct visitor            visitor = {.world = world, .price_ms = LONG, .entered = &entered};
    enter(world, LONG);
    start(&visitor, "other");
    wait_until_waiting(world, 1);
    compute_ms(20);
    CU_ASSERT_TRUE(slots_leave(world->app, &world->caller, "random") >= 20);
    pthread_join(visitor.thread, NULL);
    enter(world, LONG);
    slots_leave(world->app, &world->caller, NULL);
    slots_stats(world->app->slots, &stats);
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
    world_end(world);
}

static void announce_and_take(struct world *world, double price_ms, int64_t ms)
{
    enter(world, price_ms);
    compute_ms(ms);
    slots_leave(world->app, &world->caller, "gp");
}

static bool leaves_at_once(void *arg)
{
    (void)arg;
    return true;
}

/* Prices are judged when the work took over twice as long, or under half; not when it is very short, or was cut off. */
static void test_prices_are_judged(void)
{
    static struct slots_stats stats;
    struct world             *world = begin();
    announce_and_take(world, LONG, 0);
    announce_and_take(world, SHORT, 20);
    announce_and_take(world, INSTANT, 1);
    announce_and_take(world, 30, 30);
    enter(world, LONG);
    world->caller.has_left = leaves_at_once;
    CU_ASSERT_EQUAL(slots_go_on(world->app, &world->caller, &world->err), STATUS_BUSY);
    slots_leave(world->app, &world->caller, "gp");
    slots_stats(world->app->slots, &stats);
    CU_ASSERT_EQUAL(stats.misjudged, 2);
    world_end(world);
}

CU_TestInfo suite_slots[] = {
    {"owners take turns", test_owners_take_turns},
    {"who had least is next", test_who_had_least_is_next},
    {"short does not wait for long", test_short_does_not_wait_for_long},
    {"long gives way", test_long_gives_way},
    {"long gives way to its own later", test_long_gives_way_to_its_own_later},
    {"what was too cheap is found out", test_what_was_too_cheap_is_found_out},
    {"announcing", test_announcing},
    {"prices are judged", test_prices_are_judged},
    {"nobody waits for nothing", test_nobody_waits_for_nothing},
    {"giving up in a pause", test_giving_up_in_a_pause},
    {"what is taken is counted", test_what_is_taken_is_counted},
    CU_TEST_INFO_NULL,
};
