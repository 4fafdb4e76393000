/* A store as a whole, for the commands of operators: looked at beside the server, copied, brought back, written anew. */
#ifndef GNOMON_DB_LOOK_H
#define GNOMON_DB_LOOK_H

#include "db/db.h"

/* A snapshot of the store in a file: that of a folder, gnomon.db, served or not, or a copy.  Servers are kept away from a
 * store that none serves.
 * Errors: NOT_FOUND "no_store", those of db_inspect. */
struct db_look;
MUST_CHECK enum status db_look_open(const char *path, struct db_look **out, struct error *err);
void                   db_look_close(struct db_look *look);
/* The version of its schema.  Statements work only with the needed version: CONFLICT "schema_old". */
int                    db_look_schema(const struct db_look *look);
MUST_CHECK enum status db_look_read(struct db_look *look, db_fn fn, void *arg, struct error *err);

/* Writes a copy that only its owner may read, whole and on the disk before it has its name.  A damaged store is not copied.
 * Errors: CONFLICT "file_exists", INTERNAL "store_corrupt", FULL. */
MUST_CHECK enum status db_look_copy(struct db_look *look, const char *path, struct error *err);

/* Reads the store's witness, to compare with the result of witness_read before the store was opened. */
struct witness;
MUST_CHECK enum status db_look_witness(struct db_conn *conn, struct witness *out, struct error *err);

/* Examines the file as SQLite does, with its references, and says what is wrong. */
typedef void           db_say(void *arg, const char *finding);
MUST_CHECK enum status db_look_examine(struct db_look *look, db_say *say, void *arg, struct error *err);

/* Says which rows are not what was written; owner NULL: of all, not of one study, federation or game.  And the total of those
 * that are bound to the log (sum.h).  Of a store of the needed schema. */
struct total;
MUST_CHECK enum status db_look_damaged(struct db_look *look, const char *owner, db_say *say, void *arg,
                                       struct error *err);
MUST_CHECK enum status db_look_total(struct db_look *look, struct total *out, struct error *err);

/* Keeps every server away from the store until it is closed.  BUSY "locked". */
MUST_CHECK enum status db_look_hold(struct db_look *look, struct error *err);
/* It was moved (move.h), and has come further elsewhere: the witness of its folder says so, or a database does.  own: what the
 * store says itself. */
MUST_CHECK enum status db_look_leave(struct db_look *look, const char *folder, const struct witness *own,
                                     struct error *err);

/* Makes a copy the store of a folder that has none.  It counts as rolled back (db.h).
 * Errors: CONFLICT "store_exists", BUSY "locked", those of db_look_open and db_look_copy. */
MUST_CHECK enum status db_restore(const char *copy, const char *folder, struct error *err);

/* Writes the store anew, and gives the room back of what was deleted.  Takes room for two more meanwhile.  Whenever it is
 * cut off, the store is as it was.  Errors: BUSY "locked", FULL. */
struct db_sizes {
    int64_t before, after; /* bytes */
};
MUST_CHECK enum status db_compact(const char *folder, struct db_sizes *sizes, struct error *err);

#endif
