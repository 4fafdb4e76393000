/* What the handlers of federations share. */
#ifndef GNOMON_API_HANDLE_FEDERATION_H
#define GNOMON_API_HANDLE_FEDERATION_H

#include "api/call.h"
#include "service/federation.h"

/* A stored matrix as the client asked for it: the file itself, or {<head>"sha256":..,"<name>":[[..],..]} with numbers
 * that read back equal.  head: "" or members with a comma behind.  The ETag is the digest of the file. */
MUST_CHECK enum status handle_federation_file(struct call *call, const struct federation_file *file, const char *head,
                                              const char *name, struct error *err);

#endif
