/* Trials elsewhere: what counts as a miss, when the next trial is one elsewhere and where, on models made by hand; and that
 * a search leaves a basin by them, and comes back. */
#include "engine/bo/gp_elsewhere.h"
#include "tests/unit/engine/gp_world.h"

#include <string.h>

enum { D = 2, ROWS = 16 };

struct hand {
    struct param     params[D];
    struct space     space;
    struct gp        gp;
    struct gp_model  model;
    double           X[ROWS * D], z[ROWS], alpha[ROWS], noise[ROWS];
    size_t           row[ROWS];
    struct trial_log log;
    struct log_trial trials[ROWS];
};

/* The first n of len points have values z, the others are pending; rows stand in the log in the opposite order. */
static struct hand *hand_new(struct hand *h, const double (*points)[D], size_t len, const double *z, size_t n)
{
    *h = (struct hand){.gp = {.n = len, .X = h->X, .noise = h->noise, .kernel = {.dims = D}},
                       .log = {.trials = h->trials, .len = n, .count = {[LOG_OBSERVED] = n}},
                       .model = {.n = n,
                                 .settled = n,
                                 .log = &h->log,
                                 .above = HUGE_VAL,
                                 .below = -HUGE_VAL,
                                 .row = h->row,
                                 .X = h->X,
                                 .z = h->z,
                                 .warp = {-10, 1, 1, -10, 1}}}; /* z = y */
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
        h->trials[k].state = LOG_OBSERVED;
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
    hand_new(&h, points, 12, z, 9)->model.settled = 11; /* two of the others have failed */
    check_counts(&h, 3, 3, 4);
    static const double better[] = {-1, 0.99, 1 - 1e-4, .9, -1, 1, 1 - 1e-9, .3, .8};
    check_counts(hand_new(&h, points, 9, better, 9), 1, 1, 2);
    h.gp.noise_variance = 0.02; /* the mean counts, not the value */
    h.alpha[2] = -0.005;
    check_counts(&h, 3, 3, 3);
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
    h.log.count[LOG_OBSERVED] = 2; /* one is left out */
    CU_ASSERT(!gp_elsewhere_is_due(&cases[2].counts, &h.model));
    h.log.count[LOG_OBSERVED] = 1;
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
    h.trials[h.row[3]].state = LOG_CONTEXT; /* observed outside the space */
    CU_ASSERT(gp_elsewhere_second(&counts, &h.model, &second, box));
    CU_ASSERT_EQUAL(second.place[0], h.row[1]);
    h.model.n = 1;
    CU_ASSERT(!gp_elsewhere_second(&counts, &h.model, &second, box));
}

/* Distances, also from what is pending; what is new is near neither the best nor anything. */
static void test_distance(void)
{
    static const double points[][D] = {{.1, .2}, {.8, .2}, {.5, .9}};
    static const double U[] = {.1, .2, .5, .5, .5, .8};
    struct hand         h;
    double              out[3];
    hand_new(&h, points, 3, (const double[]){1, 0}, 2);
    CU_ASSERT_EQUAL(gp_elsewhere_scores(&h.model, U, 3, out, NULL), STATUS_OK);
    CHECK_NEAR(out[0], 0, 0);
    CHECK_NEAR(out[1], 0.4, 1e-12);
    CHECK_NEAR(out[2], 0.1, 1e-12);
    struct gp_elsewhere counts = gp_elsewhere_count(&h.model);
    CU_ASSERT(gp_elsewhere_is_new(&counts, &h.model, (const double[D]){.5, .8}));
    CU_ASSERT(!gp_elsewhere_is_new(&counts, &h.model, (const double[D]){.5, .895}));
    CU_ASSERT(!gp_elsewhere_is_new(&counts, &h.model, (const double[D]){.19, .2}));
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

/* The share of the next trials, by so many workers, that are far from the bottom of the bowl. */
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

/* A proposal's diagnostics are of its point, and say why it was proposed; mixed spaces find points far away, too. */
static void test_said(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        lengths[4], mean, sd;
    size_t        far = 0;
    while (s->trials < 90) {
        struct diagnostics said = {.length_scales = lengths};
        struct ask         ask = {.trial = ++s->trials, .diagnostics = &said};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        CU_ASSERT(space_has(&s->space, s->point));
        if (said.acquisition != NULL && strcmp(said.acquisition, "distance") == 0) {
            far++;
            CU_ASSERT(said.acquisition_value > 0.05);
            double says_mean = s->proposal.mean, says_sd = s->proposal.sd;
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            CU_ASSERT_EQUAL(gp()->predict(s->session,
                                          &(struct prediction){.points = s->point, .m = 1, .mean = &mean, .sd = &sd},
                                          NULL),
                            STATUS_OK);
            CHECK_NEAR(mean, says_mean, 1e-6 * fabs(mean));
            CHECK_NEAR(sd, says_sd, 1e-6 * sd);
        } else {
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        }
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, mixed_value(s->point));
    }
    CU_ASSERT(far >= 5);
    study_free(s);
}

/* How many of the next trials are the farthest points, and the bound's, apart from the best; of the latter none is as good as
 * tried. */
static void count_kinds(struct study *s, size_t trials, double (*function)(const double *), const double *best,
                        size_t *far, size_t *second)
{
    double lengths[PARAMS_MAX];
    for (*far = *second = 0; trials > 0; trials--) {
        struct diagnostics said = {.length_scales = lengths};
        struct ask         ask = {.trial = ++s->trials, .diagnostics = &said};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        *far += strcmp(said.acquisition, "distance") == 0;
        if (strcmp(said.acquisition, "ucb") == 0 && best != NULL && farthest(s->point, best) > 0.25) {
            ++*second;
            for (size_t i = 0; i < s->events_len; i++)
                CU_ASSERT(farthest(s->point, s->points[i]) > 0.005);
        }
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, function(s->point));
    }
}

/* Both kinds in a bowl, where the second basin is exhausted soon; neither where every point of a space is looked at. */
static void test_kinds(void)
{
    static const double bottom[D] = {-2, 4};
    size_t              far, second;
    struct study       *s = study_new(box2, 2, NULL);
    while (s->trials < 20)
        study_step(s, bowl);
    count_kinds(s, 100, bowl, bottom, &far, &second);
    CU_ASSERT(far > 20 && second > 3);
    study_free(s);
    s = study_new(small, 2, (const double[OPTIONS]){0, 0, NAN, NAN, 1});
    while (s->trials < 20)
        study_step(s, small_value);
    count_kinds(s, 60, small_value, NULL, &far, &second);
    CU_ASSERT_EQUAL(far, 0);
    study_free(s);
}

/* Trials from outside the space lead nowhere: 22 parameters, of which many keep the values of what a search begins at. */
static void test_outside(void)
{
    enum { MANY = 22 };
    static struct param params[MANY];
    struct space        space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = MANY};
    double              options[OPTIONS], point[MANY];
    struct rng          rng = rng_at(3, 3, RNG_TEST);
    struct session     *session;
    for (size_t j = 0; j < MANY; j++)
        params[j] = (struct param)PARAM("x", DOUBLE, LINEAR, 0, 1, 0);
    for (size_t i = 0; i < OPTIONS; i++)
        options[i] = gp()->options[i].fallback;
    struct problem  problem = {.space = &space, .options = options, .seed = 5, .memory_bytes = 64 << 20};
    struct proposal proposal = {.point = point};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp()->open(gp(), &problem, &session, NULL), STATUS_OK);
    for (uint64_t trial = 1; trial <= 120; trial++) {
        bool   is_outside = trial <= 30;
        double value = 0;
        for (size_t j = 0; is_outside && j < MANY; j++)
            point[j] = 1.2 + rng_uniform(&rng);
        if (!is_outside) {
            CU_ASSERT_EQUAL_FATAL(gp()->ask(session, &(struct ask){.trial = trial}, &proposal, NULL), STATUS_OK);
            CU_ASSERT(space_has(&space, point));
        }
        for (size_t j = 0; j < MANY; j++)
            value -= (point[j] - 0.5) * (point[j] - 0.5);
        struct event event = {
            .kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = value, .is_outside = is_outside};
        CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
    }
    gp()->close(session);
}

CU_TestInfo suite_elsewhere[] = {{"what counts", test_counts},
                                 {"when the next trial is elsewhere", test_due},
                                 {"a second basin", test_second},
                                 {"distances", test_distance},
                                 {"a pit beside a bowl is found", test_pit},
                                 {"how many trials go elsewhere", test_share},
                                 {"far points and second basins", test_kinds},
                                 {"what is said of such a trial", test_said},
                                 {"trials from outside the space", test_outside},
                                 CU_TEST_INFO_NULL};
