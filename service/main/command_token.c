/* gnomon token: creates, lists and revokes tokens as the user who owns the folder.  A running server is asked through
 * its Unix socket, so that there are never two writers on one file; without one, the store is opened here.  It makes no
 * store: a token in a new one would be good for nobody. */
#include "service/app/app.h"
#include "service/client/client.h"
#include "service/member/codec.h"
#include "service/cli/command.h"
#include "service/main/app_open.h"
#include "service/client/plain.h"
#include "service/client/process.h"
#include "service/app/token.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ATTEMPTS = 50,
    ATTEMPTS_WITHOUT_STORE = 20,
    ATTEMPT_PAUSE_MS = 100,
    ARENA_BYTES = 64 << 20,
    DAY_SECONDS = 86400
};

struct token_options {
    const char *data, *database, *name, *scope, *project, *resource;
    int64_t     expires_in_days, overlap_seconds;
};

#define OPTION(name, what, member) OPTION_OF(struct token_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct token_options),
    COMMAND_DATABASE_ROW(struct token_options),
    {OPTION("name", "N", name), .help = "create: what the token is for"},
    {OPTION("scope", "SCOPE", scope), .choices = "admin|write|read|curator|agent|operator",
     .help = "create: what the token may do"},
    {OPTION("project", "ID", project), .help = "create: the project of the token; by default the default project"},
    {OPTION("resource", "ID", resource), .help = "create: the only study, federation or game that the token may see"},
    {OPTION("expires-in-days", "D", expires_in_days), .kind = OPTIONS_INT, .fallback = "90", .min = 0, .max = 36500,
     .help = "create: days until the token ends; 0: never"},
    {OPTION("overlap-seconds", "S", overlap_seconds), .kind = OPTIONS_INT, .fallback = "3600", .min = 0, .max = 604800,
     .help = "rotate: how long the old secret works beside the new one"},
    {.flag = NULL},
};

struct line {
    const char *id, *scope, *project, *resource, *expires, *revoked, *name;
};

static void print_line(const struct line *line)
{
    bool is_default = line->project[0] == '\0' || strcmp(line->project, CALLER_DEFAULT_PROJECT) == 0;
    printf("%s\t%s\t%s%s%s\texpires %s\t%s%s\t", line->id, line->scope, line->resource, is_default ? "" : " in ",
           is_default ? "" : line->project, line->expires, line->revoked[0] != '\0' ? "revoked " : "valid",
           line->revoked);
    plain_print(stdout, line->name);
    fputc('\n', stdout);
}

/* ---- through a running server ---- */

static enum status check_id(const char *id, struct error *err)
{
    bool is_one = id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
    return is_one ? STATUS_OK : error_set(err, STATUS_INVALID, "usage", "", "not a token's id: %.40s", id);
}

/* Prints the token that comes; takes the body. */
static enum status send_for_secret(struct client *client, const char *path, json_t *body, struct error *err)
{
    const char *secret = "";
    json_t     *reply = NULL;
    TRY(client_json(client, "POST", path, body, &reply, err));
    int failure = json_unpack(reply, "{s:s}", "token", &secret);
    if (failure == 0)
        puts(secret);
    json_decref(reply);
    return failure == 0 ? STATUS_OK : client_bad_reply(err);
}

static enum status create_remote(struct client *client, const struct token_options *options, struct error *err)
{
    json_t *body = json_pack("{s:s, s:s}", "name", options->name, "scope", options->scope);
    if (options->project != NULL)
        codec_put(&body, "project", json_string(options->project));
    if (options->resource != NULL)
        codec_put(&body, "resource", json_string(options->resource));
    codec_put(&body, "expires_in_seconds",
              options->expires_in_days > 0 ? json_integer(options->expires_in_days * DAY_SECONDS) : json_null());
    return send_for_secret(client, "/v1/tokens", body, err);
}

static enum status rotate_remote(struct client *client, const char *id, const struct token_options *options,
                                 struct error *err)
{
    char path[128];
    TRY(check_id(id, err));
    snprintf(path, sizeof path, "/v1/tokens/%.60s/rotate", id);
    return send_for_secret(client, path, json_pack("{s:I}", "overlap_seconds", (json_int_t)options->overlap_seconds),
                           err);
}

static void print_json(json_t *token)
{
    struct line line = {.project = "", .resource = "everything", .expires = "never", .revoked = ""};
    if (json_unpack(token, "{s:s, s:s, s:s}", "id", &line.id, "scope", &line.scope, "name", &line.name) != 0)
        return;
    const struct {
        const char  *member;
        const char **to;
    } optional[] = {{"project", &line.project},
                    {"resource", &line.resource},
                    {"expires_at", &line.expires},
                    {"revoked_at", &line.revoked}};
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (json_is_string(json_object_get(token, optional[i].member)))
            *optional[i].to = json_string_value(json_object_get(token, optional[i].member));
    print_line(&line);
}

static enum status list_remote(struct client *client, struct error *err)
{
    char path[512] = "/v1/tokens?limit=1000";
    bool has_more = true;
    while (has_more) {
        json_t *reply = NULL, *token = NULL;
        size_t  i = 0;
        TRY(client_json(client, "GET", path, NULL, &reply, err));
        json_array_foreach (json_object_get(reply, "tokens"), i, token)
            print_json(token);
        const char *cursor = json_string_value(json_object_get(reply, "next_cursor"));
        has_more = cursor != NULL;
        if (has_more)
            snprintf(path, sizeof path, "/v1/tokens?limit=1000&cursor=%.400s", cursor);
        json_decref(reply);
    }
    return STATUS_OK;
}

static enum status revoke_remote(struct client *client, const char *id, struct error *err)
{
    char path[128];
    TRY(check_id(id, err));
    snprintf(path, sizeof path, "/v1/tokens/%.60s", id);
    struct client_reply reply;
    TRY(client_send(client, &(struct client_request){.method = "DELETE", .path = path}, &reply, err));
    free(reply.bytes);
    return STATUS_OK;
}

/* ---- on the store itself ---- */

static enum status create_local(struct app *app, struct caller *caller, const struct token_options *options,
                                struct error *err)
{
    struct token token;
    TRY(token_create(app, caller,
                     &TOKEN_NEW(.name = options->name, .scope = scope_find(options->scope), .project = options->project,
                                .resource = options->resource,
                                .expires_in_ms = options->expires_in_days * DAY_SECONDS * 1000),
                     &token, err));
    puts(token.secret);
    return STATUS_OK;
}

static enum status rotate_local(struct app *app, struct caller *caller, const char *id,
                                const struct token_options *options, struct error *err)
{
    struct token token;
    TRY(token_rotate(app, caller, id, 1000 * options->overlap_seconds, &token, err));
    puts(token.secret);
    return STATUS_OK;
}

static enum status list_local(struct app *app, struct caller *caller, struct error *err)
{
    struct token_page   page = {.next_cursor = NULL};
    struct token_filter asked = {.page.limit = PAGE_MAX};
    do {
        asked.page.cursor = page.next_cursor;
        TRY(token_list(app, caller, &asked, &page, err));
        for (size_t i = 0; i < page.len; i++) {
            const struct token *token = &page.tokens[i];
            char                expires[32] = "never", revoked[32] = "";
            if (token->expires_ms > 0)
                codec_time(token->expires_ms, expires);
            if (token->revoked_ms > 0)
                codec_time(token->revoked_ms, revoked);
            print_line(&(struct line){.id = token->id,
                                      .scope = scope_names[token->scope],
                                      .project = token->project,
                                      .resource = token->resource != NULL ? token->resource : "everything",
                                      .expires = expires,
                                      .revoked = revoked,
                                      .name = token->name});
        }
    } while (page.next_cursor != NULL);
    return STATUS_OK;
}

static enum status with_store(const struct token_options *options, const char *const operands[2], struct error *err)
{
    struct app  *app = NULL;
    struct arena arena;
    char         path[1100];
    snprintf(path, sizeof path, "%.1024s/gnomon.db", options->data);
    if (options->database == NULL && access(path, F_OK) != 0) // a mistyped folder gets no store of its own
        return error_set(err, STATUS_NOT_FOUND, "no_store", "",
                         "there is no store in %.150s, and no server: gnomon serve makes one", options->data);
    umask(077);
    TRY(app_open(
        &(struct app_options){
            .folder = options->data, .database = options->database, .synchronous = "FULL", .compute_slots = 1},
        &app, err));
    arena_init(&arena, ARENA_BYTES);
    struct caller caller = {.token_id = "local", .scope = SCOPE_ADMIN, .arena = &arena};
    enum status   status = strcmp(operands[0], "create") == 0   ? create_local(app, &caller, options, err)
                           : strcmp(operands[0], "list") == 0   ? list_local(app, &caller, err)
                           : strcmp(operands[0], "rotate") == 0 ? rotate_local(app, &caller, operands[1], options, err)
                                                                : token_revoke(app, &caller, operands[1], err);
    arena_fini(&arena);
    app_close(app);
    return status;
}

static enum status with_server(const struct token_options *options, const char *const operands[2], struct error *err)
{
    struct client *client = NULL;
    TRY(command_connect_local(options->data, &client, err));
    enum status status = strcmp(operands[0], "create") == 0   ? create_remote(client, options, err)
                         : strcmp(operands[0], "list") == 0   ? list_remote(client, err)
                         : strcmp(operands[0], "rotate") == 0 ? rotate_remote(client, operands[1], options, err)
                                                              : revoke_remote(client, operands[1], err);
    client_close(client);
    return status;
}

/* ---- which of the two ---- */

static enum status check(const struct token_options *options, const char *const operands[2], struct error *err)
{
    static const char *const verbs[] = {"create", "list", "draw", "revoke", "rotate"};
    size_t                   verb = 0, verbs_len = sizeof verbs / sizeof *verbs;
    while (verb < verbs_len && (operands[0] == NULL || strcmp(operands[0], verbs[verb]) != 0))
        verb++;
    if (verb == verbs_len)
        return error_set(err, STATUS_INVALID, "usage", "", "token takes create, list, draw, revoke ID or rotate ID");
    if (strcmp(operands[0], "create") == 0 && (options->name == NULL || options->scope == NULL))
        return error_set(err, STATUS_INVALID, "usage", "", "token create needs --name and --scope");
    if ((verb >= 3) != (operands[1] != NULL))
        return error_set(err, STATUS_INVALID, "usage", "", "an id belongs to revoke and to rotate, and to them alone");
    return STATUS_OK;
}

/* A store that is locked has a server that is about to listen, or is going away: both pass.  One that is not there may
 * belong to a server that was started a moment ago. */
static enum status act(const struct token_options *options, const char *const operands[2], struct error *err)
{
    enum status status = STATUS_BUSY;
    for (int i = 0; i < ATTEMPTS; i++) {
        status = with_server(options, operands, err);
        if (status == STATUS_OK || strcmp(err->code, "unreachable") != 0)
            return status;
        status = with_store(options, operands, err);
        bool is_missing = status != STATUS_OK && strcmp(err->code, "no_store") == 0;
        if (is_missing ? i >= ATTEMPTS_WITHOUT_STORE : status == STATUS_OK || strcmp(err->code, "locked") != 0)
            return status;
        process_sleep_ms(ATTEMPT_PAUSE_MS);
    }
    return status;
}

static enum status run(struct command_call *call, struct error *err)
{
    char secret[64];
    TRY(check(call->options, call->operands, err));
    if (strcmp(call->operands[0], "draw") == 0) {
        TRY(token_secret(secret, err));
        return puts(secret) < 0 ? error_set(err, STATUS_INTERNAL, "output", "", "cannot write the token") : STATUS_OK;
    }
    return act(call->options, call->operands, err);
}

const struct command command_token = {
    .name = "token",
    .operands = "create|list|draw|revoke|rotate [ID]",
    .summary = "create, list, revoke and rotate tokens, whether or not the server runs",
    .options = options_table,
    .options_bytes = sizeof(struct token_options),
    .operands_max = 2,
    .run = run,
};
