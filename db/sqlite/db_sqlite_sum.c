/* The SQLite driver: the sums of rows (sum.h), made by triggers of the writer's connection alone, so that no statement can
 * forget them and whoever reads the file needs nothing of ours.  What they sum up is read from the schema: every table with a
 * column `sum` has it made of all others. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "db/sqlite/db_sqlite.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LIST_BYTES = 4096,
    TEXT_BYTES = 6 * LIST_BYTES,
    NAME_BYTES = SCAN_TABLE_BYTES,
    TABLES_MAX = 64,
    COLUMNS_MAX = 128,
    SCAN_US = 3000
};

/* ---- functions ---- */

struct piece {
    enum sum_kind kind;
    const void   *bytes;
    size_t        length;
    int64_t       number;
    double        real;
};

/* A number without a fraction is the same whether its column says INTEGER or REAL, of which SQLite keeps no track in
 * triggers, and so are the two zeros. */
static void read_piece(sqlite3_value *value, struct piece *out)
{
    int type = sqlite3_value_type(value);
    *out = (struct piece){.kind = SUM_NONE};
    if (type == SQLITE_FLOAT)
        out->real = sqlite3_value_double(value);
    bool is_whole =
        type == SQLITE_FLOAT && out->real > -9e15 && out->real < 9e15 && out->real == (double)(int64_t)out->real;
    if (type == SQLITE_INTEGER || is_whole) {
        out->number = is_whole ? (int64_t)out->real : sqlite3_value_int64(value);
        *out = (struct piece){.kind = SUM_NUMBER, .number = out->number, .length = 8};
    } else if (type == SQLITE_FLOAT) {
        out->kind = SUM_REAL;
        out->length = 8;
        memcpy(&out->number, &out->real, 8);
    } else if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        out->kind = type == SQLITE_TEXT ? SUM_TEXT : SUM_BLOB;
        out->bytes = type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
        out->length = (size_t)sqlite3_value_bytes(value);
    }
}

static const void *bytes_of(const struct piece *piece, unsigned char number[8])
{
    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)((uint64_t)piece->number >> (8 * i));
    return piece->kind == SUM_NUMBER || piece->kind == SUM_REAL ? number : piece->bytes;
}

static int64_t sum_of(int len, sqlite3_value **values)
{
    uint64_t sum = 0;
    for (int i = 0; i < len; i++) {
        struct piece  piece;
        unsigned char number[8];
        read_piece(values[i], &piece);
        sum = sum_bytes(sum, piece.kind, bytes_of(&piece, number), piece.length);
    }
    return (int64_t)sum;
}

/* row_sum(column, ...) */
static void row_sum(sqlite3_context *context, int len, sqlite3_value **values)
{
    sqlite3_result_int64(context, sum_of(len, values));
}

/* Whether the row behind its owner and its sum is as it was written; notes the owner if not.  The missing row of an outer
 * join has no sum. */
static bool is_intact(sqlite3_context *context, int len, sqlite3_value **values)
{
    char *damaged = sqlite3_user_data(context);
    bool  is_intact = len < 2 || sqlite3_value_type(values[1]) == SQLITE_NULL ||
                     sqlite3_value_int64(values[1]) == sum_of(len - 2, values + 2);
    if (!is_intact && damaged != NULL && sqlite3_value_type(values[0]) != SQLITE_NULL)
        snprintf(damaged, DAMAGED_BYTES, "%s", (const char *)sqlite3_value_text(values[0]));
    return is_intact;
}

/* row_check(owner, sum, column, ...): fails unless the row is intact. */
static void row_check(sqlite3_context *context, int len, sqlite3_value **values)
{
    if (is_intact(context, len, values))
        sqlite3_result_int(context, 1);
    else
        sqlite3_result_error_code(context, LITE_CORRUPT_ROW);
}

/* row_see(owner, sum, column, ...): 1. */
static void row_see(sqlite3_context *context, int len, sqlite3_value **values)
{
    (void)is_intact(context, len, values);
    sqlite3_result_int(context, 1);
}

/* row_bind(1 or -1, table, column, ...): into the total. */
static void row_bind(sqlite3_context *context, int len, sqlite3_value **values)
{
    struct total *total = sqlite3_user_data(context);
    SHA256_CTX    own;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_Init(&own);
    for (int i = 1; i < len; i++) {
        struct piece  piece;
        unsigned char number[8], head[9];
        read_piece(values[i], &piece);
        bytes_of(&(struct piece){.number = (int64_t)piece.length}, head);
        head[8] = (unsigned char)piece.kind;
        SHA256_Update(&own, head, sizeof head);
        SHA256_Update(&own, bytes_of(&piece, number), piece.length);
    }
    SHA256_Final(digest, &own);
    total_add_row(total, digest, sqlite3_value_int(values[0]) > 0);
}

enum status lite_sum_functions(sqlite3 *handle, struct total *total, char *damaged, struct error *err)
{
    const struct {
        const char *name;
        int         flags;
        void       *arg;
        void (*call)(sqlite3_context *context, int len, sqlite3_value **values);
    } functions[] = {{"row_sum", SQLITE_DETERMINISTIC, NULL, row_sum},
                     {"row_check", 0, damaged, row_check},
                     {"row_see", 0, damaged, row_see},
                     {"row_bind", 0, total, row_bind}};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && code == SQLITE_OK; i++)
        if (functions[i].call != row_bind || total != NULL)
            code = sqlite3_create_function_v2(handle, functions[i].name, -1,
                                              SQLITE_UTF8 | SQLITE_INNOCUOUS | functions[i].flags, functions[i].arg,
                                              functions[i].call, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : lite_fail(handle, code, err);
}

/* ---- tables ---- */

struct summed {
    char table[NAME_BYTES], owner[NAME_BYTES];   /* the column that says whose the row is */
    char columns[LIST_BYTES], old[LIST_BYTES];   /* all but the sum; of the row as it was */
    char key[LIST_BYTES], where[LIST_BYTES];     /* the primary key; that it is the new row's */
    char place[LIST_BYTES], literal[LIST_BYTES]; /* the key in words, and as SQL would say it */
};

/* Appends before, name and after to the list, and `between` first if the list is not empty. */
static void append(char *list, const char *between, const char *before, const char *name, const char *after)
{
    size_t length = strlen(list);
    snprintf(list + length, LIST_BYTES - length, "%s%s%s%s", length > 0 ? between : "", before, name, after);
}

#define COLUMNS_OF "SELECT name, pk FROM pragma_table_info(?) WHERE name <> 'sum' ORDER BY cid"

static enum status read_table(sqlite3 *handle, struct summed *out, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, COLUMNS_OF, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, out->table, -1, SQLITE_STATIC);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        const char *name = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        if (name == NULL)
            break;
        append(out->columns, ",", "", name, "");
        append(out->old, ",", "OLD.", name, "");
        if (sqlite3_column_int(statement, 1) == 0)
            continue;
        append(out->key, ",", "", name, "");
        append(out->where, " AND ", "", name, " = NEW.");
        append(out->where, "", "", name, "");
        append(out->place, " || ' ' || ", "", name, "");
        append(out->literal, " || ',' || ", "quote(", name, ")");
    }
    snprintf(out->owner, sizeof out->owner, "%.*s",
             strstr(out->columns, ",study,") != NULL ? 5 : (int)strcspn(out->key, ","),
             strstr(out->columns, ",study,") != NULL ? "study" : out->key);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

#define ALL_TABLES \
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 1"
#define SUMMED_TABLES                                                                                                  \
    "SELECT s.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND c.name = 'sum' ORDER " \
    "BY 1"

/* Calls each for every table that the query names. */
typedef enum status each_table(sqlite3 *handle, const struct summed *table, void *arg, struct error *err);
static enum status  for_named(sqlite3 *handle, const char *query, each_table *each, void *arg, struct error *err)
{
    char          names[TABLES_MAX][NAME_BYTES];
    size_t        len = 0;
    sqlite3_stmt *statement = NULL;
    enum status   status = STATUS_OK;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, query, -1, &statement, NULL);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && len < TABLES_MAX &&
           (code = sqlite3_step(statement)) == SQLITE_ROW)
        snprintf(names[len++], NAME_BYTES, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return lite_fail(handle, code, err);
    for (size_t i = 0; i < len && status == STATUS_OK; i++) {
        struct summed table = {.columns = ""};
        snprintf(table.table, sizeof table.table, "%s", names[i]);
        status = read_table(handle, &table, err);
        if (status == STATUS_OK)
            status = each(handle, &table, arg, err);
    }
    return status;
}

static enum status for_tables(sqlite3 *handle, each_table *each, void *arg, struct error *err)
{
    return for_named(handle, SUMMED_TABLES, each, arg, err);
}

/* ---- triggers ---- */

static enum status guard_table(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    char text[TEXT_BYTES];
    (void)arg;
    snprintf(text, sizeof text,
             "CREATE TEMP TRIGGER IF NOT EXISTS sum_%s_comes AFTER INSERT ON main.%s WHEN NEW.sum = 0 BEGIN "
             "UPDATE %s SET sum = row_sum(%s) WHERE %s; END",
             table->table, table->table, table->table, table->columns, table->where);
    TRY(lite_execute(handle, text, err));
    snprintf(text, sizeof text,
             "CREATE TEMP TRIGGER IF NOT EXISTS sum_%s_changes AFTER UPDATE OF %s ON main.%s BEGIN "
             "SELECT row_check(OLD.%s, OLD.sum, %s); UPDATE %s SET sum = row_sum(%s) WHERE %s; END",
             table->table, table->columns, table->table, table->owner, table->old, table->table, table->columns,
             table->where);
    return lite_execute(handle, text, err);
}

/* "OLD.a,OLD.b" of "a,b". */
static void prefix(const char *columns, const char *with, char out[LIST_BYTES])
{
    out[0] = '\0';
    while (*columns != '\0') {
        size_t length = strcspn(columns, ","), used = strlen(out);
        snprintf(out + used, LIST_BYTES - used, "%s%s%.*s", used > 0 ? "," : "", with, (int)length, columns);
        columns += length + (columns[length] == ',');
    }
}

static enum status guard_bound(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    char        text[TEXT_BYTES], bound[LIST_BYTES], now[LIST_BYTES], before[LIST_BYTES];
    const char *name = table->table;
    (void)arg;
    sum_list(db_migrations.len, name, table->columns, bound, sizeof bound);
    if (bound[0] == '\0')
        return STATUS_OK;
    prefix(bound, "NEW.", now);
    prefix(bound, "OLD.", before);
    snprintf(text, sizeof text,
             "CREATE TEMP TRIGGER IF NOT EXISTS bound_%s_comes AFTER INSERT ON main.%s BEGIN SELECT row_bind(1, '%s', "
             "%s); END;"
             "CREATE TEMP TRIGGER IF NOT EXISTS bound_%s_goes AFTER DELETE ON main.%s BEGIN SELECT row_bind(-1, '%s', "
             "%s); END;"
             "CREATE TEMP TRIGGER IF NOT EXISTS bound_%s_changes AFTER UPDATE OF %s ON main.%s BEGIN "
             "SELECT row_bind(-1, '%s', %s), row_bind(1, '%s', %s); END;",
             name, name, name, now, name, name, name, before, name, bound, name, name, before, name, now);
    return lite_execute(handle, text, err);
}

enum status lite_guard(void *handle, struct total *total, char *damaged, struct error *err)
{
    TRY(lite_sum_functions(handle, total, damaged, err));
    if (total == NULL)
        return STATUS_OK;
    TRY(for_tables(handle, guard_table, NULL, err));
    return for_named(handle, ALL_TABLES, guard_bound, NULL, err);
}

/* ---- of rows that are read ---- */

/* "alias.a,alias.b" of the table, and so on; text: "trial t)". */
static enum status write_check(sqlite3 *handle, const char *function, const char *text, char *out, size_t room,
                               struct error *err)
{
    char          columns[LIST_BYTES], with[NAME_BYTES + 1];
    struct summed table = {.columns = ""};
    size_t        name = strcspn(text, " "), alias = strcspn(text, ")") - name - 1;
    snprintf(table.table, sizeof table.table, "%.*s", (int)name, text);
    snprintf(with, sizeof with, "%.*s.", (int)alias, text + name + 1);
    TRY(read_table(handle, &table, err));
    prefix(table.columns, with, columns);
    snprintf(out, room, "%s(%s%s, %ssum, %s)", function, with, table.owner, with, columns);
    return STATUS_OK;
}

/* ---- of rows that come ---- */

/* The parts of "(a, b)": columns, or values. */
struct parts {
    const char *at[COLUMNS_MAX];
    int         length[COLUMNS_MAX];
    int         len;
};

/* Returns the end, behind the last parenthesis, or NULL. */
static const char *split(const char *text, struct parts *out)
{
    int         depth = 0;
    const char *start = text + 1;
    *out = (struct parts){.len = 0};
    for (; *text != '\0' && out->len < COLUMNS_MAX; text++) {
        depth += (*text == '(') - (*text == ')');
        if (depth > 1 || (depth == 1 && *text != ','))
            continue;
        out->at[out->len] = start + (*start == ' ');
        out->length[out->len++] = (int)(text - start) - (*start == ' ');
        start = text + 1;
        if (depth == 0)
            return start;
    }
    return NULL;
}

static const char *value_of(const char *column, const struct parts *columns, const struct parts *values, int *length)
{
    int i = 0;
    while (i < columns->len &&
           (strlen(column) != (size_t)columns->length[i] || memcmp(column, columns->at[i], strlen(column)) != 0))
        i++;
    if (i == columns->len)
        return NULL;
    *length = values->length[i];
    return values->at[i];
}

#define COLUMNS_AND_DEFAULTS                                                                                   \
    "SELECT name, coalesce(dflt_value, 'NULL'), pk FROM pragma_table_info(?1) WHERE name <> 'sum' AND EXISTS " \
    "(SELECT 1 FROM pragma_table_info(?1) WHERE name = 'sum') ORDER BY cid"

/* All values of a row, in the order of its columns; "" where there is no sum, or the key is made by the database. */
static enum status list_row(sqlite3 *handle, const char *table, const struct parts *columns, const struct parts *values,
                            char out[LIST_BYTES], struct error *err)
{
    sqlite3_stmt *statement = NULL;
    bool          is_known = true;
    out[0] = '\0';
    errno = 0;
    int code = sqlite3_prepare_v2(handle, COLUMNS_AND_DEFAULTS, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code != SQLITE_ROW)
            break;
        char        text[LIST_BYTES];
        int         length = LIST_BYTES;
        const char *value = value_of((const char *)sqlite3_column_text(statement, 0), columns, values, &length);
        is_known &= value != NULL || sqlite3_column_int(statement, 2) == 0;
        snprintf(text, sizeof text, "%.*s", length,
                 value != NULL ? value : (const char *)sqlite3_column_text(statement, 1));
        append(out, ", ", "", text, "");
    }
    if (!is_known)
        out[0] = '\0';
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

/* SQLite numbers $n by first appearance but ?n by n, and ? is the next: so each gets its number. */
static void number_parameters(const char *text, char *out, size_t room)
{
    int    most = 0;
    size_t used = 0;
    for (; *text != '\0' && used + 12 < room; text++) {
        if (*text != '$') {
            out[used++] = *text;
            continue;
        }
        int number = (int)strtol(text + 1, NULL, 10);
        if (number == 0)
            used += (size_t)snprintf(out + used, room - used, "?%d", ++most);
        else
            out[used++] = '?';
        most = number > most ? number : most;
    }
    out[used] = '\0';
}

/* "INSERT INTO t(a, b) VALUES (...) rest" makes the sum of its row, too: the trigger would write the row a second time.  Other
 * statements stay. */
static enum status insert_sum(sqlite3 *handle, const char *text, char *out, size_t room, struct error *err)
{
    static const char insert[] = "INSERT INTO ", between[] = " VALUES (";
    char              table[NAME_BYTES], row[LIST_BYTES];
    struct parts      columns, values;
    size_t            name = strncmp(text, insert, sizeof insert - 1) == 0 ? sizeof insert - 1 : strlen(text);
    const char *list = text + name + strcspn(text + name, "("), *end = *list == '(' ? split(list, &columns) : NULL;
    snprintf(out, room, "%s", text);
    if (end == NULL || strncmp(end, between, sizeof between - 1) != 0)
        return STATUS_OK;
    const char *rest = split(end + sizeof between - 2, &values);
    snprintf(table, sizeof table, "%.*s", (int)(list - text - (ptrdiff_t)name), text + name);
    if (rest == NULL || values.len != columns.len)
        return STATUS_OK;
    TRY(list_row(handle, table, &columns, &values, row, err));
    if (row[0] != '\0')
        snprintf(out, room, "%.*s, sum)%.*s, row_sum(%s))%s", (int)(end - text - 1), text, (int)(rest - end - 1), end,
                 row, rest);
    return STATUS_OK;
}

enum status lite_write_sums(sqlite3 *handle, const char *listed, char *out, size_t room, struct error *err)
{
    char        numbered[TEXT_BYTES], own[TEXT_BYTES];
    const char *text = own;
    number_parameters(listed, numbered, sizeof numbered);
    TRY(insert_sum(handle, numbered, own, sizeof own, err));
    static const char *const functions[] = {"row_check(", "row_see("};
    size_t                   used = 0;
    while (*text != '\0' && used + 1 < room) {
        const char *function = NULL;
        for (size_t i = 0; i < 2; i++)
            if (strncmp(text, functions[i], strlen(functions[i])) == 0)
                function = functions[i];
        if (function == NULL) {
            out[used++] = *text++;
            continue;
        }
        text += strlen(function);
        TRY(write_check(handle, function == functions[0] ? "row_check" : "row_see", text, out + used, room - used,
                        err));
        used += strlen(out + used);
        text += strcspn(text, ")") + 1;
    }
    out[used] = '\0';
    return used + 1 < room
               ? STATUS_OK
               : error_set(err, STATUS_INTERNAL, "store_error", "", "a statement is longer than %zu bytes", room);
}

/* ---- of a whole store ---- */

static enum status gather_table(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    char       text[TEXT_BYTES], bound[LIST_BYTES];
    const int *schema = arg;
    int        rows;
    sum_list(*schema, table->table, table->columns, bound, sizeof bound);
    if (bound[0] == '\0')
        return STATUS_OK;
    snprintf(text, sizeof text, "SELECT count(row_bind(1, '%s', %s)) FROM %s", table->table, bound, table->table);
    return lite_read_int(handle, text, &rows, err);
}

enum status lite_gather(void *handle, int schema, struct total *total, struct error *err)
{
    TRY(lite_sum_functions(handle, total, NULL, err));
    *total = (struct total){{0}};
    return for_named(handle, ALL_TABLES, gather_table, &schema, err);
}

static enum status sum_table(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    char text[TEXT_BYTES];
    (void)arg;
    snprintf(text, sizeof text, "UPDATE %s SET sum = row_sum(%s)", table->table, table->columns);
    return lite_execute(handle, text, err);
}

static enum status unbind(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    (void)arg;
    return strcmp(table->table, "chain") == 0 ? lite_execute(handle, "UPDATE chain SET total = x''", err) : STATUS_OK;
}

enum status lite_sum_all(sqlite3 *handle, struct error *err)
{
    TRY(for_tables(handle, sum_table, NULL, err));
    return for_named(handle, ALL_TABLES, unbind, NULL, err);
}

struct finding {
    driver_say *say;
    void       *arg;
    const char *owner; /* NULL: of all */
};

static enum status find_damaged(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    const struct finding *finding = arg;
    sqlite3_stmt         *statement = NULL;
    char                  text[TEXT_BYTES];
    snprintf(
        text, sizeof text,
        "SELECT 'the row ' || %s || ' of %s is not what was written' FROM %s WHERE sum IS NOT row_sum(%s) AND (?1 IS "
        "NULL OR %s IS ?1)",
        table->place, table->table, table->table, table->columns, table->owner);
    errno = 0;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    if (code == SQLITE_OK && finding->owner != NULL)
        code = sqlite3_bind_text(statement, 1, finding->owner, -1, SQLITE_STATIC);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        errno = 0;
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            finding->say(finding->arg, (const char *)sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

enum status lite_damaged(void *handle, const char *owner, driver_say *say, void *arg, struct error *err)
{
    struct finding finding = {.say = say, .arg = arg, .owner = owner};
    return for_tables(handle, find_damaged, &finding, err);
}

/* ---- piece by piece ---- */

/* The table that comes at or after the place; "": none. */
struct finding_next {
    const struct scan *scan;
    struct summed      found;
};
static enum status find_next(sqlite3 *handle, const struct summed *table, void *arg, struct error *err)
{
    struct finding_next *next = arg;
    int                  order = strcmp(table->table, next->scan->table);
    (void)handle, (void)err;
    if (next->found.table[0] == '\0' && (order > 0 || (order == 0 && next->scan->after[0] != '\0')))
        next->found = *table;
    return STATUS_OK;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static enum status scan_piece(sqlite3 *handle, const struct summed *table, struct scan *scan, struct error *err)
{
    char          text[TEXT_BYTES], after[SCAN_PLACE_BYTES + 16] = "";
    sqlite3_stmt *statement = NULL;
    int64_t       until = now_us() + SCAN_US;
    if (strcmp(table->table, scan->table) == 0)
        snprintf(after, sizeof after, "> (%s)", scan->after);
    snprintf(scan->table, sizeof scan->table, "%s", table->table);
    snprintf(text, sizeof text, "SELECT %s, %s, sum IS row_sum(%s) FROM %s WHERE %s%s%s%s ORDER BY %s", table->literal,
             table->owner, table->columns, table->table, after[0] == '\0' ? "1" : "(",
             after[0] == '\0' ? "" : table->key, after[0] == '\0' ? "" : ") ", after, table->key);
    errno = 0;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    while (code == SQLITE_OK || (code == SQLITE_ROW && now_us() < until)) {
        errno = 0;
        code = sqlite3_step(statement);
        if (code != SQLITE_ROW)
            break;
        snprintf(scan->after, sizeof scan->after, "%s", (const char *)sqlite3_column_text(statement, 0));
        if (!sqlite3_column_int(statement, 2))
            scan->say(scan->arg, (const char *)sqlite3_column_text(statement, 1));
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE)
        scan->after[0] = '\0'; // on to the next table
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

enum status lite_scan(void *handle, struct scan *scan, struct error *err)
{
    struct finding_next next = {.scan = scan};
    TRY(for_tables(handle, find_next, &next, err));
    scan->is_over = next.found.table[0] == '\0';
    return scan->is_over ? STATUS_OK : scan_piece(handle, &next.found, scan, err);
}
