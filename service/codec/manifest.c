/* See manifest.h.  Members are tables, which write and read alike. */
#include "service/codec/manifest.h"

#include "service/base/npy.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17) };

enum kind {
    KIND_TEXT,
    KIND_HEX,
    KIND_COUNT,
    KIND_SIZE,
    KIND_RATE,
    KIND_SIGMA,
    KIND_REAL,
    KIND_FLAG,
    KIND_SIDES,
    KIND_RATES
};

struct row {
    const char *name; /* NULL ends the table */
    enum kind   kind;
    size_t      offset;
    size_t      room;       /* of a text */
    unsigned    mechanisms; /* bits: those that have the member; 0: all */
    bool        if_true;    /* a flag that is only said when it is */
};

enum {
    LAPLACE = 1 << MECHANISM_DISCRETE_LAPLACE | 1 << MECHANISM_ISOTROPIC_LAPLACE | 1 << MECHANISM_CELLS,
    GAUSSIAN = 1 << MECHANISM_DISCRETE_GAUSSIAN | 1 << MECHANISM_PROJECTED_GAUSSIAN,
    CELLS = 1 << MECHANISM_CELLS,
    TREE = 1 << MECHANISM_QUADTREE,
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
    {"tool", KIND_TEXT, ROOM(tool)},
    {"created_at", KIND_TEXT, ROOM(created_at)},
    {"key", KIND_TEXT, ROOM(key)},
    {.name = NULL},
};
static const struct row guaranteed_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(mechanism.epsilon)},
    {"delta", KIND_REAL, .offset = AT(mechanism.delta)},
    {"distance", KIND_REAL, .offset = AT(mechanism.distance)},
    {"distance_raw", KIND_REAL, .offset = AT(distance_raw)},
    {"radius", KIND_REAL, .offset = AT(radius)},
    {"data_columns", KIND_SIZE, .offset = AT(mechanism.columns)},
    {"gamma", KIND_REAL, .offset = AT(mechanism.gamma)},
    {"sensitivity", KIND_REAL, .offset = AT(mechanism.sensitivity)},
    {"rate", KIND_RATE, .offset = AT(mechanism.rate), .mechanisms = LAPLACE},
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
    {"variance", KIND_REAL, .offset = AT(outcomes.variance)},
    {.name = NULL},
};
static const struct row total_rows[] = {
    {"epsilon", KIND_REAL, .offset = AT(total.epsilon)},
    {"delta", KIND_REAL, .offset = AT(total.delta)},
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

static json_t *sides_json(const struct release_manifest *manifest)
{
    json_t *array = json_array();
    for (size_t c = 0; c < manifest->mechanism.columns; c++)
        json_array_append_new(array, json_integer((json_int_t)manifest->sides[c]));
    return array;
}

static json_t *rates_json(const struct quadtree *tree)
{
    json_t *array = json_array();
    for (size_t l = 0; l < tree->levels; l++)
        json_array_append_new(array, json_integer((json_int_t)tree->rates[l]));
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
        return json_integer(*(const int64_t *)at);
    case KIND_SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case KIND_RATE:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case KIND_SIGMA:
        return json_integer(*(const uint32_t *)at);
    case KIND_REAL:
        return json_real(*(const double *)at);
    case KIND_FLAG:
        return json_boolean(*(const bool *)at);
    case KIND_SIDES:
        return sides_json(manifest);
    case KIND_RATES:
        break;
    }
    return rates_json(at);
}

static json_t *object_json(const struct row *rows, const struct release_manifest *manifest)
{
    json_t *object = json_object();
    for (const struct row *row = rows; row->name != NULL && object != NULL; row++)
        if (is_said(row, manifest) && json_object_set_new(object, row->name, value_json(row, manifest)) != 0) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

static json_t *document_json(const struct release_manifest *manifest)
{
    bool    is_private = manifest->differentially_private;
    json_t *document = object_json(document_rows, manifest);
    int     failure = json_object_set_new(document, "mechanism", json_string(manifest_mechanism(manifest))) |
                  json_object_set_new(document, "dtype", json_string(npy_type_name(manifest->dtype))) |
                  json_object_set_new(document, "parameters",
                                      object_json(is_private ? guaranteed_rows : projection_rows, manifest)) |
                  json_object_set_new(document, "outcomes",
                                      manifest->has_outcomes ? object_json(outcome_rows, manifest) : json_null()) |
                  json_object_set_new(document, "total", is_private ? object_json(total_rows, manifest) : json_null());
    if (failure == 0)
        return document;
    json_decref(document);
    return NULL;
}

static enum status dump(const struct release_manifest *manifest, bool is_signed, char **text, struct error *err)
{
    json_t *document = document_json(manifest);
    if (is_signed && document != NULL)
        json_object_set_new(document, "signature", json_string(manifest->signature));
    *text = document != NULL ? json_dumps(document, CANONICAL) : NULL;
    json_decref(document);
    return *text != NULL ? STATUS_OK : error_no_memory(err);
}

enum status manifest_sign(struct release_manifest *manifest, const struct sign_key *key, struct error *err)
{
    char *text = NULL;
    sign_key_public(key, manifest->key);
    if (manifest->differentially_private)
        manifest->total = mechanism_total_of(&manifest->mechanism, manifest->has_outcomes ? &manifest->outcomes : NULL);
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

static bool take_sides(const json_t *json, struct release_manifest *out)
{
    size_t len = json_array_size(json);
    if (len == 0 || len > MANIFEST_SIDES_MAX || len != out->mechanism.columns)
        return false;
    for (size_t c = 0; c < len; c++) {
        json_int_t side = json_integer_value(json_array_get(json, c));
        if (side < 1 || side > 1000000)
            return false;
        out->sides[c] = (size_t)side;
    }
    return true;
}

static bool take_rates(const json_t *json, struct quadtree *out)
{
    out->levels = json_array_size(json);
    for (size_t l = 0; l < out->levels && l < QUADTREE_LEVELS_MAX; l++) {
        json_int_t rate = json_integer_value(json_array_get(json, l));
        if (rate < 1)
            return false;
        out->rates[l] = (uint64_t)rate;
    }
    return out->levels >= 1 && out->levels <= QUADTREE_LEVELS_MAX;
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
        *(int64_t *)at = whole;
        return whole > 0;
    case KIND_SIZE:
        *(size_t *)at = (size_t)whole;
        return json_is_integer(json) && whole >= 0;
    case KIND_RATE:
        *(uint64_t *)at = (uint64_t)whole;
        return whole > 0;
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
        return take_sides(json, out);
    case KIND_RATES:
        break;
    }
    return take_rates(json, at);
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

static enum status read_document(const json_t *document, struct release_manifest *out, struct error *err)
{
    enum { READ_ELSEWHERE = 6 }; /* mechanism, dtype, parameters, outcomes, total, signature */
    const json_t *parameters = json_object_get(document, "parameters"), *total = json_object_get(document, "total");
    const json_t *outcomes = json_object_get(document, "outcomes");
    TRY(read_mechanism(document, out, err));
    bool is_private = out->differentially_private;
    TRY(read_object(document, document_rows, READ_ELSEWHERE, "", out, err));
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
    if (is_private)
        TRY(read_object(total, total_rows, 0, "/total", out, err));
    else if (!json_is_null(total))
        return bad(err, "", "total", "must be null without a guarantee");
    if (!take_text(json_object_get(document, "signature"), SIGN_CHARS, false, out->signature))
        return bad(err, "", "signature", "is missing or not 86 characters");
    if (!sign_is_public(out->key))
        return bad(err, "", "key", "is not a public key");
    if (strncmp(out->tool, "gnomon ", 7) != 0 || out->tool[7 + strspn(out->tool + 7, "0123456789.")] != '\0')
        return bad(err, "", "tool", "is not one that is known");
    if (out->created_at[strspn(out->created_at, "0123456789-:.TZ")] != '\0')
        return bad(err, "", "created_at", "is not a time");
    out->mechanism.rows = (size_t)out->rows;
    out->tree.columns = out->mechanism.columns;
    out->tree.epsilon = out->mechanism.epsilon;
    out->tree.radius = out->radius;
    out->tree.gamma = out->mechanism.gamma;
    out->projection.dims = (size_t)out->columns;
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

/* Checking. */

struct number {
    const char *path;
    double      claimed, computed, tolerance; /* relative, or 1 for whole numbers that libraries round differently */
};
static const double CLOSE = 1e-9;

static bool is_near(const struct number *number)
{
    double scale = number->tolerance < 1 ? fmax(fabs(number->computed), fabs(number->claimed)) : 1;
    return fabs(number->claimed - number->computed) <= number->tolerance * scale;
}

static enum status check_all(const struct number *numbers, size_t len, struct error *err)
{
    for (size_t i = 0; i < len; i++)
        if (!is_near(&numbers[i]))
            return error_set(err, STATUS_INVALID, "not_a_release", numbers[i].path,
                             "the manifest's number %s is not the one that follows from the others",
                             strrchr(numbers[i].path, '/') + 1);
    return STATUS_OK;
}

/* What the engine refuses is not a release either. */
static enum status not_planned(const char *path, struct error *err)
{
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    return error_set(err, STATUS_INVALID, "not_a_release", path, "%s", text);
}

static double cells_variance(const struct release_manifest *m)
{
    double sum = 0;
    for (size_t c = 0; c < m->mechanism.columns; c++) {
        double side = 2.0 * MECHANISM_NORM / (double)m->sides[c];
        sum += side * side / 12 / (double)m->mechanism.columns;
    }
    return sum;
}

/* The depth and the noise of each level. */
static enum status check_tree(const struct release_manifest *m, struct mechanism *plan, struct error *err)
{
    struct quadtree tree = {
        .rows = m->tree.rows, .columns = m->mechanism.columns, .epsilon = m->mechanism.epsilon, .radius = m->radius};
    if (quadtree_plan(&tree, err) != STATUS_OK)
        return not_planned("/parameters", err);
    if (m->rows > (int64_t)tree.rows)
        return error_set(err, STATUS_INVALID, "not_a_release", "/rows",
                         "the leaves have more cards than there are rows");
    plan->gamma = tree.gamma;
    bool is_good = tree.levels == m->tree.levels;
    for (size_t l = 0; l < tree.levels && is_good; l++)
        is_good = llabs((long long)(m->tree.rates[l] - tree.rates[l])) <= 1;
    return is_good ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "not_a_release", "/parameters/rates",
                               "the manifest's number rates is not the one that follows from the others");
}

static enum status check_mechanism(const struct release_manifest *m, struct error *err)
{
    struct mechanism plan = {.kind = m->mechanism.kind,
                             .epsilon = m->mechanism.epsilon,
                             .delta = m->mechanism.delta,
                             .distance = m->mechanism.distance,
                             .rows = (size_t)m->rows,
                             .columns = m->mechanism.columns,
                             .dims = m->mechanism.dims,
                             .keeps_axes = m->mechanism.keeps_axes};
    if (!(m->radius > 0))
        return error_set(err, STATUS_INVALID, "not_a_release", "/parameters/radius", "the radius is not positive");
    bool is_cells = plan.kind == MECHANISM_CELLS, is_tree = plan.kind == MECHANISM_QUADTREE;
    if (mechanism_plan(&plan, err) != STATUS_OK)
        return not_planned("/parameters", err);
    if (is_cells || is_tree) {
        plan.distance = 2 * MECHANISM_NORM;
        plan.dims = plan.columns;
    }
    if (is_cells) {
        plan.gamma = 0x1p-10;
        plan.variance = cells_variance(m);
    }
    if (is_tree) {
        plan.rate = m->mechanism.rate;         /* not said */
        plan.variance = m->mechanism.variance; /* of a leaf: its level says it */
        TRY(check_tree(m, &plan, err));
    }
    const struct number numbers[] = {
        {"/parameters/distance", m->mechanism.distance, plan.distance, 0},
        {"/parameters/delta", m->mechanism.delta, plan.delta, 0},
        {"/parameters/dims", (double)m->mechanism.dims, (double)plan.dims, 0},
        {"/parameters/keeps_axes", (double)m->mechanism.keeps_axes, (double)plan.keeps_axes, 0},
        {"/columns", (double)m->columns, (double)plan.dims, 0},
        {"/parameters/gamma", m->mechanism.gamma, plan.gamma, 0},
        {"/parameters/sensitivity", m->mechanism.sensitivity, plan.sensitivity, CLOSE},
        {"/parameters/rate", (double)m->mechanism.rate, (double)plan.rate, 1},
        {"/parameters/sigma", (double)m->mechanism.sigma, (double)plan.sigma, 1},
        {"/parameters/variance", m->mechanism.variance, plan.variance, 1e-6},
        {"/parameters/distance_raw", m->distance_raw, plan.distance * m->radius / MECHANISM_NORM, CLOSE},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_outcomes(const struct release_manifest *m, struct error *err)
{
    struct mechanism_outcome plan = m->outcomes;
    if (!m->has_outcomes)
        return STATUS_OK;
    if (!(m->outcome_default >= plan.low && m->outcome_default <= plan.high))
        return error_set(err, STATUS_INVALID, "not_a_release", "/outcomes/default",
                         "the default of an outcome is outside of its range");
    if (mechanism_is_partition(m->mechanism.kind))
        plan.sensitivity = plan.high - plan.low; /* any change of a row */
    if (mechanism_plan_outcome(&plan, err) != STATUS_OK)
        return not_planned("/outcomes", err);
    const struct number numbers[] = {
        {"/outcomes/sensitivity", m->outcomes.sensitivity, plan.sensitivity, 0},
        {"/outcomes/gamma", m->outcomes.gamma, plan.gamma, 0},
        {"/outcomes/variance", m->outcomes.variance, plan.variance, CLOSE},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_projection(const struct release_manifest *m, struct error *err)
{
    const struct projection *p = &m->projection;
    if (!(p->epsilon > 0 && p->delta > 0 && p->delta < 1 && p->sigma_min >= 0))
        return error_set(err, STATUS_INVALID, "not_a_release", "/parameters", "the threshold's numbers make no sense");
    double              omega = projection_omega(p->epsilon, p->delta, p->dims);
    const struct number numbers[] = {
        {"/parameters/omega", p->omega, omega, CLOSE},
        {"/parameters/lifted", (double)p->lifted, (double)(p->sigma_min < p->omega), 0},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_size(const struct release_manifest *m, struct error *err)
{
    enum { HEADER_BYTES = 4096 };
    double least = (double)m->rows * (double)m->columns * (double)npy_type_bytes(m->dtype);
    if ((double)m->bytes >= least && (double)m->bytes <= least + HEADER_BYTES)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_a_release", "/bytes", "such a matrix has another number of bytes");
}

enum status manifest_check_numbers(const struct release_manifest *manifest, struct error *err)
{
    TRY(check_size(manifest, err));
    if (!manifest->differentially_private)
        return check_projection(manifest, err);
    TRY(check_mechanism(manifest, err));
    TRY(check_outcomes(manifest, err));
    struct mechanism_total total =
        mechanism_total_of(&manifest->mechanism, manifest->has_outcomes ? &manifest->outcomes : NULL);
    const struct number numbers[] = {
        {"/total/epsilon", manifest->total.epsilon, total.epsilon, CLOSE},
        {"/total/delta", manifest->total.delta, total.delta, CLOSE},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

enum status manifest_verify(const char *text, size_t length, struct release_manifest *out, struct error *err)
{
    TRY(manifest_read(text, length, out, err));
    TRY(manifest_check_signature(out, err));
    return manifest_check_numbers(out, err);
}
