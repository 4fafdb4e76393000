/* Hidden constraints: the best value found when all that is seen of the feasible region is which trials are infeasible.
 *   infeasible [SEEDS [NAME]]
 *   infeasible each SEEDS FIRST_SEED      the best value of each study of gp instead, for tests/bench/decide
 * A line: how much of the space is feasible, the median over seeds (worst seed) of the best value after 50 and 150
 * trials, how many seeds of gp end below the median of random search, milliseconds a suggestion of gp.
 * disc and islands are what the algorithm was developed on, the others were looked at afterwards.  The exit code is 1
 * when the median of gp is below that of random search somewhere. */
#include "engine/math/mat.h"
#include "tests/bench/trials.h"

enum { TIMES = 2 };
static const size_t times[TIMES] = {50, 150};

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

#define TASK(NAME, D)                                                            \
    {                                                                            \
        .name = #NAME, .d = (D), .metrics = 1, .objectives = 1, .function = NAME \
    }
static const struct task tasks[] = {
    TASK(disc, 2), TASK(islands, 3), TASK(walls, 4), TASK(board, 2), TASK(rare, 3), TASK(pocket, 3), TASK(band, 2),
};

static double best_of(const struct run *run, size_t trials)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < run_count(run, trials); i++)
        best = fmax(best, run->values[i]);
    return best;
}

/* best [2][TIMES][seeds]: of random, of gp; how many seeds gp ends below the median of random. */
struct result {
    double best[2][TIMES][SEEDS_MAX], median[2][TIMES], feasible, ms;
    size_t stuck;
};

static void measure(const struct task *task, size_t seeds, struct result *result)
{
    static struct run run;
    for (int p = 0; p < 2; p++)
        for (size_t s = 0; s < seeds; s++) {
            task_run(task, p == 0 ? "random" : "gp", 7 + s, times[TIMES - 1], &run);
            for (int t = 0; t < TIMES; t++)
                result->best[p][t][s] = best_of(&run, times[t]);
            result->feasible += p == 0 ? (double)run.len / (double)(times[TIMES - 1] * seeds) : 0.0;
            result->ms += p == 1 ? 1e3 * run.seconds / (double)(times[TIMES - 1] * seeds) : 0.0;
        }
    for (int p = 0; p < 2; p++)
        for (int t = 0; t < TIMES; t++)
            result->median[p][t] = task_median(result->best[p][t], seeds);
    for (size_t s = 0; s < seeds; s++)
        result->stuck += result->best[1][TIMES - 1][s] < result->median[0][TIMES - 1];
}

static int print_each(const char *seeds, const char *first)
{
    static struct run run;
    uint64_t          from = strtoul(first, NULL, 10), to = from + strtoul(seeds, NULL, 10);
    printf("function,seed,trials,value\n");
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++)
        for (uint64_t seed = from; seed < to; seed++) {
            task_run(&tasks[k], "gp", seed, times[TIMES - 1], &run);
            for (int t = 0; t < TIMES; t++)
                printf("%s,%d,%zu,%.17g\n", tasks[k].name, (int)seed, times[t], best_of(&run, times[t]));
        }
    return 0;
}

int main(int argc, char **argv)
{
    mat_use_one_thread();
    if (argc == 4 && strcmp(argv[1], "each") == 0)
        return print_each(argv[2], argv[3]);
    size_t      seeds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 3;
    const char *only = argc > 2 ? argv[2] : NULL;
    bool        is_ok = true;
    seeds = seeds < 1 ? 1 : seeds < SEEDS_MAX ? seeds : SEEDS_MAX;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++) {
        static struct result result;
        if (only != NULL && strstr(only, tasks[k].name) == NULL)
            continue;
        result = (struct result){.feasible = 0.0};
        measure(&tasks[k], seeds, &result);
        printf("%-8s %2.0f%%", tasks[k].name, 100.0 * result.feasible);
        for (int t = 0; t < TIMES; t++) {
            printf("  %3zu: random %9.4f  gp %9.4f (%.4f)", times[t], result.median[0][t], result.median[1][t],
                   result.best[1][t][0]);
            is_ok &= result.median[1][t] >= result.median[0][t];
        }
        printf("  below %zu  %.2f ms\n", result.stuck, result.ms);
        fflush(stdout);
    }
    return is_ok ? 0 : 1;
}
