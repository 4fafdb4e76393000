/* See look.h. */
#include "db/whole/look.h"

#include "db/writer/conn.h"
#include "db/folder.h"
#include "db/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

struct db_look {
    struct db_conn     conn;
    struct driver_look is;
};

enum status db_inspect(const char *place, struct db_schema *schema, struct error *err)
{
    const struct driver *driver = db_is_postgres(place) ? &driver_postgres : &driver_sqlite;
    return driver->inspect(place, &db_migrations, schema, err);
}

enum status db_make_folder(const char *folder, struct error *err)
{
    return folder_make(folder, err);
}

enum status db_look_open(const char *path, struct db_look **out, struct error *err)
{
    *out = NULL;
    struct db_look *look = calloc(1, sizeof *look);
    if (look == NULL)
        return error_no_memory(err);
    look->conn.driver = db_is_postgres(path) ? &driver_postgres : &driver_sqlite;
    enum status status = look->conn.driver->look(path, &db_migrations, &look->is, err);
    look->conn.handle = look->is.handle;
    if (status != STATUS_OK) {
        db_look_close(look);
        return status;
    }
    *out = look;
    return STATUS_OK;
}

void db_look_close(struct db_look *look)
{
    if (look == NULL)
        return;
    conn_close(&look->conn);
    folder_release(look->is.claim);
    free(look);
}

int db_look_schema(const struct db_look *look)
{
    return look->is.version;
}

enum status db_look_read(struct db_look *look, db_fn fn, void *arg, struct error *err)
{
    if (look->is.version != db_migrations.len)
        return error_set(err, STATUS_CONFLICT, "schema_old", "",
                         "the store has schema %d, this program needs %d: gnomon migrate takes it there",
                         look->is.version, db_migrations.len);
    return fn(&look->conn, arg, err);
}

enum status db_look_witness(struct db_conn *conn, struct witness *out, struct error *err)
{
    return conn_witness(conn, out, err);
}

enum status db_look_examine(struct db_look *look, db_say *say, void *arg, struct error *err)
{
    return look->conn.driver->examine(look->conn.handle, say, arg, err);
}

enum status db_look_damaged(struct db_look *look, const char *owner, db_say *say, void *arg, struct error *err)
{
    return look->conn.driver->damaged(look->conn.handle, owner, say, arg, err);
}

enum status db_look_total(struct db_look *look, struct total *out, struct error *err)
{
    return look->conn.driver->gather(look->conn.handle, look->is.version, out, err);
}

/* ---- moved away ---- */

enum status db_look_hold(struct db_look *look, struct error *err)
{
    return look->conn.driver->hold(&look->is, err);
}

enum status db_look_leave(struct db_look *look, const char *folder, const struct witness *own, struct error *err)
{
    struct witness further = *own;
    if (look->conn.driver->leave != NULL)
        return look->conn.driver->leave(&look->is, err);
    further.counter++;
    return witness_write(folder, &further, false, err);
}

/* ---- copies ---- */

static void keep_first(void *arg, const char *finding)
{
    char *first = arg;
    if (first[0] == '\0')
        snprintf(first, 160, "%s", finding);
}

/* Reads the copy again from its file. */
static enum status check_copy(const char *path, struct error *err)
{
    struct db_look *look = NULL;
    char            first[160] = "";
    enum status     status = db_look_open(path, &look, err);
    if (status == STATUS_OK)
        status = db_look_examine(look, keep_first, first, err);
    db_look_close(look);
    TRY(status);
    return first[0] == '\0'
               ? STATUS_OK
               : error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the store is damaged: %.120s", first);
}

static void folder_of(const char *path, char folder[PATH_BYTES])
{
    snprintf(folder, PATH_BYTES, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, PATH_BYTES, ".");
    else
        slash[slash == folder] = '\0';
}

/* Copies into one folder are made one after the other, so that none is named that another is still writing.  -1: the folder
 * is not there, which is found soon, or cannot be locked. */
static int lock_folder_of(const char *path)
{
    char folder[PATH_BYTES];
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    return fd;
}

static enum status name_file(const char *from, const char *to, struct error *err)
{
    char folder[PATH_BYTES];
    folder_of(to, folder);
    if (rename(from, to) != 0)
        return error_set(err, STATUS_INTERNAL, "path", "", "cannot name %.120s: %s", to, strerror(errno));
    return folder_sync(folder, err);
}

static enum status copy_to(struct db_look *look, const char *part, const char *path, struct error *err)
{
    struct stat there;
    if (lstat(path, &there) == 0)
        return error_set(err, STATUS_CONFLICT, "file_exists", "", "%.150s is there already", path);
    enum status status = look->conn.driver->copy(look->conn.handle, part, err);
    if (status == STATUS_OK)
        status = check_copy(part, err);
    if (status == STATUS_OK)
        status = name_file(part, path, err);
    if (status != STATUS_OK)
        unlink(part);
    return status;
}

enum status db_look_copy(struct db_look *look, const char *path, struct error *err)
{
    if (look->conn.driver->copy == NULL)
        return error_set(err, STATUS_INVALID, "not_a_file", "",
                         "the store is in PostgreSQL, whose own tools copy it: pg_dump, pg_basebackup");
    char part[PATH_BYTES];
    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
        return error_set(err, STATUS_INVALID, "path", "", "the path is too long");
    int         lock = lock_folder_of(path);
    enum status status = copy_to(look, part, path, err);
    if (lock >= 0)
        close(lock);
    return status;
}

/* ---- back ---- */

static enum status read_witness(struct db_conn *conn, void *arg, struct error *err)
{
    return db_look_witness(conn, arg, err);
}

/* Ahead of the copy, whatever is known of what came after it. */
static enum status witness_restore(struct db_look *look, const char *folder, struct error *err)
{
    struct witness own = {.store = "unknown"}, known;
    TRY(witness_read(folder, &known, err));
    if (look->is.version == db_migrations.len) // an earlier schema may have counted nothing
        TRY(db_look_read(look, read_witness, &own, err));
    own.counter = (own.counter > known.counter ? own.counter : known.counter) + 1;
    return witness_write(folder, &own, false, err);
}

static enum status restore(struct db_look *look, const char *folder, struct error *err)
{
    char                     path[PATH_BYTES];
    struct stat              there;
    static const char *const files[] = {"gnomon.db-wal", "gnomon.db-journal", "gnomon.db"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%.4000s/%s", folder, files[i]);
        if (lstat(path, &there) == 0)
            return error_set(err, STATUS_CONFLICT, "store_exists", "",
                             "there is a store in %.150s: move its gnomon.db* away", folder);
    }
    TRY(witness_restore(look, folder, err));
    return db_look_copy(look, path, err);
}

enum status db_restore(const char *copy, const char *folder, struct error *err)
{
    struct db_look *look = NULL;
    int             claim = -1;
    TRY(db_look_open(copy, &look, err));
    enum status status = folder_claim(folder, &claim, err);
    if (status == STATUS_OK)
        status = restore(look, folder, err);
    folder_release(claim);
    db_look_close(look);
    return status;
}

/* ---- anew ---- */

static int64_t bytes_of(const char *folder)
{
    char        path[PATH_BYTES];
    struct stat own;
    snprintf(path, sizeof path, "%.4000s/gnomon.db", folder);
    return stat(path, &own) == 0 ? (int64_t)own.st_size : 0;
}

static enum status compact(const char *folder, struct db_sizes *sizes, struct error *err)
{
    struct db_conn   conn = {.handle = NULL};
    struct db_schema schema;
    int64_t          journal;
    TRY(driver_sqlite.inspect(folder, &db_migrations, &schema, err));
    if (schema.found == 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.150s", folder);
    TRY(conn_open(&conn, &driver_sqlite, folder, DRIVER_READ_WRITE, "FULL", err));
    enum status status = driver_sqlite.checkpoint(conn.handle, true, &journal, err);
    sizes->before = bytes_of(folder);
    if (status == STATUS_OK)
        status = driver_sqlite.compact(conn.handle, folder, err);
    if (status == STATUS_OK)
        status = driver_sqlite.checkpoint(conn.handle, true, &journal, err);
    sizes->after = bytes_of(folder);
    conn_close(&conn);
    return status;
}

enum status db_compact(const char *folder, struct db_sizes *sizes, struct error *err)
{
    int claim = -1;
    if (access(folder, F_OK) != 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.150s", folder);
    enum status status = folder_claim(folder, &claim, err);
    if (status == STATUS_OK)
        status = compact(folder, sizes, err);
    folder_release(claim);
    return status;
}
