/* See request_body.h. */
#include "api/http/request_body.h"

#include "api/core/dispatch.h"
#include "api/core/reply.h"
#include "api/http/request_job.h"
#include "api/http/request_reply.h"
#include "service/app/quota.h"
#include "service/candidates/candidates.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM_BYTES = 16 << 10, DISCARD_STALL_MS = 2000, RATE_GRACE_MS = 10000 };

/* 30 s for a body; an upload has longer, as long as it comes at a fair rate after a grace. */
static void set_body_deadline(struct request *request)
{
    int64_t deadline_ms = request->body_deadline_ms;
    if (request_is_streamed(request)) {
        int64_t fair_ms = request->body_deadline_ms - request->shared->upload_ms + RATE_GRACE_MS +
                          request->received / REQUEST_RATE_BYTES_PER_MS;
        deadline_ms = fair_ms < deadline_ms ? fair_ms : deadline_ms;
    }
    request_set_deadline(request, deadline_ms);
}

enum MHD_Result request_body_start(struct request *request)
{
    struct requests *shared = request->shared;
    request->stage = STAGE_BODY;
    request->before_pieces = arena_mark(&request->call.arena);
    request->body_deadline_ms =
        shared->app->monotonic_ms() + (request_is_streamed(request) ? shared->upload_ms : shared->body_ms);
    set_body_deadline(request);
    if (request->conn != NULL)
        memcpy(request->conn->late, request->call.trace.id, sizeof request->conn->late);
    request_set_farewell(request, request->conn == NULL ? NULL : request->conn->late);
    return MHD_YES;
}

static void count_less(const struct request *request, int64_t bytes)
{
    atomic_fetch_sub(&request->shared->traffic.body_bytes, bytes);
    (void)quota_hold_bodies(request->project, -bytes);
}

/* Counted in any case.  False: that is too much for all, or for the project, unless it has this body alone. */
static bool count_more(struct request *request, int64_t bytes, size_t room)
{
    struct requests *shared = request->shared;
    request->project = request->room == 0 ? request->call.caller.quota : request->project;
    int64_t all = atomic_fetch_add(&shared->traffic.body_bytes, bytes) + bytes, left = shared->bodies_limit - all;
    int64_t own = quota_hold_bodies(request->project, bytes);
    return left >= 0 && (own <= (int64_t)room || share_leaves_room((double)left, (double)own));
}

/* Room for so many bytes and a NUL.  What is small has room beside the large ones: connections bound it. */
static enum status reserve(struct request *request, size_t bytes, struct error *err)
{
    struct requests *shared = request->shared;
    size_t           room = request->room == 0 ? FIRST_ROOM_BYTES : request->room;
    while (room <= bytes)
        room *= 2;
    if (room == request->room)
        return STATUS_OK;
    int64_t more = (int64_t)(room - request->room);
    if (!count_more(request, more, room) && bytes > REQUEST_LARGE_BYTES) {
        count_less(request, more);
        return error_set(err, STATUS_BUSY, "busy", "", "too many bodies are being received");
    }
    bool  has_room = arena_pool_take(shared->app->memory, (size_t)more);
    char *bigger = has_room ? realloc(request->body, room) : NULL;
    if (bigger == NULL) {
        count_less(request, more);
        arena_pool_give(shared->app->memory, has_room ? (size_t)more : 0);
        return error_no_memory(err);
    }
    request->body = bigger;
    request->room = room;
    return STATUS_OK;
}

/* The library can answer only when the body has come; a client that stops sending gets the answer as its farewell. */
enum MHD_Result request_body_discard(struct request *request)
{
    request->stage = STAGE_DISCARD;
    request->call.reply.close = true;
    request_free_body(request);
    request_set_deadline(request, request->shared->app->monotonic_ms() + DISCARD_STALL_MS);
    const char *bytes = request_reply_bytes(request);
    if (bytes != NULL)
        request_set_farewell(request, bytes);
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
        return request_body_discard(request);
    }
    memcpy(request->body + call->body_bytes, data, taken);
    call->body = request->body;
    call->body_bytes += taken;
    request->received += (int64_t)taken;
    *length -= taken;
    if (request->received == request->declared)
        return request_submit(request, STAGE_WORK);
    set_body_deadline(request);
    return call->body_bytes == CANDIDATES_PIECE_MAX ? request_submit(request, STAGE_PIECE) : MHD_YES;
}

enum MHD_Result request_body_take(struct request *request, const char *data, size_t *length)
{
    struct error error;
    if (request_is_streamed(request))
        return stream(request, data, length);
    enum status status = collect(request, data, *length, &error);
    *length = 0;
    if (status == STATUS_OK) {
        set_body_deadline(request);
        return MHD_YES;
    }
    reply_problem(&request->call, &error);
    return request_body_discard(request);
}

enum MHD_Result request_body_pass(struct request *request, size_t *length)
{
    int64_t stall_ms = request->shared->app->monotonic_ms() + DISCARD_STALL_MS;
    request->discarded += (int64_t)*length;
    if (*length == 0)
        return request_send(request);
    *length = 0;
    request_set_deadline(request, stall_ms < request->body_deadline_ms ? stall_ms : request->body_deadline_ms);
    return request->discarded > REQUEST_DISCARD_MAX_BYTES ? MHD_NO : MHD_YES;
}

/* A piece that is through leaves nothing behind; the time a worker took does not count against the client. */
enum MHD_Result request_body_go_on(struct request *request, const char *data, size_t *length)
{
    struct call *call = &request->call;
    if (request->failed) {
        (void)request_body_discard(request);
        return *length == 0 ? MHD_YES : request_body_pass(request, length);
    }
    arena_release(&call->arena, request->before_pieces);
    call->offset += (int64_t)call->body_bytes;
    call->body_bytes = 0;
    request->body_deadline_ms += request->shared->app->monotonic_ms() - request->suspended_ms;
    request->stage = STAGE_BODY;
    set_body_deadline(request);
    return *length == 0 ? MHD_YES : request_body_take(request, data, length);
}
