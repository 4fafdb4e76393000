/* A table of text for people: columns as wide as they need to be, numbers under numbers, point under point. */
#ifndef GNOMON_SERVICE_CLI_TABLE_H
#define GNOMON_SERVICE_CLI_TABLE_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct table;

/* A table of so many columns; the first row has their names. */
MUST_CHECK enum status table_new(size_t columns, struct table **out, struct error *err);
void                   table_free(struct table *table); /* NULL is allowed */

/* The next cell, row by row; text is copied, NULL is "".  What fails is said by table_print. */
void table_add(struct table *table, const char *text);
/* A value as people read it: six digits of a number, the text of a string, "" of null. */
void table_add_value(struct table *table, const json_t *value);
/* 2:31, 1:02:31; "" of null. */
void table_add_seconds(struct table *table, const json_t *seconds);

/* Text of others goes through plain.h.  NO_MEMORY. */
MUST_CHECK enum status table_print(const struct table *table, FILE *stream, struct error *err);

#endif
