/* See schema.h.  One function per kind; the table decides which. */
#include "api/schema.h"

#include "service/codec.h"
#include "service/codec_read.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void problems_add(struct problems *problems, const struct error *problem)
{
    if (problems->items == NULL)
        problems->items = ARENA_NEW(problems->arena, struct error, PROBLEMS_MAX);
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

static enum status read_string(const struct field *field, const json_t *json, const char *where, void *to,
                               struct error *err)
{
    if (!json_is_string(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be a string");
    *(const char **)to = json_string_value(json);
    double length = (double)codec_read_characters(json_string_value(json));
    if (length < field->min || length > field->max)
        return error_set(err, STATUS_INVALID, "out_of_range", where, "must have %.0f to %.0f characters", field->min,
                         field->max);
    return STATUS_OK;
}

static enum status read_number(const struct field *field, const json_t *json, const char *where, void *to,
                               struct error *err)
{
    double value;
    bool   is_int = field->kind == FIELD_INT;
    if (!(is_int ? codec_read_is_integral(json, &value) : codec_read_is_finite(json, &value)))
        return error_set(err, STATUS_INVALID, "wrong_type", where, is_int ? "must be an integer" : "must be a number");
    if (value < field->min || value > field->max)
        return error_set(err, STATUS_INVALID, "out_of_range", where, "must be within [%.16g, %.16g]", field->min,
                         field->max);
    if (is_int)
        *(int64_t *)to = (int64_t)value;
    else
        *(double *)to = value;
    return STATUS_OK;
}

static enum status read_bool(const struct field *field, const json_t *json, const char *where, void *to,
                             struct error *err)
{
    (void)field;
    *(bool *)to = json_is_true(json);
    return json_is_boolean(json) ? STATUS_OK
                                 : error_set(err, STATUS_INVALID, "wrong_type", where, "must be true or false");
}

static enum status read_choice(const struct field *field, const json_t *json, const char *where, void *to,
                               struct error *err)
{
    const char *text = json_string_value(json);
    if (text == NULL)
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be a string");
    for (size_t i = 0; field->choices[i] != NULL; i++)
        if (strcmp(text, field->choices[i]) == 0) {
            *(const char **)to = field->choices[i];
            return STATUS_OK;
        }
    return error_set(err, STATUS_INVALID, "unknown_value", where, "is not one of the documented values");
}

static enum status read_json(const struct field *field, const json_t *json, const char *where, void *to,
                             struct error *err)
{
    (void)field, (void)where, (void)err;
    *(const json_t **)to = json;
    return STATUS_OK;
}

static enum status (*const readers[])(const struct field *, const json_t *, const char *, void *, struct error *) = {
    [FIELD_STRING] = read_string, [FIELD_INT] = read_number,    [FIELD_NUMBER] = read_number,
    [FIELD_BOOL] = read_bool,     [FIELD_CHOICE] = read_choice, [FIELD_JSON] = read_json,
};

static void set_fallbacks(const struct field *field, char *out)
{
    if (field->kind == FIELD_INT)
        *(int64_t *)(void *)(out + field->offset) = (int64_t)field->fallback;
    else if (field->kind == FIELD_NUMBER)
        *(double *)(void *)(out + field->offset) = field->fallback;
    else if (field->kind == FIELD_BOOL)
        *(bool *)(void *)(out + field->offset) = field->fallback != 0;
    for (const struct field *inner = field->fields; inner != NULL && inner->name != NULL; inner++)
        set_fallbacks(inner, out);
}

static void read_field(const struct field *field, const json_t *json, const char *where, char *out,
                       struct problems *problems)
{
    struct error error = {.status = STATUS_OK};
    char         path[CODEC_PATH_MAX];
    codec_read_path(path, where, field->name);
    if (json == NULL)
        set_fallbacks(field, out);
    if (json == NULL && field->required)
        (void)error_set(&error, STATUS_INVALID, "missing_member", path, "is required");
    else if (json == NULL || (json_is_null(json) && field->nullable))
        return;
    else if (field->kind == FIELD_OBJECT)
        schema_read(field->fields, json, path, out, problems);
    else
        (void)readers[field->kind](field, json, path, out + field->offset, &error);
    if (error.status != STATUS_OK)
        problems_add(problems, &error);
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    while (fields->name != NULL && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name == NULL ? NULL : fields;
}

void schema_read(const struct field *fields, const json_t *json, const char *where, void *out,
                 struct problems *problems)
{
    struct error error;
    char         path[CODEC_PATH_MAX];
    const char  *name;
    json_t      *value;
    if (!json_is_object(json)) {
        (void)error_set(&error, STATUS_INVALID, "wrong_type", where, "must be an object");
        problems_add(problems, &error);
        return;
    }
    json_object_foreach ((json_t *)json, name, value) {
        if (find_field(fields, name) != NULL)
            continue;
        codec_read_path(path, where, name);
        (void)error_set(&error, STATUS_INVALID, "unknown_member", path, "there is no such member");
        problems_add(problems, &error);
    }
    for (const struct field *field = fields; field->name != NULL; field++)
        read_field(field, json_object_get(json, field->name), where, out, problems);
}

/* The value of a query item as the JSON its field expects; null when it cannot be that, NULL when out of memory. */
static json_t *query_value(const struct field *field, const char *text)
{
    char     *end;
    long long number;
    switch (field->kind) {
    case FIELD_INT:
        number = strtoll(text, &end, 10);
        return strspn(text, "0123456789") == strlen(text) && end != text && strlen(text) < 17 ? json_integer(number)
                                                                                              : json_null();
    case FIELD_BOOL:
        return strcmp(text, "true") == 0 ? json_true() : strcmp(text, "false") == 0 ? json_false() : json_null();
    default:
        return codec_is_utf8(text, strlen(text)) ? json_string(text) : json_null();
    }
}

json_t *schema_query(const struct field *fields, const struct query_item *items, size_t len, struct problems *problems)
{
    json_t *object = json_object();
    for (size_t i = 0; i < len && object != NULL; i++) {
        struct error        error;
        const struct field *field = fields == NULL ? NULL : find_field(fields, items[i].name);
        json_t             *value = field == NULL ? json_null() : query_value(field, items[i].value);
        const char         *wrong = field == NULL                                  ? "unknown query parameter"
                                    : json_object_get(object, field->name) != NULL ? "repeated query parameter"
                                    : json_is_null(value)                          ? "not a valid value of"
                                                                                   : NULL;
        if (wrong != NULL) {
            (void)error_set(&error, STATUS_INVALID, "bad_request", "", "%s: %.64s", wrong, items[i].name);
            problems_add(problems, &error);
        } else if (value == NULL || json_object_set(object, field->name, value) != 0) {
            json_decref(object);
            object = NULL;
        }
        json_decref(value);
    }
    return object;
}
