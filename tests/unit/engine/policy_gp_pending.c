/* The gp algorithm with many workers: what it proposes while other trials are pending. */
#include "tests/unit/engine/gp_world.h"
#include "tests/unit/thorough.h"

#include <string.h>

/* Pending points are kept away from, and their number does not stop proposals. */
static void test_batch(void)
{
    struct study *s = study_new(box2, 2, NULL);
    for (int t = 0; t < 20; t++)
        study_step(s, branin);
    for (int k = 0; k < 12; k++) {
        study_ask(s, NULL);
        CU_ASSERT_PTR_NULL(s->proposal.fallback);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        for (size_t i = 40; i + 1 < s->events_len; i++)
            CU_ASSERT(hypot(s->points[i][0] - s->point[0], s->points[i][1] - s->point[1]) > 1e-5);
    }
    study_free(s);
}

/* A point for each of so many workers; how many of them there are. */
static size_t ask_workers(struct study *s, size_t workers)
{
    size_t first = s->events_len, distinct = 0, bytes = s->space.params_len * sizeof *s->point;
    for (size_t w = 0; w < workers; w++) {
        bool is_new = true;
        study_ask(s, NULL);
        for (size_t i = first; i < s->events_len; i++)
            is_new &= memcmp(s->points[i], s->point, bytes) != 0;
        distinct += is_new;
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
    }
    return distinct;
}

/* How many of the last points are farther than a fiftieth of the range from each of those before. */
static size_t count_apart(const struct study *s, size_t last)
{
    size_t first = s->events_len - last, apart = 0;
    for (size_t i = first; i < s->events_len; i++) {
        bool is_apart = true;
        for (size_t k = first; k < i; k++)
            is_apart &= hypot(s->points[i][0] - s->points[k][0], s->points[i][1] - s->points[k][1]) > 15 * 0.02;
        apart += is_apart;
    }
    return apart;
}

/* No two workers get nearly the same point, where values are noisy, too: a pending value is drawn, and counts as known
 * without noise.  Of 64 there are 59 apart then, mean
 * of ten runs; 54 by whole deviations, 47 if it were its mean, 42 and 18 if these had the noise of the others.  (Thompson
 * sampling, the third acquisition, spreads by itself.) */
static void test_apart(void)
{
    size_t apart = 0, runs = 0;
    for (uint64_t seed = 1; seed <= (thorough ? 5 : 2); seed++)
        for (int acquisition = 0; acquisition < 2; acquisition++, runs++) {
            double        options[OPTIONS] = {acquisition, 0, NAN, NAN, 0};
            struct study *s = study_new(box2, 2, options);
            s->problem.seed = seed;
            for (int t = 0; t < 20; t++)
                study_step(s, noisy_branin);
            CU_ASSERT_EQUAL(ask_workers(s, 64), 64);
            apart += count_apart(s, 64);
            study_free(s);
        }
    CU_ASSERT(apart >= 48 * runs);
}

/* Round after round of ten, near the optimum of an exact function. */
static void test_rounds(void)
{
    for (uint64_t seed = 0; seed < (thorough ? 6 : 2); seed++) {
        struct study *s = study_new(box2, 2, NULL);
        s->problem.seed = seed;
        for (int round = 0; round < 8; round++) {
            size_t trial = s->trials, at = s->events_len;
            CU_ASSERT_EQUAL(ask_workers(s, 10), 10);
            while (trial++ < s->trials)
                study_tell(s, EVENT_OBSERVED, trial, s->points[at], branin(s->points[at])), at++;
        }
        study_free(s);
    }
}

static double small_noisy(const double *x)
{
    return small_value(x) + noisy_branin(x) - branin(x);
}

/* Where points may come again, each is handed out before one is pending twice; then they do come again, and not one of
 * them for all workers: what is pending stands with other values for each.  Of 20 that come again 5 to 14 differ over
 * seeds, 1 to 5 if they were drawn at half their deviation, and 1 if they were means. */
static void test_workers_repeat(void)
{
    double        options[OPTIONS] = {0, 0, NAN, NAN, 1};
    struct study *s = study_new(small, 2, options);
    for (int t = 0; t < 9; t++)
        study_step(s, small_noisy);
    CU_ASSERT_EQUAL(ask_workers(s, 20), 20);
    for (int round = 0; round < 2; round++)
        CU_ASSERT(ask_workers(s, 20) >= 4);
    CU_ASSERT_PTR_NULL(s->proposal.fallback);
    study_free(s);
}

CU_TestInfo suite_policy_gp_pending[] = {
    {"batch", test_batch}, {"apart", test_apart}, {"rounds", test_rounds}, {"workers, repeat", test_workers_repeat},
    CU_TEST_INFO_NULL,
};
