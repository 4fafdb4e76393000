/* Stores behind the back of the application.  Those in PostgreSQL have a schema of their own each, where GNOMON_TEST_DATABASE
 * says that there is one (tests/check/postgres).  A place is a folder, or such a database. */
#ifndef GNOMON_TESTS_SERVICE_DATABASE_H
#define GNOMON_TESTS_SERVICE_DATABASE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { DATABASE_BYTES = 512 };

/* Where a fresh one is; false: there is no PostgreSQL, and out is "". */
bool database_new(char out[DATABASE_BYTES]);
void database_end(const char *place); /* "": nothing */
/* A statement or more; and the integer that one yields, -1 for none. */
enum status database_do(const char *place, const char *text, struct error *err);
int64_t     database_ask(const char *place, const char *text);

#endif
