/* The functions of tests/bench/standing, for searches in other processes.
 *   values              a line each: name, noise, medians of published peers (the best, the third) after 20, 40, 60 and
 *                       100 evaluations (0: not known), parameters as tests/bench/ask_tell takes them
 *   values NAME SEED    reads points, a line each, and answers with what is measured, to be minimised, and the regret
 * Seven are those of tests/bench/efficiency.c with published figures.  The others differ with each seed: shifted ones,
 * turned ones, kinds of tests/bench/basins.c on which no choice was made, and two on grids. */
#include "tests/bench/basins.h"

/* Ten wells, the deepest near (4, 4, 4, 4). */
static double shekel(const double *x, size_t d)
{
    static const double centre[4][10] = {{4, 1, 8, 6, 3, 2, 5, 8, 6, 7},
                                         {4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6},
                                         {4, 1, 8, 6, 3, 2, 5, 8, 6, 7},
                                         {4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6}};
    static const double width[10] = {.1, .2, .2, .4, .4, .6, .3, .7, .5, .5};
    double              sum = 0;
    for (size_t i = 0; i < 10; i++) {
        double q = width[i];
        for (size_t j = 0; j < d; j++)
            q += square(x[j] - centre[j][i]);
        sum -= 1 / q;
    }
    return sum;
}

/* In coordinates of which the unit cube is so many long, turned, the optimum of all of them at `at`. */
static double turned_value(double (*value)(const double *x, size_t d), const double *x, size_t d, double side,
                           double at)
{
    double z[D_MAX];
    turned(x, d, z);
    for (size_t j = 0; j < d; j++)
        z[j] = at + side * z[j];
    return value(z, d);
}

static double turned_ackley(const double *x, size_t d)
{
    return turned_value(ackley, x, d, 12, 0.55);
}

static double turned_levy(const double *x, size_t d)
{
    return turned_value(levy, x, d, 16, 1);
}

static double turned_rosenbrock(const double *x, size_t d)
{
    return turned_value(rosenbrock, x, d, 4, 1);
}

enum { BRANIN_LAST = 30, WAVES_LAST = 20 }; /* the largest number of a grid's side */

static double grid_branin(const double *x, size_t d)
{
    return branin((double[]){15 * x[0] / BRANIN_LAST - 5, 15 * x[1] / BRANIN_LAST}, d);
}

static double grid_waves(const double *x, size_t d)
{
    double u[D_MAX];
    for (size_t j = 0; j < d; j++)
        u[j] = x[j] / WAVES_LAST;
    return waves(u, d);
}

static const char *const shared[] = {
    "branin2",
    "hartmann3",
    "hartmann6",
    "ackley5",
    "levy4",
    "rosenbrock4",
    "noisy_branin2",
    "wells3",
    "shifted_ackley5",
    "shifted_levy4",
    "shifted_rosenbrock4",
    "hole2",
    "ripples3",
    "waves3",
    "valley6",
    "trap3",
    "bowl5",
    "noisy_wells3",
    "noisy_bowl2",
    "noisy_ripples2",
};
enum { SHARED = sizeof shared / sizeof *shared };

#define WHOLE(last)                                                          \
    {                                                                        \
        .name = "x", .kind = PARAM_INT, .scale = SCALE_LINEAR, .max = (last) \
    }
static const struct param    branin_grid[] = {WHOLE(BRANIN_LAST), WHOLE(BRANIN_LAST)};
static const struct param    waves_grid[] = {WHOLE(WAVES_LAST), WHOLE(WAVES_LAST), WHOLE(WAVES_LAST)};
static const struct function own[] = {
    {.name = "shifted_shekel4", .value = shekel, .d = 4, .upper = 10, .optimum = -10.53644315348353},
    {.name = "turned_ackley4", .value = turned_ackley, .d = 4, .upper = 1},
    {.name = "turned_levy4", .value = turned_levy, .d = 4, .upper = 1},
    {.name = "turned_rosenbrock4", .value = turned_rosenbrock, .d = 4, .upper = 1},
    {.name = "grid_branin2", .value = grid_branin, .d = 2, .params = branin_grid},
    {.name = "grid_waves3", .value = grid_waves, .d = 3, .params = waves_grid},
};
enum { OWN = sizeof own / sizeof *own };

static const struct function *find(const struct function *list, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static const struct function *find_any(const char *name)
{
    const struct function *found = find(own, OWN, name);
    for (size_t i = 0; i < SHARED && found == NULL; i++)
        if (strcmp(shared[i], name) == 0) {
            found = find(functions, FUNCTIONS, name);
            found = found == NULL ? find(kinds, KINDS, name) : found;
        }
    return found;
}

static void describe(const struct function *f)
{
    printf("%s,%g", f->name, f->noise);
    for (size_t at = 0; at < CHECKPOINTS; at++)
        printf(",%g", f->best_peer[at]);
    for (size_t at = 0; at < CHECKPOINTS; at++)
        printf(",%g", f->third_peer[at]);
    for (size_t j = 0; j < f->d; j++)
        if (f->params == NULL)
            printf(",double:%.17g:%.17g", f->lower, f->upper);
        else
            printf(",%s:%.17g:%.17g", f->params[j].kind == PARAM_INT ? "int" : "double", f->params[j].min,
                   f->params[j].max);
    printf("\n");
}

/* The smallest value of whole numbers from 0 on. */
static double smallest(const struct function *f)
{
    double x[DIMS_MAX] = {0}, least = INFINITY;
    for (size_t j = 0; j < f->d;) {
        least = fmin(least, f->value(x, f->d));
        for (j = 0; j < f->d && ++x[j] > f->params[j].max; j++)
            x[j] = 0;
    }
    return least;
}

static int answer(const char *name, uint64_t seed)
{
    const struct function *found = find_any(name);
    double                 point[DIMS_MAX], value, regret;
    struct study           study;
    if (found == NULL)
        return 64;
    struct function f = *found;
    make_world(seed, f.d);
    if (f.params != NULL && f.params[0].kind == PARAM_INT)
        f.optimum = smallest(&f);
    study_place(&study, &f, seed);
    for (;;) {
        for (size_t j = 0; j < f.d; j++)
            if (scanf("%lf", &point[j]) != 1)
                return 0;
        value = study_measure(&study, point, &regret);
        printf("%.17g %.17g\n", value, regret);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return answer(argv[1], strtoull(argv[2], NULL, 10));
    for (size_t i = 0; i < SHARED; i++)
        describe(find_any(shared[i]));
    for (size_t i = 0; i < OWN; i++)
        describe(&own[i]);
    return 0;
}
