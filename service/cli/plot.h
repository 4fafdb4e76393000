/* How a search went, drawn with characters: values by trial, and the best so far. */
#ifndef GNOMON_SERVICE_CLI_PLOT_H
#define GNOMON_SERVICE_CLI_PLOT_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Plots a reply of GET plot/history.  NO_MEMORY. */
MUST_CHECK enum status plot_print(const json_t *history, FILE *stream, struct error *err);

#endif
