/* Cursors as clients see them: the place at which a page ended, and the digest of it and of the list: its address and
 * all that was asked of it but how many at once.  Another list, another filter or another order refuses it.  There is no
 * secret in it: a place that somebody makes up is one in a list that they may read anyway. */
#ifndef GNOMON_API_CORE_CURSOR_H
#define GNOMON_API_CORE_CURSOR_H

#include "api/core/call.h"

/* The query's cursor becomes the place in it.  Errors: INVALID "bad_cursor"; NO_MEMORY. */
MUST_CHECK enum status cursor_open(struct call *call, struct error *err);

/* As cursor_open for a text outside of the query; place: in the arena. */
MUST_CHECK enum status cursor_read(struct call *call, const char *text, const char **place, struct error *err);

/* The cursor of a place, in the arena; NULL when out of memory. */
const char *cursor_text(struct call *call, const char *place);

/* Turns the places in the reply's next_cursor and last_cursor, if there are any, into cursors; false when out of memory. */
bool cursor_seal(struct call *call, json_t *reply);

#endif
