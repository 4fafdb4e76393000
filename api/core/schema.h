/* Bodies and query strings read into structs by tables of members.
 * Every problem is collected with the pointer of its culprit, not only the first; what is deeper than the tables reach
 * is handed on as json_t.  Strings are borrowed from the JSON document. */
#ifndef GNOMON_API_CORE_SCHEMA_H
#define GNOMON_API_CORE_SCHEMA_H

#include "service/member/codec_read.h"

/* Fills out (zeroed by the caller) from the members of json. */
void schema_read(const struct member *members, const json_t *json, void *out, struct problems *problems);

/* A name=value of a query string, decoded. */
struct query_item {
    const char *name, *value;
};

/* The query as an object that schema_read accepts: numbers and booleans by the reader of their member, those that may be
 * repeated as arrays.  Unknown names, other repeated ones, and values that are not of their kind, are problems, with the
 * path "?name".  NULL: out of memory. */
json_t *schema_query(const struct member *members, const struct query_item *items, size_t len,
                     struct problems *problems);

#endif
