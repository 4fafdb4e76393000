/* Specifications are read once, stay under their limit, and are there for as long as somebody has them, whatever becomes
 * of the study and of the cache. */
#include "service/store/spec_cache.h"

#include "service/app/event_log.h"
#include "service/codec/codec_spec.h"
#include "service/trial/observe.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CATEGORY_BYTES = 60 };

/* A specification that can be told from others by its seed, with so many values of a parameter. */
static struct study new_study(struct world *world, int seed, int categories)
{
    char   members[2000];
    size_t len = (size_t)snprintf(members, sizeof members,
                                  "\"metrics\":[{\"name\":\"m%d\",\"goal\":\"minimize\"}],\"seed\":%d,\"space\":{"
                                  "\"type\":\"parameters\",\"parameters\":[{\"name\":\"c\",\"type\":\"categorical\","
                                  "\"values\":[\"none\",\"some\"",
                                  seed, seed);
    for (int i = 0; i < categories; i++)
        len += (size_t)snprintf(members + len, sizeof members - len, ",\"%0*d\"", CATEGORY_BYTES, i);
    snprintf(members + len, sizeof members - len, "]}]}");
    return world_study(world, members, "{\"name\":\"random\"}", 0);
}

static bool is_spec_of(const struct spec *spec, int seed)
{
    char name[16];
    snprintf(name, sizeof name, "m%d", seed);
    return spec->seed == (uint64_t)seed && strcmp(spec->metrics[0].name, name) == 0 &&
           strcmp(spec->values[0][0].text, "none") == 0;
}

static uint64_t specs_read(const struct world *world)
{
    return atomic_load(&world->app->counters.specs_read);
}

/* The linker sends every query of the service here first. */
static atomic_int studies_read;
struct db_rows    __real_db_query(struct db_conn *conn, struct arena *arena, struct error *err, enum sql sql,
                                  struct db_values values);
struct db_rows    __wrap_db_query(struct db_conn *conn, struct arena *arena, struct error *err, enum sql sql,
                                  struct db_values values);
enum status       __real_db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err,
                                 enum sql sql, struct db_values values);
enum status       __wrap_db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err,
                                 enum sql sql, struct db_values values);

struct db_rows __wrap_db_query(struct db_conn *conn, struct arena *arena, struct error *err, enum sql sql,
                               struct db_values values)
{
    atomic_fetch_add(&studies_read, sql == SQL_STUDY_GET);
    return __real_db_query(conn, arena, err, sql, values);
}

enum status __wrap_db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err,
                           enum sql sql, struct db_values values)
{
    atomic_fetch_add(&studies_read, sql == SQL_STUDY_GET);
    return __real_db_find(conn, arena, out, err, sql, values);
}

/* A suggestion looks at its study before it takes the session's lock, and when it writes; an observation when it writes. */
static void test_rows_of_studies(void)
{
    static const char *const algorithms[] = {"{\"name\":\"gp\"}", "{\"name\":\"random\"}"};
    static const int         suggestions[2][3] = {{2, 2, 2}, {2, 2, 1}}; // the last by the group alone
    struct world            *world = world_new();
    for (int i = 0; i < 2; i++) {
        struct study study = world_study(world, world_box, algorithms[i], 0);
        for (int round = 0; round < 3; round++) {
            atomic_store(&studies_read, 0);
            int64_t number = world_suggest(world, study.id, 1, "").trials[0].number;
            CU_ASSERT_EQUAL(atomic_exchange(&studies_read, 0), suggestions[i][round]);
            CU_ASSERT_EQUAL(world_observe(world, study.id, number, 0.37), STATUS_OK);
            CU_ASSERT_EQUAL(atomic_load(&studies_read), 1);
        }
    }
    world_end(world);
}

static void test_read_once(void)
{
    struct world           *world = world_new();
    struct study            study = new_study(world, 11, 3), other = new_study(world, 12, 3), found;
    struct trial            trial;
    struct study_page       page;
    struct spec_cache_stats stats;
    int64_t                 number = world_suggest(world, study.id, 1, "w").trials[0].number;
    for (int i = 0; i < 3; i++) {
        const struct held_trial held = {.number = number};
        CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").trials[0].number, number);
        CU_ASSERT_EQUAL(trial_heartbeat(world->app, &world->caller, study.id, held, &trial, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
        CU_ASSERT(is_spec_of(&found.spec, 11));
    }
    CU_ASSERT_EQUAL(world_observe(world, study.id, number, 0.17), STATUS_OK);
    CU_ASSERT_EQUAL(specs_read(world), 1);
    const struct study_filter all = {.limit = 10};
    CU_ASSERT_EQUAL_FATAL(study_list(world->app, &world->caller, &all, &page, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(page.len, 2);
    for (size_t i = 0; i < page.len; i++)
        CU_ASSERT(is_spec_of(&page.studies[i].spec, strcmp(page.studies[i].id, study.id) == 0 ? 11 : 12));
    CU_ASSERT_EQUAL(specs_read(world), 2);
    spec_cache_stats(world->app, &stats);
    CU_ASSERT(stats.entries == 2 && stats.bytes > 0);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, other.id, &world->err), STATUS_OK);
    spec_cache_stats(world->app, &stats);
    CU_ASSERT_EQUAL(stats.entries, 1);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, other.id, &found, &world->err), STATUS_NOT_FOUND);
    world_end(world);
}

/* A spec out of the table is read again; one that is larger than the table is read each time. */
static void test_bounded(void)
{
    enum { STUDIES = 40, LIMIT = 64 * 1024 };
    struct world           *world = world_new();
    struct study            studies[STUDIES], found;
    struct spec_cache_stats stats;
    world->app->options.sessions_bytes = 4 * LIMIT;
    for (int i = 0; i < STUDIES; i++) {
        studies[i] = new_study(world, 100 + i, i % 20);
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, studies[i].id, &found, &world->err), STATUS_OK);
        spec_cache_stats(world->app, &stats);
        CU_ASSERT(stats.entries > 0 && stats.bytes <= LIMIT);
    }
    CU_ASSERT(stats.entries > 3 && stats.entries < STUDIES);
    CU_ASSERT_EQUAL(specs_read(world), STUDIES);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, studies[STUDIES - 1].id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(specs_read(world), STUDIES);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, studies[0].id, &found, &world->err), STATUS_OK);
    CU_ASSERT(specs_read(world) == STUDIES + 1 && is_spec_of(&found.spec, 100));
    world->app->options.sessions_bytes = 400;
    for (int i = 1; i < 3; i++) {
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, studies[i].id, &found, &world->err), STATUS_OK);
        CU_ASSERT(specs_read(world) == STUDIES + 1 + (uint64_t)i && is_spec_of(&found.spec, 100 + i));
        spec_cache_stats(world->app, &stats);
        CU_ASSERT(stats.entries == 0 && stats.bytes == 0);
    }
    world_end(world);
}

/* The limit of a request is one, whoever has read what it uses. */
static void test_counts_against_the_borrower(void)
{
    struct world *world = world_new();
    struct study  study = new_study(world, 31, 25), found;
    struct arena  arena;
    enum status   status = STATUS_OK;
    int           times = 0;
    arena_init(&arena, 1 << 18);
    struct caller caller = {.token_id = "tok_small", .scope = SCOPE_ADMIN, .arena = &arena};
    while (times < 1000 && (status = study_find(world->app, &caller, study.id, &found, &world->err)) == STATUS_OK)
        times++;
    CU_ASSERT(status == STATUS_NO_MEMORY && times > 2);
    arena_fini(&arena);
    CU_ASSERT_EQUAL(arena.limit_bytes, 1 << 18);
    CU_ASSERT_EQUAL(study_find(world->app, &caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(specs_read(world), 1);
    arena_fini(&arena);
    world_end(world);
}

static void test_stays_for_its_borrower(void)
{
    struct world *world = world_new();
    struct study  study = new_study(world, 41, 20), found, again;
    struct arena  arena;
    arena_init(&arena, 1 << 20);
    struct caller caller = {.token_id = "tok_other", .scope = SCOPE_ADMIN, .arena = &arena};
    CU_ASSERT_EQUAL(study_find(world->app, &caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_find(world->app, &caller, study.id, &again, &world->err), STATUS_OK);
    CU_ASSERT_PTR_EQUAL(found.spec.values, again.spec.values);
    CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, study.id, &world->err), STATUS_OK);
    struct spec_cache_stats stats;
    spec_cache_stats(world->app, &stats);
    CU_ASSERT_EQUAL(stats.entries, 0);
    CU_ASSERT(is_spec_of(&found.spec, 41));
    world_end(world); // even the whole application
    CU_ASSERT(is_spec_of(&found.spec, 41) && strlen(found.spec.values[0][20].text) == CATEGORY_BYTES);
    arena_fini(&arena);
}

/* ---- a transaction that comes to nothing ---- */

struct undone {
    struct world *world;
    struct study *study, *other;
};

/* The study has the specification of the other, as after a growth in the same batch; and then all fails. */
static enum status see_and_fail(struct db_conn *conn, void *arg, struct error *err)
{
    struct undone *undone = arg;
    struct world  *world = undone->world;
    struct study  *study = undone->study, found;
    const char    *text = codec_spec_text(&undone->other->spec, &world->arena);
    TRY(event_log(
        conn, EVENT(.kind = "space.grown", .study = study->id, .actor = "local", .revision = ++study->revision), err));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_SPEC_SET, BIND(TEXT(study->id), TEXT(text))));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE, BIND(TEXT(study->id), TEXT("active"), TEXT(""), INT(1))));
    TRY(spec_cache_study(world->app, conn, study->id, &world->arena, &found, err));
    CU_ASSERT(is_spec_of(&found.spec, 52));
    return error_set(err, STATUS_FULL, "full", "", "all fails");
}

/* The next version of the study has its number. */
static void test_of_nothing(void)
{
    struct world *world = world_new();
    struct study  study = new_study(world, 51, 3), other = new_study(world, 52, 3), found;
    struct undone undone = {.world = world, .study = &study, .other = &other};
    CU_ASSERT_EQUAL(db_transact(world->app->db, see_and_fail, &undone, &world->err), STATUS_FULL);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_PAUSE, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT(is_spec_of(&found.spec, 51));
    world_end(world);
}

/* ---- many at once ---- */

enum { THREADS = 4, CROWD_STUDIES = 12, TURNS = 120, SEEDS = 1000 };

struct reader {
    struct app   *app;
    struct study *studies;
    int           turns, wrong, seen;
};

static void *read_specs(void *arg)
{
    struct reader *reader = arg;
    for (int turn = 0; turn < reader->turns; turn++) {
        struct arena arena;
        struct error err;
        struct study found[CROWD_STUDIES];
        arena_init(&arena, 16 << 20);
        struct caller caller = {.token_id = "tok_reader", .scope = SCOPE_ADMIN, .arena = &arena};
        bool          is_there[CROWD_STUDIES];
        for (int i = 0; i < CROWD_STUDIES; i++)
            is_there[i] = study_find(reader->app, &caller, reader->studies[i].id, &found[i], &err) == STATUS_OK;
        struct suggest_reply reply;
        struct plan          request = {.count = 1, .worker = "w"};
        enum status          status =
            trial_suggest(reader->app, &caller, reader->studies[turn % CROWD_STUDIES].id, &request, &reply, &err);
        reader->wrong += status != STATUS_OK && status != STATUS_NOT_FOUND;
        for (int i = 0; i < CROWD_STUDIES; i++)
            reader->wrong += is_there[i] && !is_spec_of(&found[i].spec, SEEDS + i);
        for (int i = 0; i < CROWD_STUDIES; i++)
            reader->seen += is_there[i];
        arena_fini(&arena);
    }
    return NULL;
}

/* Half of the studies go while they are read, and the table has room for a few of them. */
static void test_deleted_and_evicted_in_a_crowd(void)
{
    struct world *world = world_new();
    struct study  studies[CROWD_STUDIES];
    struct reader readers[THREADS];
    pthread_t     threads[THREADS];
    world->app->options.sessions_bytes = 4 * 40 * 1024;
    for (int i = 0; i < CROWD_STUDIES; i++)
        studies[i] = new_study(world, SEEDS + i, i);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.app = world->app, .studies = studies, .turns = TURNS};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_specs, &readers[i]), 0);
    }
    for (int i = 0; i < CROWD_STUDIES; i += 2) {
        struct study found;
        for (int k = 0; k < 20; k++)
            CU_ASSERT_EQUAL(study_find(world->app, &world->caller, studies[i].id, &found, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, studies[i].id, &world->err), STATUS_OK);
        CU_ASSERT(is_spec_of(&found.spec, SEEDS + i));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(readers[i].wrong, 0);
        CU_ASSERT(readers[i].seen >= TURNS * CROWD_STUDIES / 2);
    }
    world_end(world);
}

CU_TestInfo suite_spec_cache[] = {
    {"a suggestion reads its study's row twice, an observation once", test_rows_of_studies},
    {"read once", test_read_once},
    {"bounded", test_bounded},
    {"counts against the borrower", test_counts_against_the_borrower},
    {"a specification that was never committed is forgotten", test_of_nothing},
    {"stays for its borrower", test_stays_for_its_borrower},
    {"deleted and evicted in a crowd", test_deleted_and_evicted_in_a_crowd},
    CU_TEST_INFO_NULL,
};
