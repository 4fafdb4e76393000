/* Transactions that write much go alone, without a savepoint, and are undone all the same. */
#include "service/app/event_log.h"
#include "service/main/app_open.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <string.h>

static enum status add(struct db_conn *conn, void *arg, struct error *err)
{
    TRY(event_log(conn, EVENT(.at_ms = 1, .kind = "test", .actor = "a"), err));
    return arg == NULL ? STATUS_OK : error_set(err, STATUS_CONFLICT, arg, "", "not that");
}

static enum status count(struct db_conn *conn, void *arg, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_LAST, BIND_NONE));
    *(int64_t *)arg = row_count(&rows)->count;
    return STATUS_OK;
}

static int64_t lines(struct world *world)
{
    int64_t found = -1;
    CU_ASSERT_EQUAL(db_read(world->app->db, count, &found, &world->err), STATUS_OK);
    return found;
}

static void test_one_goes_alone(void)
{
    struct world   *world = world_new();
    struct db_stats before, after;
    struct error    errors[5];
    for (int is_large = 0; is_large < 2; is_large++) {
        struct db_transaction all[5];
        for (int i = 0; i < 5; i++)
            all[i] = (struct db_transaction){.fn = add, .err = &errors[i], .is_large = i == 2 && is_large};
        int64_t had = lines(world);
        db_stats(world->app->db, &before);
        db_transact_all(world->app->db, all, 5);
        db_stats(world->app->db, &after);
        CU_ASSERT_EQUAL(after.commits - before.commits, is_large ? 3 : 1);
        CU_ASSERT_EQUAL(lines(world), had + 5);
    }
    world_end(world);
}

static void test_what_fails_alone_leaves_nothing(void)
{
    struct world *world = world_new();
    int64_t       had = lines(world);
    CU_ASSERT_EQUAL(db_transact_large(world->app->db, (struct db_owner){0}, add, "no", &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "no");
    CU_ASSERT_EQUAL(db_transact(world->app->db, add, "nor_that", &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "nor_that");
    CU_ASSERT_EQUAL(lines(world), had);
    CU_ASSERT_EQUAL(db_transact_large(world->app->db, (struct db_owner){0}, add, NULL, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(db_transact(world->app->db, add, NULL, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(lines(world), had + 2);
    app_close(world->app);
    world_open(world);
    CU_ASSERT_EQUAL(lines(world), had + 2);
    struct db_stats stats;
    db_stats(world->app->db, &stats);
    CU_ASSERT_STRING_EQUAL(stats.refused, "");
    world_end(world);
}

CU_TestInfo suite_large[] = {
    {"one goes alone", test_one_goes_alone},
    {"what fails alone leaves nothing", test_what_fails_alone_leaves_nothing},
    CU_TEST_INFO_NULL,
};
