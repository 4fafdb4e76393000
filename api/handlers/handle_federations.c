/* Federations: the resource, its agents, its shared features.  Rounds are in handle_rounds.c. */
#include "api/handlers/handle_federations.h"
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "api/base/json_text.h"
#include "service/base/text.h"
#include "service/codec/codec_federation.h"
#include "api/core/route.h"
#include "service/member/codec_write.h"

#define GIVEN(...) CODEC_MEMBER(federation_new, , __VA_ARGS__)
// clang-format off
static const struct member federations_post_body[] = {
    FEDERATION_GIVEN(GIVEN)
    {.name = "", .members = codec_federation_spec_members},
    {.name = NULL},
};
// clang-format on
static enum status read_new(struct call *call, struct error *err);
const struct form  form_federations_post = {
     .body = federations_post_body, .bytes = sizeof(struct federation_new), .rest = read_new};

/* A federation is larger than a call's room for a result. */
struct large {
    struct federation *federation;
};

static json_t *render_federation(struct call *call, const void *result)
{
    const struct federation *federation = ((const struct large *)result)->federation;
    call->reply.etag = reply_etag(call, federation->version, 0);
    if (call->reply.http == 201)
        call->reply.location = text_format(&call->arena, "/v1/federations/%s", federation->id);
    return show_as(call, &shown_federation, federation);
}

static enum status show_federation(struct call *call, int http, struct federation **out, struct error *err)
{
    struct large *shown = CALL_RESULT(call, struct large, http, render_federation);
    *out = shown->federation = arena_zalloc(&call->arena, 1, sizeof *shown->federation);
    return *out == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status read_new(struct call *call, struct error *err)
{
    struct federation_new *new = call->input;
    struct reading in = {.arena = &call->arena, .err = err, .problems = &call->problems};
    json_t        *members = codec_pick(codec_federation_spec_members, call->json);
    if (members == NULL)
        return error_no_memory(err);
    enum status status = codec_federation_read(&in, members, &new->spec);
    json_decref(members);
    TRY(status);
    size_t  length;
    json_t *spec = codec_federation_spec_json(&new->spec);
    new->spec_text = spec == NULL ? NULL : json_text(spec, &call->arena, &length);
    json_decref(spec);
    return new->spec_text == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status handle_federations_post(struct call *call, struct error *err)
{
    struct federation_new *new = call->input;
    struct federation *federation;
    TRY(show_federation(call, 201, &federation, err));
    return federation_create(call->app, &call->caller, new, federation, err);
}

/* ---- list, one ---- */

static const struct member federations_get_query[] = {
    {AT(federation_filter, state), .read = codec_read_name, .names = federation_state_names},
    PAGED(federation_filter, ),
    {.name = NULL},
};
const struct form form_federations_get = {.query = federations_get_query, .bytes = sizeof(struct federation_filter)};

const struct shown shown_federation = {.members = codec_federation_members};
const struct shown shown_federations = {.members = codec_federation_members, PAGE(federation_page, federations)};

enum status handle_federations_get(struct call *call, struct error *err)
{
    struct federation_page *page = CALL_RESULT(call, struct federation_page, 200, show_reply);
    TRY(federation_list(call->app, &call->caller, call->input, page, err));
    for (size_t i = 0; i < page->len; i++)
        app_say_damaged(call->app, page->federations[i].id, &page->federations[i].reason);
    return STATUS_OK;
}

enum status handle_federation_get(struct call *call, struct error *err)
{
    struct federation *federation;
    TRY(show_federation(call, 200, &federation, err));
    TRY(federation_find(call->app, &call->caller, call->params[0], federation, err));
    app_say_damaged(call->app, federation->id, &federation->reason);
    return STATUS_OK;
}

static enum status move(struct call *call, enum federation_verb verb, struct error *err)
{
    struct federation *federation;
    TRY(show_federation(call, 200, &federation, err));
    return federation_move(call->app, &call->caller, call->params[0], verb, federation, err);
}

enum status handle_federation_pause(struct call *call, struct error *err)
{
    return move(call, FEDERATION_PAUSE, err);
}

enum status handle_federation_resume(struct call *call, struct error *err)
{
    return move(call, FEDERATION_RESUME, err);
}

enum status handle_federation_complete(struct call *call, struct error *err)
{
    return move(call, FEDERATION_COMPLETE, err);
}

HANDLE_DELETE(federation_delete, federation_delete)

/* ---- agents ---- */

struct agents_post_input {
    const char *name;
};
static const struct member agents_post_body[] = {
    {AT(agents_post_input, name), .read = codec_read_text, .required = true, .min = 1, .max = 200},
    {.name = NULL},
};
const struct form form_agents_post = {.body = agents_post_body, .bytes = sizeof(struct agents_post_input)};

/* The store has "" for none. */
static json_t *write_token_id(const struct writing *out, const struct member *member)
{
    const struct federation_agent *agent = out->from;
    (void)member;
    return codec_text(agent->token_id[0] == '\0' ? NULL : agent->token_id);
}

static const struct member agent_members[] = {
    {AT(federation_agent, seat), .read = codec_read_integer},
    {AT(federation_agent, name), .read = codec_read_text},
    {AT(federation_agent, region), .read = codec_read_integer},
    {AT(federation_agent, token_id), .nullable = true, .write = write_token_id},
    {AT(federation_agent, study), .read = codec_read_text, .nullable = true},
    {AS(federation_agent, created_ms, "created_at"), .write = codec_write_time},
    {AS(federation_agent, token.secret, "token"), .nullable = true, .write = codec_write_secret},
    {.name = NULL},
};
static const char *const no_secret[] = {"token", NULL};
const struct shown       shown_agent = {.members = agent_members};
const struct shown shown_agents = {.members = agent_members, .without = no_secret, PAGE(federation_agent_page, agents)};

enum status handle_agents_post(struct call *call, struct error *err)
{
    const struct agents_post_input *input = call->input;
    return federation_register(call->app, &call->caller, call->params[0], input->name,
                               CALL_RESULT(call, struct federation_agent, 201, show_reply), err);
}

enum status handle_agent_token(struct call *call, struct error *err)
{
    int64_t seat;
    TRY(handle_federation_number(call, 1, "agent_not_found", &seat, err));
    return federation_renew(call->app, &call->caller, call->params[0], seat,
                            CALL_RESULT(call, struct federation_agent, 201, show_reply), err);
}

HANDLE_PAGE(agents_get, federation_agents, federation_agent_page, show_reply)

/* ---- features ---- */

enum status handle_features_get(struct call *call, struct error *err)
{
    struct federation_file file;
    TRY(federation_features(call->app, &call->caller, call->params[0], &file, err));
    return handle_federation_file(call, &file, "", "features", err);
}
