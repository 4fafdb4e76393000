/* Studies as documents: export and import, JSON and CSV. */
#include "api/handlers/handlers.h"
#include "api/base/json_text.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "service/base/etag.h"
#include "service/codec/codec_transfer.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_write.h"
#include "service/portable/export.h"
#include "service/study/study.h"
#include "service/trial/observe.h"
#include "service/portable/trial_csv.h"
#include "service/portable/study_document.h"
#include "service/base/text.h"
#include "service/member/codec.h"
#include "service/portable/import.h"

#include <string.h>
#include <unistd.h>

static const char *const formats[] = {"ndjson", "json", "csv", NULL};

static const char *const purposes[] = {"spreadsheet", NULL};

struct export_get_input {
    const char *format, *purpose;
};
static const struct member export_get_query[] = {
    {AT(export_get_input, format), .read = codec_read_name, .names = formats},
    {AS(export_get_input, purpose, "for"), .read = codec_read_name, .names = purposes},
    {.name = NULL},
};
const struct form form_export_get = {.query = export_get_query, .bytes = sizeof(struct export_get_input)};

/* ---- export ---- */

/* The body that would create the study again, with the data of the earlier studies that it learns from. */
static json_t *study_json(const struct study *study, const struct transfer_sources *earlier)
{
    json_t *json = codec_write(codec_study_given_members, &(struct writing){.from = study});
    if (earlier->len > 0 && codec_transfer_write_whole(&study->spec, earlier->studies, earlier->len,
                                                       json_object_get(json, "algorithm")) != 0)
        json_decref(json), json = NULL;
    return json;
}

/* The text of json, which is freed.  NULL: no memory. */
static const char *text_of(struct call *call, json_t *json, size_t *length)
{
    const char *text = json == NULL ? NULL : json_text(json, &call->arena, length);
    json_decref(json);
    return text;
}

static const char *study_text(void *arg, const struct study *study, const struct transfer_sources *earlier,
                              size_t *length)
{
    return text_of(arg, study_json(study, earlier), length);
}

static const char *event_text(void *arg, const struct event_row *event, size_t *length)
{
    return text_of(arg, codec_write(show_event_members, &(struct writing){.from = event}), length);
}

static const char *trial_text(void *arg, const struct study *study, const struct trial *trial, size_t *length)
{
    struct call *call = arg;
    return text_of(call, codec_trial_json(&study->spec, trial, show_clock(call, study, 0)), length);
}

/* The document, which clients may keep like replies made in memory. */
static enum status show_document(struct call *call, struct error *err)
{
    struct study_document how = {.study = study_text, .event = event_text, .trial = trial_text, .arg = call};
    struct export_file    made;
    char                  etag[ETAG_BYTES];
    TRY(study_document_write(call->app, &call->caller, call->params[0], &how, &made, err));
    etag_of_digest(how.sha256, etag);
    call->reply.etag = arena_strndup(&call->arena, etag, strlen(etag));
    if (call->reply.etag == NULL) {
        close(made.file);
        return error_no_memory(err);
    }
    return reply_file(call, "application/json", made.file, made.bytes, err);
}

static enum status show_csv(struct call *call, bool for_spreadsheet, struct error *err)
{
    const char *text;
    size_t      length;
    TRY(export_csv(call->app, &call->caller,
                   &(struct csv_asked){.study = call->params[0], .for_spreadsheet = for_spreadsheet}, &text, &length,
                   err));
    reply_text(call, "text/csv; charset=utf-8", text, length);
    return STATUS_OK;
}

static enum status show_lines(struct call *call, struct error *err)
{
    struct export_file made;
    TRY(study_export(call->app, &call->caller, call->params[0], &made, err));
    return reply_file(call, "application/x-ndjson", made.file, made.bytes, err);
}

enum status handle_export_get(struct call *call, struct error *err)
{
    const struct export_get_input *input = call->input;
    const char                    *format = input->format != NULL ? input->format : call->wants_csv ? "csv" : "ndjson";
    if (strcmp(format, "csv") == 0)
        return show_csv(call, input->purpose != NULL, err);
    if (input->purpose != NULL)
        return error_set(err, STATUS_INVALID, "bad_combination", "?for", "a spreadsheet takes CSV: format=csv");
    if (strcmp(format, "ndjson") == 0)
        return show_lines(call, err);
    return show_document(call, err);
}

/* ---- import ---- */

struct import_post_input {
    const json_t *observations, *trials;
    const char   *id;
    bool          dry_run;
};
static const struct member import_post_query[] = {
    {AT(import_post_input, dry_run), .read = codec_read_bool},
    {.name = NULL},
};
static const struct member import_post_body[] = {
    {AT(import_post_input, observations), .read = codec_read_kept},
    {AT(import_post_input, trials), .read = codec_read_kept},
    {AT(import_post_input, id), .read = codec_read_text, .min = 1, .max = 64},
    CODEC_KNOWN("format"),
    CODEC_KNOWN("study"),
    CODEC_KNOWN("events"),
    {.name = NULL},
};

struct shown_import {
    struct observe_reply reply;
    bool                 dry_run;
};

static json_t *render_import(struct call *call, const void *result)
{
    (void)call;
    const struct shown_import *shown = result;
    return json_pack("{s:I, s:I, s:I, s:I, s:b}", "imported", (json_int_t)shown->reply.accepted, "queued",
                     (json_int_t)shown->reply.queued, "duplicates", (json_int_t)shown->reply.duplicates, "skipped",
                     (json_int_t)shown->reply.skipped, "dry_run", shown->dry_run);
}

struct batch {
    struct observations read;
    struct origin       origin;
    const char         *source;
};

static enum status read_export(struct call *call, const struct spec *spec, const json_t *trials, struct batch *batch,
                               struct error *err)
{
    const struct import_post_input *input = call->input;
    if (!json_is_array(trials))
        return error_set(err, STATUS_INVALID, "wrong_type", "/trials", "must be an array");
    if (json_array_size(trials) > STUDY_DOCUMENT_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/trials", "at most %d at once: send them in parts",
                         STUDY_DOCUMENT_MAX);
    batch->read.len = json_array_size(trials);
    batch->source = input->id == NULL ? "" : input->id;
    batch->origin = (struct origin){.where = "/trials"};
    return show_read_observations(call, spec, &(struct show_list){.list = trials, .read = study_document_trial},
                                  &batch->read.items, err);
}

/* A quoted cell may go over several lines: the item knows its own. */
static enum status keep_lines(struct call *call, struct batch *batch, struct error *err)
{
    size_t *lines = ARENA_NEW(&call->arena, size_t, batch->read.len + 1);
    if (lines == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < batch->read.len; i++)
        lines[i] = batch->read.items[i].line;
    batch->origin = (struct origin){.where = "/lines", .indexes = lines};
    return STATUS_OK;
}

static enum status read_batch(struct call *call, const struct spec *spec, struct batch *batch, struct error *err)
{
    const struct import_post_input *input = call->input;
    if (call->is_csv) {
        TRY(import_csv(spec, call->body, call->body_bytes, &call->arena, &batch->read, err));
        return keep_lines(call, batch, err);
    }
    if ((input->observations == NULL) == (input->trials == NULL))
        return error_set(err, STATUS_INVALID, "missing_member", "/observations",
                         "there must be either observations or the trials of an export");
    if (input->trials != NULL)
        return read_export(call, spec, input->trials, batch, err);
    TRY(show_check_list(input->observations, "/observations", STUDY_DOCUMENT_MAX, err));
    batch->read.len = json_array_size(input->observations);
    batch->origin = (struct origin){.where = "/observations"};
    return show_read_observations(call, spec, &SHOW_OBSERVATIONS(input->observations), &batch->read.items, err);
}

const struct form form_import_post = {
    .query = import_post_query, .body = import_post_body, .bytes = sizeof(struct import_post_input), .reads_on = true};

enum status handle_import_post(struct call *call, struct error *err)
{
    const struct import_post_input *input = call->input;
    struct shown_import            *shown = CALL_RESULT(call, struct shown_import, 200, render_import);
    struct batch                    batch = {.source = ""};
    struct study                    study;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(read_batch(call, &study.spec, &batch, err));
    TRY(study_document_identify(&study.spec, batch.source, batch.read.items, batch.read.len, &call->arena, err));
    shown->dry_run = call->caller.dry_run = input->dry_run;
    call->caller.import_source = batch.source;
    if (batch.read.len == 0)
        return STATUS_OK;
    enum status status = show_observe(call, batch.read.items, batch.read.len, &batch.origin, &shown->reply, err);
    bool is_undone = status == STATUS_CONFLICT && input->dry_run && err != NULL && strcmp(err->code, "dry_run") == 0;
    return is_undone ? STATUS_OK : status;
}

/* ---- whole exports, as they come back: see service/portable/import.h ---- */

static json_t *render_import_status(struct call *call, const void *result)
{
    (void)call;
    const struct import_status *status = result;
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o}", "sha256", status->sha256, "state",
                     status->is_complete ? "complete" : "uploading", "received_bytes", (json_int_t)status->bytes,
                     "study", codec_text(status->study), "game", codec_text(status->game), "source",
                     codec_text(status->source));
}

enum status handle_imports_put(struct call *call, struct error *err)
{
    struct import_status     *out = CALL_RESULT(call, struct import_status, 200, render_import_status);
    const struct import_piece piece = {.offset = call->offset,
                                       .total_bytes = call->total,
                                       .bytes = call->body,
                                       .length = call->body_bytes,
                                       .is_whole = call->is_whole};
    TRY(import_append(call->app, &call->caller, call->params[0], &piece, out, err));
    if (!out->is_complete)
        return STATUS_OK;
    call->reply.http = 201;
    call->reply.location = out->study != NULL ? text_format(&call->arena, "/v1/studies/%s", out->study)
                                              : text_format(&call->arena, "/v1/games/%s", out->game);
    return call->reply.location == NULL ? error_no_memory(err) : STATUS_OK;
}

HANDLE_SHOW(imports_get, import_find, import_status, render_import_status)
HANDLE_DELETE(imports_delete, import_drop)
