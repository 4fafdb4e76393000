/* gnomon run: what "make run" starts.  A server, a first token, the demo, then the server until Ctrl-C.
 * The children are in process groups of their own, so that Ctrl-C reaches this process alone, and this process ends the
 * demo first and the server last.  It returns only when both are gone. */
#include "service/cli/client.h"
#include "service/cli/command.h"
#include "service/cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 200, TOKEN_BYTES = 200 };

struct run_options {
    const char *listen, *data, *examples;
};

#define MEMBER(member) .offset = offsetof(struct run_options, member)
static const struct options_row options_table[] = {
    {.flag = "listen",
     .environment = "GNOMON_LISTEN",
     .value = "HOST:PORT",
     .kind = OPTIONS_TEXT,
     MEMBER(listen),
     .fallback = "127.0.0.1:8080",
     .help = "where to answer; port 0 takes any free one"},
    COMMAND_DATA_ROW(struct run_options),
    {.flag = "examples",
     .value = "DIR",
     .kind = OPTIONS_TEXT,
     MEMBER(examples),
     .fallback = "tests/data",
     .help = "the folder with the example data of the demo"},
    {.flag = NULL},
};

/* The rest of the line that the server prints when it is ready; false when it ends without one. */
static bool read_address(int fd, char *out, size_t out_bytes)
{
    static const char prefix[] = "listening on ";
    FILE             *stream = fdopen(fd, "r");
    char              line[512] = "";
    bool              is_there =
        stream != NULL && fgets(line, sizeof line, stream) != NULL && strncmp(line, prefix, sizeof prefix - 1) == 0;
    line[strcspn(line, "\n")] = '\0';
    snprintf(out, out_bytes, "%s", is_there ? line + sizeof prefix - 1 : "");
    if (stream != NULL)
        fclose(stream);
    return is_there;
}

static enum status print_token(const char *data, const char *address, char token[TOKEN_BYTES], struct error *err)
{
    struct client *client = NULL;
    json_t        *reply = NULL;
    TRY(command_connect_local(data, &client, err));
    enum status status = client_json(client, "POST", "/v1/tokens",
                                     json_pack("{s:s, s:s}", "name", "first run", "scope", "admin"), &reply, err);
    const char *text = json_string_value(json_object_get(reply, "token"));
    snprintf(token, TOKEN_BYTES, "%s", text != NULL ? text : "");
    if (status == STATUS_OK)
        printf("gnomon serves at %s, data in %s\nadmin token: %s\n\n", address, data, token);
    fflush(stdout);
    json_decref(reply);
    client_close(client);
    return status;
}

static bool has_ended(const struct process *process, int *code)
{
    int state = 0;
    if (waitpid(process->pid, &state, WNOHANG) != process->pid)
        return false;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return true;
}

/* Until the process ends by itself, or a signal asks for the end of everything. */
static bool wait_or_stop(const struct process *process, int *code)
{
    while (!process_is_stopped()) {
        if (has_ended(process, code))
            return true;
        process_sleep_ms(POLL_MS);
    }
    return false;
}

static int end(const struct process *process)
{
    kill(-process->pid, SIGTERM);
    return process_wait(process);
}

static enum status run_demo(const struct run_options *options, char *own, char *address, struct error *err)
{
    char demo[] = "demo", server[] = "--server", data[] = "--data", examples[] = "--examples", folder[1024],
         files[1024];
    struct process process;
    int            code = 0;
    snprintf(folder, sizeof folder, "%s", options->data);
    snprintf(files, sizeof files, "%s", options->examples);
    char *arguments[] = {own, demo, server, address, data, folder, examples, files, NULL};
    TRY(process_start(&(struct process_options){.arguments = arguments, .own_group = true}, &process, err));
    if (!wait_or_stop(&process, &code)) {
        end(&process);
        return STATUS_OK;
    }
    return code == 0 ? STATUS_OK : error_set(err, STATUS_INTERNAL, "demo", "", "the demo ended with code %d", code);
}

static enum status with_server(const struct run_options *options, char *own, const struct process *server,
                               struct error *err)
{
    char address[512], token[TOKEN_BYTES];
    int  code = 0;
    if (!read_address(server->output, address, sizeof address)) {
        code = process_wait(server);
        return error_set(err, STATUS_BUSY, code == COMMAND_TEMPORARY ? "locked" : "server", "",
                         "the server did not start (exit code %d)", code);
    }
    enum status status = print_token(options->data, address, token, err);
    if (status == STATUS_OK)
        status = run_demo(options, own, address, err);
    if (status == STATUS_OK && !process_is_stopped()) {
        printf("\nserving at %s until Ctrl-C; to look at these studies, in another terminal:\n"
               "    export TOKEN=%s\n"
               "    curl -sS -H \"Authorization: Bearer $TOKEN\" %s/v1/studies\n"
               "and a study of your own: \"Five minutes with curl\" in README.md\n",
               address, token, address);
        fflush(stdout);
        if (wait_or_stop(server, &code))
            return error_set(err, STATUS_INTERNAL, "server", "", "the server ended with code %d", code);
    }
    code = end(server);
    if (status == STATUS_OK && code != 0)
        status = error_set(err, STATUS_INTERNAL, "server", "", "the server ended with code %d", code);
    return status;
}

static enum status start(const struct run_options *options, struct error *err)
{
    char           own[1024], serve[] = "serve", listen[] = "--listen", data[] = "--data", address[512], folder[1024];
    struct process server;
    process_own_path(own, sizeof own);
    snprintf(address, sizeof address, "%s", options->listen);
    snprintf(folder, sizeof folder, "%s", options->data);
    char *arguments[] = {own, serve, listen, address, data, folder, NULL};
    TRY(process_start(&(struct process_options){.arguments = arguments, .pipe_output = true, .own_group = true},
                      &server, err));
    return with_server(options, own, &server, err);
}

static int run(char **arguments)
{
    struct error       err;
    struct run_options options;
    enum status        status = options_read(options_table, arguments, &options, NULL, 0, &err);
    process_watch_signals();
    if (status == STATUS_OK)
        status = start(&options, &err);
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_run = {
    .name = "run",
    .operands = "",
    .summary = "the service with a first token and the demo, until Ctrl-C",
    .options = options_table,
    .run = run,
};
