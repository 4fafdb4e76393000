/* The two calls that everyone uses, and what surrounds them. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "service/base/npy.h"
#include "api/core/route.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_write.h"
#include "service/trial/correct.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/suggest/suggest.h"
#include "service/trial/trial_best.h"
#include "service/trial/trial_pareto.h"
#include "service/trial/trial_report.h"
#include "service/insight/insight.h"
#include "service/trial/trial.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { OBSERVATIONS_MAX = 10000, LIST_MAX = 1000 };

/* ---- observe ---- */

/* An observation, or a list of them. */
struct observe_post_input {
    const json_t *observations;
};
static const struct member observe_post_body[] = {
    {AT(observe_post_input, observations), .read = codec_read_kept},
    {.name = "", .members = codec_observation_members},
    {.name = NULL},
};
const struct form form_observe_post = {
    .body = observe_post_body, .bytes = sizeof(struct observe_post_input), .reads_on = true};

static const struct member best_members[] = {
    {AS(observe_reply, best_trial, "trial"), .read = codec_read_integer},
    {AS(observe_reply, best_value, "value"), .read = codec_read_number},
    {.name = NULL},
};
static const struct member observed_members[] = {
    {AT(observe_reply, accepted), .read = codec_read_integer},
    {AT(observe_reply, duplicates), .read = codec_read_integer},
    {AT(observe_reply, revision), .read = codec_read_integer},
    {.name = "best", .nullable = true, .read = codec_read_inside, .members = best_members},
    SHOW_NEXT(observe_reply),
    {.name = NULL},
};
const struct shown shown_observed = {.members = observed_members};

static enum status observe_with(struct call *call, const struct spec *spec, struct error *err)
{
    struct observation one;
    struct reading     in = show_reading(call, spec, err);
    enum status        whole = STATUS_OK;
    TRY(codec_read_on(&in, codec_observation(&in, call->json, "", &one), &whole));
    return show_observe(call, &one, 1, &(struct origin){.where = ""},
                        CALL_RESULT(call, struct observe_reply, 200, show_reply), err);
}

/* Read with the specification that is in memory, which saves a look at the store; what fails with it is asked again if it was
 * not that of the study. */
static enum status observe_one(struct call *call, struct error *err)
{
    const struct problems before = call->problems;
    struct caller        *caller = &call->caller;
    struct study          study;
    struct task           known = task_of(call->app, caller, call->params[0]);
    if (!task_recall(&known)) {
        TRY(study_find(call->app, caller, call->params[0], &study, err));
        return observe_with(call, &study.spec, err);
    }
    int64_t     space_revision = caller->space_revision;
    size_t      metrics = caller->metrics;
    enum status status = observe_with(call, &known.study.spec, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    const struct error    why = *err;
    const struct problems found = call->problems;
    caller->space_of[0] = '\0';
    call->problems = before;
    TRY(study_find(call->app, caller, call->params[0], &study, err));
    if (caller->space_revision != space_revision || caller->metrics != metrics)
        return observe_with(call, &study.spec, err);
    call->problems = found;
    *err = why;
    return status;
}

enum status handle_observe_post(struct call *call, struct error *err)
{
    const struct observe_post_input *input = call->input;
    struct observation              *items;
    struct study                     study;
    if (input->observations == NULL)
        return observe_one(call, err);
    if (json_object_size(call->json) > 1 && call->problems.len == 0)
        return error_set(err, STATUS_INVALID, "unknown_member", "/observations", "must be the only member");
    TRY(show_check_list(input->observations, "/observations", OBSERVATIONS_MAX, err));
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(show_read_observations(call, &study.spec, &SHOW_OBSERVATIONS(input->observations), &items, err));
    return show_observe(call, items, json_array_size(input->observations), &(struct origin){.where = "/observations"},
                        CALL_RESULT(call, struct observe_reply, 200, show_reply), err);
}

/* ---- trials ---- */

struct shown_trials {
    struct study      study;
    struct trial_page page;
};

static json_t *render_queued(struct call *call, const void *result)
{
    const struct shown_trials *shown = result;
    return json_pack("{s:o}", "trials", show_trials(call, &shown->study, shown->page.trials, shown->page.len));
}

static const char        fill_default[] = "default", fill_algorithm[] = "algorithm";
static const char *const fill_names[] = {fill_default, fill_algorithm, NULL};

struct trials_post_input {
    const json_t *points, *candidates, *macro_actions, *sites;
    const char   *metric;
    int           quantity;
    const char   *fill;  /* of fill_names, what is missing of points; NULL: nothing is */
    struct study  study; /* from here on what is read by the study's specification */
    double       *at;
    int64_t      *rows;
    size_t        len;
    const char   *patch;
};
static enum status         read_queued(struct call *call, struct error *err);
static enum status         read_predicted(struct call *call, struct error *err);
static const struct member trials_post_body[] = {
    {AT(trials_post_input, points), .read = codec_read_kept},
    {AT(trials_post_input, candidates), .read = codec_read_kept},
    {AT(trials_post_input, macro_actions), .read = codec_read_kept},
    {AT(trials_post_input, fill), .read = codec_read_name, .names = fill_names},
    TRIAL_ANNOTATIONS(ANNOTATION_MEMBER){.name = NULL},
};
static const struct member predict_post_body[] = {
    {AT(trials_post_input, points), .read = codec_read_kept},
    {AT(trials_post_input, candidates), .read = codec_read_kept},
    {AT(trials_post_input, sites), .read = codec_read_kept},
    {AT(trials_post_input, metric), .read = codec_read_text, .min = 1, .max = 128},
    {AT(trials_post_input, quantity), .read = codec_read_choice, .names = insight_quantity_names},
    {.name = NULL},
};
const struct form form_trials_post = {
    .body = trials_post_body, .bytes = sizeof(struct trials_post_input), .rest = read_queued};
const struct form form_predict_post = {
    .body = predict_post_body, .bytes = sizeof(struct trials_post_input), .rest = read_predicted};

/* Exactly one of the lists: at or rows is set, [len]; the macro-actions of a graph are its points, its sites the rows. */
static enum status read_places(struct call *call, enum point_form form, struct error *err)
{
    struct trials_post_input *input = call->input;
    const struct spec        *spec = &input->study.spec;
    const json_t *lists[] = {input->points, input->candidates, input->macro_actions, input->sites}, *list = NULL;
    static const char *const names[] = {"/points", "/candidates", "/macro_actions", "/sites"};
    size_t                   which = 0, given = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        which = lists[i] != NULL ? i : which;
        given += lists[i] != NULL;
    }
    list = lists[which];
    if (given != 1)
        return error_set(err, STATUS_INVALID, "missing_member", "/points",
                         "exactly one list is needed: points, candidates, or sites");
    TRY(show_check_list(list, names[which], LIST_MAX, err));
    input->len = json_array_size(list);
    if (list == input->sites)
        return show_read_sites(call, spec, list, names[which], &input->rows, err);
    if (list == input->candidates)
        return show_read_rows(call, spec, list, names[which], &input->rows, err);
    if ((list == input->macro_actions) != (spec->space.kind == SPACE_GRAPH))
        return error_set(err, STATUS_INVALID, "wrong_space", names[which], "the space has no such points");
    struct reading in = show_reading(call, spec, err);
    return show_read_points(&in, list, form, names[which], &input->at);
}

/* A point of which something is missing. */
static enum status read_part(struct reading *in, const json_t *json, bool is_asked, const char *where, double *point)
{
    if (!is_asked)
        return codec_point(in, json, POINT_WITH_DEFAULTS, where, point);
    TRY(codec_fixed(in, json, where, point));
    return spec_check_context(in->spec, point, where, in->err);
}

static enum status read_parts(struct call *call, struct error *err)
{
    struct trials_post_input *input = call->input;
    const struct spec        *spec = &input->study.spec;
    struct reading            in = show_reading(call, spec, err);
    enum status               whole = STATUS_OK;
    bool                      is_asked = input->fill == fill_algorithm;
    char                      path[CODEC_PATH_MAX];
    if (input->points == NULL || input->candidates != NULL || input->macro_actions != NULL)
        return error_set(err, STATUS_INVALID, "bad_combination", "/fill", "goes with points alone");
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(err, STATUS_INVALID, "wrong_space", "/fill", "only points of parameters can be filled in");
    TRY(show_check_list(input->points, "/points", is_asked ? SUGGESTIONS_MAX : LIST_MAX, err));
    input->len = json_array_size(input->points);
    input->at = ARENA_NEW(&call->arena, double, input->len * spec->space.params_len);
    if (input->at == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < input->len; i++) {
        double *point = input->at + i * spec->space.params_len;
        codec_read_path_item(path, "/points", i);
        TRY(codec_read_on(&in, read_part(&in, json_array_get(input->points, i), is_asked, path, point), &whole));
    }
    return whole;
}

static enum status read_queued(struct call *call, struct error *err)
{
    struct trials_post_input *input = call->input;
    enum status               whole = STATUS_OK;
    bool                      is_part = json_object_get(call->json, "fill") != NULL;
    TRY(study_find(call->app, &call->caller, call->params[0], &input->study, err));
    struct reading in = show_reading(call, &input->study.spec, err);
    TRY(codec_read_on(&in, is_part ? read_parts(call, err) : read_places(call, POINT_QUEUED, err), &whole));
    TRY(codec_read_on(&in, codec_annotations_take(&in, call->json, "", &input->patch), &whole));
    return whole;
}

enum status handle_trials_post(struct call *call, struct error *err)
{
    const struct trials_post_input *input = call->input;
    struct shown_trials            *shown = CALL_RESULT(call, struct shown_trials, 201, render_queued);
    shown->study = input->study;
    if (input->fill == fill_algorithm) {
        const struct queue_part part = {.points = input->at,
                                        .params_len = shown->study.spec.space.params_len,
                                        .len = input->len,
                                        .said = input->patch};
        return trial_queue_part(call->app, &call->caller, call->params[0], &part, &shown->page, err);
    }
    const struct queue_request request = {
        .points = input->at, .rows = input->rows, .len = input->len, .said = input->patch};
    return trial_queue(call->app, &call->caller, call->params[0], &request, &shown->page, err);
}

struct trials_get_input {
    struct trial_filter filter;
    int                 is_basic;
    const char         *order;
    const json_t       *label;
};
static const char *const trial_orders[] = {"number",    "-number", "value",    "-value", "finished",
                                           "-finished", "updated", "-updated", NULL};

static const struct member trials_get_query[] = {
    {AS(trials_get_input, filter.states, "state"), .is_many = true, .read = codec_read_set, .names = trial_state_names},
    {AS(trials_get_input, filter.worker, "worker"), .read = codec_read_text, .min = 1, .max = 128},
    {AS(trials_get_input, filter.external_id, "external_id"), .read = codec_read_text, .min = 1, .max = 128},
    {AT(trials_get_input, label), .is_many = true, .read = codec_read_kept},
    {AS(trials_get_input, filter.updated_since_ms, "updated_since"), .read = codec_read_time},
    {AT(trials_get_input, order), .read = codec_read_name, .names = trial_orders},
    VIEWED(trials_get_input),
    PAGED(trials_get_input, filter.),
    {.name = NULL},
};
const struct form form_trials_get = {.query = trials_get_query, .bytes = sizeof(struct trials_get_input)};

static json_t *render_trials(struct call *call, const void *result)
{
    const struct shown_trials     *shown = result;
    const struct trial_page       *page = &shown->page;
    const struct trials_get_input *input = call->input;
    if (input->is_basic)
        show_basic(&shown->study.spec, page->trials, page->len);
    return show_page("trials", show_trials(call, &shown->study, page->trials, page->len), page->next_cursor);
}

enum status handle_trials_get(struct call *call, struct error *err)
{
    struct trials_get_input *input = call->input;
    struct trial_filter     *filter = &input->filter;
    const char              *asked = input->order == NULL && filter->updated_since_ms > 0 ? "updated" : input->order;
    const struct show_order  order = show_order(trial_orders, asked);
    filter->order = (enum trial_order)order.order;
    filter->is_down = order.is_down;
    struct shown_trials *shown = CALL_RESULT(call, struct shown_trials, 200, render_trials);
    TRY(show_read_labels(call, input->label, filter->labels, TRIAL_LABELS_ASKED_MAX, err));
    TRY(study_find(call->app, &call->caller, call->params[0], &shown->study, err));
    return trial_list(call->app, &call->caller, call->params[0], filter, &shown->page, err);
}

struct shown_trial {
    struct study study;
    struct trial trial;
};

static json_t *render_trial(struct call *call, const void *result)
{
    const struct shown_trial *shown = result;
    return codec_trial_json(&shown->study.spec, &shown->trial, show_clock(call, &shown->study, 0));
}

/* The common beginning of the calls about a single trial. */
static enum status begin_trial(struct call *call, struct shown_trial **shown, int64_t *number, struct error *err)
{
    *shown = CALL_RESULT(call, struct shown_trial, 200, render_trial);
    TRY(study_find(call->app, &call->caller, call->params[0], &(*shown)->study, err));
    return handle_number(call, 1, number, err);
}

static const char *const trial_formats[] = {"json", "npy", NULL};
struct trial_get_input {
    const char *format;
};
static const struct member trial_get_query[] = {
    {AT(trial_get_input, format), .read = codec_read_name, .names = trial_formats},
    {.name = NULL},
};
const struct form form_trial_get = {.query = trial_get_query, .bytes = sizeof(struct trial_get_input)};

/* The point alone, as a matrix of height rows. */
static enum status show_npy(struct call *call, const struct shown_trial *shown, struct error *err)
{
    const struct space *space = &shown->study.spec.space;
    unsigned char       header[128];
    if (space->kind != SPACE_IMAGE)
        return error_set(err, STATUS_INVALID, "wrong_space", "", "only points of images are given as npy");
    size_t length = npy_write_header(space->height, space->width * space->channels, NPY_F8, header);
    size_t bytes = space_point_len(space) * sizeof *shown->trial.point;
    char  *text = arena_alloc(&call->arena, length + bytes, 1);
    if (text == NULL)
        return error_no_memory(err);
    memcpy(text, header, length);
    memcpy(text + length, shown->trial.point, bytes);
    call->render = NULL; // this is the reply, not what the trial looks like as JSON
    reply_text(call, "application/x-npy", text, length + bytes);
    return STATUS_OK;
}

enum status handle_trial_get(struct call *call, struct error *err)
{
    const struct trial_get_input *input = call->input;
    struct shown_trial           *shown;
    int64_t                       number;
    TRY(begin_trial(call, &shown, &number, err));
    TRY(trial_find(call->app, &call->caller, call->params[0], number, &shown->trial, err));
    return input->format != NULL && strcmp(input->format, "npy") == 0 ? show_npy(call, shown, err) : STATUS_OK;
}

#define LEASE(type, in)                                                                              \
    {                                                                                                \
        AS(type, in lease, "lease"), .read = codec_read_integer, .min = 1, .max = 9007199254740991.0 \
    }
static const struct member trial_heartbeat_body[] = {LEASE(held_trial, ), {.name = NULL}};
const struct form          form_trial_heartbeat = {.body = trial_heartbeat_body, .bytes = sizeof(struct held_trial)};

/* A held trial goes on, whatever else the study does, unless nobody wants its value any more. */
static json_t *render_held(struct call *call, const void *result)
{
    const struct shown_trial *shown = result;
    json_t                   *json =
        codec_trial_json(&shown->study.spec, &shown->trial,
                         show_clock(call, &shown->study, shown->trial.lease_ms - shown->study.rules.lease_ms));
    codec_put(&json, "next",
              json_string(shown->study.state == STUDY_COMPLETED ? study_next_stop : study_next_evaluate));
    codec_put(&json, "next_seconds", json_null());
    return json;
}

enum status handle_trial_heartbeat(struct call *call, struct error *err)
{
    struct held_trial  *held = call->input;
    struct shown_trial *shown;
    TRY(begin_trial(call, &shown, &held->number, err));
    call->render = render_held;
    return trial_heartbeat(call->app, &call->caller, call->params[0], *held, &shown->trial, err);
}

static const struct member trial_abandon_body[] = {
    LEASE(abandon_request, held.),
    {AT(abandon_request, reason), .read = codec_read_reason, .max = 1000},
    {AS(abandon_request, requeues, "requeue"), .read = codec_read_bool},
    {.name = NULL},
};
const struct form form_trial_abandon = {.body = trial_abandon_body, .bytes = sizeof(struct abandon_request)};

enum status handle_trial_abandon(struct call *call, struct error *err)
{
    struct abandon_request *request = call->input;
    struct shown_trial     *shown;
    TRY(begin_trial(call, &shown, &request->held.number, err));
    return trial_abandon(call->app, &call->caller, call->params[0], request, &shown->trial, err);
}

static const struct member trial_patch_body[] = {TRIAL_ANNOTATIONS(ANNOTATION_MEMBER){.name = NULL}};

static enum status read_patch(struct call *call, struct error *err)
{
    struct edit_request *input = call->input;
    struct reading       in = show_reading(call, NULL, err);
    return codec_annotations_take(&in, call->json, "", &input->patch);
}
const struct form form_trial_patch = {
    .body = trial_patch_body, .bytes = sizeof(struct edit_request), .rest = read_patch};

enum status handle_trial_patch(struct call *call, struct error *err)
{
    struct edit_request *request = call->input;
    struct shown_trial  *shown;
    TRY(begin_trial(call, &shown, &request->number, err));
    return trial_edit(call->app, &call->caller, call->params[0], request, &shown->trial, err);
}

enum status handle_trial_retry(struct call *call, struct error *err)
{
    struct shown_trial *shown;
    int64_t             number;
    TRY(begin_trial(call, &shown, &number, err));
    return trial_retry(call->app, &call->caller, call->params[0], number, &shown->trial, err);
}

/* A result like that of an observation, of a trial that the address names, and why. */
struct trial_correct_input {
    const char        *reason;
    struct study       study;
    struct observation result;
};
static enum status         read_correction(struct call *call, struct error *err);
static const struct member trial_correct_body[] = {
    CODEC_KNOWN("value"),  CODEC_KNOWN("values"),
    CODEC_KNOWN("stddev"), CODEC_KNOWN("stddevs"),
    CODEC_KNOWN("state"),  {AT(trial_correct_input, reason), .read = codec_read_reason, .max = 1000},
    {.name = NULL},
};
static const struct member trial_retract_body[] = {
    {AT(trial_correct_input, reason), .read = codec_read_reason, .max = 1000},
    {.name = NULL},
};
const struct form form_trial_correct = {
    .body = trial_correct_body, .bytes = sizeof(struct trial_correct_input), .rest = read_correction};
const struct form form_trial_retract = {.body = trial_retract_body, .bytes = sizeof(struct trial_correct_input)};

static enum status read_correction(struct call *call, struct error *err)
{
    struct trial_correct_input *input = call->input;
    int64_t                     number;
    TRY(study_find(call->app, &call->caller, call->params[0], &input->study, err));
    TRY(handle_number(call, 1, &number, err));
    struct reading in = show_reading(call, &input->study.spec, err);
    return codec_correction(&in, call->json, number, &input->result);
}

enum status handle_trial_correct(struct call *call, struct error *err)
{
    const struct trial_correct_input *input = call->input;
    const struct correct_request      request = {.result = input->result, .why = input->reason};
    struct shown_trial               *shown = CALL_RESULT(call, struct shown_trial, 200, render_trial);
    shown->study = input->study;
    return trial_correct(call->app, &call->caller, call->params[0], &request, &shown->trial, err);
}

enum status handle_trial_retract(struct call *call, struct error *err)
{
    const struct trial_correct_input *input = call->input;
    struct correct_request            request = {.result = observation_none(), .why = input->reason};
    struct shown_trial               *shown;
    TRY(begin_trial(call, &shown, &request.result.trial, err));
    request.result.outcome = OUTCOME_RETRACTED;
    return trial_correct(call->app, &call->caller, call->params[0], &request, &shown->trial, err);
}

static const struct member trial_report_body[] = {
    LEASE(report_request, held.),
    {AT(report_request, step), .read = codec_read_integer, .required = true, .min = 1, .max = 1000000},
    {AS(report_request, given.value, "value"), .read = codec_read_number, .min = -DBL_MAX, .max = DBL_MAX,
     .fallback = NAN},
    {AS(report_request, given.values, "values"), .read = codec_read_kept},
    {.name = NULL},
};

/* The values are read, so that their problems are named with those of the table. */
static enum status refuse_values(struct call *call, struct error *err)
{
    const struct report_request *request = call->input;
    struct study                 study;
    const double                *values;
    if (call->problems.len == 0 || request->given.values == NULL || !isnan(request->given.value))
        return STATUS_OK;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    struct reading in = show_reading(call, &study.spec, err);
    return codec_measured(&in, &request->given, "", &values);
}
const struct form form_trial_report = {
    .body = trial_report_body, .bytes = sizeof(struct report_request), .rest = refuse_values};

static const char *const decisions[] = {"continue", "stop", NULL};

static json_t *write_decision(const struct writing *out, const struct member *member)
{
    return json_string(member->names[*(const bool *)codec_at(out, member)]);
}

static const struct member decision_members[] = {
    {AS(report_reply, stop, "decision"), .read = codec_read_choice, .names = decisions, .write = write_decision},
    {AT(report_reply, reason), .read = codec_read_text},
    {AS(report_reply, next_step, "next_check_step"), .read = codec_read_integer, .nullable = true},
    {AT(report_reply, warning), .read = codec_read_text, .nullable = true},
    SHOW_NEXT(report_reply),
    {.name = NULL},
};
const struct shown shown_decision = {.members = decision_members};

enum status handle_trial_report(struct call *call, struct error *err)
{
    struct report_request *request = call->input;
    struct report_reply   *reply = CALL_RESULT(call, struct report_reply, 200, show_reply);
    TRY(handle_number(call, 1, &request->held.number, err));
    request->problems = &call->problems;
    return trial_report(call->app, &call->caller, call->params[0], request, reply, err);
}

/* ---- insight ---- */

struct best_get_input {
    int rule;
};
static const struct member best_get_query[] = {
    {AS(best_get_input, rule, "by"), .read = codec_read_choice, .names = best_rule_names},
    {.name = NULL},
};
const struct form form_best_get = {.query = best_get_query, .bytes = sizeof(struct best_get_input)};

static json_t *render_best(struct call *call, const void *result)
{
    const struct best_reply *shown = result;
    json_t                  *model = shown->rule != BEST_MODEL ? json_null()
                                                               : json_pack("{s:o, s:o, s:o}", "mean", codec_number(shown->mean),
                                                                           "stddev", codec_number(shown->stddev), "stddev_observed",
                                                                           codec_number(shown->stddev_observed));
    return json_pack("{s:o, s:s, s:s?, s:o, s:o}", "trial",
                     shown->trial.number == 0
                         ? json_null()
                         : codec_trial_json(&shown->study.spec, &shown->trial, show_clock(call, &shown->study, 0)),
                     "rule", best_rule_names[shown->rule], "noisy", shown->noisy, "model", model, "observed_best",
                     shown->observed == 0 ? json_null() : json_integer(shown->observed));
}

enum status handle_best_get(struct call *call, struct error *err)
{
    const struct best_get_input *input = call->input;
    return trial_best_by(call->app, &call->caller, call->params[0], (enum best_rule)input->rule,
                         CALL_RESULT(call, struct best_reply, 200, render_best), err);
}

static json_t *render_pareto(struct call *call, const void *result)
{
    (void)call;
    const struct pareto_reply *reply = result;
    const struct spec         *spec = &reply->study.spec;
    json_t                    *reference = reply->len == 0 ? json_null() : json_object();
    for (size_t k = 0; k < spec->metrics_len && reply->len > 0; k++)
        if (spec->kinds[k] == METRIC_OBJECTIVE)
            codec_put(&reference, spec->metrics[k].name, codec_number(reply->reference[k]));
    json_t *attained = reply->attains == NULL ? json_null() : json_array();
    for (size_t i = 0; i < reply->len && reply->attains != NULL; i++)
        if (reply->attains[i])
            codec_append(&attained, json_integer(reply->trials[i].number));
    return json_pack("{s:o, s:o, s:o, s:o}", "trials", show_trials(call, &reply->study, reply->trials, reply->len),
                     "hypervolume", codec_number(reply->hypervolume), "reference", reference, "attained", attained);
}

HANDLE_SHOW(pareto_get, trial_pareto, pareto_reply, render_pareto)

static const struct member history_members[] = {
    {AT(history_item, trial), .read = codec_read_integer},
    {AT(history_item, value), .read = codec_read_number},
    {AT(history_item, best), .read = codec_read_number, .nullable = true},
    {AS(history_item, at_ms, "at"), .write = codec_write_time},
    {.name = NULL},
};
const struct shown shown_history = {.members = history_members, PAGE_AS(history_page, items, "history")};

HANDLE_PAGE(history_get, trial_history, history_page, show_reply)

struct shown_predictions {
    struct predict_reply reply;
    struct study         study;
    size_t               len;
    enum quantity        quantity;
};

static json_t *render_predictions(struct call *call, const void *result)
{
    (void)call;
    const struct shown_predictions *shown = result;
    const struct predict_reply     *reply = &shown->reply;
    json_t                         *list = json_array();
    for (size_t i = 0; i < shown->len; i++) {
        json_t *item = json_pack("{s:o, s:o, s:o}", "mean", codec_number(reply->mean[i]), "stddev",
                                 codec_number(reply->sd[i]), "stddev_observed", codec_number(reply->sd_observed[i]));
        if (reply->feasible != NULL)
            codec_put(&item, "feasible", codec_number(reply->feasible[i]));
        codec_append(&list, item);
    }
    return show_of_quantity(&shown->study.spec, reply->metric, shown->quantity,
                            json_pack("{s:o, s:I, s:I, s:o}", "predictions", list, "revision",
                                      (json_int_t)reply->revision, "observations", (json_int_t)reply->observations,
                                      "diagnostics",
                                      reply->diagnostics == NULL ? json_null() : codec_load(reply->diagnostics, 0)));
}

static enum status read_predicted(struct call *call, struct error *err)
{
    struct trials_post_input *input = call->input;
    TRY(study_find(call->app, &call->caller, call->params[0], &input->study, err));
    return read_places(call, POINT_WHOLE, err);
}

enum status handle_predict_post(struct call *call, struct error *err)
{
    const struct trials_post_input *input = call->input;
    struct shown_predictions       *shown = CALL_RESULT(call, struct shown_predictions, 200, render_predictions);
    size_t                         *indexes = ARENA_NEW(&call->arena, size_t, input->len);
    if (indexes == NULL)
        return error_no_memory(err);
    shown->study = input->study;
    shown->len = input->len;
    for (size_t i = 0; i < shown->len; i++)
        indexes[i] = input->rows == NULL ? 0 : (size_t)input->rows[i];
    shown->quantity = (enum quantity)input->quantity;
    const struct predict_request request = {.points = input->at,
                                            .rows = input->rows == NULL ? NULL : indexes,
                                            .len = shown->len,
                                            .metric = input->metric,
                                            .quantity = shown->quantity};
    return insight_predict(call->app, &call->caller, call->params[0], &request, &shown->reply, err);
}
