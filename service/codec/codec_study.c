/* See codec_study.h. */
#include "service/codec/codec_study.h"

#include "service/codec/codec_spec.h"
#include "service/member/codec.h"
#include "service/member/codec_write.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- how it is run ---- */

static json_t *write_some(const struct writing *out, const struct member *member);
static json_t *write_worth(const struct writing *out, const struct member *member);

#define COUNT_UP_TO(most) .read = codec_read_integer, .nullable = true, .optional = true, .min = 1, .max = (most)
static const struct member budget_members[] = {
    {AS(rules, budget_trials, "trials"), COUNT_UP_TO(1000000)},
    {AS(rules, budget_seconds, "seconds"), COUNT_UP_TO(1000000000)},
    {AS(rules, budget_cost, "cost"), .read = codec_read_number, .nullable = true, .optional = true, .min = DBL_MIN,
     .max = DBL_MAX},
    {AT(rules, cost_of), .read = codec_read_text, .nullable = true, .optional = true, .min = 1, .max = 128},
    {.name = NULL},
};
static const struct member worth_members[] = {
    {AS(rules, worth_gain, "gain"), .read = codec_read_number, .nullable = true, .optional = true, .min = DBL_MIN,
     .max = DBL_MAX},
    {AS(rules, worth_share, "share"), .read = codec_read_number, .nullable = true, .optional = true, .min = DBL_MIN,
     .max = 1},
    {AS(rules, worth_trials, "trials"), COUNT_UP_TO(1000000)},
    {.name = NULL},
};
static enum status read_in_a_row(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                 void *out)
{
    int64_t *count = out;
    TRY(codec_read_integer(in, member, json, where, count));
    *count = *count == 0 ? RULES_NEVER : *count;
    return STATUS_OK;
}

static json_t *write_in_a_row(const struct writing *out, const struct member *member)
{
    int64_t count = *(const int64_t *)codec_at(out, member);
    return count == 0 ? json_null() : json_integer(count == RULES_NEVER ? 0 : count);
}

static const struct member stop_members[] = {
    {AT(rules, better_than), .read = codec_read_number, .nullable = true, .optional = true, .min = -INFINITY,
     .max = INFINITY},
    {AT(rules, no_improvement), COUNT_UP_TO(1000000)},
    {AT(rules, failures), COUNT_UP_TO(1000000)},
    {AT(rules, failures_in_a_row), .nullable = true, .optional = true, .read = read_in_a_row, .write = write_in_a_row,
     .max = 1000000},
    {.name = "not_worth_it",
     .nullable = true,
     .optional = true,
     .read = codec_read_inside,
     .write = write_worth,
     .members = worth_members},
    {.name = NULL},
};

static enum status read_lease(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    int64_t *lease_ms = out;
    TRY(codec_read_integer(in, member, json, where, lease_ms));
    *lease_ms *= 1000;
    return STATUS_OK;
}

static json_t *write_lease(const struct writing *out, const struct member *member)
{
    return json_integer(*(const int64_t *)codec_at(out, member) / 1000);
}

const struct member codec_rules_members[] = {
    {.name = "stop_when", .nullable = true, .read = codec_read_inside, .write = write_some, .members = stop_members},
    {AT(rules, parallelism), .nullable = true, .read = codec_read_integer, .min = 1, .max = 1000000},
    {AS(rules, lease_ms, "lease_seconds"), .read = read_lease, .min = 1, .max = RULES_LEASE_MAX_SECONDS,
     .write = write_lease},
    {AS(rules, is_shareable, "shareable"), .read = codec_read_bool},
    {.name = "budget", .nullable = true, .read = codec_read_inside, .write = write_some, .members = budget_members},
    {.name = NULL},
};

static json_t *write_worth(const struct writing *out, const struct member *member)
{
    return rules_ask_worth(out->from) ? codec_write(member->members, out) : json_null();
}

/* null when nothing is said. */
static json_t *write_some(const struct writing *out, const struct member *member)
{
    json_t *object = codec_write(member->members, out);
    if (object == NULL || json_object_size(object) > 0)
        return object;
    json_decref(object);
    return json_null();
}

/* ---- what goes together ---- */

static enum status check_cost(const struct rules *rules, const struct spec *spec, struct error *err)
{
    const char *name = rules->cost_of;
    if (isnan(rules->budget_cost) != (name == NULL))
        return error_set(err, STATUS_INVALID, "missing_member", name == NULL ? "/budget/cost_of" : "/budget/cost",
                         "a cost has a limit, and the metric that it is the sum of");
    if (name != NULL && strcmp(name, RULES_COST_SECONDS) == 0)
        return STATUS_OK;
    if (name != NULL && spec->space.kind == SPACE_GRAPH)
        return error_set(err, STATUS_INVALID, "wrong_space", "/budget/cost_of",
                         "the values of a graph are of its sites");
    size_t ignored;
    return name == NULL ? STATUS_OK : spec_named_metric(spec, name, "/budget/cost_of", &ignored, err);
}

static enum status check_worth(const struct rules *rules, const struct spec *spec, struct error *err)
{
    const char *where = "/stop_when/not_worth_it";
    const char *why = spec->objectives > 1              ? "of several objectives there is no one gain"
                      : spec->policy->gain == NULL      ? "has no model of the whole space"
                      : space_has_context(&spec->space) ? "what is to be gained depends on the context"
                      : spec->space.kind != SPACE_PARAMETERS
                          ? "says what is to be gained of parameters, not of candidates"
                          : NULL;
    if (isnan(rules->worth_gain) == isnan(rules->worth_share))
        return error_set(err, STATUS_INVALID, rules_ask_worth(rules) ? "bad_combination" : "missing_member", where,
                         "give either gain, in units of the metric, or share, of what was won");
    return why == NULL ? STATUS_OK
                       : error_set(err, STATUS_INVALID, "not_supported", where, "%s: %s", spec->policy->name, why);
}

static enum status check(const struct rules *rules, const struct spec *spec, struct error *err)
{
    bool has_best = !isnan(rules->better_than) || rules->no_improvement > 0;
    if (spec->objectives > 1 && has_best)
        return error_set(err, STATUS_INVALID, "not_supported", "/stop_when",
                         "a best value is of studies of one objective");
    if (rules->no_improvement > 0 && space_has_context(&spec->space))
        return error_set(err, STATUS_INVALID, "not_supported", "/stop_when/no_improvement",
                         "the best values of different contexts do not compare");
    return check_cost(rules, spec, err);
}

static enum status read(struct reading *in, const json_t *members, struct rules *out)
{
    *out = rules_none();
    return codec_read_object(in, codec_rules_members, members, "", out);
}

enum status codec_rules(const json_t *members, const struct spec *spec, struct arena *arena, struct rules *out,
                        struct error *err)
{
    return codec_rules_read(&(struct reading){.arena = arena, .err = err}, members, spec, out);
}

enum status codec_rules_read(struct reading *in, const json_t *members, const struct spec *spec, struct rules *out)
{
    const json_t *worth = json_object_get(json_object_get(members, "stop_when"), "not_worth_it");
    enum status   whole = STATUS_OK;
    TRY(read(in, members, out));
    if (spec == NULL)
        return STATUS_OK;
    if (json_is_object(worth))
        TRY(codec_read_on(in, check_worth(out, spec, in->err), &whole));
    TRY(codec_read_on(in, check(out, spec, in->err), &whole));
    return whole;
}

/* ---- stored ---- */

const char *codec_rules_text(const struct rules *rules, struct arena *arena)
{
    json_t     *json = codec_write(codec_rules_members, &(struct writing){.from = rules});
    const char *text = codec_dump_in(json, JSON_COMPACT, arena);
    json_decref(json);
    return text;
}

enum status codec_rules_parse(const char *text, struct arena *arena, struct rules *out, struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = read(&(struct reading){.arena = arena, .err = err}, json, out);
    json_decref(json);
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    return error_set(err, STATUS_INTERNAL, "stored_rules", "", "what is stored of how the study is run cannot be read");
}

/* ---- edited ---- */

enum status codec_rules_edit(struct reading *in, const struct spec *spec, const char *patch, struct rules *rules)
{
    json_t     *change = codec_load(patch, 0);
    json_t     *now = codec_write(codec_rules_members, &(struct writing){.from = rules});
    json_t     *merged = now == NULL || change == NULL ? NULL : codec_merged(now, change);
    enum status status = merged == NULL ? error_no_memory(in->err) : codec_rules_read(in, merged, spec, rules);
    json_decref(merged);
    json_decref(now);
    json_decref(change);
    return status;
}

/* ---- how it is shown ---- */

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

enum status codec_study_edit(struct reading *in, const char *patch, struct study_new *said)
{
    json_t     *json = patch == NULL ? json_object() : codec_load(patch, 0);
    enum status status =
        json == NULL ? error_no_memory(in->err) : codec_read_object(in, codec_study_edit_members, json, "", said);
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
