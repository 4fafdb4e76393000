/* Child processes: started without a copy of anything of ours but three descriptors. */
#ifndef GNOMON_SERVICE_CLI_PROCESS_H
#define GNOMON_SERVICE_CLI_PROCESS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs "/bin/sh -c command" with input on its standard input, until it ends; SIGPIPE must be ignored. */
struct process_shell {
    const char *command, *input;
    int64_t     deadline_ms; /* of process_clock_ms; 0: none */
    char       *output;      /* what it printed, NUL-terminated, cut at output_bytes - 1 */
    size_t      output_bytes;
    int         code; /* out: the exit code, or 128 + the signal that ended it; PROCESS_LATE: it was killed at the deadline, with all that it had started */
};
enum { PROCESS_LATE = -1 };
/* Errors: only if the shell cannot be started. */
MUST_CHECK enum status process_run_shell(struct process_shell *shell, struct error *err);

/* The handler gets SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP; SIGPIPE is ignored.  flags: of sigaction. */
void process_on_stop(void (*handler)(int number), int flags);

/* From now on they only set the flag that process_is_stopped reads; system calls are interrupted.  Children start with
 * the defaults. */
void process_watch_signals(void);
bool process_is_stopped(void);
/* BUSY "interrupted" when process_is_stopped. */
MUST_CHECK enum status process_check_stopped(struct error *err);
/* Sleeps, but not past a signal. */
void process_sleep_ms(long milliseconds);
/* Until then, or until process_is_stopped. */
void process_sleep_until(int64_t until_ms);
/* Milliseconds of a clock that nobody sets. */
int64_t process_clock_ms(void);

#endif
