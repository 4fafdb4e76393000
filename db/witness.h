/* The witness: a file beside the store that remembers how far the store had come, so that an older copy in its place is
 * noticed.  It is no part of a backup, and a symbolic link leads it to another volume.
 *
 * Invariants:
 *  1. What it says only grows; a cut during a write leaves what was said before.
 *  2. Each write makes a file of its own, and the line in it names that file by its number and by when it was made.  A copy
 *     has another number or another time, also one that is written over the file of today, so a line is good in the one file
 *     that it was written to, and no order of copies, renames and deletions brings an earlier line back. */
#ifndef GNOMON_DB_WITNESS_H
#define GNOMON_DB_WITNESS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { WITNESS_STORE_BYTES = 40 };

struct witness {
    char    store[WITNESS_STORE_BYTES]; /* the store's id; "": nothing was witnessed yet */
    int64_t counter;
    bool    is_new; /* the store's log has no line, so it cannot have forgotten any */
    bool is_copy; /* of what a file says: it was written to another file.  Those of earlier versions do not say that */
};

/* Reads the witness in a folder.  No file, or a file without a whole line: "" and 0. */
MUST_CHECK enum status witness_read(const char *folder, struct witness *out, struct error *err);

/* Whether the store with witness `own` is another store, or has not come as far as `known`, or may not have.  is_shared:
 * several servers may have the store in turn, each with its own witness; a server without one is new and takes any store as it is
 * that goes on; and a copy of its folder is no copy of the store. */
bool witness_is_ahead(const struct witness *known, const struct witness *own, bool is_shared);

/* On the disk when it returns; the folder of the file, where a link leads to it that one's, must let files be made.  is_hasty:
 * without fsync. */
MUST_CHECK enum status witness_write(const char *folder, const struct witness *witness, bool is_hasty,
                                     struct error *err);

#endif
