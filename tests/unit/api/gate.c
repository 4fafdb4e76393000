/* The request gate: every probe that the HTTP library lets through, and what must pass. */
#include "api/base/gate.h"
#include "tests/unit/api/suites.h"

#include <stdbool.h>
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

/* A head as the library leaves it: in one piece of memory, NULs for what stood between the parts. */
static char   head[4096];
static size_t used;

static void start(struct gate_headers *headers, const char *method)
{
    *headers = (struct gate_headers){0};
    int length = snprintf(head, sizeof head, "%s%c/livez%cHTTP/1.1%c", method, 0, 0, 0);
    head[length] = '\0';
    used = (size_t)length + 1;
    gate_first_line(headers, head, head + strlen(method) + 1, 6, head + strlen(method) + 8);
}

static void add(struct gate_headers *headers, const char *line)
{
    size_t      colon = strcspn(line, ":");
    char       *at = head + used;
    const char *value = at + colon + 2;
    used += strlen(line) + 2;
    memcpy(at, line, strlen(line) + 1);
    at[colon] = at[strlen(line) + 1] = '\0';
    gate_header(headers, at, colon, value, strlen(value));
}

static void test_probes(void)
{
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        struct gate_headers headers;
        struct error        err = {.code = ""};
        int64_t             body_bytes = -2;
        start(&headers, probes[i].method);
        for (size_t j = 0; j < 6 && probes[i].headers[j] != NULL; j++)
            add(&headers, probes[i].headers[j]);
        gate_end(&headers, head + used + 2);
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

/* Heads as they lie in memory, '|' for NUL, and the parts that the library gives out of them by offset. */
struct layout {
    const char *name, *bytes;
    bool        good;
    size_t      url, url_length, version, headers[2][4]; /* name, its length, value, its length; length 0: none */
};
static const struct layout layouts[] = {
    {"plain", "GET|/a|HTTP/1.1||A| b||C|d||||", true, 4, 2, 7, {{17, 1, 20, 1}, {23, 1, 25, 1}}},
    {"no header", "GET|/a|HTTP/1.1||||", true, 4, 2, 7, {{0}}},
    {"empty values", "GET|/a|HTTP/1.1||A|  ||C|||||", true, 4, 2, 7, {{17, 1, 21, 0}, {23, 1, 25, 0}}},
    {"NUL in the address", "GET|/a|b|HTTP/1.1||A|b||||", false, 4, 2, 9, {{19, 1, 21, 1}}},
    {"NUL in the method", "GET|x|/a|HTTP/1.1||A|b||||", false, 6, 2, 9, {{19, 1, 21, 1}}},
    {"two spaces", "GET| /a|HTTP/1.1||A|b||||", false, 5, 2, 8, {{18, 1, 20, 1}}},
    {"NUL in the first value", "GET|/a|HTTP/1.1||A|b|c||C|d||||", false, 4, 2, 7, {{17, 1, 19, 1}, {24, 1, 26, 1}}},
    {"NUL in the last value", "GET|/a|HTTP/1.1||A|b||C|d|e||||", false, 4, 2, 7, {{17, 1, 19, 1}, {22, 1, 24, 1}}},
    {"NUL in a name", "GET|/a|HTTP/1.1||A|B|b||||", false, 4, 2, 7, {{17, 1, 21, 1}}},
    {"folded before a header", "GET|/a|HTTP/1.1||A|b|| x||C|d||||", false, 4, 2, 7, {{17, 1, 19, 1}, {26, 1, 28, 1}}},
    {"folded at the end", "GET|/a|HTTP/1.1||A|b||  ||||", false, 4, 2, 7, {{17, 1, 19, 1}}},
    {"name put together elsewhere", "GET|/a|HTTP/1.1||A|b|| x|||| Ax|", false, 4, 2, 7, {{30, 2, 19, 1}}},
    {"name put together in place", "GET|/a|HTTP/1.1||Ax||| x||||", false, 4, 2, 7, {{17, 2, 19, 0}}},
    {"bare line feed", "GET|/a|HTTP/1.1||A|b|C|d||||", false, 4, 2, 7, {{17, 1, 19, 1}, {21, 1, 23, 1}}},
    {"bare line feed at the end", "GET|/a|HTTP/1.1||A|b|||", false, 4, 2, 7, {{17, 1, 19, 1}}},
    {"line that starts with NUL", "GET|/a|HTTP/1.1||A|b|||x: y||", false, 4, 2, 7, {{17, 1, 19, 1}}},
};

static void test_layouts(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout *layout = &layouts[i];
        size_t               length = strlen(layout->bytes);
        struct gate_headers  headers = {0};
        for (size_t j = 0; j <= length; j++)
            head[j] = (char)(layout->bytes[j] == '|' ? '\0' : layout->bytes[j]);
        gate_first_line(&headers, head, head + layout->url, layout->url_length, head + layout->version);
        for (size_t j = 0; j < 2 && layout->headers[j][1] > 0; j++) {
            const size_t *h = layout->headers[j];
            gate_header(&headers, head + h[0], h[1], head + h[2], h[3]);
        }
        gate_end(&headers, head + length);
        if ((headers.problem == NULL) != layout->good)
            printf("%s: %s\n", layout->name, headers.problem);
        CU_ASSERT_EQUAL(headers.problem == NULL, layout->good);
    }
}

static void test_trailers(void)
{
    struct gate_headers none = {0}, one = {.at = head}, folded = {.at = head};
    struct error        err;
    CU_ASSERT_EQUAL(gate_trailers(&none, &err), STATUS_OK);
    memcpy(head, "A\0b\0\0\0", 7);
    gate_header(&one, head, 1, head + 2, 1);
    CU_ASSERT_EQUAL(gate_trailers(&one, &err), STATUS_OK);
    memcpy(head, "A\0b\0\0 \0\0\0", 9);
    gate_header(&folded, head, 1, head + 2, 1);
    CU_ASSERT_EQUAL(gate_trailers(&folded, &err), STATUS_INVALID);
}

static void test_uris(void)
{
    static const char *const good[] = {"/",
                                       "/v1/studies?name=a%20b&x=%C3%A9",
                                       "/a%41",
                                       "/a.b/c..d",
                                       "/a?x=../..//",
                                       "/a?b=%2f",
                                       "/trailing/",
                                       "/a?b=%5c%25%5C",
                                       "/a?b=%0d%0a",
                                       "/v1/studies/by-name/a%2Fb%5c%0A"};
    static const char *const bad[] = {"",
                                      "livez",
                                      "*",
                                      "http://x/livez",
                                      "//livez",
                                      "/a//b",
                                      "/./a",
                                      "/a/.",
                                      "/a/..",
                                      "/a/../b",
                                      "/..?x=1",
                                      "/a%00",
                                      "/a%1f",
                                      "/a%7f",
                                      "/a%2fb",
                                      "/a/..%2Fb",
                                      "/%2e%2E/",
                                      "/a%5cb",
                                      "/a\\b",
                                      "/a%",
                                      "/a%4",
                                      "/a%zz",
                                      "/a%4g",
                                      "/a b",
                                      "/a\x01",
                                      "/a\xc3\xa9",
                                      "/a?b=%00",
                                      "/v1/studies/by-name/a%00",
                                      "/v1/studies/by-name/%2e%2e",
                                      "/v1/studies/by-nameb%2fc",
                                      "/a?b=%",
                                      "/a\tb"};
    struct error             err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_EQUAL(gate_uri(good[i], &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.code[0] = '\0';
        CU_ASSERT_EQUAL(gate_uri(bad[i], &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "bad_request");
    }
    err.code[0] = '\0';
    char uri[GATE_URI_MAX + 2];
    memset(uri, 'a', sizeof uri);
    uri[0] = '/';
    uri[GATE_URI_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(gate_uri(uri, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "uri_too_long");
    uri[GATE_URI_MAX] = '\0';
    CU_ASSERT_EQUAL(gate_uri(uri, &err), STATUS_OK);
}

CU_TestInfo suite_gate[] = {
    {"probes", test_probes},  {"layouts", test_layouts}, {"trailers", test_trailers},
    {"addresses", test_uris}, CU_TEST_INFO_NULL,
};
