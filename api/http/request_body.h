/* The body of a request: taken as a whole, or in pieces, or let pass. */
#ifndef GNOMON_API_HTTP_REQUEST_BODY_H
#define GNOMON_API_HTTP_REQUEST_BODY_H

#include "api/http/request_life.h"

/* A ready answer does not wait for a body longer than this. */
enum { REQUEST_DISCARD_MAX_BYTES = 32 << 20 };

enum MHD_Result request_body_start(struct request *request);

/* Takes some bytes, *length of which are then left. */
enum MHD_Result request_body_take(struct request *request, const char *data, size_t *length);

/* As request_body_take, after a worker had the piece before. */
enum MHD_Result request_body_go_on(struct request *request, const char *data, size_t *length);

/* Once the reply is ready, discard lets the rest of the body pass, and pass takes some bytes of it. */
enum MHD_Result request_body_discard(struct request *request);
enum MHD_Result request_body_pass(struct request *request, size_t *length);

#endif
