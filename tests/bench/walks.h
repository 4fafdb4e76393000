/* Shared by the benches of planning ahead: an agent that walks over a field by an algorithm of the registry, as the service
 * would let it. */
#ifndef GNOMON_TESTS_BENCH_WALKS_H
#define GNOMON_TESTS_BENCH_WALKS_H

#include "engine/policy/session.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WALK_OPTIONS_MAX = 32, WALK_STEPS_MAX = 32 };

/* A kind of agent: an algorithm and its options that differ from the defaults. */
struct walker {
    const char *label, *policy;
    struct {
        const char *name;
        double      value;
    } options[12];
    size_t memory_bytes; /* 0: 512 MiB */
    double deadline;     /* seconds of the thread's processor time for a plan; 0: none */
    bool   is_endless;   /* no budget cuts the horizon */
};

/* The results of a walk. */
struct walk {
    double      average; /* of the outputs */
    double      best;    /* of the outputs */
    double      nodes;   /* of all plans */
    double      seconds; /* of all plans */
    const char *stopped; /* why the first plan ended */
    size_t      sites[WALK_STEPS_MAX * 5], len;
    double      over[WALK_STEPS_MAX];    /* processor time of a plan beyond its deadline */
    size_t      horizon[WALK_STEPS_MAX]; /* that it came to */
};

static void walk_options(const struct walker *walker, const struct policy *policy, double *options)
{
    policy_defaults(policy, options);
    for (size_t i = 0; i < 12 && walker->options[i].name != NULL; i++) {
        int option = policy_option(policy, walker->options[i].name);
        if (option < 0)
            abort();
        options[option] = walker->options[i].value;
    }
}

static double walk_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool walk_is_late(void *arg)
{
    return cpu_seconds() >= *(const double *)arg;
}

/* outputs: by site.  iterations: macro-actions, which are also the budget. */
static inline void walk_run(const struct walker *walker, const struct graph *graph, const double *outputs,
                            size_t iterations, uint64_t seed, struct walk *out)
{
    static struct proposal proposal;
    double options[WALK_OPTIONS_MAX], point[GRAPH_STEPS_MAX], values[GRAPH_STEPS_MAX], scales[GRAPH_DIMS_MAX];
    const struct space   space = {.kind = SPACE_GRAPH, .graph = graph};
    const struct policy *policy = policy_find(walker->policy);
    struct session      *session;
    size_t               point_len = space_point_len(&space);
    walk_options(walker, policy, options);
    const struct problem problem = {.space = &space,
                                    .options = options,
                                    .seed = seed,
                                    .memory_bytes = walker->memory_bytes > 0 ? walker->memory_bytes : (size_t)1 << 29};
    *out = (struct walk){.best = -INFINITY};
    if (session_open(policy, &problem, &session, NULL) != STATUS_OK)
        abort();
    for (size_t t = 1; t <= iterations; t++) {
        struct diagnostics d = {.length_scales = scales};
        double             start = walk_seconds(), end = cpu_seconds() + walker->deadline;
        struct error       err;
        const struct ask   ask = {.trial = t,
                                  .diagnostics = &d,
                                  .remaining = walker->is_endless ? 0 : iterations - t + 1,
                                  .late = walker->deadline > 0 ? walk_is_late : NULL,
                                  .late_arg = &end,
                                  .deadline_ms = 1e3 * walker->deadline,
                                  .clock_ms = cpu_ms};
        proposal.point = point;
        if (policy->ask(session, &ask, &proposal, &err) != STATUS_OK)
            break; // a dead end
        out->over[t - 1] = cpu_seconds() - end;
        out->horizon[t - 1] = d.plan.state.horizon;
        out->seconds += walk_seconds() - start;
        out->nodes += d.plan.state.nodes;
        out->stopped = t == 1 ? d.plan.stopped : out->stopped;
        for (size_t i = 0; i < point_len; i++) {
            values[i] = isnan(point[i]) ? NAN : outputs[(size_t)point[i]];
            if (isnan(point[i]))
                continue;
            out->sites[out->len++] = (size_t)point[i];
            out->average += values[i];
            out->best = fmax(out->best, values[i]);
        }
        struct event event = {.kind = EVENT_SUGGESTED, .trial = t, .point = point};
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            abort();
        event =
            (struct event){.kind = EVENT_OBSERVED, .trial = t, .point = point, .values = values, .value = out->best};
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            abort();
    }
    out->average /= (double)out->len;
    session_close(session);
}

/* Mean and standard error. */
struct moments {
    double n, sum, squares;
};
static inline void moments_add(struct moments *m, double x)
{
    m->n++;
    m->sum += x;
    m->squares += x * x;
}
static inline double moments_mean(const struct moments *m)
{
    return m->sum / m->n;
}
static inline double moments_se(const struct moments *m)
{
    double mean = moments_mean(m);
    return sqrt(fmax(0, m->squares / m->n - mean * mean) / fmax(1, m->n - 1));
}

#endif
