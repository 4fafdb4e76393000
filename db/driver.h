/* The interface to a database: a const record for each.  Only db.c, conn.c and look.c use it.  A handle belongs to
 * one thread at a time.
 *
 * The contract, which tests/unit/service/driver.c holds every driver to:
 *  1. One process has the store.  What one that lost it still sends changes nothing, and it ends (status 70) when it finds
 *     that another process had the store since.
 *  2. What commit acknowledged is on the disk.  What it refused was not done.  Where neither can be found out the process
 *     ends (status 70) and acknowledges nothing: the next one finds it.
 *  3. A savepoint that is undone leaves what was there when it was set, whatever failed since; others of the transaction
 *     stay.  After a statement that failed the transaction goes no further than the savepoint, or not at all.
 *  4. What a reader sees from its first statement on is one state of what was committed, and all that was when it began.
 *  5. Values come back as they went: every integer of 64 bits, every finite double and infinity bit by bit, texts in UTF-8
 *     without NUL, bytes.  NaN is NULL.  No bytes are the length 0, and no pointer, NULL or not.
 *  6. Texts are ordered and compared byte by byte; lower() changes ASCII alone.
 *  7. What a constraint refuses is CONFLICT "constraint", what may succeed when it is tried again is BUSY, no room is FULL. */
#ifndef GNOMON_DB_DRIVER_H
#define GNOMON_DB_DRIVER_H

#include "db/db.h"
#include "db/sum.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum driver_mode { DRIVER_READ_WRITE, DRIVER_READ_ONLY };
enum driver_savepoint { SAVEPOINT_SET, SAVEPOINT_KEEP, SAVEPOINT_UNDO };

/* The schema's migrations: texts[0] makes version 1 of nothing, texts[1] version 2 of that, ... */
struct migrations {
    const char *const *texts;
    int                len;
    const char *whole; /* what all of them make of nothing, in a fifteenth of their time; NULL: nobody wrote it down */
};

/* A store that is looked at: one moment of it, whoever writes meanwhile. */
struct driver_look {
    void *handle;
    int   claim, version; /* claim: keeps servers away, see folder_release; -1: none.  version: of its schema */
};
typedef void driver_say(void *arg, const char *finding);

/* The part of a migration that is the writer's. */
struct driver_bind {
    enum status (*bind)(void *arg, struct error *err);
    void *arg;
};

struct driver {
    const char              *name;
    const struct migrations *migrations; /* of its own schema */
    /* place: the folder, or what else says where the database is.
     * Which version of its schema the store has; nothing is changed, whoever writes.
     * Errors: INTERNAL "store_corrupt", CONFLICT "schema_newer", CONFLICT "schema_unknown" (it says a version, but is not
     * what the migrations up to that make; an index more that is not unique does no harm). */
    enum status (*inspect)(const char *place, const struct migrations *all, struct db_schema *schema,
                           struct error *err);
    /* Takes the store with this schema to the last version in one transaction, after a copy of it was made durable as
     * schema->backup.  `last`, unless it is NULL, binds the rows anew at the end of that transaction: no store is ever without a
     * total.  Whatever happens, the store is the old one or the new one.
     * Errors: CONFLICT "backup_exists", FULL, INTERNAL "migration". */
    enum status (*migrate)(void *handle, const char *place, const struct migrations *all,
                           const struct db_schema *schema, const struct driver_bind *last, struct error *err);
    /* Errors: BUSY "locked": to write, while another process has the store. */
    enum status (*open)(const char *place, enum driver_mode mode, const char *synchronous, void **handle,
                        struct error *err);
    void (*close)(void *handle);
    /* A reader gets a snapshot until the end; a writer is going to write. */
    enum status (*begin)(void *handle, enum driver_mode mode, struct error *err);
    /* Sets the transaction's only savepoint, forgets it, or returns to it and forgets it.  A savepoint that the driver puts
     * off fails with the next statement. */
    enum status (*savepoint)(void *handle, enum driver_savepoint what, struct error *err);
    enum status (*commit)(void *handle, struct error *err);
    enum status (*roll_back)(void *handle, struct error *err); /* outside a transaction it does nothing */
    enum status (*execute)(void *handle, const char *text, struct error *err); /* no parameters, no rows */
    /* The text is the common subset of SQL; of what differs the driver has a table. */
    enum status (*prepare)(void *handle, const struct sql_statement *listed, void **statement, struct error *err);
    void (*finalize)(void *statement);
    /* index from 1, the n of $n */
    enum status (*bind)(void *statement, int index, const struct db_value *value, struct error *err);
    enum status (*step)(void *statement, bool *row, struct error *err);
    /* Runs a statement whose rows and changes nobody asks for, perhaps later; NULL: step will do.  A failure comes with a
     * later statement, with settle, when the savepoint is kept, or with the commit. */
    enum status (*run)(void *statement, struct error *err);
    enum status (*settle)(void *handle, struct error *err);
    void (*reset)(void *statement);
    /* Columns from 0, read as the value's letter says.  False: a text is there but cannot be had, for lack of memory. */
    bool (*column)(void *statement, int column, struct db_value *value);
    int64_t (*changes)(void *handle);
    bool (*in_transaction)(void *handle);
    /* From now on this is asked every few milliseconds while a statement of the handle runs; not 0: it ends with BUSY
     * "deadline_exceeded".  NULL: the operator sets the database's own limit (PostgreSQL: statement_timeout). */
    void (*watch)(void *handle, int (*is_late)(void *arg), void *arg);
    /* The journal, of a read-write handle.  watch: from now on every commit sets *bytes to its length, and the driver
     * does not shorten it by itself.  checkpoint moves it into the database as far as readers let it (that they do not is
     * no failure), sets *bytes, and on truncate gives its room back.  A driver without a journal does nothing. */
    void (*journal_watch)(void *handle, int64_t *bytes);
    enum status (*checkpoint)(void *handle, bool truncate, int64_t *bytes, struct error *err);
    /* The next members are for a database that is a file; NULL: its own tools do this.
     * Opens the store in a file, that of a folder, served or not, or a copy.  Whatever the result, the handle and the claim
     * are to be closed and released. */
    enum status (*look)(const char *path, const struct migrations *all, struct driver_look *out, struct error *err);
    /* Copies the handle's snapshot to a file that only its owner may read, on the disk; replaces a file of this name. */
    enum status (*copy)(void *handle, const char *path, struct error *err);
    /* Says what is wrong with the store as a file of rows. */
    enum status (*examine)(void *handle, driver_say *say, void *arg, struct error *err);
    /* The quicker part of it, unless the store is large: INTERNAL "store_corrupt". */
    enum status (*quick)(void *handle, const char *place, struct error *err);
    /* Writes all anew, without gaps, of a read-write handle; it is the old one or the new one when that is cut off.  What
     * is left over is given back by the next checkpoint that truncates. */
    enum status (*compact)(void *handle, const char *folder, struct error *err);
    /* As compact beside readers, for a store of at most bytes_max bytes; a larger one is left alone. */
    enum status (*renew)(void *handle, int64_t bytes_max, struct error *err);
    /* Within a transaction of a read-write handle: gives back so many of the pages that are free, if that is
     * worth it; *more: there are others.  NULL: the database does that itself. */
    enum status (*trim)(void *handle, int pages_max, bool *more, struct error *err);
    /* Holds a store that is moved elsewhere (move.h): no server has it, nor will while it is looked at.  BUSY "locked". */
    enum status (*hold)(struct driver_look *look, struct error *err);
    /* Marks the store as moved, so that a server finds it rolled back.  NULL: the witness in its folder says so. */
    enum status (*leave)(struct driver_look *look, struct error *err);
    /* lay makes the tables of the last version in an empty place, in a transaction that it begins, in which rows cause only
     * what guard asks for.  CONFLICT "store_exists".  wake ends that state once the rows are there. */
    enum status (*lay)(void *handle, const char *place, const struct migrations *all, struct error *err);
    enum status (*wake)(void *handle, struct error *err);
    /* Guards rows from now on; again does no harm: a writer's rows get their sums, and those bound to the log are added to the total and taken
     * from it, when settle returns at the latest.  A damaged row is not changed: CONFLICT "store_corrupt".  A reader has total NULL.  damaged [DAMAGED_BYTES]
     * out: the owner of a damaged row that was met. */
    enum status (*guard)(void *handle, struct total *total, char *damaged, struct error *err);
    /* Looks at the rows behind a place, for some milliseconds. */
    enum status (*scan)(void *handle, struct scan *scan, struct error *err);
    /* Computes that total for the handle's snapshot, which has this schema. */
    enum status (*gather)(void *handle, int schema, struct total *total, struct error *err);
    /* For the writer of a database that another process takes when this one is silent for some seconds; NULL: none can.  A
     * good answer says that the store was this process's when it was asked.  Within a transaction nothing is asked. */
    enum status (*beat)(void *handle, struct error *err);
    /* Reports damaged rows; owner NULL: of everybody, not of a single study, federation or game. */
    enum status (*damaged)(void *handle, const char *owner, driver_say *say, void *arg, struct error *err);
};

extern const struct driver     driver_sqlite, driver_postgres;
extern const struct migrations db_migrations; /* of db/migrations, in order: SQLite's */

#endif
