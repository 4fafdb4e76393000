/* gnomon ledger: what has been released of a data set, and what that adds up to.  Reads only. */
#include "service/cli/command.h"
#include "service/curator/ledger.h"

#include <stdio.h>

struct ledger_options {
    const char *data, *ledger;
};

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct ledger_options, member)
static const struct options_row options_table[] = {
    {OPTION("data", "FILE", data), .help = "the raw rows, CSV"},
    {OPTION("ledger", "FILE", ledger), .help = "the ledger; by default beside the data, .ledger"},
    {.flag = NULL},
};

static void print_entry(size_t number, const struct ledger_entry *entry)
{
    printf("%3zu  %s  %-18s  ", number, entry->at, entry->mechanism);
    if (entry->epsilon > 0)
        printf("epsilon %g, delta %g, distance %g", entry->epsilon, entry->delta, entry->distance);
    else
        printf("no guarantee");
    if (entry->outcome_epsilon > 0)
        printf(", outcomes epsilon %g", entry->outcome_epsilon);
    printf("  data %.12s, matrix %.12s\n", entry->dataset_tag, entry->matrix_sha256);
    if (entry->scale != NULL)
        printf("     %s\n", entry->scale);
}

static void print_ledger(const struct ledger *ledger)
{
    struct ledger_total total = ledger_sum(ledger, NULL);
    for (size_t i = 0; i < ledger->len; i++)
        print_entry(i + 1, &ledger->entries[i]);
    printf(ledger->len == 1 ? "%zu release, signed by %s\n" : "%zu releases, all signed by %s\n", ledger->len,
           ledger->key);
    printf("total: epsilon %g, delta %g", total.epsilon, total.delta);
    if (total.distance > 0)
        printf(", for a row that moves by at most %g of a radius of 25", total.distance);
    printf("\n");
    if (total.unguaranteed > 0)
        printf("%zu of them carry no guarantee: for whoever has seen one, the total does not hold\n",
               total.unguaranteed);
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct ledger_options *options = call->options;
    char                         path[1040];
    struct ledger                ledger;
    if (options->data == NULL && options->ledger == NULL)
        return error_set(err, STATUS_INVALID, "usage", "", "give --data or --ledger");
    snprintf(path, sizeof path, options->ledger != NULL ? "%.1000s" : "%.1000s.ledger",
             options->ledger != NULL ? options->ledger : options->data);
    enum status status = ledger_open(path, false, &ledger, err);
    if (status == STATUS_NOT_FOUND)
        status = error_set(err, STATUS_NOT_FOUND, "file", "",
                           "%.150s: no ledger: nothing was released, or it was moved", path);
    if (status == STATUS_OK)
        print_ledger(&ledger);
    ledger_close(&ledger);
    return status;
}

const struct command command_ledger = {
    .name = "ledger",
    .operands = "",
    .summary = "curator: show what was released of a data set, and its total",
    .options = options_table,
    .options_bytes = sizeof(struct ledger_options),
    .run = run,
};
