/* See command.h. */
#include "service/cli/command.h"
#include "service/client/client.h"
#include "service/file/file.h"
#include "service/client/plain.h"
#include "service/client/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
    const char *code;
    int         exit_code;
} exit_codes[] = {
    {"usage", COMMAND_USAGE},           {"store_corrupt", COMMAND_CORRUPT},   {"locked", COMMAND_TEMPORARY},
    {"interrupted", COMMAND_TEMPORARY}, {"schema_newer", COMMAND_SCHEMA},     {"schema_unknown", COMMAND_SCHEMA},
    {"backup_exists", COMMAND_SCHEMA},  {"unreachable", COMMAND_UNREACHABLE}, {"schema_old", COMMAND_SCHEMA},
};

/* Prints "gnomon: <text>" on standard error; the exit code that belongs to the error. */
static int fail(const struct error *err)
{
    fputs("gnomon: ", stderr);
    plain_print(stderr, err->text);
    fputs(err->path[0] != '\0' ? " at " : "", stderr);
    plain_print(stderr, err->path);
    fputc('\n', stderr);
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        if (strcmp(exit_codes[i].code, err->code) == 0)
            return exit_codes[i].exit_code;
    return err->status == STATUS_INTERNAL ? COMMAND_INTERNAL : COMMAND_FAILED;
}

/* Keys, tables and vectors are in memory, and a crash would write them to a file that stays.  What a command runs may
 * raise it again for itself. */
static void forbid_core(void)
{
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
    }
}

int command_execute(const struct command *command, char **arguments)
{
    struct error        err;
    void               *options = calloc(1, command->options_bytes);
    struct command_call call = {.options = options, .exit_code = COMMAND_DONE};
    forbid_core();
    enum status status = options == NULL ? error_no_memory(&err)
                                         : options_read(command->options, arguments, options, call.operands,
                                                        command->operands_max, &err);
    if (status == STATUS_OK && command->watches_signals)
        process_watch_signals();
    if (status == STATUS_OK)
        status = command->run(&call, &err);
    client_close(call.client);
    free(options);
    return status == STATUS_OK ? call.exit_code : fail(&err);
}

enum status command_check_id(const char *flag, const char *prefix, const char *id, struct error *err)
{
    size_t length = strlen(prefix);
    if (strncmp(id, prefix, length) == 0 && id[length] == '_' && strlen(id) <= 40 &&
        id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0')
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "usage", "", "--%s takes an id like %s_abcdefghij234567, not %.40s", flag,
                     prefix, id);
}

enum status command_connect(const struct command_server *at, struct client **out, struct error *err)
{
    enum { TOKEN_MAX_BYTES = 200 };
    const char *variable = getenv("GNOMON_TOKEN");
    char       *text = NULL, token[TOKEN_MAX_BYTES + 1];
    size_t      length = 0;
    if (at->token_file != NULL)
        TRY(file_read_private(at->token_file, TOKEN_MAX_BYTES, &text, &length, err));
    snprintf(token, sizeof token, "%s", text != NULL ? text : variable != NULL ? variable : "");
    free(text);
    unsetenv("GNOMON_TOKEN");
    token[strcspn(token, "\r\n \t")] = '\0';
    return client_open(&(struct client_options){.server = at->url,
                                                .token = token[0] != '\0' ? token : NULL,
                                                .ca_file = at->ca_file,
                                                .insecure_http = at->insecure_http},
                       out, err);
}

enum status command_connect_local(const char *folder, struct client **out, struct error *err)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/gnomon.sock", folder);
    return client_open(&(struct client_options){.socket_path = path}, out, err);
}

enum status command_check_file(const char *database, const char *instead, struct error *err)
{
    if (database == NULL)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_a_file", "",
                     "the store is in PostgreSQL (--database, GNOMON_DATABASE), and this is for files: use %s",
                     instead);
}
