/* See reply.h.  HTTP status numbers are in the list of problems, and here; handlers know those of their successes. */
#include "api/core/reply.h"

#include "api/core/cursor.h"
#include "api/base/json_text.h"
#include "api/base/problem.h"
#include "api/core/route.h"
#include "api/base/compress.h"
#include "service/base/etag.h"
#include "service/base/text.h"
#include "service/member/codec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_WHOLE_BYTES = 16 << 10 };

static const struct {
    int         http;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
};

/* All failures of computations have one code, whatever part failed; a code that is not listed is a fault of the program. */
static const struct problem_kind *problem_of(const struct error *error)
{
    const struct problem_kind *listed = problem_find(error->status == STATUS_NUMERIC ? "numeric" : error->code);
    return listed == NULL ? problem_find("internal") : listed;
}

int reply_http(const struct error *error)
{
    return problem_of(error)->http;
}

const char *reply_title(int http)
{
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (titles[i].http == http)
            return titles[i].title;
    return "Error";
}

/* A text that begins with a verb says something of a member: its subject is the last name of the path, of an item of a list
 * the list's name, too. */
static json_t *sentence(const struct error *problem)
{
    static const char *const verbs[] = {"must ", "is ", "has ", "goes ", "needs ", "exists ", "does ", "breaks "};
    const char              *path = problem->path, *name = strrchr(path, '/');
    size_t                   verb = 0, count = sizeof verbs / sizeof *verbs;
    while (verb < count && strncmp(problem->text, verbs[verb], strlen(verbs[verb])) != 0)
        verb++;
    if (verb == count || (path[0] == '\0' && problem->status != STATUS_INVALID))
        return json_string(problem->text);
    while (name > path && strspn(name + 1, "0123456789/") == strlen(name + 1)) // back to the name of the list
        while (*--name != '/')
            continue;
    bool is_item = name == path && strspn(path, "0123456789/") == strlen(path); // of a body that is a list
    name = name != NULL ? name + 1 : path[0] == '?' ? path + 1 : "the body";
    return json_sprintf("%s%s %s", is_item ? "item " : "", name, problem->text);
}

static json_t *with_more(json_t *detail, size_t more)
{
    json_t *both = json_sprintf("%s (%zu more %s in errors)", json_string_value(detail), more,
                                more == 1 ? "problem is" : "problems are");
    json_decref(detail);
    return both;
}

/* "?name" is a parameter of the query.  What a request without a body is wrong with is one too, or in its path. */
static void add_culprit(const struct call *call, const struct error *problem, json_t **list)
{
    const struct form *form = call->route == NULL ? NULL : call->route->form;
    bool is_query = problem->path[0] == '?', has_body = call->route == NULL || call->route->body != BODY_NONE;
    if (!has_body && form != NULL && form->query != NULL && problem->path[0] == '/')
        is_query = codec_member(form->query, problem->path + 1) != NULL;
    if (problem->path[0] != '\0' && (is_query || has_body))
        codec_append(list, json_pack("{s:s, s:o}", is_query ? "parameter" : "pointer", problem->path + is_query,
                                     "detail", sentence(problem)));
}

void reply_plain(const struct problem_kind *problem, const char *detail, const char *request_id, char *text,
                 size_t room)
{
    (void)snprintf(text, room,
                   "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\",\"detail\":\"%s\","
                   "\"request_id\":\"%s\"}",
                   problem->code, reply_title(problem->http), problem->http, problem->code, detail, request_id);
}

/* The list of culprits; empty when none has a pointer; NULL: no memory. */
static json_t *problems_json(const struct call *call, const struct error *error)
{
    const struct problems *problems = &call->problems;
    json_t                *list = json_array();
    for (size_t i = 0; i < problems->len; i++)
        add_culprit(call, &problems->items[i], &list);
    if (problems->len == 0)
        add_culprit(call, error, &list);
    return list;
}

static int retry_after_seconds(const struct error *error, int http)
{
    if (error->retry_after_seconds > 0)
        return error->retry_after_seconds;
    if (http == 503 || http == 507)
        return error->status == STATUS_FULL ? 30 : 1;
    if (http == 429)
        return error->status == STATUS_BUSY ? 1 : 60;
    return 0;
}

/* The body, too, says when to ask again. */
static void add_next(json_t **json, const struct error *error, int seconds)
{
    const char *next = error->next != NULL ? error->next : seconds > 0 ? "wait" : NULL;
    if (next == NULL)
        return;
    codec_put(json, "next", json_string(next));
    codec_put(json, "next_seconds", seconds > 0 ? json_integer(seconds) : json_null());
}

void reply_problem(struct call *call, const struct error *error)
{
    struct reply              *reply = &call->reply;
    const struct problem_kind *problem = problem_of(error);
    int                        http = problem->http;
    json_t                    *list = problems_json(call, error), *detail = sentence(error);
    size_t                     more = json_array_size(list) > 1 ? json_array_size(list) - 1 : 0;
    if (more > 0 && (http == 422 || http == 409))
        detail = with_more(detail, more);
    json_t *json = json_pack("{s:o, s:s, s:i, s:s, s:o, s:s}", "type", json_sprintf("/problems/%s", problem->code),
                             "title", reply_title(http), "status", http, "code", problem->code, "detail", detail,
                             "request_id", call->trace.id);
    if (list == NULL || json_array_size(list) > 0)
        codec_put(&json, "errors", json_incref(list));
    if (error->reason[0] != '\0')
        codec_put(&json, "reason", json_string(error->reason));
    if (error->lease_ends_ms != 0)
        codec_put(&json, "next_lease_expires_at", codec_time_json(error->lease_ends_ms));
    add_next(&json, error, retry_after_seconds(error, http));
    *reply = (struct reply){.http = http,
                            .type = "application/problem+json",
                            .close = reply->close,
                            .allow = reply->allow,
                            .preference = reply->preference};
    (void)snprintf(reply->code, sizeof reply->code, "%s", error->code); // the code that the log will show
    if (http == 500 || http == 507)
        reply->detail = arena_strndup(&call->arena, error->text, strlen(error->text));
    reply->bytes = json == NULL ? NULL : json_text(json, &call->arena, &reply->length);
    if (reply->bytes == NULL) {
        problem = problem_find("no_memory");
        reply_plain(problem, "out of memory", call->trace.id, call->plain, sizeof call->plain);
        reply->http = problem->http;
        reply->bytes = call->plain;
        reply->length = strlen(call->plain);
    }
    reply->retry_after_seconds = retry_after_seconds(error, reply->http);
    json_decref(json);
    json_decref(list);
}

static const char *render(struct call *call, json_t *(*as)(struct call *, const void *), size_t *length)
{
    json_t     *json = as(call, call->result);
    const char *text = json == NULL || !cursor_seal(call, json) ? NULL : json_text(json, &call->arena, length);
    json_decref(json);
    if (text == NULL)
        atomic_fetch_add(&call->traffic->render_failures, 1);
    return text;
}

bool reply_render_stored(void *arg, struct kept_reply *out)
{
    struct call *call = arg;
    size_t       length;
    call->for_store = true;
    const char *text = render(call, call->render, &length);
    if (text != NULL && length > KEPT_WHOLE_BYTES && call->render_kept != NULL)
        text = render(call, call->render_kept, &length);
    call->for_store = false;
    *out = (struct kept_reply){
        .http_status = call->reply.http, .body = text, .location = call->reply.location, .etag = call->reply.etag};
    return text != NULL;
}

enum status reply_result(struct call *call, struct error *err)
{
    const struct idempotency *once = &call->caller.idempotency;
    if (once->replayed) {
        const struct kept_reply *first = &once->first;
        call->reply = (struct reply){.http = first->http_status,
                                     .location = first->location,
                                     .etag = first->etag,
                                     .retry_after_seconds = first->http_status == 202 ? REPLY_POLL_SECONDS : 0,
                                     .replayed = true};
        const char *body = first->body;
        size_t      length = body == NULL ? 0 : strlen(body);
        if (body == NULL && (body = render(call, call->render, &length)) == NULL)
            return error_no_memory(err);
        reply_text(call, "application/json", body, length);
        return STATUS_OK;
    }
    if (call->render == NULL)
        return STATUS_OK;
    size_t      length;
    const char *text = render(call, call->render, &length);
    if (text == NULL)
        return error_no_memory(err);
    reply_text(call, "application/json", text, length);
    return STATUS_OK;
}

enum status reply_file(struct call *call, const char *type, int file, int64_t length, struct error *err)
{
    const struct share_owner owner = call_owner(call);
    if (!traffic_take(call->traffic, SHARE_files, &owner)) {
        close(file);
        return error_set(err, STATUS_BUSY, "busy", "", "too many large replies are being sent: ask again");
    }
    reply_text(call, type, "", (size_t)length);
    call->reply.is_file = true;
    call->reply.file = file;
    return STATUS_OK;
}

void reply_drop_file(struct call *call)
{
    if (!call->reply.is_file)
        return;
    const struct share_owner owner = call_owner(call);
    close(call->reply.file);
    traffic_leave(call->traffic, SHARE_files, &owner);
    call->reply.is_file = false;
}

void reply_text(struct call *call, const char *type, const char *bytes, size_t length)
{
    call->reply.type = type;
    call->reply.bytes = bytes;
    call->reply.length = length;
    if (call->reply.http == 0)
        call->reply.http = 200;
}

const char *reply_etag(struct call *call, int64_t version, int64_t revision)
{
    char text[ETAG_BYTES];
    etag_of(version, revision, text);
    return arena_strndup(&call->arena, text, strlen(text));
}

static const char *cache_control(const struct call *call)
{
    unsigned flags = call->route->flags;
    bool     is_final = flags & ROUTE_FINAL || call->reply.is_final;
    return is_final ? "private, max-age=31536000, immutable" : flags & ROUTE_PUBLIC ? "no-cache" : "private, no-cache";
}

/* "tag" -> "tag-gzip": another encoding is another representation. */
static const char *gzip_etag(struct call *call, const char *etag)
{
    return text_format(&call->arena, "%.*s" ETAG_GZIP "\"", (int)strlen(etag) - 1, etag);
}

/* Compresses into a file beside the store, as the reply's own file is, so that neither needs memory; without room for it the
 * reply is sent as it is. */
static void compress_file_reply(struct call *call)
{
    struct reply   *reply = &call->reply;
    struct scratch *packed = arena_alloc(&call->arena, 1, sizeof *packed);
    struct error    hidden;
    int             file;
    const char     *etag = reply->etag == NULL ? NULL : gzip_etag(call, reply->etag);
    if (packed == NULL || (etag == NULL && reply->etag != NULL) ||
        scratch_open(call->app->options.folder, packed, &hidden) != STATUS_OK)
        return;
    if (compress_file(reply->file, packed, &hidden) == STATUS_OK &&
        scratch_finish(packed, &file, &hidden) == STATUS_OK) {
        close(reply->file);
        reply->file = file;
        reply->length = (size_t)packed->bytes;
        reply->is_gzip = true;
        reply->etag = etag;
    }
    scratch_close(packed);
}

static bool is_worth_compressing(const struct call *call)
{
    enum { WORTH_BYTES = 1400 }; // less fits into one packet
    static const char *const texts[] = {"application/json", "application/yaml", "text/", "application/problem+json",
                                        "application/x-ndjson"};
    const struct reply      *reply = &call->reply;
    bool                     is_text = false;
    for (size_t i = 0; reply->type != NULL && i < sizeof texts / sizeof *texts; i++)
        is_text |= strncmp(reply->type, texts[i], strlen(texts[i])) == 0;
    return is_text && reply->length >= WORTH_BYTES && strstr(call->route->path, "token") == NULL;
}

void reply_compress(struct call *call)
{
    struct reply *reply = &call->reply;
    size_t        length;
    if (reply->is_gzip && reply->bytes != NULL) { // it came so
        const char *own = gzip_etag(call, reply->etag);
        reply->etag = own != NULL ? own : reply->etag;
        return;
    }
    if (!call->takes_gzip || !is_worth_compressing(call))
        return;
    if (reply->is_file) {
        compress_file_reply(call);
        return;
    }
    const char *etag = reply->etag == NULL ? NULL : gzip_etag(call, reply->etag);
    const char *bytes = compress_gzip(reply->bytes, reply->length, &call->arena, &length);
    if (bytes == NULL || (etag == NULL && reply->etag != NULL))
        return;
    reply->bytes = bytes;
    reply->length = length;
    reply->etag = etag;
    reply->is_gzip = true;
}

enum status reply_validate(struct call *call, struct error *err)
{
    struct reply *reply = &call->reply;
    char          text[ETAG_BYTES];
    bool          is_had = call->if_none_match != NULL;
    if (strcmp(call->route->method, "GET") != 0 || call->route->flags & ROUTE_UNKEPT ||
        (reply->http != 200 && reply->http != 304) || (reply->is_file && reply->etag == NULL))
        return STATUS_OK;
    if (reply->etag == NULL) {
        etag_of_bytes(reply->bytes, reply->length, text);
        reply->etag = arena_strndup(&call->arena, text, strlen(text));
    }
    if (reply->etag == NULL)
        return error_no_memory(err);
    enum status status = etag_check(call->if_match, reply->etag, err);
    bool        is_304 = is_had && etag_is_in(call->if_none_match, reply->etag, true);
    if (status != STATUS_OK || is_304)
        reply_drop_file(call);
    TRY(status);
    reply->cache = cache_control(call);
    if (is_304) {
        if (etag_is_in_gzip(call->if_none_match, reply->etag)) // the client's copy is packed
            reply->etag = gzip_etag(call, reply->etag);
        reply->http = 304;
        reply->is_gzip = false;
        reply->type = NULL;
        reply->bytes = NULL;
        reply->length = 0;
    }
    return STATUS_OK;
}
