/* The matrix of a candidates study: its manifest, its upload, its state. */
#include "api/handlers/handlers.h"
#include "service/member/codec.h"
#include "api/base/json_text.h"
#include "service/base/npy.h"
#include "service/candidates/candidates.h"
#include "service/study/study.h"

#include <string.h>

static const char *const mechanisms[] = {"none", NULL};
static const char *const dtypes[] = {"<f8", "<f4", NULL};

/* The description of an open study's file.  A private study's manifest is read as a whole, by other code. */
struct open_manifest {
    const char *mechanism, *dtype, *sha256;
    int64_t     rows, columns, bytes;
};
static const struct member open_fields[] = {
    {AT(open_manifest, mechanism), .read = codec_read_name, .names = mechanisms},
    {AT(open_manifest, rows), .read = codec_read_integer, .required = true, .min = 1, .max = SPACE_CANDIDATES_MAX},
    {AT(open_manifest, columns), .read = codec_read_integer, .required = true, .min = 1, .max = SPACE_COLUMNS_MAX},
    {AT(open_manifest, bytes), .read = codec_read_integer, .required = true, .min = 1, .max = 1e12},
    {AT(open_manifest, dtype), .read = codec_read_name, .required = true, .names = dtypes},
    {AT(open_manifest, sha256), .read = codec_read_text, .required = true, .min = 64, .max = 64},
    {.name = NULL},
};

static const struct member candidates_post_body[] = {
    CODEC_KNOWN("mechanism"),
    CODEC_KNOWN("differentially_private"),
    CODEC_KNOWN("rows"),
    CODEC_KNOWN("columns"),
    CODEC_KNOWN("dtype"),
    CODEC_KNOWN("bytes"),
    CODEC_KNOWN("sha256"),
    CODEC_KNOWN("dataset_tag"),
    CODEC_KNOWN("parameters"),
    CODEC_KNOWN("outcomes"),
    CODEC_KNOWN("total"),
    CODEC_KNOWN("ledger"),
    CODEC_KNOWN("tool"),
    CODEC_KNOWN("created_at"),
    CODEC_KNOWN("key"),
    CODEC_KNOWN("signature"),
    {.name = NULL},
};

/* A write token manages open data; a private study's data are its curator's. */
static enum status check_owner(const struct call *call, const struct study *study, struct error *err)
{
    return study->spec.is_private && call->caller.scope == SCOPE_WRITE
               ? error_set(err, STATUS_FORBIDDEN, "forbidden", "", "the data of a private study are its curator's")
               : STATUS_OK;
}

/* The members in the order of the table, so that the same manifest is the same text. */
static const char *open_text(struct call *call)
{
    size_t  length;
    json_t *json = json_pack("{s:s}", "mechanism", "none");
    for (const struct member *member = open_fields; member->name != NULL; member++) {
        json_t *value = json_object_get(call->json, member->name);
        if (value != NULL)
            codec_put(&json, member->name, json_incref(value));
    }
    const char *text = json_text(json, &call->arena, &length);
    json_decref(json);
    return text;
}

static enum status read_open(struct call *call, struct manifest *out, struct error *err)
{
    struct open_manifest *input = call->input;
    schema_read(open_fields, call->json, input, &call->problems);
    TRY(problems_first(&call->problems, err));
    if (strspn(input->sha256, "0123456789abcdef") != 64)
        return error_set(err, STATUS_INVALID, "out_of_range", "/sha256", "must be 64 lower-case hexadecimal digits");
    *out = (struct manifest){.rows = input->rows,
                             .columns = input->columns,
                             .bytes = input->bytes,
                             .type = npy_type_find(input->dtype),
                             .text = open_text(call)};
    memcpy(out->sha256, input->sha256, sizeof out->sha256);
    return out->text == NULL ? error_no_memory(err) : STATUS_OK;
}

const struct form form_candidates_post = {
    .body = candidates_post_body, .bytes = sizeof(struct open_manifest), .reads_on = true};

/* A manifest that the store made up for an undeclared file has no digest and is not shown. */
static json_t *manifest_json(const char *text)
{
    json_t *json = text == NULL ? NULL : codec_load(text, 0);
    if (json != NULL && json_object_get(json, "sha256") != NULL)
        return json;
    json_decref(json);
    return json_null();
}

static json_t *render_status(struct call *call, const void *result)
{
    const struct candidates_status *status = result;
    call->reply.is_final = status->complete;
    const char *state = status->complete ? "complete" : status->locked ? "locked" : "uploading";
    return json_pack("{s:s, s:I, s:I, s:o}", "state", state, "received_bytes", (json_int_t)status->received_bytes,
                     "bytes", (json_int_t)status->bytes, "manifest", manifest_json(status->manifest));
}

enum status handle_candidates_post(struct call *call, struct error *err)
{
    struct candidates_status *out = CALL_RESULT(call, struct candidates_status, 201, render_status);
    struct study              study;
    struct manifest           manifest;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(check_owner(call, &study, err));
    if (study.spec.is_private)
        TRY(problems_first(&call->problems, err));
    if (study.spec.is_private)
        TRY(candidates_read_manifest(&study, call->body, call->body_bytes, &call->arena, &manifest, err));
    else
        TRY(read_open(call, &manifest, err));
    TRY(candidates_status(call->app, &call->caller, call->params[0], out, err));
    if (out->manifest != NULL)
        call->reply.http = 200;
    return candidates_declare(call->app, &call->caller, call->params[0], &manifest, out, err);
}

/* Before any of the body is read: would its first byte be accepted? */
static enum status check_upload(struct call *call, struct candidates_status *out, struct error *err)
{
    struct study study;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(check_owner(call, &study, err));
    TRY(candidates_status(call->app, &call->caller, call->params[0], out, err));
    if (out->complete)
        return error_set(err, STATUS_CONFLICT, "candidates_complete", "", "the study has its candidates");
    if (out->locked)
        return error_set(err, STATUS_CONFLICT, "uploads_locked", "",
                         "too many files were refused within an hour; the study's owner can resume it");
    if (out->manifest == NULL && (study.spec.is_private || call->offset != 0))
        return error_set(err, STATUS_CONFLICT, "manifest_required", "", "post the manifest first");
    if (call->offset != out->received_bytes)
        return error_set(err, STATUS_CONFLICT, "wrong_offset", "", "the next byte is number %lld",
                         (long long)out->received_bytes);
    return STATUS_OK;
}

enum status handle_candidates_put(struct call *call, struct error *err)
{
    struct candidates_status *out = CALL_RESULT(call, struct candidates_status, 200, render_status);
    if (call->body_bytes == 0)
        return check_upload(call, out, err);
    const struct candidates_piece piece = {
        .offset = call->offset, .total_bytes = call->total, .bytes = call->body, .length = call->body_bytes};
    return candidates_append(call->app, &call->caller, call->params[0], &piece, out, err);
}

HANDLE_SHOW(candidates_get, candidates_status, candidates_status, render_status)
