/* See ledger.h. */
#include "service/curator/ledger.h"
#include "engine/privacy/mechanism.h"
#include "service/base/digest.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17), BISECTIONS = 100 };
static const char NO_LINE_SHA256[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* Reading. */

static bool take_text(const json_t *line, const char *name, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(line, name));
    if (text == NULL || strlen(text) >= room)
        return false;
    snprintf(out, room, "%s", text);
    return true;
}

static double number_or_nan(const json_t *line, const char *name)
{
    const json_t *json = json_object_get(line, name);
    return json_is_number(json) ? json_number_value(json) : (double)NAN;
}

/* *scale: the caller's to free. */
static bool take_entry(const json_t *line, struct ledger_entry *out, char **scale)
{
    const json_t *numbers = json_object_get(line, "scale");
    *scale = json_is_object(numbers) ? json_dumps(numbers, CANONICAL) : NULL;
    out->scale = *scale;
    out->epsilon = number_or_nan(line, "epsilon");
    out->delta = number_or_nan(line, "delta");
    out->distance = number_or_nan(line, "distance");
    out->outcome_epsilon = number_or_nan(line, "outcome_epsilon");
    bool has_guarantee = out->epsilon > 0;
    return take_text(line, "at", out->at, sizeof out->at) &&
           take_text(line, "dataset_tag", out->dataset_tag, sizeof out->dataset_tag) &&
           take_text(line, "mechanism", out->mechanism, sizeof out->mechanism) &&
           take_text(line, "matrix_sha256", out->matrix_sha256, sizeof out->matrix_sha256) && out->delta >= 0 &&
           out->outcome_epsilon >= 0 &&
           (has_guarantee ? out->distance > 0 && out->scale != NULL : isnan(out->epsilon) && out->scale == NULL);
}

/* The line is canonical, has the number and the predecessor that it must have, and its key signed it. */
static bool is_genuine(struct ledger *ledger, json_t *line, const char *text)
{
    char  signature[SIGN_CHARS], previous[65], key[SIGN_PUBLIC_CHARS];
    char *whole = json_dumps(line, CANONICAL);
    bool  is_good = whole != NULL && strcmp(whole, text) == 0 &&
                   json_integer_value(json_object_get(line, "seq")) == (json_int_t)ledger->len + 1 &&
                   take_text(line, "previous", previous, sizeof previous) && take_text(line, "key", key, sizeof key) &&
                   take_text(line, "signature", signature, sizeof signature) &&
                   strcmp(previous, ledger->last_sha256) == 0 &&
                   (ledger->key[0] == '\0' || strcmp(key, ledger->key) == 0);
    free(whole);
    json_object_del(line, "signature");
    char *content = is_good ? json_dumps(line, CANONICAL) : NULL;
    is_good = content != NULL && sign_verify(key, content, strlen(content), signature);
    free(content);
    if (is_good)
        memcpy(ledger->key, key, sizeof key);
    return is_good;
}

static bool add_entry(struct ledger *ledger, const struct ledger_entry *entry, const char *text)
{
    struct ledger_entry *larger = realloc(ledger->entries, (ledger->len + 1) * sizeof *larger);
    if (larger == NULL)
        return false;
    ledger->entries = larger;
    larger[ledger->len] = *entry;
    larger[ledger->len].scale = entry->scale != NULL ? strdup(entry->scale) : NULL;
    if (entry->scale != NULL && larger[ledger->len].scale == NULL)
        return false;
    ledger->len++;
    sha256_hex(text, strlen(text), ledger->last_sha256);
    return true;
}

static enum status take_line(void *arg, char *text, size_t number, struct error *err)
{
    struct ledger      *ledger = arg;
    struct ledger_entry entry;
    char               *scale = NULL;
    json_t             *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool                is_good = line != NULL && take_entry(line, &entry, &scale) && is_genuine(ledger, line, text);
    bool                is_added = is_good && add_entry(ledger, &entry, text);
    (void)number;
    json_decref(line);
    free(scale);
    return is_added ? STATUS_OK : is_good ? error_no_memory(err) : STATUS_CONFLICT;
}

enum status ledger_open(const char *path, bool may_create, struct ledger *out, struct error *err)
{
    *out = (struct ledger){.len = 0};
    memcpy(out->last_sha256, NO_LINE_SHA256, sizeof NO_LINE_SHA256);
    return append_open(path, may_create,
                       &(struct append_reader){.take = take_line,
                                               .arg = out,
                                               .code = "edited_ledger",
                                               .complaint = "is not as it was signed: the ledger was edited or "
                                                            "damaged. Restore it from a copy; without it nobody "
                                                            "knows what was spent"},
                       &out->file, err);
}

void ledger_close(struct ledger *ledger)
{
    append_close(ledger->file);
    for (size_t i = 0; i < ledger->len; i++)
        free((void *)(uintptr_t)ledger->entries[i].scale);
    free(ledger->entries);
    *ledger = (struct ledger){.len = 0};
}

/* Writing. */

static json_t *entry_json(const struct ledger *ledger, const struct ledger_entry *entry, const char *key)
{
    bool has_guarantee = entry->epsilon > 0;
    return json_pack("{s:I, s:o, s:s, s:s, s:s, s:o, s:f, s:o, s:f, s:s, s:s, s:s}", "seq", (json_int_t)ledger->len + 1,
                     "scale", has_guarantee && entry->scale != NULL ? json_loads(entry->scale, 0, NULL) : json_null(),
                     "at", entry->at, "dataset_tag", entry->dataset_tag, "mechanism", entry->mechanism, "epsilon",
                     has_guarantee ? json_real(entry->epsilon) : json_null(), "delta", entry->delta, "distance",
                     has_guarantee ? json_real(entry->distance) : json_null(), "outcome_epsilon",
                     entry->outcome_epsilon, "matrix_sha256", entry->matrix_sha256, "previous", ledger->last_sha256,
                     "key", key);
}

/* The canonical, signed line; the caller frees it. */
static enum status line_text(json_t *document, const struct sign_key *key, char **text, struct error *err)
{
    char        signature[SIGN_CHARS];
    char       *content = document != NULL ? json_dumps(document, CANONICAL) : NULL;
    enum status status =
        content != NULL ? sign_make(key, content, strlen(content), signature, err) : error_no_memory(err);
    free(content);
    if (status != STATUS_OK)
        return status;
    json_object_set_new(document, "signature", json_string(signature));
    *text = json_dumps(document, CANONICAL);
    return *text != NULL ? STATUS_OK : error_no_memory(err);
}

enum status ledger_append(struct ledger *ledger, const struct ledger_entry *entry, const struct sign_key *key,
                          struct error *err)
{
    char public_key[SIGN_PUBLIC_CHARS], *text = NULL;
    sign_key_public(key, public_key);
    if (ledger->key[0] != '\0' && strcmp(ledger->key, public_key) != 0)
        return error_set(err, STATUS_CONFLICT, "other_key", "", "the ledger is signed by another key than this one");
    json_t     *document = entry_json(ledger, entry, public_key);
    enum status status = line_text(document, key, &text, err);
    if (status == STATUS_OK)
        status = append_line(ledger->file, text, err);
    if (status == STATUS_OK && !add_entry(ledger, entry, text))
        status = error_no_memory(err);
    if (status == STATUS_OK)
        memcpy(ledger->key, public_key, sizeof public_key);
    free(text);
    json_decref(document);
    return status;
}

/* Comparing. */

/* What the two say differently, as the option that says it. */
static const char *difference_of(const json_t *one, const json_t *other)
{
    static const char *const members[][2] = {{"centre", "--centre"}, {"length_scale", "--length-scales"}};
    json_t     *columns = json_object_get(one, "columns"), *others = json_object_get(other, "columns"), *column;
    const char *name;
    bool        is_same = json_object_size(columns) == json_object_size(others);
    json_object_foreach (columns, name, column)
        is_same = is_same && json_object_get(others, name) != NULL;
    if (!is_same)
        return "--columns";
    for (size_t k = 0; k < 2; k++)
        json_object_foreach (columns, name, column)
            if (!json_equal(json_object_get(column, members[k][0]),
                            json_object_get(json_object_get(others, name), members[k][0])))
                return members[k][1];
    return "--radius";
}

enum status ledger_check_scale(const struct ledger *ledger, const struct ledger_entry *next, struct error *err)
{
    size_t i = 0;
    while (i < ledger->len && ledger->entries[i].scale == NULL)
        i++;
    if (i == ledger->len || next->scale == NULL || strcmp(ledger->entries[i].scale, next->scale) == 0)
        return STATUS_OK;
    json_t     *one = json_loads(ledger->entries[i].scale, 0, NULL), *other = json_loads(next->scale, 0, NULL);
    enum status status = error_set(
        err, STATUS_CONFLICT, "other_scale", "",
        "refused, and nothing written: %s is not that of the release in the ledger. With other public "
        "numbers another change is protected, and epsilons of different changes do not compose. Use that release "
        "again, or its numbers (gnomon ledger)",
        difference_of(one, other));
    json_decref(one);
    json_decref(other);
    return status;
}

/* Adding up. */

struct sum {
    struct ledger_total total;
    double              rho, rho_delta, rho_epsilon; /* of discrete Gaussians; epsilon: simply added */
};

static void add(struct sum *sum, const struct ledger_entry *entry)
{
    double farther = sum->total.distance / entry->distance, steps = ceil(farther);
    sum->total.releases++;
    sum->total.epsilon += entry->outcome_epsilon;
    if (!(entry->epsilon > 0)) {
        sum->total.unguaranteed++;
        return;
    }
    switch (mechanism_find(entry->mechanism)) {
    case MECHANISM_CELLS:
    case MECHANISM_QUADTREE:
        sum->total.epsilon += entry->epsilon;
        return;
    case MECHANISM_DISCRETE_LAPLACE:
    case MECHANISM_ISOTROPIC_LAPLACE:
        sum->total.epsilon += mechanism_pure_epsilon_at(entry->epsilon, entry->distance, sum->total.distance);
        return;
    case MECHANISM_DISCRETE_GAUSSIAN: {
        double sigma = mechanism_gaussian_sigma(entry->epsilon, entry->delta);
        sum->rho += farther * farther / (2 * sigma * sigma);
        sum->rho_delta += entry->delta;
        sum->rho_epsilon += farther > 1 ? (double)INFINITY : entry->epsilon;
        return;
    }
    default:
        sum->total.epsilon += steps * entry->epsilon;
        sum->total.delta += steps * exp((steps - 1) * entry->epsilon) * entry->delta;
    }
}

/* The least epsilon at which rho-zCDP has this delta. */
static double epsilon_of_rho(double rho, double delta)
{
    double low = 0, high = 1;
    while (mechanism_zcdp_delta(high, rho) > delta && high < 1e12)
        high *= 2;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        *(mechanism_zcdp_delta(middle, rho) <= delta ? &high : &low) = middle;
    }
    return high;
}

static double distance_of(const struct ledger_entry *entry)
{
    enum mechanism_kind kind = mechanism_find(entry->mechanism);
    bool                is_of_cells = kind == MECHANISM_CELLS || kind == MECHANISM_QUADTREE;
    return entry->epsilon > 0 && !is_of_cells ? entry->distance : 0;
}

struct ledger_total ledger_sum(const struct ledger *ledger, const struct ledger_entry *next)
{
    struct sum sum = {.rho = 0};
    for (size_t i = 0; i < ledger->len; i++)
        sum.total.distance = fmax(sum.total.distance, distance_of(&ledger->entries[i]));
    if (next != NULL)
        sum.total.distance = fmax(sum.total.distance, distance_of(next));
    for (size_t i = 0; i < ledger->len; i++)
        add(&sum, &ledger->entries[i]);
    if (next != NULL)
        add(&sum, next);
    if (sum.rho > 0) {
        sum.total.epsilon += fmin(epsilon_of_rho(sum.rho, sum.rho_delta), sum.rho_epsilon);
        sum.total.delta += sum.rho_delta;
    }
    return sum.total;
}
