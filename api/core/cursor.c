/* See cursor.h. */
#include "api/core/cursor.h"

#include "api/core/route.h"
#include "service/base/digest.h"
#include "service/base/text.h"

#include <assert.h>
#include <string.h>

enum { DIGEST_BYTES = 8, PLACE_MAX = 120 };

static bool has_cursors(const struct call *call)
{
    const struct form *form = call->route == NULL ? NULL : call->route->form;
    return form != NULL && form->query != NULL && codec_member(form->query, "cursor") != NULL;
}

/* Whether a cursor is independent of this query parameter. */
static bool is_apart(const struct query_item *item)
{
    return strcmp(item->name, "cursor") == 0 || strcmp(item->name, "limit") == 0 || strcmp(item->name, "wait") == 0;
}

static int compare(const struct query_item *a, const struct query_item *b)
{
    int names = strcmp(a->name, b->name);
    return names != 0 ? names : strcmp(a->value, b->value);
}

/* The next item after the last in the order of names, whatever the client's; of two that are the same, one. */
static const struct query_item *next_item(const struct call *call, const struct query_item *last)
{
    const struct query_item *next = NULL;
    for (const struct query_item *item = call->query; item < call->query + call->query_len; item++)
        if (!is_apart(item) && (last == NULL || compare(item, last) > 0) && (next == NULL || compare(item, next) < 0))
            next = item;
    return next;
}

/* Each text is followed by its length, so that no two lists read the same. */
static const char *add(struct arena *arena, const char *list, const char *text)
{
    return list == NULL ? NULL : text_format(arena, "%s%s/%zu", list, text, strlen(text));
}

/* The digest of a place in this list; false when out of memory. */
static bool digest(struct call *call, const char *place, unsigned char out[SHA256_BYTES])
{
    const char *list = add(&call->arena, "", call->route->path);
    for (size_t i = 0; i < CALL_PARAMS_MAX && call->params[i] != NULL; i++)
        list = add(&call->arena, list, call->params[i]);
    for (const struct query_item *item = NULL; (item = next_item(call, item)) != NULL;)
        list = add(&call->arena, add(&call->arena, list, item->name), item->value);
    list = add(&call->arena, list, place);
    if (list != NULL)
        sha256(list, strlen(list), out);
    return list != NULL;
}

/* The place in text, with a NUL; false when it is not a cursor of this list. */
static bool open_text(struct call *call, const char *text, char place[PLACE_MAX + 1], bool *has_memory)
{
    unsigned char bytes[DIGEST_BYTES + PLACE_MAX], expected[SHA256_BYTES];
    size_t        length = strlen(text) / 2;
    if (length <= DIGEST_BYTES || length > sizeof bytes || !digest_of_hex(text, bytes, length))
        return false;
    memcpy(place, bytes + DIGEST_BYTES, length - DIGEST_BYTES);
    place[length - DIGEST_BYTES] = '\0';
    if (strlen(place) != length - DIGEST_BYTES)
        return false;
    *has_memory = digest(call, place, expected);
    return *has_memory && digest_equal(bytes, expected, DIGEST_BYTES);
}

enum status cursor_read(struct call *call, const char *text, const char **place, struct error *err)
{
    bool has_memory = true;
    char found[PLACE_MAX + 1];
    bool is_good = open_text(call, text, found, &has_memory);
    if (!has_memory)
        return error_no_memory(err);
    if (!is_good)
        return error_set(err, STATUS_INVALID, "bad_cursor", "/cursor",
                         "this cursor did not come from this list with these filters and this order");
    *place = arena_strndup(&call->arena, found, strlen(found));
    return *place == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status cursor_open(struct call *call, struct error *err)
{
    for (size_t i = 0; has_cursors(call) && i < call->query_len; i++)
        if (strcmp(call->query[i].name, "cursor") == 0)
            TRY(cursor_read(call, call->query[i].value, &call->query[i].value, err));
    return STATUS_OK;
}

const char *cursor_text(struct call *call, const char *place)
{
    unsigned char bytes[SHA256_BYTES + PLACE_MAX];
    size_t        length = strlen(place);
    assert(length > 0 && length <= PLACE_MAX);
    char *text = arena_alloc(&call->arena, 2 * (DIGEST_BYTES + length) + 1, 1);
    if (text == NULL || !digest(call, place, bytes))
        return NULL;
    memcpy(bytes + DIGEST_BYTES, place, length);
    digest_to_hex(bytes, DIGEST_BYTES + length, text);
    return text;
}

bool cursor_seal(struct call *call, json_t *reply)
{
    static const char *const names[] = {"next_cursor", "last_cursor"};
    for (size_t i = 0; has_cursors(call) && i < sizeof names / sizeof names[0]; i++) {
        const char *place = json_string_value(json_object_get(reply, names[i]));
        const char *text = place == NULL ? NULL : cursor_text(call, place);
        if (place != NULL && (text == NULL || json_object_set_new(reply, names[i], json_string(text)) != 0))
            return false;
    }
    return true;
}
