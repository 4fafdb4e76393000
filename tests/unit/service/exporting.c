/* Exports, which read a study from end to end: each stops when nobody waits for it, and when it has taken too long. */
#include "service/portable/export.h"
#include "service/trial/observe.h"
#include "service/study/study.h"
#include "service/portable/study_document.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <string.h>
#include <unistd.h>

static const char *one(size_t *length)
{
    *length = 1;
    return "1";
}

static const char *a_study(void *arg, const struct study *study, const struct transfer_sources *earlier, size_t *length)
{
    (void)arg, (void)study, (void)earlier;
    return one(length);
}

static const char *an_event(void *arg, const struct event_row *event, size_t *length)
{
    (void)arg, (void)event;
    return one(length);
}

static const char *a_trial(void *arg, const struct study *study, const struct trial *trial, size_t *length)
{
    (void)arg, (void)study, (void)trial;
    return one(length);
}

static enum status document(struct app *app, struct caller *caller, const char *id, struct export_file *out,
                            struct error *err)
{
    struct study_document how = {.study = a_study, .event = an_event, .trial = a_trial};
    return study_document_write(app, caller, id, &how, out, err);
}

static bool has_left(void *arg)
{
    (void)arg;
    return true;
}

static void test_they_stop(void)
{
    enum status (*const kinds[])(struct app *, struct caller *, const char *, struct export_file *,
                                 struct error *) = {study_export, document};
    enum { MANY = 300 };
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    world_observe_many(world, study.id, MANY);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct export_file made;
        struct caller      caller = world->caller;
        CU_ASSERT_EQUAL_FATAL(kinds[i](world->app, &caller, study.id, &made, &world->err), STATUS_OK);
        close(made.file);
        caller.until_ms = 1;
        CU_ASSERT_EQUAL(kinds[i](world->app, &caller, study.id, &made, &world->err), STATUS_BUSY);
        CU_ASSERT_STRING_EQUAL(world->err.code, "deadline_exceeded");
        caller.has_left = has_left;
        CU_ASSERT_EQUAL(kinds[i](world->app, &caller, study.id, &made, &world->err), STATUS_BUSY);
        CU_ASSERT_STRING_EQUAL(world->err.code, "stopped");
    }
    world_end(world);
}

CU_TestInfo suite_exporting[] = {
    {"they stop", test_they_stop},
    CU_TEST_INFO_NULL,
};
