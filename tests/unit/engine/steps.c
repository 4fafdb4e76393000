/* Functions with steps, by models made by hand and by studies. */
#include "engine/policy/session.h"
#include "engine/bo/gp_steps.h"
#include "tests/unit/engine/gp_world.h"

#include <string.h>

enum { D = 2, ROWS = 16 };

struct hand {
    struct arena     scratch;
    struct param     params[D];
    struct space     space;
    struct gp_model  model;
    double           X[ROWS * D], z[ROWS];
    size_t           row[ROWS];
    struct trial_log log;
    struct log_trial trials[ROWS];
};

/* n rows at points of their own with these values, in units in which z is ten times as large. */
static void hand_make(struct hand *h, const double *values, size_t n)
{
    *h = (struct hand){.log = {.trials = h->trials, .len = n}};
    h->model = (struct gp_model){.n = n,
                                 .log = &h->log,
                                 .space = &h->space,
                                 .scratch = &h->scratch,
                                 .above = HUGE_VAL,
                                 .below = -HUGE_VAL,
                                 .row = h->row,
                                 .X = h->X,
                                 .z = h->z};
    for (size_t j = 0; j < D; j++)
        h->params[j] = (struct param)PARAM("x", DOUBLE, LINEAR, 0, 1, 0);
    h->space = (struct space){.kind = SPACE_PARAMETERS, .params = h->params, .params_len = D, .dims = D};
    for (size_t k = 0; k < n; k++) {
        h->row[k] = k;
        h->X[k * D] = 0.05 * (double)k;
        h->z[k] = 10 * values[k];
        h->trials[k] = (struct log_trial){.state = LOG_OBSERVED, .value = values[k]};
    }
}

static double gap_of(struct hand *h)
{
    double gap;
    arena_init(&h->scratch, 1 << 16);
    CU_ASSERT_EQUAL_FATAL(gp_steps_find(&h->model, &gap, NULL), STATUS_OK);
    arena_fini(&h->scratch);
    return gap;
}

static void test_found(void)
{
    static const struct {
        size_t n;
        double values[10], gap;
    } cases[] = {{6, {.1, .9, .7, .9, .3, .2}, 2},
                 {6, {.1, .9, .9, .9, .9, .9}, 8},
                 {10, {.9, .7, .7, .6, .6, .3, .2, .1, 0, -1}, 2},
                 {10, {.9, .7, .7, .7, .7, .3, .2, .1, 0, -1}, 0}, /* a penalty, or a limit of the measurement */
                 {10, {.9, .7, .7, .6, .5, .3, .3, .1, .1, -1}, 0},
                 {6, {.1, .9, .7, .8, .1, .1}, 0},
                 {6, {.5, .5, .5, .5, .5, .5}, 0},
                 {6, {.1, .2, .3, .4, .5, .6}, 0}};
    struct hand h;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hand_make(&h, cases[i].values, cases[i].n);
        CHECK_NEAR(gap_of(&h), cases[i].gap, 1e-12);
    }
}

/* Neither a point measured twice, nor a value in doubt, nor one from outside, nor a finite space is a step. */
static void test_not_found(void)
{
    static const double values[6] = {.1, .9, .7, .9, .3, .2};
    struct hand         h;
    hand_make(&h, values, 6);
    h.X[3 * D] = h.X[1 * D];
    CHECK_NEAR(gap_of(&h), 0, 0);
    hand_make(&h, values, 6);
    h.model.above = 0.8;
    CHECK_NEAR(gap_of(&h), 0, 0);
    hand_make(&h, values, 6);
    h.trials[3].state = LOG_CONTEXT;
    CHECK_NEAR(gap_of(&h), 0, 0);
    hand_make(&h, values, 6);
    h.params[0].kind = h.params[1].kind = PARAM_INT;
    CHECK_NEAR(gap_of(&h), 0, 0);
    h.params[1].kind = PARAM_DOUBLE;
    CHECK_NEAR(gap_of(&h), 2, 1e-12);
}

static double stairs(const double *x)
{
    double a = (x[0] - 3.3) / 15, b = (x[1] - 7.7) / 15;
    return floor(-12 * sqrt(a * a + b * b));
}

/* A search does not stay on the step it stands on: of the last forty trials 17 have the best value again, and 31
 * before it was told of steps. */
static void test_stairs(void)
{
    struct study *s = study_new(box2, 2, NULL);
    double        best = -HUGE_VAL;
    size_t        equal = 0;
    while (s->trials < 60) {
        study_step(s, stairs);
        double value = stairs(s->point);
        equal += s->trials > 20 && value == best;
        best = fmax(best, value);
    }
    CU_ASSERT(equal <= 24);
    study_check_replay(s);
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
    policy_defaults(gp(), options);
    struct problem  problem = {.space = &space, .options = options, .seed = 5, .memory_bytes = 64 << 20};
    struct proposal proposal = {.point = point};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), &problem, &session, NULL), STATUS_OK);
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
    session_close(session);
}

CU_TestInfo suite_steps[] = {{"steps are found", test_found},
                             {"what is no step", test_not_found},
                             {"stairs", test_stairs},
                             {"trials from outside the space", test_outside},
                             CU_TEST_INFO_NULL};
