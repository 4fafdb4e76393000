/* See codec_constraint.h. */
#include "service/codec/codec_constraint.h"

#include "service/codec/codec_space.h"
#include "service/member/codec.h"

#include <math.h>

struct constraint_form {
    const json_t *coefficients, *product;
    double        min, max, equals, tolerance;
};
static const struct member constraint_members[] = {
    {AT(constraint_form, coefficients), .read = codec_read_kept},
    {AT(constraint_form, product), .read = codec_read_kept},
    {AT(constraint_form, min), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, max), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, equals), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, tolerance), .read = codec_read_number, .max = INFINITY},
    {.name = NULL},
};

static enum status check_term(struct reading *in, const struct param *param, const json_t *json, const char *where)
{
    double value;
    if (!codec_read_is_finite(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a number");
    if (value == 0)
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where, "must not be 0");
    if (!param_is_number(param))
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where, "a categorical has no place here");
    if (param->when_len > 0)
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where,
                         "a parameter with a condition has no place here");
    return STATUS_OK;
}

/* Terms in the order of the parameters. */
static enum status read_terms(struct reading *in, const struct spec *spec, const json_t *json, const char *where,
                              struct constraint *out)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    size_t      params_len = spec->space.params_len;
    TRY(codec_space_members(in, json, where, SPACE_CONSTRAINED_MAX));
    size_t *params = ARENA_NEW(in->arena, size_t, json_object_size(json));
    double *coefficients = ARENA_NEW(in->arena, double, json_object_size(json));
    if (params == NULL || coefficients == NULL)
        return error_no_memory(in->err);
    json_object_foreach ((json_t *)json, key, value) {
        size_t i;
        codec_read_path(path, where, key);
        TRY(spec_find_param(spec, key, "unknown_parameter", path, &i, in->err));
        TRY(check_term(in, &spec->space.params[i], value, path));
    }
    for (size_t i = 0; i < params_len; i++) {
        const json_t *coefficient = json_object_get(json, spec->space.params[i].name);
        if (coefficient == NULL)
            continue;
        params[out->len] = i;
        coefficients[out->len++] = json_number_value(coefficient);
    }
    out->params = params;
    out->coefficients = coefficients;
    return STATUS_OK;
}

/* Numbers that are typed by hand are rounded: by default a thousandth of equals is forgiven, of ints nothing. */
static enum status read_equation(struct reading *in, const struct spec *spec, const struct constraint_form *form,
                                 const char *where, struct constraint *out)
{
    char   path[CODEC_PATH_MAX];
    bool   is_said = !isnan(form->equals);
    double equals = is_said ? form->equals : out->min; // min = max is an equation, too
    if (!is_said && out->min != out->max) {
        codec_read_path(path, where, isnan(form->tolerance) ? "max" : "tolerance");
        if (!isnan(form->tolerance))
            return error_set(in->err, STATUS_INVALID, "bad_combination", path, "goes with equals");
        return out->min < out->max
                   ? STATUS_OK
                   : error_set(in->err, STATUS_INVALID, "empty_range", path, "max must be min or greater");
    }
    codec_read_path(path, where, is_said ? "equals" : "max");
    if (is_said && (isfinite(out->min) || isfinite(out->max)))
        return error_set(in->err, STATUS_INVALID, "bad_combination", path, "goes without min and max");
    if (out->is_product && !(equals > 0))
        return error_set(in->err, STATUS_INVALID, "bad_constraint", path, "a product is above 0");
    out->min = out->max = equals;
    out->tolerance = 0;
    for (size_t j = 0; j < out->len && out->tolerance == 0; j++)
        if (spec->space.params[out->params[j]].kind == PARAM_DOUBLE)
            out->tolerance = fabs(equals) / 1000;
    out->tolerance = isnan(form->tolerance) ? out->tolerance : form->tolerance;
    return STATUS_OK;
}

static enum status read_constraint(struct reading *in, const struct spec *spec, const json_t *json, const char *where,
                                   struct constraint *out)
{
    char                   inner[CODEC_PATH_MAX];
    struct constraint_form form = {.min = -INFINITY, .max = INFINITY, .equals = NAN, .tolerance = NAN};
    TRY(codec_read_object(in, constraint_members, json, where, &form));
    bool is_product = form.product != NULL;
    codec_read_path(inner, where, is_product ? "product" : "coefficients");
    if (!is_product && form.coefficients == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", inner, "is required, or product");
    if (is_product && form.coefficients != NULL)
        return error_set(in->err, STATUS_INVALID, "bad_combination", inner, "goes without coefficients");
    *out = (struct constraint){.min = form.min, .max = form.max, .is_product = is_product};
    TRY(read_terms(in, spec, is_product ? form.product : form.coefficients, inner, out));
    return read_equation(in, spec, &form, where, out);
}

enum status codec_constraints(struct reading *in, const json_t *json, const char *where, struct spec *spec)
{
    enum status whole = STATUS_OK;
    char        path[CODEC_PATH_MAX];
    TRY(codec_read_list(in, json, where, 1, SPACE_CONSTRAINTS_MAX));
    struct constraint *constraints = ARENA_NEW(in->arena, struct constraint, json_array_size(json));
    if (constraints == NULL)
        return error_no_memory(in->err);
    for (size_t k = 0; k < json_array_size(json); k++) {
        codec_read_path_item(path, where, k);
        TRY(codec_read_on(in, read_constraint(in, spec, json_array_get(json, k), path, &constraints[k]), &whole));
    }
    spec->space.constraints = constraints;
    spec->space.constraints_len = json_array_size(json);
    return whole;
}

static json_t *constraint_json(const struct spec *spec, const struct constraint *constraint)
{
    json_t *coefficients = json_object(), *object = json_object();
    for (size_t j = 0; j < constraint->len; j++)
        codec_put(&coefficients, spec->space.params[constraint->params[j]].name,
                  codec_number(constraint->coefficients[j]));
    codec_put(&object, constraint->is_product ? "product" : "coefficients", coefficients);
    if (constraint->min == constraint->max) {
        codec_put(&object, "equals", codec_number(constraint->min));
        codec_put(&object, "tolerance", codec_number(constraint->tolerance));
        return object;
    }
    if (isfinite(constraint->min))
        codec_put(&object, "min", codec_number(constraint->min));
    if (isfinite(constraint->max))
        codec_put(&object, "max", codec_number(constraint->max));
    return object;
}

static json_t *constraints_json(const struct spec *spec)
{
    json_t *array = json_array();
    for (size_t k = 0; k < spec->space.constraints_len && array != NULL; k++)
        codec_append(&array, constraint_json(spec, &spec->space.constraints[k]));
    return array;
}

json_t *codec_space_json(const struct spec *spec)
{
    json_t *object = json_pack("{s:s}", "type", "parameters");
    codec_put(&object, "parameters", codec_space_params_json(spec));
    if (spec->space.constraints_len > 0)
        codec_put(&object, "constraints", constraints_json(spec));
    if (spec->space.forbid_len > 0)
        codec_put(&object, "forbid", codec_space_forbid_json(spec));
    return object;
}
