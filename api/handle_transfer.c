/* Studies as documents: export and import, JSON and CSV. */
#include "api/handlers.h"
#include "api/reply.h"
#include "api/show.h"
#include "service/codec_meta.h"
#include "service/codec_read.h"
#include "service/meta.h"

#include <string.h>

enum { IMPORT_MAX = 10000, EXPORT_PAGE = 1000, EXPORT_NUMBERS_MAX = 1 << 21 };

static const char *const formats[] = {"json", "csv", NULL};

struct export_get_input {
    const char *format;
};
static const struct field export_get_query[] = {
    {AT(export_get_input, format), .kind = FIELD_CHOICE, .choices = formats},
    {.name = NULL},
};
const struct form form_export_get = {.query = export_get_query, .bytes = sizeof(struct export_get_input)};

/* ---- export ---- */

struct shown_export {
    struct study        study;
    struct meta_sources meta;
    struct event_page   events;
    struct trial_page   trials;
};

/* What would create the study again, with the data of the earlier studies that it learns from. */
static json_t *study_json(const struct study *study, const struct meta_sources *meta)
{
    json_t *json = codec_spec_json(&study->spec), *algorithm = json_object_get(json, "algorithm");
    if (meta->len > 0 && codec_meta_write_whole(&study->spec, meta->studies, meta->len, algorithm) != 0)
        json_decref(json), json = NULL;
    json_t *labels = study->labels == NULL ? json_object() : json_loads(study->labels, 0, NULL);
    json_t *budget =
        study->budget_trials == 0 ? json_null() : json_pack("{s:I}", "trials", (json_int_t)study->budget_trials);
    json_t *own = json_pack("{s:s, s:o, s:o, s:s?}", "name", study->name, "labels", labels, "budget", budget, "notes",
                            study->notes == NULL ? "" : study->notes);
    if (json == NULL || own == NULL || json_object_update(own, json) != 0) {
        json_decref(own);
        own = NULL;
    }
    json_decref(json);
    return own;
}

static json_t *render_export(struct call *call, const void *result)
{
    const struct shown_export *shown = result;
    return json_pack("{s:s, s:o, s:o, s:o}", "format", "gnomon-study-1", "study",
                     study_json(&shown->study, &shown->meta), "events", show_events(&shown->events), "trials",
                     show_trials(call, &shown->study.spec, shown->trials.trials, shown->trials.len));
}

/* Every trial that there was when the study was read. */
static enum status read_trials(struct call *call, struct shown_export *shown, struct error *err)
{
    size_t              room = (size_t)shown->study.trials_total, len = space_point_len(&shown->study.spec.space);
    struct trial_filter filter = {.limit = EXPORT_PAGE, .with_curves = true};
    struct trial_page   page;
    if (shown->study.spec.space.kind == SPACE_IMAGE && room > EXPORT_NUMBERS_MAX / len)
        return error_set(err, STATUS_TOO_LARGE, "export_too_large", "",
                         "%zu images are too much for one document: read the trials page by page", room);
    shown->trials.trials = ARENA_NEW(&call->arena, struct trial, room + 1);
    if (shown->trials.trials == NULL)
        return app_no_memory(err);
    do {
        TRY(trial_list(call->app, &call->caller, call->params[0], &filter, &page, err));
        for (size_t i = 0; i < page.len && shown->trials.len < room; i++)
            shown->trials.trials[shown->trials.len++] = page.trials[i];
        filter.cursor = page.next_cursor;
    } while (filter.cursor != NULL && shown->trials.len < room);
    return STATUS_OK;
}

static enum status show_csv(struct call *call, struct error *err)
{
    const char *text;
    size_t      length;
    TRY(export_csv(call->app, &call->caller, call->params[0], &text, &length, err));
    reply_text(call, "text/csv; charset=utf-8", text, length);
    return STATUS_OK;
}

enum status handle_export_get(struct call *call, struct error *err)
{
    const struct export_get_input *input = call->input;
    if (input->format != NULL && strcmp(input->format, "csv") == 0)
        return show_csv(call, err);
    struct shown_export      *shown = CALL_RESULT(call, struct shown_export, 200, render_export);
    const struct event_filter filter = {.study = call->params[0]};
    TRY(study_find(call->app, &call->caller, call->params[0], &shown->study, err));
    TRY(meta_find(call->app, &call->caller, call->params[0], &shown->study.spec, &shown->meta, err));
    TRY(event_list(call->app, &call->caller, &filter, &shown->events, err));
    return read_trials(call, shown, err);
}

/* ---- import ---- */

struct import_post_input {
    const json_t *observations, *trials, *ignored;
    bool          dry_run;
};
static const struct field import_post_query[] = {
    {AT(import_post_input, dry_run), .kind = FIELD_BOOL},
    {.name = NULL},
};
static const struct field import_post_body[] = {
    {AT(import_post_input, observations), .kind = FIELD_JSON},
    {AT(import_post_input, trials), .kind = FIELD_JSON},
    {.name = "format", .offset = offsetof(struct import_post_input, ignored), .kind = FIELD_JSON},
    {.name = "study", .offset = offsetof(struct import_post_input, ignored), .kind = FIELD_JSON},
    {.name = "events", .offset = offsetof(struct import_post_input, ignored), .kind = FIELD_JSON},
    {.name = NULL},
};
const struct form form_import_post = {
    .query = import_post_query, .body = import_post_body, .bytes = sizeof(struct import_post_input)};

struct shown_import {
    struct observe_reply reply;
    size_t               skipped;
    bool                 dry_run;
};

static json_t *render_import(struct call *call, const void *result)
{
    (void)call;
    const struct shown_import *shown = result;
    return json_pack("{s:I, s:I, s:I, s:b}", "imported", (json_int_t)shown->reply.accepted, "duplicates",
                     (json_int_t)shown->reply.duplicates, "skipped", (json_int_t)shown->skipped, "dry_run",
                     shown->dry_run);
}

/* A finished trial of an export as the observation that reports it; NULL when there is nothing to report. */
static json_t *trial_observation(const json_t *trial)
{
    static const char *const one[] = {"point", "candidate", "value", "stddev", "reason", "external_id"};
    static const char *const several[] = {"point", "candidate", "values", "stddevs", "reason", "external_id"};
    static const char *const graph[] = {"sites", "values", "reason", "external_id", "sites", "sites"};
    bool                     is_graph = json_is_array(json_object_get(trial, "sites"));
    const char *const       *members = json_object_size(json_object_get(trial, "values")) > 1 ? several : one;
    members = is_graph ? graph : members;
    const char *state = json_string_value(json_object_get(trial, "state"));
    bool        is_value = state != NULL && strcmp(state, "completed") == 0;
    if (!is_value && (state == NULL || (strcmp(state, "failed") != 0 && strcmp(state, "infeasible") != 0)))
        return NULL;
    json_t *observation = is_value ? json_object() : json_pack("{s:s}", "state", state);
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        json_t *member = json_object_get(trial, members[i]);
        if (member != NULL && !json_is_null(member))
            (void)json_object_set(observation, members[i], member);
    }
    return observation;
}

struct batch {
    struct observation *items;
    size_t              len, skipped;
    struct origin       origin;
};

/* The finished trials of an export; what has no result, running and stopped trials, is skipped. */
static enum status read_export(struct call *call, const struct spec *spec, const json_t *trials, struct batch *batch,
                               struct error *err)
{
    size_t  len = json_array_size(trials);
    size_t *indexes = ARENA_NEW(&call->arena, size_t, len + 1);
    json_t *list = json_array();
    char    path[CODEC_PATH_MAX];
    if (indexes == NULL || list == NULL)
        return app_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        const json_t *trial = json_array_get(trials, i);
        if (!json_is_string(json_object_get(trial, "state"))) {
            codec_read_path_item(path, "/trials", i);
            json_decref(list);
            return error_set(err, STATUS_INVALID, "missing_member", path, "a trial has a state");
        }
        json_t *observation = trial_observation(trial);
        if (observation == NULL || json_array_append_new(list, observation) != 0)
            continue;
        indexes[batch->len++] = i;
    }
    batch->skipped = len - batch->len;
    batch->origin = (struct origin){.where = "/trials", .indexes = indexes};
    enum status status = show_read_observations(call, spec, list, "/trials", &batch->items, err);
    json_decref(list);
    return status;
}

/* A line without a result is skipped, a quoted cell may go over several: the item knows its line. */
static enum status keep_lines(struct call *call, struct batch *batch, struct error *err)
{
    size_t *lines = ARENA_NEW(&call->arena, size_t, batch->len + 1);
    if (lines == NULL)
        return app_no_memory(err);
    for (size_t i = 0; i < batch->len; i++)
        lines[i] = batch->items[i].line;
    batch->origin = (struct origin){.where = "/lines", .indexes = lines};
    return STATUS_OK;
}

static enum status read_batch(struct call *call, const struct spec *spec, struct batch *batch, struct error *err)
{
    const struct import_post_input *input = call->input;
    if (call->is_csv) {
        TRY(import_csv(spec, call->body, call->body_bytes, &call->arena, &batch->items, &batch->len, err));
        return keep_lines(call, batch, err);
    }
    if ((input->observations == NULL) == (input->trials == NULL))
        return error_set(err, STATUS_INVALID, "missing_member", "/observations",
                         "there must be either observations or the trials of an export");
    if (input->trials != NULL && !json_is_array(input->trials))
        return error_set(err, STATUS_INVALID, "wrong_type", "/trials", "must be an array");
    if (input->trials != NULL)
        return read_export(call, spec, input->trials, batch, err);
    TRY(show_check_list(input->observations, "/observations", IMPORT_MAX, err));
    batch->len = json_array_size(input->observations);
    batch->origin = (struct origin){.where = "/observations"};
    return show_read_observations(call, spec, input->observations, "/observations", &batch->items, err);
}

enum status handle_import_post(struct call *call, struct error *err)
{
    const struct import_post_input *input = call->input;
    struct shown_import            *shown = CALL_RESULT(call, struct shown_import, 200, render_import);
    struct batch                    batch = {0};
    struct study                    study;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(read_batch(call, &study.spec, &batch, err));
    shown->dry_run = call->caller.dry_run = input->dry_run;
    shown->skipped = batch.skipped;
    call->caller.is_import = true;
    if (batch.len == 0)
        return STATUS_OK;
    enum status status = show_observe(call, batch.items, batch.len, &batch.origin, &shown->reply, err);
    bool is_undone = status == STATUS_CONFLICT && input->dry_run && err != NULL && strcmp(err->code, "dry_run") == 0;
    return is_undone ? STATUS_OK : status;
}
