/* Earlier studies that help, that mislead and that say nothing: the algorithms that learn from them beside gp alone, on
 * tables of real measurements and on families of functions.
 *   mlp, mlp rows   accuracy of 3,000 configurations of a neural network on eight tasks (HPOBench): as five parameters,
 *                   where a point's value is that of the nearest configuration, and as rows
 *   svm rows        accuracy of 288 configurations on 50 data sets (Wistuba et al. 2015)
 *   branin, bowl, hartmann3, hartmann6    each study is a draw of a family of functions
 * A target has three earlier studies of 50 random points, of other targets of its half.  They are as measured, all
 * negated, with their values at other points of the same study, or two of the three negated.
 * usage: transfer_tables [--data FOLDER] [--half 0|1] [--runs N] [--table NAME] [--only ALGORITHM]
 * Choices were made on half 0 (mlp: the first four tasks; svm: the last 25 sets; branin, bowl); the goals are of half
 * 1.  FOLDER (or the environment's DATA) has hpobench_tabular and svm_benchmark_tst; without it only the functions.
 * Prints (largest - best so far) / (largest - median) after some values, means over targets and runs with standard
 * errors, and at the end geometric means over the tables relative to gp's.  Goals, for those: transfer's after 5 values at
 * most a third where studies help, at most 1.3 where all are negated, and 1.1 after 10. */
#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "tests/bench/transfer.h"
#include "engine/registry.h"

enum { EARLIER = 3, VALUES = 50, TRIALS = 30, TIMES = 6, COLUMNS_MAX = 6, ROWS_MAX = 3000, TASKS_MAX = 50 };
enum { WORLDS = 4, METHODS = 7, GP = 5 };
static const size_t      times[TIMES] = {1, 3, 5, 10, 20, 30};
static const char *const worlds[WORLDS] = {"helpful", "negated", "elsewhere", "two negated"};

struct method {
    const char *name, *options;
};
static const struct method methods[METHODS] = {{"transfer", ""}, {"taf", ""}, {"rgpe", ""},  {"rm-gp-ucb", ""},
                                               {"rm-gp-ts", ""}, {"gp", ""},  {"random", ""}};

/* A table of values [tasks][rows] at points [rows][columns] of the unit cube; or functions, which have no rows. */
struct table {
    const char *name;
    bool        as_rows;
    size_t      columns, rows, tasks, from[2], count[2]; /* the tasks of a half */
    double (*f)(const double *x, size_t task);
    double *points, *values;
};

/* ---- functions: larger is better ---- */

static double near(size_t task, size_t which, double width)
{
    struct rng rng = rng_at(4000 + task, which, RNG_TEST);
    return width * (2 * rng_uniform(&rng) - 1);
}

static double branin(const double *x, size_t task)
{
    const double pi = 3.141592653589793;
    double       u = 15 * (x[0] + near(task, 1, .08)) - 5, v = 15 * (x[1] + near(task, 2, .08));
    return -log1p(pow(v - (5.1 + near(task, 3, .5)) / (4 * pi * pi) * u * u + 5 / pi * u - 6, 2) +
                  (10 + near(task, 4, 2)) * (1 - 1 / (8 * pi)) * cos(u) + 12);
}

static double bowl(const double *x, size_t task)
{
    double sum = 0;
    for (size_t j = 0; j < 5; j++)
        sum += pow(x[j] - .25 - .1 * (double)j - near(task, j, .1), 2) * (1 + (double)j + near(task, 9 + j, .5));
    return -sqrt(sum);
}

static double hartmann(const double *x, size_t d, size_t task)
{
    static const double A3[4][6] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    static const double P3[4][6] = {
        {.3689, .1170, .2673}, {.4699, .4387, .7470}, {.1091, .8732, .5547}, {.0381, .5743, .8828}};
    static const double A6[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}};
    static const double P6[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                    {.2329, .4135, .8307, .3736, .1004, .9991},
                                    {.2348, .1451, .3522, .2883, .3047, .6650},
                                    {.4047, .8828, .8732, .5743, .1091, .0381}};
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    double              sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double q = 0;
        for (size_t j = 0; j < d; j++)
            q += (d == 3 ? A3 : A6)[i][j] * pow(x[j] - (d == 3 ? P3 : P6)[i][j] - near(task, j, .06), 2);
        sum += (alpha[i] + near(task, 9 + i, .4)) * exp(-q);
    }
    return sum;
}

static double hartmann3(const double *x, size_t task)
{
    return hartmann(x, 3, task);
}

static double hartmann6(const double *x, size_t task)
{
    return hartmann(x, 6, task);
}

static struct table tables[] = {
    {.name = "mlp", .columns = 5, .rows = 3000, .tasks = 8, .from = {0, 4}, .count = {4, 4}},
    {.name = "mlp rows", .as_rows = true, .columns = 5, .rows = 3000, .tasks = 8, .from = {0, 4}, .count = {4, 4}},
    {.name = "svm rows", .as_rows = true, .columns = 6, .rows = 288, .tasks = 50, .from = {25, 0}, .count = {25, 25}},
    {.name = "branin", .columns = 2, .f = branin, .count = {12, 0}},
    {.name = "bowl", .columns = 5, .f = bowl, .count = {12, 0}},
    {.name = "hartmann3", .columns = 3, .f = hartmann3, .count = {0, 12}},
    {.name = "hartmann6", .columns = 6, .f = hartmann6, .count = {0, 12}},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* ---- tables ---- */

static FILE *open_table(const char *folder, const char *name)
{
    char path[1024], line[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(line, sizeof line, file) == NULL)
        fclose(file), file = NULL;
    return file;
}

/* The next line's cells after the first. */
static bool read_cells(FILE *file, double *cells, size_t len)
{
    char  line[8192];
    char *at = fgets(line, sizeof line, file);
    for (size_t i = 0; i < len && at != NULL; i++) {
        at = strchr(at, ',');
        cells[i] = at == NULL ? NAN : strtod(++at, NULL);
    }
    return at != NULL;
}

static bool read_mlp(const char *folder, struct table *out)
{
    static const double low[5] = {1e-8, 4, 1, 1e-5, 16}, high[5] = {1, 256, 3, 1, 1024};
    FILE               *file = open_table(folder, "hpobench_tabular/hpobench_mlp_8tasks_3000configs.csv");
    double              cells[13];
    for (size_t i = 0; i < out->rows && file != NULL; i++) {
        if (!read_cells(file, cells, 13))
            return false;
        for (size_t j = 0; j < 5; j++)
            out->points[5 * i + j] =
                j == 2 ? (cells[j] - 1) / 2 : fmin(log(cells[j] / low[j]) / log(high[j] / low[j]), 1);
        for (size_t t = 0; t < out->tasks; t++)
            out->values[t * out->rows + i] = cells[5 + t];
    }
    return file != NULL && fclose(file) == 0;
}

static bool read_svm(const char *folder, struct table *out)
{
    FILE *configs = open_table(folder, "svm_benchmark_tst/configs.csv");
    FILE *values = open_table(folder, "svm_benchmark_tst/accuracy_matrix_50x288.csv");
    if (configs == NULL || values == NULL)
        return false;
    for (size_t i = 0; i < out->rows; i++)
        if (!read_cells(configs, out->points + out->columns * i, out->columns))
            return false;
    for (size_t t = 0; t < out->tasks; t++)
        if (!read_cells(values, out->values + t * out->rows, out->rows))
            return false;
    return fclose(configs) + fclose(values) == 0;
}

static bool ready_table(const char *folder, struct table *table)
{
    if (table->f != NULL)
        return true;
    table->points = doubles(table->rows * table->columns);
    table->values = doubles(table->tasks * table->rows);
    return folder != NULL && (table->tasks == 8 ? read_mlp : read_svm)(folder, table);
}

static size_t nearest(const struct table *table, const double *x)
{
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < table->rows; i++) {
        double distance = 0;
        for (size_t j = 0; j < table->columns; j++)
            distance += pow(table->points[i * table->columns + j] - x[j], 2);
        if (distance < least)
            least = distance, best = i;
    }
    return best;
}

static double value_at(const struct table *table, size_t task, const double *x)
{
    return table->f != NULL ? table->f(x, task) : table->values[task * table->rows + nearest(table, x)];
}

/* The largest value and the median: of functions those of 20,000 random points, the largest climbed from the best. */
static void extremes(const struct table *table, size_t task, double *top, double *median)
{
    enum { POINTS = 20000 };
    static double values[POINTS];
    size_t        n = table->f == NULL ? table->rows : POINTS;
    struct rng    rng = rng_at(task, 3, RNG_TEST);
    double        x[COLUMNS_MAX], best[COLUMNS_MAX] = {0}, highest = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < table->columns; j++)
            x[j] = rng_uniform(&rng);
        values[i] = table->f == NULL ? table->values[task * table->rows + i] : table->f(x, task);
        if (values[i] > highest)
            highest = values[i], memcpy(best, x, sizeof x);
    }
    for (double step = .1; step > 1e-7 && table->f != NULL; step *= .97)
        for (size_t k = 0; k < 20; k++) {
            for (size_t j = 0; j < table->columns; j++)
                x[j] = fmin(fmax(best[j] + step * (2 * rng_uniform(&rng) - 1), 0), 1);
            double value = table->f(x, task);
            if (value > highest)
                highest = value, memcpy(best, x, sizeof x);
        }
    qsort(values, n, sizeof *values, numbers_order);
    *top = highest;
    *median = values[n / 2];
}

/* ---- one run ---- */

struct earlier {
    struct earlier_study study[EARLIER];
    double               points[EARLIER][VALUES * COLUMNS_MAX], values[EARLIER][VALUES];
    size_t               rows[EARLIER][VALUES];
};

static void shuffle(double *values, size_t n, struct rng *rng)
{
    for (size_t j = 0; j < n; j++) {
        size_t other = j + rng_below(rng, n - j);
        double swapped = values[j];
        values[j] = values[other];
        values[other] = swapped;
    }
}

static void make_study(const struct table *table, size_t task, size_t i, struct rng *rng, struct earlier *out)
{
    for (size_t j = 0; j < VALUES; j++) {
        double *x = out->points[i] + j * table->columns;
        size_t  row = table->f == NULL ? rng_below(rng, table->rows) : 0;
        for (size_t k = 0; k < table->columns; k++)
            x[k] = table->f == NULL ? table->points[row * table->columns + k] : rng_uniform(rng);
        out->rows[i][j] = row;
        out->values[i][j] = table->f == NULL ? table->values[task * table->rows + row] : table->f(x, task);
    }
    out->study[i] = (struct earlier_study){.points = table->as_rows ? NULL : out->points[i],
                                           .rows = table->as_rows ? out->rows[i] : NULL,
                                           .values = out->values[i],
                                           .n = VALUES};
}

/* The three: different tasks of the half, none of them the target. */
static void make_earlier(const struct table *table, int half, size_t target, int run, size_t world, struct earlier *out)
{
    struct rng rng = rng_at(1000 * target + (uint64_t)run, 6, RNG_TEST);
    size_t     chosen[EARLIER];
    for (size_t i = 0; i < EARLIER; i++) {
        bool is_new;
        do {
            chosen[i] = table->from[half] + rng_below(&rng, table->count[half]);
            is_new = chosen[i] != target;
            for (size_t k = 0; k < i; k++)
                is_new = is_new && chosen[k] != chosen[i];
        } while (!is_new);
        make_study(table, chosen[i], i, &rng, out);
    }
    for (size_t i = 0; i < EARLIER; i++) {
        if (world == 2)
            shuffle(out->values[i], VALUES, &rng);
        for (size_t j = 0; j < VALUES && (world == 1 || (world == 3 && i > 0)); j++)
            out->values[i][j] = -out->values[i][j];
    }
}

static double ask_and_tell(const struct table *table, const struct policy *policy, struct session *session,
                           size_t target, uint64_t trial)
{
    static struct proposal proposal;
    double                 point[COLUMNS_MAX];
    struct error           err = {0};
    proposal = (struct proposal){.point = point};
    must(policy->ask(session, &(struct ask){.trial = trial}, &proposal, &err), &err);
    if (proposal.fallback != NULL)
        fprintf(stderr, "%s fell back at %d: %s\n", policy->name, (int)trial, proposal.fallback), exit(2);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = trial,
                          .row = proposal.row,
                          .point = table->as_rows ? NULL : point,
                          .note = proposal.note_bytes == 0 ? NULL : proposal.note,
                          .note_bytes = proposal.note_bytes};
    must(policy->tell(session, &event, &err), &err);
    event.kind = EVENT_OBSERVED;
    event.note = NULL;
    event.note_bytes = 0;
    event.value = table->as_rows ? table->values[target * table->rows + proposal.row] : value_at(table, target, point);
    must(policy->tell(session, &event, &err), &err);
    return event.value;
}

static void run_study(const struct table *table, int half, const struct method *method, size_t target, int run,
                      size_t world, double regret[TIMES])
{
    static struct earlier earlier;
    static struct param   params[COLUMNS_MAX];
    const struct policy  *policy = policy_find(method->name);
    double                options[TRANSFER_OPTIONS_MAX], top, median, best = -HUGE_VAL;
    struct error          err = {0};
    struct session       *session;
    struct space          space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = table->columns};
    for (size_t j = 0; j < table->columns; j++)
        params[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = 0, .max = 1};
    if (table->as_rows)
        space = (struct space){
            .kind = SPACE_CANDIDATES, .rows = table->points, .rows_len = table->rows, .columns = table->columns};
    must(space_init(&space, &err), &err);
    make_earlier(table, half, target, run, world, &earlier);
    transfer_set_options(policy, method->options, options);
    struct problem problem = {.space = &space,
                              .options = options,
                              .seed = 1000 * target + (uint64_t)run,
                              .memory_bytes = 1 << 27,
                              .earlier = earlier.study,
                              .earlier_len = policy->read_transfer == NULL ? 0 : EARLIER};
    extremes(table, target, &top, &median);
    must(session_open(policy, &problem, &session, &err), &err);
    for (size_t t = 1, at = 0; t <= TRIALS; t++) {
        best = fmax(best, ask_and_tell(table, policy, session, target, t));
        if (t == times[at])
            regret[at++] = fmax(top - best, 0) / (top - median);
    }
    session_close(session);
}

/* ---- means ---- */

struct mean {
    double at[TIMES];
    bool   done;
};
static struct mean results[TABLES][METHODS][WORLDS];

static void run_table(const struct table *table, int half, const struct method *method, size_t world, int runs,
                      struct mean *out)
{
    double sums[TIMES] = {0}, squares[TIMES] = {0}, n = 0;
    for (size_t i = 0; i < table->count[half]; i++)
        for (int run = 0; run < runs; run++, n++) {
            double regret[TIMES];
            run_study(table, half, method, table->from[half] + i, run, world, regret);
            for (size_t k = 0; k < TIMES; k++)
                sums[k] += regret[k], squares[k] += regret[k] * regret[k];
        }
    printf("%s,%s,%s %s", table->name, worlds[world], method->name, method->options);
    for (size_t k = 0; k < TIMES; k++) {
        out->at[k] = sums[k] / n;
        printf(",%.4f,%.4f", out->at[k], sqrt(fmax(squares[k] / n - out->at[k] * out->at[k], 0) / (n - 1)));
    }
    puts("");
    fflush(stdout);
    out->done = true;
}

/* The geometric mean over the tables of a method's regret relative to gp's, regrets below 1e-4 taken for that; 0 when
 * nothing was run. */
static double relative(size_t method, size_t world, size_t k)
{
    double logs = 0, count = 0;
    for (size_t t = 0; t < TABLES; t++)
        if (results[t][method][world].done && results[t][GP][0].done) {
            logs += log(fmax(results[t][method][world].at[k], 1e-4) / fmax(results[t][GP][0].at[k], 1e-4));
            count++;
        }
    return count > 0 ? exp(logs / count) : 0;
}

static int report(void)
{
    for (size_t world = 0; world < WORLDS; world++)
        for (size_t m = 0; m < METHODS; m++) {
            if (relative(m, world, 0) == 0)
                continue;
            printf("relative to gp,%s,%s", worlds[world], methods[m].name);
            for (size_t k = 0; k < TIMES; k++)
                printf(",%.2f", relative(m, world, k));
            puts("");
        }
    bool holds = relative(0, 0, 2) <= 1 / 3. && relative(0, 1, 2) <= 1.3 && relative(0, 1, 3) <= 1.1;
    printf("goals: %s\n", holds ? "ok" : "not");
    return !holds;
}

/* only: the one of this name; NULL: all of them. */
static void run_methods(size_t t, int half, const char *only, int runs)
{
    for (size_t m = 0; m < METHODS; m++)
        for (size_t world = 0; world < WORLDS; world++)
            if ((only == NULL || strcmp(only, methods[m].name) == 0) &&
                (world == 0 || policy_find(methods[m].name)->read_transfer != NULL))
                run_table(&tables[t], half, &methods[m], world, runs, &results[t][m][world]);
}

int main(int argc, char **argv)
{
    const char *data = getenv("DATA"), *only = NULL, *only_table = NULL;
    int         runs = 1, half = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--data") == 0)
            data = argv[i + 1];
        else if (strcmp(argv[i], "--runs") == 0)
            runs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--half") == 0)
            half = atoi(argv[i + 1]) != 0;
        else if (strcmp(argv[i], "--table") == 0)
            only_table = argv[i + 1];
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
    }
    mat_use_one_thread();
    for (size_t t = 0; t < TABLES; t++)
        if (tables[t].count[half] > 0 && (only_table == NULL || strcmp(only_table, tables[t].name) == 0) &&
            ready_table(data, &tables[t]))
            run_methods(t, half, only, runs);
    return only == NULL && only_table == NULL && data != NULL ? report() : 0;
}
