/* The store and the use cases on it, without HTTP: what is acknowledged stays, what is refused changes nothing. */
#include "tests/unit/service_suites.h"

#include "db/conn.h"
#include "service/candidates.h"
#include "service/codec.h"
#include "service/digest.h"
#include "service/events.h"
#include "service/session.h"
#include "service/token.h"
#include "service/trial.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t clock_now = 1700000000123;
static int64_t test_clock(void)
{
    return clock_now;
}

struct world {
    char          folder[64];
    struct app   *app;
    struct arena  arena;
    struct caller caller;
    struct error  err;
};

static void world_open(struct world *world)
{
    const struct app_options options = {world->folder, "FULL", 64 << 20, 32 << 20, 2};
    CU_ASSERT_EQUAL_FATAL(app_open(&options, &world->app, &world->err), STATUS_OK);
    world->app->now_ms = test_clock;
}

static struct world *world_new(void)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    snprintf(world.folder, sizeof world.folder, "/tmp/gnomon-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(world.folder));
    arena_init(&world.arena, 64 << 20);
    world.caller = (struct caller){.token_id = "local", .scope = SCOPE_ADMIN, .arena = &world.arena};
    world_open(&world);
    return &world;
}

static void world_end(struct world *world)
{
    static const char *const files[] = {"gnomon.db", "gnomon.db-wal", "gnomon.db-shm", "gnomon.lock"};
    app_close(world->app);
    arena_fini(&world->arena);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", world->folder, files[i]);
        unlink(path);
    }
    CU_ASSERT_EQUAL(rmdir(world->folder), 0);
}

static const char *const box = "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"parameters\","
                               "\"parameters\":[{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25},"
                               "{\"name\":\"k\",\"type\":\"int\",\"min\":1,\"max\":9},"
                               "{\"name\":\"c\",\"type\":\"categorical\",\"values\":[\"a\",\"b\",\"z\"]}]},"
                               "\"seed\":4711,\"lease_seconds\":60";

static struct study make_study(struct world *world, const char *members, const char *algorithm, int64_t budget)
{
    char text[2048];
    snprintf(text, sizeof text, "{%s,\"algorithm\":%s}", members, algorithm);
    struct study_new new = {.name = "a study", .budget_trials = budget};
    json_t *json = NULL;
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &world->err), STATUS_OK);
    enum status status = codec_spec(json, 1, &world->arena, &new.spec, &world->err);
    if (status != STATUS_OK)
        fprintf(stderr, "%s %s\n", world->err.path, world->err.text);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
    json_decref(json);
    json_t *resolved = codec_spec_json(&new.spec);
    char *dumped = json_dumps(resolved, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(resolved);
    new.spec_text = arena_strndup(&world->arena, dumped, strlen(dumped));
    free(dumped);
    struct study study;
    CU_ASSERT_EQUAL_FATAL(study_create(world->app, &world->caller, &new, &study, &world->err), STATUS_OK);
    return study;
}

static struct suggest_reply suggest(struct world *world, const char *study, int64_t count, const char *worker)
{
    const struct suggest_request request = {.count = count, .worker = worker};
    struct suggest_reply reply;
    enum status status = trial_suggest(world->app, &world->caller, study, &request, &reply, &world->err);
    if (status != STATUS_OK)
        fprintf(stderr, "suggest: %s %s\n", world->err.code, world->err.text);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
    return reply;
}

static enum status observe(struct world *world, const char *study, int64_t trial, double value)
{
    const struct observation item = {.trial = trial, .row = -1, .value = value, .stddev = NAN};
    struct observe_reply reply;
    return trial_observe(world->app, &world->caller, study, &item, 1, false, &reply, &world->err);
}

static double objective(const struct trial *trial)
{
    const double *p = trial->point;
    return (p[0] - 0.37) * (p[0] - 0.37) + 0.05 * fabs(p[1] - 4) + 0.3 * (p[2] == 1 ? 0 : 1);
}

/* ---- the store ---- */

static void test_every_statement_prepares(void)
{
    struct world *world = world_new();
    char path[96];
    snprintf(path, sizeof path, "%s/gnomon.db", world->folder);
    static struct db_conn conn;
    CU_ASSERT_EQUAL_FATAL(conn_open(&conn, &driver_sqlite, path, DRIVER_READ_ONLY, "FULL", &world->err), STATUS_OK);
    for (int sql = 0; sql < SQL_COUNT; sql++) {
        void *statement = NULL;
        enum status status = conn_statement(&conn, (enum sql)sql, &statement, &world->err);
        if (status != STATUS_OK)
            fprintf(stderr, "%s: %s\n", sql_table[sql].name, world->err.text);
        CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
        CU_ASSERT_EQUAL(conn.driver->parameters(statement), (int)strlen(sql_table[sql].arguments));
        CU_ASSERT_EQUAL(conn.driver->columns(statement), (int)strlen(sql_table[sql].results));
        if (conn.driver->parameters(statement) != (int)strlen(sql_table[sql].arguments))
            fprintf(stderr, "%s\n", sql_table[sql].name);
    }
    conn_close(&conn);
    world_end(world);
}

static void test_lock_keeps_others_out(void)
{
    struct world *world = world_new();
    const struct db_options options = {world->folder, "FULL", 1};
    struct db *second;
    CU_ASSERT_EQUAL(db_open(&options, &second, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "locked");
    world_end(world);
}

static enum status bump_schema(struct db_conn *conn, void *arg, struct error *err)
{
    (void)arg;
    return conn_execute(conn, "PRAGMA user_version = 17", err);
}

static void test_newer_schema_is_refused(void)
{
    struct world *world = world_new();
    CU_ASSERT_EQUAL(db_transact(world->app->db, bump_schema, NULL, &world->err), STATUS_OK);
    app_close(world->app);
    struct app *app;
    const struct app_options options = {world->folder, "FULL", 1 << 20, 1 << 20, 1};
    CU_ASSERT_EQUAL(app_open(&options, &app, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "schema_newer");
    world->app = NULL;
    world_end(world);
}

static enum status add_event(struct db_conn *conn, void *arg, struct error *err)
{
    const char *kind = arg;
    TRY(db_exec(conn, NULL, err, SQL_EVENT_ADD, (int64_t)2385, kind, NULL, (int64_t)0, (int64_t)0, "local", NULL));
    if (strcmp(kind, "refused") == 0)
        return error_set(err, STATUS_INVALID, "refused", "", "on purpose");
    return STATUS_OK;
}

enum { THREADS = 16, EACH = 60 };

static void *hammer(void *arg)
{
    struct db *db = arg;
    size_t failures = 0;
    for (int i = 0; i < EACH; i++) {
        struct error err;
        failures += db_transact(db, add_event, "kept", &err) != STATUS_OK;
        failures += db_transact(db, add_event, "refused", &err) != STATUS_INVALID;
    }
    return (void *)failures;
}

static void test_group_commit_keeps_each_apart(void)
{
    struct world *world = world_new();
    pthread_t threads[THREADS];
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
    struct event_page page;
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
    struct study study = make_study(world, box, "{\"name\":\"gp\"}", 14), found;
    double best = INFINITY;
    for (int i = 1; i <= 14; i++) {
        struct suggest_reply reply = suggest(world, study.id, 1, "w");
        CU_ASSERT_EQUAL_FATAL(reply.len, 1);
        CU_ASSERT_EQUAL(reply.trials[0].number, i);
        CU_ASSERT(space_has(&study.spec.space, reply.trials[0].point));
        struct suggest_reply again = suggest(world, study.id, 1, "w"); // its own trial again
        CU_ASSERT_EQUAL(again.trials[0].number, i);
        double value = objective(&reply.trials[0]);
        best = fmin(best, value);
        CU_ASSERT_EQUAL(observe(world, study.id, i, value), STATUS_OK);
        CU_ASSERT_EQUAL(observe(world, study.id, i, value), STATUS_OK); // a duplicate
        CU_ASSERT_EQUAL(observe(world, study.id, i, value + 1), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(world->err.code, "trial_finished");
    }
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_COMPLETED);
    CU_ASSERT_STRING_EQUAL(found.reason, "budget_exhausted");
    CU_ASSERT_EQUAL(found.trials[TRIAL_COMPLETED], 14);
    CU_ASSERT_EQUAL(found.best_value, best);
    CU_ASSERT_EQUAL(found.revision, 14 * 2 + 1);
    struct suggest_reply reply;
    const struct suggest_request request = {.count = 1, .worker = "w"};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "budget_exhausted");
    struct history_page history;
    CU_ASSERT_EQUAL(trial_history(world->app, &world->caller, study.id, NULL, 100, &history, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(history.len, 14);
    CU_ASSERT_EQUAL(history.items[13].best, best);
    world_end(world);
}

/* One run keeps its session, in the other it is forgotten or the store is closed before every call. */
static void test_a_rebuilt_session_suggests_the_same(void)
{
    static const char *const algorithms[] = {"{\"name\":\"gp\"}", "{\"name\":\"random\"}", "{\"name\":\"sobol\"}"};
    for (size_t a = 0; a < 3; a++) {
        struct world *world = world_new();
        struct study lived = make_study(world, box, algorithms[a], 0);
        struct study rebuilt = make_study(world, box, algorithms[a], 0);
        for (int i = 0; i < 12; i++) {
            struct suggest_reply one = suggest(world, lived.id, 2, "");
            if (i % 5 == 4) {
                char id[24];
                memcpy(id, rebuilt.id, sizeof id);
                app_close(world->app);
                world_open(world);
            } else {
                session_drop(world->app, rebuilt.id);
            }
            struct suggest_reply two = suggest(world, rebuilt.id, 2, "");
            for (size_t k = 0; k < 2; k++) {
                CU_ASSERT_EQUAL(one.trials[k].number, two.trials[k].number);
                CU_ASSERT_EQUAL(memcmp(one.trials[k].point, two.trials[k].point, 3 * sizeof(double)), 0);
            }
            int64_t number = one.trials[i % 2].number; // the other stays pending
            double value = objective(&one.trials[i % 2]);
            CU_ASSERT_EQUAL(observe(world, lived.id, number, value), STATUS_OK);
            CU_ASSERT_EQUAL(observe(world, rebuilt.id, number, value), STATUS_OK);
        }
        world_end(world);
    }
}

static void test_queue_lease_and_late_results(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, box, "{\"name\":\"random\"}", 0);
    const double point[] = {0.625, 3, 2};
    struct trial_page queued;
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id, point, NULL, 1, &queued, &world->err), STATUS_OK);
    struct suggest_reply first = suggest(world, study.id, 1, "slow");
    CU_ASSERT_EQUAL(first.trials[0].number, 1);
    CU_ASSERT_EQUAL(memcmp(first.trials[0].point, point, sizeof point), 0);
    clock_now += 59000;
    struct trial trial;
    CU_ASSERT_EQUAL(trial_heartbeat(world->app, &world->caller, study.id, 1, &trial, &world->err), STATUS_OK);
    clock_now += 59000; // alive by its heartbeat
    CU_ASSERT_EQUAL(suggest(world, study.id, 1, "other").trials[0].number, 2);
    clock_now += 2000; // its lease is over: the next worker gets it
    CU_ASSERT_EQUAL(suggest(world, study.id, 1, "third").trials[0].number, 1);
    CU_ASSERT_EQUAL(observe(world, study.id, 1, 0.8125), STATUS_OK); // late, but first
    CU_ASSERT_EQUAL(observe(world, study.id, 1, 0.9375), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(trial_abandon(world->app, &world->caller, study.id, 2, "gone", &trial, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(observe(world, study.id, 2, 0.5625), STATUS_OK); // given up, yet it came
    CU_ASSERT_EQUAL(trial_abandon(world->app, &world->caller, study.id, 2, NULL, &trial, &world->err), STATUS_CONFLICT);
    world_end(world);
}

static void test_a_batch_is_all_or_nothing(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, box, "{\"name\":\"random\"}", 0), before, after;
    static const double points[3][3] = {{0.1, 2, 0}, {0.2, 3, 1}, {0.3, 4, 2}};
    struct observation items[4];
    for (int i = 0; i < 3; i++)
        items[i] = (struct observation){.point = points[i], .row = -1, .value = 2.385 + i, .stddev = NAN};
    items[0].external_id = "run-881";
    items[3] = (struct observation){.trial = 99, .row = -1, .value = 1.5, .stddev = NAN};
    struct observe_reply reply;
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &before, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, items, 4, true, &reply, &world->err),
                    STATUS_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(world->err.path, "/observations/3/trial");
    CU_ASSERT_EQUAL(reply.errors_len, 1);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &after, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(after.revision, before.revision);
    CU_ASSERT_EQUAL(after.trials_total, 0);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, items, 3, true, &reply, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(reply.accepted, 3);
    CU_ASSERT_EQUAL(reply.best_value, 2.385);
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, items, 1, true, &reply, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(reply.duplicates, 1);
    items[0].value = 9.75;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, items, 1, true, &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "external_id_conflict");
    world_end(world);
}

static const char *render_trials(void *arg, int *http_status)
{
    const struct suggest_reply *reply = arg;
    static char text[64];
    *http_status = 200;
    snprintf(text, sizeof text, "%lld", (long long)reply->trials[0].number);
    return text;
}

static void test_an_idempotency_key_gives_the_first_answer(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, box, "{\"name\":\"random\"}", 0), found;
    const struct suggest_request request = {.count = 1, .worker = ""};
    struct suggest_reply reply;
    for (int i = 0; i < 3; i++) {
        world->caller.idempotency = (struct idempotency){.key = "k", .fingerprint = "f", .render = render_trials,
                                                         .render_arg = &reply};
        CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(world->caller.idempotency.replayed, i > 0);
        if (i > 0)
            CU_ASSERT_STRING_EQUAL(world->caller.idempotency.reply, "1");
    }
    world->caller.idempotency.fingerprint = "other";
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "idempotency_key_reused");
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.trials_total, 1);
    world_end(world);
}

static void test_patch_states_and_deletion(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, box, "{\"name\":\"random\"}", 0), out;
    struct study_edit edit = {.name = "renamed", .budget_trials = 5, .version = 1};
    CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(out.version, 2);
    CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_STALE);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_RESUME, &out, &world->err), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_PAUSE, &out, &world->err), STATUS_OK);
    struct suggest_reply reply;
    const struct suggest_request request = {.count = 1, .worker = ""};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &reply, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "wrong_state");
    struct caller stranger = world->caller;
    snprintf(stranger.study, sizeof stranger.study, "std_other");
    CU_ASSERT_EQUAL(study_find(world->app, &stranger, study.id, &out, &world->err), STATUS_NOT_FOUND);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, study.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &out, &world->err), STATUS_NOT_FOUND);
    const struct event_filter filter = {.study = study.id};
    struct event_page page;
    CU_ASSERT_EQUAL(event_list(world->app, &world->caller, &filter, &page, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(page.len, 4);
    CU_ASSERT_STRING_EQUAL(page.events[3].kind, "study.deleted");
    world_end(world);
}

static void test_lists_page_through_everything(void)
{
    struct world *world = world_new();
    char seen[7][24] = {{0}};
    for (int i = 0; i < 7; i++) {
        clock_now += i % 2; // some share a millisecond
        make_study(world, box, "{\"name\":\"random\"}", 0);
    }
    size_t total = 0;
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
    const struct token_new new = {.name = "ci", .scope = SCOPE_READ, .expires_in_ms = 5000};
    struct token token;
    CU_ASSERT_EQUAL_FATAL(token_create(world->app, &world->caller, &new, &token, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(strlen(token.secret), 4 + 8 + 1 + 43);
    struct caller caller = {.arena = &world->arena};
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, true, &caller, &world->err), STATUS_BUSY);
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, true, &caller, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(caller.scope, SCOPE_READ);
    CU_ASSERT_EQUAL(scope_check(&caller, SCOPE_READ, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(scope_check(&caller, SCOPE_WRITE, &world->err), STATUS_FORBIDDEN);
    char wrong[64];
    memcpy(wrong, token.secret, sizeof wrong);
    wrong[30] = wrong[30] == 'A' ? 'B' : 'A';
    CU_ASSERT_EQUAL(token_check(world->app, wrong, false, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_check(world->app, "gno_x", false, &caller, &world->err), STATUS_UNAUTHORISED);
    clock_now += 5000;
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_UNAUTHORISED);
    clock_now -= 5000;
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, token.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(token_check(world->app, token.secret, false, &caller, &world->err), STATUS_UNAUTHORISED);
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, token.id, &world->err), STATUS_NOT_FOUND);
    world_end(world);
}

/* ---- candidates ---- */

enum { ROWS = 40, COLUMNS = 3 };

static size_t make_npy(unsigned char *out, double spoil)
{
    size_t length = npy_write_header(ROWS, COLUMNS, out);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double value = sin(1.7 * i) + (i == 50 ? spoil : 0);
        memcpy(out + length, &value, sizeof value);
        length += sizeof value;
    }
    return length;
}

static struct manifest make_manifest(const unsigned char *bytes, size_t length)
{
    struct manifest manifest = {.rows = ROWS, .columns = COLUMNS, .bytes = (int64_t)length};
    sha256_hex(bytes, length, manifest.sha256);
    manifest.text = "{\"mechanism\":\"projection-only\"}";
    return manifest;
}

static enum status upload(struct world *world, const char *study, const unsigned char *bytes, size_t length, size_t piece,
                          struct candidates_status *out)
{
    for (size_t at = 0; at < length; at += piece) {
        size_t part = length - at < piece ? length - at : piece;
        TRY(candidates_append(world->app, &world->caller, study, (int64_t)at, (int64_t)length, bytes + at, part, out,
                              &world->err));
    }
    return STATUS_OK;
}

static const char *const rows_space = "\"metrics\":[{\"name\":\"y\",\"goal\":\"maximize\"}],\"space\":{\"type\":\"candidates\","
                                      "\"rows\":40,\"columns\":3,\"private\":true},\"seed\":99";

static void test_only_the_declared_matrix_is_accepted(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, rows_space, "{\"name\":\"po-gp-ucb\"}", 0), found;
    static unsigned char good[2048], bad[2048], other[2048];
    size_t length = make_npy(good, 0);
    make_npy(bad, NAN);
    make_npy(other, 0.25);
    struct candidates_status status;
    CU_ASSERT_EQUAL(upload(world, study.id, good, length, 100, &status), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "manifest_required");
    struct manifest manifest = make_manifest(good, length), second = make_manifest(other, length);
    second.text = "{\"mechanism\":\"projection-only\",\"again\":1}";
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &second, &status, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_EQUAL(upload(world, study.id, other, length, 100, &status), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "digest_mismatch");
    CU_ASSERT_EQUAL(upload(world, study.id, bad, length, 700, &status), STATUS_INVALID);
    CU_ASSERT_EQUAL(candidates_status(world->app, &world->caller, study.id, &status, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(status.received_bytes, 0);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_AWAITING_CANDIDATES);
    CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id, 8, (int64_t)length, good, 100, &status,
                                      &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "wrong_offset");
    CU_ASSERT_EQUAL(upload(world, study.id, good, length, 133, &status), STATUS_OK);
    CU_ASSERT(status.complete);
    CU_ASSERT_EQUAL(upload(world, study.id, good, length, 133, &status), STATUS_CONFLICT);
    world_end(world);
}

static void test_candidates_are_suggested_once_each(void)
{
    struct world *world = world_new();
    struct study study = make_study(world, rows_space, "{\"name\":\"po-gp-ucb\"}", 0), found;
    static unsigned char good[2048];
    size_t length = make_npy(good, 0);
    struct manifest manifest = make_manifest(good, length);
    struct candidates_status status;
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(upload(world, study.id, good, length, 200, &status), STATUS_OK);
    const struct observation named = {.row = 3, .value = 1.5, .stddev = NAN};
    struct observe_reply reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &named, 1, false, &reply, &world->err),
                    STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "private_study");
    bool seen[ROWS] = {false};
    for (int i = 1; i <= ROWS; i++) {
        if (i % 7 == 0)
            session_drop(world->app, study.id);
        struct suggest_reply next = suggest(world, study.id, 1, "curator");
        int64_t row = next.trials[0].row;
        CU_ASSERT_FATAL(row >= 0 && row < ROWS && !seen[row]);
        seen[row] = true;
        CU_ASSERT_EQUAL(observe(world, study.id, i, cos(0.3 * (double)row)), STATUS_OK);
    }
    struct suggest_reply none;
    const struct suggest_request request = {.count = 1, .worker = ""};
    CU_ASSERT_EQUAL(trial_suggest(world->app, &world->caller, study.id, &request, &none, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "search_space_exhausted");
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.state, STUDY_COMPLETED);
    world_end(world);
}

CU_TestInfo suite_store[] = {
    {"every statement prepares", test_every_statement_prepares},
    {"the lock keeps others out", test_lock_keeps_others_out},
    {"a newer schema is refused", test_newer_schema_is_refused},
    {"group commit keeps each apart", test_group_commit_keeps_each_apart},
    {"a study runs to its budget", test_a_study_runs_to_its_budget},
    {"a rebuilt session suggests the same", test_a_rebuilt_session_suggests_the_same},
    {"queue, lease and late results", test_queue_lease_and_late_results},
    {"a batch is all or nothing", test_a_batch_is_all_or_nothing},
    {"an idempotency key gives the first answer", test_an_idempotency_key_gives_the_first_answer},
    {"patch, states and deletion", test_patch_states_and_deletion},
    {"lists page through everything", test_lists_page_through_everything},
    {"tokens", test_tokens},
    {"only the declared matrix is accepted", test_only_the_declared_matrix_is_accepted},
    {"candidates are suggested once each", test_candidates_are_suggested_once_each},
    CU_TEST_INFO_NULL,
};
