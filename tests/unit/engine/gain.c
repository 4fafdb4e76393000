/* The expected gain of the next trial: against a computation of its own from what the diagnostics say, in a space small
 * enough to look at every point; and when it is not known. */
#include "engine/policy/session.h"
#include "engine/surrogate/gp_gain.h"
#include "engine/gp/gp_loo.h"
#include "tests/unit/engine/gp_world.h"

#include <string.h>

enum { POINTS = 25, SEEN = 11, LEAST = 4 }; /* LEAST: first points in one dimension */

static const struct param line[1] = {{.name = "a", .kind = PARAM_INT, .min = 3, .max = 27}};

static double waves(const double *x)
{
    return 40.0 + 17.0 * sin(0.61 * x[0]) - 0.13 * (x[0] - 9.0) * (x[0] - 9.0);
}

static double jagged(const double *x)
{
    return waves(x) + 11.0 * cos(37.7 * x[0]);
}

static struct gain gain_of(struct study *s)
{
    struct gain gain;
    CU_ASSERT_EQUAL_FATAL(gp()->gain(s->session, &(struct ask){.trial = s->trials + 1}, &gain, NULL), STATUS_OK);
    return gain;
}

/* ---- by hand ---- */

static double kernel_at(const struct diagnostics *d, double a, double b)
{
    double r = sqrt(5.0) * fabs(a - b) / d->length_scales[0];
    return d->signal_variance * (1.0 + r + r * r / 3.0) * exp(-r);
}

/* Solves A x = b [n] by elimination, in place; both are lost. */
static void eliminate(double A[SEEN][SEEN], double *b, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(A[i][k]) > fabs(A[pivot][k]) ? i : pivot;
        for (size_t j = 0; j < n; j++) {
            double kept = A[k][j];
            A[k][j] = A[pivot][j];
            A[pivot][j] = kept;
        }
        double kept = b[k];
        b[k] = b[pivot];
        b[pivot] = kept;
        for (size_t i = k + 1; i < n; i++) {
            double share = A[i][k] / A[k][k];
            for (size_t j = k; j < n; j++)
                A[i][j] -= share * A[k][j];
            b[i] -= share * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= A[k][j] * b[j];
        b[k] /= A[k][k];
    }
}

struct known {
    const struct diagnostics *d;
    size_t                    n;
    double                    u[SEEN], z[SEEN];
};

/* At u, given all that is known but number without (n: all of it). */
static void posterior(const struct known *known, size_t without, double u, double *mean, double *var)
{
    double A[SEEN][SEEN], k[SEEN], z[SEEN], x[SEEN];
    size_t at[SEEN], n = 0;
    for (size_t i = 0; i < known->n; i++)
        if (i != without)
            at[n++] = i;
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                A[i][j] = kernel_at(known->d, known->u[at[i]], known->u[at[j]]) +
                          (i == j ? known->d->noise_variance + known->d->jitter : 0.0);
            x[i] = k[i] = kernel_at(known->d, u, known->u[at[i]]);
            z[i] = known->z[at[i]];
        }
        eliminate(A, which == 0 ? z : x, n);
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += k[i] * (which == 0 ? z : x)[i];
        *(which == 0 ? mean : var) = which == 0 ? sum : known->d->signal_variance - sum;
    }
}

static double warped(const struct diagnostics *d, double value)
{
    double t = d->values.top - (value / d->values.unit - d->values.centre) / d->values.spread;
    return (d->values.warp_centre - (t > 0.0 ? d->values.c * log(1.0 + t / d->values.c) : t)) / d->values.warp_scale;
}

/* dvalue/dz where z is best. */
static double units_at(const struct diagnostics *d, double best)
{
    double w = d->values.warp_centre - d->values.warp_scale * best, stretch = exp(fmax(w, 0.0) / d->values.c);
    return d->values.unit * d->values.spread * d->values.warp_scale * stretch;
}

static double expected(double mean, double best, double sd)
{
    double u = (mean - best) / sd;
    return sd * (exp(-0.5 * u * u) / sqrt(2.0 * acos(-1.0)) + u * 0.5 * erfc(-u / sqrt(2.0)));
}

static double trust_of(const struct known *known)
{
    double sum = 5.0, mean, var;
    for (size_t i = 0; i < known->n; i++) {
        posterior(known, i, known->u[i], &mean, &var);
        sum += (known->z[i] - mean) * (known->z[i] - mean) / (var + known->d->noise_variance + known->d->jitter);
    }
    return sqrt(sum / (5.0 + (double)known->n));
}

static struct gain gain_by_hand(const struct known *known, const bool *is_used)
{
    double best = -HUGE_VAL, most = 0.0, mean, var, trust = trust_of(known);
    double noise = fmax(known->d->noise_variance - 1e-6, 0.0);
    for (size_t i = 0; i < known->n; i++) {
        posterior(known, known->n, known->u[i], &mean, &var);
        best = fmax(best, mean);
    }
    for (size_t i = 0; i < POINTS; i++) {
        if (is_used[i])
            continue;
        posterior(known, known->n, (double)i / (POINTS - 1), &mean, &var);
        double hidden = 1.0 - sqrt(noise / (var + noise));
        most = fmax(most, expected(mean, best, trust * (sqrt(var) + 1e-12)) * hidden);
    }
    return (struct gain){.expected = most * units_at(known->d, best), .trust = trust};
}

/* Every point is left to look at, so that the far ones count in full. */
static void check_by_hand(double (*function)(const double *), double scale, struct gain *gain)
{
    static const size_t order[SEEN] = {12, 3, 20, 7, 16, 1, 23, 9, 14, 5, 18};
    struct study       *s = study_new(line, 1, NULL);
    double              length_scale, mean, sd, observed, x[1];
    struct diagnostics  d = {.length_scales = &length_scale};
    struct known        known = {.d = &d, .n = SEEN};
    bool                is_used[POINTS] = {false};
    for (size_t i = 0; i < SEEN; i++) {
        x[0] = 3.0 + (double)order[i];
        study_tell(s, EVENT_SUGGESTED, ++s->trials, x, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, x, scale * function(x));
        is_used[order[i]] = true;
    }
    struct prediction wanted = {
        .points = x, .m = 1, .mean = &mean, .sd = &sd, .sd_observed = &observed, .diagnostics = &d};
    CU_ASSERT_EQUAL_FATAL(gp()->predict(s->session, &wanted, NULL), STATUS_OK);
    for (size_t i = 0; i < SEEN; i++) {
        x[0] = 3.0 + (double)order[i];
        known.u[i] = (double)order[i] / (POINTS - 1);
        known.z[i] = warped(&d, scale * function(x));
    }
    struct gain by_hand = gain_by_hand(&known, is_used);
    *gain = gain_of(s);
    CHECK_NEAR(gain->trust / by_hand.trust, 1.0, 1e-6);
    CHECK_NEAR(gain->expected / by_hand.expected, 1.0, 1e-6);
    CU_ASSERT(gain->expected > 0.0 && gain->trust != 1.0);
    study_free(s);
}

static void test_by_hand(void)
{
    struct gain smooth, rough, large;
    check_by_hand(waves, 1.0, &smooth);
    check_by_hand(jagged, 1.0, &rough);
    check_by_hand(jagged, 2385.0, &large);
    CHECK_NEAR(large.expected / rough.expected, 2385.0, 2385.0 * 1e-6);
}

/* ---- residuals ---- */

/* The last 256 of many rows decide the trust, as leave-one-out of the whole model has them. */
static void test_trust(void)
{
    enum { MANY = 300, LAST = 256 };
    static double       mean[MANY], sd[MANY];
    struct param        params[1] = {{.name = "x", .kind = PARAM_DOUBLE, .max = 1}};
    struct space        space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 1};
    size_t              group = 0;
    struct arena        arena, scratch;
    struct trial_log    log;
    struct gp_cache     cache = {.limit_bytes = 16 << 20};
    const struct gp_fit fit = {.kind = &kernel_matern52, .dims = 1, .groups = 1, .group_of = &group};
    struct gp_model     model = {.space = &space, .log = &log, .cache = &cache, .scratch = &scratch};
    static const double theta[] = {-1.7, 0.1, -4.3, 0.9};
    struct rng          rng = rng_at(71, 5, RNG_TEST);
    double              sum = 5.0, trust, x;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    arena_init(&arena, 16 << 20);
    arena_init(&scratch, 16 << 20);
    trial_log_init(&log, &arena, 1);
    for (uint64_t trial = 1; trial <= MANY; trial++) {
        x = rng_uniform(&rng);
        struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = &x};
        event.value = sin(6.1 * x) + 0.2 * rng_normal(&rng) * (trial < MANY - LAST ? 9.0 : 1.0);
        CU_ASSERT_EQUAL_FATAL(trial_log_tell(&log, &event, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL_FATAL(gp_model_rows(&model, 0, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_model_condition(&model, &fit, theta, NULL, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp_loo(model.gp, (struct gp_values){.at = model.z, .n = model.n}, mean, sd, &scratch, NULL),
                          STATUS_OK);
    for (size_t i = MANY - LAST; i < MANY; i++)
        sum += pow((model.z[i] - mean[i]) / sd[i], 2);
    CU_ASSERT_EQUAL_FATAL(gp_gain_trust(&model, &trust, NULL), STATUS_OK);
    CHECK_NEAR(trust, sqrt(sum / (5.0 + LAST)), 1e-10);
    gp_cache_drop(&cache);
    arena_fini(&scratch);
    arena_fini(&arena);
}

static void test_far(void)
{
    const double         box[4] = {0.3, 0.1, 0.6, 0.5}, inside[2] = {0.6, 0.2}, outside[2] = {0.61, 0.2};
    struct gp_gain_found found = {.near = -7.0, .far = -3.0, .box = box, .u = inside};
    CHECK_NEAR(gp_gain_of(&found, 2), -3.0, 1e-15);
    found.u = outside;
    CHECK_NEAR(exp(gp_gain_of(&found, 2)), 0.1 * exp(-3.0), 1e-15);
    found.near = -5.0;
    CHECK_NEAR(gp_gain_of(&found, 2), -5.0, 1e-15);
}

/* ---- when ---- */

static void test_unknown(void)
{
    struct study *s = study_new(box2, 2, NULL);
    for (int i = 0; i < 6; i++) {
        CU_ASSERT(isnan(gain_of(s).expected));
        study_step(s, branin);
    }
    CU_ASSERT(gain_of(s).expected > 0.0);
    study_free(s);
    s = study_new(box2, 2, NULL); // no value is as if nothing was tried
    for (int i = 0; i < 9; i++) {
        study_ask(s, NULL);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_FAILED, s->trials, s->point, 0);
    }
    CU_ASSERT(isnan(gain_of(s).expected));
    study_free(s);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void test_late(void)
{
    struct study *s = study_new(box2, 2, NULL);
    struct gain   gain;
    while (s->trials < 12)
        study_step(s, branin);
    CU_ASSERT_EQUAL(gp()->gain(s->session, &(struct ask){.trial = 13, .late = always}, &gain, NULL), STATUS_OK);
    CU_ASSERT(isnan(gain.expected) && isnan(gain.trust));
    CU_ASSERT_EQUAL(gp()->gain(s->session, &(struct ask){.trial = 13, .deadline_ms = 5}, &gain, NULL), STATUS_OK);
    CU_ASSERT(gain.expected == gain_of(s).expected); // few enough for any hurry
    study_free(s);
}

/* Running trials have no values, drawn ones neither; nor does it show what was asked. */
static void test_pending(void)
{
    struct study *s = study_new(box2, 2, NULL);
    while (s->trials < 14)
        study_step(s, branin);
    struct gain  before = gain_of(s);
    const double running[3][2] = {{-3.1, 12.3}, {9.4, 2.5}, {0.5, 0.5}};
    for (uint64_t i = 0; i < 3; i++)
        study_tell(s, EVENT_SUGGESTED, 15 + i, running[i], 0);
    CU_ASSERT(gain_of(s).expected == before.expected && gain_of(s).trust == before.trust);
    study_free(s);
}

/* Asked or not, proposals are the same, and a session that reads the log says the same. */
static void test_changes_nothing(void)
{
    struct study *asked = study_new(mixed, 4, NULL), *plain = study_new(mixed, 4, NULL);
    for (int i = 0; i < 24; i++) {
        (void)gain_of(asked);
        study_step(asked, mixed_value);
        study_step(plain, mixed_value);
        CU_ASSERT(memcmp(asked->point, plain->point, sizeof asked->point) == 0);
    }
    struct session *fresh;
    struct gain     again, gain = gain_of(asked);
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), &plain->problem, &fresh, NULL), STATUS_OK);
    for (size_t i = 0; i < plain->events_len; i++)
        CU_ASSERT_EQUAL_FATAL(gp()->tell(fresh, &plain->events[i], NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(gp()->gain(fresh, &(struct ask){.trial = 25}, &again, NULL), STATUS_OK);
    CU_ASSERT(gain.expected > 0.0 && gain.expected == again.expected && gain.trust == again.trust);
    session_close(fresh);
    study_free(asked);
    study_free(plain);
}

/* ---- several metrics ---- */

static struct session *told(const struct problem *problem, double slack, bool is_split)
{
    struct session *session;
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), problem, &session, NULL), STATUS_OK);
    for (uint64_t trial = 1; trial <= SEEN; trial++) {
        double       x[1] = {3.0 + (double)(trial * 7 % POINTS)}, values[4] = {waves(x), slack, 0, 0};
        struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = x, .value = values[0], .values = values};
        values[1] = is_split && x[0] > 11.0 ? -slack : slack + 1e-3 * x[0];
        if (problem->metrics_len == 0)
            event.values = NULL;
        CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
    }
    return session;
}

static double expected_of(struct study *s, const enum metric_kind *metrics, double slack, bool is_split)
{
    struct problem problem = s->problem;
    struct gain    gain;
    problem.metrics = metrics;
    problem.metrics_len = metrics == NULL ? 0 : 2;
    struct session *session = told(&problem, slack, is_split);
    CU_ASSERT_EQUAL_FATAL(gp()->gain(session, &(struct ask){.trial = SEEN + 1}, &gain, NULL), STATUS_OK);
    session_close(session);
    return gain.expected;
}

/* A constraint that always holds takes nothing away, one that holds where it is not best takes some, and nothing is
 * known while none is met, nor of several objectives. */
static void test_several(void)
{
    static const enum metric_kind constrained[2] = {METRIC_OBJECTIVE, METRIC_CONSTRAINT};
    static const enum metric_kind objectives[2] = {METRIC_OBJECTIVE, METRIC_OBJECTIVE};
    struct study                 *s = study_new(line, 1, NULL);
    double                        free = expected_of(s, NULL, 1.0, false);
    CU_ASSERT(free > 0.0);
    CHECK_NEAR(expected_of(s, constrained, 40.0, false) / free, 1.0, 1e-6);
    double less = expected_of(s, constrained, 1.0, true);
    CU_ASSERT(less >= 0.0 && less != free);
    CU_ASSERT(isnan(expected_of(s, constrained, -9.0, false)));
    CU_ASSERT(isnan(expected_of(s, objectives, 1.0, true)));
    study_free(s);
}

CU_TestInfo suite_gain[] = {
    {"as computed by hand", test_by_hand},
    {"residuals of the last rows", test_trust},
    {"far away", test_far},
    {"not known yet", test_unknown},
    {"late", test_late},
    {"running trials", test_pending},
    {"changes nothing", test_changes_nothing},
    {"several metrics", test_several},
    CU_TEST_INFO_NULL,
};
