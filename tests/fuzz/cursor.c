/* Cursors: "address" on the first line, the cursor behind it.  Only what was made for this list is read, and it is read
 * as it was made; a place of the first line's own comes back the same, and is refused on another list. */
#include "tests/fuzz/target.h"

#include "api/core/cursor.h"
#include "api/core/route.h"

#include <stdlib.h>
#include <string.h>

static void check_own(struct call *call, const char *text)
{
    struct error err;
    const char  *place = NULL, *again;
    char         own[121];
    if (cursor_read(call, text, &place, &err) == STATUS_OK) {
        again = cursor_text(call, place);
        assert(again != NULL && strcmp(again, text) == 0 && place[0] != '\0');
    } else
        assert(err.status == STATUS_INVALID && strcmp(err.code, "bad_cursor") == 0);
    size_t length = strlen(text) < 120 ? strlen(text) : 120;
    if (length == 0)
        return;
    memcpy(own, text, length);
    own[length] = '\0';
    again = cursor_text(call, own);
    assert(again != NULL && cursor_read(call, again, &place, &err) == STATUS_OK && strcmp(place, own) == 0);
    call->query[call->query_len++] = (struct query_item){"another", "filter"};
    assert(cursor_read(call, again, &place, &err) == STATUS_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    char        *line = fuzz_text(bytes, length);
    char        *text = strchr(line, '\n');
    if (text != NULL) {
        *text++ = '\0';
        struct call call = {.uri = line};
        arena_init(&call.arena, FUZZ_ARENA_BYTES);
        if (route_find(&call, "GET", &err) == STATUS_OK && call.query_len < CALL_QUERY_MAX) {
            check_own(&call, text);
            assert(cursor_open(&call, &err) == STATUS_OK || strcmp(err.code, "bad_cursor") == 0);
        }
        arena_fini(&call.arena);
    }
    free(line);
    return 0;
}
