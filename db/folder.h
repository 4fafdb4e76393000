/* The folder of a store, whatever database it is in: it holds the lock, the witness and the server's socket. */
#ifndef GNOMON_DB_FOLDER_H
#define GNOMON_DB_FOLDER_H

#include "engine/base/status.h"

/* Makes the folder if it is not there, and makes that last.  Errors: INVALID and INTERNAL "path". */
MUST_CHECK enum status folder_make(const char *folder, struct error *err);
/* As folder_make, and keeps every other process out of the folder until release. */
MUST_CHECK enum status folder_claim(const char *folder, int *claim, struct error *err);
void                   folder_release(int claim); /* -1: nothing */
/* Makes the names of the folder's files last. */
MUST_CHECK enum status folder_sync(const char *folder, struct error *err);
/* Checks that the name, unless NULL, is one of a database, and that the folder has no store of its own beside it.
 * Errors: INVALID "database", CONFLICT "store_exists". */
MUST_CHECK enum status folder_check_database(const char *folder, const char *database, struct error *err);

#endif
