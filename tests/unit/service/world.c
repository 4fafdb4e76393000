/* See world.h. */
#include "tests/unit/service/world.h"

#include "service/base/clock.h"
#include "service/base/npy.h"
#include "service/member/codec.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_spec.h"
#include "service/base/digest.h"
#include "service/main/app_open.h"
#include "service/manifest/manifest.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/suggest/suggest.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic int64_t world_clock_ms = 1700000000123, world_wall_ahead_ms;

static int64_t boot_clock(void)
{
    return world_clock_ms;
}

int64_t (*_Atomic world_wall)(void), (*_Atomic world_monotonic)(void);

static int64_t wall_clock(void)
{
    int64_t (*other)(void) = world_wall;
    return other != NULL ? other() : world_clock_ms + world_wall_ahead_ms;
}

static int64_t monotonic_clock(void)
{
    int64_t (*other)(void) = world_monotonic;
    return other != NULL ? other() : clock_ms(CLOCK_MONOTONIC);
}

void world_open(struct world *world)
{
    const struct app_options options = {.folder = world->folder,
                                        .database = world->database[0] != '\0' ? world->database : NULL,
                                        .synchronous = "FULL",
                                        .sessions_bytes = 64 << 20,
                                        .session_bytes = 32 << 20,
                                        .compute_slots = 2,
                                        .now_ms = wall_clock,
                                        .monotonic_ms = monotonic_clock,
                                        .boot_ms = boot_clock};
    CU_ASSERT_EQUAL_FATAL(app_open(&options, &world->app, &world->err), STATUS_OK);
}

struct world *world_new(void)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    snprintf(world.folder, sizeof world.folder, "gnomon-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(world.folder));
    database_new(world.database);
    arena_init(&world.arena, 64 << 20);
    world.caller = (struct caller){.token_id = "local", .scope = SCOPE_ADMIN, .arena = &world.arena};
    world_open(&world);
    return &world;
}

const char *world_place(const struct world *world)
{
    return world->database[0] != '\0' ? world->database : world->folder;
}

void world_end(struct world *world)
{
    static const char *const files[] = {"gnomon.db", "gnomon.db-wal", "gnomon.db-shm", "gnomon.lock", "gnomon.witness"};
    app_close(world->app);
    world_wall = world_monotonic = NULL;
    arena_fini(&world->arena);
    database_end(world->database);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", world->folder, files[i]);
        unlink(path);
    }
    CU_ASSERT_EQUAL(rmdir(world->folder), 0);
}

const char *const world_box =
    "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"parameters\","
    "\"parameters\":[{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25},"
    "{\"name\":\"k\",\"type\":\"int\",\"min\":1,\"max\":9},"
    "{\"name\":\"c\",\"type\":\"categorical\",\"values\":[\"a\",\"b\",\"z\"]}]},"
    "\"seed\":4711,\"lease_seconds\":60";

const char *const world_rows =
    "\"metrics\":[{\"name\":\"y\",\"goal\":\"maximize\"}],\"space\":{\"type\":\"candidates\","
    "\"rows\":40,\"columns\":3,\"private\":true,\"curator_key\":\"" WORLD_KEY "\"},"
    "\"seed\":99";

struct study world_study(struct world *world, const char *members, const char *algorithm, int64_t budget)
{
    char text[2048];
    snprintf(text, sizeof text, "{%s,\"algorithm\":%s}", members, algorithm);
    struct study_new new = {.name = "a study", .labels = "{}", .notes = ""};
    json_t *json = NULL;
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &world->err), STATUS_OK);
    json_t     *spec = codec_pick(codec_spec_members, json), *rules = codec_pick(codec_rules_members, json);
    enum status status = codec_spec(spec, 1, &world->arena, &new.spec, &world->err);
    if (status == STATUS_OK)
        status = codec_rules(rules, &new.spec, &world->arena, &new.rules, &world->err);
    new.rules.budget_trials = budget;
    if (status != STATUS_OK)
        fprintf(stderr, "%s %s\n", world->err.path, world->err.text);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
    json_decref(json);
    json_decref(spec);
    json_decref(rules);
    json_t *resolved = codec_spec_json(&new.spec);
    char   *dumped = json_dumps(resolved, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(resolved);
    new.spec_text = arena_strndup(&world->arena, dumped, strlen(dumped));
    free(dumped);
    new.rules_text = codec_rules_text(&new.rules, &world->arena);
    struct study study;
    CU_ASSERT_EQUAL_FATAL(study_create(world->app, &world->caller, &new, &study, &world->err), STATUS_OK);
    return study;
}

struct suggest_reply world_suggest(struct world *world, const char *study, int64_t count, const char *worker)
{
    struct plan          request = {.count = count, .worker = worker};
    struct suggest_reply reply;
    enum status          status = trial_suggest(world->app, &world->caller, study, &request, &reply, &world->err);
    if (status != STATUS_OK)
        fprintf(stderr, "suggest: %s %s\n", world->err.code, world->err.text);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
    return reply;
}

enum status world_observe(struct world *world, const char *study, int64_t trial, double value)
{
    const struct observation item = {.trial = trial, .row = -1, .value = value, .stddev = NAN};
    struct observe_reply     reply;
    return trial_observe(world->app, &world->caller, study, &(struct observe_request){&item, 1, false}, &reply,
                         &world->err);
}

void world_observe_many(struct world *world, const char *study, size_t count)
{
    double              point[3] = {0.25, 2, 1};
    struct observation *items = calloc(count, sizeof *items);
    CU_ASSERT_PTR_NOT_NULL_FATAL(items);
    for (size_t i = 0; i < count; i++) {
        items[i] = observation_none();
        items[i].point = point;
        items[i].value = 2.385 * (double)i;
    }
    struct observe_reply         reply;
    const struct observe_request request = {.items = items, .len = count};
    CU_ASSERT_EQUAL_FATAL(trial_observe(world->app, &world->caller, study, &request, &reply, &world->err), STATUS_OK);
    free(items);
}

/* Centred columns, as a projection has them. */
size_t world_npy(unsigned char *out, double spoil)
{
    double values[WORLD_ROWS * WORLD_COLUMNS];
    size_t length = npy_write_header(WORLD_ROWS, WORLD_COLUMNS, NPY_F8, out);
    for (int i = 0; i < WORLD_ROWS * WORLD_COLUMNS; i++)
        values[i] = sin(0.37 * i * i) + (i == 50 ? spoil : 0);
    for (int c = 0; c < WORLD_COLUMNS; c++) {
        double mean = 0;
        for (int i = c; i < WORLD_ROWS * WORLD_COLUMNS; i += WORLD_COLUMNS)
            mean += values[i] / WORLD_ROWS;
        for (int i = c; i < WORLD_ROWS * WORLD_COLUMNS; i += WORLD_COLUMNS)
            values[i] -= mean;
    }
    memcpy(out + length, values, sizeof values);
    return length + sizeof values;
}

/* Every call is for another data set.  The signature is not looked at below the API. */
struct manifest world_manifest(const unsigned char *bytes, size_t length)
{
    static int              calls;
    static char             texts[8][4096];
    struct manifest         manifest = {.rows = WORLD_ROWS, .columns = WORLD_COLUMNS, .bytes = (int64_t)length};
    struct release_manifest release = {.projection = {.epsilon = 2.5, .delta = 1e-4, .omega = 512.5, .sigma_min = 640},
                                       .rows = WORLD_ROWS,
                                       .columns = WORLD_COLUMNS,
                                       .bytes = (int64_t)length,
                                       .dtype = NPY_F8,
                                       .tool = "gnomon 0",
                                       .created_at = "2026-03-01",
                                       .key = WORLD_KEY,
                                       .signature = "unsigned"};
    char                   *text = NULL;
    struct error            err;
    sha256_hex(bytes, length, manifest.sha256);
    memcpy(release.sha256, manifest.sha256, sizeof release.sha256);
    snprintf(release.dataset_tag, sizeof release.dataset_tag, "%064x", (unsigned)calls);
    snprintf(release.ledger.id, sizeof release.ledger.id, "%016x", (unsigned)calls);
    memset(release.ledger.head, '0', sizeof release.ledger.head - 1);
    release.ledger.seq = release.ledger.tables = 1;
    CU_ASSERT_EQUAL_FATAL(manifest_text(&release, &text, &err), STATUS_OK);
    manifest.text = texts[calls % 8];
    snprintf(texts[calls++ % 8], sizeof texts[0], "%s", text);
    free(text);
    return manifest;
}

enum status world_upload(struct world *world, const char *study, const unsigned char *bytes, size_t length,
                         size_t piece, struct candidates_status *out)
{
    for (size_t at = 0; at < length; at += piece) {
        size_t part = length - at < piece ? length - at : piece;
        TRY(candidates_append(world->app, &world->caller, study,
                              &(struct candidates_piece){(int64_t)at, (int64_t)length, bytes + at, part}, out,
                              &world->err));
    }
    return STATUS_OK;
}
