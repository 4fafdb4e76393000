/* gnomon migrate: takes a store to the schema of this version without serving it, or says what a start would do.  With --to, to
 * another database: what is not what was written is not moved, and what arrived is looked at as gnomon verify does. */
#include "db/db.h"
#include "db/whole/move.h"
#include "service/cli/command.h"
#include "service/main/verify_store.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct migrate_options {
    const char *data, *database, *to;
    bool        check;
};

#define OPTION(name, what, member) OPTION_OF(struct migrate_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct migrate_options),
    COMMAND_DATABASE_ROW(struct migrate_options),
    {OPTION("check", NULL, check), .kind = OPTIONS_SWITCH,
     .help = "change nothing; a server may run; exit code 0: nothing to do, 2: there is"},
    {OPTION("to", "URL|DIR", to), .help = "move the store: from the folder to an empty database, postgresql://..., or "
                                          "from --database to a folder without "
                                          "a store.  No server may run.  After an interruption, repeat the command"},
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

/* ---- to another database ---- */

struct told {
    int     tables;
    int64_t rows;
};

static void tell_table(void *arg, const char *table, int64_t rows, const char *digest)
{
    struct told *told = arg;
    told->tables++;
    told->rows += rows;
    printf("%-20s %9lld rows  sha256 %s\n", table, (long long)rows, digest);
    fflush(stdout); // it may take long, and be cut off
}

static enum status check_ends(const struct migrate_options *options, struct error *err)
{
    bool is_from_database = options->database != NULL, is_to_database = db_is_postgres(options->to);
    if (options->check)
        return error_set(err, STATUS_INVALID, "usage", "", "--check and --to do not go together");
    if (is_from_database == is_to_database)
        return error_set(err, STATUS_INVALID, "usage", "",
                         "--to moves from a folder to postgresql://..., or from --database to a folder; %s",
                         is_to_database ? "pg_dump copies a database" : "gnomon backup copies a folder's store");
    return STATUS_OK;
}

/* The address without its password, which libpq finds in ~/.pgpass or PGPASSWORD. */
static void print_place(const char *place)
{
    const char *host = strrchr(place, '@'), *user = strstr(place, "//") + 2, *colon = strchr(user, ':');
    size_t      len = strcspn(place, strstr(place, "password=") == NULL ? "" : "?");
    if (host != NULL && colon != NULL && colon < host)
        printf("%.*s%.*s", (int)(colon - place), place, (int)(place + len - host), host);
    else
        printf("%.*s", (int)len, place);
}

/* A command that is ready to be pasted.  The folder goes on with the witness and the socket, but may not hold a store beside. */
static void tell_next(const struct migrate_options *options)
{
    if (options->database == NULL) {
        printf("next: mv '%s/gnomon.db' '%s/gnomon.db.moved' && GNOMON_DATABASE='", options->data, options->data);
        print_place(options->to);
        printf("' gnomon serve --data '%s'\n", options->data);
    } else
        printf("next: env -u GNOMON_DATABASE gnomon serve --data '%s'\n", options->to);
}

static enum status move_store(const struct migrate_options *options, struct error *err)
{
    struct told      told = {.tables = 0};
    char             path[1100];
    struct db_move   move = {.from = options->database, .folder = options->data, .to = options->to};
    struct db_schema target;
    TRY(check_ends(options, err));
    if (db_is_postgres(options->to)) // a database that does not answer is found before the store is read whole
        TRY(db_inspect(options->to, &target, err));
    snprintf(path, sizeof path, "%.1024s/gnomon.db", options->data);
    move.from = options->database != NULL ? options->database : path;
    move.say = tell_table;
    move.arg = &told;
    umask(077);
    TRY(verify_store(&(struct verify_store){.folder = options->data, .database = options->database}, err));
    TRY(db_move(&move, err));
    if (!move.was_done)
        printf("%d tables, %lld rows: the same there\n", told.tables, (long long)told.rows);
    bool is_to_folder = options->database != NULL;
    TRY(verify_store(&(struct verify_store){.folder = options->to, .database = is_to_folder ? NULL : options->to},
                     err));
    printf("%s; what it was moved from counts as an older copy from now on\n",
           move.was_done ? "was moved before" : "moved");
    tell_next(options);
    return STATUS_OK;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct migrate_options *options = call->options;
    struct db_schema              schema = {.found = 0};
    if (options->to != NULL)
        return move_store(options, err);
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
    .summary = "bring the store of an earlier version to this version's schema, or move the store to another database",
    .options = options_table,
    .options_bytes = sizeof(struct migrate_options),
    .run = run,
};
