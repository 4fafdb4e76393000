/* See codec_read.h. */
#include "service/member/codec_read.h"

#include "service/base/nearest.h"
#include "service/base/text.h"
#include "service/member/codec.h"

#include <ctype.h>
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

void problems_add(struct problems *problems, const struct error *problem)
{
    if (problems->items == NULL)
        problems->items = ARENA_NEW(problems->arena, struct error, PROBLEMS_MAX);
    for (size_t i = 0; i < problems->len; i++) // two tables may ask for a member, or neither know it
        if (strcmp(problems->items[i].path, problem->path) == 0 &&
            (strcmp(problems->items[i].text, problem->text) == 0 || strcmp(problem->code, "unknown_member") == 0))
            return;
    if (problems->items != NULL && problems->len < PROBLEMS_MAX)
        problems->items[problems->len++] = *problem;
}

enum status problems_first(const struct problems *problems, struct error *err)
{
    if (problems->len == 0)
        return STATUS_OK;
    if (err != NULL)
        *err = problems->items[0];
    return problems->items[0].status;
}

enum status codec_read_on(struct reading *in, enum status status, enum status *whole)
{
    if (status != STATUS_INVALID || in->problems == NULL)
        return status;
    if (in->err->code[0] != '\0')
        problems_add(in->problems, in->err);
    if (in->problems->items == NULL)
        return error_no_memory(in->err); // and not a reader that found nothing wrong
    in->err->code[0] = '\0';             // it is among them, whoever hands it on
    *whole = status;
    return STATUS_OK;
}

const struct member *codec_member(const struct member *members, const char *name)
{
    for (const struct member *member = members; member->name != NULL; member++) {
        const struct member *found = member->name[0] == '\0'           ? codec_member(member->members, name)
                                     : strcmp(member->name, name) == 0 ? member
                                                                       : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

json_t *codec_pick(const struct member *members, const json_t *json)
{
    json_t *object = json_object();
    for (const struct member *member = members; member->name != NULL; member++)
        if (json_object_get(json, member->name) != NULL)
            codec_put(&object, member->name, json_incref(json_object_get(json, member->name)));
    return object;
}

static void consider_members(struct nearest *nearest, const struct member *members)
{
    for (const struct member *member = members; member->name != NULL; member++)
        if (member->name[0] == '\0')
            consider_members(nearest, member->members);
        else if (member->refused == NULL)
            nearest_consider(nearest, member->name);
}

static enum status refuse_unknown(struct reading *in, const struct member *members, const char *key, const char *path)
{
    struct nearest nearest = nearest_to(key, strlen(key));
    consider_members(&nearest, members);
    return nearest_refuse(&nearest, in->err, "unknown_member", path, "member", "openapi.yaml has all");
}

enum status codec_read_only(struct reading *in, const struct member *members, const json_t *json, const char *where)
{
    enum status whole = STATUS_OK;
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)json, key, value) {
        const struct member *member = codec_member(members, key);
        if (member != NULL && member->refused == NULL)
            continue;
        codec_read_path(path, where, key);
        TRY(codec_read_on(in,
                          member == NULL
                              ? refuse_unknown(in, members, key, path)
                              : error_set(in->err, STATUS_INVALID, "not_editable", path, "%s", member->refused),
                          &whole));
    }
    return whole;
}

static enum status missing(struct reading *in, const struct member *member, const char *where)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, member->name);
    return error_set(in->err, STATUS_INVALID, "missing_member", path, "is required");
}

/* Checks that the members which are read later are there, if required. */
static enum status check_there(struct reading *in, const struct member *members, const json_t *json, const char *where)
{
    enum status whole = STATUS_OK;
    for (const struct member *member = members; member->name != NULL; member++)
        if (member->required && json_object_get(json, member->name) == NULL)
            TRY(codec_read_on(in, missing(in, member, where), &whole));
    return whole;
}

static void set_fallback(const struct member *member, char *out)
{
    void *to = out + member->offset;
    if (member->is_edit)
        return;
    if (member->text != NULL)
        *(const char **)to = member->text;
    else if (member->fallback != 0 && member->read == codec_read_integer)
        *(int64_t *)to = (int64_t)member->fallback;
    else if (member->fallback != 0 && member->read == codec_read_number)
        *(double *)to = member->fallback;
    else if (member->fallback != 0 && member->read == codec_read_bool)
        *(bool *)to = true;
    for (const struct member *inner = member->members; inner != NULL && inner->name != NULL; inner++)
        set_fallback(inner, out);
}

void codec_read_absent(const struct member *members, const json_t *json, void *out)
{
    for (const struct member *member = members; member->name != NULL; member++)
        if (json_object_get(json, member->name) == NULL)
            set_fallback(member, out);
}

static enum status read_member(struct reading *in, const struct member *member, const json_t *json, const char *where,
                               char *out)
{
    char  path[CODEC_PATH_MAX];
    void *to = out + member->offset;
    if (json == NULL)
        set_fallback(member, out);
    if (json_is_null(json) && member->nullable && member->read == codec_read_number)
        *(double *)to = NAN; /* no value, rather than 0 */
    bool is_needed = member->required && !member->is_edit;
    if ((json == NULL && !is_needed) || (json_is_null(json) && member->nullable))
        return STATUS_OK;
    if (json == NULL)
        return missing(in, member, where);
    codec_read_path(path, where, member->name);
    return member->read(in, member, json, path, to);
}

enum status codec_read_object(struct reading *in, const struct member *members, const json_t *json, const char *where,
                              void *out)
{
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    enum status whole = STATUS_OK;
    TRY(codec_read_on(in, codec_read_only(in, members, json, where), &whole));
    for (const struct member *member = members; member->name != NULL; member++)
        if (member->refused == NULL)
            TRY(codec_read_on(in,
                              member->name[0] == '\0'
                                  ? check_there(in, member->members, json, where)
                                  : read_member(in, member, json_object_get(json, member->name), where, out),
                              &whole));
    return whole;
}

enum status codec_read_inside(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    return codec_read_object(in, member->members, json, where, out);
}

enum status codec_read_text(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    if (!json_is_string(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a string");
    size_t characters = codec_read_characters(json_string_value(json));
    if (member->min == member->max && (double)characters != member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have %.0f characters", member->max);
    if ((double)characters < member->min || (double)characters > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have %.0f to %.0f characters",
                         member->min, member->max);
    const char *text = json_string_value(json);
    const char *copy = in->arena == NULL ? text : arena_strndup(in->arena, text, json_string_length(json));
    if (copy == NULL)
        return error_no_memory(in->err);
    memcpy(out, &copy, sizeof copy);
    return STATUS_OK;
}

enum { REASON_MAX = 1000 };

/* Where so many characters of a text end. */
static const char *skip_characters(const char *text, size_t characters)
{
    for (; characters > 0 && *text != '\0'; characters--)
        text += sequence_length(text);
    return text;
}

/* Where the JSON keeps the texts, it keeps the shorter one: who reads has it alone. */
enum status codec_read_reason(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    static const char gap[] = " [...] ";
    char              cut[4 * REASON_MAX + sizeof gap];
    const char       *text = json_string_value(json);
    size_t            most = (size_t)member->max, characters = text == NULL ? 0 : codec_read_characters(text);
    if (characters <= most || most > REASON_MAX)
        return codec_read_text(in, member, json, where, out);
    size_t      left = most - (sizeof gap - 1), head = left / 3; // the end of a traceback says most
    const char *tail = skip_characters(text, characters - (left - head));
    (void)snprintf(cut, sizeof cut, "%.*s%s%s", (int)(skip_characters(text, head) - text), text, gap, tail);
    json_t     *own = (json_t *)(uintptr_t)json;
    const char *kept = in->arena != NULL                ? arena_strndup(in->arena, cut, strlen(cut))
                       : json_string_set(own, cut) == 0 ? json_string_value(own)
                                                        : NULL;
    if (kept == NULL)
        return error_no_memory(in->err);
    memcpy(out, &kept, sizeof kept);
    return STATUS_OK;
}

static enum status check_range(struct reading *in, const struct member *member, double value, const char *where)
{
    char least[TEXT_REAL_BYTES], most[TEXT_REAL_BYTES];
    if (value < member->min || value > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must be within [%s, %s]",
                         text_number(member->min, least), text_number(member->max, most));
    return STATUS_OK;
}

enum status codec_read_number(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    double value;
    if (!codec_read_is_finite(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where,
                         json_is_null(json) && strstr(where, "value") != NULL
                             ? "must be a number; a trial without one is told by \"state\": \"failed\""
                             : "must be a number");
    TRY(check_range(in, member, value, where));
    memcpy(out, &value, sizeof value);
    return STATUS_OK;
}

enum status codec_read_integer(struct reading *in, const struct member *member, const json_t *json, const char *where,
                               void *out)
{
    double value;
    if (!codec_read_is_integral(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an integer");
    TRY(check_range(in, member, value, where));
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
    struct nearest nearest = nearest_to(json_string_value(json), json_string_length(json));
    for (size_t i = 0; member->names[i] != NULL; i++)
        nearest_consider(&nearest, member->names[i]);
    const char *noun = strrchr(where, '/');
    return nearest_refuse(&nearest, in->err, "unknown_value", where,
                          noun == NULL || isdigit(noun[1]) ? "value" : noun + 1, "openapi.yaml has all");
}

enum status codec_read_name(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    int i = 0;
    TRY(codec_read_choice(in, member, json, where, &i));
    memcpy(out, &member->names[i], sizeof member->names[i]);
    return STATUS_OK;
}

enum status codec_read_set(struct reading *in, const struct member *member, const json_t *json, const char *where,
                           void *out)
{
    int64_t set = 0;
    size_t  i;
    json_t *item;
    json_array_foreach ((json_t *)(uintptr_t)json, i, item) {
        int place = 0;
        TRY(codec_read_choice(in, member, item, where, &place));
        set |= INT64_C(1) << place;
    }
    memcpy(out, &set, sizeof set);
    return STATUS_OK;
}

enum status codec_read_time(struct reading *in, const struct member *member, const json_t *json, const char *where,
                            void *out)
{
    int64_t ms;
    (void)member;
    if (!json_is_string(json) || !codec_time_read(json_string_value(json), &ms))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a time like 2026-03-01T09:30:00.125Z");
    memcpy(out, &ms, sizeof ms);
    return STATUS_OK;
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

enum status codec_read_known(struct reading *in, const struct member *member, const json_t *json, const char *where,
                             void *out)
{
    (void)in, (void)member, (void)json, (void)where, (void)out;
    return STATUS_OK;
}

enum status codec_read_list(const struct reading *in, const json_t *json, const char *where, size_t least, size_t most)
{
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (json_array_size(json) < least || json_array_size(json) > most)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have %zu to %zu items", least, most);
    return STATUS_OK;
}

enum status codec_read_word(struct reading *in, const json_t *json, const char *where, const char *name,
                            const char *const *names, int *word)
{
    const struct member member = {.name = name, .names = names};
    char                path[CODEC_PATH_MAX];
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    const json_t *value = json_object_get(json, name);
    codec_read_path(path, where, name);
    return value == NULL ? missing(in, &member, where) : codec_read_choice(in, &member, value, path, word);
}
