/* The tasks of rank_mean.c: tables of data, and functions that are made anew from each seed. */
#ifndef GNOMON_TESTS_BENCH_RANK_WORLDS_H
#define GNOMON_TESTS_BENCH_RANK_WORLDS_H

#include "engine/space/space.h"
#include "tests/bench/functions.h"

enum { TASKS_MAX = 240, CONFIGS = 288, WAVES = 60, TARGETS = 6, LEVELS = 14, CELLS_MAX = 30000 };
enum { PARAMS = 5, NETS = 3000, NET_TASKS = 8 };

struct made_task {
    double scale[3], shift[3], frequency[WAVES][3], phase[WAVES], weight[WAVES];
};
struct world {
    const char  *name;
    struct space space;
    size_t       tasks; /* 0: as many as there are members, and TARGETS more */
    double (*value)(size_t task, const double *point);
    double spread, share;
    double (*base)(const double *u); /* of made tasks, the larger the better */
};
static double           auc[29][41][41], accuracy[50][CONFIGS];
static int              config_at[3][LEVELS][LEVELS], net_at[10][10][3][10][10];
static double           nets[NETS][PARAMS + NET_TASKS];
static struct made_task made[TASKS_MAX];
static size_t           made_dims, made_members;
static bool             is_unrelated;
static double (*made_base)(const double *u);

static double landmine_value(size_t task, const double *point)
{
    return auc[task][(size_t)point[0]][(size_t)point[1]];
}

static double svm_value(size_t task, const double *point)
{
    size_t kernel = (size_t)point[0], other = kernel == 0 ? (size_t)point[2] : kernel == 1 ? (size_t)point[3] : 0;
    return accuracy[task][config_at[kernel][(size_t)point[1]][other]];
}

static double net_value(size_t task, const double *point)
{
    size_t i[PARAMS];
    for (size_t j = 0; j < PARAMS; j++)
        i[j] = (size_t)point[j];
    return nets[net_at[i[0]][i[1]][i[2]][i[3]][i[4]]][PARAMS + task];
}

static double branin_base(const double *u)
{
    return -log1p(branin((double[]){15 * u[0] - 5, 15 * u[1]}, 2)) / 1.15;
}

static double hartmann_base(const double *u)
{
    return -hartmann(u, 3) / .95;
}

static double camel_base(const double *u)
{
    return -log1p(camel((double[]){4 * u[0] - 2, 2 * u[1] - 1}, 2) + 1.0317);
}

static double ackley_base(const double *u)
{
    return -ackley((double[]){6 * u[0] - 3, 6 * u[1] - 3, 6 * u[2] - 3}, 3) / 1.5;
}

static double made_value(size_t task, const double *point)
{
    const struct made_task *m = &made[task];
    double                  u[3], sum = 0;
    for (size_t j = 0; j < made_dims; j++) {
        double x = is_unrelated && task >= made_members ? 1 - point[j] : point[j];
        u[j] = fmin(fmax((x - .5) * m->scale[j] + .5 + m->shift[j], -.2), 1.2);
    }
    for (size_t w = 0; w < WAVES; w++) {
        double phase = m->phase[w];
        for (size_t j = 0; j < made_dims; j++)
            phase += m->frequency[w][j] * point[j];
        sum += m->weight[w] * cos(phase) * sqrt(2.0 / WAVES);
    }
    return made_base(u) + sum;
}

static const struct param     cube[] = {{.name = "x", .kind = PARAM_DOUBLE, .max = 1},
                                        {.name = "y", .kind = PARAM_DOUBLE, .max = 1},
                                        {.name = "z", .kind = PARAM_DOUBLE, .max = 1}};
static const struct param     grid[] = {{.name = "C", .kind = PARAM_INT, .max = 40},
                                        {.name = "gamma", .kind = PARAM_INT, .max = 40}};
static const double           radial[] = {0}, polynomial[] = {1};
static const struct condition if_radial[] = {{.parent = 0, .values = radial, .values_len = 1}};
static const struct condition if_polynomial[] = {{.parent = 0, .values = polynomial, .values_len = 1}};
static const struct param     machine[] = {
        {.name = "kernel", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
        {.name = "C", .kind = PARAM_INT, .max = 11},
        {.name = "gamma", .kind = PARAM_INT, .max = 13, .when = if_radial, .when_len = 1},
        {.name = "degree", .kind = PARAM_INT, .max = 8, .when = if_polynomial, .when_len = 1}};
static const struct param net[] = {{.name = "alpha", .kind = PARAM_INT, .max = 9},
                                   {.name = "batch", .kind = PARAM_INT, .max = 9},
                                   {.name = "depth", .kind = PARAM_INT, .max = 2},
                                   {.name = "rate", .kind = PARAM_INT, .max = 9},
                                   {.name = "width", .kind = PARAM_INT, .max = 9}};
static struct world       worlds[] = {
          {"landmine", {.kind = SPACE_PARAMETERS, .params = grid, .params_len = 2}, 29, landmine_value, 0, 0, NULL},
          {"svm", {.kind = SPACE_PARAMETERS, .params = machine, .params_len = 4}, 50, svm_value, 0, 0, NULL},
          {"mlp", {.kind = SPACE_PARAMETERS, .params = net, .params_len = PARAMS}, NET_TASKS, net_value, 0, 0, NULL},
          {"branin", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, branin_base},
          {"branin-far", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .2, .4, branin_base},
          {"hartmann", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .07, .2, hartmann_base},
          {"hartmann-far", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .2, .4, hartmann_base},
          {"camel", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, camel_base},
          {"ackley", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .07, .2, ackley_base},
          {"unrelated", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, branin_base},
          {"hartmann-unrelated",
           {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3},
           0,
           made_value,
           .07,
           .2,
           hartmann_base},
};

static bool read_landmine(void)
{
    char  line[512];
    FILE *file = fopen("tests/data/landmine/auc_41x41.csv", "r");
    for (size_t row = 0; file != NULL && row < 29 * 41 && fgets(line, sizeof line, file) != NULL; row++) {
        char *at = strchr(strchr(line, ',') + 1, ',');
        for (size_t i = 0; i < 41; i++)
            auc[row / 41][row % 41][i] = 1e-4 * (double)strtol(at + 1, &at, 10);
    }
    if (file != NULL)
        fclose(file);
    return auc[28][40][40] > 0;
}

/* The place of x among the sorted distinct levels. */
static size_t level_of(double *levels, size_t *len, double x)
{
    size_t at = 0;
    while (at < *len && levels[at] < x - 1e-9)
        at++;
    if (at < *len && fabs(levels[at] - x) < 1e-9)
        return at;
    memmove(levels + at + 1, levels + at, (*len - at) * sizeof *levels);
    levels[at] = x;
    ++*len;
    return at;
}

static bool read_numbers(const char *file, size_t lines, size_t cells, double *out)
{
    static char line[1 << 14];
    char        path[1024];
    const char *folder = getenv("DATA");
    snprintf(path, sizeof path, "%.900s/%s", folder == NULL ? "." : folder, file);
    FILE *in = fopen(path, "r");
    bool  good = in != NULL && fgets(line, sizeof line, in) != NULL;
    for (size_t row = 0; good && row < lines; row++) {
        good = fgets(line, sizeof line, in) != NULL;
        char *at = strchr(line, ',');
        for (size_t i = 0; i < cells && at != NULL; i++, at = strchr(at + 1, ','))
            out[row * cells + i] = strtod(at + 1, NULL);
    }
    if (in != NULL)
        fclose(in);
    return good;
}

static bool read_svm(void)
{
    static double rows[CONFIGS][6];
    double        levels[3][CONFIGS];
    size_t        len[3] = {0};
    if (!read_numbers("svm_benchmark_tst/configs.csv", CONFIGS, 6, rows[0]) ||
        !read_numbers("svm_benchmark_tst/accuracy_matrix_50x288.csv", 50, CONFIGS, accuracy[0]))
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < CONFIGS; i++) {
            size_t kernel = rows[i][0] > .5 ? 0 : rows[i][1] > .5 ? 1 : 2, c = level_of(levels[0], &len[0], rows[i][3]);
            size_t other = kernel == 2 ? 0 : level_of(levels[1 + kernel], &len[1 + kernel], rows[i][4 + kernel]);
            config_at[kernel][c][other] = i;
        }
    return len[0] == 12 && len[1] == 14 && len[2] == 9;
}

static int nearest_net(const double *at, const double *scale)
{
    int    found = 0;
    double least = HUGE_VAL;
    for (int i = 0; i < NETS; i++) {
        double square = 0;
        for (size_t j = 0; j < PARAMS; j++)
            square += pow((at[j] - nets[i][j]) / scale[j], 2);
        if (square < least) {
            least = square;
            found = i;
        }
    }
    return found;
}

/* Parameters become the places of their values. */
static bool read_nets(void)
{
    static const double sizes[PARAMS] = {10, 10, 3, 10, 10};
    double              levels[PARAMS][NETS], at[PARAMS];
    size_t              len[PARAMS] = {0};
    if (!read_numbers("hpobench_tabular/hpobench_mlp_8tasks_3000configs.csv", NETS, PARAMS + NET_TASKS, nets[0]))
        return false;
    for (size_t j = 0; j < PARAMS; j++) {
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < NETS; i++) {
                double place = (double)level_of(levels[j], &len[j], log(nets[i][j]));
                if (pass == 1)
                    nets[i][j] = place;
            }
        if (len[j] != (size_t)sizes[j])
            return false;
    }
    for (size_t cell = 0; cell < CELLS_MAX; cell++) {
        size_t rest = cell;
        for (size_t j = PARAMS; j-- > 0; rest /= (size_t)sizes[j])
            at[j] = (double)(rest % (size_t)sizes[j]);
        (&net_at[0][0][0][0][0])[cell] = nearest_net(at, sizes);
    }
    return true;
}

static void make_tasks(const struct world *w, size_t members, uint64_t seed)
{
    struct rng rng = rng_at(seed, 900, RNG_TEST);
    made_dims = w->space.params_len;
    made_base = w->base;
    made_members = members;
    for (size_t t = 0; t < members + TARGETS; t++) {
        struct made_task *m = &made[t];
        double            share = w->share * (is_unrelated && t >= members ? 5 : 1);
        for (size_t j = 0; j < made_dims; j++) {
            m->scale[j] = exp(w->spread * rng_normal(&rng));
            m->shift[j] = w->spread * rng_normal(&rng);
        }
        for (size_t i = 0; i < WAVES; i++) {
            for (size_t j = 0; j < made_dims; j++)
                m->frequency[i][j] = rng_normal(&rng) / .25;
            m->phase[i] = 2 * PI * rng_uniform(&rng);
            m->weight[i] = share * rng_normal(&rng);
        }
    }
}

/* The best and the median value of a task, over its points or a grid of them. */
static void levels_of(const struct world *w, size_t task, double *best, double *median)
{
    static double values[CELLS_MAX];
    double        point[PARAMS], side = w->space.params_len == 2 ? 127 : 24;
    size_t        len = 0;
    bool          is_finite = w->space.params != cube;
    if (is_finite) {
        (void)space_first(&w->space, point);
        do
            values[len++] = w->value(task, point);
        while (space_step(&w->space, point));
    } else {
        size_t cells = (size_t)pow(side + 1, (double)w->space.params_len);
        for (; len < cells; len++) {
            for (size_t j = 0, i = len; j < w->space.params_len; j++, i /= (size_t)side + 1)
                point[j] = (double)(i % ((size_t)side + 1)) / side;
            values[len] = w->value(task, point);
        }
    }
    *best = -HUGE_VAL;
    for (size_t i = 0; i < len; i++)
        *best = fmax(*best, values[i]);
    double low = -1e3, high = *best;
    for (int i = 0; i < 60; i++) {
        size_t below = 0;
        *median = (low + high) / 2;
        for (size_t k = 0; k < len; k++)
            below += values[k] <= *median;
        *(2 * below < len ? &low : &high) = *median;
    }
}

static struct world *find_world(const char *name)
{
    struct world *found = NULL;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        if (strcmp(worlds[i].name, name) == 0)
            found = &worlds[i];
    return found;
}

#endif
