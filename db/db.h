/* Rows in, rows out.  The store knows nothing of studies' meaning, HTTP or JSON.
 *
 * Invariants (SQLite): exactly one read-write connection per file, owned by the writer thread, which alone writes and
 * checkpoints; requests that wait together share one commit (group commit).  Readers are opened read-only.
 * Only db_transact begins, commits and retries; a transaction function may run again, so it has no side effects
 * but on the database and on what it was given to fill. */
#ifndef GNOMON_DB_DB_H
#define GNOMON_DB_DB_H

#include "db/sql.h"
#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_conn; /* one connection: a reader's, or the writer's inside db_transact */

struct db_options {
    const char *folder;      /* holds gnomon.db, its lock and journal; created with mode 0700 */
    const char *synchronous; /* "FULL"; "OFF" only for measurements */
    size_t      readers;     /* how many may read at once */
    void (*log)(const char *what, const struct error *why); /* of what no caller sees; why NULL: well again.  Or NULL */
};

/* Locks the folder, opens, migrates, reads every pragma back, starts the writer.
 * Errors: BUSY "locked" (another process has it), CONFLICT "schema_newer", FULL, INTERNAL. */
MUST_CHECK enum status db_open(const struct db_options *options, struct db **out, struct error *err);
/* Finishes what is queued, checkpoints, closes. */
void db_close(struct db *db);

/* Runs fn on the writer, in a savepoint of the batch's transaction, and returns when the batch is durable.
 * fn's failure rolls back its own work only.  Errors: fn's; FULL, BUSY (queue full), INTERNAL.
 * After a failed fsync, of whatever file, the process exits with status 70: what was acknowledged is on the disk,
 * nothing else is known. */
typedef enum status (*db_fn)(struct db_conn *conn, void *arg, struct error *err);
MUST_CHECK enum status db_transact(struct db *db, db_fn fn, void *arg, struct error *err);

/* What the store does for itself, in transactions of the writer between those of others: when the writer has been idle
 * for a second, again at once while it says *more, every minute if nothing else happens; and under load after each
 * UPKEEP_JOBS transactions and once a second, so that what they leave behind is cleared as fast as it comes.
 * Everyone waits for it: a small piece at a time.  was_busy: transactions ran since the last time. */
typedef enum status (*db_upkeep_fn)(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err);
void db_set_upkeep(struct db *db, db_upkeep_fn fn, void *arg); /* NULL: none */

/* Runs fn on a read-only connection inside one read transaction (a consistent snapshot). */
MUST_CHECK enum status db_read(struct db *db, db_fn fn, void *arg, struct error *err);

/* Arguments follow the statement's signature, one letter each: s text (const char *, NULL is NULL), i int64_t,
 * d double, b blob (const void *, size_t).  Result letters are the same; upper case marks a column that may be NULL.
 * A statement is in use from db_query to db_done; the same statement cannot be used twice at once on a connection. */
struct db_rows {
    struct db_conn *conn;
    enum sql        sql;
};
MUST_CHECK enum status db_query(struct db_conn *conn, struct db_rows *rows, struct error *err, enum sql sql, ...);
/* OK with *more = false at the end. */
MUST_CHECK enum status db_next(struct db_rows *rows, bool *more, struct error *err);
void                   db_done(struct db_rows *rows);

bool        db_is_null(const struct db_rows *rows, int column);
int64_t     db_int(const struct db_rows *rows, int column);
double      db_double(const struct db_rows *rows, int column);
const char *db_text(const struct db_rows *rows, int column);                 /* borrowed until db_next; NULL is NULL */
const void *db_blob(const struct db_rows *rows, int column, size_t *length); /* borrowed until db_next */
char       *db_text_copy(const struct db_rows *rows, int column, struct arena *arena); /* NULL: is NULL or no memory */

/* A statement without rows; *changes may be NULL. */
MUST_CHECK enum status db_exec(struct db_conn *conn, int64_t *changes, struct error *err, enum sql sql, ...);

struct db_stats {
    uint64_t commits, transactions;
    double   commit_ms;
    int64_t  wal_bytes; /* of the write-ahead log */
    uint64_t checkpoint_failures;
    bool     is_failing; /* the last checkpoint failed: what is acknowledged is safe, but the log grows */
    bool     is_damaged; /* something in the store could not be read as what it was written */
};
void db_stats(struct db *db, struct db_stats *stats);

/* The statement table, for the test that prepares every row. */
struct sql_row {
    const char *name, *arguments, *results, *text;
};
extern const struct sql_row sql_table[SQL_COUNT];

#endif
