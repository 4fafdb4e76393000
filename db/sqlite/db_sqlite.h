/* Types and functions of the SQLite driver's files, which no other file includes: failures (db_sqlite_error.c), a file
 * (db_sqlite_file.c), the files in a folder (db_sqlite_store.c), a whole store (db_sqlite_whole.c), sums of rows
 * (db_sqlite_sum.c), connections (db_sqlite.c). */
#ifndef GNOMON_DB_DB_SQLITE_H
#define GNOMON_DB_DB_SQLITE_H

#include "db/driver.h"

#include <sqlite3.h>

enum { LITE_PATH_BYTES = 4096, LITE_BUSY_MS = 5000 };
/* The code with which row_check reports a row whose sum is another. */
enum { LITE_CORRUPT_ROW = SQLITE_CORRUPT | 77 << 8 };

/* The error that belongs to a code of SQLite.  It ends the process after a failed fsync. */
enum status lite_fail(sqlite3 *handle, int code, struct error *err);
/* Before the first call of SQLite.  From now on the process also ends when a lock on a database file cannot be given back. */
void                   lite_set_up(void);
MUST_CHECK enum status lite_execute(void *handle, const char *text, struct error *err);
/* Sets a pragma and reads it back. */
MUST_CHECK enum status lite_pragma(sqlite3 *handle, const char *name, const char *value, const char *expected,
                                   struct error *err);
/* The path of a file of the folder, without links: the folder may well lie behind one. */
MUST_CHECK enum status lite_path(const char *folder, const char *name, char path[LITE_PATH_BYTES], struct error *err);
/* Bytes of the file of that name and suffix; -1: there is none. */
int64_t lite_bytes_of(const char *path, const char *suffix);
/* The first column of the query's only row; 0 without a row. */
MUST_CHECK enum status lite_read_int(sqlite3 *handle, const char *text, int *out, struct error *err);
MUST_CHECK enum status lite_read_version(sqlite3 *handle, const struct migrations *all, int *version,
                                         struct error *err);
MUST_CHECK enum status lite_configure(sqlite3 *handle, enum driver_mode mode, const char *synchronous,
                                      struct error *err);
/* is_still: nobody changes it.  Then, after a clean end, there is the database alone, and nothing is made beside it.  A
 * write-ahead log can be read without writing to either file; what a rollback journal has must be put back first, as any
 * program that opens it would.  *out is to be closed in any case. */
MUST_CHECK enum status lite_open_to_look(const char *path, bool is_still, sqlite3 **out, struct error *err);

/* row_sum, row_check, row_see and, with a total, row_bind. */
MUST_CHECK enum status lite_sum_functions(sqlite3 *handle, struct total *total, char *damaged, struct error *err);
/* A statement of sql.h as SQLite takes it: row_check(trial t) and row_see(trial t) with the columns of the table, an INSERT with the sum
 * of its row, and parameters by their numbers. */
MUST_CHECK enum status lite_write_sums(sqlite3 *handle, const char *text, char *out, size_t room, struct error *err);
/* Makes the sums of all rows anew. */
MUST_CHECK enum status lite_sum_all(sqlite3 *handle, struct error *err);

/* Members of the record. */
MUST_CHECK enum status lite_inspect(const char *folder, const struct migrations *all, struct db_schema *schema,
                                    struct error *err);
MUST_CHECK enum status lite_migrate(void *handle, const char *folder, const struct migrations *all,
                                    const struct db_schema *schema, const struct driver_bind *last, struct error *err);
MUST_CHECK enum status lite_lay(void *handle, const char *folder, const struct migrations *all, struct error *err);
MUST_CHECK enum status lite_wake(void *handle, struct error *err);
MUST_CHECK enum status lite_hold(struct driver_look *look, struct error *err);
MUST_CHECK enum status lite_look(const char *path, const struct migrations *all, struct driver_look *out,
                                 struct error *err);
MUST_CHECK enum status lite_copy(void *handle, const char *path, struct error *err);
MUST_CHECK enum status lite_examine(void *handle, driver_say *say, void *arg, struct error *err);
MUST_CHECK enum status lite_quick(void *handle, const char *folder, struct error *err);
MUST_CHECK enum status lite_compact(void *handle, const char *folder, struct error *err);
MUST_CHECK enum status lite_guard(void *handle, struct total *total, char *damaged, struct error *err);
MUST_CHECK enum status lite_scan(void *handle, struct scan *scan, struct error *err);
MUST_CHECK enum status lite_gather(void *handle, int schema, struct total *total, struct error *err);
MUST_CHECK enum status lite_damaged(void *handle, const char *owner, driver_say *say, void *arg, struct error *err);
MUST_CHECK enum status lite_renew(void *handle, int64_t bytes_max, struct error *err);
MUST_CHECK enum status lite_trim(void *handle, int pages_max, bool *more, struct error *err);

#endif
