/* See client.h.  The only file that knows libcurl. */
#include "service/cli/client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLY_MAX_BYTES = 256 << 20, DEFAULT_TIMEOUT_MS = 60000, CONNECT_TIMEOUT_MS = 5000 };
static const long LONG_MS = 3600 * 1000L;
enum { STALLED_SECONDS = 60 }; /* of a reply that goes to a file */

struct client {
    CURL *curl;
    char  address[512]; /* without a final slash */
    char  authorization[256];
    char  socket_path[512];
    char  ca_file[1024]; /* or "" */
    bool  is_local;      /* on this machine: no proxy */
    long  timeout_ms;
};

bool client_is_loopback(const char *host)
{
    struct in_addr  four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

/* Of the address as libcurl will read it, which knows of user names and escapes. */
static enum status check_host(struct client *client, bool insecure_http, struct error *err)
{
    char  *host = NULL;
    CURLU *url = curl_url();
    bool   is_read = url != NULL && curl_url_set(url, CURLUPART_URL, client->address, 0) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    enum status status = STATUS_OK;
    client->is_local = is_read && client_is_loopback(host);
    if (!is_read)
        status = error_set(err, STATUS_INVALID, "bad_address", "", "not an address: %.100s", client->address);
    else if (!client->is_local && !insecure_http && strncmp(client->address, "http://", 7) == 0)
        status =
            error_set(err, STATUS_INVALID, "insecure_http", "",
                      "http:// to %.100s would send the token and everything else readable for all in between: use "
                      "https://, or say --insecure-http",
                      host);
    curl_free(host);
    curl_url_cleanup(url);
    return status;
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
    const char *server = options->socket_path != NULL ? "http://localhost" : options->server;
    bool        is_known = strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0;
    if (!is_known || strlen(server) >= sizeof client->address)
        return error_set(err, STATUS_INVALID, "bad_address", "",
                         "the server's address must be http://HOST:PORT or "
                         "https://HOST:PORT, not %.100s",
                         server);
    snprintf(client->address, sizeof client->address, "%s", server);
    size_t length = strlen(client->address);
    if (client->address[length - 1] == '/')
        client->address[length - 1] = '\0';
    TRY(copy_ca_file(client, options->ca_file, err));
    return check_host(client, options->insecure_http, err);
}

enum status client_open(const struct client_options *options, struct client **out, struct error *err)
{
    *out = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return error_no_memory(err);
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL || (client->curl = curl_easy_init()) == NULL) {
        free(client);
        return error_no_memory(err);
    }
    client->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    if (options->socket_path != NULL)
        snprintf(client->socket_path, sizeof client->socket_path, "%s", options->socket_path);
    if (options->token != NULL)
        snprintf(client->authorization, sizeof client->authorization, "Authorization: Bearer %s", options->token);
    enum status status = copy_address(client, options, err);
    if (status != STATUS_OK)
        client_close(client);
    else
        *out = client;
    return status;
}

void client_close(struct client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    free(client);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct client_reply *reply = arg;
    size_t               length = size * count;
    long                 http_status = 0;
    if (reply->sink != NULL && curl_easy_getinfo(reply->curl, CURLINFO_RESPONSE_CODE, &http_status) == CURLE_OK &&
        http_status / 100 == 2)
        return fwrite(bytes, 1, length, reply->sink);
    if (length > REPLY_MAX_BYTES - reply->length)
        return 0;
    char *larger = realloc(reply->bytes, reply->length + length + 1);
    if (larger == NULL)
        return 0;
    memcpy(larger + reply->length, bytes, length);
    reply->bytes = larger;
    reply->length += length;
    reply->bytes[reply->length] = '\0';
    return length;
}

/* Adds a line when value is there; false when out of memory. */
static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[512];
    if (value == NULL)
        return true;
    snprintf(line, sizeof line, "%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer == NULL)
        return false;
    *headers = longer;
    return true;
}

static enum status set_up(struct client *client, const struct client_request *request, struct curl_slist **headers,
                          struct error *err)
{
    CURL *curl = client->curl;
    char  url[2048];
    bool  is_good = add_header(headers, "", client->authorization[0] != '\0' ? client->authorization : NULL) &&
                   add_header(headers, "Content-Type: ", request->content_type) &&
                   add_header(headers, "Content-Range: ", request->range) &&
                   add_header(headers, "Expect:", ""); /* no wait for 100 Continue */
    curl_easy_reset(curl);
    int length = snprintf(url, sizeof url, "%s%s", client->address, request->path);
    if (length < 0 || (size_t)length >= sizeof url)
        return error_set(err, STATUS_INVALID, "bad_address", "", "the address is too long");
    is_good = is_good && curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers) == CURLE_OK;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (client->is_local)
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (client->ca_file[0] != '\0') { // these authorities and no others
        is_good = is_good && curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file) == CURLE_OK;
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     request->sink != NULL ? 0L
                     : request->is_long    ? LONG_MS
                                           : client->timeout_ms);
    if (request->sink != NULL) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALLED_SECONDS);
    }
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    if (client->socket_path[0] != '\0')
        is_good = is_good && curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket_path) == CURLE_OK;
    if (request->body != NULL || strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body != NULL ? request->body : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
    }
    return is_good ? STATUS_OK : error_no_memory(err);
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

static enum status refusal(const struct client_reply *reply, struct error *err)
{
    const char *code = "refused", *detail = "no reason given", *pointer = "";
    json_t     *problem = json_loadb(reply->bytes != NULL ? reply->bytes : "", reply->length, 0, NULL);
    json_unpack(problem, "{s?s, s?s, s?[{s?s}]}", "code", &code, "detail", &detail, "errors", "pointer", &pointer);
    enum status status =
        error_set(err, status_of(reply->http_status), code, pointer, "%s (HTTP %ld)", detail, reply->http_status);
    json_decref(problem);
    return status;
}

enum status client_send(struct client *client, const struct client_request *request, struct client_reply *reply,
                        struct error *err)
{
    struct curl_slist *headers = NULL;
    *reply = (struct client_reply){.sink = request->sink, .curl = client->curl};
    enum status status = set_up(client, request, &headers, err);
    if (status == STATUS_OK) {
        curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, reply);
        CURLcode result = curl_easy_perform(client->curl);
        bool     is_unknown = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE;
        if (is_unknown)
            status = error_set(err, STATUS_INVALID, "bad_certificate", "",
                               "%.100s: %s; --cacert FILE names the authority of a private network", client->address,
                               curl_easy_strerror(result));
        else if (result == CURLE_WRITE_ERROR)
            status = error_set(err, STATUS_FULL, "file", "", "what the server sends cannot be kept");
        else if (result != CURLE_OK)
            status = error_set(err, STATUS_BUSY, "unreachable", "", "%.100s: %s",
                               client->socket_path[0] != '\0' ? client->socket_path : client->address,
                               curl_easy_strerror(result));
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply->http_status);
    }
    curl_slist_free_all(headers);
    if (status == STATUS_OK && reply->http_status / 100 != 2)
        status = refusal(reply, err);
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
    char               *text = body != NULL ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
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
