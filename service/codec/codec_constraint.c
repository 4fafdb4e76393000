/* See codec_constraint.h. */
#include "service/codec/codec_constraint.h"

#include "service/base/text.h"
#include "service/codec/codec_space.h"
#include "service/member/codec.h"

#include <math.h>

struct constraint_form {
    const json_t *coefficients, *product, *of, *min_used;
    int64_t       at_most; /* 0: it is not said */
    double        min, max, equals, tolerance;
};
static const struct member constraint_members[] = {
    {AT(constraint_form, coefficients), .read = codec_read_kept},
    {AT(constraint_form, product), .read = codec_read_kept},
    {AT(constraint_form, min), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, max), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, equals), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(constraint_form, at_most), .read = codec_read_integer, .min = 1, .max = SPACE_CONSTRAINED_MAX},
    {AT(constraint_form, of), .read = codec_read_kept},
    {AT(constraint_form, min_used), .read = codec_read_kept},
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

/* --- at most so many are used --- */

static enum status find_used(struct reading *in, const struct spec *spec, const json_t *json, const char *where,
                             bool *is_in)
{
    size_t i;
    if (!json_is_string(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be the name of a parameter");
    TRY(spec_find_param(spec, json_string_value(json), "unknown_parameter", where, &i, in->err));
    const struct param *param = &spec->space.params[i];
    if (!param_is_number(param) || param->when_len > 0)
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where,
                         "must be the name of a number without a condition");
    if (!param_has(param, 0))
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where,
                         "must have 0 as one of its values, for points in which it is not used");
    if (is_in[i])
        return error_set(in->err, STATUS_INVALID, "duplicate_name", where, "is there twice");
    is_in[i] = true;
    return STATUS_OK;
}

static enum status check_min_used(struct reading *in, const struct spec *spec, const char *key, const json_t *json,
                                  const char *where, const bool *is_in)
{
    size_t i;
    double value;
    char   room[TEXT_REAL_BYTES];
    TRY(spec_find_param(spec, key, "unknown_parameter", where, &i, in->err));
    if (!is_in[i])
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where, "is no name in of");
    if (!codec_read_is_finite(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a number");
    if (spec->space.params[i].min < 0)
        return error_set(in->err, STATUS_INVALID, "bad_constraint", where, "min_used is for parameters whose min is 0");
    if (!(value > 0 && value <= spec->space.params[i].max))
        return error_set(in->err, STATUS_INVALID, "out_of_range", where,
                         "must be above 0, and at most the parameter's max, which is %s",
                         text_number(spec->space.params[i].max, room));
    return STATUS_OK;
}

/* The names of those that are counted, and from where on they are used, in the order of the parameters. */
static enum status read_used(struct reading *in, const struct spec *spec, const struct constraint_form *form,
                             const char *where, struct constraint *out)
{
    enum status   whole = STATUS_OK;
    bool          is_in[SPACE_PARAMS_MAX] = {false};
    const char   *key;
    const json_t *value;
    char          inner[CODEC_PATH_MAX], path[CODEC_PATH_MAX];
    size_t        len = json_array_size(form->of);
    codec_read_path(inner, where, "of");
    TRY(codec_read_list(in, form->of, inner, 1, SPACE_CONSTRAINED_MAX));
    for (size_t k = 0; k < len; k++) {
        codec_read_path_item(path, inner, k);
        TRY(codec_read_on(in, find_used(in, spec, json_array_get(form->of, k), path, is_in), &whole));
    }
    codec_read_path(inner, where, "at_most");
    if (form->at_most > (int64_t)len)
        TRY(codec_read_on(in,
                          error_set(in->err, STATUS_INVALID, "out_of_range", inner,
                                    "must be 1 to %zu, which is how many names there are in of", len),
                          &whole));
    codec_read_path(inner, where, "min_used");
    if (form->min_used != NULL)
        TRY(codec_read_on(in, codec_space_members(in, form->min_used, inner, SPACE_CONSTRAINED_MAX), &whole));
    json_object_foreach ((json_t *)form->min_used, key, value) {
        codec_read_path(path, inner, key);
        TRY(codec_read_on(in, check_min_used(in, spec, key, value, path, is_in), &whole));
    }
    TRY(whole);
    size_t *params = ARENA_NEW(in->arena, size_t, len);
    double *numbers = ARENA_NEW(in->arena, double, 2 * len);
    if (params == NULL || numbers == NULL)
        return error_no_memory(in->err);
    *out = (struct constraint){.params = params,
                               .coefficients = numbers,
                               .min = -INFINITY,
                               .max = INFINITY,
                               .at_most = (size_t)form->at_most,
                               .min_used = numbers + len};
    for (size_t i = 0; i < spec->space.params_len; i++)
        if (is_in[i]) {
            const json_t *least = json_object_get(form->min_used, spec->space.params[i].name);
            params[out->len] = i;
            numbers[out->len] = 1;
            numbers[len + out->len++] = least == NULL ? 0 : json_number_value(least);
        }
    return STATUS_OK;
}

/* The rest of a sum, as a client computes it, is hardly ever 0: by default a number is not used up to a thousandth of the least
 * of the bounds of the doubles. */
static double default_tolerance(const struct spec *spec, const struct constraint *c)
{
    double least = INFINITY;
    for (size_t j = 0; j < c->len; j++) {
        const struct param *p = &spec->space.params[c->params[j]];
        if (p->kind == PARAM_DOUBLE && p->min < p->max)
            least = fmin(least, fmax(fabs(p->min), fabs(p->max)));
    }
    return isinf(least) ? 0 : least / 1000;
}

static enum status read_at_most(struct reading *in, const struct spec *spec, const struct constraint_form *form,
                                const json_t *json, const char *where, struct constraint *out)
{
    static const char *const others[] = {"coefficients", "product", "min", "max", "equals"};
    static const char *const needed[] = {"at_most", "of"};
    enum status              whole = STATUS_OK;
    char                     path[CODEC_PATH_MAX];
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        codec_read_path(path, where, others[k]);
        if (json_object_get(json, others[k]) != NULL)
            TRY(codec_read_on(in, error_set(in->err, STATUS_INVALID, "bad_combination", path, "goes without at_most"),
                              &whole));
    }
    for (size_t k = 0; k < sizeof needed / sizeof needed[0]; k++) {
        codec_read_path(path, where, needed[k]);
        if (json_object_get(json, needed[k]) == NULL)
            TRY(codec_read_on(in,
                              error_set(in->err, STATUS_INVALID, "missing_member", path,
                                        "is required: at_most says how many, of their names"),
                              &whole));
    }
    if (form->of != NULL)
        TRY(codec_read_on(in, read_used(in, spec, form, where, out), &whole));
    TRY(whole);
    out->tolerance = isnan(form->tolerance) ? default_tolerance(spec, out) : form->tolerance;
    return STATUS_OK;
}

static enum status read_constraint(struct reading *in, const struct spec *spec, const json_t *json, const char *where,
                                   struct constraint *out)
{
    char                   inner[CODEC_PATH_MAX];
    struct constraint_form form = {.min = -INFINITY, .max = INFINITY, .equals = NAN, .tolerance = NAN};
    TRY(codec_read_object(in, constraint_members, json, where, &form));
    if (form.at_most > 0 || form.of != NULL || form.min_used != NULL)
        return read_at_most(in, spec, &form, json, where, out);
    bool is_product = form.product != NULL;
    codec_read_path(inner, where, is_product ? "product" : "coefficients");
    if (!is_product && form.coefficients == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", inner, "is required, or product, or at_most");
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

static json_t *at_most_json(const struct spec *spec, const struct constraint *c)
{
    json_t *object = json_pack("{s:I}", "at_most", (json_int_t)c->at_most), *of = json_array(),
           *min_used = json_object();
    for (size_t j = 0; j < c->len; j++) {
        const char *name = spec->space.params[c->params[j]].name;
        codec_append(&of, json_string(name));
        if (c->min_used[j] > 0)
            codec_put(&min_used, name, codec_number(c->min_used[j]));
    }
    codec_put(&object, "of", of);
    if (json_object_size(min_used) > 0)
        codec_put(&object, "min_used", min_used);
    else
        json_decref(min_used);
    codec_put(&object, "tolerance", codec_number(c->tolerance));
    return object;
}

static json_t *constraint_json(const struct spec *spec, const struct constraint *constraint)
{
    if (constraint->at_most > 0)
        return at_most_json(spec, constraint);
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

/* ---- a point ---- */

static enum status refuse_total(const struct space *space, const struct constraint *broken, const double *point,
                                const char *where, struct error *err)
{
    char   found[TEXT_REAL_BYTES], bound[TEXT_REAL_BYTES];
    double total = space_total(broken, point);
    bool   is_less = total < broken->min;
    return error_set(err, STATUS_INVALID, "constraint_violated", where,
                     "breaks constraint %zu of the space: the %s is %s, and must be %s%s",
                     (size_t)(broken - space->constraints), broken->is_product ? "product" : "sum",
                     text_number(total, found),
                     broken->min == broken->max ? ""
                     : is_less                  ? "at least "
                                                : "at most ",
                     text_number(is_less ? broken->min : broken->max, bound));
}

enum status codec_check_constraints(const struct spec *spec, const double *point, const char *where, struct error *err)
{
    const struct space      *space = &spec->space;
    const struct constraint *broken = space_broken_rest(space, point, CODEC_ROUNDING_SLACK);
    size_t                   at = space_alternative(space->forbid, space->forbid_len, point, 0), number = 0;
    if (broken != NULL && broken->at_most > 0)
        return error_set(
            err, STATUS_INVALID, "constraint_violated", where,
            "breaks constraint %zu of the space: at most %zu of these numbers may be other than 0, and none "
            "of those below its min_used",
            (size_t)(broken - space->constraints), broken->at_most);
    if (broken != NULL)
        return refuse_total(space, broken, point, where, err);
    if (at == space->forbid_len)
        return STATUS_OK;
    for (size_t c = 1; c <= at; c++)
        number += space->forbid[c].is_or;
    return error_set(err, STATUS_INVALID, "constraint_violated", where,
                     "has values that may not occur together, by forbid/%zu of the space", number);
}
