/* gnomon ledger: what was released of the tables of one key, and what that adds up to.  gnomon ledger budget: another
 * budget for one of them, by a signed line.  gnomon ledger epoch: a record of answers is given up, by a signed line that is
 * charged. */
#include "service/cli/command.h"
#include "service/file/file.h"
#include "service/curator/account.h"
#include "service/curator/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_options {
    const char *key, *data, *manifest;
    double      epsilon;
};

#define OPTION(name, what, member) OPTION_OF(struct ledger_options, name, what, member)
static const struct options_row options_table[] = {
    {OPTION("key", "FILE", key), .is_required = true, .help = "the curator's private key; its ledger lies beside it"},
    {OPTION("data", "FILE", data), .help = "budget: the raw rows, CSV, that the budget is for"},
    {OPTION("epsilon", "E", epsilon), .kind = OPTIONS_REAL, .min = 0, .max = 1e6, .help = "budget: the new budget"},
    {OPTION("manifest", "FILE", manifest),
     .help = "epoch: the manifest of a release with private outcomes whose record of answers is lost"},
    {.flag = NULL},
};

struct reading {
    const struct ledger_options *options;
    struct sign_key             *key;
    struct ledger                ledger;
    struct csv_table             csv;
    struct arena                 arena;
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "?";
}

static void print_move(const char *name, const struct relation_column *column)
{
    if (isinf(column->move))
        printf("    %-24.100s any change, in %g .. %g\n", name, column->low, column->high);
    else
        printf("    %-24.100s a move of %.9g, in %g .. %g\n", name, column->move, column->low, column->high);
}

static void print_account(const struct account *account)
{
    printf("data set %lld: %zu version%s of a table; protected, by the root of the sum of squares of the fractions:\n",
           (long long)account->table, account->tables, account->tables == 1 ? "" : "s");
    for (size_t c = 0; c < account->columns_len; c++)
        print_move(account->names[c], &account->columns[c]);
    if (account->projections > 0)
        printf("  %zu release%s WITHOUT a guarantee: nothing bounds what was said\n", account->projections,
               account->projections == 1 ? "" : "s");
    else
        printf(
            "  total: epsilon %.6g, delta %g, for any change of one row epsilon %.6g; the budget is epsilon %g, delta "
            "%g\n",
            account->spent.epsilon, account->spent.delta, account->spent.epsilon_any_change, account->budget_epsilon,
            account->budget_delta);
}

static void print_line(size_t number, const json_t *entry)
{
    const json_t *release = json_object_get(entry, "release");
    printf("%3zu  %.19s  %s", number, text_of(entry, "at"), text_of(entry, "kind"));
    if (release != NULL)
        printf(" of table %lld by %s, matrix %.12s", (long long)json_integer_value(json_object_get(entry, "table")),
               text_of(release, "mechanism"), text_of(release, "sha256"));
    else if (strcmp(text_of(entry, "kind"), "declare") == 0)
        printf(" table %zu, %lld rows, tag %.12s", number,
               (long long)json_integer_value(json_object_get(entry, "rows")), text_of(entry, "tag"));
    else if (json_object_get(entry, "table") != NULL)
        printf(" of table %lld", (long long)json_integer_value(json_object_get(entry, "table")));
    if (strcmp(text_of(entry, "kind"), "budget") == 0)
        printf(": epsilon %g", json_number_value(json_object_get(entry, "epsilon")));
    printf("\n");
}

static enum status show(struct reading *reading, struct error *err)
{
    const struct ledger *ledger = &reading->ledger;
    size_t               lines = json_array_size(ledger->entries), releases = 0;
    for (size_t line = 1; line <= lines; line++) {
        const json_t *entry = json_array_get(ledger->entries, line - 1);
        print_line(line, entry);
        releases += strcmp(text_of(entry, "kind"), "release") == 0;
    }
    printf("%zu line%s, %zu release%s, all signed by %s; ledger %s\n", lines, lines == 1 ? "" : "s", releases,
           releases == 1 ? "" : "s", ledger->key, ledger->id);
    for (size_t line = 1; line <= lines; line++) {
        struct account account;
        if (strcmp(text_of(json_array_get(ledger->entries, line - 1), "kind"), "declare") != 0)
            continue;
        TRY(account_of(ledger, (int64_t)line, NULL, &reading->arena, &account, err));
        if (account.table == (int64_t)line) // the first of its data set
            print_account(&account);
    }
    return STATUS_OK;
}

static enum status set_budget(struct reading *reading, struct error *err)
{
    static const json_t *const nothing[2] = {NULL, NULL};
    char                       tag[65];
    struct account             account;
    struct account_table       table = {.csv = &reading->csv, .key = reading->key, .tag = tag};
    if (reading->options->data == NULL || !(reading->options->epsilon > 0))
        return error_set(err, STATUS_INVALID, "usage", "", "budget needs --data and --epsilon");
    TRY(csv_table_read(reading->options->data, &reading->csv, err));
    TRY(table_marks_tags(&reading->csv, reading->key, tag, NULL, err));
    TRY(account_find(&reading->ledger, &table, &reading->arena, err));
    TRY(account_read(&reading->ledger, &table, nothing, &reading->arena, &account, err));
    if (account.tables == 0)
        return error_set(err, STATUS_NOT_FOUND, "not_declared", "", "nothing was declared of %.150s or a version of it",
                         reading->options->data);
    TRY(ledger_prepare(
        &reading->ledger, "budget",
        json_pack("{s:I, s:f}", "table", (json_int_t)table.joins[0], "epsilon", reading->options->epsilon),
        reading->key, err));
    TRY(ledger_append(&reading->ledger, err));
    printf("the budget is epsilon %g now, and was %g; spent: %.6g\n", reading->options->epsilon, account.budget_epsilon,
           account.spent.epsilon);
    return STATUS_OK;
}

static enum status read_manifest(const struct reading *reading, struct release_manifest *out, struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    if (reading->options->manifest == NULL)
        return error_set(err, STATUS_INVALID, "usage", "", "epoch needs --manifest");
    TRY(file_read(reading->options->manifest, MANIFEST_MAX_BYTES, &text, &length, err));
    enum status status = manifest_verify(text, length, out, err);
    free(text);
    TRY(status);
    if (!out->has_outcomes)
        return error_set(err, STATUS_INVALID, "no_outcomes", "", "%.150s has no private outcomes",
                         reading->options->manifest);
    return mechanism_plan_outcome(&out->outcomes, err);
}

/* Charges an epoch: a curator who has lost the record of answers may give them anew, for their cost. */
static enum status charge_epoch(struct reading *reading, const struct release_manifest *m,
                                const struct outcomes_charge *charge, struct error *err)
{
    static const double SLACK = 1 + 1e-9;
    struct account      account;
    json_t             *line =
        json_pack("{s:s, s:I, s:s, s:I, s:o}", "kind", "epoch", "table", (json_int_t)charge->table, "context",
                  charge->base, "epoch", (json_int_t)charge->epoch + 1, "release", manifest_release_json(m));
    if (line == NULL)
        return error_no_memory(err);
    enum status status = account_of(&reading->ledger, charge->table, line, &reading->arena, &account, err);
    if (status == STATUS_OK && !(account.spent.epsilon <= account.budget_epsilon * SLACK))
        status = error_set(err, STATUS_CONFLICT, "budget_spent", "",
                           "refused, and nothing written: a new epoch would bring the data's total to epsilon %g; the "
                           "budget is %g",
                           account.spent.epsilon, account.budget_epsilon);
    if (status != STATUS_OK) {
        json_decref(line);
        return status;
    }
    TRY(ledger_prepare(&reading->ledger, "epoch", line, reading->key, err));
    TRY(ledger_append(&reading->ledger, err));
    printf("answers of this release are given anew, as epoch %lld; the data's total is epsilon %.6g now, of %g\n",
           (long long)charge->epoch + 1, account.spent.epsilon, account.budget_epsilon);
    return STATUS_OK;
}

static enum status begin_epoch(struct reading *reading, struct error *err)
{
    struct release_manifest manifest;
    struct outcomes_charge  charge;
    TRY(read_manifest(reading, &manifest, err));
    outcomes_charge_of(&reading->ledger, &manifest, &charge);
    if (charge.table == 0)
        return error_set(err, STATUS_NOT_FOUND, "not_charged", "", "the ledger knows nothing of this release");
    if (!charge.is_begun)
        return error_set(err, STATUS_CONFLICT, "not_begun", "", "no answer was given that could be given up");
    return charge_epoch(reading, &manifest, &charge, err);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct reading reading = {.options = call->options};
    const char    *operand = call->operands[0];
    bool           writes = operand != NULL, is_epoch = writes && strcmp(operand, "epoch") == 0;
    if (writes && !is_epoch && strcmp(operand, "budget") != 0)
        return error_set(err, STATUS_INVALID, "usage", "", "gnomon ledger [budget|epoch], not %.40s", operand);
    arena_init(&reading.arena, SIZE_MAX);
    enum status status = sign_key_read(reading.options->key, &reading.key, err);
    if (status == STATUS_OK)
        status = ledger_open(reading.options->key, reading.key, writes, &reading.ledger, err);
    if (status == STATUS_OK)
        status = is_epoch ? begin_epoch(&reading, err) : writes ? set_budget(&reading, err) : show(&reading, err);
    ledger_close(&reading.ledger);
    csv_table_free(&reading.csv);
    sign_key_free(reading.key);
    arena_fini(&reading.arena);
    return status;
}

const struct command command_ledger = {
    .name = "ledger",
    .operands = "[budget|epoch]",
    .summary = "curator: show all releases of a key and what they cost; change a budget, or begin answers anew",
    .options = options_table,
    .options_bytes = sizeof(struct ledger_options),
    .operands_max = 1,
    .run = run,
};
