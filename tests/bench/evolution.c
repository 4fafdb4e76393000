/* Thousands of trials: how many evaluations an algorithm of the registry takes to targets.
 *   evolution [SEEDS [FIRST [DIMS [ALGORITHM [EVALUATIONS [OPTION VALUE ...]]]]]]   also: form NAME
 *   evolution evaluate FORM SEED DIMS       points come in a line each, values go out
 * A line: form, seed, evaluations to each target (0: never), milliseconds of the processor for a suggestion, all and the last
 * hundred, and from nothing at the end.  tests/bench/evolution.py compares with another implementation. */
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"
#include "tests/bench/evolution_functions.h"

#include <stdio.h>
#include <stdlib.h>

static const double targets[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
enum { TARGETS = sizeof targets / sizeof *targets, OPTIONS_MAX = 32 };

struct wanted {
    const struct policy *policy;
    size_t               d, evaluations;
    double               options[OPTIONS_MAX];
};

static struct session *session_begin(const struct wanted *wanted, struct space *space, struct problem *problem,
                                     uint64_t seed)
{
    static struct param params[WORLD_DIMS];
    struct session     *session;
    for (size_t j = 0; j < wanted->d; j++)
        params[j] = (struct param){.name = "x", .min = -5, .max = 5};
    *space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = wanted->d};
    *problem =
        (struct problem){.space = space, .options = wanted->options, .seed = seed, .memory_bytes = (size_t)1 << 30};
    check(space_init(space, NULL));
    check(session_open(wanted->policy, problem, &session, NULL));
    return session;
}

/* The log again in a session of its own: milliseconds to its first suggestion. */
static double replay_ms(const struct wanted *wanted, uint64_t seed, const struct event *events, size_t len)
{
    static struct proposal out;
    double                 point[WORLD_DIMS], began = cpu_ms();
    struct space           space;
    struct problem         problem;
    struct session        *session = session_begin(wanted, &space, &problem, seed);
    out.point = point;
    for (size_t i = 0; i < len; i++)
        check(wanted->policy->tell(session, &events[i], NULL));
    check(wanted->policy->ask(session, &(struct ask){.trial = len / 2 + 1}, &out, NULL));
    session_close(session);
    return cpu_ms() - began;
}

static void *keep(const void *what, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    if (copy == NULL)
        abort();
    memcpy(copy, what, bytes);
    return copy;
}

static void run(const struct wanted *wanted, size_t form, uint64_t seed)
{
    static struct world    world;
    static struct proposal out;
    double                 point[WORLD_DIMS], best = INFINITY, ms = 0, last = 0;
    size_t                 reached = 0, at[TARGETS] = {0}, n = 0;
    struct event          *events = calloc(2 * wanted->evaluations, sizeof *events);
    struct space           space;
    struct problem         problem;
    world_make(&world, form, wanted->d, seed);
    struct session *session = session_begin(wanted, &space, &problem, seed);
    out.point = point;
    for (uint64_t trial = 1; trial <= wanted->evaluations; trial++) {
        double began = cpu_ms();
        check(wanted->policy->ask(session, &(struct ask){.trial = trial}, &out, NULL));
        struct event *event = &events[n];
        event[0] = (struct event){.trial = trial,
                                  .point = keep(point, sizeof point),
                                  .note = keep(out.note, out.note_bytes),
                                  .note_bytes = out.note_bytes};
        event[1] = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = event[0].point};
        double value = world_value(&world, point);
        event[1].value = -value;
        n += 2;
        check(wanted->policy->tell(session, &event[0], NULL));
        check(wanted->policy->tell(session, &event[1], NULL));
        ms += cpu_ms() - began;
        last += trial + 100 > wanted->evaluations ? cpu_ms() - began : 0;
        for (best = fmin(best, value); reached < TARGETS && best < targets[reached]; reached++)
            at[reached] = trial;
    }
    session_close(session);
    printf("%s,%llu", forms[form].name, (unsigned long long)seed);
    for (size_t i = 0; i < TARGETS; i++)
        printf(",%zu", at[i]);
    printf(",%.4f,%.4f,%.1f,%.3g\n", ms / (double)wanted->evaluations, last / 100, replay_ms(wanted, seed, events, n),
           best);
    fflush(stdout);
    for (size_t i = 0; i < n; i += 2) {
        free((void *)(size_t)events[i].point);
        free((void *)(size_t)events[i].note);
    }
    free(events);
}

static int evaluate(const char *form, uint64_t seed, size_t d)
{
    static struct world world;
    double              x[WORLD_DIMS];
    size_t              i = 0, got = 0;
    while (i < FORMS && strcmp(forms[i].name, form) != 0)
        i++;
    if (i == FORMS || d < 2 || d > WORLD_DIMS)
        return 2;
    world_make(&world, i, d, seed);
    while (scanf("%lf", &x[got % d]) == 1)
        if (++got % d == 0) {
            printf("%.17g\n", world_value(&world, x));
            fflush(stdout);
        }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "evaluate") == 0)
        return evaluate(argv[2], strtoull(argv[3], NULL, 10), (size_t)atoi(argv[4]));
    size_t        seeds = argc > 1 ? (size_t)atoi(argv[1]) : 3, first = argc > 2 ? (size_t)atoi(argv[2]) : 1;
    struct wanted wanted = {.d = argc > 3 ? (size_t)atoi(argv[3]) : 10,
                            .policy = policy_find(argc > 4 ? argv[4] : "cma-es"),
                            .evaluations = argc > 5 ? (size_t)atoi(argv[5]) : 10000};
    if (wanted.policy == NULL || wanted.d < 2 || wanted.d > WORLD_DIMS)
        return 2;
    policy_defaults(wanted.policy, wanted.options);
    const char *only = NULL;
    for (int i = 6; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "form") == 0)
            only = argv[i + 1];
        if (policy_option(wanted.policy, argv[i]) >= 0)
            wanted.options[policy_option(wanted.policy, argv[i])] = atof(argv[i + 1]);
    }
    for (size_t form = 0; form < FORMS; form++)
        for (size_t seed = first; (only == NULL || strcmp(forms[form].name, only) == 0) && seed < first + seeds; seed++)
            run(&wanted, form, seed);
    return 0;
}
