/* Tokens, and who is calling. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "api/core/route.h"
#include "service/member/codec_write.h"
#include "service/app/token.h"

#include <stdlib.h>
#include <string.h>

static const char *const scopes[] = {"admin", "write", "read", "curator", "agent", "operator", NULL};

static const struct member page_query[] = {
    PAGED(page, ),
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
    struct token_new new;
    int64_t expires_in_seconds;
};

static enum status read_scope(struct reading *in, const struct member *member, const json_t *json, const char *where,
                              void *out)
{
    const char *name;
    TRY(codec_read_name(in, member, json, where, &name));
    *(enum scope *)out = scope_find(name);
    return STATUS_OK;
}

static json_t *write_scope(const struct writing *out, const struct member *member)
{
    return json_string(scope_names[*(const enum scope *)codec_at(out, member)]);
}

#define GIVEN(...) CODEC_MEMBER(tokens_post_input, new., __VA_ARGS__)
// clang-format off
static const struct member tokens_post_body[] = {
    TOKEN_GIVEN(GIVEN)
    {AS(tokens_post_input, new.scope, "scope"), .read = read_scope, .required = true, .names = scopes},
    TOKEN_BOUND(GIVEN)
    {AS(tokens_post_input, new.project, "project"), .read = codec_read_text, .nullable = true, .min = 1, .max = 23},
    {AT(tokens_post_input, expires_in_seconds), .read = codec_read_integer, .nullable = true, .min = 1,
     .max = 3153600000.0, .fallback = 90 * 86400},
    {.name = NULL},
};
// clang-format on
const struct form form_tokens_post = {.body = tokens_post_body, .bytes = sizeof(struct tokens_post_input)};

static const struct member tokens_get_query[] = {
    {AT(token_filter, project), .read = codec_read_text, .min = 1, .max = 23},
    PAGED(token_filter, page.),
    {.name = NULL},
};
const struct form form_tokens_get = {.query = tokens_get_query, .bytes = sizeof(struct token_filter)};

#define SHOWN(...) CODEC_MEMBER(token, , __VA_ARGS__)
// clang-format off
static const struct member token_members[] = {
    {AT(token, id), .write = codec_write_characters},
    TOKEN_GIVEN(SHOWN)
    {AT(token, scope), .names = scopes, .write = write_scope},
    {AT(token, project), .nullable = true, .write = codec_write_characters},
    TOKEN_BOUND(SHOWN)
    TOKEN_KEPT(SHOWN)
    {AS(token, secret, "token"), .nullable = true, .write = codec_write_secret},
    {.name = NULL},
};
// clang-format on
#undef SHOWN
static const char *const no_secret[] = {"token", NULL}, *const not_revoked[] = {"revoked_at", "last_used_at", NULL};
static const char *const no_history[] = {"created_at", "revoked_at", "overlap_ends_at", "last_used_at", "token", NULL};
const struct shown       shown_tokens = {.members = token_members, .without = no_secret, PAGE(token_page, tokens)};
const struct shown       shown_token_created = {.members = token_members, .without = not_revoked};
const struct shown       shown_whoami = {.members = token_members, .without = no_history};

enum status handle_tokens_post(struct call *call, struct error *err)
{
    struct tokens_post_input *input = call->input;
    input->new.expires_in_ms = input->expires_in_seconds * 1000;
    return token_create(call->app, &call->caller, &input->new, CALL_RESULT(call, struct token, 201, show_reply), err);
}

enum status handle_tokens_get(struct call *call, struct error *err)
{
    const struct token_filter *input = call->input;
    return token_list(call->app, &call->caller, input, CALL_RESULT(call, struct token_page, 200, show_reply), err);
}

HANDLE_DELETE(token_delete, token_revoke)

struct token_rotate_input {
    int64_t overlap_seconds;
};
static const struct member token_rotate_body[] = {
    {AT(token_rotate_input, overlap_seconds), .read = codec_read_integer, .min = 0, .max = 7 * 86400, .fallback = 3600},
    {.name = NULL},
};
const struct form form_token_rotate = {.body = token_rotate_body, .bytes = sizeof(struct token_rotate_input)};

enum status handle_token_rotate(struct call *call, struct error *err)
{
    const struct token_rotate_input *input = call->input;
    return token_rotate(call->app, &call->caller, call->params[0], 1000 * input->overlap_seconds,
                        CALL_RESULT(call, struct token, 200, show_reply), err);
}

enum status handle_whoami_get(struct call *call, struct error *err)
{
    return token_find(call->app, &call->caller, CALL_RESULT(call, struct token, 200, show_reply), err);
}
