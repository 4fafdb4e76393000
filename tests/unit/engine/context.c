/* Parameters of context: what is proposed is what is best in the context that is asked for. */
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { FIRST = 30, LAST = 8 };

struct world {
    const struct policy *policy;
    struct space         space;
    struct problem       problem;
    struct session      *session;
    double               options[16];
    uint64_t             trials;
};

static const struct param     plain[2] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -3, .max = 7},
                                          {.name = "warmth", .kind = PARAM_DOUBLE, .max = 40}};
static const struct param     weather[2] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -3, .max = 7},
                                            {.name = "warmth", .kind = PARAM_DOUBLE, .max = 40, .is_context = true}};
static const enum metric_kind bounded[2] = {METRIC_OBJECTIVE, METRIC_CONSTRAINT};

static double best_x(double warmth)
{
    return -1.7 + 0.19 * warmth;
}

static void open_world(struct world *w, const struct param *params, size_t metrics, uint64_t seed)
{
    *w = (struct world){.policy = policy_find("gp")};
    w->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = 2};
    policy_defaults(w->policy, w->options);
    w->problem = (struct problem){.space = &w->space,
                                  .options = w->options,
                                  .seed = seed,
                                  .memory_bytes = 64 << 20,
                                  .metrics = metrics > 1 ? bounded : NULL,
                                  .metrics_len = metrics};
    CU_ASSERT_EQUAL_FATAL(space_init(&w->space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(policy_check(w->policy, &w->problem, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_open(w->policy, &w->problem, &w->session, NULL), STATUS_OK);
}

static double ask(struct world *w, double warmth)
{
    static struct proposal proposal;
    double                 fixed[2] = {NAN, warmth}, point[2];
    proposal.point = point;
    CU_ASSERT_EQUAL_FATAL(
        w->policy->ask(w->session, &(struct ask){.trial = ++w->trials, .fixed = fixed}, &proposal, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(point[1], warmth);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = w->trials,
                          .point = point,
                          .note = proposal.note,
                          .note_bytes = proposal.note_bytes};
    CU_ASSERT_EQUAL_FATAL(w->policy->tell(w->session, &event, NULL), STATUS_OK);
    return point[0];
}

/* Warm days are worth more than any choice: no cold one can improve on them.  The bound is on x, and moves too. */
static void tell(struct world *w, double x, double warmth, bool has_value)
{
    double       values[4] = {2.0 * warmth - (x - best_x(warmth)) * (x - best_x(warmth)), 0.9 + best_x(warmth) - x};
    struct event event = {.kind = has_value ? EVENT_OBSERVED : EVENT_INFEASIBLE,
                          .trial = w->trials,
                          .point = (const double[2]){x, warmth},
                          .value = values[0],
                          .values = values};
    CU_ASSERT_EQUAL_FATAL(w->policy->tell(w->session, &event, NULL), STATUS_OK);
}

/* The mean distance of the last proposals from what is best in their contexts. */
static double miss(const struct param *params, size_t metrics, bool has_infeasible)
{
    struct world w;
    double       sum = 0.0;
    open_world(&w, params, metrics, 11);
    for (int t = 0; t < FIRST + LAST; t++) {
        double warmth = fmod(17.3 + 23.7 * t, 40.0), x = ask(&w, warmth);
        tell(&w, x, warmth, !has_infeasible || x > best_x(warmth) - 3.1);
        sum += t >= FIRST ? fabs(x - best_x(warmth)) / LAST : 0.0;
    }
    session_close(w.session);
    return sum;
}

static void test_follows(void)
{
    CU_ASSERT(miss(weather, 0, false) < 0.15);
    CU_ASSERT(miss(plain, 0, false) > 1.0); // what is held but no context: nothing improves on the best of all
}

static void test_constraint(void)
{
    CU_ASSERT(miss(weather, 2, false) < 0.3);
}

static void test_infeasible(void)
{
    CU_ASSERT(miss(weather, 0, true) < 0.9); // every fourth looks elsewhere
}

/* Nine workers in contexts of their own, and nothing known of their results. */
static void test_pending(void)
{
    struct world w;
    open_world(&w, weather, 0, 5);
    for (int t = 0; t < FIRST; t++) {
        double warmth = fmod(17.3 + 23.7 * t, 40.0);
        tell(&w, ask(&w, warmth), warmth, true);
    }
    for (int t = 0; t < 9; t++) {
        double warmth = 2.3 + 4.1 * t;
        CU_ASSERT(fabs(ask(&w, warmth) - best_x(warmth)) < 0.8);
    }
    session_close(w.session);
}

static void test_gain(void)
{
    struct world w;
    struct gain  gain;
    open_world(&w, weather, 0, 5);
    for (int t = 0; t < FIRST; t++)
        tell(&w, ask(&w, (double)t), (double)t, true);
    CU_ASSERT_EQUAL(w.policy->gain(w.session, &(struct ask){.trial = w.trials + 1}, &gain, NULL), STATUS_OK);
    CU_ASSERT(isnan(gain.expected));
    session_close(w.session);
}

/* A context that brings a parameter into being: earlier points have no value for it. */
static void test_conditional(void)
{
    static const double    diesel[1] = {1};
    const struct condition when = {.parent = 0, .values = diesel, .values_len = 1};
    const struct param     params[2] = {
            {.name = "engine", .kind = PARAM_CATEGORICAL, .max = 1, .choices = 2, .is_context = true},
            {.name = "x", .kind = PARAM_DOUBLE, .max = 1, .when = &when, .when_len = 1}};
    static struct proposal proposal;
    struct world           w;
    open_world(&w, params, 0, 3);
    for (uint64_t trial = 1; trial <= 14; trial++) {
        double point[2], fixed[2] = {trial > 7 ? 1 : 0, NAN};
        proposal.point = point;
        CU_ASSERT_EQUAL_FATAL(w.policy->ask(w.session, &(struct ask){.trial = trial, .fixed = fixed}, &proposal, NULL),
                              STATUS_OK);
        CU_ASSERT(space_has(&w.space, point) && point[0] == fixed[0]);
        struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point};
        CU_ASSERT_EQUAL_FATAL(w.policy->tell(w.session, &event, NULL), STATUS_OK);
        event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = 2.385 + fixed[0]};
        CU_ASSERT_EQUAL_FATAL(w.policy->tell(w.session, &event, NULL), STATUS_OK);
    }
    session_close(w.session);
}

static void test_refused(void)
{
    static const double    sgd[1] = {1};
    const struct condition when = {.parent = 0, .values = sgd, .values_len = 1};
    const struct param     all[1] = {{.name = "a", .kind = PARAM_DOUBLE, .max = 1, .is_context = true}};
    const struct param     some[2] = {
            {.name = "opt", .kind = PARAM_CATEGORICAL, .max = 1, .choices = 2},
            {.name = "a", .kind = PARAM_DOUBLE, .max = 1, .is_context = true, .when = &when, .when_len = 1}};
    struct error err;
    struct space space = {.kind = SPACE_PARAMETERS, .params = all, .params_len = 1};
    CU_ASSERT_EQUAL(space_init(&space, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/space/parameters");
    space = (struct space){.kind = SPACE_PARAMETERS, .params = some, .params_len = 2};
    CU_ASSERT_EQUAL(space_init(&space, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/space/parameters/1/context");
    space = (struct space){.kind = SPACE_PARAMETERS, .params = weather, .params_len = 2};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    const struct policy *turbo = policy_find("turbo");
    double               options[16];
    policy_defaults(turbo, options);
    CU_ASSERT_EQUAL(policy_check(turbo, &(struct problem){.space = &space, .options = options}, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/algorithm/name");
}

CU_TestInfo suite_context[] = {
    {"follows the context", test_follows},
    {"a constraint", test_constraint},
    {"infeasible trials", test_infeasible},
    {"running trials", test_pending},
    {"no one gain", test_gain},
    {"brings a parameter into being", test_conditional},
    {"refused", test_refused},
    CU_TEST_INFO_NULL,
};
