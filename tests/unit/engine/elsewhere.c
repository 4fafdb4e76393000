/* Trials elsewhere: what counts as a miss, when the next trial is one elsewhere and where, on models made by hand; and that
 * a search leaves a basin by them, and comes back. */
#include "engine/bo/gp_elsewhere.h"
#include "tests/unit/engine/gp_world.h"

#include <string.h>

enum { D = 2, ROWS = 16 };

struct hand {
    struct param    params[D];
    struct space    space;
    struct gp       gp;
    struct gp_model model;
    double          X[ROWS * D], z[ROWS], alpha[ROWS], noise[ROWS];
    size_t          row[ROWS];
};

/* The first n of len points have values z, the others have none; rows stand in the log in the opposite order. */
static struct hand *hand_new(struct hand *h, const double (*points)[D], size_t len, const double *z, size_t n)
{
    *h = (struct hand){.gp = {.n = len, .X = h->X, .noise = h->noise, .kernel = {.dims = D}},
                       .model = {.n = n, .row = h->row, .X = h->X, .z = h->z, .warp = {-10, 1, 1, -10, 1}}}; /* z = y */
    for (size_t j = 0; j < D; j++)
        h->params[j] = (struct param)PARAM("x", DOUBLE, LINEAR, 0, 1, 0);
    h->space = (struct space){.kind = SPACE_PARAMETERS, .params = h->params, .params_len = D};
    CU_ASSERT_EQUAL_FATAL(space_init(&h->space, NULL), STATUS_OK);
    h->model.space = &h->space;
    h->model.gp = &h->gp;
    h->model.alpha = h->alpha;
    memcpy(h->X, points, len * sizeof *points);
    memcpy(h->z, z, n * sizeof *z);
    for (size_t k = 0; k < n; k++) {
        h->row[k] = n - 1 - k;
        gp_anchors_keep(&h->model.anchors, h->row[k], z[k]);
    }
    return h;
}

static void check_counts(const struct hand *h, size_t misses, size_t near, size_t away)
{
    struct gp_elsewhere counts = gp_elsewhere_count(&h->model);
    CU_ASSERT_EQUAL(counts.misses, misses);
    CU_ASSERT_EQUAL(counts.near, near);
    CU_ASSERT_EQUAL(counts.away, away);
}

/* From the first value that is as good, but for a hundred-thousandth of the spread; pending points are no misses, but have
 * been given their share; a gain that matters begins anew. */
static void test_counts(void)
{
    static const double points[][D] = {{.2, .2}, {.9, .9}, {.5, .5},  {.52, .5}, {.1, .9}, {.45, .55},
                                       {.5, .5}, {.5, .7}, {.59, .5}, {.5, .5},  {.1, .1}, {.9, .1}};
    static const double z[] = {-1, 0.99, 1 - 5e-6, .9, -1, 1, 1 - 1e-9, .3, .8};
    struct hand         h;
    check_counts(hand_new(&h, points, 9, z, 9), 3, 3, 3);
    check_counts(hand_new(&h, points, 12, z, 9), 3, 4, 5);
    check_counts(hand_new(&h, points, 6, z, 6), 2, 2, 1);
    static const double better[] = {-1, 0.99, 1 - 1e-4, .9, -1, 1, 1 - 1e-9, .3, .8};
    check_counts(hand_new(&h, points, 9, better, 9), 1, 1, 2);
    static const double second[] = {-1, 3, 1 - 5e-6, .9, -1, 1, 1 - 1e-9, .3, .8};
    check_counts(hand_new(&h, points, 9, second, 9), 0, 0, 7);
}

static void test_due(void)
{
    static const struct {
        struct gp_elsewhere counts;
        bool                is_due;
    } cases[] = {
        {{NULL, 3, 3, 0}, false},   {{NULL, 3, 9, 0}, false},    {{NULL, 4, 4, 0}, true}, {{NULL, 4, 4, 1}, false},
        {{NULL, 5, 5, 1}, true},    {{NULL, 5, 5, 2}, false},    {{NULL, 4, 6, 3}, true}, {{NULL, 6, 6, 4}, false},
        {{NULL, 14, 14, 15}, true}, {{NULL, 14, 14, 16}, false},
    };
    struct hand h;
    hand_new(&h, (const double[][D]){{.5, .5}}, 1, (const double[]){1}, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(gp_elsewhere_is_due(&cases[i].counts, &h.model), cases[i].is_due);
    h.gp.noise_variance = 0.02;
    CU_ASSERT(!gp_elsewhere_is_due(&(struct gp_elsewhere){NULL, 7, 7, 0}, &h.model));
    CU_ASSERT(gp_elsewhere_is_due(&(struct gp_elsewhere){NULL, 8, 8, 0}, &h.model));
}

/* Around the best row more than half a range away; every third time, where there is such a row. */
static void test_second(void)
{
    static const double points[][D] = {{.1, .2}, {.8, .2}, {.58, .2}, {.1, .9}, {.2, .3}};
    static const double z[] = {1, .2, .9, .4, .8};
    struct hand         h;
    struct gp_anchors   second;
    double              box[2 * D];
    hand_new(&h, points, 5, z, 5);
    struct gp_elsewhere counts = gp_elsewhere_count(&h.model);
    for (counts.away = 0; counts.away < 7; counts.away++)
        CU_ASSERT_EQUAL(gp_elsewhere_second(&counts, &h.model, &second, box), counts.away % 3 == 2);
    CU_ASSERT_EQUAL(second.len, 1);
    CU_ASSERT_EQUAL(second.place[0], h.row[3]);
    CHECK_NEAR(box[0], 0, 0);
    CHECK_NEAR(box[1], .65, 1e-12);
    CHECK_NEAR(box[2], .35, 1e-12);
    CHECK_NEAR(box[3], 1, 0);
    counts.away = 2;
    h.model.n = 1;
    CU_ASSERT(!gp_elsewhere_second(&counts, &h.model, &second, box));
}

/* Squared distances, also from what is pending. */
static void test_scores(void)
{
    static const double points[][D] = {{.1, .2}, {.8, .2}, {.5, .9}};
    static const double U[] = {.1, .2, .5, .4, .5, .8};
    struct hand         h;
    double              out[3];
    hand_new(&h, points, 3, (const double[]){1, 0}, 2);
    CU_ASSERT_EQUAL(gp_elsewhere_scores(&h.model, U, 3, out, NULL), STATUS_OK);
    CHECK_NEAR(out[0], 0, 0);
    CHECK_NEAR(out[1], .13, 1e-12);
    CHECK_NEAR(out[2], .01, 1e-12);
}

/* A bowl, and in a corner of it a pit that is deeper. */
static const double pit[D] = {8.2, 12.9};

static double bowl(const double *x)
{
    double a = x[0] + 2, b = x[1] - 4;
    return -(a * a + b * b) / 50;
}

static double bowl_with_pit(const double *x)
{
    double a = (x[0] - pit[0]) / 1.5, b = (x[1] - pit[1]) / 1.5;
    return bowl(x) + 20 * exp(-0.5 * (a * a + b * b));
}

static double farthest(const double *a, const double *b)
{
    return fmax(fabs(a[0] - b[0]), fabs(a[1] - b[1])) / 15;
}

static void test_pit(void)
{
    struct study *s = study_new(box2, 2, NULL);
    double        best = -HUGE_VAL;
    while (s->trials < 80) {
        study_step(s, bowl_with_pit);
        best = fmax(best, bowl_with_pit(s->point));
    }
    CU_ASSERT(best > bowl_with_pit(pit) - 1e-3);
    study_check_replay(s);
    study_free(s);
}

/* Of the trials that follow, with so many workers, the share of those far from the bottom of the bowl. */
static double share_away(struct study *s, size_t workers, const double *fixed)
{
    static const double bottom[D] = {-2, 4};
    size_t              away = 0, rounds = 40 / workers;
    for (size_t round = 0; round < rounds; round++) {
        size_t first = s->events_len;
        for (size_t w = 0; w < workers; w++) {
            study_ask(s, fixed);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            away += farthest(s->point, bottom) > 0.1;
        }
        for (size_t w = 0; w < workers; w++)
            study_tell(s, EVENT_OBSERVED, s->events[first + w].trial, s->points[first + w], bowl(s->points[first + w]));
    }
    return (double)away / (double)(rounds * workers);
}

/* Where there is nothing else to find, about a half goes elsewhere, by workers too; nothing does where values are held. */
static void test_share(void)
{
    static const size_t workers[] = {1, 8};
    for (size_t i = 0; i < 2; i++) {
        struct study *s = study_new(box2, 2, NULL);
        while (s->trials < 40)
            study_step(s, bowl);
        double share = share_away(s, workers[i], NULL);
        CU_ASSERT(share > 0.4 && share < 0.75);
        CU_ASSERT(share_away(s, 1, (const double[D]){-2, NAN}) < 0.2);
        study_check_replay(s);
        study_free(s);
    }
}

CU_TestInfo suite_elsewhere[] = {{"what counts", test_counts},
                                 {"when the next trial is elsewhere", test_due},
                                 {"a second basin", test_second},
                                 {"distances", test_scores},
                                 {"a pit beside a bowl is found", test_pit},
                                 {"how many trials go elsewhere", test_share},
                                 CU_TEST_INFO_NULL};
