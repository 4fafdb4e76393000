/* Leases of operations: a server that was taken for dead writes nothing more, whoever says so in the store; planted by the same
 * statements that another server would send. */
#include "service/app/steady.h"
#include "service/session/session.h"
#include "service/suggest/operation_job.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 300000, STEP_MS = 20 };

struct told {
    struct app *app;
    const char *id;
    int64_t     by_ms, attempt, changes; /* by_ms: what of the store's rows ends by then is found */
    bool        is_left;
};

static enum status claim(struct db_conn *conn, void *arg, struct error *err)
{
    struct told *told = arg;
    return db_exec(conn, &told->changes, err, SQL_OPERATION_CLAIM,
                   BIND(TEXT(told->id), INT(told->attempt), TEXT("srv_other"), INT(told->by_ms)));
}

static enum status beat(struct db_conn *conn, void *arg, struct error *err)
{
    struct told *told = arg;
    return db_exec(conn, &told->changes, err, SQL_OPERATION_BEAT,
                   BIND(TEXT(told->id), INT(told->attempt), INT(told->by_ms), BLOB(NULL, 0)));
}

static enum status cancel(struct db_conn *conn, void *arg, struct error *err)
{
    struct told *told = arg;
    return db_exec(conn, &told->changes, err, SQL_OPERATION_END,
                   BIND(TEXT(told->id), TEXT("cancelled"), BLOB(NULL, 0), INT(0), TEXT(NULL), TEXT(NULL), INT(1),
                        INT(0), INT(told->attempt)));
}

static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct told   *told = arg;
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_OPERATION_LEFT, BIND(INT(told->by_ms), TEXT("srv_third"), INT(1)));
    told->is_left = db_next(&rows);
    return db_done(&rows);
}

/* Whether it changed the row. */
static bool tell(struct world *world, db_fn fn, struct told *told)
{
    CU_ASSERT_EQUAL(db_transact(world->app->db, fn, told, &world->err), STATUS_OK);
    return told->changes == 1;
}

static bool is_left(struct world *world, struct told *told)
{
    CU_ASSERT_EQUAL(db_read(world->app->db, look, told, &world->err), STATUS_OK);
    return told->is_left;
}

static bool is_idle(struct world *world, struct told *told)
{
    (void)told;
    return operations_running(world->app->operations) == 0;
}

static bool is_renewed(struct world *world, struct told *told)
{
    return !is_left(world, told);
}

static bool is_in_time(struct world *world, bool (*is)(struct world *, struct told *), struct told *told)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    for (int ms = 0; ms < PATIENCE_MS && !is(world, told); ms += STEP_MS)
        nanosleep(&step, NULL);
    return is(world, told);
}

static enum operation_state state_of(struct world *world, const char *id)
{
    struct operation found = {.state = OPERATION_STATE_COUNT};
    CU_ASSERT_EQUAL(operation_find(world->app, &world->caller, id, &found, &world->err), STATUS_OK);
    return found.state;
}

static bool is_done(struct world *world, struct told *told)
{
    return state_of(world, told->id) == OPERATION_SUCCEEDED;
}

static bool is_failed(struct world *world, struct told *told)
{
    return state_of(world, told->id) == OPERATION_FAILED;
}

static int64_t count_trials(struct world *world, const char *id)
{
    struct study study;
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    return study.trials_total;
}

/* Begins one that waits for the model, which is held. */
static struct told begin(struct world *world, const char *study, struct live **live, struct operation *out)
{
    const struct suggest_request request = {.count = 1, .worker = "w"};
    CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study, SESSION_ALONE, live, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(
        operation_begin(world->app, &world->caller, study, &(struct operation_new){&request, 0}, out, &world->err),
        STATUS_OK);
    return (struct told){.app = world->app, .id = out->id, .attempt = 1};
}

static void test_a_lease_is_renewed(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation;
    struct live     *live;
    struct told      told = begin(world, study.id, &live, &operation);
    told.by_ms = steady_ms(world->app) + OPERATIONS_LEASE_MS - 1;
    CU_ASSERT(!is_left(world, &told));
    told.by_ms++;
    CU_ASSERT(is_left(world, &told));
    world_clock_ms += 2385;
    CU_ASSERT(is_in_time(world, is_renewed, &told));
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_done, &told));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 1);
    world_end(world);
}

/* It computes to the end, and is refused; when the other one is gone, too, it does the work again, once. */
static void test_a_stale_owner_is_refused(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation;
    struct live     *live;
    struct told      told = begin(world, study.id, &live, &operation);
    told.by_ms = steady_ms(world->app) + 10 * OPERATIONS_LEASE_MS;
    told.attempt = 2;
    CU_ASSERT(!tell(world, claim, &told)); // no such attempt
    told.attempt = 1;
    CU_ASSERT(tell(world, claim, &told));
    CU_ASSERT(!tell(world, claim, &told)); // who looked at the same time comes too late
    CU_ASSERT(!tell(world, beat, &told));
    CU_ASSERT(!tell(world, cancel, &told));
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_idle, &told));
    CU_ASSERT_EQUAL(state_of(world, told.id), OPERATION_RUNNING);
    CU_ASSERT_EQUAL(count_trials(world, study.id), 0);
    told.attempt = 2;
    CU_ASSERT(tell(world, beat, &told));
    world_clock_ms += 10 * OPERATIONS_LEASE_MS;
    CU_ASSERT(is_in_time(world, is_done, &told));
    CU_ASSERT(!tell(world, beat, &told));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 1);
    world_end(world);
}

/* By another server. */
static void test_a_cancel_elsewhere_holds(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation;
    struct live     *live;
    struct told      told = begin(world, study.id, &live, &operation);
    told.attempt = 0;
    CU_ASSERT(tell(world, cancel, &told));
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_idle, &told));
    CU_ASSERT_EQUAL(state_of(world, told.id), OPERATION_CANCELLED);
    CU_ASSERT_EQUAL(count_trials(world, study.id), 0);
    world_end(world);
}

/* Nobody computes beside the server that works on the study. */
static void test_an_operation_goes_where_its_study_is(void)
{
    struct world                *world = world_new();
    struct study                 study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    const struct suggest_request request = {.count = 1, .worker = "v"};
    struct operation             operation, second;
    struct live                 *live;
    struct told told = begin(world, study.id, &live, &operation), left = {.by_ms = steady_ms(world->app)};
    told.by_ms = steady_ms(world->app) + 10 * OPERATIONS_LEASE_MS;
    CU_ASSERT(tell(world, claim, &told));
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_idle, &told));
    CU_ASSERT_EQUAL(operation_begin(world->app, &world->caller, study.id, &(struct operation_new){&request, 0}, &second,
                                    &world->err),
                    STATUS_OK);
    CU_ASSERT(operations_running(world->app->operations) == 0 && !is_left(world, &left));
    CU_ASSERT_EQUAL(state_of(world, second.id), OPERATION_RUNNING);
    world_clock_ms += 10 * OPERATIONS_LEASE_MS;
    CU_ASSERT(is_in_time(world, is_done, &told));
    told.id = second.id;
    CU_ASSERT(is_in_time(world, is_done, &told));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 2);
    world_end(world);
}

/* An operation that no server finished is failed, and keeps nobody any more. */
static void test_attempts_end(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation;
    struct live     *live;
    struct told      told = begin(world, study.id, &live, &operation);
    told.by_ms = steady_ms(world->app) + 10 * OPERATIONS_LEASE_MS;
    for (; told.attempt < 10; told.attempt++)
        CU_ASSERT(tell(world, claim, &told));
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_idle, &told));
    CU_ASSERT_EQUAL(state_of(world, told.id), OPERATION_RUNNING);
    world_clock_ms += 20 * OPERATIONS_LEASE_MS;
    CU_ASSERT(is_in_time(world, is_failed, &told));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 0);
    world_end(world);
}

/* A server that stops gives back its operations, so that nobody waits for the lease's end; late ones, too. */
static void test_who_stops_gives_back(void)
{
    struct world                *world = world_new();
    struct study                 study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    const struct suggest_request request = {.count = 1, .worker = "w"};
    struct operation             operation;
    struct told                  told = {.by_ms = 0};
    CU_ASSERT_EQUAL(operations_resume(world->app, &world->err), STATUS_OK);
    operations_halt(world->app);
    CU_ASSERT_EQUAL_FATAL(operation_begin(world->app, &world->caller, study.id, &(struct operation_new){&request, 0},
                                          &operation, &world->err),
                          STATUS_OK);
    operations_stop(world->app);
    CU_ASSERT(is_left(world, &told));
    world_end(world);
}

/* ---- its place among those of its token ---- */

static struct app *probed;
static atomic_int  found_free;

static void hold(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
}

/* A transaction that ends a row asks for the time: then the place must be free already, though the work is not over. */
static int64_t probe(void)
{
    struct operations       *operations = probed->operations;
    const struct workers_job next = {.run = hold, .owner = "local"};
    struct error             err;
    bool                     is_free = workers_would_take(operations->workers, &next, &err) == STATUS_OK;
    found_free += is_free && operations_running(operations) > 0;
    return world_clock_ms;
}

/* Fills what its token may have behind one that waits for its model, and lets that one end. */
static void check_place(bool is_to_fail)
{
    struct world      *world = world_new();
    struct study       study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation   operation;
    struct live       *live;
    struct told        told = begin(world, study.id, &live, &operation);
    pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
    struct workers_job filler = {.run = hold, .arg = &lock, .owner = "local"};
    pthread_mutex_lock(&lock);
    if (is_to_fail)
        CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_PAUSE, &study, &world->err), STATUS_OK);
    while (workers_submit(world->app->operations->workers, &filler, &world->err) == STATUS_OK)
        continue;
    probed = world->app;
    found_free = 0;
    world->app->now_ms = probe;
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_to_fail ? is_failed : is_done, &told));
    CU_ASSERT(found_free > 0);
    pthread_mutex_unlock(&lock);
    world_end(world);
}

static void test_what_has_ended_has_no_place(void)
{
    check_place(false);
    check_place(true);
}

CU_TestInfo suite_leases[] = {
    {"a lease is renewed", test_a_lease_is_renewed},
    {"a stale owner is refused", test_a_stale_owner_is_refused},
    {"a cancel elsewhere holds", test_a_cancel_elsewhere_holds},
    {"an operation goes where its study is", test_an_operation_goes_where_its_study_is},
    {"attempts end", test_attempts_end},
    {"who stops gives back", test_who_stops_gives_back},
    {"what has ended has no place", test_what_has_ended_has_no_place},
    CU_TEST_INFO_NULL,
};
