/* Types and functions of the PostgreSQL driver's files, which no other file includes: the connection (db_postgres_link.c),
 * the schema (db_postgres_schema.c), the sums of rows (db_postgres_sum.c), statements and transactions (db_postgres.c). */
#ifndef GNOMON_DB_DB_POSTGRES_H
#define GNOMON_DB_DB_POSTGRES_H

#include "db/driver.h"

#include <libpq-fe.h>

/* libpq's functions, which are loaded with the first connection: with what it brings (LDAP, Kerberos) it has no place in a
 * server whose store is a file. */
// clang-format off
#define PG_CALLS(X) \
    X(PQclear) X(PQcmdTuples) X(PQconnectdbParams) X(PQconsumeInput) X(PQenterPipelineMode) X(PQerrorMessage) \
    X(PQexitPipelineMode) X(PQfinish) X(PQflush) X(PQgetResult) X(PQgetisnull) X(PQgetlength) X(PQgetvalue) \
    X(PQisBusy) X(PQntuples) X(PQpipelineSync) X(PQresultErrorField) X(PQresultStatus) X(PQsendPrepare) \
    X(PQsendQuery) X(PQsendQueryParams) X(PQsendQueryPrepared) X(PQserverVersion) X(PQsetNoticeReceiver) \
    X(PQsetnonblocking) X(PQsocket) X(PQstatus) X(PQtransactionStatus)
// clang-format on
struct pg_library {
#define MEMBER(call) __typeof__(call) *call;
    PG_CALLS(MEMBER)
#undef MEMBER
};
extern struct pg_library pq;

/* A writer's rows get their sums. */
#define PG_GUARD "SET gnomon.guard = 'on'"

/* The lock of the schema, which the session of the one writer has for as long as it lasts.  Servers of 0.1 wait for it in
 * each transaction. */
#define PG_TRY_LOCK "SELECT pg_try_advisory_lock(1196314957, hashtext(current_schema()))::int"

enum {
    PG_WAITING_MAX = 16,
    PG_TEXT_BYTES = 160,
    PG_MARK_BITS = 40,
    PG_ANSWER_MS = 120000,
    PG_SILENT_MS = 10000 /* after which PostgreSQL ends the writer's session: db_postgres_link.c */
};

/* A statement of a pipeline. */
struct pg_query {
    const char        *name, *text; /* prepared; or a text without parameters */
    int                len;
    const char *const *values;
    const int         *lengths, *formats; /* NULL: texts */
};

/* A connection.  The beginning of a transaction, its savepoints, and statements that nobody waits for are sent with the next
 * one, so that they take no trip of their own; the end of a transaction that only read is sent, and its answer is read with
 * the next. */
struct pg {
    const struct driver *driver;
    PGconn              *conn; /* NULL: lost, and nothing is known of what was not committed */
    const char          *place;
    enum driver_mode     mode;
    bool                 is_hasty;
    int                  answer_ms; /* how long an answer may take, before the connection is given up */
    struct pg_query      waiting[PG_WAITING_MAX];
    int                  waiting_len;
    int                  unread; /* statements in the pipeline */
    size_t               unread_bytes;
    bool                 is_untold; /* something was written since the session was asked for its digests */
    bool                 is_ending; /* which is closed: it ends a transaction that only read */
    unsigned             links;     /* how many connections there were: a statement belongs to one */
    unsigned             own_link;  /* that which has the statement of every transaction */
    unsigned             prepared;  /* statements, for their names */
    int64_t              changes;
    struct total        *total;   /* of a writer that is guarded, see driver.h */
    char                *damaged; /* or NULL */
    int64_t              mark,
        seen; /* what the last commit left in the table store; and what it had when it was locked.  0: nothing */
};

/* Connects; a writer takes the store, which no other process may have.  Errors: BUSY "locked", BUSY "busy" (it is not
 * there), INVALID "database", CONFLICT "schema_unknown". */
MUST_CHECK enum status pg_connect(struct pg *pg, struct error *err);
void                   pg_disconnect(struct pg *pg);
/* Sends what waits and then these, reads all results, and gives that of the last one; it is to be cleared.  The first failure
 * is that of all, and nothing after it was done.  When the connection is lost: BUSY, and pg->conn is NULL. */
MUST_CHECK enum status pg_send(struct pg *pg, const struct pg_query *queries, int len, PGresult **out,
                               struct error *err);
/* Queues a query, to be sent with the next ones. */
MUST_CHECK enum status pg_put_off(struct pg *pg, const struct pg_query *query, struct error *err);
/* Sends what waits, if anything does. */
MUST_CHECK enum status pg_settle(struct pg *pg, struct error *err);
/* Sends the end of a transaction that only read. */
MUST_CHECK enum status pg_end(struct pg *pg, struct error *err);
/* Sends a text of several statements. */
MUST_CHECK enum status pg_send_text(struct pg *pg, const char *text, struct error *err);
/* Prepares a statement; letters give the types of its parameters. */
MUST_CHECK enum status pg_send_prepare(struct pg *pg, const char *name, const char *text, const char *letters,
                                       struct error *err);
MUST_CHECK enum status pg_lost(struct error *err);
/* An integer of a result in text, of its first row; 0: no row, or NULL. */
MUST_CHECK enum status pg_ask(struct pg *pg, const char *text, int64_t *out, struct error *err);

/* The writer, which has the lock, counts on from the server before it, when nobody is answered any more from what that one
 * remembers. */
MUST_CHECK enum status pg_succeed(struct pg *pg, struct error *err);

/* Members of the record. */
MUST_CHECK enum status pg_guard(void *handle, struct total *total, char *damaged, struct error *err);
MUST_CHECK enum status pg_scan(void *handle, struct scan *scan, struct error *err);
/* "a,b" of the columns that a schema binds to the log; false: none is. */
enum { PG_COLUMNS_BYTES = 4096 };
struct schema_table;
bool                   pg_bound_columns(int schema, const struct schema_table *table, char out[PG_COLUMNS_BYTES]);
MUST_CHECK enum status pg_gather(void *handle, int schema, struct total *total, struct error *err);
MUST_CHECK enum status pg_damaged(void *handle, const char *owner, driver_say *say, void *arg, struct error *err);
/* The schema of SQLite in PostgreSQL's words, and then db/postgres/postgres.sql. */
MUST_CHECK enum status pg_inspect(const char *place, const struct migrations *all, struct db_schema *schema,
                                  struct error *err);
MUST_CHECK enum status pg_lay(void *handle, const char *place, const struct migrations *all, struct error *err);
MUST_CHECK enum status pg_wake(void *handle, struct error *err);
MUST_CHECK enum status pg_migrate(void *handle, const char *place, const struct migrations *all,
                                  const struct db_schema *schema, const struct driver_bind *last, struct error *err);

/* Puts a store that was moved away behind what any witness has seen; -counter - 1 again is the counter that it had. */
#define PG_LEAVE \
    "BEGIN; SET LOCAL gnomon.guard = 'on'; UPDATE witness SET counter = -counter - 1 WHERE counter >= 0; COMMIT"

#endif
