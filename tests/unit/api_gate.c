/* The request gate: every probe that the HTTP library lets through, and what must pass. */
#include "api/gate.h"
#include "tests/unit/api_suites.h"

#include <stdio.h>
#include <string.h>

/* Headers as "Name: value" lines; "" ends them. */
struct probe {
    const char *name, *method, *headers[6], *code; /* code NULL: passes */
    int64_t     body_bytes;
};

static const struct probe probes[] = {
    {"plain", "GET", {"Host: a"}, NULL, 0},
    {"length", "POST", {"Host: a", "Content-Length: 22"}, NULL, 22},
    {"case", "POST", {"hOST: a", "content-LENGTH: 22"}, NULL, 22},
    {"chunked", "PUT", {"Host: a", "Transfer-Encoding: Chunked"}, NULL, -1},
    {"expect", "POST", {"Host: a", "Expect: 100-Continue", "Content-Length: 7"}, NULL, 7},
    {"high bytes in a value", "GET", {"Host: a", "X-Name: caf\xc3\xa9\tau lait"}, NULL, 0},
    {"18 digits", "POST", {"Host: a", "Content-Length: 999999999999999999"}, NULL, 999999999999999999},
    {"no host", "GET", {"Accept: */*"}, "bad_request", 0},
    {"empty host", "GET", {"Host: "}, "bad_request", 0},
    {"two hosts", "GET", {"Host: a", "Host: b"}, "bad_request", 0},
    {"length and coding", "POST", {"Host: a", "Content-Length: 5", "Transfer-Encoding: chunked"}, "bad_request", 0},
    {"two lengths", "POST", {"Host: a", "Content-Length: 5", "Content-Length: 22"}, "bad_request", 0},
    {"two equal lengths", "POST", {"Host: a", "Content-Length: 5", "Content-Length: 5"}, "bad_request", 0},
    {"list of lengths", "POST", {"Host: a", "Content-Length: 5, 22"}, "bad_request", 0},
    {"signed length", "POST", {"Host: a", "Content-Length: +22"}, "bad_request", 0},
    {"negative length", "POST", {"Host: a", "Content-Length: -1"}, "bad_request", 0},
    {"empty length", "POST", {"Host: a", "Content-Length: "}, "bad_request", 0},
    {"overflowing length", "POST", {"Host: a", "Content-Length: 18446744073709551616"}, "bad_request", 0},
    {"hexadecimal length", "POST", {"Host: a", "Content-Length: 0x16"}, "bad_request", 0},
    {"unknown coding", "POST", {"Host: a", "Transfer-Encoding: xchunked"}, "bad_request", 0},
    {"two codings", "POST", {"Host: a", "Transfer-Encoding: gzip, chunked"}, "bad_request", 0},
    {"space before the colon", "POST", {"Host: a", "Content-Length : 22"}, "bad_request", 0},
    {"folded line", "GET", {"Host: a", " Content-Length: 3"}, "bad_request", 0},
    {"control in a value",
     "GET",
     {"Host: a", "X: a\x01"
                 "b"},
     "bad_request",
     0},
    {"delete in a value", "GET", {"Host: a", "X: a\x7f"}, "bad_request", 0},
    {"no name", "GET", {"Host: a", ": b"}, "bad_request", 0},
    {"bracket in a name", "GET", {"Host: a", "X[: b"}, "bad_request", 0},
    {"two tokens", "GET", {"Host: a", "Authorization: Bearer a", "Authorization: Bearer b"}, "bad_request", 0},
    {"two keys", "POST", {"Host: a", "Idempotency-Key: a", "Idempotency-Key: a"}, "bad_request", 0},
    {"unknown method", "FOO", {"Host: a"}, "not_implemented", 0},
    {"lower case method", "get", {"Host: a"}, "not_implemented", 0},
    {"trace", "TRACE", {"Host: a"}, "not_implemented", 0},
    {"unknown expectation", "POST", {"Host: a", "Expect: 200-ok"}, "expectation_failed", 0},
};

static void add(struct gate_headers *headers, const char *line)
{
    const char *colon = strchr(line, ':');
    gate_header(headers, line, (size_t)(colon - line), colon + 2, strlen(colon + 2));
}

static void test_probes(void)
{
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        struct gate_headers headers = {0};
        struct error        err = {.code = ""};
        int64_t             body_bytes = -2;
        for (size_t j = 0; j < 6 && probes[i].headers[j] != NULL; j++)
            add(&headers, probes[i].headers[j]);
        enum status status = gate_check(&headers, probes[i].method, &body_bytes, &err);
        const char *code = probes[i].code == NULL ? "" : probes[i].code;
        if (strcmp(err.code, code) != 0)
            printf("%s: %s\n", probes[i].name, err.code);
        CU_ASSERT_STRING_EQUAL(err.code, code);
        CU_ASSERT_EQUAL(status, probes[i].code == NULL ? STATUS_OK : STATUS_INVALID);
        if (probes[i].code == NULL)
            CU_ASSERT_EQUAL(body_bytes, probes[i].body_bytes);
    }
}

/* The library hands values over with their length; a NUL inside must not shorten what is decided on. */
static void test_nul(void)
{
    struct gate_headers headers = {0};
    struct error        err;
    int64_t             body_bytes;
    add(&headers, "Host: a");
    gate_header(&headers, "Content-Length", 14,
                "2\0"
                "2",
                3);
    CU_ASSERT_EQUAL(gate_check(&headers, "POST", &body_bytes, &err), STATUS_INVALID);
    struct gate_headers empty = {0};
    add(&empty, "Host: a");
    gate_header(&empty, "Authorization", 13, NULL, 0);
    CU_ASSERT_EQUAL(gate_check(&empty, "GET", &body_bytes, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(empty.authorization, "");
}

static void test_uris(void)
{
    static const char *const good[] = {
        "/", "/v1/studies?name=a%20b&x=%C3%A9", "/a%41", "/a.b/c..d", "/a?x=../..//", "/a?b=%2f", "/trailing/"};
    static const char *const bad[] = {"",       "livez",      "*",           "http://x/livez", "//livez",  "/a//b",
                                      "/./a",   "/a/.",       "/a/..",       "/a/../b",        "/..?x=1",  "/a%00",
                                      "/a%1f",  "/a%7f",      "/a%2fb",      "/a/..%2Fb",      "/%2e%2E/", "/a%5cb",
                                      "/a\\b",  "/a%",        "/a%4",        "/a%zz",          "/a%4g",    "/a b",
                                      "/a\x01", "/a\xc3\xa9", "/a?b=%0d%0a", "/a?b=%",         "/a\tb"};
    struct error             err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_EQUAL(gate_uri(good[i], &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.code[0] = '\0';
        CU_ASSERT_EQUAL(gate_uri(bad[i], &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "bad_request");
    }
    char uri[GATE_URI_MAX + 2];
    memset(uri, 'a', sizeof uri);
    uri[0] = '/';
    uri[GATE_URI_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(gate_uri(uri, &err), STATUS_INVALID);
    uri[GATE_URI_MAX] = '\0';
    CU_ASSERT_EQUAL(gate_uri(uri, &err), STATUS_OK);
}

CU_TestInfo suite_gate[] = {
    {"probes", test_probes},
    {"NUL and empty values", test_nul},
    {"addresses", test_uris},
    CU_TEST_INFO_NULL,
};
