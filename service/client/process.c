/* See process.h.  The flag below is the one thing a signal handler may touch, hence the only variable of its kind. */
#include "service/client/process.h"
#include "service/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static atomic_bool stop_requested; // the signal may come to any thread

static void request_stop(int number)
{
    (void)number;
    stop_requested = true;
}

void process_on_stop(void (*handler)(int number), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, hangup;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) // nohup stays in force
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

void process_watch_signals(void)
{
    process_on_stop(request_stop, 0);
}

bool process_is_stopped(void)
{
    return stop_requested;
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

int64_t process_clock_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

void process_sleep_until(int64_t until_ms)
{
    int64_t left = 0;
    while (!process_is_stopped() && (left = until_ms - process_clock_ms()) > 0)
        process_sleep_ms(left < 1000 ? (long)left : 1000);
}

static void close_pipe(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

struct process {
    pid_t pid;
    int   input, output; /* ends of pipes to its standard input and output */
};

static bool open_pipe(int ends[2])
{
    return pipe(ends) == 0 && fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

/* own_group: signals from the terminal do not reach it, and kill(-pid) reaches all of it. */
static int spawn(const char *command, bool own_group, int input, int output, pid_t *pid)
{
    const char *const          arguments[] = {"/bin/sh", "-c", command, NULL};
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
    posix_spawnattr_setflags(
        &attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int failure = posix_spawn(pid, arguments[0], &actions, &attributes,
                              (char *const *)(uintptr_t)arguments /* by POSIX they are not changed */, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

static enum status start(const char *command, bool own_group, struct process *out, struct error *err)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1};
    int failure = open_pipe(input) && open_pipe(output) ? 0 : errno;
    if (failure == 0)
        failure = spawn(command, own_group, input[0], output[1], &out->pid);
    if (failure != 0) {
        close_pipe(input);
        close_pipe(output);
        return error_set(err, STATUS_INTERNAL, "process", "", "cannot start /bin/sh: %s", strerror(failure));
    }
    close_pipe((int[]){input[0], output[1]});
    out->input = input[1];
    out->output = output[0];
    return STATUS_OK;
}

/* The exit code, or 128 + the signal that ended it. */
static int wait_for(const struct process *process)
{
    int state = 0;
    while (waitpid(process->pid, &state, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Whether wait_for will not wait; until that the number of the process and its group's are nobody else's. */
static bool is_over(const struct process *process)
{
    siginfo_t about = {.si_pid = 0};
    return waitid(P_PID, (id_t)process->pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid != 0;
}

static bool is_late(const struct process_shell *shell)
{
    return shell->deadline_ms > 0 && (process_is_stopped() || process_clock_ms() >= shell->deadline_ms);
}

/* Until one of the two can go on; a second at a time, so that a signal that came just before is not slept through. */
static bool wait_ready(const struct process_shell *shell, struct pollfd ends[2])
{
    enum { ROUND_MS = 1000 };
    int64_t left = shell->deadline_ms > 0 ? shell->deadline_ms - process_clock_ms() : ROUND_MS;
    poll(ends, 2, left < 0 ? 0 : left > ROUND_MS ? ROUND_MS : (int)left);
    return !is_late(shell);
}

/* Feeds the input to the process and takes its output, until it closes that.  A command that does not read its input is
 * fine: EPIPE is no error. */
static void talk(struct process_shell *shell, struct process *process)
{
    char          piece[512];
    size_t        left = strlen(shell->input), length = 0;
    struct pollfd ends[2] = {{.fd = process->input, .events = POLLOUT}, {.fd = process->output, .events = POLLIN}};
    ssize_t       got = 1;
    fcntl(process->input, F_SETFL, O_NONBLOCK);
    while (got != 0 && wait_ready(shell, ends)) {
        ssize_t given = ends[0].revents != 0 ? write(ends[0].fd, shell->input + strlen(shell->input) - left, left) : 0;
        left -= given > 0 ? (size_t)given : 0;
        if (ends[0].fd >= 0 && (left == 0 || (given < 0 && errno != EINTR && errno != EAGAIN))) {
            close(ends[0].fd);
            ends[0].fd = -1;
        }
        if (ends[1].revents == 0)
            continue;
        got = read(ends[1].fd, piece, sizeof piece);
        if (got < 0 && errno != EINTR)
            break;
        size_t room = shell->output_bytes - 1 - length, taken = got < 0 ? 0 : (size_t)got < room ? (size_t)got : room;
        memcpy(shell->output + length, piece, taken);
        length += taken;
    }
    if (ends[0].fd >= 0)
        close(ends[0].fd);
    close(process->output);
    shell->output[length] = '\0';
}

/* It may close its output and go on. */
static bool has_ended(const struct process_shell *shell, const struct process *process)
{
    enum { ROUND_MS = 5 };
    while (!is_over(process)) {
        if (is_late(shell))
            return false;
        process_sleep_ms(ROUND_MS);
    }
    return true;
}

enum status process_run_shell(struct process_shell *shell, struct error *err)
{
    bool           has_limit = shell->deadline_ms > 0;
    struct process process;
    TRY(start(shell->command, has_limit, &process, err));
    talk(shell, &process);
    bool is_killed = has_limit && !has_ended(shell, &process);
    if (is_killed)
        kill(-process.pid, SIGKILL);
    int code = wait_for(&process);
    shell->code = is_killed ? PROCESS_LATE : code;
    return STATUS_OK;
}
