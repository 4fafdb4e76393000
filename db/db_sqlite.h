/* What the files of the SQLite driver share, and nothing else includes: failures (db_sqlite_error.c), the store as files
 * in a folder (db_sqlite_store.c), connections (db_sqlite.c). */
#ifndef GNOMON_DB_DB_SQLITE_H
#define GNOMON_DB_DB_SQLITE_H

#include "db/driver.h"

#include <sqlite3.h>

enum { LITE_PATH_BYTES = 4096 };

/* The error that belongs to a code of SQLite.  It ends the process after a failed fsync. */
enum status            lite_fail(sqlite3 *handle, int code, struct error *err);
MUST_CHECK enum status lite_execute(void *handle, const char *text, struct error *err);
/* Sets a pragma and reads it back. */
MUST_CHECK enum status lite_pragma(sqlite3 *handle, const char *name, const char *value, const char *expected,
                                   struct error *err);
/* The path of a file of the folder, without links: the folder may well lie behind one. */
MUST_CHECK enum status lite_path(const char *folder, const char *name, char path[LITE_PATH_BYTES], struct error *err);

/* Members of the record. */
MUST_CHECK enum status lite_claim(const char *folder, int *claim, struct error *err);
void                   lite_release(int claim);
MUST_CHECK enum status lite_inspect(const char *folder, const struct migrations *all, struct db_schema *schema,
                                    struct error *err);
MUST_CHECK enum status lite_migrate(void *handle, const char *folder, const struct migrations *all,
                                    const struct db_schema *schema, struct error *err);

#endif
