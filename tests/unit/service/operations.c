/* Operations: who ends one, what an earlier process left, and a place among those of the same token. */
#include "service/session/session.h"
#include "service/suggest/operation_job.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <time.h>

enum { PATIENCE_MS = 300000, STEP_MS = 20 };

static bool is_idle(struct world *world, const char *id)
{
    (void)id;
    return operations_running(world->app->operations) == 0;
}

static bool is_in_time(struct world *world, bool (*is)(struct world *, const char *), const char *id)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    for (int ms = 0; ms < PATIENCE_MS && !is(world, id); ms += STEP_MS)
        nanosleep(&step, NULL);
    return is(world, id);
}

static enum operation_state state_of(struct world *world, const char *id)
{
    struct operation found = {.state = OPERATION_STATE_COUNT};
    CU_ASSERT_EQUAL(operation_find(world->app, &world->caller, id, &found, &world->err), STATUS_OK);
    return found.state;
}

static bool is_done(struct world *world, const char *id)
{
    return state_of(world, id) == OPERATION_SUCCEEDED;
}

static bool is_failed(struct world *world, const char *id)
{
    return state_of(world, id) == OPERATION_FAILED;
}

static int64_t count_trials(struct world *world, const char *id)
{
    struct study study;
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    return study.trials_total;
}

/* Begins one that waits for the model, which is held. */
static void begin(struct world *world, const char *study, struct live **live, struct operation *out)
{
    struct plan request = {.count = 1, .worker = "w"};
    CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study, SESSION_ALONE, live, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(
        operation_begin(world->app, &world->caller, study, &(struct operation_new){&request, 0}, out, &world->err),
        STATUS_OK);
}

static void test_a_cancel_holds(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation, cancelled;
    struct live     *live;
    begin(world, study.id, &live, &operation);
    CU_ASSERT_EQUAL(operation_cancel(world->app, &world->caller, operation.id, &cancelled, &world->err), STATUS_OK);
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_idle, NULL));
    CU_ASSERT_EQUAL(state_of(world, operation.id), OPERATION_CANCELLED);
    CU_ASSERT_EQUAL(count_trials(world, study.id), 0);
    world_end(world);
}

/* ---- what an earlier process left ---- */

struct attempts {
    const char *id;
    int         count;
};

static enum status plant(struct db_conn *conn, void *arg, struct error *err)
{
    const struct attempts *attempts = arg;
    return db_exec(conn, NULL, err, SQL_OPERATION_ATTEMPT, BIND(TEXT(attempts->id), INT(attempts->count)));
}

/* Leaves an operation that was begun so often, as a process does that stops; then the next one resumes. */
static struct operation resume(struct world *world, const char *study, int count)
{
    struct plan      request = {.count = 1, .worker = "w"};
    struct operation operation;
    operations_halt(world->app);
    CU_ASSERT_EQUAL_FATAL(operation_begin(world->app, &world->caller, study, &(struct operation_new){&request, 0},
                                          &operation, &world->err),
                          STATUS_OK);
    CU_ASSERT_EQUAL(state_of(world, operation.id), OPERATION_RUNNING);
    CU_ASSERT_EQUAL(operations_running(world->app->operations), 0);
    struct attempts attempts = {operation.id, count};
    CU_ASSERT_EQUAL(db_transact(world->app->db, plant, &attempts, &world->err), STATUS_OK);
    world->app->operations->is_stopping = false;
    CU_ASSERT_EQUAL(operations_resume(world->app, &world->err), STATUS_OK);
    return operation;
}

static void test_what_was_left_is_done(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation = resume(world, study.id, 9);
    CU_ASSERT(is_in_time(world, is_done, operation.id));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 1);
    world_end(world);
}

/* An operation that no server finished is failed, and keeps nobody any more. */
static void test_attempts_end(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation operation = resume(world, study.id, 10);
    CU_ASSERT(is_in_time(world, is_failed, operation.id));
    CU_ASSERT_EQUAL(count_trials(world, study.id), 0);
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
    pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
    struct workers_job filler = {.run = hold, .arg = &lock, .owner = "local"};
    begin(world, study.id, &live, &operation);
    pthread_mutex_lock(&lock);
    while (workers_submit(world->app->operations->workers, &filler, &world->err) == STATUS_OK)
        continue;
    probed = world->app;
    found_free = 0;
    world_wall = probe;
    if (is_to_fail) // last, because a job that has not read the study yet fails at once
        CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_PAUSE, &study, &world->err), STATUS_OK);
    session_unlock(world->app, live);
    CU_ASSERT(is_in_time(world, is_to_fail ? is_failed : is_done, operation.id));
    CU_ASSERT(found_free > 0);
    pthread_mutex_unlock(&lock);
    world_end(world);
}

static void test_what_has_ended_has_no_place(void)
{
    check_place(false);
    check_place(true);
}

CU_TestInfo suite_operations[] = {
    {"a cancel holds", test_a_cancel_holds},
    {"what was left is done", test_what_was_left_is_done},
    {"attempts end", test_attempts_end},
    {"what has ended has no place", test_what_has_ended_has_no_place},
    CU_TEST_INFO_NULL,
};
