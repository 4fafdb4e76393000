/* See import_check.h. */
#include "service/portable/import_check.h"

#include "service/member/codec.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_write.h"
#include "service/store/ask_inputs.h"
#include "service/store/task.h"

#include <math.h>
#include <string.h>

enum { JSON_MAX = 1 << 18 }; /* bytes */

enum status import_bad(struct error *err, const char *path, const char *text)
{
    return error_set(err, STATUS_INVALID, "bad_export", path, "%s", text);
}

enum status import_check_text(const char *text, size_t least, size_t most, const char *path, struct error *err)
{
    size_t characters = text == NULL ? least : codec_read_characters(text);
    return characters >= least && characters <= most
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "out_of_range", path, "must have %zu to %zu characters", least, most);
}

enum status import_check_count(int64_t value, int64_t least, int64_t most, const char *path, struct error *err)
{
    return value >= least && value <= most
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "out_of_range", path, "must be within [%lld, %lld]", (long long)least,
                           (long long)most);
}

enum status import_check_given(const struct member *members, const json_t *line, const char *where, void *row,
                               struct arena *arena, struct error *err)
{
    struct reading in = {.arena = arena, .err = err};
    codec_read_absent(members, line, row);
    json_t     *json = codec_write(members, &(struct writing){.from = row});
    enum status status = json == NULL ? error_no_memory(err) : codec_read_object(&in, members, json, where, row);
    json_decref(json);
    return status;
}

/* A member that holds JSON. */
static enum status check_json(const char *text, json_type type, const char *path, struct error *err)
{
    json_t     *json = NULL;
    enum status status = text == NULL              ? STATUS_OK
                         : strlen(text) > JSON_MAX ? import_bad(err, path, "is too long")
                                                   : codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK && json != NULL && json_typeof(json) != type)
        status = import_bad(err, path, "holds JSON of another type");
    json_decref(json);
    return status;
}

enum status import_check_note(const struct db_blob *note, const char *path, struct error *err)
{
    return note->length <= POLICY_NOTE_MAX + POLICY_NOTE_MARK
               ? STATUS_OK
               : import_bad(err, path, "is longer than any algorithm's note");
}

/* A recorded metric may lack anything but the value to a deviation. */
static bool are_tracked(const struct spec *spec, const double *values)
{
    bool good = true;
    for (size_t k = spec->metrics_len; k < spec_metrics_all(spec); k++)
        good = good && !(values[2 * k + 1] < 0) && (isnan(values[2 * k + 1]) || !isnan(values[2 * k]));
    return good;
}

/* All modelled metrics must have values; of a graph's sites the first ones. */
static bool are_values(const struct spec *spec, const double *values)
{
    bool   is_graph = spec->space.kind == SPACE_GRAPH;
    size_t len = is_graph ? spec_values_len(spec) : 2 * spec->metrics_len, known = 0;
    if (values == NULL)
        return !is_graph && spec->metrics_len == 1;
    while (is_graph && known < len && !isnan(values[known]))
        known++;
    if (is_graph && known == 0)
        return false;
    for (size_t i = known; i < len; i++) {
        bool is_deviation = i % 2 == 1;
        if (is_graph ? !isnan(values[i]) : is_deviation ? values[i] < 0 : isnan(values[i]))
            return false;
    }
    return is_graph || are_tracked(spec, values);
}

/* Whether the values are recorded metrics, which a trial without a result may have. */
static bool is_recorded(const struct spec *spec, const double *values)
{
    bool good = spec->tracked_len > 0;
    for (size_t i = 0; i < 2 * spec->metrics_len; i++)
        good = good && isnan(values[i]);
    return good && are_tracked(spec, values);
}

enum status import_check_values(const struct spec *spec, const struct row_trial_whole *row, enum trial_state state,
                                struct error *err)
{
    const double *values = row->outcome.bytes;
    if (row->outcome.length != 0 && row->outcome.length != spec_values_len(spec) * sizeof *values)
        return import_bad(err, "/outcome", "has another length");
    if (state == TRIAL_STOPPED && spec->metrics_len > 1)
        return row->outcome.length > 0 && are_values(spec, values)
                   ? STATUS_OK
                   : import_bad(err, "/outcome", "a stopped trial has a value of each metric");
    if (state != TRIAL_COMPLETED)
        return row->outcome.length == 0 || is_recorded(spec, values)
                   ? STATUS_OK
                   : import_bad(err, "/outcome", "only a completed trial has one");
    if (isnan(row->value) || row->stddev < 0 || !are_values(spec, values))
        return import_bad(err, "/value", "a completed trial has a value of each metric");
    bool is_first = spec->space.kind == SPACE_GRAPH || values == NULL || values[2 * spec->first] == row->value;
    return is_first ? STATUS_OK : import_bad(err, "/value", "is another one than in the outcome");
}

enum status import_check_measured(const struct spec *spec, const struct row_measured *row, struct error *err)
{
    const double *values = row->outcome.bytes;
    size_t        len = spec->metrics_len > 1 ? spec->metrics_len : 0;
    bool          good = row->outcome.length == len * sizeof *values;
    for (size_t k = 0; k < len && good; k++)
        good = isfinite(values[k]);
    return good && (len == 0 || values[spec->first] == row->value)
               ? STATUS_OK
               : import_bad(err, "/outcome", "is not a value of each metric");
}

static enum status check_outcome(const struct spec *spec, const struct row_trial_whole *row, enum trial_state state,
                                 struct error *err)
{
    TRY(import_check_values(spec, row, state, err));
    bool is_feasible = state == TRIAL_COMPLETED && spec_is_feasible(spec, row->outcome.bytes) &&
                       !codec_is_outside(spec, row->point.bytes);
    return row->feasible == (int64_t)is_feasible ? STATUS_OK
                                                 : import_bad(err, "/feasible", "does not follow from the values");
}

/* Whether the user may have observed this point outside of the space, for context. */
static bool may_be_outside(const struct spec *spec, const struct row_trial_whole *row, enum trial_state state)
{
    return row->algorithm == NULL && state != TRIAL_QUEUED && state != TRIAL_RUNNING && spec->policy->takes_outside &&
           space_reaches(&spec->space, row->point.bytes);
}

static enum status check_place(const struct spec *spec, const struct row_trial_whole *row, enum trial_state state,
                               struct error *err)
{
    const struct space *space = &spec->space;
    size_t              bytes = space->kind == SPACE_CANDIDATES ? 0 : space_point_len(space) * sizeof(double);
    struct trial        trial = trial_none();
    trial.point = row->point.bytes;
    trial.row = row->row;
    size_t asked = row->asked.length / sizeof(double);
    if (asked != 0 && asked != ASKED_FIXED && asked != ASKED_FIXED + space->params_len)
        return import_bad(err, "/asked", "has another length");
    if (row->point.length != bytes || (space->kind != SPACE_CANDIDATES && row->row != -1))
        return import_bad(err, "/point", "is not a point of the space");
    return task_is_possible(space, &trial, NULL) || may_be_outside(spec, row, state)
               ? STATUS_OK
               : import_bad(err, "/point", "does not lie in the space");
}

/* Checks the members of TRIAL_ANNOTATIONS by their table. */
static enum status check_members(const struct row_trial_whole *from, struct error *err)
{
    struct reading           in = {.err = err};
    struct trial_annotations said = {TRIAL_ANNOTATIONS(TAKE)}, read = said;
    for (const struct member *member = codec_annotation_members; member->name != NULL; member++) {
        const struct member one[] = {*member, {.name = NULL}};
        char                path[CODEC_PATH_MAX];
        codec_read_path(path, "", member->name);
        if (member->text != NULL) { // it holds JSON
            const char *text = *(const char *const *)(const void *)((const char *)&said + member->offset);
            TRY(check_json(text, member->text[0] == '[' ? JSON_ARRAY : JSON_OBJECT, path, err));
            continue;
        }
        json_t     *json = codec_write(one, &(struct writing){.from = &said});
        enum status status = json == NULL ? error_no_memory(err) : codec_read_object(&in, one, json, "", &read);
        json_decref(json);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status check_said(const struct row_trial_whole *row, struct error *err)
{
    const struct row_trial_whole *from = row;
    const struct trial_told       told = {TRIAL_TOLD(TAKE)};
    for (const struct member *member = codec_told_members; member->name != NULL; member++) {
        char path[CODEC_PATH_MAX];
        codec_read_path(path, "", member->name);
        if (!codec_told_is_number(member))
            TRY(import_check_text(*(const char *const *)(const void *)((const char *)&told + member->offset),
                                  (size_t)member->min, (size_t)member->max, path, err));
    }
    TRY(import_check_text(row->worker, 0, TRIAL_WORKER_MAX, "/worker", err));
    TRY(import_check_text(row->holder, 0, TRIAL_WORKER_MAX, "/holder", err));
    TRY(import_check_text(row->algorithm, 1, IMPORT_TEXT_MAX, "/algorithm", err));
    TRY(import_check_text(row->fallback, 1, IMPORT_TEXT_MAX, "/fallback", err));
    TRY(check_json(row->diagnostics, JSON_OBJECT, "/diagnostics", err));
    TRY(check_members(row, err));
    return import_check_note(&row->note, "/note", err);
}

enum status import_check_trial(const struct spec *spec, const struct row_trial_whole *row, enum trial_state state,
                               struct error *err)
{
    TRY(check_place(spec, row, state, err));
    TRY(check_outcome(spec, row, state, err));
    return check_said(row, err);
}
