/* The gp algorithm: what is particular to it.  (Replay, seeds, bounds and the like are tested for every algorithm by
 * the contract suite.) */
#include "engine/policy/session.h"
#include "engine/bo/trust_region.h"
#include "tests/unit/engine/gp_world.h"

#include <string.h>

static double regret_after(const char *name, const struct param *params, size_t len, double (*f)(const double *),
                           int trials, uint64_t seed)
{
    static struct proposal proposal;
    const struct policy   *policy = policy_find(name);
    double                 options[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, best = -INFINITY, point[PARAMS_MAX];
    struct space           space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    struct problem         problem = {.space = &space, .options = options, .seed = seed, .memory_bytes = 64 << 20};
    struct session        *session;
    policy_defaults(policy, options);
    proposal.point = point;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(session_open(policy, &problem, &session, NULL), STATUS_OK);
    for (int t = 1; t <= trials; t++) {
        struct ask ask = {.trial = (uint64_t)t};
        CU_ASSERT_EQUAL_FATAL(policy->ask(session, &ask, &proposal, NULL), STATUS_OK);
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = ask.trial,
                              .point = point,
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        event = (struct event){.kind = EVENT_OBSERVED, .trial = ask.trial, .point = point, .value = f(point)};
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        best = fmax(best, event.value);
    }
    session_close(session);
    return -best;
}

static double hartmann6(const double *x)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {.05, 10, 17, .1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, .05, 10, .1, 14}},
                        P[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                   {.2329, .4135, .8307, .3736, .1004, .9991},
                                   {.2348, .1451, .3522, .2883, .3047, .6650},
                                   {.4047, .8828, .8732, .5743, .1091, .0381}},
                        c[4] = {1, 1.2, 3, 3.2};
    double sum = -3.322368011415515;
    for (int i = 0; i < 4; i++) {
        double q = 0;
        for (int j = 0; j < 6; j++)
            q += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        sum += c[i] * exp(-q);
    }
    return sum;
}

/* Random search has a median regret of 1.65 on Branin after 40 and of 1.36 on Hartmann-6 after 60 trials. */
static void test_beats_random(void)
{
    static const struct param unit = {.name = "x", .kind = PARAM_DOUBLE, .max = 1};
    struct param              box6[6] = {unit, unit, unit, unit, unit, unit};
    double                    branin_worst = 0.0, hartmann = 0.0, random = 0.0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        branin_worst = fmax(branin_worst, regret_after("gp", box2, 2, branin, 40, seed));
        hartmann += regret_after("gp", box6, 6, hartmann6, 60, seed) / 3;
        random += regret_after("random", box6, 6, hartmann6, 60, seed) / 3;
    }
    CU_ASSERT(branin_worst < 0.01);
    CU_ASSERT(hartmann < 0.5);
    CU_ASSERT(hartmann < 0.5 * random);
}

static void test_stddev(void)
{
    struct study *exact = study_new(box2, 2, NULL), *vague = study_new(box2, 2, NULL);
    double        a[1], b[1], sd[1], sd_vague[1];
    for (int t = 0; t < 10; t++) {
        study_step(exact, branin);
        study_ask(vague, NULL);
        study_tell(vague, EVENT_SUGGESTED, vague->trials, exact->point, 0);
        struct event event = {.kind = EVENT_OBSERVED,
                              .trial = vague->trials,
                              .point = exact->point,
                              .value = branin(exact->point),
                              .sd = t == 3 ? 500.0 : 0.0};
        CU_ASSERT_EQUAL(gp()->tell(vague->session, &event, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL(gp()->predict(exact->session,
                                  &(struct prediction){.points = exact->points[6], .m = 1, .mean = a, .sd = sd}, NULL),
                    STATUS_OK);
    CU_ASSERT_EQUAL(gp()->predict(vague->session,
                                  &(struct prediction){.points = exact->points[6], .m = 1, .mean = b, .sd = sd_vague},
                                  NULL),
                    STATUS_OK);
    CU_ASSERT(sd_vague[0] > 3.0 * sd[0]);
    study_free(exact);
    study_free(vague);
}

/* The first trial is in the middle of what every parameter's scale makes of its range, and the held ones are held. */
static void test_centre(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    study_ask(s, (double[4]){NAN, NAN, 0, NAN});
    CU_ASSERT_DOUBLE_EQUAL(s->point[0], 1e-3, 1e-12);
    CU_ASSERT(s->point[1] == 3 || s->point[1] == 4);
    CU_ASSERT_EQUAL(s->point[2], 0);
    CU_ASSERT_DOUBLE_EQUAL(s->point[3], 0.535, 1e-12);
    study_free(s);
}

/* The bound is asked first while there is something to gain; then log-EI, but for every fourth trial; of noisy values
 * log-EI mostly.  bounds, logs: how many trials of [from, to) had each. */
static void count_acquisitions(double (*function)(const double *), uint64_t from, uint64_t to, size_t *bounds,
                               size_t *logs, size_t *insisted)
{
    struct study      *s = study_new(box2, 2, NULL);
    double             lengths[2];
    struct diagnostics diagnostics = {.length_scales = lengths};
    *bounds = *logs = *insisted = 0;
    for (uint64_t trial = 1; trial < to; trial++) {
        struct ask ask = {.trial = trial, .diagnostics = &diagnostics};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        study_tell(s, EVENT_SUGGESTED, trial, s->point, 0);
        study_tell(s, EVENT_OBSERVED, trial, s->point, function(s->point));
        if (trial < from)
            continue;
        bool is_bound = strcmp(diagnostics.acquisition, "ucb") == 0;
        *bounds += is_bound;
        *logs += !is_bound;
        *insisted += is_bound && trial % 4 == 0;
    }
    study_free(s);
}

static void test_bound_first(void)
{
    size_t bounds, logs, insisted;
    count_acquisitions(branin, 7, 15, &bounds, &logs, &insisted);
    CU_ASSERT(bounds >= 7);
    count_acquisitions(branin, 61, 81, &bounds, &logs, &insisted);
    CU_ASSERT(logs >= 5 && insisted == 5);
    count_acquisitions(noisy_branin, 21, 61, &bounds, &logs, &insisted);
    CU_ASSERT(logs >= 30);
}

/* How far x is from the best of the log, the farthest coordinate as a share of its range; *outside: by how much more than
 * the trust region allows, <= 0 inside.  The study tells each trial twice, suggested and observed. */
static double reach(const struct study *s, const double *x, const double *length_scales, double *outside)
{
    struct arena        arena;
    struct trial_log    trials;
    struct trust_region region;
    size_t              best = 1;
    double              far = 0, theta[2], centre[2], u[2], box[4], *lower = box, *upper = box + 2;
    arena_init(&arena, 1 << 20);
    trial_log_init(&trials, &arena, 2);
    for (size_t i = 0; i < s->events_len; i++) {
        CU_ASSERT_EQUAL_FATAL(trial_log_tell(&trials, &s->events[i], NULL), STATUS_OK);
        if (i % 2 == 1 && s->events[i].value > s->events[best].value)
            best = i;
    }
    CU_ASSERT_EQUAL_FATAL(
        trust_region_find(&trials,
                          (struct trust_rule){.start = 0.5, .least = 0.02, .above = INFINITY, .below = -INFINITY},
                          &arena, &region, NULL),
        STATUS_OK);
    space_encode(&s->space, s->points[best], centre);
    space_encode(&s->space, x, u);
    for (size_t j = 0; j < 2; j++)
        theta[j] = log(length_scales[j]);
    trust_region_box(&region, &s->space, (const size_t[]){0, 1}, theta, centre, box);
    *outside = -1;
    for (size_t j = 0; j < 2; j++) {
        far = fmax(far, fabs(u[j] - centre[j]));
        *outside = fmax(*outside, fmax(lower[j] - u[j], u[j] - upper[j]));
    }
    arena_fini(&arena);
    return far;
}

/* The promise of the bound is looked for in the trust region; but a basin that is found first is not all: when the bound
 * promises nothing more, trials go far from it. */
static void test_near_then_far(void)
{
    struct study      *s = study_new(box2, 2, NULL);
    double             lengths[2], outside;
    struct diagnostics diagnostics = {.length_scales = lengths};
    size_t             near = 0, far = 0;
    while (s->trials < 45) {
        struct ask ask = {.trial = ++s->trials, .diagnostics = &diagnostics};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        if (!isnan(s->proposal.mean)) {
            double away = reach(s, s->point, lengths, &outside);
            bool   is_bound = strcmp(diagnostics.acquisition, "ucb") == 0;
            CU_ASSERT(!is_bound || outside < 1e-9);
            near += is_bound;
            far += s->trials > 30 && away > 0.3 && outside > 0.1;
        }
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, branin(s->point));
    }
    CU_ASSERT(near >= 15);
    CU_ASSERT(far >= 3);
    study_free(s);
}

static bool count_polls(void *arg)
{
    ++*(int *)arg;
    return false;
}

static double grid_value(const double *x)
{
    return -pow(x[0] - 2.3, 2) - pow(x[1] - 4.8, 2);
}

/* Where a search looks at every point, log-EI is searched once: the box leaves nothing out. */
static void test_complete_search(void)
{
    static const struct param grid[] = {{.name = "a", .kind = PARAM_INT, .max = 7},
                                        {.name = "b", .kind = PARAM_INT, .max = 7}};
    struct study             *s = study_new(grid, 2, NULL);
    struct diagnostics        seen = {.length_scales = (double[2]){0}};
    int                       polls = 0;
    while (s->trials < 41)
        study_step(s, grid_value);
    struct ask ask = {.trial = 42, .late = count_polls, .late_arg = &polls, .diagnostics = &seen};
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(seen.acquisition, "log-ei");
    CU_ASSERT(seen.acquisition_value < log(1e-5)); /* not worth a trial by itself */
    CU_ASSERT_EQUAL(polls, 4); /* before the model; in the search of the bound, and after it; in that of log-EI */
    study_free(s);
}

/* Rows of a candidate matrix: finds the best of 300 in 30 queries, one after the other without repeats. */
static void test_candidates(void)
{
    enum { ROWS = 300 };
    static double rows[ROWS * 2];
    struct rng    rng = rng_at(77, 1, RNG_TEST);
    double        values[ROWS], best = -INFINITY, found = -INFINITY;
    bool          seen[ROWS] = {false};
    for (size_t i = 0; i < ROWS; i++) {
        rows[2 * i] = -5 + 15 * rng_uniform(&rng);
        rows[2 * i + 1] = 15 * rng_uniform(&rng);
        values[i] = branin(rows + 2 * i);
        best = fmax(best, values[i]);
    }
    for (int acquisition = 0; acquisition < 2; acquisition++) {
        struct space           space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = ROWS, .columns = 2};
        double                 options[OPTIONS] = {acquisition, 0, NAN, NAN};
        struct problem         problem = {.space = &space, .options = options, .seed = 5, .memory_bytes = 64 << 20};
        static struct proposal proposal;
        struct session        *session;
        memset(seen, 0, sizeof seen);
        found = -INFINITY;
        CU_ASSERT_EQUAL_FATAL(session_open(gp(), &problem, &session, NULL), STATUS_OK);
        for (uint64_t t = 1; t <= 35; t++) {
            struct ask ask = {.trial = t};
            CU_ASSERT_EQUAL_FATAL(gp()->ask(session, &ask, &proposal, NULL), STATUS_OK);
            CU_ASSERT_FALSE(seen[proposal.row]);
            seen[proposal.row] = true;
            struct event event = {.kind = EVENT_SUGGESTED,
                                  .trial = t,
                                  .row = proposal.row,
                                  .note = proposal.note,
                                  .note_bytes = proposal.note_bytes};
            CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
            event =
                (struct event){.kind = EVENT_OBSERVED, .trial = t, .row = proposal.row, .value = values[proposal.row]};
            CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
            found = fmax(found, event.value);
        }
        CHECK_NEAR(found, best, 0.5);
        CU_ASSERT(session_bytes(session) > 0);
        session_close(session);
    }
}

CU_TestInfo suite_policy_gp[] = {
    {"beats random", test_beats_random},
    {"sd", test_stddev},
    {"centre", test_centre},
    {"bound first", test_bound_first},
    {"near, then far", test_near_then_far},
    {"a complete search", test_complete_search},
    {"candidates", test_candidates},
    CU_TEST_INFO_NULL,
};
