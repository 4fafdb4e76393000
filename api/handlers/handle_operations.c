/* Suggestions that wait for something to hand out, or go on after their request: RFC 7240's wait and respond-async, and
 * the operations that come of the latter. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "service/base/text.h"
#include "service/codec/codec_annotations.h"
#include "service/study/study.h"
#include "service/suggest/operation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WAIT_MAX_SECONDS = 60 };

static json_t *trials_json(struct call *call, const struct operation *operation)
{
    const struct suggest_reply reply = {
        .study = *operation->of, .trials = operation->trials, .len = operation->len, .revision = operation->revision};
    return show_suggested(call, &reply);
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

/* The members that one operation and a list's have. */
static json_t *operation_json(const struct operation *operation)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "id", operation->id, "study", operation->study, "state",
                     operation_state_names[operation->state], "progress", progress_json(&operation->progress),
                     "problem", problem_json(operation->code, operation->detail), "created_at",
                     codec_time_json(operation->created_ms), "finished_at", codec_time_json(operation->finished_ms));
}

static json_t *render_operation(struct call *call, const void *result)
{
    const struct operation *operation = result;
    json_t                 *json = operation_json(operation);
    if (operation->retry_after_seconds > 0)
        call->reply.retry_after_seconds = operation->retry_after_seconds;
    if (call->reply.http == 202)
        call->reply.location = text_format(&call->arena, "/v1/operations/%s", operation->id);
    codec_put(&json, "result", operation->state == OPERATION_SUCCEEDED ? trials_json(call, operation) : json_null());
    return json;
}

static json_t *render_suggest(struct call *call, const void *result)
{
    return show_suggested(call, result);
}

/* Renders a large reply as its revision and the numbers of its trials. */
static json_t *render_numbers(struct call *call, const void *result)
{
    const struct suggest_reply *reply = result;
    json_t                     *list = json_array();
    (void)call;
    codec_append(&list, json_integer(reply->revision));
    for (size_t i = 0; i < reply->len; i++)
        codec_append(&list, json_integer(reply->trials[i].number));
    return list;
}

/* As trials_json, for an operation that was quick enough to be answered at once. */
static json_t *render_trials(struct call *call, const void *result)
{
    return trials_json(call, result);
}

/* ---- suggest ---- */

/* RFC 7240: how long the client waits for an answer, and whether it takes a 202 then.  What is not known is ignored. */
struct preference {
    int64_t wait_seconds; /* 0: it does not */
    bool    is_async;
};

static struct preference read_preference(const char *prefer)
{
    struct preference found = {0};
    while (prefer != NULL && *prefer != '\0') {
        prefer += strspn(prefer, " \t,");
        size_t length = strcspn(prefer, " \t,;");
        found.is_async |= length == strlen("respond-async") && strncasecmp(prefer, "respond-async", length) == 0;
        if (length > strlen("wait=") && strncasecmp(prefer, "wait=", 5) == 0 &&
            strspn(prefer + 5, "0123456789") == length - 5)
            found.wait_seconds = length > 5 + 4 ? WAIT_MAX_SECONDS : strtol(prefer + 5, NULL, 10);
        prefer += strcspn(prefer, ",");
    }
    if (found.wait_seconds > WAIT_MAX_SECONDS)
        found.wait_seconds = WAIT_MAX_SECONDS;
    return found;
}

static const struct member suggest_post_body[] = {
    {AT(plan, count), .read = codec_read_integer, .min = 1, .max = SUGGESTIONS_MAX, .fallback = 1},
    {AT(plan, worker), .read = codec_read_text, .max = 128},
    CODEC_KNOWN("fixed"),
    {AT(plan, deadline_ms), .read = codec_read_integer, .min = 1, .max = 60000},
    TRIAL_ANNOTATIONS(ANNOTATION_MEMBER){AT(plan, space_revision), .read = codec_read_integer, .min = 0,
                                         .max = 9007199254740991.0},
    {.name = NULL},
};
static enum status read_plan(struct call *call, struct error *err);
const struct form  form_suggest_post = {.body = suggest_post_body, .bytes = sizeof(struct plan), .rest = read_plan};

static enum status begin_operation(struct call *call, struct plan *plan, struct error *err)
{
    int64_t           left_ms = call->follow.until_ms - call->app->monotonic_ms();
    struct operation *operation = CALL_RESULT(call, struct operation, 202, render_operation);
    TRY(trial_may_suggest(call->app, &call->caller, call->params[0], plan, err));
    const struct operation_new new = {.plan = plan, .wait_ms = left_ms > 0 ? left_ms : 0};
    TRY(operation_begin(call->app, &call->caller, call->params[0], &new, operation, err));
    if (call->caller.idempotency.replayed)
        return STATUS_OK;
    bool is_done = operation->state == OPERATION_SUCCEEDED;
    call->reply.http = is_done ? 200 : 202;
    call->reply.location = NULL; // of the 202 that was kept for a repeat
    call->reply.retry_after_seconds = is_done ? 0 : REPLY_POLL_SECONDS;
    call->render = is_done ? render_trials : render_operation;
    return STATUS_OK;
}

/* Makes the reply again from the numbers that were kept for it. */
static enum status suggest_again(struct call *call, struct error *err)
{
    struct kept_reply    *first = &call->caller.idempotency.first;
    struct suggest_reply *reply = CALL_RESULT(call, struct suggest_reply, 200, render_suggest);
    json_t               *json = NULL;
    TRY(codec_parse(first->body, strlen(first->body), &json, err));
    size_t   len = json_array_size(json);
    int64_t *numbers = ARENA_NEW(&call->arena, int64_t, len);
    for (size_t i = 0; numbers != NULL && i < len; i++)
        numbers[i] = json_integer_value(json_array_get(json, i));
    json_decref(json);
    first->body = NULL;
    if (numbers == NULL)
        return error_no_memory(err);
    reply->len = len - 1;
    TRY(trial_given(call->app, &call->caller, call->params[0], numbers + 1, reply, err));
    reply->revision = numbers[0];
    return STATUS_OK;
}

/* Whether to hold a client that wants to wait, because the refusal may not last. */
static bool is_to_be_held(struct call *call, const struct error *why)
{
    bool is_passing =
        why->retry_after_seconds > 0 || strcmp(why->code, "planning") == 0 || strcmp(why->code, "busy") == 0;
    if (!is_passing || call->app->monotonic_ms() >= call->follow.until_ms || call_is_over(call))
        return false;
    if (call_hold(call))
        return true;
    call->reply.preference = NULL;
    return false;
}

static void hold(struct call *call, const struct plan *plan, const struct error *why)
{
    int64_t now_ms = call->app->monotonic_ms();
    int64_t rest_seconds = why->retry_after_seconds > 0 ? why->retry_after_seconds : REPLY_POLL_SECONDS;
    call->follow.refusal = *why;
    call->follow.refused_ms = now_ms;
    call->follow.again = handle_suggest_post;
    call->follow.look_ms = now_ms + 1000 * rest_seconds;
    call->follow.turn = call->params[0];
    call->follow.is_alike = plan->fixed == NULL && !plan->knows_space;
}

/* The end of waiting: what it was refused for last, which is not looked at again lest many do so at once. */
static enum status give_up(const struct call *call, struct error *err)
{
    const struct follow *follow = &call->follow;
    int64_t              waited = (call->app->monotonic_ms() - follow->refused_ms) / 1000,
            left = follow->refusal.retry_after_seconds - waited;
    *err = follow->refusal;
    if (err->retry_after_seconds > 0)
        err->retry_after_seconds = left > 1 ? (int)left : 1;
    return err->status;
}

static const char *preference_text(struct call *call, const struct preference *preference)
{
    if (preference->wait_seconds == 0)
        return preference->is_async ? "respond-async" : NULL;
    return text_format(&call->arena, "%swait=%lld", preference->is_async ? "respond-async, " : "",
                       (long long)preference->wait_seconds);
}

/* Reads what the table does not, and copies what lies in the JSON, which is freed when the handler returns for the first time. */
static enum status read_plan(struct call *call, struct error *err)
{
    struct plan            *plan = call->input;
    struct reading          in = show_reading(call, NULL, err);
    enum status             whole = STATUS_OK;
    const struct preference preference = read_preference(call->prefer);
    const json_t           *fixed = json_object_get(call->json, "fixed");
    const char             *worker = text_or_empty(plan->worker);
    plan->knows_space = json_object_get(call->json, "space_revision") != NULL;
    plan->worker = arena_strndup(&call->arena, worker, strlen(worker));
    if (plan->worker == NULL)
        return error_no_memory(err);
    if (fixed != NULL) {
        struct study study;
        TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
        TRY(codec_read_on(&in, show_read_fixed(call, &study.spec, fixed, &plan->fixed, err), &whole));
        plan->fixed_len = study.spec.space.params_len;
    }
    call->follow.until_ms = call->app->monotonic_ms() + 1000 * preference.wait_seconds;
    call->reply.preference = preference_text(call, &preference);
    TRY(codec_read_on(&in, codec_annotations_take(&in, call->json, "", &plan->said), &whole));
    return whole;
}

/* Called again while the client waits. */
enum status handle_suggest_post(struct call *call, struct error *err)
{
    const struct idempotency *once = &call->caller.idempotency;
    struct plan              *plan = call->input;
    bool                      is_held = call->follow.again != NULL;
    enum status               status;
    call->follow.again = NULL;
    if (is_held && (call_is_over(call) || call->app->monotonic_ms() >= call->follow.until_ms))
        return give_up(call, err);
    if (read_preference(call->prefer).is_async) {
        status = begin_operation(call, plan, err);
    } else {
        struct suggest_reply *reply = CALL_RESULT(call, struct suggest_reply, 200, render_suggest);
        call->render_kept = render_numbers;
        status = trial_suggest(call->app, &call->caller, call->params[0], plan, reply, err);
    }
    if (status == STATUS_OK && once->replayed && once->first.body[0] == '[')
        status = suggest_again(call, err);
    if (status == STATUS_OK || !is_to_be_held(call, err))
        return status;
    hold(call, plan, err);
    return STATUS_OK;
}

/* ---- list ---- */

static const struct member operations_get_query[] = {
    {AT(operation_filter, study), .read = codec_read_text, .min = 1, .max = 64},
    {AS(operation_filter, states, "state"), .is_many = true, .read = codec_read_set, .names = operation_state_names},
    PAGED(operation_filter, ),
    {.name = NULL},
};
const struct form form_operations_get = {.query = operations_get_query, .bytes = sizeof(struct operation_filter)};

static json_t *render_operations(struct call *call, const void *result)
{
    const struct operation_page *page = result;
    json_t                      *list = json_array();
    (void)call;
    for (size_t i = 0; i < page->len; i++) {
        const struct operation *operation = &page->operations[i];
        json_t                 *item = operation_json(operation), *trials = json_array();
        for (size_t k = 0; k < operation->len; k++)
            codec_append(&trials, json_integer(operation->numbers[k]));
        codec_put(&item, "worker", json_string(operation->worker));
        codec_put(&item, "count", json_integer(operation->count));
        codec_put(&item, "trials", trials);
        codec_append(&list, item);
    }
    return show_page("operations", list, page->next_cursor);
}

enum status handle_operations_get(struct call *call, struct error *err)
{
    struct operation_filter *filter = call->input;
    if (filter->study == NULL && caller_is_bound(&call->caller))
        filter->study = call->caller.resource;
    return operation_list(call->app, &call->caller, filter,
                          CALL_RESULT(call, struct operation_page, 200, render_operations), err);
}

/* ---- one ---- */

HANDLE_SHOW(operation_get, operation_find, operation, render_operation)

enum status handle_operation_delete(struct call *call, struct error *err)
{
    struct operation cancelled;
    call->reply.http = 204;
    return operation_cancel(call->app, &call->caller, call->params[0], &cancelled, err);
}
