/* Connections: statements are prepared once, bound by their signature, and reset when their rows are done. */
#include "db/writer/conn.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const int64_t db_times_us[DB_TIMES] = {500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000, 10000000};

/* ---- rows ---- */

struct reading {
    const struct driver *driver;
    void                *statement;
    struct arena        *arena;
    int                  column;
    bool                 failed, is_damaged;
};

/* Whether a NULL stands in a column that is a text in every row, rather than memory having ended. */
static bool lacks_text(const struct reading *in)
{
    struct db_value value = {.letter = 'S'};
    return in->driver->column(in->statement, in->column, &value) && value.is.s == NULL;
}

/* The next column; what there is no memory for is no failure of a caller's to see. */
static struct db_value read_column(struct reading *in, char letter)
{
    struct db_value value = {.letter = letter};
    bool            is_read = in->driver->column(in->statement, in->column, &value);
    in->failed |= !is_read;
    in->is_damaged |= !is_read && letter == 's' && lacks_text(in);
    in->column++;
    bool is_text = letter == 's' || letter == 'S', is_blob = letter == 'b' || letter == 'B';
    if (in->arena != NULL && is_text && value.is.s != NULL) {
        value.is.s = arena_strndup(in->arena, value.is.s, strlen(value.is.s));
        in->failed |= value.is.s == NULL;
    } else if (in->arena != NULL && is_blob && value.is.b.bytes != NULL) {
        void *copy = arena_alloc(in->arena, value.is.b.length, 1); // aligned, because blobs are numbers
        in->failed |= copy == NULL;
        value.is.b.bytes = copy == NULL ? NULL : memcpy(copy, value.is.b.bytes, value.is.b.length);
    }
    return value;
}

// clang-format off
#define VALUE_i is.i
#define VALUE_I is.i
#define VALUE_d is.d
#define VALUE_D is.d
#define VALUE_s is.s
#define VALUE_S is.s
#define VALUE_b is.b
#define VALUE_B is.b
// clang-format on
#define NAME(column, ...)           #column,
#define LETTER(column, letter, ...) #letter
#define READ(column, letter, ...)   row->column = read_column(&in, *#letter).VALUE_##letter;
#define X(name, list)                                                                                         \
    static const char *const columns_##name[] = {list(NAME, NAME) NULL};                                      \
    static const char        letters_##name[] = list(LETTER, LETTER);                                         \
    static bool              read_##name(struct db_rows *rows, void *statement)                               \
    {                                                                                                         \
        struct row_##name *row = &rows->row.name;                                                             \
        struct reading     in = {.driver = rows->conn->driver, .statement = statement, .arena = rows->arena}; \
        list(READ, READ) rows->is_damaged = in.is_damaged;                                                    \
        return !in.failed;                                                                                    \
    }                                                                                                         \
    const struct row_##name *row_##name(const struct db_rows *rows)                                           \
    {                                                                                                         \
        assert(sql_table[rows->sql].read == read_##name);                                                     \
        return rows->has_row ? &rows->row.name : NULL;                                                        \
    }
ROW_LIST(X)
#undef X

static const char *const columns_none[] = {NULL};
static const char        letters_none[] = "";

static bool read_none(struct db_rows *rows, void *statement)
{
    (void)rows, (void)statement;
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

bool db_has_met_damage(const struct db_conn *conn)
{
    return conn->damaged[0] != '\0';
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
    if (rows->has_row && !sql_table[rows->sql].read(rows, statement)) {
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

enum status db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err, enum sql sql,
                    struct db_values values)
{
    assert(arena != NULL || strpbrk(sql_table[sql].letters, "sSbB") == NULL);
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

void db_prefetch(struct db_conn *conn, enum sql sql, struct db_values values)
{
    void        *statement = conn->statements[sql];
    enum status  status = STATUS_OK;
    struct error why;
    if (conn->driver->prefetch == NULL || statement == NULL || conn->in_use[sql])
        return;
    for (size_t i = 0; i < values.len && status == STATUS_OK; i++)
        status = conn->driver->bind(statement, (int)i + 1, &values.items[i], &why);
    if (status == STATUS_OK)
        conn->driver->prefetch(statement);
    else
        conn->driver->reset(statement);
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
