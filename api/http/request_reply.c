/* See request_reply.h. */
#include "api/http/request_reply.h"

#include "api/base/access_log.h"
#include "api/base/cors.h"
#include "api/core/reply.h"
#include "api/core/route.h"
#include "api/http/request_follow.h"
#include "api/http/tls.h"
#include "service/app/quota.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A page is its own files and asks its own server; no text becomes a script, whoever wrote it. */
static const char page_policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                                  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                                  "require-trusted-types-for 'script'";

/* False: not all of them, and a reply without its type or its encoding is another reply. */
static bool add_headers(const struct request *request, const struct reply *reply, struct MHD_Response *response)
{
    char seconds[16] = "";
    if (reply->retry_after_seconds > 0)
        snprintf(seconds, sizeof seconds, "%d", reply->retry_after_seconds);
    const char *origin = request->abandoned ? NULL : cors_allow(request->shared->cors_origins, request->call.origin);
    struct quota_headers quota = {.policy = ""};
    if (!request->abandoned)
        quota_show(request->shared->app, &request->call.caller, &quota);
    bool is_page = reply->type != NULL && strncmp(reply->type, "text/html", 9) == 0;
    bool is_preflight = origin != NULL && reply->http == 204 && reply->allow != NULL;
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Cache-Control", reply->cache == NULL ? "no-store" : reply->cache},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Request-Id", request->call.trace.id},
        {"traceparent", request->call.trace.parent},
        {"Content-Type", reply->type},
        {"Location", reply->location},
        {"ETag", reply->etag},
        {"Allow", reply->allow},
        {"Retry-After", seconds},
        {"RateLimit-Policy", quota.policy},
        {"RateLimit", quota.state},
        {"WWW-Authenticate", reply->http != 401            ? NULL
                             : request->call.token != NULL ? "Bearer error=\"invalid_token\""
                                                           : "Bearer"},
        {"Content-Encoding", reply->is_gzip ? "gzip" : NULL},
        {"Preference-Applied", reply->preference},
        {"Vary", reply->cache != NULL || reply->is_gzip ? "Accept, Accept-Encoding, Authorization, Origin" : NULL},
        {"Access-Control-Allow-Origin", origin},
        {"Access-Control-Expose-Headers", origin == NULL ? NULL : cors_reply_headers},
        {"Access-Control-Allow-Methods", is_preflight ? cors_methods : NULL},
        {"Access-Control-Allow-Headers", is_preflight ? cors_request_headers : NULL},
        {"Access-Control-Max-Age", is_preflight ? "7200" : NULL},
        {"Idempotent-Replayed", reply->replayed ? "true" : NULL},
        {"Content-Security-Policy", is_page ? page_policy : NULL},
        {"Referrer-Policy", is_page ? "no-referrer" : NULL},
        {"Cross-Origin-Opener-Policy", is_page ? "same-origin" : NULL},
        {"Connection", reply->close ? "close" : NULL},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (headers[i].value != NULL && headers[i].value[0] != '\0' &&
            MHD_add_response_header(response, headers[i].name, headers[i].value) == MHD_NO)
            return false;
    return true;
}

/* Counts and logs the request.  Of one that a worker may still have only what was known before that. */
static void note(const struct request *request, const struct reply *reply)
{
    struct requests    *shared = request->shared;
    const struct call  *call = &request->call;
    const struct route *route = call->route;
    int64_t             spent_us = request_now_us() - request->started_us;
    traffic_count(&shared->traffic, route == NULL ? TRAFFIC_ROUTES_MAX : (size_t)(route - route_table), reply->http,
                  spent_us - request->waited_us);
    if (reply->code[0] != '\0')
        traffic_count_refusal(&shared->traffic, reply->code);
    if (route != NULL && route->flags & ROUTE_HEALTH && reply->http < 500)
        return; // asked every few seconds by machines
    struct access access = {.trace = &call->trace,
                            .method = route == NULL ? NULL : route->method,
                            .route = route == NULL ? "none" : route->path,
                            .thing = route == NULL ? NULL : route_thing(route),
                            .thing_id = call->params[0],
                            .code = reply->code[0] == '\0' ? NULL : reply->code,
                            .detail = reply->detail,
                            .http = reply->http,
                            .total_us = spent_us,
                            .bytes = (int64_t)reply->length};
    if (!request->abandoned) {
        access.token_id = call->caller.token_id[0] == '\0' ? NULL : call->caller.token_id;
        access.computed_us = call->caller.spent.computed_us;
        access.priced_us = (int64_t)(1000 * call->caller.spent.price_ms);
        access.waited_us = call->caller.spent.waited_us + request->waited_us;
    }
    access_log(&access, shared->access_log);
}

/* MHD_NO, which ends the connection: there was no memory for the response, NULL, or for its headers. */
static enum MHD_Result queue(struct request *request, const struct reply *reply, struct MHD_Response *response)
{
    struct requests *shared = request->shared;
    if (response == NULL)
        return MHD_NO;
    if (!add_headers(request, reply, response)) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    request->stage = STAGE_SENT;
    request_set_farewell(request, NULL);
    request_set_deadline(request, shared->app->monotonic_ms() + shared->write_ms +
                                      (int64_t)reply->length / REQUEST_RATE_BYTES_PER_MS);
    request_reads(request, !request->abandoned && request->call.caller.token_id[0] != '\0');
    note(request, reply);
    int             http = reply->http;
    enum MHD_Result result = MHD_queue_response(request->connection, (unsigned)http, response);
    MHD_destroy_response(response);
    return result;
}

/* The library takes the file; it has a descriptor of its own, so that files that are being sent can be counted. */
static struct MHD_Response *make_response(const struct reply *reply)
{
    if (!reply->is_file)
        return MHD_create_response_from_buffer(
            reply->length, reply->length == 0 ? (void *)"" : (void *)(uintptr_t)reply->bytes, MHD_RESPMEM_PERSISTENT);
    int                  own = dup(reply->file);
    struct MHD_Response *response = own < 0 ? NULL : MHD_create_response_from_fd64(reply->length, own);
    if (response == NULL && own >= 0)
        close(own);
    return response;
}

/* While suspended the request is at STAGE_FOLLOW. */
static enum MHD_Result send_stream(struct request *request)
{
    enum { BLOCK_BYTES = 16 << 10 };
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, request_follow_read, request, NULL);
    return queue(request, &request->call.reply, response);
}

enum MHD_Result request_send(struct request *request)
{
    struct reply *reply = &request->call.reply;
    reply->close |= atomic_load(&request->shared->leaving);
    if (request->call.follow.is_stream && reply->http == 200)
        return send_stream(request);
    return queue(request, reply, make_response(reply));
}

/* Touches only members that the worker does not write, since the worker may still have the call. */
enum MHD_Result request_send_abandoned(struct request *request)
{
    const struct problem_kind *problem = problem_find("draining");
    char                       text[REPLY_PLAIN_BYTES];
    reply_plain(problem, "the service is stopping", request->call.trace.id, text, sizeof text);
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
    const struct reply   reply = {.http = problem->http,
                                  .type = "application/problem+json",
                                  .length = strlen(text),
                                  .retry_after_seconds = 1,
                                  .close = true,
                                  .code = "draining"};
    return queue(request, &reply, response);
}

/* A whole reply as bytes of the protocol, after which the connection ends; NULL when there is no room. */
static const char *protocol_bytes(const struct reply *reply, const char *id, char *text, size_t room)
{
    char again[40] = "";
    if (reply->retry_after_seconds > 0)
        snprintf(again, sizeof again, "Retry-After: %d\r\n", reply->retry_after_seconds);
    int length =
        snprintf(text, room,
                 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\nCache-Control: no-store\r\n%s"
                 "X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 reply->http, reply_title(reply->http), reply->type, again, id, strlen(reply->bytes), reply->bytes);
    return length > 0 && (size_t)length < room ? text : NULL;
}

const char *request_reply_bytes(struct request *request)
{
    struct conn *conn = request->conn;
    return conn == NULL ? NULL
                        : protocol_bytes(&request->call.reply, request->call.trace.id, conn->text, sizeof conn->text);
}

const char *request_late_bytes(const char *id, char *text, size_t room)
{
    const struct problem_kind *problem = problem_find("request_timeout");
    char                       body[REPLY_PLAIN_BYTES];
    reply_plain(problem, "the body is late", id, body, sizeof body);
    return protocol_bytes(&(struct reply){.http = problem->http, .type = "application/problem+json", .bytes = body}, id,
                          text, room);
}

/* ---- the library's own errors ---- */

/* Finds the request whose head the library refused: one that is complete but was not given to us yet; else the only one
 * still coming in. */
static struct request *find_culprit(unsigned http)
{
    struct request *complete = NULL, *partial = NULL;
    size_t          partials = 0;
    for (struct request *at = request_reading(); at != NULL; at = at->next) {
        if (MHD_get_connection_info(at->connection, MHD_CONNECTION_INFO_HTTP_STATUS) != NULL)
            continue; // was answered before
        if (MHD_get_connection_info(at->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) != NULL) {
            complete = at;
        } else {
            partial = at;
            partials++;
        }
    }
    return complete != NULL ? complete : http == 431 && partials == 1 ? partial : NULL;
}

/* The library's answers are HTML, and a bad Content-Length gets its head twice.  So ours is sent past it, and what it
 * sends then goes nowhere.  What has arrived is taken, lest the end of the connection overtakes the answer. */
static void answer_past_library(struct request *request)
{
    int         fd = request->conn->fd;
    const char *bytes = request_reply_bytes(request);
    char        scratch[4096];
    if (bytes != NULL && request->conn->is_tls)
        tls_send(MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session, bytes);
    else if (bytes != NULL)
        (void)send(fd, bytes, strlen(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < 64 && recv(fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
        continue;
    (void)shutdown(fd, SHUT_RDWR);
    note(request, &request->call.reply);
}

void request_on_library_error(unsigned http)
{
    static const struct {
        unsigned    http;
        enum status status;
        const char *code, *text;
    } errors[] = {
        {400, STATUS_INVALID, "bad_request", "Content-Length is not a number"},
        {413, STATUS_TOO_LARGE, "body_too_large", "no body is that large"},
        {431, STATUS_INVALID, "headers_too_large", "the headers are too large"},
    };
    struct request *request = find_culprit(http);
    for (size_t i = 0; request != NULL && request->conn != NULL && i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].http == http) {
            struct error error;
            (void)error_set(&error, errors[i].status, errors[i].code, "", "%s", errors[i].text);
            reply_problem(&request->call, &error);
            answer_past_library(request);
        }
}
