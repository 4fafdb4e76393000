/* Many workers at once: median simple regret after equal numbers of evaluations, by how many trials are pending, and
 * beside it gp's whose trials come one by one.
 *   batch [SEEDS [FIRST_SEED [FUNCTION ...]]]     20 seeds from 1 on, the functions of `reported`
 * One CSV line per function, mode and algorithm: gp, gp by Thompson sampling (Kandasamy et al. 2018), and random search.  In
 * rounds all workers wait for the slowest; workers without rounds get a new point as soon as they have measured one,
 * after times that are exponentially distributed.  repeats: points equal to one that was pending, in all seeds.
 * of_alone: the median over that of gp's trials one by one, where gp is among the algorithms.
 * p_ahead: the one-sided p value of Mann and Whitney's test that the algorithm's regrets are no smaller than gp's.
 * Exit code 1: Thompson sampling is ahead somewhere, at a level of 0.05 shared by all that was compared. */
#include "engine/acquisition/acq.h"
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"
#include "tests/bench/functions.h"

enum { SEEDS_MAX = 200, EVALUATIONS_MAX = 256, WORKERS_MAX = 64 };

static const struct mode {
    const char *name;
    size_t      workers, evaluations;
    bool        waits;
} modes[] = {
    {"one by one", 1, 40, true},     {"rounds of 4", 4, 40, true},  {"one by one", 1, 80, true},
    {"rounds of 16", 16, 80, true},  {"16 workers", 16, 80, false}, {"one by one", 1, 192, true},
    {"rounds of 64", 64, 192, true},
};
enum { MODES = sizeof modes / sizeof modes[0] };

static const struct algorithm {
    const char *name, *policy;
    double      acquisition;
} algorithms[] = {
    {"gp", "gp", ACQ_LOG_EI},
    {"thompson", "gp", ACQ_THOMPSON},
    {"random", "random", NAN},
};
enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

static const char *const reported[] = {"hartmann6",      "styblinski5",       "rastrigin3", "noisy_hartmann3",
                                       "noisy_rotated4", "noisy_styblinski5", NULL};

struct result {
    double regret[SEEDS_MAX], chosen[SEEDS_MAX], asks, seconds;
    size_t repeats;
};

/* The measured trials. */
struct past {
    size_t len;
    double points[EVALUATIONS_MAX * DIMS_MAX], values[EVALUATIONS_MAX], regrets[EVALUATIONS_MAX];
};

/* The trial that a worker evaluates. */
struct job {
    uint64_t trial; /* 0: none */
    double   point[DIMS_MAX], ready;
};

static void hand_out(struct study *study, struct job *jobs, size_t workers, size_t worker, uint64_t trial,
                     struct result *result)
{
    struct job *job = &jobs[worker];
    double      began = cpu_seconds();
    size_t      bytes = study->function->d * sizeof *job->point;
    job->trial = 0;
    study_ask(study, trial, job->point);
    result->seconds += cpu_seconds() - began;
    result->asks++;
    for (size_t w = 0; w < workers; w++)
        result->repeats += jobs[w].trial > 0 && memcmp(jobs[w].point, job->point, bytes) == 0;
    job->trial = trial;
}

/* The worker that is ready first; workers: none has anything to do. */
static size_t next_ready(const struct job *jobs, size_t workers)
{
    size_t next = workers;
    for (size_t w = 0; w < workers; w++)
        if (jobs[w].trial > 0 && (next == workers || jobs[w].ready < jobs[next].ready))
            next = w;
    return next;
}

static void take_in(struct study *study, struct job *job, struct past *past)
{
    size_t d = study->function->d;
    past->values[past->len] = study_measure(study, job->point, &past->regrets[past->len]);
    study_tell(study, job->trial, job->point, past->values[past->len]);
    memcpy(past->points + past->len++ * d, job->point, d * sizeof *job->point);
    job->trial = 0;
}

/* The regret of the point that gp takes for the best of the past, whoever suggested them. */
static double choose(const struct study *study, const struct past *past, uint64_t seed)
{
    static double mean[EVALUATIONS_MAX];
    struct study  gp;
    struct error  err = {0};
    size_t        best = 0;
    study_open(&gp, study->function, policy_find("gp"), seed, NULL, 0);
    for (size_t i = 0; i < past->len; i++)
        study_tell(&gp, i + 1, past->points + i * study->function->d, past->values[i]);
    must(gp.policy->predict(gp.session, &(struct prediction){.points = past->points, .m = past->len, .mean = mean},
                            &err),
         &err);
    for (size_t i = 1; i < past->len; i++)
        best = mean[i] > mean[best] ? i : best;
    study_close(&gp);
    return fmax(past->regrets[best], 0);
}

static void run(struct study *study, const struct mode *mode, uint64_t seed, struct past *past, struct result *result)
{
    static struct job jobs[WORKERS_MAX];
    struct rng        rng = rng_at(seed, 1, RNG_TEST);
    size_t            workers = mode->workers, running = 0;
    uint64_t          trial = 0;
    memset(jobs, 0, sizeof jobs);
    while (trial < mode->evaluations || running > 0) {
        for (size_t w = 0; w < workers && trial < mode->evaluations && (running == 0 || !mode->waits || w > 0); w++) {
            if (jobs[w].trial > 0)
                continue;
            double now = jobs[w].ready;
            hand_out(study, jobs, workers, w, ++trial, result);
            jobs[w].ready = mode->waits ? (double)trial : now - log1p(-rng_uniform(&rng));
            running++;
        }
        do {
            take_in(study, &jobs[next_ready(jobs, workers)], past);
            running--;
        } while (mode->waits && running > 0);
    }
}

static void measure(const struct function *function, const struct mode *mode, const struct algorithm *algorithm,
                    size_t seeds, uint64_t first, struct result *result)
{
    static struct past past;
    memset(result, 0, sizeof *result);
    for (size_t s = 0; s < seeds; s++) {
        struct study study;
        study_open(&study, function, policy_find(algorithm->policy), first + s, "acquisition", algorithm->acquisition);
        past.len = 0;
        run(&study, mode, first + s, &past, result);
        result->chosen[s] = choose(&study, &past, first + s);
        result->regret[s] = INFINITY;
        for (size_t i = 0; i < past.len; i++)
            result->regret[s] = fmax(fmin(result->regret[s], past.regrets[i]), 0);
        study_close(&study);
    }
    qsort(result->regret, seeds, sizeof *result->regret, numbers_order);
    qsort(result->chosen, seeds, sizeof *result->chosen, numbers_order);
    printf("%s,%s,%s,%zu,%zu,%.3g,%.3g,%.3g,%.3g,%zu,%.1f", function->name, mode->name, algorithm->name, seeds,
           mode->evaluations, quantile(result->regret, seeds, 0.5), quantile(result->regret, seeds, 0.25),
           quantile(result->regret, seeds, 0.75), quantile(result->chosen, seeds, 0.5), result->repeats,
           1e3 * result->seconds / result->asks);
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool is_algorithm(const char *name)
{
    bool any = false;
    for (size_t a = 0; a < ALGORITHMS; a++)
        any |= strcmp(name, algorithms[a].name) == 0;
    return any;
}

/* Names given choose among their kind. */
static bool is_wanted(const char *name, bool otherwise, char *const *names)
{
    bool any = false;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
        any |= is_algorithm(*names) == is_algorithm(name);
    }
    return !any && otherwise;
}

/* The algorithms that are wanted, side by side; one by one gp alone.  *alone: the median of the last such mode.
 * The p value with which Thompson sampling is ahead of gp; 1: not compared. */
static double contest(const struct function *function, const struct mode *mode, const struct function_seeds *own,
                      double *alone)
{
    static struct result results[ALGORITHMS];
    double               thompson = 1;
    bool                 has_gp = is_wanted("gp", true, own->names);
    for (size_t a = 0; a < (mode->workers == 1 ? 1 : ALGORITHMS); a++) {
        if (!is_wanted(algorithms[a].name, true, own->names))
            continue;
        measure(function, mode, &algorithms[a], own->seeds, own->first, &results[a]);
        double median = quantile(results[a].regret, own->seeds, 0.5);
        double ahead = a > 0 && has_gp ? mann_whitney(results[a].regret, results[0].regret, own->seeds) : NAN;
        *alone = mode->workers == 1 ? median : *alone;
        printf(has_gp && *alone > 0 ? ",%.3g" : ",", median / *alone);
        printf(isnan(ahead) ? ",\n" : ",%.2g\n", ahead);
        fflush(stdout);
        if (algorithms[a].acquisition == ACQ_THOMPSON && !isnan(ahead))
            thompson = ahead;
    }
    return thompson;
}

int main(int argc, char **argv)
{
    struct function_seeds own = {.first = 1};
    if (!function_seeds_read(argc, argv, SEEDS_MAX, &own))
        return 64;
    mat_use_one_thread();
    puts("function,mode,algorithm,seeds,evaluations,median,q25,q75,chosen,repeats,ms,of_alone,p_ahead");
    double best = 1, alone = NAN;
    size_t cases = 0;
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++)
        for (size_t m = 0; m < MODES && is_wanted(f->name, is_among(f->name, reported), own.names); m++) {
            cases += modes[m].workers > 1;
            best = fmin(best, contest(f, &modes[m], &own, &alone));
        }
    return best * (double)cases < 0.05;
}
