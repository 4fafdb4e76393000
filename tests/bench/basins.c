/* Functions of many basins: what the default algorithm does once it has exhausted one.
 *   basins [each] [SEEDS [FIRST_SEED [KIND|ALGORITHM|development|judgement ...]]]
 * Without names all kinds, gp and random; 20 seeds from 5001.  With each seed a kind has another function in the unit
 * cube, whose optimum is 0, anywhere in the inner 80 % of each range.  Choices are made on the kinds of development
 * and judged once, on the others and other seeds.
 *   wells    separated wells of different depth and width on a plain that slopes a little
 *   hole     a wide bowl, and elsewhere a narrow hole that is deeper
 *   waves    a bowl with cosine waves along axes turned at random: tens of basins
 *   ripples  a bowl with waves of the distance, and along three directions
 *   valley   a bent valley with waves along it, turned
 *   trap     a cone around the optimum; from its rim on it falls towards the far corner
 *   bowl     one basin, curvatures from 1 to 30, turned: what an escape costs where none is needed
 * One CSV line for each kind, algorithm and checkpoint; stuck: the share of studies with a regret above STUCK.
 * each: the regret of every study instead, as tests/bench/decide reads it. */
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "tests/bench/basins.h"

enum { SEEDS_MAX = 200 };
static const double STUCK = 0.06; /* of values that range over 1 or more */

static void print_each(const struct function *kind, uint64_t seed, size_t at, double regret)
{
    printf("%s,%zu,%d,%.17g\n", kind->name, (size_t)seed, (int)kind->trials[at], regret);
}

/* Runs a study: the regret at each checkpoint. */
static void run(const struct function *kind, const struct policy *policy, uint64_t seed, double *regret)
{
    struct study study;
    double       point[DIMS_MAX], best = INFINITY, now;
    make_world(seed, kind->d);
    study_open(&study, kind, policy, seed, NULL, 0);
    for (uint64_t trial = 1, at = 0; at < CHECKPOINTS && kind->trials[at] > 0; trial++) {
        study_ask(&study, trial, point);
        study_tell(&study, trial, point, study_measure(&study, point, &now));
        best = fmin(best, now);
        if (trial == kind->trials[at])
            regret[at++] = best;
    }
    study_close(&study);
}

static double stuck(const double *regrets, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += regrets[i] > STUCK;
    return (double)count / (double)n;
}

static void measure(const struct function *kind, const struct policy *policy, const struct function_seeds *own,
                    bool is_each)
{
    static double regrets[CHECKPOINTS][SEEDS_MAX];
    for (size_t s = 0; s < own->seeds; s++) {
        double regret[CHECKPOINTS];
        run(kind, policy, own->first + s, regret);
        for (size_t at = 0; at < CHECKPOINTS && kind->trials[at] > 0; at++) {
            regrets[at][s] = regret[at];
            if (is_each)
                print_each(kind, own->first + s, at, regret[at]);
        }
    }
    for (size_t at = 0; !is_each && at < CHECKPOINTS && kind->trials[at] > 0; at++) {
        qsort(regrets[at], own->seeds, sizeof **regrets, compare);
        printf("%s,%s,%zu,%d,%.3g,%.3g,%.3g,%.2f\n", kind->name, policy->name, own->seeds, (int)kind->trials[at],
               quantile(regrets[at], own->seeds, 0.5), quantile(regrets[at], own->seeds, 0.25),
               quantile(regrets[at], own->seeds, 0.75), stuck(regrets[at], own->seeds));
    }
    fflush(stdout);
}

/* Names given choose among their kind; without any, all functions, gp and random. */
static bool is_given(char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    bool                  is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    struct function_seeds own = {.first = 5001};
    if (!function_seeds_read(argc - is_each, argv + is_each, SEEDS_MAX, &own))
        return 64;
    mat_use_one_thread();
    const struct policy *list[] = {policy_find("gp"), policy_find("random")};
    bool                 any_policy = is_given(own.names, "gp") || is_given(own.names, "random");
    bool                 any_kind = is_given(own.names, "development") || is_given(own.names, "judgement");
    for (size_t k = 0; k < KINDS; k++)
        any_kind |= is_given(own.names, kinds[k].name);
    printf(is_each ? "function,seed,trials,regret\n" : "function,policy,seeds,checkpoint,median,q25,q75,stuck\n");
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < 2; i++)
            if ((!any_policy || is_given(own.names, list[i]->name)) &&
                (!any_kind || is_given(own.names, kinds[k].name) ||
                 is_given(own.names, k < DEVELOPMENT ? "development" : "judgement")))
                measure(&kinds[k], list[i], &own, is_each);
    return 0;
}
