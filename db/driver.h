/* What a database must be able to do: one const record for each.  Only db.c, conn.c and look.c use it.  A handle belongs to
 * one thread at a time.
 *
 * The contract, which tests/unit/service/driver.c holds every driver to:
 *  1. Transactions that write are one after the other: begin waits until no other, of whatever process, is under way, and what
 *     a connection that lost its transaction still sends changes nothing.  Of a file one process writes.
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

/* Of a standby: read-only, and given up sooner, since what it does not answer another one does. */
enum driver_mode { DRIVER_READ_WRITE, DRIVER_READ_ONLY, DRIVER_STANDBY };
enum driver_savepoint { SAVEPOINT_SET, SAVEPOINT_KEEP, SAVEPOINT_UNDO };

/* What makes the schema: texts[0] of nothing version 1, texts[1] of that version 2, ... */
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

/* The servers that write to the store now, the oldest first, what the last commit of any of them left, and what they want; the
 * clock of the database, in milliseconds since 1970. */
enum { DRIVER_PEERS_MAX = 64 };
struct driver_peers {
    int64_t         ids[DRIVER_PEERS_MAX], own, mark, clock_ms;
    int             len;
    bool            is_own_mark;
    struct db_wants wants;
};

/* How far a database has come in what it writes; or a standby of it, in what it shows.  Positions of one timeline can be compared. */
enum { DRIVER_OF_BYTES = 64 };
struct driver_position {
    char    of[DRIVER_OF_BYTES]; /* which database it is, and its standbys */
    int64_t timeline, at;
    bool    is_standby;
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
     * schema->backup.  Whatever happens, the store is the old one or the new one.
     * Errors: CONFLICT "backup_exists", FULL, INTERNAL "migration". */
    enum status (*migrate)(void *handle, const char *place, const struct migrations *all,
                           const struct db_schema *schema, struct error *err);
    /* Errors: BUSY "locked". */
    enum status (*open)(const char *place, enum driver_mode mode, const char *synchronous, void **handle,
                        struct error *err);
    void (*close)(void *handle);
    /* Of a reader: one snapshot until it ends.  Of the writer: it will write. */
    enum status (*begin)(void *handle, enum driver_mode mode, struct error *err);
    /* Of the transaction's only savepoint: sets it, forgets it, or goes back to it and forgets it.  What a driver puts off
     * until the next statement fails with that one. */
    enum status (*savepoint)(void *handle, enum driver_savepoint what, struct error *err);
    enum status (*commit)(void *handle, struct error *err);
    enum status (*roll_back)(void *handle, struct error *err); /* what there is; outside a transaction nothing */
    enum status (*execute)(void *handle, const char *text, struct error *err); /* no parameters, no rows */
    /* The text is the common subset of SQL; of what differs the driver has a table. */
    enum status (*prepare)(void *handle, const struct sql_statement *listed, void **statement, struct error *err);
    void (*finalize)(void *statement);
    /* index from 1, the n of $n */
    enum status (*bind)(void *statement, int index, const struct db_value *value, struct error *err);
    enum status (*step)(void *statement, bool *row, struct error *err);
    /* Of a driver that puts off statements whose rows and changes nobody asks for; NULL: step will do.  One that fails does so
     * with a later one, with settle, when the savepoint is kept, or with the commit. */
    enum status (*run)(void *statement, struct error *err);
    enum status (*settle)(void *handle, struct error *err);
    /* Of a driver that waits for each answer; NULL: there is nothing to gain.  What is bound to this statement, which reads, will be
     * asked for soon with the same values, before anything is written: its rows come with what is waited for first, in a
     * transaction or with its beginning.  Whoever asks sees what he would have seen without; a failure is that of what comes
     * with it.  What was bound is forgotten. */
    void (*ahead)(void *statement);
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
    /* Of a database that is a file; NULL: its own tools do this.
     * The store in a file, which is that of a folder, served or not, or a copy.  Whatever comes of it, the handle and the
     * claim are to be closed and released. */
    enum status (*look)(const char *path, const struct migrations *all, struct driver_look *out, struct error *err);
    /* What the handle sees, as a new file that is its owner's alone, and on the disk.  One with this name goes. */
    enum status (*copy)(void *handle, const char *path, struct error *err);
    /* Says what is wrong with the store as a file of rows. */
    enum status (*examine)(void *handle, driver_say *say, void *arg, struct error *err);
    /* The quicker part of it, unless the store is large: INTERNAL "store_corrupt". */
    enum status (*quick)(void *handle, const char *place, struct error *err);
    /* Writes all anew, without gaps, of a read-write handle; it is the old one or the new one when that is cut off.  What
     * is left over is given back by the next checkpoint that truncates. */
    enum status (*compact)(void *handle, const char *folder, struct error *err);
    /* The same beside readers, of a store of no more bytes than that; else nothing is done. */
    enum status (*renew)(void *handle, int64_t bytes_max, struct error *err);
    /* Within a transaction of a read-write handle: gives back so many of the pages that are free, if that is
     * worth it; *more: there are others.  NULL: the database does that itself. */
    enum status (*trim)(void *handle, int pages_max, bool *more, struct error *err);
    /* Of a store that is moved elsewhere (move.h): that no server has it, nor will while it is looked at.  BUSY "locked". */
    enum status (*hold)(struct driver_look *look, struct error *err);
    /* It was moved, and who serves it all the same finds it rolled back.  NULL: the witness in its folder says so. */
    enum status (*leave)(struct driver_look *look, struct error *err);
    /* Of a place that is to get a store, where nothing is: the tables of the last version, in a transaction that has begun, in
     * which only what guard asks for happens when rows come.  CONFLICT "store_exists".  And when they are there. */
    enum status (*lay)(void *handle, const char *place, const struct migrations *all, struct error *err);
    enum status (*wake)(void *handle, struct error *err);
    /* Of the writer, before it writes: from now on rows get their sums, and those that are bound to the log are added to the
     * total, and taken from it.  A row that is not what was written is not changed: CONFLICT "store_corrupt".  Of a reader:
     * total NULL.  damaged (DAMAGED_BYTES): is set to whose row such a one is that was met. */
    enum status (*guard)(void *handle, struct total *total, char *damaged, struct error *err);
    /* Looks at the rows behind a place, for some milliseconds. */
    enum status (*scan)(void *handle, struct scan *scan, struct error *err);
    /* That total, of what the handle sees. */
    enum status (*gather)(void *handle, struct total *total, struct error *err);
    /* Of a database of several servers; NULL: there is one.
     * Whether another one has committed between the last two transactions of this writer. */
    bool (*others_wrote)(void *handle);
    /* From the writer's handle only what never changes is read.  told: what this server wants from now on; NULL: that stays. */
    enum status (*peers)(void *handle, const void *writer, const struct db_wants *told, struct driver_peers *out,
                         struct error *err);
    /* Of a database that can have standbys; NULL: it cannot.  Outside a transaction, at once or not at all.  What was acknowledged
     * before it is asked for is at this position or before it; a transaction that begins at a standby after that has told this
     * position sees all that. */
    enum status (*position)(void *handle, struct driver_position *out, struct error *err);
    /* Says which rows are not what was written; owner NULL: of all, not of one study, federation or game. */
    enum status (*damaged)(void *handle, const char *owner, driver_say *say, void *arg, struct error *err);
};

extern const struct driver     driver_sqlite, driver_postgres;
extern const struct migrations db_migrations; /* of db/migrations, in order: SQLite's */

#endif
