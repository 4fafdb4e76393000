/* Early stopping on real learning curves: the best final accuracy that each way of searching has after a part of the
 * epochs that GP-UCB spends on 40 whole evaluations.
 *   stopping_curves [REPETITIONS[:FIRST]] [FILE COLUMNS]
 *   stopping_curves REPETITIONS[:FIRST] FILE COLUMNS maximize|minimize METHOD ...
 * FILE is a table with columns e0 or e1 .. of accuracies in [0, 1]; COLUMNS the numbers of the columns of its
 * parameters, such as 1,2 (from 0).  Without it: tests/data/learning_curves.
 * A proposal stands for the nearest configuration of the table that was not tried yet, and the algorithm is told that
 * configuration's own point.  Repetition r = 0, 1, .. has the study seed FIRST + r (FIRST is 1), so that all begin with the same
 * six points.
 * gp-ucb runs all trials to the end; bo-bos stops by itself; gp-ucb with the median rule and with successive halving
 * (ASHA) stops by those.  All but gp-ucb end when 65 % of its epochs are spent.  best is over trials that ran to the
 * end; stopped says what share was not.
 * The second form is a race of those METHODs (ALGORITHM or ALGORITHM+RULE, with ! behind a rule that has its guard, or
 * optuna-SAMPLER+PRUNER, which stopping_peer.py runs on the same table) by the best value seen at any epoch, over whatever
 * range: the regret against the table's best after 5, 10 and 25 whole trainings' epochs, in thousandths, its difference to
 * the first METHOD's by seed, and the standard error of that; then after how many epochs the mean regret is what the first
 * METHOD's is after 25, as a share of its own (empty: never).  Behind the METHODs stand the differences of ours to each of
 * Optuna's.  The rule resume is asha that goes on with stopped trials, as a study with "resume" does.  The rule one is no
 * rule: ONE_EPOCH trials have one epoch each, and with what is left the best of them run to the end.
 * A search that has tried the whole table, and has nothing to go on with, keeps its regret to the end.
 * FILE may be a curve of FUNCTIONS below, of three parameters, 27 epochs and at best 0, which has a value at any point (COLUMNS is -): who
 * starts many trials of a table sees most of it, and need not find anything.
 * Exit code 1 when bo-bos has not reached gp-ucb's best within its standard error. */
#include "engine/stopping/streams.h"
#include "engine/registry.h"
#include "tests/bench/stopping_table.h"

#include <string.h>

enum { TRIALS = 40, OPTIONS_MAX = 32 };
enum { ONE_EPOCH = 60 };
enum { CHECKS = 3, ENTRANTS_MAX = 24, NAME_BYTES = 64, RACE = 25, STEPS_MAX = RACE * EPOCHS_MAX };
static const double PART = 0.65;
static const size_t CHECKED[CHECKS] = {5, 10, RACE}; /* whole trainings */

struct table {
    const char  *name;
    struct param params[PARAMS_MAX];
    size_t       params_len, configs, epochs;
    double       points[CONFIGS_MAX][PARAMS_MAX];
    double       values[CONFIGS_MAX][EPOCHS_MAX];
    void (*fill)(struct table *table,
                 size_t        config); /* a function: its values at a point that is proposed; else NULL */
};

static const struct method {
    const char         *name, *policy;
    enum stop_rule_kind rule;
    bool                guard, resumes, is_one_epoch;
} methods[] = {
    {"gp-ucb", "gp", STOP_RULE_NONE, false, false, false},
    {"bo-bos", "bo-bos", STOP_RULE_OWN, false, false, false},
    {"gp-ucb+median", "gp", STOP_RULE_MEDIAN, false, false, false},
    {"gp-ucb+asha", "gp", STOP_RULE_ASHA, false, false, false},
};
enum { METHODS = sizeof methods / sizeof *methods };

struct result {
    double best, epochs, trials, stopped;
};

/* --- the table --- */

static void read_head(struct table *table, const char *line, size_t *first)
{
    size_t column = 0;
    *first = 0;
    for (const char *at = line; at != NULL; at = strchr(at, ','), at = at == NULL ? NULL : at + 1, column++)
        if (at[0] == 'e' && at[1] >= '0' && at[1] <= '9' && *first == 0)
            *first = column;
    table->epochs = column - *first;
    if (*first == 0 || table->epochs > EPOCHS_MAX) {
        fputs("the table has no columns e0 or e1 ..\n", stderr);
        exit(2);
    }
}

static void read_row(struct table *table, const char *line, const size_t *columns, size_t first)
{
    size_t column = 0, config = table->configs++;
    for (const char *at = line; at != NULL; at = strchr(at, ','), at = at == NULL ? NULL : at + 1, column++) {
        double value = strtod(at, NULL);
        for (size_t j = 0; j < table->params_len; j++)
            if (columns[j] == column)
                table->points[config][j] = value;
        if (column >= first && column - first < table->epochs)
            table->values[config][column - first] = value;
    }
}

static void read_table(struct table *table, const char *file, const char *columns_text)
{
    static char line[1 << 16];
    size_t      columns[PARAMS_MAX], first;
    FILE       *in = fopen(file, "r");
    *table = (struct table){.name = strrchr(file, '/') == NULL ? file : strrchr(file, '/') + 1};
    for (const char *at = columns_text; at != NULL && table->params_len < PARAMS_MAX;
         at = strchr(at, ','), at = at == NULL ? NULL : at + 1)
        columns[table->params_len++] = (size_t)strtoul(at, NULL, 10);
    if (in == NULL || fgets(line, sizeof line, in) == NULL) {
        fprintf(stderr, "cannot read %s\n", file);
        exit(2);
    }
    read_head(table, line, &first);
    while (table->configs < CONFIGS_MAX && fgets(line, sizeof line, in) != NULL)
        read_row(table, line, columns, first);
    fclose(in);
    find_params(table->points, table->configs, table->params, table->params_len);
}

/* --- functions --- */

/* How far below the best, 0. */
static double final_of(const double *x, double waves)
{
    static const double best[] = {0.3, 0.6, 0.8};
    double              sum = 0.0;
    for (size_t j = 0; j < 3; j++)
        sum += (x[j] - best[j]) * (x[j] - best[j]) + waves * (1.0 - cos(20.0 * (x[j] - best[j])));
    return -sum;
}

/* A value that comes nearer to its last as 1 / epoch. */
static void fill_from(struct table *table, size_t config, double final, double slow)
{
    for (size_t n = 1; n <= table->epochs; n++)
        table->values[config][n - 1] = final - slow * (1.0 / (double)n - 1.0 / (double)table->epochs);
}

static void fill_parallel(struct table *table, size_t config)
{
    fill_from(table, config, final_of(table->points[config], 0.0), 0.3);
}

static void fill_waves(struct table *table, size_t config)
{
    fill_from(table, config, final_of(table->points[config], 0.05), 0.3);
}

static void fill_late(struct table *table, size_t config)
{
    double final = final_of(table->points[config], 0.0);
    fill_from(table, config, final, 2.0 * exp(5.0 * final));
}

static const struct {
    const char *name;
    void (*fill)(struct table *table, size_t config);
} FUNCTIONS[] = {
    {"parallel", fill_parallel}, {"waves", fill_waves}, {"late", fill_late}}; /* late: the best are slowest */

static bool make_function(struct table *table, const char *name)
{
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        if (strcmp(FUNCTIONS[i].name, name) != 0)
            continue;
        *table = (struct table){.name = FUNCTIONS[i].name, .fill = FUNCTIONS[i].fill, .params_len = 3, .epochs = 27};
        for (size_t j = 0; j < table->params_len; j++)
            table->params[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .max = 1.0};
        return true;
    }
    return false;
}

/* --- one search --- */

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
    size_t               spent; /* epochs of all trials */
    double               seen;  /* the best value at any of them */
    double              *path;  /* [RACE epochs] of a race: seen after each; else NULL */
    double               u[CONFIGS_MAX][PARAMS_MAX];
    size_t               configs[CONFIGS_MAX + 1]; /* of each trial */
};

static void set_option(struct search *search, const char *name, double value)
{
    int option = policy_option(policy_find(search->method->policy), name);
    if (option >= 0)
        search->options[option] = value;
}

static void tell(struct search *search, struct event *event)
{
    struct error err;
    must(curves_tell(&search->curves, event, &err), &err);
    must(streams_tell(&search->streams, &search->curves, event, &err), &err);
}

/* The nearest configuration that was not tried; of a function the point itself. */
static size_t choose(struct search *search, uint64_t trial, struct proposal *proposal)
{
    struct table *table = search->table;
    struct ask    ask = {.trial = trial};
    double        point[PARAMS_MAX];
    struct error  err;
    proposal->point = point;
    must(streams_ask(&search->streams, &search->rule, &search->curves, &ask, proposal, &err), &err);
    if (table->fill != NULL) {
        memcpy(table->points[table->configs], point, table->params_len * sizeof *point);
        table->fill(table, table->configs);
        return table->configs++;
    }
    size_t chosen = find_nearest(&search->space, point, search->u, search->used, table->configs);
    search->used[chosen] = true;
    return chosen;
}

static void judge(struct search *search, const struct measurement *measurement, struct verdict *verdict)
{
    struct error err;
    if (search->method->rule == STOP_RULE_OWN)
        must(policy_find(search->method->policy)->judge(search->streams.session, measurement, verdict, &err), &err);
    else
        must(stop_rule_judge(&search->rule, &search->curves, measurement, verdict, &search->arena, &err), &err);
}

static void look(struct search *search, double value)
{
    search->seen = fmax(search->seen, value);
    if (search->path != NULL && search->spent < RACE * search->table->epochs)
        search->path[search->spent] = search->seen;
    search->spent++;
}

/* The trial to go on with, which then runs again; 0: none. */
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

static uint64_t start(struct search *search, uint64_t trial)
{
    static struct proposal proposal;
    size_t                 config = choose(search, trial, &proposal);
    struct event           event = {.kind = EVENT_SUGGESTED,
                                    .trial = trial,
                                    .point = search->table->points[config],
                                    .note = proposal.note,
                                    .note_bytes = proposal.note_bytes};
    search->configs[trial] = config;
    tell(search, &event);
    return trial;
}

/* Returns how many epochs were run, from the one behind the last of the trial's curve. */
static size_t evaluate(struct search *search, uint64_t trial, struct verdict *verdict)
{
    size_t              config = search->configs[trial];
    const double       *values = search->table->values[config], *point = search->table->points[config];
    const struct curve *curve = curves_find(&search->curves, trial);
    size_t              from = curve == NULL ? 0 : (size_t)curve->steps[curve->len - 1];
    for (size_t n = from + 1; n <= search->table->epochs; n++) {
        const struct measurement measurement = {.trial = trial, .step = n, .value = values[n - 1]};
        judge(search, &measurement, verdict);
        look(search, values[n - 1]);
        struct event event = {.kind = EVENT_MEASURED,
                              .trial = trial,
                              .point = point,
                              .step = n,
                              .value = values[n - 1],
                              .note = verdict->note,
                              .note_bytes = verdict->note_bytes};
        tell(search, &event);
        event.kind = verdict->stop ? EVENT_STOPPED : EVENT_OBSERVED;
        if (verdict->stop || n == search->table->epochs)
            tell(search, &event);
        if (verdict->stop)
            return n - from;
    }
    return search->table->epochs - from;
}

static void begin(struct search *search, struct table *table, const struct method *method, uint64_t seed,
                  struct problem *problem)
{
    const struct policy *policy = policy_find(method->policy);
    struct error         err;
    double              *path = search->path;
    memset(search, 0, sizeof *search);
    search->path = path;
    search->table = table;
    table->configs = table->fill != NULL ? 0 : table->configs;
    search->method = method;
    policy_defaults(policy, search->options);
    search->seen = -HUGE_VAL;
    if (search->path == NULL)
        set_option(search, "acquisition", 1); /* ucb */
    set_option(search, "initial", 6);
    set_option(search, "epochs", (double)table->epochs);
    search->rule = (struct stop_rule){.kind = method->rule,
                                      .epochs = table->epochs,
                                      .min_trials = 5,
                                      .min_epochs = 1,
                                      .reduction = 3,
                                      .percentile = 25,
                                      .patience = (table->epochs + 4) / 5,
                                      .guard = method->guard};
    search->space = (struct space){.kind = SPACE_PARAMETERS, .params = table->params, .params_len = table->params_len};
    must(space_init(&search->space, &err), &err);
    for (size_t i = 0; i < table->configs; i++)
        space_encode(&search->space, table->points[i], search->u[i]);
    arena_init(&search->arena, 64u << 20);
    curves_init(&search->curves, &search->arena);
    *problem =
        (struct problem){.space = &search->space, .options = search->options, .seed = seed, .memory_bytes = 256u << 20};
    must(streams_open(&search->streams, policy, problem, &search->rule, &err), &err);
}

/* ONE_EPOCH trials for one epoch each; the best of them to the end, for as long as the path is. */
static void run_one_epoch(struct search *search)
{
    uint64_t trials = 0;
    bool     is_run[ONE_EPOCH + 1] = {false};
    while (trials < ONE_EPOCH && (search->table->fill != NULL || trials < search->table->configs)) {
        (void)start(search, ++trials);
        look(search, search->table->values[search->configs[trials]][0]);
    }
    for (uint64_t run = 1; run <= trials && search->spent < RACE * search->table->epochs; run++) {
        uint64_t best = 0;
        for (uint64_t i = 1; i <= trials; i++)
            if (!is_run[i] && (best == 0 || search->table->values[search->configs[i]][0] >
                                                search->table->values[search->configs[best]][0]))
                best = i;
        is_run[best] = true;
        for (size_t n = 1; n < search->table->epochs; n++)
            look(search, search->table->values[search->configs[best]][n]);
    }
}

/* path as in struct search. */
static struct result run(struct table *table, const struct method *method, uint64_t seed, double *path)
{
    static struct search  search;
    static struct verdict verdict;
    struct problem        problem;
    struct result         out = {0};
    uint64_t              trials = 0;
    double                whole = (double)(TRIALS * table->epochs);
    search.path = path;
    begin(&search, table, method, seed, &problem);
    double limit = method->rule == STOP_RULE_NONE ? whole : PART * whole;
    limit = path != NULL ? (double)(RACE * table->epochs) : limit;
    if (method->is_one_epoch)
        run_one_epoch(&search);
    while (!method->is_one_epoch && out.epochs < limit) {
        uint64_t trial = resume(&search);
        out.stopped -= trial != 0;
        if (trial == 0 && trials == (table->fill != NULL ? CONFIGS_MAX : table->configs))
            break;
        if (trial == 0)
            trial = start(&search, ++trials);
        out.epochs += (double)evaluate(&search, trial, &verdict);
        out.stopped += verdict.stop;
        if (!verdict.stop && out.epochs <= limit)
            out.best = fmax(out.best, table->values[search.configs[trial]][table->epochs - 1]);
    }
    out.trials = (double)trials;
    for (; path != NULL && search.spent < RACE * table->epochs; search.spent++)
        path[search.spent] = search.seen;
    streams_close(&search.streams);
    arena_fini(&search.arena);
    return out;
}

/* --- the tables --- */

struct summary {
    double mean, se;
};

static struct summary summarise(const double *x, size_t n)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
    return (struct summary){sum / (double)n, sqrt(squares / (double)(n - 1) / (double)n)};
}

static bool compare(struct table *table, size_t repetitions, uint64_t first)
{
    struct summary reference = {0};
    bool           ok = true;
    for (size_t m = 0; m < METHODS; m++) {
        double best[REPETITIONS_MAX], epochs = 0.0, trials = 0.0, stopped = 0.0;
        for (size_t r = 0; r < repetitions; r++) {
            struct result result = run(table, &methods[m], first + r, NULL);
            best[r] = result.best;
            epochs += result.epochs / (double)repetitions;
            trials += result.trials / (double)repetitions;
            stopped += result.stopped / (double)repetitions;
        }
        struct summary summary = summarise(best, repetitions);
        reference = m == 0 ? summary : reference;
        bool reached = summary.mean >= reference.mean - reference.se;
        ok = ok && (reached || methods[m].rule != STOP_RULE_OWN);
        printf("%s,%s,%.4f,%.4f,%.0f,%.1f,%.2f,%s\n", table->name, methods[m].name, summary.mean, summary.se, epochs,
               trials, stopped / trials,
               methods[m].rule == STOP_RULE_NONE  ? ""
               : reached                          ? "ok"
               : methods[m].rule == STOP_RULE_OWN ? "NOT"
                                                  : "below");
        fflush(stdout);
    }
    return ok;
}

/* --- races --- */

static bool is_peer(const struct method *method)
{
    return strncmp(method->name, "optuna-", 7) == 0;
}

/* name: a copy of the text, which is cut into its parts. */
static bool read_method(char *text, char name[NAME_BYTES], struct method *method)
{
    static const struct {
        const char         *name;
        enum stop_rule_kind kind;
        bool                resumes;
    } rules[] = {{"none", STOP_RULE_NONE, false},
                 {"median", STOP_RULE_MEDIAN, false},
                 {"percentile", STOP_RULE_PERCENTILE, false},
                 {"patience", STOP_RULE_PATIENCE, false},
                 {"asha", STOP_RULE_ASHA, false},
                 {"resume", STOP_RULE_ASHA, true},
                 {"hyperband", STOP_RULE_HYPERBAND, false},
                 {"bos", STOP_RULE_OWN, false},
                 {"one", STOP_RULE_NONE, false}};
    char  *plus = strchr(text, '+'), *mark = plus == NULL ? NULL : strchr(plus, '!');
    size_t i = 0;
    snprintf(name, NAME_BYTES, "%s", text);
    *method = (struct method){.name = name};
    if (is_peer(method))
        return true;
    *method = (struct method){.name = name, .policy = text, .guard = mark != NULL};
    if (plus != NULL)
        *plus = '\0';
    if (mark != NULL)
        *mark = '\0';
    while (plus != NULL && i < sizeof rules / sizeof *rules && strcmp(rules[i].name, plus + 1) != 0)
        i++;
    method->rule = i < sizeof rules / sizeof *rules ? rules[i].kind : STOP_RULE_OFF;
    method->resumes = i < sizeof rules / sizeof *rules && rules[i].resumes;
    method->is_one_epoch = plus != NULL && strcmp(plus + 1, "one") == 0;
    return policy_find(text) != NULL && method->rule != STOP_RULE_OFF;
}

static void flip(struct table *table)
{
    for (size_t i = 0; i < table->configs; i++)
        for (size_t n = 0; n < table->epochs; n++)
            table->values[i][n] = -table->values[i][n];
}

struct race {
    struct table *table;
    char        **words; /* FILE COLUMNS GOAL */
    size_t        repetitions, len;
    uint64_t      first;
    struct method entrants[ENTRANTS_MAX];
    double        regrets[ENTRANTS_MAX][CHECKS][REPETITIONS_MAX]; /* in thousandths */
    double        paths[REPETITIONS_MAX][STEPS_MAX];              /* of the entrant that runs, see struct search */
    double        top, end;                                       /* the table's best; the first's mean at the end */
    size_t        reached;                                        /* the epochs after which that is its mean */
};

/* Runs a peer on all seeds; it writes a line for each: epochs and the value seen, wherever that is better than before. */
static void run_peer(struct race *race, const struct method *method)
{
    static char line[1 << 16];
    snprintf(line, sizeof line, "/usr/bin/python3 -B tests/bench/stopping_peer.py '%s' %zu:%llu '%s' '%s' '%s'",
             method->name + strlen("optuna-"), race->repetitions, (unsigned long long)race->first, race->words[0],
             race->words[1], race->words[2]);
    FILE *in = popen(line, "r");
    for (size_t r = 0; r < race->repetitions; r++) {
        double *path = race->paths[r];
        if (in == NULL || fgets(line, sizeof line, in) == NULL) {
            fprintf(stderr, "%s did not answer\n", method->name);
            exit(2);
        }
        for (char *at = line, *rest; at[strspn(at, " \n")] != '\0'; at = rest) {
            size_t from = (size_t)strtoul(at, &rest, 10) - 1;
            double value = strtod(rest, &rest);
            for (size_t n = from; n < RACE * race->table->epochs; n++)
                path[n] = value;
        }
    }
    pclose(in);
}

static double mean_regret(const struct race *race, size_t epochs)
{
    double sum = 0.0;
    for (size_t r = 0; r < race->repetitions; r++)
        sum += race->top - race->paths[r][epochs - 1];
    return sum / (double)race->repetitions;
}

/* After how many epochs the mean regret is the first's at the end; 0: never. */
static size_t reach(const struct race *race)
{
    for (size_t n = 1; n <= RACE * race->table->epochs; n++)
        if (mean_regret(race, n) <= race->end + 1e-12)
            return n;
    return 0;
}

static void print_gap(const struct race *race, size_t one, size_t other, size_t check)
{
    double gaps[REPETITIONS_MAX];
    for (size_t r = 0; r < race->repetitions; r++)
        gaps[r] = race->regrets[one][check][r] - race->regrets[other][check][r];
    struct summary gap = summarise(gaps, race->repetitions);
    printf(",%.3g,%.3g", gap.mean, gap.se);
}

static void enter(struct race *race, size_t i)
{
    const struct method *method = &race->entrants[i];
    struct result        all = {0};
    if (is_peer(method))
        run_peer(race, method);
    for (size_t r = 0; r < race->repetitions && !is_peer(method); r++) {
        struct result result = run(race->table, method, race->first + r, race->paths[r]);
        all.trials += result.trials / (double)race->repetitions;
        all.stopped += result.stopped / (double)race->repetitions;
    }
    printf("%s,%s", race->table->name, method->name);
    for (size_t c = 0; c < CHECKS; c++) {
        for (size_t r = 0; r < race->repetitions; r++)
            race->regrets[i][c][r] = 1000.0 * (race->top - race->paths[r][CHECKED[c] * race->table->epochs - 1]);
        printf(",%.3g", summarise(race->regrets[i][c], race->repetitions).mean);
        print_gap(race, i, 0, c);
    }
    race->end = i == 0 ? mean_regret(race, RACE * race->table->epochs) : race->end;
    size_t reached = reach(race);
    race->reached = i == 0 ? reached : race->reached;
    printf(reached == 0 ? "," : ",%.2f", (double)reached / (double)race->reached);
    printf(is_peer(method) ? ",,\n" : ",%.0f,%.0f\n", all.trials, all.stopped);
    fflush(stdout);
}

static void compare_with_peers(const struct race *race)
{
    for (size_t i = 0; i < race->len; i++)
        for (size_t k = 0; k < race->len; k++) {
            if (is_peer(&race->entrants[i]) || !is_peer(&race->entrants[k]))
                continue;
            printf("%s,%s less %s", race->table->name, race->entrants[i].name, race->entrants[k].name);
            for (size_t c = 0; c < CHECKS; c++) {
                putchar(',');
                print_gap(race, i, k, c);
            }
            puts(",,,");
        }
}

/* words: FILE COLUMNS GOAL METHOD ... */
static int run_race(struct table *table, char **words, size_t len, size_t repetitions, uint64_t first)
{
    static struct race race;
    char               texts[ENTRANTS_MAX][NAME_BYTES];
    race.table = table;
    race.words = words;
    race.repetitions = repetitions;
    race.first = first;
    race.len = len - 3;
    race.top = table->fill != NULL ? 0.0 : -HUGE_VAL;
    for (size_t i = 0; i < table->configs; i++)
        for (size_t n = 0; n < table->epochs; n++)
            race.top = fmax(race.top, table->values[i][n]);
    for (size_t i = 0; i < race.len; i++)
        if (i >= ENTRANTS_MAX || !read_method(words[3 + i], texts[i], &race.entrants[i]))
            return 2;
    puts("table,method,at 5,gap,error,at 10,gap,error,at 25,gap,error,epochs,trials,stopped");
    for (size_t i = 0; i < race.len; i++)
        enter(&race, i);
    compare_with_peers(&race);
    return 0;
}

int main(int argc, char **argv)
{
    static struct table table;
    char               *rest = NULL;
    size_t              repetitions = argc > 1 ? (size_t)strtoul(argv[1], &rest, 10) : 30;
    uint64_t            first = rest != NULL && *rest == ':' ? strtoull(rest + 1, NULL, 10) : 1;
    bool                ok = true;
    if (repetitions < 2 || repetitions > REPETITIONS_MAX || argc == 3)
        return 2;
    if (argc > 5) {
        if (!make_function(&table, argv[2]))
            read_table(&table, argv[2], argv[3]);
        if (strcmp(argv[4], "minimize") == 0)
            flip(&table);
        return run_race(&table, argv + 2, (size_t)argc - 2, repetitions, first);
    }
    puts("table,method,best,standard error,epochs,trials,stopped,verdict");
    if (argc > 3) {
        read_table(&table, argv[2], argv[3]);
        return compare(&table, repetitions, first) ? 0 : 1;
    }
    read_table(&table, "tests/data/learning_curves/mnist_softmax_sgd_300x50.csv", "1,2,3");
    ok = compare(&table, repetitions, first) && ok;
    read_table(&table, "tests/data/learning_curves/resnet_cifar10_486x50.csv", "1,2");
    ok = compare(&table, repetitions, first) && ok;
    return ok ? 0 : 1;
}
