/* The chain of the log: what may happen to its lines, and what is noticed. */
#include "db/writer/chain.h"
#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/main/app_open.h"
#include "tests/unit/service/database.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <CUnit/CUnit.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* From the first place to the last; in pieces. */
static enum status walk(struct db_conn *conn, void *arg, struct error *err)
{
    bool              *is_whole = arg;
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    struct chain_walk own = {.at = state.first, .until = INT64_MAX};
    for (int64_t before = -1; before != own.at.seq;) {
        before = own.at.seq;
        TRY(chain_walk(conn, &own, 7, err));
    }
    *is_whole = memcmp(&own.at, &state.last, sizeof own.at) == 0 && own.at.seq > state.first.seq;
    return STATUS_OK;
}

static bool is_whole(struct world *world)
{
    bool is_whole = false;
    return db_read(world->app->db, walk, &is_whole, &world->err) == STATUS_OK && is_whole;
}

/* From the first place to a line (0: to the last there was), as a server looks at its own log. */
struct to_line {
    int64_t            seq;
    struct chain_place at;
};

static enum status walk_to(struct db_conn *conn, void *arg, struct error *err)
{
    struct to_line    *to = arg;
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    struct chain_walk own = {.at = state.first, .until = to->seq == 0 ? state.last.seq : to->seq};
    for (int pieces = 0; own.at.seq < own.until && pieces < 100; pieces++)
        TRY(chain_walk(conn, &own, 7, err));
    to->at = own.at;
    return STATUS_OK;
}

static void alter_database(struct world *world, const char *sql)
{
    CU_ASSERT_EQUAL(
        database_do(
            world->database,
            "ALTER TABLE event DISABLE TRIGGER USER; CREATE OR REPLACE FUNCTION zeroblob(integer) RETURNS bytea "
            "LANGUAGE sql AS $$SELECT decode(repeat('00', $1), 'hex')$$",
            &world->err),
        STATUS_OK);
    CU_ASSERT_EQUAL(database_do(world->database, sql, &world->err), STATUS_OK);
}

static void alter(struct world *world, const char *sql)
{
    sqlite3 *store = NULL;
    char     path[96];
    if (world->database[0] != '\0') {
        alter_database(world, sql);
        return;
    }
    snprintf(path, sizeof path, "%s/gnomon.db", world->folder);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &store), SQLITE_OK);
    sqlite3_exec(store, "DROP TRIGGER event_is_not_changed; DROP TRIGGER event_is_not_deleted", NULL, NULL, NULL);
    CU_ASSERT_EQUAL(sqlite3_exec(store, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(store);
}

/* Two lines, and one that says so. */
static enum status drop(struct db_conn *conn, void *arg, struct error *err)
{
    const int64_t *seq = arg;
    TRY(db_log_drop(conn, *seq, *seq + 1, err));
    return event_log(conn, (struct event_row)EVENT(.at_ms = 1, .kind = "test", .actor = "a"), err);
}

static enum status erase(struct db_conn *conn, void *arg, struct error *err)
{
    return app_erase(conn, arg, err);
}

static enum status add_two(struct db_conn *conn, void *arg, struct error *err)
{
    const struct event_row event = EVENT(.at_ms = 1, .kind = "test", .actor = "a", .study = arg, .detail = "words");
    TRY(event_log(conn, event, err));
    return event_log(conn, event, err);
}

static enum status add_and_fail(struct db_conn *conn, void *arg, struct error *err)
{
    TRY(add_two(conn, arg, err));
    return error_set(err, STATUS_CONFLICT, "no", "", "not that");
}

static struct world *begin(char id[24])
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    snprintf(id, 24, "%s", study.id);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(db_transact(world->app->db, add_two, id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(db_transact(world->app->db, add_and_fail, id, &world->err), STATUS_CONFLICT);
    CU_ASSERT(is_whole(world));
    return world;
}

static void test_it_holds_what_was_written(void)
{
    char          id[24];
    struct world *world = begin(id);
    app_close(world->app);
    world_open(world);
    CU_ASSERT(is_whole(world));
    CU_ASSERT_EQUAL(db_transact(world->app->db, add_two, id, &world->err), STATUS_OK);
    CU_ASSERT(is_whole(world));
    world_end(world);
}

static enum status look_and_add(struct db_conn *conn, void *arg, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_COUNT, BIND(TEXT(arg))));
    int64_t before = row_count(&rows)->count;
    TRY(add_two(conn, arg, err));
    TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_COUNT, BIND(TEXT(arg))));
    return row_count(&rows)->count == before + 2 ? STATUS_OK : error_set(err, STATUS_INTERNAL, "lost", "", "a line");
}

static enum status count_lines(struct db_conn *conn, void *arg, struct error *err)
{
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    *(int64_t *)arg = state.last.seq;
    return STATUS_OK;
}

/* Among transactions that share a commit a failed one leaves nothing, and the lines of the others follow each other. */
static void test_lines_of_a_batch_follow_each_other(void)
{
    static const struct {
        db_fn fns[3];
        int   lines;
    } batches[] = {{{add_two, add_and_fail, add_two}, 4},           {{add_and_fail, add_and_fail, add_two}, 2},
                   {{add_two, add_two, add_and_fail}, 4},           {{add_and_fail, add_and_fail, add_and_fail}, 0},
                   {{look_and_add, add_and_fail, look_and_add}, 4}, {{look_and_add, look_and_add, add_and_fail}, 4}};
    char          id[24];
    struct world *world = begin(id);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        struct db_transaction all[3];
        struct error          errs[3];
        int64_t               before = 0, after = 0;
        for (int j = 0; j < 3; j++)
            all[j] = (struct db_transaction){.fn = batches[i].fns[j], .arg = id, .err = &errs[j]};
        CU_ASSERT_EQUAL(db_read(world->app->db, count_lines, &before, &world->err), STATUS_OK);
        db_transact_all(world->app->db, all, 3);
        for (int j = 0; j < 3; j++)
            CU_ASSERT_EQUAL(all[j].status, all[j].fn == add_and_fail ? STATUS_CONFLICT : STATUS_OK);
        CU_ASSERT_EQUAL(db_read(world->app->db, count_lines, &after, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(after - before, batches[i].lines);
        CU_ASSERT(is_whole(world));
    }
    world_end(world);
}

static void test_words_and_lines_may_go(void)
{
    char          id[24];
    struct world *world = begin(id);
    int64_t       places[] = {4, 2, 6};
    CU_ASSERT_EQUAL(db_transact(world->app->db, erase, id, &world->err), STATUS_OK);
    CU_ASSERT(is_whole(world));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(db_transact(world->app->db, drop, &places[i], &world->err), STATUS_OK);
        CU_ASSERT(is_whole(world));
        CU_ASSERT_EQUAL(db_transact(world->app->db, add_two, id, &world->err), STATUS_OK);
    }
    CU_ASSERT(is_whole(world));
    struct to_line to = {.seq = 5}; // which went
    CU_ASSERT_EQUAL(db_read(world->app->db, walk_to, &to, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(to.at.seq, 5);
    alter(world, "UPDATE log_gap SET digests = zeroblob(64) WHERE first = 4");
    CU_ASSERT(!is_whole(world));
    world_end(world);
}

static void test_what_was_changed_is_noticed(void)
{
    static const char *const changes[] = {
        "UPDATE event SET actor = 'tok_innocent' WHERE seq = 3",
        "UPDATE event SET at_ms = at_ms + 1 WHERE seq = 5",
        "UPDATE event SET detail = NULL WHERE detail IS NOT NULL AND seq = (SELECT max(seq) FROM event)",
        "UPDATE event SET detail = 'other' WHERE seq = (SELECT max(seq) FROM event)",
        "UPDATE event SET salt = zeroblob(16) WHERE seq = (SELECT max(seq) FROM event)",
        "UPDATE event SET study = NULL WHERE seq = 4",
        "DELETE FROM event WHERE seq = 2",
        "DELETE FROM event WHERE seq = 1",
        "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)",
        "UPDATE event SET seq = -seq WHERE seq IN (5, 6); UPDATE event SET seq = 11 + seq WHERE seq < 0",
        ("INSERT INTO event(seq, at_ms, kind, revision, trial, actor) SELECT max(seq) + 1, 1, 'test', 0, 0, 'a' FROM "
         "event"),
        "DELETE FROM event WHERE seq = 3; INSERT INTO log_gap(first, last, digests) VALUES (3, 3, zeroblob(32))",
        "INSERT INTO log_gap(first, last, digests) VALUES (3, 3, zeroblob(32)); DELETE FROM event WHERE seq IN (3, 4)",
        "UPDATE chain SET head = zeroblob(32)",
        "UPDATE chain SET seq = seq - 1"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char          id[24];
        struct world *world = begin(id);
        alter(world, changes[i]);
        if (is_whole(world)) {
            fprintf(stderr, "not noticed: %s\n", changes[i]);
            CU_FAIL();
        }
        world_end(world);
    }
}

static void test_a_log_that_ends_early_is_noticed(void)
{
    char           id[24];
    struct world  *world = begin(id);
    struct to_line to = {.seq = 0};
    CU_ASSERT_EQUAL(db_read(world->app->db, walk_to, &to, &world->err), STATUS_OK);
    alter(world, "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)");
    CU_ASSERT_EQUAL(db_read(world->app->db, walk_to, &to, &world->err), STATUS_INTERNAL);
    CU_ASSERT_STRING_EQUAL(world->err.code, "store_corrupt");
    world_end(world);
}

CU_TestInfo suite_chain[] = {
    {"it holds what was written", test_it_holds_what_was_written},
    {"lines of a batch follow each other", test_lines_of_a_batch_follow_each_other},
    {"words and lines may go", test_words_and_lines_may_go},
    {"what was changed is noticed", test_what_was_changed_is_noticed},
    {"a log that ends early is noticed", test_a_log_that_ends_early_is_noticed},
    CU_TEST_INFO_NULL,
};
