/* Several objectives with thresholds, on problems of engineers: how much of the largest hypervolume known lies beyond the
 * front after 20, 40 and 60 trials, in percent, median (quartiles) over seeds; the trial that is the first to attain all
 * thresholds, and milliseconds of processor time a suggestion.
 *   engineering [SEEDS [FIRST_SEED [NAME]]]     NAME: some of the problems
 * brake, beam, vehicle, car: Tanabe & Ishibuchi 2020 (beam as Deb & Sundar 2006); brake and beam have four constraints.
 * penicillin: Liang & Lai 2021, after Birol, Undey & Cinar 2002.  The thresholds are the reference points that BoTorch has
 * for these problems.  Of vehicle and car the largest hypervolume is that of BoTorch, too, of a front published with them;
 * of brake and beam the best of 3,000,000, of penicillin of 1,500,000 evaluations by an evolutionary search of ours.
 * Beside gp with the thresholds: gp that is not told them, and random search.  Nothing was chosen on these problems.
 * The exit code is 1 when the thresholds do not help on most of them. */
#include "engine/math/mat.h"
#include "tests/bench/trials.h"

#define IN(low, high)                                                  \
    {                                                                  \
        .name = "x", .kind = PARAM_DOUBLE, .min = (low), .max = (high) \
    }

enum { TIMES = 3 };
static const size_t times[TIMES] = {20, 40, 60};

/* Mass and stopping time of a disc brake: inner and outer radius, force, surfaces. */
static const struct param brake_params[] = {IN(55, 80), IN(75, 110), IN(1000, 3000), IN(11, 20)};

static bool brake(const double *x, double *f)
{
    double squares = x[1] * x[1] - x[0] * x[0], cubes = x[1] * x[1] * x[1] - x[0] * x[0] * x[0];
    f[0] = -4.9e-5 * squares * (x[3] - 1.0);
    f[1] = -9.82e6 * squares / (x[2] * x[3] * cubes);
    f[2] = x[1] - x[0] - 20.0;
    f[3] = 0.4 - x[2] / (3.14 * squares);
    f[4] = 1.0 - 2.22e-3 * x[2] * cubes / (squares * squares);
    f[5] = 2.66e-2 * x[2] * x[3] * cubes / squares - 900.0;
    return true;
}

/* Cost and deflection of a welded beam: weld, length, height, thickness.  Shear, bending, fit, buckling. */
static const struct param beam_params[] = {IN(0.125, 5), IN(0.1, 10), IN(0.1, 10), IN(0.125, 5)};

static bool beam(const double *x, double *f)
{
    const double load = 6000.0, length = 14.0;
    double       reach = sqrt(0.25 * (x[1] * x[1] + (x[0] + x[2]) * (x[0] + x[2])));
    double       inertia = sqrt(2.0) * x[0] * x[1] * (x[1] * x[1] / 12.0 + 0.25 * (x[0] + x[2]) * (x[0] + x[2]));
    double       direct = load / (sqrt(2.0) * x[0] * x[1]), torsion = load * (length + 0.5 * x[1]) * reach / inertia;
    double       shear = sqrt(direct * direct + torsion * torsion + direct * torsion * x[1] / reach);
    f[0] = -(1.10471 * x[0] * x[0] * x[1] + 0.04811 * x[2] * x[3] * (length + x[1]));
    f[1] = -2.1952 / (x[3] * x[2] * x[2] * x[2]);
    f[2] = 1.0 - shear / 13600.0;
    f[3] = 1.0 - 6.0 * load * length / (x[3] * x[2] * x[2]) / 30000.0;
    f[4] = (x[3] - x[0]) / 4.875;
    f[5] = 64746.022 * (1.0 - 0.0282346 * x[2]) * x[2] * x[3] * x[3] * x[3] / load - 1.0;
    return true;
}

/* Mass, acceleration and intrusion of a car that crashes: five thicknesses. */
static const struct param vehicle_params[] = {IN(1, 3), IN(1, 3), IN(1, 3), IN(1, 3), IN(1, 3)};

static bool vehicle(const double *x, double *f)
{
    double a = x[0], b = x[1], c = x[2], d = x[3], e = x[4];
    f[0] = -(1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e);
    f[1] = -(6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e +
             0.3628 * b * d - 0.1106 * a * a - 0.3437 * c * c + 0.1764 * d * d);
    f[2] = -(-0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d -
             0.0204 * c * d - 0.008 * c * e - 0.0241 * b * b + 0.0109 * d * d);
    return true;
}

/* Weight, force on the abdomen, velocities and what ten limits are exceeded by, of a car that is hit from the side. */
static const struct param car_params[] = {IN(0.5, 1.5),     IN(0.45, 1.35), IN(0.5, 1.5), IN(0.5, 1.5),
                                          IN(0.875, 2.625), IN(0.4, 1.2),   IN(0.4, 1.2)};

static bool car(const double *x, double *f)
{
    double a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], g = x[5], h = x[6];
    double force = 4.72 - 0.5 * d - 0.19 * b * c, pillar = 10.58 - 0.674 * a * b - 0.67275 * b;
    double door = 16.45 - 0.489 * c * h - 0.843 * e * g;
    double slack[] = {
        -0.16 + 0.3717 * b * d + 0.0092928 * c,
        0.059 + 0.0159 * a * b + 0.06486 * a + 0.019 * b * h - 0.0144 * c * e - 0.0154464 * g,
        0.106 - 0.00817 * e + 0.0587118 * a - 0.03099 * b * g + 0.018 * b * h - 0.030408 * c + 0.00364 * e * g +
            0.018 * b * b,
        -0.42 + 0.61 * b + 0.031296 * c + 0.031872 * h - 0.227 * b * b,
        3.02 - 3.818 * c + 4.2 * a * b - 1.27296 * g + 2.68065 * h,
        -3.31728 - 2.95 * c + 5.057 * a * b + 3.795 * b + 3.4431 * h,
        -14.36 + 9.9 * b + 4.4505 * a,
        4.0 - force,
        9.9 - pillar,
        15.7 - door,
    };
    f[0] = -(1.98 + 4.9 * a + 6.67 * b + 6.98 * c + 4.01 * d + 1.78 * e + 1e-5 * g + 2.73 * h);
    f[1] = -force;
    f[2] = -0.5 * (pillar + door);
    f[3] = 0.0;
    for (size_t i = 0; i < sizeof slack / sizeof slack[0]; i++)
        f[3] += fmin(slack[i], 0.0);
    return true;
}

/* Yield, carbon dioxide and hours of a fermentation: volume, biomass, temperature, glucose, feed, its concentration, pH.
 * Euler's steps of an hour. */
static const struct param penicillin_params[] = {IN(60, 120),   IN(0.05, 18), IN(293, 303), IN(0.05, 18),
                                                 IN(0.01, 0.5), IN(500, 700), IN(5, 6.5)};

static bool penicillin(const double *x, double *f)
{
    double v = x[0], biomass = x[1], glucose = x[3], yield = 0.0, gas = 0.0, acid = pow(10.0, -x[6]), grown = 1.0;
    double evaporated = 2.5e-4 * (exp(0.05 * (373.0 - x[2])) - 1.0);
    double heat = 7e3 * exp(-5100.0 / (1.9872 * x[2])) - 1e33 * exp(-50000.0 / (1.9872 * x[2]));
    double rate = 0.092 / (1.0 + 1e-10 / acid + acid / 7e-5) * heat;
    int    hours = 0;
    while (hours < 2500 && v <= 180.0 && glucose >= 0.0 && grown >= 1e-11) {
        double dv = x[4] - v * evaporated, mu = rate * glucose / (0.15 * biomass + glucose);
        double product = 0.005 * glucose / (0.0002 + glucose + glucose * glucose / 0.1);
        double dbiomass = mu * biomass - biomass / v * dv;
        double dglucose = -(mu / 0.45 + product / 0.9 + 0.014) * biomass + x[4] * x[5] / v - glucose / v * dv;
        grown = product * biomass - 0.04 * yield - yield / v * dv;
        gas += 0.143 * dbiomass + 4e-7 * biomass + 1e-4;
        yield += grown;
        v += dv;
        biomass += dbiomass;
        glucose += dglucose;
        hours++;
    }
    f[0] = yield;
    f[1] = -gas;
    f[2] = -hours;
    return true;
}

static const struct task tasks[] = {
    {"brake", 4, 6, 2, brake, brake_params, 11.22219574, {-5.7771, -3.9651}, false},
    {"beam", 4, 6, 2, beam, beam_params, 0.5129402106, {-40.0, -0.015}, false},
    {"vehicle",
     5,
     3,
     3,
     vehicle,
     vehicle_params,
     246.81607081187002,
     {-1864.72022, -11.81993945, -0.2903999384},
     false},
    {"car", 7, 4, 4, car, car_params, 484.72654347642793, {-45.4872, -4.5114, -13.3394, -10.3942}, false},
    {"penicillin", 7, 3, 3, penicillin, penicillin_params, 705398.0898, {-1.85, -86.93, -514.7}, false},
};

struct measures {
    double missing[TIMES][SEEDS_MAX], attained[SEEDS_MAX], ms;
};

/* The first trial whose values all lie above the thresholds; one more than there are: none does. */
static double first_to_attain(const struct task *task, const struct run *run, size_t trials)
{
    for (size_t i = 0; i < run->len; i++) {
        bool does = true;
        for (size_t k = 0; k < task->objectives; k++)
            does = does && run->values[i * task->objectives + k] >= task->reference[k];
        if (does)
            return (double)run->trial[i];
    }
    return (double)trials + 1.0;
}

static void measure(struct measures *out, const struct task *task, const struct run *run, size_t s)
{
    for (size_t t = 0; t < TIMES; t++)
        out->missing[t][s] = 100.0 - 100.0 * task_volume(task, run->values, run_count(run, times[t])) / task->limit;
    out->attained[s] = first_to_attain(task, run, times[TIMES - 1]);
    out->ms += 1e3 * run->seconds / (double)times[TIMES - 1];
}

static void print(const char *problem, const char *name, struct measures *all, size_t seeds)
{
    printf("%-10s %-15s", problem, name);
    for (size_t t = 0; t < TIMES; t++) {
        double median = task_median(all->missing[t], seeds);
        printf("  %6.2f (%.2f .. %.2f)", median, all->missing[t][seeds / 4], all->missing[t][3 * seeds / 4]);
    }
    printf("  %3.0f  %6.1f ms\n", task_median(all->attained, seeds), all->ms / (double)seeds);
    fflush(stdout);
}

/* Whether gp that is told the thresholds misses less at the end than gp that is not, in most seeds. */
static bool compare(const struct task *task, uint64_t first_seed, size_t seeds)
{
    static struct run run;
    static const struct {
        const char *name, *policy;
        bool        has_thresholds;
    } rows[] = {{"random", "random", false}, {"gp", "gp", false}, {"gp, thresholds", "gp", true}};
    double without[SEEDS_MAX], ratio = 0.0;
    size_t won = 0;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct measures measures = {.ms = 0.0};
        struct task     own = *task;
        own.has_thresholds = rows[r].has_thresholds;
        for (size_t s = 0; s < seeds; s++) {
            task_run(&own, rows[r].policy, first_seed + s, times[TIMES - 1], &run);
            measure(&measures, task, &run, s);
            double missing = measures.missing[TIMES - 1][s];
            if (own.has_thresholds) {
                won += missing < without[s];
                ratio += log(missing / without[s]) / (double)seeds;
            }
            without[s] = missing;
        }
        print(task->name, rows[r].name, &measures, seeds);
    }
    printf("%-10s with thresholds %.2f times what is missing without (geometric mean), less in %zu of %zu seeds\n",
           task->name, exp(ratio), won, seeds);
    return 2 * won > seeds;
}

int main(int argc, char **argv)
{
    mat_use_one_thread();
    size_t      seeds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 3, compared = 0, helped = 0;
    uint64_t    first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 9001;
    const char *only = argc > 3 ? argv[3] : NULL;
    seeds = seeds < 1 ? 1 : seeds < SEEDS_MAX ? seeds : SEEDS_MAX;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++)
        if (only == NULL || strstr(only, tasks[k].name) != NULL) {
            helped += compare(&tasks[k], first_seed, seeds);
            compared++;
        }
    return 2 * helped > compared ? 0 : 1;
}
