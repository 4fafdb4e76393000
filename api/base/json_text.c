/* jansson prints every real with the same number of digits, so that 0.1 becomes 0.10000000000000001; here reals are
 * printed by themselves, and jansson prints strings and integers. */
#include "api/base/json_text.h"

#include "service/base/text.h"

#include <stdbool.h>
#include <string.h>

struct text {
    struct arena *arena;
    char         *bytes;
    size_t        length, room;
    bool          failed;
};

static int append(const char *bytes, size_t length, void *arg)
{
    struct text *text = arg;
    if (text->failed)
        return -1;
    if (text->length + length >= text->room) {
        size_t room = 2 * (text->length + length) + 1024;
        char  *bigger = arena_alloc(text->arena, room, 1);
        if (bigger == NULL) {
            text->failed = true;
            return -1;
        }
        if (text->length > 0)
            memcpy(bigger, text->bytes, text->length);
        text->bytes = bigger;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static void append_real(struct text *text, double value)
{
    char   digits[TEXT_REAL_BYTES];
    size_t length = text_real(value, digits);
    (void)append(digits, length, text);
}

static void append_text(struct text *text, const json_t *json)
{
    if (json == NULL || json_dump_callback(json, append, text, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        text->failed = true;
}

static void append_value(struct text *text, const json_t *json);

static void append_object(struct text *text, const json_t *json)
{
    const char *name;
    json_t     *value;
    const char *before = "{";
    json_object_foreach ((json_t *)json, name, value) {
        json_t *key = json_string_nocheck(name);
        (void)append(before, 1, text);
        append_text(text, key);
        json_decref(key);
        (void)append(":", 1, text);
        append_value(text, value);
        before = ",";
    }
    (void)append("{}", *before == '{' ? 2 : 0, text);
    (void)append("}", *before == ',', text);
}

static void append_array(struct text *text, const json_t *json)
{
    (void)append("[", 1, text);
    for (size_t i = 0; i < json_array_size(json); i++) {
        (void)append(",", i > 0, text);
        append_value(text, json_array_get(json, i));
    }
    (void)append("]", 1, text);
}

static void append_value(struct text *text, const json_t *json)
{
    if (json_is_object(json))
        append_object(text, json);
    else if (json_is_array(json))
        append_array(text, json);
    else if (json_is_real(json))
        append_real(text, json_real_value(json));
    else
        append_text(text, json);
}

const char *json_text(const json_t *json, struct arena *arena, size_t *length)
{
    struct text text = {.arena = arena};
    append_value(&text, json);
    (void)append("", 1, &text);
    *length = text.failed ? 0 : text.length - 1;
    return text.failed ? NULL : text.bytes;
}
