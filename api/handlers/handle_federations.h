/* Functions that the handlers of federations share. */
#ifndef GNOMON_API_HANDLERS_HANDLE_FEDERATIONS_H
#define GNOMON_API_HANDLERS_HANDLE_FEDERATIONS_H

#include "api/core/call.h"
#include "service/federation/federation.h"

/* A path parameter that is a number from 1.  NOT_FOUND with this code otherwise. */
MUST_CHECK enum status handle_federation_number(const struct call *call, size_t param, const char *code, int64_t *out,
                                                struct error *err);
/* A stored matrix as the client asked for it: the file itself, or {<head>"sha256":..,"<name>":[[..],..]} with numbers
 * that read back equal.  head: "" or members with a comma behind.  The ETag is the digest of the file. */
MUST_CHECK enum status handle_federation_file(struct call *call, const struct federation_file *file, const char *head,
                                              const char *name, struct error *err);

#endif
