/* The turbo algorithm: what is particular to it; and what no numbers may do to it or to gp: fail, propose a point
 * outside the bounds, or answer with something that is not finite. */
#include "engine/math/rng.h"
#include "tests/unit/engine/one_study.h"

#include <float.h>
#include <string.h>

enum { DIMS_MAX = 100 };

static void study_ask(struct study *s)
{
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &(struct ask){.trial = ++s->trials}, &s->proposal, NULL),
                          STATUS_OK);
    CU_ASSERT_TRUE_FATAL(space_has(&s->space, s->point));
    CU_ASSERT(s->proposal.fallback == NULL);
    CU_ASSERT(isnan(s->proposal.mean) == isnan(s->proposal.sd));
    CU_ASSERT(isnan(s->proposal.sd) || (isfinite(s->proposal.mean) && isfinite(s->proposal.sd) && s->proposal.sd >= 0));
}

static void study_tell(struct study *s, const double *point, double value)
{
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = s->trials,
                          .point = point,
                          .note = s->proposal.note,
                          .note_bytes = s->proposal.note_bytes};
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = s->trials, .point = point, .value = value};
    CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
}

static void box(struct param *params, size_t len, double min, double max)
{
    for (size_t i = 0; i < len; i++)
        params[i] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = min, .max = max};
}

/* Nothing ever improves: 6 initial trials, 43 times a box smaller by a fourth root of 2, then the same again. */
static void test_restart(void)
{
    enum { INITIAL = 6, RUN = INITIAL + 43, TRIALS = RUN + 12 };
    struct param params[2];
    double       seen[TRIALS][2];
    box(params, 2, -1.7, 2.385);
    struct study *s = study_new("turbo", params, 2, NULL, 0);
    for (size_t t = 1; t <= TRIALS; t++) {
        study_ask(s);
        bool is_initial = (t - 1) % RUN < INITIAL;
        CU_ASSERT(isnan(s->proposal.mean) == is_initial);
        CU_ASSERT_EQUAL(s->proposal.observations, is_initial ? 0 : (t - 1) % RUN);
        double nearest = INFINITY;
        for (size_t k = 0; k + 1 < t; k++)
            nearest = fmin(nearest, fmax(fabs(seen[k][0] - s->point[0]), fabs(seen[k][1] - s->point[1])));
        CU_ASSERT(t < RUN - 4 || t > RUN || nearest < 0.008); /* sides of about 1/500 of the range */
        memcpy(seen[t - 1], s->point, sizeof seen[0]);
        study_tell(s, s->point, 4.29);
    }
    study_free(s);
}

static double bowl(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum -= (1 + 0.5 * (double)j) * (x[j] - 0.37) * (x[j] - 0.37);
    return sum;
}

static double best_of(const char *name, size_t d, size_t trials)
{
    struct param params[DIMS_MAX];
    double       best = -INFINITY;
    box(params, d, -1, 1);
    struct study *s = study_new(name, params, d, NULL, 0);
    for (size_t t = 0; t < trials; t++) {
        study_ask(s);
        double value = bowl(s->point, d);
        best = fmax(best, value);
        study_tell(s, s->point, value);
    }
    study_free(s);
    return best;
}

static void test_beats_random(void)
{
    CU_ASSERT(best_of("turbo", 12, 55) > 0.4 * best_of("random", 12, 55));
}

/* --- numbers --- */

static const char *const names[] = {"gp", "turbo"};
enum { NAMES = 2 };

/* Tells values at Sobol points, then asks; predictions are finite, too. */
static void check_values(const struct param *params, size_t len, const double *values, size_t n, bool same_point)
{
    for (size_t i = 0; i < NAMES; i++) {
        struct study *s = study_new(names[i], params, len, NULL, 0);
        double        first[DIMS_MAX], mean, sd;
        for (size_t k = 0; k < n; k++) {
            s->trials++;
            s->proposal.note_bytes = 0;
            double v[DIMS_MAX];
            for (size_t j = 0; j < len; j++)
                v[j] = fmod(0.137 + (double)(k + 1) * sqrt(2.0 + (double)j * 1.3), 1.0);
            space_quantile(&s->space, v, s->point);
            if (k == 0)
                memcpy(first, s->point, len * sizeof *first);
            study_tell(s, same_point ? first : s->point, values[k]);
        }
        for (int k = 0; k < 4; k++) {
            study_ask(s);
            study_tell(s, s->point, values[k % (int)n]);
        }
        CU_ASSERT_EQUAL(s->policy->predict(
                            s->session, &(struct prediction){.points = first, .m = 1, .mean = &mean, .sd = &sd}, NULL),
                        STATUS_OK);
        CU_ASSERT(isfinite(mean) && isfinite(sd) && sd >= 0);
        study_free(s);
    }
}

static void test_numbers(void)
{
    enum { N = 50 };
    static const double scales[] = {1e300, 1e-300, 2.385, 0.0};
    struct param        params[3], thin[1];
    double              values[N], one = -7.31;
    box(params, 3, -4.1, 2.9);
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        for (size_t i = 0; i < N; i++)
            values[i] = scales[k] * sin(1.9 * (double)i);
        check_values(params, 3, values, N, false);
        check_values(params, 3, values, N, true); /* exact duplicates */
    }
    for (size_t i = 0; i < N; i++)
        values[i] = i % 7 == 3 ? 1e300 : i % 7 == 5 ? -1e300 : 1e-300;
    check_values(params, 3, values, N, false);
    check_values(params, 3, &one, 1, false);
    box(thin, 1, 1.0, 1.0 + DBL_EPSILON);
    check_values(thin, 1, values, 12, false);
    check_values(thin, 1, &one, 1, false);
}

static void test_many_dims(void)
{
    static struct param params[DIMS_MAX];
    double              values[30];
    box(params, DIMS_MAX, 0.3, 17.9);
    for (size_t i = 0; i < 30; i++)
        values[i] = cos(2.385 * (double)i);
    check_values(params, DIMS_MAX, values, 30, false);
    check_values(params, DIMS_MAX, values, 1, false);
}

/* gp takes the hyper-parameters of a note as they are: all of them at their bounds, low or high. */
static void test_bounds(void)
{
    static const double low[] = {-5.3, -5.3, -6.9, -23.4, -9.2}, high[] = {0.946, 0.946, 6.9, 0.7, 6.9};
    struct param        params[2];
    box(params, 2, 0, 1);
    for (unsigned corner = 0; corner < 32; corner++) {
        struct study *s = study_new("gp", params, 2, NULL, 0);
        for (int t = 0; t < 9; t++) {
            study_ask(s);
            for (size_t j = 0; j < 5 && s->proposal.note_bytes > 0; j++)
                memcpy(s->proposal.note + s->proposal.note_bytes - (5 - j) * sizeof *low,
                       corner >> j & 1u ? &high[j] : &low[j], sizeof *low);
            study_tell(s, s->point, bowl(s->point, 2));
            if (s->proposal.note_bytes == 0)
                continue;
            struct event gone = {.kind = EVENT_ABANDONED, .trial = s->trials, .point = s->point};
            CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &gone, NULL), STATUS_OK);
            study_ask(s); /* no value since the note: its hyper-parameters are used */
            CU_ASSERT_EQUAL(s->proposal.note_bytes, 0);
            s->trials--;
        }
        study_free(s);
    }
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* Rows of the model after 810 values: turbo's is always local, gp's is smaller when there is little time. */
static void test_rows(void)
{
    static const struct {
        const char *name;
        double      deadline_ms;
        size_t      rows;
    } cases[] = {{"gp", 0, 810}, {"gp", 50, 700}, {"gp", 2385, 810}, {"turbo", 0, 150}, {"turbo", 50, 150}};
    struct param params[3];
    double       v[3];
    box(params, 3, -4.1, 2.9);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study *s = study_new(cases[i].name, params, 3, NULL, 0);
        for (s->trials = 1; s->trials <= 810; s->trials++) {
            for (size_t j = 0; j < 3; j++)
                v[j] = fmod((double)s->trials * sqrt(2.0 + (double)j * 1.3), 1.0);
            space_quantile(&s->space, v, s->point);
            study_tell(s, s->point, 2.385 * (double)s->trials + 0.01 * bowl(s->point, 3)); /* one run of turbo */
        }
        struct ask ask = {.trial = 811, .late = never, .deadline_ms = cases[i].deadline_ms};
        CU_ASSERT_EQUAL(s->policy->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        CU_ASSERT(s->proposal.fallback == NULL && s->proposal.observations == cases[i].rows);
        study_free(s);
    }
}

CU_TestInfo suite_turbo[] = {
    {"restart", test_restart}, {"beats random", test_beats_random},
    {"numbers", test_numbers}, {"many dims", test_many_dims},
    {"bounds", test_bounds},   {"rows", test_rows},
    CU_TEST_INFO_NULL,
};
