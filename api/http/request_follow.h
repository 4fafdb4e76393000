/* Requests whose answer is not complete (struct follow): they wait without a thread, and their connections are suspended.
 * One thread hands them to the workers again: those whose time has come, all of them soon after something was written,
 * when the client has left, and when the service stops.  Of those with the same turn a worker has one at a time, and the
 * end of its turn hands the next one on; whose waiting is over does not wait for a turn. */
#ifndef GNOMON_API_HTTP_REQUEST_FOLLOW_H
#define GNOMON_API_HTTP_REQUEST_FOLLOW_H

#include "api/http/request_life.h"

MUST_CHECK enum status request_follow_start(struct requests *requests, struct error *err);
/* None follows any more. */
void request_follow_stop(struct requests *requests);

/* Something was written, or the service stops.  arg: the struct requests. */
void request_follow_wake(void *arg);

/* MHD calls this for the bytes of a stream; cls: the request, whose call.reply has the present piece. */
ssize_t request_follow_read(void *cls, uint64_t position, char *out, size_t room);

#endif
