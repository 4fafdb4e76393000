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
 * The second form is a race of those METHODs (ALGORITHM or ALGORITHM+RULE, with ! behind a rule that has its guard) by the
 * best value seen at any epoch, over whatever range: the regret against the table's best after 5, 10 and 25 whole
 * trainings' epochs, in thousandths, its difference to the first METHOD's by seed, and the standard error of that.
 * Exit code 1 when bo-bos has not reached gp-ucb's best within its standard error. */
#include "engine/stopping/stop_rule.h"
#include "engine/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 40, PARAMS_MAX = 8, CONFIGS_MAX = 1000, EPOCHS_MAX = 200, REPETITIONS_MAX = 100, OPTIONS_MAX = 32 };
enum { CHECKS = 3, ENTRANTS_MAX = 16, NAME_BYTES = 64 };
static const double PART = 0.65, CHECKED[CHECKS] = {5, 10, 25}; /* whole trainings */

struct table {
    const char  *name;
    struct param params[PARAMS_MAX];
    size_t       params_len, configs, epochs;
    double       points[CONFIGS_MAX][PARAMS_MAX];
    double       values[CONFIGS_MAX][EPOCHS_MAX];
};

static const struct method {
    const char         *name, *policy;
    enum stop_rule_kind rule;
    bool                guard;
} methods[] = {
    {"gp-ucb", "gp", STOP_RULE_NONE, false},
    {"bo-bos", "bo-bos", STOP_RULE_OWN, false},
    {"gp-ucb+median", "gp", STOP_RULE_MEDIAN, false},
    {"gp-ucb+asha", "gp", STOP_RULE_ASHA, false},
};
enum { METHODS = sizeof methods / sizeof *methods };

struct result {
    double best, epochs, trials, stopped;
    double regrets[CHECKS];
};

static void must(enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", status_name(status), err->text);
    exit(2);
}

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

static void find_ranges(struct table *table)
{
    for (size_t j = 0; j < table->params_len; j++) {
        struct param *param = &table->params[j];
        *param = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = HUGE_VAL, .max = -HUGE_VAL};
        for (size_t i = 0; i < table->configs; i++) {
            param->min = fmin(param->min, table->points[i][j]);
            param->max = fmax(param->max, table->points[i][j]);
        }
        param->scale = param->min > 0 && param->max > 10 * param->min ? SCALE_LOG : SCALE_LINEAR;
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
    find_ranges(table);
}

/* --- one search --- */

struct search {
    const struct table  *table;
    const struct method *method;
    struct space         space;
    double               options[OPTIONS_MAX];
    struct session      *session;
    struct arena         arena;
    struct curves        curves;
    struct stop_rule     rule;
    bool                 used[CONFIGS_MAX];
    bool                 is_race;
    double               spent, seen; /* epochs of all trials; the best value at any of them */
    double               regrets[CHECKS];
    double               u[CONFIGS_MAX][PARAMS_MAX];
};

static void set_option(struct search *search, const char *name, double value)
{
    int option = policy_option(policy_find(search->method->policy), name);
    if (option >= 0)
        search->options[option] = value;
}

static void tell(struct search *search, struct event *event)
{
    const struct policy *policy = policy_find(search->method->policy);
    struct error         err;
    must(curves_tell(&search->curves, event, &err), &err);
    if (event->kind == EVENT_MEASURED && policy->judge == NULL)
        return;
    if (event->kind == EVENT_STOPPED && policy->judge == NULL) {
        event->is_forecast = curves_forecast(&search->curves, event->trial, &event->value, &event->sd);
        event->kind = event->is_forecast ? EVENT_OBSERVED : EVENT_ABANDONED;
    }
    must(policy->tell(search->session, event, &err), &err);
}

/* The nearest configuration that was not tried. */
static size_t choose(struct search *search, uint64_t trial, struct proposal *proposal)
{
    const struct table *table = search->table;
    struct ask          ask = {.trial = trial};
    double              point[PARAMS_MAX], u[PARAMS_MAX], nearest = HUGE_VAL;
    struct error        err;
    size_t              chosen = 0;
    proposal->point = point;
    must(policy_find(search->method->policy)->ask(search->session, &ask, proposal, &err), &err);
    space_encode(&search->space, point, u);
    for (size_t i = 0; i < table->configs; i++) {
        double distance = 0.0;
        for (size_t j = 0; j < table->params_len; j++)
            distance += (u[j] - search->u[i][j]) * (u[j] - search->u[i][j]);
        if (search->used[i] || distance >= nearest)
            continue;
        nearest = distance;
        chosen = i;
    }
    search->used[chosen] = true;
    return chosen;
}

static void judge(struct search *search, const struct measurement *measurement, struct verdict *verdict)
{
    struct error err;
    if (search->method->rule == STOP_RULE_OWN)
        must(policy_find(search->method->policy)->judge(search->session, measurement, verdict, &err), &err);
    else
        must(stop_rule_judge(&search->rule, &search->curves, measurement, verdict, &search->arena, &err), &err);
}

/* A race is looked at whenever so many epochs were spent. */
static void look(struct search *search, double value)
{
    double top = -HUGE_VAL;
    search->spent++;
    search->seen = fmax(search->seen, value);
    for (size_t c = 0; search->is_race && c < CHECKS; c++) {
        if (search->spent != CHECKED[c] * (double)search->table->epochs)
            continue;
        for (size_t i = 0; i < search->table->configs; i++)
            for (size_t n = 0; n < search->table->epochs; n++)
                top = fmax(top, search->table->values[i][n]);
        search->regrets[c] = top - search->seen;
    }
}

/* Returns how many epochs were run. */
static size_t evaluate(struct search *search, uint64_t trial, size_t config, struct verdict *verdict)
{
    const double *values = search->table->values[config], *point = search->table->points[config];
    for (size_t n = 1; n <= search->table->epochs; n++) {
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
            return n;
    }
    return search->table->epochs;
}

static void begin(struct search *search, const struct table *table, const struct method *method, uint64_t seed,
                  struct problem *problem)
{
    const struct policy *policy = policy_find(method->policy);
    struct error         err;
    bool                 is_race = search->is_race;
    memset(search, 0, sizeof *search);
    search->is_race = is_race;
    search->table = table;
    search->method = method;
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        search->options[i] = policy->options[i].fallback;
    search->seen = -HUGE_VAL;
    if (!search->is_race)
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
    must(policy->open(policy, problem, &search->session, &err), &err);
}

static struct result run(const struct table *table, const struct method *method, uint64_t seed, bool is_race)
{
    static struct search   search;
    static struct proposal proposal;
    static struct verdict  verdict;
    struct problem         problem;
    struct result          out = {0};
    double                 whole = (double)(TRIALS * table->epochs);
    search.is_race = is_race;
    begin(&search, table, method, seed, &problem);
    double limit = method->rule == STOP_RULE_NONE ? whole : PART * whole;
    limit = is_race ? CHECKED[CHECKS - 1] * (double)table->epochs : limit;
    for (uint64_t trial = 1; out.epochs < limit && trial <= table->configs; trial++) {
        size_t       config = choose(&search, trial, &proposal);
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = trial,
                              .point = table->points[config],
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        tell(&search, &event);
        size_t epochs = evaluate(&search, trial, config, &verdict);
        out.epochs += (double)epochs;
        out.trials++;
        out.stopped += verdict.stop;
        if (!verdict.stop && out.epochs <= limit)
            out.best = fmax(out.best, table->values[config][table->epochs - 1]);
    }
    memcpy(out.regrets, search.regrets, sizeof out.regrets);
    policy_find(method->policy)->close(search.session);
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

static bool compare(const struct table *table, size_t repetitions, uint64_t first)
{
    struct summary reference = {0};
    bool           ok = true;
    for (size_t m = 0; m < METHODS; m++) {
        double best[REPETITIONS_MAX], epochs = 0.0, trials = 0.0, stopped = 0.0;
        for (size_t r = 0; r < repetitions; r++) {
            struct result result = run(table, &methods[m], first + r, false);
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

/* name: a copy of the text, which is cut into its parts. */
static bool read_method(char *text, char name[NAME_BYTES], struct method *method)
{
    static const struct {
        const char         *name;
        enum stop_rule_kind kind;
    } rules[] = {{"none", STOP_RULE_NONE},
                 {"median", STOP_RULE_MEDIAN},
                 {"percentile", STOP_RULE_PERCENTILE},
                 {"patience", STOP_RULE_PATIENCE},
                 {"asha", STOP_RULE_ASHA},
                 {"hyperband", STOP_RULE_HYPERBAND},
                 {"bos", STOP_RULE_OWN}};
    char  *plus = strchr(text, '+'), *mark = plus == NULL ? NULL : strchr(plus, '!');
    size_t i = 0;
    snprintf(name, NAME_BYTES, "%s", text);
    *method = (struct method){.name = name, .policy = text, .guard = mark != NULL};
    if (plus != NULL)
        *plus = '\0';
    if (mark != NULL)
        *mark = '\0';
    while (plus != NULL && i < sizeof rules / sizeof *rules && strcmp(rules[i].name, plus + 1) != 0)
        i++;
    method->rule = i < sizeof rules / sizeof *rules ? rules[i].kind : STOP_RULE_OFF;
    return policy_find(text) != NULL && method->rule != STOP_RULE_OFF;
}

static void flip(struct table *table)
{
    for (size_t i = 0; i < table->configs; i++)
        for (size_t n = 0; n < table->epochs; n++)
            table->values[i][n] = -table->values[i][n];
}

static void race(const struct table *table, const struct method *method, size_t repetitions, uint64_t first,
                 double first_regrets[CHECKS][REPETITIONS_MAX], bool is_first)
{
    double regrets[CHECKS][REPETITIONS_MAX], gaps[CHECKS][REPETITIONS_MAX], trials = 0.0, stopped = 0.0;
    for (size_t r = 0; r < repetitions; r++) {
        struct result result = run(table, method, first + r, true);
        trials += result.trials / (double)repetitions;
        stopped += result.stopped / (double)repetitions;
        for (size_t c = 0; c < CHECKS; c++) {
            regrets[c][r] = 1000.0 * result.regrets[c];
            first_regrets[c][r] = is_first ? regrets[c][r] : first_regrets[c][r];
            gaps[c][r] = regrets[c][r] - first_regrets[c][r];
        }
    }
    printf("%s,%s", table->name, method->name);
    for (size_t c = 0; c < CHECKS; c++) {
        struct summary gap = summarise(gaps[c], repetitions);
        printf(",%.1f,%.1f,%.1f", summarise(regrets[c], repetitions).mean, gap.mean, gap.se);
    }
    printf(",%.0f,%.0f\n", trials, stopped);
    fflush(stdout);
}

static int run_race(struct table *table, char **names, size_t len, size_t repetitions, uint64_t first)
{
    static double first_regrets[CHECKS][REPETITIONS_MAX];
    struct method entrants[ENTRANTS_MAX];
    char          texts[ENTRANTS_MAX][NAME_BYTES];
    for (size_t i = 0; i < len; i++)
        if (i >= ENTRANTS_MAX || !read_method(names[i], texts[i], &entrants[i]))
            return 2;
    puts("table,method,at 5,gap,error,at 10,gap,error,at 25,gap,error,trials,stopped");
    for (size_t i = 0; i < len; i++)
        race(table, &entrants[i], repetitions, first, first_regrets, i == 0);
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
        read_table(&table, argv[2], argv[3]);
        if (strcmp(argv[4], "minimize") == 0)
            flip(&table);
        return run_race(&table, argv + 5, (size_t)argc - 5, repetitions, first);
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
