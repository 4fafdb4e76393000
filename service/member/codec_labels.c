/* See codec_labels.h. */
#include "service/member/codec_labels.h"

#include "service/member/codec.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 64, LABEL_KEY_MAX = 64, LABEL_VALUE_MAX = 256 };

static enum status check_label(struct reading *in, const char *key, const json_t *value, const char *where)
{
    size_t key_length = codec_read_characters(key);
    if (key_length < 1 || key_length > LABEL_KEY_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "a key has 1 to %d characters", LABEL_KEY_MAX);
    if (!json_is_string(value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a string");
    if (codec_read_characters(json_string_value(value)) > LABEL_VALUE_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 0 to %d characters",
                         LABEL_VALUE_MAX);
    return STATUS_OK;
}

/* Canonical text without so many characters at both ends. */
static const char *label_text(const json_t *json, size_t cut, struct arena *arena)
{
    char       *dump = codec_dump(json, JSON_COMPACT | JSON_SORT_KEYS);
    const char *text = dump == NULL ? NULL : arena_strndup(arena, dump + cut, strlen(dump) - 2 * cut);
    free(dump);
    return text;
}

const char *codec_label(const char *key, const char *value, struct arena *arena)
{
    json_t     *json = json_pack("{s:s}", key, value);
    const char *text = json == NULL ? NULL : label_text(json, 1, arena);
    json_decref(json);
    return text;
}

enum status codec_read_labels(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    const char *key, *text;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    (void)member;
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if (json_object_size(json) > LABELS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "at most %d labels", LABELS_MAX);
    enum status whole = STATUS_OK;
    json_object_foreach ((json_t *)json, key, value) {
        codec_read_path(path, where, key);
        TRY(codec_read_on(in, check_label(in, key, value, path), &whole));
    }
    TRY(whole);
    text = label_text(json, 0, in->arena != NULL ? in->arena : in->problems->arena);
    memcpy(out, &text, sizeof text);
    return text != NULL ? STATUS_OK : error_no_memory(in->err);
}

enum status codec_edit_labels(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    const char *const *labels = out;
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if (*labels == NULL)
        return STATUS_OK;
    json_t     *before = codec_load(*labels, 0), *after = before == NULL ? NULL : codec_merged(before, json);
    enum status status = after == NULL ? error_no_memory(in->err) : codec_read_labels(in, member, after, where, out);
    json_decref(after);
    json_decref(before);
    return status;
}
