/* Replies: the HTTP status of errors, problem documents, and JSON as text. */
#include "api/core/reply.h"
#include "api/base/json_text.h"
#include "tests/unit/api/suites.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct traffic counts;

static void open_call(struct call *call)
{
    *call = (struct call){.traffic = &counts};
    arena_init(&call->arena, 4 << 20);
    call->problems.arena = &call->arena;
}

static void test_http(void)
{
    static const struct {
        enum status status;
        const char *code;
        int         http;
    } rows[] = {
        {STATUS_INVALID, "out_of_range", 422},
        {STATUS_INVALID, "malformed_json", 400},
        {STATUS_INVALID, "bad_request", 400},
        {STATUS_INVALID, "method_not_allowed", 405},
        {STATUS_INVALID, "length_required", 411},
        {STATUS_INVALID, "unsupported_media_type", 415},
        {STATUS_INVALID, "expectation_failed", 417},
        {STATUS_INVALID, "uri_too_long", 414},
        {STATUS_INVALID, "headers_too_large", 431},
        {STATUS_INVALID, "precondition_required", 428},
        {STATUS_INVALID, "not_implemented", 501},
        {STATUS_UNAUTHORISED, "unauthorized", 401},
        {STATUS_UNAUTHORISED, "too_many_requests", 429},
        {STATUS_FORBIDDEN, "forbidden", 403},
        {STATUS_NOT_FOUND, "study_not_found", 404},
        {STATUS_CONFLICT, "trial_finished", 409},
        {STATUS_STALE, "stale_version", 412},
        {STATUS_TOO_LARGE, "body_too_large", 413},
        {STATUS_BUSY, "busy", 503},
        {STATUS_FULL, "disk_full", 507},
        {STATUS_NO_MEMORY, "no_memory", 503},
        {STATUS_NUMERIC, "numeric", 500},
        {STATUS_NUMERIC, "singular", 500}, // what a computation could not do
        {STATUS_INTERNAL, "internal", 500},
        {STATUS_INVALID, "listed_by_nobody", 500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error;
        (void)error_set(&error, rows[i].status, rows[i].code, "", "text");
        CU_ASSERT_EQUAL(reply_http(&error), rows[i].http);
        CU_ASSERT_STRING_NOT_EQUAL(reply_title(rows[i].http), "Error");
    }
}

static void test_problem(void)
{
    struct call  call;
    struct error error;
    open_call(&call);
    trace_begin(&call.trace, "run-7", NULL);
    (void)error_set(&error, STATUS_INVALID, "out_of_range", "/space/parameters/3/min", "must be \"less\" than %g",
                    2.385);
    reply_problem(&call, &error);
    CU_ASSERT_EQUAL(call.reply.http, 422);
    CU_ASSERT_STRING_EQUAL(call.reply.type, "application/problem+json");
    CU_ASSERT_STRING_EQUAL(call.reply.bytes,
                           "{\"type\":\"/problems/out_of_range\",\"title\":\"Unprocessable Content\",\"status\":422,"
                           "\"code\":\"out_of_range\",\"detail\":\"min must be \\\"less\\\" than 2.385\","
                           "\"request_id\":\"run-7\",\"errors\":[{\"pointer\":\"/space/parameters/3/"
                           "min\",\"detail\":\"min must be \\\"less\\\" than 2.385\"}]}");
    CU_ASSERT_EQUAL(call.reply.length, strlen(call.reply.bytes));
    (void)error_set(&error, STATUS_BUSY, "busy", "", "later");
    reply_problem(&call, &error);
    CU_ASSERT_EQUAL(call.reply.retry_after_seconds, 1);
    CU_ASSERT_PTR_NULL(strstr(call.reply.bytes, "errors"));
    arena_fini(&call.arena);
}

static void test_many_problems(void)
{
    struct call  call;
    struct error error;
    open_call(&call);
    for (int i = 0; i < 150; i++) {
        char path[32];
        snprintf(path, sizeof path, "/observations/%d/value", i);
        (void)error_set(&error, STATUS_INVALID, "wrong_type", path, "must be a number");
        problems_add(&call.problems, &error);
    }
    CU_ASSERT_EQUAL(problems_first(&call.problems, &error), STATUS_INVALID);
    reply_problem(&call, &error);
    json_t *json = json_loads(call.reply.bytes, 0, NULL);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "errors")), PROBLEMS_MAX);
    json_decref(json);
    arena_fini(&call.arena);
}

static const char *code_of(const json_t *json)
{
    return json_string_value(json_object_get(json, "code"));
}

/* A code that is not listed becomes a listed one, and the log has the original. */
static void test_unlisted(void)
{
    struct call  call;
    struct error error;
    open_call(&call);
    (void)error_set(&error, STATUS_INVALID, "listed_by_nobody", "", "text");
    reply_problem(&call, &error);
    json_t *json = json_loads(call.reply.bytes, 0, NULL);
    CU_ASSERT_STRING_EQUAL(code_of(json), "internal");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "type")), "/problems/internal");
    CU_ASSERT_STRING_EQUAL(call.reply.code, "listed_by_nobody");
    json_decref(json);
    arena_fini(&call.arena);
}

/* Every row is found, and fits into the room for a reply without memory, with the longest id. */
static void test_plain(void)
{
    char id[TRACE_ID_MAX + 1], text[REPLY_PLAIN_BYTES];
    memset(id, 'a', TRACE_ID_MAX);
    id[TRACE_ID_MAX] = '\0';
    for (size_t i = 0; i < problem_table_len; i++) {
        CU_ASSERT_PTR_EQUAL(problem_find(problem_table[i].code), &problem_table[i]);
        CU_ASSERT_STRING_NOT_EQUAL(reply_title(problem_table[i].http), "Error");
        reply_plain(&problem_table[i], "the service is stopping", id, text, sizeof text);
        json_t *json = json_loads(text, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        CU_ASSERT_STRING_EQUAL(code_of(json), problem_table[i].code);
        json_decref(json);
    }
    CU_ASSERT_PTR_NULL(problem_find(""));
    CU_ASSERT_PTR_NULL(problem_find("zzz"));
}

/* Without any memory there is still an answer. */
static void test_no_memory(void)
{
    struct call  call;
    struct error error;
    open_call(&call);
    arena_fini(&call.arena);
    arena_init(&call.arena, 0);
    (void)error_set(&error, STATUS_INVALID, "out_of_range", "/a", "text");
    reply_problem(&call, &error);
    CU_ASSERT_EQUAL(call.reply.http, 503);
    json_t *json = json_loadb(call.reply.bytes, call.reply.length, 0, NULL);
    CU_ASSERT_STRING_EQUAL(code_of(json), "no_memory");
    json_decref(json);
}

static json_t *render_nothing(struct call *call, const void *result)
{
    (void)call, (void)result;
    return NULL;
}

static json_t *render_secret(struct call *call, const void *result)
{
    (void)result;
    return json_pack("{s:s?}", "token", call->for_store ? NULL : "hidden");
}

static void test_render(void)
{
    struct call       call;
    struct error      err;
    struct kept_reply kept;
    open_call(&call);
    uint64_t before = atomic_load(&counts.render_failures);
    (void)call_result(&call, 201, render_nothing, 0);
    CU_ASSERT_EQUAL(reply_result(&call, &err), STATUS_NO_MEMORY);
    CU_ASSERT_EQUAL(atomic_load(&counts.render_failures), before + 1);
    (void)call_result(&call, 201, render_secret, 0);
    call.reply.location = "/v1/s";
    call.reply.etag = "\"1\"";
    CU_ASSERT_TRUE(reply_render_stored(&call, &kept));
    CU_ASSERT_STRING_EQUAL(kept.body, "{\"token\":null}");
    CU_ASSERT_EQUAL(kept.http_status, 201);
    CU_ASSERT_EQUAL(reply_result(&call, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(call.reply.bytes, "{\"token\":\"hidden\"}");
    call.reply = (struct reply){0};
    call.caller.idempotency = (struct idempotency){.replayed = true, .first = kept};
    CU_ASSERT_EQUAL(reply_result(&call, &err), STATUS_OK);
    CU_ASSERT_TRUE(call.reply.replayed);
    CU_ASSERT_EQUAL(call.reply.http, 201);
    CU_ASSERT_STRING_EQUAL(call.reply.location, "/v1/s");
    CU_ASSERT_STRING_EQUAL(call.reply.etag, "\"1\"");
    CU_ASSERT_EQUAL(call.reply.length, 14);
    arena_fini(&call.arena);
}

static void check_text(const char *text)
{
    struct arena arena;
    size_t       length;
    json_t      *json = json_loads(text, JSON_DECODE_ANY, NULL);
    arena_init(&arena, 1 << 20);
    const char *written = json_text(json, &arena, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(written);
    CU_ASSERT_STRING_EQUAL(written, text);
    CU_ASSERT_EQUAL(length, strlen(text));
    json_decref(json);
    arena_fini(&arena);
}

static void test_write(void)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "[[],{}]",
                                        "null",
                                        "true",
                                        "false",
                                        "\"a\\\"b\\\\\\n\"",
                                        "{\"z\":1,\"a\":[0.1,2.5,1e-05,-3.0]}",
                                        "{\"a\\\"b\":{\"c\":\"\xc3\xa9\"}}",
                                        "9007199254740993",
                                        "1e+300",
                                        "[0.1,0.30000000000000004,4.94065645841247e-324]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_text(texts[i]);
}

static void test_numbers_read_back(void)
{
    uint64_t bits = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 20000; i++) {
        struct arena arena;
        size_t       length;
        double       value;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        json_t *json = json_real(value);
        if (json == NULL) // not finite
            continue;
        arena_init(&arena, 1 << 16);
        const char *text = json_text(json, &arena, &length);
        CU_ASSERT_EQUAL(strtod(text, NULL), value);
        CU_ASSERT(strlen(text) <= 26);
        json_decref(json);
        arena_fini(&arena);
    }
}

static void test_write_no_memory(void)
{
    struct arena arena;
    size_t       length;
    json_t      *json = json_pack("[s,s]", "a", "b");
    arena_init(&arena, 128);
    CU_ASSERT_PTR_NULL(json_text(json, &arena, &length));
    CU_ASSERT_PTR_NULL(json_text(NULL, &arena, &length));
    json_decref(json);
    arena_fini(&arena);
}

CU_TestInfo suite_reply[] = {
    {"HTTP status", test_http},
    {"problem", test_problem},
    {"many problems", test_many_problems},
    {"a code that nobody listed", test_unlisted},
    {"replies without an allocation", test_plain},
    {"problem without memory", test_no_memory},
    {"results, stored and shown", test_render},
    {"JSON as text", test_write},
    {"numbers read back equal", test_numbers_read_back},
    {"text without memory", test_write_no_memory},
    CU_TEST_INFO_NULL,
};
