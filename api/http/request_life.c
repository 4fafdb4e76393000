/* See request_life.h. */
#include "api/http/request_life.h"

#include "api/base/gate.h"
#include "api/core/reply.h"
#include "api/core/route.h"
#include "service/app/quota.h"
#include "service/base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_LIMIT_BYTES = 512 << 20 };

int64_t request_now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

void request_set_deadline(struct request *request, int64_t deadline_ms)
{
    if (request->conn == NULL)
        return;
    int64_t now_ms = request->shared->app->monotonic_ms();
    atomic_store_explicit(&request->conn->deadline_ms, deadline_ms, memory_order_relaxed);
    atomic_store_explicit(&request->conn->order, deadline_ms == 0 ? 0 : now_ms, memory_order_relaxed);
}

void request_reads(struct request *request, bool is_known)
{
    if (request->conn != NULL)
        atomic_fetch_add(&request->conn->order, CONN_READS + (is_known ? CONN_LATER : 0));
}

void request_set_farewell(struct request *request, const char *text)
{
    if (request->conn != NULL)
        atomic_store(&request->conn->farewell, text);
}

bool request_is_streamed(const struct request *request)
{
    return request->call.route != NULL && body_is_streamed(request->call.route->body);
}

/* Distinct within a process and not guessable from the one before: a counter through a mixing function with a key. */
static void set_id(struct request *request)
{
    struct requests *shared = request->shared;
    uint64_t         x = shared->id_key + 0x9e3779b97f4a7c15u * atomic_fetch_add(&shared->id_next, 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    for (int i = 0; i < 16; i++, x >>= 4)
        request->call.trace.own[i] = "0123456789abcdef"[x & 15];
    trace_begin(&request->call.trace, NULL, NULL);
}

/* A connection keeps the first block of its last request's arena: most requests need no more. */
static struct request *take_request(struct requests *shared, struct conn *conn)
{
    struct request *request = malloc(sizeof *request);
    struct arena    arena;
    arena_init(&arena, ARENA_LIMIT_BYTES);
    arena.pool = shared->app->memory;
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

void request_free(struct request *request)
{
    reply_drop_file(&request->call);
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

struct request *request_reading(void)
{
    return reading;
}

void request_link(struct request **list, struct request *request)
{
    request->before = NULL;
    request->next = *list;
    if (request->next != NULL)
        request->next->before = request;
    *list = request;
}

void request_unlink(struct request **list, struct request *request)
{
    if (request->before != NULL)
        request->before->next = request->next;
    else
        *list = request->next;
    if (request->next != NULL)
        request->next->before = request->before;
    request->next = request->before = NULL;
}

void request_head_read(struct request *request)
{
    request_unlink(&reading, request);
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
    struct request                 *request = take_request(shared, info == NULL ? NULL : info->socket_context);
    if (request == NULL)
        return NULL;
    request->shared = shared;
    request->connection = connection;
    request->started_us = request_now_us();
    atomic_init(&request->refs, 1);
    struct call *call = &request->call;
    call->app = shared->app;
    call->traffic = &shared->traffic;
    call->leaving = &shared->leaving;
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
    atomic_fetch_add(&call->traffic->in_flight, 1);
    request_link(&reading, request);
    hide_query(uri);
    return request;
}

void request_free_body(struct request *request)
{
    atomic_fetch_sub(&request->shared->traffic.body_bytes, (int64_t)request->room);
    (void)quota_hold_bodies(request->project, -(int64_t)request->room);
    arena_pool_give(request->shared->app->memory, request->room);
    free(request->body);
    request->body = NULL;
    request->room = 0;
}

bool request_let_go(struct request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) > 1)
        return false;
    request_free_body(request);
    return true;
}

void request_watch(struct request *request, bool is_watched)
{
    if (request->conn != NULL && request->is_watched != is_watched)
        conns_watch(request->shared->conns, request->conn, is_watched ? &request->call.has_left : NULL);
    request->is_watched = is_watched;
}

void request_suspend(struct request *request)
{
    request->is_suspended = true;
    request->suspended_ms = request->shared->app->monotonic_ms();
    atomic_fetch_add(&request->shared->traffic.suspended, 1);
    if (request->stage == STAGE_FOLLOW || (request->stage == STAGE_WORK && request->call.route->lane != LANE_SHORT))
        request_watch(request, true);
    MHD_suspend_connection(request->connection);
}

void request_resumed(struct request *request)
{
    request_watch(request, false);
    if (request->is_suspended)
        atomic_fetch_sub(&request->shared->traffic.suspended, 1);
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
        request_head_read(request);
    request_resumed(request);
    request_set_deadline(request, request->shared->app->monotonic_ms() + request->shared->idle_ms);
    atomic_fetch_sub(&request->shared->traffic.in_flight, 1);
    if (request->call.follow.is_held) {
        const struct share_owner owner = call_owner(&request->call);
        traffic_leave(&request->shared->traffic, SHARE_followers, &owner);
    }
    if (!request_let_go(request))
        return;
    if (request->conn != NULL && request->conn->spare.last == NULL) {
        arena_release(&request->call.arena, request->empty);
        request->conn->spare = request->call.arena;
        arena_init(&request->call.arena, 0);
    }
    request_free(request);
}
