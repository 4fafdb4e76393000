/* Sends an export back: the file is named by its digest, so that it goes on where the server has it, and is not taken
 * twice. */
#ifndef GNOMON_SERVICE_CLI_WHOLE_IMPORT_H
#define GNOMON_SERVICE_CLI_WHOLE_IMPORT_H

#include "service/client/client.h"

/* *reply: the import as it is in the end, a new reference.  Errors: what the server refuses with; INVALID "file". */
MUST_CHECK enum status whole_import(struct client *client, const char *path, json_t **reply, struct error *err);

#endif
