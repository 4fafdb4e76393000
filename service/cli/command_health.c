/* gnomon health: whether the server of a folder can do its work, asked through its socket: for HEALTHCHECK of a container,
 * which needs neither a port nor a token nor another program for it. */
#include "service/client/client.h"
#include "service/cli/command.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_MS = 5000 };

struct health_options {
    const char *data;
};

static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct health_options),
    {.flag = NULL},
};

static enum status run(struct command_call *call, struct error *err)
{
    const struct health_options *options = call->options;
    char                         path[1024];
    struct client_reply          reply;
    snprintf(path, sizeof path, "%.1000s/gnomon.sock", options->data);
    TRY(client_open(&(struct client_options){.socket_path = path, .timeout_ms = LIMIT_MS}, &call->client, err));
    TRY(client_send(call->client, &(struct client_request){.method = "GET", .path = "/readyz"}, &reply, err));
    puts(reply.bytes != NULL ? reply.bytes : "");
    free(reply.bytes);
    return STATUS_OK;
}

const struct command command_health = {
    .name = "health",
    .operands = "",
    .summary = "ask the server of a folder whether it can do its work: exit code 0, 1, or 69 without a server",
    .options = options_table,
    .options_bytes = sizeof(struct health_options),
    .run = run,
};
