/* See request.h.
 *
 *   HEAD --> (CHECK) --> BODY --> WORK --> SENT          CHECK, PIECE and WORK: suspended, a worker has the request
 *              |         |  ^
 *              |         v  |
 *              |        PIECE                            a streamed body, one piece at a time
 *              |         |
 *              +---------+-> DISCARD --> SENT            refused before or while the body comes: once it comes, the
 *                                                        library can answer only after it; a bounded rest passes */
#include "api/http/request.h"

#include "api/core/dispatch.h"
#include "api/core/reply.h"
#include "api/http/request_body.h"
#include "api/http/request_job.h"
#include "api/http/request_reply.h"

/* A client that is still sending often misses an answer that comes with the end of the connection, so a body of
 * moderate size is let pass; not that of a message that could be misread, and not if the client asked first. */
static bool lets_body_pass(const struct request *request)
{
    int http = request->call.reply.http;
    return !request->expects && request->declared <= REQUEST_DISCARD_MAX_BYTES && http != 400 && http != 501;
}

/* The reply is ready before the body.  The library closes a connection that is answered at the first call, so what has
 * no body waits for the second. */
static enum MHD_Result answer(struct request *request)
{
    struct reply *reply = &request->call.reply;
    if (request->declared == 0 && !reply->close) {
        request->stage = STAGE_WORK;
        return MHD_YES;
    }
    reply->close = true;
    if (request->declared == 0 || !lets_body_pass(request))
        return request_send(request);
    (void)request_body_start(request);
    return request_body_discard(request);
}

static enum MHD_Result refuse(struct request *request, const struct error *error)
{
    int http = reply_http(error);
    request->call.reply.close = http == 400 || http == 501;
    reply_problem(&request->call, error);
    return answer(request);
}

/* Trailers start somewhere in the memory that the chunks came through. */
static enum MHD_Result collect_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                      const char *value, size_t value_length)
{
    struct gate_headers *headers = cls;
    if (kind == MHD_FOOTER_KIND && headers->at == NULL)
        headers->at = name;
    gate_header(headers, name, name_length, value, value_length);
    return MHD_YES;
}

static enum MHD_Result collect_forwarded(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                         const char *value, size_t value_length)
{
    (void)kind, (void)value_length;
    forwarded_header(cls, name, name_length, value);
    return MHD_YES;
}

/* Only a trusted proxy is asked whom it speaks for. */
static void find_client(struct request *request)
{
    struct forwarded forwarded = {0};
    struct address  *address = &request->call.address;
    if (!networks_have(&request->shared->trusted, address))
        return;
    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, collect_forwarded, &forwarded);
    *address = forwarded_client(&forwarded, &request->shared->trusted, address);
}

/* The head as it lies in the library's memory. */
static void read_head(const struct request *request, const char *url, const char *method, const char *version,
                      struct gate_headers *headers)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    gate_first_line(headers, method, url, request->uri_length, version);
    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, collect_header, headers);
    gate_end(headers, info == NULL ? NULL : method + info->header_size);
}

static enum MHD_Result on_head(struct request *request, const char *url, const char *method, const char *version)
{
    struct gate_headers headers = {0};
    struct error        error;
    if (request->call.uri == NULL)
        return MHD_NO;
    request_head_read(request);
    conns_has_asked(request->shared->conns, request->conn);
    request->stage = STAGE_CHECK; // past the head
    read_head(request, url, method, version, &headers);
    find_client(request);
    if (headers.problem == NULL)
        trace_begin(&request->call.trace, headers.request_id, headers.traceparent);
    request->expects = headers.expect != NULL;
    if (dispatch_head(&request->call, &headers, method, &request->declared, &error) != STATUS_OK)
        return dispatch_options(&request->call, method) ? answer(request) : refuse(request, &error);
    enum status status = request_authorise(request, true, &error);
    if (status == STATUS_BUSY || (status == STATUS_OK && request_is_streamed(request)))
        return request_submit(request, STAGE_CHECK);
    if (status == STATUS_OK && request->declared > REQUEST_LARGE_BYTES && request->call.route->lane == LANE_COMPUTE)
        status = request_would_compute(request, &error);
    if (status != STATUS_OK)
        return refuse(request, &error);
    if (request->declared == 0 && dispatch_quick(&request->call))
        return answer(request);
    return request_body_start(request);
}

/* Nobody reads trailers, but what follows them is the next request. */
static enum MHD_Result on_last_chunk(struct request *request)
{
    struct gate_headers trailers = {0};
    struct error        error;
    (void)MHD_get_connection_values_n(request->connection, MHD_FOOTER_KIND, collect_header, &trailers);
    if (gate_trailers(&trailers, &error) != STATUS_OK)
        return refuse(request, &error);
    return request_submit(request, STAGE_WORK);
}

enum MHD_Result request_continue(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *data_length, void **context)
{
    (void)cls, (void)connection;
    struct request *request = *context;
    if (request == NULL)
        return MHD_NO;
    request_resumed(request);
    if (request->abandoned)
        return request_send_abandoned(request);
    switch (request->stage) {
    case STAGE_HEAD:
        return on_head(request, url, method, version);
    case STAGE_CHECK:
        return request->failed ? answer(request) : request_body_start(request);
    case STAGE_BODY:
        return *data_length == 0 ? on_last_chunk(request) : request_body_take(request, data, data_length);
    case STAGE_PIECE:
        return request_body_go_on(request, data, data_length);
    case STAGE_WORK:
        return request_send(request);
    case STAGE_DISCARD:
        return request_body_pass(request, data_length);
    case STAGE_SENT:
    case STAGE_FOLLOW:
        break;
    }
    *data_length = 0;
    return MHD_YES;
}
