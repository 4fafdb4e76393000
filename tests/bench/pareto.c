/* Several objectives: the hypervolume below 1.1 in every objective (of what is minimised) after 40, 80 and 120 trials,
 * median (quartiles) over seeds, the largest there is, and milliseconds of processor time a suggestion.
 *   pareto [SEEDS [NAME]]           NAME: some of the problems
 *   pareto each SEEDS FIRST_SEED NAME     the hypervolumes of each study of gp instead, for tests/bench/decide
 * fonseca, kursawe, dtlz7, dome, bowl-2, bowl-3: what the algorithm was developed on.
 * zdt1, zdt2, zdt3 (d = 8; Zitzler, Deb & Thiele 2000), dtlz2 (d = 7; Deb et al. 2002) with 2, 3 and 4 objectives,
 * pump: doubles, an int, a discrete number and a categorical.
 * Beside gp: random search, and where python3-optuna is installed its samplers for several objectives (optuna_peer.py),
 * which take nearly all of the three minutes or so of a seed.
 * The exit code is 1 when gp does not come within 5% of the best of them at 120. */
#include "engine/math/mat.h"
#include "tests/bench/trials.h"

#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 3 };
static const size_t times[TIMES] = {40, 80, 120};

static double mean_of(const double *x, size_t from, size_t to)
{
    double sum = 0.0;
    for (size_t i = from; i < to; i++)
        sum += x[i] / (double)(to - from);
    return sum;
}

static bool zdt1(const double *x, double *f)
{
    double g = 1.0 + 9.0 * mean_of(x, 1, 8);
    f[0] = -x[0];
    f[1] = -g * (1.0 - sqrt(x[0] / g));
    return true;
}

static bool zdt2(const double *x, double *f)
{
    double g = 1.0 + 9.0 * mean_of(x, 1, 8);
    f[0] = -x[0];
    f[1] = -g * (1.0 - x[0] / g * x[0] / g);
    return true;
}

static bool zdt3(const double *x, double *f)
{
    double g = 1.0 + 9.0 * mean_of(x, 1, 8);
    f[0] = -x[0];
    f[1] = -g * (1.0 - sqrt(x[0] / g) - x[0] / g * sin(10.0 * PI * x[0]));
    return true;
}

static double dtlz_g(const double *x, size_t from)
{
    double g = 1.0;
    for (size_t i = from; i < 7; i++)
        g += (x[i] - 0.5) * (x[i] - 0.5);
    return g;
}

static bool dtlz2_2(const double *x, double *f)
{
    double g = dtlz_g(x, 1);
    f[0] = -g * cos(0.5 * PI * x[0]);
    f[1] = -g * sin(0.5 * PI * x[0]);
    return true;
}

static bool dtlz2_3(const double *x, double *f)
{
    double g = dtlz_g(x, 2), a = 0.5 * PI * x[0], b = 0.5 * PI * x[1];
    f[0] = -g * cos(a) * cos(b);
    f[1] = -g * cos(a) * sin(b);
    f[2] = -g * sin(a);
    return true;
}

static bool dtlz2_4(const double *x, double *f)
{
    double g = dtlz_g(x, 3), a = 0.5 * PI * x[0], b = 0.5 * PI * x[1], c = 0.5 * PI * x[2];
    f[0] = -g * cos(a) * cos(b) * cos(c);
    f[1] = -g * cos(a) * cos(b) * sin(c);
    f[2] = -g * cos(a) * sin(b);
    f[3] = -g * sin(a);
    return true;
}

/* Losses and price of a pump: opening, speed, stages, pipe, material. */
static const double       pipes[] = {0.2, 0.3, 0.5, 0.9, 1.0};
static const struct param pump_params[] = {
    {.name = "opening", .kind = PARAM_DOUBLE, .max = 1.0},
    {.name = "speed", .kind = PARAM_DOUBLE, .min = 1.0, .max = 100.0, .scale = SCALE_LOG},
    {.name = "stages", .kind = PARAM_INT, .min = 1.0, .max = 12.0},
    {.name = "pipe", .kind = PARAM_DISCRETE, .min = 0.2, .max = 1.0, .choices = 5, .values = pipes},
    {.name = "material", .kind = PARAM_CATEGORICAL, .max = 2.0, .choices = 3},
};

static bool pump(const double *x, double *f)
{
    static const double friction[] = {0.05, 0.0, 0.12}, price[] = {0.2, 0.35, 0.0}, best[] = {0.3, 0.55, 0.7};
    size_t              material = (size_t)x[4];
    double miss = x[0] - best[material], speed = log(x[1]) / log(100.0) - 0.08 * x[2] + 0.2, slim = 1.0 - x[3];
    double waste = miss * miss + speed * speed + 0.1 * fabs(x[3] - 0.5);
    f[0] = -(0.7 / x[2] + friction[material] + 0.3 * slim * slim + waste);
    f[1] = -(0.06 * x[2] + price[material] + 0.25 * x[3] * x[3] + 0.5 * waste);
    return true;
}

/* --- development --- */

static bool fonseca(const double *x, double *f)
{
    double up = 0.0, down = 0.0;
    for (int i = 0; i < 5; i++) {
        double u = 4.0 * x[i] - 2.0, centre = 1.0 / sqrt(5.0);
        up += (u - centre) * (u - centre);
        down += (u + centre) * (u + centre);
    }
    f[0] = exp(-up) - 1.0;
    f[1] = exp(-down) - 1.0;
    return true;
}

static bool kursawe(const double *x, double *f)
{
    double a = 0.0, b = 0.0;
    for (int i = 0; i < 3; i++) {
        double u = 10.0 * x[i] - 5.0, v = 10.0 * x[(i + 1) % 3] - 5.0;
        a -= i < 2 ? 10.0 * exp(-0.2 * sqrt(u * u + v * v)) : 0.0;
        b += pow(fabs(u), 0.8) + 5.0 * sin(u * u * u);
    }
    f[0] = -(a + 20.0) / 6.0;
    f[1] = -(b + 12.0) / 12.5;
    return true;
}

static bool dtlz7(const double *x, double *f)
{
    double g = 1.0 + 9.0 * mean_of(x, 2, 6), h = 3.0;
    for (int i = 0; i < 2; i++) {
        f[i] = -x[i];
        h -= x[i] / (1.0 + g) * (1.0 + sin(3.0 * PI * x[i]));
    }
    f[2] = -(1.0 + g) * h / 6.0;
    return true;
}

/* DTLZ2's front seen from the other side. */
static bool dome(const double *x, double *f)
{
    dtlz2_3(x, f);
    for (int i = 0; i < 3; i++)
        f[i] = -f[i] / dtlz_g(x, 2) / dtlz_g(x, 2) - 1.0;
    return true;
}

/* A quarter of an ellipse (m = 2) or ellipsoid, as far from the origin as the other coordinates are from where they
 * should be: at its ends any distance is hard to dominate. */
static double bowl_g(const double *x, size_t from)
{
    static const double centre[] = {0.0, 0.3, 0.62, 0.24, 0.71, 0.45};
    double              g = 1.0;
    for (size_t i = from; i < 6; i++)
        g += 1.5 * (x[i] - centre[i]) * (x[i] - centre[i]);
    return g;
}

static bool bowl2(const double *x, double *f)
{
    double g = bowl_g(x, 1), a = 0.5 * PI * x[0] * x[0];
    f[0] = -g * cos(a);
    f[1] = -g * sin(a);
    return true;
}

static bool bowl3(const double *x, double *f)
{
    double g = bowl_g(x, 2), a = 0.5 * PI * x[0], b = 0.5 * PI * (1.0 - x[1]);
    f[0] = -g * cos(a) * cos(b);
    f[1] = -g * cos(a) * sin(b);
    f[2] = -g * sin(a);
    return true;
}

#define BELOW(limit_, r) .limit = limit_, .reference = {-(r), -(r), -(r), -(r)}
static const struct task tasks[] = {
    {"fonseca", 5, 2, 2, fonseca, NULL, BELOW(0.0, 1.1)},
    {"kursawe", 3, 2, 2, kursawe, NULL, BELOW(0.0, 1.1)},
    {"dtlz7", 6, 3, 3, dtlz7, NULL, BELOW(0.0, 1.1)},
    {"dome", 7, 3, 3, dome, NULL, BELOW(0.0, 1.1)},
    {"bowl-2", 6, 2, 2, bowl2, NULL, BELOW(1.21 - PI / 4.0, 1.1)},
    {"bowl-3", 6, 3, 3, bowl3, NULL, BELOW(1.331 - PI / 6.0, 1.1)},
    {"zdt1", 8, 2, 2, zdt1, NULL, BELOW(1.21 - 1.0 / 3.0, 1.1)},
    {"zdt2", 8, 2, 2, zdt2, NULL, BELOW(1.21 - 2.0 / 3.0, 1.1)},
    {"zdt3", 8, 2, 2, zdt3, NULL, BELOW(0.0, 1.1)},
    {"dtlz2-2", 7, 2, 2, dtlz2_2, NULL, BELOW(1.21 - PI / 4.0, 1.1)},
    {"dtlz2-3", 7, 3, 3, dtlz2_3, NULL, BELOW(1.331 - PI / 6.0, 1.1)},
    {"dtlz2-4", 7, 4, 4, dtlz2_4, NULL, BELOW(1.4641 - PI * PI / 32.0, 1.1)},
    {"pump", 5, 2, 2, pump, pump_params, BELOW(0.0, 1.1)},
};

/* A double by its place in [0, 1], anything else by its number, as optuna_peer.py has them. */
static double value_of(const struct task *task, size_t j, double x)
{
    if (task->params == NULL)
        return x;
    const struct param *param = &task->params[j];
    return param->kind == PARAM_DOUBLE ? param_quantile(param, x) : param_value(param, x);
}

static void converse(const struct task *task, FILE *from, FILE *to, size_t trials, struct run *run)
{
    run->len = 0;
    for (size_t trial = 1; trial <= trials; trial++) {
        double x[TASK_DIMS_MAX], values[METRICS_MAX];
        for (size_t j = 0; j < task->d; j++) {
            if (fscanf(from, "%lf", &x[j]) != 1)
                return;
            x[j] = value_of(task, j, x[j]);
        }
        task->function(x, values);
        run_add(run, task, trial, values);
        for (size_t k = 0; k < task->metrics; k++)
            fprintf(to, "%.17g%c", values[k], k + 1 < task->metrics ? ' ' : '\n');
        fflush(to);
    }
}

static _Noreturn void become_peer(const struct task *task, const char *sampler, uint64_t seed, size_t trials)
{
    char  text[3 + TASK_DIMS_MAX][24], program[] = "tests/bench/optuna_peer.py", name[16];
    char *arguments[3 + 3 + TASK_DIMS_MAX + 1] = {"python3", program, name};
    snprintf(name, sizeof name, "%s", sampler);
    snprintf(text[0], sizeof text[0], "%zu", (size_t)seed);
    snprintf(text[1], sizeof text[1], "%zu", task->objectives);
    snprintf(text[2], sizeof text[2], "%zu", trials);
    for (size_t j = 0; j < task->d; j++) {
        const struct param *param = task->params == NULL ? NULL : &task->params[j];
        double              count = param == NULL ? 0.0 : param_count(param);
        snprintf(text[3 + j], sizeof text[0], "%.0f", count > 0.0 && param->kind == PARAM_CATEGORICAL ? -count : count);
    }
    for (size_t i = 0; i < 3 + task->d; i++)
        arguments[3 + i] = text[i];
    execv("/usr/bin/python3", arguments);
    _exit(127);
}

static void run_peer(const struct task *task, const char *sampler, uint64_t seed, size_t trials, struct run *run)
{
    int out[2], in[2];
    if (pipe(out) != 0 || pipe(in) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        become_peer(task, sampler, seed, trials);
    }
    close(in[0]);
    close(out[1]);
    FILE *from = fdopen(out[0], "r"), *to = fdopen(in[1], "w");
    converse(task, from, to, trials, run);
    fclose(from);
    fclose(to);
    waitpid(pid, NULL, 0);
    run->seconds = NAN; /* not those of this process */
    if (run->len == trials)
        return;
    fprintf(stderr, "%s did not answer\n", sampler);
    exit(2);
}

struct measures {
    double volume[TIMES][SEEDS_MAX], ms;
};

static void measure(struct measures *measures, const struct task *task, const struct run *run, size_t seed)
{
    for (int t = 0; t < TIMES; t++)
        measures->volume[t][seed] = task_volume(task, run->values, run_count(run, times[t]));
    measures->ms += 1e3 * run->seconds / (double)times[TIMES - 1];
}

/* The median at the end. */
static double print(const struct task *task, const char *name, struct measures *measures, size_t seeds)
{
    double median = 0.0;
    printf("%-8s %-9s", task->name, name);
    for (int t = 0; t < TIMES; t++) {
        median = task_median(measures->volume[t], seeds);
        printf("  %.4f (%.4f .. %.4f)", median, measures->volume[t][seeds / 4], measures->volume[t][3 * seeds / 4]);
    }
    if (isnan(measures->ms))
        printf("\n");
    else
        printf("  %.2f ms\n", measures->ms / (double)seeds);
    fflush(stdout);
    return median;
}

/* Whether gp comes within 5% of the best of the others. */
static bool compare(const struct task *task, bool has_optuna, size_t seeds)
{
    static struct run      run;
    static struct measures measures;
    static const struct {
        const char *name;
        bool        is_ours;
    } samplers[] = {{"random", true},     {"nsga2-50", false}, {"nsga2-20", false}, {"tpe", false},
                    {"tpe-joint", false}, {"motpe", false},    {"gp", true}};
    double best = 0.0, reached = 0.0;
    if (task->limit > 0.0)
        printf("%-8s limit %.4f\n", task->name, task->limit);
    for (size_t p = 0; p < sizeof samplers / sizeof samplers[0]; p++) {
        measures.ms = 0.0;
        if (!samplers[p].is_ours && !has_optuna)
            continue;
        for (size_t s = 0; s < seeds; s++) {
            (samplers[p].is_ours ? task_run : run_peer)(task, samplers[p].name, 7 + s, times[TIMES - 1], &run);
            measure(&measures, task, &run, s);
        }
        best = fmax(best, reached);
        reached = print(task, samplers[p].name, &measures, seeds);
    }
    printf("%-8s gp / best of the others: %.3f%s\n", task->name, reached / best,
           reached < 0.95 * best ? "  not ok" : "");
    return reached >= 0.95 * best;
}

static int print_each(const char *seeds, const char *first, const char *only)
{
    static struct run run;
    uint64_t          from = strtoul(first, NULL, 10), to = from + strtoul(seeds, NULL, 10);
    printf("function,seed,trials,value\n");
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++)
        for (uint64_t seed = from; seed < to && strstr(only, tasks[k].name) != NULL; seed++) {
            task_run(&tasks[k], "gp", seed, times[TIMES - 1], &run);
            for (int t = 0; t < TIMES; t++)
                printf("%s,%d,%zu,%.17g\n", tasks[k].name, (int)seed, times[t],
                       task_volume(&tasks[k], run.values, run_count(&run, times[t])));
        }
    return 0;
}

int main(int argc, char **argv)
{
    mat_use_one_thread();
    if (argc == 5 && strcmp(argv[1], "each") == 0)
        return print_each(argv[2], argv[3], argv[4]);
    size_t      seeds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 3;
    const char *only = argc > 2 ? argv[2] : NULL;
    bool        is_ok = true, has_optuna = system("/usr/bin/python3 -c 'import optuna' 2>/dev/null") == 0;
    seeds = seeds < 1 ? 1 : seeds < SEEDS_MAX ? seeds : SEEDS_MAX;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++)
        if (only == NULL || strstr(only, tasks[k].name) != NULL)
            is_ok &= compare(&tasks[k], has_optuna, seeds);
    return is_ok ? 0 : 1;
}
