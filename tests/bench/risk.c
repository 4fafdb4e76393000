/* Where the noise differs from place to place, and what is wanted is a small mean + 2 sd of what is measured (to be
 * minimised; of values to be maximised, mean - 2 sd): who measures a point several times can report that.
 *   risk [SEEDS [FIRST_SEED [FUNCTION ...]]]     20 seeds, the functions of `reported`; the sd's places differ by seed
 * One CSV line per function and way, all with the same number of measurements: median over the seeds of the regret of the
 * point that the way's model takes for its best, and with how many seeds it is below that of `single`.
 *   single     gp on single measurements, which knows nothing of risk
 *   report R   gp on the mean + 2 sd of R measurements of each point; random R: the same, points at random
 *   modelled   what a policy of its own could do: a model of the means and one of the logarithms of the variances of 2
 *              measurements; the next point has the least lower bound of the mean + 2 sd
 * The regret is over the least mean + 2 sd that a search without noise finds. */
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum {
    SEEDS_MAX = 100,
    MEASUREMENTS = 60,
    REPLICATES_MAX = 6,
    CANDIDATES = 1000,
    NEAR = 200,
    OPTIMUM_POINTS = 20000,
    FIRST = 8
};
static const double RISK = 2;

static const char *const reported[] = {"branin2", "hartmann3", "hartmann6", "levy4", "ackley5", NULL};

static const struct way {
    const char *name;
    size_t      replicates;
    bool        is_modelled, is_random;
} ways[] = {
    {"single", 1, false, false},   {"report 2", 2, false, false}, {"report 3", 3, false, false},
    {"report 6", 6, false, false}, {"modelled", 2, true, false},  {"random 3", 3, false, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* The place where a seed measures: the sd lies between 1/20 and all of `most`, in waves. */
struct place {
    struct study study;
    double       most, turns[DIMS_MAX], phase, best;
};

static double mean_at(const struct place *place, const double *x)
{
    return place->study.function->value(x, place->study.function->d) - place->study.function->optimum;
}

static double sd_at(const struct place *place, const double *x)
{
    const struct param *box = place->study.space.params;
    double              angle = place->phase;
    for (size_t j = 0; j < place->study.function->d; j++)
        angle += place->turns[j] * (x[j] - box[j].min) / (box[j].max - box[j].min);
    return place->most * (0.05 + 0.95 * square(0.5 + 0.5 * sin(angle)));
}

static double risky_at(const struct place *place, const double *x)
{
    return mean_at(place, x) + RISK * sd_at(place, x);
}

static void draw(const struct place *place, struct rng *rng, const double *around, double side, double *x)
{
    for (size_t j = 0; j < place->study.function->d; j++) {
        const struct param *box = &place->study.space.params[j];
        double              u = rng_uniform(rng);
        x[j] = around == NULL ? box->min + u * (box->max - box->min)
                              : fmin(fmax(around[j] + (2 * u - 1) * side * (box->max - box->min), box->min), box->max);
    }
}

/* most: the spread of the function.  best: random points, then ever smaller steps from the best. */
static void make_place(struct place *place, uint64_t seed)
{
    struct rng rng = rng_at(seed, 2, RNG_TEST);
    double     x[DIMS_MAX], best[DIMS_MAX], sum = 0, squares = 0;
    size_t     d = place->study.function->d;
    for (size_t j = 0; j < d; j++)
        place->turns[j] = 2 * PI * (rng_uniform(&rng) < 0.5 ? -1 : 1) * (0.5 + rng_uniform(&rng)) / sqrt((double)d);
    place->phase = 2 * PI * rng_uniform(&rng);
    for (size_t i = 1; i <= 1000; i++) {
        draw(place, &rng, NULL, 0, x);
        double value = mean_at(place, x), step = value - sum;
        sum += step / (double)i;
        squares += step * (value - sum);
    }
    place->most = 0.5 * sqrt(squares / 1000);
    place->best = INFINITY;
    for (size_t i = 0; i < 2 * OPTIMUM_POINTS; i++) {
        double side = pow(0.5, 20.0 * (double)i / OPTIMUM_POINTS - 20);
        draw(place, &rng, i < OPTIMUM_POINTS ? NULL : best, i % 2 == 0 ? side : 0.1 * side, x);
        if (risky_at(place, x) < place->best) {
            place->best = risky_at(place, x);
            memcpy(best, x, sizeof best);
        }
    }
}

static void predict(struct study *study, const double *points, size_t m, double *mean, double *sd)
{
    struct error err = {0};
    must(study->policy->predict(study->session, &(struct prediction){.points = points, .m = m, .mean = mean, .sd = sd},
                                &err),
         &err);
}

/* Chooses the candidate with the least lower bound of mean + 2 sd; the models are of values with their signs turned. */
static void ask_models(struct place *place, struct study *logs, const double *around, struct rng *rng, double *out)
{
    static double points[CANDIDATES * DIMS_MAX], mean[CANDIDATES], sd[CANDIDATES], log_mean[CANDIDATES],
        log_sd[CANDIDATES];
    size_t d = place->study.function->d, best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < CANDIDATES; i++)
        draw(place, rng, i < NEAR ? around : NULL, i % 2 == 0 ? 0.1 : 0.01, points + i * d);
    predict(&place->study, points, CANDIDATES, mean, sd);
    predict(logs, points, CANDIDATES, log_mean, log_sd);
    for (size_t i = 0; i < CANDIDATES; i++) {
        double bound = -mean[i] - 2 * sd[i] + RISK * exp(0.5 * (-log_mean[i] - 2 * log_sd[i]));
        if (bound < least) {
            least = bound;
            best = i;
        }
    }
    memcpy(out, points + best * d, d * sizeof *out);
}

/* Measures a point so many times: the mean, and the sd without bias. */
static double measure(const struct place *place, const double *x, size_t replicates, struct rng *rng, double *sd)
{
    double values[REPLICATES_MAX], mean = 0, squares = 0, n = (double)replicates;
    for (size_t r = 0; r < replicates; r++) {
        values[r] = mean_at(place, x) + sd_at(place, x) * rng_normal(rng);
        mean += values[r] / n;
    }
    for (size_t r = 0; r < replicates; r++)
        squares += square(values[r] - mean);
    *sd = replicates < 2 ? 0 : sqrt(squares / 2) * exp(lgamma((n - 1) / 2) - lgamma(n / 2));
    return mean;
}

/* Which of the points the models take for the best; logs NULL: the first is of the mean + 2 sd itself. */
static size_t choose(struct study *study, struct study *logs, const double *points, size_t m)
{
    double mean[MEASUREMENTS], log_mean[MEASUREMENTS];
    size_t best = 0;
    predict(study, points, m, mean, NULL);
    if (logs != NULL)
        predict(logs, points, m, log_mean, NULL);
    for (size_t i = 0; i < m; i++) {
        mean[i] = -mean[i] + (logs != NULL ? RISK * exp(-0.5 * log_mean[i]) : 0);
        best = mean[i] < mean[best] ? i : best;
    }
    return best;
}

/* The regret of what is chosen in the end, in units of the largest sd. */
static double run(const struct function *function, const struct way *way, uint64_t seed)
{
    static struct place place;
    static struct study random, logs;
    static double       points[MEASUREMENTS * DIMS_MAX];
    struct rng          rng = rng_at(seed, 3, RNG_TEST);
    size_t              trials = MEASUREMENTS / way->replicates, d = function->d, best = 0;
    double              sd;
    study_open(&place.study, function, policy_find("gp"), seed, NULL, 0);
    study_open(&random, function, policy_find("random"), seed, NULL, 0);
    study_open(&logs, function, policy_find("gp"), seed, NULL, 0);
    make_place(&place, seed);
    for (size_t t = 0; t < trials; t++) {
        double *x = points + t * d;
        if (way->is_modelled && t >= FIRST)
            ask_models(&place, &logs, points + best * d, &rng, x);
        else
            study_ask(way->is_random ? &random : &place.study, t + 1, x);
        double average = measure(&place, x, way->replicates, &rng, &sd);
        study_tell(&place.study, t + 1, x, average + (way->is_modelled ? 0 : RISK * sd));
        if (way->is_modelled) // the mean of the logarithm of a chi squared with one degree is -1.27
            study_tell(&logs, t + 1, x, 2 * log(fmax(sd, 1e-9) * sqrt(2 / PI)) + 1.27);
        if (t + 1 < trials && (!way->is_modelled || t + 1 < FIRST))
            continue;
        best = choose(&place.study, way->is_modelled ? &logs : NULL, points, t + 1);
    }
    double regret = risky_at(&place, points + best * d) - place.best;
    study_close(&place.study);
    study_close(&random);
    study_close(&logs);
    return fmax(regret, 0) / place.most;
}

static bool is_named(const struct function *function, char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(function->name, names[i]) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static double         regrets[WAYS][SEEDS_MAX];
    struct function_seeds given = {.first = 1};
    if (!function_seeds_read(argc, argv, SEEDS_MAX, &given)) {
        fprintf(stderr, "risk [SEEDS [FIRST_SEED [FUNCTION ...]]], at most %d seeds\n", SEEDS_MAX);
        return 2;
    }
    puts("function,way,measurements,seeds,median_regret,below_single");
    for (size_t f = 0; f < FUNCTIONS; f++) {
        if (!is_named(&functions[f], argc > 3 ? given.names : (char *const *)reported))
            continue;
        for (size_t w = 0; w < WAYS; w++) {
            double sorted[SEEDS_MAX];
            size_t below = 0;
            for (size_t s = 0; s < given.seeds; s++) {
                sorted[s] = regrets[w][s] = run(&functions[f], &ways[w], given.first + s);
                below += regrets[w][s] < regrets[0][s];
            }
            qsort(sorted, given.seeds, sizeof *sorted, compare);
            printf("%s,%s,%d,%zu,%.3g,%zu\n", functions[f].name, ways[w].name, MEASUREMENTS, given.seeds,
                   quantile(sorted, given.seeds, 0.5), below);
            fflush(stdout);
        }
    }
    return 0;
}
