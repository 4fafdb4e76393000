/* The user's measure command: what it is given, and what its end means.
 * A row or a trial is lost only when the command says so itself; what is wrong with the command is nobody's result. */
#ifndef GNOMON_SERVICE_CLI_MEASURE_H
#define GNOMON_SERVICE_CLI_MEASURE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct measure {
    const char *command;
    int64_t deadline_ms; /* of process_clock_ms, 0: none; a command that has not ended by then is killed, and failed */
    bool    fails_all;   /* any failure means that this cannot be measured: nothing is "broken" */
};

/* Runs the command, twice at most, with input on its standard input.
 * *value: the one finite number that it printed; NaN when it ended with a code of 1 to 125 each time, which says that
 * this cannot be measured.
 * Errors: INVALID "measure_broken" unless fails_all (not there, not to be run, ended by a signal or with another code, or
 * ended well without one finite number on its output); BUSY "interrupted" when this program is to stop: the command has
 * died of the same signal. */
MUST_CHECK enum status measure_run(const struct measure *how, const char *input, double *value, struct error *err);

#endif
