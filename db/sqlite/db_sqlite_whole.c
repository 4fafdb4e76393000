/* The SQLite driver: a store as a whole.  It is looked at as it is at one moment, whoever writes to it, examined page by page,
 * and written anew without its gaps. */
#include "db/sqlite/db_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { QUICK_BYTES = 1 << 27, LOOK_TRIES = 40, LOOK_PAUSE_MS = 50, FINDINGS_MAX = 20 };
/* Free pages serve later rows: less than 1 MiB, or a sixteenth of the store, stays. */
enum { AUTO_VACUUM_INCREMENTAL = 2, TRIM_PAGES = 256, TRIM_PART = 16 };

/* ---- looking ---- */

/* Keeps servers away while we look at a store that none has; *claim is -1 where that is not ours to do.  False: a server
 * has it. */
static bool claim_to_look(const char *folder, int *claim)
{
    char path[LITE_PATH_BYTES];
    *claim = -1;
    if ((size_t)snprintf(path, sizeof path, "%s/gnomon.lock", folder) >= sizeof path)
        return true;
    *claim = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*claim < 0)
        *claim = open(path, O_RDONLY | O_CLOEXEC);
    if (*claim < 0 || flock(*claim, LOCK_SH | LOCK_NB) == 0)
        return true;
    close(*claim);
    *claim = -1;
    return false;
}

static void split(const char *path, char folder[LITE_PATH_BYTES], const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash == NULL ? path : slash + 1;
    snprintf(folder, LITE_PATH_BYTES, "%.*s", slash == NULL ? 1 : (int)(*name - path), slash == NULL ? "." : path);
}

static enum status look_once(const char *path, const struct migrations *all, bool is_still, sqlite3 **handle,
                             int *version, struct error *err)
{
    TRY(lite_open_to_look(path, is_still, handle, err));
    TRY(lite_configure(*handle, DRIVER_READ_ONLY, NULL, err));
    TRY(lite_execute(*handle, "BEGIN", err));
    return lite_read_version(*handle, all, version, err);
}

enum status lite_look(const char *path, const struct migrations *all, struct driver_look *out, struct error *err)
{
    char        folder[LITE_PATH_BYTES], real[LITE_PATH_BYTES];
    const char *name;
    sqlite3    *handle = NULL;
    enum status status = STATUS_OK;
    *out = (struct driver_look){.claim = -1};
    if (lite_bytes_of(path, "") <= 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.120s", path);
    split(path, folder, &name);
    TRY(lite_path(folder, name, real, err));
    // A server that begins or ends leaves a moment without its journal.
    for (int tries = 0;; tries++) {
        bool is_still = strcmp(name, "gnomon.db") != 0 || claim_to_look(folder, &out->claim);
        status = look_once(real, all, is_still, &handle, &out->version, err);
        if (status == STATUS_OK || is_still || tries == LOOK_TRIES)
            break;
        sqlite3_close(handle);
        handle = NULL;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_PAUSE_MS * 1000000}, NULL);
    }
    out->handle = handle;
    return status;
}

/* The claim that a look has keeps servers away; alone, it keeps other moves away, too. */
enum status lite_hold(struct driver_look *look, struct error *err)
{
    if (look->claim >= 0 && flock(look->claim, LOCK_EX | LOCK_NB) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_BUSY, "locked", "",
                     "a server has the store, or another command: it is moved by one alone");
}

/* ---- examining ---- */

static enum status say_rows(sqlite3 *handle, const char *text, driver_say *say, void *arg, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    errno = 0;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    for (int rows = 0; code == SQLITE_OK || code == SQLITE_ROW;) {
        errno = 0;
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && rows++ < FINDINGS_MAX)
            say(arg, (const char *)sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? STATUS_OK : lite_fail(handle, code, err);
}

enum status lite_examine(void *handle, driver_say *say, void *arg, struct error *err)
{
    TRY(say_rows(handle, "SELECT integrity_check FROM pragma_integrity_check(20) WHERE integrity_check <> 'ok'", say,
                 arg, err));
    return say_rows(handle,
                    "SELECT 'a row of ' || \"table\" || ' refers to a row of ' || parent || ' that is not there' FROM "
                    "pragma_foreign_key_check",
                    say, arg, err);
}

static void keep_first(void *arg, const char *finding)
{
    struct error *err = arg;
    if (err->status == STATUS_OK)
        error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the store is damaged: %.120s", finding);
}

/* Page by page, some 4 ms of a processor for a megabyte.  What is large is left to who looks at it later, because nobody is
 * served meanwhile: each page that is read then is looked at, too, and each row has its sum. */
enum status lite_quick(void *handle, const char *folder, struct error *err)
{
    struct error first = {.status = STATUS_OK};
    char         path[LITE_PATH_BYTES];
    TRY(lite_path(folder, "gnomon.db", path, err));
    if (lite_bytes_of(path, "") > QUICK_BYTES)
        return STATUS_OK;
    TRY(say_rows(handle, "SELECT quick_check FROM pragma_quick_check(1) WHERE quick_check <> 'ok'", keep_first, &first,
                 err));
    if (first.status != STATUS_OK)
        *err = first;
    return first.status;
}

/* ---- writing anew ---- */

/* VACUUM attaches the file it copies to.  A store of an earlier version can be trimmed from then on. */
static enum status vacuum(sqlite3 *handle, struct error *err)
{
    TRY(lite_execute(handle, "PRAGMA auto_vacuum = INCREMENTAL", err));
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1);
    enum status status = lite_execute(handle, "VACUUM", err);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    return status;
}

enum status lite_compact(void *handle, const char *folder, struct error *err)
{
    char path[LITE_PATH_BYTES];
    TRY(lite_path(folder, "", path, err));
    // Beside the store there is room, and nobody else: SQLite deletes the file as soon as it is open.
    sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = sqlite3_mprintf("%s", path);
    if (sqlite3_temp_directory == NULL)
        return error_no_memory(err);
    TRY(lite_pragma(handle, "temp_store", "1", "1", err));
    return vacuum(handle, err);
}

enum status lite_renew(void *handle, int64_t bytes_max, struct error *err)
{
    int pages, page_bytes;
    TRY(lite_read_int(handle, "PRAGMA page_count", &pages, err));
    TRY(lite_read_int(handle, "PRAGMA page_size", &page_bytes, err));
    return (int64_t)pages * page_bytes > bytes_max ? STATUS_OK : vacuum(handle, err); // in memory: temp_store
}

enum status lite_trim(void *handle, int pages_max, bool *more, struct error *err)
{
    char text[64];
    int  mode, pages, spare;
    *more = false;
    TRY(lite_read_int(handle, "PRAGMA auto_vacuum", &mode, err));
    TRY(lite_read_int(handle, "PRAGMA page_count", &pages, err));
    TRY(lite_read_int(handle, "PRAGMA freelist_count", &spare, err));
    if (mode != AUTO_VACUUM_INCREMENTAL || spare < TRIM_PAGES || spare < pages / TRIM_PART)
        return STATUS_OK;
    snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%d)", pages_max);
    *more = spare > pages_max;
    return lite_execute(handle, text, err);
}
