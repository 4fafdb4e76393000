/* Studies that go in parts. */
#include "service/portable/import.h"
#include "service/trial/observe.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

struct left {
    struct arena *arena;
    const char   *study;
    size_t        len;
};

static enum status count_left(struct db_conn *conn, void *arg, struct error *err)
{
    struct left   *left = arg;
    struct db_rows rows =
        db_query(conn, left->arena, err, SQL_TRIAL_LIST, BIND(TEXT(left->study), INT(0), TEXT(""), INT(INT64_MAX)));
    for (left->len = 0; db_next(&rows);)
        left->len++;
    return db_done(&rows);
}

static enum status hide(struct db_conn *conn, void *arg, struct error *err)
{
    const struct study *study = arg;
    return db_exec(conn, NULL, err, SQL_STUDY_APPEAR, BIND(TEXT(study->id), TEXT(STUDY_HIDDEN_STATE)));
}

/* More trials than go at once; and a process that ended between: nobody finds the study, and the next start removes it. */
static void test_deleting_in_parts(void)
{
    enum { MANY = 1203 };
    struct world *world = world_new();
    for (int round = 0; round < 2; round++) {
        struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
        struct left  left = {.arena = &world->arena, .study = study.id};
        world_observe_many(world, study.id, MANY);
        CU_ASSERT_EQUAL(db_read(world->app->db, count_left, &left, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(left.len, MANY);
        if (round == 0)
            CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, study.id, &world->err), STATUS_OK);
        if (round == 1)
            CU_ASSERT_EQUAL(db_transact(world->app->db, hide, &study, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &out, &world->err), STATUS_NOT_FOUND);
        CU_ASSERT_EQUAL(import_clean(world->app, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(db_read(world->app->db, count_left, &left, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(left.len, 0);
    }
    world_end(world);
}

CU_TestInfo suite_deleting[] = {
    {"in parts", test_deleting_in_parts},
    CU_TEST_INFO_NULL,
};
