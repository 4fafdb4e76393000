/* The witness: a file beside the store that remembers how far the store had come, so that an older copy in its place is
 * noticed.  It is no part of a backup, and a symbolic link leads it to another volume.
 *
 * Invariants: what it says only grows; a cut during a write leaves what was said before (two places, written in turn). */
#ifndef GNOMON_DB_WITNESS_H
#define GNOMON_DB_WITNESS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { WITNESS_STORE_BYTES = 40 };

struct witness {
    char    store[WITNESS_STORE_BYTES]; /* which store; "": nothing was witnessed yet */
    int64_t counter;
};

/* Of the store in a folder.  No file, or one in which nothing is whole: "" and 0. */
MUST_CHECK enum status witness_read(const char *folder, struct witness *out, struct error *err);

/* Whether the store that says this of itself is another one, or has not come as far.  is_shared: several servers may have it,
 * each with a witness; one that has witnessed nothing is a new server, and takes any store as it is that goes on. */
bool witness_is_ahead(const struct witness *known, const struct witness *own, bool is_shared);

/* On the disk when it returns; makes the file if need be.  is_hasty: without fsync. */
MUST_CHECK enum status witness_write(const char *folder, const struct witness *witness, bool is_hasty,
                                     struct error *err);

#endif
