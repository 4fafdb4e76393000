/* See codec_grow.h.
 * The larger space is put together as JSON and read as any other, which checks it as a whole. */
#include "service/codec/codec_grow.h"

#include "service/member/codec.h"
#include "service/base/text.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_spec.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME_DEPTH_MAX = 8 };

struct merge {
    struct reading    *in;
    const struct spec *from;
    json_t            *list;       /* the parameters; owned by the specification's JSON */
    bool               is_changed; /* the parameter at hand */
    enum status        whole;      /* INVALID or CONFLICT: there are problems */
};

/* As codec_read_on, of what is in conflict with the space, too. */
static enum status merge_on(struct merge *merge, enum status status)
{
    if (status == STATUS_CONFLICT && merge->in->problems != NULL) {
        problems_add(merge->in->problems, merge->in->err);
        merge->in->err->code[0] = '\0';
        merge->whole = STATUS_INVALID;
        return STATUS_OK;
    }
    return codec_read_on(merge->in, status, &merge->whole);
}

/* Whether two JSON values are equal; numbers are compared by value: 1 is 1.0. */
static bool is_same(const json_t *a, const json_t *b, int depth)
{
    const char *key;
    json_t     *value;
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b) || depth == SAME_DEPTH_MAX)
        return false;
    if (!json_is_object(a))
        return json_equal(a, b) != 0;
    bool same = json_object_size(a) == json_object_size(b);
    json_object_foreach ((json_t *)a, key, value) {
        const json_t *other = json_object_get(b, key);
        same = same && other != NULL && is_same(value, other, depth + 1);
    }
    return same;
}

static enum status merge_bound(struct merge *merge, json_t *own, const char *key, const json_t *value,
                               const char *where)
{
    double old = json_number_value(json_object_get(own, key)), sign = strcmp(key, "min") == 0 ? 1 : -1;
    char   room[TEXT_REAL_BYTES];
    if (!json_is_number(value))
        return error_set(merge->in->err, STATUS_INVALID, "wrong_type", where, "must be a number");
    double inside = sign * (json_number_value(value) - old);
    if (inside > 0)
        return error_set(merge->in->err, STATUS_CONFLICT, "space_shrinks", where,
                         "must be %s, or %s: a space only grows", text_number(old, room), sign > 0 ? "less" : "more");
    if (inside == 0)
        return STATUS_OK;
    merge->is_changed = true;
    return json_object_set(own, key, (json_t *)(uintptr_t)value) == 0 ? STATUS_OK : error_no_memory(merge->in->err);
}

static enum status merge_values(struct merge *merge, json_t *own, const json_t *values, const char *where)
{
    if (!json_is_array(values))
        return error_set(merge->in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_t *value = json_array_get(values, i);
        size_t  k = 0;
        while (k < json_array_size(own) && !is_same(json_array_get(own, k), value, 0))
            k++;
        if (k < json_array_size(own))
            continue;
        merge->is_changed = true;
        if (json_array_append(own, value) != 0)
            return error_no_memory(merge->in->err);
    }
    return STATUS_OK;
}

/* old: the value that the parameter has; NULL: none. */
static enum status refuse_other(struct merge *merge, const char *where, const json_t *old)
{
    char *text = old == NULL ? NULL : codec_dump(old, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (old != NULL && text == NULL)
        return error_no_memory(merge->in->err);
    enum status status = error_set(merge->in->err, STATUS_CONFLICT, "space_conflict", where,
                                   text == NULL ? "must be left out: a parameter that is there gets no new ones%.0s"
                                                : "must be left out, or be %.60s, as it is",
                                   text == NULL ? "" : text);
    free(text);
    return status;
}

/* Whether all must hold, and each lists its values: that can grow. */
static bool lists_values(const json_t *when)
{
    const char *parent;
    json_t     *values;
    bool        all = json_is_object(when);
    json_object_foreach ((json_t *)when, parent, values)
        all = all && json_is_array(values);
    return all;
}

/* More values of a parent; a parameter that always exists goes on to. */
static enum status merge_when(struct merge *merge, json_t *own, const json_t *when, const char *where)
{
    const char *parent;
    json_t     *values, *old;
    char        path[CODEC_PATH_MAX];
    if (!json_is_object(when))
        return error_set(merge->in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    json_object_foreach ((json_t *)when, parent, values) {
        codec_read_path(path, where, parent);
        old = json_object_get(own, parent);
        if (old == NULL)
            TRY(merge_on(merge, refuse_other(merge, path, NULL)));
        else
            TRY(merge_on(merge, merge_values(merge, old, values, path)));
    }
    return STATUS_OK;
}

/* A member with its default value, which a specification does not show. */
static bool is_implied(const char *key, const json_t *value)
{
    return (strcmp(key, "step") == 0 && json_is_number(value) && json_number_value(value) == 1) ||
           ((strcmp(key, "ordered") == 0 || strcmp(key, "context") == 0) && json_is_false(value));
}

static enum status merge_member(struct merge *merge, json_t *own, const char *key, const json_t *value,
                                const char *where)
{
    json_t *old = json_object_get(own, key);
    if (strcmp(key, "min") == 0 || strcmp(key, "max") == 0)
        return merge_bound(merge, own, key, value, where);
    if (strcmp(key, "values") == 0 && old != NULL)
        return merge_values(merge, old, value, where);
    if (strcmp(key, "when") == 0 && old != NULL && !is_same(old, value, 0) && lists_values(old))
        return merge_when(merge, old, value, where);
    bool is_as_it_was = old == NULL ? is_implied(key, value) : is_same(old, value, 0);
    return is_as_it_was ? STATUS_OK : refuse_other(merge, where, old);
}

static json_t *find_own(const json_t *list, const char *name, size_t *at)
{
    for (*at = 0; *at < json_array_size(list); ++*at) {
        json_t *own = json_array_get(list, *at);
        if (strcmp(json_string_value(json_object_get(own, "name")), name) == 0)
            return own;
    }
    return NULL;
}

static enum status merge_item(struct merge *merge, const json_t *item, const char *where, size_t *at)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    codec_read_path(path, where, "name");
    if (!json_is_object(item))
        return error_set(merge->in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    const json_t *name = json_object_get(item, "name");
    if (!json_is_string(name))
        TRY(merge_on(merge, codec_read_only(merge->in, codec_space_any_members, item, where)));
    if (!json_is_string(name))
        return error_set(merge->in->err, STATUS_INVALID, name == NULL ? "missing_member" : "wrong_type", path,
                         name == NULL ? "is required" : "must be a string");
    json_t *own = find_own(merge->list, json_string_value(name), at);
    merge->is_changed = own == NULL;
    if (own == NULL)
        return json_array_append(merge->list, (json_t *)(uintptr_t)item) == 0 ? STATUS_OK
                                                                              : error_no_memory(merge->in->err);
    if (*at >= merge->from->space.params_len) // an item before it added this parameter
        return STATUS_OK;
    const struct member *members = codec_space_param_members(merge->from->space.params[*at].kind);
    TRY(merge_on(merge, codec_read_only(merge->in, members, item, where)));
    json_object_foreach ((json_t *)item, key, value) {
        codec_read_path(path, where, key);
        if (codec_member(members, key) != NULL)
            TRY(merge_on(merge, merge_member(merge, own, key, value, path)));
    }
    return STATUS_OK;
}

/* The value that a JSON Pointer names; NULL: there is none.  No name of ours needs an escape, and no other is found. */
static json_t *at_pointer(const json_t *json, const char *pointer, size_t length)
{
    char key[CODEC_PATH_MAX];
    for (size_t at = 0, end; json != NULL && at < length; at = end) {
        for (end = at + 1; end < length && pointer[end] != '/';)
            end++;
        snprintf(key, sizeof key, "%.*s", (int)(end - at - 1), pointer + at + 1);
        json = json_is_array(json) ? json_array_get(json, strtoul(key, NULL, 10)) : json_object_get(json, key);
    }
    return (json_t *)(uintptr_t)json;
}

/* "/space/parameters/7/min" is the request's "/parameters/2/min", and a value that was added has there the place where it was
 * given. */
static void point_into_request(const struct growth *growth, const json_t *asked, const json_t *merged,
                               struct error *err)
{
    static const char prefix[] = "/space/parameters/";
    char              rest[CODEC_PATH_MAX], *end;
    if (strncmp(err->path, prefix, sizeof prefix - 1) != 0)
        return;
    unsigned long at = strtoul(err->path + sizeof prefix - 1, &end, 10);
    if (at >= json_array_size(merged) || growth->items[at] == SIZE_MAX)
        return;
    snprintf(rest, sizeof rest, "%s", end);
    const json_t *item = json_array_get(asked, growth->items[at]), *own = json_array_get(merged, at);
    const char   *last = strrchr(rest, '/');
    size_t        list = last == NULL ? 0 : (size_t)(last - rest);
    const json_t *given = at_pointer(item, rest, list), *value = at_pointer(own, rest, strlen(rest));
    for (size_t i = 0; json_is_array(given) && value != NULL && i < json_array_size(given); i++)
        if (is_same(json_array_get(given, i), value, 0)) {
            snprintf(rest + list, sizeof rest - list, "/%zu", i);
            break;
        }
    (void)snprintf(err->path, sizeof err->path, "/parameters/%zu%.70s", growth->items[at], rest);
}

static const char *text_of(const json_t *json, struct arena *arena)
{
    return codec_dump_in(json, JSON_COMPACT | JSON_REAL_PRECISION(17), arena);
}

/* The parameters that changed, as they are in both spaces. */
static json_t *detail_json(const struct growth *growth, const bool *changed, const json_t *before, const json_t *after)
{
    json_t *list = json_array(), *object = json_object();
    for (size_t i = 0; i < growth->spec.space.params_len; i++)
        if (changed[i])
            codec_append(&list, json_pack("{s:O?, s:O}", "before", json_array_get(before, i), "after",
                                          json_array_get(after, i)));
    codec_put(&object, "parameters", list);
    return object;
}

static const json_t *list_of(const json_t *spec)
{
    return json_object_get(json_object_get(spec, "space"), "parameters");
}

/* Steps go on from the values that are there: a min between two of them would lose every trial. */
static enum status check_steps(const struct space *from, const struct space *to, struct error *err)
{
    for (size_t i = 0; i < from->params_len; i++)
        if (from->params[i].step > 0 && !param_has(&to->params[i], from->params[i].min))
            return param_refuse(err, i, "min", "bad_step", "must be a whole number of steps below the min of before");
    return STATUS_OK;
}

static enum status read_larger(struct reading *in, const struct spec *from, const json_t *asked, const json_t *merged,
                               struct growth *out)
{
    const json_t *list = list_of(merged);
    size_t        known = in->problems == NULL ? 0 : in->problems->len;
    enum status   status = codec_spec_read(in, merged, 0, &out->spec);
    if (status == STATUS_OK)
        status = check_steps(&from->space, &out->spec.space, in->err);
    if (status == STATUS_INVALID && in->err != NULL)
        point_into_request(out, asked, list, in->err);
    for (; in->problems != NULL && known < in->problems->len; known++)
        point_into_request(out, asked, list, &in->problems->items[known]);
    return status;
}

static enum status say_growth(struct reading *in, const struct spec *from, const bool *changed, struct growth *out)
{
    json_auto_t *before = codec_spec_json(from);
    json_auto_t *after = before != NULL ? codec_spec_json(&out->spec) : NULL;
    json_auto_t *detail = after != NULL ? detail_json(out, changed, list_of(before), list_of(after)) : NULL;
    out->is_changed = out->is_changed && json_equal(before, after) == 0; // room for less than a step is none
    out->spec_text = text_of(after, in->arena);
    out->detail = text_of(detail, in->arena);
    return out->spec_text != NULL && out->detail != NULL ? STATUS_OK : error_no_memory(in->err);
}

enum status codec_grow(struct reading *in, const struct spec *from, const json_t *parameters, struct growth *out)
{
    char         path[CODEC_PATH_MAX];
    json_auto_t *spec = codec_spec_json(from);
    struct merge merge = {.in = in, .from = from, .list = (json_t *)(uintptr_t)list_of(spec), .whole = STATUS_OK};
    size_t       len = json_array_size(parameters), room = from->space.params_len + len, at = 0;
    size_t      *items = ARENA_NEW(in->arena, size_t, room);
    bool        *changed = ARENA_NEW(in->arena, bool, room);
    if (from->space.kind != SPACE_PARAMETERS)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "", "only a space of parameters can grow");
    TRY(codec_read_list(in, parameters, "/parameters", 1, SPACE_PARAMS_MAX));
    if (merge.list == NULL || items == NULL || changed == NULL)
        return error_no_memory(in->err);
    *out = (struct growth){.items = items};
    for (size_t i = 0; i < room; i++) {
        items[i] = SIZE_MAX;
        changed[i] = false;
    }
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, "/parameters", i);
        at = SIZE_MAX;
        TRY(merge_on(&merge, merge_item(&merge, json_array_get(parameters, i), path, &at)));
        if (at == SIZE_MAX) // it has no name
            continue;
        if (items[at] != SIZE_MAX)
            TRY(merge_on(&merge, error_set(in->err, STATUS_INVALID, "duplicate_name", path,
                                           "is there twice: it is parameters/%zu, too", items[at])));
        items[at] = i;
        changed[at] |= merge.is_changed;
        out->is_changed |= merge.is_changed;
    }
    TRY(merge_on(&merge, read_larger(in, from, parameters, spec, out)));
    TRY(merge.whole);
    return say_growth(in, from, changed, out);
}

static size_t place_of(const json_t *list, const char *name)
{
    size_t at = 0;
    while (at < json_array_size(list)) {
        const char *own = json_string_value(json_object_get(json_array_get(list, at), "name"));
        if (own != NULL && name != NULL && strcmp(own, name) == 0)
            break;
        at++;
    }
    return at;
}

enum status codec_ungrow(const char *spec, const char *detail, struct arena *arena, const char **out, struct error *err)
{
    json_auto_t  *json = codec_load(spec, 0), *said = codec_load(detail, 0);
    json_t       *list = (json_t *)(uintptr_t)list_of(json);
    const json_t *items = json_object_get(said, "parameters");
    bool          good = json_is_array(list) && json_is_array(items);
    for (size_t i = 0; good && i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        json_t       *before = json_object_get(item, "before");
        size_t        at = place_of(list, json_string_value(json_object_get(json_object_get(item, "after"), "name")));
        good = at < json_array_size(list) &&
               (json_is_object(before) ? json_array_set(list, at, before) : json_array_remove(list, at)) == 0;
    }
    if (!good)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log says nothing of how the space grew");
    *out = text_of(json, arena);
    return *out != NULL ? STATUS_OK : error_no_memory(err);
}
