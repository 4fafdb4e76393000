/* Points, observations and trials <-> JSON. */
#include "service/base/text.h"
#include "service/member/codec.h"
#include "service/codec/codec_trial.h"
#include "service/codec/codec_graph.h"
#include "service/codec/codec_image.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_space.h"
#include "service/member/codec_write.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const double trial_max = 9007199254740991.0;

/* ---- points ---- */

static enum status refuse_unknown_parameters(struct reading *in, const json_t *json, const char *where)
{
    enum status whole = STATUS_OK;
    const char *key;
    json_t     *value;
    char        path[CODEC_PATH_MAX];
    json_object_foreach ((json_t *)json, key, value) {
        size_t i;
        codec_read_path(path, where, key);
        TRY(codec_read_on(in, spec_find_param(in->spec, key, "unknown_member", path, &i, in->err), &whole));
    }
    return whole;
}

static bool is_partial(enum point_form form)
{
    return form == POINT_PART || form == POINT_REST;
}

static enum status check_given(bool is_given, bool is_active, enum point_form form, const char *where,
                               struct error *err)
{
    if (!is_given && is_active && !is_partial(form))
        return error_set(err, STATUS_INVALID, "missing_member", where, "is required%s",
                         form == POINT_QUEUED ? ", unless fill is \"default\" or \"algorithm\""
                         : form == POINT_WITH_DEFAULTS
                             ? ", as the parameter has no default, unless fill is \"algorithm\""
                             : "");
    if (is_given && !is_active)
        return error_set(err, STATUS_INVALID, "inactive_parameter", where,
                         is_partial(form) ? "exists only with values of other parameters that are not given here"
                                          : "does not exist with these values of the parameters it depends on");
    return STATUS_OK;
}

/* Reads a number wherever the model reaches; names must be known ones. */
static enum status read_anywhere(const struct spec *spec, size_t i, const json_t *json, const char *where, double *out,
                                 struct error *err)
{
    const struct param *param = &spec->space.params[i];
    char                least[TEXT_REAL_BYTES], most[TEXT_REAL_BYTES];
    if (!param_is_number(param))
        return codec_space_value(spec, i, json, where, out, err);
    if (param->kind == PARAM_INT ? !codec_read_is_integral(json, out) : !codec_read_is_finite(json, out))
        return error_set(err, STATUS_INVALID, "wrong_type", where,
                         param->kind == PARAM_INT ? "must be an integer" : "must be a number");
    *out = param_rounded(param, *out);
    return param_reaches(param, *out)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "out_of_range", where,
                           "must be on the scale, at most %d ranges away from [%s, %s]", PARAM_REACH,
                           text_number(param->min, least), text_number(param->max, most));
}

bool codec_is_outside(const struct spec *spec, const double *point)
{
    return spec->space.kind == SPACE_PARAMETERS && point != NULL &&
           !space_nearly_has(&spec->space, point, CODEC_ROUNDING_SLACK);
}

/* Names outside in the refusal of a point that it lets in. */
static enum status name_outside(struct reading *in, enum status refused)
{
    size_t len = in->err == NULL ? 0 : strlen(in->err->text);
    if (in->err != NULL && refused == STATUS_INVALID && in->spec->policy->takes_outside)
        (void)snprintf(in->err->text + len, sizeof in->err->text - len,
                       " (a measured point elsewhere is taken with \"outside\": \"context\")");
    return refused;
}

static enum status read_parameter(struct reading *in, size_t i, const json_t *object, enum point_form form,
                                  const char *where, double *point)
{
    const struct spec  *spec = in->spec;
    const json_t       *value = json_object_get(object, spec->space.params[i].name);
    const struct param *param = &spec->space.params[i];
    bool                is_active;
    char                path[CODEC_PATH_MAX];
    codec_read_path(path, where, param->name);
    is_active = space_is_active(&spec->space, point, i);
    point[i] = is_active && form == POINT_WITH_DEFAULTS ? spec->notes[i].fallback : (double)NAN;
    TRY(check_given(value != NULL || !isnan(point[i]), is_active, form, path, in->err));
    if (value == NULL)
        return STATUS_OK;
    if (form == POINT_ANYWHERE)
        return read_anywhere(spec, i, value, path, &point[i], in->err);
    enum status status = codec_space_value(spec, i, value, path, &point[i], in->err);
    bool        is_near = form == POINT_OBSERVED && param_is_number(param) && param_reaches(param, point[i]);
    return is_near ? name_outside(in, status) : status;
}

/* All parameters, in order: parents come before children.  Those that depend on a refused one are left out. */
static enum status read_parameters(struct reading *in, const json_t *json, enum point_form form, const char *where,
                                   double *point)
{
    const struct space *space = &in->spec->space;
    enum status         whole = STATUS_OK;
    bool                is_refused[SPACE_PARAMS_MAX];
    for (size_t i = 0; i < space->params_len; i++) {
        enum status own = STATUS_OK;
        is_refused[i] = false;
        for (size_t c = 0; c < space->params[i].when_len; c++)
            is_refused[i] |= is_refused[space->params[i].when[c].parent];
        if (!is_refused[i])
            TRY(codec_read_on(in, read_parameter(in, i, json, form, where, point), &own));
        is_refused[i] |= own != STATUS_OK;
        whole = own == STATUS_OK ? whole : own;
    }
    return whole;
}

enum status codec_point(struct reading *in, const json_t *json, enum point_form form, const char *where, double *point)
{
    const struct spec *spec = in->spec;
    struct error      *err = in->err;
    if (spec->space.kind == SPACE_IMAGE)
        return codec_image_point(spec, json, where, point, err);
    if (spec->space.kind == SPACE_GRAPH && !is_partial(form))
        return codec_graph_point(spec, json, where, point, err);
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(err, STATUS_INVALID, spec->is_private ? "private_study" : "wrong_space", where,
                         spec->is_private ? "a private study accepts no points" : "the space has no parameters");
    if (!json_is_object(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an object");
    enum status whole = STATUS_OK;
    size_t      found = 0;
    for (size_t i = 0; i < spec->space.params_len; i++)
        found += json_object_get(json, spec->space.params[i].name) != NULL;
    TRY(codec_read_on(in, read_parameters(in, json, form, where, point), &whole));
    if (found < json_object_size(json))
        TRY(codec_read_on(in, refuse_unknown_parameters(in, json, where), &whole));
    TRY(whole);
    if (form == POINT_REST && json_object_size(json) == 0)
        return error_set(err, STATUS_INVALID, "missing_member", where, "at least one parameter is required");
    enum status status =
        form == POINT_PART || form == POINT_ANYWHERE ? STATUS_OK : codec_check_constraints(spec, point, where, err);
    return form == POINT_OBSERVED ? name_outside(in, status) : status;
}

enum status codec_fixed(struct reading *in, const json_t *json, const char *where, double *fixed)
{
    struct space held;
    TRY(codec_point(in, json, POINT_PART, where, fixed));
    struct arena_mark mark = arena_mark(in->arena);
    enum status       status = space_hold(&in->spec->space, fixed, in->arena, &held, in->err);
    if (status == STATUS_INVALID && in->err != NULL)
        snprintf(in->err->path, sizeof in->err->path, "%s", where);
    arena_release(in->arena, mark);
    return status;
}

json_t *codec_point_json(const struct spec *spec, const double *point)
{
    if (spec->space.kind == SPACE_IMAGE)
        return codec_image_point_json(spec, point);
    json_t *object = json_object();
    for (size_t i = 0; i < spec->space.params_len; i++)
        if (!isnan(point[i]))
            codec_put(&object, spec->space.params[i].name, codec_space_value_json(spec, i, point[i]));
    return object;
}

/* ---- observations ---- */

struct observation_form {
    struct observation own;
    const json_t      *point, *sites, *values, *stddevs;
    int                state;   /* -1: none */
    bool               is_long; /* the values are the outcome, and not what is recorded beside a value or a state */
    const char        *outside; /* or NULL */
};
static const char *const  outside_names[] = {"context", NULL};
static const char *const  outcome_names[] = {"failed", "infeasible", NULL};
static const enum outcome outcomes[] = {OUTCOME_FAILED, OUTCOME_INFEASIBLE};

#define CODEC_REASON .read = codec_read_reason
#define OWN(...)     CODEC_MEMBER(observation_form, own., __VA_ARGS__)
// clang-format off
const struct member codec_observation_members[] = {
    {AS(observation_form, own.trial, "trial"), .read = codec_read_integer, .min = 1, .max = INFINITY},
    {AS(observation_form, own.lease, "lease"), .read = codec_read_integer, .min = 1, .max = trial_max},
    {AT(observation_form, point), .read = codec_read_kept},
    {AT(observation_form, sites), .read = codec_read_kept},
    {AS(observation_form, own.row, "candidate"), .read = codec_read_integer, .min = 0, .max = SPACE_CANDIDATES_MAX - 1},
    {AT(observation_form, values), .read = codec_read_kept},
    {AT(observation_form, stddevs), .read = codec_read_kept},
    {AT(observation_form, state), .read = codec_read_choice, .names = outcome_names},
    {AT(observation_form, outside), .read = codec_read_name, .names = outside_names},
    TRIAL_TOLD(OWN)
    TRIAL_ANNOTATIONS(ANNOTATION_MEMBER)
    {.name = NULL},
};
// clang-format on

#define TOLD(...) CODEC_MEMBER(trial_told, , __VA_ARGS__)
const struct member codec_told_members[] = {TRIAL_TOLD(TOLD){.name = NULL}};

bool codec_told_is_number(const struct member *member)
{
    return member->read == codec_read_number;
}

bool codec_told_fits(const struct member *member, bool has_value)
{
    return has_value ? member->read != codec_read_reason : !codec_told_is_number(member);
}

bool codec_told_is_set(const struct member *member, const struct trial_told *told)
{
    const void *at = (const char *)told + member->offset;
    return codec_told_is_number(member) ? !isnan(*(const double *)at) : *(const char *const *)at != NULL;
}

/* {"<metric>": number, ..} into every second of out [metrics][2]. */
static enum status read_by_metric(struct reading *in, const json_t *json, const char *where, const struct member *one,
                                  double *out)
{
    struct member members[METRICS_MAX + TRACKED_MAX + 1];
    size_t        len = spec_metrics_all(in->spec);
    for (size_t k = 0; k < len; k++) {
        bool is_tracked = k >= in->spec->metrics_len;
        members[k] = *one;
        members[k].name = in->spec->metrics[k].name;
        members[k].required = one->required && !is_tracked;
        members[k].nullable = is_tracked;
        members[k].offset = 2 * k * sizeof *out;
    }
    members[len] = (struct member){.name = NULL};
    return codec_read_object(in, members, json, where, out);
}

enum status codec_measured(struct reading *in, const struct codec_measured *given, const char *where,
                           const double **out)
{
    const struct spec *spec = in->spec;
    struct error      *err = in->err;
    struct member      members[METRICS_MAX + 1];
    char               path[CODEC_PATH_MAX];
    double            *values = ARENA_NEW(in->arena, double, spec->metrics_len);
    bool               has_value = !isnan(given->value), has_values = given->values != NULL;
    if (values == NULL)
        return error_no_memory(err);
    *out = values;
    codec_read_path(path, where, has_values && has_value ? "value" : "values");
    if (has_values && has_value)
        return error_set(err, STATUS_INVALID, "bad_combination", path, "exactly one of value and values is needed");
    if (!has_values && (spec->metrics_len > 1 || !has_value))
        return error_set(err, STATUS_INVALID, "missing_member", path,
                         spec->metrics_len > 1 ? "a study of several metrics takes values, one of each"
                                               : "value or values is needed");
    if (has_value) {
        values[0] = given->value;
        return STATUS_OK;
    }
    for (size_t k = 0; k < spec->metrics_len; k++)
        members[k] = (struct member){.name = spec->metrics[k].name,
                                     .offset = k * sizeof *values,
                                     .read = codec_read_number,
                                     .required = true,
                                     .min = -DBL_MAX,
                                     .max = DBL_MAX};
    members[spec->metrics_len] = (struct member){.name = NULL};
    return codec_read_object(in, members, given->values, path, values);
}

static enum status check_stddevs(const struct reading *in, const double *values, const char *where)
{
    char path[CODEC_PATH_MAX];
    for (size_t k = 0; k < spec_metrics_all(in->spec); k++) {
        codec_read_path(path, where, in->spec->metrics[k].name);
        if (isnan(values[2 * k]) && !isnan(values[2 * k + 1]))
            return error_set(in->err, STATUS_INVALID, "bad_combination", path, "there is no value of it");
    }
    return STATUS_OK;
}

/* A single metric needs no list of values, unless another one is recorded beside it. */
static bool needs_list(const struct spec *spec, const struct observation_form *form, const double *values)
{
    bool needs = form->is_long && spec->metrics_len > 1;
    for (size_t k = spec->metrics_len; k < spec_metrics_all(spec); k++)
        needs = needs || !isnan(values[2 * k]);
    return needs;
}

/* values and stddevs by metric. */
static enum status read_values(struct reading *in, const struct observation_form *form, const char *where,
                               struct observation *out)
{
    const struct spec  *spec = in->spec;
    const struct member value = {.read = codec_read_number,
                                 .required = form->is_long,
                                 .min = -INFINITY,
                                 .max = INFINITY},
                        stddev = {.read = codec_read_number, .max = INFINITY};
    char    path[CODEC_PATH_MAX];
    double *values = ARENA_NEW(in->arena, double, spec_values_len(spec));
    if (values == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < spec_values_len(spec); i++)
        values[i] = NAN;
    enum status whole = STATUS_OK;
    codec_read_path(path, where, "values");
    TRY(codec_read_on(in, read_by_metric(in, form->values, path, &value, values), &whole));
    codec_read_path(path, where, "stddevs");
    if (form->stddevs != NULL)
        TRY(codec_read_on(in, read_by_metric(in, form->stddevs, path, &stddev, values + 1), &whole));
    TRY(whole);
    double *own = values + 2 * spec->first;
    own[0] = form->is_long ? own[0] : form->own.value;
    own[1] = isnan(form->own.stddev) ? own[1] : form->own.stddev;
    TRY(check_stddevs(in, values, path));
    out->value = own[0];
    out->stddev = own[1];
    out->values = needs_list(spec, form, values) ? values : NULL;
    return STATUS_OK;
}

static enum status read_site_values(struct reading *in, const struct observation_form *form, const char *where,
                                    struct observation *out)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, "values");
    return codec_graph_values(in, form->values, path, out);
}

/* A graph is measured site by site, and nothing else is. */
static enum status check_graph(const struct spec *spec, const struct observation_form *form, const char *where,
                               struct error *err)
{
    bool is_graph = spec->space.kind == SPACE_GRAPH;
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, form->sites != NULL ? "sites" : form->point != NULL ? "point" : "value");
    if (!is_graph && form->sites != NULL)
        return error_set(err, STATUS_INVALID, "wrong_space", path, "the space is not a graph");
    if (is_graph && form->point != NULL)
        return error_set(err, STATUS_INVALID, "wrong_space", path, "a graph has no points: give sites");
    if (is_graph && !(isnan(form->own.value) && isnan(form->own.stddev) && form->stddevs == NULL))
        return error_set(err, STATUS_INVALID, "bad_combination", path, "a graph takes values, one for each site");
    return STATUS_OK;
}

/* Several metrics are observed together. */
static enum status check_metrics(const struct spec *spec, const struct observation_form *form, const char *where,
                                 struct error *err)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, where, isnan(form->own.value) ? "stddev" : "value");
    if (spec->metrics_len > 1 && !(isnan(form->own.value) && isnan(form->own.stddev)))
        return error_set(err, STATUS_INVALID, "bad_combination", path,
                         "a study of several metrics takes values and stddevs");
    codec_read_path(path, where, "stddevs");
    if (form->stddevs != NULL && (form->values == NULL || !isnan(form->own.stddev)))
        return error_set(err, STATUS_INVALID, "bad_combination", path, "goes with values, and without stddev");
    return STATUS_OK;
}

/* Whether the body has an outcome.  Without value and state, its values are the outcome; beside one of these they are
 * recorded metrics, unless they name a modelled one. */
static bool has_outcome(const struct spec *spec, const struct observation_form *form)
{
    bool is_alone = isnan(form->own.value) && form->state < 0;
    bool has_any = is_alone || spec->tracked_len == 0;
    for (size_t k = 0; k < spec->metrics_len; k++)
        has_any = has_any || json_object_get(form->values, spec->metrics[k].name) != NULL;
    return form->values != NULL && has_any;
}

/* Exactly one of trial, point and candidate; exactly one of value, values and state; stddev and reason fit them. */
static enum status check_combination(const struct observation_form *form, const char *where, struct error *err)
{
    int subjects = (form->own.trial != 0) + (form->point != NULL) + (form->sites != NULL) + (form->own.row >= 0);
    int outcomes_given = !isnan(form->own.value) + form->is_long + (form->state >= 0);
    if (subjects != 1)
        return error_set(err, STATUS_INVALID, "bad_combination", where,
                         "exactly one of trial, point, sites and candidate is needed");
    if (outcomes_given != 1)
        return error_set(err, STATUS_INVALID, "bad_combination", where,
                         "exactly one of value, values and state is needed");
    if (form->own.lease != 0 && form->own.trial == 0)
        return error_set(err, STATUS_INVALID, "bad_combination", where, "lease goes with a trial only");
    for (const struct member *member = codec_told_members; member->name != NULL; member++)
        if (!codec_told_fits(member, form->state < 0) && codec_told_is_set(member, &form->own.told))
            return error_set(err, STATUS_INVALID, "bad_combination", where, "%s goes with a %s only", member->name,
                             form->state < 0 ? "state" : "value");
    return STATUS_OK;
}

/* A point of no space that the algorithm could do with. */
static enum status check_outside(const struct spec *spec, const struct observation_form *form, const char *where,
                                 struct error *err)
{
    char path[CODEC_PATH_MAX];
    if (form->outside == NULL)
        return STATUS_OK;
    codec_read_path(path, where, "outside");
    if (form->point == NULL)
        return error_set(err, STATUS_INVALID, "bad_combination", path, "goes with a point only");
    if (spec->space.kind == SPACE_PARAMETERS && spec->policy->takes_outside)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_supported", path,
                     spec->space.kind == SPACE_PARAMETERS ? "%s learns from points of the space only"
                                                          : "%s has a space without ranges here",
                     spec->policy->name);
}

/* A row may be named by the client only where the rows are the client's own open data. */
static enum status check_row(const struct spec *spec, int64_t row, const char *where, struct error *err)
{
    char path[CODEC_PATH_MAX];
    if (row < 0)
        return STATUS_OK;
    codec_read_path(path, where, "candidate");
    if (spec->space.kind != SPACE_CANDIDATES)
        return error_set(err, STATUS_INVALID, "wrong_space", path, "the space has no candidates");
    if (spec->is_private)
        return error_set(err, STATUS_INVALID, "private_study", path, "a private study is observed by trial only");
    if ((size_t)row >= spec->space.rows_len)
        return error_set(err, STATUS_INVALID, "out_of_range", path, "must be within [0, %zu]",
                         spec->space.rows_len - 1);
    return STATUS_OK;
}

static enum status read_point(struct reading *in, const struct observation_form *form, enum point_form kind,
                              const char *where, const double **out)
{
    const json_t *json = form->sites != NULL ? form->sites : form->point;
    char          path[CODEC_PATH_MAX];
    if (json == NULL)
        return STATUS_OK;
    codec_read_path(path, where, in->spec->space.kind == SPACE_GRAPH ? "sites" : "point");
    if (in->spec->space.kind == SPACE_IMAGE)
        TRY(codec_image_check(in->spec, json, path, in->err));
    double *point = ARENA_NEW(in->arena, double, space_point_len(&in->spec->space) + 1);
    if (point == NULL)
        return error_no_memory(in->err);
    *out = point;
    return codec_point(in, json, kind, path, point);
}

/* Checks that what was given goes together, and with the study. */
static enum status check_together(struct reading *in, const struct observation_form *form, const char *where)
{
    TRY(check_combination(form, where, in->err));
    TRY(check_graph(in->spec, form, where, in->err));
    TRY(check_metrics(in->spec, form, where, in->err));
    TRY(check_row(in->spec, form->own.row, where, in->err));
    return check_outside(in->spec, form, where, in->err);
}

/* Members that were refused leave open what goes together; what lies in the others is read all the same. */
static enum status read_observation(struct reading *in, const json_t *json, enum point_form kind, const char *where,
                                    struct observation *out)
{
    struct observation_form form = {.own = observation_none(), .state = -1};
    enum status             whole = STATUS_OK;
    TRY(codec_read_on(in, codec_read_object(in, codec_observation_members, json, where, &form), &whole));
    form.is_long = has_outcome(in->spec, &form);
    if (whole == STATUS_OK)
        TRY(check_together(in, &form, where));
    else
        form.is_long = json_object_get(json, "value") == NULL && json_object_get(json, "state") == NULL;
    kind = json_object_get(json, "outside") != NULL ? POINT_ANYWHERE : kind;
    TRY(codec_read_on(in, read_point(in, &form, kind, where, &form.own.point), &whole));
    TRY(codec_read_on(in, codec_annotations_take(in, json, where, &form.own.said), &whole));
    *out = form.own;
    out->outcome = form.state < 0 ? OUTCOME_VALUE : outcomes[form.state];
    bool is_graph = in->spec->space.kind == SPACE_GRAPH;
    if (form.values != NULL)
        TRY(codec_read_on(in, (is_graph ? read_site_values : read_values)(in, &form, where, out), &whole));
    return whole;
}

enum status codec_observation(struct reading *in, const json_t *json, const char *where, struct observation *out)
{
    return read_observation(in, json, POINT_OBSERVED, where, out);
}

enum status codec_observation_rest(struct reading *in, const json_t *json, const char *where, struct observation *out)
{
    return read_observation(in, json, POINT_REST, where, out);
}

enum status codec_correction(struct reading *in, const json_t *json, int64_t trial, struct observation *out)
{
    json_t *whole = codec_copy(json);
    codec_put(&whole, "trial", json_integer(trial));
    if (whole != NULL)
        (void)json_object_del(whole, "reason");
    enum status status = whole == NULL ? error_no_memory(in->err) : codec_observation(in, whole, "", out);
    json_decref(whole);
    return status;
}

/* ---- trials ---- */

enum { LENGTH_SCALES_MAX = 100, DIGITS = 17 };

static json_t *length_scales_json(const struct spec *spec, const double *length_scales)
{
    static const char *const axes[GRAPH_DIMS_MAX] = {"x", "y", "z"};
    if (spec->space.kind == SPACE_CANDIDATES)
        return json_pack("{s:o}", "columns", codec_number(length_scales[0]));
    if (spec->space.kind == SPACE_IMAGE)
        return json_pack("{s:o}", "latent", codec_number(length_scales[0]));
    bool is_graph = spec->space.kind == SPACE_GRAPH;
    if (!is_graph && spec->space.params_len > LENGTH_SCALES_MAX)
        return json_null();
    json_t *object = json_object();
    for (size_t i = 0; i < (is_graph ? spec->space.graph->dims : spec->space.params_len); i++)
        codec_put(&object, is_graph ? axes[i] : spec->space.params[i].name, codec_number(length_scales[i]));
    return object;
}

static const char *const warning = "epsilon needs more samples than can be drawn: the loss is not bounded by it";

static json_t *plan_json(const struct diagnostics *d)
{
    bool is_short = d->plan.samples_needed > d->plan.samples; // false for NaN
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:s?}", "horizon", (json_int_t)d->plan.state.horizon, "nodes",
                     codec_number(d->plan.state.nodes), "gap", codec_number(d->plan.state.gap), "samples",
                     codec_number(d->plan.samples), "samples_needed", codec_number(d->plan.samples_needed), "stopped",
                     d->plan.stopped, "warning", is_short ? warning : NULL);
}

/* Sign and origin lead from the user's values to values signed as a policy's. */
static void find_sign(const struct spec *spec, size_t metric, double *sign, double *origin)
{
    bool is_plain = spec_is_margin(spec, metric);
    *origin = is_plain ? 0.0 : spec_told(spec, metric, 0.0) + 0.0;
    *sign = is_plain ? 1.0 : spec_told(spec, metric, 1.0) - *origin;
}

/* How the user's values become those that the process models. */
static json_t *output_json(const struct spec *spec, size_t metric, const struct diagnostics *d)
{
    double sign, origin;
    find_sign(spec, metric, &sign, &origin);
    json_t *warp =
        d->values.warp_scale > 0
            ? json_pack("{s:o, s:o, s:o, s:o}", "top", codec_number(d->values.top), "c", codec_number(d->values.c),
                        "centre", codec_number(d->values.warp_centre), "scale", codec_number(d->values.warp_scale))
            : json_null();
    return d->values.unit > 0
               ? json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "sign", codec_number(sign), "origin", codec_number(origin),
                           "unit", codec_number(d->values.unit), "centre", codec_number(d->values.centre), "spread",
                           codec_number(d->values.spread), "warp", warp)
               : (json_decref(warp), json_null());
}

static json_t *doubted_json(const struct spec *spec, size_t metric, const struct diagnostics *d)
{
    double sign, origin;
    find_sign(spec, metric, &sign, &origin);
    return json_pack("{s:I, s:o, s:o}", "count", (json_int_t)d->doubted, "beyond",
                     codec_number((d->doubted_above - origin) / sign), "short_of",
                     codec_number((d->doubted_below - origin) / sign));
}

static json_t *drift_json(const struct spec *spec, size_t metric, const struct diagnostics *d)
{
    double sign, origin;
    find_sign(spec, metric, &sign, &origin);
    return json_pack("{s:o, s:o}", d->from > 0 ? "size" : "per_trial", codec_number(d->drift / sign),
                     d->from > 0 ? "from" : "now", codec_number(d->from > 0 ? d->from : d->now));
}

json_t *codec_release_json(const struct release_use *use)
{
    return json_pack("{s:b, s:o}", "followed", use->is_followed, "weight", codec_number(use->weight));
}

struct release_use codec_release_read(const json_t *json)
{
    return (struct release_use){.is_followed = json_is_true(json_object_get(json, "followed")),
                                .weight = json_number_value(json_object_get(json, "weight"))};
}

static json_t *of_model(const struct diagnostics *d, double number)
{
    return d->kernel == NULL ? json_null() : codec_number(number);
}

enum status codec_diagnostics(const struct spec *spec, size_t metric, const struct diagnostics *d, struct arena *arena,
                              const char **text, struct error *err)
{
    *text = NULL;
    if (d->kernel == NULL && d->release.weight == 0)
        return STATUS_OK;
    json_t *scales = d->kernel == NULL ? json_null() : length_scales_json(spec, d->length_scales);
    json_t *json =
        json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "kernel", d->kernel, "output",
                  output_json(spec, metric, d), "length_scales", scales, "signal_variance",
                  of_model(d, d->signal_variance), "noise_variance", of_model(d, d->noise_variance), "jitter",
                  of_model(d, d->jitter), "condition", of_model(d, d->condition), "fit_ms", of_model(d, d->fit_ms),
                  "acquisition", d->acquisition, "acquisition_value", of_model(d, d->acquisition_value));
    if (json != NULL && d->release.weight > 0)
        codec_put(&json, "release", codec_release_json(&d->release));
    if (json != NULL && d->gain != NULL && !isnan(d->gain->expected))
        codec_put(&json, "expected_gain",
                  json_pack("{s:o, s:o, s:I}", "value", codec_number(d->gain->expected), "trust",
                            codec_number(d->gain->trust), "finished", (json_int_t)d->gain->finished));
    if (json != NULL && d->doubted > 0)
        codec_put(&json, "doubted", doubted_json(spec, metric, d));
    if (json != NULL && d->drift != 0)
        codec_put(&json, d->from > 0 ? "step" : "drift", drift_json(spec, metric, d));
    if (json != NULL && d->plan.state.horizon > 0)
        codec_put(&json, "plan", plan_json(d));
    *text = codec_dump_in(json, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS), arena);
    json_decref(json);
    return *text == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status keep_name(const json_t *json, struct arena *arena, const char **out, struct error *err)
{
    const char *text = json_string_value(json);
    *out = text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
    return text != NULL && *out == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status codec_diagnostics_read(const struct spec *spec, const char *text, struct arena *arena,
                                   struct diagnostics *out, struct error *err)
{
    json_auto_t  *json = text == NULL ? NULL : codec_load(text, 0);
    const json_t *scales = json_object_get(json, "length_scales"), *value = json_object_get(json, "acquisition_value");
    bool          has_one = spec->space.kind == SPACE_CANDIDATES;
    size_t        len = has_one ? 1 : spec->space.params_len;
    if (text != NULL && json == NULL)
        return error_no_memory(err);
    out->acquisition_value = json_is_number(value) ? json_number_value(value) : NAN;
    out->release = codec_release_read(json_object_get(json, "release"));
    TRY(keep_name(json_object_get(json, "acquisition"), arena, &out->acquisition, err));
    TRY(keep_name(json_object_get(json, "kernel"), arena, &out->kernel, err));
    for (size_t i = 0; i < len; i++) {
        const json_t *scale = json_object_get(scales, has_one ? "columns" : spec->space.params[i].name);
        out->length_scales[i] = json_number_value(scale);
        if (!(out->length_scales[i] > 0))
            out->kernel = NULL;
    }
    return STATUS_OK;
}

enum status codec_diagnostics_gain(const char *text, struct gain *out, struct error *err)
{
    json_auto_t  *json = text == NULL ? NULL : codec_load(text, 0);
    const json_t *gain = json_object_get(json, "expected_gain"), *value = json_object_get(gain, "value");
    *out = (struct gain){.expected = json_is_number(value) ? json_number_value(value) : NAN,
                         .trust = json_number_value(json_object_get(gain, "trust")),
                         .finished = (size_t)json_integer_value(json_object_get(gain, "finished"))};
    return text != NULL && json == NULL ? error_no_memory(err) : STATUS_OK;
}

static json_t *model_json(const struct trial *trial)
{
    if (trial->model.algorithm == NULL)
        return json_null();
    const char *diagnostics = trial->model.diagnostics;
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:s?, s:o, s:o}", "algorithm", trial->model.algorithm, "revision",
                     (json_int_t)trial->model.revision, "observations", (json_int_t)trial->model.observations, "mean",
                     codec_number(trial->model.mean), "stddev", codec_number(trial->model.stddev), "stddev_observed",
                     codec_number(trial->model.stddev_observed), "fallback", trial->model.fallback, "compute_ms",
                     codec_number(trial->model.compute_ms), "diagnostics",
                     diagnostics == NULL ? json_null() : codec_load(diagnostics, 0));
}

static json_t *seconds_json(int64_t ms)
{
    return ms % 1000 == 0 ? json_integer(ms / 1000) : codec_number((double)ms / 1000);
}

/* The duration beside the time is for a worker whose clock is another.  Of three heartbeats two may be lost. */
static json_t *lease_json(const struct trial *trial, struct lease_clock clock)
{
    int64_t left_ms = trial->lease_ms - clock.now_ms;
    if (trial->lease_ms == 0)
        return json_null();
    json_t *json = json_pack("{s:I, s:o}", "id", (json_int_t)trial->lease, "expires_at",
                             codec_time_json(trial->lease_ms + clock.shift_ms));
    if (clock.now_ms != 0)
        codec_put(&json, "expires_in_seconds", seconds_json(left_ms < 0 ? 0 : left_ms));
    codec_put(&json, "heartbeat_seconds", seconds_json(clock.lease_ms / 3));
    return json;
}

/* Values (at 0) or standard deviations (at 1) by metric, or values by site; null when there is none. */
static json_t *values_json(const struct spec *spec, const struct trial *trial, size_t at)
{
    if (spec->space.kind == SPACE_GRAPH)
        return codec_graph_values_json(spec, at == 0 ? trial->values : NULL);
    const double own[2] = {trial->value, trial->stddev}, *values = trial->values == NULL ? own : trial->values;
    size_t       len = trial->values == NULL ? 1 : spec_metrics_all(spec);
    bool         has_any = false;
    for (size_t k = 0; k < len; k++)
        has_any = has_any || !isnan(values[2 * k + at]);
    if (!has_any)
        return json_null();
    json_t *object = json_object();
    for (size_t k = 0; k < len; k++)
        if (!isnan(values[2 * k + at]))
            codec_put(&object, spec->metrics[k].name, codec_number(values[2 * k + at]));
    return object;
}

static const struct member curve_members[] = {
    {AT(curve_point, step), .read = codec_read_integer},
    {AT(curve_point, value), .read = codec_read_number},
    {AS(curve_point, at_ms, "at"), .write = codec_write_time},
    {.name = NULL},
};

static json_t *curve_json(const struct spec *spec, const struct trial *trial)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trial->curve_len; i++) {
        const struct curve_point *point = &trial->curve[i];
        json_t                   *step = codec_write(curve_members, &(struct writing){.from = point});
        json_t                   *values = point->values == NULL ? NULL : json_object();
        for (size_t k = 0; k < spec->metrics_len && point->values != NULL; k++)
            codec_put(&values, spec->metrics[k].name, codec_number(point->values[k]));
        if (point->values != NULL)
            codec_put(&step, "values", values);
        codec_append(&list, step);
    }
    return list;
}

/* Where its worker goes on: behind the last step, from what was left there. */
static json_t *resume_json(const json_t *object, const struct trial *trial)
{
    const json_t *checkpoint = json_object_get(json_object_get(object, "metadata"), "checkpoint");
    return json_pack("{s:I, s:O?}", "step", (json_int_t)trial->curve[trial->curve_len - 1].step, "checkpoint",
                     checkpoint);
}

static void put_members(json_t **object, const struct spec *spec, const struct trial *trial)
{
    size_t of_metric = 0;
    for (const struct member *member = codec_told_members; member->name != NULL; member++) {
        const void *at = (const char *)&trial->told + member->offset;
        bool        is_number = codec_told_is_number(member);
        char        several[32];
        codec_put(object, member->name,
                  is_number ? codec_number(*(const double *)at) : codec_text(*(const char *const *)at));
        if (!is_number)
            continue;
        snprintf(several, sizeof several, "%ss", member->name);
        codec_put(object, several, values_json(spec, trial, of_metric++));
    }
}

json_t *codec_trial_json(const struct spec *spec, const struct trial *trial, struct lease_clock clock)
{
    bool    is_graph = spec->space.kind == SPACE_GRAPH;
    json_t *place = trial->point == NULL ? json_null()
                    : is_graph           ? codec_graph_point_json(spec, trial->point)
                                         : codec_point_json(spec, trial->point);
    json_t *object = json_pack("{s:I, s:s, s:o}", "number", (json_int_t)trial->number, "state",
                               trial_state_names[trial->state], "point", is_graph ? json_null() : place);
    if (is_graph)
        codec_put(&object, "sites", place);
    codec_put(&object, "candidate", trial->row < 0 ? json_null() : json_integer(trial->row));
    codec_put(&object, "worker", json_string(trial->worker));
    codec_put(&object, "lease", lease_json(trial, clock));
    if (codec_is_outside(spec, trial->point))
        codec_put(&object, "outside", json_string(outside_names[0]));
    put_members(&object, spec, trial);
    codec_write_into(&object, codec_annotation_members, &(struct writing){.from = &trial->said});
    codec_put(&object, "model", model_json(trial));
    codec_put(&object, "created_at", codec_time_json(trial->created_ms));
    codec_put(&object, "started_at", codec_time_json(trial->started_ms));
    codec_put(&object, "finished_at", codec_time_json(trial->finished_ms));
    codec_put(&object, "corrected_at", codec_time_json(trial->corrected_ms));
    if (trial->curve_len > 0)
        codec_put(&object, "curve", curve_json(spec, trial));
    if (trial->curve_len > 0 && trial->state == TRIAL_RUNNING && spec->stopping.resumes)
        codec_put(&object, "resume", resume_json(object, trial));
    return object;
}
