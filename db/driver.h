/* What a database must be able to do: implemented once per database.  Only db.c uses it.
 * A handle belongs to one thread at a time. */
#ifndef GNOMON_DB_DRIVER_H
#define GNOMON_DB_DRIVER_H

#include "db/db.h"
#include "db/sum.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum driver_mode { DRIVER_READ_WRITE, DRIVER_READ_ONLY };

/* What makes the schema: texts[0] of nothing version 1, texts[1] of that version 2, ... */
struct migrations {
    const char *const *texts;
    int                len;
};

/* A store that is looked at: one moment of it, whoever writes meanwhile. */
struct driver_look {
    void *handle;
    int   claim, version; /* claim: keeps servers away, see release; -1: none.  version: of its schema */
};
typedef void driver_say(void *arg, const char *finding);

struct driver {
    const char *name;
    /* Makes the folder if it is not there, and makes that last.  Errors: as those of claim but for "locked". */
    enum status (*make_folder)(const char *folder, struct error *err);
    /* The same, and keeps every other process out of it until release.
     * Errors: BUSY "locked", INVALID and INTERNAL "path". */
    enum status (*claim)(const char *folder, int *claim, struct error *err);
    void (*release)(int claim);
    /* Makes the names of the folder's files last. */
    enum status (*sync_folder)(const char *folder, struct error *err);
    /* Which version of its schema the store in the folder has; nothing is changed, whoever has the claim.
     * Errors: INTERNAL "store_corrupt", CONFLICT "schema_newer", CONFLICT "schema_unknown" (it says a version, but is not
     * what the migrations up to that make; an index more that is not unique does no harm). */
    enum status (*inspect)(const char *folder, const struct migrations *all, struct db_schema *schema,
                           struct error *err);
    /* Takes the store with this schema to the last version in one transaction, after a copy of it was made durable as
     * schema->backup.  Whatever happens, the store is the old one or the new one.
     * Errors: CONFLICT "backup_exists", FULL, INTERNAL "migration". */
    enum status (*migrate)(void *handle, const char *folder, const struct migrations *all,
                           const struct db_schema *schema, struct error *err);
    enum status (*open)(const char *folder, enum driver_mode mode, const char *synchronous, void **handle,
                        struct error *err);
    void (*close)(void *handle);
    /* Of a reader: one snapshot until it ends.  Of the writer: it will write. */
    enum status (*begin)(void *handle, enum driver_mode mode, struct error *err);
    enum status (*execute)(void *handle, const char *text, struct error *err); /* no parameters, no rows */
    enum status (*prepare)(void *handle, const char *text, void **statement, struct error *err);
    void (*finalize)(void *statement);
    /* index from 1, the n of $n */
    enum status (*bind)(void *statement, int index, const struct db_value *value, struct error *err);
    enum status (*step)(void *statement, bool *row, struct error *err);
    void (*reset)(void *statement);
    /* Columns from 0, read as the value's letter says.  False: a text is there but cannot be had, for lack of memory. */
    bool (*column)(void *statement, int column, struct db_value *value);
    int64_t (*changes)(void *handle);
    bool (*in_transaction)(void *handle);
    /* The journal, of a read-write handle.  watch: from now on every commit sets *bytes to its length, and the driver
     * does not shorten it by itself.  checkpoint moves it into the database as far as readers let it (that they do not is
     * no failure), sets *bytes, and on truncate gives its room back.  A driver without a journal does nothing. */
    void (*journal_watch)(void *handle, int64_t *bytes);
    enum status (*checkpoint)(void *handle, bool truncate, int64_t *bytes, struct error *err);
    /* The store in a file, which is that of a folder, served or not, or a copy.  Whatever comes of it, the handle and the
     * claim are to be closed and released. */
    enum status (*look)(const char *path, const struct migrations *all, struct driver_look *out, struct error *err);
    /* What the handle sees, as a new file that is its owner's alone, and on the disk.  One with this name goes. */
    enum status (*copy)(void *handle, const char *path, struct error *err);
    /* Says what is wrong with the store as a file of rows. */
    enum status (*examine)(void *handle, driver_say *say, void *arg, struct error *err);
    /* The quicker part of it: INTERNAL "store_corrupt". */
    enum status (*quick)(void *handle, struct error *err);
    /* Writes all anew, without gaps, of a read-write handle; it is the old one or the new one when that is cut off.  What
     * is left over is given back by the next checkpoint that truncates. */
    enum status (*compact)(void *handle, const char *folder, struct error *err);
    /* The same beside readers, of a store of no more bytes than that; else nothing is done. */
    enum status (*renew)(void *handle, int64_t bytes_max, struct error *err);
    /* Within a transaction of a read-write handle: gives back so many of the pages that are free, if that is
     * worth it; *more: there are others.  NULL: the database does that itself. */
    enum status (*trim)(void *handle, int pages_max, bool *more, struct error *err);
    /* Of the writer, before it writes: from now on rows get their sums, and those that are bound to the log are added to the
     * total, and taken from it.  A row that is not what was written is not changed: CONFLICT "store_corrupt".  Of a reader:
     * total NULL.  damaged (DAMAGED_BYTES): is set to whose row such a one is that was met. */
    enum status (*guard)(void *handle, struct total *total, char *damaged, struct error *err);
    /* Looks at the rows behind a place, for some milliseconds. */
    enum status (*scan)(void *handle, struct scan *scan, struct error *err);
    /* That total, of what the handle sees. */
    enum status (*gather)(void *handle, struct total *total, struct error *err);
    /* Says which rows are not what was written; owner NULL: of all, not of one study, federation or game. */
    enum status (*damaged)(void *handle, const char *owner, driver_say *say, void *arg, struct error *err);
};

extern const struct driver     driver_sqlite;
extern const struct migrations db_migrations; /* of db/migrations, in order */

#endif
