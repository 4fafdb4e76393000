/* See codec_study.h. */
#include "service/codec/codec_study.h"

#include "service/codec/codec.h"
#include "service/codec/codec_spec.h"

static json_t *counts_json(const struct study *study)
{
    json_t *object = json_pack("{s:I}", "total", (json_int_t)study->trials_total);
    for (size_t i = 0; i < TRIAL_STATE_COUNT && object != NULL; i++)
        if (json_object_set_new(object, trial_state_names[i], json_integer(study->trials[i])) != 0)
            json_decref(object), object = NULL;
    if (object != NULL && json_object_set_new(object, "imported", json_integer(study->imported)) != 0)
        json_decref(object), object = NULL;
    return object;
}

static json_t *best_json(const struct study *study)
{
    if (study->best_trial == 0)
        return json_null();
    return json_pack("{s:I, s:o}", "trial", (json_int_t)study->best_trial, "value", codec_number(study->best_value));
}

static json_t *labels_json(const struct study *study)
{
    return study->labels == NULL ? json_object() : json_loads(study->labels, 0, NULL);
}

json_t *codec_study_json(const struct study *study)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s?, s:I}", "id", study->id, "name", study->name, "state",
                  study_state_names[study->state], "reason", study->reason, "revision", (json_int_t)study->revision);
    json_t *spec = codec_spec_json(&study->spec);
    json_t *rest = json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "budget",
                             study->budget_trials == 0 ? json_null()
                                                       : json_pack("{s:I}", "trials", (json_int_t)study->budget_trials),
                             "labels", labels_json(study), "notes", study->notes == NULL ? "" : study->notes, "trials",
                             counts_json(study), "best", best_json(study), "created_at",
                             codec_time_json(study->created_ms), "updated_at", codec_time_json(study->updated_ms));
    if (object == NULL || spec == NULL || rest == NULL || json_object_update(object, spec) != 0 ||
        json_object_update(object, rest) != 0)
        json_decref(object), object = NULL;
    json_decref(spec);
    json_decref(rest);
    return object;
}
