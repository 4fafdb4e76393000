/* The stopping rule alone, on made-up learning curves, against an independent implementation's figures.
 *   stopping [CURVES [SETTINGS]]        only the first so many settings
 * Curves e(n) = e_end + (0.9 - e_end) exp(-r n) + N(0, 0.005^2), e_end ~ U(0.02, 0.6), r log-uniform on (0.05, 0.5);
 * 50 epochs, the rule is solved after 8, by 10,000 paths, for incumbents 0.1, 0.2 and 0.3; delta is the true e(50)
 * minus the incumbent.  Lines: setting, figure, measured, reference, standard error of the difference, ok or not.
 * At the end the time of one problem of 100,000 paths, of a decision, and the same bits twice.
 * Exit code 1 when a figure is off by more than three standard errors, when more than one in twelve is off by more
 * than two, or when something is over its limit. */
#include "engine/base/numbers.h"
#include "engine/stopping/stopping.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 50, WARM_UP = 8, INCUMBENTS = 3, REFERENCE_CURVES = 200, TIMED = 15 };
enum { CLEARLY_WORSE, WORSE, TIE, BETTER, CLASSES };
static const double SOLVE_MS_MAX = 150, DECIDE_US_MAX = 1000;
static const double incumbents[INCUMBENTS] = {0.1, 0.2, 0.3};

/* The reference's results: per class at incumbent 0.2 how many of its curves it stopped and the mean epoch (50 when it did
 * not); the share of epochs saved and of curves below the incumbent that were stopped, by incumbent; the prediction of
 * e(50): mean error, root of the mean squared one, mean standard deviation. */
static const int    class_curves[CLASSES] = {96, 30, 16, 58};
static const double below_curves[INCUMBENTS] = {28, 66, 102};
static const struct setting {
    const char *name;
    double      alpha_max, alpha, beta, noise, offset, k1;
    double      stopped[CLASSES], epoch[CLASSES], saved[INCUMBENTS], false_stops[INCUMBENTS], bias, rmse, sd;
} settings[] = {
    {"recommended",
     2,
     NAN,
     NAN,
     1e-4,
     0,
     100,
     {1, .767, 0, 0},
     {12.3, 37.7, 50, 50},
     {.580, .399, .277},
     {0, 0, 0},
     -.128,
     .143,
     .088},
    {"recommended K1=279",
     2,
     NAN,
     NAN,
     1e-4,
     0,
     279,
     {1, .633, 0, 0},
     {14.9, 42.0, 50, 50},
     {.53, .361, .23},
     {0, 0, 0},
     -.128,
     .143,
     .088},
    {"authors",
     50,
     NAN,
     NAN,
     1e-3,
     0,
     100,
     {.469, .300, 0, 0},
     {33.1, 46.0, 50, 50},
     {.365, .175, .102},
     {0, 0, 0},
     -.211,
     .243,
     .034},
    {"s2=1e-4",
     50,
     NAN,
     NAN,
     1e-4,
     0,
     100,
     {.812, .400, 0, 0},
     {18.9, 42.2, 50, 50},
     {.491, .322, .209},
     {0, 0, 0},
     -.148,
     .169,
     .051},
    {"alpha<=2 s2=1e-3",
     2,
     NAN,
     NAN,
     1e-3,
     0,
     100,
     {1, .633, 0, 0},
     {16.1, 43.5, 50, 50},
     {.562, .345, .203},
     {.071, 0, 0},
     -.169,
     .196,
     .093},
    {"alpha<=1",
     1,
     NAN,
     NAN,
     1e-4,
     0,
     100,
     {1, .833, .125, 0},
     {11.7, 34.5, 49.2, 50},
     {.584, .416, .284},
     {0, 0, 0},
     -.120,
     .133,
     .106},
    {"alpha=beta=1 s2=1e-3",
     2,
     1,
     1,
     1e-3,
     0,
     100,
     {1, .600, 0, 0},
     {16.2, 39.0, 50, 50},
     {.602, .357, .122},
     {.143, 0, 0},
     -.168,
     .205,
     .062},
    {"offset 0.1",
     50,
     NAN,
     NAN,
     1e-4,
     0.1,
     100,
     {1, .967, .312, 0},
     {10.4, 19.9, 43.1, 50},
     {.672, .482, .311},
     {.036, .015, 0},
     -.088,
     .125,
     .072},
};

struct curve {
    double errors[EPOCHS], end; /* end: without noise */
};

struct outcome {
    double curves[CLASSES], stopped[CLASSES], epochs[CLASSES], squares[CLASSES]; /* at incumbent 0.2 */
    double saved[INCUMBENTS], saved_squares[INCUMBENTS], below[INCUMBENTS], false_stops[INCUMBENTS];
    double bias, mse, sd;
    double n;
};

static struct curve make_curve(size_t number)
{
    struct rng   rng = rng_at(2385, number, RNG_TEST);
    struct curve curve;
    double       end = 0.02 + 0.58 * rng_uniform(&rng), rate = 0.05 * pow(10.0, rng_uniform(&rng));
    for (size_t n = 1; n <= EPOCHS; n++)
        curve.errors[n - 1] = end + (0.9 - end) * exp(-rate * (double)n) + 0.005 * rng_normal(&rng);
    curve.end = end + (0.9 - end) * exp(-rate * EPOCHS);
    return curve;
}

static struct stopping make_problem(const struct setting *setting, const struct curve *curve, const double *epochs)
{
    struct stopping problem = stopping_recommended();
    problem.alpha_max = setting->alpha_max;
    problem.alpha = setting->alpha;
    problem.beta = setting->beta;
    problem.noise_variance = setting->noise;
    problem.offset_variance = setting->offset;
    problem.k1 = setting->k1;
    problem.paths = 10000;
    problem.last = EPOCHS;
    problem.seen = WARM_UP;
    problem.epochs = epochs;
    problem.errors = curve->errors;
    return problem;
}

/* The epoch after which the rule stops; EPOCHS: it does not. */
static size_t follow(const struct stopping_rule *rule, const struct curve *curve)
{
    double sum = 0.0;
    for (size_t n = rule->first; n < EPOCHS; n++) {
        sum += curve->errors[n - 1];
        if (stopping_decide(rule, n, sum / (double)(n - rule->first + 1)) == STOPPING_WORSE)
            return n;
    }
    return EPOCHS;
}

static void count(struct outcome *outcome, size_t incumbent, const struct curve *curve, size_t stopped)
{
    double delta = curve->end - incumbents[incumbent], saved = 1.0 - (double)stopped / EPOCHS;
    bool   is_stopped = stopped < EPOCHS;
    outcome->saved[incumbent] += saved;
    outcome->saved_squares[incumbent] += saved * saved;
    outcome->below[incumbent] += delta < 0;
    outcome->false_stops[incumbent] += delta < 0 && is_stopped;
    if (incumbent != 1)
        return;
    int class = delta > 0.1 ? CLEARLY_WORSE : delta > 0.02 ? WORSE : delta >= -0.02 ? TIE : BETTER;
    outcome->curves[class]++;
    outcome->stopped[class] += is_stopped;
    outcome->epochs[class] += (double)stopped;
    outcome->squares[class] += (double)(stopped * stopped);
}

static struct outcome run(const struct setting *setting, size_t curves)
{
    struct outcome outcome = {.n = (double)curves};
    double         epochs[EPOCHS];
    struct arena   arena;
    struct error   err;
    for (size_t n = 0; n < EPOCHS; n++)
        epochs[n] = (double)n + 1.0;
    arena_init(&arena, 64u << 20);
    for (size_t i = 0; i < curves; i++) {
        struct curve    curve = make_curve(i);
        struct stopping problem = make_problem(setting, &curve, epochs);
        for (size_t k = 0; k < INCUMBENTS; k++) {
            struct stopping_rule rule;
            struct arena_mark    mark = arena_mark(&arena);
            problem.incumbent = incumbents[k];
            problem.rng = rng_at(77, i, RNG_PATHS);
            must(stopping_solve(&problem, &arena, &arena, &rule, &err), &err);
            count(&outcome, k, &curve, follow(&rule, &curve));
            if (k == 1) {
                outcome.bias += rule.mean - curve.end;
                outcome.mse += (rule.mean - curve.end) * (rule.mean - curve.end);
                outcome.sd += rule.sd;
            }
            arena_release(&arena, mark);
        }
    }
    arena_fini(&arena);
    return outcome;
}

/* --- comparison --- */

struct tally {
    int figures, off, far;
};

static void print(struct tally *tally, const char *setting, const char *figure, double measured, double reference,
                  double se)
{
    double off = fabs(measured - reference);
    tally->figures++;
    tally->off += off > 2 * se;
    tally->far += off > 3 * se;
    printf("%s,%s,%.4f,%.4f,%.4f,%s\n", setting, figure, measured, reference, se, off > 2 * se ? "NOT" : "ok");
}

/* Standard error of the difference of two shares, none of which is taken to be certain. */
static double share_se(double a, double n, double b, double m)
{
    double p = (a * n + b * m + 1) / (n + m + 2);
    return sqrt(p * (1 - p) * (1 / n + 1 / m));
}

/* Standard error of the difference of two means of n and m values, with sum and sum of squares of the n; rounding is of the
 * printed reference. */
static double mean_se(double sum, double squares, double n, double m, double rounding)
{
    double mean = sum / n, var = fmax(squares / n - mean * mean, 0);
    return sqrt(var * (1 / n + 1 / m)) + rounding;
}

/* Standard error of a mean epoch, by the reference's spread: a share of its curves stopped at one epoch, the others ran. */
static double reference_se(const struct setting *setting, int class, double n)
{
    double p = setting->stopped[class], saved = EPOCHS - setting->epoch[class];
    return p > 0 ? saved / p * sqrt(p * (1 - p) * (1 / n + 1.0 / class_curves[class])) : 0;
}

static void compare(struct tally *tally, const struct setting *setting, const struct outcome *out)
{
    static const char *const classes[CLASSES] = {"clearly worse", "worse", "tie", "better"};
    char                     text[80];
    for (int c = 0; c < CLASSES; c++) {
        double n = out->curves[c], m = class_curves[c], share = out->stopped[c] / n;
        snprintf(text, sizeof text, "stopped of %s", classes[c]);
        print(tally, setting->name, text, share, setting->stopped[c], share_se(share, n, setting->stopped[c], m));
        snprintf(text, sizeof text, "epochs of %s", classes[c]);
        print(tally, setting->name, text, out->epochs[c] / n, setting->epoch[c],
              fmax(mean_se(out->epochs[c], out->squares[c], n, m, 0.05), reference_se(setting, c, n)));
    }
    for (int k = 0; k < INCUMBENTS; k++) {
        double share = out->false_stops[k] / out->below[k];
        snprintf(text, sizeof text, "epochs saved at %.1f", incumbents[k]);
        print(tally, setting->name, text, out->saved[k] / out->n, setting->saved[k],
              mean_se(out->saved[k], out->saved_squares[k], out->n, REFERENCE_CURVES, 0.002));
        snprintf(text, sizeof text, "false stops at %.1f", incumbents[k]);
        print(tally, setting->name, text, share, setting->false_stops[k],
              share_se(share, out->below[k], setting->false_stops[k], below_curves[k]));
    }
    double bias = out->bias / out->n, rmse = sqrt(out->mse / out->n);
    double spread = sqrt(out->mse / out->n - bias * bias) * sqrt(1 / out->n + 1.0 / REFERENCE_CURVES);
    print(tally, setting->name, "prediction bias", bias, setting->bias, spread);
    print(tally, setting->name, "prediction rmse", rmse, setting->rmse, spread);
    print(tally, setting->name, "prediction sd", out->sd / out->n, setting->sd, fmax(spread, 0.003));
}

/* Conditions that hold whatever the sample, for the recommended setting. */
static bool holds(const struct outcome *out)
{
    double clearly = out->stopped[CLEARLY_WORSE] / out->curves[CLEARLY_WORSE], saved = out->saved[1] / out->n;
    double epoch = out->epochs[CLEARLY_WORSE] / out->curves[CLEARLY_WORSE];
    bool   ok = clearly >= 0.95 && epoch < 20 && out->stopped[BETTER] == 0 && saved >= 0.35;
    printf("recommended,clearly worse stopped at least 0.95 and before epoch 20; better never; saved 0.35,%.3f,,,%s\n",
           clearly, ok ? "ok" : "NOT");
    return ok;
}

/* --- time --- */

static bool is_fast(void)
{
    double               epochs[EPOCHS], times[TIMED], mean = 0.4;
    struct curve         curve = make_curve(3);
    struct stopping      problem = make_problem(&settings[0], &curve, epochs);
    struct stopping_rule rule, again;
    struct arena         arena;
    struct error         err;
    for (size_t n = 0; n < EPOCHS; n++)
        epochs[n] = (double)n + 1.0;
    problem.paths = 100000;
    problem.incumbent = 0.2;
    problem.rng = rng_at(77, 3, RNG_PATHS);
    arena_init(&arena, 64u << 20);
    must(stopping_solve(&problem, &arena, &arena, &again, &err), &err);
    for (size_t i = 0; i < TIMED; i++) {
        double began = cpu_ms();
        must(stopping_solve(&problem, &arena, &arena, &rule, &err), &err);
        times[i] = cpu_ms() - began;
    }
    bool   is_same = memcmp(rule.decisions, again.decisions, (rule.last - rule.first) * STOPPING_CELLS) == 0;
    double began = cpu_ms();
    for (size_t i = 0; i < 1000000; i++)
        mean += 1e-9 * (double)stopping_decide(&rule, 9 + i % 41, mean);
    double decide_us = (cpu_ms() - began) / 1e3;
    arena_fini(&arena);
    qsort(times, TIMED, sizeof *times, numbers_order);
    printf("100000 paths of 50 epochs,ms,%.1f,%.0f,,%s\n", times[TIMED / 2], SOLVE_MS_MAX,
           times[TIMED / 2] < SOLVE_MS_MAX ? "ok" : "NOT");
    printf("a decision,us,%.4f,%.0f,,%s\n", decide_us, DECIDE_US_MAX, decide_us < DECIDE_US_MAX ? "ok" : "NOT");
    printf("the same problem twice,same bits,%d,1,,%s\n", is_same, is_same ? "ok" : "NOT");
    return times[TIMED / 2] < SOLVE_MS_MAX && decide_us < DECIDE_US_MAX && is_same;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    size_t       curves = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 300;
    bool         ok = true;
    size_t       settings_len = sizeof settings / sizeof *settings;
    if (argc > 2 && strtoul(argv[2], NULL, 10) < settings_len)
        settings_len = strtoul(argv[2], NULL, 10);
    if (curves < 50 || settings_len == 0)
        return 2;
    puts("setting,figure,measured,reference,se,verdict");
    for (size_t i = 0; i < settings_len; i++) {
        struct outcome out = run(&settings[i], curves);
        compare(&tally, &settings[i], &out);
        if (i == 0)
            ok = holds(&out);
    }
    ok = is_fast() && ok;
    printf("all,figures off by more than two and three standard errors of %d,%d,%d,,%s\n", tally.figures, tally.off,
           tally.far, tally.far == 0 && tally.off * 12 <= tally.figures ? "ok" : "NOT");
    return ok && tally.far == 0 && tally.off * 12 <= tally.figures ? 0 : 1;
}
