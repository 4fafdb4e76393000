/* See spare.h. */
#include "api/http/spare.h"

#include "api/http/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 64, INACTIVITY_SECONDS = 10 };

struct spare {
    struct MHD_Daemon *daemon;
};

/* The last is for every other path. */
static const struct {
    const char *path;
    unsigned    http;
    const char *type, *body;
} answers[] = {
    {"/livez", 200, "application/json", "{\"status\":\"ok\"}"},
    {"/metrics", 200, "text/plain; version=0.0.4; charset=utf-8",
     "# HELP gnomon_waiting 1: another server has the database, and this one waits for it.\n"
     "# TYPE gnomon_waiting gauge\ngnomon_waiting 1\n"},
    {NULL, 503, "application/json", "{\"status\":\"waiting\",\"checks\":[]}"},
};

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_bytes, void **context)
{
    size_t i = 0;
    (void)cls, (void)method, (void)version, (void)data, (void)data_bytes, (void)context;
    while (answers[i].path != NULL && strcmp(url, answers[i].path) != 0)
        i++;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(answers[i].body), (void *)(uintptr_t)answers[i].body, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    bool is_whole = MHD_add_response_header(response, "Content-Type", answers[i].type) == MHD_YES &&
                    MHD_add_response_header(response, "Connection", "close") == MHD_YES &&
                    (answers[i].http == 200 || MHD_add_response_header(response, "Retry-After", "1") == MHD_YES);
    enum MHD_Result result = is_whole ? MHD_queue_response(connection, answers[i].http, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

enum status spare_start(const char *host, const char *port, struct spare **out, struct error *err)
{
    int fd;
    TRY(server_socket(host, port, &fd, err));
    struct spare *spare = calloc(1, sizeof *spare);
    if (spare != NULL)
        spare->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
                                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
                                         MHD_OPTION_CONNECTION_TIMEOUT, INACTIVITY_SECONDS, MHD_OPTION_END);
    if (spare != NULL && spare->daemon != NULL) {
        *out = spare;
        return STATUS_OK;
    }
    free(spare);
    close(fd);
    return error_set(err, STATUS_INTERNAL, "listen", "", "the health listener did not start");
}

int spare_port(const struct spare *spare)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(spare->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

void spare_stop(struct spare *spare)
{
    if (spare == NULL)
        return;
    MHD_stop_daemon(spare->daemon);
    free(spare);
}
