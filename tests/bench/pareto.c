/* Several metrics: what the policies reach within a budget of trials, median (quartiles) over seeds.
 *   pareto [TRIALS] [SEEDS]
 * zdt1 (d = 6, 2 objectives; Zitzler, Deb & Thiele 2000), dtlz2 (d = 6, 3 objectives; Deb et al. 2002): hypervolume
 * above (-1.1, -1.1 ..) of the negated objectives.
 * disc: Branin (negated) inside a disc (Gardner et al. 2014 style), best feasible value; the constraint is a second
 * metric, or (holes) only shows as trials that are infeasible. */
#include "engine/pareto.h"
#include "engine/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D_MAX = 6, TRIALS_MAX = 200, SEEDS_MAX = 50 };
#define PI 3.14159265358979324

static bool zdt1(const double *x, double *f)
{
    double g = 0.0;
    for (int i = 1; i < 6; i++)
        g += x[i];
    g = 1.0 + 9.0 * g / 5.0;
    f[0] = -x[0];
    f[1] = -g * (1.0 - sqrt(x[0] / g));
    return true;
}

static bool dtlz2(const double *x, double *f)
{
    double g = 0.0, a = 0.5 * PI * x[0], b = 0.5 * PI * x[1];
    for (int i = 2; i < 6; i++)
        g += (x[i] - 0.5) * (x[i] - 0.5);
    f[0] = -(1.0 + g) * cos(a) * cos(b);
    f[1] = -(1.0 + g) * cos(a) * sin(b);
    f[2] = -(1.0 + g) * sin(a);
    return true;
}

static double branin(const double *x)
{
    double u = 15.0 * x[0] - 5.0, v = 15.0 * x[1];
    double a = v - 5.1 / (4.0 * PI * PI) * u * u + 5.0 / PI * u - 6.0;
    return a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * cos(u) + 10.0;
}

static bool disc(const double *x, double *f)
{
    double u = x[0] - 0.5, v = x[1] - 0.55;
    f[0] = -branin(x);
    f[1] = 0.11 - u * u - v * v;
    return true;
}

static bool holes(const double *x, double *f)
{
    disc(x, f);
    return f[1] >= 0.0;
}

static const struct test {
    const char *name;
    bool (*function)(const double *x, double *f);
    size_t           d, objectives, metrics;
    enum metric_kind kinds[3];
} tests[] = {
    {"zdt1", zdt1, 6, 2, 2, {METRIC_OBJECTIVE, METRIC_OBJECTIVE}},
    {"dtlz2", dtlz2, 6, 3, 3, {METRIC_OBJECTIVE, METRIC_OBJECTIVE, METRIC_OBJECTIVE}},
    {"disc", disc, 2, 1, 2, {METRIC_OBJECTIVE, METRIC_CONSTRAINT}},
    {"holes", holes, 2, 1, 1, {METRIC_OBJECTIVE}},
};

struct outcome {
    double values[TRIALS_MAX * OBJECTIVES_MAX];
    size_t len;
};

static double quality(const struct test *test, const struct outcome *outcome)
{
    static const double reference[OBJECTIVES_MAX] = {-1.1, -1.1, -1.1, -1.1};
    struct arena        arena;
    double              volume = 0.0, best = -HUGE_VAL;
    arena_init(&arena, 1 << 26);
    if (test->objectives > 1 && pareto_hypervolume(outcome->values, outcome->len, test->objectives, reference, &volume,
                                                   &arena, NULL) != STATUS_OK)
        abort();
    arena_fini(&arena);
    for (size_t i = 0; i < outcome->len; i++)
        best = fmax(best, outcome->values[i * test->objectives]);
    return test->objectives > 1 ? volume : best;
}

static double run(const struct test *test, const struct policy *policy, uint64_t seed, size_t trials)
{
    static struct proposal proposal;
    static struct outcome  outcome;
    struct param           params[D_MAX];
    double                 point[D_MAX], options[16];
    for (size_t j = 0; j < test->d; j++)
        params[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .max = 1.0};
    struct space space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = test->d};
    for (size_t o = 0; policy->options[o].name != NULL; o++)
        options[o] = policy->options[o].fallback;
    struct problem  problem = {.space = &space,
                               .options = options,
                               .seed = seed,
                               .memory_bytes = 200 << 20,
                               .metrics = test->kinds,
                               .metrics_len = test->metrics};
    struct session *session;
    outcome.len = 0;
    if (space_init(&space, NULL) != STATUS_OK || policy->open(&problem, &session, NULL) != STATUS_OK)
        abort();
    for (uint64_t trial = 1; trial <= trials; trial++) {
        double values[2 * METRICS_MAX] = {0};
        proposal.point = point;
        if (policy->ask(session, &(struct ask){.trial = trial}, &proposal, NULL) != STATUS_OK)
            abort();
        bool         has_values = test->function(point, values), is_feasible = has_values;
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = trial,
                              .point = point,
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            abort();
        for (size_t k = test->objectives; k < test->metrics; k++)
            is_feasible = is_feasible && values[k] >= 0.0;
        for (size_t k = 0; k < test->objectives && is_feasible; k++)
            outcome.values[outcome.len * test->objectives + k] = values[k];
        outcome.len += is_feasible;
        memset(values + test->metrics, 0, sizeof values / 2);
        event = (struct event){.kind = has_values ? EVENT_OBSERVED : EVENT_INFEASIBLE,
                               .trial = trial,
                               .point = point,
                               .value = values[0],
                               .values = values};
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            abort();
    }
    policy->close(session);
    return quality(test, &outcome);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    size_t trials = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 50;
    size_t seeds = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 10;
    trials = trials < TRIALS_MAX ? trials : TRIALS_MAX;
    seeds = seeds < 1 ? 1 : seeds < SEEDS_MAX ? seeds : SEEDS_MAX;
    printf("%zu trials, %zu seeds: median (quartiles); larger is better\n", trials, seeds);
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++)
        for (int p = 0; p < 2; p++) {
            double reached[SEEDS_MAX];
            for (size_t s = 0; s < seeds; s++)
                reached[s] = run(&tests[t], policy_find(p == 0 ? "gp" : "random"), 7 + s, trials);
            qsort(reached, seeds, sizeof *reached, compare);
            printf("%-8s %-8s %10.5f (%.5f .. %.5f)\n", tests[t].name, p == 0 ? "gp" : "random", reached[seeds / 2],
                   reached[seeds / 4], reached[3 * seeds / 4]);
            fflush(stdout);
        }
    return 0;
}
