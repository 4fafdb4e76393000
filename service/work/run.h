/* A run of the user's program for a trial: its folder, its process with all that this starts, and the lines it prints.
 * Knows nothing of the server.  A line stays until it is taken, so that what could not be passed on comes again. */
#ifndef GNOMON_SERVICE_CLI_RUN_H
#define GNOMON_SERVICE_CLI_RUN_H

#include "service/client/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { RUN_PATH_BYTES = 1024, RUN_LINE_BYTES = 65536 };

struct run {
    struct process process;
    char           folder[RUN_PATH_BYTES]; /* with the files "output", "errors" and "point.json" */
    int            output;                 /* where the lines are read */
    size_t         length, taken;          /* of what was read and not taken; of the line that was shown, or 0 */
    char          *buffer;                 /* [RUN_LINE_BYTES] */
    bool           is_over;                /* the process has ended: there will be no more output */
    int            code;                   /* then: as process_wait */
};

struct run_options {
    char *const *program, *const *environment; /* as process_options */
    const char *point;                         /* goes into point.json */
    bool        point_as_input;
};

/* run->folder is made, with the folders above it.  Errors: INVALID "file", "program" (it cannot be started), NO_MEMORY. */
MUST_CHECK enum status run_start(struct run *run, const struct run_options *options, struct error *err);

/* The next whole line, or the rest when the run is over, without its end; NULL: none yet, or no more.  The line stays until
 * run_take_line. */
const char *run_line(struct run *run);
void        run_take_line(struct run *run);

/* Whether the run has ended by now; then the processes that it started are ended, too. */
bool run_has_ended(struct run *run);
/* Signals all processes of the run. */
void run_signal(const struct run *run, int number);

/* The last lines of its errors (of its output, if there are none), so many at most. */
void run_print_end(const struct run *run, size_t lines, FILE *stream);
/* The last line of its errors, cut to the bytes; "" when there is none. */
void run_last_error(const struct run *run, char *out, size_t bytes);

/* The files stay.  Not before it has ended. */
void run_end(struct run *run);

#endif
