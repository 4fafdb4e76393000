/* gnomon check: whether a store, served or not, or a copy of one is what it should be.  Changes nothing.  Besides the file's
 * pages and references: counters are those of the rows, logs have no gaps, ledgers add up, what has a digest has it, and rows
 * are those that the log vouches for. */
#include "db/whole/look.h"
#include "db/witness.h"
#include "service/cli/command.h"
#include "service/client/plain.h"
#include "service/main/store_rules.h"
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

struct checking {
    int             findings;
    struct db_look *look;
    struct witness  own;
};

static void say(void *arg, const char *finding)
{
    struct checking *checking = arg;
    checking->findings++;
    plain_print(stdout, finding);
    putchar('\n');
}

static enum status check_rows(struct db_conn *conn, void *arg, struct error *err)
{
    struct checking *checking = arg;
    TRY(store_rules(conn, say, checking, err));
    TRY(verify_log(checking->look, conn, say, checking, err));
    return db_look_witness(conn, &checking->own, err);
}

static enum status check(const char *path, struct checking *checking, struct error *err)
{
    struct db_look *look = NULL;
    TRY(db_look_open(path, &look, err));
    checking->look = look;
    enum status status = db_look_examine(look, say, checking, err);
    if (status == STATUS_OK && checking->findings == 0) // rows of a damaged file say little
        status = db_look_read(look, check_rows, checking, err);
    db_look_close(look);
    return status;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct check_options *options = call->options;
    struct checking             checking = {.findings = 0};
    struct witness              known = {.counter = 0};
    const char                 *database = options->file == NULL ? options->database : NULL;
    char                        path[1100] = "the database"; // whose address may hold a password
    if (database == NULL)
        snprintf(path, sizeof path, "%.1024s%s", options->file != NULL ? options->file : options->data,
                 options->file != NULL ? "" : "/gnomon.db");
    if (database != NULL && !db_is_postgres(database))
        return error_set(err, STATUS_INVALID, "database", "",
                         "not a database: postgresql://HOST/NAME, or USER and @ before HOST");
    if (options->file == NULL) // before the store is: a server may be ahead of it, never behind
        TRY(witness_read(options->data, &known, err));
    TRY(check(database != NULL ? database : path, &checking, err));
    if (checking.findings > 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "%.150s is damaged: restore a backup", path);
    bool is_rolled_back = options->file == NULL && witness_is_ahead(&known, &checking.own, database != NULL);
    printf("%s: %s\n", path, is_rolled_back ? "sound, but rolled back: see gnomon restore --help" : "sound");
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
