/* The corners of the use cases: what fails half way, comes late, comes twice or is closed meanwhile. */
#include "db/writer/conn.h"
#include "service/trial/events.h"
#include "service/insight/insight.h"
#include "service/main/app_open.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/suggest/suggest.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DAY_MS = 24 * 3600 * 1000 };

static size_t count_events(struct world *world, const char *kind)
{
    const struct event_filter all = {0};
    struct event_page         page;
    size_t                    found = 0;
    CU_ASSERT_EQUAL_FATAL(event_list(world->app, &world->caller, &all, &page, &world->err), STATUS_OK);
    for (size_t i = 0; i < page.len; i++)
        found += strcmp(page.events[i].kind, kind) == 0;
    return found;
}

static struct study find(struct world *world, const char *id)
{
    struct study study;
    CU_ASSERT_EQUAL_FATAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    return study;
}

static enum status try_suggest(struct world *world, const char *study, int64_t count)
{
    struct plan          request = {.count = count, .worker = ""};
    struct suggest_reply reply;
    return trial_suggest(world->app, &world->caller, study, &request, &reply, &world->err);
}

/* ---- transactions that fail ---- */

static enum status add_event(struct db_conn *conn, void *arg, struct error *err)
{
    return event_log(conn, EVENT(.at_ms = 2385, .kind = arg, .actor = "local"), err);
}

/* Its own savepoint is gone when it fails, so that it cannot be undone alone. */
static enum status add_and_lose_savepoint(struct db_conn *conn, void *arg, struct error *err)
{
    TRY(add_event(conn, arg, err));
    TRY(conn_execute(conn, "RELEASE job", err));
    return error_set(err, STATUS_INVALID, "refused", "", "on purpose");
}

/* As the database does when the disk is full. */
static enum status add_and_give_up(struct db_conn *conn, void *arg, struct error *err)
{
    TRY(add_event(conn, arg, err));
    TRY(conn_execute(conn, "ROLLBACK", err));
    return error_set(err, STATUS_FULL, "disk_full", "", "on purpose");
}

/* Refused by COMMIT, not before. */
static enum status add_orphan(struct db_conn *conn, void *arg, struct error *err)
{
    TRY(conn_execute(conn, "PRAGMA defer_foreign_keys = 1", err));
    TRY(add_event(conn, arg, err));
    return db_exec(conn, NULL, err, SQL_CANDIDATES_ADD, BIND(TEXT("std_of_nobody"), TEXT("{}"), TEXT(""), INT(17)));
}

static void test_half_a_job_is_never_committed(void)
{
    static const struct {
        db_fn       fn;
        enum status status;
    } jobs[] = {
        {add_and_lose_savepoint, STATUS_INTERNAL}, {add_and_give_up, STATUS_FULL}, {add_orphan, STATUS_CONFLICT}};
    struct world *world = world_new();
    size_t        len = sizeof jobs / sizeof *jobs - (world->database[0] != '\0'); // references are SQLite's to put off
    for (size_t i = 0; i < len; i++) {
        CU_ASSERT_EQUAL(db_transact(world->app->db, jobs[i].fn, "half", &world->err), jobs[i].status);
        CU_ASSERT_EQUAL(db_transact(world->app->db, add_event, "whole", &world->err), STATUS_OK);
    }
    CU_ASSERT_EQUAL(count_events(world, "half"), 0);
    CU_ASSERT_EQUAL(count_events(world, "whole"), len);
    world_end(world);
}

static enum status read_and_fail(struct db_conn *conn, void *arg, struct error *err)
{
    (void)arg;
    TRY(conn_execute(conn, "ROLLBACK", err)); // as after an error that ends the transaction
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "on purpose");
}

static void test_a_reader_that_failed_reads_again(void)
{
    struct world *world = world_new();
    for (int i = 0; i < 20; i++) // more often than there are readers
        CU_ASSERT_EQUAL(db_read(world->app->db, read_and_fail, NULL, &world->err), STATUS_NO_MEMORY);
    for (int i = 0; i < 20; i++)
        CU_ASSERT_EQUAL(count_events(world, "none"), 0);
    world_end(world);
}

static enum status write_beside(struct db_conn *conn, void *arg, struct error *err)
{
    ++*(int *)arg;
    return db_exec(conn, NULL, err, SQL_WITNESS_ADVANCE, BIND(INT(1)));
}

static void test_a_reader_does_not_write(void)
{
    struct world *world = world_new();
    int           times = 0;
    CU_ASSERT_EQUAL(db_read(world->app->db, write_beside, &times, &world->err), STATUS_INTERNAL);
    CU_ASSERT_EQUAL(times, 1);
    world_end(world);
}

static void test_the_folder_may_lie_behind_a_link(void)
{
    struct world *world = world_new();
    char          folder[64], link[64];
    memcpy(folder, world->folder, sizeof folder);
    snprintf(link, sizeof link, "%.50s-link", folder);
    app_close(world->app);
    CU_ASSERT_EQUAL_FATAL(symlink(folder, link), 0);
    snprintf(world->folder, sizeof world->folder, "%s", link);
    world_open(world);
    CU_ASSERT_EQUAL(db_transact(world->app->db, add_event, "kept", &world->err), STATUS_OK);
    app_close(world->app);
    CU_ASSERT_EQUAL(unlink(link), 0);
    memcpy(world->folder, folder, sizeof folder);
    world_open(world);
    CU_ASSERT_EQUAL(count_events(world, "kept"), 1);
    world_end(world);
}

/* ---- idempotency ---- */

static bool render(void *arg, struct kept_reply *out)
{
    *out = (struct kept_reply){.http_status = 200, .body = arg};
    return true;
}

static void test_a_key_is_forgotten_after_a_day(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    static const struct {
        int64_t     later_ms;
        const char *fingerprint;
        enum status status;
        bool        replayed;
    } calls[] = {
        {0, "f", STATUS_OK, false},     {DAY_MS, "f", STATUS_OK, true}, {0, "other", STATUS_INVALID, false},
        {1, "other", STATUS_OK, false}, {0, "other", STATUS_OK, true},  {DAY_MS + 1, "f", STATUS_OK, false},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        world_clock_ms += calls[i].later_ms;
        world->caller.idempotency =
            (struct idempotency){.key = "k", .fingerprint = calls[i].fingerprint, .render = render, .render_arg = "{}"};
        CU_ASSERT_EQUAL(try_suggest(world, study.id, 1), calls[i].status);
        CU_ASSERT_EQUAL(world->caller.idempotency.replayed, calls[i].replayed);
    }
    CU_ASSERT_EQUAL(find(world, study.id).trials_total, 1);
    CU_ASSERT_EQUAL(count_events(world, "trial.handed_over"), 2); // its lease was over each time, and nobody has a name
    world_end(world);
}

/* A refusal is not kept: what was refused can be repeated under its key when it would be accepted. */
static void test_a_refusal_is_not_replayed(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
    world->caller.idempotency =
        (struct idempotency){.key = "k", .fingerprint = "f", .render = render, .render_arg = "{}"};
    struct caller other = {.token_id = "tok_other", .scope = SCOPE_ADMIN, .arena = &world->arena};
    CU_ASSERT_EQUAL(study_move(world->app, &other, study.id, STUDY_PAUSE, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_REOPEN, &out, &world->err), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(study_move(world->app, &other, study.id, STUDY_COMPLETE, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_REOPEN, &out, &world->err), STATUS_OK);
    CU_ASSERT_FALSE(world->caller.idempotency.replayed);
    CU_ASSERT_EQUAL(find(world, study.id).state, STUDY_ACTIVE);
    world_end(world);
}

/* ---- leases and budgets ---- */

static void test_an_expired_trial_stays_until_it_is_handed_on(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct trial  trial;
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "a").trials[0].number, 1);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "b").trials[0].number, 2);
    world_clock_ms += 61000; // both leases are over, and one worker asks
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "c").trials[0].number, 1);
    CU_ASSERT_EQUAL(
        trial_heartbeat(world->app, &world->caller, study.id, (struct held_trial){2, 1}, &trial, &world->err),
        STATUS_OK);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "d").trials[0].number, 3);
    CU_ASSERT_EQUAL(count_events(world, "trial.expired"), 1);
    world_end(world);
}

static void test_a_worker_gets_its_late_trial_with_a_new_lease(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    int64_t       lease_ms = world_suggest(world, study.id, 1, "w").trials[0].lease_ms;
    CU_ASSERT_EQUAL(lease_ms, world_clock_ms + 60000);
    world_clock_ms += 30000;
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").trials[0].lease_ms, lease_ms);
    world_clock_ms += 31000; // over: anyone could have it now
    struct suggest_reply again = world_suggest(world, study.id, 1, "w");
    CU_ASSERT_EQUAL(again.trials[0].number, 1);
    CU_ASSERT_EQUAL(again.trials[0].lease_ms, world_clock_ms + 60000);
    CU_ASSERT_EQUAL(again.trials[0].lease, 1);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "other").trials[0].number, 2);
    world_end(world);
}

static enum status observe_held(struct world *world, const char *study, struct held_trial held, double value)
{
    const struct observation item = {
        .trial = held.number, .lease = held.lease, .row = -1, .value = value, .stddev = NAN};
    struct observe_reply reply;
    return trial_observe(world->app, &world->caller, study, &(struct observe_request){&item, 1, false}, &reply,
                         &world->err);
}

static void check_lost(struct world *world, const char *study, struct held_trial held, bool is_lost)
{
    enum status  expected = is_lost ? STATUS_CONFLICT : STATUS_OK;
    struct trial trial;
    CU_ASSERT_EQUAL(trial_heartbeat(world->app, &world->caller, study, held, &trial, &world->err), expected);
    if (is_lost)
        CU_ASSERT_STRING_EQUAL(world->err.code, "lease_lost");
}

static void test_a_lease_is_lost_when_the_trial_is_handed_on(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    const char   *id = study.id;
    struct trial  trial;
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "a").trials[0].lease, 1);
    check_lost(world, id, (struct held_trial){1, 1}, false);
    check_lost(world, id, (struct held_trial){1, 2}, true); // which nobody ever had
    world_clock_ms += 61000;
    check_lost(world, id, (struct held_trial){1, 1}, false); // over, but nobody else has asked
    world_clock_ms += 61000;
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "b").trials[0].lease, 2);
    check_lost(world, id, (struct held_trial){1, 1}, true);
    check_lost(world, id, (struct held_trial){1, 0}, true); // it might be either of them
    check_lost(world, id, (struct held_trial){1, 2}, false);
    CU_ASSERT_EQUAL(
        trial_abandon(world->app, &world->caller, id, &(struct abandon_request){.held = {1, 1}}, &trial, &world->err),
        STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "lease_lost");
    CU_ASSERT_EQUAL(
        trial_abandon(world->app, &world->caller, id, &(struct abandon_request){.held = {1, 0}}, &trial, &world->err),
        STATUS_CONFLICT);
    const struct observation failed = {.trial = 1, .row = -1, .outcome = OUTCOME_FAILED, .value = NAN, .stddev = NAN};
    struct observe_reply     reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, id, &(struct observe_request){&failed, 1, false}, &reply,
                                  &world->err),
                    STATUS_CONFLICT); // b still works on it
    CU_ASSERT_EQUAL(observe_held(world, id, (struct held_trial){1, 1}, 2.385), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "lease_lost");
    CU_ASSERT_STRING_EQUAL(world->err.path, "/lease");
    world_clock_ms += 61000;
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "a").trials[0].lease, 3); // not its first one again
    CU_ASSERT_EQUAL(observe_held(world, id, (struct held_trial){1, 2}, 2.385), STATUS_CONFLICT);
    CU_ASSERT_EQUAL(observe_held(world, id, (struct held_trial){1, 3}, 2.385), STATUS_OK);
    CU_ASSERT_EQUAL(observe_held(world, id, (struct held_trial){1, 3}, 2.385), STATUS_OK); // the answer was lost
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "a").trials[0].number, 2);
    world_clock_ms += 61000;
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "b").trials[0].number, 2);
    CU_ASSERT_EQUAL(observe_held(world, id, (struct held_trial){2, 0}, 1.385), STATUS_OK); // late, but first
    CU_ASSERT_EQUAL(count_events(world, "trial.handed_over"), 3);
    world_end(world);
}

/* After an hour of no server all leases are over, and nobody has lost anything. */
static void test_who_comes_back_gets_its_own_trial_first(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "b").trials[0].number, 1);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "a").trials[0].number, 2);
    world_clock_ms += 61000;
    struct trial a = world_suggest(world, study.id, 1, "a").trials[0],
                 b = world_suggest(world, study.id, 1, "b").trials[0];
    CU_ASSERT_TRUE(a.number == 2 && a.lease == 1);
    CU_ASSERT_TRUE(b.number == 1 && b.lease == 1);
    CU_ASSERT_EQUAL(count_events(world, "trial.handed_over"), 0);
    world_end(world);
}

static enum status observe_as(struct world *world, const char *study, struct held_trial held, const char *external_id,
                              double value)
{
    const struct observation item = {.trial = held.number,
                                     .lease = held.lease,
                                     .row = -1,
                                     .outcome = isnan(value) ? OUTCOME_FAILED : OUTCOME_VALUE,
                                     .value = value,
                                     .stddev = NAN,
                                     .external_id = external_id};
    struct observe_reply     reply;
    return trial_observe(world->app, &world->caller, study, &(struct observe_request){&item, 1, false}, &reply,
                         &world->err);
}

static void check_lost_failure(struct world *world, const char *study, struct held_trial held)
{
    CU_ASSERT_EQUAL(observe_as(world, study, held, NULL, NAN), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "lease_lost");
}

static void test_what_is_tried_again_is_not_its_former_workers(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    const char   *id = study.id;
    struct trial  trial;
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "a").trials[0].lease, 1);
    CU_ASSERT_EQUAL(observe_as(world, id, (struct held_trial){1, 1}, "run", NAN), STATUS_OK);
    CU_ASSERT_EQUAL(trial_retry(world->app, &world->caller, id, 1, &trial, &world->err), STATUS_OK);
    check_lost_failure(world, id, (struct held_trial){1, 1}); // its answer was lost, so it says so again
    check_lost_failure(world, id, (struct held_trial){1, 0});
    CU_ASSERT_EQUAL(
        trial_abandon(world->app, &world->caller, id, &(struct abandon_request){.held = {1, 1}}, &trial, &world->err),
        STATUS_CONFLICT);
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "b").trials[0].lease, 2);
    check_lost_failure(world, id, (struct held_trial){1, 1});
    CU_ASSERT_EQUAL(observe_as(world, id, (struct held_trial){1, 0}, "run", 2.385), STATUS_OK); // under its id again
    CU_ASSERT_EQUAL(observe_as(world, id, (struct held_trial){1, 0}, "run", 2.385), STATUS_OK);
    CU_ASSERT_EQUAL(observe_as(world, id, (struct held_trial){1, 0}, "run", 1.75), STATUS_CONFLICT);
    // Given up by somebody else: its worker may still be at it.
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "a").trials[0].number, 2);
    CU_ASSERT_EQUAL(
        trial_abandon(world->app, &world->caller, id, &(struct abandon_request){.held = {2, 0}}, &trial, &world->err),
        STATUS_OK);
    CU_ASSERT_EQUAL(trial_retry(world->app, &world->caller, id, 2, &trial, &world->err), STATUS_OK);
    check_lost(world, id, (struct held_trial){2, 0}, true);
    CU_ASSERT_EQUAL(world_suggest(world, id, 1, "b").trials[0].lease, 2);
    check_lost(world, id, (struct held_trial){2, 0}, true);
    check_lost(world, id, (struct held_trial){2, 1}, true);
    check_lost(world, id, (struct held_trial){2, 2}, false);
    world_end(world);
}

static void test_a_study_ends_when_nothing_is_open(void)
{
    struct world       *world = world_new();
    struct study        study = world_study(world, world_box, "{\"name\":\"random\"}", 1);
    static const double point[] = {0.625, 3, 2};
    struct trial_page   queued;
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id,
                                &(struct queue_request){.points = point, .len = 1}, &queued, &world->err),
                    STATUS_OK);
    const struct observation own = {.point = point, .row = -1, .value = 2.385, .stddev = NAN};
    struct observe_reply     reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){&own, 1, false},
                                  &reply, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(find(world, study.id).state, STUDY_ACTIVE); // the queued trial is to be done
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 3, "w").len, 1);
    CU_ASSERT_EQUAL(try_suggest(world, study.id, 1), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "all_handed_out");
    CU_ASSERT_EQUAL(find(world, study.id).state, STUDY_ACTIVE);
    CU_ASSERT_EQUAL(world_observe(world, study.id, 1, 1.75), STATUS_OK);
    struct study ended = find(world, study.id), out;
    CU_ASSERT_EQUAL(ended.state, STUDY_COMPLETED);
    const struct study_edit edit = {.rules = "{\"budget\":{\"trials\":3}}"};
    CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_REOPEN, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 5, "w").len, 1);
    world_end(world);
}

static struct world      *thinking; /* whose study the policy thinks about */
static struct study       thought;
static _Thread_local bool is_thinking; /* other threads of the application ask for the time, too */
static int64_t            monotonic_with_a_late_result(void)
{
    static const struct observation late = {.trial = 1, .row = -1, .value = 1.5, .stddev = (double)NAN};
    static int                      calls; // the first is made before the policy is asked
    struct observe_reply            reply;
    struct error                    err;
    struct arena                    arena;
    arena_init(&arena, 1 << 20);
    struct caller caller = {.token_id = "tok_late", .scope = SCOPE_ADMIN, .arena = &arena};
    if (is_thinking && ++calls == 2)
        CU_ASSERT_EQUAL(
            trial_observe(thinking->app, &caller, thought.id, &(struct observe_request){&late, 1, false}, &reply, &err),
            STATUS_OK);
    arena_fini(&arena);
    return 1;
}

/* A failed trial gave its place back; its value comes while the policy looks for another point. */
static void test_a_late_result_cannot_break_the_budget(void)
{
    thinking = world_new();
    thought = world_study(thinking, world_box, "{\"name\":\"gp\",\"initial\":2}", 4);
    for (int i = 1; i <= 4; i++)
        CU_ASSERT_EQUAL(world_suggest(thinking, thought.id, 1, "").trials[0].number, i);
    struct observe_reply     reply;
    const struct observation failed = {.trial = 1, .row = -1, .outcome = OUTCOME_FAILED, .value = NAN, .stddev = NAN};
    CU_ASSERT_EQUAL(trial_observe(thinking->app, &thinking->caller, thought.id,
                                  &(struct observe_request){&failed, 1, false}, &reply, &thinking->err),
                    STATUS_OK);
    for (int i = 2; i <= 3; i++)
        CU_ASSERT_EQUAL(world_observe(thinking, thought.id, i, 0.3 * i), STATUS_OK);
    world_monotonic = monotonic_with_a_late_result;
    is_thinking = true;
    struct plan          request = {.count = 1, .worker = "", .deadline_ms = 50000};
    struct suggest_reply none;
    CU_ASSERT_EQUAL(trial_suggest(thinking->app, &thinking->caller, thought.id, &request, &none, &thinking->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(thinking->err.code, "all_handed_out");
    struct study after = find(thinking, thought.id);
    CU_ASSERT_EQUAL(after.trials_total, 4);
    CU_ASSERT_EQUAL(after.trials[TRIAL_COMPLETED], 3);
    CU_ASSERT_EQUAL(after.state, STUDY_ACTIVE); // until the last one is in
    CU_ASSERT_EQUAL(world_observe(thinking, thought.id, 4, 1.25), STATUS_OK);
    CU_ASSERT_EQUAL(find(thinking, thought.id).state, STUDY_COMPLETED);
    world_end(thinking);
}

/* ---- candidates ---- */

static const char *const open_rows = "\"metrics\":[{\"name\":\"y\",\"goal\":\"maximize\"}],\"space\":{\"type\":"
                                     "\"candidates\",\"rows\":40,\"columns\":3,\"private\":false},\"seed\":99";

static void test_a_closed_study_is_not_opened_by_its_upload(void)
{
    struct world            *world = world_new();
    struct study             study = world_study(world, open_rows, "{\"name\":\"po-gp-ucb\"}", 0), out;
    static unsigned char     file[2048];
    size_t                   length = world_npy(file, 0);
    struct candidates_status status;
    CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id,
                                      &(struct candidates_piece){0, (int64_t)length, file, 200}, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_COMPLETE, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id,
                                      &(struct candidates_piece){200, (int64_t)length, file + 200, length - 200},
                                      &status, &world->err),
                    STATUS_OK);
    CU_ASSERT(status.complete);
    CU_ASSERT_EQUAL(find(world, study.id).state, STUDY_COMPLETED);
    CU_ASSERT_EQUAL(study_move(world->app, &world->caller, study.id, STUDY_REOPEN, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(out.state, STUDY_ACTIVE);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "").len, 1);
    world_end(world);
}

static void test_a_manifest_replaces_half_an_undeclared_file(void)
{
    struct world        *world = world_new();
    struct study         study = world_study(world, open_rows, "{\"name\":\"po-gp-ucb\"}", 0);
    static unsigned char file[2048], other[2048];
    size_t               length = world_npy(file, 0);
    world_npy(other, 0.25);
    struct candidates_status status;
    struct manifest          manifest = world_manifest(other, length);
    CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id,
                                      &(struct candidates_piece){0, (int64_t)length, file, 300}, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(status.received_bytes, 0);
    CU_ASSERT_EQUAL(world_upload(world, study.id, other, length, 300, &status), STATUS_OK);
    CU_ASSERT(status.complete);
    CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                    STATUS_OK);
    world_end(world);
}

/* No model without its matrix, and nothing held for it. */
static void test_a_study_without_its_matrix_predicts_nothing(void)
{
    struct world        *world = world_new();
    struct study         study = world_study(world, open_rows, "{\"name\":\"po-gp-ucb\"}", 0);
    static const size_t  rows[] = {3};
    struct predict_reply reply;
    CU_ASSERT_EQUAL(insight_predict(world->app, &world->caller, study.id,
                                    &(struct predict_request){.rows = rows, .len = 1}, &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "awaiting_candidates");
    struct session_stats stats;
    session_stats(world->app, &stats);
    CU_ASSERT(stats.bytes < 4096);
    world_end(world);
}

struct looks {
    int count, last; /* last: whoever waited leaves at this one; 0: he stays */
};

static bool leaves(void *arg)
{
    struct looks *looks = arg;
    return ++looks->count == looks->last || (looks->last > 0 && looks->count > looks->last);
}

/* They look up before every 256 observations: whoever left meanwhile has nothing computed any more. */
static void test_residuals_stop(void)
{
    static const size_t sizes[] = {3, 300};
    struct world       *world = world_new();
    struct residuals    out;
    int                 before = 0;
    for (size_t i = 0; i < 2; i++) {
        struct study  study = world_study(world, world_box, "{\"name\":\"gp\"}", 0);
        struct looks  looks = {0};
        struct caller caller = world->caller;
        world_observe_many(world, study.id, sizes[i]);
        CU_ASSERT_EQUAL(insight_residuals(world->app, &caller, study.id, NULL, &out, &world->err), STATUS_OK);
        caller.has_left = leaves;
        caller.request = &looks;
        CU_ASSERT_EQUAL(insight_residuals(world->app, &caller, study.id, NULL, &out, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(out.len, sizes[i]);
        CU_ASSERT(i == 0 || looks.count == before + 1);
        before = looks.count;
        looks = (struct looks){.last = before};
        CU_ASSERT_EQUAL(insight_residuals(world->app, &caller, study.id, NULL, &out, &world->err), STATUS_BUSY);
        CU_ASSERT_STRING_EQUAL(world->err.code, "stopped");
    }
    world_end(world);
}

static void test_a_row_is_queued_once(void)
{
    struct world            *world = world_new();
    struct study             study = world_study(world, open_rows, "{\"name\":\"po-gp-ucb\"}", 0);
    static unsigned char     file[2048];
    size_t                   length = world_npy(file, 0);
    struct candidates_status status;
    struct trial_page        page;
    CU_ASSERT_EQUAL_FATAL(world_upload(world, study.id, file, length, length, &status), STATUS_OK);
    static const int64_t rows[] = {17, 5, 17};
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id, &(struct queue_request){.rows = rows, .len = 3},
                                &page, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "row_taken");
    CU_ASSERT_STRING_EQUAL(world->err.path, "/candidates/2");
    CU_ASSERT_EQUAL(find(world, study.id).trials_total, 0);
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id, &(struct queue_request){.rows = rows, .len = 2},
                                &page, &world->err),
                    STATUS_OK);
    const struct observation own = {.row = 5, .value = 2.385, .stddev = NAN};
    struct observe_reply     reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){&own, 1, false},
                                  &reply, &world->err),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "row_taken");
    world_end(world);
}

/* ---- memory ---- */

static void test_models_stay_under_their_limit(void)
{
    enum { STUDIES = 1000, LIMIT = 3 << 20 };
    struct world *world = world_new();
    world->app->options.sessions_bytes = LIMIT;
    struct session_stats stats;
    for (int i = 0; i < STUDIES; i++) {
        struct study study =
            world_study(world, world_box, i % 3 == 0 ? "{\"name\":\"sobol\"}" : "{\"name\":\"gp\"}", 0);
        CU_ASSERT_EQUAL(world_suggest(world, study.id, 2, "").len, 2);
        session_stats(world->app, &stats);
        CU_ASSERT(stats.bytes > 0 && stats.bytes <= LIMIT);
    }
    CU_ASSERT(stats.entries > 1 && stats.entries < STUDIES);
    CU_ASSERT_EQUAL(atomic_load(&world->app->counters.session_evictions), STUDIES - stats.entries);
    world_end(world);
}

/* ---- points that cannot be ---- */

static const double *wrong_point; /* what the policy below proposes: [3] */

static enum status propose_wrong(struct session *session, const struct ask *ask, struct proposal *out,
                                 struct error *err)
{
    (void)session, (void)ask, (void)err;
    memcpy(out->point, wrong_point, 3 * sizeof *out->point);
    return STATUS_OK;
}

static enum status suggest_wrong(struct world *world, const char *study, const double *point, const double *fixed)
{
    struct plan          request = {.count = 1, .worker = "", .fixed = fixed, .fixed_len = 3};
    struct suggest_reply reply;
    struct live         *live;
    struct study         found;
    CU_ASSERT_EQUAL_FATAL(study_find(world->app, &world->caller, study, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study, SESSION_ALONE, &live, &world->err),
                          STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_catch_up(world->app, &world->caller, &found, live, &world->err), STATUS_OK);
    struct policy wrong = *live->spec.policy;
    wrong.ask = propose_wrong;
    live->spec.policy = live->streams.policy = &wrong;
    session_unlock(world->app, live);
    wrong_point = point;
    enum status status = trial_suggest(world->app, &world->caller, study, &request, &reply, &world->err);
    CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study, SESSION_ALONE, &live, &world->err),
                          STATUS_OK);
    session_forget(live); // with the policy
    session_unlock(world->app, live);
    return status;
}

/* Whatever an algorithm proposes: what is stored lies in the space and has what was fixed. */
static void test_no_impossible_point_is_stored(void)
{
    static const double wrong[][3] = {
        {9.76e25, 3, 1}, {-1.5000001, 3, 1}, {NAN, 3, 1},       {INFINITY, 3, 1}, {0.5, 2.5, 1},
        {0.5, 10, 1},    {0.5, 0, 1},        {0.5, 3, -1},      {0.5, 3, 3},      {0.5, 3, 1.5},
        {0.5, 3, NAN},   {0.5, NAN, 1},      {2.2500001, 3, 1},
    };
    static const double right[][3] = {{-1.5, 1, 0}, {2.25, 9, 2}, {0.5, 3, 1}};
    static const double fixed[] = {0.5, NAN, 1};
    struct world       *world = world_new();
    struct study        study = world_study(world, world_box, "{\"name\":\"random\"}", 0), after;
    size_t              len = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < len; i++) {
        CU_ASSERT_EQUAL(suggest_wrong(world, study.id, wrong[i], NULL), STATUS_INTERNAL);
        CU_ASSERT_STRING_EQUAL(world->err.code, "impossible_point");
    }
    CU_ASSERT_EQUAL(suggest_wrong(world, study.id, right[0], fixed), STATUS_INTERNAL);
    CU_ASSERT_EQUAL(world->app->counters.impossible_points, len + 1);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &after, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(after.trials_total, 0);
    CU_ASSERT_EQUAL(after.revision, study.revision);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(suggest_wrong(world, study.id, right[i], i == 2 ? fixed : NULL), STATUS_OK);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "").trials[0].number, 4);
    const struct observation item = {.point = wrong[0], .row = -1, .value = 1, .stddev = NAN};
    struct observe_reply     reply;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &(struct observe_request){&item, 1, false},
                                  &reply, &world->err),
                    STATUS_INTERNAL);
    struct trial_page page;
    CU_ASSERT_EQUAL(trial_queue(world->app, &world->caller, study.id,
                                &(struct queue_request){.points = wrong[5], .len = 1}, &page, &world->err),
                    STATUS_INTERNAL);
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &after, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(after.trials_total, 4);
    world_end(world);
}

static enum status count_call(struct db_conn *conn, void *arg, struct error *err)
{
    *(int *)arg += 1;
    return add_event(conn, "t.key", err);
}

static enum status refuse_to_write(void *arg, struct error *err)
{
    return error_set(err, STATUS_INVALID, "out_of_range", arg, "must be less");
}

static void test_a_request_with_mistakes_writes_nothing(void)
{
    struct world   *world = world_new();
    struct caller   callers[2] = {world->caller, world->caller};
    struct error    errs[2];
    struct app_work works[2];
    char            where[] = "/count";
    int             calls = 0;
    callers[0].may_write = refuse_to_write;
    callers[0].request = where;
    CU_ASSERT_EQUAL(app_transact(world->app, &callers[0], count_call, &calls, &errs[0]), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(errs[0].path, "/count");
    for (int i = 0; i < 2; i++)
        works[i] = (struct app_work){.caller = &callers[i], .fn = count_call, .arg = &calls, .err = &errs[i]};
    app_transact_all(world->app, works, 2);
    CU_ASSERT_EQUAL(works[0].status, STATUS_INVALID);
    CU_ASSERT_EQUAL(works[1].status, STATUS_OK);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(count_events(world, "t.key"), 1);
    world_end(world);
}

/* The second finds what the first has just done, and then it is undone with all of its batch. */
static void test_what_a_lost_batch_had_found_is_forgotten(void)
{
    struct world   *world = world_new();
    struct caller   callers[3] = {world->caller, world->caller, world->caller};
    struct app_work works[3];
    struct error    errs[3];
    int             calls = 0;
    for (int i = 0; i < 2; i++)
        callers[i].idempotency =
            (struct idempotency){.key = "k", .fingerprint = "f", .render = render, .render_arg = "{}"};
    for (int i = 0; i < 3; i++)
        works[i] = (struct app_work){.caller = &callers[i], .fn = count_call, .arg = &calls, .err = &errs[i]};
    works[2].fn = add_and_give_up;
    works[2].arg = "t.given_up";
    app_transact_all(world->app, works, 3);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(works[i].status, STATUS_FULL);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL(app_transact(world->app, &callers[1], count_call, &calls, &errs[1]), STATUS_OK);
    CU_ASSERT_FALSE(callers[1].idempotency.replayed);
    CU_ASSERT_EQUAL(calls, 2);
    CU_ASSERT_EQUAL(count_events(world, "t.key"), 1);
    world_end(world);
}

/* Nobody's asking makes a model that draws be built anew: not in vain, and not after many results. */
static void test_a_model_that_draws_is_built_once(void)
{
    static const char few[] = "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":"
                              "\"parameters\",\"parameters\":[{\"name\":\"k\",\"type\":\"int\",\"min\":1,\"max\":3}]}";
    struct world     *world = world_new();
    struct study      study = world_study(world, few, "{\"name\":\"random\"}", 0);
    _Atomic uint64_t *built = &world->app->counters.session_misses;
    world_suggest(world, study.id, 3, "");
    uint64_t before = atomic_load(built);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(try_suggest(world, study.id, 1), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(world->err.code, "all_handed_out");
    }
    CU_ASSERT(atomic_load(built) - before <= 1); // the first of them found what had just been given
    study = world_study(world, world_box, "{\"name\":\"random\",\"repeat\":true}", 0);
    world_suggest(world, study.id, 1, "");
    before = atomic_load(built);
    for (int i = 0; i < 3; i++) {
        world_observe_many(world, study.id, 600);
        world_suggest(world, study.id, 1, "");
    }
    CU_ASSERT_EQUAL(atomic_load(built) - before, 0);
    world_end(world);
}

CU_TestInfo suite_cases[] = {
    {"a request with mistakes writes nothing", test_a_request_with_mistakes_writes_nothing},
    {"what a lost batch had found is forgotten", test_what_a_lost_batch_had_found_is_forgotten},
    {"a model that draws is built once", test_a_model_that_draws_is_built_once},
    {"no impossible point is stored", test_no_impossible_point_is_stored},
    {"half a job is never committed", test_half_a_job_is_never_committed},
    {"a reader that failed reads again", test_a_reader_that_failed_reads_again},
    {"a reader does not write", test_a_reader_does_not_write},
    {"the folder may lie behind a link", test_the_folder_may_lie_behind_a_link},
    {"a key is forgotten after a day", test_a_key_is_forgotten_after_a_day},
    {"a refusal is not replayed", test_a_refusal_is_not_replayed},
    {"a worker gets its late trial with a new lease", test_a_worker_gets_its_late_trial_with_a_new_lease},
    {"an expired trial stays until it is handed on", test_an_expired_trial_stays_until_it_is_handed_on},
    {"a lease is lost when the trial is handed on", test_a_lease_is_lost_when_the_trial_is_handed_on},
    {"who comes back gets its own trial first", test_who_comes_back_gets_its_own_trial_first},
    {"what is tried again is not its former worker's", test_what_is_tried_again_is_not_its_former_workers},
    {"a study ends when nothing is open", test_a_study_ends_when_nothing_is_open},
    {"a late result cannot break the budget", test_a_late_result_cannot_break_the_budget},
    {"a closed study is not opened by its upload", test_a_closed_study_is_not_opened_by_its_upload},
    {"a manifest replaces half an undeclared file", test_a_manifest_replaces_half_an_undeclared_file},
    {"a study without its matrix predicts nothing", test_a_study_without_its_matrix_predicts_nothing},
    {"residuals stop", test_residuals_stop},
    {"a row is queued once", test_a_row_is_queued_once},
    {"models stay under their limit", test_models_stay_under_their_limit},
    CU_TEST_INFO_NULL,
};
