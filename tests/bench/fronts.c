/* Several objectives on worlds that are made from a seed (outside_worlds.h): what is missing of the largest hypervolume known.
 *   fronts [SEEDS [FIRST [TRIALS [PROBLEM|ALGORITHM ...]]]]        2 seeds from 1 on, 60 trials
 * untold: gp; told: gp with thresholds; rival: log-EHVI as published (Daulton, Balandat & Bakshy 2020; Ament et al. 2023), told,
 * over what was measured, with a plain Gaussian process for each objective (outside_plain.h); random.  An objective is a world of
 * its kind.  Thresholds lie a tenth of the front's extents beyond its worst values.  The front that is known is of 40,000
 * evaluations of a search that goes on from it; the largest volume is found by as many more, from that and all trials.
 * A line for each study: the share that is missing after a third of the trials and after all.  At the end, for each problem and for
 * all, the geometric mean of it over the rival's, and the standard error of its log10. */
#include "engine/acquisition/ehvi.h"
#include "engine/math/mat.h"
#include "tests/bench/outside_plain.h"
#include "tests/bench/trials.h"

enum {
    FRONT = 1500,
    EVALUATIONS = 40000,
    RANDOM = 4000,
    PROBLEMS = 12,
    UNTOLD = 0,
    TOLD,
    RIVAL,
    RANDOM_SEARCH,
    ALGORITHMS
};
static const char *const algorithms[ALGORITHMS] = {"untold", "told", "rival", "random"};
static const double      BEYOND = 0.1, MISSING_MIN = 1e-3;

static const struct front_problem {
    const char *name, *kinds[OBJECTIVES_MAX];
    size_t      m, d;
} problems[PROBLEMS] = {
    {"ellipsoids", {"ellipsoid", "ellipsoid"}, 2, 4},
    {"rosenbrocks", {"rosenbrock", "rosenbrock"}, 2, 3},
    {"ridges", {"ridge", "powers"}, 2, 6},
    {"levys", {"levy", "levy"}, 2, 4},
    {"rastrigin", {"rastrigin", "ellipsoid"}, 2, 3},
    {"ackleys", {"ackley", "schaffer"}, 2, 4},
    {"paths", {"path2", "path2"}, 2, 2},
    {"paths4", {"path4", "path4"}, 2, 4},
    {"paths6", {"path6", "ellipsoid"}, 2, 6},
    {"ellipsoids-3", {"ellipsoid", "powers", "ellipsoid"}, 3, 4},
    {"paths-3", {"path4", "path4", "path4"}, 3, 4},
    {"levys-3", {"levy", "ellipsoid", "levy"}, 3, 3},
};

/* The objectives of the problem that is played. */
static struct world worlds[OBJECTIVES_MAX];
static size_t       worlds_len;

static void make_worlds(const struct front_problem *problem, uint64_t seed)
{
    worlds_len = problem->m;
    for (size_t k = 0; k < problem->m; k++) {
        const struct world_kind *kind = world_kinds;
        while (strcmp(kind->name, problem->kinds[k]) != 0)
            kind++;
        world_make(&worlds[k], kind, 100 * seed + k, problem->d);
    }
}

/* ---- the front that is known ---- */

/* All that was ever evaluated of the problem; where there is no room, in the place of any. */
static struct front {
    struct rng rng;
    size_t     len;
    double     x[FRONT][TASK_DIMS_MAX], f[FRONT * OBJECTIVES_MAX];
} front;

static bool is_above(const double *a, const double *b)
{
    size_t k = 0;
    while (k < worlds_len && a[k] >= b[k])
        k++;
    return k == worlds_len;
}

static void front_add(const double *x, const double *f)
{
    size_t len = 0, d = worlds[0].space.dims, m = worlds_len;
    for (size_t i = 0; i < front.len; i++)
        if (is_above(front.f + i * m, f))
            return;
    for (size_t i = 0; i < front.len; i++) {
        if (is_above(f, front.f + i * m))
            continue;
        memmove(front.x[len], front.x[i], d * sizeof *x);
        memmove(front.f + len++ * m, front.f + i * m, m * sizeof *f);
    }
    size_t at = len < FRONT ? len++ : rng_below(&front.rng, FRONT);
    front.len = len;
    memcpy(front.x[at], x, d * sizeof *x);
    memcpy(front.f + at * m, f, m * sizeof *f);
}

static bool values_at(const double *x, double *values)
{
    for (size_t k = 0; k < worlds_len; k++)
        values[k] = -worlds[k].value(&worlds[k], x);
    front_add(x, values);
    return true;
}

/* Any place of the front, or one of its ends. */
static const double *front_place(void)
{
    size_t at = rng_below(&front.rng, front.len), m = worlds_len, k = rng_below(&front.rng, 4 * m);
    for (size_t i = 0; i < front.len && k < m; i++)
        at = front.f[i * m + k] > front.f[at * m + k] ? i : at;
    return front.x[at];
}

/* Random points, then steps of all sizes from places of the front, or between two of them and beyond. */
static void search_front(size_t random)
{
    struct rng *rng = &front.rng;
    for (size_t i = 0; i < EVALUATIONS; i++) {
        double x[TASK_DIMS_MAX], f[OBJECTIVES_MAX], size = 0.3 * pow(1e-4, rng_uniform(rng));
        double along = rng_below(rng, 3) == 0 ? -0.2 + 1.4 * rng_uniform(rng) : 0;
        for (size_t j = 0; j < worlds[0].space.dims && i < random; j++)
            x[j] = rng_uniform(rng);
        if (i >= random) {
            const double *from = front_place(), *to = front_place();
            for (size_t j = 0; j < worlds[0].space.dims; j++) {
                double step = along != 0               ? along * (to[j] - from[j])
                              : rng_below(rng, 2) == 0 ? 0
                                                       : size * rng_normal(rng);
                x[j] = fmin(fmax(from[j] + step, 0), 1);
            }
        }
        values_at(x, f);
    }
}

static void put_reference(double *reference)
{
    for (size_t k = 0; k < worlds_len; k++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < front.len; i++) {
            low = fmin(low, front.f[i * worlds_len + k]);
            high = fmax(high, front.f[i * worlds_len + k]);
        }
        reference[k] = low - BEYOND * (high - low);
    }
}

/* ---- the rival ---- */

struct rival {
    struct plain part[OBJECTIVES_MAX];
    struct ehvi  ehvi;
    size_t       m;
};

static enum status rival_scores(void *arg, const double *U, size_t count, double *out, struct error *err)
{
    struct rival     *rival = arg;
    struct arena     *scratch = &rival->part[0].scratch;
    struct arena_mark mark = arena_mark(scratch);
    double           *mean[OBJECTIVES_MAX], *var[OBJECTIVES_MAX], at[OBJECTIVES_MAX], sd[OBJECTIVES_MAX];
    double            dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX];
    for (size_t k = 0; k < rival->m; k++) {
        mean[k] = ARENA_NEW(scratch, double, count);
        var[k] = ARENA_NEW(scratch, double, count);
        plain_must(gp_posterior(&rival->part[k].gp, (struct points){U, count}, mean[k], var[k], scratch, err));
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rival->m; k++) {
            at[k] = mean[k][i];
            sd[k] = acq_sd(var[k][i]);
        }
        out[i] = ehvi_value(&rival->ehvi, at, sd, dmean, dsd);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

static double rival_slope(void *arg, const double *u, double *gradient)
{
    struct rival   *rival = arg;
    size_t          d = rival->part[0].space->dims, n = rival->part[0].n;
    struct gp_slope slope[OBJECTIVES_MAX];
    double          at[OBJECTIVES_MAX], sd[OBJECTIVES_MAX], dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX];
    for (size_t k = 0; k < rival->m; k++) {
        double *work = rival->part[k].slopes;
        slope[k] = (struct gp_slope){.dmean = work + 3 * n, .dvar = work + 3 * n + d};
        gp_gradient(&rival->part[k].gp, u, work, &slope[k]);
        at[k] = slope[k].mean;
        sd[k] = acq_sd(slope[k].var);
    }
    double value = ehvi_value(&rival->ehvi, at, sd, dmean, dsd);
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t k = 0; k < rival->m; k++)
        acq_add_gradient(&slope[k], d, dmean[k], dsd[k], gradient);
    return value;
}

/* The volume above what was measured; the best trials of each objective are where the search begins. */
static void rival_search(struct rival *rival, const double *thresholds, uint64_t trial, double *point)
{
    struct plain *first = &rival->part[0];
    double        anchors[5 * OBJECTIVES_MAX * TASK_DIMS_MAX], *f, reference[OBJECTIVES_MAX];
    size_t        anchors_len = 0, m = rival->m, len;
    for (size_t k = 0; k < m; k++) {
        struct plain *part = &rival->part[k];
        arena_init(&part->scratch, 1 << 28);
        plain_model(part, anchors + anchors_len * part->space->params_len, &len);
        anchors_len += len;
        part->slopes = ARENA_NEW(&part->scratch, double, 3 * part->n + 2 * part->space->dims);
        reference[k] = (part->centre + thresholds[k]) / part->sd;
    }
    f = ARENA_NEW(&first->scratch, double, m * first->n);
    for (size_t i = 0; i < m * first->n; i++)
        f[i] = rival->part[i % m].standard[i / m];
    plain_must(ehvi_init(&rival->ehvi, &(struct pareto_set){.values = f, .n = first->n, .m = m, .reference = reference},
                         &first->scratch, NULL));
    struct acq_search search = plain_search(first, trial);
    search.anchors = anchors;
    search.anchors_len = anchors_len;
    search.scores = rival_scores;
    search.slope = rival_slope;
    search.arg = rival;
    plain_must(acq_search_run(&search, point, &first->scratch, NULL));
    for (size_t k = 0; k < m; k++)
        arena_fini(&rival->part[k].scratch);
}

static void run_rival(const struct task *task, uint64_t seed, size_t trials, struct run *run)
{
    static struct rival rival;
    double              point[TASK_DIMS_MAX], values[OBJECTIVES_MAX];
    rival.m = task->objectives;
    run->len = 0;
    for (size_t k = 0; k < rival.m; k++)
        plain_open(&rival.part[k], &worlds[0].space, seed);
    for (uint64_t trial = 1; trial <= trials; trial++) {
        if (!plain_first(&rival.part[0], trial, point))
            rival_search(&rival, task->reference, trial, point);
        values_at(point, values);
        run_add(run, task, trial, values);
        for (size_t k = 0; k < rival.m; k++)
            plain_tell(&rival.part[k], point, -values[k]);
    }
    for (size_t k = 0; k < rival.m; k++)
        plain_close(&rival.part[k]);
}

/* ---- the comparison ---- */

struct sums {
    double n, logs, squares;
};

static bool is_wanted(const char *name, char **names, bool is_algorithm)
{
    bool any = false;
    for (; *names != NULL; names++) {
        bool other = false;
        for (size_t a = 0; a < ALGORITHMS; a++)
            other |= strcmp(*names, algorithms[a]) == 0;
        if (other == is_algorithm && strcmp(*names, name) == 0)
            return true;
        any |= other == is_algorithm;
    }
    return !any;
}

static void play(const struct front_problem *problem, uint64_t seed, size_t trials, char **names, struct sums *sums)
{
    static struct run run;
    double            volume[ALGORITHMS][2], most;
    struct task       task = {problem->name, problem->d, problem->m, problem->m, values_at, NULL, 0, {0}, false};
    make_worlds(problem, seed);
    front.len = 0;
    front.rng = rng_at(seed, 1, RNG_TEST);
    search_front(RANDOM);
    put_reference(task.reference);
    for (size_t a = 0; a < ALGORITHMS; a++) {
        if (!is_wanted(algorithms[a], names, true))
            continue;
        task.has_thresholds = a == TOLD;
        if (a == RIVAL)
            run_rival(&task, seed, trials, &run);
        else
            task_run(&task, a == RANDOM_SEARCH ? "random" : "gp", seed, trials, &run);
        volume[a][0] = task_volume(&task, run.values, trials / 3);
        volume[a][1] = task_volume(&task, run.values, trials);
    }
    search_front(0);
    most = task_volume(&task, front.f, front.len);
    for (size_t a = 0; a < ALGORITHMS; a++) {
        if (!is_wanted(algorithms[a], names, true))
            continue;
        double rival = is_wanted("rival", names, true) ? fmax(1 - volume[RIVAL][1] / most, MISSING_MIN) : NAN;
        double missing = fmax(1 - volume[a][1] / most, MISSING_MIN), log = log10(missing / rival);
        printf("%s,%zu,%s,%.5f,%.5f\n", problem->name, (size_t)seed, algorithms[a], 1 - volume[a][0] / most, missing);
        sums[a].n++;
        sums[a].logs += log;
        sums[a].squares += log * log;
    }
    fflush(stdout);
}

/* Standard errors of all are within problems. */
static void report(const char *name, const struct sums *sums, const double *within, const double *freedom)
{
    for (size_t a = 0; a < ALGORITHMS; a++)
        if (a != RIVAL && sums[a].n > 0)
            printf("%s,%s / rival,%.2f,%.2f\n", name, algorithms[a], pow(10, sums[a].logs / sums[a].n),
                   sqrt(within[a] / fmax(freedom[a], 1) / sums[a].n));
}

int main(int argc, char **argv)
{
    static struct sums all[ALGORITHMS], sums[PROBLEMS][ALGORITHMS];
    size_t   seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2, trials = argc > 3 ? strtoul(argv[3], NULL, 10) : 60;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char   **names = argc > 4 ? argv + 4 : argv + argc;
    double   within[ALGORITHMS] = {0}, freedom[ALGORITHMS] = {0};
    mat_use_one_thread();
    if (seeds == 0 || trials < 3 || trials > TRIALS_MAX)
        return 2;
    puts("problem,seed,algorithm,a third,missing");
    for (size_t p = 0; p < PROBLEMS; p++)
        for (uint64_t s = 0; s < seeds; s++)
            if (is_wanted(problems[p].name, names, false))
                play(&problems[p], first + s, trials, names, sums[p]);
    for (size_t p = 0; p < PROBLEMS; p++) {
        double own[ALGORITHMS], of[ALGORITHMS];
        for (size_t a = 0; a < ALGORITHMS; a++) {
            const struct sums *s = &sums[p][a];
            own[a] = s->n > 0 ? fmax(s->squares - s->logs * s->logs / s->n, 0) : 0;
            of[a] = fmax(s->n - 1, 0);
            within[a] += own[a];
            freedom[a] += of[a];
            all[a].n += s->n;
            all[a].logs += s->logs;
        }
        report(problems[p].name, sums[p], own, of);
    }
    report("all", all, within, freedom);
    return 0;
}
