/* Connections: statements are prepared once, bound by their signature, and reset when their rows are done. */
#include "db/conn.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

const struct sql_row sql_table[SQL_COUNT] = {
#define X(name, arguments, results, text) [SQL_##name] = {#name, arguments, results, text},
    SQL_LIST(X)
#undef X
};

enum status conn_open(struct db_conn *conn, const struct driver *driver, const char *path, enum driver_mode mode,
                      const char *synchronous, struct error *err)
{
    *conn = (struct db_conn){.driver = driver};
    return driver->open(path, mode, synchronous, &conn->handle, err);
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

/* NaN is the absence of a number, as NULL is that of a text; the schema says where either may stand. */
static enum status bind_one(const struct driver *driver, void *statement, int index, char kind, va_list *arguments,
                            struct error *err)
{
    switch (kind) {
    case 'i':
        return driver->bind_int(statement, index, va_arg(*arguments, int64_t), err);
    case 'd':
    case 'D':
        return driver->bind_double(statement, index, va_arg(*arguments, double), err);
    case 's':
        return driver->bind_text(statement, index, va_arg(*arguments, const char *), err);
    default: {
        assert(kind == 'b');
        const void *bytes = va_arg(*arguments, const void *);
        size_t      length = va_arg(*arguments, size_t);
        return driver->bind_blob(statement, index, bytes, length, err);
    }
    }
}

static enum status bind_all(struct db_conn *conn, enum sql sql, void *statement, va_list *arguments, struct error *err)
{
    const char *kinds = sql_table[sql].arguments;
    for (int i = 0; kinds[i] != '\0'; i++) {
        enum status status = bind_one(conn->driver, statement, i + 1, kinds[i], arguments, err);
        if (status != STATUS_OK) {
            conn->driver->reset(statement);
            return status;
        }
    }
    return STATUS_OK;
}

enum status db_query(struct db_conn *conn, struct db_rows *rows, struct error *err, enum sql sql, ...)
{
    assert(!conn->in_use[sql]);
    *rows = (struct db_rows){.conn = conn, .sql = sql};
    void *statement;
    TRY(conn_statement(conn, sql, &statement, err));
    va_list arguments;
    va_start(arguments, sql);
    enum status status = bind_all(conn, sql, statement, &arguments, err);
    va_end(arguments);
    conn->in_use[sql] = status == STATUS_OK;
    return status;
}

/* A text that must be there but cannot be had is a lack of memory; seen here, no caller has to look. */
static bool has_texts(const struct db_rows *rows)
{
    const char *kinds = sql_table[rows->sql].results;
    for (int i = 0; kinds[i] != '\0'; i++)
        if (kinds[i] == 's' && db_text(rows, i) == NULL)
            return false;
    return true;
}

enum status db_next(struct db_rows *rows, bool *more, struct error *err)
{
    TRY(rows->conn->driver->step(rows->conn->statements[rows->sql], more, err));
    if (!*more || has_texts(rows))
        return STATUS_OK;
    *more = false;
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the store is out of memory");
}

void db_done(struct db_rows *rows)
{
    if (rows->conn == NULL || !rows->conn->in_use[rows->sql])
        return;
    rows->conn->driver->reset(rows->conn->statements[rows->sql]);
    rows->conn->in_use[rows->sql] = false;
}

enum status db_exec(struct db_conn *conn, int64_t *changes, struct error *err, enum sql sql, ...)
{
    assert(!conn->in_use[sql]);
    void *statement;
    TRY(conn_statement(conn, sql, &statement, err));
    va_list arguments;
    va_start(arguments, sql);
    enum status status = bind_all(conn, sql, statement, &arguments, err);
    va_end(arguments);
    TRY(status);
    bool row;
    status = conn->driver->step(statement, &row, err);
    if (status == STATUS_OK && changes != NULL)
        *changes = conn->driver->changes(conn->handle);
    conn->driver->reset(statement);
    return status;
}

bool db_is_null(const struct db_rows *rows, int column)
{
    return rows->conn->driver->is_null(rows->conn->statements[rows->sql], column);
}

int64_t db_int(const struct db_rows *rows, int column)
{
    return rows->conn->driver->column_int(rows->conn->statements[rows->sql], column);
}

double db_double(const struct db_rows *rows, int column)
{
    return rows->conn->driver->column_double(rows->conn->statements[rows->sql], column);
}

const char *db_text(const struct db_rows *rows, int column)
{
    return rows->conn->driver->column_text(rows->conn->statements[rows->sql], column);
}

const void *db_blob(const struct db_rows *rows, int column, size_t *length)
{
    return rows->conn->driver->column_blob(rows->conn->statements[rows->sql], column, length);
}

char *db_text_copy(const struct db_rows *rows, int column, struct arena *arena)
{
    const char *text = db_text(rows, column);
    return text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
}
