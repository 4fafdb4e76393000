/* See transport.h.  The only file that knows libcurl, which is loaded when a command first needs it: with what it brings
 * (LDAP, Kerberos, SSH, RTMP: 30 libraries) it has no place in the process that serves. */
#include "service/client/transport.h"

#define CURL_DISABLE_TYPECHECK // of a macro that knows the functions by their names alone
#include <curl/curl.h>
#include <dlfcn.h>
#include <string.h>

enum { CONNECT_TIMEOUT_MS = 5000 };

#define CALLS(X)           \
    X(curl_global_init)    \
    X(curl_easy_init)      \
    X(curl_easy_cleanup)   \
    X(curl_easy_reset)     \
    X(curl_easy_setopt)    \
    X(curl_easy_perform)   \
    X(curl_easy_getinfo)   \
    X(curl_easy_strerror)  \
    X(curl_slist_append)   \
    X(curl_slist_free_all) \
    X(curl_url)            \
    X(curl_url_set)        \
    X(curl_url_get)        \
    X(curl_url_cleanup)    \
    X(curl_free)

/* The library's functions, with the types that its header gives them. */
static struct {
#define MEMBER(call) __typeof__(call) *call;
    CALLS(MEMBER)
} lib;

static const struct {
    const char *name;
    void       *member; /* of lib: a pointer to a function, which C does not convert */
} calls[] = {
#define ROW(call) {.name = #call, .member = &lib.call},
    CALLS(ROW)};

/* Not for threads: what uses a client has one. */
static enum status load(struct error *err)
{
    static void *handle;
    if (handle != NULL)
        return STATUS_OK;
    void *opened = dlopen("libcurl.so.4", RTLD_NOW);
    if (opened == NULL)
        return error_set(err, STATUS_INTERNAL, "no_libcurl", "",
                         "this command needs libcurl (apt-get install libcurl4): %.80s", dlerror());
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *call = dlsym(opened, calls[i].name);
        if (call == NULL)
            return error_set(err, STATUS_INTERNAL, "no_libcurl", "", "this libcurl has no %s", calls[i].name);
        memcpy(calls[i].member, &call, sizeof call);
    }
    if (lib.curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return error_no_memory(err);
    handle = opened;
    return STATUS_OK;
}

enum status remote_open(struct client *client, char host[HOST_BYTES], struct error *err)
{
    TRY(load(err));
    client->curl = lib.curl_easy_init();
    char  *name = NULL;
    CURLU *url = client->curl != NULL ? lib.curl_url() : NULL;
    if (url == NULL)
        return error_no_memory(err);
    bool is_read = lib.curl_url_set(url, CURLUPART_URL, client->address, 0) == CURLUE_OK &&
                   lib.curl_url_get(url, CURLUPART_HOST, &name, 0) == CURLUE_OK && strlen(name) < HOST_BYTES;
    snprintf(host, HOST_BYTES, "%s", is_read ? name : "");
    lib.curl_free(name);
    lib.curl_url_cleanup(url);
    return is_read ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "bad_address", "",
                               "--server is not an address that can be read: "
                               "http://HOST:PORT or https://HOST:PORT is one");
}

void remote_close(struct client *client)
{
    lib.curl_easy_cleanup(client->curl);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    return reply_take(arg, bytes, size * count) ? size * count : 0;
}

/* Adds a line when value is there; false when out of memory. */
static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[512];
    if (value == NULL)
        return true;
    snprintf(line, sizeof line, "%s%s", name, value);
    struct curl_slist *longer = lib.curl_slist_append(*headers, line);
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
    lib.curl_easy_reset(curl);
    int length = snprintf(url, sizeof url, "%s%s", client->address, request->path);
    if (length < 0 || (size_t)length >= sizeof url)
        return error_set(err, STATUS_INVALID, "bad_address", "", "the address is too long");
    is_good = is_good && lib.curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
              lib.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              lib.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK &&
              lib.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers) == CURLE_OK;
    lib.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (client->is_local)
        lib.curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (client->ca_file[0] != '\0') { // trusts these authorities and no others
        is_good = is_good && lib.curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file) == CURLE_OK;
        lib.curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    lib.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->timeout_ms);
    lib.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    lib.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    if (request->body != NULL || strcmp(request->method, "POST") == 0) {
        lib.curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body != NULL ? request->body : "");
        lib.curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
    }
    return is_good ? STATUS_OK : error_no_memory(err);
}

enum status remote_send(struct client *client, const struct client_request *request, struct client_reply *reply,
                        struct error *err)
{
    struct curl_slist *headers = NULL;
    enum status        status = set_up(client, request, &headers, err);
    if (status == STATUS_OK) {
        lib.curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, reply);
        CURLcode result = lib.curl_easy_perform(client->curl);
        bool     is_unknown = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE;
        if (is_unknown)
            status = error_set(err, STATUS_INVALID, "bad_certificate", "",
                               "%s: %s; --cacert FILE names the authority of a private network", client->address,
                               lib.curl_easy_strerror(result));
        else if (result == CURLE_WRITE_ERROR)
            status = error_set(err, STATUS_FULL, "file", "", "what the server sends cannot be kept");
        else if (result != CURLE_OK)
            status = error_set(err, STATUS_BUSY, "unreachable", "", "%s: %s", client->address,
                               lib.curl_easy_strerror(result));
        lib.curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply->http_status);
    }
    lib.curl_slist_free_all(headers);
    return status;
}
