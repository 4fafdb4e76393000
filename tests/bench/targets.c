/* A value that is to be hit: how near it the best trial comes.
 *   targets [SEEDS [FIRST_SEED [NAME ...]]]          20 seeds from 1
 * One CSV line per problem: the median of |y - t| after all trials
 *   random    at random
 *   squared   of `gp` that minimises (y - t)^2: what everybody without such a goal does
 *   gp, turbo with the goal
 * and the ratio of gp to squared.  Fails unless that is at most a hundredth, or on two hard
 * problems (a steep step, values of seven orders of magnitude) 1.  `last` are looked at
 * when nothing is chosen any more. */
#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { SEEDS_MOST = 100 };

/* The pH of a solution of a weak acid and its salt with some strong base, from logarithms of concentrations. */
static double ph(const double *x, size_t d)
{
    double acid = pow(10, -4 + 3 * x[0]), salt = pow(10, -4 + 3 * x[1]), base = pow(10, -6 + 4 * x[2]), low = 0,
           high = 14;
    double pka = 4.2 + x[3];
    (void)d;
    for (int i = 0; i < 80; i++) { // the charges are balanced
        double at = 0.5 * (low + high), h = pow(10, -at), share = 1 / (1 + pow(10, pka - at));
        bool   is_acid = h + salt + base > pow(10, at - 14) + (acid + salt) * share;
        low = is_acid ? at : low;
        high = is_acid ? high : at;
    }
    return low;
}

static const struct problem_of {
    struct function function;
    double          target;
    size_t          trials;
    bool            is_last, is_hard;
} problems[] = {
    {{.name = "branin2", .value = branin, .d = 2, .params = branin_params}, 20, 24, false, false},
    {{.name = "ph4", .value = ph, .d = 4, .upper = 1}, 7.4, 24, false, true},
    {{.name = "hartmann6", .value = hartmann, .d = 6, .upper = 1}, -2.5, 40, false, false},
    {{.name = "camel2", .value = camel, .d = 2, .params = camel_params}, 1.5, 24, false, false},
    {{.name = "hartmann3", .value = hartmann, .d = 3, .upper = 1}, -2, 24, false, false},
    {{.name = "rosenbrock4", .value = rosenbrock, .d = 4, .lower = -5, .upper = 10}, 50, 40, false, true},
    {{.name = "mixed4", .value = mixed, .d = 4, .params = mixed_params}, 1, 40, false, false},
    {{.name = "rotated6", .value = rotated, .d = 6, .lower = -1, .upper = 1}, 3, 40, true, false},
    {{.name = "styblinski5", .value = styblinski, .d = 5, .lower = -5, .upper = 5}, 60, 40, true, false},
    {{.name = "levy4", .value = levy, .d = 4, .lower = -10, .upper = 10}, 7, 40, true, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

enum way { RANDOM, SQUARED, GP, TURBO, WAYS };
static const char *const policy_of[WAYS] = {"random", "gp", "gp", "turbo"};

static double run(const struct problem_of *p, enum way way, uint64_t seed)
{
    static struct study study;
    struct error        err = {0};
    double              point[DIMS_MAX], best = INFINITY;
    const struct band   band = {p->target, p->target};
    study_open(&study, &p->function, policy_find(policy_of[way]), seed, NULL, 0);
    if (way >= GP) {
        session_close(study.session);
        study.problem.bands = &band;
        must(session_open(study.policy, &study.problem, &study.session, &err), &err);
    }
    for (uint64_t trial = 1; trial <= p->trials; trial++) {
        study_ask(&study, trial, point);
        double y = p->function.value(point, p->function.d);
        best = fmin(best, fabs(y - p->target));
        study_tell(&study, trial, point, way == SQUARED ? square(y - p->target) : -y);
    }
    study_close(&study);
    return best;
}

int main(int argc, char **argv)
{
    struct function_seeds of = {.first = 1};
    bool                  is_good = true;
    if (!function_seeds_read(argc, argv, SEEDS_MOST, &of))
        return 2;
    printf("problem,target,trials,seeds,random,squared,gp,turbo,gp/squared\n");
    for (size_t i = 0; i < PROBLEMS; i++) {
        double found[WAYS][SEEDS_MOST], median[WAYS];
        bool   is_named = of.names[0] == NULL && !problems[i].is_last;
        for (char *const *name = of.names; *name != NULL; name++)
            is_named = is_named || strcmp(*name, problems[i].function.name) == 0 ||
                       (problems[i].is_last && strcmp(*name, "last") == 0);
        for (int way = 0; way < WAYS && is_named; way++) {
            for (size_t s = 0; s < of.seeds; s++)
                found[way][s] = run(&problems[i], (enum way)way, of.first + s);
            qsort(found[way], of.seeds, sizeof **found, numbers_order);
            median[way] = quantile(found[way], of.seeds, 0.5);
        }
        if (!is_named)
            continue;
        printf("%s,%g,%zu,%zu,%.2g,%.2g,%.2g,%.2g,%.2g\n", problems[i].function.name, problems[i].target,
               problems[i].trials, of.seeds, median[RANDOM], median[SQUARED], median[GP], median[TURBO],
               median[GP] / median[SQUARED]);
        fflush(stdout);
        is_good = is_good && median[GP] <= (problems[i].is_hard ? 1 : 0.01) * median[SQUARED];
    }
    return is_good ? 0 : 1;
}
