/* See codec_study.h. */
#include "service/codec/codec_study.h"

#include "service/codec/codec_rules.h"
#include "service/codec/codec_spec.h"
#include "service/member/codec_write.h"

#include <stdlib.h>
#include <string.h>

/* The bounds that refer to a baseline, as far as they are known. */
static json_t *write_bounds(const struct writing *out, const struct member *member)
{
    const struct spec *spec = codec_at(out, member);
    json_t            *object = spec->baseline == NULL ? json_null() : json_object();
    for (size_t k = 0; k < spec->metrics_len && spec->baseline != NULL; k++) {
        const struct metric *metric = &spec->metrics[k];
        if (bound_is_relative(&metric->min) || bound_is_relative(&metric->max))
            codec_put(&object, metric->name,
                      json_pack("{s:o, s:o}", "min", codec_number(metric->min.value), "max",
                                codec_number(metric->max.value)));
    }
    return object;
}

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
    COUNT(TRIAL_RETRACTED, "retracted"),
    {AT(study, imported), .read = codec_read_integer},
    {.name = NULL},
};
static const struct member best_members[] = {
    {AS(study, best_trial, "trial"), .read = codec_read_integer},
    {AS(study, best_value, "value"), .read = codec_read_number},
    {.name = NULL},
};
/* The spent part of the budget. */
static json_t *write_spent_trials(const struct writing *out, const struct member *member)
{
    (void)member;
    return json_integer(study_spent(out->from));
}

static json_t *write_spent_cost(const struct writing *out, const struct member *member)
{
    const struct study *study = out->from;
    (void)member;
    return study->rules.cost_of == NULL ? json_null() : codec_number(study->tally.cost);
}

static const struct member spent_members[] = {
    {.name = "trials", .read = codec_read_integer, .write = write_spent_trials},
    {.name = "cost", .nullable = true, .read = codec_read_number, .write = write_spent_cost},
    {.name = NULL},
};
#define SHOWN(...) CODEC_MEMBER(study, , __VA_ARGS__)
// clang-format off
#define RULES  {AS(study, rules, ""), .members = codec_rules_members}
#define SPEC   {AS(study, spec, ""), .members = codec_spec_members}
const struct member codec_study_given_members[] = {NAMED(SHOWN) STUDY_LABELLED(SHOWN) RULES, STUDY_NOTED(SHOWN) SPEC, {.name = NULL}};
const struct member codec_study_members[] = {
    {AT(study, id), .write = codec_write_characters},
    NAMED(SHOWN)
    {AT(study, state), .read = codec_read_choice, .names = study_state_names},
    {AT(study, reason), .read = codec_read_text, .nullable = true},
    {AT(study, revision), .read = codec_read_integer},
    {AT(study, space_revision), .read = codec_read_integer},
    SPEC,
    {AS(study, spec, "bounds"), .optional = true, .write = write_bounds},
    RULES,
    STUDY_LABELLED(SHOWN) STUDY_NOTED(SHOWN)
    {.name = "trials", .read = codec_read_inside, .members = counts_members},
    {.name = "best", .nullable = true, .read = codec_read_inside, .members = best_members},
    {AT(study, sparkline), .optional = true, .write = codec_write_json},
    {AT(study, failures), .optional = true, .write = codec_write_json},
    {.name = "spent", .read = codec_read_inside, .members = spent_members},
    {AS(study, tally.ends_at_ms, "ends_at"), .nullable = true, .write = codec_write_time},
    STUDY_OWNED(SHOWN)
    STUDY_KEPT(SHOWN)
    {.name = NULL},
};
#define EDITED(...) CODEC_EDIT(study_new, , __VA_ARGS__)
const struct member codec_study_edit_members[] = {STUDY_SAID(EDITED) {.name = NULL}};
// clang-format on

enum status codec_study_edit(const char *patch, struct arena *arena, struct study_new *said, struct error *err)
{
    struct reading in = {.arena = arena, .err = err};
    json_t        *json = patch == NULL ? json_object() : codec_load(patch, 0);
    enum status    status =
        json == NULL ? error_no_memory(err) : codec_read_object(&in, codec_study_edit_members, json, "", said);
    json_decref(json);
    return status;
}

json_t *codec_study_json(const struct study *study)
{
    return codec_write(codec_study_members, &(struct writing){.from = study});
}

json_t *codec_study_counts_json(const struct study *study)
{
    return codec_write(counts_members, &(struct writing){.from = study});
}
