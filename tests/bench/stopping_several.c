/* Early stopping with several objectives, on tables of real curves: what share of the hypervolume of the table's front the whole
 * runs have, after a part of the epochs of a search without stopping.
 *   stopping_several ALGORITHM REPETITIONS[:FIRST] PARAMS FILE[:COLUMN] ...
 * FILE is a table with PARAMS columns of parameters behind the first one, then e0 or e1 .. with what is maximised, then as many
 * columns s1 .. with what is minimised; where these are not there, that is the parameter of this COLUMN (from 0), the size of a
 * network say.  A proposal stands for the nearest row that was not tried.  The search without stopping has WHOLE runs to the
 * end, all others PART of its epochs.  "1 epoch, best k" draws START rows, runs each for one epoch, and with what is left the
 * best of them by rank.h to the end.  A rule "from 3" compares nothing before the third epoch; ! is the guard.  The hypervolume
 * is measured from the median of what is maximised and the 90th percentile of what is minimised, over the ends of all rows.
 * Lines: table, method, mean share, the mean difference to no stopping by seed, its standard error, epochs as a share, whole
 * runs, + or ! where the difference is beyond two standard errors.  At the end how often, by method. */
#include "engine/base/numbers.h"
#include "engine/acquisition/pareto.h"
#include "engine/registry.h"
#include "engine/stopping/rank.h"
#include "engine/stopping/streams.h"
#include "tests/bench/stopping_table.h"

#include <string.h>

enum { OPTIONS_MAX = 48 };
enum { WHOLE = 25, START = 100, M = 2 };
static const double           PART = 0.6;
static const enum metric_kind KINDS[M] = {METRIC_OBJECTIVE, METRIC_OBJECTIVE};

struct table {
    const char  *name;
    struct param params[PARAMS_MAX];
    size_t       params_len, configs, epochs;
    double       points[CONFIGS_MAX][PARAMS_MAX];
    double       values[CONFIGS_MAX][EPOCHS_MAX][M]; /* larger is better */
    double       reference[M], best;                 /* the hypervolume of all rows */
};

static const struct method {
    const char         *name;
    enum stop_rule_kind rule;
    size_t              from;
    bool                guard, resumes, is_one_epoch;
} methods[] = {
    {"no stopping", STOP_RULE_NONE, 1, false, false, false},
    {"1 epoch, best k", STOP_RULE_NONE, 1, false, false, true},
    {"no stopping, part", STOP_RULE_NONE, 1, false, false, false},
    {"asha", STOP_RULE_ASHA, 1, false, false, false},
    {"asha resume", STOP_RULE_ASHA, 1, false, true, false},
    {"asha resume!", STOP_RULE_ASHA, 1, true, true, false},
    {"asha from 3", STOP_RULE_ASHA, 3, false, false, false},
    {"asha resume from 3", STOP_RULE_ASHA, 3, false, true, false},
    {"asha! from 3", STOP_RULE_ASHA, 3, true, false, false},
    {"asha resume! from 3", STOP_RULE_ASHA, 3, true, true, false},
    {"hyperband", STOP_RULE_HYPERBAND, 1, false, false, false},
    {"median", STOP_RULE_MEDIAN, 1, false, false, false},
    {"median from 3", STOP_RULE_MEDIAN, 3, false, false, false},
    {"median! from 3", STOP_RULE_MEDIAN, 3, true, false, false},
};
enum { METHODS = sizeof methods / sizeof *methods };

struct search {
    struct table        *table;
    const struct method *method;
    struct space         space;
    double               options[OPTIONS_MAX];
    struct streams       streams;
    struct arena         arena;
    struct curves        curves;
    struct stop_rule     rule;
    bool                 used[CONFIGS_MAX];
    double               u[CONFIGS_MAX][PARAMS_MAX];
    size_t               configs[CONFIGS_MAX + 1], trials, spent;
    double               whole[CONFIGS_MAX][M]; /* the ends of whole runs */
    size_t               whole_len;
};

/* --- the table --- */

static double volume(const struct table *table, const double *values, size_t n)
{
    struct arena            arena;
    struct error            err;
    double                  out = 0.0;
    const struct pareto_set set = {.values = values, .n = n, .m = M, .reference = table->reference};
    arena_init(&arena, 64u << 20);
    if (n > 0)
        must(pareto_hypervolume(&set, &out, &arena, &err), &err);
    arena_fini(&arena);
    return out;
}

static void find_ranges(struct table *table)
{
    static double       ends[CONFIGS_MAX][M], sorted[CONFIGS_MAX];
    static const double places[M] = {0.5, 0.1};
    find_params(table->points, table->configs, table->params, table->params_len);
    for (size_t k = 0; k < M; k++) {
        for (size_t i = 0; i < table->configs; i++)
            sorted[i] = ends[i][k] = table->values[i][table->epochs - 1][k];
        qsort(sorted, table->configs, sizeof *sorted, numbers_order);
        table->reference[k] = sorted[(size_t)(places[k] * (double)table->configs)];
    }
    table->best = volume(table, ends[0], table->configs);
}

/* A row; column: of the parameter that is minimised, 0: there are columns of that. */
static void read_row(struct table *table, char *line, size_t column)
{
    char  *at = strchr(line, ',');
    size_t config = table->configs++;
    double size = 0.0;
    for (size_t j = 0; j < table->params_len; j++) {
        table->points[config][j] = strtod(at + 1, &at);
        size = j + 1 == column ? table->points[config][j] : size;
    }
    for (size_t n = 0; n < table->epochs; n++)
        table->values[config][n][0] = strtod(at + 1, &at);
    for (size_t n = 0; n < table->epochs; n++)
        table->values[config][n][1] = -(column > 0 ? size : strtod(at + 1, &at));
}

static void read_table(struct table *table, char *file, size_t params_len)
{
    static char line[1 << 16];
    char       *colon = strchr(file, ':');
    size_t      column = colon == NULL ? 0 : (size_t)strtoul(colon + 1, NULL, 10);
    if (colon != NULL)
        *colon = '\0';
    FILE *in = fopen(file, "r");
    *table =
        (struct table){.name = strrchr(file, '/') == NULL ? file : strrchr(file, '/') + 1, .params_len = params_len};
    if (in == NULL || fgets(line, sizeof line, in) == NULL) {
        fprintf(stderr, "cannot read %s\n", file);
        exit(2);
    }
    for (const char *at = line; *at != '\0'; at++)
        table->epochs += *at == ',';
    table->epochs = (table->epochs - params_len) / (column > 0 ? 1 : M);
    while (table->configs < CONFIGS_MAX && fgets(line, sizeof line, in) != NULL)
        read_row(table, line, column);
    fclose(in);
    find_ranges(table);
}

/* --- one search --- */

static void tell(struct search *search, struct event *event)
{
    struct error err;
    must(curves_tell(&search->curves, event, &err), &err);
    must(streams_tell(&search->streams, &search->curves, event, &err), &err);
}

/* A new trial; 0: all rows were tried. */
static uint64_t start(struct search *search)
{
    static struct proposal proposal;
    struct ask             ask = {.trial = search->trials + 1};
    double                 point[PARAMS_MAX];
    struct error           err;
    if (search->trials == search->table->configs)
        return 0;
    proposal.point = point;
    must(streams_ask(&search->streams, &search->rule, &search->curves, &ask, &proposal, &err), &err);
    size_t       config = find_nearest(&search->space, point, search->u, search->used, search->table->configs);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = ask.trial,
                          .point = search->table->points[config],
                          .note = proposal.note,
                          .note_bytes = proposal.note_bytes};
    search->used[config] = true;
    search->configs[++search->trials] = config;
    tell(search, &event);
    return ask.trial;
}

static uint64_t resume(struct search *search)
{
    const struct curve *curve = NULL;
    struct error        err;
    if (search->method->resumes)
        must(stop_rule_resume(&search->rule, &search->curves, &curve, &search->arena, &err), &err);
    if (curve == NULL)
        return 0;
    struct event event = {
        .kind = EVENT_SUGGESTED, .trial = curve->trial, .point = search->table->points[search->configs[curve->trial]]};
    tell(search, &event);
    return event.trial;
}

static void finish(struct search *search, uint64_t trial, const double *end)
{
    const double values[2 * M] = {end[0], end[1], 0.0, 0.0};
    struct event event = {.kind = EVENT_OBSERVED,
                          .trial = trial,
                          .point = search->table->points[search->configs[trial]],
                          .value = end[0],
                          .values = values};
    memcpy(search->whole[search->whole_len++], end, M * sizeof *end);
    tell(search, &event);
}

/* Runs the trial from the epoch behind the last of its curve, until it is stopped, or limit epochs are spent. */
static void evaluate(struct search *search, uint64_t trial, size_t limit)
{
    static struct verdict verdict;
    const struct table   *table = search->table;
    const double(*values)[M] = table->values[search->configs[trial]];
    const struct curve *curve = curves_find(&search->curves, trial);
    struct error        err;
    size_t              from = curve == NULL ? 0 : (size_t)curve->steps[curve->len - 1];
    for (size_t n = from; n < table->epochs && search->spent < limit; n++) {
        const struct measurement measurement = {
            .trial = trial, .step = n + 1, .value = values[n][0], .values = values[n]};
        must(stop_rule_judge(&search->rule, &search->curves, &measurement, &verdict, &search->arena, &err), &err);
        struct event event = {.kind = EVENT_MEASURED,
                              .trial = trial,
                              .point = table->points[search->configs[trial]],
                              .step = n + 1,
                              .value = values[n][0],
                              .values = values[n]};
        search->spent++;
        tell(search, &event);
        event.kind = EVENT_STOPPED;
        if (verdict.stop) {
            tell(search, &event);
            return;
        }
    }
    curve = curves_find(&search->curves, trial);
    if (curve != NULL && curve->len > 0 && curve->steps[curve->len - 1] == (double)table->epochs)
        finish(search, trial, values[table->epochs - 1]);
}

static void begin(struct search *search, struct table *table, const struct method *method, const char *algorithm,
                  struct problem *problem)
{
    const struct policy *policy = policy_find(algorithm);
    struct error         err;
    memset(search, 0, sizeof *search);
    search->table = table;
    search->method = method;
    policy_defaults(policy, search->options);
    search->rule = (struct stop_rule){.kind = method->rule,
                                      .epochs = table->epochs,
                                      .min_trials = 5,
                                      .min_epochs = method->from,
                                      .warm_up = method->from,
                                      .reduction = 3,
                                      .guard = method->guard};
    search->space = (struct space){.kind = SPACE_PARAMETERS, .params = table->params, .params_len = table->params_len};
    must(space_init(&search->space, &err), &err);
    for (size_t i = 0; i < table->configs; i++)
        space_encode(&search->space, table->points[i], search->u[i]);
    arena_init(&search->arena, 256u << 20);
    must(curves_init_several(&search->curves, &search->arena, KINDS, M, &err), &err);
    problem->space = &search->space;
    problem->options = search->options;
    must(streams_open(&search->streams, policy, problem, &search->rule, &err), &err);
}

/* START rows for one epoch each; the best of them to the end. */
static void run_one_epoch(struct search *search, size_t limit)
{
    static double values[START][M];
    size_t        order[START], n = START < search->table->configs ? START : search->table->configs;
    struct error  err;
    for (size_t i = 0; i < n; i++) {
        uint64_t trial = start(search);
        memcpy(values[i], search->table->values[search->configs[trial]][0], sizeof values[i]);
    }
    const struct rank_set set = {values[0], KINDS, n, M};
    must(rank_order(&set, order, &search->arena, &err), &err);
    search->spent = n;
    for (size_t i = 0; i < n && search->spent + search->table->epochs - 1 <= limit; i++) {
        search->spent += search->table->epochs - 1;
        memcpy(search->whole[search->whole_len++],
               search->table->values[search->configs[order[i] + 1]][search->table->epochs - 1], M * sizeof(double));
    }
}

struct result {
    double share, epochs, whole;
};

static struct result run(struct table *table, const struct method *method, const char *algorithm, uint64_t seed)
{
    static struct search search;
    struct problem       problem = {.seed = seed, .memory_bytes = 256u << 20, .metrics = KINDS, .metrics_len = M};
    size_t               full = WHOLE * table->epochs, limit = method == methods ? full : (size_t)(PART * (double)full);
    begin(&search, table, method, method->is_one_epoch ? "random" : algorithm, &problem);
    if (method->is_one_epoch)
        run_one_epoch(&search, limit);
    while (search.spent < limit && !method->is_one_epoch) {
        uint64_t trial = resume(&search);
        if (trial == 0)
            trial = start(&search);
        if (trial == 0)
            break;
        evaluate(&search, trial, limit);
    }
    struct result out = {.share = volume(table, search.whole[0], search.whole_len) / table->best,
                         .epochs = (double)search.spent / (double)full,
                         .whole = (double)search.whole_len};
    streams_close(&search.streams);
    arena_fini(&search.arena);
    return out;
}

/* --- comparison --- */

static void compare(struct table *table, const char *algorithm, size_t repetitions, uint64_t first,
                    int tally[METHODS][2])
{
    static double none[REPETITIONS_MAX];
    for (size_t m = 0; m < METHODS; m++) {
        double n = (double)repetitions, share = 0.0, apart = 0.0, squares = 0.0, epochs = 0.0, whole = 0.0;
        for (size_t r = 0; r < repetitions; r++) {
            struct result result = run(table, &methods[m], algorithm, first + r);
            none[r] = m == 0 ? result.share : none[r];
            share += result.share / n;
            epochs += result.epochs / n;
            whole += result.whole / n;
            apart += (result.share - none[r]) / n;
            squares += (result.share - none[r]) * (result.share - none[r]) / n;
        }
        double error = sqrt((squares - apart * apart) / fmax(n - 1.0, 1.0));
        bool   is_better = apart > 2.0 * error, is_worse = -apart > 2.0 * error;
        tally[m][0] += is_better;
        tally[m][1] += is_worse;
        printf("%s,%s,%.3f,%.4f,%.4f,%.2f,%.1f,%s\n", table->name, methods[m].name, share, apart, error, epochs, whole,
               is_better  ? "+"
               : is_worse ? "!"
                          : "");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static struct table table;
    int                 tally[METHODS][2] = {{0}};
    const char         *colon = argc > 2 ? strchr(argv[2], ':') : NULL;
    size_t              repetitions = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    size_t              params_len = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 0;
    if (argc < 5 || policy_find(argv[1]) == NULL || repetitions < 2 || repetitions > REPETITIONS_MAX ||
        params_len == 0 || params_len > PARAMS_MAX) {
        fputs("stopping_several ALGORITHM REPETITIONS[:FIRST] PARAMS FILE[:COLUMN] ...\n", stderr);
        return 2;
    }
    for (int i = 4; i < argc; i++) {
        read_table(&table, argv[i], params_len);
        compare(&table, argv[1], repetitions, colon == NULL ? 1 : strtoul(colon + 1, NULL, 10), tally);
    }
    for (size_t m = 0; m < METHODS; m++)
        printf("all,%s,better %d,worse %d,of %d\n", methods[m].name, tally[m][0], tally[m][1], argc - 4);
    return 0;
}
