/* See codec_study.h. */
#include "service/codec/codec_study.h"

#include "service/codec/codec_spec.h"
#include "service/codec/codec_write.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 64, LABEL_KEY_MAX = 64, LABEL_VALUE_MAX = 256 };

/* ---- labels ---- */

static enum status check_label(struct reading *in, const char *key, const json_t *value, const char *where)
{
    size_t key_length = codec_read_characters(key);
    if (key_length < 1 || key_length > LABEL_KEY_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "a key has 1 to %d characters", LABEL_KEY_MAX);
    if (!json_is_string(value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a string");
    if (codec_read_characters(json_string_value(value)) > LABEL_VALUE_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 0 to %d characters",
                         LABEL_VALUE_MAX);
    return STATUS_OK;
}

/* Canonical text without so many characters at both ends. */
static const char *label_text(const json_t *json, size_t cut, struct arena *arena)
{
    char       *dump = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    const char *text = dump == NULL ? NULL : arena_strndup(arena, dump + cut, strlen(dump) - 2 * cut);
    free(dump);
    return text;
}

const char *codec_label(const char *key, const char *value, struct arena *arena)
{
    json_t     *json = json_pack("{s:s}", key, value);
    const char *text = json == NULL ? NULL : label_text(json, 1, arena);
    json_decref(json);
    return text;
}

enum status codec_read_labels(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    const char *key, *text;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    (void)member;
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if (json_object_size(json) > LABELS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "at most %d labels", LABELS_MAX);
    json_object_foreach ((json_t *)json, key, value) {
        codec_read_path(path, where, key);
        TRY(check_label(in, key, value, path));
    }
    text = label_text(json, 0, in->arena != NULL ? in->arena : in->problems->arena);
    memcpy(out, &text, sizeof text);
    return text != NULL ? STATUS_OK : error_no_memory(in->err);
}

/* ---- what is shown ---- */

#define COUNT(state, shown)                                         \
    {                                                               \
        AS(study, trials[state], shown), .read = codec_read_integer \
    }
static const struct member counts_members[] = {
    {AS(study, trials_total, "total"), .read = codec_read_integer},
    COUNT(TRIAL_QUEUED, "queued"),
    COUNT(TRIAL_RUNNING, "running"),
    COUNT(TRIAL_COMPLETED, "completed"),
    COUNT(TRIAL_FAILED, "failed"),
    COUNT(TRIAL_INFEASIBLE, "infeasible"),
    COUNT(TRIAL_ABANDONED, "abandoned"),
    COUNT(TRIAL_STOPPED, "stopped"),
    {AT(study, imported), .read = codec_read_integer},
    {.name = NULL},
};
static const struct member best_members[] = {
    {AS(study, best_trial, "trial"), .read = codec_read_integer},
    {AS(study, best_value, "value"), .read = codec_read_number},
    {.name = NULL},
};
static const struct member budget_members[] = {
    {AS(study, budget_trials, "trials"), .read = codec_read_integer},
    {.name = NULL},
};
#define SHOWN(...) CODEC_MEMBER(study, , __VA_ARGS__)
// clang-format off
#define BUDGET {.name = "budget", .nullable = true, .read = codec_read_inside, .members = budget_members}
#define SPEC   {AS(study, spec, ""), .members = codec_spec_members}
const struct member codec_study_given_members[] = {STUDY_GIVEN(SHOWN) STUDY_LABELLED(SHOWN) BUDGET, STUDY_NOTED(SHOWN) SPEC, {.name = NULL}};
const struct member codec_study_members[] = {
    {AT(study, id), .write = codec_write_characters},
    STUDY_GIVEN(SHOWN)
    {AT(study, state), .read = codec_read_choice, .names = study_state_names},
    {AT(study, reason), .read = codec_read_text, .nullable = true},
    {AT(study, revision), .read = codec_read_integer},
    SPEC,
    BUDGET,
    STUDY_LABELLED(SHOWN) STUDY_NOTED(SHOWN)
    {.name = "trials", .read = codec_read_inside, .members = counts_members},
    {.name = "best", .nullable = true, .read = codec_read_inside, .members = best_members},
    STUDY_KEPT(SHOWN)
    {.name = NULL},
};
// clang-format on

json_t *codec_study_json(const struct study *study)
{
    return codec_write(codec_study_members, &(struct writing){.from = study});
}
