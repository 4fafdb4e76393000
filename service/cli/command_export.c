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

#define MEMBER(member) .offset = offsetof(struct export_options, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct export_options),
    {.flag = "study", .value = "ID", .kind = OPTIONS_TEXT, MEMBER(study), .is_required = true, .help = "which study"},
    {.flag = "format",
     .value = "FORMAT",
     .kind = OPTIONS_TEXT,
     MEMBER(format),
     .fallback = "json",
     .choices = "json|csv",
     .help = "json has the specification, the log and the trials; csv the trials"},
    {.flag = "out", .value = "FILE", .kind = OPTIONS_TEXT, MEMBER(out), .help = "by default standard output"},
    {.flag = NULL},
};

static enum status write_file(const char *path, const struct client_reply *reply, struct error *err)
{
    struct file_draft draft;
    enum status       status = file_begin(&draft, path, 0600, err);
    if (status == STATUS_OK) {
        fwrite(reply->bytes, 1, reply->length, draft.stream);
        status = file_finish(&draft, err);
    }
    if (status == STATUS_OK)
        status = file_publish(&draft, err);
    file_discard(&draft);
    return status;
}

static enum status write_study(const struct export_options *options, struct client *client, struct error *err)
{
    char                path[160];
    struct client_reply reply;
    snprintf(path, sizeof path, "/v1/studies/%.60s/export?format=%s", options->study, options->format);
    TRY(client_send(client, &(struct client_request){.method = "GET", .path = path}, &reply, err));
    enum status status = STATUS_OK;
    if (options->out != NULL)
        status = write_file(options->out, &reply, err);
    else if (isatty(STDOUT_FILENO) == 1)
        plain_print_lines(stdout, reply.bytes != NULL ? reply.bytes : "");
    else if (fwrite(reply.bytes, 1, reply.length, stdout) != reply.length || fflush(stdout) != 0)
        status = error_set(err, STATUS_FULL, "file", "", "standard output cannot be written");
    free(reply.bytes);
    return status;
}

static int run(char **arguments)
{
    struct error          err;
    struct export_options options;
    struct client        *client = NULL;
    enum status           status = options_read(options_table, arguments, &options, NULL, 0, &err);
    if (status == STATUS_OK)
        status = command_check_study(options.study, &err);
    if (status == STATUS_OK)
        status = command_connect(&options.at, &client, &err);
    if (status == STATUS_OK)
        status = write_study(&options, client, &err);
    client_close(client);
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_export = {
    .name = "export",
    .operands = "",
    .summary = "a study as one JSON document or CSV table",
    .options = options_table,
    .run = run,
};
