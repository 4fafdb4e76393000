/* See codec_write.h. */
#include "service/member/codec_write.h"

#include <string.h>

json_t *codec_write_time(const struct writing *out, const struct member *member)
{
    return codec_time_json(*(const int64_t *)codec_at(out, member));
}

json_t *codec_write_steady(const struct writing *out, const struct member *member)
{
    int64_t ms = *(const int64_t *)codec_at(out, member);
    return codec_time_json(ms == 0 ? 0 : ms + out->shift_ms);
}

json_t *codec_write_characters(const struct writing *out, const struct member *member)
{
    const char *text = codec_at(out, member);
    return text[0] == '\0' && member->nullable ? json_null() : json_string(text);
}

json_t *codec_write_secret(const struct writing *out, const struct member *member)
{
    return out->for_store ? json_null() : codec_write_characters(out, member);
}

json_t *codec_write_json(const struct writing *out, const struct member *member)
{
    const char *text = *(const char *const *)codec_at(out, member);
    return text == NULL ? json_null() : codec_load(text, 0);
}

json_t *codec_write_number(const struct writing *out, const struct member *member)
{
    return codec_number(*(const double *)codec_at(out, member));
}

json_t *codec_write_word(const struct writing *out, const struct member *member)
{
    (void)out;
    return json_string(member->names[0]);
}

static json_t *write_integer(const struct writing *out, const struct member *member)
{
    int64_t value = *(const int64_t *)codec_at(out, member);
    return value == 0 && member->nullable ? json_null() : json_integer(value);
}

static json_t *write_inside(const struct writing *out, const struct member *member)
{
    struct writing inside = *out;
    inside.from = codec_at(out, member);
    inside.without = NULL;
    if (member->nullable && *(const int64_t *)codec_at(&inside, member->members) == 0)
        return json_null();
    return codec_write(member->members, &inside);
}

static json_t *write_text(const struct writing *out, const struct member *member)
{
    const char *text = *(const char *const *)codec_at(out, member);
    return text == NULL && !member->nullable ? NULL : codec_text(text);
}

static json_t *write_bool(const struct writing *out, const struct member *member)
{
    return json_boolean(*(const bool *)codec_at(out, member));
}

static json_t *write_choice(const struct writing *out, const struct member *member)
{
    return json_string(member->names[*(const int *)codec_at(out, member)]);
}

static json_t *write_member(const struct writing *out, const struct member *member)
{
    return member->write != NULL                ? member->write(out, member)
           : member->read == codec_read_integer ? write_integer(out, member)
           : member->read == codec_read_number  ? codec_write_number(out, member)
           : member->read == codec_read_bool    ? write_bool(out, member)
           : member->read == codec_read_choice  ? write_choice(out, member)
           : member->read == codec_read_inside  ? write_inside(out, member)
                                                : write_text(out, member);
}

bool codec_is_without(const char *const *without, const struct member *member)
{
    while (without != NULL && *without != NULL && strcmp(*without, member->name) != 0)
        without++;
    return without != NULL && *without != NULL;
}

void codec_write_into(json_t **object, const struct member *members, const struct writing *out)
{
    for (const struct member *member = members; member->name != NULL; member++) {
        struct writing inside = *out;
        inside.from = member->is_pointer ? *(const void *const *)codec_at(out, member) : codec_at(out, member);
        if (member->name[0] == '\0')
            codec_write_into(object, member->members, &inside);
        if (member->name[0] == '\0' || codec_is_without(out->without, member))
            continue;
        json_t *value = write_member(out, member);
        if (!(json_is_null(value) && member->optional))
            codec_put(object, member->name, value);
    }
}

json_t *codec_write(const struct member *members, const struct writing *out)
{
    json_t *object = json_object();
    codec_write_into(&object, members, out);
    return object;
}

json_t *codec_write_list(const struct member *members, const struct writing *out, size_t len, size_t bytes)
{
    json_t        *list = json_array();
    struct writing item = *out;
    for (size_t i = 0; i < len; i++) {
        item.from = (const char *)out->from + i * bytes;
        codec_append(&list, codec_write(members, &item));
    }
    return list;
}
