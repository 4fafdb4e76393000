/* JSON <-> plain structs, for everything that is deeper than a flat field table.
 * What is read lives in the arena. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_H
#define GNOMON_SERVICE_CODEC_CODEC_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once, before other threads: seeds the hash of objects and watches the memory of JSON. */
void codec_init(void);
/* From then on JSON counts in this pool: there is no memory for it when others have taken all. */
void codec_count_in(struct arena_pool *of_others);

/* RFC 3339 with milliseconds, UTC; out has room for 32. */
void    codec_time(int64_t ms, char out[32]);
json_t *codec_time_json(int64_t ms);                    /* 0 -> null */
bool    codec_time_read(const char *text, int64_t *ms); /* with or without a fraction; false: no such time */
/* A number that reads back equal; null for NaN. */
json_t *codec_number(double value);
json_t *codec_text(const char *text); /* NULL: null */
/* *object[name] := value, or *object := NULL when either is.  Both references are taken. */
void codec_put(json_t **object, const char *name, json_t *value);
/* Appends to the end of a list, likewise. */
void codec_append(json_t **list, json_t *item);
/* Lists of numbers, and of rows of so many numbers. */
json_t *codec_numbers(const double *values, size_t len);
json_t *codec_matrix(const double *values, size_t rows, size_t columns);
/* Copies an object, or makes an empty one of what is no object; NULL when some member found no room, which json_copy() does
 * not report. */
json_t *codec_copy(const json_t *object);

/* target (NULL: an empty one) after a merge patch, RFC 7396: null takes away, objects are merged member by member, all
 * else is replaced.  A new reference; NULL when out of memory. */
json_t *codec_merged(const json_t *target, const json_t *patch);

/* Whether bytes that did not come as JSON may leave as it. */
bool codec_is_utf8(const char *bytes, size_t length);

/* Parses our own, stored JSON: a new reference, NULL when it is none or out of memory.  flags: of jansson. */
json_t *codec_load(const char *text, size_t flags);

/* JSON as text, to be freed; NULL when json is NULL or memory ends.  Never a part: jansson's own json_dumps() does not look
 * whether there was room for a member's name.  flags: of jansson. */
char *codec_dump(const json_t *json, size_t flags);

/* As codec_dump, in an arena. */
const char *codec_dump_in(const json_t *json, size_t flags, struct arena *arena);

/* Parses bytes as JSON after counting its tokens: INVALID "malformed_json" with the line, TOO_LARGE "too_many_tokens",
 * NO_MEMORY.  Duplicate keys, NaN, deep nesting, bad UTF-8, trailing bytes are refused. */
MUST_CHECK enum status codec_parse(const char *bytes, size_t length, json_t **out, struct error *err);

#endif
