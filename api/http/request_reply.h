/* Replies to the client. */
#ifndef GNOMON_API_HTTP_REQUEST_REPLY_H
#define GNOMON_API_HTTP_REQUEST_REPLY_H

#include "api/http/request_life.h"

/* The call's reply. */
enum MHD_Result request_send(struct request *request);

/* Replies that the service is stopping. */
enum MHD_Result request_send_abandoned(struct request *request);

/* The reply as bytes of the protocol; NULL when there is no room for it. */
const char *request_reply_bytes(struct request *request);

/* The reply to a client whose body comes too late, as bytes of the protocol: conns_options.late. */
const char *request_late_bytes(const char *id, char *text, size_t room);

#endif
