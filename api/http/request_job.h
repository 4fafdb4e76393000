/* What a worker does for a request. */
#ifndef GNOMON_API_HTTP_REQUEST_JOB_H
#define GNOMON_API_HTTP_REQUEST_JOB_H

#include "api/http/request_life.h"

/* Suspends the connection until a worker has done what the stage asks for; it then has a reply. */
enum MHD_Result request_submit(struct request *request, enum stage stage);

/* What a large body is; it is not even read for what would not be computed now: fails as request_submit would. */
enum { REQUEST_LARGE_BYTES = 64 << 10 };
MUST_CHECK enum status request_would_compute(struct request *request, struct error *err);

/* The same without a worker: it waits until something happens. */
void request_suspend_to_follow(struct request *request);

/* The lock of the requests is held, as for the next: one that follows is to be asked again. */
bool request_is_due(const struct request *request);

/* ... and it is its turn to be, or it has none. */
bool request_has_turn(const struct request *request);

/* The request follows: a worker gets it.  False: none takes it now. */
bool request_submit_again(struct request *request);

/* Who the caller is.  BUSY with cached_only: a worker has to ask the store. */
MUST_CHECK enum status request_authorise(struct request *request, bool cached_only, struct error *err);

#endif
