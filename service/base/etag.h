/* Entity tags, and whether a precondition names one (RFC 9110 sections 8.8.3, 13.1).  Here all are strong: what has the
 * same tag is the same, byte by byte. */
#ifndef GNOMON_SERVICE_BASE_ETAG_H
#define GNOMON_SERVICE_BASE_ETAG_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETAG_BYTES = 64 };

/* The tag of a resource whose representation follows from these two numbers, in this version of the program. */
void etag_of(int64_t version, int64_t revision, char out[ETAG_BYTES]);
/* The tag of these bytes, or of their SHA-256 in hexadecimal digits, which is the same tag. */
void etag_of_bytes(const void *bytes, size_t length, char out[ETAG_BYTES]);
void etag_of_digest(const char *sha256, char out[ETAG_BYTES]);

/* Whether the list, "*" or tags with commas, names this tag.  With is_weak W/"x" names "x" too, as is right where the
 * question is only whether a copy is still good.  Text that is no list names nothing. */
bool etag_is_in(const char *list, const char *etag, bool is_weak);

/* Marks the tag of a compressed representation, before the last quote.  In requests both tags are equal: the content is the
 * same, and they are compared without the mark. */
#define ETAG_GZIP "-gzip"
bool etag_is_in_gzip(const char *list, const char *etag);

/* STALE "stale_version" unless if_match is NULL or names the tag. */
MUST_CHECK enum status etag_check(const char *if_match, const char *etag, struct error *err);

#endif
