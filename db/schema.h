/* The schema that the migrations make, object by object.  Private to db/. */
#ifndef GNOMON_DB_SCHEMA_H
#define GNOMON_DB_SCHEMA_H

#include "db/driver.h"

/* Calls fn with each table and index, in the order in which they were made, and what SQLite says made it. */
typedef enum status    schema_fn(void *arg, const char *type, const char *text, struct error *err);
MUST_CHECK enum status schema_each(const struct migrations *all, schema_fn *fn, void *arg, struct error *err);

/* As schema_each for tables, those that others refer to first, with their columns. */
enum { SCHEMA_NAME_BYTES = 48, SCHEMA_COLUMNS_MAX = 64 };
struct schema_column {
    char name[SCHEMA_NAME_BYTES];
    char letter; /* i, D, S, B: as in sql.h */
    bool is_nullable, is_key;
};
struct schema_table {
    char                 name[SCHEMA_NAME_BYTES];
    struct schema_column columns[SCHEMA_COLUMNS_MAX];
    int                  len;
};
typedef enum status    schema_table_fn(void *arg, const struct schema_table *table, struct error *err);
MUST_CHECK enum status schema_tables(const struct migrations *all, schema_table_fn *fn, void *arg, struct error *err);

extern const char db_postgres_text[]; /* of db/postgres/postgres.sql */

#endif
