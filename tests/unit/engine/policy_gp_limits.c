/* The gp algorithm where there is little to model: values no model likes, no time, no memory, more than it takes. */
#include "tests/unit/engine/gp_world.h"

#include "engine/policy/session.h"
#include "engine/gp/kernel_list.h"

#include <float.h>
#include <string.h>

static double constant(const double *x)
{
    (void)x;
    return 2.385;
}

static double huge(const double *x)
{
    return x[0] > 2.0 ? DBL_MAX : -DBL_MAX;
}

static double tiny(const double *x)
{
    return x[0] * 1e-308;
}

static double ragged(const double *x)
{
    return x[1] > 7.5 ? 1e300 : sin(x[0]) * 1e-300;
}

static void check_finite_posterior(struct study *s)
{
    double mean[3], sd[3];
    CU_ASSERT_EQUAL(
        gp()->predict(s->session, &(struct prediction){.points = s->points[0], .m = 3, .mean = mean, .sd = sd}, NULL),
        STATUS_OK);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(isfinite(mean[i]) && isfinite(sd[i]) && sd[i] >= 0.0);
}

static void test_hostile_values(void)
{
    double (*const functions[])(const double *) = {constant, huge, tiny, ragged};
    static const struct param thin[] = {{.name = "x", .kind = PARAM_DOUBLE, .min = 1.0, .max = 1.0 + DBL_EPSILON},
                                        {.name = "y", .kind = PARAM_DOUBLE, .min = -DBL_MAX / 4, .max = DBL_MAX / 4},
                                        {.name = "k", .kind = PARAM_INT, .scale = SCALE_LOG, .min = 1, .max = 9e15}};
    for (size_t f = 0; f < 4; f++) {
        struct study *s = study_new(box2, 2, NULL), *t = study_new(thin, 3, NULL);
        for (int k = 0; k < 22; k++) {
            study_step(s, functions[f]);
            study_step(t, functions[f]);
        }
        CU_ASSERT(isfinite(s->proposal.mean) && isfinite(t->proposal.mean));
        check_finite_posterior(s);
        study_check_replay(t);
        study_free(s);
        study_free(t);
    }
}

/* Fifty observations of one point that contradict each other, one observation alone, given standard deviations. */
static void test_duplicates(void)
{
    double        options[OPTIONS] = {0, 0, NAN, 1}, point[2] = {2.385, 7.1}, mean, sd;
    struct study *s = study_new(box2, 2, options);
    for (uint64_t t = 1; t <= 50; t++) {
        study_tell(s, EVENT_SUGGESTED, t, point, 0);
        study_tell(s, EVENT_OBSERVED, t, point, 3.0 + (t % 2 == 0 ? 0.5 : -0.5));
        s->trials = t;
        if (t % 10 == 1)
            study_ask(s, NULL);
    }
    CU_ASSERT_PTR_NULL(s->proposal.fallback);
    study_ask(s, NULL);
    CU_ASSERT_EQUAL(
        gp()->predict(s->session, &(struct prediction){.points = point, .m = 1, .mean = &mean, .sd = &sd}, NULL),
        STATUS_OK);
    CHECK_NEAR(mean, 3.0, 0.15); /* the warp's middle of 2.5 and 3.5 */
    CU_ASSERT(sd < 0.2);
    study_free(s);
}

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

static void test_fallbacks(void)
{
    struct study *s = study_new(box2, 2, NULL);
    struct ask    ask = {.trial = 26, .late = at_once};
    for (int t = 0; t < 25; t++)
        study_step(s, branin);
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "deadline");
    CU_ASSERT_TRUE(space_has(&s->space, s->point));
    CU_ASSERT_EQUAL(s->proposal.note_bytes, 0);
    s->problem.memory_bytes = session_bytes(s->session) + 4096;
    ask.late = NULL;
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "memory");
    CU_ASSERT_TRUE(space_has(&s->space, s->point));
    study_free(s);
    s = study_new(box2, 2, (double[OPTIONS]){0, 0, NAN, 1});
    study_ask(s, NULL);
    study_tell(s, EVENT_SUGGESTED, 1, s->point, 0);
    study_tell(s, EVENT_OBSERVED, 1, s->point, INFINITY); /* against the contract; nothing can be computed from it */
    study_ask(s, NULL);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "numerical");
    study_free(s);
}

static void test_refusals(void)
{
    struct study   *s = study_new(box2, 2, NULL);
    struct error    err;
    double          mean, sd;
    struct session *none = (struct session *)&err;
    CU_ASSERT_EQUAL(
        gp()->predict(s->session, &(struct prediction){.points = s->point, .m = 1, .mean = &mean, .sd = &sd}, &err),
        STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.code, "no_observations");
    s->problem.memory_bytes = 100;
    CU_ASSERT_EQUAL(session_open(gp(), &s->problem, &none, &err), STATUS_NO_MEMORY);
    CU_ASSERT_PTR_NULL(none);
    s->problem.memory_bytes = 4096;
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), &s->problem, &none, &err), STATUS_OK);
    enum status status = STATUS_OK;
    for (uint64_t t = 1; status == STATUS_OK && t < 1000; t++) {
        struct event event = {.kind = EVENT_SUGGESTED, .trial = t, .point = s->point};
        status = gp()->tell(none, &event, &err);
    }
    CU_ASSERT_EQUAL(status, STATUS_NO_MEMORY);
    session_close(none);
    struct space candidates = {.kind = SPACE_CANDIDATES};
    s->problem.space = &candidates;
    s->options[ACQUISITION] = 2;
    CU_ASSERT_EQUAL(policy_check(gp(), &s->problem, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/algorithm/acquisition");
    s->options[ACQUISITION] = 1;
    CU_ASSERT_EQUAL(policy_check(gp(), &s->problem, &err), STATUS_OK);
    s->options[policy_option(gp(), "kernel")] = KERNEL_PERIODIC;
    CU_ASSERT_EQUAL(policy_check(gp(), &s->problem, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/algorithm/kernel");
    s->problem.space = &s->space;
    CU_ASSERT_EQUAL(policy_check(gp(), &s->problem, &err), STATUS_OK);
    struct param whole = {.name = "i", .kind = PARAM_INT, .max = 7};
    s->space.params = &whole;
    s->space.params_len = 1;
    CU_ASSERT_EQUAL(policy_check(gp(), &s->problem, &err), STATUS_INVALID);
    study_free(s);
}

/* More observations than the model takes: it keeps the best, and says how many it saw. */
static void test_subset(void)
{
    enum { MANY = 400 };
    struct study *s = study_new(box2, 2, NULL);
    struct rng    rng = rng_at(3, 3, RNG_TEST);
    double        best[2] = {9.42478, 2.475}, mean, sd;
    s->problem.memory_bytes = 464 << 10; /* room for about 60 rows beside the trials */
    for (uint64_t t = 1; t <= MANY; t++) {
        double        point[2] = {-5 + 15 * rng_uniform(&rng), 15 * rng_uniform(&rng)};
        const double *at = t == 7 ? best : point;
        struct event  event = {.kind = EVENT_OBSERVED, .trial = t, .point = at, .value = branin(at)};
        CU_ASSERT_EQUAL_FATAL(gp()->tell(s->session, &event, NULL), STATUS_OK);
    }
    s->trials = MANY;
    study_ask(s, NULL);
    CU_ASSERT_PTR_NULL(s->proposal.fallback);
    CU_ASSERT(s->proposal.observations > 20 && s->proposal.observations < 150);
    CU_ASSERT_EQUAL(
        gp()->predict(s->session, &(struct prediction){.points = best, .m = 1, .mean = &mean, .sd = &sd}, NULL),
        STATUS_OK);
    CHECK_NEAR(mean, 0.0, 0.5);
    CU_ASSERT(session_bytes(s->session) <= s->problem.memory_bytes);
    study_free(s);
}

/* Twelve hundred trials everywhere and as many near the best: the model has only the latter, but what is said elsewhere comes
 * of the former; it does not depend on what else is asked, and the noise is seen. */
static void test_elsewhere(void)
{
    enum { HALF = 1200, ASKED = 24 };
    static const double sd_of[2] = {0.0, 5.0};
    for (int noisy = 0; noisy < 2; noisy++) {
        struct study *s = study_new(box2, 2, NULL);
        struct rng    rng = rng_at(5, 3, RNG_TEST);
        double        points[2 * ASKED], mean[ASKED], sd[ASKED], all[ASKED], alone[3], of_model[ASKED];
        double        error = 0, error_of_model = 0, observed = 0;
        for (uint64_t t = 1; t <= 2 * HALF; t++) {
            double       size = t <= HALF ? 1.0 : 0.02, low = t <= HALF ? 0.0 : 0.95;
            double       point[2] = {-5 + 15 * (low + size * rng_uniform(&rng)),
                                     15 * (0.15 * (low > 0.0) + size * rng_uniform(&rng))};
            double       value = branin(point) + sd_of[noisy] * rng_normal(&rng);
            struct event event = {.kind = EVENT_OBSERVED, .trial = t, .point = point, .value = value};
            CU_ASSERT_EQUAL_FATAL(gp()->tell(s->session, &event, NULL), STATUS_OK);
        }
        for (int i = 0; i < ASKED; i++) {
            points[2 * i] = -4 + 10 * rng_uniform(&rng);
            points[2 * i + 1] = 5 + 9 * rng_uniform(&rng);
        }
        struct prediction wanted = {
            .points = points, .m = ASKED, .mean = mean, .sd = sd, .sd_observed = all, .looks_near = true};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        wanted = (struct prediction){.points = points, .m = ASKED, .mean = of_model};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        for (int i = 0; i < ASKED; i++) {
            error += pow(mean[i] - branin(points + 2 * i), 2) / ASKED;
            error_of_model += pow(of_model[i] - branin(points + 2 * i), 2) / ASKED;
            observed += all[i] / ASKED;
            CU_ASSERT(sd[i] >= 0.0 && all[i] >= sd[i]);
        }
        CU_ASSERT(sqrt(error) < (noisy ? 4.0 : 0.5) && error < 0.3 * error_of_model);
        CU_ASSERT(noisy ? observed > 3.5 && observed < 7.0 : observed < 1.0);
        wanted = (struct prediction){.points = points + 2 * 7,
                                     .m = 1,
                                     .mean = alone,
                                     .sd = alone + 1,
                                     .sd_observed = alone + 2,
                                     .looks_near = true};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        CU_ASSERT(alone[0] == mean[7] && alone[1] == sd[7] && alone[2] == all[7]);
        study_free(s);
    }
}

/* The best of 40 trials whose first value is another one; of a space in whose middle the best point is, or not. */
static double best_in(const struct param *box, double first)
{
    struct study *s = study_new(box, 2, NULL);
    double        best = -HUGE_VAL;
    for (int k = 0; k < 40; k++) {
        study_ask(s, NULL);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, k == 0 ? first : branin(s->point));
        best = k == 0 ? best : fmax(best, branin(s->point));
    }
    study_check_replay(s);
    study_free(s);
    return best;
}

static double best_after(double first)
{
    return best_in(box2, first);
}

static void test_outliers(void)
{
    static const struct param middle[2] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -1.5, .max = 8},
                                           {.name = "y", .kind = PARAM_DOUBLE, .min = -1, .max = 5.5}};
    CU_ASSERT(best_in(middle, -1e12) >
              -1e-4); /* the first trial is beside the only optimum, with a value that is none */
    CU_ASSERT(best_in(middle, -DBL_MAX) > -1e-4);
    CU_ASSERT(best_after(-1e12) > -1e-4);
    CU_ASSERT(best_after(-1e20) > -1e-4);
    CU_ASSERT(best_after(-DBL_MAX) > -1e-4);
    CU_ASSERT(best_after(1e12) > -1e-4);
    CU_ASSERT(best_after(DBL_MAX) > -1e-4);
    CU_ASSERT(best_after(1e4) > -1e-4);
}

/* The first value of seven is far above the others: its point comes again, and what it has then decides. */
static void test_doubt(void)
{
    for (int is_true = 0; is_true < 2; is_true++) {
        struct study      *s = study_new(box2, 2, NULL);
        double             scales[2], mean, sd, first[2];
        struct diagnostics said = {.length_scales = scales};
        for (int k = 0; k < 7; k++) {
            study_ask(s, NULL);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            study_tell(s, EVENT_OBSERVED, s->trials, s->point, k == 0 || (k == 6 && is_true) ? 1e6 : branin(s->point));
            if (k == 0)
                memcpy(first, s->point, sizeof first);
            CU_ASSERT_EQUAL(memcmp(first, s->point, sizeof first) == 0, k == 0 || k == 6);
        }
        struct prediction wanted = {.points = first, .m = 1, .mean = &mean, .sd = &sd, .diagnostics = &said};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        CHECK_NEAR(mean, is_true ? 1e6 : branin(first), is_true ? 1e3 : 1.0);
        CU_ASSERT_EQUAL(said.doubted, is_true ? 0 : 1);
        study_ask(s, NULL);
        CU_ASSERT(memcmp(first, s->point, sizeof first) != 0);
        study_check_replay(s);
        study_free(s);
    }
}

/* A value far below all others: its point comes again; with a second one it is believed. */
static void test_alone(void)
{
    for (int has_second = 0; has_second < 2; has_second++) {
        struct study      *s = study_new(box2, 2, NULL);
        double             scales[2], mean, first[2];
        struct diagnostics said = {.length_scales = scales};
        for (int k = 0; k < 7; k++) {
            bool is_wrong = k == 0 || (has_second && k == 3);
            study_ask(s, NULL);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            study_tell(s, EVENT_OBSERVED, s->trials, s->point, is_wrong ? -1e12 : branin(s->point));
            if (k == 0)
                memcpy(first, s->point, sizeof first);
            CU_ASSERT_EQUAL(memcmp(first, s->point, sizeof first) == 0, k == 0 || (k == 6 && !has_second));
        }
        struct prediction wanted = {.points = first, .m = 1, .mean = &mean, .diagnostics = &said};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(said.doubted, has_second ? 0 : 1);
        CU_ASSERT_EQUAL(isfinite(said.doubted_below), !has_second);
        CU_ASSERT(has_second ? mean < 3 * branin(first) : fabs(mean - branin(first)) < 1.0);
        study_ask(s, NULL);
        CU_ASSERT(memcmp(first, s->point, sizeof first) != 0);
        study_check_replay(s);
        study_free(s);
    }
}

/* Nor does it matter when it came: after the last fit, and where a fit comes with every tenth value only. */
static void test_alone_late(void)
{
    for (int last = 20; last <= 63; last += 43) {
        struct study      *s = study_new(box2, 2, NULL);
        double             scales[2], mean, wrong[2];
        struct diagnostics said = {.length_scales = scales};
        for (int k = 1; k <= last; k++) {
            study_ask(s, NULL);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            study_tell(s, EVENT_OBSERVED, s->trials, s->point, k == last ? -1e20 : branin(s->point));
        }
        memcpy(wrong, s->point, sizeof wrong);
        struct prediction wanted = {.points = wrong, .m = 1, .mean = &mean, .diagnostics = &said};
        CU_ASSERT_EQUAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
        CU_ASSERT_EQUAL(said.doubted, 1);
        CHECK_NEAR(mean, branin(wrong), 100.0); /* a third of what branin has in the box: the point may lie far off */
        study_ask(s, NULL);
        CU_ASSERT_EQUAL(memcmp(wrong, s->point, sizeof wrong), 0);
        study_free(s);
    }
}

/* A point measured outside the space is not proposed again. */
static void test_outside_alone(void)
{
    const double  outside[2] = {11, 3};
    struct study *s = study_new(box2, 2, NULL);
    for (int k = 0; k < 8; k++) {
        study_ask(s, NULL);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, branin(s->point));
    }
    struct event event = {
        .kind = EVENT_OBSERVED, .trial = ++s->trials, .point = outside, .value = -1e12, .is_outside = true};
    CU_ASSERT_EQUAL(gp()->tell(s->session, &event, NULL), STATUS_OK);
    study_ask(s, NULL);
    CU_ASSERT(memcmp(outside, s->point, sizeof outside) != 0);
    study_free(s);
}

CU_TestInfo suite_policy_gp_limits[] = {
    {"outliers", test_outliers},     {"a value in doubt", test_doubt},
    {"a bad one alone", test_alone}, {"alone outside", test_outside_alone},
    {"alone late", test_alone_late}, {"hostile values", test_hostile_values},
    {"duplicates", test_duplicates}, {"fallbacks", test_fallbacks},
    {"refusals", test_refusals},     {"subset", test_subset},
    {"elsewhere", test_elsewhere},   CU_TEST_INFO_NULL,
};
