/* Members of a trial: every listed one goes through JSON, the store and CSV, and back, unchanged; and an unknown word in the
 * store is not taken for another. */
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include "service/portable/study_document.h"
#include "service/codec/codec_trial.h"
#include "service/federation/federation.h"
#include "service/game/games.h"
#include "service/suggest/operation.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/portable/trial_csv.h"

#include <stdio.h>
#include <string.h>

/* Another one for each member. */
static double number_of(const struct member *member)
{
    double value = 0.375 + (double)(member - codec_told_members);
    return value < member->min || value > member->max ? member->min : value;
}

static json_t *value_of(const struct member *member)
{
    return codec_told_is_number(member) ? json_real(number_of(member))
                                        : json_sprintf("text %zu", (size_t)(member - codec_told_members));
}

static json_t *observation_json(int64_t trial, bool is_value)
{
    json_t *json = json_pack("{s:I}", "trial", (json_int_t)trial);
    if (!is_value)
        json_object_set_new(json, "state", json_string("infeasible"));
    for (const struct member *member = codec_told_members; member->name != NULL; member++)
        if (codec_told_fits(member, is_value))
            json_object_set_new(json, member->name, value_of(member));
    return json;
}

static void check_told(const struct trial_told *told, bool is_value)
{
    for (const struct member *member = codec_told_members; member->name != NULL; member++) {
        const void *at = (const char *)told + member->offset;
        json_t     *value = value_of(member);
        bool        is_there = codec_told_fits(member, is_value), is_number = codec_told_is_number(member);
        CU_ASSERT_EQUAL(codec_told_is_set(member, told), is_there);
        if (is_there && !is_number)
            CU_ASSERT_STRING_EQUAL(*(const char *const *)at, json_string_value(value));
        if (is_there && is_number)
            CU_ASSERT_EQUAL(*(const double *)at, json_real_value(value));
        json_decref(value);
    }
}

static void check_json(const struct study *study, const struct trial *trial, bool is_value)
{
    struct arena       arena;
    struct error       err;
    struct observation back;
    json_t            *json = codec_trial_json(&study->spec, trial, (struct lease_clock){0});
    arena_init(&arena, 1 << 20);
    for (const struct member *member = codec_told_members; member->name != NULL; member++) {
        json_t *value = codec_told_fits(member, is_value) ? value_of(member) : json_null();
        CU_ASSERT(json_equal(json_object_get(json, member->name), value));
        json_decref(value);
    }
    CU_ASSERT_EQUAL(study_document_trial(&(struct reading){.spec = &study->spec, .arena = &arena, .err = &err}, json,
                                         "/trials/0", &back),
                    STATUS_OK);
    check_told(&back.told, is_value);
    json_decref(json);
    arena_fini(&arena);
}

static void check_csv(struct world *world, const struct study *study, bool is_value)
{
    const char         *text;
    size_t              length;
    struct observations read;
    CU_ASSERT_EQUAL_FATAL(
        export_csv(world->app, &world->caller, &(struct csv_asked){.study = study->id}, &text, &length, &world->err),
        STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(import_csv(&study->spec, text, length, &world->arena, &read, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(read.len, 2);
    check_told(&read.items[0].told, is_value);
    for (const struct member *member = codec_told_members; member->name != NULL; member++)
        CU_ASSERT_FALSE(codec_told_is_set(member, &read.items[1].told));
}

static void check_round(bool is_value)
{
    struct world        *world = world_new();
    struct study         study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct trial         trial;
    struct observation   item;
    struct observe_reply reply;
    json_t              *json = observation_json(1, is_value);
    CU_ASSERT_EQUAL_FATAL(world_suggest(world, study.id, 2, "w").len, 2);
    CU_ASSERT_EQUAL_FATAL(
        codec_observation(&(struct reading){.spec = &study.spec, .arena = &world->arena, .err = &world->err}, json, "",
                          &item),
        STATUS_OK);
    check_told(&item.told, is_value);
    CU_ASSERT_EQUAL_FATAL(trial_observe(world->app, &world->caller, study.id,
                                        &(struct observe_request){&item, 1, false}, &reply, &world->err),
                          STATUS_OK);
    CU_ASSERT_EQUAL(trial_find(world->app, &world->caller, study.id, 1, &trial, &world->err), STATUS_OK);
    check_told(&trial.told, is_value);
    check_json(&study, &trial, is_value);
    check_csv(world, &study, is_value);
    json_decref(json);
    world_end(world);
}

static void test_every_member_goes_round(void)
{
    check_round(true);
    check_round(false);
}

/* Members of a trial that nobody reported on are null, and not 0. */
static void test_nothing_is_said_of_a_fresh_trial(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct trial  given = world_suggest(world, study.id, 1, "w").trials[0], found;
    CU_ASSERT_EQUAL(trial_find(world->app, &world->caller, study.id, 1, &found, &world->err), STATUS_OK);
    const struct trial *trials[] = {&given, &found};
    for (size_t i = 0; i < 2; i++) {
        json_t *json = codec_trial_json(&study.spec, trials[i], (struct lease_clock){0});
        for (const struct member *member = codec_told_members; member->name != NULL; member++)
            CU_ASSERT(json_is_null(json_object_get(json, member->name)));
        json_decref(json);
    }
    world_end(world);
}

/* ---- what the store cannot say ---- */

static void alter(struct world *world, const char *sql)
{
    CU_ASSERT_EQUAL_FATAL(database_do(world_place(world), sql, &world->err), STATUS_OK);
}

/* CONFLICT: the row has not its sum; INTERNAL: its state is none that there is. */
#define CHECK_CORRUPT(call, wanted)  \
    CU_ASSERT_EQUAL((call), wanted); \
    CU_ASSERT_STRING_EQUAL(world->err.code, "store_corrupt")

static void test_an_unknown_state_is_no_other_one(void)
{
    struct world     *world = world_new();
    struct study      study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct trial      trial;
    struct federation federation;
    struct game_row   game;
    struct operation  operation;
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").len, 1);
    alter(world, "UPDATE trial SET state = 'frozen';"
                 "INSERT INTO federation SELECT 'fed_a', 'f', 'frozen', NULL, '{}', point, '', 1, 0, 1, 0, 0, 0.0, 1, "
                 "1, 'prj_default', 0 FROM trial;"
                 "INSERT INTO game SELECT 'gam_a', 'g', 'frozen', NULL, '{}', 1, 0, 1, 1, 'prj_default', 0;"
                 "INSERT INTO operation SELECT 'op_a', id, 'frozen', '', 1, '', NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, "
                 "NULL, project, 0, '', 0, 0, NULL "
                 "FROM study");
    CHECK_CORRUPT(trial_find(world->app, &world->caller, study.id, 1, &trial, &world->err), STATUS_CONFLICT);
    CHECK_CORRUPT(federation_find(world->app, &world->caller, "fed_a", &federation, &world->err), STATUS_INTERNAL);
    CHECK_CORRUPT(games_find(world->app, &world->caller, "gam_a", &game, &world->err), STATUS_INTERNAL);
    CHECK_CORRUPT(operation_find(world->app, &world->caller, "op_a", &operation, &world->err), STATUS_CONFLICT);
    alter(world, "UPDATE study SET state = 'frozen'");
    CHECK_CORRUPT(study_find(world->app, &world->caller, study.id, &study, &world->err), STATUS_CONFLICT);
    world_end(world);
}

CU_TestInfo suite_members[] = {
    {"every member goes round", test_every_member_goes_round},
    {"nothing is said of a fresh trial", test_nothing_is_said_of_a_fresh_trial},
    {"an unknown state is no other one", test_an_unknown_state_is_no_other_one},
    CU_TEST_INFO_NULL,
};
