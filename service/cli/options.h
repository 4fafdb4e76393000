/* Options of the command line and the environment, from one table per command: reading, ranges, errors and --help all
 * come from the table.  A flag wins over its environment variable, which wins over the fallback.
 * Knows nothing of what the options mean. */
#ifndef GNOMON_SERVICE_CLI_OPTIONS_H
#define GNOMON_SERVICE_CLI_OPTIONS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The type of the member at the row's offset: const char *, int64_t, double or bool. */
enum options_kind { OPTIONS_TEXT, OPTIONS_INT, OPTIONS_REAL, OPTIONS_SWITCH };

struct options_row {
    const char       *flag;        /* "listen" for --listen; NULL ends the table */
    const char       *environment; /* "GNOMON_LISTEN", or NULL */
    const char       *value;       /* what the help calls the value: "HOST:PORT"; NULL for a switch */
    const char       *fallback;    /* as it would be typed; NULL: NULL, 0 or false */
    const char       *choices;     /* OPTIONS_TEXT: "FULL|OFF", or NULL */
    const char       *help;
    double            min, max; /* inclusive; OPTIONS_INT, OPTIONS_REAL */
    size_t            offset;   /* of the member that receives the value */
    enum options_kind kind;     /* OPTIONS_TEXT unless the row says otherwise */
    bool              is_required;
};

/* The beginning of a row: its flag, what the help calls the value (NULL for a switch), and its member of a struct. */
#define OPTION_OF(type, name, what, member) .flag = (name), .value = (what), .offset = offsetof(type, member)

/* Fills out from arguments, environment and fallbacks.  Arguments that do not start with "--" are passed to
 * operands (at most operands_max, unused ones NULL).  Errors: INVALID "usage". */
MUST_CHECK enum status options_read(const struct options_row *rows, char **arguments, void *out, const char **operands,
                                    size_t operands_max, struct error *err);

/* Prints a line or two for each row. */
void options_print_help(const struct options_row *rows, FILE *stream);

#endif
