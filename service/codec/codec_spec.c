/* A study's specification <-> JSON.
 * One table per kind of object; which members an algorithm has is the policy's own option table.  What the engine
 * checks itself (bounds, sizes, combinations of options) is left to it; errors carry the pointer either way. */
#include "service/member/codec.h"
#include "service/base/nearest.h"
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_graph.h"
#include "service/codec/codec_image.h"
#include "service/codec/codec_transfer.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_stopping.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_write.h"
#include "service/file/sign.h"
#include "engine/registry.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_CHARACTERS = 128 };
static const double seed_max = 9007199254740991.0; /* 2^53 - 1 */

static const char *const goal_names[] = {[GOAL_MAXIMIZE] = "maximize",
                                         [GOAL_MINIMIZE] = "minimize",
                                         [GOAL_CONSTRAIN] = "constrain",
                                         [GOAL_TRACK] = "track",
                                         [GOAL_TARGET] = "target",
                                         [GOAL_RANGE] = "range",
                                         NULL};

/* ---- metrics ---- */

static const struct member relative_members[] = {
    {AT(bound, times), .required = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(bound, plus), .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {.name = NULL},
};

/* Behind the number: one of both. */
static enum status read_relative(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                 void *out)
{
    struct bound *bound = out;
    (void)member;
    if (!isnan(bound->value))
        return error_set(in->err, STATUS_INVALID, "bad_combination", where, "the bound is given as a number, too");
    return codec_read_object(in, relative_members, json, where, bound);
}

static json_t *write_relative(const struct writing *out, const struct member *member)
{
    const struct bound *bound = codec_at(out, member);
    return bound_is_relative(bound) ? codec_write(relative_members, &(struct writing){.from = bound}) : json_null();
}

static json_t *write_number(const struct writing *out, const struct member *member)
{
    const struct bound *bound = codec_at(out, member);
    return bound_is_relative(bound) ? json_null() : codec_number(bound->value);
}

_Static_assert(sizeof(enum goal) == sizeof(int), "choices are ints");
static const struct member metric_members[] = {
    {AT(metric, name), .required = true, .read = codec_read_text, .min = 1, .max = NAME_MAX_CHARACTERS},
    {AT(metric, goal), .required = true, .read = codec_read_choice, .names = goal_names},
    {AT(metric, min), .optional = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY,
     .write = write_number},
    {AT(metric, max), .optional = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY,
     .write = write_number},
    {AT(metric, target), .optional = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(metric, threshold), .optional = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AS(metric, min, "min_of_baseline"), .optional = true, .read = read_relative, .write = write_relative},
    {AS(metric, max, "max_of_baseline"), .optional = true, .read = read_relative, .write = write_relative},
    {.name = NULL},
};
_Static_assert(offsetof(struct bound, value) == 0, "a number is read into a bound");

/* A target has the value that is to be hit, a range both of its ends. */
static enum status check_band(struct reading *in, const struct metric *metric, const char *where)
{
    char path[CODEC_PATH_MAX];
    bool is_target = metric->goal == GOAL_TARGET, is_range = metric->goal == GOAL_RANGE;
    codec_read_path(path, where, "target");
    if (is_target && isnan(metric->target))
        return error_set(in->err, STATUS_INVALID, "missing_member", path, "the goal target has the value to be hit");
    if (!is_target && !isnan(metric->target))
        return error_set(in->err, STATUS_INVALID, "bad_combination", path, "only the goal target has a target");
    codec_read_path(path, where, isnan(metric->min.value) ? "min" : "max");
    if (is_range && (isnan(metric->min.value) || isnan(metric->max.value)))
        return error_set(in->err, STATUS_INVALID, "missing_member", path,
                         "the goal range has min and max, as numbers; with one of them it is the goal constrain");
    return STATUS_OK;
}

/* A constraint has a bound, a range two, another metric has none. */
static enum status check_metric(struct reading *in, const struct metric *metric, const char *where)
{
    char path[CODEC_PATH_MAX];
    bool is_constraint = metric->goal == GOAL_CONSTRAIN;
    bool has_min = bound_is_there(&metric->min), has_any = has_min || bound_is_there(&metric->max);
    codec_read_path(path, where, has_min ? "min" : "max");
    if (is_constraint && !has_any)
        return error_set(in->err, STATUS_INVALID, "missing_member", path, "a constraint has max, min or both");
    TRY(check_band(in, metric, where));
    if (!is_constraint && metric->goal != GOAL_RANGE && has_any)
        return error_set(in->err, STATUS_INVALID, "bad_combination", path, "only a constraint and a range have bounds");
    if (metric->min.value > metric->max.value)
        return error_set(in->err, STATUS_INVALID, "bad_combination", path, "must not be over max");
    codec_read_path(path, where, "threshold");
    if ((is_constraint || metric->goal == GOAL_TRACK) && !isnan(metric->threshold))
        return error_set(in->err, STATUS_INVALID, "bad_combination", path, "only an objective has a threshold");
    return STATUS_OK;
}

static enum status read_metric(struct reading *in, const json_t *json, const char *where, struct metric *metric)
{
    *metric = (struct metric){
        .min = {.value = NAN, .times = NAN}, .max = {.value = NAN, .times = NAN}, .target = NAN, .threshold = NAN};
    TRY(codec_read_object(in, metric_members, json, where, metric));
    return check_metric(in, metric, where);
}

/* Adds a metric behind those that are there. */
static enum status add_metric(struct reading *in, struct metric *metric, const char *where, struct spec *spec)
{
    char path[CODEC_PATH_MAX];
    bool is_tracked = metric->goal == GOAL_TRACK;
    codec_read_path(path, where, "name");
    for (const struct metric *other = spec->metrics; other < metric; other++)
        if (strcmp(other->name, metric->name) == 0)
            return error_set(in->err, STATUS_INVALID, "duplicate_name", path, "is there twice");
    codec_read_path(path, where, "goal");
    if (is_tracked && spec->tracked_len++ == TRACKED_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", path, "at most %d metrics are recorded", TRACKED_MAX);
    if (is_tracked)
        return STATUS_OK;
    if (spec->metrics_len == METRICS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", path, "at most %d metrics are modelled", METRICS_MAX);
    spec->kinds[spec->metrics_len] = metric->goal == GOAL_CONSTRAIN ? METRIC_CONSTRAINT : METRIC_OBJECTIVE;
    spec->bands[spec->metrics_len] = metric_band(metric);
    spec->thresholds[spec->metrics_len] = metric_threshold_sign(metric) * metric->threshold;
    if (metric->goal != GOAL_CONSTRAIN && spec->objectives++ == 0)
        spec->first = spec->metrics_len;
    spec->metrics_len++;
    return STATUS_OK;
}

/* *next: its place, and behind it the next one's. */
static enum status read_next(struct reading *in, const json_t *json, const char *where, struct metric **next,
                             struct spec *spec)
{
    TRY(read_metric(in, json, where, *next));
    TRY(add_metric(in, *next, where, spec));
    (*next)++;
    return STATUS_OK;
}

static bool is_tracked(const json_t *metric)
{
    const char *goal = json_string_value(json_object_get(metric, "goal"));
    return goal != NULL && strcmp(goal, goal_names[GOAL_TRACK]) == 0;
}

static enum status read_metrics(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                void *out)
{
    (void)member;
    struct spec *spec = out;
    enum status  whole = STATUS_OK;
    char         path[CODEC_PATH_MAX], item_path[CODEC_PATH_MAX];
    size_t       len = json_array_size(json), most = METRICS_MAX + TRACKED_MAX;
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (len < 1 || len > most)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 1 to %zu items", most);
    struct metric *next = ARENA_NEW(in->arena, struct metric, len);
    if (next == NULL)
        return error_no_memory(in->err);
    spec->metrics = next;
    for (size_t i = 0; i < 2 * len; i++) { // those that are only recorded come behind the others
        const json_t *item = json_array_get(json, i % len);
        if (is_tracked(item) != (i >= len))
            continue;
        codec_read_path_item(path, where, i % len);
        TRY(codec_read_on(in, read_next(in, item, path, &next, spec), &whole));
    }
    TRY(whole);
    if (spec->objectives < 1 || spec->objectives > OBJECTIVES_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 1 to %d objectives",
                         OBJECTIVES_MAX);
    for (size_t i = 0; i < len && spec->objectives == 1; i++) {
        codec_read_path_item(item_path, where, i);
        codec_read_path(path, item_path, "threshold");
        if (json_object_get(json_array_get(json, i), "threshold") != NULL)
            return error_set(in->err, STATUS_INVALID, "bad_combination", path,
                             "a single objective has no threshold: of several it says what a front is measured from");
    }
    return STATUS_OK;
}

static enum status read_added(struct reading *in, const json_t *json, const char *where, struct metric *out)
{
    char goal[CODEC_PATH_MAX];
    TRY(read_metric(in, json, where, out));
    codec_read_path(goal, where, "goal");
    return out->goal == GOAL_TRACK
               ? STATUS_OK
               : error_set(in->err, STATUS_INVALID, "not_supported", goal,
                           "what is modelled is so from the first trial on: only a metric to be recorded can be added");
}

enum status codec_metrics_added(struct reading *in, const json_t *json, const char *where, struct metric **out,
                                size_t *len)
{
    enum status whole = STATUS_OK;
    char        path[CODEC_PATH_MAX];
    TRY(codec_read_list(in, json, where, 1, TRACKED_MAX));
    *len = json_array_size(json);
    *out = ARENA_NEW(in->arena, struct metric, *len);
    if (*out == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < *len; i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, read_added(in, json_array_get(json, i), path, &(*out)[i]), &whole));
    }
    return whole;
}

/* ---- the kinds of space ---- */

static const char *const     space_names[] = {"parameters", "candidates", "image", "graph", NULL};
static const enum space_kind space_kinds[] = {SPACE_PARAMETERS, SPACE_CANDIDATES, SPACE_IMAGE, SPACE_GRAPH};

struct space_form {
    int64_t       rows, columns;
    bool          is_private;
    const char   *curator_key;
    const json_t *type, *parameters, *constraints, *forbid;
};
static const struct member parameters_members[] = {
    {AT(space_form, type), .required = true, .read = codec_read_kept},
    {AT(space_form, parameters), .required = true, .read = codec_read_kept},
    {AT(space_form, constraints), .read = codec_read_kept},
    {AT(space_form, forbid), .read = codec_read_kept},
    {.name = NULL},
};
static const struct member candidates_members[] = {
    {AT(space_form, type), .required = true, .read = codec_read_kept},
    {AT(space_form, rows), .required = true, .read = codec_read_integer, .min = 1, .max = SPACE_CANDIDATES_MAX},
    {AT(space_form, columns), .required = true, .read = codec_read_integer, .min = 1, .max = SPACE_COLUMNS_MAX},
    {AS(space_form, is_private, "private"), .read = codec_read_bool},
    {AT(space_form, curator_key), .read = codec_read_text, .min = SIGN_PUBLIC_CHARS - 1, .max = SIGN_PUBLIC_CHARS - 1},
    {.name = NULL},
};
static const struct member *const space_members[] = {parameters_members, candidates_members};

/* The parameters, then what constraints leave of them. */
static enum status read_parameters(struct reading *in, const struct space_form *form, const char *where,
                                   struct spec *spec)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, "parameters");
    TRY(codec_space_params(in, form->parameters, path, spec));
    codec_read_path(path, where, "constraints");
    if (form->constraints != NULL)
        TRY(codec_constraints(in, form->constraints, path, spec));
    codec_read_path(path, where, "forbid");
    if (form->forbid != NULL)
        TRY(codec_space_forbid(in, form->forbid, path, spec));
    TRY(space_init(&spec->space, in->err));
    return space_hold(&spec->space, NULL, in->arena, &spec->space, in->err);
}

/* A private study has one curator, whose key says which manifests are theirs. */
static enum status check_curator_key(struct reading *in, const struct space_form *form, const char *where)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, "curator_key");
    if (form->is_private && form->curator_key == NULL)
        return error_set(in->err, STATUS_INVALID, "curator_key_required", path,
                         "a private study has the public key of its curator");
    if (!form->is_private && form->curator_key != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", path, "only a private study has a curator's key");
    if (form->curator_key != NULL && !sign_is_public(form->curator_key))
        return error_set(in->err, STATUS_INVALID, "bad_key", path, "must be a public key as 'gnomon key' prints it");
    return STATUS_OK;
}

static enum status read_space(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    struct spec      *spec = out;
    struct space_form form = {.is_private = true};
    int               type;
    (void)member;
    TRY(codec_read_type(in, json, where, space_names, &type));
    spec->space.kind = space_kinds[type];
    if (spec->space.kind == SPACE_IMAGE)
        return codec_image_space(in, json, where, spec);
    if (spec->space.kind == SPACE_GRAPH)
        return codec_graph(in, json, where, spec_sign(spec), spec);
    TRY(codec_read_object(in, space_members[type], json, where, &form));
    if (spec->space.kind == SPACE_PARAMETERS)
        return read_parameters(in, &form, where, spec);
    spec->space.rows_len = (size_t)form.rows;
    spec->space.columns = (size_t)form.columns;
    spec->is_private = form.is_private;
    spec->curator_key = form.curator_key;
    TRY(check_curator_key(in, &form, where));
    return space_init(&spec->space, in->err);
}

/* ---- the algorithm ---- */

static enum status read_option(struct reading *in, const struct option *option, const json_t *json, const char *where,
                               double *value)
{
    const struct member range = {.min = option->min, .max = option->max, .names = option->choices};
    int64_t             integer = 0;
    int                 choice = 0;
    bool                truth = false;
    switch (option->kind) {
    case OPTION_REAL:
        return codec_read_number(in, &range, json, where, value);
    case OPTION_INT:
        TRY(codec_read_integer(in, &range, json, where, &integer));
        *value = (double)integer;
        return STATUS_OK;
    case OPTION_CHOICE:
        TRY(codec_read_choice(in, &range, json, where, &choice));
        *value = (double)choice;
        return STATUS_OK;
    case OPTION_BOOL:
        TRY(codec_read_bool(in, &range, json, where, &truth));
        *value = truth;
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* An agent of a federation: which one, and its seat there. */
static bool is_membership(const char *key)
{
    return strcmp(key, "federation") == 0 || strcmp(key, "seat") == 0;
}

static enum status read_membership(struct reading *in, const json_t *json, struct spec *spec)
{
    static const struct member federation_member = {.min = 20, .max = 20}, seat_member = {.min = 1, .max = 1e6};
    const json_t              *federation = json_object_get(json, "federation"), *seat = json_object_get(json, "seat");
    if (spec->policy->message == NULL)
        return STATUS_OK;
    if (federation != NULL)
        TRY(codec_read_text(in, &federation_member, federation, "/algorithm/federation", &spec->federation));
    if (seat != NULL && federation == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/algorithm/federation",
                         "a seat is one of a federation");
    return seat == NULL ? STATUS_OK : codec_read_integer(in, &seat_member, seat, "/algorithm/seat", &spec->seat);
}

static enum status refuse_option(struct reading *in, const struct policy *policy, const char *key, const char *path)
{
    struct nearest nearest = nearest_to(key, strlen(key));
    for (size_t i = 0; i < policy_options_len(policy); i++)
        nearest_consider(&nearest, policy->options[i].name);
    return nearest_refuse(&nearest, in->err, "unknown_member", path, "option of this algorithm",
                          "GET /v1/meta lists them");
}

static enum status read_options(struct reading *in, const json_t *json, const struct policy *policy, double *options)
{
    const char *key;
    json_t     *value;
    enum status whole = STATUS_OK;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)json, key, value) {
        if (strcmp(key, "name") == 0 || (policy->message != NULL && is_membership(key)) ||
            (policy->read_transfer != NULL && codec_transfer_is_member(key)))
            continue;
        codec_read_path(path, "/algorithm", key);
        int i = policy_option(policy, key);
        if (i < 0)
            TRY(codec_read_on(in, refuse_option(in, policy, key, path), &whole));
        else if (!json_is_null(value)) // null: what the algorithm does by itself
            TRY(codec_read_on(in, read_option(in, &policy->options[i], value, path, &options[i]), &whole));
    }
    return whole;
}

static enum status find_policy(struct reading *in, const json_t *json, enum space_kind kind,
                               const struct policy **policy)
{
    static const struct member name_member = {.min = 1, .max = NAME_MAX_CHARACTERS};
    const char                *name = kind == SPACE_IMAGE ? "linear-ts" : "gp";
    if (json != NULL) {
        if (!json_is_object(json))
            return error_set(in->err, STATUS_INVALID, "wrong_type", "/algorithm", "must be an object");
        const json_t *value = json_object_get(json, "name");
        if (value == NULL)
            return error_set(in->err, STATUS_INVALID, "missing_member", "/algorithm/name", "is required");
        TRY(codec_read_text(in, &name_member, value, "/algorithm/name", &name));
    }
    *policy = policy_find(name);
    if (*policy != NULL)
        return STATUS_OK;
    struct nearest                    nearest = nearest_to(name, strlen(name));
    size_t                            count;
    const struct policy *const *const policies = policy_list(&count);
    for (size_t i = 0; i < count; i++)
        nearest_consider(&nearest, policies[i]->name);
    return nearest_refuse(&nearest, in->err, "unknown_algorithm", "/algorithm/name", "algorithm",
                          "GET /v1/meta lists them");
}

static enum status check_required(struct reading *in, const struct policy *policy, const double *options)
{
    char path[CODEC_PATH_MAX];
    for (size_t i = 0; policy->options[i].name != NULL; i++) {
        codec_read_path(path, "/algorithm", policy->options[i].name);
        if (policy->options[i].required && isnan(options[i]))
            return error_set(in->err, STATUS_INVALID, "missing_member", path, "is required");
    }
    return STATUS_OK;
}

/* Checks what the space and the metrics allow. */
static enum status check_algorithm(struct reading *in, const json_t *json, struct spec *spec)
{
    if ((spec->policy->spaces & spec->space.kind) == 0)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/algorithm/name",
                         "%s does not work on this type of space", spec->policy->name);
    if (spec->policy->read_transfer != NULL)
        TRY(codec_transfer_read(in, json, spec));
    if (spec->metrics_len > 1 && (spec->policy->several_metrics & spec->space.kind) == 0)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/algorithm/name",
                         "%s takes one metric on this type of space", spec->policy->name);
    for (size_t k = 0; k < spec->metrics_len; k++)
        if (!isnan(spec->bands[k].low) && (spec->policy->takes_bands & spec->space.kind) == 0)
            return error_set(
                in->err, STATUS_INVALID, "not_supported", "/algorithm/name",
                "%s takes no target and no range on this type of space: on parameters gp, auto, turbo, cma-es, "
                "random and sobol do",
                spec->policy->name);
    const struct problem problem = {.space = &spec->space,
                                    .options = spec->options,
                                    .bands = spec->bands,
                                    .seed = spec->seed,
                                    .memory_bytes = SIZE_MAX,
                                    .metrics = spec->kinds,
                                    .metrics_len = spec->metrics_len};
    return policy_check(spec->policy, &problem, in->err);
}

/* json NULL: the default.  is_known: the space and the metrics, which decide what is acceptable, are read. */
static enum status read_algorithm(struct reading *in, const json_t *json, struct spec *spec, bool is_known)
{
    enum status whole = STATUS_OK;
    size_t      n = 0;
    TRY(find_policy(in, json, spec->space.kind, &spec->policy));
    while (spec->policy->options[n].name != NULL)
        n++;
    double *options = ARENA_NEW(in->arena, double, n + 1);
    if (options == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < n; i++)
        options[i] = spec->policy->options[i].fallback;
    spec->options = options;
    if (json != NULL)
        TRY(codec_read_on(in, read_options(in, json, spec->policy, options), &whole));
    if (json != NULL)
        TRY(codec_read_on(in, read_membership(in, json, spec), &whole));
    if (whole == STATUS_OK)
        TRY(codec_read_on(in, check_required(in, spec->policy, options), &whole));
    return whole == STATUS_OK && is_known ? check_algorithm(in, json, spec) : whole;
}

/* ---- writing ---- */

static json_t *write_space(const struct writing *out, const struct member *member)
{
    const struct spec *spec = out->from;
    (void)member;
    if (spec->space.kind == SPACE_PARAMETERS)
        return codec_space_json(spec);
    if (spec->space.kind == SPACE_IMAGE)
        return codec_image_space_json(spec);
    if (spec->space.kind == SPACE_GRAPH)
        return codec_graph_json(spec);
    json_t *json = json_pack("{s:s, s:I, s:I, s:b}", "type", "candidates", "rows", (json_int_t)spec->space.rows_len,
                             "columns", (json_int_t)spec->space.columns, "private", spec->is_private);
    if (spec->curator_key != NULL)
        codec_put(&json, "curator_key", json_string(spec->curator_key));
    return json;
}

static json_t *option_json(const struct option *option, double value)
{
    if (isnan(value))
        return json_null();
    if (option->kind == OPTION_CHOICE)
        return json_string(option->choices[(size_t)value]);
    if (option->kind == OPTION_BOOL)
        return json_boolean(value != 0);
    return option->kind == OPTION_INT ? json_integer((json_int_t)value) : codec_number(value);
}

static json_t *write_algorithm(const struct writing *out, const struct member *member)
{
    const struct spec   *spec = out->from;
    json_t              *object = json_pack("{s:s}", "name", spec->policy->name);
    const struct option *options = spec->policy->options;
    (void)member;
    if (spec->federation != NULL)
        codec_put(&object, "federation", json_string(spec->federation));
    for (size_t i = 0; options[i].name != NULL; i++)
        codec_put(&object, options[i].name, option_json(&options[i], spec->options[i]));
    if (spec->seat > 0)
        codec_put(&object, "seat", json_integer(spec->seat));
    if (object != NULL && codec_transfer_write(spec, object) != 0)
        json_decref(object), object = NULL;
    return object;
}

static json_t *write_metrics(const struct writing *out, const struct member *member)
{
    const struct spec *spec = out->from;
    (void)member;
    return codec_write_list(metric_members, &(struct writing){.from = spec->metrics}, spec_metrics_all(spec),
                            sizeof spec->metrics[0]);
}

static json_t *write_stopping(const struct writing *out, const struct member *member)
{
    (void)member;
    return codec_stopping_json(out->from);
}

static json_t *write_baseline(const struct writing *out, const struct member *member)
{
    const struct spec *spec = out->from;
    (void)member;
    return spec->baseline == NULL ? json_null() : json_pack("{s:o}", "point", codec_point_json(spec, spec->baseline));
}

/* ---- the baseline ---- */

struct baseline_form {
    const json_t *point;
};
static const struct member baseline_members[] = {
    {AT(baseline_form, point), .required = true, .read = codec_read_kept},
    {.name = NULL},
};

/* Reads the baseline, which must be there when a bound refers to it.  is_known: as above. */
static enum status read_baseline(struct reading *in, const json_t *json, struct spec *spec, bool is_known)
{
    struct baseline_form form;
    bool                 is_needed = false;
    if (json != NULL)
        TRY(codec_read_object(in, baseline_members, json, "/baseline", &form));
    if (!is_known)
        return STATUS_OK;
    for (size_t k = 0; k < spec->metrics_len; k++)
        is_needed = is_needed || bound_is_relative(&spec->metrics[k].min) || bound_is_relative(&spec->metrics[k].max);
    if (json == NULL)
        return is_needed ? error_set(in->err, STATUS_INVALID, "missing_member", "/baseline", "a bound refers to it")
                         : STATUS_OK;
    if (!is_needed)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/baseline", "no bound refers to it");
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/baseline", "it is a point of a space of parameters");
    double *point = ARENA_NEW(in->arena, double, spec->space.params_len);
    if (point == NULL)
        return error_no_memory(in->err);
    spec->baseline = point;
    struct reading of = {.spec = spec, .arena = in->arena, .err = in->err, .problems = in->problems};
    return codec_point(&of, form.point, POINT_WITH_DEFAULTS, "/baseline/point", point);
}

/* ---- the whole ---- */

/* The table writes the specification alone; members that are read last, when the rest is known, are kept behind it. */
struct spec_form {
    struct spec   spec;
    const json_t *algorithm, *stopping, *baseline;
};
_Static_assert(offsetof(struct spec_form, spec) == 0, "the same table reads the form and writes the specification");
const struct member codec_spec_members[] = {
    {AS(spec_form, spec, "metrics"), .required = true, .read = read_metrics, .write = write_metrics},
    {AS(spec_form, spec, "space"), .required = true, .read = read_space, .write = write_space},
    {AT(spec_form, baseline), .optional = true, .read = codec_read_kept, .write = write_baseline},
    {AT(spec_form, algorithm), .read = codec_read_kept, .write = write_algorithm},
    {AT(spec_form, stopping), .nullable = true, .read = codec_read_kept, .write = write_stopping},
    {AS(spec_form, spec.seed, "seed"), .read = codec_read_integer, .min = 0, .max = seed_max},
    {.name = NULL},
};

enum status codec_spec(const json_t *members, uint64_t default_seed, struct arena *arena, struct spec *out,
                       struct error *err)
{
    return codec_spec_read(&(struct reading){.arena = arena, .err = err}, members, default_seed, out);
}

enum status codec_spec_read(struct reading *in, const json_t *members, uint64_t default_seed, struct spec *out)
{
    struct spec_form form = {.spec.seed = default_seed};
    enum status      whole = STATUS_OK;
    TRY(codec_read_on(in, codec_read_object(in, codec_spec_members, members, "", &form), &whole));
    bool is_known = whole == STATUS_OK;
    if (is_known)
        TRY(codec_read_on(in, spec_check_tracked(&form.spec, in->err), &whole));
    TRY(codec_read_on(in, read_baseline(in, form.baseline, &form.spec, is_known), &whole));
    TRY(codec_read_on(in, read_algorithm(in, form.algorithm, &form.spec, is_known), &whole));
    if (whole != STATUS_OK)
        form.spec.policy = NULL;
    TRY(codec_read_on(in, codec_stopping(in, form.stopping, &form.spec), &whole));
    *out = form.spec;
    return whole;
}

enum status codec_spec_parse(const char *text, struct arena *arena, struct spec *out, struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = codec_spec(json, 0, arena, out, err);
    json_decref(json);
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    return error_set(err, STATUS_INTERNAL, "stored_spec", "", "the stored specification cannot be read");
}

json_t *codec_spec_json(const struct spec *spec)
{
    return codec_write(codec_spec_members, &(struct writing){.from = spec});
}

static const char *keep_text(json_t *json, struct arena *arena)
{
    const char *text = codec_dump_in(json, JSON_COMPACT | JSON_REAL_PRECISION(17), arena);
    json_decref(json);
    return text;
}

const char *codec_spec_text(const struct spec *spec, struct arena *arena)
{
    return keep_text(codec_spec_json(spec), arena);
}

const char *codec_metric_names(const struct metric *metrics, size_t len, struct arena *arena)
{
    json_t *list = json_array();
    for (size_t k = 0; k < len; k++)
        codec_append(&list, json_string(metrics[k].name));
    return keep_text(list, arena);
}

/* ---- two of them ---- */

enum status codec_spec_change(struct reading *in, const struct spec *from, const char *change, uint64_t default_seed,
                              struct spec *out)
{
    const char *key;
    json_t     *value, *members = codec_spec_json(from), *changes = codec_load(change, 0);
    bool        is_good = members != NULL && changes != NULL;
    if (is_good)
        json_object_foreach (changes, key, value) {
            if (json_is_null(value))
                json_object_del(members, key);
            else
                is_good = is_good && json_object_set(members, key, value) == 0;
        }
    enum status status = is_good ? codec_spec_read(in, members, default_seed, out) : error_no_memory(in->err);
    json_decref(changes);
    json_decref(members);
    return status;
}

static void compare(const json_t *wanted, const json_t *found, const char *where, struct problems *out);

static void differ(const json_t *wanted, const json_t *found, const char *where, struct problems *out)
{
    struct error differs;
    char        *a = codec_dump(wanted, JSON_COMPACT | JSON_ENCODE_ANY);
    char        *b = codec_dump(found, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)error_set(&differs, STATUS_CONFLICT, "study_differs", where, "is %.100s, the study has %.100s",
                    a == NULL ? "absent" : a, b == NULL ? "none" : b);
    problems_add(out, &differs);
    free(a);
    free(b);
}

static void compare_objects(const json_t *wanted, const json_t *found, const char *where, struct problems *out)
{
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)(uintptr_t)wanted, key, value) {
        codec_read_path(path, where, key);
        compare(value, json_object_get(found, key), path, out);
    }
    json_object_foreach ((json_t *)(uintptr_t)found, key, value) {
        codec_read_path(path, where, key);
        if (json_object_get(wanted, key) == NULL)
            differ(NULL, value, path, out);
    }
}

static void compare(const json_t *wanted, const json_t *found, const char *where, struct problems *out)
{
    char path[CODEC_PATH_MAX];
    if (json_equal((json_t *)(uintptr_t)wanted, (json_t *)(uintptr_t)found))
        return;
    if (json_is_object(wanted) && json_is_object(found)) {
        compare_objects(wanted, found, where, out);
        return;
    }
    bool is_list = json_is_array(wanted) && json_array_size(wanted) == json_array_size(found);
    for (size_t i = 0; is_list && i < json_array_size(wanted); i++) {
        codec_read_path_item(path, where, i);
        compare(json_array_get(wanted, i), json_array_get(found, i), path, out);
    }
    if (!is_list)
        differ(wanted, found, where, out);
}

enum status codec_spec_compare(const struct spec *wanted, const struct spec *found, struct spec_given given,
                               struct problems *out, struct error *err)
{
    json_t *a = codec_spec_json(wanted), *b = codec_spec_json(found);
    bool    is_good = a != NULL && b != NULL;
    if (is_good && !given.seed)
        is_good = json_object_del(a, "seed") == 0 && json_object_del(b, "seed") == 0;
    if (is_good && !given.algorithm && found->space.kind == SPACE_IMAGE)
        is_good = json_object_del(a, "algorithm") == 0 && json_object_del(b, "algorithm") == 0;
    if (is_good && wanted->earlier.is_auto && wanted->earlier.ids == NULL) // the picked studies
        (void)json_object_del(json_object_get(b, "algorithm"), "earlier_studies");
    if (is_good && wanted->seat == 0 && found->seat > 0) // the next free seat
        (void)json_object_del(json_object_get(b, "algorithm"), "seat");
    if (is_good)
        compare(a, b, "", out);
    json_decref(a);
    json_decref(b);
    return is_good ? STATUS_OK : error_no_memory(err);
}
