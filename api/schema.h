/* Flat JSON objects and query strings read into structs by tables.
 * Every problem is collected with the pointer of its culprit, not only the first; what is deeper than the tables reach
 * is handed on as json_t.  Strings are borrowed from the JSON document. */
#ifndef GNOMON_API_SCHEMA_H
#define GNOMON_API_SCHEMA_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The type of the struct's member: const char *, int64_t, double, bool, const char * (one of choices),
 * const json_t *, and none: an object whose members are members of the same struct. */
enum field_kind { FIELD_STRING, FIELD_INT, FIELD_NUMBER, FIELD_BOOL, FIELD_CHOICE, FIELD_JSON, FIELD_OBJECT };

struct field {
    const char         *name; /* NULL ends the table */
    size_t              offset;
    enum field_kind     kind;
    bool                required;
    bool                nullable; /* null is 0, false or NULL */
    double              min, max; /* inclusive: a number, or a string's length in characters */
    double              fallback; /* INT, NUMBER, BOOL: when absent */
    const char *const  *choices;  /* CHOICE, ended by NULL */
    const struct field *fields;   /* OBJECT */
};

#define AT(type, member) .name = #member, .offset = offsetof(struct type, member)

enum { PROBLEMS_MAX = 100 };
struct problems {
    struct arena *arena;
    struct error *items; /* [PROBLEMS_MAX] once there is one */
    size_t        len;
};

/* Keeps a copy while there is room. */
void problems_add(struct problems *problems, const struct error *problem);
/* OK when there is none; otherwise err is the first of them, and its status is returned. */
MUST_CHECK enum status problems_first(const struct problems *problems, struct error *err);

/* Fills out (zeroed by the caller) from the members of json; where is the pointer of json. */
void schema_read(const struct field *fields, const json_t *json, const char *where, void *out,
                 struct problems *problems);

/* One name=value of a query string, decoded. */
struct query_item {
    const char *name, *value;
};

/* The query as an object that schema_read accepts: numbers and booleans by the kind of their field.  Unknown and
 * repeated names, and values that are not of their kind, are problems "bad_request".  NULL when out of memory. */
json_t *schema_query(const struct field *fields, const struct query_item *items, size_t len, struct problems *problems);

#endif
