/* Old lines of the log go, those of what lives stay, and the chain holds through both. */
#include "service/app/retention.h"

#include "db/writer/chain.h"
#include "service/app/event_log.h"
#include "service/app/token.h"
#include "service/main/app_open.h"
#include "service/trial/events.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <CUnit/CUnit.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { DAY_MS = 24 * 3600 * 1000, PLACES_MAX = 8000 };

/* The chain as it is walked: the head of each line. */
struct walked {
    size_t             len;
    int64_t            gone;
    bool               is_whole;
    struct chain_place places[PLACES_MAX];
};

static enum status keep(void *arg, const struct chain_place *at, struct error *err)
{
    struct walked *walked = arg;
    (void)err;
    CU_ASSERT_FATAL(walked->len < PLACES_MAX);
    walked->places[walked->len++] = *at;
    return STATUS_OK;
}

static enum status walk(struct db_conn *conn, void *arg, struct error *err)
{
    struct walked     *walked = arg;
    struct chain_state state;
    struct db_rows     rows;
    struct arena       arena;
    TRY(chain_read(conn, &state, err));
    struct chain_walk own = {.at = state.first, .until = INT64_MAX, .see = keep, .arg = walked};
    walked->len = 0;
    for (int64_t before = -1; before != own.at.seq;) {
        before = own.at.seq;
        TRY(chain_walk(conn, &own, 7, err));
    }
    walked->gone = own.gone;
    walked->is_whole = memcmp(&own.at, &state.last, sizeof own.at) == 0;
    arena_init(&arena, 1 << 16);
    enum status status = db_find(conn, &arena, &rows, err, SQL_CHECK_EVENTS, BIND_NONE);
    walked->is_whole = walked->is_whole && status == STATUS_OK && row_finding(&rows) == NULL;
    arena_fini(&arena);
    return status;
}

static void check_chain(struct world *world, struct walked *walked)
{
    CU_ASSERT_EQUAL_FATAL(db_read(world->app->db, walk, walked, &world->err), STATUS_OK);
    CU_ASSERT(walked->is_whole);
}

/* All pieces; how many lines went, in how many pieces. */
static int64_t trim(struct world *world, int *pieces)
{
    struct retention retention = {.keep_ms = DAY_MS};
    for (*pieces = 0; !retention.is_over; ++*pieces)
        CU_ASSERT_EQUAL_FATAL(retention_step(world->app, &retention, &world->err), STATUS_OK);
    return retention.dropped;
}

static struct event_page list(struct world *world, const char *study, const char *cursor, enum status wanted)
{
    struct event_page         page = {0};
    const struct event_filter filter = {.study = study, .cursor = cursor, .limit = 1000};
    CU_ASSERT_EQUAL(event_list(world->app, &world->caller, &filter, &page, &world->err), wanted);
    return page;
}

static struct study observed(struct world *world, int count)
{
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    for (int i = 1; i <= count; i++) {
        world_suggest(world, study.id, 1, "w");
        CU_ASSERT_EQUAL(world_observe(world, study.id, i, 0.375 * i), STATUS_OK);
    }
    return study;
}

static bool has(const struct event_page *page, const char *kind)
{
    for (size_t i = 0; i < page->len; i++)
        if (strcmp(page->events[i].kind, kind) == 0)
            return true;
    return false;
}

static void test_what_lives_keeps_its_lines(void)
{
    static struct walked before, after;
    struct world        *world = world_new();
    struct token         tokens[2];
    int                  pieces;
    const struct token_new new = TOKEN_NEW(.name = "ci", .scope = SCOPE_READ);
    struct study lives = observed(world, 3), dies = observed(world, 4);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(token_create(world->app, &world->caller, &new, &tokens[i], &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, tokens[1].id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, dies.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(trim(world, &pieces), 0); // all is young
    check_chain(world, &before);
    const size_t lines = list(world, lives.id, NULL, STATUS_OK).len;
    CU_ASSERT(list(world, dies.id, NULL, STATUS_OK).len > 8);
    world_clock_ms += DAY_MS - 1;
    CU_ASSERT_EQUAL(trim(world, &pieces), 0);
    world_clock_ms += 2;
    CU_ASSERT(trim(world, &pieces) > 10);
    CU_ASSERT_EQUAL(list(world, lives.id, NULL, STATUS_OK).len, lines);
    list(world, dies.id, NULL, STATUS_NOT_FOUND);
    struct event_page all = list(world, NULL, NULL, STATUS_OK);
    CU_ASSERT(has(&all, "token.created") && !has(&all, "token.revoked") && has(&all, "store.trimmed"));
    check_chain(world, &after); // each head is what it was
    CU_ASSERT(after.gone > 10 && after.len == before.len + 1);
    CU_ASSERT_EQUAL(memcmp(before.places, after.places, before.len * sizeof *before.places), 0);
    CU_ASSERT_EQUAL(trim(world, &pieces), 0);
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT_EQUAL(trim(world, &pieces), 0); // what went stays written down
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, lives.id, &world->err), STATUS_OK);
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT(trim(world, &pieces) >= (int64_t)lines);
    app_close(world->app);
    world_open(world);
    check_chain(world, &after);
    CU_ASSERT_EQUAL(memcmp(before.places, after.places, before.len * sizeof *before.places), 0);
    world_end(world);
}

static void test_who_follows_learns_what_he_missed(void)
{
    struct world     *world = world_new();
    int               pieces;
    struct study      lives = observed(world, 3), dies = observed(world, 4);
    struct event_page old = list(world, NULL, NULL, STATUS_OK), own = list(world, lives.id, NULL, STATUS_OK);
    const char       *start = event_cursor(&world->arena, &old, 1);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, dies.id, &world->err), STATUS_OK);
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT(trim(world, &pieces) > 0);
    list(world, NULL, old.last_cursor, STATUS_NOT_FOUND); // its end is gone: study.deleted
    CU_ASSERT_STRING_EQUAL(world->err.code, "events_gone");
    list(world, NULL, start, STATUS_NOT_FOUND);
    list(world, lives.id, own.last_cursor, STATUS_OK);
    struct event_page now = list(world, NULL, NULL, STATUS_OK);
    list(world, NULL, event_cursor(&world->arena, &now, 1),
         STATUS_OK); // what is left is read from its begin to its end
    list(world, NULL, now.last_cursor, STATUS_OK);
    const char *ahead = event_cursor(&world->arena, &now, now.events[now.len - 1].seq + 1);
    list(world, NULL, ahead, STATUS_NOT_FOUND); // as of a store that became older
    CU_ASSERT_STRING_EQUAL(world->err.code, "events_gone");
    list(world, lives.id, ahead, STATUS_NOT_FOUND);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, lives.id, &world->err), STATUS_OK);
    struct event_page later = list(world, NULL, now.last_cursor, STATUS_OK);
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT(trim(world, &pieces) > 0);
    list(world, NULL, now.last_cursor, STATUS_NOT_FOUND);
    list(world, NULL, later.last_cursor, STATUS_OK); // it had seen all that went
    list(world, NULL, "3:", STATUS_INVALID);
    list(world, NULL, "3:x", STATUS_INVALID);
    list(world, NULL, ":3", STATUS_INVALID);
    world_end(world);
}

static enum status add(struct db_conn *conn, void *arg, struct error *err)
{
    for (int i = 0; i < 2600; i++)
        TRY(event_log(conn, EVENT(.at_ms = world_clock_ms, .kind = "token.used", .actor = "a", .detail = arg), err));
    return STATUS_OK;
}

/* An hour after the other. */
enum { SOME = 24 };

static enum status add_some(struct db_conn *conn, void *arg, struct error *err)
{
    for (int i = 0; i < SOME; i++)
        TRY(event_log(
            conn, EVENT(.at_ms = world_clock_ms + 3600000 * i / 4, .kind = "token.used", .actor = "a", .detail = arg),
            err));
    return STATUS_OK;
}

static void test_many_go_in_pieces(void)
{
    static struct walked after;
    struct world        *world = world_new();
    int                  pieces;
    CU_ASSERT_EQUAL(db_transact(world->app->db, add, "tok_gone", &world->err), STATUS_OK);
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT(trim(world, &pieces) >= 2600);
    CU_ASSERT_EQUAL(pieces, 3);
    check_chain(world, &after);
    CU_ASSERT(after.gone >= 2600);
    world_end(world);
}

static void test_a_clock_set_forward_makes_nothing_go(void)
{
    struct world *world = world_new();
    int           pieces;
    CU_ASSERT_EQUAL(db_transact(world->app->db, add, "tok_gone", &world->err), STATUS_OK);
    world_wall_ahead_ms = (int64_t)400 * DAY_MS;
    CU_ASSERT_EQUAL(trim(world, &pieces), 0);
    world_wall_ahead_ms = 0;
    world_clock_ms += 2 * DAY_MS;
    CU_ASSERT(trim(world, &pieces) >= 2600);
    world_end(world);
}

/* As the auditors of several servers of one database: each keeps the log for a time of its own. */
struct trimming {
    struct world *world;
    int64_t       keep_ms;
    enum status   status;
    pthread_t     thread;
};

static void *trim_beside(void *arg)
{
    struct trimming *trimming = arg;
    struct retention retention = {.keep_ms = trimming->keep_ms};
    struct error     err;
    while (!retention.is_over && trimming->status == STATUS_OK)
        trimming->status = retention_step(trimming->world->app, &retention, &err);
    return NULL;
}

static void test_several_trim_at_once(void)
{
    enum { AT_ONCE = 4, ROUNDS = 8 };
    static struct walked after;
    struct world        *world = world_new();
    for (int round = 0; round < ROUNDS; round++) {
        struct trimming all[AT_ONCE];
        CU_ASSERT_EQUAL(db_transact(world->app->db, add_some, "tok_gone", &world->err), STATUS_OK);
        world_clock_ms += DAY_MS;
        for (int i = 0; i < AT_ONCE; i++) {
            all[i] = (struct trimming){.world = world, .keep_ms = DAY_MS - 3600000 * (1 + i)};
            CU_ASSERT_EQUAL_FATAL(pthread_create(&all[i].thread, NULL, trim_beside, &all[i]), 0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_join(all[i].thread, NULL);
            CU_ASSERT_EQUAL(all[i].status, STATUS_OK);
        }
    }
    check_chain(world, &after);
    CU_ASSERT(after.gone > (ROUNDS - 1) * SOME);
    world_end(world);
}

CU_TestInfo suite_retention[] = {
    {"what lives keeps its lines", test_what_lives_keeps_its_lines},
    {"who follows learns what he missed", test_who_follows_learns_what_he_missed},
    {"many go in pieces", test_many_go_in_pieces},
    {"a clock set forward makes nothing go", test_a_clock_set_forward_makes_nothing_go},
    {"several trim at once", test_several_trim_at_once},
    CU_TEST_INFO_NULL,
};
