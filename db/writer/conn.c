/* Connections: statements are prepared once, bound by their signature, and reset when their rows are done. */
#include "db/writer/conn.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const int64_t db_times_us[DB_TIMES] = {500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000, 10000000};

/* ---- rows ---- */

/* Whether a NULL stands in a column that is a text in every row, rather than memory having ended. */
static bool lacks_text(const struct db_rows *rows, int place, char letter)
{
    struct db_value value = {.letter = 'S'};
    return letter == 's' && rows->conn->driver->column(rows->conn->statements[rows->sql], place, &value) &&
           value.is.s == NULL;
}

/* Copies a text or a blob to the arena. */
static bool keep(struct arena *arena, struct db_value *value)
{
    bool is_text = strchr("sS", value->letter) != NULL, is_blob = strchr("bB", value->letter) != NULL;
    if (is_text && value->is.s != NULL) {
        value->is.s = arena_strndup(arena, value->is.s, strlen(value->is.s));
        return value->is.s != NULL;
    }
    if (!is_blob || value->is.b.bytes == NULL)
        return true;
    void *copy = arena_alloc(arena, value->is.b.length, 1); // aligned, because blobs are numbers
    value->is.b.bytes = copy == NULL ? NULL : memcpy(copy, value->is.b.bytes, value->is.b.length);
    return copy != NULL;
}

/* Reads the row that the statement stands at; false: memory ended, or the row is damaged. */
static bool read_row(struct db_rows *rows, void *statement)
{
    int place = 0;
    for (const struct db_column *column = sql_table[rows->sql].columns(); column->name != NULL; column++, place++) {
        struct db_value value = {.letter = column->letter};
        bool            is_read = rows->conn->driver->column(statement, place, &value);
        rows->is_damaged |= !is_read && lacks_text(rows, place, column->letter);
        if (!is_read || (rows->arena != NULL && !keep(rows->arena, &value)))
            return false;
        db_column_set(column, &value, &rows->row);
    }
    return true;
}

struct db_value db_column_value(const struct db_column *column, const void *row)
{
    struct db_value value = {.letter = (char)tolower((unsigned char)column->letter)};
    memcpy(&value.is, (const char *)row + column->offset, column->bytes);
    return value;
}

void db_column_set(const struct db_column *column, const struct db_value *value, void *row)
{
    memcpy((char *)row + column->offset, &value->is, column->bytes);
}

// clang-format off
enum { LETTER_i = 'i', LETTER_I = 'I', LETTER_d = 'd', LETTER_D = 'D', LETTER_s = 's',
       LETTER_S = 'S', LETTER_b = 'b', LETTER_B = 'B' };
// clang-format on
#define COLUMN(column, letter, ...) {#column, LETTER_##letter, offsetof(row, column), sizeof(MEMBER_TYPE_##letter)},
#define X(name, list)                                                        \
    const struct db_column *db_columns_##name(void)                          \
    {                                                                        \
        typedef struct row_##name     row;                                   \
        static const struct db_column columns[] = {list(COLUMN, COLUMN){0}}; \
        return columns;                                                      \
    }                                                                        \
    const struct row_##name *row_##name(const struct db_rows *rows)          \
    {                                                                        \
        assert(sql_table[rows->sql].columns == db_columns_##name);           \
        return rows->has_row ? &rows->row.name : NULL;                       \
    }
ROW_LIST(X)
#undef X

static const struct db_column *db_columns_none(void)
{
    static const struct db_column none;
    return &none;
}

const struct sql_statement sql_table[SQL_COUNT] = {
#define X(name_, parameters_, row, text_) \
    [SQL_##name_] = {.name = #name_, .parameters = (parameters_), .text = (text_), .columns = db_columns_##row},
    SQL_LIST(X)
#undef X
};

/* ---- statements ---- */

/* The transaction is over. */
static void forget_log(struct db_conn *conn)
{
    arena_fini(&conn->lines);
    arena_init(&conn->lines, SIZE_MAX);
    conn->of_job = arena_mark(&conn->lines);
    conn->log = (struct chain_end){.is_known = false};
}

enum status conn_open(struct db_conn *conn, const struct driver *driver, const char *place, enum driver_mode mode,
                      const char *synchronous, struct error *err)
{
    *conn = (struct db_conn){.driver = driver};
    forget_log(conn);
    return driver->open(place, mode, synchronous, &conn->handle, err);
}

void conn_close(struct db_conn *conn)
{
    if (conn->handle == NULL)
        return;
    for (int sql = 0; sql < SQL_COUNT; sql++)
        if (conn->statements[sql] != NULL)
            conn->driver->finalize(conn->statements[sql]);
    conn->driver->close(conn->handle);
    conn->handle = NULL;
    forget_log(conn);
}

void conn_roll_back(struct db_conn *conn)
{
    struct error why;
    if (conn->driver->roll_back(conn->handle, &why) != STATUS_OK)
        fprintf(stderr, "gnomon: cannot roll back: %s\n", why.text);
    conn->total = (struct total){{0}};
    forget_log(conn);
}

enum status conn_read(struct db_conn *conn, db_fn fn, void *arg, struct error *err)
{
    conn_roll_back(conn); // a roll-back that failed before is tried again
    enum status status = conn->driver->begin(conn->handle, DRIVER_READ_ONLY, err);
    if (status == STATUS_OK)
        status = fn(conn, arg, err);
    if (status == STATUS_OK)
        status = conn->driver->commit(conn->handle, err);
    conn_roll_back(conn);
    return status;
}

bool db_is_memorable(const struct db_conn *conn)
{
    bool has_lines = conn->log.is_known && (conn->log.last != NULL || conn->log.at.seq > conn->log.sealed);
    return conn->damaged[0] == '\0' && !has_lines;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int is_late(void *arg)
{
    const struct db_conn *conn = arg;
    return conn->step_until > 0 && seconds() > conn->step_until;
}

void conn_watch(struct db_conn *conn, int64_t step_ms)
{
    conn->step_seconds = 1e-3 * (double)step_ms;
    if (step_ms > 0 && conn->driver->watch != NULL)
        conn->driver->watch(conn->handle, is_late, conn);
}

static enum status step(struct db_conn *conn, void *statement, bool *row, struct error *err)
{
    conn->step_until = conn->step_seconds > 0 ? seconds() + conn->step_seconds : 0;
    enum status status = conn->driver->step(statement, row, err);
    conn->step_until = 0;
    return status;
}

enum status conn_execute(struct db_conn *conn, const char *text, struct error *err)
{
    return conn->driver->execute(conn->handle, text, err);
}

enum status conn_statement(struct db_conn *conn, enum sql sql, void **statement, struct error *err)
{
    if (conn->statements[sql] == NULL)
        TRY(conn->driver->prepare(conn->handle, &sql_table[sql], &conn->statements[sql], err));
    *statement = conn->statements[sql];
    return STATUS_OK;
}

/* The statement, ready for its first step; what looks at the log finds all of it. */
static enum status bind(struct db_conn *conn, enum sql sql, struct db_values values, void **statement,
                        struct error *err)
{
    const char *letters = sql_table[sql].parameters;
    assert(!conn->in_use[sql]);
    if (conn->log.last != NULL && strstr(sql_table[sql].text, "event") != NULL)
        TRY(conn->log.settle(conn, err));
    TRY(conn_statement(conn, sql, statement, err));
    assert(values.len == strlen(letters));
    for (size_t i = 0; i < values.len; i++) {
        assert(values.items[i].letter == tolower((unsigned char)letters[i]));
        enum status status = conn->driver->bind(*statement, (int)i + 1, &values.items[i], err);
        if (status != STATUS_OK) {
            conn->driver->reset(*statement);
            return status;
        }
    }
    return STATUS_OK;
}

struct db_rows db_query(struct db_conn *conn, struct arena *arena, struct error *err, enum sql sql,
                        struct db_values values)
{
    struct db_rows rows = {.arena = arena, .err = err, .sql = sql};
    void          *statement;
    rows.status = bind(conn, sql, values, &statement, err);
    if (rows.status == STATUS_OK) {
        rows.conn = conn;
        conn->in_use[sql] = true;
    }
    return rows;
}

bool db_next(struct db_rows *rows)
{
    rows->has_row = false;
    if (rows->status != STATUS_OK)
        return false;
    void *statement = rows->conn->statements[rows->sql];
    rows->status = step(rows->conn, statement, &rows->has_row, rows->err);
    if (rows->has_row && !read_row(rows, statement)) {
        rows->has_row = false;
        rows->status = rows->is_damaged ? error_set(rows->err, STATUS_INTERNAL, "store_corrupt", "",
                                                    "store: a row lacks a text that every row has")
                                        : error_no_memory(rows->err);
    }
    return rows->has_row;
}

enum status db_done(struct db_rows *rows)
{
    if (rows->conn != NULL) {
        rows->conn->driver->reset(rows->conn->statements[rows->sql]);
        rows->conn->in_use[rows->sql] = false;
    }
    rows->conn = NULL;
    return rows->status;
}

static bool has_bytes(const struct db_column *column)
{
    while (column->name != NULL && strchr("sSbB", column->letter) == NULL)
        column++;
    return column->name != NULL;
}

enum status db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err, enum sql sql,
                    struct db_values values)
{
    assert(arena != NULL || !has_bytes(sql_table[sql].columns()));
    *out = db_query(conn, arena, err, sql, values);
    (void)db_next(out);
    return db_done(out);
}

enum status db_exec(struct db_conn *conn, int64_t *changes, struct error *err, enum sql sql, struct db_values values)
{
    void *statement;
    bool  row;
    TRY(bind(conn, sql, values, &statement, err));
    const struct total before = conn->total;
    bool               is_put_off = changes == NULL && conn->driver->run != NULL;
    enum status        status = is_put_off ? conn->driver->run(statement, err) : step(conn, statement, &row, err);
    if (status != STATUS_OK)
        conn->total = before;
    if (status == STATUS_OK && changes != NULL)
        *changes = conn->driver->changes(conn->handle);
    conn->driver->reset(statement);
    return status;
}

enum status db_settle(struct db_conn *conn, struct error *err)
{
    return conn->driver->settle != NULL ? conn->driver->settle(conn->handle, err) : STATUS_OK;
}

enum status conn_witness(struct db_conn *conn, struct witness *out, struct error *err)
{
    struct db_rows            rows = db_query(conn, NULL, err, SQL_WITNESS_GET, BIND_NONE);
    const struct row_witness *row = db_next(&rows) ? row_witness(&rows) : NULL;
    *out = (struct witness){.counter = row != NULL ? row->counter : 0};
    if (row != NULL)
        snprintf(out->store, sizeof out->store, "%s", row->store);
    out->is_new = row != NULL && row->lines == 0;
    return db_done(&rows);
}
