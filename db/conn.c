/* Connections: statements are prepared once, bound by their signature, and reset when their rows are done. */
#include "db/conn.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- rows ---- */

static int64_t read_i(const struct driver *driver, void *statement, int column, bool *failed)
{
    (void)failed;
    return driver->column_int(statement, column);
}

static double read_d(const struct driver *driver, void *statement, int column, bool *failed)
{
    (void)failed;
    return driver->column_double(statement, column);
}

static double read_D(const struct driver *driver, void *statement, int column, bool *failed)
{
    return driver->is_null(statement, column) ? NAN : read_d(driver, statement, column, failed);
}

/* A text that is there but cannot be had is a lack of memory; seen here, no caller has to look. */
static const char *read_s(const struct driver *driver, void *statement, int column, bool *failed)
{
    const char *text = driver->column_text(statement, column);
    *failed |= text == NULL;
    return text;
}

static const char *read_S(const struct driver *driver, void *statement, int column, bool *failed)
{
    return driver->is_null(statement, column) ? NULL : read_s(driver, statement, column, failed);
}

static struct db_blob read_b(const struct driver *driver, void *statement, int column, bool *failed)
{
    struct db_blob blob;
    (void)failed;
    blob.bytes = driver->column_blob(statement, column, &blob.length);
    return blob;
}

#define read_I                 read_i
#define read_B                 read_b
#define NAME(column, letter)   #column,
#define LETTER(column, letter) #letter
#define READ(column, letter)   row->column = read_##letter(conn->driver, statement, at++, &failed);
#define X(name, list)                                                                                      \
    static const char *const columns_##name[] = {list(NAME, NAME) NULL};                                   \
    static const char        letters_##name[] = list(LETTER, LETTER);                                      \
    static bool              read_##name(const struct db_conn *conn, void *statement, struct db_rows *out) \
    {                                                                                                      \
        struct row_##name *row = &out->row.name;                                                           \
        bool               failed = false;                                                                 \
        int                at = 0;                                                                         \
        list(READ, READ) return !failed;                                                                   \
    }                                                                                                      \
    const struct row_##name *row_##name(const struct db_rows *rows)                                        \
    {                                                                                                      \
        assert(sql_table[rows->sql].read == read_##name);                                                  \
        return &rows->row.name;                                                                            \
    }
ROW_LIST(X)
#undef X

static const char *const columns_none[] = {NULL};
static const char        letters_none[] = "";

static bool read_none(const struct db_conn *conn, void *statement, struct db_rows *out)
{
    (void)conn, (void)statement, (void)out;
    return true;
}

const struct sql_statement sql_table[SQL_COUNT] = {
#define X(name_, parameters_, row, text_)         \
    [SQL_##name_] = {.name = #name_,              \
                     .parameters = (parameters_), \
                     .text = (text_),             \
                     .columns = columns_##row,    \
                     .letters = letters_##row,    \
                     .read = read_##row},
    SQL_LIST(X)
#undef X
};

const char *db_keep_text(const char *text, struct arena *arena, bool *failed)
{
    const char *copy = text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
    *failed |= text != NULL && copy == NULL;
    return copy;
}

const void *db_keep_blob(struct db_blob blob, struct arena *arena, bool *failed)
{
    void *copy = blob.bytes == NULL ? NULL : arena_alloc(arena, blob.length, 1);
    *failed |= blob.bytes != NULL && copy == NULL;
    return copy == NULL ? NULL : memcpy(copy, blob.bytes, blob.length);
}

/* ---- statements ---- */

enum status conn_open(struct db_conn *conn, const struct driver *driver, const char *folder, enum driver_mode mode,
                      const char *synchronous, struct error *err)
{
    *conn = (struct db_conn){.driver = driver};
    return driver->open(folder, mode, synchronous, &conn->handle, err);
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
}

enum status conn_execute(struct db_conn *conn, const char *text, struct error *err)
{
    return conn->driver->execute(conn->handle, text, err);
}

enum status conn_statement(struct db_conn *conn, enum sql sql, void **statement, struct error *err)
{
    if (conn->statements[sql] == NULL)
        TRY(conn->driver->prepare(conn->handle, sql_table[sql].text, &conn->statements[sql], err));
    *statement = conn->statements[sql];
    return STATUS_OK;
}

static enum status bind_one(const struct driver *driver, void *statement, int index, const struct db_value *value,
                            struct error *err)
{
    switch (value->letter) {
    case 'i':
        return driver->bind_int(statement, index, value->is.i, err);
    case 'd':
        return driver->bind_double(statement, index, value->is.d, err);
    case 's':
        return driver->bind_text(statement, index, value->is.s, err);
    default:
        assert(value->letter == 'b');
        return driver->bind_blob(statement, index, value->is.b.bytes, value->is.b.length, err);
    }
}

/* The statement, ready for its first step. */
static enum status bind(struct db_conn *conn, enum sql sql, struct db_values values, void **statement,
                        struct error *err)
{
    const char *letters = sql_table[sql].parameters;
    assert(!conn->in_use[sql]);
    TRY(conn_statement(conn, sql, statement, err));
    assert(values.len == strlen(letters));
    for (size_t i = 0; i < values.len; i++) {
        assert(values.items[i].letter == tolower((unsigned char)letters[i]));
        enum status status = bind_one(conn->driver, *statement, (int)i + 1, &values.items[i], err);
        if (status != STATUS_OK) {
            conn->driver->reset(*statement);
            return status;
        }
    }
    return STATUS_OK;
}

enum status db_query(struct db_conn *conn, struct db_rows *rows, struct error *err, enum sql sql,
                     struct db_values values)
{
    void *statement;
    rows->conn = conn;
    rows->sql = sql;
    TRY(bind(conn, sql, values, &statement, err));
    conn->in_use[sql] = true;
    return STATUS_OK;
}

enum status db_next(struct db_rows *rows, bool *more, struct error *err)
{
    const struct db_conn *conn = rows->conn;
    void                 *statement = conn->statements[rows->sql];
    TRY(conn->driver->step(statement, more, err));
    if (!*more || sql_table[rows->sql].read(conn, statement, rows))
        return STATUS_OK;
    *more = false;
    return error_no_memory(err);
}

void db_done(struct db_rows *rows)
{
    if (rows->conn == NULL || !rows->conn->in_use[rows->sql])
        return;
    rows->conn->driver->reset(rows->conn->statements[rows->sql]);
    rows->conn->in_use[rows->sql] = false;
}

enum status db_exec(struct db_conn *conn, int64_t *changes, struct error *err, enum sql sql, struct db_values values)
{
    void *statement;
    bool  row;
    TRY(bind(conn, sql, values, &statement, err));
    enum status status = conn->driver->step(statement, &row, err);
    if (status == STATUS_OK && changes != NULL)
        *changes = conn->driver->changes(conn->handle);
    conn->driver->reset(statement);
    return status;
}
