/* The SQLite driver: a file of it, which is opened to be looked at, configured, and copied.
 *
 * A copy is made by sqlite3_backup_step(-1): in steps it would begin again whenever another process writes.  The one read
 * transaction holds the journal back while it lasts, and nobody else. */
#include "db/sqlite/db_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_MAX = 64 << 20 };

enum status lite_configure(sqlite3 *handle, enum driver_mode mode, const char *synchronous, struct error *err)
{
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL,
                              SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION};
    int              pages;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        sqlite3_db_config(handle, off[i], 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(handle, LITE_BUSY_MS);
    TRY(lite_sum_functions(handle, NULL, NULL, err));
    TRY(lite_pragma(handle, "mmap_size", "0", "0", err));
    TRY(lite_pragma(handle, "temp_store", "2", "2", err));
    TRY(lite_pragma(handle, "cell_size_check", "1", "1", err));
    if (mode == DRIVER_READ_ONLY)
        return lite_pragma(handle, "query_only", "1", "1", err);
    TRY(lite_read_int(handle, "PRAGMA page_count", &pages, err));
    if (pages == 0) // see lite_trim
        TRY(lite_execute(handle, "PRAGMA auto_vacuum = INCREMENTAL", err));
    TRY(lite_pragma(handle, "journal_mode", "WAL", "wal", err));
    TRY(lite_pragma(handle, "synchronous", synchronous, strcmp(synchronous, "OFF") == 0 ? "0" : "2", err));
    TRY(lite_pragma(handle, "secure_delete", "1", "1", err));
    return lite_pragma(handle, "foreign_keys", "1", "1", err);
}

int64_t lite_bytes_of(const char *path, const char *suffix)
{
    char        name[LITE_PATH_BYTES + 16];
    struct stat own;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &own) == 0 ? (int64_t)own.st_size : -1;
}

/* A path as SQLite reads it in a URI, so that immutable can be said: nothing is made beside the file. */
static void write_uri(const char *path, char out[3 * LITE_PATH_BYTES + 32])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    char             *end = out + sprintf(out, "file:");
    for (; *path != '\0'; path++)
        end += sprintf(end, strchr(plain, *path) != NULL ? "%c" : "%%%02x", (unsigned char)*path);
    sprintf(end, "?immutable=1");
}

enum status lite_open_to_look(const char *path, bool is_still, sqlite3 **out, struct error *err)
{
    char uri[3 * LITE_PATH_BYTES + 32];
    bool has_log = lite_bytes_of(path, "-wal") >= 0, has_journal = lite_bytes_of(path, "-journal") > 0;
    write_uri(path, uri);
    lite_set_up();
    errno = 0;
    int code = sqlite3_open_v2(is_still && !has_log && !has_journal ? uri : path, out,
                               SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI |
                                   (has_journal ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY),
                               NULL);
    return code == SQLITE_OK ? STATUS_OK : lite_fail(*out, code, err);
}

enum status lite_copy(void *handle, const char *path, struct error *err)
{
    sqlite3 *copy = NULL;
    unlink(path); // left by an interrupted copy
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, errno == ENOSPC ? STATUS_FULL : STATUS_INVALID, errno == ENOSPC ? "disk_full" : "path",
                         "", "cannot make %.120s: %s", path, strerror(errno));
    close(fd);
    errno = 0;
    int code = sqlite3_open_v2(
        path, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
    enum status status =
        code == SQLITE_OK ? lite_pragma(copy, "journal_mode", "OFF", "off", err) : lite_fail(copy, code, err);
    if (status == STATUS_OK)
        status = lite_pragma(copy, "synchronous", "FULL", "2", err);
    errno = 0;
    sqlite3_backup *backup = status == STATUS_OK ? sqlite3_backup_init(copy, "main", handle, "main") : NULL;
    if (backup != NULL)
        sqlite3_backup_step(backup, -1); // its failure is that of the next line
    if (status == STATUS_OK && (code = sqlite3_backup_finish(backup)) != SQLITE_OK)
        status = lite_fail(copy, code, err);
    sqlite3_close(copy);
    return status;
}
