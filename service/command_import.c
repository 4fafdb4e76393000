/* gnomon import: observations from a file into a study, all or none. */
#include "service/client.h"
#include "service/command.h"
#include "service/file.h"
#include "service/plain.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX_BYTES = 64 << 20 };

struct import_options {
    struct command_server at;
    const char           *study, *format, *in;
    bool                  dry_run;
};

#define MEMBER(member) .offset = offsetof(struct import_options, member)
static const struct config_row options_table[] = {
    COMMAND_SERVER_ROWS(struct import_options),
    {.flag = "study", .value = "ID", .kind = CONFIG_TEXT, MEMBER(study), .is_required = true, .help = "which study"},
    {.flag = "in",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(in),
     .is_required = true,
     .help = "an exported document, {\"observations\":[...]}, or CSV with a column for each parameter and \"value\""},
    {.flag = "format",
     .value = "FORMAT",
     .kind = CONFIG_TEXT,
     MEMBER(format),
     .fallback = "auto",
     .choices = "auto|json|csv",
     .help = "auto: csv when the file's name ends in .csv"},
    {.flag = "dry-run", .kind = CONFIG_SWITCH, MEMBER(dry_run), .help = "check everything, change nothing"},
    {.flag = NULL},
};

static bool is_csv(const struct import_options *options)
{
    size_t length = strlen(options->in);
    if (strcmp(options->format, "auto") != 0)
        return strcmp(options->format, "csv") == 0;
    return length > 4 && strcmp(options->in + length - 4, ".csv") == 0;
}

static enum status import(const struct import_options *options, struct client *client, struct error *err)
{
    char                path[160], *text = NULL;
    size_t              length = 0;
    struct client_reply reply;
    snprintf(path, sizeof path, "/v1/studies/%.60s/import?dry_run=%s", options->study,
             options->dry_run ? "true" : "false");
    TRY(file_read(options->in, INPUT_MAX_BYTES, &text, &length, err));
    enum status status =
        client_send(client,
                    &(struct client_request){.method = "POST",
                                             .path = path,
                                             .body = text,
                                             .body_bytes = length,
                                             .content_type = is_csv(options) ? "text/csv" : "application/json"},
                    &reply, err);
    free(text);
    if (status != STATUS_OK)
        return status;
    plain_print_lines(stdout, reply.bytes != NULL ? reply.bytes : "");
    fputc('\n', stdout);
    free(reply.bytes);
    return STATUS_OK;
}

static int run(char **arguments)
{
    struct error          err;
    struct import_options options;
    struct client        *client = NULL;
    enum status           status = config_read(options_table, arguments, &options, NULL, 0, &err);
    if (status == STATUS_OK)
        status = command_check_study(options.study, &err);
    if (status == STATUS_OK)
        status = command_connect(&options.at, &client, &err);
    if (status == STATUS_OK)
        status = import(&options, client, &err);
    client_close(client);
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_import = {
    .name = "import",
    .operands = "",
    .summary = "observations from a JSON document or CSV table into a study",
    .options = options_table,
    .run = run,
};
