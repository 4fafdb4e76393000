/* The two sessions beside a rule with a guard: who proposes, and what each is told.  The algorithm writes down what it hears. */
#include "engine/policy/session.h"
#include "engine/stopping/streams.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { SESSIONS = 2, HEARD = 16 };

static struct heard {
    bool         is_open;
    size_t       heard;
    struct event events[HEARD];
    size_t       asked;
} sessions[SESSIONS];
struct session {
    struct session_base base;
    struct heard       *own;
};
static size_t opened, openable, note_bytes;

static enum status begin_one(struct session *session, struct error *err)
{
    if (opened >= openable)
        return error_no_memory(err);
    session->own = &sessions[opened++];
    *session->own = (struct heard){.is_open = true};
    return STATUS_OK;
}

static enum status hear(struct session *session, const struct event *event, struct error *err)
{
    (void)err;
    CU_ASSERT_FATAL(session->own->heard < HEARD);
    session->own->events[session->own->heard++] = *event;
    return STATUS_OK;
}

static enum status propose(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    (void)ask;
    (void)err;
    session->own->asked++;
    memset(out->note, 'n', note_bytes);
    out->note_bytes = note_bytes;
    return STATUS_OK;
}

static size_t count_bytes(const struct session *session)
{
    return session->own == &sessions[0] ? 10 : 100;
}

static void end_one(struct session *session)
{
    if (session->own == NULL)
        return;
    CU_ASSERT(session->own->is_open);
    session->own->is_open = false;
}

static const struct policy    policy = {.session_bytes = sizeof(struct session),
                                        .begin = begin_one,
                                        .tell = hear,
                                        .ask = propose,
                                        .bytes_beside = count_bytes,
                                        .end = end_one};
static const struct problem   problem = {.memory_bytes = 1 << 20};
static const struct stop_rule guarded = {
    .kind = STOP_RULE_ASHA, .epochs = 9, .min_epochs = 1, .reduction = 3, .guard = true};
static struct arena   arena;
static struct curves  curves;
static struct streams streams;

static enum status begin(const struct stop_rule *rule, size_t most)
{
    opened = 0;
    openable = most;
    note_bytes = 3;
    arena_init(&arena, 1 << 20);
    curves_init(&curves, &arena);
    return streams_open(&streams, &policy, &problem, rule, NULL);
}

static void end(void)
{
    streams_close(&streams);
    streams_close(&streams);
    CU_ASSERT(!sessions[0].is_open && !sessions[1].is_open);
    arena_fini(&arena);
}

static void tell(struct event event)
{
    CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(streams_tell(&streams, &curves, &event, NULL) == STATUS_OK);
}

static struct proposal proposal;

/* Asks for a trial and tells of it; whether it is whole. */
static bool ask(uint64_t trial)
{
    CU_ASSERT_FATAL(streams_ask(&streams, &guarded, &curves, &(struct ask){.trial = trial}, &proposal, NULL) ==
                    STATUS_OK);
    struct event event = {
        .kind = EVENT_SUGGESTED, .trial = trial, .note = proposal.note, .note_bytes = proposal.note_bytes};
    tell(event);
    return curve_note_is_whole(&event);
}

static const struct event *last(size_t session)
{
    CU_ASSERT_FATAL(sessions[session].heard > 0);
    return &sessions[session].events[sessions[session].heard - 1];
}

/* The note goes to the session that made it; measurements go to neither; a stopped trial is a forecast to the one, and begun to the other. */
static void test_two(void)
{
    CU_ASSERT_FATAL(begin(&guarded, 2) == STATUS_OK);
    CU_ASSERT(streams_bytes(&streams) == session_bytes(streams.session) + session_bytes(streams.whole));
    CU_ASSERT(session_bytes(streams.whole) == session_bytes(streams.session) + 90);
    CU_ASSERT(ask(1) && sessions[1].asked == 1 && sessions[0].asked == 0);
    CU_ASSERT(last(1)->note_bytes == 3 && memcmp(last(1)->note, "nnn", 3) == 0);
    CU_ASSERT(last(0)->note_bytes == 0 && last(0)->note == NULL && last(0)->kind == EVENT_SUGGESTED);
    CU_ASSERT(!ask(2) && sessions[0].asked == 1 && proposal.note_bytes == 3);
    CU_ASSERT(last(0)->note_bytes == 3 && last(1)->note_bytes == 0);
    tell((struct event){.kind = EVENT_MEASURED, .trial = 1, .step = 1, .value = 0.3});
    tell((struct event){.kind = EVENT_MEASURED, .trial = 1, .step = 9, .value = 0.5});
    tell((struct event){.kind = EVENT_MEASURED, .trial = 2, .step = 1, .value = 0.2});
    CU_ASSERT(sessions[0].heard == 2 && sessions[1].heard == 2);
    tell((struct event){.kind = EVENT_OBSERVED, .trial = 1, .value = 0.5});
    tell((struct event){.kind = EVENT_STOPPED, .trial = 2});
    CU_ASSERT(last(1)->kind == EVENT_STOPPED && !last(1)->is_forecast);
    CU_ASSERT(last(0)->kind == EVENT_OBSERVED && last(0)->is_forecast);
    CHECK_NEAR(last(0)->value, 0.4, 1e-12); /* parallel to the only one that was completed */
    const struct event received = {.kind = EVENT_RECEIVED};
    CU_ASSERT(streams_tell(&streams, &curves, &received, NULL) == STATUS_OK);
    CU_ASSERT(last(0)->kind == EVENT_RECEIVED && last(1)->kind == EVENT_RECEIVED);
    end();
}

/* The longest note has room for the mark. */
static void test_long_note(void)
{
    CU_ASSERT_FATAL(begin(&guarded, 2) == STATUS_OK);
    note_bytes = POLICY_NOTE_MAX;
    CU_ASSERT(ask(1));
    CU_ASSERT(proposal.note_bytes == POLICY_NOTE_MAX + sizeof CURVE_NOTE_WHOLE);
    CU_ASSERT(last(1)->note_bytes == POLICY_NOTE_MAX && *((const char *)last(1)->note + POLICY_NOTE_MAX - 1) == 'n');
    end();
}

/* Whole trials of which nothing was ever measured have their share, too: not all that follow are whole. */
static void test_failed(void)
{
    size_t whole = 0;
    CU_ASSERT_FATAL(begin(&guarded, 2) == STATUS_OK);
    for (uint64_t trial = 1; trial <= 8; trial++) {
        whole += ask(trial);
        tell((struct event){.kind = EVENT_FAILED, .trial = trial});
    }
    CU_ASSERT(whole == 4); /* 4 of 5 are 0.8 */
    end();
}

/* The mark is none of the algorithm's business, and what an earlier version marked is whole. */
static bool read_note(const void *note, size_t bytes, struct transfer_state *out)
{
    (void)out;
    return bytes == 3 && memcmp(note, "nnn", 3) == 0;
}

static void test_marks(void)
{
    const struct policy reads = {.read_transfer = read_note};
    CU_ASSERT(streams_read_transfer(&reads, "nnn", 3, NULL) && !streams_read_transfer(&reads, NULL, 0, NULL));
    CU_ASSERT(streams_read_transfer(&reads, CURVE_NOTE_WHOLE "\0nnn", sizeof CURVE_NOTE_WHOLE + 3, NULL));
    CU_ASSERT_FATAL(begin(&guarded, 2) == STATUS_OK);
    tell((struct event){.kind = EVENT_MEASURED, .trial = 1, .step = 1, .value = 0.3, .note = "s", .note_bytes = 1});
    CU_ASSERT(curves_is_whole(&curves, 1) && !curves_is_whole(&curves, 2));
    end();
}

/* Without a guard there is one session, whatever notes say; what cannot be opened whole is not open. */
static void test_one(void)
{
    static const struct stop_rule asha = {.kind = STOP_RULE_ASHA, .epochs = 9, .min_epochs = 1, .reduction = 3};
    CU_ASSERT_FATAL(begin(&asha, 2) == STATUS_OK);
    CU_ASSERT(opened == 1 && streams_bytes(&streams) == session_bytes(streams.session) &&
              !stop_rule_is_due(&asha, &curves));
    tell((struct event){.kind = EVENT_SUGGESTED, .trial = 1});
    tell((struct event){.kind = EVENT_STOPPED, .trial = 1});
    CU_ASSERT(last(0)->kind == EVENT_ABANDONED); /* nothing is known of it */
    end();
    for (size_t most = 0; most < 2; most++) {
        CU_ASSERT(begin(&guarded, most) == STATUS_NO_MEMORY && streams.session == NULL && streams_bytes(&streams) == 0);
        end();
    }
}

CU_TestInfo suite_streams[] = {{"two sessions", test_two}, {"a long note", test_long_note}, {"one session", test_one},
                               {"failed", test_failed},    {"marks", test_marks},           CU_TEST_INFO_NULL};
