/* Federations: messages in, broadcasts out, and what is promised about them; the resource, its agents, its shared features. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "api/base/json_text.h"
#include "service/base/text.h"
#include "service/codec/codec_federation.h"
#include "api/core/route.h"
#include "service/federation/federation.h"
#include "service/member/codec_write.h"
#include "engine/base/status.h"
#include "service/base/npy.h"
#include "service/member/codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_CHARACTERS = 26 };

/* ---- files ---- */

static char *print_matrix(char *at, const unsigned char *data, size_t rows, size_t columns)
{
    double value;
    *at++ = '[';
    for (size_t i = 0; i < rows * columns; i++, data += sizeof value) {
        memcpy(&value, data, sizeof value);
        *at++ = i % columns == 0 ? '[' : ',';
        at += snprintf(at, NUMBER_CHARACTERS, "%.17g", value);
        if (i % columns == columns - 1) {
            *at++ = ']';
            *at++ = ',';
        }
    }
    at[-1] = ']';
    return at;
}

/* A stored matrix as the client asked for it: the file itself, or {<head>"sha256":..,"<name>":[[..],..]} with numbers
 * that read back equal.  head: "" or members with a comma behind.  The ETag is the digest of the file. */
static enum status show_file(struct call *call, const struct federation_file *file, const char *head, const char *name,
                             struct error *err)
{
    struct npy npy;
    if (call->wants_npy) {
        call->reply.etag = text_format(&call->arena, "\"%s\"", file->sha256);
        reply_text(call, "application/x-npy", file->bytes, file->length);
        return STATUS_OK;
    }
    TRY(npy_header(file->bytes, file->length, &npy, err));
    size_t room = npy.rows * (npy.columns * NUMBER_CHARACTERS + 3) + strlen(head) + 160;
    char  *text = arena_alloc(&call->arena, room, 1);
    if (text == NULL)
        return error_no_memory(err);
    int   used = snprintf(text, room, "{%s\"sha256\":\"%s\",\"%s\":", head, file->sha256, name);
    char *end = print_matrix(text + used, (const unsigned char *)file->bytes + npy.data_offset, npy.rows, npy.columns);
    *end++ = '}';
    reply_text(call, "application/json", text, (size_t)(end - text));
    return STATUS_OK;
}

/* ---- messages ---- */

struct message_put_input {
    const char *features;
};
static const struct member message_put_query[] = {
    {AT(message_put_input, features), .read = codec_read_text, .required = true, .min = 64, .max = 64},
    {.name = NULL},
};
const struct form form_message_put = {.query = message_put_query, .bytes = sizeof(struct message_put_input)};

/* A path parameter that is a number from 1.  NOT_FOUND with this code otherwise. */
static enum status read_number(const struct call *call, size_t param, const char *code, int64_t *out, struct error *err)
{
    const char *text = call->params[param];
    *out = strlen(text) < 17 && strspn(text, "0123456789") == strlen(text) ? strtoll(text, NULL, 10) : 0;
    return *out > 0 ? STATUS_OK : error_set(err, STATUS_NOT_FOUND, code, "", "there is no %s", text);
}

static enum status read_array(struct call *call, double **vector, size_t *len, struct error *err)
{
    char where[CODEC_PATH_MAX];
    *len = json_array_size(call->json);
    if (!json_is_array(call->json))
        return error_set(err, STATUS_INVALID, "wrong_type", "", "the body must be an array of numbers");
    *vector = ARENA_NEW(&call->arena, double, *len + 1);
    if (*vector == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < *len; i++) {
        if (codec_read_is_finite(json_array_get(call->json, i), *vector + i))
            continue;
        codec_read_path_item(where, "", i);
        (void)error_set(err, STATUS_INVALID, "wrong_type", where, "must be a number");
        problems_add(&call->problems, err);
    }
    return problems_first(&call->problems, err);
}

static enum status read_npy(struct call *call, double **vector, size_t *len, struct error *err)
{
    struct npy npy;
    TRY(npy_vector(call->body, call->body_bytes, &npy, err));
    size_t size = npy_type_bytes(npy.type);
    if (npy.type != NPY_F8 && npy.type != NPY_F4)
        return error_set(err, STATUS_INVALID, "not_npy", "", "not an .npy file that is accepted: it has integers");
    if (npy.columns > call->body_bytes || npy.data_offset + npy.columns * size != call->body_bytes)
        return error_set(err, STATUS_INVALID, "wrong_length", "", "the file does not hold %zu numbers", npy.columns);
    *len = npy.columns;
    *vector = ARENA_NEW(&call->arena, double, *len);
    if (*vector == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < *len; i++) {
        const char *at = call->body + npy.data_offset + i * size;
        float       single = 0;
        memcpy(npy.type == NPY_F8 ? (void *)(*vector + i) : (void *)&single, at, size);
        if (npy.type == NPY_F4)
            (*vector)[i] = (double)single;
    }
    return STATUS_OK;
}

static const struct member receipt_members[] = {
    {AT(federation_receipt, round), .read = codec_read_integer},
    {AT(federation_receipt, seat), .read = codec_read_integer},
    {AS(federation_receipt, is_repeat, "repeated"), .read = codec_read_bool},
    {.name = NULL},
};
const struct shown shown_receipt = {.members = receipt_members};

enum status handle_message_put(struct call *call, struct error *err)
{
    const struct message_put_input *input = call->input;
    struct federation_message       message = {.features_sha256 = input->features};
    double                         *vector = NULL;
    TRY(read_number(call, 1, "round_not_found", &message.round, err));
    TRY(read_number(call, 2, "agent_not_found", &message.seat, err));
    TRY(call->is_npy ? read_npy(call, &vector, &message.len, err) : read_array(call, &vector, &message.len, err));
    message.vector = vector;
    return federation_send(call->app, &call->caller, call->params[0], &message,
                           CALL_RESULT(call, struct federation_receipt, 200, show_reply), err);
}

/* ---- broadcasts and rounds ---- */

enum status handle_broadcast_get(struct call *call, struct error *err)
{
    struct federation_file file;
    int64_t                round;
    TRY(read_number(call, 1, "round_not_found", &round, err));
    TRY(federation_broadcast(call->app, &call->caller, call->params[0], round, &file, err));
    const char *head = text_format(&call->arena, "\"round\":%lld,", (long long)round);
    return head == NULL ? error_no_memory(err) : show_file(call, &file, head, "vectors", err);
}

struct privacy_of_rounds {
    struct federation_round_page *page;
    double                        cost_next; /* privacy: with one more broadcast */
};

static const struct member round_members[] = {
    {AT(federation_round, round), .read = codec_read_integer},
    {AS(federation_round, at_ms, "closed_at"), .write = codec_write_time},
    {AT(federation_round, messages), .read = codec_read_integer},
    {AT(federation_round, sha256), .read = codec_read_text},
    {AT(federation_round, mechanism), .read = codec_read_text},
    {AT(federation_round, epsilon), .read = codec_read_number, .nullable = true},
    {AS(federation_round, total, "epsilon_total"), .read = codec_read_number, .nullable = true},
    {.name = NULL},
};
const struct shown shown_rounds = {.members = round_members, .page = "rounds"};

static json_t *rounds_json(const struct federation_round_page *page)
{
    return codec_write_list(round_members, &(struct writing){.from = page->rounds}, page->len, sizeof *page->rounds);
}

static json_t *render_rounds(struct call *call, const void *result)
{
    const struct federation_round_page *page = ((const struct privacy_of_rounds *)result)->page;
    call->reply.is_final = page->next_cursor != NULL || page->federation.state == FEDERATION_COMPLETED;
    return show_page("rounds", rounds_json(page), page->next_cursor);
}

static enum status read_rounds(struct call *call, struct privacy_of_rounds *shown, struct error *err)
{
    const struct page *input = call->input;
    shown->page = arena_zalloc(&call->arena, 1, sizeof *shown->page);
    if (shown->page == NULL)
        return error_no_memory(err);
    return federation_rounds(call->app, &call->caller, call->params[0], input, shown->page, err);
}

enum status handle_rounds_get(struct call *call, struct error *err)
{
    return read_rounds(call, CALL_RESULT(call, struct privacy_of_rounds, 200, render_rounds), err);
}

/* ---- privacy ---- */

static json_t *guarantee_json(const struct privacy_of_rounds *shown)
{
    const struct federation      *federation = &shown->page->federation;
    const struct federation_spec *spec = &federation->spec;
    double                        left = fmax(0, spec->epsilon - federation->epsilon);
    if (!spec->is_private)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:s}", "epsilon_spent", federation->epsilon, "epsilon_left", left,
                     "epsilon_budget", spec->epsilon, "epsilon_next", shown->cost_next, "delta", spec->delta, "method",
                     "Privacy-loss distribution of the Poisson-subsampled discrete Gaussian, discretised from above: "
                     "never below the exact loss. This is what the budget is held against.");
}

static bool is_secure(const struct federation_spec *spec)
{
    return spec->aggregation == FEDERATION_SECURE;
}

static json_t *parameters_json(const struct federation_spec *spec)
{
    if (!spec->is_private)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:I}", "sampling_rate", spec->broadcast.q, "noise_multiplier", spec->broadcast.z,
                     "clip", spec->broadcast.clip, "seats", (json_int_t)spec->seats);
}

static json_t *forecast_json(const struct federation_spec *spec)
{
    if (!federation_is_once(spec->study.policy))
        return json_null();
    const struct rank_forecast forecast = federation_forecast(spec);
    return json_pack("{s:f, s:f, s:f, s:b}", "noise_stddev", forecast.sd, "noise_share", forecast.share,
                     "regret_change", forecast.change, "likelier_to_hurt", forecast.hurts);
}

/* The statement says in a sentence or two what the server does. */
static const char *statement_of(const struct federation_spec *spec)
{
    if (!spec->is_private)
        return "The agents keep their observations, but there is no differential privacy: the server hands the vector "
               "of "
               "each agent to all others.";
    if (is_secure(spec))
        return "Once, each member clips its vector to length 1, adds its share of the noise and masks that only all of "
               "them together take away, and sends that. The server adds up what it gets, and the members open the "
               "masks of the sum, for one list of members. The mean is stored; whoever asks again, or joins later, "
               "gets "
               "the same bytes, which costs nothing more.";
    if (federation_is_once(spec->study.policy))
        return "Once, the server clips each member's vector to length 1, adds them up, and adds discrete Gaussian "
               "noise before "
               "anything leaves. The mean is stored; whoever asks again, or joins later, gets the same bytes, which "
               "costs "
               "nothing more.";
    return "In each round the server draws each agent with the same probability, clips and weighs the vectors of those "
           "that "
           "were drawn, and adds discrete Gaussian noise before anything leaves. The sum is stored; whoever asks again "
           "gets "
           "the same bytes. A round whose broadcast would exceed the budget does not take place.";
}

static json_t *list_of(const char *const *sentences)
{
    json_t *list = json_array();
    for (; *sentences != NULL; sentences++)
        codec_append(&list, json_string(*sentences));
    return list;
}

static const char *const private_limits[] = {
    "Each agent's vector is hidden from the other agents by the noise. The server itself sees every vector until the "
    "round is closed; then it deletes them, and within a second its write-ahead log. A copy that was made of the store "
    "before keeps them.",
    "When a round closed, how many have sent for the open one (received) and had sent for a closed one (messages) are "
    "shown as they are, outside the guarantee: they can tell that an agent sent, or did not. Which of those that sent "
    "were drawn into a broadcast is told to nobody and kept nowhere.",
    "An organisation that has k of the seats is protected as a group: k times the epsilon, and the delta grows with "
    "it.",
    "Another federation of the same agents adds its loss to this one's; the server cannot know which they are. gnomon "
    "agent --ledger adds them up.",
    "What was broadcast stays known for ever; deleting the federation does not take it back.",
    NULL,
};
static const char *const secure_limits[] = {
    "The server, and a tenth of the members together with it, learn one sum of the vectors of at least three quarters "
    "of "
    "the members, with all the noise that is promised, and nothing else, whatever the server answers to whom. This "
    "holds if all members see the same keys: gnomon agent prints their fingerprint, and sends nothing for another one "
    "than it is given with --fingerprint.",
    "The masks hide by computation (X25519, HKDF-SHA-256), not by noise: who can break these sees single vectors with "
    "their share of the noise.",
    "A member that runs another program can send a vector of any length, and so turn the release where it likes: what "
    "is longer than any honest sum is refused, what is not is not noticed. So is what the server makes of the sum.",
    "Who has sent in which round is shown as it is, outside the guarantee.",
    "An organisation that has k of the seats is protected as a group: k times the epsilon, and the delta grows with "
    "it.",
    "Another federation of the same agents adds its loss to this one's; the server cannot know which they are. gnomon "
    "agent --ledger adds them up.",
    NULL,
};
static const char *const open_limits[] = {
    "Every agent receives every other agent's vector as it was sent.",
    "A vector holds no observation as such, but as many numbers as it has can determine as many values.",
    NULL,
};

static json_t *render_privacy(struct call *call, const void *result)
{
    (void)call;
    const struct privacy_of_rounds *shown = result;
    const struct federation_spec   *spec = &shown->page->federation.spec;
    bool                            is_private = spec->is_private;
    return json_pack(
        "{s:s, s:b, s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:o, s:s?}", "mechanism",
        is_private ? "discrete-gaussian" : "none", "differentially_private", is_private, "statement",
        statement_of(spec), "neighbours",
        is_private ? "Zero-out of one agent: all its vectors, in all rounds, against zeros in their place. Seats, "
                     "weights and everything else stay as they are. An agent that does not send counts as zeros."
                   : NULL,
        "trust",
        is_secure(spec) ? "None: the members make the noise, and the server sees their sum alone. The members are "
                          "trusted to compare "
                          "the fingerprint of their keys, and all but a tenth of them to run the program as it is."
        : is_private
            ? "Central: the server is trusted with the vectors that it receives and with the noise that it draws."
            : "The server and all agents of the federation are trusted with the vectors.",
        "parameters", parameters_json(spec), "guarantee", guarantee_json(shown), "forecast", forecast_json(spec),
        "limits",
        list_of(is_secure(spec) ? secure_limits
                : is_private    ? private_limits
                                : open_limits),
        "rounds", rounds_json(shown->page), "next_cursor", shown->page->next_cursor);
}

enum status handle_federation_privacy_get(struct call *call, struct error *err)
{
    struct privacy_of_rounds *shown = CALL_RESULT(call, struct privacy_of_rounds, 200, render_privacy);
    TRY(read_rounds(call, shown, err));
    const struct federation *federation = &shown->page->federation;
    return federation_cost(&federation->spec, federation->round, &shown->cost_next, &call->arena, err);
}

/* ---- the resource ---- */

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

HANDLE_MOVE(federation_pause, FEDERATION_PAUSE)
HANDLE_MOVE(federation_resume, FEDERATION_RESUME)
HANDLE_MOVE(federation_complete, FEDERATION_COMPLETE)

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
    TRY(read_number(call, 1, "agent_not_found", &seat, err));
    return federation_renew(call->app, &call->caller, call->params[0], seat,
                            CALL_RESULT(call, struct federation_agent, 201, show_reply), err);
}

HANDLE_PAGE(agents_get, federation_agents, federation_agent_page, show_reply)

/* ---- features ---- */

enum status handle_features_get(struct call *call, struct error *err)
{
    struct federation_file file;
    TRY(federation_features(call->app, &call->caller, call->params[0], &file, err));
    return show_file(call, &file, "", "features", err);
}
