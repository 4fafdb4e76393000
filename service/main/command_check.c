/* gnomon check: whether a store, served or not, or a copy of one is what it should be.  Changes nothing.  Besides the file's
 * pages and references: counters are those of the rows, logs have no gaps, ledgers add up, and what has a digest has it. */
#include "db/look.h"
#include "db/witness.h"
#include "service/base/digest.h"
#include "service/cli/command.h"
#include "service/cli/plain.h"

#include <stdio.h>
#include <string.h>

struct check_options {
    const char *data, *database, *file;
};

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct check_options, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct check_options),
    COMMAND_DATABASE_ROW(struct check_options),
    {OPTION("file", "FILE", file), .help = "a backup, instead of the store of the folder"},
    {.flag = NULL},
};

static const enum sql rules[] = {SQL_CHECK_COUNTERS, SQL_CHECK_NUMBERS, SQL_CHECK_BEST,   SQL_CHECK_REVISIONS,
                                 SQL_CHECK_EVENTS,   SQL_CHECK_TALLY,   SQL_CHECK_LEDGER, SQL_CHECK_BUDGETS};
static const enum sql digests[] = {SQL_CHECK_BROADCASTS, SQL_CHECK_FEATURES, SQL_CHECK_MATRICES};

struct checking {
    int            findings;
    struct witness own;
};

static void say(void *arg, const char *finding)
{
    struct checking *checking = arg;
    checking->findings++;
    plain_print(stdout, finding);
    putchar('\n');
}

static enum status check_rule(struct db_conn *conn, enum sql rule, struct checking *checking, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, rule, BIND_NONE);
    while (db_next(&rows))
        say(checking, row_finding(&rows)->finding);
    return db_done(&rows);
}

/* Digests a file that comes in consecutive pieces. */
struct digesting {
    char                 name[160], wanted[SHA256_HEX_BYTES];
    struct sha256_state *state; /* NULL: none yet */
};

static void end_digest(struct digesting *digesting, struct checking *checking)
{
    char is[SHA256_HEX_BYTES], text[200];
    if (digesting->state == NULL)
        return;
    sha256_hex_final(digesting->state, is);
    digesting->state = NULL;
    if (strcmp(is, digesting->wanted) == 0)
        return;
    snprintf(text, sizeof text, "%s is not what was stored", digesting->name);
    say(checking, text);
}

static enum status check_digests(struct db_conn *conn, enum sql sql, struct checking *checking, struct error *err)
{
    struct digesting now = {.state = NULL};
    struct db_rows   rows = db_query(conn, NULL, err, sql, BIND_NONE);
    while (db_next(&rows)) {
        const struct row_digested *row = row_digested(&rows);
        if (strcmp(now.name, row->name) != 0 || now.state == NULL) {
            end_digest(&now, checking);
            snprintf(now.name, sizeof now.name, "%s", row->name);
            snprintf(now.wanted, sizeof now.wanted, "%s", row->sha256);
            now.state = sha256_start();
            rows.status = now.state == NULL ? error_no_memory(err) : STATUS_OK;
        }
        if (now.state != NULL)
            sha256_add(now.state, row->data.bytes, row->data.length);
    }
    end_digest(&now, checking);
    return db_done(&rows);
}

static enum status check_rows(struct db_conn *conn, void *arg, struct error *err)
{
    struct checking *checking = arg;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        TRY(check_rule(conn, rules[i], checking, err));
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        TRY(check_digests(conn, digests[i], checking, err));
    return db_look_witness(conn, &checking->own, err);
}

static enum status check(const char *path, struct checking *checking, struct error *err)
{
    struct db_look *look = NULL;
    TRY(db_look_open(path, &look, err));
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
    .summary = "examine a store or a backup, whether or not a server uses it",
    .options = options_table,
    .options_bytes = sizeof(struct check_options),
    .run = run,
};
