/* The PostgreSQL driver: its schema.
 *
 * There is one source of it, db/migrations.  Tables and indices are read from SQLite, which ran them all, and said in
 * PostgreSQL's words; triggers have bodies in another language and are written in db/postgres/postgres.sql by the same names, of
 * which a test says that none is missing.  A store of an earlier schema gets the later migrations, statement by statement in
 * the same words. */
#include "db/postgres/db_postgres.h"
#include "db/schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *own, *theirs;
} words[] = {
    {"INTEGER", "BIGINT"},          {"REAL", "DOUBLE PRECISION"}, {"BLOB", "BYTEA"},
    {"TEXT", "TEXT COLLATE \"C\""}, {"AUTOINCREMENT", ""},
};

static const char *translate(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].own) == length && memcmp(words[i].own, word, length) == 0)
            return words[i].theirs;
    return NULL;
}

/* Word by word, and without remarks. */
static void write_words(FILE *file, const char *text, const char *end)
{
    while (text < end) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        const char *own = translate(text, length);
        if (text[0] == '-' && text[1] == '-') {
            text += strcspn(text, "\n");
            continue;
        }
        if (text[0] == '\'') // a text is copied as it is
            length = strcspn(text + 1, "'") + 2;
        length += length == 0;
        if (own != NULL)
            fputs(own, file);
        else
            fwrite(text, 1, length, file);
        text += length;
    }
    fputs(";\n", file);
}

/* Without what SQLite says behind the last bracket of a table. */
static void write_statement(FILE *file, const char *text, const char *end)
{
    if (strncmp(text, "CREATE TABLE ", 13) == 0)
        while (end[-1] != ')')
            end--;
    write_words(file, text, end);
}

static enum status write_object(void *arg, const char *type, const char *text, struct error *err)
{
    (void)type, (void)err;
    write_statement(arg, text, text + strlen(text));
    return STATUS_OK;
}

/* ---- to the next version ---- */

/* Behind the spaces and remarks. */
static const char *skip_remarks(const char *text)
{
    for (;; text += strcspn(text, "\n")) {
        text += strspn(text, " \n\t");
        if (text[0] != '-' || text[1] != '-')
            return text;
    }
}

/* The semicolon that ends the statement: of a trigger, the one behind END. */
static const char *find_end(const char *text)
{
    bool is_trigger = strncmp(text, "CREATE TRIGGER ", 15) == 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '-' && at[1] == '-')
            at += strcspn(at, "\n");
        else if (at[0] == '\'')
            at += strcspn(at + 1, "'") + 1;
        else if (at[0] == ';' && (!is_trigger || strncmp(at - 3, "END", 3) == 0))
            return at;
        if (*at == '\0')
            return at;
    }
    return text + strlen(text);
}

/* A migration's statements, as they are said here: triggers come from db/postgres/postgres.sql, numbers for SQLite's planner are none
 * of PostgreSQL's business. */
static void write_migration(FILE *file, const char *text)
{
    static const char *const others[] = {"CREATE TRIGGER ", "DROP TRIGGER ", "ANALYZE ", "INSERT INTO sqlite_"};
    for (const char *end; *(text = skip_remarks(text)) != '\0'; text = end + (*end != '\0')) {
        bool is_ours = true;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            is_ours = is_ours && strncmp(text, others[i], strlen(others[i])) != 0;
        end = find_end(text);
        if (is_ours)
            write_statement(file, text, end);
    }
}

bool pg_bound_columns(int schema, const struct schema_table *table, char out[PG_COLUMNS_BYTES])
{
    char   columns[PG_COLUMNS_BYTES] = "";
    size_t used = 0;
    for (int i = 0; i < table->len; i++)
        if (strcmp(table->columns[i].name, "sum") != 0) // is made of the others
            used += (size_t)snprintf(columns + used, sizeof columns - used, "%s%s", used > 0 ? "," : "",
                                     table->columns[i].name);
    sum_list(schema, table->name, columns, out, PG_COLUMNS_BYTES);
    return out[0] != '\0';
}

static enum status write_bound(void *file, const struct schema_table *table, struct error *err)
{
    char columns[PG_COLUMNS_BYTES];
    (void)err;
    if (pg_bound_columns(db_migrations.len, table, columns))
        fprintf(file, "SELECT bind_table('%s', string_to_array('%s', ','));\n", table->name, columns);
    return STATUS_OK;
}

/* Around migrations, of which one may make a table anew to which others refer: as with SQLite, references are there again, and
 * checked, at the end.  Functions of a table go with its type, and come again with postgres.sql. */
#define LET_GO                                                                                                        \
    "SET CONSTRAINTS ALL IMMEDIATE;\n"                                                                                \
    "CREATE TEMP TABLE held ON COMMIT DROP AS SELECT conrelid, conname, pg_get_constraintdef(oid) AS text FROM "      \
    "pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace;\n"                          \
    "DO $do$ DECLARE t record; BEGIN FOR t IN SELECT conrelid::regclass AS name, conname FROM held LOOP EXECUTE "     \
    "format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, t.conname); END LOOP; FOR t IN SELECT oid::regprocedure AS " \
    "name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname IN ('row_sum', 'row_check', "  \
    "'row_see') LOOP EXECUTE format('DROP FUNCTION %s', t.name); END LOOP; END$do$;\n"
#define HOLD_AGAIN                                                                                                    \
    "DO $do$ DECLARE t record; BEGIN FOR t IN SELECT c.oid::regclass AS name, conname, text FROM held JOIN pg_class " \
    "c ON c.oid = conrelid LOOP EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', t.name, t.conname, t.text); "   \
    "END LOOP; END$do$;\n"

/* Writes the whole schema, for an empty database, or the migrations from an earlier version. */
static enum status write_schema(const struct migrations *all, int found, char **out, struct error *err)
{
    size_t      bytes = 0;
    FILE       *file = open_memstream(out, &bytes);
    enum status status = STATUS_OK;
    if (file == NULL)
        return error_no_memory(err);
    if (found == 0)
        status = schema_each(all, write_object, file, err);
    else
        fputs(LET_GO, file);
    for (int i = found; found > 0 && i < all->len; i++)
        write_migration(file, all->texts[i]);
    if (found > 0)
        fputs(HOLD_AGAIN, file);
    fputs(db_postgres_text, file);
    if (status == STATUS_OK)
        status = schema_tables(all, write_bound, file, err);
    fprintf(file,
            "SELECT sum_rows();\nUPDATE chain SET total = '';\nINSERT INTO store(id, version, mark) VALUES (1, %d, 0) "
            "ON CONFLICT (id) DO UPDATE SET "
            "version = excluded.version;\n",
            all->len);
    bool is_good = ferror(file) == 0;
    is_good = fclose(file) == 0 && is_good;
    return status != STATUS_OK || is_good ? status : error_no_memory(err);
}

/* For their sums are made anew. */
static enum status check_rows(struct pg *pg, struct error *err)
{
    int64_t damaged;
    TRY(pg_ask(pg, "SELECT count(*) FROM damaged_rows(NULL)", &damaged, err));
    if (damaged > 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "rows are damaged: see gnomon verify");
    return STATUS_OK;
}

static enum status read_version(struct pg *pg, int64_t *found, struct error *err)
{
    int64_t is_there;
    *found = 0;
    TRY(pg_ask(pg, "SELECT count(*) FROM pg_class WHERE oid = to_regclass('store')", &is_there, err));
    return is_there > 0 ? pg_ask(pg, "SELECT version FROM store", found, err) : STATUS_OK;
}

/* Another server may have been quicker: it had the store between the look at it and the lock. */
static enum status apply(struct pg *pg, const char *text, const struct db_schema *schema,
                         const struct driver_bind *last, struct error *err)
{
    int64_t found;
    TRY(pg_send_text(pg, "BEGIN", err));
    TRY(read_version(pg, &found, err));
    if (found == schema->needed)
        return pg_send_text(pg, "ROLLBACK", err);
    if (found != schema->found)
        return error_set(err, STATUS_BUSY, "busy", "", "another server changes the schema");
    if (schema->found > 0)
        TRY(check_rows(pg, err));
    TRY(pg_send_text(pg, text, err));
    if (last != NULL)
        TRY(last->bind(last->arg, err));
    return pg_send_text(pg, "COMMIT", err);
}

/* ---- a store that is filled with the rows of another ---- */

/* Only the triggers of db/sum.h work. */
#define REST                                                                                                           \
    "DO $do$ DECLARE t record; BEGIN FOR t IN SELECT tgname, tgrelid::regclass AS name FROM pg_trigger JOIN pg_class " \
    "c "                                                                                                               \
    "ON c.oid = tgrelid WHERE NOT tgisinternal AND c.relnamespace = current_schema()::regnamespace AND tgname NOT IN " \
    "('row_is_summed', 'row_is_bound') LOOP EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', t.name, t.tgname); "   \
    "END LOOP; END$do$"
#define WAKE                                                                                                       \
    "DO $do$ DECLARE t record; BEGIN FOR t IN SELECT oid::regclass AS name FROM pg_class WHERE relkind = 'r' AND " \
    "relnamespace = current_schema()::regnamespace LOOP EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', "     \
    "t.name); END LOOP; END$do$"

/* Tables without statistics are read by their keys. */
enum status pg_lay(void *handle, const char *place, const struct migrations *all, struct error *err)
{
    struct pg *pg = handle;
    char      *text = NULL;
    int64_t    there = 0;
    (void)place;
    TRY(pg_send_text(pg, "BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off",
                     err));
    TRY(pg_ask(pg, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace", &there, err));
    if (there > 0)
        return error_set(err, STATUS_CONFLICT, "store_exists", "",
                         "the schema of the database is not empty: name another, or drop what is in it");
    enum status status = write_schema(all, 0, &text, err);
    if (status == STATUS_OK)
        status = pg_send_text(pg, text, err);
    free(text);
    TRY(status);
    return pg_send_text(pg, REST, err);
}

enum status pg_wake(void *handle, struct error *err)
{
    return pg_send_text(handle, WAKE, err);
}

/* ---- to the last version ---- */

/* Migrates in one transaction; copies before it are PostgreSQL's to make. */
enum status pg_migrate(void *handle, const char *place, const struct migrations *all, const struct db_schema *schema,
                       const struct driver_bind *last, struct error *err)
{
    struct pg   *pg = handle;
    char        *text = NULL;
    struct error why = {.status = STATUS_OK}, left;
    (void)place;
    enum status status = write_schema(all, schema->found, &text, &why);
    if (status == STATUS_OK)
        status = apply(pg, text, schema, last, &why);
    free(text);
    if (status == STATUS_OK)
        return STATUS_OK;
    if (pg->conn != NULL && pg_send_text(pg, "ROLLBACK", &left) != STATUS_OK)
        why = left;
    if (schema->found == 0)
        return error_set(err, status, why.code, "", "cannot make the store's tables: %.200s", why.text);
    return error_set(err, status, why.code, "",
                     "cannot take the database from schema %d to %d: %.150s; it is as it was", schema->found, all->len,
                     why.text);
}

enum status pg_inspect(const char *place, const struct migrations *all, struct db_schema *schema, struct error *err)
{
    struct pg pg = {.place = place, .mode = DRIVER_READ_ONLY, .answer_ms = PG_ANSWER_MS};
    int64_t   found = 0;
    *schema = (struct db_schema){.needed = all->len};
    TRY(pg_connect(&pg, err));
    enum status status = read_version(&pg, &found, err);
    pg_disconnect(&pg);
    TRY(status);
    schema->found = (int)found;
    if (found > all->len)
        return error_set(err, STATUS_CONFLICT, "schema_newer", "",
                         "the database was written by a later version (schema %d, this program knows %d): use that "
                         "version",
                         (int)found, all->len);
    return STATUS_OK;
}
