/* Hidden constraints: the best value found when all that is seen of the feasible region is which trials are infeasible.
 *   infeasible [SEEDS [NAME]]
 * Median (worst seed) of the distance to the best feasible value after 50 and 150 trials, and how many seeds are stuck:
 * farther from it after 150 trials than random search is in the median.  gp is to be better than random search at both
 * times and never stuck. */
#include "tests/bench/trials.h"

enum { TIMES = 2 };
static const size_t times[TIMES] = {50, 150};
#define PI 3.14159265358979324

static double branin(const double *x)
{
    double u = 15.0 * x[0] - 5.0, v = 15.0 * x[1];
    double a = v - 5.1 / (4.0 * PI * PI) * u * u + 5.0 / PI * u - 6.0;
    return a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * cos(u) + 10.0;
}

static double square(double x)
{
    return x * x;
}

/* --- development --- */

/* Branin in a disc that has none of its minima. */
static bool disc(const double *x, double *f)
{
    f[0] = -branin(x);

    return square(x[0] - 0.5) + square(x[1] - 0.55) <= 0.11;
}

/* Three balls of different sizes, the best values in the smallest; d = 3. */
static bool islands(const double *x, double *f)
{
    static const double at[3][4] = {{0.25, 0.3, 0.35, 0.3}, {0.7, 0.75, 0.3, 0.25}, {0.6, 0.3, 0.8, 0.2}};
    bool                is_in = false;
    f[0] = -square(x[0] - 0.62) - 1.3 * square(x[1] - 0.25) - 0.8 * square(x[2] - 0.9);
    for (int i = 0; i < 3; i++)
        is_in |= square(x[0] - at[i][0]) + square(x[1] - at[i][1]) + square(x[2] - at[i][2]) <= square(at[i][3]);
    return is_in;
}

/* --- confirmation --- */

/* The optimum is in a corner between two walls; d = 4. */
static bool walls(const double *x, double *f)
{
    f[0] = x[0] + 0.8 * x[1] + 0.5 * sin(3.0 * x[2]) - square(x[3] - 0.4);
    return x[0] + 0.5 * x[2] <= 0.83 && x[1] - 0.3 * x[3] <= 0.51;
}

/* A checkerboard of feasible and infeasible squares under Branin. */
static bool board(const double *x, double *f)
{
    f[0] = -branin(x);
    return ((int)(3.999 * x[0]) + (int)(3.999 * x[1])) % 2 == 0;
}

/* 70% of the cube is infeasible; d = 3: beyond two slanted planes. */
static bool rare(const double *x, double *f)
{
    f[0] = -square(x[0] - 0.9) - square(x[1] - 0.2) - square(x[2] - 0.55) + 0.1 * cos(9.0 * x[0]);
    return x[0] + x[1] + 0.4 * x[2] <= 1.02 && x[2] - 0.8 * x[0] <= 0.35;
}

/* A ball around the unconstrained optimum; d = 3. */
static bool pocket(const double *x, double *f)
{
    double r = square(x[0] - 0.45) + square(x[1] - 0.6) + square(x[2] - 0.52);
    f[0] = exp(-4.0 * r) + 0.1 * x[0] - 0.05 * x[1];
    return r >= 0.04;
}

/* Between two parallel curves, a tenth of the square. */
static bool band(const double *x, double *f)
{
    double middle = 0.5 + 0.3 * sin(4.0 * x[0]);
    f[0] = -square(x[0] - 0.85) - 0.4 * square(x[1] - 0.9);
    return fabs(x[1] - middle) <= 0.05;
}

static const struct task tasks[] = {
    {"disc", 2, 1, 1, disc, NULL, 0.0, {0}},   {"islands", 3, 1, 1, islands, NULL, 0.0, {0}},
    {"walls", 4, 1, 1, walls, NULL, 0.0, {0}}, {"board", 2, 1, 1, board, NULL, 0.0, {0}},
    {"rare", 3, 1, 1, rare, NULL, 0.0, {0}},   {"pocket", 3, 1, 1, pocket, NULL, 0.0, {0}},
    {"band", 2, 1, 1, band, NULL, 0.0, {0}},
};

static double best_of(const struct run *run, size_t trials)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < run_count(run, trials); i++)
        best = fmax(best, run->values[i]);
    return best;
}

int main(int argc, char **argv)
{
    static struct run run;
    static double     best[2][TIMES][SEEDS_MAX];
    size_t            seeds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 3;
    const char       *only = argc > 2 ? argv[2] : "all";
    seeds = seeds < 1 ? 1 : seeds < SEEDS_MAX ? seeds : SEEDS_MAX;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++) {
        if (strcmp(only, "all") != 0 && strstr(only, tasks[k].name) == NULL)
            continue;
        double feasible = 0.0;
        for (int p = 0; p < 2; p++)
            for (size_t s = 0; s < seeds; s++) {
                task_run(&tasks[k], p == 0 ? "random" : "gp", 7 + s, times[TIMES - 1], &run);
                for (int t = 0; t < TIMES; t++)
                    best[p][t][s] = best_of(&run, times[t]);
                if (p == 0)
                    feasible += (double)run.len / (double)(times[TIMES - 1] * seeds);
            }
        double medians[2][TIMES];
        size_t stuck = 0;
        for (int p = 0; p < 2; p++)
            for (int t = 0; t < TIMES; t++)
                medians[p][t] = task_median(best[p][t], seeds);
        for (size_t s = 0; s < seeds; s++)
            stuck += best[1][TIMES - 1][s] < medians[0][TIMES - 1];
        printf("%-8s %2.0f%%", tasks[k].name, 100.0 * feasible);
        for (int t = 0; t < TIMES; t++)
            printf("  %3zu: random %9.4f  gp %9.4f (%.4f)", times[t], medians[0][t], medians[1][t], best[1][t][0]);
        printf("  stuck %zu  %.2f ms\n", stuck, 1e3 * run.seconds / 150.0);
        fflush(stdout);
    }
    return 0;
}
