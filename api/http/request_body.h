/* The body of a request: taken as a whole, or in pieces, or let pass. */
#ifndef GNOMON_API_HTTP_REQUEST_BODY_H
#define GNOMON_API_HTTP_REQUEST_BODY_H

#include "api/http/request_life.h"

/* What is longer is not waited for by an answer that is ready. */
enum { REQUEST_DISCARD_MAX_BYTES = 32 << 20 };

enum MHD_Result request_body_start(struct request *request);

/* Takes some bytes, *length of which are then left. */
enum MHD_Result request_body_take(struct request *request, const char *data, size_t *length);

/* The same after a worker had the piece before. */
enum MHD_Result request_body_go_on(struct request *request, const char *data, size_t *length);

/* The call's reply is ready: what comes of the body is let pass; and some bytes of it came. */
enum MHD_Result request_body_discard(struct request *request);
enum MHD_Result request_body_pass(struct request *request, size_t *length);

#endif
