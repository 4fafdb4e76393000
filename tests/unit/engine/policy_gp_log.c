/* The gp algorithm and its log: what a session says follows from the log alone. */
#include "tests/unit/engine/gp_world.h"

#include <string.h>

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
    {"any order", test_any_order},
    {"notes", test_notes},
    CU_TEST_INFO_NULL,
};
