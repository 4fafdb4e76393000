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
enum config_kind { CONFIG_TEXT, CONFIG_INT, CONFIG_REAL, CONFIG_SWITCH };

struct config_row {
    const char      *flag;        /* "listen" for --listen; NULL ends the table */
    const char      *environment; /* "GNOMON_LISTEN", or NULL */
    const char      *value;       /* what the help calls the value: "HOST:PORT"; NULL for a switch */
    const char      *fallback;    /* as it would be typed; NULL: NULL, 0 or false */
    const char      *choices;     /* CONFIG_TEXT: "FULL|OFF", or NULL */
    const char      *help;
    double           min, max; /* inclusive; CONFIG_INT, CONFIG_REAL */
    size_t           offset;   /* of the member that receives the value */
    enum config_kind kind;
    bool             is_required;
};

/* Fills out from arguments, environment and fallbacks.  Arguments that do not start with "--" are passed to
 * operands (at most operands_max, unused ones NULL).  Errors: INVALID "usage". */
MUST_CHECK enum status config_read(const struct config_row *rows, char **arguments, void *out, const char **operands,
                                   size_t operands_max, struct error *err);

/* One line or two for each row. */
void config_print_help(const struct config_row *rows, FILE *stream);

#endif
