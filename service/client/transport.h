/* The parts of a client (client.h) that its two ways to a server share: libcurl (remote.c), and a Unix socket of this
 * machine (local.c). */
#ifndef GNOMON_SERVICE_CLI_TRANSPORT_H
#define GNOMON_SERVICE_CLI_TRANSPORT_H

#include "service/client/client.h"

struct client {
    void *curl;         /* NULL with a socket_path */
    char  address[512]; /* without a final slash */
    char  authorization[256];
    char  socket_path[512];
    char  ca_file[1024]; /* or "" */
    bool  is_local;      /* on this machine: no proxy */
    long  timeout_ms;
};

enum { HOST_BYTES = 512 };

/* host: that of client->address as libcurl will read it, which knows of user names and escapes.
 * Errors: INTERNAL "no_libcurl", INVALID "bad_address", NO_MEMORY. */
MUST_CHECK enum status remote_open(struct client *client, char host[HOST_BYTES], struct error *err);
void                   remote_close(struct client *client);

/* Whatever the server says is STATUS_OK, with its http_status.  Errors: as client_send's own. */
MUST_CHECK enum status remote_send(struct client *client, const struct client_request *request,
                                   struct client_reply *reply, struct error *err);
MUST_CHECK enum status local_send(struct client *client, const struct client_request *request,
                                  struct client_reply *reply, struct error *err);

/* Takes bytes of a body; false when they cannot be kept. */
bool reply_take(struct client_reply *reply, const char *bytes, size_t length);

#endif
