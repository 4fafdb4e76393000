/* gnomon check: whether a store, served or not, or a copy of one is what it should be.  Changes nothing.  Besides the file's
 * pages and references: counters are those of the rows, logs have no gaps, ledgers add up, what has a digest has it, and rows
 * are those that the log vouches for. */
#include "db/whole/look.h"
#include "db/witness.h"
#include "service/cli/command.h"
#include "service/main/verify_store.h"

#include <stdio.h>

struct check_options {
    const char *data, *database, *file;
};

#define OPTION(name, what, member) OPTION_OF(struct check_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct check_options),
    COMMAND_DATABASE_ROW(struct check_options),
    {OPTION("file", "FILE", file), .help = "check this backup instead of the folder's store"},
    {.flag = NULL},
};

static enum status run(struct command_call *call, struct error *err)
{
    const struct check_options *options = call->options;
    struct witness              known = {.counter = 0}, own;
    const char                 *database = options->file == NULL ? options->database : NULL;
    if (database != NULL && !db_is_postgres(database))
        return error_set(err, STATUS_INVALID, "database", "",
                         "not a database: postgresql://HOST/NAME, or USER and @ before HOST");
    if (options->file == NULL) // before the store is: a server may be ahead of it, never behind
        TRY(witness_read(options->data, &known, err));
    const struct verify_store asked = {.folder = options->data, .database = database, .file = options->file};
    TRY(verify_store_quietly(&asked, &own, err));
    bool is_rolled_back = options->file == NULL && witness_is_ahead(&known, &own, database != NULL);
    puts(is_rolled_back ? ", but rolled back: see gnomon restore --help" : "");
    call->exit_code = is_rolled_back ? COMMAND_PENDING : COMMAND_DONE;
    return STATUS_OK;
}

const struct command command_check = {
    .name = "check",
    .operands = "",
    .summary = "look for damage in a store or a backup, whether or not a server runs",
    .options = options_table,
    .options_bytes = sizeof(struct check_options),
    .run = run,
};
