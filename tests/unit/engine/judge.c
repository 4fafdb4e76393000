/* The contract of every algorithm that stops trials: a judgement is repeatable, the same after a replay of the log, leaves
 * no trace in proposals, and its note and answer are sound, for sensible and for hostile curves. */
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "engine/stopping/stopping_table.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS = 3, TRIALS = 12, STEPS = 20, EVENTS_MAX = TRIALS * (STEPS + 2), OPTIONS_MAX = 32 };

static const struct param params[PARAMS] = {
    PARAM("lr", DOUBLE, LOG, 1e-5, 0.1, 0),
    PARAM("layers", INT, LINEAR, 1, 6, 0),
    PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
};

struct world {
    const struct policy *policy;
    struct problem       problem;
    struct space         space;
    double               options[OPTIONS_MAX];
    /* the log */
    struct event   events[EVENTS_MAX];
    unsigned char *notes[EVENTS_MAX];
    double         points[TRIALS + 1][PARAMS];
    size_t         len;
};

static void world_init(struct world *w, const struct policy *policy, bool is_minimized)
{
    memset(w, 0, sizeof *w);
    w->policy = policy;
    w->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = PARAMS};
    CU_ASSERT_FATAL(space_init(&w->space, NULL) == STATUS_OK);
    for (int i = 0; policy->options[i].name != NULL; i++)
        w->options[i] = policy->options[i].required ? STEPS : policy->options[i].fallback;
    int paths = policy_option(policy, "paths");
    if (paths >= 0)
        w->options[paths] = policy->options[paths].min;
    w->problem = (struct problem){
        .space = &w->space, .options = w->options, .seed = 2385, .memory_bytes = 1 << 26, .is_minimized = is_minimized};
    CU_ASSERT_EQUAL(policy->epochs(&w->problem), STEPS);
}

static void world_end(struct world *w)
{
    for (size_t i = 0; i < w->len; i++)
        free(w->notes[i]);
}

static struct session *begin_session(const struct world *w)
{
    struct session *session = NULL;
    CU_ASSERT_FATAL(session_open(w->policy, &w->problem, &session, NULL) == STATUS_OK);
    for (size_t i = 0; i < w->len; i++)
        CU_ASSERT(w->policy->tell(session, &w->events[i], NULL) == STATUS_OK);
    return session;
}

/* Tells an event and keeps it with a copy of its note. */
static void keep(struct world *w, struct session *session, const struct event *event)
{
    CU_ASSERT_FATAL(w->len < EVENTS_MAX);
    unsigned char *note = malloc(event->note_bytes + 1);
    CU_ASSERT_FATAL(note != NULL);
    if (event->note_bytes > 0)
        memcpy(note, event->note, event->note_bytes);
    w->notes[w->len] = note;
    w->events[w->len] = *event;
    w->events[w->len].note = event->note_bytes > 0 ? note : NULL;
    CU_ASSERT(w->policy->tell(session, &w->events[w->len], NULL) == STATUS_OK);
    w->len++;
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
    return a->stop == b->stop && strcmp(a->reason, b->reason) == 0 && a->next_step == b->next_step &&
           a->note_bytes == b->note_bytes && memcmp(a->note, b->note, a->note_bytes) == 0;
}

/* The value after a step of a trial: every third comes up poorly; hostile ones have no sense at all. */
static double measured(uint64_t trial, size_t step, bool hostile)
{
    static const double values[] = {1e300, -1e300, 0, 5e-324, -7.5};
    double              top = trial % 3 == 0 ? 0.2 : 0.7 + 0.02 * (double)(trial % 7);
    return hostile ? values[(trial + step) % 5] : top * (1 - exp(-0.5 * (double)step));
}

static void check_verdict(struct world *w, struct session *session, const struct measurement *measurement,
                          struct verdict *verdict)
{
    static struct verdict again;
    CU_ASSERT(w->policy->judge(session, measurement, verdict, NULL) == STATUS_OK);
    CU_ASSERT(w->policy->judge(session, measurement, &again, NULL) == STATUS_OK && same_verdict(verdict, &again));
    CU_ASSERT(verdict->note_bytes <= POLICY_NOTE_MAX && (measurement->step < STEPS || !verdict->stop));
    CU_ASSERT(verdict->next_step == 0 || (verdict->next_step > measurement->step && verdict->next_step < STEPS));
    if (measurement->step % 8 > 1 && !verdict->stop)
        return;
    struct session *other = begin_session(w);
    CU_ASSERT(w->policy->judge(other, measurement, &again, NULL) == STATUS_OK && same_verdict(verdict, &again));
    session_close(other);
}

/* Returns after how many steps the trial ended. */
static size_t run_trial(struct world *w, struct session *session, uint64_t trial, bool hostile)
{
    static struct verdict verdict;
    for (size_t step = 1; step <= STEPS; step++) {
        const struct measurement measurement = {.trial = trial, .step = step, .value = measured(trial, step, hostile)};
        check_verdict(w, session, &measurement, &verdict);
        struct event event = {.kind = EVENT_MEASURED,
                              .trial = trial,
                              .point = w->points[trial],
                              .step = step,
                              .value = measurement.value,
                              .note = verdict.note,
                              .note_bytes = verdict.note_bytes};
        keep(w, session, &event);
        bool is_failed = trial % 8 == 5 && step == 9;
        event.note_bytes = 0;
        event.kind = verdict.stop ? EVENT_STOPPED : is_failed ? EVENT_FAILED : EVENT_OBSERVED;
        if (verdict.stop || is_failed || step == STEPS)
            keep(w, session, &event);
        if (verdict.stop || is_failed)
            return step;
    }
    return STEPS;
}

/* A proposal that a replay makes again, bit by bit. */
static void suggest(struct world *w, struct session *session, uint64_t trial)
{
    static struct proposal proposal, again;
    double                 point[PARAMS], other_point[PARAMS];
    struct session        *other = begin_session(w);
    proposal.point = point;
    again.point = other_point;
    CU_ASSERT(w->policy->ask(session, &(struct ask){.trial = trial}, &proposal, NULL) == STATUS_OK);
    CU_ASSERT(w->policy->ask(other, &(struct ask){.trial = trial}, &again, NULL) == STATUS_OK);
    CU_ASSERT(space_has(&w->space, point) && memcmp(point, other_point, sizeof point) == 0);
    CU_ASSERT(memcmp(&proposal.mean, &again.mean, sizeof proposal.mean) == 0);
    CU_ASSERT(proposal.note_bytes == again.note_bytes && memcmp(proposal.note, again.note, again.note_bytes) == 0);
    session_close(other);
    memcpy(w->points[trial], point, sizeof point);
    keep(w, session,
         &(struct event){.kind = EVENT_SUGGESTED,
                         .trial = trial,
                         .point = w->points[trial],
                         .note = proposal.note,
                         .note_bytes = proposal.note_bytes});
}

/* The model's expectation at a stopped trial's point at the last epoch, before the model was told of the stop and after. */
static void test_stopped(void)
{
    static struct world w;
    size_t              stopped = 0;
    world_init(&w, policy_find("bo-bos"), false);
    struct session *session = begin_session(&w);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        suggest(&w, session, trial);
        (void)run_trial(&w, session, trial, false);
        size_t len = w.len;
        if (w.events[len - 1].kind != EVENT_STOPPED)
            continue;
        double            mean[2], sd[2];
        struct prediction wanted = {.points = w.points[trial], .m = 1, .mean = mean, .sd = sd};
        w.len = len - 1;
        struct session *before = begin_session(&w);
        w.len = len;
        CU_ASSERT(w.policy->predict(before, &wanted, NULL) == STATUS_OK);
        wanted.mean++, wanted.sd++;
        CU_ASSERT(w.policy->predict(session, &wanted, NULL) == STATUS_OK);
        CU_ASSERT(mean[1] < mean[0] && sd[1] < 0.05); /* without the forecast up to 0.36: it would come again */
        session_close(before);
        stopped++;
    }
    CU_ASSERT(stopped > 1);
    session_close(session);
    world_end(&w);
}

static void check_policy(const struct policy *policy, bool hostile)
{
    static struct world w;
    size_t              saved = 0;
    world_init(&w, policy, hostile);
    struct session *session = begin_session(&w);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        suggest(&w, session, trial);
        saved += STEPS - run_trial(&w, session, trial, hostile);
    }
    CU_ASSERT(hostile || saved > 11 + 5); /* 11 are those of the trial that failed */
    CU_ASSERT(session_bytes(session) <= w.problem.memory_bytes);
    session_close(session);
    world_end(&w);
}

static void test_judgements(void)
{
    size_t                      count, judges = 0;
    const struct policy *const *list = policy_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->judge == NULL)
            continue;
        judges++;
        check_policy(list[i], false);
        check_policy(list[i], true);
    }
    CU_ASSERT(judges > 0);
}

/* A trial that was stopped and observed all the same is one of those observed, and predictions are at the last epoch. */
static void test_late_result(void)
{
    static struct world w;
    double              mean[2], sd[2];
    world_init(&w, policy_find("bo-bos"), false);
    struct session *session = begin_session(&w);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        suggest(&w, session, trial);
        (void)run_trial(&w, session, trial, false);
    }
    struct event event = {.kind = EVENT_OBSERVED, .trial = 9, .point = w.points[9], .value = 0.95};
    CU_ASSERT(w.events[w.len - 1].kind != EVENT_SUGGESTED);
    CU_ASSERT(w.policy->predict(session, &(struct prediction){.points = w.points[9], .m = 1, .mean = mean, .sd = sd},
                                NULL) == STATUS_OK);
    keep(&w, session, &event);
    CU_ASSERT(w.policy->predict(session,
                                &(struct prediction){.points = w.points[9], .m = 1, .mean = mean + 1, .sd = sd + 1},
                                NULL) == STATUS_OK);
    CU_ASSERT(mean[0] < 0.6 && mean[1] > 0.7 && sd[1] < sd[0]);
    session_close(session);
    world_end(&w);
}

/* A curve that the rule made from its first epochs lets run is stopped by one made from twice or four times as many. */
static void test_renewed_rule(void)
{
    static struct world   w;
    static struct verdict verdict;
    static unsigned char  first[STOPPING_TABLE_MAX];
    const size_t          warm_up = 4;
    double                epochs[STEPS], errors[STEPS];
    struct event          event;
    world_init(&w, policy_find("bo-bos"), false);
    w.options[policy_option(w.policy, "warm_up")] = (double)warm_up;
    w.options[policy_option(w.policy, "initial")] = 2;
    struct session *session = begin_session(&w);
    for (uint64_t trial = 1; trial <= 3; trial++) {
        suggest(&w, session, trial);
        event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = w.points[trial], .value = 0.893};
        if (trial < 3)
            keep(&w, session, &event);
    }
    event.kind = EVENT_MEASURED;
    for (verdict.stop = false; !verdict.stop && event.step < STEPS; keep(&w, session, &event)) {
        event.step++;
        event.value = 0.835 * (1 - exp(-0.45 * (double)event.step));
        epochs[event.step - 1] = (double)event.step;
        errors[event.step - 1] = 1 - event.value;
        check_verdict(&w, session, &(struct measurement){.trial = 3, .step = event.step, .value = event.value},
                      &verdict);
        bool is_due = event.step == warm_up || event.step == 2 * warm_up || event.step == 4 * warm_up;
        CU_ASSERT_EQUAL(verdict.note_bytes > 0, is_due && !verdict.stop);
        CU_ASSERT(verdict.stop || event.step >= 4 * warm_up || verdict.next_step <= 4 * warm_up + 1);
        CU_ASSERT(event.step < warm_up || event.step >= 2 * warm_up || verdict.next_step <= 2 * warm_up + 1);
        if (event.step == warm_up)
            memcpy(first, verdict.note, verdict.note_bytes);
        event.note = verdict.note;
        event.note_bytes = verdict.note_bytes;
    }
    size_t from = stopping_table_first(first);
    CU_ASSERT(verdict.stop && event.step > 2 * warm_up && event.step < STEPS - 2 && from == warm_up + 1);
    for (size_t n = from; n <= event.step; n++)
        CU_ASSERT(!stopping_table_stops(first, n, stopping_mean(epochs, errors, n, from)));
    session_close(session);
    world_end(&w);
}

CU_TestInfo suite_judge[] = {
    {"judgements", test_judgements},
    {"late result", test_late_result},
    {"renewed rule", test_renewed_rule},
    {"stopped", test_stopped},
    CU_TEST_INFO_NULL,
};
