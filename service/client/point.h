/* A point of a reply, held against the space of its study before a program is run with it: a server that is not to be
 * trusted gives no program a value that the study does not have. */
#ifndef GNOMON_SERVICE_CLI_POINT_H
#define GNOMON_SERVICE_CLI_POINT_H

#include "engine/base/status.h"

#include <jansson.h>

/* point: an object of values by the names of parameters; space: of a study, as the server shows it.  Parameters may be absent,
 * since some exist only with certain values of others.
 * Errors: INTERNAL "bad_reply", which names the member that the space does not have. */
MUST_CHECK enum status point_check(const json_t *space, const json_t *point, struct error *err);

/* The parameter of this name, of so many bytes; NULL: there is none. */
const json_t *point_parameter(const json_t *space, const char *name, size_t length);

#endif
