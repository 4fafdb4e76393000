/* Rows in, rows out.  The store knows nothing of studies' meaning, HTTP or JSON.
 *
 * Invariants: exactly one read-write connection per store, owned by the writer thread, which alone writes and checkpoints;
 * requests that wait together share one commit (group commit).  Readers are opened read-only.
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
bool db_is_postgres(const char *place); /* what names a database, not a folder or a file */

struct db_conn; /* one connection: a reader's, or the writer's inside db_transact */

struct db_options {
    const char *folder;      /* holds gnomon.db, its lock, journal and witness; created with mode 0700 */
    const char *database;    /* where PostgreSQL is, instead of gnomon.db; NULL: SQLite */
    const char *synchronous; /* "FULL"; "OFF" only for measurements */
    size_t      readers;     /* how many may read at once */
    int64_t     step_ms;     /* how long a statement of theirs may look for its next row; 0: as long as it takes */
    /* Called again and again while another server has the database, until it says false; NULL: nobody waits for that. */
    bool (*waits)(void *arg);
    void *waits_arg;
    void (*log)(const char *what, const struct error *why); /* of what no caller sees; why NULL: well again.  Or NULL */
};

/* A schema's version: as found, and as this program needs it.  backup: the name of the copy in the folder that is made
 * before an older one is migrated, or "". */
struct db_schema {
    int  found, needed; /* found 0: there is no store yet */
    char backup[40];
};
/* Inspects the store in a folder or a database, whether or not it is in use; changes nothing.
 * Errors: CONFLICT "schema_newer", "schema_unknown" (not one of ours, or changed by hand), INTERNAL "store_corrupt". */
MUST_CHECK enum status db_inspect(const char *place, struct db_schema *schema, struct error *err);

/* Makes the folder of a store, as db_open does, for who wants to confine himself to it.  Errors: INVALID, INTERNAL. */
MUST_CHECK enum status db_make_folder(const char *folder, struct error *err);

/* Locks the folder, looks at the schema, opens, migrates, reads every pragma back, starts the writer.
 * Errors: BUSY "locked" (another process has it), those of db_inspect, CONFLICT "backup_exists" (a copy that would be
 * overwritten is in the way of a migration), CONFLICT "store_exists" (a database is named, and the folder has a store of its
 * own), FULL, INTERNAL. */
MUST_CHECK enum status db_open(const struct db_options *options, struct db **out, struct error *err);
/* The schema as it was found when the store was opened; since then it is the needed one. */
const struct db_schema *db_schema(const struct db *db);
/* Whether the store was this server's half a second ago.  If not, since the database or the way to it is slow, stands still or is
 * cut, another server may have it by now, and what is remembered is to be read again.  Of what is taken from memory it is asked
 * before. */
bool db_is_fresh(struct db *db);
/* An older copy is in the place of the store, or one of another store, or the file is gone that says how far the store had
 * come (db/witness.h).  It stays so until a transaction advances the counter (SQL_WITNESS_ADVANCE) beyond db_witnessed, and
 * the store is opened again. */
bool    db_is_rolled_back(const struct db *db);
int64_t db_witnessed(const struct db *db);
/* Removes deleted rows from the journal too, by emptying it into the database, where deleting overwrites, after this batch
 * or as soon as readers let it.  Does not wait. */
void db_scrub(struct db *db);
/* As db_scrub; and as soon as nobody writes a small store is written anew, because SQLite leaves pieces of deleted rows in
 * pages with others.  A large store (db.c) needs db_compact for that. */
void db_erase(struct db *db);
/* As db_erase after an edit, but every ten minutes at most, and at the end. */
void db_tidy(struct db *db);
/* Finishes what is queued, checkpoints, closes. */
void db_close(struct db *db);

/* Runs fn on the writer, in a savepoint of the batch's transaction, and returns when the batch is durable.
 * fn's failure rolls back its own work only.  Errors: fn's; FULL, BUSY (queue full), INTERNAL.
 * After a failed fsync, of whatever file, and when the witness cannot be written, the process exits with status 70: what was acknowledged is on the disk,
 * nothing else is known. */
typedef enum status (*db_fn)(struct db_conn *conn, void *arg, struct error *err);
MUST_CHECK enum status db_transact(struct db *db, db_fn fn, void *arg, struct error *err);
/* The project and the token that write, as hashes; zero: the store itself.  Projects and the tokens of each take turns: turns.h.
 * What is large waits, while others write what is small, for nine times as long as the last one took. */
struct db_owner {
    uint32_t project, token;
};
/* Runs a transaction that writes thousands of rows, in a commit of its own.  In a batch it would be in a savepoint, under
 * which SQLite goes through all pages written so far at the end of each statement: quadratic in the writes. */
MUST_CHECK enum status db_transact_large(struct db *db, struct db_owner owner, db_fn fn, void *arg, struct error *err);
/* Runs several transactions, each by itself, in their order, and durable together as far as a batch has room. */
enum { DB_TOGETHER_MAX = 64 };
struct db_transaction {
    struct db_owner owner; /* the turn of the first one's owner is used for all */
    size_t          rows;  /* that it writes, about; 0: one or none */
    db_fn           fn;
    void           *arg;
    struct error   *err;
    enum status     status; /* out */
    bool            is_large;
};
void db_transact_all(struct db *db, struct db_transaction *all, size_t len);

/* The store's upkeep, in transactions of the writer between those of others: when the writer has been idle for a second,
 * again at once while it says *more, every minute if nothing else happens; and under load after each UPKEEP_JOBS
 * transactions, or a second after the first of them, so that what they leave behind is cleared as fast as it comes.
 * Everyone waits for it: a small piece at a time.  was_busy: transactions ran since the last time. */
typedef enum status (*db_upkeep_fn)(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err);
void db_set_upkeep(struct db *db, db_upkeep_fn fn, void *arg); /* NULL: none */

/* The damaged owners: a study, a federation, a game, a token, one of whose rows is not as it was written. */
enum { DAMAGED_BYTES = 40, DAMAGED_MAX = 256 };
bool db_is_damaged(struct db *db, const char *owner);
void db_note_damaged(struct db *db, const char *owner);
/* Scans all rows, piece by piece: begin with a zeroed struct, and go on until is_over. */
enum { SCAN_TABLE_BYTES = 64, SCAN_PLACE_BYTES = 1024 };
struct scan {
    void (*say)(void *arg, const char *owner); /* of a row that is not what was written */
    void *arg;
    char  table[SCAN_TABLE_BYTES], after[SCAN_PLACE_BYTES]; /* the place */
    bool  is_over;
};
MUST_CHECK enum status db_scan(struct db *db, struct scan *scan, struct error *err);
/* That rows are those that the log vouches for (sum.h), in one snapshot: somebody who writes
 * to the store can make the sums of rows anew.  CONFLICT "store_corrupt". */
MUST_CHECK enum status db_compare_total(struct db *db, struct error *err);

/* Called by the writer, soon after each commit of transactions; must not wait.  NULL: none.  When it returns,
 * the one before is not running any more. */
void db_on_commit(struct db *db, void (*fn)(void *arg), void *arg);

/* Runs fn on a read-only connection inside one read transaction (a consistent snapshot).  BUSY "deadline_exceeded" of a
 * statement that found nothing for too long. */
MUST_CHECK enum status db_read(struct db *db, db_fn fn, void *arg, struct error *err);
/* Whether what this transaction finds may be remembered after it: it has met no damaged row and, on the writer's connection,
 * no line of the log has come before its commit, which may fail: then rows of other transactions may come to nothing, too. */
bool db_is_memorable(const struct db_conn *conn);

/* A value that a parameter is bound to.  NaN is NULL, as the NULL text is. */
struct db_blob {
    const void *bytes;
    size_t      length;
};
struct db_value {
    char letter; /* as in sql.h */
    union {
        int64_t        i;
        double         d;
        const char    *s;
        struct db_blob b;
    } is;
};
struct db_values {
    const struct db_value *items; /* $1 first */
    size_t                 len;
};
// clang-format off
#define INT(value)          {.letter = 'i', .is = {.i = (value)}}
#define REAL(value)         {.letter = 'd', .is = {.d = (value)}}
#define TEXT(value)         {.letter = 's', .is = {.s = (value)}}
#define BLOB(data, size)    {.letter = 'b', .is = {.b = {.bytes = (data), .length = (size)}}}
#define BIND(...)                                                                                                      \
    (struct db_values){.items = (const struct db_value[]){__VA_ARGS__},                                                \
                       .len = sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)}
#define BIND_NONE (struct db_values){.len = 0}
/* Values of the members of a list in the struct `from`: BIND(INT(1), TOKEN_GIVEN(SAVE)). */
#define SAVE(column, letter, ...) SAVE_##letter(from->column),
#define SAVE_i(value) INT(value)
#define SAVE_d(value) REAL(value)
#define SAVE_D(value) REAL(value)
#define SAVE_s(value) TEXT(value)
#define SAVE_S(value) TEXT(value)
// clang-format on

/* The rows, one struct each, and the columns of each, in their order. */
#define MEMBER_TYPE_b struct db_blob
#define MEMBER_TYPE_B struct db_blob
struct db_column {
    const char *name; /* NULL: the end */
    char        letter;
    size_t      offset, bytes; /* in the row's struct */
};
#define X(name, columns)          \
    struct row_##name {           \
        columns(DECLARE, DECLARE) \
    };                            \
    const struct db_column *db_columns_##name(void);
ROW_LIST(X)
#undef X
/* Reads and sets a column of a row; the letter of the value that is read is in lower case. */
struct db_value db_column_value(const struct db_column *column, const void *row);
void            db_column_set(const struct db_column *column, const struct db_value *value, void *row);

/* Reading rows:
 *     struct db_rows rows = db_query(conn, arena, err, SQL_..., BIND(...));
 *     while (db_next(&rows))
 *         rows.status = use(row_...(&rows), err);
 *     return db_done(&rows);
 * What fails ends the reading: the query, a step, or the use.  Texts and blobs of a row lie in the arena; without one
 * they are borrowed until the next row.
 * A statement is in use from db_query to db_done; the same statement cannot be used twice at once on a connection. */
struct db_rows {
    struct db_conn *conn; /* NULL: closed */
    struct arena   *arena;
    struct error   *err;
    enum sql        sql;
    enum status     status;
    bool            has_row, is_damaged;
    union {
#define X(name, columns) struct row_##name name;
        ROW_LIST(X)
#undef X
    } row;
};
struct db_rows db_query(struct db_conn *conn, struct arena *arena, struct error *err, enum sql sql,
                        struct db_values values);
/* False at the end, and after a failure. */
bool                   db_next(struct db_rows *rows);
MUST_CHECK enum status db_done(struct db_rows *rows);
/* The first row, if there is one, and the end.  arena NULL: of a statement without texts and blobs. */
MUST_CHECK enum status db_find(struct db_conn *conn, struct arena *arena, struct db_rows *out, struct error *err,
                               enum sql sql, struct db_values values);

/* The row that was read, of a statement with such rows; NULL: there is none. */
#define X(name, columns) const struct row_##name *row_##name(const struct db_rows *rows);
ROW_LIST(X)
#undef X
/* A statement without rows; *changes may be NULL.  Then its failure may come with a later statement of the transaction, or at
 * its end, whose failure it is; db_settle: now. */
MUST_CHECK enum status db_exec(struct db_conn *conn, int64_t *changes, struct error *err, enum sql sql,
                               struct db_values values);
MUST_CHECK enum status db_settle(struct db_conn *conn, struct error *err);

enum { DB_TIMES = 10 };
extern const int64_t db_times_us[DB_TIMES];
struct db_stats {
    uint64_t synced[DB_TIMES + 1],
        synced_us; /* what COMMIT took, its fsync included; not cumulative, the last is beyond all */
    uint64_t commits, transactions;
    double   commit_seconds; /* of all commits */
    int64_t  wal_bytes;      /* of the write-ahead log */
    uint64_t checkpoint_failures;
    bool     is_failing; /* the last checkpoint failed: what is acknowledged is safe, but the log grows */
    bool     is_damaged; /* something in the store could not be read as what it was written */
    char   refused[40]; /* why the last commit failed; "": it did not.  While nobody writes it is tried once a second */
    size_t waiting;     /* transactions that the writer has not begun */
    double stuck_seconds; /* since the writer's last sign of life; 0: it has nothing to do */
};
void db_stats(struct db *db, struct db_stats *stats);

/* The statement table, for the test that prepares every one of them. */
struct sql_statement {
    const char *name, *parameters, *letters, *text; /* letters: of the columns when there is no list of them */
    const struct db_column *(*columns)(void);
};
extern const struct sql_statement sql_table[SQL_COUNT];

#endif
