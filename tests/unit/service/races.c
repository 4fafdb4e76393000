/* Many at once, and long random sequences: the counters of a study are the counts of its trials, whatever happened. */
#include "service/base/clock.h"
#include "service/base/etag.h"
#include "service/app/study_cache.h"
#include "service/trial/events.h"
#include "service/suggest/operation.h"
#include "service/session/session.h"
#include "service/study/study.h"
#include "service/trial/correct.h"
#include "service/trial/observe.h"
#include "service/study/track.h"
#include "service/app/token.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CROWD = 6, SEED = 2385 };

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- what must hold of every study ---- */

static void count_trials(struct world *world, const struct study *study, int64_t counts[TRIAL_STATE_COUNT],
                         double *best)
{
    struct trial_filter filter = {.limit = 300};
    int64_t             number = 0;
    do {
        struct trial_page page;
        CU_ASSERT_EQUAL_FATAL(trial_list(world->app, &world->caller, study->id, &filter, &page, &world->err),
                              STATUS_OK);
        for (size_t i = 0; i < page.len; i++) {
            const struct trial *trial = &page.trials[i];
            CU_ASSERT_EQUAL(trial->number, ++number); // without gaps
            CU_ASSERT_EQUAL(trial->state == TRIAL_COMPLETED, !isnan(trial->value));
            counts[trial->state]++;
            *best = fmin(*best, spec_sign(&study->spec) * -trial->value); // NaN is passed over
        }
        filter.cursor = page.next_cursor;
    } while (filter.cursor != NULL);
    CU_ASSERT_EQUAL(number, study->trials_total);
}

static void check_study(struct world *world, const char *id)
{
    struct study      study;
    struct event_page log;
    int64_t           counts[TRIAL_STATE_COUNT] = {0}, revision = 0;
    double            best = INFINITY;
    CU_ASSERT_EQUAL_FATAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    count_trials(world, &study, counts, &best);
    for (int state = 0; state < TRIAL_STATE_COUNT; state++)
        CU_ASSERT_EQUAL(study.trials[state], counts[state]);
    CU_ASSERT_EQUAL(study.best_trial != 0, counts[TRIAL_COMPLETED] > 0);
    if (study.best_trial != 0)
        CU_ASSERT_EQUAL(spec_sign(&study.spec) * -study.best_value, best);
    const struct event_filter all = {.study = id};
    CU_ASSERT_EQUAL_FATAL(event_list(world->app, &world->caller, &all, &log, &world->err), STATUS_OK);
    for (size_t i = 0; i < log.len; i++) {
        if (log.events[i].revision > 0)
            CU_ASSERT_EQUAL(log.events[i].revision, ++revision);
    }
    CU_ASSERT_EQUAL(study.revision, revision);
}

/* A session that lived through all of it and one that is made from the log propose the same. */
static void check_session(struct world *world, const char *id)
{
    struct live     *live;
    struct proposal *both = ARENA_NEW(&world->arena, struct proposal, 2);
    double           points[2][8];
    enum status      status[2];
    struct study     study;
    CU_ASSERT_EQUAL_FATAL(study_find(world->app, &world->caller, id, &study, &world->err), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        both[i] = (struct proposal){.point = points[i]};
        CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, id, SESSION_ALONE, &live, &world->err),
                              STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(session_catch_up(world->app, &world->caller, &study, live, &world->err), STATUS_OK);
        const struct ask ask = {.trial = (uint64_t)live->told + 1};
        status[i] = live->spec.policy->ask(live->streams.session, &ask, &both[i], &world->err);
        CU_ASSERT(status[i] == STATUS_OK || strcmp(world->err.code, "search_space_exhausted") == 0);
        session_unlock(world->app, live);
        session_drop(world->app, id);
    }
    CU_ASSERT_EQUAL(status[0], status[1]);
    CU_ASSERT_EQUAL(both[0].row, both[1].row);
    CU_ASSERT_EQUAL(memcmp(&both[0].mean, &both[1].mean, 2 * sizeof(double)), 0);
}

/* ---- random sequences ---- */

struct actor {
    struct app *app;
    const char *study;
    const double (*points)[3]; /* NULL: candidates */
    uint64_t      state;       /* of the random numbers */
    bool          moves;       /* the study's state, budget and clock, too */
    struct arena  arena;
    struct caller caller;
    struct error  err;
};

static uint64_t draw(struct actor *actor, uint64_t bound)
{
    actor->state ^= actor->state << 13;
    actor->state ^= actor->state >> 7;
    actor->state ^= actor->state << 17;
    return (actor->state >> 11) % bound;
}

static const double places[4][3] = {{0.625, 3, 2}, {-1.25, 7, 0}, {2.125, 1, 1}, {0.0625, 9, 2}};

static enum status act_observe(struct actor *actor)
{
    struct observation   items[3];
    struct observe_reply reply;
    char                 ids[3][24];
    size_t               len = 1 + draw(actor, 3);
    for (size_t i = 0; i < len; i++) {
        bool         names_trial = actor->points == NULL || draw(actor, 3) > 0;
        enum outcome outcome = (enum outcome)(draw(actor, 6) < 4 ? 0 : 1 + draw(actor, 2));
        snprintf(ids[i], sizeof ids[i], "run-%d", (int)draw(actor, 4000));
        items[i] = (struct observation){
            .trial = names_trial ? 1 + (int64_t)draw(actor, 250) : 0,
            .point = names_trial ? NULL : actor->points[draw(actor, 4)],
            .row = -1,
            .outcome = outcome,
            .value = outcome == OUTCOME_VALUE ? (double)draw(actor, 1 << 20) / 1024 - 300 : (double)NAN,
            .stddev = NAN,
            .external_id = draw(actor, 4) == 0 ? ids[i] : NULL,
        };
    }
    return trial_observe(actor->app, &actor->caller, actor->study, &(struct observe_request){items, len, true}, &reply,
                         &actor->err);
}

static enum status act_suggest(struct actor *actor)
{
    static const char *const workers[] = {"", "a", "b"};
    struct plan              request = {.count = 1 + (int64_t)draw(actor, 3), .worker = workers[draw(actor, 3)]};
    struct suggest_reply     reply;
    return trial_suggest(actor->app, &actor->caller, actor->study, &request, &reply, &actor->err);
}

static enum status act_on_trial(struct actor *actor)
{
    struct trial            trial;
    const struct held_trial held = {.number = 1 + (int64_t)draw(actor, 250)};
    if (draw(actor, 2) == 0)
        return trial_heartbeat(actor->app, &actor->caller, actor->study, held, &trial, &actor->err);
    return trial_abandon(actor->app, &actor->caller, actor->study, &(struct abandon_request){.held = held}, &trial,
                         &actor->err);
}

static enum status act_queue(struct actor *actor)
{
    struct trial_page page;
    if (actor->points == NULL)
        return STATUS_CONFLICT;
    return trial_queue(actor->app, &actor->caller, actor->study,
                       &(struct queue_request){.points = actor->points[0], .len = 1 + draw(actor, 3)}, &page,
                       &actor->err);
}

static enum status act_on_study(struct actor *actor)
{
    struct study study;
    TRY(study_find(actor->app, &actor->caller, actor->study, &study, &actor->err));
    world_clock_ms += (int64_t)draw(actor, 40000);
    if (study.state != STUDY_ACTIVE && draw(actor, 3) > 0)
        return study_move(actor->app, &actor->caller, actor->study,
                          study.state == STUDY_PAUSED ? STUDY_RESUME : STUDY_REOPEN, &study, &actor->err);
    char    rules[64];
    int64_t budget = study.trials_total + (int64_t)draw(actor, 9) - 2;
    snprintf(rules, sizeof rules, "{\"budget\":{\"trials\":%lld}}", (long long)(budget < 1 ? 1 : budget));
    const struct study_edit edit = {.rules = rules};
    if (draw(actor, 2) == 0) {
        char etag[ETAG_BYTES];
        etag_of(study.version, study.revision, etag);
        actor->caller.if_match = etag;
        enum status status = study_patch(actor->app, &actor->caller, actor->study, &edit, &study, &actor->err);
        actor->caller.if_match = NULL;
        return status;
    }
    return study_move(actor->app, &actor->caller, actor->study, (enum study_verb)draw(actor, 4), &study, &actor->err);
}

static enum status act(struct actor *actor)
{
    switch (draw(actor, actor->moves ? 8 : 7)) {
    case 0:
    case 1:
    case 2:
        return act_observe(actor);
    case 3:
    case 4:
        return act_suggest(actor);
    case 5:
        return act_on_trial(actor);
    case 6:
        return act_queue(actor);
    default:
        return act_on_study(actor);
    }
}

/* Refusals are part of it; faults are not. */
static void act_often(struct actor *actor, int times)
{
    for (int i = 0; i < times; i++) {
        arena_init(&actor->arena, 16 << 20);
        actor->caller = (struct caller){.token_id = "tok_actor", .scope = SCOPE_ADMIN, .arena = &actor->arena};
        enum status status = act(actor);
        if (status == STATUS_NO_MEMORY || status == STATUS_FULL || status == STATUS_NUMERIC ||
            status == STATUS_INTERNAL) {
            fprintf(stderr, "step %d: %s %s\n", i, actor->err.code, actor->err.text);
            CU_FAIL("a fault");
        }
        arena_fini(&actor->arena);
    }
}

static void test_counters_are_counts(void)
{
    struct world *world = world_new();
    uint64_t      seed = SEED;
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct actor  actor = {.app = world->app, .study = study.id, .points = places, .state = seed, .moves = true};
    for (int i = 0; i < 10; i++) {
        act_often(&actor, 200);
        check_study(world, study.id);
    }
    check_session(world, study.id);
    world_end(world);
}

static void *act_in_thread(void *arg)
{
    act_often(arg, 60);
    return NULL;
}

static void crowd(struct world *world, const char *study, const double (*points)[3], uint64_t seed)
{
    pthread_t           threads[CROWD];
    static struct actor actors[CROWD];
    for (int i = 0; i < CROWD; i++) {
        actors[i] = (struct actor){
            .app = world->app, .study = study, .points = points, .state = (seed + (uint64_t)i * 7919) | 1};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, act_in_thread, &actors[i]), 0);
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
}

static void test_counters_are_counts_in_a_crowd(void)
{
    static const char *const algorithms[] = {"{\"name\":\"random\"}", "{\"name\":\"gp\",\"initial\":3}"};
    uint64_t                 seed = SEED;
    for (size_t a = 0; a < 2; a++) {
        struct world *world = world_new();
        struct study  study = world_study(world, world_box, algorithms[a], 90);
        crowd(world, study.id, places, seed);
        check_study(world, study.id);
        check_session(world, study.id);
        world_end(world);
    }
}

static void test_candidates_in_a_crowd(void)
{
    static const char *const algorithms[] = {"{\"name\":\"po-gp-ucb\"}", "{\"name\":\"gp\",\"initial\":3}"};
    uint64_t                 seed = SEED;
    for (size_t a = 0; a < 2; a++) {
        struct world            *world = world_new();
        struct study             study = world_study(world, world_rows, algorithms[a], 30);
        static unsigned char     file[2048];
        size_t                   length = world_npy(file, 0);
        struct manifest          manifest = world_manifest(file, length);
        struct candidates_status status;
        CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                        STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(world_upload(world, study.id, file, length, length, &status), STATUS_OK);
        crowd(world, study.id, NULL, seed);
        check_study(world, study.id);
        check_session(world, study.id);
        world_end(world);
    }
}

/* ---- one key, many at once ---- */

struct twin {
    struct app *app;
    const char *study;
    char        reply[32];
    enum status status;
};

static bool render_number(void *arg, struct kept_reply *out)
{
    static _Thread_local char   text[32];
    const struct suggest_reply *reply = arg;
    snprintf(text, sizeof text, "%lld", (long long)reply->trials[0].number);
    *out = (struct kept_reply){.http_status = 200, .body = text};
    return true;
}

static void *suggest_once(void *arg)
{
    struct twin         *twin = arg;
    struct arena         arena;
    struct error         err;
    struct suggest_reply reply;
    struct plan          request = {.count = 1, .worker = ""};
    arena_init(&arena, 4 << 20);
    struct caller caller = {
        .token_id = "tok_twin",
        .scope = SCOPE_WRITE,
        .arena = &arena,
        .idempotency = {.key = "k", .fingerprint = "f", .render = render_number, .render_arg = &reply}};
    twin->status = trial_suggest(twin->app, &caller, twin->study, &request, &reply, &err);
    if (twin->status == STATUS_OK && caller.idempotency.replayed)
        snprintf(twin->reply, sizeof twin->reply, "%s", caller.idempotency.first.body);
    else if (twin->status == STATUS_OK)
        snprintf(twin->reply, sizeof twin->reply, "%lld", (long long)reply.trials[0].number);
    arena_fini(&arena);
    return NULL;
}

static void test_twins_get_one_answer(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"sobol\"}", 0), found;
    struct twin   twins[CROWD];
    pthread_t     threads[CROWD];
    for (int i = 0; i < CROWD; i++) {
        twins[i] = (struct twin){.app = world->app, .study = study.id};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, suggest_once, &twins[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(twins[i].status, STATUS_OK);
        CU_ASSERT_STRING_EQUAL(twins[i].reply, "1");
    }
    CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(found.trials_total, 1);
    CU_ASSERT_EQUAL(atomic_load(&world->app->counters.suggestions), 1);
    check_session(world, study.id);
    world_end(world);
}

/* ---- a study that goes away ---- */

static void test_a_study_is_deleted_under_its_users(void)
{
    struct world        *world = world_new();
    struct session_stats stats;
    for (int round = 0; round < 4; round++) {
        struct study        study = world_study(world, world_box, "{\"name\":\"gp\",\"initial\":3}", 0), gone;
        pthread_t           threads[CROWD];
        static struct actor actors[CROWD];
        for (int i = 0; i < CROWD; i++) {
            actors[i] = (struct actor){
                .app = world->app, .study = study.id, .points = places, .state = (uint64_t)(2385 + 17 * i + round)};
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, act_in_thread, &actors[i]), 0);
        }
        sleep_ms(20);
        CU_ASSERT_EQUAL(study_delete(world->app, &world->caller, study.id, &world->err), STATUS_OK);
        for (int i = 0; i < CROWD; i++)
            pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &gone, &world->err), STATUS_NOT_FOUND);
    }
    session_stats(world->app, &stats);
    CU_ASSERT(stats.bytes <= 4 * 4096); // at most an empty entry each
    world_end(world);
}

/* ---- two ends of one upload ---- */

struct ending {
    struct app          *app;
    const char          *study;
    const unsigned char *file;
    size_t               length;
};

static void *send_end(void *arg)
{
    const struct ending     *ending = arg;
    struct arena             arena;
    struct error             err;
    struct candidates_status status;
    arena_init(&arena, 4 << 20);
    struct caller caller = {.token_id = "tok_end", .scope = SCOPE_ADMIN, .arena = &arena};
    enum status   ignored = candidates_append(
          ending->app, &caller, ending->study,
          &(struct candidates_piece){700, (int64_t)ending->length, ending->file + 700, ending->length - 700}, &status,
          &err);
    (void)ignored;
    arena_fini(&arena);
    return NULL;
}

static void test_a_wrong_end_does_not_undo_a_right_one(void)
{
    struct world        *world = world_new();
    static unsigned char right[2048], wrong[2048];
    size_t               length = world_npy(right, 0);
    memcpy(wrong, right, length);
    wrong[length - 1] ^= 4;
    for (int round = 0; round < 40; round++) {
        struct manifest          manifest = world_manifest(right, length);
        struct study             study = world_study(world, world_rows, "{\"name\":\"po-gp-ucb\"}", 0), found;
        struct candidates_status status;
        struct ending endings[2] = {{world->app, study.id, wrong, length}, {world->app, study.id, right, length}};
        pthread_t     threads[2];
        CU_ASSERT_EQUAL(candidates_declare(world->app, &world->caller, study.id, &manifest, &status, &world->err),
                        STATUS_OK);
        CU_ASSERT_EQUAL(candidates_append(world->app, &world->caller, study.id,
                                          &(struct candidates_piece){0, (int64_t)length, right, 700}, &status,
                                          &world->err),
                        STATUS_OK);
        for (int i = 0; i < 2; i++)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, send_end, &endings[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(candidates_status(world->app, &world->caller, study.id, &status, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(study_find(world->app, &world->caller, study.id, &found, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(status.complete, found.state == STUDY_ACTIVE);
        CU_ASSERT_EQUAL(status.received_bytes, status.complete ? (int64_t)length : 0);
    }
    world_end(world);
}

/* ---- the store ---- */

static _Atomic bool is_held, is_let_go;

static enum status hold_snapshot(struct db_conn *conn, void *arg, struct error *err)
{
    (void)arg;
    struct db_rows rows = db_query(conn, NULL, err, SQL_EVENT_OF_DEFAULT, BIND(INT(0), TEXT(""), INT(0), INT(10)));
    (void)db_next(&rows);
    TRY(db_done(&rows));
    for (is_held = true; !is_let_go;)
        sleep_ms(1);
    return STATUS_OK;
}

static void *read_long(void *arg)
{
    struct error err;
    return (void *)(size_t)db_read(arg, hold_snapshot, NULL, &err);
}

/* After an idle second the journal is shortened; a long reader keeps a part of it, and nobody waits for that.  Who did would
 * wait for it each time, for the 5 s that SQLite is given: the quickest of three is what a slow machine does not change. */
static void test_a_long_reader_holds_nobody_up(void)
{
    struct world *world = world_new();
    pthread_t     thread;
    void         *failed;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_long, world->app->db), 0);
    while (!is_held)
        sleep_ms(1);
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    int          quick = 0;
    for (int i = 0; i < 3; i++) {
        sleep_ms(1300);
        int64_t before_us = clock_us(CLOCK_MONOTONIC);
        world_suggest(world, study.id, 1, "");
        quick += clock_us(CLOCK_MONOTONIC) - before_us < 2500000;
    }
    CU_ASSERT(quick > 0);
    is_let_go = true;
    pthread_join(thread, &failed);
    CU_ASSERT_PTR_NULL(failed);
    world_end(world);
}

/* ---- caches ---- */

struct watch {
    struct app  *app;
    const char  *study;
    char         secret[64];
    _Atomic bool is_over, is_revoked;
    size_t       wrong;
};

/* As GET does: keeps what it read unless something changed meanwhile. */
static void *read_and_keep(void *arg)
{
    struct watch *watch = arg;
    while (!watch->is_over) {
        struct arena arena;
        struct error err;
        struct study study;
        arena_init(&arena, 4 << 20);
        struct caller caller = {.token_id = "tok_reader", .scope = SCOPE_READ, .arena = &arena};
        uint64_t      generation = study_cache_generation(watch->app);
        if (study_find(watch->app, &caller, watch->study, &study, &err) == STATUS_OK) {
            const struct study_view view = {study.name, strlen(study.name), study.version, study.revision, false};
            study_cache_put(watch->app, watch->study, &view, generation);
        }
        bool was_revoked = watch->is_revoked;
        if (token_check(watch->app, watch->secret, false, &caller, &err) == STATUS_OK)
            watch->wrong += was_revoked;
        arena_fini(&arena);
    }
    return NULL;
}

static void test_caches_never_show_the_past(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
    const struct token_new new = TOKEN_NEW(.name = "reader", .scope = SCOPE_READ);
    struct token token;
    CU_ASSERT_EQUAL_FATAL(token_create(world->app, &world->caller, &new, &token, &world->err), STATUS_OK);
    static struct watch watches[3];
    pthread_t           threads[3];
    for (int i = 0; i < 3; i++) {
        watches[i] = (struct watch){.app = world->app, .study = study.id};
        memcpy(watches[i].secret, token.secret, sizeof token.secret);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_and_keep, &watches[i]), 0);
    }
    for (int64_t version = 1; version <= 150; version++) {
        const struct study_edit edit = {.said = "{\"notes\":\"changed\"}"};
        struct study_view       view;
        CU_ASSERT_EQUAL(study_patch(world->app, &world->caller, study.id, &edit, &out, &world->err), STATUS_OK);
        sleep_ms(1);
        if (study_cache_get(world->app, study.id, false, &world->arena, &view))
            CU_ASSERT_EQUAL(view.version, version + 1);
    }
    CU_ASSERT_EQUAL(token_revoke(world->app, &world->caller, token.id, &world->err), STATUS_OK);
    for (int i = 0; i < 3; i++)
        watches[i].is_revoked = true;
    sleep_ms(20);
    for (int i = 0; i < 3; i++) {
        watches[i].is_over = true;
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(watches[i].wrong, 0);
    }
    world_end(world);
}

/* Values read with fewer metrics than there are are as many values too short. */
static void test_metrics_come_between(void)
{
    struct world                *world = world_new();
    struct study                 study = world_study(world, world_box, "{\"name\":\"random\"}", 0), out;
    const int64_t                number = world_suggest(world, study.id, 1, "w").trials[0].number;
    struct caller                late = world->caller;
    const struct metric          seconds = {"seconds", GOAL_TRACK, {NAN, NAN, 0}, {NAN, NAN, 0}, NAN, NAN};
    const double                 values[] = {2.385, NAN, 7.25, NAN};
    struct observation           item = {.trial = number, .row = -1, .value = 2.385, .stddev = NAN};
    const struct observe_request observe = {&item, 1, false};
    struct observe_reply         reply;
    struct trial                 trial;
    CU_ASSERT_EQUAL(study_find(world->app, &late, study.id, &out, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(
        study_track(world->app, &world->caller, study.id, &(struct track_request){&seconds, 1}, &out, &world->err),
        STATUS_OK);
    CU_ASSERT(out.spec.tracked_len == 1 && strcmp(out.spec.metrics[1].name, "seconds") == 0);
    CU_ASSERT_EQUAL(trial_observe(world->app, &late, study.id, &observe, &reply, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "busy");
    item.values = values;
    CU_ASSERT_EQUAL(trial_observe(world->app, &world->caller, study.id, &observe, &reply, &world->err), STATUS_OK);
    const struct correct_request correct = {.result = {.trial = number, .row = -1, .value = 3.5, .stddev = NAN}};
    CU_ASSERT_EQUAL(trial_correct(world->app, &late, study.id, &correct, &trial, &world->err), STATUS_BUSY);
    CU_ASSERT_EQUAL(trial_find(world->app, &world->caller, study.id, number, &trial, &world->err), STATUS_OK);
    CU_ASSERT(trial.value == 2.385 && trial.values != NULL && trial.values[2] == 7.25);
    world_end(world);
}

/* Waits for the end of an operation, for minutes at most. */
static struct operation operation_end(struct world *world, const char *id)
{
    struct operation operation;
    for (int i = 0; i < 30000; i++) {
        CU_ASSERT_EQUAL_FATAL(operation_find(world->app, &world->caller, id, &operation, &world->err), STATUS_OK);
        if (operation.state != OPERATION_RUNNING)
            break;
        sleep_ms(10);
    }
    return operation;
}

/* The operation waits for the model while its request is answered and the memory goes to the next one. */
static void test_an_operation_keeps_what_it_was_asked_for(void)
{
    static const char *const algorithms[] = {"{\"name\":\"random\"}", "{\"name\":\"gp\"}"};
    struct world            *world = world_new();
    for (size_t i = 0; i < 2; i++) {
        struct study     study = world_study(world, world_box, algorithms[i], 0);
        double           fixed[3] = {0.25, NAN, 2};
        char             worker[] = "first";
        struct plan      request = {.count = 2, .worker = worker, .fixed = fixed, .fixed_len = 3};
        struct operation operation;
        struct live     *live;
        CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study.id, SESSION_ALONE, &live, &world->err),
                              STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(operation_begin(world->app, &world->caller, study.id,
                                              &(struct operation_new){&request, 0}, &operation, &world->err),
                              STATUS_OK);
        CU_ASSERT_EQUAL(operation.state, OPERATION_RUNNING);
        fixed[0] = fixed[1] = fixed[2] = 9.76e25;
        memcpy(worker, "other", sizeof worker);
        session_unlock(world->app, live);
        operation = operation_end(world, operation.id);
        CU_ASSERT_EQUAL_FATAL(operation.state, OPERATION_SUCCEEDED);
        CU_ASSERT_EQUAL_FATAL(operation.len, 2);
        for (size_t k = 0; k < 2; k++) {
            const struct trial *trial = &operation.trials[k];
            CU_ASSERT_EQUAL(trial->point[0], 0.25);
            CU_ASSERT(trial->point[1] >= 1 && trial->point[1] <= 9);
            CU_ASSERT_EQUAL(trial->point[2], 2);
            CU_ASSERT_STRING_EQUAL(trial->worker, "first");
        }
    }
    world_end(world);
}

static enum status begin_operation(struct world *world, const char *study, const char *worker, double held,
                                   struct operation *out)
{
    const double fixed[3] = {held, NAN, NAN};
    struct plan  request = {.count = 1, .worker = worker, .fixed = fixed, .fixed_len = 3};
    return operation_begin(world->app, &world->caller, study, &(struct operation_new){&request, 0}, out, &world->err);
}

static void test_an_operation_answers_only_what_was_asked(void)
{
    struct world    *world = world_new();
    struct study     study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    struct operation first, again, other, nobody;
    struct live     *live;
    CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study.id, SESSION_ALONE, &live, &world->err),
                          STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(begin_operation(world, study.id, "w", 0.25, &first), STATUS_OK);
    CU_ASSERT_EQUAL(begin_operation(world, study.id, "w", 0.25, &again), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(first.id, again.id);
    CU_ASSERT_EQUAL(begin_operation(world, study.id, "w", 0.5, &other), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "fixed_conflict");
    CU_ASSERT_PTR_NOT_NULL(strstr(world->err.text, first.id));
    CU_ASSERT_EQUAL_FATAL(begin_operation(world, study.id, "", 0.25, &nobody), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(begin_operation(world, study.id, "", 0.5, &other), STATUS_OK);
    CU_ASSERT_STRING_NOT_EQUAL(nobody.id, other.id);
    session_unlock(world->app, live);
    const struct operation *const operations[] = {&first, &nobody, &other};
    for (size_t k = 0; k < 3; k++) {
        struct operation done = operation_end(world, operations[k]->id);
        CU_ASSERT_EQUAL_FATAL(done.len, 1);
        CU_ASSERT_EQUAL(done.trials[0].point[0], k < 2 ? 0.25 : 0.5);
    }
    world_end(world);
}

/* ---- some leave while others wait with them ---- */

struct guest {
    struct app  *app;
    const char  *study;
    char         worker[16];
    bool         has_left;
    enum status  status;
    struct error err;
};

static bool is_gone(void *arg)
{
    return ((struct guest *)arg)->has_left;
}

static void *ask_as_guest(void *arg)
{
    struct guest        *guest = arg;
    struct arena         arena;
    struct suggest_reply reply;
    struct plan          request = {.count = 1, .worker = guest->worker};
    arena_init(&arena, 4 << 20);
    struct caller caller = {
        .token_id = "tok_guest", .scope = SCOPE_WRITE, .arena = &arena, .has_left = is_gone, .request = guest};
    guest->status = trial_suggest(guest->app, &caller, guest->study, &request, &reply, &guest->err);
    arena_fini(&arena);
    return NULL;
}

/* Requests that come while a session is not free are a group; that its leader's client has left is nothing to the others. */
static void test_who_stays_is_answered(void)
{
    enum { ROUNDS = 8, GUESTS = 8 };
    struct world *world = world_new();
    for (int round = 0; round < ROUNDS; round++) {
        struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
        struct guest guests[GUESTS] = {0};
        pthread_t    threads[GUESTS];
        struct live *live;
        CU_ASSERT_EQUAL_FATAL(session_lock(world->app, &world->caller, study.id, SESSION_ALONE, &live, &world->err),
                              STATUS_OK);
        for (int i = 0; i < GUESTS; i++) {
            guests[i] = (struct guest){.app = world->app, .study = study.id, .has_left = i < GUESTS / 2};
            snprintf(guests[i].worker, sizeof guests[i].worker, "guest %d", i);
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, ask_as_guest, &guests[i]), 0);
        }
        sleep_ms(5); // most have come; it is right whoever has
        session_unlock(world->app, live);
        for (int i = 0; i < GUESTS; i++) {
            pthread_join(threads[i], NULL);
            CU_ASSERT(guests[i].status == STATUS_OK || guests[i].has_left);
        }
        check_study(world, study.id);
    }
    world_end(world);
}

/* Each may take as much memory as the largest model. */
static void test_sessions_of_ones_own_are_few(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"gp\"}", 0);
    struct live  *lives[3];
    size_t        held = world->app->options.sessions_bytes;
    world->app->options.sessions_bytes = 2 * world->app->options.session_bytes;
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(session_alone(world->app, &world->caller, study.id, &lives[i], &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(session_alone(world->app, &world->caller, study.id, &lives[2], &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "busy");
    session_alone_end(world->app, lives[0]);
    CU_ASSERT_EQUAL_FATAL(session_alone(world->app, &world->caller, study.id, &lives[2], &world->err), STATUS_OK);
    session_alone_end(world->app, lives[1]);
    session_alone_end(world->app, lives[2]);
    world->app->options.sessions_bytes = 1; // one there is always
    CU_ASSERT_EQUAL_FATAL(session_alone(world->app, &world->caller, study.id, &lives[0], &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(session_alone(world->app, &world->caller, study.id, &lives[1], &world->err), STATUS_BUSY);
    session_alone_end(world->app, lives[0]);
    world->app->options.sessions_bytes = held;
    world_end(world);
}

static void test_what_is_made_again_may_have_seen_less(void)
{
    struct world *world = world_new();
    struct study  study = world_study(world, world_box, "{\"name\":\"gp\"}", 0);
    struct live  *live;
    int64_t       revisions[2];
    for (size_t i = 0; i < 2; i++) {
        world_observe_many(world, study.id, i + 1);
        CU_ASSERT_EQUAL_FATAL(study_find(world->app, &world->caller, study.id, &study, &world->err), STATUS_OK);
        revisions[i] = study.revision;
    }
    CU_ASSERT_EQUAL_FATAL(session_alone(world->app, &world->caller, study.id, &live, &world->err), STATUS_OK);
    for (size_t i = 1; i < 4; i++) {
        const struct session_at at = {.seen = revisions[i % 2], .made = study.revision + 1};
        CU_ASSERT_EQUAL(session_replay(world->app, live, &at, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(live->observations, i % 2 == 0 ? 1 : 3);
    }
    (void)world_suggest(world, study.id, 3, "w");
    for (int64_t i = 0; i < 4; i++) { // of three that were made together
        const struct session_at at = {.seen = study.revision, .made = study.revision + 1 + i % 2 * 2};
        CU_ASSERT_EQUAL(session_replay(world->app, live, &at, &world->err), STATUS_OK);
        CU_ASSERT_EQUAL(live->told, 3 + i % 2 * 2);
    }
    session_alone_end(world->app, live);
    world_end(world);
}

CU_TestInfo suite_races[] = {
    {"who stays is answered", test_who_stays_is_answered},
    {"sessions of one's own are few", test_sessions_of_ones_own_are_few},
    {"what is made again may have seen less", test_what_is_made_again_may_have_seen_less},
    {"counters are counts", test_counters_are_counts},
    {"counters are counts in a crowd", test_counters_are_counts_in_a_crowd},
    {"candidates in a crowd", test_candidates_in_a_crowd},
    {"twins get one answer", test_twins_get_one_answer},
    {"a study is deleted under its users", test_a_study_is_deleted_under_its_users},
    {"a wrong end does not undo a right one", test_a_wrong_end_does_not_undo_a_right_one},
    {"a long reader holds nobody up", test_a_long_reader_holds_nobody_up},
    {"caches never show the past", test_caches_never_show_the_past},
    {"metrics come between", test_metrics_come_between},
    {"an operation keeps what it was asked for", test_an_operation_keeps_what_it_was_asked_for},
    {"an operation answers only what was asked", test_an_operation_answers_only_what_was_asked},
    CU_TEST_INFO_NULL,
};
