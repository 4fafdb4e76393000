/* The access log: a line for each answered request.  It has the caller, the use case, its study, the status and the cost;
 * never a token, an address as it was written, or any text of the request. */
#ifndef GNOMON_API_CORE_ACCESS_LOG_H
#define GNOMON_API_CORE_ACCESS_LOG_H

#include "api/base/trace.h"

#include <stddef.h>
#include <stdint.h>

/* OFF: only failures of the server, 5xx; these are logged in every format. */
enum access_format { ACCESS_LOGFMT, ACCESS_JSON, ACCESS_OFF };

struct access {
    const struct trace *trace;
    const char         *token_id, *method, *route; /* of the route table; token_id NULL: none */
    const char         *thing, *thing_id;          /* "study", and its id as it came: shown if it is one; or NULL */
    const char         *code, *detail;             /* of a refusal, or NULL; detail only of our own faults */
    int                 http;
    int64_t total_us, computed_us, priced_us, waited_us; /* priced: see slots_announce; waited: for a slot */
    int64_t bytes;
};

/* The line without its end, and its length.  now_ms: since 1970. */
enum { ACCESS_LINE_BYTES = 2000 };
size_t access_line(const struct access *access, enum access_format format, int64_t now_ms,
                   char line[ACCESS_LINE_BYTES]);

/* Writes the line, unless format says that it is not wanted. */
void access_log(const struct access *access, enum access_format format);

#endif
