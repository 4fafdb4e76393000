/* Functions that searches are tried on, and a study of one: what tests/bench/efficiency.c and tests/bench/batch.c run on.
 * A noisy function is judged by its true value at the points visited.  A shifted one has its optimum elsewhere with each
 * seed: most formulas have theirs near the middle of the usual box. */
#ifndef GNOMON_TESTS_BENCH_FUNCTIONS_H
#define GNOMON_TESTS_BENCH_FUNCTIONS_H

#include "engine/base/numbers.h"
#include "engine/policy/session.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS_MAX = 60, CHECKPOINTS = 4 };

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
    {"noisy_camel2", camel, 2, 0, 0, -1.0316284534898774, 1, 0, camel_params, {20, 40, 60}, {0}, {0}},
    {"noisy_levy4", levy, 4, -10, 10, 0, 4, 0, NULL, {20, 40, 60}, {0}, {0}},
    {"noisy_styblinski5", styblinski, 5, -5, 5, 0, 10, 0, NULL, {20, 40, 60}, {0}, {0}},
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
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Functions for choices in development; reported figures are of the other functions, on other seeds. */
static inline bool function_is_development(const struct function *f)
{
    return f->best_peer[0] == 0 && f->d < 20 && strncmp(f->name, "shifted_", 8) != 0;
}

struct study {
    const struct function *function;
    const struct policy   *policy;
    struct session        *session;
    struct space           space;
    struct problem         problem;
    struct param           box[DIMS_MAX];
    double                 options[16], shift[DIMS_MAX];
    struct rng             rng; /* of the noise */
};

/* Places the study's function: its shift, and its noise. */
static inline void study_place(struct study *study, const struct function *function, uint64_t seed)
{
    bool   is_shifted = strncmp(function->name, "shifted_", 8) == 0;
    double share = is_shifted ? SHIFT * (function->upper - function->lower) : 0;
    *study = (struct study){.function = function, .rng = rng_at(seed, 0, RNG_TEST)};
    for (size_t j = 0; j < function->d; j++)
        study->shift[j] = is_shifted ? (2 * rng_uniform(&study->rng) - 1) * share : 0;
}

/* choice: a value of the option of this name instead of the default; NULL: none. */
static inline void study_open(struct study *study, const struct function *function, const struct policy *policy,
                              uint64_t seed, const char *name, double choice)
{
    struct error err = {0};
    study_place(study, function, seed);
    study->policy = policy;
    for (size_t j = 0; j < function->d; j++)
        study->box[j] =
            (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = function->lower, .max = function->upper};
    for (int i = 0; policy->options[i].name != NULL; i++)
        study->options[i] =
            name != NULL && strcmp(policy->options[i].name, name) == 0 ? choice : policy->options[i].fallback;
    study->space = (struct space){.kind = SPACE_PARAMETERS,
                                  .params = function->params == NULL ? study->box : function->params,
                                  .params_len = function->d};
    study->problem =
        (struct problem){.space = &study->space, .options = study->options, .seed = seed, .memory_bytes = 256 << 20};
    must(space_init(&study->space, &err), &err);
    must(session_open(policy, &study->problem, &study->session, &err), &err);
}

static inline void study_close(struct study *study)
{
    session_close(study->session);
}

/* point [d] out, which the study knows to be pending from now on.  fixed: of struct ask. */
static inline void study_ask_with(struct study *study, uint64_t trial, const double *fixed, double *point)
{
    static struct proposal proposal;
    struct error           err = {0};
    proposal.point = point;
    must(study->policy->ask(study->session, &(struct ask){.trial = trial, .fixed = fixed}, &proposal, &err), &err);
    if (proposal.fallback != NULL)
        fprintf(stderr, "%s, trial %d: fallback %s\n", study->function->name, (int)trial, proposal.fallback);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = trial,
                          .point = point,
                          .note = proposal.note,
                          .note_bytes = proposal.note_bytes};
    must(study->policy->tell(study->session, &event, &err), &err);
}

/* A measurement of what the function has over its optimum; *regret: without the noise. */
static inline double study_measure(struct study *study, const double *point, double *regret)
{
    double moved[DIMS_MAX];
    for (size_t j = 0; j < study->function->d; j++)
        moved[j] = point[j] - study->shift[j];
    *regret = study->function->value(moved, study->function->d) - study->function->optimum;
    return *regret + (study->function->noise + study->function->noise_slope * *regret) * rng_normal(&study->rng);
}

static inline void study_ask(struct study *study, uint64_t trial, double *point)
{
    study_ask_with(study, trial, NULL, point);
}

static inline void study_tell(struct study *study, uint64_t trial, const double *point, double value)
{
    struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = -value};
    struct error err = {0};
    must(study->policy->tell(study->session, &event, &err), &err);
}

/* [SEEDS [FIRST_SEED [NAME ...]]] of a command line: 20 seeds if it does not say.  false: not so many. */
struct function_seeds {
    size_t       seeds;
    uint64_t     first;
    char *const *names; /* NULL at the end */
};
static inline bool function_seeds_read(int argc, char **argv, size_t seeds_max, struct function_seeds *out)
{
    out->seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
    out->first = argc > 2 ? strtoul(argv[2], NULL, 10) : out->first;
    out->names = argc > 3 ? argv + 3 : argv + argc;
    return out->seeds > 0 && out->seeds <= seeds_max;
}

/* Mann & Whitney 1947: the normal approximation with continuity correction of P(U >= u) under equal distributions,
 * U the number of pairs where a is smaller (ties: a half). */
static inline double mann_whitney(const double *a, const double *b, size_t n)
{
    double u = 0, pairs = (double)n * (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            u += a[i] < b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
    return 0.5 * erfc((u - 0.5 - pairs / 2) / sqrt(2 * pairs * (2 * (double)n + 1) / 12));
}

/* A quantile of n sorted numbers, interpolated. */
static inline double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

#endif
