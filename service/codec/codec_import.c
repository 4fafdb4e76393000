/* See codec_import.h. */
#include "service/codec/codec_import.h"

#include "service/base/nearest.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_trial.h"

#include <math.h>
#include <string.h>

static enum status read_state(const json_t *trial, const char *where, enum outcome *out, struct error *err)
{
    const char *state = json_string_value(json_object_get(trial, "state"));
    char        path[CODEC_PATH_MAX];
    if (state == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", where, "a trial has a state");
    if (outcome_of_state(state, out))
        return STATUS_OK;
    struct nearest nearest = nearest_to(state, strlen(state));
    for (size_t i = 0; i < TRIAL_STATE_COUNT; i++)
        nearest_consider(&nearest, trial_state_names[i]);
    codec_read_path(path, where, "state");
    return nearest_refuse(&nearest, err, "unknown_value", path, "state of trials", "");
}

/* Where a trial has it; *out becomes NULL when out of memory. */
static void take(json_t **out, const json_t *trial, const char *name)
{
    json_t *member = json_object_get(trial, name);
    bool    is_empty =
        json_is_object(member) ? json_object_size(member) == 0 : json_is_array(member) && json_array_size(member) == 0;
    if (member != NULL && !json_is_null(member) && !is_empty)
        codec_put(out, name, json_incref(member));
}

/* Takes the recorded metrics of a trial that has no result, from values or stddevs. */
static void take_tracked(json_t **out, const struct spec *spec, const json_t *trial, const char *name)
{
    json_t *own = json_object();
    for (size_t k = spec->metrics_len; k < spec_metrics_all(spec); k++)
        take(&own, json_object_get(trial, name), spec->metrics[k].name);
    if (json_object_size(own) > 0)
        codec_put(out, name, json_incref(own));
    json_decref(own);
}

/* The trial as the observation that reports it; one without a result as a failed one. */
static json_t *as_observation(const struct spec *spec, const json_t *trial, enum outcome outcome)
{
    static const char *const places[] = {"point", "sites", "candidate"};
    bool    is_value = outcome == OUTCOME_VALUE, is_graph = json_is_array(json_object_get(trial, "sites"));
    bool    is_long = is_graph || json_object_size(json_object_get(trial, "values")) > 1;
    json_t *out = json_object();
    if (!is_value)
        codec_put(&out, "state", json_string(outcome == OUTCOME_INFEASIBLE ? "infeasible" : "failed"));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        take(&out, trial, places[i]);
    for (const struct member *member = codec_told_members; member->name != NULL; member++)
        if (codec_told_fits(member, is_value) && !(is_long && codec_told_is_number(member)))
            take(&out, trial, member->name);
    for (const struct member *said = codec_annotation_members; said->name != NULL; said++)
        take(&out, trial, said->name);
    take(&out, trial, "outside");
    if (is_value && is_long)
        take(&out, trial, "values");
    if (is_value && is_long && !is_graph)
        take(&out, trial, "stddevs");
    if (!is_value) {
        take_tracked(&out, spec, trial, "values");
        take_tracked(&out, spec, trial, "stddevs");
    }
    return out;
}

static enum status read_curve(const struct spec *spec, const json_t *json, const char *where, struct arena *arena,
                              struct observation *out, struct error *err)
{
    char   path[CODEC_PATH_MAX];
    size_t len = json_array_size(json);
    if (json == NULL || json_is_null(json))
        return STATUS_OK;
    if (!json_is_array(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an array");
    struct curve_point *curve = ARENA_NEW(arena, struct curve_point, len + 1);
    if (curve == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        const json_t *point = json_array_get(json, i), *value = json_object_get(point, "value");
        double        step = 0;
        codec_read_path_item(path, where, i);
        bool is_read = codec_read_is_integral(json_object_get(point, "step"), &step) && json_is_number(value);
        if (!is_read || step < (i == 0 ? 1 : (double)curve[i - 1].step + 1))
            return error_set(err, STATUS_INVALID, is_read ? "bad_curve" : "wrong_type", path,
                             "must have a value and a step that is larger than the one before");
        curve[i] = (struct curve_point){.step = (int64_t)step, .value = json_number_value(value) + 0.0};
        if (spec->metrics_len > 1) {
            const struct codec_measured given = {.value = NAN, .values = json_object_get(point, "values")};
            TRY(codec_measured(spec, &given, path, arena, &curve[i].values, err));
            curve[i].value = curve[i].values[spec->first];
        }
    }
    out->curve = curve;
    out->curve_len = len;
    if (out->outcome == OUTCOME_STOPPED && len > 0)
        out->value = curve[len - 1].value;
    return out->outcome == OUTCOME_STOPPED && len > 0
               ? spec_outcome(spec, curve[len - 1].values, arena, &out->values, err)
               : STATUS_OK;
}

/* Reads the members that an observation does not have. */
static enum status read_rest(const struct spec *spec, const json_t *trial, const char *where, struct arena *arena,
                             struct observation *out, struct error *err)
{
    double        number = 0;
    const json_t *json = json_object_get(trial, "number"), *worker = json_object_get(trial, "worker");
    char          path[CODEC_PATH_MAX];
    codec_read_path(path, where, "number");
    if (json != NULL && (!codec_read_is_integral(json, &number) || number < 1))
        return error_set(err, STATUS_INVALID, "wrong_type", path, "must be the number of a trial");
    codec_read_path(path, where, "worker");
    if (worker != NULL && (!json_is_string(worker) || json_string_length(worker) > TRIAL_WORKER_MAX))
        return error_set(err, STATUS_INVALID, "wrong_type", path, "must be the name of a worker");
    out->number = (int64_t)number;
    out->worker = json_string_value(worker);
    codec_read_path(path, where, "curve");
    return read_curve(spec, json_object_get(trial, "curve"), path, arena, out, err);
}

enum status codec_import(const struct spec *spec, const json_t *json, const char *where, struct arena *arena,
                         struct observation *out, struct error *err)
{
    enum outcome outcome;
    TRY(read_state(json, where, &outcome, err));
    json_t     *observation = as_observation(spec, json, outcome);
    enum status status =
        observation == NULL ? error_no_memory(err) : codec_observation(spec, observation, where, arena, out, err);
    json_decref(observation);
    TRY(status);
    if (outcome == OUTCOME_QUEUED && codec_is_outside(spec, out->point)) {
        char path[CODEC_PATH_MAX];
        codec_read_path(path, where, "outside");
        return error_set(err, STATUS_INVALID, "bad_combination", path, "nothing outside the space waits to be tried");
    }
    out->outcome = outcome;
    return read_rest(spec, json, where, arena, out, err);
}
