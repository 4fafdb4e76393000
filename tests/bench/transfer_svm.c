/* The algorithms that learn from earlier studies on the SVM benchmark of Wistuba, Schilling & Schmidt-Thieme 2015: the
 * accuracy of 288 configurations on 50 data sets.  Each of 25 data sets is the target in turn, the other 49 are earlier
 * studies of 50 random configurations each; 5 runs from a common random configuration (Dai, thesis, 7.6.2, D.2.2).
 * usage: transfer_svm [--data FOLDER] [--targets FIRST,COUNT] [--runs N] [--beta B] [--only NAME OPTIONS]
 * FOLDER (or the environment's DATA) has svm_benchmark_tst with accuracy_matrix_50x288.csv and configs.csv, which have
 * no licence that would allow a copy here: without them nothing is run.
 * B is that of both GP-UCBs, the algorithm's own 4 unless said otherwise.  (When a study's own hyper-parameters take the
 * place of the earlier ones' was chosen on the other 25 data sets, --targets 25,25.)
 * Prints average rank and simple regret after some evaluations, standard errors over the targets, and the verdicts:
 * RM-GP-UCB is ahead of GP-UCB after 10, 20 and 30, and not behind RGPE after 20 by more than a standard error. */
#include "tests/bench/transfer.h"
#include "engine/registry.h"

enum { TASKS = 50, CONFIGS = 288, COLUMNS = 6, EARLIER = 49, VALUES = 50, QUERIES_MAX = 29, TIMES = 6, METHODS = 7 };
static const size_t times[TIMES] = {1, 3, 5, 10, 20, 30}; /* evaluations, the first random one included */

static const struct method {
    const char *name, *policy, *options;
    bool        learns;
} methods[METHODS] = {
    {"rm-gp-ucb", "rm-gp-ucb", "", true}, {"rm-gp-ts", "rm-gp-ts", "", true}, {"gp-ucb", "rm-gp-ucb", "", false},
    {"rgpe", "rgpe", "", true},           {"taf", "taf", "", true},           {"gp", "gp", "", false},
    {"random", "random", "", false},
};

static const char *beta = "4";
static double      accuracy[TASKS][CONFIGS], configs[CONFIGS * COLUMNS];

/* The numbers of the lines after the first, without the first cell of each. */
static bool read_table(const char *folder, const char *name, size_t lines, size_t cells, double *out)
{
    char  path[1024];
    char *line = NULL;
    snprintf(path, sizeof path, "%s/svm_benchmark_tst/%s", folder, name);
    FILE  *file = fopen(path, "r");
    size_t room = 0, count = 0;
    bool   good = file != NULL && getline(&line, &room, file) > 0;
    for (; good && count < lines && getline(&line, &room, file) > 0; count++) {
        char *at = strchr(line, ',');
        for (size_t i = 0; i < cells && at != NULL; i++) {
            out[count * cells + i] = strtod(at + 1, NULL);
            at = strchr(at + 1, ',');
        }
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return good && count == lines;
}

/* ---- one run ---- */

struct earlier {
    struct earlier_study study[EARLIER];
    size_t               rows[EARLIER][VALUES];
    double               values[EARLIER][VALUES];
};

static void make_earlier(size_t target, uint64_t stream, struct earlier *out)
{
    struct rng rng = rng_at(stream, 6, RNG_TEST);
    for (size_t i = 0; i < EARLIER; i++) {
        size_t task = i < target ? i : i + 1, order[CONFIGS];
        for (size_t j = 0; j < CONFIGS; j++)
            order[j] = j;
        for (size_t j = 0; j < VALUES; j++) {
            size_t other = j + rng_below(&rng, CONFIGS - j), swapped = order[j];
            order[j] = order[other];
            order[other] = swapped;
            out->rows[i][j] = order[j];
            out->values[i][j] = accuracy[task][order[j]];
        }
        out->study[i] = (struct earlier_study){.rows = out->rows[i], .values = out->values[i], .n = VALUES};
    }
}

/* Simple regret after each of the times. */
static void run_method(const struct method *method, size_t target, uint64_t stream, double regret[TIMES])
{
    static struct earlier earlier;
    struct space          space = {.kind = SPACE_CANDIDATES, .rows = configs, .rows_len = CONFIGS, .columns = COLUMNS};
    double                options[TRANSFER_OPTIONS_MAX], best = 0, optimum = 0;
    size_t                places[QUERIES_MAX + 1];
    struct rng            rng = rng_at(stream, 7, RNG_TEST);
    struct error          err = {0};
    must(space_init(&space, &err), &err);
    make_earlier(target, stream, &earlier);
    struct transfer_run run = {.policy = policy_find(method->policy),
                               .problem = {.space = &space,
                                           .options = options,
                                           .seed = stream,
                                           .memory_bytes = 1 << 27,
                                           .earlier = earlier.study,
                                           .earlier_len = method->learns ? EARLIER : 0},
                               .noise_stream = stream,
                               .f = accuracy[target],
                               .first = rng_below(&rng, CONFIGS),
                               .queries = QUERIES_MAX,
                               .places = places};
    transfer_set_options(run.policy, method->options, options);
    if (policy_option(run.policy, "beta") >= 0 && method->options[0] == '\0')
        options[policy_option(run.policy, "beta")] = strtod(beta, NULL);
    int initial = policy_option(run.policy, "initial");
    if (initial >= 0)
        options[initial] = 1;
    transfer_run_study(&run);
    for (size_t i = 0; i < CONFIGS; i++)
        optimum = fmax(optimum, accuracy[target][i]);
    for (size_t t = 0, at = 0; t <= QUERIES_MAX; t++) {
        best = fmax(best, accuracy[target][places[t]]);
        if (at < TIMES && t + 1 == times[at])
            regret[at++] = optimum - best;
    }
}

/* ---- tables ---- */

/* The outcome of a target: means over its runs. */
struct outcome {
    double rank[METHODS][TIMES], regret[METHODS][TIMES];
};

static void add_ranks(double regret[METHODS][TIMES], int runs, struct outcome *out)
{
    for (size_t k = 0; k < TIMES; k++)
        for (size_t m = 0; m < METHODS; m++) {
            double rank = 1;
            for (size_t other = 0; other < METHODS; other++)
                rank += other == m                         ? 0
                        : regret[other][k] < regret[m][k]  ? 1
                        : regret[other][k] == regret[m][k] ? 0.5
                                                           : 0;
            out->rank[m][k] += rank / runs;
            out->regret[m][k] += regret[m][k] / runs;
        }
}

struct moments {
    double mean, se;
};

static struct moments moments_of(const double *values, size_t n)
{
    struct moments m = {0, 0};
    for (size_t i = 0; i < n; i++)
        m.mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        m.se += pow(values[i] - m.mean, 2);
    m.se = sqrt(m.se / fmax((double)n - 1, 1) / (double)n);
    return m;
}

static void print_table(const struct outcome *outcomes, size_t targets, bool ranks)
{
    double values[TASKS];
    for (size_t m = 0; m < METHODS; m++) {
        printf("%s,%s", ranks ? "rank" : "regret", methods[m].name);
        for (size_t k = 0; k < TIMES; k++) {
            for (size_t i = 0; i < targets; i++)
                values[i] = ranks ? outcomes[i].rank[m][k] : outcomes[i].regret[m][k];
            struct moments mean = moments_of(values, targets);
            printf(ranks ? ",%.2f,%.2f" : ",%.4f,%.4f", mean.mean, mean.se);
        }
        puts("");
    }
}

/* The paired difference of the ranks of methods a and b at time k is below slack standard errors. */
static int check_row(const struct outcome *outcomes, size_t targets, size_t a, size_t b, size_t k, double slack)
{
    double values[TASKS];
    for (size_t i = 0; i < targets; i++)
        values[i] = outcomes[i].rank[a][k] - outcomes[i].rank[b][k];
    struct moments m = moments_of(values, targets);
    bool           holds = m.mean < slack * m.se;
    printf("rank of %s - %s after %zu,%.2f,%.2f,%s\n", methods[a].name, methods[b].name, times[k], m.mean, m.se,
           holds ? "ok" : "not");
    return !holds;
}

static int run_targets(size_t first, size_t targets, int runs)
{
    static struct outcome outcomes[TASKS];
    for (size_t i = 0; i < targets; i++)
        for (int run = 0; run < runs; run++) {
            double regret[METHODS][TIMES];
            for (size_t m = 0; m < METHODS; m++)
                run_method(&methods[m], first + i, (first + i) * 100 + (uint64_t)run, regret[m]);
            add_ranks(regret, runs, &outcomes[i]);
        }
    printf("what,method");
    for (size_t k = 0; k < TIMES; k++)
        printf(",after %zu,se", times[k]);
    puts("");
    print_table(outcomes, targets, true);
    print_table(outcomes, targets, false);
    int failures = check_row(outcomes, targets, 0, 3, 4, 1);
    for (size_t k = 3; k < TIMES; k++)
        failures += check_row(outcomes, targets, 0, 2, k, 0);
    return failures;
}

/* For choosing options: the mean regret of one method. */
static int run_one(const char *policy, const char *options, size_t first, size_t targets, int runs)
{
    const struct method method = {policy, policy, options, true};
    double              values[TIMES][TASKS] = {{0}};
    for (size_t i = 0; i < targets; i++)
        for (int run = 0; run < runs; run++) {
            double regret[TIMES];
            run_method(&method, first + i, (first + i) * 100 + (uint64_t)run, regret);
            for (size_t k = 0; k < TIMES; k++)
                values[k][i] += regret[k] / runs;
        }
    printf("%s %s", policy, options);
    for (size_t k = 0; k < TIMES; k++) {
        struct moments m = moments_of(values[k], targets);
        printf(",%.4f,%.4f", m.mean, m.se);
    }
    puts("");
    return 0;
}

int main(int argc, char **argv)
{
    const char *data = getenv("DATA"), *only = NULL, *options = "";
    size_t      first = 0, targets = 25;
    int         runs = 5;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--data") == 0)
            data = argv[i + 1];
        else if (strcmp(argv[i], "--runs") == 0)
            runs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--beta") == 0)
            beta = argv[i + 1];
        else if (strcmp(argv[i], "--targets") == 0 && sscanf(argv[i + 1], "%zu,%zu", &first, &targets) != 2)
            return 2;
        else if (strcmp(argv[i], "--only") == 0 && i + 2 < argc)
            only = argv[i + 1], options = argv[++i + 1];
    }
    if (data == NULL || !read_table(data, "accuracy_matrix_50x288.csv", TASKS, CONFIGS, accuracy[0]) ||
        !read_table(data, "configs.csv", CONFIGS, COLUMNS, configs)) {
        puts("svm benchmark: no data (--data FOLDER), nothing was run");
        return 0;
    }
    if (first + targets > TASKS || targets < 2 || runs < 1)
        return 2;
    mat_use_one_thread();
    if (only != NULL)
        return run_one(only, options, first, targets, runs);
    return run_targets(first, targets, runs) == 0 ? 0 : 1;
}
