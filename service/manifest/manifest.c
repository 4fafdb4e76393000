/* See manifest.h: writing and reading.  Members are tables, which write and read alike. */
#include "service/manifest/manifest.h"

#include "service/base/npy.h"
#include "service/member/codec.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17) };

enum kind {
    KIND_TEXT,
    KIND_HEX,
    KIND_COUNT, /* int64_t or uint64_t, from 1 */
    KIND_SIZE,
    KIND_SIGMA,
    KIND_REAL,
    KIND_FLAG,
    KIND_SIDES,
    KIND_RATES,
    KIND_REALS, /* one for each column of the data */
    KIND_MOVES, /* as above; null: any move */
    KIND_LINES
};

struct row {
    const char *name; /* NULL ends the table */
    enum kind   kind;
    size_t      offset;
    size_t      room;       /* of a text */
    unsigned    mechanisms; /* bits: the mechanisms that have the member; 0: all */
    bool        if_true;    /* a flag that is written only when it is true */
};

enum {
    LAPLACE = 1 << MECHANISM_DISCRETE_LAPLACE | 1 << MECHANISM_ISOTROPIC_LAPLACE | 1 << MECHANISM_CELLS,
    GAUSSIAN = 1 << MECHANISM_DISCRETE_GAUSSIAN | 1 << MECHANISM_PROJECTED_GAUSSIAN,
    CELLS = 1 << MECHANISM_CELLS,
    TREE = 1 << MECHANISM_QUADTREE,
    NOISY = 1 << MECHANISM_DISCRETE_LAPLACE | 1 << MECHANISM_ISOTROPIC_LAPLACE | GAUSSIAN,
};
#define AT(member)   offsetof(struct release_manifest, member)
#define ROOM(member) .offset = AT(member), .room = sizeof((struct release_manifest *)0)->member

static const struct row document_rows[] = {
    {"differentially_private", KIND_FLAG, .offset = AT(differentially_private)},
    {"rows", KIND_COUNT, .offset = AT(rows)},
    {"columns", KIND_COUNT, .offset = AT(columns)},
    {"bytes", KIND_COUNT, .offset = AT(bytes)},
    {"sha256", KIND_HEX, ROOM(sha256)},
    {"dataset_tag", KIND_HEX, ROOM(dataset_tag)},
    {.name = NULL},
};
static const struct row origin_rows[] = {
    {"tool", KIND_TEXT, ROOM(tool)},
    {"created_at", KIND_TEXT, ROOM(created_at)},
    {"key", KIND_TEXT, ROOM(key)},
    {.name = NULL},
};
static const struct row ledger_rows[] = {
    {"id", KIND_HEX, ROOM(ledger.id)},
    {"head", KIND_HEX, ROOM(ledger.head)},
    {"seq", KIND_COUNT, .offset = AT(ledger.seq)},
    {"tables", KIND_COUNT, .offset = AT(ledger.tables)},
    {"lines", KIND_LINES, .offset = AT(ledger.lines)},
    {.name = NULL},
};
static const struct row spent_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(ledger.spent.epsilon)},
    {"delta", KIND_REAL, .offset = AT(ledger.spent.delta)},
    {"epsilon_any_change", KIND_REAL, .offset = AT(ledger.spent.epsilon_any_change)},
    {.name = NULL},
};
static const struct row budget_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(ledger.budget.epsilon)},
    {"delta", KIND_REAL, .offset = AT(ledger.budget.delta)},
    {.name = NULL},
};
static const struct row guaranteed_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(mechanism.epsilon)},
    {"delta", KIND_REAL, .offset = AT(mechanism.delta)},
    {"epsilon_any_change", KIND_REAL, .offset = AT(epsilon_any_change)},
    {"distance", KIND_REAL, .offset = AT(mechanism.distance), .mechanisms = NOISY},
    {"distance_l1", KIND_REAL, .offset = AT(mechanism.distance_l1), .mechanisms = NOISY},
    {"radius", KIND_REAL, .offset = AT(radius)},
    {"data_columns", KIND_SIZE, .offset = AT(mechanism.columns)},
    {"centre", KIND_REALS, .offset = AT(centre)},
    {"length_scales", KIND_REALS, .offset = AT(length_scales)},
    {"low", KIND_REALS, .offset = AT(low)},
    {"high", KIND_REALS, .offset = AT(high)},
    {"protect", KIND_MOVES, .offset = AT(protect)},
    {"gamma", KIND_REAL, .offset = AT(mechanism.gamma)},
    {"sensitivity", KIND_REAL, .offset = AT(mechanism.sensitivity)},
    {"rate", KIND_COUNT, .offset = AT(mechanism.rate), .mechanisms = LAPLACE},
    {"sigma", KIND_SIGMA, .offset = AT(mechanism.sigma), .mechanisms = GAUSSIAN},
    {"variance", KIND_REAL, .offset = AT(mechanism.variance), .mechanisms = LAPLACE | GAUSSIAN},
    {"dims", KIND_SIZE, .offset = AT(mechanism.dims)},
    {"keeps_axes", KIND_FLAG, .offset = AT(mechanism.keeps_axes), .if_true = true},
    {"sides", KIND_SIDES, .offset = AT(sides), .mechanisms = CELLS},
    {"data_rows", KIND_SIZE, .offset = AT(tree.rows), .mechanisms = TREE},
    {"rates", KIND_RATES, .offset = AT(tree), .mechanisms = TREE},
    {.name = NULL},
};
static const struct row projection_rows[] = {
    {"data_columns", KIND_SIZE, .offset = AT(mechanism.columns)},
    {"threshold_epsilon", KIND_REAL, .offset = AT(projection.epsilon)},
    {"threshold_delta", KIND_REAL, .offset = AT(projection.delta)},
    {"omega", KIND_REAL, .offset = AT(projection.omega)},
    {"sigma_min", KIND_REAL, .offset = AT(projection.sigma_min)},
    {"lifted", KIND_FLAG, .offset = AT(projection.lifted)},
    {"dims_advised", KIND_SIZE, .offset = AT(projection.dims_advised)},
    {.name = NULL},
};
static const struct row outcome_rows[] = {
    {"name", KIND_TEXT, ROOM(outcome_name)},
    {"default", KIND_REAL, .offset = AT(outcome_default)},
    {"low", KIND_REAL, .offset = AT(outcomes.low)},
    {"high", KIND_REAL, .offset = AT(outcomes.high)},
    {"epsilon", KIND_REAL, .offset = AT(outcomes.epsilon)},
    {"sensitivity", KIND_REAL, .offset = AT(outcomes.sensitivity)},
    {"gamma", KIND_REAL, .offset = AT(outcomes.gamma)},
    {"rate", KIND_COUNT, .offset = AT(outcomes.rate)},
    {"variance", KIND_REAL, .offset = AT(outcomes.variance)},
    {.name = NULL},
};
static const struct row total_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(total.epsilon)},
    {"delta", KIND_REAL, .offset = AT(total.delta)},
    {"epsilon_any_change", KIND_REAL, .offset = AT(total.epsilon_any_change)},
    {.name = NULL},
};

static bool has_row(const struct row *row, const struct release_manifest *manifest)
{
    return row->mechanisms == 0 || (row->mechanisms >> manifest->mechanism.kind & 1) != 0;
}

static bool is_said(const struct row *row, const struct release_manifest *manifest)
{
    return has_row(row, manifest) && (!row->if_true || *(const bool *)((const char *)manifest + row->offset));
}

const char *manifest_mechanism(const struct release_manifest *manifest)
{
    return manifest->differentially_private ? mechanism_name(manifest->mechanism.kind) : MANIFEST_PROJECTION_ONLY;
}

bool manifest_is_outcome_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return name[0] != '\0' && strlen(name) < sizeof((struct release_manifest *)0)->outcome_name &&
           name[strspn(name, allowed)] == '\0';
}

/* Writing. */

_Static_assert(sizeof(size_t) == sizeof(int64_t), "whole numbers are alike, as long as they are not negative");

static json_t *wholes_json(const void *values, size_t len)
{
    json_t *array = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&array, json_integer(((const int64_t *)values)[i]));
    return array;
}

static json_t *lines_json(const struct manifest_ledger *ledger)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < ledger->seq; i++) {
        char hex[SHA256_HEX_BYTES];
        digest_to_hex(ledger->lines[i], SHA256_BYTES, hex);
        codec_append(&array, json_string(hex));
    }
    return array;
}

static json_t *value_json(const struct row *row, const struct release_manifest *manifest)
{
    const void *at = (const char *)manifest + row->offset;
    switch (row->kind) {
    case KIND_TEXT:
    case KIND_HEX:
        return json_string(at);
    case KIND_COUNT:
    case KIND_SIZE:
        return json_integer(*(const int64_t *)at);
    case KIND_SIGMA:
        return json_integer(*(const uint32_t *)at);
    case KIND_REAL:
        return json_real(*(const double *)at);
    case KIND_FLAG:
        return json_boolean(*(const bool *)at);
    case KIND_SIDES:
        return wholes_json(at, manifest->mechanism.columns);
    case KIND_RATES:
        return wholes_json(manifest->tree.rates, manifest->tree.levels);
    case KIND_REALS:
    case KIND_MOVES:
        return codec_numbers(at, manifest->mechanism.columns); // null: any move
    case KIND_LINES:
        break;
    }
    return lines_json(&manifest->ledger);
}

static json_t *object_json(const struct row *rows, const struct release_manifest *manifest)
{
    json_t *object = json_object();
    for (const struct row *row = rows; row->name != NULL; row++)
        if (is_said(row, manifest))
            codec_put(&object, row->name, value_json(row, manifest));
    return object;
}

json_t *manifest_release_json(const struct release_manifest *manifest)
{
    bool    is_private = manifest->differentially_private;
    json_t *document = object_json(document_rows, manifest);
    codec_put(&document, "mechanism", json_string(manifest_mechanism(manifest)));
    codec_put(&document, "dtype", json_string(npy_type_name(manifest->dtype)));
    codec_put(&document, "parameters", object_json(is_private ? guaranteed_rows : projection_rows, manifest));
    codec_put(&document, "outcomes", manifest->has_outcomes ? object_json(outcome_rows, manifest) : json_null());
    codec_put(&document, "total", manifest->has_outcomes ? object_json(total_rows, manifest) : json_null());
    return document;
}

static json_t *document_json(const struct release_manifest *manifest)
{
    bool    is_private = manifest->differentially_private;
    json_t *document = manifest_release_json(manifest), *origin = object_json(origin_rows, manifest);
    json_t *ledger = object_json(ledger_rows, manifest);
    codec_put(&ledger, "spent", is_private ? object_json(spent_rows, manifest) : json_null());
    codec_put(&ledger, "budget", is_private ? object_json(budget_rows, manifest) : json_null());
    codec_put(&document, "ledger", ledger);
    if (document != NULL && json_object_update(document, origin) != 0) { // an origin may be absent
        json_decref(document);
        document = NULL;
    }
    json_decref(origin);
    return document;
}

static enum status dump(const struct release_manifest *manifest, bool is_signed, char **text, struct error *err)
{
    json_t *document = document_json(manifest);
    if (is_signed)
        codec_put(&document, "signature", json_string(manifest->signature));
    *text = codec_dump(document, CANONICAL);
    json_decref(document);
    return *text != NULL ? STATUS_OK : error_no_memory(err);
}

enum status manifest_sign(struct release_manifest *manifest, const struct sign_key *key, struct error *err)
{
    char *text = NULL;
    sign_key_public(key, manifest->key);
    TRY(dump(manifest, false, &text, err));
    enum status status = sign_make(key, text, strlen(text), manifest->signature, err);
    free(text);
    return status;
}

enum status manifest_text(const struct release_manifest *manifest, char **text, struct error *err)
{
    return dump(manifest, true, text, err);
}

/* Reading. */

static enum status bad(struct error *err, const char *where, const char *name, const char *problem)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", where, name);
    return error_set(err, STATUS_INVALID, "bad_manifest", path, "the manifest's %s %s", name, problem);
}

static bool take_text(const json_t *json, size_t room, bool is_hex, char *out)
{
    const char *text = json_string_value(json);
    size_t      length = text != NULL ? strlen(text) : 0;
    if (length == 0 || length != json_string_length(json) || length >= room)
        return false;
    memcpy(out, text, length + 1);
    return !is_hex || (length == room - 1 && strspn(text, "0123456789abcdef") == length);
}

static bool take_wholes(const json_t *json, size_t len_max, json_int_t most, void *out)
{
    size_t len = json_array_size(json);
    if (len == 0 || len > len_max)
        return false;
    for (size_t i = 0; i < len; i++) {
        json_int_t value = json_integer_value(json_array_get(json, i));
        if (value < 1 || value > most)
            return false;
        ((int64_t *)out)[i] = value;
    }
    return true;
}

static bool take_reals(const json_t *json, size_t len, bool may_be_null, double *out)
{
    if (len == 0 || len > MANIFEST_COLUMNS_MAX || json_array_size(json) != len)
        return false;
    for (size_t c = 0; c < len; c++) {
        const json_t *value = json_array_get(json, c);
        out[c] = json_is_null(value) ? (double)INFINITY : json_number_value(value);
        if (json_is_null(value) ? !may_be_null : !json_is_number(value) || !isfinite(out[c]))
            return false;
    }
    return true;
}

static bool take_lines(const json_t *json, struct manifest_ledger *out)
{
    if (json_array_size(json) != (size_t)out->seq || out->seq > MANIFEST_LINES_MAX)
        return false;
    for (size_t i = 0; i < (size_t)out->seq; i++) {
        const char *hex = json_string_value(json_array_get(json, i));
        if (hex == NULL || !digest_of_hex(hex, out->lines[i], SHA256_BYTES))
            return false;
    }
    return true;
}

static bool take_value(const struct row *row, const json_t *json, struct release_manifest *out)
{
    void      *at = (char *)out + row->offset;
    json_int_t whole = json_integer_value(json);
    double     real = json_number_value(json);
    switch (row->kind) {
    case KIND_TEXT:
    case KIND_HEX:
        return take_text(json, row->room, row->kind == KIND_HEX, at);
    case KIND_COUNT:
    case KIND_SIZE:
        *(int64_t *)at = whole;
        return json_is_integer(json) && whole >= (row->kind == KIND_COUNT);
    case KIND_SIGMA:
        *(uint32_t *)at = (uint32_t)whole;
        return whole > 0 && whole <= UINT32_MAX;
    case KIND_REAL:
        *(double *)at = real;
        return json_is_number(json) && isfinite(real);
    case KIND_FLAG:
        *(bool *)at = json_is_true(json);
        return json_is_boolean(json);
    case KIND_SIDES:
        return json_array_size(json) == out->mechanism.columns && take_wholes(json, MANIFEST_SIDES_MAX, 1000000, at);
    case KIND_RATES:
        out->tree.levels = json_array_size(json);
        return take_wholes(json, QUADTREE_LEVELS_MAX, INT64_MAX, out->tree.rates);
    case KIND_REALS:
    case KIND_MOVES:
        return take_reals(json, out->mechanism.columns, row->kind == KIND_MOVES, at);
    case KIND_LINES:
        break;
    }
    return take_lines(json, &out->ledger);
}

/* Exactly the members of the table, and `more` others that the caller reads. */
static enum status read_object(const json_t *object, const struct row *rows, size_t more, const char *where,
                               struct release_manifest *out, struct error *err)
{
    size_t members = more;
    if (!json_is_object(object))
        return error_set(err, STATUS_INVALID, "bad_manifest", where, "the manifest has no object here");
    for (const struct row *row = rows; row->name != NULL; row++) {
        if (!has_row(row, out))
            continue;
        const json_t *json = json_object_get(object, row->name);
        if (json == NULL && row->if_true)
            continue;
        members++;
        if (json == NULL)
            return bad(err, where, row->name, "is missing");
        if (!take_value(row, json, out))
            return bad(err, where, row->name, "has not the form that it must have");
    }
    if (json_object_size(object) != members)
        return error_set(err, STATUS_INVALID, "bad_manifest", where,
                         "the manifest has an unknown member, or lacks one");
    return STATUS_OK;
}

static enum status read_mechanism(const json_t *document, struct release_manifest *out, struct error *err)
{
    const char *name = json_string_value(json_object_get(document, "mechanism"));
    const char *dtype = json_string_value(json_object_get(document, "dtype"));
    bool        is_projection = name != NULL && strcmp(name, MANIFEST_PROJECTION_ONLY) == 0;
    out->mechanism.kind = name != NULL ? mechanism_find(name) : MECHANISM_KINDS;
    if (is_projection)
        out->mechanism.kind = MECHANISM_AUTO;
    else if (out->mechanism.kind == MECHANISM_AUTO || out->mechanism.kind == MECHANISM_KINDS)
        return bad(err, "", "mechanism", "is missing, or not one that is known");
    out->dtype = dtype != NULL ? npy_type_find(dtype) : NPY_TYPES;
    bool is_integer = out->dtype == NPY_I4 || out->dtype == NPY_I8;
    if (out->dtype == NPY_TYPES || is_integer == is_projection)
        return bad(err, "", "dtype", is_projection ? "must be <f8 or <f4" : "must be <i4 or <i8");
    out->differentially_private = !is_projection;
    return STATUS_OK;
}

/* Reads the release; more: how many other members the object has. */
static enum status read_release(const json_t *document, size_t more, struct release_manifest *out, struct error *err)
{
    enum { READ_ELSEWHERE = 5 }; /* mechanism, dtype, parameters, outcomes, total */
    const json_t *parameters = json_object_get(document, "parameters"), *total = json_object_get(document, "total");
    const json_t *outcomes = json_object_get(document, "outcomes");
    TRY(read_mechanism(document, out, err));
    bool is_private = out->differentially_private;
    TRY(read_object(document, document_rows, READ_ELSEWHERE + more, "", out, err));
    if (out->differentially_private != is_private)
        return bad(err, "", "differentially_private", "contradicts its mechanism");
    TRY(read_object(parameters, is_private ? guaranteed_rows : projection_rows, 0, "/parameters", out, err));
    out->has_outcomes = !json_is_null(outcomes);
    if (out->has_outcomes && !is_private)
        return bad(err, "", "outcomes", "must be null without a guarantee");
    if (out->has_outcomes)
        TRY(read_object(outcomes, outcome_rows, 0, "/outcomes", out, err));
    if (out->has_outcomes && !manifest_is_outcome_name(out->outcome_name))
        return bad(err, "/outcomes", "name", "is not one of letters, digits, _ and -");
    if (out->has_outcomes)
        TRY(read_object(total, total_rows, 0, "/total", out, err));
    else if (!json_is_null(total))
        return bad(err, "", "total", "must be null without private outcomes");
    out->mechanism.rows = (size_t)out->rows;
    out->tree.columns = out->mechanism.columns;
    out->tree.epsilon = out->mechanism.epsilon;
    out->tree.gamma = out->mechanism.gamma;
    out->projection.dims = (size_t)out->columns;
    return STATUS_OK;
}

enum status manifest_read_release(const json_t *members, struct release_manifest *out, struct error *err)
{
    *out = (struct release_manifest){.rows = 0};
    return read_release(members, 0, out, err);
}

static enum status read_ledger(const json_t *ledger, struct release_manifest *out, struct error *err)
{
    enum { READ_ELSEWHERE = 2 }; /* spent, budget */
    const json_t *spent = json_object_get(ledger, "spent"), *budget = json_object_get(ledger, "budget");
    TRY(read_object(ledger, ledger_rows, READ_ELSEWHERE, "/ledger", out, err));
    if (!out->differentially_private)
        return json_is_null(spent) && json_is_null(budget)
                   ? STATUS_OK
                   : bad(err, "/ledger", "spent", "and budget must be null without a guarantee");
    TRY(read_object(spent, spent_rows, 0, "/ledger/spent", out, err));
    return read_object(budget, budget_rows, 0, "/ledger/budget", out, err);
}

static enum status read_document(const json_t *document, struct release_manifest *out, struct error *err)
{
    enum { READ_ELSEWHERE = 5 }; /* tool, created_at, key, ledger, signature */
    TRY(read_release(document, READ_ELSEWHERE, out, err));
    for (const struct row *row = origin_rows; row->name != NULL; row++)
        if (!take_value(row, json_object_get(document, row->name), out))
            return bad(err, "", row->name, "is missing, or has not the form that it must have");
    TRY(read_ledger(json_object_get(document, "ledger"), out, err));
    if (!take_text(json_object_get(document, "signature"), SIGN_CHARS, false, out->signature))
        return bad(err, "", "signature", "is missing or not 86 characters");
    if (!sign_is_public(out->key))
        return bad(err, "", "key", "is not a public key");
    if (strncmp(out->tool, "gnomon ", 7) != 0 || out->tool[7 + strspn(out->tool + 7, "0123456789.")] != '\0')
        return bad(err, "", "tool", "is not one that is known");
    if (out->created_at[strspn(out->created_at, "0123456789-:.TZ")] != '\0')
        return bad(err, "", "created_at", "is not a time");
    return STATUS_OK;
}

enum status manifest_read(const char *text, size_t length, struct release_manifest *out, struct error *err)
{
    *out = (struct release_manifest){.rows = 0};
    json_t *document = length <= MANIFEST_MAX_BYTES ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (document == NULL)
        return error_set(err, STATUS_INVALID, "bad_manifest", "", "the manifest is not JSON, or too long");
    enum status status = read_document(document, out, err);
    json_decref(document);
    return status;
}

enum status manifest_check_signature(const struct release_manifest *manifest, struct error *err)
{
    char *text = NULL;
    TRY(dump(manifest, false, &text, err));
    bool is_good = sign_verify(manifest->key, text, strlen(text), manifest->signature);
    free(text);
    return is_good ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "bad_signature", "/signature",
                               "the manifest is not as its key signed it");
}
