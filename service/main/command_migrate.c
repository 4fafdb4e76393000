/* gnomon migrate: takes a store to the schema of this version without serving it, or says what a start would do. */
#include "db/db.h"
#include "service/cli/command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct migrate_options {
    const char *data;
    bool        check;
};

#define MEMBER(name) .offset = offsetof(struct migrate_options, name)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct migrate_options),
    {.flag = "check",
     .kind = OPTIONS_SWITCH,
     MEMBER(check),
     .help = "change nothing, also beside a server; the exit code is 0 when there is nothing to do, 2 when there is"},
    {.flag = NULL},
};

static enum status find_schema(const char *folder, struct db_schema *schema, struct error *err)
{
    if (access(folder, F_OK) == 0)
        TRY(db_inspect(folder, schema, err));
    if (access(folder, F_OK) != 0 || schema->found == 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.150s: gnomon serve makes one",
                         folder);
    return STATUS_OK;
}

static enum status migrate(const char *folder, struct error *err)
{
    struct db *db = NULL;
    umask(077);
    TRY(db_open(&(struct db_options){.folder = folder, .synchronous = "FULL"}, &db, err));
    const struct db_schema *schema = db_schema(db);
    printf("%s: schema %d, was %d; as it was it is in %s\n", folder, schema->needed, schema->found, schema->backup);
    db_close(db);
    return STATUS_OK;
}

static int run(char **arguments)
{
    struct error           err;
    struct migrate_options options;
    struct db_schema       schema = {.found = 0};
    enum status            status = options_read(options_table, arguments, &options, NULL, 0, &err);
    if (status == STATUS_OK)
        status = find_schema(options.data, &schema, &err);
    if (status == STATUS_OK && schema.found == schema.needed) {
        printf("%s: schema %d, nothing to do\n", options.data, schema.found);
    } else if (status == STATUS_OK && options.check) {
        printf("%s: schema %d, this version needs %d: gnomon migrate, or a start, copies it to %s and changes it\n",
               options.data, schema.found, schema.needed, schema.backup);
        return COMMAND_PENDING;
    } else if (status == STATUS_OK) {
        status = migrate(options.data, &err);
    }
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_migrate = {
    .name = "migrate",
    .operands = "",
    .summary = "take a store of an earlier version to the schema of this one",
    .options = options_table,
    .run = run,
};
