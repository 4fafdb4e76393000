/* gnomon verify --data and gnomon check: whether a store, or a copy of one, is as it was written. */
#ifndef GNOMON_SERVICE_MAIN_VERIFY_STORE_H
#define GNOMON_SERVICE_MAIN_VERIFY_STORE_H

#include "db/whole/look.h"

/* Prints what is not, and says of which file; beside a server, too.  head_file: heads that were written down (serve
 * --head-file), each of which the log must have had; or NULL.  study: only its rows are looked at; NULL: everything.
 * INTERNAL "store_corrupt": something was printed. */
struct verify_store {
    const char *folder, *database; /* of PostgreSQL; NULL: in the folder */
    const char *file;              /* instead of both: a copy; or NULL */
    const char *study, *head_file;
};
MUST_CHECK enum status verify_store(const struct verify_store *asked, struct error *err);

/* As verify_store, but only prints that it is sound, once; out: what the store says of itself. */
struct witness;
MUST_CHECK enum status verify_store_quietly(const struct verify_store *asked, struct witness *out, struct error *err);

#endif
