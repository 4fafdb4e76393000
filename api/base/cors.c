/* See cors.h. */
#include "api/base/cors.h"

#include <string.h>

const char cors_methods[] = "GET, HEAD, POST, PUT, PATCH, DELETE";
const char cors_request_headers[] = "Authorization, Content-Type, Content-Range, If-Match, If-None-Match, "
                                    "Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id, traceparent";
const char cors_reply_headers[] = "Allow, ETag, Idempotent-Replayed, Location, Preference-Applied, RateLimit, "
                                  "RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id, traceparent";

/* As browsers send it: no path, not even a slash. */
static bool is_origin(const char *text, size_t length)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
    const char       *schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < 2; i++) {
        size_t scheme = strlen(schemes[i]);
        if (length > scheme && strncmp(text, schemes[i], scheme) == 0)
            return strspn(text + scheme, host) >= length - scheme;
    }
    return false;
}

enum status cors_check(const char *origins, struct error *err)
{
    if (origins == NULL || strcmp(origins, "*") == 0)
        return STATUS_OK;
    for (const char *at = origins;; at++) {
        size_t length = strcspn(at, ",");
        if (!is_origin(at, length))
            return error_set(err, STATUS_INVALID, "usage", "", "not an origin such as https://example.org: %.*s",
                             (int)(length < 100 ? length : 100), at);
        at += length;
        if (*at == '\0')
            return STATUS_OK;
    }
}

const char *cors_allow(const char *origins, const char *origin)
{
    if (origins == NULL || origin == NULL)
        return NULL;
    if (strcmp(origins, "*") == 0)
        return origins;
    for (const char *at = origins; *at != '\0'; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (strlen(origin) == length && strncmp(at, origin, length) == 0)
            return origin;
        at += length;
    }
    return NULL;
}
