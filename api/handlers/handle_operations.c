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

static json_t *problem_json(const char *code, const char *detail)
{
    return code == NULL ? json_null() : json_pack("{s:s, s:s?}", "code", code, "detail", detail);
}

static json_t *render_operation(struct call *call, const void *result)
{
    const struct operation *operation = result;
    if (operation->retry_after_seconds > 0)
        call->reply.retry_after_seconds = operation->retry_after_seconds;
    if (call->reply.http == 202)
        call->reply.location = text_format(&call->arena, "/v1/operations/%s", operation->id);
    bool is_good = operation->state == OPERATION_SUCCEEDED;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id", operation->id, "study", operation->study,
                     "state", operation_state_names[operation->state], "progress", progress_json(&operation->progress),
                     "result", is_good ? trials_json(call, operation) : json_null(), "problem",
                     problem_json(operation->code, operation->detail), "created_at",
                     codec_time_json(operation->created_ms), "finished_at", codec_time_json(operation->finished_ms));
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

/* ---- list ---- */

struct operations_get_input {
    const char *study, *cursor;
    int64_t     states, limit;
};
static const struct member operations_get_query[] = {
    {AT(operations_get_input, study), .read = codec_read_text, .min = 1, .max = 64},
    {AS(operations_get_input, states, "state"), .is_many = true, .read = codec_read_set,
     .names = operation_state_names},
    PAGED(operations_get_input),
    {.name = NULL},
};
const struct form form_operations_get = {.query = operations_get_query, .bytes = sizeof(struct operations_get_input)};

static json_t *item_json(const struct operation_item *item)
{
    json_t *trials = json_array();
    for (size_t i = 0; i < item->len; i++)
        codec_append(&trials, json_integer(item->trials[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "id", item->id, "study", item->study,
                     "state", operation_state_names[item->state], "worker", item->worker, "count",
                     (json_int_t)item->count, "progress", progress_json(&item->progress), "trials", trials, "problem",
                     problem_json(item->code, item->detail), "created_at", codec_time_json(item->created_ms),
                     "finished_at", codec_time_json(item->finished_ms));
}

static json_t *render_operations(struct call *call, const void *result)
{
    const struct operation_page *page = result;
    json_t                      *list = json_array();
    (void)call;
    for (size_t i = 0; i < page->len; i++)
        codec_append(&list, item_json(&page->operations[i]));
    return show_page("operations", list, page->next_cursor);
}

enum status handle_operations_get(struct call *call, struct error *err)
{
    const struct operations_get_input *input = call->input;
    const char                        *bound = call->caller.resource[0] == '\0' ? NULL : call->caller.resource;
    const struct operation_filter      filter = {.study = input->study == NULL ? bound : input->study,
                                                 .states = input->states,
                                                 .cursor = input->cursor,
                                                 .limit = input->limit};
    return operation_list(call->app, &call->caller, &filter,
                          CALL_RESULT(call, struct operation_page, 200, render_operations), err);
}

/* ---- one ---- */

enum status handle_operation_get(struct call *call, struct error *err)
{
    return operation_find(call->app, &call->caller, call->params[0],
                          CALL_RESULT(call, struct operation, 200, render_operation), err);
}

enum status handle_operation_delete(struct call *call, struct error *err)
{
    struct operation cancelled;
    call->reply.http = 204;
    return operation_cancel(call->app, &call->caller, call->params[0], &cancelled, err);
}
