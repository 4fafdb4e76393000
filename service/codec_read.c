/* Reading a JSON object by a table of its members. */
#include "service/codec_read.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const double integer_max = 9007199254740992.0; /* 2^53 */

size_t codec_read_characters(const char *text)
{
    size_t characters = 0;
    for (; *text != '\0'; text++)
        characters += ((unsigned char)*text & 0xc0) != 0x80;
    return characters;
}

static size_t sequence_length(const char *text)
{
    size_t length = 1;
    while (((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    return length;
}

void codec_read_path(char out[CODEC_PATH_MAX], const char *where, const char *name)
{
    size_t used = (size_t)snprintf(out, CODEC_PATH_MAX, "%s/", where);
    if (used >= CODEC_PATH_MAX)
        return;
    while (*name != '\0') {
        const char *piece = *name == '~' ? "~0" : *name == '/' ? "~1" : name;
        size_t      taken = sequence_length(name), length = piece == name ? taken : 2;
        if (used + length >= CODEC_PATH_MAX)
            break;
        memcpy(out + used, piece, length);
        used += length;
        name += taken;
    }
    out[used] = '\0';
}

void codec_read_path_item(char out[CODEC_PATH_MAX], const char *where, size_t item)
{
    snprintf(out, CODEC_PATH_MAX, "%s/%zu", where, item);
}

bool codec_read_is_finite(const json_t *json, double *value)
{
    if (!json_is_number(json))
        return false;
    *value = json_number_value(json) + 0.0; // -0 becomes 0: the store would lose the sign
    return isfinite(*value);
}

bool codec_read_is_integral(const json_t *json, double *value)
{
    if (!codec_read_is_finite(json, value) || floor(*value) != *value || fabs(*value) > integer_max)
        return false;
    return !json_is_integer(json) || (json_int_t)*value == json_integer_value(json);
}

static enum status check_known(struct reading *in, const struct member *members, const json_t *json, const char *where)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)json, key, value) {
        const struct member *member = members;
        while (member->name != NULL && strcmp(member->name, key) != 0)
            member++;
        if (member->name != NULL)
            continue;
        codec_read_path(path, where, key);
        return error_set(in->err, STATUS_INVALID, "unknown_member", path, "there is no such member");
    }
    return STATUS_OK;
}

enum status codec_read_object(struct reading *in, const struct member *members, const json_t *json, const char *where,
                              void *out)
{
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    TRY(check_known(in, members, json, where));
    char path[CODEC_PATH_MAX];
    for (const struct member *member = members; member->name != NULL; member++) {
        const json_t *value = json_object_get(json, member->name);
        if (value == NULL && !member->required)
            continue;
        codec_read_path(path, where, member->name);
        if (value == NULL)
            return error_set(in->err, STATUS_INVALID, "missing_member", path, "is required");
        TRY(member->read(in, member, value, path, (char *)out + member->offset));
    }
    return STATUS_OK;
}

enum status codec_read_text(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    if (!json_is_string(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a string");
    size_t characters = codec_read_characters(json_string_value(json));
    if ((double)characters < member->min || (double)characters > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have %.0f to %.0f characters",
                         member->min, member->max);
    const char *copy = arena_strndup(in->arena, json_string_value(json), json_string_length(json));
    if (copy == NULL)
        return error_set(in->err, STATUS_NO_MEMORY, "no_memory", where, "out of memory");
    memcpy(out, &copy, sizeof copy);
    return STATUS_OK;
}

enum status codec_read_number(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    double value;
    if (!codec_read_is_finite(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a number");
    if (value < member->min || value > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must be within [%g, %g]", member->min,
                         member->max);
    memcpy(out, &value, sizeof value);
    return STATUS_OK;
}

enum status codec_read_integer(struct reading *in, const struct member *member, const json_t *json, const char *where,
                               void *out)
{
    double value;
    if (!codec_read_is_integral(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an integer");
    if (value < member->min || value > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must be within [%.0f, %.0f]", member->min,
                         member->max);
    int64_t integer = (int64_t)value;
    memcpy(out, &integer, sizeof integer);
    return STATUS_OK;
}

enum status codec_read_choice(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    if (!json_is_string(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a string");
    for (int i = 0; member->names[i] != NULL; i++) {
        if (strcmp(member->names[i], json_string_value(json)) != 0)
            continue;
        memcpy(out, &i, sizeof i);
        return STATUS_OK;
    }
    return error_set(in->err, STATUS_INVALID, "unknown_value", where, "is not one of the documented values");
}

enum status codec_read_bool(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    (void)member;
    if (!json_is_boolean(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be true or false");
    bool value = json_is_true(json);
    memcpy(out, &value, sizeof value);
    return STATUS_OK;
}

enum status codec_read_kept(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    (void)in, (void)member, (void)where;
    memcpy(out, &json, sizeof json);
    return STATUS_OK;
}

enum status codec_read_type(struct reading *in, const json_t *json, const char *where, const char *const *names,
                            int *type)
{
    const struct member member = {.names = names};
    char                path[CODEC_PATH_MAX];
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    codec_read_path(path, where, "type");
    const json_t *value = json_object_get(json, "type");
    if (value == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", path, "is required");
    return codec_read_choice(in, &member, value, path, type);
}
