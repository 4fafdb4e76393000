/* A study's specification <-> JSON.
 * One table per kind of object; which members an algorithm has is the policy's own option table.  What the engine
 * checks itself (bounds, sizes, combinations of options) is left to it; errors carry the pointer either way. */
#include "service/codec.h"
#include "service/codec_read.h"
#include "service/sign.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    NAME_MAX_CHARACTERS = 128,
    VALUE_MAX_CHARACTERS = 256,
    VALUES_MIN = 2,
    VALUES_MAX = 1000,
    LEASE_MAX_S = 604800,
    LEASE_DEFAULT_S = 3600
};
static const double seed_max = 9007199254740991.0; /* 2^53 - 1 */

static const char *const goal_names[] = {[GOAL_MAXIMIZE] = "maximize", [GOAL_MINIMIZE] = "minimize", NULL};
static const char *const scale_names[] = {[SCALE_LINEAR] = "linear", [SCALE_LOG] = "log", NULL};
static const char *const kind_names[] = {
    [PARAM_DOUBLE] = "double", [PARAM_INT] = "int", [PARAM_CATEGORICAL] = "categorical", NULL};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
}

/* ---- metrics ---- */

struct metric_form {
    const char *name;
    int         goal;
};
static const struct member metric_members[] = {
    {.name = "name",
     .required = true,
     .read = codec_read_text,
     .offset = offsetof(struct metric_form, name),
     .min = 1,
     .max = NAME_MAX_CHARACTERS},
    {.name = "goal",
     .required = true,
     .read = codec_read_choice,
     .offset = offsetof(struct metric_form, goal),
     .names = goal_names},
    {.name = NULL},
};

static enum status read_metrics(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                void *out)
{
    (void)member;
    struct spec       *spec = out;
    struct metric_form form = {0};
    char               path[CODEC_PATH_MAX];
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (json_array_size(json) != 1)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have exactly 1 item");
    codec_read_path_item(path, where, 0);
    TRY(codec_read_object(in, metric_members, json_array_get(json, 0), path, &form));
    spec->metric = form.name;
    spec->goal = (enum goal)form.goal;
    return STATUS_OK;
}

/* ---- one parameter ---- */

struct param_form {
    struct param       param;
    const char *const *values;
};
_Static_assert(sizeof(enum scale) == sizeof(int) && sizeof(enum param_kind) == sizeof(int), "choices are ints");

/* The bounds of an int are integers; both kinds leave the comparison of the two to space_init. */
static enum status read_integral_bound(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out)
{
    (void)member;
    double value;
    if (!codec_read_is_integral(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an integer within 2^53");
    memcpy(out, &value, sizeof value);
    return STATUS_OK;
}

static enum status read_unique_texts(struct reading *in, const json_t *json, const char *where, const char **texts)
{
    static const struct member item = {.min = 1, .max = VALUE_MAX_CHARACTERS};
    char                       path[CODEC_PATH_MAX];
    json_auto_t               *seen = json_object();
    if (seen == NULL)
        return no_memory(in->err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_text(in, &item, json_array_get(json, i), path, &texts[i]));
        if (json_object_get(seen, texts[i]) != NULL)
            return error_set(in->err, STATUS_INVALID, "duplicate_name", path, "is there twice");
        if (json_object_set_new(seen, texts[i], json_null()) != 0)
            return no_memory(in->err);
    }
    return STATUS_OK;
}

static enum status read_values(struct reading *in, const struct member *member, const json_t *json, const char *where,
                               void *out)
{
    (void)member;
    struct param_form *form = out;
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    size_t choices = json_array_size(json);
    if (choices < VALUES_MIN || choices > VALUES_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have %d to %d items", VALUES_MIN,
                         VALUES_MAX);
    const char **texts = ARENA_NEW(in->arena, const char *, choices);
    if (texts == NULL)
        return no_memory(in->err);
    TRY(read_unique_texts(in, json, where, texts));
    form->values = texts;
    form->param.choices = choices;
    form->param.min = 0;
    form->param.max = (double)(choices - 1);
    return STATUS_OK;
}

#define NAME_MEMBER                                                                                      \
    {                                                                                                    \
        .name = "name", .required = true, .read = codec_read_text, .min = 1, .max = NAME_MAX_CHARACTERS, \
        .offset = offsetof(struct param_form, param.name)                                                \
    }
#define TYPE_MEMBER                                                                       \
    {                                                                                     \
        .name = "type", .required = true, .read = codec_read_choice, .names = kind_names, \
        .offset = offsetof(struct param_form, param.kind)                                 \
    }
#define SCALE_MEMBER                                                      \
    {                                                                     \
        .name = "scale", .read = codec_read_choice, .names = scale_names, \
        .offset = offsetof(struct param_form, param.scale)                \
    }
#define BOUND_MEMBER(bound, reader)                                                            \
    {                                                                                          \
        .name = #bound, .required = true, .read = (reader), .min = -INFINITY, .max = INFINITY, \
        .offset = offsetof(struct param_form, param.bound)                                     \
    }

static const struct member double_members[] = {
    NAME_MEMBER,  TYPE_MEMBER,    BOUND_MEMBER(min, codec_read_number), BOUND_MEMBER(max, codec_read_number),
    SCALE_MEMBER, {.name = NULL},
};
static const struct member int_members[] = {
    NAME_MEMBER,  TYPE_MEMBER,    BOUND_MEMBER(min, read_integral_bound), BOUND_MEMBER(max, read_integral_bound),
    SCALE_MEMBER, {.name = NULL},
};
static const struct member categorical_members[] = {
    NAME_MEMBER,
    TYPE_MEMBER,
    {.name = "values", .required = true, .read = read_values},
    {.name = NULL},
};
static const struct member *const param_members[] = {
    [PARAM_DOUBLE] = double_members,
    [PARAM_INT] = int_members,
    [PARAM_CATEGORICAL] = categorical_members,
};

/* Which of the names the member "type" holds. */
static enum status read_type(struct reading *in, const json_t *json, const char *where, const char *const *names,
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

static enum status read_param(struct reading *in, const json_t *json, const char *where, struct param_form *form)
{
    int kind;
    *form = (struct param_form){0};
    TRY(read_type(in, json, where, kind_names, &kind));
    return codec_read_object(in, param_members[kind], json, where, form);
}

/* ---- the two kinds of space ---- */

static enum status read_param_list(struct reading *in, const json_t *json, const char *where, struct param *params,
                                   const char *const **values)
{
    struct param_form form;
    char              path[CODEC_PATH_MAX], name_path[CODEC_PATH_MAX];
    json_auto_t      *seen = json_object();
    if (seen == NULL)
        return no_memory(in->err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        codec_read_path_item(path, where, i);
        TRY(read_param(in, json_array_get(json, i), path, &form));
        params[i] = form.param;
        values[i] = form.values;
        codec_read_path(name_path, path, "name");
        if (json_object_get(seen, form.param.name) != NULL)
            return error_set(in->err, STATUS_INVALID, "duplicate_name", name_path, "is there twice");
        if (json_object_set_new(seen, form.param.name, json_null()) != 0)
            return no_memory(in->err);
    }
    return STATUS_OK;
}

static enum status read_params(struct reading *in, const struct member *member, const json_t *json, const char *where,
                               void *out)
{
    (void)member;
    struct spec *spec = out;
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    size_t n = json_array_size(json);
    if (n < 1 || n > SPACE_PARAMS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 1 to %d items", SPACE_PARAMS_MAX);
    struct param       *params = ARENA_NEW(in->arena, struct param, n);
    const char *const **values = ARENA_NEW(in->arena, const char *const *, n);
    if (params == NULL || values == NULL)
        return no_memory(in->err);
    TRY(read_param_list(in, json, where, params, values));
    spec->space.params = params;
    spec->space.params_len = n;
    spec->values = values;
    return STATUS_OK;
}

static const char *const     space_names[] = {"parameters", "candidates", NULL};
static const enum space_kind space_kinds[] = {SPACE_PARAMETERS, SPACE_CANDIDATES};

struct space_form {
    int64_t       rows, columns;
    bool          is_private;
    const char   *curator_key;
    const json_t *type, *parameters;
};
static const struct member parameters_members[] = {
    {.name = "type", .required = true, .read = codec_read_kept, .offset = offsetof(struct space_form, type)},
    {.name = "parameters",
     .required = true,
     .read = codec_read_kept,
     .offset = offsetof(struct space_form, parameters)},
    {.name = NULL},
};
static const struct member candidates_members[] = {
    {.name = "type", .required = true, .read = codec_read_kept, .offset = offsetof(struct space_form, type)},
    {.name = "rows",
     .required = true,
     .read = codec_read_integer,
     .offset = offsetof(struct space_form, rows),
     .min = 1,
     .max = SPACE_CANDIDATES_MAX},
    {.name = "columns",
     .required = true,
     .read = codec_read_integer,
     .offset = offsetof(struct space_form, columns),
     .min = 1,
     .max = SPACE_COLUMNS_MAX},
    {.name = "private", .read = codec_read_bool, .offset = offsetof(struct space_form, is_private)},
    {.name = "curator_key",
     .read = codec_read_text,
     .offset = offsetof(struct space_form, curator_key),
     .min = SIGN_PUBLIC_CHARS - 1,
     .max = SIGN_PUBLIC_CHARS - 1},
    {.name = NULL},
};
static const struct member *const space_members[] = {parameters_members, candidates_members};

/* A private study has one curator, whose key says which manifests are theirs. */
static enum status check_curator_key(struct reading *in, const struct space_form *form, const char *where)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, "curator_key");
    if (form->is_private && form->curator_key == NULL)
        return error_set(in->err, STATUS_INVALID, "curator_key_required", path,
                         "a private study has the public key of its curator");
    if (!form->is_private && form->curator_key != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", path, "only a private study has a curator's key");
    if (form->curator_key != NULL && !sign_is_public(form->curator_key))
        return error_set(in->err, STATUS_INVALID, "bad_key", path, "must be a public key as 'gnomon key' prints it");
    return STATUS_OK;
}

static enum status read_space(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    struct spec      *spec = out;
    struct space_form form = {.is_private = true};
    char              path[CODEC_PATH_MAX];
    int               type;
    TRY(read_type(in, json, where, space_names, &type));
    TRY(codec_read_object(in, space_members[type], json, where, &form));
    spec->space.kind = space_kinds[type];
    if (spec->space.kind == SPACE_PARAMETERS) {
        codec_read_path(path, where, "parameters");
        TRY(read_params(in, member, form.parameters, path, spec));
    } else {
        spec->space.rows_len = (size_t)form.rows;
        spec->space.columns = (size_t)form.columns;
        spec->is_private = form.is_private;
        spec->curator_key = form.curator_key;
        TRY(check_curator_key(in, &form, where));
    }
    return space_init(&spec->space, in->err);
}

/* ---- the algorithm ---- */

static enum status read_option(struct reading *in, const struct option *option, const json_t *json, const char *where,
                               double *value)
{
    const struct member range = {.min = option->min, .max = option->max, .names = option->choices};
    int64_t             integer = 0;
    int                 choice = 0;
    switch (option->kind) {
    case OPTION_REAL:
        return codec_read_number(in, &range, json, where, value);
    case OPTION_INT:
        TRY(codec_read_integer(in, &range, json, where, &integer));
        *value = (double)integer;
        return STATUS_OK;
    case OPTION_CHOICE:
        TRY(codec_read_choice(in, &range, json, where, &choice));
        *value = (double)choice;
        return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status read_options(struct reading *in, const json_t *json, const struct policy *policy, double *options)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)json, key, value) {
        if (strcmp(key, "name") == 0)
            continue;
        codec_read_path(path, "/algorithm", key);
        int i = policy_option(policy, key);
        if (i < 0)
            return error_set(in->err, STATUS_INVALID, "unknown_member", path, "the algorithm has no such option");
        if (!json_is_null(value)) // null: what the algorithm does by itself
            TRY(read_option(in, &policy->options[i], value, path, &options[i]));
    }
    return STATUS_OK;
}

static enum status find_policy(struct reading *in, const json_t *json, const struct policy **policy)
{
    static const struct member name_member = {.min = 1, .max = NAME_MAX_CHARACTERS};
    const char                *name = "gp";
    if (json != NULL) {
        if (!json_is_object(json))
            return error_set(in->err, STATUS_INVALID, "wrong_type", "/algorithm", "must be an object");
        const json_t *value = json_object_get(json, "name");
        if (value == NULL)
            return error_set(in->err, STATUS_INVALID, "missing_member", "/algorithm/name", "is required");
        TRY(codec_read_text(in, &name_member, value, "/algorithm/name", &name));
    }
    *policy = policy_find(name);
    if (*policy == NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_algorithm", "/algorithm/name", "there is no such algorithm");
    return STATUS_OK;
}

/* json NULL: the default.  After the space, which decides what is acceptable. */
static enum status read_algorithm(struct reading *in, const json_t *json, struct spec *spec)
{
    TRY(find_policy(in, json, &spec->policy));
    if ((spec->policy->spaces & spec->space.kind) == 0)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/algorithm/name",
                         "%s does not work on this type of space", spec->policy->name);
    size_t n = 0;
    while (spec->policy->options[n].name != NULL)
        n++;
    double *options = ARENA_NEW(in->arena, double, n + 1);
    if (options == NULL)
        return no_memory(in->err);
    for (size_t i = 0; i < n; i++)
        options[i] = spec->policy->options[i].fallback;
    spec->options = options;
    if (json != NULL)
        TRY(read_options(in, json, spec->policy, options));
    const struct problem problem = {
        .space = &spec->space, .options = options, .seed = spec->seed, .memory_bytes = SIZE_MAX};
    return spec->policy->check != NULL ? spec->policy->check(&problem, in->err) : STATUS_OK;
}

/* ---- the whole ---- */

struct spec_form {
    struct spec   spec;
    int64_t       seed, lease_s;
    const json_t *algorithm;
};
static const struct member spec_members[] = {
    {.name = "metrics", .required = true, .read = read_metrics, .offset = offsetof(struct spec_form, spec)},
    {.name = "space", .required = true, .read = read_space, .offset = offsetof(struct spec_form, spec)},
    {.name = "algorithm", .read = codec_read_kept, .offset = offsetof(struct spec_form, algorithm)},
    {.name = "seed", .read = codec_read_integer, .offset = offsetof(struct spec_form, seed), .min = 0, .max = seed_max},
    {.name = "lease_seconds",
     .read = codec_read_integer,
     .offset = offsetof(struct spec_form, lease_s),
     .min = 1,
     .max = LEASE_MAX_S},
    {.name = NULL},
};

enum status codec_spec(const json_t *members, uint64_t default_seed, struct arena *arena, struct spec *out,
                       struct error *err)
{
    struct reading   in = {.arena = arena, .err = err};
    struct spec_form form = {.seed = (int64_t)default_seed, .lease_s = LEASE_DEFAULT_S};
    TRY(codec_read_object(&in, spec_members, members, "", &form));
    form.spec.seed = (uint64_t)form.seed;
    form.spec.lease_ms = form.lease_s * 1000;
    TRY(read_algorithm(&in, form.algorithm, &form.spec));
    *out = form.spec;
    return STATUS_OK;
}

enum status codec_spec_parse(const char *text, struct arena *arena, struct spec *out, struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = codec_spec(json, 0, arena, out, err);
    json_decref(json);
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    return error_set(err, STATUS_INTERNAL, "stored_spec", "", "the stored specification cannot be read");
}

/* ---- writing ---- */

static json_t *values_json(const char *const *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n && array != NULL; i++)
        if (json_array_append_new(array, json_string(values[i])) != 0)
            json_decref(array), array = NULL;
    return array;
}

static json_t *bound_json(const struct param *param, double bound)
{
    return param->kind == PARAM_INT ? json_integer((json_int_t)bound) : codec_number(bound);
}

static json_t *param_json(const struct spec *spec, size_t i)
{
    const struct param *param = &spec->space.params[i];
    if (param->kind == PARAM_CATEGORICAL)
        return json_pack("{s:s, s:s, s:o}", "name", param->name, "type", kind_names[param->kind], "values",
                         values_json(spec->values[i], param->choices));
    return json_pack("{s:s, s:s, s:o, s:o, s:s}", "name", param->name, "type", kind_names[param->kind], "min",
                     bound_json(param, param->min), "max", bound_json(param, param->max), "scale",
                     scale_names[param->scale]);
}

static json_t *params_json(const struct spec *spec)
{
    json_t *array = json_array();
    for (size_t i = 0; i < spec->space.params_len && array != NULL; i++)
        if (json_array_append_new(array, param_json(spec, i)) != 0)
            json_decref(array), array = NULL;
    return array;
}

static json_t *space_json(const struct spec *spec)
{
    if (spec->space.kind == SPACE_PARAMETERS)
        return json_pack("{s:s, s:o}", "type", "parameters", "parameters", params_json(spec));
    return json_pack("{s:s, s:I, s:I, s:b, s:s*}", "type", "candidates", "rows", (json_int_t)spec->space.rows_len,
                     "columns", (json_int_t)spec->space.columns, "private", spec->is_private, "curator_key",
                     spec->curator_key);
}

static json_t *option_json(const struct option *option, double value)
{
    if (isnan(value))
        return json_null();
    if (option->kind == OPTION_CHOICE)
        return json_string(option->choices[(size_t)value]);
    return option->kind == OPTION_INT ? json_integer((json_int_t)value) : codec_number(value);
}

static json_t *algorithm_json(const struct spec *spec)
{
    json_t              *object = json_pack("{s:s}", "name", spec->policy->name);
    const struct option *options = spec->policy->options;
    for (size_t i = 0; options[i].name != NULL && object != NULL; i++)
        if (json_object_set_new(object, options[i].name, option_json(&options[i], spec->options[i])) != 0)
            json_decref(object), object = NULL;
    return object;
}

json_t *codec_spec_json(const struct spec *spec)
{
    return json_pack("{s:[{s:s, s:s}], s:o, s:o, s:I, s:I}", "metrics", "name", spec->metric, "goal",
                     goal_names[spec->goal], "space", space_json(spec), "algorithm", algorithm_json(spec), "seed",
                     (json_int_t)spec->seed, "lease_seconds", (json_int_t)(spec->lease_ms / 1000));
}
