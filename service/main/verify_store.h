/* gnomon verify --data: checks that a store is as it was written. */
#ifndef GNOMON_SERVICE_MAIN_VERIFY_STORE_H
#define GNOMON_SERVICE_MAIN_VERIFY_STORE_H

#include "db/whole/look.h"

/* Prints what is not, and says of which file; beside a server, too.  head_file: heads that were written down (serve
 * --head-file), each of which the log must have had; or NULL.  study: only its rows are looked at; NULL: everything.
 * INTERNAL "store_corrupt": something was printed. */
struct verify_store {
    const char *folder, *database; /* of PostgreSQL; NULL: in the folder */
    const char *study, *head_file;
};
MUST_CHECK enum status verify_store(const struct verify_store *asked, struct error *err);

/* Says what is wrong with the log, and that rows are not those it vouches for. */
MUST_CHECK enum status verify_log(struct db_look *look, struct db_conn *conn, db_say *finding, void *arg,
                                  struct error *err);

#endif
