/* See request.h.
 *
 *   HEAD --> (CHECK) --> BODY --> WORK --> SENT          CHECK, PIECE and WORK: suspended, a worker has the request
 *              |         |  ^
 *              |         v  |
 *              |        PIECE                            a streamed body, one piece at a time
 *              |         |
 *              +---------+-> DISCARD --> SENT            refused before or while the body comes: once it comes, the
 *                                                        library can answer only after it; a bounded rest passes
 *
 * A request belongs to its connection's thread, or, while it is linked in requests->running, to a worker.  Whoever
 * unlinks it resumes the connection.  It is freed when both have let go (refs). */
#include "api/request.h"

#include "api/dispatch.h"
#include "api/reply.h"
#include "service/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char late_body[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 114\r\n\r\n"
    "{\"type\":\"about:blank\",\"title\":\"Request Timeout\",\"status\":408,\"code\":\"request_timeout\","
    "\"detail\":\"the body is late\"}";

enum {
    ARENA_LIMIT_BYTES = 512 << 20,
    FIRST_ROOM_BYTES = 16 << 10,
    DISCARD_MAX_BYTES = 32 << 20,
    LARGE_BYTES = 4 << 20,
    DISCARD_STALL_MS = 2000,
    RATE_GRACE_MS = 10000,
    RATE_BYTES_PER_MS = 50 /* 50 KB/s: what a client must send or take */
};

enum stage { STAGE_HEAD, STAGE_CHECK, STAGE_BODY, STAGE_PIECE, STAGE_WORK, STAGE_DISCARD, STAGE_SENT };

struct request {
    struct requests       *shared;
    struct conn           *conn;
    struct MHD_Connection *connection;
    struct request        *next, *before; /* in requests->running, or before that in reading */
    enum stage             stage;
    atomic_int             refs;
    bool                   is_suspended, abandoned, expects; /* Expect: 100-continue */
    bool                   failed;                           /* the last job's reply is an error */
    char                  *body;
    size_t                 room;                          /* of body, accounted in metrics.body_bytes */
    int64_t                declared, received, discarded; /* bytes; declared -1: chunked */
    int64_t                started_us, body_deadline_ms, suspended_ms;
    size_t                 uri_length; /* of what call.uri has the start of */
    struct arena_mark      empty, before_pieces;
    struct call            call; /* last: see struct call */
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void set_deadline(struct request *request, int64_t deadline_ms)
{
    if (request->conn != NULL)
        atomic_store_explicit(&request->conn->deadline_ms, deadline_ms, memory_order_relaxed);
}

/* What the client is told if the deadline passes. */
static void set_farewell(struct request *request, const char *text)
{
    if (request->conn != NULL)
        atomic_store(&request->conn->farewell, text);
}

static bool is_streamed(const struct request *request)
{
    return request->call.route != NULL && request->call.route->body == BODY_NPY;
}

/* ---- birth and death ---- */

/* Distinct within a process and not guessable from the one before: a counter through a mixing function with a key. */
static void set_id(struct request *request)
{
    struct requests *shared = request->shared;
    uint64_t         x = shared->id_key + 0x9e3779b97f4a7c15u * atomic_fetch_add(&shared->id_next, 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    for (int i = 0; i < 16; i++, x >>= 4)
        request->call.request_id[i] = "0123456789abcdef"[x & 15];
}

/* A connection keeps the first block of its last request's arena: most requests need no more. */
static struct request *take_request(struct conn *conn)
{
    struct request *request = malloc(sizeof *request);
    struct arena    arena;
    arena_init(&arena, ARENA_LIMIT_BYTES);
    if (conn != NULL && conn->spare.last != NULL) {
        arena = conn->spare;
        conn->spare = (struct arena){0};
    }
    if (request == NULL || arena_alloc(&arena, 0, 1) == NULL) {
        arena_fini(&arena);
        free(request);
        return NULL;
    }
    memset(request, 0, offsetof(struct request, call.result));
    request->call.arena = arena;
    request->empty = arena_mark(&arena);
    request->conn = conn;
    return request;
}

static void free_request(struct request *request)
{
    arena_fini(&request->call.arena);
    free(request);
}

void request_forget(struct conn *conn)
{
    if (conn != NULL)
        arena_fini(&conn->spare);
}

/* Requests whose head the library's thread has begun to read. */
static _Thread_local struct request *reading;

static void link_reading(struct request *request)
{
    request->next = reading;
    if (reading != NULL)
        reading->before = request;
    reading = request;
}

static void unlink_reading(struct request *request)
{
    if (request->before != NULL)
        request->before->next = request->next;
    else
        reading = request->next;
    if (request->next != NULL)
        request->next->before = request->before;
    request->next = request->before = NULL;
}

/* The library would split the query next, which nobody reads; of five hundred parameters it runs out of memory and then
 * never answers.  The address lies in its read buffer, which it is about to write to itself. */
static void hide_query(const char *uri)
{
    char *query = strchr(uri, '?');
    if (query != NULL)
        query[1] = '\0';
}

void *request_begin(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct listener                *listener = cls;
    struct requests                *shared = listener->shared;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct request                 *request = take_request(info == NULL ? NULL : info->socket_context);
    if (request == NULL)
        return NULL;
    request->shared = shared;
    request->connection = connection;
    request->started_us = now_us();
    atomic_init(&request->refs, 1);
    struct call *call = &request->call;
    call->app = shared->app;
    call->metrics = &shared->metrics;
    call->draining = &shared->draining;
    call->listener = listener->kind;
    call->body_limit = shared->body_limit;
    call->body = "";
    call->caller.arena = call->problems.arena = &call->arena;
    if (request->conn != NULL)
        call->address = request->conn->address;
    request->uri_length = strlen(uri);
    call->uri = arena_strndup(&call->arena, uri, strnlen(uri, GATE_URI_MAX + 1));
    set_id(request);
    atomic_fetch_add(&call->metrics->in_flight, 1);
    link_reading(request);
    hide_query(uri);
    return request;
}

static void free_body(struct request *request)
{
    atomic_fetch_sub(&request->shared->metrics.body_bytes, (int64_t)request->room);
    free(request->body);
    request->body = NULL;
    request->room = 0;
}

/* True for the last one to let go. */
static bool let_go(struct request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) > 1)
        return false;
    free_body(request);
    return true;
}

static bool is_watched(const struct request *request)
{
    return request->conn != NULL && request->is_suspended && request->stage == STAGE_WORK &&
           request->call.route->lane != LANE_SHORT;
}

static void clear_suspended(struct request *request)
{
    if (is_watched(request))
        conns_watch(request->shared->conns, request->conn, NULL);
    if (request->is_suspended)
        atomic_fetch_sub(&request->shared->metrics.suspended, 1);
    request->is_suspended = false;
}

void request_end(void *cls, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code)
{
    (void)cls, (void)connection, (void)code;
    struct request *request = *context;
    *context = NULL;
    if (request == NULL)
        return;
    if (request->stage == STAGE_HEAD)
        unlink_reading(request);
    clear_suspended(request);
    set_deadline(request, request->shared->app->monotonic_ms() + request->shared->idle_ms);
    atomic_fetch_sub(&request->shared->metrics.in_flight, 1);
    if (!let_go(request))
        return;
    bool was_large = request->call.arena.taken_bytes > LARGE_BYTES;
    if (request->conn != NULL && request->conn->spare.last == NULL) {
        arena_release(&request->call.arena, request->empty);
        request->conn->spare = request->call.arena;
        arena_init(&request->call.arena, 0);
    }
    struct conns *conns = request->shared->conns;
    free_request(request);
    if (was_large)
        conns_trim(conns);
}

/* ---- replies ---- */

static void add_headers(const struct request *request, const struct reply *reply, struct MHD_Response *response)
{
    char seconds[16] = "";
    if (reply->retry_after_s > 0)
        snprintf(seconds, sizeof seconds, "%d", reply->retry_after_s);
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Request-Id", request->call.request_id},
        {"Content-Type", reply->type},
        {"Location", reply->location},
        {"ETag", reply->etag},
        {"Allow", reply->allow},
        {"Retry-After", *seconds != '\0' ? seconds : NULL},
        {"WWW-Authenticate", reply->http == 401 ? "Bearer" : NULL},
        {"Idempotent-Replayed", reply->replayed ? "true" : NULL},
        {"Content-Security-Policy", reply->type != NULL && strncmp(reply->type, "text/html", 9) == 0
                                        ? "default-src 'none'; style-src 'unsafe-inline'"
                                        : NULL},
        {"Connection", reply->close ? "close" : NULL},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (headers[i].value != NULL)
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result queue(struct request *request, int http, struct MHD_Response *response, int64_t length)
{
    const struct route *route = request->call.route;
    struct requests    *shared = request->shared;
    request->stage = STAGE_SENT;
    set_farewell(request, NULL);
    set_deadline(request, shared->app->monotonic_ms() + shared->write_ms + length / RATE_BYTES_PER_MS);
    metrics_count(&shared->metrics, route == NULL ? METRICS_ROUTES_MAX : (size_t)(route - route_table), http,
                  now_us() - request->started_us);
    enum MHD_Result result = MHD_queue_response(request->connection, (unsigned)http, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_reply(struct request *request)
{
    struct reply *reply = &request->call.reply;
    reply->close |= atomic_load(&request->shared->draining);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        reply->length, reply->length == 0 ? (void *)"" : (void *)(uintptr_t)reply->bytes, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    add_headers(request, reply, response);
    return queue(request, reply->http, response, (int64_t)reply->length);
}

/* The worker may still have the call: nothing of it is touched but what it does not write. */
static enum MHD_Result send_abandoned(struct request *request)
{
    static const char    text[] = "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
                                  "\"code\":\"draining\",\"detail\":\"the service is stopping\"}";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    const struct reply reply = {.http = 503, .type = "application/problem+json", .retry_after_s = 1, .close = true};
    add_headers(request, &reply, response);
    return queue(request, reply.http, response, sizeof text);
}

/* ---- jobs ---- */

static bool unlink_running(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    bool linked = !request->abandoned;
    if (linked) {
        if (request->before != NULL)
            request->before->next = request->next;
        else
            shared->running = request->next;
        if (request->next != NULL)
            request->next->before = request->before;
    }
    pthread_mutex_unlock(&shared->lock);
    return linked;
}

static bool is_abandoned(struct request *request)
{
    pthread_mutex_lock(&request->shared->lock);
    bool abandoned = request->abandoned;
    pthread_mutex_unlock(&request->shared->lock);
    return abandoned;
}

static void link_running(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    request->before = NULL;
    request->next = shared->running;
    if (request->next != NULL)
        request->next->before = request;
    shared->running = request;
    pthread_mutex_unlock(&shared->lock);
}

void request_abandon_all(struct requests *requests)
{
    for (;;) {
        pthread_mutex_lock(&requests->lock);
        struct request *request = requests->running;
        if (request != NULL) {
            request->abandoned = true;
            atomic_store(&request->call.has_left, true); // ends what it computes
            requests->running = request->next;
            if (request->next != NULL)
                request->next->before = NULL;
        }
        pthread_mutex_unlock(&requests->lock);
        if (request == NULL)
            return;
        MHD_resume_connection(request->connection);
    }
}

/* What others did never counts against a token that is in force: only after it turned out to be none is it asked how
 * many such there were from the address. */
static enum status authorise(struct request *request, bool cached_only, struct error *err)
{
    struct requests *shared = request->shared;
    enum status      status = dispatch_authorise(&request->call, cached_only, err);
    if (status != STATUS_UNAUTHORISED || request->call.token == NULL)
        return status;
    atomic_fetch_add(&shared->metrics.refused_auth, 1);
    if (conns_is_blocked(shared->conns, &request->call.address))
        return error_set(err, STATUS_UNAUTHORISED, "too_many_requests", "",
                         "too many invalid tokens from this address");
    conns_count_failure(shared->conns, &request->call.address);
    return status;
}

/* On a worker.  CHECK asks for the token and, for an upload, runs the handler without bytes: what is wrong is known
 * before any of the body is read. */
static void run_job(void *arg)
{
    struct request *request = arg;
    struct call    *call = &request->call;
    struct error    error;
    atomic_fetch_sub(&request->shared->metrics.queued, 1);
    if (is_abandoned(request))
        request->failed = true;
    else if (request->stage == STAGE_CHECK && authorise(request, false, &error) != STATUS_OK) {
        request->failed = true;
        reply_problem(call, &error);
    } else if (request->stage != STAGE_CHECK || is_streamed(request)) {
        request->failed = !dispatch_run(call);
    }
    if (unlink_running(request))
        MHD_resume_connection(request->connection);
    if (let_go(request))
        free_request(request);
}

static enum MHD_Result submit(struct request *request, enum stage stage)
{
    struct requests *shared = request->shared;
    struct error     error;
    request->stage = stage;
    request->is_suspended = true;
    request->suspended_ms = shared->app->monotonic_ms();
    request->call.until_ms = app_until(shared->app, request->suspended_ms);
    set_deadline(request, 0);
    atomic_fetch_add(&request->refs, 1);
    atomic_fetch_add(&shared->metrics.suspended, 1);
    atomic_fetch_add(&shared->metrics.queued, 1);
    if (is_watched(request))
        conns_watch(shared->conns, request->conn, &request->call.has_left);
    MHD_suspend_connection(request->connection);
    link_running(request);
    struct workers_job job = {run_job, request, stage == STAGE_WORK ? request->call.route->lane : LANE_SHORT, ""};
    snprintf(job.owner, sizeof job.owner, "%s", request->call.caller.token_id);
    if (workers_submit(shared->workers, &job, &error) == STATUS_OK)
        return MHD_YES;
    atomic_fetch_sub(&shared->metrics.queued, 1);
    if (unlink_running(request)) {
        request->failed = true;
        reply_problem(&request->call, &error);
        MHD_resume_connection(request->connection);
    }
    (void)let_go(request); /* the connection's own hold remains */
    return MHD_YES;
}

/* ---- the body ---- */

/* 30 s for a body; an upload has longer, as long as it comes at a fair rate after a grace. */
static void set_body_deadline(struct request *request)
{
    int64_t deadline_ms = request->body_deadline_ms;
    if (is_streamed(request)) {
        int64_t fair_ms = request->body_deadline_ms - request->shared->upload_ms + RATE_GRACE_MS +
                          request->received / RATE_BYTES_PER_MS;
        deadline_ms = fair_ms < deadline_ms ? fair_ms : deadline_ms;
    }
    set_deadline(request, deadline_ms);
}

static enum MHD_Result start_body(struct request *request)
{
    struct requests *shared = request->shared;
    request->stage = STAGE_BODY;
    request->before_pieces = arena_mark(&request->call.arena);
    request->body_deadline_ms =
        shared->app->monotonic_ms() + (is_streamed(request) ? shared->upload_ms : shared->body_ms);
    set_body_deadline(request);
    set_farewell(request, late_body);
    return MHD_YES;
}

/* Room for so many bytes and a NUL. */
static enum status reserve(struct request *request, size_t bytes, struct error *err)
{
    struct requests *shared = request->shared;
    size_t           room = request->room == 0 ? FIRST_ROOM_BYTES : request->room;
    while (room <= bytes)
        room *= 2;
    if (room == request->room)
        return STATUS_OK;
    int64_t more = (int64_t)(room - request->room);
    if (atomic_fetch_add(&shared->metrics.body_bytes, more) + more > shared->bodies_limit) {
        atomic_fetch_sub(&shared->metrics.body_bytes, more);
        return error_set(err, STATUS_BUSY, "busy", "", "too many bodies are being received");
    }
    char *bigger = realloc(request->body, room);
    if (bigger == NULL) {
        atomic_fetch_sub(&shared->metrics.body_bytes, more);
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    }
    request->body = bigger;
    request->room = room;
    return STATUS_OK;
}

/* The reply as bytes of the protocol; NULL when there is no room for it. */
static const char *reply_bytes(struct request *request)
{
    const struct reply *reply = &request->call.reply;
    struct conn        *conn = request->conn;
    if (conn == NULL)
        return NULL;
    int length = snprintf(conn->text, sizeof conn->text,
                          "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\nCache-Control: no-store\r\n"
                          "X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nContent-Length: %zu\r\n\r\n%s",
                          reply->http, reply_title(reply->http), reply->type, request->call.request_id, reply->length,
                          reply->bytes);
    return length > 0 && (size_t)length < sizeof conn->text ? conn->text : NULL;
}

/* The library can answer only when the body has come; a client that stops sending gets the answer as its farewell. */
static enum MHD_Result discard_body(struct request *request)
{
    request->stage = STAGE_DISCARD;
    request->call.reply.close = true;
    free_body(request);
    set_deadline(request, request->shared->app->monotonic_ms() + DISCARD_STALL_MS);
    const char *bytes = reply_bytes(request);
    if (bytes != NULL)
        set_farewell(request, bytes);
    return MHD_YES;
}

static enum status collect(struct request *request, const char *data, size_t length, struct error *err)
{
    struct call *call = &request->call;
    if ((int64_t)(call->body_bytes + length) > request->shared->body_limit)
        return dispatch_too_large(call, err);
    TRY(reserve(request, call->body_bytes + length, err));
    memcpy(request->body + call->body_bytes, data, length);
    call->body_bytes += length;
    call->body = request->body;
    request->body[call->body_bytes] = '\0';
    return STATUS_OK;
}

/* Takes what fits into the piece; a full or last piece goes to a worker. */
static enum MHD_Result stream(struct request *request, const char *data, size_t *length)
{
    struct call *call = &request->call;
    struct error error;
    size_t       space = CANDIDATES_PIECE_MAX - call->body_bytes, taken = *length < space ? *length : space;
    if (reserve(request, CANDIDATES_PIECE_MAX, &error) != STATUS_OK) {
        reply_problem(call, &error);
        return discard_body(request);
    }
    memcpy(request->body + call->body_bytes, data, taken);
    call->body = request->body;
    call->body_bytes += taken;
    request->received += (int64_t)taken;
    *length -= taken;
    if (request->received == request->declared)
        return submit(request, STAGE_WORK);
    set_body_deadline(request);
    return call->body_bytes == CANDIDATES_PIECE_MAX ? submit(request, STAGE_PIECE) : MHD_YES;
}

static enum MHD_Result on_body(struct request *request, const char *data, size_t *length)
{
    struct error error;
    if (is_streamed(request))
        return stream(request, data, length);
    enum status status = collect(request, data, *length, &error);
    *length = 0;
    if (status == STATUS_OK)
        return MHD_YES;
    reply_problem(&request->call, &error);
    return discard_body(request);
}

static enum MHD_Result on_discard(struct request *request, size_t *length)
{
    int64_t stall_ms = request->shared->app->monotonic_ms() + DISCARD_STALL_MS;
    request->discarded += (int64_t)*length;
    if (*length == 0)
        return send_reply(request);
    *length = 0;
    set_deadline(request, stall_ms < request->body_deadline_ms ? stall_ms : request->body_deadline_ms);
    return request->discarded > DISCARD_MAX_BYTES ? MHD_NO : MHD_YES;
}

/* ---- the library's own errors ---- */

/* Whose head it is: one that is complete but was not given to us yet can be no other's; of those still coming in, the
 * only one. */
static struct request *find_culprit(unsigned http)
{
    struct request *complete = NULL, *partial = NULL;
    size_t          partials = 0;
    for (struct request *at = reading; at != NULL; at = at->next) {
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
    const char *bytes = reply_bytes(request);
    char        scratch[4096];
    if (bytes != NULL)
        (void)send(fd, bytes, strlen(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < 64 && recv(fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
        continue;
    (void)shutdown(fd, SHUT_RDWR);
    metrics_count(&request->shared->metrics, METRICS_ROUTES_MAX, request->call.reply.http,
                  now_us() - request->started_us);
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

/* ---- the stages ---- */

/* A client that is still sending often misses an answer that comes with the end of the connection, so a body of
 * moderate size is let pass; not that of a message that could be misread, and not if the client asked first. */
static bool lets_body_pass(const struct request *request)
{
    int http = request->call.reply.http;
    return !request->expects && request->declared <= DISCARD_MAX_BYTES && http != 400 && http != 501;
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
        return send_reply(request);
    (void)start_body(request);
    return discard_body(request);
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
    unlink_reading(request);
    request->stage = STAGE_CHECK; // past the head
    read_head(request, url, method, version, &headers);
    find_client(request);
    request->expects = headers.expect != NULL;
    if (dispatch_head(&request->call, &headers, method, &request->declared, &error) != STATUS_OK)
        return refuse(request, &error);
    enum status status = authorise(request, true, &error);
    if (status == STATUS_BUSY || (status == STATUS_OK && is_streamed(request)))
        return submit(request, STAGE_CHECK);
    if (status != STATUS_OK)
        return refuse(request, &error);
    if (request->declared == 0 && dispatch_quick(&request->call))
        return answer(request);
    return start_body(request);
}

/* Nobody reads trailers, but what follows them is the next request. */
static enum MHD_Result on_last_chunk(struct request *request)
{
    struct gate_headers trailers = {0};
    struct error        error;
    (void)MHD_get_connection_values_n(request->connection, MHD_FOOTER_KIND, collect_header, &trailers);
    if (gate_trailers(&trailers, &error) != STATUS_OK)
        return refuse(request, &error);
    return submit(request, STAGE_WORK);
}

/* A piece that is through leaves nothing behind; the time a worker took does not count against the client. */
static enum MHD_Result after_piece(struct request *request, const char *data, size_t *length)
{
    struct call *call = &request->call;
    if (request->failed) {
        (void)discard_body(request);
        return *length == 0 ? MHD_YES : on_discard(request, length);
    }
    arena_release(&call->arena, request->before_pieces);
    call->offset += (int64_t)call->body_bytes;
    call->body_bytes = 0;
    request->body_deadline_ms += request->shared->app->monotonic_ms() - request->suspended_ms;
    request->stage = STAGE_BODY;
    set_body_deadline(request);
    return *length == 0 ? MHD_YES : on_body(request, data, length);
}

enum MHD_Result request_continue(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *data_length, void **context)
{
    (void)cls, (void)connection;
    struct request *request = *context;
    if (request == NULL)
        return MHD_NO;
    clear_suspended(request);
    if (request->abandoned)
        return send_abandoned(request);
    switch (request->stage) {
    case STAGE_HEAD:
        return on_head(request, url, method, version);
    case STAGE_CHECK:
        return request->failed ? answer(request) : start_body(request);
    case STAGE_BODY:
        return *data_length == 0 ? on_last_chunk(request) : on_body(request, data, data_length);
    case STAGE_PIECE:
        return after_piece(request, data, data_length);
    case STAGE_WORK:
        return send_reply(request);
    case STAGE_DISCARD:
        return on_discard(request, data_length);
    case STAGE_SENT:
        break;
    }
    *data_length = 0;
    return MHD_YES;
}
