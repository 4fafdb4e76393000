/* The SQLite driver: what its failures mean, and statements without rows. */
#include "db/sqlite/db_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAULT = 70 };

// clang-format off
static const struct { int code; enum status status; const char *name; } failures[] = {
    {SQLITE_FULL, STATUS_FULL, "disk_full"},
    {SQLITE_NOMEM, STATUS_NO_MEMORY, "no_memory"},
    {SQLITE_BUSY, STATUS_BUSY, "busy"},
    {SQLITE_INTERRUPT, STATUS_BUSY, "deadline_exceeded"},
    {SQLITE_CORRUPT, STATUS_INTERNAL, "store_corrupt"},
    {SQLITE_NOTADB, STATUS_INTERNAL, "store_corrupt"},
    {SQLITE_IOERR, STATUS_INTERNAL, "store_io"},
    {SQLITE_CANTOPEN, STATUS_INTERNAL, "store_io"},
    {SQLITE_CONSTRAINT, STATUS_CONFLICT, "constraint"},
    {SQLITE_TOOBIG, STATUS_TOO_LARGE, "too_large"},
};
// clang-format on

static void end(const char *why)
{
    fprintf(stderr, "gnomon: %s; stopping\n", why);
    _exit(EXIT_FAULT);
}

typedef int        fcntl_call(int fd, int command, ...);
static fcntl_call *call_fcntl;

/* SQLite passes over a lock that it could not give back.  The lock stays with its connection, and everybody else is told
 * "busy" or, after ten seconds each, "locking protocol", for ever: only the end of the process frees it. */
static int give_back_or_end(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *); // a number too, as the C library itself takes it
    va_end(list);
    int result = call_fcntl(fd, command, argument);
    if (result < 0 && command == F_SETLK && ((const struct flock *)argument)->l_type == F_UNLCK)
        end("a lock on a database file could not be given back");
    return result;
}

static void set_up(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS,
                         0); // all threads would wait for each other to count bytes, which nobody reads
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    call_fcntl = (fcntl_call *)files->xGetSystemCall(files, "fcntl");
    files->xSetSystemCall(files, "fcntl", (sqlite3_syscall_ptr)give_back_or_end);
}

void lite_set_up(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
}

/* A failed fsync says nothing about what is on the disk, and trying again would lie: the process ends, and the next
 * one finds exactly what was acknowledged. */
enum status lite_fail(sqlite3 *handle, int code, struct error *err)
{
    int extended = handle == NULL ? code : sqlite3_extended_errcode(handle);
    if (extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC)
        end("the disk did not confirm a write");
    // SQLite says "corrupt" for a read that the disk refused; that is why errno is cleared before each of its calls.
    if ((extended & 0xff) == SQLITE_CORRUPT && errno == EIO)
        extended = SQLITE_IOERR_READ;
    if (extended == (int)LITE_CORRUPT_ROW) // this row, not the file
        return error_set(err, STATUS_CONFLICT, "store_corrupt", "", "store: a row is not what was written");
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if ((extended & 0xff) == failures[i].code)
            return error_set(err, failures[i].status, failures[i].name, "", "store: %s", sqlite3_errstr(extended));
    return error_set(err, STATUS_INTERNAL, "store_error", "", "store: %s", sqlite3_errstr(extended));
}

enum status lite_execute(void *handle, const char *text, struct error *err)
{
    errno = 0;
    int code = sqlite3_exec(handle, text, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : lite_fail(handle, code, err);
}

enum status lite_read_int(sqlite3 *handle, const char *text, int *out, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    *out = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

enum status lite_pragma(sqlite3 *handle, const char *name, const char *value, const char *expected, struct error *err)
{
    char text[96];
    snprintf(text, sizeof text, "PRAGMA %s = %s", name, value);
    TRY(lite_execute(handle, text, err));
    snprintf(text, sizeof text, "PRAGMA %s", name);
    sqlite3_stmt *statement = NULL;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    const char *value_now = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    bool        same = value_now != NULL && strcmp(value_now, expected) == 0;
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return lite_fail(handle, code, err);
    if (!same)
        return error_set(err, STATUS_INTERNAL, "pragma", "", "the store does not accept %s = %s", name, value);
    return STATUS_OK;
}
