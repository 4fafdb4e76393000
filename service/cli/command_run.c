/* gnomon run: what "make run" starts.  A server, a first token, a first study, then the server until Ctrl-C.
 * The server is in a process group of its own, so that Ctrl-C reaches this process alone, which returns only when the
 * server is gone. */
#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/client/process.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 200, TOKEN_BYTES = 200, PATH_BYTES = 80, TRIALS = 40 /* of first_study */ };

struct run_options {
    const char *listen, *data;
};

static const struct options_row options_table[] = {
    COMMAND_LISTEN_ROW(struct run_options),
    COMMAND_DATA_ROW(struct run_options),
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
static enum status print_token(struct client *client, const char *data, const char *address, char token[TOKEN_BYTES],
                               char once[TOKEN_BYTES], struct error *err)
{
    enum { BROWSER_SECONDS = 12 * 3600 };
    enum status status = make_token(client, json_pack("{s:s, s:s}", "name", "first run", "scope", "admin"), token, err);
    if (status == STATUS_OK)
        status = make_token(client,
                            json_pack("{s:s, s:s, s:i}", "name", "first run, in a browser", "scope", "admin",
                                      "expires_in_seconds", BROWSER_SECONDS),
                            once, err);
    if (status == STATUS_OK)
        printf("gnomon serves at %s, data in %s\nadmin token: %s\n\n", address, data, token);
    fflush(stdout);
    return status;
}

/* ---- the first study: Branin's function, of which the least value is known ---- */

static double branin(double x, double y)
{
    static const double pi = 3.14159265358979323846;
    double              bend = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
    return bend * bend + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10;
}

static const char first_study[] =
    "{\"metrics\": [{\"name\": \"f\", \"goal\": \"minimize\"}], \"seed\": 2385, \"budget\": {\"trials\": 40},"
    "\"space\": {\"type\": \"parameters\", \"parameters\": ["
    "{\"name\": \"x\", \"type\": \"double\", \"min\": -5, \"max\": 10},"
    "{\"name\": \"y\", \"type\": \"double\", \"min\": 0, \"max\": 15}]},"
    "\"notes\": \"Branin's function in the place of a training; its least value is 0.397887.\"}";

static enum status try_point(struct client *client, const char *study, double *best, struct error *err)
{
    char       path[PATH_BYTES + 16];
    json_t    *reply = NULL;
    json_int_t number = 0;
    double     x = 0, y = 0;
    snprintf(path, sizeof path, "%s/suggest", study);
    TRY(client_json(client, "POST", path, json_pack("{s:s}", "worker", "gnomon run"), &reply, err));
    int wrong = json_unpack(reply, "{s:[{s:I, s:{s:F, s:F}}]}", "trials", "number", &number, "point", "x", &x, "y", &y);
    json_decref(reply);
    if (wrong != 0)
        return client_bad_reply(err);
    *best = fmin(*best, branin(x, y));
    snprintf(path, sizeof path, "%s/observe", study);
    return client_json(client, "POST", path, json_pack("{s:I, s:f}", "trial", number, "value", branin(x, y)), NULL,
                       err);
}

/* Runs the first study, found by its name after an earlier start, which may have left this worker a trial. */
static enum status run_study(struct client *client, struct error *err)
{
    char        path[PATH_BYTES];
    json_t     *study = NULL;
    enum status status = STATUS_OK;
    TRY(client_json(client, "PUT", "/v1/studies/by-name/first%20run", json_loads(first_study, 0, NULL), &study, err));
    const char   *id = json_string_value(json_object_get(study, "id"));
    const char   *state = json_string_value(json_object_get(study, "state"));
    const json_t *value = json_object_get(json_object_get(study, "best"), "value");
    json_int_t    done = json_integer_value(json_object_get(json_object_get(study, "trials"), "completed"));
    double        best = json_is_number(value) ? json_number_value(value) : INFINITY;
    bool          is_active = state != NULL && strcmp(state, "active") == 0;
    snprintf(path, PATH_BYTES, "/v1/studies/%.60s", id != NULL ? id : "");
    json_decref(study);
    for (; status == STATUS_OK && is_active && done < TRIALS && !process_is_stopped(); done++)
        status = try_point(client, path, &best, err);
    if (status == STATUS_OK)
        printf("a first study: %lld trials of Branin's function; the best value is %.4f, the least there is 0.3979\n",
               (long long)done, best);
    return process_is_stopped() ? STATUS_OK : status;
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

static enum status with_server(const struct run_options *options, const struct process *server, struct error *err)
{
    char           address[512], token[TOKEN_BYTES], once[TOKEN_BYTES];
    struct client *client = NULL;
    int            code = 0;
    if (!read_address(server->output, address, sizeof address)) {
        code = process_wait(server);
        return error_set(err, STATUS_BUSY, code == COMMAND_TEMPORARY ? "locked" : "server", "",
                         "the server did not start (exit code %d)", code);
    }
    enum status status = command_connect_local(options->data, &client, err);
    if (status == STATUS_OK)
        status = print_token(client, options->data, address, token, once, err);
    if (status == STATUS_OK)
        status = run_study(client, err);
    client_close(client);
    if (status == STATUS_OK && !process_is_stopped()) {
        printf("\nserving at %s until Ctrl-C; docs/start has lessons.  To list its studies, in another terminal:\n"
               "    export TOKEN=%s\n"
               "    curl -sS -H \"Authorization: Bearer $TOKEN\" %s/v1/studies\n"
               "To look at them with a browser (this address signs in once):\n    %s/#/sign-in?once=%s\n",
               address, token, address, address, once);
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
    // A line for each request of the first study would push the address and the token off the screen.
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
    .summary = "the service with a first token and a first study, until Ctrl-C",
    .options = options_table,
    .options_bytes = sizeof(struct run_options),
    .watches_signals = true,
    .run = run,
};
