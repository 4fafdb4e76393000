/* See process.h.  The flag below is the one thing a signal handler may touch, hence the only variable of its kind. */
#include "service/cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t stop_requested;

static void request_stop(int number)
{
    (void)number;
    stop_requested = 1;
}

void process_watch_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop}, hangup;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) // nohup stays in force
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

bool process_is_stopped(void)
{
    return stop_requested != 0;
}

enum status process_check_stopped(struct error *err)
{
    return !process_is_stopped()
               ? STATUS_OK
               : error_set(err, STATUS_BUSY, "interrupted", "", "interrupted: the same command goes on");
}

void process_sleep_ms(long milliseconds)
{
    struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void close_pipe(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static bool open_pipe(bool wanted, int ends[2])
{
    ends[0] = ends[1] = -1;
    if (!wanted)
        return true;
    return pipe(ends) == 0 && fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

static int spawn(const struct process_options *options, int input, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attributes;
    sigset_t                   defaults, blocked;
    sigemptyset(&blocked);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                  (options->own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    const char  *program = options->is_own ? "/proc/self/exe" : options->arguments[0];
    char *const *arguments = (char *const *)(uintptr_t)options->arguments; /* by POSIX they are not changed */
    int          failure = posix_spawnp(pid, program, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

enum status process_start(const struct process_options *options, struct process *out, struct error *err)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1};
    int failure = open_pipe(options->pipe_input, input) && open_pipe(options->pipe_output, output) ? 0 : errno;
    if (failure == 0)
        failure = spawn(options, input[0], output[1], &out->pid);
    if (failure != 0) {
        close_pipe(input);
        close_pipe(output);
        return error_set(err, STATUS_INTERNAL, "process", "", "cannot start %.100s: %s", options->arguments[0],
                         strerror(failure));
    }
    close_pipe((int[]){input[0], output[1]});
    out->input = input[1];
    out->output = output[0];
    return STATUS_OK;
}

int process_wait(const struct process *process)
{
    int state = 0;
    while (waitpid(process->pid, &state, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* A command that does not read its input is fine: EPIPE is no error. */
static void write_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(fd, text, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return;
        text += written;
        left -= (size_t)written;
    }
}

static void read_all(int fd, char *output, size_t output_bytes)
{
    char    piece[512];
    size_t  length = 0;
    ssize_t got = 0;
    while ((got = read(fd, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)) {
        size_t taken = got < 0 ? 0 : (size_t)got < output_bytes - 1 - length ? (size_t)got : output_bytes - 1 - length;
        memcpy(output + length, piece, taken);
        length += taken;
    }
    output[length] = '\0';
}

enum status process_run_shell(const char *command, const char *input, char *output, size_t output_bytes, int *code,
                              struct error *err)
{
    const char    *arguments[] = {"/bin/sh", "-c", command, NULL};
    struct process process;
    TRY(process_start(&(struct process_options){.arguments = arguments, .pipe_input = true, .pipe_output = true},
                      &process, err));
    write_all(process.input, input);
    close(process.input);
    read_all(process.output, output, output_bytes);
    close(process.output);
    *code = process_wait(&process);
    return STATUS_OK;
}
