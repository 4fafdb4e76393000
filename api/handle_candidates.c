/* The matrix of a candidates study: its manifest, its upload, its state, and what is promised about it. */
#include "api/handlers.h"
#include "api/show.h"
#include "api/write.h"
#include "service/candidates.h"

#include <string.h>

static const char *const mechanisms[] = {"projection-only", "none", NULL};
static const char *const dtypes[] = {"<f8", "<f4", NULL};

struct projection_parameters {
    double  epsilon, delta, omega, sigma_min;
    bool    lifted;
    int64_t dims_advised;
};
#define NUMBER(member, least, most)                                                                          \
    {                                                                                                        \
        AT(projection_parameters, member), .kind = FIELD_NUMBER, .required = true, .min = least, .max = most \
    }
static const struct field parameters_fields[] = {
    NUMBER(epsilon, 0, 1e308),
    NUMBER(delta, 0, 1),
    NUMBER(omega, 0, 1e308),
    NUMBER(sigma_min, 0, 1e308),
    {AT(projection_parameters, lifted), .kind = FIELD_BOOL, .required = true},
    {AT(projection_parameters, dims_advised), .kind = FIELD_INT, .required = true, .max = SPACE_COLUMNS_MAX},
    {.name = NULL},
};

struct candidates_post_input {
    const char                  *mechanism, *tool, *created_at, *dtype, *sha256;
    int64_t                      rows, columns, bytes;
    struct projection_parameters parameters;
    const json_t                *document;
};
static const struct field candidates_post_body[] = {
    {AT(candidates_post_input, mechanism), .kind = FIELD_CHOICE, .choices = mechanisms},
    {AT(candidates_post_input, tool), .kind = FIELD_STRING, .min = 1, .max = 128},
    {AT(candidates_post_input, created_at), .kind = FIELD_STRING, .min = 1, .max = 64},
    {AT(candidates_post_input, rows), .kind = FIELD_INT, .required = true, .min = 1, .max = SPACE_CANDIDATES_MAX},
    {AT(candidates_post_input, columns), .kind = FIELD_INT, .required = true, .min = 1, .max = SPACE_COLUMNS_MAX},
    {AT(candidates_post_input, bytes), .kind = FIELD_INT, .required = true, .min = 1, .max = 1e12},
    {AT(candidates_post_input, dtype), .kind = FIELD_CHOICE, .required = true, .choices = dtypes},
    {AT(candidates_post_input, sha256), .kind = FIELD_STRING, .required = true, .min = 64, .max = 64},
    {.name = "parameters", .offset = offsetof(struct candidates_post_input, document), .kind = FIELD_JSON},
    {.name = NULL},
};
const struct form form_candidates_post = {.body = candidates_post_body, .bytes = sizeof(struct candidates_post_input)};

/* A write token manages open data; a private study's data are its curator's. */
static enum status check_owner(const struct call *call, const struct study *study, struct error *err)
{
    return study->spec.is_private && call->caller.scope == SCOPE_WRITE
               ? error_set(err, STATUS_FORBIDDEN, "forbidden", "", "the data of a private study are its curator's")
               : STATUS_OK;
}

static enum status check_manifest(struct call *call, const struct study *study, struct error *err)
{
    struct candidates_post_input *input = call->input;
    const struct {
        const char *value, *where;
    } private_members[] = {
        {input->mechanism, "/mechanism"}, {input->tool, "/tool"}, {input->created_at, "/created_at"}};
    if (strspn(input->sha256, "0123456789abcdef") != 64)
        return error_set(err, STATUS_INVALID, "out_of_range", "/sha256", "must be 64 lower-case hexadecimal digits");
    if (input->document != NULL)
        schema_read(parameters_fields, input->document, "/parameters", &input->parameters, &call->problems);
    for (size_t i = 0; study->spec.is_private && i < 3; i++)
        if (private_members[i].value == NULL)
            return error_set(err, STATUS_INVALID, "missing_member", private_members[i].where,
                             "a private study needs the whole manifest");
    if (study->spec.is_private && input->document == NULL)
        return error_set(err, STATUS_INVALID, "missing_member", "/parameters",
                         "a private study needs the whole manifest");
    if (study->spec.is_private && strcmp(input->mechanism, "projection-only") != 0)
        return error_set(err, STATUS_INVALID, "private_study", "/mechanism",
                         "a private study takes projected data only");
    return problems_first(&call->problems, err);
}

/* The members in the order of the table, so that the same manifest is the same text. */
static json_t *ordered(const struct field *fields, const json_t *from)
{
    json_t *to = json_object();
    for (; fields->name != NULL; fields++) {
        json_t *value = json_object_get(from, fields->name);
        if (value != NULL)
            (void)json_object_set(to, fields->name, value);
    }
    return to;
}

static const char *canonical(struct call *call)
{
    const struct candidates_post_input *input = call->input;
    size_t                              length;
    json_t                             *json = ordered(candidates_post_body, call->json);
    if (input->mechanism == NULL)
        (void)json_object_set_new(json, "mechanism", json_string("none"));
    if (input->document != NULL)
        (void)json_object_set_new(json, "parameters", ordered(parameters_fields, input->document));
    const char *text = write_json(json, &call->arena, &length);
    json_decref(json);
    return text;
}

/* A manifest that the store made up for an undeclared file has no digest and is not shown. */
static json_t *manifest_json(const char *text)
{
    json_t *json = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (json != NULL && json_object_get(json, "sha256") != NULL)
        return json;
    json_decref(json);
    return json_null();
}

static json_t *render_status(struct call *call, const void *result)
{
    (void)call;
    const struct candidates_status *status = result;
    return json_pack("{s:s, s:I, s:I, s:o}", "state", status->complete ? "complete" : "uploading", "received_bytes",
                     (json_int_t)status->received_bytes, "bytes", (json_int_t)status->bytes, "manifest",
                     manifest_json(status->manifest));
}

enum status handle_candidates_post(struct call *call, struct error *err)
{
    const struct candidates_post_input *input = call->input;
    struct candidates_status           *out = CALL_RESULT(call, struct candidates_status, 201, render_status);
    struct study                        study;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    TRY(check_owner(call, &study, err));
    TRY(check_manifest(call, &study, err));
    struct manifest manifest = {.rows = input->rows,
                                .columns = input->columns,
                                .bytes = input->bytes,
                                .is_f4 = strcmp(input->dtype, "<f4") == 0,
                                .text = canonical(call)};
    memcpy(manifest.sha256, input->sha256, sizeof manifest.sha256);
    if (manifest.text == NULL)
        return app_no_memory(err);
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
    return candidates_append(call->app, &call->caller, call->params[0], call->offset, call->total, call->body,
                             call->body_bytes, out, err);
}

enum status handle_candidates_get(struct call *call, struct error *err)
{
    return candidates_status(call->app, &call->caller, call->params[0],
                             CALL_RESULT(call, struct candidates_status, 200, render_status), err);
}

/* ---- privacy ---- */

struct shown_privacy {
    struct study             study;
    struct candidates_status status;
};

static json_t *render_privacy(struct call *call, const void *result)
{
    (void)call;
    const struct shown_privacy *shown = result;
    bool                        is_private = shown->study.spec.is_private;
    json_t                     *manifest = manifest_json(shown->status.manifest);
    json_t                     *parameters = json_object_get(manifest, "parameters");
    json_t                     *json = json_pack(
                            "{s:s, s:n, s:s, s:O?, s:s}", "mechanism", is_private ? "projection-only" : "none", "guarantee", "statement",
        is_private ? "The server holds a random projection of the data and the reported values. A projection alone "
                                         "hides the data from a casual reader, but it carries no differential privacy guarantee."
                                       : "The server sees the data of this study as they are.",
                            "parameters", is_private ? parameters : NULL, "trust",
        is_private ? "Outsourced: the curator keeps the data and the secret of the projection; the server is trusted "
                                         "with the projected matrix and with the values."
                                       : "The server is trusted with everything that it receives.");
    json_decref(manifest);
    return json;
}

enum status handle_privacy_get(struct call *call, struct error *err)
{
    struct shown_privacy *shown = CALL_RESULT(call, struct shown_privacy, 200, render_privacy);
    TRY(study_find(call->app, &call->caller, call->params[0], &shown->study, err));
    if (shown->study.spec.space.kind != SPACE_CANDIDATES)
        return STATUS_OK;
    return candidates_status(call->app, &call->caller, call->params[0], &shown->status, err);
}
