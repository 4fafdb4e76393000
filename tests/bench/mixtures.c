/* Mixtures: shares that sum to 1.  The median regret after 40 trials of
 *   random    at random among all mixtures
 *   ratio     `gp` over amounts in [0, 1], of which the shares are made by dividing by their sum
 *   rest      `gp` over all shares but the last, which is what is left; a sum above 1 is told as infeasible
 *   gp        `gp` with the equation
 * usage: mixtures [SEEDS [FIRST_SEED [NAME ...]]]          20 seeds from 1
 * The best mixture is drawn for each seed: uniform, or of `few` with two shares above 0.  One CSV line per problem, with how many
 * studies of gp end below, and above, those of ratio and of rest; inf: half of the studies found no mixture.  Nothing was chosen on
 * these problems.
 * Fails when the median of gp is not below that of random search. */
#include "engine/registry.h"
#include "tests/bench/functions.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 40, SEEDS_MOST = 200 };
enum way { RANDOM, RATIO, REST, GP, WAYS };

static double best[DIMS_MAX]; /* of this seed's problem */

static double bowl(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += square((double)(j + 1) * (x[j] - best[j]));
    return sum;
}

static double valley(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < d; j++)
        sum += 100 * square(x[j + 1] - best[j + 1] - 2 * square(x[j] - best[j])) + square(x[j] - best[j]);
    return sum;
}

static double ripples(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += square(x[j] - best[j]) + 0.05 * (1 - cos(6 * PI * (x[j] - best[j])));
    return sum;
}

/* The relative entropy, which is steep where a share is small. */
static double entropy(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += best[j] > 0 ? best[j] * log(best[j] / fmax(x[j], 1e-6)) : 0;
    return fmax(sum, 0);
}

static const struct problem_of {
    struct function function;
    bool            is_few;
} problems[] = {
    {{.name = "bowl4", .value = bowl, .d = 4, .upper = 1}, false},
    {{.name = "valley4", .value = valley, .d = 4, .upper = 1}, false},
    {{.name = "ripples4", .value = ripples, .d = 4, .upper = 1}, false},
    {{.name = "entropy5", .value = entropy, .d = 5, .upper = 1}, false},
    {{.name = "bowl8", .value = bowl, .d = 8, .upper = 1}, false},
    {{.name = "few_bowl6", .value = bowl, .d = 6, .upper = 1}, true},
    {{.name = "few_ripples6", .value = ripples, .d = 6, .upper = 1}, true},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void place_best(const struct problem_of *p, uint64_t seed)
{
    struct rng rng = rng_at(seed, 1, RNG_TEST);
    double     sum = 0;
    for (size_t j = 0; j < p->function.d; j++) {
        best[j] = p->is_few && j > 1 ? 0 : -log(1 - rng_uniform(&rng));
        sum += best[j];
    }
    for (size_t j = 0; j < p->function.d; j++)
        best[j] /= sum;
    for (size_t j = p->function.d - 1; p->is_few && j > 0; j--) { // the two may be any
        size_t k = rng_below(&rng, j + 1);
        double swapped = best[j];
        best[j] = best[k];
        best[k] = swapped;
    }
}

/* A study whose shares sum to 1; all of the problem's. */
static void open_shares(struct study *study, const struct constraint *sum)
{
    struct error err = {0};
    session_close(study->session);
    study->space.constraints = sum;
    study->space.constraints_len = 1;
    must(space_init(&study->space, &err), &err);
    must(session_open(study->policy, &study->problem, &study->session, &err), &err);
}

/* shares [d] of a point as the way has it; false: there are none. */
static bool mix(enum way way, size_t d, const double *point, double *shares)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++) {
        shares[j] = way == REST && j + 1 == d ? 1 - sum : point[j];
        sum += shares[j];
    }
    for (size_t j = 0; j < d && way == RATIO; j++)
        shares[j] = sum > 0 ? shares[j] / sum : 1 / (double)d;
    return shares[d - 1] >= 0;
}

static double run(const struct problem_of *p, enum way way, uint64_t seed)
{
    static struct study     study;
    static const size_t     all[DIMS_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const double     ones[DIMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct constraint sum = {.params = all, .coefficients = ones, .len = p->function.d, .min = 1, .max = 1};
    struct function         asked = p->function;
    struct error            err = {0};
    double                  point[DIMS_MAX], shares[DIMS_MAX], least = INFINITY;
    place_best(p, seed);
    asked.d -= way == REST;
    study_open(&study, &asked, policy_find(way == RANDOM ? "random" : "gp"), seed, NULL, 0);
    if (way == RANDOM || way == GP)
        open_shares(&study, &sum);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        study_ask(&study, trial, point);
        if (mix(way, p->function.d, point, shares)) {
            double value = p->function.value(shares, p->function.d);
            least = fmin(least, value);
            study_tell(&study, trial, point, value);
        } else
            must(study.policy->tell(study.session,
                                    &(struct event){.kind = EVENT_INFEASIBLE, .trial = trial, .point = point}, &err),
                 &err);
    }
    study_close(&study);
    return least;
}

/* How many of a are below b, and above. */
static void print_pairs(const double *a, const double *b, size_t n)
{
    int below = 0, above = 0;
    for (size_t s = 0; s < n; s++) {
        below += a[s] < b[s];
        above += a[s] > b[s];
    }
    printf(",%d-%d", below, above);
}

int main(int argc, char **argv)
{
    struct function_seeds of = {.first = 1};
    bool                  is_good = true;
    if (!function_seeds_read(argc, argv, SEEDS_MOST, &of))
        return 2;
    printf("problem,seeds,random,ratio,rest,gp,gp to ratio,gp to rest\n");
    for (size_t i = 0; i < PROBLEMS; i++) {
        double found[WAYS][SEEDS_MOST], median[WAYS], sorted[SEEDS_MOST];
        bool   is_named = of.names[0] == NULL;
        for (char *const *name = of.names; *name != NULL; name++)
            is_named = is_named || strcmp(*name, problems[i].function.name) == 0;
        if (!is_named)
            continue;
        for (int way = 0; way < WAYS; way++) {
            for (size_t s = 0; s < of.seeds; s++)
                sorted[s] = found[way][s] = run(&problems[i], (enum way)way, of.first + s);
            qsort(sorted, of.seeds, sizeof *sorted, numbers_order);
            median[way] = quantile(sorted, of.seeds, 0.5);
            median[way] = isnan(median[way]) ? INFINITY : median[way]; // between two of them
        }
        printf("%s,%zu,%.2g,%.2g,%.2g,%.2g", problems[i].function.name, of.seeds, median[RANDOM], median[RATIO],
               median[REST], median[GP]);
        print_pairs(found[GP], found[RATIO], of.seeds);
        print_pairs(found[GP], found[REST], of.seeds);
        printf("\n");
        fflush(stdout);
        is_good = is_good && median[GP] < median[RANDOM];
    }
    return is_good ? 0 : 1;
}
