/* Decisions when the headers are complete: body kinds, sizes, ranges, keys, listeners, draining. */
#include "api/core/dispatch.h"
#include "tests/unit/api/suites.h"

#include <stdio.h>
#include <string.h>

#define STUDY "/v1/studies/std_abcdefghijklmnop"

struct row {
    const char *method, *uri, *length, *type, *extra_name, *extra, *code; /* code NULL: passes */
};

static const struct row rows[] = {
    {"GET", "/v1/studies", NULL, NULL, NULL, NULL, NULL},
    {"GET", "/v1/studies", "0", NULL, NULL, NULL, NULL},
    {"GET", "/v1/studies", "3", "application/json", NULL, NULL, "bad_request"},
    {"POST", "/v1/studies", "17", "application/json", NULL, NULL, NULL},
    {"POST", "/v1/studies", "17", "Application/JSON; charset=utf-8", NULL, NULL, NULL},
    {"POST", "/v1/studies", "17", "application/jsonp", NULL, NULL, "unsupported_media_type"},
    {"POST", "/v1/studies", "17", "text/csv", NULL, NULL, "unsupported_media_type"},
    {"POST", "/v1/studies", "17", NULL, NULL, NULL, "unsupported_media_type"},
    {"POST", "/v1/studies", "1001", "application/json", NULL, NULL, "body_too_large"},
    {"POST", "/v1/studies", "1000", "application/json", NULL, NULL, NULL},
    {"POST", STUDY "/suggest", NULL, NULL, NULL, NULL, NULL},
    {"POST", STUDY "/suggest", "2", NULL, NULL, NULL, "unsupported_media_type"},
    {"POST", STUDY "/import", "9", "text/csv; header=present", NULL, NULL, NULL},
    {"POST", STUDY "/import", "9", "text/plain", NULL, NULL, "unsupported_media_type"},
    {"PUT", STUDY "/candidates", "70000000", "application/x-npy", NULL, NULL, NULL},
    {"PUT", STUDY "/candidates", "0", "application/x-npy", NULL, NULL, "bad_request"},
    {"PUT", STUDY "/candidates", NULL, "application/x-npy", "Transfer-Encoding", "chunked", "length_required"},
    {"PUT", STUDY "/candidates", "10", "application/json", NULL, NULL, "unsupported_media_type"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 90-99/250", NULL},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 90-98/250", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 90-99/99", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 90-99/*", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 90-99/250 ", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes -9-0/250", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "", "bad_request"},
    {"PUT", STUDY "/candidates", "10", "application/x-npy", "Content-Range", "bytes 0-9/99999999999999",
     "body_too_large"},
    {"POST", "/v1/studies", "17", "application/json", "Idempotency-Key", "!run~7", NULL},
    {"POST", "/v1/studies", "17", "application/json", "Idempotency-Key", "", "bad_request"},
    {"POST", "/v1/studies", "17", "application/json", "Idempotency-Key", "a b", "bad_request"},
    {"POST", "/v1/studies", "17", "application/json", "Idempotency-Key", "caf\xc3\xa9", "bad_request"},
    {"GET", "/nowhere", NULL, NULL, NULL, NULL, "not_found"},
    {"BREW", "/nowhere", NULL, NULL, NULL, NULL, "not_implemented"},
};

/* Header lines lie behind one another, with NULs between their parts. */
static void add(struct gate_headers *headers, char **at, const char *name, const char *value)
{
    if (name == NULL || value == NULL)
        return;
    char  *copy = *at;
    size_t length = strlen(name);
    *at += sprintf(copy, "%s%c%s%c%c", name, 0, value, 0, 0);
    gate_header(headers, copy, length, copy + length + 1, strlen(value));
}

static enum status head(struct call *call, const struct row *row, bool is_draining, enum listener_kind listener,
                        struct error *err)
{
    static atomic_bool  flags[2] = {false, true};
    char                lines[1024], *at = lines;
    struct gate_headers headers = {.at = lines};
    int64_t             body_bytes;
    *call = (struct call){.uri = row->uri, .draining = &flags[is_draining], .listener = listener, .body_limit = 1000};
    *err = (struct error){.status = STATUS_OK};
    arena_init(&call->arena, 1 << 20);
    add(&headers, &at, "Host", "a");
    add(&headers, &at, "Content-Length", row->length);
    add(&headers, &at, "Content-Type", row->type);
    add(&headers, &at, row->extra_name, row->extra);
    return dispatch_head(call, &headers, row->method, &body_bytes, err);
}

static void test_heads(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call  call;
        struct error err;
        enum status  status = head(&call, &rows[i], false, LISTENER_MAIN, &err);
        CU_ASSERT_EQUAL(status == STATUS_OK, rows[i].code == NULL);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code == NULL ? "" : rows[i].code);
        arena_fini(&call.arena);
    }
}

static void test_range(void)
{
    static const struct row row = {"PUT",           STUDY "/candidates", "10", "application/x-npy",
                                   "Content-Range", "bytes 90-99/250",   NULL};
    struct call             call;
    struct error            err;
    CU_ASSERT_EQUAL(head(&call, &row, false, LISTENER_MAIN, &err), STATUS_OK);
    CU_ASSERT_EQUAL(call.offset, 90);
    CU_ASSERT_EQUAL(call.total, 250);
    arena_fini(&call.arena);
}

static void test_listeners(void)
{
    static const struct row health = {"GET", "/readyz", NULL, NULL, NULL, NULL, NULL};
    static const struct row meta = {"GET", "/v1/meta", NULL, NULL, NULL, NULL, NULL};
    struct call             call;
    struct error            err;
    CU_ASSERT_EQUAL(head(&call, &meta, false, LISTENER_HEALTH, &err), STATUS_NOT_FOUND);
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &health, false, LISTENER_HEALTH, &err), STATUS_OK);
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &meta, true, LISTENER_MAIN, &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "draining");
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &health, true, LISTENER_MAIN, &err), STATUS_OK);
    arena_fini(&call.arena);
}

/* Authorisation without a store: the local listener, the health listener, and nobody. */
static void test_authorise(void)
{
    static const struct row studies = {"GET", "/v1/studies", NULL, NULL, NULL, NULL, NULL};
    static const struct row metrics = {"GET", "/metrics", NULL, NULL, NULL, NULL, NULL};
    static const struct row basic = {"GET", "/v1/studies", NULL, NULL, "Authorization", "Basic YTpi", NULL};
    struct call             call;
    struct error            err;
    CU_ASSERT_EQUAL(head(&call, &studies, false, LISTENER_LOCAL, &err), STATUS_OK);
    CU_ASSERT_EQUAL(dispatch_authorise(&call, true, &err), STATUS_OK);
    CU_ASSERT_EQUAL(call.caller.scope, SCOPE_ADMIN);
    CU_ASSERT_STRING_EQUAL(call.caller.token_id, "local");
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &metrics, false, LISTENER_HEALTH, &err), STATUS_OK);
    CU_ASSERT_EQUAL(dispatch_authorise(&call, true, &err), STATUS_OK);
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &metrics, false, LISTENER_MAIN, &err), STATUS_OK);
    CU_ASSERT_EQUAL(dispatch_authorise(&call, true, &err), STATUS_UNAUTHORISED);
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(head(&call, &basic, false, LISTENER_MAIN, &err), STATUS_OK);
    CU_ASSERT_EQUAL(dispatch_authorise(&call, true, &err), STATUS_UNAUTHORISED);
    arena_fini(&call.arena);
}

CU_TestInfo suite_dispatch[] = {
    {"headers", test_heads},     {"range", test_range}, {"listeners and draining", test_listeners},
    {"who may", test_authorise}, CU_TEST_INFO_NULL,
};
