/* See measure.h. */
#include "service/client/measure.h"
#include "service/client/process.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Codes from CODE_BROKEN on are the shell's: not to be run, not found, 128 and a signal.  Some programs end with 255. */
enum { ATTEMPTS = 2, OUTPUT_BYTES = 4096, CODE_BROKEN = 126, CODE_NOT_FOUND = 127, CODE_SIGNAL = 128, SIGNALS = 64 };

static bool is_one_number(const char *output, double *value)
{
    char *end = NULL;
    *value = strtod(output, &end);
    bool is_number = end != output && isfinite(*value);
    while (isspace((unsigned char)*end))
        end++;
    return is_number && *end == '\0';
}

static enum status broken(int code, bool fails_all, struct error *err)
{
    char what[64];
    if (code == 0)
        snprintf(what, sizeof what, "did not print one finite number");
    else if (code == CODE_BROKEN)
        snprintf(what, sizeof what, "cannot be run (exit code %d)", code);
    else if (code == CODE_NOT_FOUND)
        snprintf(what, sizeof what, "was not found (exit code %d)", code);
    else if (code > CODE_SIGNAL && code <= CODE_SIGNAL + SIGNALS)
        snprintf(what, sizeof what, "was ended by signal %d", code - CODE_SIGNAL);
    else
        snprintf(what, sizeof what, "ended with exit code %d, which is none of 1 to 125", code);
    return error_set(err, STATUS_INVALID, "measure_broken", "", "the measure command %s%s", what,
                     fails_all ? "" : ": nothing was reported, and what was to be measured comes again");
}

enum status measure_run(const struct measure *how, const char *input, double *value, struct error *err)
{
    char                 output[OUTPUT_BYTES];
    struct process_shell shell = {.command = how->command,
                                  .input = input,
                                  .deadline_ms = how->deadline_ms,
                                  .output = output,
                                  .output_bytes = sizeof output};
    for (int i = 0; i < ATTEMPTS && shell.code >= 0 && shell.code < CODE_BROKEN; i++) {
        TRY(process_run_shell(&shell, err));
        if (shell.code == 0 && is_one_number(output, value))
            return STATUS_OK;
        TRY(process_check_stopped(err));
        if (shell.code == PROCESS_LATE)
            fputs("gnomon: the measure command took too long and was ended\n", stderr);
        else if (shell.code > 0 && shell.code < CODE_BROKEN)
            fprintf(stderr, "gnomon: the measure command failed (exit code %d)\n", shell.code);
    }
    *value = (double)NAN;
    if (shell.code == PROCESS_LATE || (shell.code > 0 && shell.code < CODE_BROKEN))
        return STATUS_OK;
    enum status status = broken(shell.code, how->fails_all, err);
    if (how->fails_all)
        fprintf(stderr, "gnomon: %s\n", err->text);
    return how->fails_all ? STATUS_OK : status;
}
