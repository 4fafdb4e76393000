/* The names of a request, and its line in the access log. */
#include "api/base/access_log.h"
#include "tests/unit/api/suites.h"

#include <stdio.h>
#include <string.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"
#define OWN   "0123456789abcdef"

static struct trace begin(const char *request_id, const char *parent)
{
    struct trace trace = {.own = OWN};
    trace_begin(&trace, request_id, parent);
    return trace;
}

static void test_ids(void)
{
    static const char *const good[] = {"a", "7b1c0d9e-2f6a-4f0e-9e6d-3d0f5ad1c111", "1-67891233:ab/c+d@e~f.g_H"};
    static const char *const bad[] = {"",    " a",          "a b", "a\"b",        "a=b", "a\tb",
                                      "a;b", "caf\xc3\xa9", "a,b", "a{lr:0.001}", "a\\"};
    char                     long_one[TRACE_ID_MAX + 2];
    memset(long_one, 'a', sizeof long_one);
    long_one[TRACE_ID_MAX + 1] = '\0';
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_STRING_EQUAL(begin(good[i], NULL).id, good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_STRING_EQUAL(begin(bad[i], NULL).id, OWN);
    CU_ASSERT_STRING_EQUAL(begin(NULL, NULL).id, OWN);
    CU_ASSERT_STRING_EQUAL(begin(long_one, NULL).id, OWN);
    CU_ASSERT_STRING_EQUAL(begin(long_one + 1, NULL).id, long_one + 1);
}

static void test_parents(void)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"00-" TRACE "-" SPAN "-01", "00-" TRACE "-" OWN "-01"},
        {"00-" TRACE "-" SPAN "-00", "00-" TRACE "-" OWN "-00"},
        {"00-" TRACE "-" SPAN "-ff", "00-" TRACE "-" OWN "-03"},
        {"cc-" TRACE "-" SPAN "-01", "00-" TRACE "-" OWN "-01"},
        {"cc-" TRACE "-" SPAN "-01-what-the-future-will-be-like", "00-" TRACE "-" OWN "-01"},
        {"cc-" TRACE "-" SPAN "-01.what", ""},
        {"00-" TRACE "-" SPAN "-01-", ""},
        {"00-" TRACE "-" SPAN "-01 ", ""},
        {"00-" TRACE "-" SPAN "-1", ""},
        {"00-" TRACE "-" SPAN "-0x", ""},
        {"ff-" TRACE "-" SPAN "-01", ""},
        {"00-00000000000000000000000000000000-" SPAN "-01", ""},
        {"00-" TRACE "-0000000000000000-01", ""},
        {"00-4BF92f3577b34da6a3ce929d0e0e4736-" SPAN "-01", ""},
        {"00-" TRACE "." SPAN "-01", ""},
        {"00-" TRACE, ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trace trace = begin(NULL, rows[i].in);
        if (strcmp(trace.parent, rows[i].out) != 0)
            printf("%s: %s\n", rows[i].in, trace.parent);
        CU_ASSERT_STRING_EQUAL(trace.parent, rows[i].out);
    }
}

static void check_line(const struct access *access, enum access_format format, const char *expected)
{
    char line[ACCESS_LINE_BYTES];
    line[access_line(access, format, 1772357400125, line)] = '\0';
    if (strcmp(line, expected) != 0)
        printf("%s\n%s\n", line, expected);
    CU_ASSERT_STRING_EQUAL(line, expected);
}

static void test_lines(void)
{
    struct trace  plain = begin(NULL, NULL), traced = begin("run-7", "00-" TRACE "-" SPAN "-01");
    struct access good = {.trace = &plain,
                          .token_id = "tok_abc",
                          .method = "GET",
                          .route = "/v1/studies/{study}",
                          .thing = "study",
                          .thing_id = "std_abcdefghijklmno2",
                          .http = 200,
                          .total_us = 12385,
                          .computed_us = 7,
                          .priced_us = 9500,
                          .waited_us = 1000,
                          .bytes = 2385};
    check_line(
        &good, ACCESS_LOGFMT,
        "2026-03-01T09:30:00.125Z info request id=" OWN " token=tok_abc method=GET route=/v1/studies/{study} "
        "study=std_abcdefghijklmno2 status=200 ms=12.385 compute_ms=0.007 price_ms=9.500 wait_ms=1.000 bytes=2385");
    struct access bad = {
        .trace = &traced, .route = "none", .http = 500, .code = "store_error", .detail = "a \"b\" \\\n", .bytes = 1};
    check_line(
        &bad, ACCESS_LOGFMT,
        "2026-03-01T09:30:00.125Z error request id=run-7 trace=" TRACE " span=" OWN " route=none status=500 "
        "ms=0.000 compute_ms=0.000 price_ms=0.000 wait_ms=0.000 bytes=1 code=store_error detail=\"a \\\"b\\\" \\\\?\"");
    check_line(&bad, ACCESS_JSON,
               "{\"time\":\"2026-03-01T09:30:00.125Z\",\"level\":\"error\",\"event\":\"request\",\"id\":\"run-7\","
               "\"trace\":\"" TRACE "\",\"span\":\"" OWN "\",\"route\":\"none\",\"status\":500,\"ms\":0.000,"
               "\"compute_ms\":0.000,\"price_ms\":0.000,\"wait_ms\":0.000,\"bytes\":1,\"code\":\"store_error\","
               "\"detail\":\"a \\\"b\\\" \\\\?\"}");
}

/* Text in place of an id may be a secret that somebody put there by mistake. */
static void test_only_ids_are_shown(void)
{
    static const char *const others[] = {"gno_abcdefg_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq", "std_abc", "",
                                         "std_ABCDEFGHIJKLMNOP", "tok_abcdefghijklmno2"};
    struct trace             trace = begin(NULL, NULL);
    char                     line[ACCESS_LINE_BYTES];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct access access = {.trace = &trace, .route = "r", .thing = "study", .thing_id = others[i], .http = 404};
        line[access_line(&access, ACCESS_LOGFMT, 0, line)] = '\0';
        CU_ASSERT_PTR_NULL(strstr(line, "study="));
    }
}

static void test_no_line_is_too_long(void)
{
    char          long_id[TRACE_ID_MAX + 1], detail[5000], line[ACCESS_LINE_BYTES];
    struct trace  trace = {.own = OWN};
    struct access access = {.trace = &trace, .route = "r", .http = 500, .detail = detail};
    memset(long_id, 'i', TRACE_ID_MAX);
    long_id[TRACE_ID_MAX] = '\0';
    memset(detail, '"', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    trace_begin(&trace, long_id, NULL);
    CU_ASSERT_EQUAL(access_line(&access, ACCESS_JSON, 0, line), ACCESS_LINE_BYTES - 1);
}

CU_TestInfo suite_trace[] = {
    {"ids of requests", test_ids},
    {"parents of spans", test_parents},
    {"lines of the access log", test_lines},
    {"only ids are shown", test_only_ids_are_shown},
    {"no line is too long", test_no_line_is_too_long},
    CU_TEST_INFO_NULL,
};
