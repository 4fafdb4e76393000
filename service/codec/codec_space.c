/* Parameters, their conditions and priors: one table per kind of object. */
#include "service/codec/codec_space.h"

#include "service/base/nearest.h"
#include "service/base/text.h"
#include "service/member/codec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_CHARACTERS = 128, VALUE_MAX_CHARACTERS = 4096, VALUES_MAX = 1000, NUMBERS_MAX = 20000 };
enum { TOGETHER_MAX = 8, FORBID_MAX = 1000 }; /* conditions that hold together, ways to hold; what is forbidden */
static const double integer_max = 9007199254740992.0; /* 2^53 */
enum { DESCRIPTION_MAX_CHARACTERS = 2000, UNIT_MAX_CHARACTERS = 64 };

static const char *const scale_names[] = {
    [SCALE_LINEAR] = "linear", [SCALE_LOG] = "log", [SCALE_REVERSE_LOG] = "reverse_log", NULL};
static const char *const kind_names[] = {[PARAM_DOUBLE] = "double",
                                         [PARAM_INT] = "int",
                                         [PARAM_CATEGORICAL] = "categorical",
                                         [PARAM_DISCRETE] = "discrete",
                                         [PARAM_ORDINAL] = NULL, /* a categorical with "ordered" */
                                         [PARAM_STEPPED] = NULL, /* a double with "step" */
                                         NULL};

enum status codec_space_members(struct reading *in, const json_t *json, const char *where, size_t most)
{
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if (json_object_size(json) < 1 || json_object_size(json) > most)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 1 to %zu members", most);
    return STATUS_OK;
}

/* ---- one parameter ---- */

struct param_form {
    struct param           param;
    struct param_note      note;
    const struct category *values;
    bool                   is_ordered;
    const json_t          *when, *fallback;
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

/* A text that tells a value from all others. */
static void category_key(const struct category *category, char *key, size_t bytes)
{
    if (category->text != NULL)
        snprintf(key, bytes, "%d %s", (int)category->kind, category->text);
    else
        snprintf(key, bytes, "%d %.17g", (int)category->kind, category->number);
}

static enum status read_unique(struct reading *in, const json_t *json, const char *where, struct category *values)
{
    enum status  whole = STATUS_OK;
    char         path[CODEC_PATH_MAX], key[4 * VALUE_MAX_CHARACTERS + 8];
    json_auto_t *seen = json_object();
    if (seen == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, codec_category(in, json_array_get(json, i), path, &values[i]), &whole));
        if (whole != STATUS_OK)
            continue;
        category_key(&values[i], key, sizeof key);
        if (json_object_get(seen, key) != NULL)
            return error_set(in->err, STATUS_INVALID, "duplicate_name", path, "is there twice");
        if (json_object_set_new(seen, key, json_null()) != 0)
            return error_no_memory(in->err);
    }
    return whole;
}

/* Reads the values of a categorical. */
static enum status read_names(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    (void)member;
    struct param_form *form = out;
    TRY(codec_read_list(in, json, where, 1, VALUES_MAX));
    size_t           choices = json_array_size(json);
    struct category *values = ARENA_NEW(in->arena, struct category, choices);
    if (values == NULL)
        return error_no_memory(in->err);
    TRY(read_unique(in, json, where, values));
    form->values = values;
    form->param.choices = choices;
    form->param.min = 0;
    form->param.max = (double)(choices - 1);
    return STATUS_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads the values of a discrete parameter, in any order. */
static enum status read_numbers(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                void *out)
{
    (void)member;
    struct param *param = &((struct param_form *)out)->param;
    enum status   whole = STATUS_OK;
    char          path[CODEC_PATH_MAX], room[TEXT_REAL_BYTES];
    TRY(codec_read_list(in, json, where, 1, NUMBERS_MAX));
    size_t  choices = json_array_size(json);
    double *values = ARENA_NEW(in->arena, double, choices);
    if (values == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < choices; i++) {
        codec_read_path_item(path, where, i);
        if (!codec_read_is_finite(json_array_get(json, i), &values[i]))
            TRY(codec_read_on(in, error_set(in->err, STATUS_INVALID, "wrong_type", path, "must be a number"), &whole));
    }
    TRY(whole);
    qsort(values, choices, sizeof *values, compare_numbers);
    for (size_t i = 1; i < choices; i++)
        if (values[i] == values[i - 1])
            return error_set(in->err, STATUS_INVALID, "duplicate_name", where, "%s is there twice",
                             text_number(values[i], room));
    param->values = values;
    param->choices = choices;
    param->min = values[0];
    param->max = values[choices - 1];
    return STATUS_OK;
}

/* Reads the step of an int or a double, which makes a stepped number of it. */
static enum status read_step(struct reading *in, const struct member *member, const json_t *json, const char *where,
                             void *out)
{
    struct param *param = &((struct param_form *)out)->param;
    int64_t       step;
    if (param->kind == PARAM_INT) {
        TRY(codec_read_integer(in, member, json, where, &step));
        param->step = (double)step;
        return STATUS_OK;
    }
    TRY(codec_read_number(in, member, json, where, &param->step));
    param->kind = PARAM_STEPPED;
    return STATUS_OK;
}

#define NUMBER_MEMBER(member)                                                                            \
    {                                                                                                    \
        .name = #member, .required = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY, \
        .offset = offsetof(struct numbers, member)                                                       \
    }
struct numbers {
    double mean, stddev, a, b;
};
static const struct member normal_members[] = {NUMBER_MEMBER(mean), NUMBER_MEMBER(stddev), {.name = NULL}};
static const struct member beta_members[] = {NUMBER_MEMBER(a), NUMBER_MEMBER(b), {.name = NULL}};

struct prior_form {
    const json_t *normal, *beta;
};
static const struct member prior_members[] = {
    {AT(prior_form, normal), .read = codec_read_kept},
    {AT(prior_form, beta), .read = codec_read_kept},
    {.name = NULL},
};

static enum status read_prior(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    (void)member;
    struct prior     *prior = out;
    struct prior_form form = {0};
    struct numbers    numbers = {0};
    char              path[CODEC_PATH_MAX];
    TRY(codec_read_object(in, prior_members, json, where, &form));
    if ((form.normal == NULL) == (form.beta == NULL))
        return error_set(in->err, STATUS_INVALID, "bad_combination", where, "exactly one of normal and beta is needed");
    codec_read_path(path, where, form.normal != NULL ? "normal" : "beta");
    if (form.normal != NULL) {
        TRY(codec_read_object(in, normal_members, form.normal, path, &numbers));
        *prior = (struct prior){.kind = PRIOR_NORMAL, .a = numbers.mean, .b = numbers.stddev};
    } else {
        TRY(codec_read_object(in, beta_members, form.beta, path, &numbers));
        *prior = (struct prior){.kind = PRIOR_BETA, .a = numbers.a, .b = numbers.b};
    }
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
#define VALUES_MEMBER(reader)                                \
    {                                                        \
        .name = "values", .required = true, .read = (reader) \
    }
#define PRIOR_MEMBER                                                                            \
    {                                                                                           \
        .name = "prior", .read = read_prior, .offset = offsetof(struct param_form, param.prior) \
    }
/* Members that every kind has. */
#define OTHER_MEMBERS                                                                                                \
    {AT(param_form, when), .read = codec_read_kept}, {AS(param_form, fallback, "default"), .read = codec_read_kept}, \
        {AS(param_form, note.description, "description"), .read = codec_read_text, .min = 1,                         \
         .max = DESCRIPTION_MAX_CHARACTERS},                                                                         \
        {AS(param_form, param.is_context, "context"), .read = codec_read_bool},                                      \
    {                                                                                                                \
        AS(param_form, note.unit, "unit"), .read = codec_read_text, .min = 1, .max = UNIT_MAX_CHARACTERS             \
    }

static const struct member double_members[] = {
    NAME_MEMBER,
    TYPE_MEMBER,
    BOUND_MEMBER(min, codec_read_number),
    BOUND_MEMBER(max, codec_read_number),
    {.name = "step", .read = read_step, .min = DBL_MIN, .max = INFINITY},
    SCALE_MEMBER,
    PRIOR_MEMBER,
    OTHER_MEMBERS,
    {.name = NULL},
};
static const struct member int_members[] = {
    NAME_MEMBER,
    TYPE_MEMBER,
    BOUND_MEMBER(min, read_integral_bound),
    BOUND_MEMBER(max, read_integral_bound),
    {.name = "step", .read = read_step, .min = 1, .max = 9007199254740992.0},
    SCALE_MEMBER,
    PRIOR_MEMBER,
    OTHER_MEMBERS,
    {.name = NULL},
};
static const struct member categorical_members[] = {
    NAME_MEMBER,
    TYPE_MEMBER,
    VALUES_MEMBER(read_names),
    {AS(param_form, is_ordered, "ordered"), .read = codec_read_bool},
    OTHER_MEMBERS,
    {.name = NULL},
};
static const struct member discrete_members[] = {
    NAME_MEMBER, TYPE_MEMBER, VALUES_MEMBER(read_numbers), SCALE_MEMBER, PRIOR_MEMBER, OTHER_MEMBERS, {.name = NULL},
};
static const struct member *const param_members[] = {
    [PARAM_DOUBLE] = double_members,           [PARAM_INT] = int_members,
    [PARAM_CATEGORICAL] = categorical_members, [PARAM_DISCRETE] = discrete_members,
    [PARAM_ORDINAL] = categorical_members, // as it is kept, and so is the next
    [PARAM_STEPPED] = double_members,
};

const struct member codec_space_any_members[] = {{.name = "", .members = double_members},
                                                 {.name = "", .members = categorical_members},
                                                 {.name = "", .members = discrete_members},
                                                 {.name = NULL}};

const struct member *codec_space_param_members(enum param_kind kind)
{
    return param_members[kind];
}

/* Lowers max to the last value: 97 to 90 where steps of 10 begin at 0. */
static enum status lower_max(struct reading *in, const char *where, struct param *param)
{
    char path[CODEC_PATH_MAX];
    if (!(param->step > 0) || !(param->min < param->max && isfinite(param->max - param->min)))
        return STATUS_OK;
    double last = param_last(param);
    if (last > param->min) {
        param->max = last;
        return STATUS_OK;
    }
    codec_read_path(path, where, "step");
    return error_set(in->err, STATUS_INVALID, "bad_step", path, "must be at most max - min, %.15g",
                     param->max - param->min);
}

static enum status read_param(struct reading *in, const json_t *json, const char *where, struct param_form *form)
{
    int kind;
    *form = (struct param_form){.note.fallback = NAN};
    TRY(codec_read_type(in, json, where, kind_names, &kind));
    TRY(codec_read_object(in, param_members[kind], json, where, form));
    if (form->is_ordered)
        form->param.kind = PARAM_ORDINAL;
    return lower_max(in, where, &form->param);
}

/* ---- conditions ---- */

/* Parameter names as keys, numbers as values. */
static enum status find_param(struct reading *in, const json_t *names, const char *name, const char *where, size_t *out)
{
    const char    *key;
    json_t        *value;
    const json_t  *index = json_object_get(names, name);
    struct nearest nearest = nearest_to(name, strlen(name));
    json_object_foreach ((json_t *)(uintptr_t)names, key, value)
        nearest_consider(&nearest, key);
    *out = (size_t)json_integer_value(index);
    return index != NULL ? STATUS_OK
                         : nearest_refuse(&nearest, in->err, "unknown_parameter", where, "earlier parameter",
                                          "a condition is on a parameter that comes before");
}

/* Conditions that are being read: of a parameter, on those before it, or of what is forbidden, on all. */
struct conditions {
    struct reading    *in;
    const struct spec *spec;
    const json_t      *names; /* parameter names as keys, numbers as values */
    bool               is_forbid;
    struct condition  *list;
    size_t             len;
};

struct test_form {
    const json_t *none_of;
    double        min, max;
};
static const struct member test_members[] = {
    {AS(test_form, none_of, "not"), .read = codec_read_kept},
    {AT(test_form, min), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(test_form, max), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {.name = NULL},
};

static enum status read_condition_values(struct reading *in, const struct spec *spec, const json_t *json,
                                         const char *where, struct condition *out)
{
    char path[CODEC_PATH_MAX];
    TRY(codec_read_list(in, json, where, 1, VALUES_MAX));
    double *values = ARENA_NEW(in->arena, double, json_array_size(json));
    if (values == NULL)
        return error_no_memory(in->err);
    for (size_t k = 0; k < json_array_size(json); k++) {
        codec_read_path_item(path, where, k);
        TRY(codec_space_value(spec, out->parent, json_array_get(json, k), path, &values[k], in->err));
        for (size_t before = 0; before < k; before++)
            if (values[before] == values[k])
                return error_set(in->err, STATUS_INVALID, "duplicate_name", path, "is there twice");
    }
    out->values = values;
    out->values_len = json_array_size(json);
    return STATUS_OK;
}

static enum status read_condition(const struct conditions *all, const json_t *json, const char *where,
                                  struct condition *out)
{
    struct reading  *in = all->in;
    bool             is_double = all->spec->space.params[out->parent].kind == PARAM_DOUBLE;
    struct test_form form = {.min = -INFINITY, .max = INFINITY};
    char             path[CODEC_PATH_MAX];
    if (is_double && !all->is_forbid)
        return error_set(in->err, STATUS_INVALID, "bad_condition", where,
                         "no parameter may depend on a double without a step");
    if (json_is_object(json))
        TRY(codec_read_object(in, test_members, json, where, &form));
    bool is_range = isfinite(form.min) || isfinite(form.max);
    if (json_is_object(json) && is_range == (form.none_of != NULL))
        return error_set(in->err, STATUS_INVALID, "bad_combination", where, "not, or min, max or both, is needed");
    if (is_double && !is_range)
        return error_set(in->err, STATUS_INVALID, "bad_condition", where,
                         "of a double without a step, say min, max or both");
    if (is_range && !param_is_number(&all->spec->space.params[out->parent]))
        return error_set(in->err, STATUS_INVALID, "bad_condition", where, "min and max are for numbers");
    if (form.min > form.max)
        return error_set(in->err, STATUS_INVALID, "empty_range", where, "max must be min or greater");
    out->min = form.min;
    out->max = form.max;
    out->is_not = form.none_of != NULL;
    if (is_range)
        return STATUS_OK;
    codec_read_path(path, where, "not");
    return out->is_not ? read_condition_values(in, all->spec, form.none_of, path, out)
                       : read_condition_values(in, all->spec, json, where, out);
}

/* Conditions that must hold together; of what is forbidden in the order of the parameters. */
static enum status read_alternative(struct conditions *all, const json_t *json, const char *where)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    size_t      first = all->len;
    TRY(codec_space_members(all->in, json, where, TOGETHER_MAX));
    json_object_foreach ((json_t *)json, key, value) {
        struct condition read = {0};
        codec_read_path(path, where, key);
        TRY(find_param(all->in, all->names, key, path, &read.parent));
        if (all->spec->space.params[read.parent].name != NULL) // otherwise it could not be read
            TRY(read_condition(all, value, path, &read));
        size_t at = all->len++;
        for (; all->is_forbid && at > first && all->list[at - 1].parent > read.parent; at--)
            all->list[at] = all->list[at - 1];
        all->list[at] = read;
    }
    all->list[first].is_or = first > 0;
    return STATUS_OK;
}

/* Reads an object of conditions, or a list of them, any of which may hold. */
static enum status read_alternatives(struct conditions *all, const json_t *json, const char *where, size_t most)
{
    char   path[CODEC_PATH_MAX];
    size_t room = json_object_size(json);
    if (!json_is_array(json) && all->is_forbid)
        return error_set(all->in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (json_is_array(json))
        TRY(codec_read_list(all->in, json, where, 1, most));
    for (size_t k = 0; k < json_array_size(json); k++)
        room += json_object_size(json_array_get(json, k));
    if ((all->list = ARENA_NEW(all->in->arena, struct condition, room + 1)) == NULL)
        return error_no_memory(all->in->err);
    if (!json_is_array(json))
        return read_alternative(all, json, where);
    for (size_t k = 0; k < json_array_size(json); k++) {
        codec_read_path_item(path, where, k);
        TRY(read_alternative(all, json_array_get(json, k), path));
    }
    return STATUS_OK;
}

/* names: of the parameters before this one. */
static enum status read_when(struct reading *in, const struct spec *spec, const json_t *json, const char *where,
                             const json_t *names, struct param *param)
{
    struct conditions all = {.in = in, .spec = spec, .names = names};
    TRY(read_alternatives(&all, json, where, TOGETHER_MAX));
    param->when = all.list;
    param->when_len = all.len;
    return STATUS_OK;
}

enum status codec_space_forbid(struct reading *in, const json_t *json, const char *where, struct spec *spec)
{
    json_auto_t *names = json_object();
    for (size_t i = 0; i < spec->space.params_len; i++)
        codec_put(&names, spec->space.params[i].name, json_integer((json_int_t)i));
    if (names == NULL)
        return error_no_memory(in->err);
    struct conditions all = {.in = in, .spec = spec, .names = names, .is_forbid = true};
    TRY(read_alternatives(&all, json, where, FORBID_MAX));
    spec->space.forbid = all.list;
    spec->space.forbid_len = all.len;
    return STATUS_OK;
}

/* ---- the list of parameters ---- */

/* The lists of a space that are being filled; its specification holds what has been read so far. */
struct param_lists {
    struct param           *params;
    const struct category **values;
    struct param_note      *notes;
};

/* The engine's pointer begins where the parameters of a study are. */
static enum status check_param(struct reading *in, const struct param *param, size_t i, const char *where)
{
    char        path[CODEC_PATH_MAX];
    int         known = snprintf(path, sizeof path, "/space/parameters/%zu", i);
    enum status status = param_check(param, i, in->err);
    if (status == STATUS_INVALID && in->err != NULL) {
        snprintf(path, sizeof path, "%.60s%.60s", where, in->err->path + known);
        memcpy(in->err->path, path, sizeof path);
    }
    return status;
}

/* Fills place i of the lists. */
static enum status fill_param(struct reading *in, const struct param_form *form, const char *where,
                              const struct spec *spec, const struct param_lists *lists, size_t i)
{
    char path[CODEC_PATH_MAX];
    lists->params[i] = form->param;
    lists->values[i] = form->values;
    lists->notes[i] = form->note;
    TRY(check_param(in, &form->param, i, where));
    codec_read_path(path, where, "default");
    return form->fallback == NULL
               ? STATUS_OK
               : codec_space_value(spec, i, form->fallback, path, &lists->notes[i].fallback, in->err);
}

static enum status read_param_list(struct reading *in, const json_t *json, const char *where, const struct spec *spec,
                                   const struct param_lists *lists)
{
    enum status  whole = STATUS_OK;
    char         path[CODEC_PATH_MAX], inner[CODEC_PATH_MAX];
    json_auto_t *seen = json_object();
    for (size_t i = 0; seen != NULL && i < json_array_size(json); i++) {
        struct param_form form;
        enum status       own = STATUS_OK;
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, read_param(in, json_array_get(json, i), path, &form), &own));
        codec_read_path(inner, path, "name");
        if (form.param.name != NULL && json_object_get(seen, form.param.name) != NULL)
            TRY(codec_read_on(in, error_set(in->err, STATUS_INVALID, "duplicate_name", inner, "is there twice"), &own));
        codec_read_path(inner, path, "when");
        if (form.when != NULL && json_object_size(seen) == i) // all names before it are known
            TRY(codec_read_on(in, read_when(in, spec, form.when, inner, seen, &form.param), &own));
        if (form.param.name != NULL && json_object_set_new(seen, form.param.name, json_integer((json_int_t)i)) != 0)
            return error_no_memory(in->err);
        if (own == STATUS_OK)
            TRY(codec_read_on(in, fill_param(in, &form, path, spec, lists, i), &own));
        whole = own == STATUS_OK ? whole : own;
    }
    return seen == NULL ? error_no_memory(in->err) : whole;
}

enum status codec_space_params(struct reading *in, const json_t *json, const char *where, struct spec *spec)
{
    TRY(codec_read_list(in, json, where, 1, SPACE_PARAMS_MAX));
    size_t                   n = json_array_size(json);
    const struct param_lists lists = {.params = arena_zalloc(in->arena, n, sizeof(struct param)),
                                      .values = ARENA_NEW(in->arena, const struct category *, n),
                                      .notes = ARENA_NEW(in->arena, struct param_note, n)};
    if (lists.params == NULL || lists.values == NULL || lists.notes == NULL)
        return error_no_memory(in->err);
    spec->space.params = lists.params;
    spec->space.params_len = n;
    spec->values = lists.values;
    spec->notes = lists.notes;
    return read_param_list(in, json, where, spec, &lists);
}

/* ---- writing ---- */

static json_t *values_json(const struct spec *spec, size_t i, const double *values, size_t n)
{
    json_t *array = json_array();
    for (size_t k = 0; k < n && array != NULL; k++)
        codec_append(&array, codec_space_value_json(spec, i, values == NULL ? (double)k : values[k]));
    return array;
}

static json_t *prior_json(const struct prior *prior)
{
    bool is_normal = prior->kind == PRIOR_NORMAL;
    return json_pack("{s:{s:o, s:o}}", is_normal ? "normal" : "beta", is_normal ? "mean" : "a", codec_number(prior->a),
                     is_normal ? "stddev" : "b", codec_number(prior->b));
}

static json_t *bound_json(const struct param *param, double value)
{
    bool is_whole = param->kind != PARAM_DOUBLE && floor(value) == value && fabs(value) <= integer_max;
    return is_whole ? json_integer((json_int_t)value) : codec_number(value);
}

static json_t *condition_json(const struct spec *spec, const struct condition *condition)
{
    size_t  i = condition->parent;
    json_t *object = json_object();
    if (condition->values != NULL) {
        json_t *values = values_json(spec, i, condition->values, condition->values_len);
        if (!condition->is_not) {
            json_decref(object);
            return values;
        }
        codec_put(&object, "not", values);
        return object;
    }
    if (isfinite(condition->min))
        codec_put(&object, "min", bound_json(&spec->space.params[i], condition->min));
    if (isfinite(condition->max))
        codec_put(&object, "max", bound_json(&spec->space.params[i], condition->max));
    return object;
}

/* A list of objects, any of which may hold. */
static json_t *alternatives_json(const struct spec *spec, const struct condition *list, size_t len)
{
    json_t *array = json_array(), *object;
    for (size_t at = 0; at < len;) {
        size_t end = space_alternative_end(list, len, at);
        for (object = json_object(); at < end; at++)
            codec_put(&object, spec->space.params[list[at].parent].name, condition_json(spec, &list[at]));
        codec_append(&array, object);
    }
    return array;
}

json_t *codec_space_forbid_json(const struct spec *spec)
{
    return alternatives_json(spec, spec->space.forbid, spec->space.forbid_len);
}

static json_t *when_json(const struct spec *spec, const struct param *param)
{
    json_t *array = alternatives_json(spec, param->when, param->when_len);
    if (json_array_size(array) != 1)
        return array;
    json_t *only = json_incref(json_array_get(array, 0));
    json_decref(array);
    return only;
}

static json_t *param_json(const struct spec *spec, size_t i)
{
    const struct param      *param = &spec->space.params[i];
    const struct param_note *note = &spec->notes[i];
    enum param_kind          kind = param->kind == PARAM_ORDINAL   ? PARAM_CATEGORICAL
                                    : param->kind == PARAM_STEPPED ? PARAM_DOUBLE
                                                                   : param->kind;
    json_t                  *object = json_pack("{s:s, s:s}", "name", param->name, "type", kind_names[kind]);
    if (param->choices > 0) {
        codec_put(&object, "values", values_json(spec, i, param->values, param->choices));
    } else {
        codec_put(&object, "min", codec_space_value_json(spec, i, param->min));
        codec_put(&object, "max", codec_space_value_json(spec, i, param->max));
    }
    if (param->step > 1 || param->kind == PARAM_STEPPED)
        codec_put(&object, "step",
                  param->kind == PARAM_INT ? json_integer((json_int_t)param->step) : codec_number(param->step));
    if (param->kind == PARAM_ORDINAL)
        codec_put(&object, "ordered", json_true());
    if (param->is_context)
        codec_put(&object, "context", json_true());
    if (param_is_number(param))
        codec_put(&object, "scale", json_string(scale_names[param->scale]));
    if (param->prior.kind != PRIOR_NONE)
        codec_put(&object, "prior", prior_json(&param->prior));
    if (param->when_len > 0)
        codec_put(&object, "when", when_json(spec, param));
    if (!isnan(note->fallback))
        codec_put(&object, "default", codec_space_value_json(spec, i, note->fallback));
    if (note->description != NULL)
        codec_put(&object, "description", json_string(note->description));
    if (note->unit != NULL)
        codec_put(&object, "unit", json_string(note->unit));
    return object;
}

json_t *codec_space_params_json(const struct spec *spec)
{
    json_t *array = json_array();
    for (size_t i = 0; i < spec->space.params_len && array != NULL; i++)
        codec_append(&array, param_json(spec, i));
    return array;
}
