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

static const struct options_row options_table[] = {
    COMMAND_LISTEN_ROW(struct run_options),
    COMMAND_DATA_ROW(struct run_options),
    COMMAND_EXAMPLES_ROW(struct run_options),
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

static enum status make_token(struct client *client, json_t *body, char token[TOKEN_BYTES], struct error *err)
{
    json_t *reply = NULL;
    TRY(client_json(client, "POST", "/v1/tokens", body, &reply, err));
    const char *text = json_string_value(json_object_get(reply, "token"));
    snprintf(token, TOKEN_BYTES, "%s", text != NULL ? text : "");
    json_decref(reply);
    return STATUS_OK;
}

/* The browser's own token ends by itself, and its page exchanges the secret at once: the address signs in once. */
static enum status print_token(const char *data, const char *address, char token[TOKEN_BYTES], struct error *err)
{
    enum { BROWSER_SECONDS = 12 * 3600 };
    struct client *client = NULL;
    char           once[TOKEN_BYTES] = "";
    TRY(command_connect_local(data, &client, err));
    enum status status = make_token(client, json_pack("{s:s, s:s}", "name", "first run", "scope", "admin"), token, err);
    if (status == STATUS_OK)
        status = make_token(client,
                            json_pack("{s:s, s:s, s:i}", "name", "first run, in a browser", "scope", "admin",
                                      "expires_in_seconds", BROWSER_SECONDS),
                            once, err);
    if (status == STATUS_OK)
        printf("gnomon serves at %s, data in %s\nadmin token: %s\n"
               "to look at it with a browser (this address signs in once):\n    %s/#/sign-in?once=%s\n\n",
               address, data, token, address, once);
    fflush(stdout);
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

static enum status run_demo(const struct run_options *options, const char *address, struct error *err)
{
    const char    *arguments[] = {"gnomon",      "demo",       "--server",        address, "--data",
                                  options->data, "--examples", options->examples, NULL};
    struct process process;
    int            code = 0;
    TRY(process_start(&(struct process_options){.arguments = arguments, .is_own = true, .own_group = true}, &process,
                      err));
    if (!wait_or_stop(&process, &code)) {
        end(&process);
        return STATUS_OK;
    }
    return code == 0 ? STATUS_OK : error_set(err, STATUS_INTERNAL, "demo", "", "the demo ended with code %d", code);
}

static enum status with_server(const struct run_options *options, const struct process *server, struct error *err)
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
        status = run_demo(options, address, err);
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

static enum status run(struct command_call *call, struct error *err)
{
    const struct run_options *options = call->options;
    // A line for each request of the demo would push the address and the token off the screen.
    const char    *arguments[] = {"gnomon",       "serve", "--listen", options->listen, "--data", options->data,
                                  "--access-log", "off",   NULL};
    struct process server;
    TRY(process_start(
        &(struct process_options){.arguments = arguments, .is_own = true, .pipe_output = true, .own_group = true},
        &server, err));
    return with_server(options, &server, err);
}

const struct command command_run = {
    .name = "run",
    .operands = "",
    .summary = "the service with a first token and the demo, until Ctrl-C",
    .options = options_table,
    .options_bytes = sizeof(struct run_options),
    .watches_signals = true,
    .run = run,
};
