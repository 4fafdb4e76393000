/* The yardstick of the HTTP bench: libmicrohttpd with the flags of the service, answering every request with the same
 * JSON text of the given length.  Prints the port it listens on; ends with its standard input.
 *   bare BYTES THREADS */
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum MHD_Result answer(void *text, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    (void)url, (void)method, (void)version, (void)upload, (void)upload_bytes;
    if (*state == NULL) { // a reply at the first call, with the head, would close the connection
        *state = text;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    enum { BYTES_MIN = 16, BYTES_MAX = 1 << 20 };
    size_t   bytes = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned threads = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (bytes < BYTES_MIN || bytes > BYTES_MAX || threads == 0)
        return 64;
    char *text = malloc(bytes + 1);
    if (text == NULL)
        return 1;
    memset(text, 'x', bytes);
    memcpy(text, "{\"text\":\"", strlen("{\"text\":\""));
    snprintf(text + bytes - 2, 3, "\"}");
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_Daemon *daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, text, MHD_OPTION_THREAD_POOL_SIZE,
                                                 threads, MHD_OPTION_CONNECTION_LIMIT, 512u, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = daemon == NULL ? NULL : MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info == NULL)
        return 1;
    printf("%u\n", (unsigned)info->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    MHD_stop_daemon(daemon);
    free(text);
    return 0;
}
