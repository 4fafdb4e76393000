/* Cursors as clients see them: the place at which a page ended, and the digest of it and of the list: its address and
 * all that was asked of it but how many at once.  Another list, another filter or another order refuses it.  There is no
 * secret in it: a place that somebody makes up is one in a list that they may read anyway. */
#ifndef GNOMON_API_CORE_CURSOR_H
#define GNOMON_API_CORE_CURSOR_H

#include "api/core/call.h"

/* The query's cursor becomes the place in it.  Errors: INVALID "bad_cursor"; NO_MEMORY. */
MUST_CHECK enum status cursor_open(struct call *call, struct error *err);

/* The place in the reply's next_cursor, if there is one, becomes a cursor; false when out of memory. */
bool cursor_seal(struct call *call, json_t *reply);

#endif
