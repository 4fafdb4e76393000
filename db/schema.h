/* The schema that the migrations make, object by object.  Private to db/. */
#ifndef GNOMON_DB_SCHEMA_H
#define GNOMON_DB_SCHEMA_H

#include "db/driver.h"

/* Calls fn with each table and index, in the order in which they were made, and what SQLite says made it. */
typedef enum status    schema_fn(void *arg, const char *type, const char *text, struct error *err);
MUST_CHECK enum status schema_each(const struct migrations *all, schema_fn *fn, void *arg, struct error *err);

extern const char db_postgres_text[]; /* of db/postgres.sql */

#endif
