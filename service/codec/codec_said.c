/* See codec_said.h. */
#include "service/codec/codec_said.h"

#include "service/codec/codec.h"
#include "service/codec/codec_labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { METADATA_BYTES_MAX = 16384, NOTES_MAX = 10000, ARTIFACTS_MAX = 100, ARTIFACT_NAME_MAX = 200, URL_MAX = 2000 };

/* ---- what each member may be ---- */

/* Labels as those of studies are; a patch takes some away. */
static enum status check_labels(struct reading *in, const json_t *json, const char *where)
{
    const char *key, *text;
    json_t     *value, *given = json_object();
    json_object_foreach ((json_t *)json, key, value)
        if (!json_is_null(value))
            codec_put(&given, key, json_incref(value));
    enum status status = given == NULL ? error_no_memory(in->err)
                                       : codec_read_labels(in, NULL, json_is_object(json) ? given : json, where, &text);
    json_decref(given);
    return status;
}

static enum status check_metadata(struct reading *in, const json_t *json, const char *where)
{
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    size_t bytes = json_dumpb(json, NULL, 0, JSON_COMPACT);
    return bytes <= METADATA_BYTES_MAX ? STATUS_OK
                                       : error_set(in->err, STATUS_INVALID, "out_of_range", where,
                                                   "at most %d bytes as JSON", METADATA_BYTES_MAX);
}

static enum status check_notes(struct reading *in, const json_t *json, const char *where)
{
    static const struct member notes = {.max = NOTES_MAX};
    const char                *text;
    return codec_read_text(in, &notes, json, where, &text);
}

static enum status check_duration(struct reading *in, const json_t *json, const char *where)
{
    static const struct member seconds = {.min = 0, .max = INFINITY};
    double                     value;
    return codec_read_number(in, &seconds, json, where, &value);
}

struct artifact {
    const char *name, *url;
};
static const struct member artifact_members[] = {
    {AT(artifact, name), .required = true, .read = codec_read_text, .min = 1, .max = ARTIFACT_NAME_MAX},
    {AT(artifact, url), .required = true, .read = codec_read_text, .min = 3, .max = URL_MAX},
    {.name = NULL},
};

/* Whether the text is a link: a scheme, and none that a page would run when the link is followed. */
static bool is_link(const char *url)
{
    static const char *const code[] = {"javascript:", "data:", "vbscript:"};
    size_t                   length = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        if (strncasecmp(url, code[i], strlen(code[i])) == 0)
            return false;
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ')
            return false;
    return length > 0 && url[length] == ':' && url[length + 1] != '\0';
}

static enum status check_artifacts(struct reading *in, const json_t *json, const char *where)
{
    char path[CODEC_PATH_MAX], of_url[CODEC_PATH_MAX];
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (json_array_size(json) > ARTIFACTS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "at most %d artifacts", ARTIFACTS_MAX);
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct artifact artifact;
        codec_read_path_item(path, where, i);
        TRY(codec_read_object(in, artifact_members, json_array_get(json, i), path, &artifact));
        codec_read_path(of_url, path, "url");
        if (!is_link(artifact.url))
            return error_set(in->err, STATUS_INVALID, "bad_url", of_url,
                             "must be a URL with a scheme, of something to read");
    }
    return STATUS_OK;
}

static const struct {
    const char *name;
    enum status (*check)(struct reading *in, const json_t *json, const char *where);
    json_type shown; /* as what nothing is shown */
    bool      is_text;
} members[] = {
    {"labels", check_labels, JSON_OBJECT, false},
    {"metadata", check_metadata, JSON_OBJECT, false},
    {"notes", check_notes, JSON_NULL, true},
    {"artifacts", check_artifacts, JSON_ARRAY, false},
    {"duration_seconds", check_duration, JSON_NULL, false},
};
enum { MEMBERS = sizeof members / sizeof *members };

#define NAME(name, ...) #name,
const char *const codec_said_names[] = {TRIAL_SAID(NAME) NULL};
#undef NAME

/* Checks each member that is present and not null; *patch, unless it is NULL, gets all that are present. */
static enum status check(const json_t *object, const char *where, struct arena *arena, json_t **patch,
                         struct error *err)
{
    struct reading in = {.arena = arena, .err = err};
    char           path[CODEC_PATH_MAX];
    for (size_t i = 0; i < MEMBERS; i++) {
        json_t *json = json_object_get(object, members[i].name);
        codec_read_path(path, where, members[i].name);
        if (json != NULL && !json_is_null(json))
            TRY(members[i].check(&in, json, path));
        if (json != NULL && patch != NULL)
            codec_put(patch, members[i].name, json_incref(json));
    }
    return STATUS_OK;
}

static const char *text_of(const json_t *json, size_t flags, struct arena *arena)
{
    return codec_dump_in(json, JSON_COMPACT | JSON_ENCODE_ANY | flags, arena);
}

enum status codec_said_take(const json_t *object, const char *where, struct arena *arena, const char **patch,
                            struct error *err)
{
    json_t     *taken = json_object();
    enum status status = check(object, where, arena, &taken, err);
    *patch = NULL;
    if (status == STATUS_OK && taken != NULL && json_object_size(taken) > 0)
        *patch = text_of(taken, 0, arena);
    if (status == STATUS_OK && (taken == NULL || (json_object_size(taken) > 0 && *patch == NULL)))
        status = error_no_memory(err);
    json_decref(taken);
    return status;
}

enum status codec_said_cell(const char *column, const char *cell, struct arena *arena, const char **patch,
                            struct error *err)
{
    json_t *value = NULL, *object = *patch == NULL ? json_object() : codec_load(*patch, 0);
    if (cell[0] == '\0') {
        json_decref(object);
        return STATUS_OK;
    }
    if (strcmp(column, "notes") == 0)
        value = json_string(cell);
    else
        value = codec_load(cell, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES);
    enum status status = value == NULL ? error_set(err, STATUS_INVALID, "wrong_type", "", "must be JSON") : STATUS_OK;
    if (status == STATUS_OK) {
        codec_put(&object, column, value);
        status = object == NULL ? error_no_memory(err) : codec_said_take(object, "", arena, patch, err);
    }
    json_decref(object);
    return status;
}

/* ---- merging ---- */

static const char **text_at(struct trial_said *said, size_t i)
{
    const char **const texts[] = {&said->labels, &said->metadata, &said->notes, &said->artifacts, NULL};
    return texts[i];
}

static json_t *to_json(const struct trial_said *said)
{
    json_t           *object = json_object();
    struct trial_said own = *said;
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *const *text = (const char *const *)text_at(&own, i);
        if (text == NULL && !isnan(said->duration_seconds))
            codec_put(&object, members[i].name, codec_number(said->duration_seconds));
        if (text != NULL && *text != NULL)
            codec_put(&object, members[i].name, members[i].is_text ? json_string(*text) : codec_load(*text, 0));
    }
    return object;
}

static bool is_empty(const json_t *json)
{
    return json == NULL || (json_is_object(json) && json_object_size(json) == 0) ||
           (json_is_array(json) && json_array_size(json) == 0);
}

static enum status from_json(const json_t *object, struct arena *arena, struct trial_said *said, struct error *err)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const json_t *json = json_object_get(object, members[i].name);
        const char  **text = text_at(said, i);
        bool          is_labels = text == &said->labels;
        if (text == NULL) {
            said->duration_seconds = json == NULL ? (double)NAN : json_number_value(json) + 0.0;
            continue;
        }
        *text = NULL;
        if (is_empty(json))
            continue;
        *text = members[i].is_text ? arena_strndup(arena, json_string_value(json), json_string_length(json))
                                   : text_of(json, is_labels ? JSON_SORT_KEYS : 0, arena);
        if (*text == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status codec_said_patch(const struct trial_said *said, struct arena *arena, const char **patch, struct error *err)
{
    json_t *object = to_json(said);
    *patch = object == NULL || json_object_size(object) == 0 ? NULL : text_of(object, 0, arena);
    bool is_lost = object == NULL || (json_object_size(object) > 0 && *patch == NULL);
    json_decref(object);
    return is_lost ? error_no_memory(err) : STATUS_OK;
}

enum status codec_said_merge(struct trial_said *said, const char *patch, struct arena *arena, struct error *err)
{
    json_t     *before = to_json(said), *change = codec_load(patch, 0);
    json_t     *after = before == NULL || change == NULL ? NULL : codec_merged(before, change);
    enum status status = after == NULL ? error_no_memory(err) : check(after, "", arena, NULL, err);
    if (status == STATUS_OK)
        status = from_json(after, arena, said, err);
    json_decref(before);
    json_decref(change);
    json_decref(after);
    return status;
}

/* ---- for people ---- */

void codec_said_put(json_t **object, const struct trial_said *said)
{
    json_t *json = to_json(said);
    for (size_t i = 0; i < MEMBERS; i++) {
        json_t *value = json_object_get(json, members[i].name);
        codec_put(object, members[i].name,
                  json == NULL                      ? NULL
                  : value != NULL                   ? json_incref(value)
                  : members[i].shown == JSON_OBJECT ? json_object()
                  : members[i].shown == JSON_ARRAY  ? json_array()
                                                    : json_null());
    }
    json_decref(json);
}
