/* The names of a request: by the client or a proxy in X-Request-Id, and in a trace of several services by traceparent (W3C
 * Trace Context).  Pure. */
#ifndef GNOMON_API_CORE_TRACE_H
#define GNOMON_API_CORE_TRACE_H

#include <stdbool.h>

enum { TRACE_ID_MAX = 128, TRACE_OWN_BYTES = 17, TRACE_PARENT_BYTES = 56 };

struct trace {
    char own[TRACE_OWN_BYTES];       /* ours: 16 digits, and the span of this request where there is a trace */
    char id[TRACE_ID_MAX + 1];       /* the client's, or ours */
    char parent[TRACE_PARENT_BYTES]; /* "00-<trace>-<own>-<flags>", or "": there is no trace */
};

/* own is set.  Takes what came as headers, NULL: none.  What is not well formed counts as absent: an id of at most
 * TRACE_ID_MAX letters, digits and -_.:/+@~, a traceparent whose ids are not zero. */
void trace_begin(struct trace *trace, const char *request_id, const char *traceparent);

#endif
