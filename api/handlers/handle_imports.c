/* Whole exports, as they come back: see service/portable/import.h. */
#include "api/handlers/handlers.h"
#include "service/base/text.h"
#include "service/member/codec.h"
#include "service/portable/import.h"

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
