/* Moves a store to where another database has it: from a folder to PostgreSQL, or back. */
#ifndef GNOMON_DB_MOVE_H
#define GNOMON_DB_MOVE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOVE_DIGEST_BYTES = 65 };
struct db_move {
    const char *from;   /* as for db_look_open */
    const char *folder; /* the folder of a store that is a file: it has the witness */
    const char *to;     /* a folder, which is made if need be, or a database */
    /* Called for each table whose rows were read again and are the same: their number, and their SHA-256. */
    void (*say)(void *arg, const char *table, int64_t rows, const char *digest);
    void *arg;
    bool  was_done; /* out: the store was there already, or one that went on from it */
};
/* The rows come in one transaction: until it is done there is no store at the other end, and whatever ends it early, it is
 * begun again.  The source stays as it is, but for what makes who serves it later find it rolled back.  In the new store the
 * witness is one further, and the log has one line more, store.moved, to which the rows are bound anew.
 * Errors: BUSY "locked" (a server has the source or the target), CONFLICT "store_exists" (there is another store, or something
 * else), CONFLICT "store_rolled_back" (the source is an older copy), "store_corrupt" (a row is not what was written, or did not
 * arrive as it was), those of db_look_open and db_look_read. */
MUST_CHECK enum status db_move(struct db_move *move, struct error *err);

#endif
