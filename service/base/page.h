/* Lists come in pages: how many at once, and the cursor with which the next page begins. */
#ifndef GNOMON_SERVICE_BASE_PAGE_H
#define GNOMON_SERVICE_BASE_PAGE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

/* As a client asks for it; cursor NULL: the first one. */
struct page {
    const char *cursor;
    int64_t     limit;
};

enum { PAGE_MAX = 1000, PAGE_DEFAULT = 100 };
int64_t page_limit(int64_t asked);

/* Here a cursor is the place at which the page before ended; api/core/cursor.h is what clients see of it. */

/* INVALID "bad_cursor" */
MUST_CHECK enum status page_bad(struct error *err);

/* Cursors of a list that is ordered by a number, which the cursor encodes (0: from the start).
 * Errors: INVALID "bad_cursor"; NO_MEMORY. */
MUST_CHECK enum status page_after(const char *cursor, int64_t *after, struct error *err);
MUST_CHECK enum status page_next(struct arena *arena, int64_t last, const char **cursor, struct error *err);

/* Cursors of a list that is ordered by age, then by id. */
struct page_place {
    int64_t created_ms; /* 0: from the start */
    char    id[24];
};
MUST_CHECK enum status page_after_place(const char *cursor, struct page_place *after, struct error *err);
MUST_CHECK enum status page_next_place(struct arena *arena, int64_t created_ms, const char *id, const char **cursor,
                                       struct error *err);

#endif
