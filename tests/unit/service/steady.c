/* Wall clocks are set; leases, keys and deadlines do not notice, over restarts and reboots too. */
#include "service/app/app_transact.h"
#include "service/federation/federation.h"
#include "service/main/app_open.h"
#include "service/app/steady.h"
#include "service/study/keeper.h"
#include "service/study/study.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

enum { DAY_MS = 24 * 3600 * 1000, MINUTE_MS = 60000 };

static struct world *begin(void)
{
    world_wall_ahead_ms = 0;
    struct world *world = world_new();
    db_set_upkeep(world->app->db, NULL, NULL); // the tests note themselves
    return world;
}

static void end(struct world *world)
{
    world_wall_ahead_ms = 0;
    world_end(world);
}

static void test_a_running_trial_stays_when_the_wall_clock_is_set(void)
{
    static const int64_t ahead[] = {0, DAY_MS, -DAY_MS, 40LL * DAY_MS, 0};
    struct world        *world = begin();
    struct study         study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct trial         first = world_suggest(world, study.id, 1, "w").trials[0];
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        world_wall_ahead_ms = ahead[i];
        CU_ASSERT_EQUAL(steady_shift_ms(world->app), ahead[i]);
        CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").trials[0].number, first.number);
        CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").trials[0].lease_ms, first.lease_ms);
        CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "").trials[0].number, (int64_t)i + 2);
        app_close(world->app); // and over a restart
        world_open(world);
    }
    world_clock_ms += 61000; // its time is over: whoever asks gets it
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "other").trials[0].number, first.number);
    end(world);
}

static struct study found(struct world *world, const char *id)
{
    struct study study;
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    return study;
}

static void test_when_a_study_ends_is_shown_alike_while_its_etag_is_the_same(void)
{
    static const int64_t    ahead[] = {DAY_MS, -DAY_MS, 250, 0};
    const struct study_edit edit = {.rules = "{\"budget\":{\"seconds\":600}}"};
    struct world           *world = begin();
    struct study            study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
    CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_OK);
    world_suggest(world, study.id, 1, "w");
    study = found(world, study.id);
    CU_ASSERT_EQUAL(study.tally.ends_at_ms, world_clock_ms + 600 * 1000);
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        world_wall_ahead_ms = ahead[i];
        world_clock_ms += MINUTE_MS;
        CU_ASSERT_EQUAL(keeper_look(world->app, &world->err), STATUS_OK);
        out = found(world, study.id);
        CU_ASSERT(out.version == study.version && out.revision == study.revision);
        CU_ASSERT_EQUAL(out.tally.ends_at_ms, study.tally.ends_at_ms);
    }
    world_wall_ahead_ms = DAY_MS;
    CU_ASSERT_EQUAL(world_observe(world, study.id, 1, 1.5), STATUS_OK);
    out = found(world, study.id);
    CU_ASSERT_EQUAL(out.tally.ends_at_ms, study.tally.ends_at_ms + DAY_MS); // it follows with the next line of the log
    CU_ASSERT_EQUAL(out.tally.ends_ms, study.tally.ends_ms);
    CU_ASSERT_EQUAL(out.state, STUDY_ACTIVE);
    world_clock_ms = study.tally.ends_at_ms - 1;
    CU_ASSERT_EQUAL(keeper_look(world->app, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found(world, study.id).state, STUDY_ACTIVE);
    world_clock_ms++;
    CU_ASSERT_EQUAL(keeper_look(world->app, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found(world, study.id).state, STUDY_COMPLETED);
    end(world);
}

static bool render(void *arg, struct kept_reply *out)
{
    *out = (struct kept_reply){.http_status = 200, .body = arg};
    return true;
}

static enum status nothing(struct db_conn *conn, void *arg, struct error *err)
{
    (void)conn, (void)err;
    ++*(int *)arg;
    return STATUS_OK;
}

/* Whether the work was done (again). */
static bool does(struct world *world, const char *key)
{
    int calls = 0;
    world->caller.idempotency =
        (struct idempotency){.key = key, .fingerprint = "f", .render = render, .render_arg = "{}"};
    CU_ASSERT_EQUAL(app_transact(world->app, &world->caller, nothing, &calls, &world->err), STATUS_OK);
    world->caller.idempotency = (struct idempotency){0};
    return calls == 1;
}

static void test_a_key_is_honoured_for_a_day_whatever_the_wall_clock_says(void)
{
    struct world *world = begin();
    CU_ASSERT_TRUE(does(world, "k"));
    world_wall_ahead_ms = 2 * DAY_MS;
    CU_ASSERT_FALSE(does(world, "k"));
    world_wall_ahead_ms = -2 * DAY_MS;
    world_clock_ms += DAY_MS - MINUTE_MS;
    CU_ASSERT_FALSE(does(world, "k"));
    world_clock_ms += 2 * MINUTE_MS; // too old, whether it was purged or not
    CU_ASSERT_TRUE(does(world, "k"));
    CU_ASSERT_FALSE(does(world, "k"));
    end(world);
}

static void test_a_round_is_due_after_its_time(void)
{
    struct world           *world = begin();
    const struct federation open = {.state = FEDERATION_ACTIVE,
                                    .received = 1,
                                    .expected = 2,
                                    .needed = 1,
                                    .deadline_ms = steady_ms(world->app) + 3000};
    world_wall_ahead_ms = DAY_MS;
    CU_ASSERT_FALSE(federation_is_due(&open, steady_ms(world->app)));
    world_wall_ahead_ms = -DAY_MS;
    CU_ASSERT_FALSE(federation_is_due(&open, steady_ms(world->app)));
    world_clock_ms += 3000;
    CU_ASSERT_TRUE(federation_is_due(&open, steady_ms(world->app)));
    end(world);
}

/* A boot: the boot clock begins anew, and "ahead" is then the wall clock over it. */
static int64_t boot(struct world *world, const char *id, int64_t wall_ms)
{
    world_clock_ms = 5000;
    world_wall_ahead_ms = wall_ms - world_clock_ms;
    CU_ASSERT_EQUAL_FATAL(steady_start(world->app, id, &world->err), STATUS_OK);
    return steady_ms(world->app);
}

static void test_after_another_boot_the_clock_goes_on(void)
{
    struct world *world = begin();
    int64_t       saved_ms = world_clock_ms, wall_ms = world_clock_ms;
    CU_ASSERT_EQUAL_FATAL(steady_start(world->app, "one", &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(steady_ms(world->app), wall_ms);
    CU_ASSERT_EQUAL(boot(world, "two", wall_ms + MINUTE_MS), wall_ms + MINUTE_MS); // a minute off
    int64_t last_ms = steady_ms(world->app);
    CU_ASSERT_EQUAL(boot(world, "three", 1000), last_ms); // its battery is empty: not back to 1970
    CU_ASSERT_EQUAL(boot(world, "four", 1000 + MINUTE_MS), last_ms + MINUTE_MS); // and on from there
    CU_ASSERT_EQUAL(boot(world, "four", 1000), last_ms + MINUTE_MS);             // a clock that went back on one boot
    CU_ASSERT_EQUAL(boot(world, "", 1000), last_ms + MINUTE_MS);                 // no id: as after another boot
    CU_ASSERT_EQUAL(boot(world, "", 1000 + MINUTE_MS), last_ms + 2 * MINUTE_MS);
    world_clock_ms = saved_ms;
    end(world);
}

struct note {
    struct app *app;
    bool        was_busy;
};

static enum status note(struct db_conn *conn, void *arg, struct error *err)
{
    const struct note *note = arg;
    return steady_note(note->app, conn, note->was_busy, err);
}

/* The time from which the next boot goes on, if the wall clock stands still while the machine is off. */
static int64_t noted(struct world *world, bool was_busy)
{
    struct note work = {world->app, was_busy};
    CU_ASSERT_EQUAL(db_transact(world->app->db, note, &work, &world->err), STATUS_OK);
    return world->app->steady.noted_ms;
}

static void test_what_is_noted_for_the_next_boot(void)
{
    struct world *world = begin();
    int64_t       first_ms = noted(world, true);
    world_clock_ms += 9999;
    CU_ASSERT_EQUAL(noted(world, true), first_ms);
    world_clock_ms += 1;
    CU_ASSERT_EQUAL(noted(world, false), first_ms); // nothing to keep: an idle store does not write
    CU_ASSERT_EQUAL(noted(world, true), first_ms + 10000);
    world_clock_ms += 5000;
    world_wall_ahead_ms = DAY_MS; // set forward: the next boot must not take that for time that passed
    CU_ASSERT_EQUAL(noted(world, false), first_ms + 15000);
    CU_ASSERT_EQUAL(boot(world, "next", first_ms + 15000 + DAY_MS + MINUTE_MS), first_ms + 15000 + MINUTE_MS);
    world_clock_ms = first_ms + 15000;
    end(world);
}

CU_TestInfo suite_steady[] = {
    {"when a study ends is shown alike while its ETag is the same",
     test_when_a_study_ends_is_shown_alike_while_its_etag_is_the_same},
    {"a running trial stays when the wall clock is set", test_a_running_trial_stays_when_the_wall_clock_is_set},
    {"a key is honoured for a day whatever the wall clock says",
     test_a_key_is_honoured_for_a_day_whatever_the_wall_clock_says},
    {"a round is due after its time", test_a_round_is_due_after_its_time},
    {"after another boot the clock goes on", test_after_another_boot_the_clock_goes_on},
    {"what is noted for the next boot", test_what_is_noted_for_the_next_boot},
    CU_TEST_INFO_NULL,
};
