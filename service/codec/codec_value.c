/* A value of a parameter: of a categorical one of its names, as JSON and as a cell of a table; see codec_space.h. */
#include "service/codec/codec_space.h"

#include "service/base/nearest.h"
#include "service/base/text.h"
#include "service/member/codec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_MAX_CHARACTERS = 4096 };
static const double integer_max = 9007199254740992.0; /* 2^53 */

/* A list in which whole numbers are integers, so that lists of equal numbers have one text. */
static json_t *list_plain(const json_t *json)
{
    double value = json_number_value(json);
    if (json_is_real(json) && fabs(value) <= integer_max && floor(value) == value)
        return json_integer((json_int_t)value);
    if (!json_is_array(json) && !json_is_object(json))
        return json_incref((json_t *)(uintptr_t)json);
    json_t     *out = json_is_array(json) ? json_array() : json_object();
    const char *key;
    json_t     *item;
    for (size_t k = 0; k < json_array_size(json); k++)
        codec_append(&out, list_plain(json_array_get(json, k)));
    json_object_foreach ((json_t *)(uintptr_t)json, key, item)
        codec_put(&out, key, list_plain(item));
    return out;
}

static enum status list_text(const json_t *json, const char *where, char out[VALUE_MAX_CHARACTERS + 1],
                             struct error *err)
{
    json_auto_t *plain = list_plain(json);
    if (plain == NULL)
        return error_no_memory(err);
    size_t len = json_dumpb(plain, out, VALUE_MAX_CHARACTERS, JSON_COMPACT | JSON_SORT_KEYS);
    out[len <= VALUE_MAX_CHARACTERS ? len : 0] = '\0';
    return len <= VALUE_MAX_CHARACTERS ? STATUS_OK
                                       : error_set(err, STATUS_INVALID, "out_of_range", where,
                                                   "must have at most %d bytes as JSON", VALUE_MAX_CHARACTERS);
}

static enum status read_list(struct reading *in, const json_t *json, const char *where, struct category *out)
{
    char text[VALUE_MAX_CHARACTERS + 1];
    TRY(list_text(json, where, text, in->err));
    char *kept = arena_strndup(in->arena, text, strlen(text));
    if (kept == NULL)
        return error_no_memory(in->err);
    *out = (struct category){.kind = CATEGORY_LIST, .text = kept};
    return STATUS_OK;
}

enum status codec_category(struct reading *in, const json_t *json, const char *where, struct category *out)
{
    static const struct member text = {.max = VALUE_MAX_CHARACTERS};
    *out = (struct category){.kind = CATEGORY_TEXT};
    if (json_is_string(json))
        return codec_read_text(in, &text, json, where, &out->text);
    if (json_is_array(json))
        return read_list(in, json, where, out);
    if (json_is_boolean(json) || json_is_null(json)) {
        out->kind = json_is_null(json) ? CATEGORY_NULL : CATEGORY_BOOL;
        out->number = json_is_true(json) ? 1 : 0;
        return STATUS_OK;
    }
    out->kind = json_is_integer(json) ? CATEGORY_INTEGER : CATEGORY_REAL;
    if (json_is_integer(json) ? !codec_read_is_integral(json, &out->number) : !codec_read_is_finite(json, &out->number))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where,
                         "must be a string, a number (an integer within 2^53), a boolean, null or a list");
    return STATUS_OK;
}

static bool has_text(const struct category *category)
{
    return category->kind == CATEGORY_TEXT || category->kind == CATEGORY_LIST;
}

static bool is_same(const struct category *a, const struct category *b)
{
    return a->kind == b->kind && (has_text(a) ? strcmp(a->text, b->text) == 0 : a->number == b->number);
}

static bool is_number(const struct category *category)
{
    return category->kind == CATEGORY_INTEGER || category->kind == CATEGORY_REAL;
}

/* Finds the value itself; otherwise a number that is equal, for clients that cannot write 1.0 beside 1.  choices: none. */
static size_t find_category(const struct category *values, size_t choices, const struct category *wanted)
{
    size_t found = choices;
    for (size_t c = 0; c < choices; c++) {
        if (is_same(&values[c], wanted))
            return c;
        if (is_number(wanted) && is_number(&values[c]) && values[c].number == wanted->number)
            found = c;
    }
    return found;
}

/* How many values are of a kind. */
static size_t count_kind(const struct category *values, size_t choices, enum category_kind kind)
{
    size_t count = 0;
    for (size_t c = 0; c < choices; c++)
        count += values[c].kind == kind;
    return count;
}

static bool has_texts_only(const struct category *values, size_t choices)
{
    return count_kind(values, choices, CATEGORY_TEXT) == choices;
}

static const char *word_of(const struct category *category, char room[32])
{
    static const char *const words[] = {"false", "true"};
    if (has_text(category) || category->kind == CATEGORY_NULL)
        return has_text(category) ? category->text : "null";
    if (category->kind == CATEGORY_BOOL)
        return words[category->number != 0];
    snprintf(room, 32, "%.15g", category->number);
    return room;
}

static enum status refuse_value(const struct category *values, size_t choices, const struct category *wanted,
                                const char *where, struct error *err)
{
    char           own[32], other[32];
    const char    *word = word_of(wanted, own);
    struct nearest nearest = nearest_to(word, strlen(word));
    for (size_t c = 0; err != NULL && c < choices; c++)
        nearest_consider(&nearest, word_of(&values[c], other));
    return nearest_refuse(&nearest, err, "unknown_value", where, "value of the parameter", "the space lists them");
}

static enum status read_choice_index(const struct category *values, const struct param *param, const json_t *json,
                                     const char *where, double *out, struct error *err)
{
    struct reading  in = {.err = err};
    struct category wanted = {.text = json_string_value(json)};
    char            list[VALUE_MAX_CHARACTERS + 1];
    if (!json_is_string(json) && has_texts_only(values, param->choices))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be a string");
    if (json_is_array(json) && count_kind(values, param->choices, CATEGORY_LIST) == 0)
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be no list, as none of the values is one");
    if (json_is_array(json)) {
        TRY(list_text(json, where, list, err));
        wanted = (struct category){.kind = CATEGORY_LIST, .text = list};
    } else if (!json_is_string(json)) // a value that is too long is unknown
        TRY(codec_category(&in, json, where, &wanted));
    size_t c = find_category(values, param->choices, &wanted);
    *out = (double)c;
    return c < param->choices ? STATUS_OK : refuse_value(values, param->choices, &wanted, where, err);
}

/* A number that a discrete parameter, or one with steps, has not. */
static enum status refuse_number(const struct param *param, double wanted, const char *where, struct error *err)
{
    struct category other = {.kind = CATEGORY_REAL, .number = wanted};
    char            own[32], room[32], step[TEXT_REAL_BYTES], least[TEXT_REAL_BYTES];
    struct nearest  nearest = nearest_to(own, strlen(word_of(&other, own)));
    for (size_t c = 0; err != NULL && param->values != NULL && c < param->choices; c++) {
        other.number = param->values[c];
        nearest_consider(&nearest, word_of(&other, room));
    }
    return param->values == NULL
               ? error_set(err, STATUS_INVALID, "unknown_value", where, "must be some steps of %s above %s",
                           text_number(param->step, step), text_number(param->min, least))
               : nearest_refuse(&nearest, err, "unknown_value", where, "value of the parameter",
                                "the space lists them");
}

enum status codec_space_value(const struct spec *spec, size_t i, const json_t *json, const char *where, double *out,
                              struct error *err)
{
    const struct param *param = &spec->space.params[i];
    char                least[TEXT_REAL_BYTES], most[TEXT_REAL_BYTES];
    if (!param_is_number(param))
        return read_choice_index(spec->values[i], param, json, where, out, err);
    if (param->kind == PARAM_INT && !codec_read_is_integral(json, out))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an integer");
    if (!codec_read_is_finite(json, out))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be a number");
    *out = param_rounded(param, *out);
    if (*out < param->min || *out > param->max)
        return error_set(err, STATUS_INVALID, "out_of_range", where, "must be within [%s, %s]",
                         text_number(param->min, least), text_number(param->max, most));
    return param_has(param, *out) ? STATUS_OK : refuse_number(param, *out, where, err);
}

static json_t *category_json(const struct category *category)
{
    switch (category->kind) {
    case CATEGORY_TEXT:
        return json_string(category->text);
    case CATEGORY_INTEGER:
        return json_integer((json_int_t)category->number);
    case CATEGORY_BOOL:
        return json_boolean(category->number != 0);
    case CATEGORY_NULL:
        return json_null();
    case CATEGORY_LIST:
        return codec_load(category->text, 0);
    case CATEGORY_REAL:
        break;
    }
    return codec_number(category->number);
}

json_t *codec_space_value_json(const struct spec *spec, size_t i, double value)
{
    switch (spec->space.params[i].kind) {
    case PARAM_CATEGORICAL:
    case PARAM_ORDINAL:
        return category_json(&spec->values[i][(size_t)value]);
    case PARAM_INT:
        return json_integer((json_int_t)value);
    case PARAM_DISCRETE: // 32 is not to come back as 32.0, which many a program refuses as a count
        if (floor(value) == value && fabs(value) <= integer_max)
            return json_integer((json_int_t)value);
        break;
    case PARAM_DOUBLE:
    case PARAM_STEPPED:
        break;
    }
    return codec_number(value);
}

/* ---- one value as a cell of a table ---- */

/* Writes a string as it is, unless other values are no strings and it reads like one of these: then with the quotes of
 * JSON. */
void codec_space_cell(const struct spec *spec, size_t i, double value, char out[CODEC_CELL_MAX])
{
    const struct category *category = &spec->values[i][(size_t)value];
    bool                   is_text = category->kind == CATEGORY_TEXT;
    json_auto_t           *read = is_text && !has_texts_only(spec->values[i], spec->space.params[i].choices)
                                      ? codec_load(category->text, JSON_DECODE_ANY)
                                      : NULL;
    json_auto_t           *json = is_text && read == NULL ? NULL : category_json(category);
    size_t                 length = 0;
    if (is_text && category->text[0] == '\0')
        length = (size_t)snprintf(out, CODEC_CELL_MAX, "\"\"");
    else if (json != NULL)
        length = json_dumpb(json, out, CODEC_CELL_MAX - 1, JSON_ENCODE_ANY);
    else if (is_text)
        length = (size_t)snprintf(out, CODEC_CELL_MAX, "%s", category->text);
    out[length < CODEC_CELL_MAX ? length : 0] = '\0';
}

/* Tables that pandas, MLflow and W&B write have Python's words, which a text of that name precedes. */
static const char *const other_words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}, {"\"\"", "\"\""}};

bool codec_space_read_cell(const struct spec *spec, size_t i, const char *cell, double *out)
{
    const struct param *param = &spec->space.params[i];
    json_auto_t        *json = has_texts_only(spec->values[i], param->choices)
                                   ? json_string(cell)
                                   : codec_load(cell, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES);
    if (json == NULL)
        json = json_string(cell);
    if (json != NULL && read_choice_index(spec->values[i], param, json, "", out, NULL) == STATUS_OK)
        return true;
    for (size_t w = 0; w < sizeof other_words / sizeof *other_words; w++)
        if (strcmp(cell, other_words[w][0]) == 0) {
            json_auto_t *word = codec_load(other_words[w][1], JSON_DECODE_ANY);
            return word != NULL && read_choice_index(spec->values[i], param, word, "", out, NULL) == STATUS_OK;
        }
    return false;
}
