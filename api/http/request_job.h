/* The jobs that workers do for a request. */
#ifndef GNOMON_API_HTTP_REQUEST_JOB_H
#define GNOMON_API_HTTP_REQUEST_JOB_H

#include "api/http/request_life.h"

/* Suspends the connection until a worker has done what the stage asks for; it then has a reply. */
enum MHD_Result request_submit(struct request *request, enum stage stage);

/* The size from which a body is large: it is not read while the computation would be refused, as by request_submit. */
enum { REQUEST_LARGE_BYTES = 64 << 10 };
MUST_CHECK enum status request_would_compute(struct request *request, struct error *err);

/* As request_submit without a worker: the request waits until something happens. */
void request_suspend_to_follow(struct request *request);

/* Whether a request that follows is to be asked again.  The lock of the requests is held, as for the next. */
bool request_is_due(const struct request *request);

/* Whether it is the request's turn, or it needs none. */
bool request_has_turn(const struct request *request);

/* Hands a request that follows to a worker.  False: no worker takes it now. */
bool request_submit_again(struct request *request);

/* Identifies the caller.  BUSY with cached_only: a worker has to ask the store. */
MUST_CHECK enum status request_authorise(struct request *request, bool cached_only, struct error *err);

#endif
