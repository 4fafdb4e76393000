/* A connection with its prepared statements, and the reading of rows.  Private to db/. */
#ifndef GNOMON_DB_CONN_H
#define GNOMON_DB_CONN_H

#include "db/writer/chain.h"
#include "db/db.h"
#include "db/driver.h"
#include "db/sum.h"
#include "db/witness.h"

struct db_conn {
    const struct driver *driver;
    void                *handle;
    void                *statements[SQL_COUNT]; /* prepared at first use */
    bool                 in_use[SQL_COUNT];
    char                 damaged[DAMAGED_BYTES]; /* the owner of a damaged row that was met; "": none */
    struct total         total;                  /* of the writer: of what this transaction has changed */
    struct chain_end     log;                    /* of the writer, in a transaction... */
    struct arena         lines;                  /* ... and where the last lines lie of the jobs so far... */
    struct arena_mark    of_job;                 /* ... and of this one */
    double step_seconds, step_until;             /* the limit of a step; when the present one is too late.  0: never */
};

MUST_CHECK enum status conn_open(struct db_conn *conn, const struct driver *driver, const char *place,
                                 enum driver_mode mode, const char *synchronous, struct error *err);
void                   conn_close(struct db_conn *conn);
/* Ends the transaction, if there is one: the connection can begin another. */
void conn_roll_back(struct db_conn *conn);
/* Runs fn in a transaction that reads. */
MUST_CHECK enum status conn_read(struct db_conn *conn, db_fn fn, void *arg, struct error *err);
/* Limits from now on the time in which a statement finds a row, where the driver can do that. */
void                   conn_watch(struct db_conn *conn, int64_t step_ms);
MUST_CHECK enum status conn_execute(struct db_conn *conn, const char *text, struct error *err);
/* The prepared statement. */
MUST_CHECK enum status conn_statement(struct db_conn *conn, enum sql sql, void **statement, struct error *err);
/* The witness of the store: how far its own rows say it has come. */
MUST_CHECK enum status conn_witness(struct db_conn *conn, struct witness *out, struct error *err);

#endif
