/* The algorithm bos2: its loops, what its notes carry, when it leaves a loop, which size it goes to, and that a log with
 * everything in it gives bitwise the same proposals. */
#include "engine/policy/session.h"
#include "engine/bos2/bos2.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

enum { TRIALS_MAX = 200, EVENTS_MAX = 3 * TRIALS_MAX, OPTIONS_MAX = 16, LEN = 7 * 6 * 2 };

static const struct latent sizes[] = {{2, 2}, {3, 4}, {5, 5}, {7, 6}};
static const struct space  space = {
     .kind = SPACE_IMAGE, .height = 7, .width = 6, .channels = 2, .bound = 0.375, .latents = sizes, .latents_len = 4};

struct study {
    const struct policy *policy;
    struct problem       problem;
    double               options[OPTIONS_MAX];
    struct session      *session;
    struct event         events[EVENTS_MAX];
    size_t               events_len;
    double               points[TRIALS_MAX][LEN];
    struct proposal      proposals[TRIALS_MAX]; /* of trial number [i + 1] */
    uint64_t             trials;
};

static void set(struct study *s, const char *name, double value)
{
    s->options[policy_option(s->policy, name)] = value;
}

static struct study *study_new(void)
{
    struct study *s = calloc(1, sizeof *s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    s->policy = policy_find("bos2");
    policy_defaults(s->policy, s->options);
    s->problem = (struct problem){.space = &space, .options = s->options, .seed = 77, .memory_bytes = 64 << 20};
    set(s, "initial", 2);
    set(s, "steps", 20);
    set(s, "groups", 4);
    set(s, "decompositions", 4);
    return s;
}

static struct session *begin_session(const struct study *s)
{
    struct session *session = NULL;
    CU_ASSERT_EQUAL_FATAL(session_open(s->policy, &s->problem, &session, NULL), STATUS_OK);
    return session;
}

static void study_free(struct study *s)
{
    session_close(s->session);
    free(s);
}

static void tell(struct study *s, const struct event *event)
{
    s->events[s->events_len++] = *event;
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, event, NULL), STATUS_OK);
}

/* The next trial, proposed and told; returns its note. */
static struct bos2_note suggest(struct study *s)
{
    struct bos2_note note;
    struct proposal *p = &s->proposals[s->trials];
    p->point = s->points[s->trials++];
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &(struct ask){.trial = s->trials}, p, NULL), STATUS_OK);
    CU_ASSERT(space_has(&space, p->point) && p->fallback == NULL);
    memcpy(&note, p->note, sizeof note);
    tell(s, &(struct event){.kind = EVENT_SUGGESTED,
                            .trial = s->trials,
                            .point = p->point,
                            .note = p->note,
                            .note_bytes = p->note_bytes});
    return note;
}

static void finish(struct study *s, enum event_kind kind, uint64_t trial, double value)
{
    tell(s, &(struct event){.kind = kind, .trial = trial, .point = s->points[trial - 1], .value = value});
}

/* A point of the user's own, observed at once. */
static void report(struct study *s, double at, double value)
{
    double *point = s->points[s->trials++];
    for (size_t i = 0; i < LEN; i++)
        point[i] = i % 3 == 0 ? at : -at / 2;
    tell(s, &(struct event){.kind = EVENT_SUGGESTED, .trial = s->trials, .point = point});
    finish(s, EVENT_OBSERVED, s->trials, value);
}

/* Smooth, best for a pattern that needs a fine size. */
static double score(const double *point)
{
    double sum = -3.5;
    for (size_t i = 0; i < LEN; i++)
        sum += sin((double)(i * i)) * point[i] - 0.3 * point[i] * point[i];
    return sum;
}

static void test_loops(void)
{
    struct study *s = study_new();
    set(s, "stopping", 0);
    set(s, "margin", 0);
    s->session = begin_session(s);
    static const uint32_t initial[] = {0, 0, 2, 2, 3, 3};
    uint64_t              first = 0;
    double                best = -HUGE_VAL;
    for (size_t k = 0; k < 6 + 3 * 20; k++) {
        struct bos2_note note = suggest(s);
        if (k < 6)
            CU_ASSERT(note.loop == 0 && note.size == initial[k]);
        if (k < 6)
            CU_ASSERT(isnan(s->proposals[k].mean) && s->proposals[k].observations == 0);
        if (k >= 6 && (k - 6) % 20 == 0)
            first = s->trials;
        if (k >= 6)
            CU_ASSERT(note.loop == 1 + (k - 6) / 20 && note.first == first);
        if (k >= 6 && (k - 6) % 20 == 0)
            CU_ASSERT(note.goal == best);
        if (k >= 6)
            CU_ASSERT(isfinite(s->proposals[k].mean) && s->proposals[k].sd >= 0);
        CU_ASSERT(k < 6 || note.fitted + 5 > s->proposals[k].observations);
        finish(s, EVENT_OBSERVED, s->trials, score(s->points[k]));
        best = fmax(best, score(s->points[k]));
    }
    study_free(s);
}

/* The note carries u of its size: enlarged and cut, it is the point. */
static void test_note(void)
{
    struct study *s = study_new();
    s->session = begin_session(s);
    for (size_t k = 0; k < 30; k++) {
        struct bos2_note   note = suggest(s);
        struct image_shape from = bos2_shape(&space, note.size), to = {7, 6, 2};
        double             u[LEN], image[LEN];
        CU_ASSERT_EQUAL_FATAL(s->proposals[k].note_bytes, sizeof note + image_len(&from) * sizeof *u);
        memcpy(u, s->proposals[k].note + sizeof note, image_len(&from) * sizeof *u);
        for (size_t i = 0; i < image_len(&from); i++)
            CU_ASSERT(fabs(u[i]) <= 1);
        image_resize(u, &from, image, &to);
        for (size_t i = 0; i < LEN; i++)
            CU_ASSERT(s->points[k][i] == fmin(fmax(0.375 * image[i], -0.375), 0.375));
        finish(s, EVENT_OBSERVED, s->trials, score(s->points[k]));
    }
    study_free(s);
}

static void check_replay(const struct study *s)
{
    static struct proposal a, b;
    static double          point_a[LEN], point_b[LEN];
    struct session        *fresh = begin_session(s);
    for (size_t i = 0; i < s->events_len; i++)
        CU_ASSERT(s->policy->tell(fresh, &s->events[i], NULL) == STATUS_OK);
    a.point = point_a, b.point = point_b;
    CU_ASSERT(s->policy->ask(s->session, &(struct ask){.trial = s->trials + 1}, &a, NULL) == STATUS_OK);
    CU_ASSERT(s->policy->ask(fresh, &(struct ask){.trial = s->trials + 1}, &b, NULL) == STATUS_OK);
    CU_ASSERT(memcmp(point_a, point_b, sizeof point_a) == 0 && a.note_bytes == b.note_bytes);
    CU_ASSERT(memcmp(a.note, b.note, a.note_bytes) == 0);
    CU_ASSERT(memcmp(&a.mean, &b.mean, sizeof a.mean) == 0 && memcmp(&a.sd, &b.sd, sizeof a.sd) == 0);
    session_close(fresh);
}

/* Four workers, results out of order, some failed or abandoned, points of the user's in between, loops that are stopped. */
static void test_replay(void)
{
    struct study *s = study_new();
    struct rng    rng = rng_at(5, 1, RNG_TEST);
    uint64_t      open[4];
    size_t        len = 0;
    uint32_t      last = 0;
    s->session = begin_session(s);
    while (s->trials < 110) {
        if (s->trials % 13 == 7)
            report(s, 0.02 * (double)(s->trials % 5), -4.25);
        last = suggest(s).loop;
        open[len++] = s->trials;
        while (len == 4 || (len > 0 && rng_below(&rng, 2) == 0)) {
            size_t          at = rng_below(&rng, len), dice = rng_below(&rng, 12);
            enum event_kind kind = dice == 0   ? EVENT_FAILED
                                   : dice == 1 ? EVENT_ABANDONED
                                   : dice == 2 ? EVENT_INFEASIBLE
                                               : EVENT_OBSERVED;
            uint64_t        trial = open[at];
            open[at] = open[--len];
            finish(s, kind, trial, kind == EVENT_OBSERVED ? score(s->points[trial - 1]) - 0.02 * (double)trial : 0);
        }
        if (s->trials % 9 == 0)
            check_replay(s);
    }
    CU_ASSERT(last >= 5);
    study_free(s);
}

/* How long the first loop is when its k-th value is value(k); the best before it is 1, the standard deviation 0.32. */
static size_t first_loop(double (*value)(size_t), bool stops, double margin)
{
    struct study *s = study_new();
    size_t        len = 0;
    set(s, "stopping", stops);
    set(s, "margin", margin);
    s->session = begin_session(s);
    for (size_t k = 0; k < 6; k++) {
        suggest(s);
        finish(s, EVENT_OBSERVED, s->trials, k == 2 ? 1 : 0.125 * (double)k);
    }
    while (suggest(s).loop == 1)
        finish(s, EVENT_OBSERVED, s->trials, value(len++));
    study_free(s);
    return len;
}
static double flat(size_t k)
{
    return -7.5 - 0.001 * (double)(k % 3);
}
static double better(size_t k)
{
    return 1.25 + (double)k;
}
static double rising(size_t k)
{
    return 1.5 - 8 * exp(-0.25 * (double)k);
}
static double little_better(size_t k)
{
    return 1.0625 + 0.001 * (double)(k % 3);
}
static void test_stopping(void)
{
    CU_ASSERT_EQUAL(first_loop(flat, true, 0), 5); /* one step after the warm-up of 20 / 5 */
    CU_ASSERT_EQUAL(first_loop(flat, true, 1.5), 5);
    CU_ASSERT_EQUAL(first_loop(flat, false, 0), 20);
    CU_ASSERT_EQUAL(first_loop(better, true, 0), 20);
    CU_ASSERT_EQUAL(first_loop(better, true, 1.5), 20);
    CU_ASSERT_EQUAL(first_loop(rising, true, 0), 20);
    CU_ASSERT_EQUAL(first_loop(little_better, true, 0), 20);
    CU_ASSERT_EQUAL(first_loop(little_better, true, 1.5), 5);
}

/* Sizes whose loops did better are chosen; one size needs no model. */
static void test_sizes(void)
{
    const struct bos2_settings settings = {.initial = 1, .steps = 20};
    for (uint32_t good = 0; good < 4; good++) {
        struct arena    arena;
        struct bos2_log log;
        double          point[LEN] = {0.125}, note_space[(sizeof(struct bos2_note) / sizeof(double)) + LEN] = {0};
        size_t          size;
        arena_init(&arena, 1 << 22);
        CU_ASSERT_EQUAL_FATAL(bos2_log_init(&log, &space, &arena, NULL), STATUS_OK);
        for (uint64_t trial = 1; trial <= 16; trial++) {
            struct bos2_note note = {.first = trial, .loop = (uint32_t)trial, .size = (uint32_t)(trial * 7 % 4)};
            struct event     event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point, .note = note_space};
            memcpy(note_space, &note, sizeof note);
            event.note_bytes = sizeof note + bos2_dims(&log, note.size) * sizeof(double);
            CU_ASSERT_EQUAL(bos2_log_tell(&log, &event, NULL), STATUS_OK);
            event.kind = EVENT_OBSERVED;
            event.value = note.size == good ? -1.5 - 0.01 * (double)trial : -12.5 - 0.03 * (double)trial;
            CU_ASSERT_EQUAL(bos2_log_tell(&log, &event, NULL), STATUS_OK);
        }
        struct bos2_tuple tuples[20];
        size_t            trials;
        CU_ASSERT_EQUAL(bos2_tuples(&log, 1, tuples, &trials), 16);
        CU_ASSERT(trials == 16 && tuples[15].trials == 16 && tuples[15].size == 0 && tuples[15].loop == 16);
        CU_ASSERT_EQUAL(bos2_choose_size(&log, &settings, &size, &arena, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(size, good);
        arena_fini(&arena);
    }
}

static size_t initial_sizes(size_t latents_len)
{
    const struct space other = {.latents = sizes, .latents_len = latents_len};
    return 100 * bos2_initial_size(&other, 9, 10) + 10 * bos2_initial_size(&other, 10, 10) +
           bos2_initial_size(&other, 29, 10);
}
static void test_initial_sizes(void)
{
    CU_ASSERT_EQUAL(initial_sizes(7), 46); /* of 6, 8 .. 18: 6, 14 and 18, as in the thesis */
    CU_ASSERT_EQUAL(initial_sizes(4), 23);
    CU_ASSERT_EQUAL(initial_sizes(2), 11);
    CU_ASSERT_EQUAL(initial_sizes(1), 0);
}

/* A note of another study or of nobody is not believed: the trial is a point like the user's. */
static void test_foreign_notes(void)
{
    struct study        *s = study_new();
    static unsigned char junk[POLICY_NOTE_MAX];
    memset(junk, 0xFF, sizeof junk);
    s->session = begin_session(s);
    for (size_t bytes = 0; bytes <= 400; bytes += 8) {
        double *point = s->points[s->trials++];
        tell(s, &(struct event){
                    .kind = EVENT_SUGGESTED, .trial = s->trials, .point = point, .note = junk, .note_bytes = bytes});
        finish(s, EVENT_OBSERVED, s->trials, -0.01 * (double)bytes);
    }
    CU_ASSERT_EQUAL(suggest(s).loop, 0);
    study_free(s);
}

/* It finds more than as many random corners do. */
static void test_progress(void)
{
    struct study *s = study_new();
    double        initial = -HUGE_VAL, best = -HUGE_VAL;
    s->session = begin_session(s);
    for (size_t k = 0; k < 60; k++) {
        suggest(s);
        double value = score(s->points[k]);
        finish(s, EVENT_OBSERVED, s->trials, value);
        *(k < 6 ? &initial : &best) = fmax(k < 6 ? initial : best, value);
    }
    CU_ASSERT(best > initial + 3); /* the best of 60 random ones of all sizes is about 2 above the best of 6 */
    study_free(s);
}

CU_TestInfo suite_bos2[] = {
    {"loops", test_loops},
    {"notes", test_note},
    {"replay", test_replay},
    {"stopping", test_stopping},
    {"sizes", test_sizes},
    {"initial sizes", test_initial_sizes},
    {"foreign notes", test_foreign_notes},
    {"progress", test_progress},
    CU_TEST_INFO_NULL,
};
