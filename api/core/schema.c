/* See schema.h. */
#include "api/core/schema.h"

#include "service/base/nearest.h"
#include "service/member/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void schema_read(const struct member *members, const json_t *json, void *out, struct problems *problems)
{
    struct error   error;
    struct reading in = {.err = &error, .problems = problems};
    enum status    whole;
    if (codec_read_on(&in, codec_read_object(&in, members, json, "", out), &whole) != STATUS_OK)
        problems_add(problems, &error);
}

static const struct member *find_member(const struct member *members, const char *name)
{
    while (members->name != NULL && strcmp(members->name, name) != 0)
        members++;
    return members->name == NULL ? NULL : members;
}

/* The value of a query item as the JSON its member expects; null when it cannot be that, NULL when out of memory. */
static json_t *query_value(const struct member *member, const char *text)
{
    char     *end;
    long long number;
    if (member->read == codec_read_integer) {
        number = strtoll(text, &end, 10);
        return strspn(text, "0123456789") == strlen(text) && end != text && strlen(text) < 17 ? json_integer(number)
                                                                                              : json_null();
    }
    if (member->read == codec_read_bool)
        return strcmp(text, "true") == 0 ? json_true() : strcmp(text, "false") == 0 ? json_false() : json_null();
    return codec_is_utf8(text, strlen(text)) ? json_string(text) : json_null();
}

/* The error of a query parameter; a name that is not UTF-8 is left out.  members: that are known, or NULL. */
static enum status query_error(struct error *err, const char *code, const char *name, const struct member *members)
{
    char path[sizeof err->path] = "?";
    bool is_text = codec_is_utf8(name, strlen(name));
    if (strlen(name) + 1 < sizeof path && is_text)
        snprintf(path, sizeof path, "?%s", name);
    struct nearest nearest = nearest_to(name, is_text ? strlen(name) : 0);
    for (; members != NULL && members->name != NULL; members++)
        nearest_consider(&nearest, members->name);
    if (strcmp(code, "unknown_member") == 0)
        return nearest_refuse(&nearest, err, code, path, "query parameter", "openapi.yaml has all");
    return error_set(err, STATUS_INVALID, code, path, "%s",
                     strcmp(code, "duplicate_name") == 0 ? "is there twice" : "is not what this parameter takes");
}

/* False when out of memory. */
static bool put(json_t *object, const struct member *member, json_t *value)
{
    if (member->is_many && json_object_get(object, member->name) == NULL &&
        json_object_set_new(object, member->name, json_array()) != 0)
        return false;
    return value != NULL && (member->is_many ? json_array_append(json_object_get(object, member->name), value)
                                             : json_object_set(object, member->name, value)) == 0;
}

json_t *schema_query(const struct member *members, const struct query_item *items, size_t len,
                     struct problems *problems)
{
    json_t *object = json_object();
    for (size_t i = 0; i < len && object != NULL; i++) {
        struct error         error;
        const struct member *member = members == NULL ? NULL : find_member(members, items[i].name);
        json_t              *value = member == NULL ? json_null() : query_value(member, items[i].value);
        json_t              *before = member == NULL ? NULL : json_object_get(object, member->name);
        const char          *wrong = member == NULL                       ? "unknown_member"
                                     : before != NULL && !member->is_many ? "duplicate_name"
                                     : json_is_null(value)                ? "wrong_type"
                                                                          : NULL;
        if (wrong != NULL) {
            (void)query_error(&error, wrong, items[i].name, members);
            problems_add(problems, &error);
        } else if (!put(object, member, value)) {
            json_decref(object);
            object = NULL;
        }
        json_decref(value);
    }
    return object;
}
