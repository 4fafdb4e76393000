/* The gp algorithm and its log: what a session says follows from the log alone. */
#include "tests/unit/engine/gp_world.h"

#include <string.h>

static void test_replay(void)
{
    for (int run = 0; run < 5; run++) {
        double        options[OPTIONS] = {run % 3, run % 4, run == 4 ? 2.5 : NAN, run == 3 ? 3 : NAN};
        struct study *s = study_new(mixed, 4, options);
        for (int t = 0; t < 16; t++) {
            study_step(s, mixed_value);
            if (t % 5 == 3)
                study_check_replay(s);
        }
        /* pending, failed, infeasible, abandoned and late ones */
        for (int k = 0; k < 5; k++) {
            study_ask(s, NULL);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            study_check_replay(s);
        }
        uint64_t last = s->trials;
        study_tell(s, EVENT_INFEASIBLE, last - 1, s->points[s->events_len - 2], 0);
        study_tell(s, EVENT_FAILED, last - 2, s->points[s->events_len - 4], 0);
        study_tell(s, EVENT_ABANDONED, last - 3, s->points[s->events_len - 6], 0);
        study_check_replay(s);
        study_tell(s, EVENT_OBSERVED, last - 3, s->points[s->events_len - 1], -0.7);
        study_step(s, mixed_value);
        study_check_replay(s);
        study_free(s);
    }
}

/* A forgotten proposal leaves no trace, nor does a prediction. */
static void test_ask_changes_nothing(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        first[4], mean[2], sd[2], again[2], sd_again[2];
    for (int t = 0; t < 14; t++)
        study_step(s, mixed_value);
    study_ask(s, NULL);
    memcpy(first, s->point, sizeof first);
    CU_ASSERT(s->proposal.note_bytes > 0);
    CU_ASSERT_EQUAL(s->proposal.observations, 14);
    CU_ASSERT_EQUAL(
        gp()->predict(s->session, &(struct prediction){.points = s->points[4], .m = 2, .mean = mean, .sd = sd}, NULL),
        STATUS_OK);
    s->trials--;
    study_ask(s, NULL);
    CU_ASSERT(memcmp(first, s->point, sizeof first) == 0);
    CU_ASSERT_EQUAL(gp()->predict(s->session,
                                  &(struct prediction){.points = s->points[4], .m = 2, .mean = again, .sd = sd_again},
                                  NULL),
                    STATUS_OK);
    CU_ASSERT(memcmp(mean, again, sizeof mean) == 0 && memcmp(sd, sd_again, sizeof sd) == 0);
    study_free(s);
}

/* Suggested one by one or all at once: the same next proposal, bit by bit, while the values come in the same order. */
static void test_any_order(void)
{
    struct study *one = study_new(mixed, 4, NULL), *all = study_new(mixed, 4, NULL);
    for (int t = 0; t < 19; t++)
        study_step(one, mixed_value);
    for (size_t i = one->events_len; i-- > 0;)
        if (one->events[i].kind == EVENT_OBSERVED)
            study_tell(all, EVENT_SUGGESTED, one->events[i].trial, one->points[i], 0);
    for (size_t i = 0; i < one->events_len; i++) {
        const struct event *event = &one->events[i];
        if (event->note != NULL) /* the fits have to be the same: as suggested again, with their notes */
            CU_ASSERT_EQUAL(gp()->tell(all->session, event, NULL), STATUS_OK);
    }
    for (size_t i = 0; i < one->events_len; i++)
        if (one->events[i].kind == EVENT_OBSERVED)
            study_tell(all, EVENT_OBSERVED, one->events[i].trial, one->points[i], one->events[i].value);
    all->trials = one->trials;
    study_ask(one, NULL);
    study_ask(all, NULL);
    CU_ASSERT(memcmp(one->point, all->point, 4 * sizeof(double)) == 0);
    CU_ASSERT(one->proposal.mean == all->proposal.mean);
    study_free(one);
    study_free(all);
}

/* A note is used when it is sound, and passed over when it is not. */
static void test_notes(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        first[4];
    for (int t = 0; t < 11; t++)
        study_step(s, mixed_value);
    study_ask(s, NULL);
    memcpy(first, s->point, sizeof first);
    CU_ASSERT_FATAL(s->proposal.note_bytes > 8);
    s->proposal.note[s->proposal.note_bytes - 1] = 0x7f; /* a noise variance beyond all bounds */
    study_tell(s, EVENT_SUGGESTED, 12, s->point, 0);
    study_tell(s, EVENT_ABANDONED, 12, s->point, 0);
    s->trials = 11;
    study_ask(s, NULL);
    CU_ASSERT(memcmp(first, s->point, sizeof first) == 0);
    CU_ASSERT(s->proposal.note_bytes > 0);
    study_tell(s, EVENT_SUGGESTED, 12, s->point, 0); /* sound: the next proposal needs no fit */
    study_ask(s, NULL);
    CU_ASSERT_EQUAL(s->proposal.note_bytes, 0);
    CU_ASSERT(memcmp(first, s->point, sizeof first) != 0);
    study_free(s);
}

CU_TestInfo suite_policy_gp_log[] = {
    {"replay", test_replay},
    {"ask changes nothing", test_ask_changes_nothing},
    {"any order", test_any_order},
    {"notes", test_notes},
    CU_TEST_INFO_NULL,
};
