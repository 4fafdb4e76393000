/* Sample efficiency: median simple regret of the model-based algorithms, with random search as the baseline.
 *   efficiency [each] [SEEDS [FIRST_SEED [FUNCTION|ALGORITHM ...]]] 20 seeds from 1 on, every function, gp and random;
 *                                                                   of 20 parameters and more 5 seeds, and turbo
 * development: for the functions that choices are made on.  each: the regret of each study of these algorithms instead,
 * without random search, for tests/bench/decide.
 * One CSV line per function, algorithm and checkpoint.  best_peer and third_peer are the best and the third best
 * median of eight algorithms of seven other libraries at that checkpoint (empty: not measured there); p_random is the
 * one-sided p value of Mann and Whitney's test that the regrets are no smaller than those of random search. */
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { SEEDS_MAX = 200, HIGH = 20, HIGH_SEEDS = 5 };

/* Runs a study: the regret at each checkpoint. */
static void run(const struct function *function, const struct policy *policy, uint64_t seed, double *regret)
{
    struct study study;
    double       point[DIMS_MAX], best = INFINITY, now;
    study_open(&study, function, policy, seed, NULL, 0);
    for (uint64_t trial = 1, at = 0; at < CHECKPOINTS && function->trials[at] > 0; trial++) {
        study_ask(&study, trial, point);
        study_tell(&study, trial, point, study_measure(&study, point, &now));
        best = fmin(best, now);
        if (trial == function->trials[at])
            regret[at++] = fmax(best, 0);
    }
    study_close(&study);
}

static void print_peer(double value)
{
    if (value > 0)
        printf(",%.3g", value);
    else
        printf(",");
}

static void report(const struct function *function, const struct policy *policy, size_t at, size_t seeds,
                   double *regret, double *random)
{
    qsort(regret, seeds, sizeof *regret, numbers_order);
    printf("%s,%s,%zu,%d,%.3g,%.3g,%.3g", function->name, policy->name, seeds, (int)function->trials[at],
           quantile(regret, seeds, 0.5), quantile(regret, seeds, 0.25), quantile(regret, seeds, 0.75));
    print_peer(function->best_peer[at]);
    print_peer(function->third_peer[at]);
    if (random == NULL)
        printf(",\n");
    else
        printf(",%.1e\n", mann_whitney(regret, random, seeds));
}

/* regrets[at][seed]; printed one by one if is_each. */
static void measure(const struct function *function, const struct policy *policy, size_t seeds, uint64_t first,
                    double (*regrets)[SEEDS_MAX], bool is_each)
{
    for (size_t s = 0; s < seeds; s++) {
        double regret[CHECKPOINTS];
        run(function, policy, first + s, regret);
        for (size_t at = 0; at < CHECKPOINTS && function->trials[at] > 0; at++) {
            regrets[at][s] = regret[at];
            if (is_each)
                printf("%s,%zu,%d,%.17g\n", function->name, (size_t)first + s, (int)function->trials[at], regret[at]);
        }
    }
}

/* Names given choose among their kind; without any, all functions, and gp (turbo only where it is meant for). */
static bool is_wanted(const char *name, bool (*is_kind)(const char *), bool otherwise, char *const *names)
{
    bool any = false;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
        any |= is_kind(*names);
    }
    return !any && otherwise;
}

static bool is_policy(const char *name)
{
    return policy_find(name) != NULL;
}

static bool is_function(const char *name)
{
    return !is_policy(name);
}

static bool is_chosen(const struct function *f, char *const *names)
{
    return is_wanted(f->name, is_function, true, names) ||
           (function_is_development(f) && is_wanted("development", is_function, false, names));
}

/* Compares all algorithms on a function. */
static void compare_all(const struct function *f, size_t seeds, uint64_t first, char *const *names, bool is_each)
{
    static double               random[CHECKPOINTS][SEEDS_MAX], regrets[CHECKPOINTS][SEEDS_MAX];
    size_t                      count;
    const struct policy *const *list = policy_list(&count);
    if (!is_each)
        measure(f, policy_find("random"), seeds, first, random, false);
    for (size_t i = 0; i < count; i++) {
        bool is_default = strcmp(list[i]->name, "gp") == 0 || (strcmp(list[i]->name, "turbo") == 0 && f->d >= HIGH);
        if (!is_wanted(list[i]->name, is_policy, is_default, names) || !(list[i]->spaces & SPACE_PARAMETERS))
            continue;
        measure(f, list[i], seeds, first, regrets, is_each);
        for (size_t at = 0; !is_each && at < CHECKPOINTS && f->trials[at] > 0; at++)
            report(f, list[i], at, seeds, regrets[at], random[at]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    bool is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    argc -= is_each;
    argv += is_each;
    struct function_seeds own = {.first = 1};
    if (!function_seeds_read(argc, argv, SEEDS_MAX, &own))
        return 64;
    mat_use_one_thread();
    printf(is_each ? "function,seed,trials,regret\n"
                   : "function,policy,seeds,checkpoint,median,q25,q75,best_peer,third_peer,p_random\n");
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++)
        if (is_chosen(f, own.names))
            compare_all(f, argc > 1 || f->d < HIGH ? own.seeds : HIGH_SEEDS, own.first, own.names, is_each);
    return 0;
}
