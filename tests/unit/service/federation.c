/* Federations below HTTP: a round is closed once and as a whole, whoever asks at the same time. */
#include "engine/privacy/accountant.h"
#include "service/member/codec.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_federation.h"
#include "service/federation/federation.h"
#include "service/main/app_open.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/suggest/suggest.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 11, SEATS = 4, THREADS = 8, REGIONS = 2 };

static const char private_members[] =
    "{\"metrics\":[{\"name\":\"y\",\"goal\":\"maximize\"}],\"space\":{\"type\":\"parameters\",\"parameters\":["
    "{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25},"
    "{\"name\":\"w\",\"type\":\"double\",\"min\":0.01,\"max\":7,\"scale\":\"log\"}]},"
    "\"algorithm\":{\"name\":\"dp-fts-de\",\"features\":11,\"features_seed\":4711,\"regions\":2},"
    "\"seats\":4,\"minimum_agents\":3,\"rounds\":5,\"round_seconds\":30,"
    "\"privacy\":{\"epsilon\":%s,\"delta\":0.0137,\"sampling_rate\":0.385,\"clip\":9.5,\"noise_multiplier\":0.93}}";

static enum status read_spec(struct world *world, const char *epsilon, struct federation_new *out)
{
    char    text[1024];
    json_t *json = NULL;
    snprintf(text, sizeof text, private_members, epsilon);
    *out = (struct federation_new){.name = "a federation"};
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &world->err), STATUS_OK);
    enum status status = codec_federation(json, &world->arena, &out->spec, &world->err);
    json_decref(json);
    out->spec_text = arena_strndup(&world->arena, text, strlen(text));
    return status;
}

static struct federation made(struct world *world, const char *epsilon)
{
    struct federation_new new;
    struct federation federation;
    CU_ASSERT_EQUAL_FATAL(read_spec(world, epsilon, &new), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(federation_create(world->app, &world->caller, &new, &federation, &world->err), STATUS_OK);
    for (int i = 0; i < SEATS; i++) {
        struct federation_agent agent;
        CU_ASSERT_EQUAL_FATAL(
            federation_register(world->app, &world->caller, federation.id, "an agent", &agent, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(agent.seat, i + 1);
        CU_ASSERT_EQUAL((size_t)agent.region, federation_region(&federation.spec, i + 1));
    }
    return federation;
}

static enum status send(struct world *world, const struct federation *federation, int64_t round, int64_t seat,
                        bool dry_run, struct error *err)
{
    double                    vector[FEATURES];
    struct federation_receipt receipt;
    struct caller             caller = {.scope = SCOPE_AGENT, .arena = &world->arena, .dry_run = dry_run};
    snprintf(caller.resource, sizeof caller.resource, "%s", federation->id);
    snprintf(caller.agent, sizeof caller.agent, "%lld", (long long)seat);
    for (int i = 0; i < FEATURES; i++)
        vector[i] = sin(0.37 * (double)(seat * 31 + round * 7 + i)) * 2.385;
    const struct federation_message message = {round, seat, federation->features_sha256, vector, FEATURES};
    return federation_send(world->app, &caller, federation->id, &message, &receipt, err);
}

static struct federation found(struct world *world, const char *id)
{
    struct federation federation;
    CU_ASSERT_EQUAL_FATAL(federation_find(world->app, &world->caller, id, &federation, &world->err), STATUS_OK);
    return federation;
}

/* A number that the store holds; the application is closed meanwhile. */
static int64_t stored(struct world *world, const char *sql)
{
    app_close(world->app);
    int64_t value = database_ask(world_place(world), sql);
    world_open(world);
    return value;
}

static void test_spec(void)
{
    struct world *world = world_new();
    struct federation_new new;
    CU_ASSERT_EQUAL_FATAL(read_spec(world, "7.5", &new), STATUS_OK);
    CU_ASSERT_EQUAL(new.spec.features, FEATURES);
    CU_ASSERT_EQUAL(new.spec.round_ms, 30000);
    CU_ASSERT_TRUE(new.spec.is_private);
    json_t                *json = codec_federation_spec_json(&new.spec);
    char                  *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    struct federation_spec again;
    CU_ASSERT_EQUAL_FATAL(codec_federation_parse(text, &world->arena, &again, &world->err), STATUS_OK);
    json_t *second = codec_federation_spec_json(&again);
    CU_ASSERT_TRUE(json_equal(json, second));
    json_decref(json);
    json_decref(second);
    free(text);
    CU_ASSERT_EQUAL(codec_federation_parse("{}", &world->arena, &again, &world->err), STATUS_INTERNAL);
    world_end(world);
}

/* The options of an agent's session: its own region, and else those of the federation. */
static void test_options(void)
{
    struct world *world = world_new();
    struct federation_new new;
    double options[32];
    CU_ASSERT_EQUAL_FATAL(read_spec(world, "7.5", &new), STATUS_OK);
    const struct policy *policy = new.spec.study.policy;
    double              *own = (double *)(uintptr_t) new.spec.study.options;
    int                  centre = policy_option(policy, "centre"), region = policy_option(policy, "region");
    own[centre] = 1.75;
    size_t of_region[REGIONS] = {0};
    for (int64_t seat = 1; seat <= 64; seat++) {
        federation_options(&new.spec, seat, options);
        CU_ASSERT_EQUAL(options[centre], 1.75);
        CU_ASSERT_TRUE_FATAL(options[region] == 0 || options[region] == 1);
        of_region[(size_t)options[region]]++;
    }
    CU_ASSERT_TRUE(of_region[0] > 16 && of_region[1] > 16);
    world_end(world);
}

static void test_cost(void)
{
    struct world     *world = world_new();
    struct federation federation = made(world, "100");
    double            total = 0, before = 0;
    for (int64_t round = 1; round <= 5; round++) {
        const struct accountant_run run = {0.385, 0.93, (uint64_t)round};
        double                      promised;
        for (int64_t seat = 1; seat <= SEATS; seat++)
            CU_ASSERT_EQUAL_FATAL(send(world, &federation, round, seat, false, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(accountant_promise(&run, 1, 0.0137, &promised, &world->arena, &world->err), STATUS_OK);
        total = found(world, federation.id).epsilon;
        CU_ASSERT_EQUAL(total, promised);
        CU_ASSERT_TRUE(total > before);
        before = total;
    }
    struct federation after = found(world, federation.id);
    CU_ASSERT_EQUAL(after.state, FEDERATION_COMPLETED);
    CU_ASSERT_STRING_EQUAL(after.reason, "rounds_completed");
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_message"), 0);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_ledger WHERE total <= 100 AND epsilon > 0"), 5);
    world_end(world);
}

/* A last message whose transaction is undone leaves neither debit nor broadcast; the next one makes both. */
static void test_all_or_nothing(void)
{
    struct world     *world = world_new();
    struct federation federation = made(world, "100");
    for (int64_t seat = 1; seat < SEATS; seat++)
        CU_ASSERT_EQUAL_FATAL(send(world, &federation, 1, seat, false, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(send(world, &federation, 1, SEATS, true, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "dry_run");
    struct federation between = found(world, federation.id);
    CU_ASSERT_EQUAL(between.round, 1);
    CU_ASSERT_EQUAL(between.received, SEATS - 1);
    CU_ASSERT_EQUAL(between.epsilon, 0);
    CU_ASSERT_EQUAL(atomic_load(&world->app->counters.federation_rounds), 0);
    CU_ASSERT_EQUAL(stored(world, "SELECT (SELECT count(*) FROM federation_ledger) + "
                                  "(SELECT count(*) FROM federation_broadcast)"),
                    0);
    CU_ASSERT_EQUAL(send(world, &federation, 1, SEATS, false, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found(world, federation.id).round, 2);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_ledger l JOIN federation_broadcast b "
                                  "ON l.federation = b.federation AND l.round = b.round"),
                    1);
    world_end(world);
}

struct reader {
    struct world     *world;
    struct federation federation;
    char              sha256[65];
    enum status       status;
};

static void *read_broadcast(void *arg)
{
    struct reader         *reader = arg;
    struct arena           arena;
    struct caller          caller = {.scope = SCOPE_ADMIN, .arena = &arena};
    struct federation_file file;
    struct error           err;
    arena_init(&arena, 16 << 20);
    reader->status = federation_broadcast(reader->world->app, &caller, reader->federation.id, 1, &file, &err);
    if (reader->status == STATUS_OK)
        memcpy(reader->sha256, file.sha256, sizeof file.sha256);
    arena_fini(&arena);
    return NULL;
}

/* After the deadline everybody comes at once, and all see the one broadcast. */
static void test_race(void)
{
    struct world     *world = world_new();
    struct federation federation = made(world, "100");
    struct reader     readers[THREADS];
    pthread_t         threads[THREADS];
    for (int64_t seat = 2; seat <= SEATS; seat++)
        CU_ASSERT_EQUAL_FATAL(send(world, &federation, 1, seat, false, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found(world, federation.id).round, 1);
    world_clock_ms += 30001;
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.world = world, .federation = federation};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_broadcast, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(readers[i].status, STATUS_OK);
        CU_ASSERT_STRING_EQUAL(readers[i].sha256, readers[0].sha256);
    }
    CU_ASSERT_EQUAL(atomic_load(&world->app->counters.federation_rounds), 1);
    CU_ASSERT_EQUAL(send(world, &federation, 1, 1, false, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "round_closed");
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_ledger"), 1);
    CU_ASSERT_EQUAL(stored(world, "SELECT messages FROM federation_broadcast"), SEATS - 1);
    world_end(world);
}

/* Two federations of the same members and messages do not get the same noise. */
static void test_noise_is_fresh(void)
{
    struct world *world = world_new();
    char          digests[2][65];
    for (int i = 0; i < 2; i++) {
        struct federation federation = made(world, "100");
        struct reader     reader = {.world = world, .federation = federation};
        for (int64_t seat = 1; seat <= SEATS; seat++)
            CU_ASSERT_EQUAL_FATAL(send(world, &federation, 1, seat, false, &world->err), STATUS_OK);
        read_broadcast(&reader);
        CU_ASSERT_EQUAL(reader.status, STATUS_OK);
        memcpy(digests[i], reader.sha256, sizeof digests[i]);
    }
    CU_ASSERT_STRING_NOT_EQUAL(digests[0], digests[1]);
    world_end(world);
}

static void test_budget(void)
{
    struct world *world = world_new();
    struct federation_new new;
    struct federation federation;
    CU_ASSERT_EQUAL(read_spec(world, "0.5", &new), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "budget_too_small");
    federation = made(world, "2.5");
    int64_t round = 1;
    for (; found(world, federation.id).state == FEDERATION_ACTIVE; round++)
        for (int64_t seat = 1; seat <= SEATS; seat++)
            CU_ASSERT_EQUAL_FATAL(send(world, &federation, round, seat, false, &world->err), STATUS_OK);
    struct federation after = found(world, federation.id);
    double            next;
    CU_ASSERT_STRING_EQUAL(after.reason, "privacy_budget_exhausted");
    CU_ASSERT_TRUE(after.epsilon <= 2.5);
    CU_ASSERT_EQUAL(federation_cost(&after.spec, round, &next, &world->arena, &world->err), STATUS_OK);
    CU_ASSERT_TRUE(next > 2.5);
    CU_ASSERT_EQUAL(send(world, &federation, round, 1, false, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "federation_completed");
    CU_ASSERT_STRING_EQUAL(world->err.reason, "privacy_budget_exhausted");
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_ledger"), round - 1);
    world_end(world);
}

static bool is_refused(struct world *world, const char *sql)
{
    return database_do(world_place(world), sql, &world->err) == STATUS_CONFLICT &&
           strcmp(world->err.code, "constraint") == 0;
}

/* Nor does the store let anybody: the ledger is not changed, and a broadcast needs its line. */
static void test_store_holds(void)
{
    struct world     *world = world_new();
    struct federation federation = made(world, "100");
    for (int64_t seat = 1; seat <= SEATS; seat++)
        CU_ASSERT_EQUAL_FATAL(send(world, &federation, 1, seat, false, &world->err), STATUS_OK);
    app_close(world->app);
    CU_ASSERT_TRUE(is_refused(world, "UPDATE federation_ledger SET epsilon = 0"));
    CU_ASSERT_TRUE(is_refused(world, "DELETE FROM federation_ledger"));
    CU_ASSERT_TRUE(is_refused(world, "UPDATE federation_broadcast SET data = data"));
    CU_ASSERT_TRUE(is_refused(world, "INSERT INTO federation_broadcast SELECT federation, 1, 9, data, 0, 0 FROM "
                                     "federation_broadcast"));
    CU_ASSERT_TRUE(is_refused(world, "INSERT INTO federation_broadcast SELECT federation, 2, 9, data, 0, 0 FROM "
                                     "federation_broadcast"));
    world_open(world);
    CU_ASSERT_EQUAL(federation_delete(world->app, &world->caller, federation.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_broadcast"), 0);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM federation_ledger"), 1);
    world_end(world);
}

/* ---- studies that are agents ---- */

enum { HOSTED = 2, STEPS = 7, INITIAL = 3 };
static const char hosted_space[] =
    "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"parameters\",\"parameters\":["
    "{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25}]}";
static const char hosted_algorithm[] = "\"name\":\"fts\",\"features\":12,\"features_seed\":71,\"initial\":3";

static struct federation hosted_federation(struct world *world)
{
    char              text[1024];
    json_t           *json = NULL;
    struct federation federation;
    struct federation_new new = {.name = "hosted"};
    snprintf(text, sizeof text, "{%s,\"algorithm\":{%s},\"seats\":2,\"rounds\":20}", hosted_space, hosted_algorithm);
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(codec_federation(json, &world->arena, &new.spec, &world->err), STATUS_OK);
    json_decref(json);
    new.spec_text = arena_strndup(&world->arena, text, strlen(text));
    CU_ASSERT_EQUAL_FATAL(federation_create(world->app, &world->caller, &new, &federation, &world->err), STATUS_OK);
    return federation;
}

static enum status hosted_study(struct world *world, const char *algorithm, const char *space, int64_t seed,
                                struct study *out)
{
    char    text[1024];
    json_t *json = NULL;
    struct study_new new = {
        .name = "an agent", .labels = "{}", .notes = "", .spec_text = "", .rules_text = "{}", .rules = rules_none()};
    snprintf(text, sizeof text, "{%s,\"algorithm\":%s,\"seed\":%lld}", space, algorithm, (long long)seed);
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &world->err), STATUS_OK);
    enum status status = codec_spec(json, 1, &world->arena, &new.spec, &world->err);
    json_decref(json);
    return status == STATUS_OK ? study_create(world->app, &world->caller, &new, out, &world->err) : status;
}

/* Two studies take turns; is_forgetful: their sessions are opened anew for every suggestion. */
static void run_hosted(bool is_forgetful, double points[HOSTED][STEPS])
{
    struct world     *world = world_new();
    struct federation federation = hosted_federation(world);
    struct study      studies[HOSTED];
    char              algorithm[96];
    snprintf(algorithm, sizeof algorithm, "{\"name\":\"fts\",\"federation\":\"%s\"}", federation.id);
    for (int i = 0; i < HOSTED; i++) {
        CU_ASSERT_EQUAL_FATAL(hosted_study(world, algorithm, hosted_space, 4711 + i, &studies[i]), STATUS_OK);
        CU_ASSERT_EQUAL(studies[i].spec.seat, i + 1);
        CU_ASSERT_EQUAL(studies[i].spec.options[policy_option(studies[i].spec.policy, "initial")], INITIAL);
    }
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < HOSTED; i++) {
            if (is_forgetful)
                session_drop(world->app, studies[i].id);
            struct suggest_reply reply = world_suggest(world, studies[i].id, 1, "");
            points[i][step] = reply.trials[0].point[0];
            double value = (points[i][step] - 0.385) * (points[i][step] - 0.385) + 0.1 * i;
            CU_ASSERT_EQUAL(world_observe(world, studies[i].id, reply.trials[0].number, value), STATUS_OK);
        }
    struct federation after = found(world, federation.id);
    CU_ASSERT_EQUAL(after.round - 1, STEPS - INITIAL);
    CU_ASSERT_EQUAL(federation_delete(world->app, &world->caller, federation.id, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "federation_has_studies");
    for (int i = 0; i < HOSTED; i++)
        CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, studies[i].id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(federation_delete(world->app, &world->caller, federation.id, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM event WHERE kind = 'federation.received'"),
                    HOSTED * (STEPS - INITIAL) - 1);
    world_end(world);
}

/* A round is what both have sent for: the first to come does not wait for it, and takes it the next time. */
static void test_hosted(void)
{
    double lived[HOSTED][STEPS], replayed[HOSTED][STEPS];
    run_hosted(false, lived);
    run_hosted(true, replayed);
    CU_ASSERT_EQUAL(memcmp(lived, replayed, sizeof lived), 0);
}

static void test_hosted_refusals(void)
{
    static const struct {
        const char *algorithm, *space, *code, *path;
    } rows[] = {
        {"{\"name\":\"fts\",\"federation\":\"fed_aaaaaaaaaaaaaaaa\"}", NULL, "unknown_federation",
         "/algorithm/federation"},
        {"{\"name\":\"fts\",\"federation\":\"fed_a\"}", NULL, "out_of_range", "/algorithm/federation"},
        {"{\"name\":\"fts\",\"seat\":2}", NULL, "missing_member", "/algorithm/federation"},
        {"{\"name\":\"gp\",\"federation\":\"%s\"}", NULL, "unknown_member", "/algorithm/federation"},
        {"{\"name\":\"dp-fts-de\",\"federation\":\"%s\"}", NULL, "wrong_algorithm", "/algorithm/name"},
        {"{\"name\":\"fts\",\"federation\":\"%s\",\"features\":13}", NULL, "bad_combination", "/algorithm"},
        {"{\"name\":\"fts\",\"federation\":\"%s\",\"seat\":1}", NULL, "seat_taken", "/algorithm/seat"},
        {"{\"name\":\"fts\",\"federation\":\"%s\"}",
         "\"metrics\":[{\"name\":\"gain\",\"goal\":\"maximize\"}],\"space\":{\"type\":\"parameters\","
         "\"parameters\":[{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25}]}",
         "wrong_space", "/space"},
    };
    struct world     *world = world_new();
    struct federation federation = hosted_federation(world);
    struct study      study;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char        algorithm[160];
        const char *at = strstr(rows[i].algorithm, "%s");
        snprintf(algorithm, sizeof algorithm, "%.*s%s%s", at == NULL ? 0 : (int)(at - rows[i].algorithm),
                 rows[i].algorithm, at == NULL ? "" : federation.id, at == NULL ? rows[i].algorithm : at + 2);
        CU_ASSERT_NOT_EQUAL(
            hosted_study(world, algorithm, rows[i].space == NULL ? hosted_space : rows[i].space, 5, &study), STATUS_OK);
        CU_ASSERT_STRING_EQUAL(world->err.code, rows[i].code);
        CU_ASSERT_STRING_EQUAL(world->err.path, rows[i].path);
    }
    CU_ASSERT_EQUAL(found(world, federation.id).registered, 0);
    CU_ASSERT_EQUAL(stored(world, "SELECT count(*) FROM study"), 0);
    world_end(world);
}

CU_TestInfo suite_federation[] = {
    {"a specification reads back as it was written", test_spec},
    {"an agent's options", test_options},
    {"what rounds cost is what the accountant promises", test_cost},
    {"a round is closed as a whole or not at all", test_all_or_nothing},
    {"a round is closed once, whoever comes", test_race},
    {"noise is drawn anew for each round", test_noise_is_fresh},
    {"the budget is never exceeded", test_budget},
    {"the store holds the ledger", test_store_holds},
    {"studies as agents: opened anew they suggest the same", test_hosted},
    {"studies that cannot be agents", test_hosted_refusals},
    CU_TEST_INFO_NULL,
};
