/* The store as files in a folder: the version of its schema, and how it gets to the next one.
 *
 * Invariants:
 *  1. Who does not know a store leaves it as it is: it is looked at read-only before it is opened to be written.
 *  2. A store that says version n has the schema that the first n migrations make.  They are applied to a database in
 *     memory, and the two are compared object by object.
 *  3. All that leads from one version to another is one transaction, after a copy of the store that is whole, private
 *     and on the disk. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "db/sqlite/db_sqlite.h"
#include "db/folder.h"
#include "db/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 1196314957, PIECE_BYTES = 1 << 16, LOOKS_MAX = 10 };

enum status lite_path(const char *folder, const char *name, char path[LITE_PATH_BYTES], struct error *err)
{
    char *real = realpath(folder, NULL);
    bool  is_good = real != NULL && (size_t)snprintf(path, LITE_PATH_BYTES, "%s/%s", real, name) < LITE_PATH_BYTES;
    free(real);
    return is_good ? STATUS_OK : error_set(err, STATUS_INVALID, "path", "", "cannot resolve %.150s", folder);
}

/* ---- the schema ---- */

/* The tables, indices, triggers and views of a database, by name. */
struct walk {
    sqlite3      *handle;
    sqlite3_stmt *statement;
    const char   *name, *text; /* "table study" and what made it; NULL at the end */
};

static enum status walk_on(struct walk *walk, struct error *err)
{
    errno = 0;
    int code = sqlite3_step(walk->statement);
    walk->name = code == SQLITE_ROW ? (const char *)sqlite3_column_text(walk->statement, 0) : NULL;
    walk->text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(walk->statement, 1) : NULL;
    if (code == SQLITE_ROW && (walk->name == NULL || walk->text == NULL))
        return lite_fail(NULL, SQLITE_NOMEM, err);
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : lite_fail(walk->handle, code, err);
}

static enum status walk_begin(struct walk *walk, sqlite3 *handle, struct error *err)
{
    *walk = (struct walk){.handle = handle};
    errno = 0;
    int code = sqlite3_prepare_v2(handle,
                                  "SELECT type || ' ' || name, sql FROM sqlite_schema "
                                  "WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 1",
                                  -1, &walk->statement, NULL);
    return code == SQLITE_OK ? walk_on(walk, err) : lite_fail(handle, code, err);
}

/* An index more makes nothing possible and nothing impossible, unless it is unique. */
static bool is_harmless(const char *text)
{
    return strncmp(text, "CREATE INDEX ", 13) == 0;
}

static enum status compare(struct walk *own, struct walk *wanted, int version, struct error *err)
{
    while (own->name != NULL || wanted->name != NULL) {
        int order = own->name == NULL ? 1 : wanted->name == NULL ? -1 : strcmp(own->name, wanted->name);
        if (order != 0 ? order > 0 || !is_harmless(own->text) : strcmp(own->text, wanted->text) != 0)
            return error_set(err, STATUS_CONFLICT, "schema_unknown", "",
                             "gnomon.db says schema %d, but %.60s is %s: it was written before the first release, or "
                             "changed by hand; use another folder, or restore a backup",
                             version, order > 0 ? wanted->name : own->name,
                             order > 0   ? "missing"
                             : order < 0 ? "no part of it"
                                         : "different");
        TRY(walk_on(own, err));
        if (order == 0)
            TRY(walk_on(wanted, err));
    }
    return STATUS_OK;
}

/* Each change of a table makes SQLite read the whole schema again. */
static enum status execute_all(sqlite3 *handle, const struct migrations *all, int from, int to, struct error *err)
{
    if (from == 0 && to == all->len && all->whole != NULL)
        return lite_execute(handle, all->whole, err);
    for (int i = from; i < to; i++)
        TRY(lite_execute(handle, all->texts[i], err));
    return STATUS_OK;
}

/* A database in memory that the first migrations made; it is to be closed in any case. */
static enum status make_in_memory(const struct migrations *all, int version, sqlite3 **out, struct error *err)
{
    lite_set_up();
    int code = sqlite3_open_v2(":memory:", out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    return code == SQLITE_OK ? execute_all(*out, all, 0, version, err) : lite_fail(*out, code, err);
}

/* That the database has the schema of this version. */
static enum status check_schema(sqlite3 *handle, const struct migrations *all, int version, struct error *err)
{
    sqlite3    *memory = NULL;
    struct walk own = {.handle = NULL}, wanted = {.handle = NULL};
    enum status status = make_in_memory(all, version, &memory, err);
    if (status == STATUS_OK)
        status = walk_begin(&own, handle, err);
    if (status == STATUS_OK)
        status = walk_begin(&wanted, memory, err);
    if (status == STATUS_OK)
        status = compare(&own, &wanted, version, err);
    sqlite3_finalize(own.statement);
    sqlite3_finalize(wanted.statement);
    sqlite3_close(memory);
    return status;
}

/* The order of tables behind those that they refer to, then indices. */
#define WITH_PLACES                                                                                                  \
    "WITH RECURSIVE place(name, depth) AS (SELECT name, 0 FROM sqlite_schema WHERE type = 'table' UNION SELECT "     \
    "s.name, depth + 1 FROM place p, sqlite_schema s, pragma_foreign_key_list(s.name) f WHERE s.type = 'table' AND " \
    "f.\"table\" = p.name AND s.name <> p.name) "
#define IN_PLACE                                                                                                    \
    " AND o.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY o.type = 'index', (SELECT max(depth) FROM place p WHERE " \
    "p.name = o.tbl_name), o.rowid"
#define OBJECTS_IN_ORDER \
    WITH_PLACES "SELECT type, sql FROM sqlite_schema o WHERE type IN ('table', 'index') AND sql IS NOT NULL" IN_PLACE
#define COLUMNS_IN_ORDER                                                                                      \
    WITH_PLACES "SELECT o.name, c.name, c.type, c.\"notnull\", c.pk FROM sqlite_schema o, pragma_table_info(" \
                "o.name) c WHERE o.type = 'table'" IN_PLACE ", c.cid"

enum status schema_each(const struct migrations *all, schema_fn *fn, void *arg, struct error *err)
{
    sqlite3      *memory = NULL;
    sqlite3_stmt *statement = NULL;
    enum status   status = make_in_memory(all, all->len, &memory, err);
    int           code = SQLITE_OK;
    errno = 0;
    if (status == STATUS_OK)
        code = sqlite3_prepare_v2(memory, OBJECTS_IN_ORDER, -1, &statement, NULL);
    while (status == STATUS_OK && code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(statement, 0);
        const char *text = (const char *)sqlite3_column_text(statement, 1);
        status = type == NULL || text == NULL ? error_no_memory(err) : fn(arg, type, text, err);
        code = SQLITE_OK;
    }
    if (status == STATUS_OK && code != SQLITE_DONE)
        status = lite_fail(memory, code, err);
    sqlite3_finalize(statement);
    sqlite3_close(memory);
    return status;
}

static struct schema_column read_schema_column(sqlite3_stmt *statement)
{
    const char          *type = (const char *)sqlite3_column_text(statement, 2);
    bool                 is_key = sqlite3_column_int(statement, 4) > 0;
    struct schema_column column = {.is_key = is_key, .is_nullable = !is_key && sqlite3_column_int(statement, 3) == 0};
    column.letter = *type == 'I' ? 'i' : *type == 'R' ? 'D' : *type == 'T' ? 'S' : 'B';
    snprintf(column.name, sizeof column.name, "%s", (const char *)sqlite3_column_text(statement, 1));
    return column;
}

static enum status each_schema_table(sqlite3_stmt *statement, schema_table_fn *fn, void *arg, struct error *err)
{
    struct schema_table table = {.len = 0};
    int                 code = SQLITE_ROW;
    while (code == SQLITE_ROW) {
        errno = 0;
        code = sqlite3_step(statement);
        const char *name = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "";
        if (name == NULL || (code == SQLITE_ROW && sqlite3_column_text(statement, 2) == NULL))
            return error_no_memory(err);
        if (table.len > 0 && strcmp(name, table.name) != 0) {
            TRY(fn(arg, &table, err));
            table.len = 0;
        }
        snprintf(table.name, sizeof table.name, "%s", name);
        if (code == SQLITE_ROW && table.len < SCHEMA_COLUMNS_MAX)
            table.columns[table.len++] = read_schema_column(statement);
    }
    return code == SQLITE_DONE ? STATUS_OK : lite_fail(sqlite3_db_handle(statement), code, err);
}

enum status schema_tables(const struct migrations *all, schema_table_fn *fn, void *arg, struct error *err)
{
    sqlite3      *memory = NULL;
    sqlite3_stmt *statement = NULL;
    enum status   status = make_in_memory(all, all->len, &memory, err);
    errno = 0;
    int code = status == STATUS_OK ? sqlite3_prepare_v2(memory, COLUMNS_IN_ORDER, -1, &statement, NULL) : SQLITE_OK;
    if (code != SQLITE_OK)
        status = lite_fail(memory, code, err);
    if (status == STATUS_OK)
        status = each_schema_table(statement, fn, arg, err);
    sqlite3_finalize(statement);
    sqlite3_close(memory);
    return status;
}

enum status lite_read_version(sqlite3 *handle, const struct migrations *all, int *version, struct error *err)
{
    int owner, objects;
    TRY(lite_read_int(handle, "PRAGMA user_version", version, err));
    TRY(lite_read_int(handle, "PRAGMA application_id", &owner, err));
    TRY(lite_read_int(handle, "SELECT count(*) FROM sqlite_schema", &objects, err));
    if (*version == 0 && owner == 0 && objects == 0)
        return STATUS_OK;
    if (*version <= 0 || owner != APPLICATION_ID)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "gnomon.db is damaged, or of another program");
    if (*version > all->len)
        return error_set(err, STATUS_CONFLICT, "schema_newer", "",
                         "gnomon.db was written by a later version (schema %d, this program knows %d): use that "
                         "version, or the backup that it made",
                         *version, all->len);
    return check_schema(handle, all, *version, err);
}

static enum status look(const char *path, const struct migrations *all, int *version, struct error *err)
{
    sqlite3    *handle = NULL;
    enum status status = lite_open_to_look(path, true, &handle, err);
    if (status == STATUS_OK)
        status = lite_execute(handle, "BEGIN", err); // a snapshot, whoever writes
    if (status == STATUS_OK)
        status = lite_read_version(handle, all, version, err);
    sqlite3_close(handle);
    return status;
}

/* A file that is said not to change, and does, because another process has begun to migrate it, looks like anything. */
static bool has_changed(const char *path, const struct stat *before)
{
    struct stat now;
    return stat(path, &now) != 0 || now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

enum status lite_inspect(const char *folder, const struct migrations *all, struct db_schema *schema, struct error *err)
{
    char        path[LITE_PATH_BYTES];
    struct stat before = {.st_size = 0};
    enum status status = STATUS_OK;
    int         looks = 0;
    *schema = (struct db_schema){.needed = all->len};
    TRY(lite_path(folder, "gnomon.db", path, err));
    if (lite_bytes_of(path, "") <= 0) { // a process killed while making it leaves an empty file
        if (lite_bytes_of(path, "-wal") > 0)
            return error_set(
                err, STATUS_INTERNAL, "store_corrupt", "",
                "gnomon.db is missing or empty, but gnomon.db-wal is there: restore both, or move it away");
        return STATUS_OK;
    }
    do {
        (void)stat(path, &before);
        status = look(path, all, &schema->found, err);
    } while (status != STATUS_OK && has_changed(path, &before) && ++looks < LOOKS_MAX);
    if (status == STATUS_OK && schema->found > 0 && schema->found < all->len)
        snprintf(schema->backup, sizeof schema->backup, "gnomon.db.before-%03d", schema->found + 1);
    return status;
}

/* ---- to the next version ---- */

static bool is_same_file(const char *first, const char *second)
{
    char   one[PIECE_BYTES], two[PIECE_BYTES];
    size_t length;
    FILE  *a = fopen(first, "rb"), *b = fopen(second, "rb");
    bool   is_same = a != NULL && b != NULL;
    do {
        length = is_same ? fread(one, 1, sizeof one, a) : 0;
        is_same = is_same && fread(two, 1, sizeof two, b) == length && memcmp(one, two, length) == 0;
    } while (is_same && length > 0);
    is_same = is_same && !ferror(a) && !ferror(b);
    if (a != NULL)
        fclose(a);
    if (b != NULL)
        fclose(b);
    return is_same;
}

/* The copy gets its name only when it is whole.  A copy that is there already may be of a migration that was interrupted:
 * then it is the same, byte for byte. */
static enum status back_up(sqlite3 *handle, const char *folder, const char *name, struct error *err)
{
    char        path[LITE_PATH_BYTES], part[LITE_PATH_BYTES + 16];
    struct stat there;
    TRY(lite_path(folder, name, path, err));
    snprintf(part, sizeof part, "%s.part", path);
    enum status status = lite_copy(handle, part, err);
    if (status == STATUS_OK && lstat(path, &there) != 0) {
        if (rename(part, path) != 0)
            status = error_set(err, STATUS_INTERNAL, "path", "", "cannot name %.120s: %s", path, strerror(errno));
    } else if (status == STATUS_OK && !is_same_file(part, path)) {
        status = error_set(err, STATUS_CONFLICT, "backup_exists", "",
                           "%s is there already and is no copy of this store: move it away", name);
    }
    unlink(part);
    return status == STATUS_OK ? folder_sync(folder, err) : status;
}

static enum status check_references(sqlite3 *handle, struct error *err)
{
    int rows;
    TRY(lite_read_int(handle, "SELECT count(*) FROM pragma_foreign_key_check", &rows, err));
    if (rows > 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "%d rows would refer to nothing", rows);
    return STATUS_OK;
}

static void note_damaged(void *is_whole, const char *finding)
{
    (void)finding;
    *(bool *)is_whole = false;
}

static enum status apply(sqlite3 *handle, const struct migrations *all, int from, const struct driver_bind *last,
                         struct error *err)
{
    char text[96];
    bool is_whole = true;
    TRY(lite_execute(handle, "BEGIN IMMEDIATE", err));
    TRY(lite_damaged(handle, NULL, note_damaged, &is_whole, err)); // for their sums are made anew
    if (!is_whole)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "rows are damaged: see gnomon verify --data");
    TRY(execute_all(handle, all, from, all->len, err));
    TRY(check_references(handle, err));
    TRY(lite_sum_all(handle, err));
    if (from > 0) // a new store has just been made by the texts that it would be compared with
        TRY(check_schema(handle, all, all->len, err));
    if (last != NULL)
        TRY(last->bind(last->arg, err));
    snprintf(text, sizeof text, "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT", all->len,
             APPLICATION_ID);
    return lite_execute(handle, text, err);
}

enum status lite_migrate(void *handle, const char *folder, const struct migrations *all, const struct db_schema *schema,
                         const struct driver_bind *last, struct error *err)
{
    struct error why = {.status = STATUS_OK}, left;
    enum status  status = schema->found > 0 ? back_up(handle, folder, schema->backup, &why) : STATUS_OK;
    // A table that is made anew must not take the rows that refer to it along; inside a transaction this says nothing.
    if (status == STATUS_OK)
        status = lite_pragma(handle, "foreign_keys", "0", "0", &why);
    if (status == STATUS_OK)
        status = apply(handle, all, schema->found, last, &why);
    if (status == STATUS_OK)
        return lite_pragma(handle, "foreign_keys", "1", "1", err);
    if (sqlite3_get_autocommit(handle) == 0 && lite_execute(handle, "ROLLBACK", &left) != STATUS_OK)
        why = left;
    if (schema->found == 0)
        return error_set(err, status, why.code, "", "cannot make gnomon.db: %.200s", why.text);
    return error_set(err, status, why.code, "", "cannot take gnomon.db from schema %d to %d: %.150s; it is as it was",
                     schema->found, all->len, why.text);
}

/* ---- a store that is filled with the rows of another ---- */

/* The triggers of the schema go, and come again when the rows are there: meanwhile this transaction remembers them. */
#define REST \
    "BEGIN IMMEDIATE; CREATE TEMP TABLE resting AS SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger'"

/* Runs what each row of the query says. */
static enum status execute_rows(sqlite3 *handle, const char *query, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    enum status   status = STATUS_OK;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, query, -1, &statement, NULL);
    while (status == STATUS_OK && code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        status = text == NULL ? error_no_memory(err) : lite_execute(handle, text, err);
        code = SQLITE_OK;
    }
    if (status == STATUS_OK && code != SQLITE_DONE)
        status = lite_fail(handle, code, err);
    sqlite3_finalize(statement);
    return status;
}

enum status lite_lay(void *handle, const char *folder, const struct migrations *all, struct error *err)
{
    TRY(lite_migrate(handle, folder, all, &(struct db_schema){.needed = all->len}, NULL, err));
    TRY(lite_execute(handle, REST, err));
    return execute_rows(handle, "SELECT 'DROP TRIGGER main.' || name FROM temp.resting", err);
}

enum status lite_wake(void *handle, struct error *err)
{
    TRY(execute_rows(handle, "SELECT sql FROM temp.resting", err));
    return lite_execute(handle, "DROP TABLE temp.resting", err);
}
