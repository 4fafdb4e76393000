/* See gate.h.  The rules are those of RFC 9112 sections 2.3, 3, 5 and 6, taken at their strictest. */
#include "api/base/gate.h"

#include <string.h>
#include <strings.h>

#define HEADER(name) name, sizeof name - 1
static const struct {
    const char *name;
    size_t      length, offset;
} known[] = {
    {HEADER("Host"), offsetof(struct gate_headers, host)},
    {HEADER("Content-Length"), offsetof(struct gate_headers, content_length)},
    {HEADER("Transfer-Encoding"), offsetof(struct gate_headers, transfer_encoding)},
    {HEADER("Content-Type"), offsetof(struct gate_headers, content_type)},
    {HEADER("Expect"), offsetof(struct gate_headers, expect)},
    {HEADER("Authorization"), offsetof(struct gate_headers, authorization)},
    {HEADER("If-Match"), offsetof(struct gate_headers, if_match)},
    {HEADER("If-None-Match"), offsetof(struct gate_headers, if_none_match)},
    {HEADER("Idempotency-Key"), offsetof(struct gate_headers, idempotency_key)},
    {HEADER("Prefer"), offsetof(struct gate_headers, prefer)},
    {HEADER("Content-Range"), offsetof(struct gate_headers, content_range)},
    {HEADER("Origin"), offsetof(struct gate_headers, origin)},
};
static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(const char *text, size_t length)
{
    bool good = length > 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i], lower = (char)(c | 0x20);
        good &= is_digit(c) || (lower >= 'a' && lower <= 'z' && c >= 'A') ||
                (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
    }
    return good;
}

static bool has_control(const char *text, size_t length)
{
    bool found = false;
    for (size_t i = 0; i < length; i++)
        found |= (text[i] > 0 && text[i] < ' ' && text[i] != '\t') || text[i] == '\0' || text[i] == 0x7f;
    return found;
}

static void keep(struct gate_headers *headers, size_t offset, const char *value)
{
    const char **slot = (const char **)(void *)((char *)headers + offset);
    if (*slot != NULL)
        headers->problem = "a header that may come once came twice";
    *slot = value;
}

enum { LINE_END = 2 }; /* CR LF */
static const char broken[] = "a line is folded, has a NUL in it, or does not end with CR LF";

void gate_first_line(struct gate_headers *headers, const char *method, const char *uri, size_t uri_length,
                     const char *version)
{
    if (method + strlen(method) + 1 != uri || uri + uri_length + 1 != version)
        headers->problem = broken;
    headers->at = headers->fields = version + strlen(version) + LINE_END;
    headers->is_old = strcmp(version, "HTTP/1.1") != 0;
}

/* Whether the header lies where the last one ended: only then may the bytes behind it be looked at. */
static bool is_in_place(const struct gate_headers *headers, const char *name, size_t name_length, const char *value,
                        size_t value_length)
{
    const char *behind = name + name_length + 1; // the colon
    return name == headers->at && behind + strspn(behind, " \t") == value && value[value_length] == '\0' &&
           value[value_length + 1] == '\0';
}

void gate_header(struct gate_headers *headers, const char *name, size_t name_length, const char *value,
                 size_t value_length)
{
    if (!is_token(name, name_length))
        headers->problem = "a header name has other characters than a token may have";
    if (!is_in_place(headers, name, name_length, value, value_length))
        headers->problem = broken;
    headers->at = value + value_length + LINE_END;
    if (has_control(value, value_length))
        headers->problem = "a header value has control characters";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].length == name_length && strncasecmp(known[i].name, name, name_length) == 0)
            keep(headers, known[i].offset, value);
    if (headers->accept == NULL && name_length == 6 && strncasecmp("Accept", name, name_length) == 0)
        headers->accept = value;
    if (headers->last_event_id == NULL && name_length == 13 && strncasecmp("Last-Event-ID", name, name_length) == 0)
        headers->last_event_id = value;
    if (headers->accept_encoding == NULL && name_length == 15 && strncasecmp("Accept-Encoding", name, name_length) == 0)
        headers->accept_encoding = value;
    if (name_length == 12 && strncasecmp("X-Request-Id", name, name_length) == 0)
        headers->request_id = headers->request_id == NULL ? value : "";
    if (name_length == 11 && strncasecmp("traceparent", name, name_length) == 0)
        headers->traceparent = headers->traceparent == NULL ? value : "";
}

void gate_end(struct gate_headers *headers, const char *end)
{
    if (headers->at + LINE_END != end)
        headers->problem = broken;
    headers->bytes = headers->problem == NULL ? (size_t)(headers->at - headers->fields) : 0;
}

/* Reads a number of at most 18 digits, so that it cannot overflow; -1: other text. */
static int64_t parse_length(const char *text)
{
    int64_t value = 0;
    size_t  digits = strlen(text);
    if (digits == 0 || digits > 18 || strspn(text, "0123456789") != digits)
        return -1;
    for (; *text != '\0'; text++)
        value = value * 10 + (*text - '0');
    return value;
}

static bool is_known_method(const char *method)
{
    bool found = false;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        found |= strcmp(method, methods[i]) == 0;
    return found;
}

static enum status refuse(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID, "bad_request", "", "%s", text);
}

enum status gate_check(const struct gate_headers *headers, const char *method, int64_t *body_bytes, struct error *err)
{
    *body_bytes = headers->transfer_encoding != NULL ? -1 : 0;
    if (headers->problem != NULL)
        return refuse(err, headers->problem);
    if (headers->host == NULL || *headers->host == '\0')
        return refuse(err, "there must be one Host header");
    if (headers->is_old && headers->transfer_encoding != NULL) // RFC 9112, section 6.1: framed in a way it cannot know
        return refuse(err, "Transfer-Encoding is of HTTP/1.1");
    if (headers->content_length != NULL && headers->transfer_encoding != NULL)
        return refuse(err, "Content-Length and Transfer-Encoding exclude each other");
    if (headers->transfer_encoding != NULL && strcasecmp(headers->transfer_encoding, "chunked") != 0)
        return refuse(err, "the only transfer coding is chunked");
    if (headers->content_length != NULL && (*body_bytes = parse_length(headers->content_length)) < 0)
        return refuse(err, "Content-Length is not a number");
    if (!is_known_method(method))
        return error_set(err, STATUS_INVALID, "not_implemented", "", "this method is not known");
    if (headers->expect != NULL && strcasecmp(headers->expect, "100-continue") != 0)
        return error_set(err, STATUS_INVALID, "expectation_failed", "", "only 100-continue can be expected");
    if (headers->bytes > GATE_HEADERS_MAX)
        return error_set(err, STATUS_INVALID, "headers_too_large", "", "the limit for all headers is %d bytes",
                         GATE_HEADERS_MAX);
    return STATUS_OK;
}

enum status gate_trailers(const struct gate_headers *trailers, struct error *err)
{
    if (trailers->problem != NULL)
        return refuse(err, trailers->problem);
    bool ends = trailers->at == NULL || (trailers->at[0] == '\0' && trailers->at[1] == '\0');
    return ends ? STATUS_OK : refuse(err, broken);
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A study's name is data, as what a query says is: it stands in one segment, and may be anything but a NUL. */
static const char by_name[] = "/v1/studies/by-name/";

/* True for an escape that is complete and does not hide a control character, of data none but NUL. */
static bool is_good_escape(const char *text, bool is_data)
{
    int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
    if (low < 0)
        return false;
    int c = high * 16 + low;
    return is_data ? c != 0 : c >= ' ' && c != 0x7f;
}

static bool is_dot_segment(const char *text)
{
    text += *text == '.';
    text += *text == '.';
    return *text == '/' || *text == '?' || *text == '\0';
}

static bool is_good_path(const char *uri, size_t length, size_t data)
{
    bool good = uri[0] == '/';
    for (size_t i = 0; i < length && good; i++) {
        if (uri[i] == '/' && i + 1 < length)
            good = !is_dot_segment(uri + i + 1);
        if (good && uri[i] == '%')
            good = strncasecmp(uri + i, "%2e", 3) != 0 &&
                   (i >= data ||
                    (strncasecmp(uri + i, "%2f", 3) != 0 &&
                     strncasecmp(uri + i, "%5c", 3) != 0)); // in a query a backslash is like any other character
    }
    return good;
}

enum status gate_uri(const char *uri, struct error *err)
{
    size_t length = strlen(uri), query = strcspn(uri, "?"), data = query;
    if (strncmp(uri, by_name, sizeof by_name - 1) == 0)
        data = sizeof by_name - 1;
    if (length > GATE_URI_MAX)
        return error_set(err, STATUS_INVALID, "uri_too_long", "", "the limit for an address is %d bytes", GATE_URI_MAX);
    for (size_t i = 0; i < length; i++)
        if (uri[i] <= ' ' || uri[i] >= 0x7f || uri[i] == '\\' || (uri[i] == '%' && !is_good_escape(uri + i, i >= data)))
            return refuse(err, "the address has a character or an escape that it may not have");
    if (!is_good_path(uri, query, data))
        return refuse(err, "the path must start with one slash and have no empty or dot segments");
    return STATUS_OK;
}
