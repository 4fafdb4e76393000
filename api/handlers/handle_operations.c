/* Asynchronous suggestions: RFC 7240's respond-async and wait, and the operations that come of them. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "service/base/text.h"
#include "service/study/operation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WAIT_MAX_SECONDS = 60 };

static json_t *trials_json(struct call *call, const struct operation *operation)
{
    return show_suggested(call, operation->spec, operation->trials, operation->len, operation->revision);
}

static json_t *progress_json(const struct plan_state *progress)
{
    if (progress->horizon == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o}", "horizon", (json_int_t)progress->horizon, "nodes",
                     codec_number(progress->nodes), "gap", codec_number(progress->gap));
}

static json_t *render_operation(struct call *call, const void *result)
{
    const struct operation *operation = result;
    if (operation->retry_after_seconds > 0)
        call->reply.retry_after_seconds = operation->retry_after_seconds;
    if (call->reply.http == 202)
        call->reply.location = text_format(&call->arena, "/v1/operations/%s", operation->id);
    bool is_good = operation->state == OPERATION_SUCCEEDED, is_bad = operation->code != NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id", operation->id, "study", operation->study, "state",
        operation_state_names[operation->state], "progress", progress_json(&operation->progress), "result",
        is_good ? trials_json(call, operation) : json_null(), "problem",
        is_bad ? json_pack("{s:s, s:s?}", "code", operation->code, "detail", operation->detail) : json_null(),
        "created_at", codec_time_json(operation->created_ms), "finished_at", codec_time_json(operation->finished_ms));
}

/* What a suggest answers, of an operation that was quick enough. */
static json_t *render_trials(struct call *call, const void *result)
{
    return trials_json(call, result);
}

/* Milliseconds that the client waits, or -1: it prefers to wait for the end.  What is not known is ignored. */
static int64_t preferred_wait_ms(const char *prefer)
{
    int64_t wait_ms = -1;
    while (prefer != NULL && *prefer != '\0') {
        prefer += strspn(prefer, " \t,");
        size_t length = strcspn(prefer, " \t,;");
        if (length == strlen("respond-async") && strncasecmp(prefer, "respond-async", length) == 0)
            wait_ms = wait_ms < 0 ? 0 : wait_ms;
        if (length > strlen("wait=") && strncasecmp(prefer, "wait=", 5) == 0 &&
            strspn(prefer + 5, "0123456789") == length - 5)
            wait_ms = length > 5 + 4 ? WAIT_MAX_SECONDS * 1000 : strtol(prefer + 5, NULL, 10) * 1000;
        prefer += strcspn(prefer, ",");
    }
    return wait_ms > WAIT_MAX_SECONDS * 1000 ? WAIT_MAX_SECONDS * 1000 : wait_ms;
}

enum status handle_suggest_behind(struct call *call, const struct suggest_request *request, bool *taken,
                                  struct error *err)
{
    int64_t wait_ms = preferred_wait_ms(call->prefer);
    *taken = wait_ms >= 0;
    if (!*taken)
        return STATUS_OK;
    struct operation *operation = CALL_RESULT(call, struct operation, 202, render_operation);
    TRY(operation_begin(call->app, &call->caller, call->params[0],
                        &(struct operation_new){.request = request, .wait_ms = wait_ms}, operation, err));
    if (call->caller.idempotency.replayed)
        return STATUS_OK;
    call->reply.preference =
        wait_ms > 0 ? text_format(&call->arena, "wait=%lld", (long long)wait_ms / 1000) : "respond-async";
    bool is_done = operation->state == OPERATION_SUCCEEDED;
    call->reply.http = is_done ? 200 : 202;
    call->reply.location = NULL; // of the 202 that was kept for a repeat
    call->reply.retry_after_seconds = is_done ? 0 : REPLY_POLL_SECONDS;
    call->render = is_done ? render_trials : render_operation;
    return STATUS_OK;
}

enum status handle_operations_get(struct call *call, struct error *err)
{
    return operation_find(call->app, &call->caller, call->params[0],
                          CALL_RESULT(call, struct operation, 200, render_operation), err);
}

enum status handle_operations_delete(struct call *call, struct error *err)
{
    struct operation cancelled;
    call->reply.http = 204;
    return operation_cancel(call->app, &call->caller, call->params[0], &cancelled, err);
}
