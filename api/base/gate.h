/* The request gate: what the HTTP library lets through and we do not.
 * Two readings of one request are how requests are smuggled past a proxy, so a message that could be read in two ways
 * is refused and its connection closed.  Pure: knows neither the library nor sockets.
 *
 * The library takes the head apart in place, with NULs for what stood between the pieces.  It puts folded lines together
 * elsewhere, ends a piece at the first NUL and takes a bare LF for the end of a line, and tells none of it; but then the
 * pieces do not lie right behind one another, two bytes between the lines.  So that is what is checked, from the first
 * byte of the head to the last. */
#ifndef GNOMON_API_CORE_GATE_H
#define GNOMON_API_CORE_GATE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The headers that are looked at, each allowed once; NULL when absent.  Borrowed. */
struct gate_headers {
    const char *host, *content_length, *transfer_encoding, *content_type, *expect;
    const char *authorization, *if_match, *if_none_match, *idempotency_key, *content_range, *prefer;
    const char *origin;
    const char *accept, *accept_encoding, *last_event_id; /* the first; there may be more */
    bool        is_old;                                   /* not HTTP/1.1 */
    const char *request_id, *traceparent; /* "" when there are two: neither counts, and none is needed */
    const char *at;                       /* where the next line must start */
    const char *fields;                   /* where the first header started */
    size_t      bytes;                    /* of all headers, with their line ends; known at the end */
    const char *problem;                  /* the last thing found wrong with them, or NULL */
};

/* The first line as the library split it, uri before it was decoded; starts from zeroed headers. */
void gate_first_line(struct gate_headers *headers, const char *method, const char *uri, size_t uri_length,
                     const char *version);

/* Takes one header, in the order and at the place in which it arrived. */
void gate_header(struct gate_headers *headers, const char *name, size_t name_length, const char *value,
                 size_t value_length);

/* end: the first byte behind the empty line. */
void gate_end(struct gate_headers *headers, const char *end);

/* After the last header.  *body_bytes: of Content-Length; -1 when the body is chunked; 0 when there is none.
 * Errors: INVALID "bad_request", "not_implemented" (a method nobody here knows), "expectation_failed",
 * "headers_too_large". */
enum { GATE_HEADERS_MAX = 16 << 10 };
MUST_CHECK enum status gate_check(const struct gate_headers *headers, const char *method, int64_t *body_bytes,
                                  struct error *err);

/* After the last of the trailers, taken as headers are; nothing is made of them. */
MUST_CHECK enum status gate_trailers(const struct gate_headers *trailers, struct error *err);

/* The path and query as they arrived: an absolute path of printable ASCII, complete percent escapes, no escaped
 * controls; in the path no escaped slashes, dots or backslashes, no empty or dot segments.  Errors: INVALID "bad_request", "uri_too_long". */
enum { GATE_URI_MAX = 4096 };
MUST_CHECK enum status gate_uri(const char *uri, struct error *err);

#endif
