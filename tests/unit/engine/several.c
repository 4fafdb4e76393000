/* Several metrics: acquisition functions against definitions, and what gp reaches with them. */
#include "engine/policy/session.h"
#include "engine/acquisition/acq.h"
#include "engine/acquisition/acq_several.h"
#include "engine/acquisition/pareto.h"
#include "engine/math/rng.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <CUnit/TestRun.h>
#include <string.h>

static void test_log_phi(void)
{
    double slope, ignored;
    for (double z = -8.0; z <= 6.0; z += 0.37) {
        double Phi = 0.5 * erfc(-z / sqrt(2.0));
        CHECK_NEAR(acq_log_phi(z, &slope), log(Phi), 1e-12 * (1.0 + z * z));
        CHECK_NEAR(slope, exp(-0.5 * z * z) / sqrt(2.0 * 3.14159265358979324) / Phi, 1e-11 * (1.0 + fabs(z)));
        double up = acq_log_phi(z + 1e-5, &ignored), down = acq_log_phi(z - 1e-5, &ignored);
        CHECK_NEAR((up - down) / 2e-5, slope, 1e-5);
    }
    CHECK_NEAR(acq_log_phi(-1e3, &slope) / -500007.82669483, 1.0, 1e-9); /* the asymptotic series */
    CU_ASSERT(isfinite(acq_log_phi(-1e150, &slope)) && isfinite(slope));
}

static struct acq_several make_acq(size_t objectives)
{
    struct rng         rng = rng_at(3, 1, RNG_TEST);
    struct acq_several acq = {.objectives = objectives,
                              .first = objectives,
                              .len = objectives + 2,
                              .best = -0.4,
                              .beta = 1.7,
                              .weight = {0.25, 0.35, 0.4},
                              .reference = {0.5, 0.75, 0.25}};
    acq.bound[objectives] = 0.3;
    acq.bound[objectives + 1] = -2.0;
    for (size_t s = 0; s < ACQ_SAMPLES; s++)
        for (size_t k = 0; k < OBJECTIVES_MAX; k++)
            acq.samples[s][k] = rng_normal(&rng);
    return acq;
}

/* Derivatives against differences, with none, one and three objectives. */
static void check_gradients(enum acq_reach reach)
{
    for (size_t objectives = 0; objectives <= 3; objectives += objectives + 1) {
        struct acq_several acq = make_acq(objectives);
        acq.reach = reach;
        double mean[] = {0.2, -0.1, 0.35, 0.15, -0.7}, sd[] = {0.5, 0.8, 0.3, 0.6, 0.9}, dmean[5], dsd[5], ignored[5];
        acq_several_value(&acq, mean, sd, dmean, dsd);
        for (size_t k = 0; k < acq.len; k++)
            for (int which = 0; which < 2; which++) {
                double *x = which == 0 ? &mean[k] : &sd[k], kept = *x;
                *x = kept + 1e-7;
                double up = acq_several_value(&acq, mean, sd, ignored, ignored);
                *x = kept - 1e-7;
                double down = acq_several_value(&acq, mean, sd, ignored, ignored);
                *x = kept;
                CHECK_NEAR((up - down) / 2e-7, which == 0 ? dmean[k] : dsd[k],
                           1e-4 * (1.0 + fabs(dmean[k]) + fabs(dsd[k])));
            }
    }
}

static void test_gradients(void)
{
    check_gradients(ACQ_EXPECTED);
    check_gradients(ACQ_GREEDY);
    check_gradients(ACQ_WIDE);
}

static void test_volume(void)
{
    const double       front[] = {0.3, 0.9, 0.2, 0.6, 0.5, 0.4}, reference[] = {-0.1, 0.05, 0.02};
    const double       mean[] = {0.2, -0.1, 0.35, 0.15, -0.7}, sd[] = {0.5, 0.8, 0.3, 0.6, 0.9};
    struct acq_several acq = make_acq(3);
    struct arena       arena;
    double             dmean[5], dsd[5], a[3], b[3], slope;
    arena_init(&arena, 1 << 20);
    acq.is_volume = true;
    CU_ASSERT_FATAL(ehvi_init(&acq.ehvi, &(struct pareto_set){.values = front, .n = 2, .m = 3, .reference = reference},
                              &arena, NULL) == STATUS_OK);
    double expected = ehvi_value(&acq.ehvi, mean, sd, a, b);
    expected += acq_log_phi((0.15 - 0.3) / 0.6, &slope) + acq_log_phi((-0.7 + 2.0) / 0.9, &slope);
    CHECK_NEAR(acq_several_value(&acq, mean, sd, dmean, dsd), expected, 1e-12);
    for (size_t k = 0; k < 3; k++) {
        CHECK_NEAR(dmean[k], a[k], 1e-12 * (1.0 + fabs(a[k])));
        CHECK_NEAR(dsd[k], b[k], 1e-12 * (1.0 + fabs(b[k])));
    }
    arena_fini(&arena);
}

static void test_names(void)
{
    static const struct {
        size_t         objectives;
        bool           is_volume;
        enum acq_reach reach;
        const char    *name;
    } rows[] = {
        {0, false, ACQ_EXPECTED, "feasibility"},
        {1, false, ACQ_EXPECTED, "log-ei"},
        {1, false, ACQ_WIDE, "ucb"},
        {3, false, ACQ_EXPECTED, "scalarized-log-ei"},
        {3, false, ACQ_GREEDY, "scalarized-ucb"},
        {2, false, ACQ_WIDE, "scalarized-ucb"},
        {3, true, ACQ_EXPECTED, "log-ehvi"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct acq_several acq = make_acq(rows[i].objectives);
        acq.is_volume = rows[i].is_volume;
        acq.reach = rows[i].reach;
        CU_ASSERT_STRING_EQUAL(acq_several_name(&acq), rows[i].name);
    }
}

/* With one objective and constraints: the sum of the logarithms; with several: the mean improvement of the samples. */
static void test_values(void)
{
    double             mean[] = {0.2, -0.1, 0.35, 0.15, -0.7}, sd[] = {0.5, 0.8, 0.3, 0.6, 0.9}, a[5], b[5], sum = 0.0;
    struct acq_several one = make_acq(1), three = make_acq(3);
    const struct acq   log_ei = {.kind = ACQ_LOG_EI, .best = one.best};
    double             expected = acq_value(&log_ei, 0.2, 0.5, a, b) + log(0.5 * erfc((0.3 + 0.1) / 0.8 / sqrt(2.0))) +
                      log(0.5 * erfc((-2.0 - 0.35) / 0.3 / sqrt(2.0)));
    CHECK_NEAR(acq_several_value(&one, mean, sd, a, b), expected, 1e-12);
    three.len = 3;
    for (size_t s = 0; s < ACQ_SAMPLES; s++) {
        double least = HUGE_VAL, total = 0.0;
        for (size_t k = 0; k < 3; k++) {
            double c = three.weight[k] * (mean[k] + sd[k] * three.samples[s][k] - three.reference[k]);
            least = fmin(least, c);
            total += c;
        }
        sum += fmax(0.0, least + 0.05 * total - three.best);
    }
    CHECK_NEAR(acq_several_value(&three, mean, sd, a, b), log(sum / ACQ_SAMPLES), 1e-2);
}

/* --- what gp reaches --- */

static void zdt1(const double *x, double *f)
{
    double g = 1.0 + 9.0 * (x[1] + x[2]) / 2.0;
    f[0] = -x[0];
    f[1] = -g * (1.0 - sqrt(x[0] / g));
}

/* A linear objective on a disc around (0.5, 0.45): the best is on its rim, (0.15, 0.2) / 0.25 from the centre. */
static void rim(const double *x, double *f)
{
    f[0] = 3.0 * x[0] + 4.0 * x[1];
    f[1] = 0.0625 - (x[0] - 0.5) * (x[0] - 0.5) - (x[1] - 0.45) * (x[1] - 0.45);
}

struct run {
    void (*function)(const double *x, double *f);
    const char      *policy;
    size_t           params_len, metrics_len, trials;
    enum metric_kind metrics[2];
    bool             hides_constraint; /* an infeasible trial has no values, a feasible one only the first */
    double           values[2 * 120];  /* out, of feasible trials */
    size_t           feasible;
    const double    *thresholds; /* [metrics_len] or NULL */
    size_t           volumes;    /* out: proposals that aimed at the volume */
};

/* options, of the problem, get their fallbacks. */
static struct session *open_session(const struct policy *policy, const struct problem *problem, struct space *space,
                                    double *options)
{
    struct session *session;
    policy_defaults(policy, options);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(session_open(policy, problem, &session, NULL) == STATUS_OK);
    return session;
}

static void run_study(struct run *run, uint64_t seed)
{
    static const struct param params[3] = {{.name = "a", .max = 1}, {.name = "b", .max = 1}, {.name = "c", .max = 1}};
    static struct proposal    proposal;
    const struct policy      *policy = policy_find(run->policy);
    struct space              space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = run->params_len};
    double                    options[8], point[3];
    struct problem            problem = {.space = &space,
                                         .options = options,
                                         .seed = seed,
                                         .memory_bytes = 1 << 26,
                                         .metrics = run->metrics,
                                         .metrics_len = run->hides_constraint ? 1 : run->metrics_len,
                                         .thresholds = run->thresholds};
    struct session           *session = open_session(policy, &problem, &space, options);
    run->feasible = run->volumes = 0;
    for (uint64_t trial = 1; trial <= run->trials; trial++) {
        double values[4] = {0};
        proposal.point = point;
        struct diagnostics diagnostics = {.length_scales = (double[3]){0}};
        CU_ASSERT(policy->ask(session, &(struct ask){.trial = trial, .diagnostics = &diagnostics}, &proposal, NULL) ==
                  STATUS_OK);
        CU_ASSERT(proposal.fallback == NULL);
        run->volumes += diagnostics.acquisition != NULL && strcmp(diagnostics.acquisition, "log-ehvi") == 0;
        struct event event = {.trial = trial, .point = point, .note = proposal.note, .note_bytes = proposal.note_bytes};
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
        run->function(point, values);
        bool is_feasible = run->metrics[1] == METRIC_OBJECTIVE || values[1] >= 0.0;
        if (is_feasible)
            memcpy(run->values + 2 * run->feasible++, values, 2 * sizeof *values);
        bool is_hidden = run->hides_constraint && !is_feasible;
        event = (struct event){.kind = is_hidden ? EVENT_INFEASIBLE : EVENT_OBSERVED,
                               .trial = trial,
                               .point = point,
                               .value = values[0],
                               .values = run->hides_constraint ? NULL : values};
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
    }
    session_close(session);
}

static double hypervolume(const struct run *run)
{
    struct arena arena;
    double       out = NAN;
    arena_init(&arena, 1 << 24);
    CU_ASSERT(pareto_hypervolume(
                  &(struct pareto_set){
                      .values = run->values, .n = run->feasible, .m = 2, .reference = (const double[]){-1.1, -1.1}},
                  &out, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    return out;
}

/* The largest hypervolume is 1.21 - 1/3 = 0.8767. */
static void test_two_objectives(void)
{
    struct run gp = {zdt1, "gp", 3, 2, 32, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}, .feasible = 0}, random = gp;
    random.policy = "random";
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_study(&gp, seed);
        run_study(&random, seed);
        CU_ASSERT(hypervolume(&gp) > 0.7);
        CU_ASSERT(hypervolume(&gp) > hypervolume(&random) + 0.3);
    }
}

/* How many feasible trials attain both. */
static size_t count_attained(const struct run *run, const double *thresholds)
{
    size_t count = 0;
    for (size_t i = 0; i < run->feasible; i++)
        count += run->values[2 * i] >= thresholds[0] && run->values[2 * i + 1] >= thresholds[1];
    return count;
}

/* The part of the front of zdt1, g = 1 - sqrt(f), between f = 0.16 and 0.5 attains both thresholds: a third of it. */
static void test_thresholds(void)
{
    const double middle[] = {-0.5, -0.6}, one[] = {NAN, -0.6};
    struct run   without = {zdt1, "gp", 3, 2, 32, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}, .feasible = 0}, with = without,
               some = without;
    with.thresholds = middle;
    some.thresholds = one;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_study(&without, seed);
        run_study(&with, seed);
        run_study(&some, seed);
        CU_ASSERT(with.volumes == 24 && without.volumes == 21 && some.volumes == 21);
        CU_ASSERT(count_attained(&with, middle) >= 2 * count_attained(&without, middle));
        CU_ASSERT(count_attained(&with, middle) >= 16);
        CU_ASSERT(memcmp(some.values, without.values, sizeof some.values) != 0);
    }
}

/* Where none is given, and where it is given but says nothing, nothing is another. */
static void test_no_thresholds(void)
{
    const double none[] = {NAN, NAN};
    struct run   one = {zdt1, "gp", 3, 2, 16, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}, .feasible = 0}, other = one;
    other.thresholds = none;
    run_study(&one, 5);
    run_study(&other, 5);
    CU_ASSERT(memcmp(one.values, other.values, 2 * 16 * sizeof one.values[0]) == 0);
}

/* Thresholds that nothing attains, that everything does, and that are no numbers: run_study allows no fallback. */
static void test_extreme_thresholds(void)
{
    static const double extremes[][2] = {{1.7e308, 1.7e308}, {-1.7e308, -1.7e308}, {1.7e308, -1.7e308}, {0.1, 0.1}};
    struct run          run = {zdt1, "gp", 3, 2, 14, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}, .feasible = 0};
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        run.thresholds = extremes[i];
        run_study(&run, 7);
        CU_ASSERT(run.volumes == 6 && run.feasible == 14);
    }
}

/* Distances from two places, but far away they grow by orders of magnitude: a model of the values as they are sees
 * nothing of the front. */
static void cliffs(const double *x, double *f)
{
    double from[2] = {0};
    for (int j = 0; j < 3; j++) {
        from[0] += (x[j] - 0.2) * (x[j] - 0.2);
        from[1] += (x[j] - 0.3) * (x[j] - 0.3);
    }
    for (int k = 0; k < 2; k++)
        f[k] = 1.0 - exp(14.0 * from[k]);
}

static void test_cliffs(void)
{
    struct run gp = {cliffs, "gp", 3, 2, 24, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}, .feasible = 0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_study(&gp, seed);
        CU_ASSERT(hypervolume(&gp) > 1.05);
    }
}

/* The point of a trial that may look elsewhere, after 17 of which the last ones are infeasible, and the others alike. */
static void look_elsewhere(uint64_t seed, uint64_t infeasible, double *point)
{
    static const struct param     params[2] = {{.name = "a", .max = 1}, {.name = "b", .max = 1}};
    static const enum metric_kind metrics[2] = {METRIC_OBJECTIVE, METRIC_OBJECTIVE};
    static struct proposal        proposal;
    const struct policy          *policy = policy_find("gp");
    struct space                  space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 2};
    double                        options[8];
    struct rng                    rng = rng_at(seed, 1, RNG_TEST);
    struct problem                problem = {.space = &space,
                                             .options = options,
                                             .seed = seed,
                                             .memory_bytes = 1 << 26,
                                             .metrics = metrics,
                                             .metrics_len = 2};
    struct session               *session = open_session(policy, &problem, &space, options);
    for (uint64_t trial = 1; trial <= 17; trial++) {
        double       x[2] = {rng_uniform(&rng), rng_uniform(&rng)};
        double       values[4] = {2.385, 3.1};
        struct event event = {.trial = trial, .point = x, .value = values[0], .values = values};
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
        event.kind = trial > 17 - infeasible ? EVENT_INFEASIBLE : EVENT_OBSERVED;
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
    }
    proposal.point = point;
    CU_ASSERT(policy->ask(session, &(struct ask){.trial = 18}, &proposal, NULL) == STATUS_OK);
    session_close(session);
}

/* The place that a trial with two objectives looks near to is none that its weights are made of.  Nobody looks there when
 * less than an eighth of the trials was infeasible. */
static void test_elsewhere(void)
{
    int near_place = 0, near_weights = 0, near_with_few = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng = rng_at(seed, 18, RNG_WEIGHTS);
        double     point[2], u[4];
        for (int k = 0; k < 4; k++)
            u[k] = rng_uniform(&rng);
        look_elsewhere(seed, 3, point);
        near_weights += hypot(point[0] - u[0], point[1] - u[1]) < 0.25;
        near_place += hypot(point[0] - u[2], point[1] - u[3]) < 0.25;
        look_elsewhere(seed, 2, point);
        near_with_few += hypot(point[0] - u[2], point[1] - u[3]) < 0.25;
    }
    CU_ASSERT(near_place >= 16 && near_weights <= 6 && near_with_few <= 8);
}

static double best_of(const struct run *run)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < run->feasible; i++)
        best = fmax(best, run->values[2 * i]);
    return best;
}

/* The largest value is 3 * 0.65 + 4 * 0.65 = 4.55. */
static void test_constraint(void)
{
    struct run gp = {rim, "gp", 2, 2, 24, {METRIC_OBJECTIVE, METRIC_CONSTRAINT}, .feasible = 0}, random = gp;
    random.policy = "random";
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_study(&gp, seed);
        run_study(&random, seed);
        CU_ASSERT(best_of(&gp) > 4.54 && best_of(&gp) <= 4.55 + 1e-12);
        CU_ASSERT(best_of(&gp) > best_of(&random));
    }
}

/* As test_constraint, when all that is seen of the constraint is that a trial was infeasible. */
static void test_infeasible(void)
{
    struct run gp = {rim, "gp", 2, 2, 40, {METRIC_OBJECTIVE, METRIC_CONSTRAINT}, .hides_constraint = true}, random = gp;
    random.policy = "random";
    double reached = 0.0, by_random = 0.0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_study(&gp, seed);
        run_study(&random, seed);
        CU_ASSERT(best_of(&gp) > 4.2);
        reached += best_of(&gp);
        by_random += best_of(&random);
    }
    CU_ASSERT(reached > by_random);
}

/* Two ends of the feasible disc are local optima, the better one lies behind infeasible trials: Branin's function, -4.21 at
 * the one and -1.32 at the other. */
static void two_ends(const double *x, double *f)
{
    const double pi = 3.14159265358979324;
    double       u = 15.0 * x[0] - 5.0, v = 15.0 * x[1], a = v - 5.1 / (4.0 * pi * pi) * u * u + 5.0 / pi * u - 6.0;
    f[0] = -a * a - 10.0 * (1.0 - 1.0 / (8.0 * pi)) * cos(u) - 10.0;
    f[1] = 0.11 - (x[0] - 0.5) * (x[0] - 0.5) - (x[1] - 0.55) * (x[1] - 0.55);
}

static void test_two_ends(void)
{
    struct run gp = {two_ends, "gp", 2, 2, 120, {METRIC_OBJECTIVE, METRIC_CONSTRAINT}, .hides_constraint = true};
    uint64_t   seeds = thorough ? 5 : 1, found = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        run_study(&gp, seed);
        CU_ASSERT(best_of(&gp) > -4.3 && best_of(&gp) <= -1.32);
        found += best_of(&gp) > -1.5;
    }
    CU_ASSERT(5 * found >= 3 * seeds);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* A proposal of gp in little time, for which each of its models keeps other ones of the 900 rows.  fill:
 * the point and the values of a trial.  Returns the acquisition's value. */
static double ask_hurried(const enum metric_kind *metrics, struct proposal *proposal,
                          void (*fill)(uint64_t, struct rng *, double *, double *))
{
    static const struct param params[2] = {{.name = "a", .max = 1}, {.name = "b", .max = 1}};
    const struct policy      *policy = policy_find("gp");
    struct space              space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = 2};
    double                    options[8], point[2], lengths[2];
    struct rng                rng = rng_at(3, 1, RNG_TEST);
    struct diagnostics        diagnostics = {.length_scales = lengths};
    struct ask                ask = {.trial = 901, .late = never, .deadline_ms = 50, .diagnostics = &diagnostics};
    policy_defaults(policy, options);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    struct problem problem = {.space = &space, .options = options, .seed = 7, .memory_bytes = 1 << 27};
    problem.metrics = metrics;
    problem.metrics_len = 2;
    struct session *session = open_session(policy, &problem, &space, options);
    for (uint64_t trial = 1; trial <= 900; trial++) {
        double values[4] = {0};
        fill(trial, &rng, point, values);
        struct event event = {.trial = trial, .point = point, .value = values[0], .values = values};
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
        event.kind = EVENT_OBSERVED;
        CU_ASSERT(policy->tell(session, &event, NULL) == STATUS_OK);
    }
    proposal->point = point;
    CU_ASSERT(policy->ask(session, &ask, proposal, NULL) == STATUS_OK);
    CU_ASSERT(proposal->fallback == NULL && proposal->observations == 494);
    session_close(session);
    return diagnostics.acquisition_value;
}

static void one_best(uint64_t trial, struct rng *rng, double *point, double *values)
{
    double r2;
    do {
        point[0] = trial == 450 ? 0.8 : rng_uniform(rng);
        point[1] = trial == 450 ? 0.3 : rng_uniform(rng);
        r2 = (point[0] - 0.8) * (point[0] - 0.8) + (point[1] - 0.3) * (point[1] - 0.3);
    } while (trial != 450 && r2 < 0.0625);
    values[0] = 3.0 * exp(-20.0 * r2) + 0.3 * point[0] * point[1];
    values[1] = point[1] - 0.2; /* a fifth is beyond it: the search is not inside */
}

static void one_best_inside(uint64_t trial, struct rng *rng, double *point, double *values)
{
    one_best(trial, rng, point, values);
    values[1] = 0.9 - point[0] + 0.3 * point[1];
}

/* The front, b = 0, is among the earlier trials and spread over both objectives: no model has all of it. */
static void early_front(uint64_t trial, struct rng *rng, double *point, double *values)
{
    bool is_front = trial <= 615 && trial % 15 == 0;
    point[0] = is_front ? (double)(trial - 15) / 600.0 : rng_uniform(rng);
    point[1] = is_front ? 0.0 : 0.4 + 0.6 * rng_uniform(rng);
    values[0] = point[0] * (1.0 - 0.5 * point[1]);
    values[1] = (1.0 - point[0] * point[0]) * (1.0 - 0.5 * point[1]);
}

/* The best value, or the front, stays what is to be improved on. */
static void test_few_rows(void)
{
    static const enum metric_kind constrained[2] = {METRIC_OBJECTIVE, METRIC_CONSTRAINT};
    static const enum metric_kind objectives[2] = {METRIC_OBJECTIVE, METRIC_OBJECTIVE};
    static struct proposal        proposal;
    CU_ASSERT(ask_hurried(constrained, &proposal, one_best) < -3.0); /* log-EI; over any other value more than 2 */
    CU_ASSERT(ask_hurried(constrained, &proposal, one_best_inside) > 2.0); /* the bound, above the best value */
    CU_ASSERT(ask_hurried(objectives, &proposal, early_front) < -3.0); /* log-EHVI; over half a front more than -2 */
}

CU_TestInfo suite_several[] = {
    {"log Phi", test_log_phi},
    {"gradients", test_gradients},
    {"names", test_names},
    {"values", test_values},
    {"volume", test_volume},
    {"two objectives", test_two_objectives},
    {"thresholds of objectives", test_thresholds},
    {"no thresholds", test_no_thresholds},
    {"extreme thresholds", test_extreme_thresholds},
    {"orders of magnitude", test_cliffs},
    {"elsewhere", test_elsewhere},
    {"a constraint", test_constraint},
    {"infeasible trials", test_infeasible},
    {"two ends", test_two_ends},
    {"few rows", test_few_rows},
    CU_TEST_INFO_NULL,
};
