/* Tokens, who is calling, and the log of every change. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "service/study/events.h"
#include "service/app/token.h"

#include <stdlib.h>
#include <string.h>

static const char *const scopes[] = {"admin", "write", "read", "curator", "agent", NULL};

static const struct member page_query[] = {
    {AT(page, cursor), .read = codec_read_text, .min = 1, .max = 256},
    {AT(page, limit), .read = codec_read_integer, .min = 1, .max = 1000, .fallback = 100},
    {.name = NULL},
};
const struct form form_page = {.query = page_query, .bytes = sizeof(struct page)};

static const struct member no_fields[] = {{.name = NULL}};
const struct form          form_nothing = {.body = no_fields};

enum status handle_number(struct call *call, size_t param, int64_t *out, struct error *err)
{
    const char *text = call->params[param];
    *out = strlen(text) < 17 && strspn(text, "0123456789") == strlen(text) ? strtoll(text, NULL, 10) : 0;
    return *out > 0 ? STATUS_OK : error_set(err, STATUS_NOT_FOUND, "trial_not_found", "", "there is no such trial");
}

/* ---- tokens ---- */

struct tokens_post_input {
    const char *name, *scope, *resource;
    int64_t     expires_in_seconds;
};
static const struct member tokens_post_body[] = {
    {AT(tokens_post_input, name), .read = codec_read_text, .required = true, .min = 1, .max = 200},
    {AT(tokens_post_input, scope), .read = codec_read_name, .required = true, .names = scopes},
    {AT(tokens_post_input, resource), .read = codec_read_text, .nullable = true, .min = 20, .max = 20},
    {AT(tokens_post_input, expires_in_seconds), .read = codec_read_integer, .nullable = true, .min = 1,
     .max = 3153600000.0, .fallback = 90 * 86400},
    {.name = NULL},
};
const struct form form_tokens_post = {.body = tokens_post_body, .bytes = sizeof(struct tokens_post_input)};

static const char *or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static json_t *render_created(struct call *call, const void *result)
{
    const struct token *token = result;
    return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:o, s:s?}", "id", token->id, "name", token->name, "scope",
                     scope_names[token->scope], "resource", or_null(token->resource), "agent", or_null(token->agent),
                     "created_at", codec_time_json(token->created_ms), "expires_at", codec_time_json(token->expires_ms),
                     "token", call->for_store ? NULL : token->secret);
}

enum status handle_tokens_post(struct call *call, struct error *err)
{
    const struct tokens_post_input *input = call->input;
    const struct token_new new = {.name = input->name,
                                  .scope = scope_find(input->scope),
                                  .resource = input->resource,
                                  .expires_in_ms = input->expires_in_seconds * 1000};
    return token_create(call->app, &call->caller, &new, CALL_RESULT(call, struct token, 201, render_created), err);
}

static json_t *token_json(const struct token *token)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o}", "id", token->id, "name", token->name, "scope",
                     scope_names[token->scope], "resource", or_null(token->resource), "agent", or_null(token->agent),
                     "created_at", codec_time_json(token->created_ms), "expires_at", codec_time_json(token->expires_ms),
                     "revoked_at", codec_time_json(token->revoked_ms));
}

static json_t *render_tokens(struct call *call, const void *result)
{
    (void)call;
    const struct token_page *page = result;
    json_t                  *list = json_array();
    int                      failed = 0;
    for (size_t i = 0; i < page->len; i++)
        failed |= json_array_append_new(list, token_json(&page->tokens[i]));
    if (failed != 0)
        json_decref(list);
    return failed != 0 ? NULL : show_page("tokens", list, page->next_cursor);
}

enum status handle_tokens_get(struct call *call, struct error *err)
{
    const struct page *input = call->input;
    return token_list(call->app, &call->caller, input, CALL_RESULT(call, struct token_page, 200, render_tokens), err);
}

enum status handle_token_delete(struct call *call, struct error *err)
{
    call->reply.http = 204;
    return token_revoke(call->app, &call->caller, call->params[0], err);
}

static json_t *render_whoami(struct call *call, const void *result)
{
    (void)call;
    const struct token *token = result;
    return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o}", "id", token->id, "name", token->name, "scope",
                     scope_names[token->scope], "resource", or_null(token->resource), "agent", or_null(token->agent),
                     "expires_at", codec_time_json(token->expires_ms));
}

enum status handle_whoami_get(struct call *call, struct error *err)
{
    return token_find(call->app, &call->caller, CALL_RESULT(call, struct token, 200, render_whoami), err);
}

/* ---- events ---- */

struct events_get_input {
    const char *study, *cursor;
    int64_t     limit;
};
static const struct member events_get_query[] = {
    {AT(events_get_input, study), .read = codec_read_text, .min = 1, .max = 64},
    {AT(events_get_input, cursor), .read = codec_read_text, .min = 1, .max = 256},
    {AT(events_get_input, limit), .read = codec_read_integer, .min = 1, .max = 1000, .fallback = 100},
    {.name = NULL},
};
const struct form form_events_get = {.query = events_get_query, .bytes = sizeof(struct events_get_input)};

static json_t *render_events(struct call *call, const void *result)
{
    (void)call;
    const struct event_page *page = result;
    return show_page("events", show_events(page), page->next_cursor);
}

enum status handle_events_get(struct call *call, struct error *err)
{
    const struct events_get_input *input = call->input;
    const struct event_filter      filter = {.study = input->study, .cursor = input->cursor, .limit = input->limit};
    if (input->study == NULL && (call->caller.scope != SCOPE_ADMIN || call->caller.resource[0] != '\0'))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "only an admin sees the events of all studies");
    return event_list(call->app, &call->caller, &filter, CALL_RESULT(call, struct event_page, 200, render_events), err);
}
