/* Sample efficiency: median simple regret of the model-based algorithms, with random search as the baseline.
 *   efficiency [SEEDS [FIRST_SEED [FUNCTION|ALGORITHM ...]]]        20 seeds from 1 on, every function, gp and random;
 *                                                                   of 20 parameters and more 5 seeds, and turbo
 * One CSV line per function, algorithm and checkpoint.  best_peer and third_peer are the best and the third best
 * median of nine other programs at that checkpoint (empty: not measured there); p_random is the one-sided p value of
 * Mann and Whitney's test that the regrets are no smaller than those of random search.
 * A noisy function is judged by its true value at the points visited.  A shifted one has its optimum elsewhere with each
 * seed: most formulas have theirs near the middle of the usual box. */
#include "engine/mat.h"
#include "engine/policy.h"
#include "engine/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS_MAX = 60, CHECKPOINTS = 4, SEEDS_MAX = 200 };
static const double PI = 3.14159265358979324;

static const double SHIFT = 0.25; /* in every coordinate, at most; a share of the box */

static double square(double x)
{
    return x * x;
}

static double branin(const double *x, size_t d)
{
    (void)d;
    return square(x[1] - 5.1 / (4 * PI * PI) * x[0] * x[0] + 5 / PI * x[0] - 6) + 10 * (1 - 1 / (8 * PI)) * cos(x[0]) +
           10;
}

static double hartmann(const double *x, size_t d)
{
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    static const double A3[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    static const double P3[4][3] = {
        {.3689, .1170, .2673}, {.4699, .4387, .7470}, {.1091, .8732, .5547}, {.0381, .5743, .8828}};
    static const double A6[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}};
    static const double P6[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                    {.2329, .4135, .8307, .3736, .1004, .9991},
                                    {.2348, .1451, .3522, .2883, .3047, .6650},
                                    {.4047, .8828, .8732, .5743, .1091, .0381}};
    double              sum = 0;
    for (int i = 0; i < 4; i++) {
        const double *A = d == 3 ? A3[i] : A6[i], *P = d == 3 ? P3[i] : P6[i];
        double        q = 0;
        for (size_t j = 0; j < d; j++)
            q += A[j] * square(x[j] - P[j]);
        sum -= alpha[i] * exp(-q);
    }
    return sum;
}

static double ackley(const double *x, size_t d)
{
    double squares = 0, cosines = 0;
    for (size_t j = 0; j < d; j++) {
        squares += square(x[j] - 0.55) / (double)d;
        cosines += cos(2 * PI * (x[j] - 0.55)) / (double)d;
    }
    return 20 - 20 * exp(-0.2 * sqrt(squares)) + exp(1.0) - exp(cosines);
}

static double levy(const double *x, size_t d)
{
    double first = 1 + (x[0] - 1) / 4, last = 1 + (x[d - 1] - 1) / 4, sum = square(sin(PI * first));
    for (size_t j = 0; j + 1 < d; j++) {
        double w = 1 + (x[j] - 1) / 4;
        sum += square(w - 1) * (1 + 10 * square(sin(PI * w + 1)));
    }
    return sum + square(last - 1) * (1 + square(sin(2 * PI * last)));
}

static double rosenbrock(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < d; j++)
        sum += 100 * square(x[j + 1] - x[j] * x[j]) + square(1 - x[j]);
    return sum;
}

static double styblinski(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (square(x[j] * x[j]) - 16 * x[j] * x[j] + 5 * x[j]) / 2 + 39.16616570377142;
    return sum;
}

static double michalewicz(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum -= sin(x[j]) * pow(sin((double)(j + 1) * x[j] * x[j] / PI), 20);
    return sum;
}

static double griewank(const double *x, size_t d)
{
    double sum = 0, product = 1;
    for (size_t j = 0; j < d; j++) {
        sum += square(x[j] - 1.7) / 40;
        product *= cos((x[j] - 1.7) / sqrt((double)j + 1));
    }
    return sum - product + 1;
}

static double dixon_price(const double *x, size_t d)
{
    double sum = square(x[0] - 1);
    for (size_t j = 1; j < d; j++)
        sum += (double)(j + 1) * square(2 * x[j] * x[j] - x[j - 1]);
    return sum;
}

/* Curvatures from 1 to 30 along directions that no axis follows: (I - 2 v v') with v = (1, -1, 1, ..) / sqrt(d). */
static double rotated(const double *x, size_t d)
{
    double along = 0, sum = 0;
    for (size_t j = 0; j < d; j++)
        along += (j % 2 == 0 ? 1 : -1) * (x[j] - 0.37) / (double)d;
    for (size_t j = 0; j < d; j++) {
        double z = x[j] - 0.37 - 2 * along * (j % 2 == 0 ? 1 : -1);
        sum += pow(30, (double)j / (double)(d - 1)) * z * z;
    }
    return sum;
}

/* Kinks of slopes from 1 to 10 along such directions, and of the largest of them: no derivative where it is best. */
static double kinks(const double *x, size_t d)
{
    double along = 0, sum = 0, largest = 0;
    for (size_t j = 0; j < d; j++)
        along += (j % 2 == 0 ? 1 : -1) * (x[j] - 0.23) / (double)d;
    for (size_t j = 0; j < d; j++) {
        double z = fabs(x[j] - 0.23 - 2 * along * (j % 2 == 0 ? 1 : -1));
        sum += pow(10, (double)j / (double)(d - 1)) * z;
        largest = fmax(largest, z);
    }
    return sum + 20 * largest;
}

/* Each parameter is kinked with and waves against the next one. */
static double valleys(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++) {
        double a = x[j] - 0.31, b = x[(j + 1) % d] - 0.31;
        sum += fabs(a + 0.6 * b) + 0.3 * a * a + 0.5 * (1 - cos(3 * (a - b)));
    }
    return sum;
}

static double rastrigin(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += square(x[j] - 0.3) + 4 * (1 - cos(PI * (x[j] - 0.3)));
    return sum;
}

static double camel(const double *x, size_t d)
{
    double a = x[0] * x[0], b = x[1] * x[1];
    (void)d;
    return (4 - 2.1 * a + a * a / 3) * a + x[0] * x[1] + (4 * b - 4) * b;
}

/* log10 of a rate, layers, one of four methods of which two are close, momentum. */
static double mixed(const double *x, size_t d)
{
    static const double shift[4] = {0, 0.45, 0.05, 1.3}, rate[4] = {-2.4, -3.6, -2.9, -1.5};
    size_t              method = (size_t)x[2];
    (void)d;
    return square(log10(x[0]) - rate[method]) + 0.12 * square(x[1] - 5 - 2 * (double)(method % 2)) + shift[method] +
           2 * square(x[3] - 0.71) + 0.2 * (1 - cos(6 * (x[3] - 0.71)));
}

/* A narrow well in a wide field of values over many orders of magnitude. */
static double steep(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (1 + 0.5 * (double)j) * square(x[j] - 0.3 - 0.1 * (double)j);
    return expm1(9 * sqrt(sum + 1e-4)) - expm1(0.09);
}

struct function {
    const char *name;
    double (*value)(const double *x, size_t d);
    size_t              d;
    double              lower, upper, optimum;
    double              noise, noise_slope; /* sd of a measurement: noise + noise_slope |value - optimum| */
    const struct param *params;             /* instead of a box */
    uint64_t            trials[CHECKPOINTS];
    double              best_peer[CHECKPOINTS], third_peer[CHECKPOINTS];
};

static const struct param branin_params[] = {{.name = "x1", .kind = PARAM_DOUBLE, .min = -5, .max = 10},
                                             {.name = "x2", .kind = PARAM_DOUBLE, .min = 0, .max = 15}};
static const struct param camel_params[] = {{.name = "x1", .kind = PARAM_DOUBLE, .min = -3, .max = 3},
                                            {.name = "x2", .kind = PARAM_DOUBLE, .min = -2, .max = 2}};
static const struct param mixed_params[] = {
    {.name = "rate", .kind = PARAM_DOUBLE, .scale = SCALE_LOG, .min = 1e-6, .max = 0.1},
    {.name = "layers", .kind = PARAM_INT, .min = 1, .max = 12},
    {.name = "method", .kind = PARAM_CATEGORICAL, .max = 3, .choices = 4},
    {.name = "momentum", .kind = PARAM_DOUBLE, .min = 0, .max = 0.99},
};

static const struct function functions[] = {
    {"branin2",
     branin,
     2,
     0,
     0,
     0.39788735772973816,
     0,
     0,
     branin_params,
     {20, 40, 60},
     {0.021, 6.89e-5, 9.23e-7},
     {0.192, 2.85e-4, 4.98e-5}},
    {"hartmann3",
     hartmann,
     3,
     0,
     1,
     -3.8627797869493365,
     0,
     0,
     NULL,
     {20, 40, 60},
     {3.26e-4, 1.28e-5, 2.59e-8},
     {0.0144, 4.06e-5, 2.19e-5}},
    {"hartmann6",
     hartmann,
     6,
     0,
     1,
     -3.3223680114155147,
     0,
     0,
     NULL,
     {20, 40, 60, 100},
     {0.768, 0.0698, 1.24e-4, 9.6e-7},
     {1.02, 0.125, 0.00687, 2.69e-4}},
    {"ackley5",
     ackley,
     5,
     -5,
     10,
     0,
     0,
     0,
     NULL,
     {20, 40, 60, 100},
     {4.48, 2.16, 1.35, 0.723},
     {6.1, 2.82, 2.54, 1.77}},
    {"levy4", levy, 4, -10, 10, 0, 0, 0, NULL, {20, 40, 60}, {0.941, 0.849, 0.287}, {3.51, 1.08, 0.507}},
    {"rosenbrock4", rosenbrock, 4, -5, 10, 0, 0, 0, NULL, {20, 40, 60}, {134, 134, 134}, {719, 242, 158}},
    {"noisy_branin2",
     branin,
     2,
     0,
     0,
     0.39788735772973816,
     5.125,
     0,
     branin_params,
     {20, 40, 60},
     {0.645, 0.089, 0.0575},
     {0.81, 0.328, 0.125}},
    {"styblinski5", styblinski, 5, -5, 5, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"michalewicz4", michalewicz, 4, 0, 3.14159265358979324, -3.69885709846664, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"griewank4", griewank, 4, -10, 10, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"dixon_price5", dixon_price, 5, -10, 10, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"rotated6", rotated, 6, -1, 1, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"rastrigin3", rastrigin, 3, -4, 5, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"camel2", camel, 2, 0, 0, -1.0316284534898774, 0, 0, camel_params, {20, 40, 60}, {0}, {0}},
    {"mixed4", mixed, 4, 0, 0, 0, 0, 0, mixed_params, {20, 40, 60}, {0}, {0}},
    {"steep4", steep, 4, -1, 1, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"noisy_hartmann3", hartmann, 3, 0, 1, -3.8627797869493365, 0.4, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"noisy_rotated4", rotated, 4, -1, 1, 0, 0.2, 0.3, NULL, {20, 40, 60}, {0}, {0}},
    {"shifted_ackley5", ackley, 5, -5, 10, 0, 0, 0, NULL, {20, 40, 60, 100}, {0}, {0}},
    {"shifted_levy4", levy, 4, -10, 10, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"shifted_rosenbrock4", rosenbrock, 4, -5, 10, 0, 0, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"shifted_ackley20", ackley, 20, -5, 10, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
    {"shifted_levy25", levy, 25, -10, 10, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
    {"shifted_rosenbrock30", rosenbrock, 30, -5, 10, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
    {"shifted_rotated60", rotated, 60, -1, 1, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
    {"shifted_kinks24", kinks, 24, -1, 1, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
    {"shifted_valleys40", valleys, 40, -2, 3, 0, 0, 0, NULL, {100, 200, 500, 1000}, {0}, {0}},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], HIGH = 20, HIGH_SEEDS = 5 };

static void must(enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", status_name(status), err->text);
    exit(2);
}

/* One study: the regret at each checkpoint. */
static void run(const struct function *function, const struct policy *policy, uint64_t seed, double *regret)
{
    struct param           box[DIMS_MAX];
    double                 options[16], point[DIMS_MAX], shift[DIMS_MAX], moved[DIMS_MAX], best = INFINITY;
    bool                   is_shifted = strncmp(function->name, "shifted_", 8) == 0;
    static struct proposal proposal;
    struct session        *session = NULL;
    struct error           err = {0};
    struct rng             rng = rng_at(seed, 0, RNG_TEST);
    for (size_t j = 0; j < function->d; j++)
        shift[j] = is_shifted ? (2 * rng_uniform(&rng) - 1) * SHIFT * (function->upper - function->lower) : 0;
    for (size_t j = 0; j < function->d; j++)
        box[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = function->lower, .max = function->upper};
    for (int i = 0; policy->options[i].name != NULL; i++)
        options[i] = policy->options[i].fallback;
    struct space   space = {.kind = SPACE_PARAMETERS,
                            .params = function->params == NULL ? box : function->params,
                            .params_len = function->d};
    struct problem problem = {.space = &space, .options = options, .seed = seed, .memory_bytes = 256 << 20};
    proposal.point = point;
    must(space_init(&space, &err), &err);
    must(policy->open(&problem, &session, &err), &err);
    for (uint64_t trial = 1, at = 0; at < CHECKPOINTS && function->trials[at] > 0; trial++) {
        must(policy->ask(session, &(struct ask){.trial = trial}, &proposal, &err), &err);
        if (proposal.fallback != NULL)
            fprintf(stderr, "%s, trial %d: fallback %s\n", function->name, (int)trial, proposal.fallback);
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = trial,
                              .point = point,
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        must(policy->tell(session, &event, &err), &err);
        for (size_t j = 0; j < function->d; j++)
            moved[j] = point[j] - shift[j];
        double value = function->value(moved, function->d) - function->optimum;
        double sd = function->noise + function->noise_slope * value;
        event = (struct event){
            .kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = -value - sd * rng_normal(&rng)};
        must(policy->tell(session, &event, &err), &err);
        best = fmin(best, value);
        if (trial == function->trials[at])
            regret[at++] = fmax(best, 0);
    }
    policy->close(session);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of n sorted numbers, interpolated. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* Mann & Whitney 1947: the normal approximation with continuity correction of P(U >= u) under equal distributions,
 * U the number of pairs where a is smaller (ties: a half). */
static double mann_whitney(const double *a, const double *b, size_t n)
{
    double u = 0, pairs = (double)n * (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            u += a[i] < b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
    return 0.5 * erfc((u - 0.5 - pairs / 2) / sqrt(2 * pairs * (2 * (double)n + 1) / 12));
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
    qsort(regret, seeds, sizeof *regret, compare);
    printf("%s,%s,%zu,%d,%.3g,%.3g,%.3g", function->name, policy->name, seeds, (int)function->trials[at],
           quantile(regret, seeds, 0.5), quantile(regret, seeds, 0.25), quantile(regret, seeds, 0.75));
    print_peer(function->best_peer[at]);
    print_peer(function->third_peer[at]);
    if (random == NULL)
        printf(",\n");
    else
        printf(",%.1e\n", mann_whitney(regret, random, seeds));
}

/* regrets[at][seed] */
static void measure(const struct function *function, const struct policy *policy, size_t seeds, uint64_t first,
                    double (*regrets)[SEEDS_MAX])
{
    for (size_t s = 0; s < seeds; s++) {
        double regret[CHECKPOINTS];
        run(function, policy, first + s, regret);
        for (size_t at = 0; at < CHECKPOINTS && function->trials[at] > 0; at++)
            regrets[at][s] = regret[at];
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

int main(int argc, char **argv)
{
    size_t        wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, count;
    uint64_t      first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    char *const  *names = argc > 3 ? argv + 3 : argv + argc;
    static double random[CHECKPOINTS][SEEDS_MAX], regrets[CHECKPOINTS][SEEDS_MAX];
    if (wanted == 0 || wanted > SEEDS_MAX)
        return 64;
    mat_use_one_thread();
    const struct policy *const *list = policy_list(&count);
    printf("function,policy,seeds,checkpoint,median,q25,q75,best_peer,third_peer,p_random\n");
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++) {
        if (!is_wanted(f->name, is_function, true, names))
            continue;
        size_t seeds = argc > 1 || f->d < HIGH ? wanted : HIGH_SEEDS;
        measure(f, policy_find("random"), seeds, first, random);
        for (size_t i = 0; i < count; i++) {
            bool is_default = strcmp(list[i]->name, "gp") == 0 || (strcmp(list[i]->name, "turbo") == 0 && f->d >= HIGH);
            if (!is_wanted(list[i]->name, is_policy, is_default, names) || !(list[i]->spaces & SPACE_PARAMETERS))
                continue;
            measure(f, list[i], seeds, first, regrets);
            for (size_t at = 0; at < CHECKPOINTS && f->trials[at] > 0; at++)
                report(f, list[i], at, seeds, regrets[at], random[at]);
            fflush(stdout);
        }
    }
    return 0;
}
