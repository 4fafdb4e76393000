/* Pages of other origins: which of them may read replies in a browser (the Fetch standard's CORS).  No cookies are used, so
 * credentials are never allowed; a page must have a token, as any client. */
#ifndef GNOMON_API_CORE_CORS_H
#define GNOMON_API_CORE_CORS_H

#include "engine/base/status.h"

#include <stdbool.h>

/* Methods and headers that a page may send, and headers it may read of a reply, beyond what every page may. */
extern const char cors_methods[], cors_request_headers[], cors_reply_headers[];

/* "*", or origins with commas: scheme://host or scheme://host:port.  NULL: none.  INVALID "usage". */
MUST_CHECK enum status cors_check(const char *origins, struct error *err);

/* The value of Access-Control-Allow-Origin for this origin, or NULL.  Either may be NULL. */
const char *cors_allow(const char *origins, const char *origin);

#endif
