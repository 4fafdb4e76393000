/* The algorithm auto: whose turn it is, that each proposes as it would alone, and that a log opened anew goes on bitwise. */
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS = 3, OPTIONS_MAX = 16, BEFORE = 247, TRIALS = 262, TURN = 251 /* the first trial of cma-es */ };

static const struct param params[PARAMS] = {{.name = "x", .min = -1.385, .max = 2},
                                            {.name = "y", .min = 1e-4, .max = 2.5, .scale = SCALE_LOG},
                                            {.name = "k", .kind = PARAM_INT, .max = 40}};

struct study {
    const struct policy *policy;
    struct space         space;
    struct problem       problem;
    double               options[OPTIONS_MAX];
    struct session      *session;
};

static struct study *study_new(const char *name)
{
    struct study *s = calloc(1, sizeof *s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    s->policy = policy_find(name);
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = PARAMS};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    policy_defaults(s->policy, s->options);
    s->problem =
        (struct problem){.space = &s->space, .options = s->options, .seed = 2385, .memory_bytes = (size_t)128 << 20};
    return s;
}

static void study_open(struct study *s)
{
    CU_ASSERT_EQUAL_FATAL(session_open(s->policy, &s->problem, &s->session, NULL), STATUS_OK);
}

static void study_free(struct study *s)
{
    session_close(s->session);
    free(s);
}

static double value_of(const double *point)
{
    return -(point[0] - 0.385) * (point[0] - 0.385) - point[1] - (point[2] - 29) * (point[2] - 29) / 100;
}

/* The events of one study: of each trial that it was suggested, and its value. */
struct log {
    struct event     events[2 * TRIALS];
    double           points[TRIALS + 1][PARAMS];
    struct proposal *made[TRIALS + 1];
    size_t           len;
};

static void log_add(struct log *log, uint64_t trial, const struct proposal *made)
{
    struct event event = {.trial = trial, .point = log->points[trial], .is_given = made == NULL};
    if (made != NULL)
        event.note = made->note, event.note_bytes = made->note_bytes;
    log->events[log->len++] = event;
    log->events[log->len++] =
        (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = event.point, .value = value_of(event.point)};
}

static void study_tell(struct study *s, const struct log *log, size_t from)
{
    for (size_t i = from; i < log->len; i++)
        CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &log->events[i], NULL), STATUS_OK);
}

static struct proposal *study_ask(struct study *s, uint64_t trial, double *point)
{
    const struct ask ask = {.trial = trial};
    struct proposal *out = calloc(1, sizeof *out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    out->point = point;
    CU_ASSERT_EQUAL_FATAL(s->policy->ask(s->session, &ask, out, NULL), STATUS_OK);
    CU_ASSERT_FATAL(space_has(&s->space, point) && out->fallback == NULL);
    return out;
}

/* Another session that is told the log proposes the same; cma-es is told of the trials before its turn as of given ones. */
static void check_same(const char *name, const struct log *log, uint64_t trial, const double *point)
{
    double        other[PARAMS];
    struct study *s = study_new(name);
    bool          is_strategy = strcmp(name, "cma-es") == 0;
    study_open(s);
    for (size_t i = 0; i < log->len; i++) {
        struct event event = log->events[i];
        event.is_given |= is_strategy && event.trial < TURN;
        CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
    }
    free(study_ask(s, trial, other));
    CU_ASSERT(memcmp(point, other, sizeof other) == 0);
    study_free(s);
}

/* A trial that came with its result, as a model of each of hundreds would take long. */
static void add_given(struct study *s, struct log *log, uint64_t trial)
{
    struct rng rng = rng_at(43, trial, RNG_TEST);
    double     unit[PARAMS] = {rng_uniform(&rng), rng_uniform(&rng), rng_uniform(&rng)};
    size_t     from = log->len;
    (void)space_quantile(&s->space, unit, log->points[trial]);
    log_add(log, trial, NULL);
    study_tell(s, log, from);
}

static void add_made(struct study *s, struct log *log, uint64_t trial)
{
    size_t from = log->len;
    log->made[trial] = study_ask(s, trial, log->points[trial]);
    check_same("auto", log, trial, log->points[trial]);
    log_add(log, trial, log->made[trial]);
    study_tell(s, log, from);
}

static void log_free(struct log *log)
{
    for (uint64_t trial = 0; trial <= TRIALS; trial++)
        free(log->made[trial]);
    free(log);
}

static void test_turns(void)
{
    struct log   *log = calloc(1, sizeof *log);
    struct study *s = study_new("auto");
    double        best = -HUGE_VAL, drawn = -HUGE_VAL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    study_open(s);
    for (uint64_t trial = 1; trial <= BEFORE; trial++)
        add_given(s, log, trial);
    for (uint64_t trial = BEFORE + 1; trial <= TRIALS; trial++) {
        double point[PARAMS];
        free(study_ask(s, trial, point)); /* asking changes nothing */
        check_same(trial < TURN ? "gp" : "cma-es", log, trial, point);
        add_made(s, log, trial);
        CU_ASSERT(memcmp(point, log->points[trial], sizeof point) == 0);
    }
    for (uint64_t trial = 1; trial <= TRIALS; trial++)
        *(trial < TURN ? &best : &drawn) = fmax(trial < TURN ? best : drawn, value_of(log->points[trial]));
    CU_ASSERT(best - drawn < 0.5); /* it went on from the best, not from the middle */
    log_free(log);
    study_free(s);
}

static bool is_left_to(const char *name, const struct space *space, size_t metrics_len, uint64_t trial)
{
    const char *why;
    return policy_find("auto")->leave_to(space, metrics_len, trial, &why) == policy_find(name);
}

static void test_who_may(void)
{
    struct param many[201], context[PARAMS];
    struct space plain = {.kind = SPACE_PARAMETERS, .params = params, .params_len = PARAMS};
    struct space wide = {.kind = SPACE_PARAMETERS, .params = many, .params_len = 201};
    struct space inner = {.kind = SPACE_PARAMETERS, .params = context, .params_len = PARAMS};
    struct space rows = {.kind = SPACE_CANDIDATES, .rows_len = 1000};
    memcpy(context, params, sizeof context);
    context[1].is_context = true;
    for (size_t i = 0; i < 201; i++)
        many[i] = params[0];
    CU_ASSERT_FATAL(space_init(&plain, NULL) == STATUS_OK && space_init(&wide, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_init(&inner, NULL) == STATUS_OK);
    CU_ASSERT_TRUE(is_left_to("gp", &plain, 0, TURN - 1) && is_left_to("cma-es", &plain, 1, TURN));
    CU_ASSERT_TRUE(is_left_to("gp", &plain, 2, 1000)); /* several metrics */
    CU_ASSERT_TRUE(is_left_to("turbo", &wide, 1, 1) && is_left_to("turbo", &wide, 1, UINT64_MAX));
    CU_ASSERT_TRUE(is_left_to("gp", &wide, 2, 1));
    for (size_t d = 1; d <= 13; d += 6) { /* 1, 7, 13 */
        struct space some = {.kind = SPACE_PARAMETERS, .params = many, .params_len = d};
        uint64_t     last = d < 6 ? 250 : d < 13 ? 300 : 650;
        CU_ASSERT_FATAL(space_init(&some, NULL) == STATUS_OK);
        CU_ASSERT_TRUE(is_left_to("gp", &some, 1, last) && is_left_to("cma-es", &some, 1, last + 1));
    }
    CU_ASSERT_TRUE(is_left_to("gp", &inner, 1, 1000)); /* a context */
    CU_ASSERT_TRUE(is_left_to("gp", &rows, 1, 1000));
}

/* The first draw of cma-es after 300 trials of six numbers, of which one is good; known: NAN of auto. */
static void draw_far(double known, double *point)
{
    enum { MANY = 6, GIVEN = 300 };
    struct param  many[MANY];
    struct study *s = study_new(isnan(known) ? "auto" : "cma-es");
    for (size_t i = 0; i < MANY; i++)
        many[i] = params[0];
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = many, .params_len = MANY};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    if (!isnan(known))
        s->options[policy_option(s->policy, "known")] = known;
    study_open(s);
    for (uint64_t trial = 1; trial <= GIVEN; trial++) {
        double       x = trial == 7 ? 0.385 : -1, at[MANY] = {x, x, x, x, x, x + 1e-4 * (double)trial};
        struct event event = {.trial = trial, .point = at, .is_given = true};
        CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
        event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = at, .value = x};
        CU_ASSERT_EQUAL_FATAL(s->policy->tell(s->session, &event, NULL), STATUS_OK);
    }
    free(study_ask(s, GIVEN + 1, point));
    study_free(s);
}

static void test_far(void)
{
    double point[6], whole[6], quarter[6];
    draw_far(NAN, point);
    draw_far(1, whole);
    draw_far(0.25, quarter);
    CU_ASSERT_TRUE(memcmp(point, whole, sizeof point) == 0 && memcmp(point, quarter, sizeof point) != 0);
}

CU_TestInfo suite_auto[] = {
    {"each proposes as it would alone, and a replay goes on", test_turns},
    {"an algorithm gets what it can do", test_who_may},
    {"from six numbers on the first step is a whole one", test_far},
    CU_TEST_INFO_NULL,
};
