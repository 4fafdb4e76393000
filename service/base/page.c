/* See page.h. */
#include "service/base/page.h"

#include "service/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 15 };

int64_t page_limit(int64_t asked)
{
    return asked > PAGE_MAX ? PAGE_MAX : asked >= 1 ? asked : PAGE_DEFAULT;
}

enum status page_bad(struct error *err)
{
    return error_set(err, STATUS_INVALID, "bad_cursor", "/cursor", "this cursor did not come from a list");
}

enum status page_after(const char *cursor, int64_t *after, struct error *err)
{
    size_t digits = cursor == NULL ? 0 : strspn(cursor, "0123456789");
    *after = 0;
    if (cursor == NULL)
        return STATUS_OK;
    if (digits == 0 || digits > DIGITS_MAX || cursor[digits] != '\0')
        return page_bad(err);
    *after = strtoll(cursor, NULL, 10);
    return STATUS_OK;
}

static enum status check(const char *cursor, struct error *err)
{
    return cursor == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status page_next(struct arena *arena, int64_t last, const char **cursor, struct error *err)
{
    *cursor = text_format(arena, "%lld", (long long)last);
    return check(*cursor, err);
}

enum status page_after_place(const char *cursor, struct page_place *after, struct error *err)
{
    long long created_ms = 0;
    int       used = 0;
    *after = (struct page_place){.created_ms = 0};
    if (cursor == NULL)
        return STATUS_OK;
    if (sscanf(cursor, "%15lld:%23[a-z0-9_]%n", &created_ms, after->id, &used) != 2 || created_ms <= 0 ||
        cursor[used] != '\0')
        return page_bad(err);
    after->created_ms = created_ms;
    return STATUS_OK;
}

enum status page_next_place(struct arena *arena, int64_t created_ms, const char *id, const char **cursor,
                            struct error *err)
{
    *cursor = text_format(arena, "%lld:%s", (long long)created_ms, id);
    return check(*cursor, err);
}
