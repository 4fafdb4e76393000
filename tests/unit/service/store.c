/* The store and the use cases on it, without HTTP: what is acknowledged stays, what is refused changes nothing. */
#include "db/writer/conn.h"
#include "service/app/app_transact.h"
#include "service/base/npy.h"
#include "service/candidates/candidates.h"
#include "service/member/codec.h"
#include "service/base/digest.h"
#include "service/trial/events.h"
#include "service/main/app_open.h"
#include "service/manifest/manifest.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/suggest/suggest.h"
#include "service/app/token.h"
#include "service/trial/trial.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include "service/app/event_log.h"
#include <pthread.h>
#include <sqlite3.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define FIRST_EVENTS BIND(INT(0), TEXT(""), INT(0), INT(10))
static double objective(const struct trial *trial)
{
    const double *p = trial->point;
    return (p[0] - 0.37) * (p[0] - 0.37) + 0.05 * fabs(p[1] - 4) + 0.3 * (p[2] == 1 ? 0 : 1);
}

/* ---- the store ---- */

/* As many parameters, and the same columns: each by its name, and of its type where it is one of a table. */
static bool is_as_listed(const struct sql_statement *listed, sqlite3_stmt *statement)
{
    static const char types[][2][8] = {{"i", "INTEGER"}, {"d", "REAL"}, {"s", "TEXT"}, {"b", "BLOB"}};
    int               n = 0;
    bool              is_same = sqlite3_bind_parameter_count(statement) == (int)strlen(listed->parameters);
    for (const struct db_column *column = listed->columns(); is_same && column->name != NULL; column++, n++) {
        const char *name = sqlite3_column_name(statement, n), *type = sqlite3_column_decltype(statement, n);
        is_same = name != NULL && strcmp(name, column->name) == 0;
        for (size_t k = 0; type != NULL && k < sizeof types / sizeof *types; k++)
            is_same &= (types[k][0][0] == tolower((unsigned char)column->letter)) == (strcmp(type, types[k][1]) == 0);
    }
    return is_same && sqlite3_column_count(statement) == n;
}

static void test_every_statement_prepares(void)
{
    struct world         *world = world_new();
    static struct db_conn conn;
    if (world->database[0] != '\0') { // see driver.c
        world_end(world);
        return;
    }
    CU_ASSERT_EQUAL_FATAL(conn_open(&conn, &driver_sqlite, world->folder, DRIVER_READ_ONLY, "FULL", &world->err),
                          STATUS_OK);
    for (int sql = 0; sql < SQL_COUNT; sql++) {
        void       *statement = NULL;
        enum status status = conn_statement(&conn, (enum sql)sql, &statement, &world->err);
        if (status != STATUS_OK)
            fprintf(stderr, "%s: %s\n", sql_table[sql].name, world->err.text);
        CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
        if (!is_as_listed(&sql_table[sql], statement)) {
            fprintf(stderr, "%s: the text is not what sql.h lists\n", sql_table[sql].name);
            CU_FAIL();
        }
    }
    conn_close(&conn);
    world_end(world);
}

/* A failure ends the reading and is told at its end; a missing row is no failure, and needs no memory. */
static enum status read_events(struct db_conn *conn, void *arg, struct error *err)
{
    struct world  *world = arg;
    struct arena   none;
    struct db_rows rows = db_query(conn, world->caller.arena, err, SQL_EVENT_OF_DEFAULT, FIRST_EVENTS);
    int            read = 0;
    for (; db_next(&rows); read++)
        rows.status = read == 1 ? error_set(err, STATUS_CONFLICT, "own", "", "of the reader") : STATUS_OK;
    CU_ASSERT_PTR_NULL(row_event(&rows));
    CU_ASSERT(!db_next(&rows));
    CU_ASSERT_EQUAL(db_done(&rows), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(read, 2);
    arena_init(&none, 0);
    rows = db_query(conn, &none, err, SQL_EVENT_OF_DEFAULT, FIRST_EVENTS);
    CU_ASSERT(!db_next(&rows));
    CU_ASSERT_EQUAL(db_done(&rows), STATUS_NO_MEMORY);
    CU_ASSERT_EQUAL(db_find(conn, &none, &rows, err, SQL_STUDY_GET, BIND(TEXT("std_none"))), STATUS_OK);
    CU_ASSERT_PTR_NULL(row_study(&rows));
    TRY(db_find(conn, world->caller.arena, &rows, err, SQL_EVENT_OF_DEFAULT, FIRST_EVENTS));
    CU_ASSERT_STRING_EQUAL(row_event(&rows)->kind, "study.created");
    arena_fini(&none);
    return STATUS_OK;
}

static void test_what_fails_ends_the_reading(void)
{
    struct world *world = world_new();
    for (int i = 0; i < 3; i++)
        (void)world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(db_read(world->app->db, read_events, world, &world->err), STATUS_OK);
    world_end(world);
}

static void test_lock_keeps_others_out(void)
{
    struct world           *world = world_new();
    const struct db_options options = {.folder = world->folder, .synchronous = "FULL", .readers = 1};
    struct db              *second;
    CU_ASSERT_EQUAL(db_open(&options, &second, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "locked");
    world_end(world);
}

static enum status bump_schema(struct db_conn *conn, void *arg, struct error *err)
{
    const struct world *world = arg;
    return conn_execute(conn, world->database[0] != '\0' ? "UPDATE store SET version = 17" : "PRAGMA user_version = 17",
                        err);
}

static void test_newer_schema_is_refused(void)
{
    struct world *world = world_new();
    CU_ASSERT_EQUAL(db_transact(world->app->db, bump_schema, world, &world->err), STATUS_OK);
    app_close(world->app);
    struct app              *app;
    const struct app_options options = {.folder = world->folder,
                                        .database = world->database[0] != '\0' ? world->database : NULL,
                                        .synchronous = "FULL",
                                        .sessions_bytes = 1 << 20,
                                        .session_bytes = 1 << 20,
                                        .compute_slots = 1};
    CU_ASSERT_EQUAL(app_open(&options, &app, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "schema_newer");
    world->app = NULL;
    world_end(world);
}

static enum status add_event(struct db_conn *conn, void *arg, struct error *err)
{
    const char *kind = arg;
    TRY(event_log(conn, EVENT(.at_ms = 2385, .kind = kind, .actor = "local"), err));
    if (strcmp(kind, "refused") == 0)
        return error_set(err, STATUS_INVALID, "refused", "", "on purpose");
    return STATUS_OK;
}

enum { THREADS = 16, EACH = 60 };

static void *hammer(void *arg)
{
    struct db *db = arg;
    size_t     failures = 0;
    for (int i = 0; i < EACH; i++) {
        struct error err;
        failures += db_transact(db, add_event, "kept", &err) != STATUS_OK;
        failures += db_transact(db, add_event, "refused", &err) != STATUS_INVALID;
    }
    return (void *)failures;
}

static void test_group_commit_keeps_each_apart(void)
{
    struct world   *world = world_new();
    pthread_t       threads[THREADS];
    struct db_stats before, after;
    db_stats(world->app->db, &before);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, hammer, world->app->db), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        CU_ASSERT_PTR_NULL(failures);
    }
    db_stats(world->app->db, &after);
    CU_ASSERT_EQUAL(after.transactions - before.transactions, 2 * THREADS * EACH);
    CU_ASSERT(after.commits - before.commits < THREADS * EACH); // they shared commits
    struct event_page         page;
    const struct event_filter all = {0};
    CU_ASSERT_EQUAL_FATAL(event_list(world->app, &world->caller, &all, &page, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(page.len, THREADS * EACH);
    for (size_t i = 0; i < page.len; i++)
        CU_ASSERT_STRING_EQUAL(page.events[i].kind, "kept");
    world_end(world);
}

/* ---- studies and trials ---- */

static void test_a_study_runs_to_its_budget(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"gp\"}", 14), found;
    double        best = INFINITY;
    for (int i = 1; i <= 14; i++) {
        struct suggest_reply reply = world_suggest(world, study.id, 1, "w");
        CU_ASSERT_EQUAL_FATAL(reply.len, 1);
        CU_ASSERT_EQUAL(reply.trials[0].number, i);
        CU_ASSERT(space_has(&study.spec.space, reply.trials[0].point));
        struct suggest_reply again = world_suggest(world, study.id, 1, "w"); // its own trial again
        CU_ASSERT_EQUAL(again.trials[0].number, i);
        double value = objective(&reply.trials[0]);
        best = fmin(best, value);
        CU_ASSERT_EQUAL(world_observe(world, study.id, i, value), STATUS_OK);
        CU_ASSERT_EQUAL(world_observe(world, study.id, i, value), STATUS_OK); // a duplicate
        CU_ASSERT_EQUAL(world_observe(world, study.id, i, value + 1), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(world->err.code, "trial_finished");
    }
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_COMPLETED);
    CU_ASSERT_STRING_EQUAL(found.reason, "budget_exhausted");
    CU_ASSERT_EQUAL(found.trials[TRIAL_COMPLETED], 14);
    CU_ASSERT_EQUAL(found.best_value, best);
    CU_ASSERT_EQUAL(found.revision, 14 * 2 + 1);
    struct suggest_reply reply;
    struct plan          request = {.count = 1, .worker = "w"};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "study_completed");
    CU_ASSERT_STRING_EQUAL(world->err.reason, "budget_exhausted");
    struct history_page history;
    CU_ASSERT_EQUAL(
        trial_history(world->app, &world->caller, study.id, &(struct page){.limit = 100}, &history, &world->err),
        STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(history.len, 14);
    CU_ASSERT_EQUAL(history.items[13].best, best);
    world_end(world);
}

/* A first study keeps its session; for the other it is forgotten, or the store is closed, before every call. */
static void test_a_rebuilt_session_suggests_the_same(void)
{
    static const char *const algorithms[] = {"{\"name\":\"gp\"}", "{\"name\":\"random\"}", "{\"name\":\"sobol\"}"};
    for (size_t a = 0; a < 3; a++) {
        struct world *world = world_new();
        struct study  lived = world_study(world, world_box, algorithms[a], 0);
        struct study  rebuilt = world_study(world, world_box, algorithms[a], 0);
        for (int i = 0; i < 12; i++) {
            struct suggest_reply one = world_suggest(world, lived.id, 2, "");
            if (i % 5 == 4) {
                char id[24];
                memcpy(id, rebuilt.id, sizeof id);
                app_close(world->app);
                world_open(world);
            } else {
                session_drop(world->app, rebuilt.id);
            }
            struct suggest_reply two = world_suggest(world, rebuilt.id, 2, "");
            for (size_t k = 0; k < 2; k++) {
                CU_ASSERT_EQUAL(one.trials[k].number, two.trials[k].number);
                CU_ASSERT_EQUAL(memcmp(one.trials[k].point, two.trials[k].point, 3 * sizeof(double)), 0);
            }
            int64_t number = one.trials[i % 2].number; // the other stays pending
            double  value = objective(&one.trials[i % 2]);
            CU_ASSERT_EQUAL(world_observe(world, lived.id, number, value), STATUS_OK);
            CU_ASSERT_EQUAL(world_observe(world, rebuilt.id, number, value), STATUS_OK);
        }
        world_end(world);
    }
}

static void test_queue_lease_and_late_results(void)
{
    struct world     *world = world_new();
    struct study      study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    const double      point[] = {0.625, 3, 2};
    struct trial_page queued;
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id,
                                &(struct queue_request){.points = point, .len = 1}, &queued, &world->err),
                    STATUS_OK);
    struct suggest_reply first = world_suggest(world, study.id, 1, "slow");
    CU_ASSERT_EQUAL(first.trials[0].number, 1);
    CU_ASSERT_EQUAL(memcmp(first.trials[0].point, point, sizeof point), 0);
    world_clock_ms += 59000;
    struct trial trial;
    CU_ASSERT_EQUAL(
        trial_heartbeat(world->app, &world->caller, study.id, (struct held_trial){1, 0}, &trial, &world->err),
        STATUS_OK);
    world_clock_ms += 59000; // alive by its heartbeat
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "other").trials[0].number, 2);
    world_clock_ms += 2000; // its lease is over: the next worker gets it
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "third").trials[0].number, 1);
    CU_ASSERT_EQUAL(world_observe(world, study.id, 1, 0.8125), STATUS_OK); // late, but first
    CU_ASSERT_EQUAL(world_observe(world, study.id, 1, 0.9375), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(trial_abandon(world->app, &world->caller, study.id,
                                  &(struct abandon_request){.held.number = 2, .reason = "gone"}, &trial, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(world_observe(world, study.id, 2, 0.5625), STATUS_OK); // given up, yet it came
    CU_ASSERT_EQUAL(trial_abandon(world->app, &world->caller, study.id, &(struct abandon_request){.held = {2, 0}},
                                  &trial, &world->err),
                    STATUS_CONFLICT);
    world_end(world);
}

static void test_a_batch_is_all_or_nothing(void)
{
    struct world       *world = world_new();
    struct study        study = world_study(world, world_box, "{\"name\":\"random\"}", 0), before, after;
    static const double points[3][3] = {{0.1, 2, 0}, {0.2, 3, 1}, {0.3, 4, 2}};
    struct observation  items[4];
    for (int i = 0; i < 3; i++)
        items[i] = (struct observation){.point = points[i], .row = -1, .value = 2.385 + i, .stddev = NAN};
    items[0].external_id = "run-881";
    items[3] = (struct observation){.trial = 99, .row = -1, .value = 1.5, .stddev = NAN};
    struct observe_reply reply;
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &before, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){items, 4, true},
                                  &reply, &world->err),
                    STATUS_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(world->err.path, "/observations/3/trial");
    CU_ASSERT_EQUAL(reply.errors_len, 1);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &after, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(after.revision, before.revision);
    CU_ASSERT_EQUAL(after.trials_total, 0);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){items, 3, true},
                                  &reply, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(reply.accepted, 3);
    CU_ASSERT_EQUAL(reply.best_value, 2.385);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){items, 1, true},
                                  &reply, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(reply.duplicates, 1);
    items[0].value = 9.75;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){items, 1, true},
                                  &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "external_id_conflict");
    world_end(world);
}

static bool render_trials(void *arg, struct kept_reply *out)
{
    const struct suggest_reply *reply = arg;
    static char                 text[64];
    snprintf(text, sizeof text, "%lld", (long long)reply->trials[0].number);
    *out = (struct kept_reply){.http_status = 200, .body = text};
    return true;
}

static void test_an_idempotency_key_gives_the_first_answer(void)
{
    struct world        *world = world_new();
    struct study         study = world_study(world, world_box, "{\"name\":\"random\"}", 0), found;
    struct plan          request = {.count = 1, .worker = ""};
    struct suggest_reply reply;
    for (int i = 0; i < 3; i++) {
        world->caller.idempotency =
            (struct idempotency){.key = "k", .fingerprint = "f", .render = render_trials, .render_arg = &reply};
        CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(world->caller.idempotency.replayed, i > 0);
        if (i > 0)
            CU_ASSERT_STRING_EQUAL(world->caller.idempotency.first.body, "1");
    }
    world->caller.idempotency.fingerprint = "other";
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "idempotency_key_reused");
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.trials_total, 1);
    world_end(world);
}

enum { OLD_KEYS = 2500, PIECE = 1000, JOBS = 500 };

/* Keys of more than a day ago, as a busy day leaves them. */
static enum status add_old_keys(struct db_conn *conn, void *arg, struct error *err)
{
    const struct world *world = arg;
    char                key[24];
    for (int i = 0; i < OLD_KEYS; i++) {
        snprintf(key, sizeof key, "old %d", i);
        TRY(db_exec(conn, NULL, err, SQL_IDEMPOTENCY_ADD,
                    BIND(TEXT(world->caller.token_id), TEXT(key), TEXT("f"), INT(200), TEXT("{}"), TEXT(NULL),
                         TEXT(NULL), INT(world_clock_ms - 25 * 3600 * 1000), TEXT(""))));
    }
    return STATUS_OK;
}

static int64_t keys_left(const struct world *world)
{
    return database_ask(world_place(world), "SELECT count(*) AS count FROM idempotency");
}

struct piece {
    struct app *app;
    bool        more;
};

static enum status take_piece(struct db_conn *conn, void *arg, struct error *err)
{
    struct piece *piece = arg;
    return app_upkeep(conn, piece->app, true, &piece->more, err);
}

static enum status nothing(struct db_conn *conn, void *arg, struct error *err)
{
    (void)conn, (void)arg, (void)err;
    return STATUS_OK;
}

static bool render_nothing(void *arg, struct kept_reply *out)
{
    *out = (struct kept_reply){.http_status = 200, .body = arg};
    return true;
}

static void test_old_keys_go_in_small_pieces(void)
{
    struct world *world = world_new();
    db_set_upkeep(world->app->db, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(db_transact(world->app->db, add_old_keys, world, &world->err), STATUS_OK);
    world->caller.idempotency =
        (struct idempotency){.key = "old 7", .fingerprint = "other", .render = render_nothing, .render_arg = "{}"};
    CU_ASSERT_EQUAL(app_transact(world->app, &world->caller, nothing, NULL, &world->err), STATUS_OK);
    CU_ASSERT_FALSE(world->caller.idempotency.replayed); // too old to be honoured, and in nobody's way
    CU_ASSERT_EQUAL(keys_left(world), OLD_KEYS);         // a request clears nothing but its own
    world->caller.idempotency = (struct idempotency){0};
    struct piece piece = {.app = world->app, .more = true};
    for (int64_t left = OLD_KEYS; piece.more; left = keys_left(world)) {
        CU_ASSERT_EQUAL_FATAL(db_transact(world->app->db, take_piece, &piece, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(left - keys_left(world), piece.more ? PIECE : (OLD_KEYS - 1) % PIECE);
    }
    CU_ASSERT_EQUAL(keys_left(world), 1);
    world_end(world);
}

/* Without an idle moment: the writer clears twice as much as could have come. */
static void test_old_keys_go_under_load(void)
{
    struct world *world = world_new();
    CU_ASSERT_EQUAL_FATAL(db_transact(world->app->db, add_old_keys, world, &world->err), STATUS_OK);
    for (int i = 0; i < 4 * JOBS; i++)
        CU_ASSERT_EQUAL_FATAL(db_transact(world->app->db, nothing, NULL, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(keys_left(world), 0);
    world_end(world);
}

static void test_patch_states_and_deletion(void)
{
    struct world     *world = world_new();
    struct study      study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
    struct study_edit edit = {.said = "{\"name\":\"renamed\"}", .rules = "{\"budget\":{\"trials\":5}}"};
    CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(out.version, 2);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_RESUME, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(out.version, 2);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_PAUSE, &out, &world->err), STATUS_OK);
    struct suggest_reply reply;
    struct plan          request = {.count = 1, .worker = ""};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "study_paused");
    struct caller stranger = world->caller;
    snprintf(stranger.resource, sizeof stranger.resource, "std_other");
    CU_ASSERT_EQUAL(study_find(world->app, &stranger, study.id, &out, &world->err), STATUS_NOT_FOUND);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, study.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &out, &world->err), STATUS_NOT_FOUND);
    const struct event_filter filter = {.study = study.id};
    struct event_page         page;
    CU_ASSERT_EQUAL(event_list(world->app, &world->caller, &filter, &page, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(page.len, 4);
    CU_ASSERT_STRING_EQUAL(page.events[3].kind, "study.deleted");
    world_end(world);
}

static void test_lists_page_through_everything(void)
{
    struct world *world = world_new();
    char          seen[7][24] = {{0}};
    for (int i = 0; i < 7; i++) {
        world_clock_ms += i % 2; // some share a millisecond
        world_study(world, world_box, "{\"name\":\"random\"}", 0);
    }
    size_t              total = 0;
    struct study_filter filter = {.limit = 3};
    do {
        struct study_page page;
        CU_ASSERT_EQUAL_FATAL(study_list(world->app, &world->caller, &filter, &page, &world->err), STATUS_OK);
        for (size_t i = 0; i < page.len && total < 7; i++) {
            for (size_t k = 0; k < total; k++)
                CU_ASSERT_STRING_NOT_EQUAL(seen[k], page.studies[i].id);
            memcpy(seen[total++], page.studies[i].id, 24);
        }
        filter.cursor = page.next_cursor;
    } while (filter.cursor != NULL);
    CU_ASSERT_EQUAL(total, 7);
    world_end(world);
}

/* ---- tokens ---- */

static void test_tokens(void)
{
    struct world *world = world_new();
    const struct token_new new = TOKEN_NEW(.name = "ci", .scope = SCOPE_READ, .expires_in_ms = 5000);
    struct token token;
    CU_ASSERT_EQUAL_FATAL(token_create(world->app, &world->caller, &new, &token, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(strlen(token.secret), 4 + 8 + 1 + 43);
    struct caller caller = {.arena = &world->arena};
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, true, &caller, &world->err), STATUS_BUSY);
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_OK);
    bool is_shared = world->database[0] != '\0'; // where the cache counts only beside a look that is fresh
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, !is_shared, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(caller.scope, SCOPE_READ);
    char wrong[64];
    memcpy(wrong, token.secret, sizeof wrong);
    wrong[30] = wrong[30] == 'A' ? 'B' : 'A';
    CU_ASSERT_EQUAL(token_check(world->app, wrong, false, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_check(world->app, "gno_x", false, &caller, &world->err), STATUS_UNAUTHORISED);
    world_clock_ms += 5000;
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_UNAUTHORISED);
    world_clock_ms -= 5000;
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, token.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, token.id, &world->err), STATUS_NOT_FOUND);
    world_end(world);
}

/* A revocation costs the others nothing, an id that nobody has costs no look-up, and both hold after a restart. */
static void test_tokens_beside_others(void)
{
    struct world *world = world_new();
    const struct token_new new = TOKEN_NEW(.name = "ci", .scope = SCOPE_READ);
    struct token  kept, revoked;
    struct caller caller = {.arena = &world->arena};
    const char   *nobody = "gno_77777777_0123456789012345678901234567890123456789012";
    CU_ASSERT_EQUAL_FATAL(token_create(world->app, &world->caller, &new, &kept, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(token_create(world->app, &world->caller, &new, &revoked, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, kept.secret, false, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, revoked.secret, false, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, revoked.id, &world->err), STATUS_OK);
    bool is_shared = world->database[0] != '\0'; // others make and revoke tokens there: only a look-up tells
    CU_ASSERT_EQUAL(token_check(world->app, kept.secret, !is_shared, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, revoked.secret, false, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_check(world->app, nobody, !is_shared, &caller, &world->err), STATUS_UNAUTHORISED);
    app_close(world->app);
    world_open(world);
    caller.arena = &world->arena;
    CU_ASSERT_EQUAL(token_check(world->app, kept.secret, true, &caller, &world->err), STATUS_BUSY);
    CU_ASSERT_EQUAL(token_check(world->app, kept.secret, false, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, revoked.secret, !is_shared, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_check(world->app, nobody, !is_shared, &caller, &world->err), STATUS_UNAUTHORISED);
    world_end(world);
}

/* ---- candidates ---- */

static void test_only_the_declared_matrix_is_accepted(void)
{
    struct world        *world = world_new();
    struct study         study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0), found;
    static unsigned char good[2048], bad[2048], other[2048];
    size_t               length = world_npy(good, 0);
    world_npy(bad, NAN);
    world_npy(other, 0.25);
    struct candidates_status status;
    CU_ASSERT_EQUAL(world_upload(world, study.id, good, length, 100, &status), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "manifest_required");
    struct manifest manifest = world_manifest(good, length), second = world_manifest(other, length);
    second.text = "{\"mechanism\":\"projection-only\",\"again\":1}";
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &second, &status, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_EQUAL(world_upload(world, study.id, other, length, 100, &status), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "digest_mismatch");
    CU_ASSERT_EQUAL(world_upload(world, study.id, bad, length, 700, &status), STATUS_INVALID);
    CU_ASSERT_EQUAL(candidates_status(world->app, &world->caller, study.id, &status, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(status.received_bytes, 0);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_AWAITING_CANDIDATES);
    CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id,
                                      &(struct candidates_piece){8, (int64_t)length, good, 100}, &status, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "wrong_offset");
    CU_ASSERT_EQUAL(world_upload(world, study.id, good, length, 133, &status), STATUS_OK);
    CU_ASSERT(status.complete);
    CU_ASSERT_EQUAL(world_upload(world, study.id, good, length, 133, &status), STATUS_CONFLICT);
    world_end(world);
}

static void test_candidates_are_suggested_once_each(void)
{
    struct world            *world = world_new();
    struct study             study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0), found;
    static unsigned char     good[2048];
    size_t                   length = world_npy(good, 0);
    struct manifest          manifest = world_manifest(good, length);
    struct candidates_status status;
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(world_upload(world, study.id, good, length, 200, &status), STATUS_OK);
    const struct observation named = {.row = 3, .value = 1.5, .stddev = NAN};
    struct observe_reply     reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){&named, 1, false},
                                  &reply, &world->err),
                    STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "private_study");
    bool seen[WORLD_ROWS] = {false};
    for (int i = 1; i <= WORLD_ROWS; i++) {
        if (i % 7 == 0)
            session_drop(world->app, study.id);
        struct suggest_reply next = world_suggest(world, study.id, 1, "curator");
        int64_t              row = next.trials[0].row;
        CU_ASSERT_FATAL(row >= 0 && row < WORLD_ROWS && !seen[row]);
        seen[row] = true;
        CU_ASSERT_EQUAL(world_observe(world, study.id, i, cos(0.3 * (double)row)), STATUS_OK);
    }
    struct suggest_reply none;
    struct plan          request = {.count = 1, .worker = ""};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &none, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "study_completed");
    CU_ASSERT_STRING_EQUAL(world->err.reason, "search_space_exhausted");
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_COMPLETED);
    world_end(world);
}

static void refuse_at(struct world *world, const char *study, const unsigned char *file, size_t length, int64_t at_ms)
{
    struct candidates_status status;
    world_clock_ms = at_ms;
    CU_ASSERT_EQUAL(world_upload(world, study, file, length, length, &status), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "digest_mismatch");
}

/* The hour is that of the last three refusals; nothing but the owner ends the lock. */
static void test_refused_uploads_lock_the_study(void)
{
    enum { MINUTE = 60000 };
    struct world        *world = world_new();
    struct study         study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0), out;
    static unsigned char good[2048], other[2048];
    size_t               length = world_npy(good, 0);
    world_npy(other, 0.25);
    struct manifest          manifest = world_manifest(good, length);
    struct candidates_status status;
    int64_t                  start = world_clock_ms;
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    for (int i = 0; i < 4; i++)
        refuse_at(world, study.id, other, length, start + 31 * MINUTE * i);
    CU_ASSERT_EQUAL(candidates_status(world->app, &world->caller, study.id, &status, &world->err), STATUS_OK);
    CU_ASSERT(!status.locked);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_RESUME, &out, &world->err), STATUS_CONFLICT);
    refuse_at(world, study.id, other, length, start + 110 * MINUTE);
    world_clock_ms = start + 5000 * MINUTE;
    CU_ASSERT_EQUAL(world_upload(world, study.id, good, length, 700, &status), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "uploads_locked");
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_RESUME, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(out.state, STUDY_AWAITING_CANDIDATES);
    CU_ASSERT_EQUAL(world_upload(world, study.id, good, length, 700, &status), STATUS_OK);
    CU_ASSERT(status.complete && !status.locked);
    world_clock_ms = start;
    world_end(world);
}

struct loaded {
    const char             *study;
    struct spec             spec;
    struct candidates_noise noise;
    struct arena           *arena;
};

static enum status load_rows(struct db_conn *conn, void *arg, struct error *err)
{
    struct loaded *loaded = arg;
    return candidates_load(conn, loaded->study, &loaded->spec, &loaded->noise, loaded->arena, err);
}

/* The rest of a release's manifest, and its matrix, sent to a study that waits for one. */
static enum status upload_release(struct world *world, const struct study *study, struct release_manifest *release,
                                  const int32_t *indices, struct candidates_status *status)
{
    static unsigned char file[2048];
    size_t               length = npy_write_header(WORLD_ROWS, WORLD_COLUMNS, NPY_I4, file);
    memcpy(file + length, indices, WORLD_ROWS * WORLD_COLUMNS * sizeof *indices);
    length += WORLD_ROWS * WORLD_COLUMNS * sizeof *indices;
    struct manifest manifest = {.rows = WORLD_ROWS, .columns = WORLD_COLUMNS, .bytes = (int64_t)length, .type = NPY_I4};
    release->differentially_private = true;
    release->rows = WORLD_ROWS;
    release->columns = WORLD_COLUMNS;
    release->bytes = (int64_t)length;
    release->dtype = NPY_I4;
    memcpy(release->tool, "gnomon 0", sizeof "gnomon 0");
    memcpy(release->created_at, "2026-03-01", sizeof "2026-03-01");
    snprintf(release->key, sizeof release->key, WORLD_KEY);
    snprintf(release->signature, sizeof release->signature, "unsigned");
    sha256_hex(file, length, manifest.sha256);
    memcpy(release->sha256, manifest.sha256, sizeof release->sha256);
    memset(release->dataset_tag, 'a', 64);
    release->ledger = (struct manifest_ledger){.id = "0123456789abcdef", .seq = 1, .tables = 1};
    memset(release->ledger.head, '0', 64);
    CU_ASSERT_EQUAL_FATAL(manifest_text(release, (char **)(void *)&manifest.text, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study->id, &manifest, status, &world->err),
                    STATUS_OK);
    free((void *)(uintptr_t)manifest.text);
    return world_upload(world, study->id, file, length, 333, status);
}

/* The model's rows of a release: gamma times the index, and the noise of the manifest. */
static void test_integers_become_rows_on_the_lattice(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0);
    int32_t       indices[WORLD_ROWS * WORLD_COLUMNS];
    for (int64_t i = 0; i < WORLD_ROWS * WORLD_COLUMNS; i++)
        indices[i] = (int32_t)(i * i * 7919 * 104729 % 30011 - 15000);
    struct release_manifest release = {.mechanism = {.kind = MECHANISM_DISCRETE_LAPLACE,
                                                     .epsilon = 7.5,
                                                     .distance = 2.5,
                                                     .rows = WORLD_ROWS,
                                                     .columns = WORLD_COLUMNS},
                                       .radius = 3};
    CU_ASSERT_EQUAL_FATAL(mechanism_plan(&release.mechanism, &world->err), STATUS_OK);
    struct candidates_status status;
    struct loaded            loaded = {study.id, study.spec, {.dims = 0}, &world->arena};
    CU_ASSERT_EQUAL_FATAL(upload_release(world, &study, &release, indices, &status), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(db_read(world->app->db, load_rows, &loaded, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(release.mechanism.gamma, 0x1p-9);
    for (int i = 0; i < WORLD_ROWS * WORLD_COLUMNS; i++)
        CU_ASSERT_EQUAL(loaded.spec.space.rows[i], indices[i] / 512.0);
    CU_ASSERT(loaded.noise.variance == release.mechanism.variance && loaded.noise.dims == WORLD_COLUMNS);
    CU_ASSERT(loaded.noise.bound == 25 && loaded.noise.shape == 0 && loaded.noise.denoise == 1);
    CU_ASSERT_PTR_NULL(loaded.spec.space.row_variances);
    world_end(world);
}

/* Rows of a quadtree: each card is a row at its leaf's centre, as uncertain as the leaf is wide.  All else is refused. */
static void test_leaves_become_rows(void)
{
    struct world           *world = world_new();
    struct release_manifest release = {
        .mechanism = {.kind = MECHANISM_QUADTREE, .epsilon = 3.5, .rows = 2000, .columns = WORLD_COLUMNS},
        .tree = {.rows = 2000, .columns = WORLD_COLUMNS, .epsilon = 3.5},
        .radius = 3};
    CU_ASSERT_EQUAL_FATAL(mechanism_plan(&release.mechanism, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(quadtree_plan(&release.tree, &world->err), STATUS_OK);
    int32_t half = 1 << (release.tree.levels - 1), indices[WORLD_ROWS * WORLD_COLUMNS];
    release.mechanism.gamma = release.tree.gamma;
    release.mechanism.dims = WORLD_COLUMNS;
    for (int is_leaves = 0; is_leaves < 2; is_leaves++) {
        struct study             study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0);
        struct candidates_status status;
        for (int32_t i = 0; i < WORLD_ROWS * WORLD_COLUMNS; i++) /* cells of levels 1 and 2, apart or within */
            indices[i] = i < WORLD_ROWS / 2 * WORLD_COLUMNS ? -half : is_leaves ? half + half / 2 : -half / 2;
        CU_ASSERT_EQUAL(upload_release(world, &study, &release, indices, &status),
                        is_leaves ? STATUS_OK : STATUS_INVALID);
        if (!is_leaves) {
            CU_ASSERT_STRING_EQUAL(world->err.code, "not_a_release");
            CU_ASSERT_EQUAL(strncmp(world->err.text, "T1:", 3), 0);
            continue;
        }
        struct loaded loaded = {study.id, study.spec, {.dims = 0}, &world->arena};
        CU_ASSERT_EQUAL_FATAL(db_read(world->app->db, load_rows, &loaded, &world->err), STATUS_OK);
        CU_ASSERT(loaded.spec.space.rows[0] == -12.5 && isnan(loaded.noise.variance));
        CU_ASSERT_EQUAL(loaded.spec.space.rows[WORLD_ROWS * WORLD_COLUMNS - 1], 18.75);
        CHECK_NEAR(loaded.spec.space.row_variances[0], 25.0 * 25 / 12, 1e-12);
        CHECK_NEAR(loaded.spec.space.row_variances[WORLD_ROWS * WORLD_COLUMNS - 1], 12.5 * 12.5 / 12, 1e-12);
    }
    world_end(world);
}

CU_TestInfo suite_store[] = {
    {"every statement prepares", test_every_statement_prepares},
    {"what fails ends the reading", test_what_fails_ends_the_reading},
    {"the lock keeps others out", test_lock_keeps_others_out},
    {"a newer schema is refused", test_newer_schema_is_refused},
    {"group commit keeps each apart", test_group_commit_keeps_each_apart},
    {"a study runs to its budget", test_a_study_runs_to_its_budget},
    {"a rebuilt session suggests the same", test_a_rebuilt_session_suggests_the_same},
    {"queue, lease and late results", test_queue_lease_and_late_results},
    {"a batch is all or nothing", test_a_batch_is_all_or_nothing},
    {"an idempotency key gives the first answer", test_an_idempotency_key_gives_the_first_answer},
    {"old keys go in small pieces", test_old_keys_go_in_small_pieces},
    {"old keys go under load", test_old_keys_go_under_load},
    {"patch, states and deletion", test_patch_states_and_deletion},
    {"lists page through everything", test_lists_page_through_everything},
    {"tokens", test_tokens},
    {"tokens beside others", test_tokens_beside_others},
    {"only the declared matrix is accepted", test_only_the_declared_matrix_is_accepted},
    {"refused uploads lock the study", test_refused_uploads_lock_the_study},
    {"integers become rows on the lattice", test_integers_become_rows_on_the_lattice},
    {"leaves become rows", test_leaves_become_rows},
    {"candidates are suggested once each", test_candidates_are_suggested_once_each},
    CU_TEST_INFO_NULL,
};
