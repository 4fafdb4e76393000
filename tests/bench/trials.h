/* Shared by the benches of several metrics and of infeasible trials: an algorithm of the registry on a function, as the
 * service would let it. */
#ifndef GNOMON_TESTS_BENCH_TRIALS_H
#define GNOMON_TESTS_BENCH_TRIALS_H

#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "engine/acquisition/pareto.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TASK_DIMS_MAX = 10, TRIALS_MAX = 200, SEEDS_MAX = 50 };

struct task {
    const char *name;
    size_t      d, metrics, objectives; /* the first metrics are the objectives; the others' values are slacks */
    /* values [metrics] out, larger is better; false: the trial is infeasible and has none */
    bool (*function)(const double *x, double *values);
    const struct param *params; /* [d]; NULL: doubles in [0, 1] */
    double              limit;  /* no measure of any result is larger */
    double              reference[OBJECTIVES_MAX];
    bool                has_thresholds; /* the algorithm is told the reference */
};

struct run {
    size_t len;                                 /* feasible trials */
    double values[TRIALS_MAX * OBJECTIVES_MAX]; /* [len][objectives] */
    size_t trial[TRIALS_MAX];                   /* [len] which they were, from 1 */
    double seconds;                             /* of all proposals */
};

static inline void run_add(struct run *run, const struct task *task, size_t trial, const double *values)
{
    for (size_t k = task->objectives; k < task->metrics; k++)
        if (values[k] < 0.0)
            return;
    memcpy(run->values + run->len * task->objectives, values, task->objectives * sizeof *values);
    run->trial[run->len++] = trial;
}

/* How many of the feasible trials are among the first so many. */
static inline size_t run_count(const struct run *run, size_t trials)
{
    size_t len = 0;
    while (len < run->len && run->trial[len] <= trials)
        len++;
    return len;
}

static inline void task_tell(const struct policy *policy, struct session *session, const struct task *task,
                             const double *point, struct run *run, uint64_t trial)
{
    double       values[2 * METRICS_MAX] = {0};
    bool         has_values = task->function(point, values);
    struct event event = {.kind = has_values ? EVENT_OBSERVED : EVENT_INFEASIBLE,
                          .trial = trial,
                          .point = point,
                          .value = values[0],
                          .values = values};
    if (has_values)
        run_add(run, task, trial, values);
    memset(values + task->metrics, 0, task->metrics * sizeof *values);
    check(policy->tell(session, &event, NULL));
}

static inline void task_run(const struct task *task, const char *name, uint64_t seed, size_t trials, struct run *run)
{
    static struct proposal proposal;
    const struct policy   *policy = policy_find(name);
    struct param           doubles[TASK_DIMS_MAX];
    enum metric_kind       kinds[METRICS_MAX];
    double                 point[TASK_DIMS_MAX], options[32], thresholds[METRICS_MAX];
    for (size_t j = 0; j < task->d; j++)
        doubles[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .max = 1.0};
    for (size_t k = 0; k < task->metrics; k++) {
        kinds[k] = k < task->objectives ? METRIC_OBJECTIVE : METRIC_CONSTRAINT;
        thresholds[k] = k < task->objectives ? task->reference[k] : NAN;
    }
    struct space space = {
        .kind = SPACE_PARAMETERS, .params = task->params == NULL ? doubles : task->params, .params_len = task->d};
    struct problem  problem = {.space = &space,
                               .options = options,
                               .seed = seed,
                               .memory_bytes = 200 << 20,
                               .metrics = kinds,
                               .metrics_len = task->metrics,
                               .thresholds = task->has_thresholds ? thresholds : NULL};
    struct session *session;
    policy_defaults(policy, options);
    run->len = 0;
    run->seconds = 0.0;
    check(space_init(&space, NULL));
    check(session_open(policy, &problem, &session, NULL));
    for (uint64_t trial = 1; trial <= trials; trial++) {
        proposal.point = point;
        double start = cpu_seconds();
        check(policy->ask(session, &(struct ask){.trial = trial}, &proposal, NULL));
        run->seconds += cpu_seconds() - start;
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = trial,
                              .point = point,
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        check(policy->tell(session, &event, NULL));
        task_tell(policy, session, task, point, run, trial);
    }
    session_close(session);
}

/* The hypervolume above the reference. */
static inline double task_volume(const struct task *task, const double *values, size_t len)
{
    struct arena arena;
    double       volume;
    arena_init(&arena, 1 << 28);
    check(pareto_hypervolume(
        &(struct pareto_set){.values = values, .n = len, .m = task->objectives, .reference = task->reference}, &volume,
        &arena, NULL));
    arena_fini(&arena);
    return volume;
}

/* values [n] are sorted. */
static inline double task_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, numbers_order);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

#endif
