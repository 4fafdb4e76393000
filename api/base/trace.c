/* See trace.h. */
#include "api/base/trace.h"

#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

enum { TRACE_HEX = 32, SPAN_HEX = 16, VERSION_HEX = 2, FLAGS_HEX = 2, FLAGS_KNOWN = 3 };
enum { TRACE_AT = 3, SPAN_AT = TRACE_AT + TRACE_HEX + 1, FLAGS_AT = SPAN_AT + SPAN_HEX + 1 };

/* Whether text begins with so many lower case digits, one of them not 0 unless may_be_zero. */
static bool is_hex(const char *text, size_t length, bool may_be_zero)
{
    return strspn(text, "0123456789abcdef") >= length && (may_be_zero || strspn(text, "0") < length);
}

/* A later version may go on behind the flags, and is read as far as this one goes. */
static bool is_parent(const char *text)
{
    if (strlen(text) < TRACE_PARENT_BYTES - 1 || strncmp(text, "ff", VERSION_HEX) == 0)
        return false;
    char end = text[FLAGS_AT + FLAGS_HEX];
    return is_hex(text, VERSION_HEX, true) && text[TRACE_AT - 1] == '-' && is_hex(text + TRACE_AT, TRACE_HEX, false) &&
           text[SPAN_AT - 1] == '-' && is_hex(text + SPAN_AT, SPAN_HEX, false) && text[FLAGS_AT - 1] == '-' &&
           is_hex(text + FLAGS_AT, FLAGS_HEX, true) &&
           (end == '\0' || (end == '-' && strncmp(text, "00", VERSION_HEX) != 0));
}

/* Hands on the known flags: whether the trace is sampled, and that its id is random. */
static void begin_span(struct trace *trace, const char *parent)
{
    unsigned flags = 0;
    (void)sscanf(parent + FLAGS_AT, "%2x", &flags);
    (void)snprintf(trace->parent, sizeof trace->parent, "00-%.32s-%.16s-%02x", parent + TRACE_AT, trace->own,
                   flags & FLAGS_KNOWN);
}

void trace_begin(struct trace *trace, const char *request_id, const char *traceparent)
{
    size_t length = request_id == NULL ? 0 : strspn(request_id, LETTERS "-_.:/+@~");
    bool   is_good = length > 0 && length <= TRACE_ID_MAX && request_id[length] == '\0';
    (void)snprintf(trace->id, sizeof trace->id, "%s", is_good ? request_id : trace->own);
    trace->parent[0] = '\0';
    if (traceparent != NULL && is_parent(traceparent))
        begin_span(trace, traceparent);
}
