/* gnomon export: a study, from the service to a file or to standard output. */
#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/file/file.h"
#include "service/client/plain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_options {
    struct command_server at;
    const char           *study, *format, *out;
    bool                  for_spreadsheet;
};

#define OPTION(name, what, member) OPTION_OF(struct export_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct export_options),
    COMMAND_STUDY_ROW(struct export_options),
    {OPTION("format", "FORMAT", format), .fallback = "ndjson", .choices = "ndjson|json|csv",
     .help =
         "ndjson is the whole study, a line for each thing; json has what can be imported into another study; csv the "
         "trials"},
    {OPTION("for-spreadsheet", NULL, for_spreadsheet), .kind = OPTIONS_SWITCH,
     .help = "with csv: text that a spreadsheet would compute as a formula gets an apostrophe; not for an import"},
    {OPTION("out", "FILE", out), .help = "by default standard output"},
    {.flag = NULL},
};

static enum status fetch(const struct export_options *options, struct client *client, FILE *sink,
                         struct client_reply *reply, struct error *err)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/studies/%.60s/export?format=%s%s", options->study, options->format,
             options->for_spreadsheet ? "&for=spreadsheet" : "");
    return client_send(client, &(struct client_request){.method = "GET", .path = path, .sink = sink}, reply, err);
}

/* The file appears only when it is complete. */
static enum status to_file(const struct export_options *options, struct client *client, struct error *err)
{
    struct file_draft   draft;
    struct client_reply reply;
    TRY(file_begin(&draft, options->out, 0600, err));
    enum status status = fetch(options, client, draft.stream, &reply, err);
    if (status == STATUS_OK)
        status = file_finish(&draft, err);
    if (status == STATUS_OK)
        status = file_publish(&draft, err);
    file_discard(&draft);
    return status;
}

static enum status to_output(const struct export_options *options, struct client *client, struct error *err)
{
    bool                is_terminal = isatty(STDOUT_FILENO) == 1;
    struct client_reply reply;
    TRY(fetch(options, client, is_terminal ? NULL : stdout, &reply, err));
    if (is_terminal)
        plain_print_lines(stdout, reply.bytes != NULL ? reply.bytes : "");
    free(reply.bytes);
    return fflush(stdout) == 0 ? STATUS_OK
                               : error_set(err, STATUS_FULL, "file", "", "standard output cannot be written");
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct export_options *options = call->options;
    TRY(command_check_id("study", "std", options->study, err));
    TRY(command_connect(&options->at, &call->client, err));
    return options->out != NULL ? to_file(options, call->client, err) : to_output(options, call->client, err);
}

const struct command command_export = {
    .name = "export",
    .operands = "",
    .summary = "a study as a file: all of it, or its trials as JSON or CSV",
    .options = options_table,
    .options_bytes = sizeof(struct export_options),
    .run = run,
};
