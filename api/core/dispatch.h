/* The way of a request between the HTTP library and a handler: headers, route, token, body, reply.
 * Knows nothing of threads, sockets or the library; server.c decides on which thread each step runs. */
#ifndef GNOMON_API_CORE_DISPATCH_H
#define GNOMON_API_CORE_DISPATCH_H

#include "api/base/gate.h"
#include "api/core/route.h"

/* The steps, in order.  An error of any of them is answered with reply_problem. */

/* Headers complete: gate, route, content type, length.  *body_bytes: as gate_check.
 * Errors: INVALID "bad_request", "method_not_allowed", "unsupported_media_type", "length_required", ...;
 * NOT_FOUND; TOO_LARGE "body_too_large"; BUSY "draining". */
MUST_CHECK enum status dispatch_head(struct call *call, const struct gate_headers *headers, const char *method,
                                     int64_t *body_bytes, struct error *err);

/* After an error of dispatch_head: whether the request is OPTIONS of an existing path; call then has its reply. */
bool dispatch_options(struct call *call, const char *method);

/* The error TOO_LARGE "body_too_large", with the way out. */
MUST_CHECK enum status dispatch_too_large(const struct call *call, struct error *err);

/* Identifies the caller and checks that it may call this.  cached_only: BUSY "token_unknown" when it would have to wait. */
MUST_CHECK enum status dispatch_authorise(struct call *call, bool cached_only, struct error *err);

/* Continues an answer that was not complete: see struct follow. */
bool dispatch_again(struct call *call);

/* Answers now, if that needs no waiting. */
bool dispatch_quick(struct call *call);

/* Body complete (or a piece of it): reads the input, runs the handler, composes the reply.  Cannot fail.
 * True when it went well; for a piece that is not the last the reply is then not to be sent.  There is none when the
 * caller is_deferred, either: then nothing has happened. */
bool dispatch_run(struct call *call);

#endif
