/* The judge of a default: gp and rivals on worlds that are made from the seed (outside_worlds.h), class by class.
 *   outside [SEEDS [FIRST [TRIALS [CLASS|CLASS/WORLD|ALGORITHM|d=N|workers=N ...]]]]     2 seeds from 1 on, 60 trials, every class, gp
 *   outside play SEED CLASS/WORLD         for a program of another language: the space, then a value for each point read
 * ALGORITHM: one of the registry without options that must be given, or plain (outside_plain.h).  d=N: N doubles, whatever the
 * class has.  workers=N: so many, each of which asks (the registry's) again as soon as it has measured, after times that are
 * exponentially distributed; trials are counted as they end.  One CSV line for each study:
 * early and end, log10 of the best regret over the median of random search's after a third of the trials and after all, at
 * least -6 (noise is not counted: of the points tried, the one that is truly best); stuck, whether the end is above a
 * hundredth and at least half of the last 20 trials lie within 0.1 of the best; repeats, trials at a point that was tried before;
 * equals, trials with the value that was best before them; ms of processor time; path, the same as end after 10, 20, 50, 100 ...
 * trials.  tests/bench/outside.py compares by class.
 * Choices are made on some seeds, and reported on others: FIRST 1001 and 7001. */
#include "tests/bench/outside_plain.h"
#include "engine/math/mat.h"
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"

enum { TRIALS_MAX = 10000, RANDOM_RUNS = 31, LAST = 20, WORKERS_MAX = 128 };
static const double NEAR = 0.1, STUCK = 0.01, FLOOR = 1e-6;
enum { BUDGETS = 10 };
static const size_t budgets[BUDGETS] = {10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

struct run {
    size_t len;
    double truth[TRIALS_MAX], value[TRIALS_MAX], u[TRIALS_MAX][WORLD_DIMS];
    double seconds;
};

static void measure(const struct world *world, struct rng *rng, const double *point, struct run *run)
{
    size_t i = run->len++;
    space_encode(&world->space, point, run->u[i]);
    run->truth[i] = world_value(world, point);
    run->value[i] = run->truth[i] + world->noise * rng_normal(rng);
}

static void run_plain(const struct world *world, uint64_t seed, size_t trials, struct run *run)
{
    static struct plain plain;
    struct rng          rng = rng_at(seed, 0, RNG_TEST);
    double              point[WORLD_PARAMS];
    plain_open(&plain, &world->space, seed);
    for (size_t t = 1; t <= trials; t++) {
        double start = cpu_seconds();
        plain_ask(&plain, t, point);
        run->seconds += cpu_seconds() - start;
        measure(world, &rng, point, run);
        plain_tell(&plain, point, run->value[t - 1]);
    }
    plain_close(&plain);
}

/* The trial that a worker measures. */
struct job {
    uint64_t trial; /* 0: none */
    double   point[WORLD_PARAMS], ready;
};

static void hand_out(const struct policy *policy, struct session *session, struct job *job, struct run *run)
{
    static struct proposal proposal;
    double                 start = cpu_seconds();
    proposal.point = job->point;
    check(policy->ask(session, &(struct ask){.trial = job->trial}, &proposal, NULL));
    run->seconds += cpu_seconds() - start;
    check(policy->tell(session,
                       &(struct event){.kind = EVENT_SUGGESTED,
                                       .trial = job->trial,
                                       .point = job->point,
                                       .note = proposal.note,
                                       .note_bytes = proposal.note_bytes},
                       NULL));
}

static void take_in(const struct world *world, const struct policy *policy, struct session *session,
                    const struct job *job, double value)
{
    enum event_kind bad = world->is_failing ? EVENT_FAILED : EVENT_INFEASIBLE;
    struct event    event = {.kind = isnan(value) ? bad : EVENT_OBSERVED,
                             .trial = job->trial,
                             .point = job->point,
                             .value = isnan(value) ? 0 : -value};
    check(policy->tell(session, &event, NULL));
}

static void run_policy(const struct world *world, const struct policy *policy, uint64_t seed, size_t trials,
                       size_t workers, struct run *run)
{
    static struct job jobs[WORKERS_MAX];
    double            options[32];
    struct rng        rng = rng_at(seed, 0, RNG_TEST), times = rng_at(seed, 1, RNG_TEST);
    struct problem    problem = {
           .space = &world->space, .options = options, .seed = seed, .memory_bytes = (size_t)256 << 20};
    struct session *session;
    policy_defaults(policy, options);
    check(session_open(policy, &problem, &session, NULL));
    for (size_t w = 0; w < workers; w++)
        jobs[w] = (struct job){0};
    for (uint64_t asked = 0; run->len < trials;) {
        size_t next = workers;
        for (size_t w = 0; w < workers; w++) {
            if (jobs[w].trial == 0 && asked < trials) {
                jobs[w].trial = ++asked;
                jobs[w].ready -= log1p(-rng_uniform(&times));
                hand_out(policy, session, &jobs[w], run);
            }
            if (jobs[w].trial > 0 && (next == workers || jobs[w].ready < jobs[next].ready))
                next = w;
        }
        measure(world, &rng, jobs[next].point, run);
        take_in(world, policy, session, &jobs[next], run->value[run->len - 1]);
        jobs[next].trial = 0;
    }
    session_close(session);
}

static double best_of(const double *truth, size_t n)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        best = fmin(best, truth[i]);
    return best;
}

/* The median regret of random search after so many trials; where that is none the mean. */
static double random_regret(const struct world *world, uint64_t seed, size_t trials)
{
    double     regrets[RANDOM_RUNS], point[WORLD_PARAMS], unit[WORLD_PARAMS], mean = 0;
    struct rng rng = rng_at(seed, 0, RNG_POINT);
    for (size_t r = 0; r < RANDOM_RUNS; r++) {
        double best = HUGE_VAL;
        for (size_t t = 0; t < trials; t++) {
            for (size_t i = 0; i < world->space.params_len; i++)
                unit[i] = rng_uniform(&rng);
            (void)space_quantile(&world->space, unit, point);
            best = fmin(best, world_value(world, point));
        }
        regrets[r] = fmin(fmax(best - world->least, 0), DBL_MAX);
        mean += regrets[r] / RANDOM_RUNS;
    }
    qsort(regrets, RANDOM_RUNS, sizeof *regrets, numbers_order);
    return regrets[RANDOM_RUNS / 2] > 0 ? regrets[RANDOM_RUNS / 2] : mean;
}

static double apart(const double *a, const double *b, size_t dims)
{
    double most = 0;
    for (size_t j = 0; j < dims; j++)
        most = fmax(most, fabs(a[j] - b[j]));
    return most;
}

/* How many of the last trials lie near the best one. */
static size_t near_best(const struct run *run, size_t dims)
{
    size_t best = 0, count = 0;
    for (size_t i = 1; i < run->len; i++)
        if (!(run->truth[i] >= run->truth[best]))
            best = i;
    for (size_t i = run->len < LAST ? 0 : run->len - LAST; i < run->len; i++)
        count += apart(run->u[i], run->u[best], dims) <= NEAR;
    return count;
}

static size_t count_repeats(const struct run *run, size_t dims)
{
    size_t repeats = 0;
    for (size_t i = 1; i < run->len; i++)
        for (size_t k = 0; k < i; k++)
            if (memcmp(run->u[i], run->u[k], dims * sizeof(double)) == 0) {
                repeats++;
                break;
            }
    return repeats;
}

static size_t count_equals(const struct run *run)
{
    size_t equals = 0;
    double best = HUGE_VAL;
    for (size_t i = 0; i < run->len; i++) {
        equals += run->truth[i] == best;
        best = fmin(best, run->truth[i]);
    }
    return equals;
}

static double score(const struct world *world, const struct run *run, size_t trials, double random)
{
    double regret = best_of(run->truth, trials) - world->least;
    return log10(fmax(fmin(regret / random, 1e6), FLOOR));
}

/* random [BUDGETS]: the median regrets of random search. */
static void report(const struct world_kind *kind, const struct world *world, uint64_t seed, const char *algorithm,
                   const struct run *run, const double *random)
{
    size_t dims = world->space.dims, third = run->len / 3;
    double early = random_regret(world, seed, third), late = random_regret(world, seed, run->len);
    if (!(early > 0 && late > 0))
        return; /* random search finds the optimum */
    double end = score(world, run, run->len, late);
    bool   is_stuck = end > log10(STUCK) && 2 * near_best(run, dims) >= LAST;
    printf("%s,%s,%zu,%s,%.4f,%.4f,%d,%zu,%zu,%.1f,", kind->class, kind->name, (size_t)seed, algorithm,
           score(world, run, third, early), end, is_stuck, count_repeats(run, dims), count_equals(run),
           1e3 * run->seconds);
    for (size_t i = 0; i < BUDGETS && budgets[i] <= run->len; i++)
        printf(" %.4f", score(world, run, budgets[i], random[i]));
    puts("");
    fflush(stdout);
}

static bool is_algorithm(const char *name)
{
    return strcmp(name, "plain") == 0 || policy_find(name) != NULL;
}

static bool is_named(const struct world_kind *kind, const char *name)
{
    size_t len = strlen(kind->class);
    return strncmp(kind->class, name, len) == 0 &&
           (name[len] == '\0' || (name[len] == '/' && strcmp(name + len + 1, kind->name) == 0));
}

static bool is_wanted(const struct world_kind *kind, char **names)
{
    bool any = false, found = false;
    for (; *names != NULL; names++) {
        any |= !is_algorithm(*names);
        found |= is_named(kind, *names);
    }
    return found || !any;
}

/* The studies that were asked for. */
struct wanted {
    size_t trials, doubles, workers;
    char **names;
};

static void study(const struct world_kind *kind, uint64_t seed, const struct wanted *wanted)
{
    static struct world world;
    static struct run   run;
    static char        *standard[] = {"gp", NULL};
    double              random[BUDGETS];
    size_t              trials = wanted->trials;
    bool                any = false;
    for (char **name = wanted->names; *name != NULL; name++)
        any |= is_algorithm(*name);
    world_make(&world, kind, seed, wanted->doubles);
    for (size_t i = 0; i < BUDGETS && budgets[i] <= trials; i++)
        random[i] = random_regret(&world, seed, budgets[i]);
    for (char **name = any ? wanted->names : standard; *name != NULL; name++) {
        run.len = 0;
        run.seconds = 0;
        if (strcmp(*name, "plain") == 0)
            run_plain(&world, seed, trials, &run);
        else if (is_algorithm(*name))
            run_policy(&world, policy_find(*name), seed, trials, wanted->workers, &run);
        if (run.len > 0)
            report(kind, &world, seed, *name, &run, random);
    }
}

/* Takes what is no name out of the names. */
static void read_wanted(struct wanted *wanted)
{
    size_t len = 0;
    for (char **name = wanted->names; *name != NULL; name++)
        if (sscanf(*name, "d=%zu", &wanted->doubles) != 1 && sscanf(*name, "workers=%zu", &wanted->workers) != 1)
            wanted->names[len++] = *name;
    wanted->names[len] = NULL;
}

/* A line for each parameter (kind, logarithmic or not, min, max, values); then for each line of values, in natural units
 * and - for none, the measured and the true value, and at the end how far those of others are to be divided. */
static int play(uint64_t seed, const char *name, size_t trials)
{
    static struct world world;
    struct rng          rng = rng_at(seed, 0, RNG_TEST);
    double              point[WORLD_PARAMS], value;
    for (size_t k = 0; k < WORLD_KINDS; k++) {
        if (!is_named(&world_kinds[k], name))
            continue;
        world_make(&world, &world_kinds[k], seed, 0);
        printf("%zu %.17g %.17g %.17g\n", world.space.params_len, world.least, random_regret(&world, seed, trials / 3),
               random_regret(&world, seed, trials));
        for (size_t i = 0; i < world.space.params_len; i++) {
            const struct param *p = &world.params[i];
            printf("%d %d %.17g %.17g %zu %d\n", p->kind, p->scale == SCALE_LOG, p->min, p->max, p->choices,
                   p->when_len > 0);
        }
        fflush(stdout);
        for (size_t i = 0; scanf("%lf", &point[i]) == 1;) {
            if (++i < world.space.params_len)
                continue;
            i = 0;
            space_settle(&world.space, point, point);
            value = world_value(&world, point);
            printf("%.17g %.17g\n", value + world.noise * rng_normal(&rng), value);
            fflush(stdout);
        }
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    size_t        seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    uint64_t      first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct wanted wanted = {
        .trials = argc > 3 ? strtoul(argv[3], NULL, 10) : 60, .workers = 1, .names = argc > 4 ? argv + 4 : argv + argc};
    if (argc == 4 && strcmp(argv[1], "play") == 0)
        return play(first, argv[3], 60);
    read_wanted(&wanted);
    mat_use_one_thread();
    if (seeds == 0 || wanted.trials < 3 || wanted.trials > TRIALS_MAX || wanted.doubles > WORLD_PARAMS / 2 ||
        wanted.workers < 1 || wanted.workers > WORKERS_MAX)
        return 2;
    puts("class,world,seed,algorithm,early,end,stuck,repeats,equals,ms,path");
    for (size_t k = 0; k < WORLD_KINDS; k++)
        for (uint64_t s = 0; s < seeds; s++)
            if (is_wanted(&world_kinds[k], wanted.names))
                study(&world_kinds[k], first + s, &wanted);
    return 0;
}
