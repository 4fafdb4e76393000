/* gnomon migrate: takes a store to the schema of this version without serving it, or says what a start would do. */
#include "db/db.h"
#include "service/cli/command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct migrate_options {
    const char *data, *database;
    bool        check;
};

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct migrate_options, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct migrate_options),
    COMMAND_DATABASE_ROW(struct migrate_options),
    {OPTION("check", NULL, check), .kind = OPTIONS_SWITCH,
     .help = "change nothing, also beside a server; the exit code is 0 when there is nothing to do, 2 when there is"},
    {.flag = NULL},
};

static enum status find_schema(const struct migrate_options *options, struct db_schema *schema, struct error *err)
{
    const char *folder = options->data;
    bool        is_there = options->database != NULL || access(folder, F_OK) == 0;
    if (is_there)
        TRY(db_inspect(options->database != NULL ? options->database : folder, schema, err));
    if (!is_there || schema->found == 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.150s: gnomon serve makes one",
                         folder);
    return STATUS_OK;
}

static enum status migrate(const struct migrate_options *options, struct error *err)
{
    struct db *db = NULL;
    umask(077);
    TRY(db_open(&(struct db_options){.folder = options->data, .database = options->database, .synchronous = "FULL"},
                &db, err));
    const struct db_schema *schema = db_schema(db);
    if (options->database == NULL)
        printf("%s: schema %d, was %d; as it was it is in %s\n", options->data, schema->needed, schema->found,
               schema->backup);
    else
        printf("the database: schema %d, was %d\n", schema->needed, schema->found);
    db_close(db);
    return STATUS_OK;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct migrate_options *options = call->options;
    struct db_schema              schema = {.found = 0};
    TRY(find_schema(options, &schema, err));
    if (schema.found == schema.needed) {
        printf("%s: schema %d, nothing to do\n", options->database == NULL ? options->data : "the database",
               schema.found);
        return STATUS_OK;
    }
    if (!options->check)
        return migrate(options, err);
    if (options->database == NULL)
        printf("%s: schema %d, this version needs %d: gnomon migrate, or a start, copies it to %s and changes it\n",
               options->data, schema.found, schema.needed, schema.backup);
    else
        printf("the database: schema %d, this version needs %d: gnomon migrate, or a start, changes it; make a copy "
               "first (pg_dump)\n",
               schema.found, schema.needed);
    call->exit_code = COMMAND_PENDING;
    return STATUS_OK;
}

const struct command command_migrate = {
    .name = "migrate",
    .operands = "",
    .summary = "take a store of an earlier version to the schema of this one",
    .options = options_table,
    .options_bytes = sizeof(struct migrate_options),
    .run = run,
};
