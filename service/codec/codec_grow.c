/* See codec_grow.h.
 * The larger space is put together as JSON and read as any other, which checks it as a whole. */
#include "service/codec/codec_grow.h"

#include "service/member/codec.h"
#include "service/codec/codec_spec.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME_DEPTH_MAX = 8 };

struct merge {
    struct error *err;
    json_t       *list;       /* the parameters; owned by the specification's JSON */
    bool          is_changed; /* the parameter at hand */
};

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
    const json_t *old = json_object_get(own, key);
    double        sign = strcmp(key, "min") == 0 ? 1 : -1;
    if (!json_is_number(value) || old == NULL)
        return error_set(merge->err, STATUS_INVALID, old == NULL ? "unknown_member" : "wrong_type", where,
                         old == NULL ? "a parameter of this type has none" : "must be a number");
    double inside = sign * (json_number_value(value) - json_number_value(old));
    if (inside > 0)
        return error_set(merge->err, STATUS_CONFLICT, "space_shrinks", where, "the space grows only: it has %.16g",
                         json_number_value(old));
    if (inside == 0)
        return STATUS_OK;
    merge->is_changed = true;
    return json_object_set(own, key, (json_t *)(uintptr_t)value) == 0 ? STATUS_OK : error_no_memory(merge->err);
}

static enum status merge_values(struct merge *merge, json_t *own, const json_t *values, const char *where)
{
    if (!json_is_array(values))
        return error_set(merge->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_t *value = json_array_get(values, i);
        size_t  k = 0;
        while (k < json_array_size(own) && !is_same(json_array_get(own, k), value, 0))
            k++;
        if (k < json_array_size(own))
            continue;
        merge->is_changed = true;
        if (json_array_append(own, value) != 0)
            return error_no_memory(merge->err);
    }
    return STATUS_OK;
}

static enum status refuse_other(struct merge *merge, const char *where, const char *key)
{
    return error_set(merge->err, STATUS_CONFLICT, "space_conflict", where, "the parameter has another %s", key);
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
        return error_set(merge->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    json_object_foreach ((json_t *)when, parent, values) {
        codec_read_path(path, where, parent);
        old = json_object_get(own, parent);
        if (old == NULL)
            return refuse_other(merge, path, "condition");
        TRY(merge_values(merge, old, values, path));
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
    return is_as_it_was ? STATUS_OK : refuse_other(merge, where, key);
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
        return error_set(merge->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    const json_t *name = json_object_get(item, "name");
    if (!json_is_string(name))
        return error_set(merge->err, STATUS_INVALID, name == NULL ? "missing_member" : "wrong_type", path,
                         "must be a string");
    json_t *own = find_own(merge->list, json_string_value(name), at);
    merge->is_changed = own == NULL;
    if (own == NULL)
        return json_array_append(merge->list, (json_t *)(uintptr_t)item) == 0 ? STATUS_OK : error_no_memory(merge->err);
    json_object_foreach ((json_t *)item, key, value) {
        codec_read_path(path, where, key);
        TRY(merge_member(merge, own, key, value, path));
    }
    return STATUS_OK;
}

/* "/space/parameters/7/min" is the request's "/parameters/2/min". */
static void point_into_request(const struct growth *growth, size_t len, struct error *err)
{
    static const char prefix[] = "/space/parameters/";
    char              path[sizeof err->path], *end;
    if (err == NULL || strncmp(err->path, prefix, sizeof prefix - 1) != 0)
        return;
    unsigned long at = strtoul(err->path + sizeof prefix - 1, &end, 10);
    snprintf(path, sizeof path, "%s", end);
    if (at < len && growth->items[at] != SIZE_MAX)
        (void)snprintf(err->path, sizeof err->path, "/parameters/%zu%.70s", growth->items[at], path);
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

static enum status read_larger(const struct spec *from, const json_t *merged, const bool *changed, struct arena *arena,
                               struct growth *out, struct error *err)
{
    enum status status = codec_spec(merged, 0, arena, &out->spec, err);
    if (status == STATUS_OK)
        status = check_steps(&from->space, &out->spec.space, err);
    json_auto_t *before = status == STATUS_OK ? codec_spec_json(from) : NULL;
    json_auto_t *after = before != NULL ? codec_spec_json(&out->spec) : NULL;
    json_auto_t *detail = after != NULL ? detail_json(out, changed, list_of(before), list_of(after)) : NULL;
    if (status == STATUS_INVALID)
        point_into_request(out, json_array_size(list_of(merged)), err);
    if (status != STATUS_OK)
        return status;
    out->is_changed = out->is_changed && json_equal(before, after) == 0; // room for less than a step is none
    out->spec_text = text_of(after, arena);
    out->detail = text_of(detail, arena);
    return out->spec_text != NULL && out->detail != NULL ? STATUS_OK : error_no_memory(err);
}

enum status codec_grow(const struct spec *from, const json_t *parameters, struct arena *arena, struct growth *out,
                       struct error *err)
{
    char         path[CODEC_PATH_MAX];
    json_auto_t *spec = codec_spec_json(from);
    struct merge merge = {.err = err, .list = (json_t *)(uintptr_t)list_of(spec)};
    size_t       len = json_array_size(parameters), room = from->space.params_len + len, at = 0;
    size_t      *items = ARENA_NEW(arena, size_t, room);
    bool        *changed = ARENA_NEW(arena, bool, room);
    if (from->space.kind != SPACE_PARAMETERS)
        return error_set(err, STATUS_INVALID, "wrong_space", "", "only a space of parameters can grow");
    if (!json_is_array(parameters) || len < 1 || len > SPACE_PARAMS_MAX)
        return error_set(err, STATUS_INVALID, json_is_array(parameters) ? "out_of_range" : "wrong_type", "/parameters",
                         "must be an array of 1 to %d parameters", SPACE_PARAMS_MAX);
    if (merge.list == NULL || items == NULL || changed == NULL)
        return error_no_memory(err);
    *out = (struct growth){.items = items};
    for (size_t i = 0; i < room; i++) {
        items[i] = SIZE_MAX;
        changed[i] = false;
    }
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, "/parameters", i);
        TRY(merge_item(&merge, json_array_get(parameters, i), path, &at));
        if (items[at] != SIZE_MAX)
            return error_set(err, STATUS_INVALID, "duplicate_name", path, "is there twice");
        items[at] = i;
        changed[at] |= merge.is_changed;
        out->is_changed |= merge.is_changed;
    }
    return read_larger(from, spec, changed, arena, out, err);
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
