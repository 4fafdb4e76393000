/* Replies: problem+json from an error, and a handler's result as JSON. */
#ifndef GNOMON_API_CORE_REPLY_H
#define GNOMON_API_CORE_REPLY_H

#include "api/core/call.h"
#include "api/base/problem.h"

enum { REPLY_POLL_SECONDS = 1 }; /* when an operation that was begun is worth a look */

/* The HTTP status of an error, as the list of problems has it. */
int reply_http(const struct error *error);
/* "Not Found" */
const char *reply_title(int http);

/* A problem document without an allocation; neither text may need escapes.  It has room in REPLY_PLAIN_BYTES. */
void reply_plain(const struct problem_kind *problem, const char *detail, const char *request_id, char *text,
                 size_t room);

/* Turns err and the call's collected problems into the reply; cannot fail. */
void reply_problem(struct call *call, const struct error *error);

/* Renders the call's result.  INTERNAL when it cannot be composed. */
MUST_CHECK enum status reply_result(struct call *call, struct error *err);

/* A reply that is text already; bytes in the arena or static. */
void reply_text(struct call *call, const char *type, const char *bytes, size_t length);

/* Replies with an open file, which the reply then owns.  BUSY "busy" when too many are being sent: closed. */
MUST_CHECK enum status reply_file(struct call *call, const char *type, int file, int64_t length, struct error *err);

/* Closes it, if the reply is one. */
void reply_drop_file(struct call *call);

/* render and render_arg of struct idempotency: arg is the call. */
bool reply_render_stored(void *arg, struct kept_reply *out);

/* An ETag of a version and a revision, in the arena, or NULL. */
const char *reply_etag(struct call *call, int64_t version, int64_t revision);

/* Gives the reply of a GET an ETag, the digest of the body where the handler gave none.  Becomes 304 when the client has it.
 * Errors: STALE "stale_version" (If-Match), NO_MEMORY. */
MUST_CHECK enum status reply_validate(struct call *call, struct error *err);

/* A large text goes compressed to who takes that, under a tag of its own; never one that holds a token. */
void reply_compress(struct call *call);

#endif
