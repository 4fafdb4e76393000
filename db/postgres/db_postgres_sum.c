/* The PostgreSQL driver: the sums of rows (sum.h).  Triggers and functions of the schema make them and look at them
 * (db/postgres/postgres.sql); what they have to tell comes as notices, in the order in which rows were written. */
#include "db/postgres/db_postgres.h"
#include "db/schema.h"

#include <stdio.h>
#include <string.h>

enum { GATHER_ROWS = 10000, SCAN_ROWS = 200, TEXT_BYTES = 8192 };

enum status pg_guard(void *handle, struct total *total, char *damaged, struct error *err)
{
    struct pg *pg = handle;
    pg->total = total;
    pg->damaged = damaged;
    if (total == NULL)
        return STATUS_OK;
    TRY(pg_succeed(pg, err));
    return pg_send_text(pg, PG_GUARD, err);
}

/* ---- of a whole store ---- */

/* A statement's rows, one after the other. */
typedef void       each_row(void *arg, const struct db_value *columns);
static enum status for_rows(struct pg *pg, const struct sql_statement *listed, struct db_values values, each_row *each,
                            void *arg, struct error *err)
{
    struct db_value columns[3];
    void           *statement = NULL;
    bool            row = true;
    enum status     status = pg->driver->prepare(pg, listed, &statement, err);
    for (size_t i = 0; status == STATUS_OK && i < values.len; i++)
        status = pg->driver->bind(statement, (int)i + 1, &values.items[i], err);
    while (status == STATUS_OK && row) {
        status = pg->driver->step(statement, &row, err);
        for (int i = 0; status == STATUS_OK && row && listed->letters[i] != '\0'; i++) {
            columns[i].letter = listed->letters[i];
            (void)pg->driver->column(statement, i, &columns[i]); // of rows that lie in memory
        }
        if (status == STATUS_OK && row)
            each(arg, columns);
    }
    if (statement != NULL)
        pg->driver->finalize(statement);
    return status;
}

struct gathering {
    struct pg    *pg;
    struct total *total;
    int           schema, rows;
};

static void gather_row(void *arg, const struct db_value *columns)
{
    struct gathering *gathering = arg;
    if (columns[0].is.b.length == ROW_DIGEST_BYTES)
        total_add_row(gathering->total, columns[0].is.b.bytes, true);
    gathering->rows++;
}

/* The witness as the log vouches for it: pg_leave negates the counter of a store that was moved away, without a line. */
#define PG_WITNESS \
    "(SELECT id, store, CASE WHEN counter < 0 THEN -counter - 1 ELSE counter END AS counter, sum FROM witness) w"

/* In a transaction, by a cursor: the rows of a large store do not fit. */
static enum status gather_table(void *arg, const struct schema_table *table, struct error *err)
{
    static const struct sql_statement fetch = {
        .name = "", .parameters = "", .letters = "b", .text = "FETCH 10000 FROM gathered"};
    struct gathering *gathering = arg;
    char              text[TEXT_BYTES], columns[PG_COLUMNS_BYTES];
    if (!pg_bound_columns(gathering->schema, table, columns))
        return STATUS_OK;
    snprintf(text, sizeof text,
             "DECLARE gathered NO SCROLL CURSOR FOR SELECT sha256(record_send(ROW('%s'::text,%s))) FROM %s",
             table->name, columns, strcmp(table->name, "witness") == 0 ? PG_WITNESS : table->name);
    TRY(pg_send_text(gathering->pg, text, err));
    for (gathering->rows = GATHER_ROWS; gathering->rows == GATHER_ROWS;) {
        gathering->rows = 0;
        TRY(for_rows(gathering->pg, &fetch, BIND_NONE, gather_row, gathering, err));
    }
    return pg_send_text(gathering->pg, "CLOSE gathered", err);
}

enum status pg_gather(void *handle, int schema, struct total *total, struct error *err)
{
    struct gathering        gathering = {.pg = handle, .total = total, .schema = schema};
    const struct migrations own = {.texts = db_migrations.texts, .len = schema};
    *total = (struct total){{0}};
    return schema_tables(schema == db_migrations.len ? &db_migrations : &own, gather_table, &gathering, err);
}

struct telling {
    driver_say *say;
    void       *arg;
};

static void tell_row(void *arg, const struct db_value *columns)
{
    const struct telling *telling = arg;
    telling->say(telling->arg, columns[0].is.s);
}

enum status pg_damaged(void *handle, const char *owner, driver_say *say, void *arg, struct error *err)
{
    static const struct sql_statement listed = {
        .name = "", .parameters = "S", .letters = "s", .text = "SELECT * FROM damaged_rows($1)"};
    struct telling telling = {.say = say, .arg = arg};
    return for_rows(handle, &listed, BIND(TEXT(owner)), tell_row, &telling, err);
}

/* ---- piece by piece ---- */

static void take_table(void *arg, const struct db_value *columns)
{
    struct scan *scan = arg;
    snprintf(scan->table, sizeof scan->table, "%s", columns[0].is.s);
    scan->is_over = false;
}

struct scanning {
    struct scan *scan;
    int          rows;
};

static void scan_row(void *arg, const struct db_value *columns)
{
    struct scanning *scanning = arg;
    snprintf(scanning->scan->after, sizeof scanning->scan->after, "%s", columns[0].is.s);
    scanning->rows++;
    if (columns[2].is.i == 0 && columns[1].is.s != NULL)
        scanning->scan->say(scanning->scan->arg, columns[1].is.s);
}

enum status pg_scan(void *handle, struct scan *scan, struct error *err)
{
    static const struct sql_statement next = {
        .name = "",
        .parameters = "si",
        .letters = "s",
        .text = "SELECT name FROM summed() WHERE name > $1 OR (name = $1 AND $2 = 1) LIMIT 1"};
    static const struct sql_statement rows = {
        .name = "", .parameters = "ssi", .letters = "sSi", .text = "SELECT * FROM scan_rows($1, $2, $3)"};
    struct scanning scanning = {.scan = scan};
    char            from[SCAN_TABLE_BYTES], after[SCAN_PLACE_BYTES];
    bool            is_within = scan->after[0] != '\0';
    snprintf(from, sizeof from, "%s", scan->table);
    scan->is_over = true;
    TRY(for_rows(handle, &next, BIND(TEXT(from), INT(is_within)), take_table, scan, err));
    if (scan->is_over)
        return STATUS_OK;
    if (strcmp(from, scan->table) != 0)
        scan->after[0] = '\0';
    snprintf(after, sizeof after, "%s", scan->after);
    TRY(for_rows(handle, &rows, BIND(TEXT(scan->table), TEXT(after), INT(SCAN_ROWS)), scan_row, &scanning, err));
    if (scanning.rows < SCAN_ROWS)
        scan->after[0] = '\0'; // on to the next table
    return STATUS_OK;
}
