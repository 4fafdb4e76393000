/* A sweep: what makes a study, with its name, in a file of JSON or YAML. */
#ifndef GNOMON_SERVICE_CLI_SWEEP_H
#define GNOMON_SERVICE_CLI_SWEEP_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stddef.h>

/* path "-": standard input.  INVALID "bad_json" or "bad_yaml" with the line; no name; what file_read says. */
MUST_CHECK enum status sweep_read(const char *path, json_t **sweep, struct error *err);

/* As sweep_read for text (length bytes and a NUL).  It is YAML when path ends in .yaml or .yml, or without { first. */
MUST_CHECK enum status sweep_parse(const char *path, const char *text, size_t length, json_t **sweep,
                                   struct error *err);

#endif
