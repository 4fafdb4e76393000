/* See transport.h.  The socket of a server on this machine: HTTP/1.0, one connection a request, the end of it the end of
 * the reply.  The other end is our own server, in a folder that is its owner's alone, so this reads what that one
 * writes, and needs no library for it. */
#include "service/client/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, PIECE_BYTES = 65536 };

static enum status unreachable(const struct client *client, const char *why, struct error *err)
{
    return error_set(err, STATUS_BUSY, "unreachable", "", "%.100s: %s", client->socket_path, why);
}

static enum status dial(const struct client *client, int *fd, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval     limit = {.tv_sec = client->timeout_ms / 1000, .tv_usec = client->timeout_ms % 1000 * 1000};
    size_t             length = strlen(client->socket_path);
    if (length >= sizeof address.sun_path)
        return unreachable(client, "the path is too long for a socket", err);
    memcpy(address.sun_path, client->socket_path, length + 1);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        connect(*fd, (struct sockaddr *)&address, sizeof address) == 0)
        return STATUS_OK;
    unreachable(client, strerror(errno), err);
    if (*fd >= 0)
        close(*fd);
    return STATUS_BUSY;
}

static bool send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* Adds a header line if the value is there. */
static void add_line(FILE *head, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        fprintf(head, "%s%s\r\n", name, value);
}

static bool send_request(const struct client *client, int fd, const struct client_request *request)
{
    char  bytes[HEAD_BYTES], length[32] = "";
    FILE *head = fmemopen(bytes, sizeof bytes, "w");
    if (head == NULL)
        return false;
    if (request->body != NULL || strcmp(request->method, "POST") == 0)
        snprintf(length, sizeof length, "%zu", request->body_bytes);
    fprintf(head, "%s %s HTTP/1.0\r\nHost: localhost\r\n", request->method, request->path);
    add_line(head, "", client->authorization);
    add_line(head, "Content-Type: ", request->content_type);
    add_line(head, "Content-Range: ", request->range);
    add_line(head, "Content-Length: ", length);
    fputs("\r\n", head);
    long head_bytes = ftell(head);
    bool is_whole = fclose(head) == 0 && head_bytes > 0;
    return is_whole && send_all(fd, bytes, (size_t)head_bytes) &&
           (request->body == NULL || send_all(fd, request->body, request->body_bytes));
}

static bool receive_all(int fd, struct client_reply *all)
{
    char    piece[PIECE_BYTES];
    ssize_t length = 0;
    do {
        length = recv(fd, piece, sizeof piece, 0);
        if (length > 0 && !reply_take(all, piece, (size_t)length))
            return errno = ENOMEM, false;
    } while (length > 0 || (length < 0 && errno == EINTR));
    return length == 0;
}

/* The number of the status, and where the body begins; NULL for a reply that is not whole. */
static const char *read_head(const struct client_reply *all, long *http_status)
{
    const char *end = all->bytes != NULL ? strstr(all->bytes, "\r\n\r\n") : NULL;
    if (end == NULL || sscanf(all->bytes, "HTTP/1.%*1[01] %3ld", http_status) != 1)
        return NULL;
    size_t body_bytes = all->length - (size_t)(end + 4 - all->bytes), wanted = body_bytes;
    for (const char *line = all->bytes; line < end; line = strstr(line, "\r\n") + 2)
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            wanted = strtoul(line + 15, NULL, 10);
    return wanted == body_bytes ? end + 4 : NULL;
}

enum status local_send(struct client *client, const struct client_request *request, struct client_reply *reply,
                       struct error *err)
{
    struct client_reply all = {.bytes = NULL};
    int                 fd = -1;
    TRY(dial(client, &fd, err));
    // A server that answers before it has all of the body closes its side.
    bool        is_sent = send_request(client, fd, request) || errno == EPIPE;
    enum status status = is_sent && receive_all(fd, &all) ? STATUS_OK : unreachable(client, strerror(errno), err);
    const char *body = status == STATUS_OK ? read_head(&all, &reply->http_status) : NULL;
    if (status == STATUS_OK && body == NULL)
        status = unreachable(client, "the answer is not whole", err);
    if (status == STATUS_OK && !reply_take(reply, body, all.length - (size_t)(body - all.bytes)))
        status = error_set(err, STATUS_FULL, "file", "", "what the server sends cannot be kept");
    free(all.bytes);
    close(fd);
    return status;
}
