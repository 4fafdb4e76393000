/* See dispatch.h. */
#include "api/core/dispatch.h"

#include "api/base/compress.h"
#include "api/core/cursor.h"
#include "api/core/reply.h"
#include "service/member/codec.h"
#include "service/base/digest.h"
#include "service/base/etag.h"
#include "service/app/memory.h"
#include "service/app/home.h"
#include "service/app/quota.h"
#include "service/app/token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { KEY_MAX = 128, TOKEN_MAX = 256, LARGE_BYTES = 64 << 10 };
static const int64_t upload_max_bytes = (int64_t)8 * SPACE_CANDIDATES_MAX * SPACE_COLUMNS_MAX + 4096;

static enum status bad_request(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID, "bad_request", "", "%s", text);
}

/* The media type without its parameters. */
static bool is_type(const char *header, const char *type)
{
    size_t length = strlen(type);
    return strncasecmp(header, type, length) == 0 && strchr(" ;\t", header[length]) != NULL;
}

static enum status check_type(struct call *call, const char *type, struct error *err)
{
    enum body_kind kind = call->route->body;
    call->is_csv = kind == BODY_IMPORT && type != NULL && is_type(type, "text/csv");
    call->is_npy = (kind == BODY_NPY || kind == BODY_VECTOR) && type != NULL && is_type(type, "application/x-npy");
    bool is_lines = kind == BODY_LINES && type != NULL && is_type(type, "application/x-ndjson");
    bool good =
        type != NULL && (body_is_streamed(kind) ? call->is_npy || is_lines
                                                : call->is_csv || call->is_npy || is_type(type, "application/json"));
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, "unsupported_media_type", "", "the body must be %s",
                            kind == BODY_NPY      ? "application/x-npy"
                            : kind == BODY_LINES  ? "application/x-ndjson"
                            : kind == BODY_IMPORT ? "application/json or text/csv"
                            : kind == BODY_VECTOR ? "application/json or application/x-npy"
                                                  : "application/json");
}

/* "bytes 1048576-2097151/8000128", exactly as long as the body; without it the body is the whole file. */
static enum status read_range(struct call *call, const char *range, int64_t body_bytes, struct error *err)
{
    long long first = 0, last = body_bytes - 1, total = body_bytes;
    int       used = 0;
    if (body_bytes < 0)
        return error_set(err, STATUS_INVALID, "length_required", "", "an upload must say its Content-Length");
    if (body_bytes == 0)
        return bad_request(err, "an upload cannot be empty");
    if (range != NULL &&
        (strlen(range) > 64 || strspn(range, "bytes 0123456789-/") != strlen(range) ||
         sscanf(range, "bytes %18lld-%18lld/%18lld%n", &first, &last, &total, &used) != 3 || range[used] != '\0'))
        return bad_request(err, "Content-Range must be \"bytes first-last/total\"");
    if (first < 0 || last < first || total <= last || last - first + 1 != body_bytes)
        return bad_request(err, "Content-Range does not fit the Content-Length");
    if (total > upload_max_bytes)
        return error_set(err, STATUS_TOO_LARGE, "body_too_large", "", "no upload is that large");
    call->offset = first;
    call->total = total;
    call->is_whole = body_bytes == total;
    return STATUS_OK;
}

enum status dispatch_too_large(const struct call *call, struct error *err)
{
    return error_set(err, STATUS_TOO_LARGE, "body_too_large", "", "the limit is %lld bytes%s",
                     (long long)call->body_limit,
                     call->route->body == BODY_IMPORT ? ": send the trials in parts, or with gnomon import" : "");
}

static enum status check_body(struct call *call, const struct gate_headers *headers, int64_t body_bytes,
                              struct error *err)
{
    enum body_kind kind = call->route->body;
    if (body_is_streamed(kind))
        TRY(read_range(call, headers->content_range, body_bytes, err));
    if (kind == BODY_NONE)
        return body_bytes == 0 ? STATUS_OK : bad_request(err, "this request has no body");
    if (kind == BODY_OPTIONAL && body_bytes == 0)
        return STATUS_OK;
    if (!body_is_streamed(kind) && body_bytes > call->body_limit)
        return dispatch_too_large(call, err);
    return check_type(call, headers->content_type, err);
}

static enum status keep(struct call *call, const char *header, const char **out, struct error *err)
{
    if (header == NULL)
        return STATUS_OK;
    *out = arena_strndup(&call->arena, header, strlen(header));
    return *out == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status keep_headers(struct call *call, const struct gate_headers *headers, struct error *err)
{
    const char *key = headers->idempotency_key, *token = headers->authorization;
    if (key != NULL && (*key == '\0' || strlen(key) > KEY_MAX || strchr(key, ' ') || strchr(key, '\t')))
        return bad_request(err, "an Idempotency-Key has 1 to 128 visible characters");
    for (const char *c = key; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c > 0x7e)
            return bad_request(err, "an Idempotency-Key has 1 to 128 visible characters");
    TRY(keep(call, key, &call->idempotency_key, err));
    TRY(keep(call, headers->if_match, &call->if_match, err));
    TRY(keep(call, headers->if_none_match, &call->if_none_match, err));
    call->wants_npy = headers->accept != NULL && strstr(headers->accept, "application/x-npy") != NULL;
    call->wants_csv = headers->accept != NULL && strstr(headers->accept, "text/csv") != NULL;
    call->wants_events = headers->accept != NULL && strstr(headers->accept, "text/event-stream") != NULL;
    TRY(keep(call, headers->last_event_id, &call->last_event_id, err));
    call->takes_gzip = compress_is_accepted(headers->accept_encoding);
    TRY(keep(call, headers->prefer, &call->prefer, err));
    bool is_bearer = token != NULL && strncasecmp(token, "Bearer ", 7) == 0 && strlen(token) <= TOKEN_MAX;
    return is_bearer ? keep(call, token + 7, &call->token, err) : STATUS_OK;
}

enum status dispatch_head(struct call *call, const struct gate_headers *headers, const char *method,
                          int64_t *body_bytes, struct error *err)
{
    TRY(gate_check(headers, method, body_bytes, err));
    TRY(keep(call, headers->origin, &call->origin, err));
    TRY(route_find(call, method, err));
    bool is_health = (call->route->flags & ROUTE_HEALTH) != 0;
    if (call->listener == LISTENER_HEALTH && !is_health)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such path");
    if (atomic_load(call->draining) && !is_health)
        return error_set(err, STATUS_BUSY, "draining", "", "the service is stopping");
    TRY(check_body(call, headers, *body_bytes, err));
    return keep_headers(call, headers, err);
}

bool dispatch_options(struct call *call, const char *method)
{
    if (strcmp(method, "OPTIONS") != 0 || call->reply.allow == NULL)
        return false;
    call->reply = (struct reply){.http = 204, .allow = call->reply.allow};
    return true;
}

/* Resources of another project are reported as missing, as are those that a bound token may not see. */
static enum status check_resource(const struct call *call, bool cached_only, struct error *err)
{
    const char *thing = route_thing(call->route);
    if (thing == NULL)
        return STATUS_OK;
    return cached_only ? home_check_from_memory(call->app, &call->caller, thing, call->params[0], err)
                       : home_check(call->app, &call->caller, thing, call->params[0], err);
}

/* Routes about the server are for operators, and for the default project, which had them before there were projects. */
static bool may_call(const struct call *call)
{
    const struct caller *caller = &call->caller;
    unsigned             flags = call->route->flags;
    bool                 is_bound = caller_is_bound(caller), is_operator = caller->scope == SCOPE_OPERATOR;
    bool                 is_foreign = !is_operator && !caller_has(caller, CALLER_DEFAULT_PROJECT);
    return (call->route->scopes & 1u << caller->scope) && !(is_bound && flags & ROUTE_GLOBAL) &&
           !(is_foreign && flags & ROUTE_SERVER);
}

enum status dispatch_authorise(struct call *call, bool cached_only, struct error *err)
{
    const struct route *route = call->route;
    if (route->flags & ROUTE_PUBLIC || (call->listener == LISTENER_HEALTH && route->flags & ROUTE_HEALTH))
        return STATUS_OK;
    if (call->listener == LISTENER_LOCAL) {
        call->caller.scope = SCOPE_ADMIN;
        snprintf(call->caller.token_id, sizeof call->caller.token_id, "local");
        return STATUS_OK;
    }
    if (call->token == NULL)
        return error_set(err, STATUS_UNAUTHORISED, "unauthorized", "", "a valid bearer token is required");
    TRY(token_check(call->app, call->token, cached_only, &call->caller, err));
    if (!call->is_counted)
        TRY(quota_take(call->app, &call->caller, err));
    call->is_counted = true;
    if (!may_call(call))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token's scope does not allow that");
    return check_resource(call, cached_only, err);
}

/* Reads on in a body that is an object, whatever else is wrong with it. */
static enum status read_rest(struct call *call, const struct form *form, struct error *err)
{
    struct reading in = {.err = err, .problems = &call->problems};
    enum status    whole;
    if (form->rest != NULL && json_is_object(call->json))
        TRY(codec_read_on(&in, form->rest(call, err), &whole));
    return form->reads_on && json_is_object(call->json) ? STATUS_OK : problems_first(&call->problems, err);
}

/* A handler that reads on is asked although there are mistakes, and the reply has those that it finds, too. */
static enum status handle(struct call *call, struct error *err)
{
    struct reading in = {.err = err, .problems = &call->problems};
    enum status    whole;
    TRY(codec_read_on(&in, call->route->handle(call, err), &whole));
    return problems_first(&call->problems, err);
}

/* Path, query and body become the input struct. */
static enum status read_input(struct call *call, struct error *err)
{
    const struct form *form = call->route->form;
    if (form != NULL && form->bytes > 0)
        call->input = arena_zalloc(&call->arena, 1, form->bytes);
    TRY(cursor_open(call, err));
    call->query_json = schema_query(form == NULL ? NULL : form->query, call->query, call->query_len, &call->problems);
    if (call->query_json == NULL || (form != NULL && form->bytes > 0 && call->input == NULL))
        return error_no_memory(err);
    size_t known = call->problems.len;
    if (form != NULL && form->query != NULL)
        schema_read(form->query, call->query_json, call->input, &call->problems);
    for (; known < call->problems.len; known++)
        call->problems.items[known].path[0] = '?';
    TRY(problems_first(&call->problems, err));
    if (call->route->body == BODY_NONE || call->route->body == BODY_LINES || call->is_npy || call->is_csv)
        return STATUS_OK;
    bool is_empty = call->body_bytes == 0 && call->route->body == BODY_OPTIONAL;
    TRY(codec_parse(is_empty ? "{}" : call->body, is_empty ? 2 : call->body_bytes, &call->json, err));
    if (call->route->body == BODY_VECTOR) // the handler reads the array
        return STATUS_OK;
    schema_read(form->body, call->json, call->input, &call->problems);
    return read_rest(call, form, err);
}

/* The first answer under a key is kept and given again: see struct idempotency. */
static enum status set_idempotency(struct call *call, struct error *err)
{
    if (call->idempotency_key == NULL || !(call->route->flags & ROUTE_CHANGES))
        return STATUS_OK;
    size_t head = strlen(call->uri) + strlen(call->route->method) + 2;
    char  *text = arena_alloc(&call->arena, head + call->body_bytes + 1, 1);
    char  *fingerprint = arena_alloc(&call->arena, SHA256_HEX_BYTES, 1);
    if (text == NULL || fingerprint == NULL)
        return error_no_memory(err);
    snprintf(text, head + 1, "%s %s\n", call->route->method, call->uri);
    if (call->body_bytes > 0)
        memcpy(text + head, call->body, call->body_bytes);
    sha256_hex(text, head + call->body_bytes, fingerprint);
    call->caller.idempotency = (struct idempotency){.key = call->idempotency_key,
                                                    .fingerprint = fingerprint,
                                                    .path = call->uri,
                                                    .render = reply_render_stored,
                                                    .render_arg = call};
    return STATUS_OK;
}

static enum status may_write(void *arg, struct error *err)
{
    const struct call *call = arg;
    return problems_first(&call->problems, err);
}

static bool has_left(void *arg)
{
    struct call *call = arg;
    return atomic_load(&call->has_left);
}

/* Where no use case compares tags, "*" alone holds of what is changed. */
static enum status check_if_match(const struct call *call, struct error *err)
{
    const char *method = call->route->method;
    bool        is_compared = (call->route->flags & ROUTE_MATCHES) != 0;
    if (call->if_match == NULL || is_compared || strcmp(method, "GET") == 0 || strcmp(method, "POST") == 0)
        return STATUS_OK;
    return etag_check(call->if_match, "not compared", err);
}

static enum status finish(struct call *call, struct error *err)
{
    TRY(reply_result(call, err));
    TRY(reply_validate(call, err));
    reply_compress(call);
    return STATUS_OK;
}

/* Whether a request may take much memory: on a lane of its own, but for a computation that may still be deferred. */
static bool may_take_much(const struct call *call)
{
    enum route_lane lane = call->route->lane;
    return lane == LANE_READ || (lane == LANE_COMPUTE && !call->caller.may_defer) || call->body_bytes > LARGE_BYTES;
}

static enum status check_rows(const struct call *call, struct error *err)
{
    const struct route *route = call->route;
    bool                is_let =
        (strcmp(route->method, "GET") == 0 && route->lane != LANE_COMPUTE) || strcmp(route->method, "DELETE") == 0;
    return is_let || route_thing(route) == NULL ? STATUS_OK : app_check_rows(call->app, call->params[0], err);
}

/* Where it waited for a thread, perhaps for longer than anybody waits for an answer, it ends here. */
static enum status run(struct call *call, struct error *err)
{
    call->caller.arena = &call->arena;
    call->caller.until_ms = call->until_ms;
    call->caller.has_left = has_left;
    call->caller.may_write = may_write;
    call->caller.request = call;
    call->problems.arena = &call->arena;
    if (call->route->lane != LANE_SHORT)
        TRY(app_go_on(call->app, &call->caller, err));
    if (may_take_much(call))
        TRY(memory_admit(call->app, &call->caller, err));
    call->caller.if_match = call->if_match;
    TRY(check_rows(call, err));
    TRY(check_if_match(call, err));
    TRY(read_input(call, err));
    TRY(set_idempotency(call, err));
    TRY(handle(call, err));
    return call->follow.again != NULL ? STATUS_OK : finish(call, err);
}

bool dispatch_run(struct call *call)
{
    struct error error = {.status = STATUS_OK};
    bool         good = run(call, &error) == STATUS_OK;
    memory_let_go(call->app, &call->caller);
    if (!good && !call->caller.is_deferred)
        reply_problem(call, &error);
    json_decref(call->json);
    json_decref(call->query_json);
    call->json = call->query_json = NULL;
    return good;
}

/* A failure within a stream ends it. */
bool dispatch_again(struct call *call)
{
    struct error error = {.status = STATUS_OK};
    call->caller.until_ms = call->until_ms;
    call->caller.may_defer = false;
    call->reply.bytes = "";
    call->reply.length = 0;
    enum status status = call->follow.again(call, &error);
    memory_let_go(call->app, &call->caller);
    if (status == STATUS_OK && !call->follow.is_stream && call->follow.again == NULL)
        status = finish(call, &error);
    if (status == STATUS_OK)
        return true;
    call->follow.again = NULL;
    if (!call->follow.is_stream)
        reply_problem(call, &error);
    return false;
}

bool dispatch_quick(struct call *call)
{
    call->caller.arena = &call->arena;
    struct error error;
    if (call->route->cached != NULL && call->query_len == 0 && call->route->cached(call)) {
        if (reply_validate(call, &error) != STATUS_OK)
            reply_problem(call, &error);
        return true;
    }
    if (call->route->flags & ROUTE_QUICK)
        (void)dispatch_run(call);
    return (call->route->flags & ROUTE_QUICK) != 0;
}
