/* See client.h. */
#include "service/client/client.h"
#include "service/client/transport.h"
#include "service/member/codec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_MS = 60000 };

bool client_is_loopback(const char *host)
{
    struct in_addr  four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

static enum status open_remote(struct client *client, bool insecure_http, struct error *err)
{
    char host[HOST_BYTES];
    TRY(remote_open(client, host, err));
    client->is_local = client_is_loopback(host);
    if (client->is_local || insecure_http || strncmp(client->address, "http://", 7) != 0)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "insecure_http", "",
        "http:// to %.100s would send %s readable for all in between: use https://, or say --insecure-http", host,
        client->authorization[0] != '\0' ? "the token and everything else" : "everything");
}

static enum status copy_ca_file(struct client *client, const char *path, struct error *err)
{
    if (path == NULL)
        return STATUS_OK;
    if (strlen(path) >= sizeof client->ca_file || access(path, R_OK) != 0)
        return error_set(err, STATUS_INVALID, "file", "", "--cacert %.150s: %s", path, strerror(errno));
    snprintf(client->ca_file, sizeof client->ca_file, "%s", path);
    return STATUS_OK;
}

static enum status copy_address(struct client *client, const struct client_options *options, struct error *err)
{
    const char *server = options->server;
    bool        is_known = strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0;
    if (!is_known || strlen(server) >= sizeof client->address)
        return error_set(err, STATUS_INVALID, "bad_address", "",
                         "--server takes http://HOST:PORT or https://HOST:PORT");
    snprintf(client->address, sizeof client->address, "%s", server);
    size_t length = strlen(client->address);
    if (client->address[length - 1] == '/')
        client->address[length - 1] = '\0';
    TRY(copy_ca_file(client, options->ca_file, err));
    return open_remote(client, options->insecure_http, err);
}

static enum status copy_socket(struct client *client, const char *path, struct error *err)
{
    if (strlen(path) >= sizeof client->socket_path)
        return error_set(err, STATUS_INVALID, "bad_address", "", "the path of the socket is too long: %.100s", path);
    snprintf(client->socket_path, sizeof client->socket_path, "%s", path);
    return STATUS_OK;
}

enum status client_open(const struct client_options *options, struct client **out, struct error *err)
{
    *out = NULL;
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return error_no_memory(err);
    client->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    if (options->token != NULL)
        snprintf(client->authorization, sizeof client->authorization, "Authorization: Bearer %s", options->token);
    enum status status = options->socket_path != NULL ? copy_socket(client, options->socket_path, err)
                                                      : copy_address(client, options, err);
    if (status != STATUS_OK)
        client_close(client);
    else
        *out = client;
    return status;
}

void client_close(struct client *client)
{
    if (client != NULL && client->curl != NULL)
        remote_close(client);
    free(client);
}

/* The inverse of the server's table from status to HTTP number. */
static enum status status_of(long http_status)
{
    static const struct {
        long        http_status;
        enum status status;
    } table[] = {
        {401, STATUS_UNAUTHORISED}, {403, STATUS_FORBIDDEN}, {404, STATUS_NOT_FOUND}, {409, STATUS_CONFLICT},
        {412, STATUS_STALE},        {413, STATUS_TOO_LARGE}, {429, STATUS_BUSY},      {502, STATUS_BUSY},
        {503, STATUS_BUSY},         {504, STATUS_BUSY},      {507, STATUS_FULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].http_status == http_status)
            return table[i].status;
    return http_status >= 500 ? STATUS_INTERNAL : STATUS_INVALID;
}

/* A refusal that is no problem document of ours: from a proxy, or from a receiver, whose words are not read. */
static enum status bare_refusal(const struct client *client, long http_status, struct error *err)
{
    return error_set(err, status_of(http_status), "refused", "", "%s: HTTP %ld%s",
                     client->address[0] != '\0' ? client->address : "the server", http_status,
                     http_status / 100 == 3 ? ", a redirect, which is not followed" : "");
}

/* The mistakes of a refusal, each behind its place: all that the text has room for, and how many others there are. */
static void list_mistakes(const json_t *errors, char *text, size_t room)
{
    enum { MORE_BYTES = sizeof "; and 18446744073709551615 more" };
    size_t used = 0, len = json_array_size(errors);
    for (size_t i = 0; i < len; i++) {
        const char *place = "request", *detail = "";
        json_unpack(json_array_get(errors, i), "{s?s, s?s, s?s}", "pointer", &place, "parameter", &place, "detail",
                    &detail);
        int own = snprintf(text + used, room - used, "%s%s: %s", i > 0 ? "; " : "", place, detail);
        if (used + (size_t)own + (i + 1 < len ? MORE_BYTES : 0) >= room) {
            (void)snprintf(text + used, room - used, "%sand %zu more", i > 0 ? "; " : "", len - i);
            return;
        }
        used += (size_t)own;
    }
}

static enum status refusal(const struct client *client, const struct client_reply *reply, struct error *err)
{
    const char *code = "refused", *detail = NULL, *pointer = "";
    json_t     *problem = json_loadb(reply->bytes != NULL ? reply->bytes : "", reply->length, 0, NULL);
    char        mistakes[sizeof err->text - sizeof "100 mistakes (HTTP 422): "];
    json_unpack(problem, "{s?s, s?s, s?[{s?s, s?s}]}", "code", &code, "detail", &detail, "errors", "pointer", &pointer,
                "parameter", &pointer);
    (void)json_unpack(problem, "{s:s}", "status", &detail); // of /readyz; a problem has a number there
    const json_t *errors = json_object_get(problem, "errors");
    size_t        len = json_array_size(errors);
    list_mistakes(errors, mistakes, sizeof mistakes);
    enum status status = detail == NULL ? bare_refusal(client, reply->http_status, err)
                         : len > 1      ? error_set(err, status_of(reply->http_status), code, "",
                                                    "%zu mistakes (HTTP %ld): %s", len, reply->http_status, mistakes)
                                        : error_set(err, status_of(reply->http_status), code, pointer, "%s (HTTP %ld)",
                                                    detail, reply->http_status);
    json_decref(problem);
    return status;
}

enum status client_send(struct client *client, const struct client_request *request, struct client_reply *reply,
                        struct error *err)
{
    *reply = (struct client_reply){.bytes = NULL};
    enum status status =
        client->curl != NULL ? remote_send(client, request, reply, err) : local_send(client, request, reply, err);
    if (status == STATUS_OK && reply->http_status / 100 != 2)
        status = refusal(client, reply, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    free(reply->bytes);
    reply->bytes = NULL;
    return status;
}

enum status client_bad_reply(struct error *err)
{
    return error_set(err, STATUS_INTERNAL, "bad_reply", "", "the server's answer is not understood");
}

enum status client_json(struct client *client, const char *method, const char *path, json_t *body, json_t **reply,
                        struct error *err)
{
    struct client_reply answer = {.bytes = NULL};
    char               *text = codec_dump(body, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (reply != NULL)
        *reply = NULL;
    if (body != NULL && text == NULL) {
        json_decref(body);
        return error_no_memory(err);
    }
    json_decref(body);
    enum status status = client_send(client,
                                     &(struct client_request){.method = method,
                                                              .path = path,
                                                              .body = text,
                                                              .body_bytes = text != NULL ? strlen(text) : 0,
                                                              .content_type = text != NULL ? "application/json" : NULL},
                                     &answer, err);
    free(text);
    if (status == STATUS_OK && reply != NULL) {
        *reply = json_loadb(answer.bytes != NULL ? answer.bytes : "", answer.length, 0, NULL);
        if (*reply == NULL)
            status = client_bad_reply(err);
    }
    free(answer.bytes);
    return status;
}
