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
 * each: the regret of every study instead, as tests/bench/decide reads it.
 *   basins values KIND SEED
 * reads points, a line each, and answers with values to be maximised; then the lines of `each` on stderr.  So a peer,
 * in bash, for two parameters:
 *   coproc P { /usr/bin/python3 tests/bench/optuna_peer.py tpe SEED 1 80 0 0; }
 *   build/tests/bench/basins values wells2 SEED <&${P[0]} >&${P[1]} */
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { D_MAX = 6, WELLS = 8, SEEDS_MAX = 200 };
static const double STUCK = 0.06; /* of values that range over 1 or more */

/* The function of this seed. */
static struct {
    double best[D_MAX], axes[D_MAX][D_MAX], well[WELLS][D_MAX], depth[WELLS], width[WELLS], phase[3], turn[3][D_MAX];
} world;

/* Axes: Gram and Schmidt's of normal vectors. */
static void make_axes(struct rng *rng, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        double squares = 0;
        for (size_t j = 0; j < d; j++)
            world.axes[i][j] = rng_normal(rng);
        for (size_t k = 0; k < i; k++) {
            double along = 0;
            for (size_t j = 0; j < d; j++)
                along += world.axes[i][j] * world.axes[k][j];
            for (size_t j = 0; j < d; j++)
                world.axes[i][j] -= along * world.axes[k][j];
        }
        for (size_t j = 0; j < d; j++)
            squares += square(world.axes[i][j]);
        for (size_t j = 0; j < d; j++)
            world.axes[i][j] /= sqrt(squares);
    }
}

static double distance2(const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += square(a[j] - b[j]);
    return sum;
}

/* The first well is the deepest; the others keep a distance from it. */
static void make_world(uint64_t seed, size_t d)
{
    struct rng rng = rng_at(seed, 1, RNG_TEST);
    make_axes(&rng, d);
    for (size_t j = 0; j < d; j++)
        world.best[j] = 0.1 + 0.8 * rng_uniform(&rng);
    for (size_t w = 0; w < WELLS; w++) {
        do
            for (size_t j = 0; j < d; j++)
                world.well[w][j] = w == 0 ? world.best[j] : rng_uniform(&rng);
        while (w > 0 && distance2(world.well[w], world.best, d) < square(0.3) * (double)d / 2);
        world.depth[w] = w == 0 ? 1 : 0.4 + 0.4 * rng_uniform(&rng);
        world.width[w] = (w == 0 ? 0.1 : 0.08 + 0.12 * rng_uniform(&rng)) * sqrt((double)d);
    }
    for (size_t k = 0; k < 3; k++) {
        world.phase[k] = 2 * PI * rng_uniform(&rng);
        for (size_t j = 0; j < d; j++)
            world.turn[k][j] = rng_normal(&rng) / sqrt((double)d);
    }
}

/* Coordinates along the axes, from the optimum. */
static void turned(const double *x, size_t d, double *z)
{
    for (size_t i = 0; i < d; i++) {
        z[i] = 0;
        for (size_t j = 0; j < d; j++)
            z[i] += world.axes[i][j] * (x[j] - world.best[j]);
    }
}

static double wells(const double *x, size_t d)
{
    double lowest = 0;
    for (size_t w = 0; w < WELLS; w++)
        lowest = fmax(lowest, world.depth[w] * exp(-0.5 * distance2(x, world.well[w], d) / square(world.width[w])));
    return 1 - lowest + 0.1 * distance2(x, world.best, d);
}

static double hole(const double *x, size_t d)
{
    double bowl = 3 * distance2(x, world.well[1], d) / (double)d;
    return (0.5 + bowl) * (1 - exp(-0.5 * distance2(x, world.best, d) / (square(0.08) * (double)d)));
}

static double waves(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i < d; i++)
        sum += 20 * square(z[i]) + 1 - cos(2 * PI * z[i] / 0.25);
    return sum;
}

static double ripples(const double *x, size_t d)
{
    double r2 = distance2(x, world.best, d), sum = 3 * r2 + 1 - cos(25 * sqrt(r2));
    for (size_t k = 0; k < 3; k++) {
        double along = 0;
        for (size_t j = 0; j < d; j++)
            along += world.turn[k][j] * (x[j] - world.best[j]);
        sum += 1 - cos(20 * along);
    }
    return sum;
}

static double valley(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i + 1 < d; i++)
        sum += 30 * square(z[i + 1] - 2 * square(z[i])) + square(z[i]) + 0.5 * (1 - cos(2 * PI * z[i] / 0.3));
    return sum;
}

static double trap(const double *x, size_t d)
{
    double corner[D_MAX];
    for (size_t j = 0; j < d; j++)
        corner[j] = world.best[j] < 0.5 ? 1 : 0;
    double near = sqrt(distance2(x, world.best, d)), size = sqrt((double)d);
    return fmin(6 * near / size, 0.3 + sqrt(distance2(x, corner, d)) / size);
}

static double bowl(const double *x, size_t d)
{
    double z[D_MAX], sum = 0;
    turned(x, d, z);
    for (size_t i = 0; i < d; i++)
        sum += pow(30, (double)i / (double)(d - 1)) * square(z[i]);
    return sum;
}

#define KIND(label, formula, dims, sd)                                                                            \
    {                                                                                                             \
        .name = label, .value = formula, .d = dims, .lower = 0, .upper = 1, .noise = sd, .trials = { 20, 40, 80 } \
    }
enum { DEVELOPMENT = 9 };
static const struct function kinds[] = {
    KIND("wells2", wells, 2, 0),
    KIND("wells4", wells, 4, 0),
    KIND("hole3", hole, 3, 0),
    KIND("waves2", waves, 2, 0),
    KIND("valley4", valley, 4, 0),
    KIND("trap2", trap, 2, 0),
    KIND("noisy_wells2", wells, 2, 0.05),
    KIND("bowl4", bowl, 4, 0),
    KIND("noisy_bowl3", bowl, 3, 0.2),
    KIND("wells3", wells, 3, 0),
    KIND("wells5", wells, 5, 0),
    KIND("hole2", hole, 2, 0),
    KIND("ripples2", ripples, 2, 0),
    KIND("ripples3", ripples, 3, 0),
    KIND("waves3", waves, 3, 0),
    KIND("valley6", valley, 6, 0),
    KIND("trap3", trap, 3, 0),
    KIND("noisy_wells3", wells, 3, 0.05),
    KIND("noisy_ripples2", ripples, 2, 0.2),
    KIND("bowl5", bowl, 5, 0),
    KIND("noisy_bowl2", bowl, 2, 0.2),
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void print_each(const struct function *kind, uint64_t seed, size_t at, double regret)
{
    printf("%s,%zu,%d,%.17g\n", kind->name, (size_t)seed, (int)kind->trials[at], regret);
}

/* One study: the regret at each checkpoint. */
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

/* For a search in another process. */
static int answer(const char *name, uint64_t seed)
{
    const struct function *kind = kinds;
    struct study           study = {.rng = rng_at(seed, 0, RNG_TEST)};
    double                 point[DIMS_MAX], best = INFINITY, now, regret[CHECKPOINTS];
    size_t                 at = 0;
    while (kind < kinds + KINDS && strcmp(kind->name, name) != 0)
        kind++;
    if (kind == kinds + KINDS)
        return 64;
    study.function = kind;
    make_world(seed, kind->d);
    for (uint64_t trial = 1; at < CHECKPOINTS && kind->trials[at] > 0; trial++) {
        for (size_t j = 0; j < kind->d; j++)
            if (scanf("%lf", &point[j]) != 1)
                return 1;
        printf("%.17g\n", -study_measure(&study, point, &now));
        fflush(stdout);
        best = fmin(best, now);
        if (trial == kind->trials[at])
            regret[at++] = best;
    }
    for (size_t k = 0; k < at; k++)
        fprintf(stderr, "%s,%zu,%d,%.17g\n", name, (size_t)seed, (int)kind->trials[k], regret[k]);
    return 0;
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
    if (argc == 4 && strcmp(argv[1], "values") == 0)
        return answer(argv[2], strtoull(argv[3], NULL, 10));
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
