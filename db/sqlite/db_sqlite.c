/* The SQLite driver: its connections.
 * Invariants: DRIVER_READ_WRITE is opened once per file, by who has the claim; readers cannot write or checkpoint.
 * Every pragma is read back: one that did not take is a reason not to start.
 * Connections are used by one thread at a time, so SQLite's own mutexes are off. */
#include "db/sqlite/db_sqlite.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

enum { FRAME_BYTES = 4096 + 24, WATCH_STEPS = 100000 };

static enum status lite_open(const char *folder, enum driver_mode mode, const char *synchronous, void **out,
                             struct error *err)
{
    char     path[LITE_PATH_BYTES];
    sqlite3 *handle = NULL;
    TRY(lite_path(folder, "gnomon.db", path, err));
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE |
                (mode == DRIVER_READ_ONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    lite_set_up();
    errno = 0;
    int         code = sqlite3_open_v2(path, &handle, flags, NULL);
    enum status status =
        code == SQLITE_OK ? lite_configure(handle, mode, synchronous, err) : lite_fail(handle, code, err);
    if (status != STATUS_OK) {
        sqlite3_close(handle);
        return status;
    }
    *out = handle;
    return STATUS_OK;
}

static void lite_close(void *handle)
{
    sqlite3_close(handle);
}

static enum status lite_begin(void *handle, enum driver_mode mode, struct error *err)
{
    return lite_execute(handle, mode == DRIVER_READ_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", err);
}

static enum status lite_savepoint(void *handle, enum driver_savepoint what, struct error *err)
{
    static const char *const texts[] = {
        [SAVEPOINT_SET] = "SAVEPOINT job",
        [SAVEPOINT_KEEP] = "RELEASE job",
        [SAVEPOINT_UNDO] = "ROLLBACK TO job",
    };
    TRY(lite_execute(handle, texts[what], err));
    return what == SAVEPOINT_UNDO ? lite_execute(handle, texts[SAVEPOINT_KEEP], err) : STATUS_OK;
}

static enum status lite_commit(void *handle, struct error *err)
{
    return lite_execute(handle, "COMMIT", err);
}

static enum status lite_roll_back(void *handle, struct error *err)
{
    return sqlite3_get_autocommit(handle) != 0 ? STATUS_OK : lite_execute(handle, "ROLLBACK", err);
}

static enum status lite_prepare(void *handle, const struct sql_statement *listed, void **statement, struct error *err)
{
    char own[8192];
    TRY(lite_write_sums(handle, listed->text, own, sizeof own, err));
    sqlite3_stmt *made = NULL;
    errno = 0;
    int code = sqlite3_prepare_v3(handle, own, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL);
    if (code != SQLITE_OK)
        return lite_fail(handle, code, err);
    *statement = made;
    return STATUS_OK;
}

static void lite_finalize(void *statement)
{
    sqlite3_finalize(statement);
}

static enum status lite_bind(void *statement, int index, const struct db_value *value, struct error *err)
{
    const struct db_blob *blob = &value->is.b;
    int                   code = value->letter == 'i'   ? sqlite3_bind_int64(statement, index, value->is.i)
                                 : value->letter == 'd' ? sqlite3_bind_double(statement, index, value->is.d)
                                 : value->letter == 's' ? sqlite3_bind_text(statement, index, value->is.s, -1, SQLITE_STATIC)
                                                        : sqlite3_bind_blob64(statement, index, blob->bytes, blob->length, SQLITE_STATIC);
    return code == SQLITE_OK ? STATUS_OK : lite_fail(sqlite3_db_handle(statement), code, err);
}

static enum status lite_step(void *statement, bool *row, struct error *err)
{
    errno = 0;
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : lite_fail(sqlite3_db_handle(statement), code, err);
}

static void lite_reset(void *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static bool lite_column(void *statement, int column, struct db_value *value)
{
    bool is_null = sqlite3_column_type(statement, column) == SQLITE_NULL;
    switch (value->letter) {
    case 'i':
    case 'I':
        value->is.i = sqlite3_column_int64(statement, column);
        return true;
    case 'd':
    case 'D':
        value->is.d = is_null && value->letter == 'D' ? (double)NAN : sqlite3_column_double(statement, column);
        return true;
    case 's':
    case 'S':
        value->is.s = (const char *)sqlite3_column_text(statement, column);
        return value->is.s != NULL || (is_null && value->letter == 'S');
    default:
        value->is.b.bytes = sqlite3_column_blob(statement, column);
        value->is.b.length = (size_t)sqlite3_column_bytes(statement, column);
        return true;
    }
}

static int64_t lite_changes(void *handle)
{
    return sqlite3_changes64(handle);
}

static bool lite_in_transaction(void *handle)
{
    return sqlite3_get_autocommit(handle) == 0;
}

static void lite_watch(void *handle, int (*is_late)(void *arg), void *arg)
{
    sqlite3_progress_handler(handle, WATCH_STEPS, is_late, arg);
}

static int committed(void *bytes, sqlite3 *handle, const char *database, int frames)
{
    (void)handle, (void)database;
    *(int64_t *)bytes = (int64_t)frames * FRAME_BYTES;
    return SQLITE_OK;
}

/* This hook is where SQLite would checkpoint by itself, and drop the error. */
static void lite_journal_watch(void *handle, int64_t *bytes)
{
    sqlite3_wal_hook(handle, committed, bytes);
}

static enum status lite_checkpoint(void *handle, bool truncate, int64_t *bytes, struct error *err)
{
    int frames = 0, done = 0, mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    sqlite3_busy_timeout(handle, 0); // never wait for a reader
    errno = 0;
    int code = sqlite3_wal_checkpoint_v2(handle, NULL, mode, &frames, &done);
    sqlite3_busy_timeout(handle, LITE_BUSY_MS);
    bool is_good = code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY;
    if (is_good)
        *bytes = frames > 0 ? (int64_t)frames * FRAME_BYTES : 0;
    return is_good ? STATUS_OK : lite_fail(handle, code, err);
}

const struct driver driver_sqlite = {
    .name = "sqlite",
    .migrations = &db_migrations,
    .inspect = lite_inspect,
    .migrate = lite_migrate,
    .open = lite_open,
    .close = lite_close,
    .begin = lite_begin,
    .savepoint = lite_savepoint,
    .commit = lite_commit,
    .roll_back = lite_roll_back,
    .execute = lite_execute,
    .prepare = lite_prepare,
    .finalize = lite_finalize,
    .bind = lite_bind,
    .step = lite_step,
    .reset = lite_reset,
    .column = lite_column,
    .changes = lite_changes,
    .in_transaction = lite_in_transaction,
    .watch = lite_watch,
    .journal_watch = lite_journal_watch,
    .checkpoint = lite_checkpoint,
    .look = lite_look,
    .hold = lite_hold,
    .lay = lite_lay,
    .wake = lite_wake,
    .copy = lite_copy,
    .examine = lite_examine,
    .quick = lite_quick,
    .compact = lite_compact,
    .renew = lite_renew,
    .trim = lite_trim,
    .guard = lite_guard,
    .scan = lite_scan,
    .gather = lite_gather,
    .damaged = lite_damaged,
};
