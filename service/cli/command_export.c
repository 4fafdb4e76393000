/* gnomon export: a study as one document, from the service to a file or to standard output. */
#include "service/cli/client.h"
#include "service/cli/command.h"
#include "service/base/file.h"
#include "service/cli/plain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_options {
    struct command_server at;
    const char           *study, *format, *out;
};

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct export_options, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct export_options),
    COMMAND_STUDY_ROW(struct export_options),
    {OPTION("format", "FORMAT", format), .fallback = "json", .choices = "json|csv",
     .help = "json has the specification, the log and the trials; csv the trials"},
    {OPTION("out", "FILE", out), .help = "by default standard output"},
    {.flag = NULL},
};

static enum status write_study(const struct export_options *options, struct client *client, struct error *err)
{
    char                path[160];
    struct client_reply reply;
    snprintf(path, sizeof path, "/v1/studies/%.60s/export?format=%s", options->study, options->format);
    TRY(client_send(client, &(struct client_request){.method = "GET", .path = path}, &reply, err));
    enum status status = STATUS_OK;
    if (options->out != NULL)
        status = file_write(options->out, 0600, reply.bytes, reply.length, err);
    else if (isatty(STDOUT_FILENO) == 1)
        plain_print_lines(stdout, reply.bytes != NULL ? reply.bytes : "");
    else if (fwrite(reply.bytes, 1, reply.length, stdout) != reply.length || fflush(stdout) != 0)
        status = error_set(err, STATUS_FULL, "file", "", "standard output cannot be written");
    free(reply.bytes);
    return status;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct export_options *options = call->options;
    TRY(command_check_id("study", "std", options->study, err));
    TRY(command_connect(&options->at, &call->client, err));
    return write_study(options, call->client, err);
}

const struct command command_export = {
    .name = "export",
    .operands = "",
    .summary = "a study as one JSON document or CSV table",
    .options = options_table,
    .options_bytes = sizeof(struct export_options),
    .run = run,
};
