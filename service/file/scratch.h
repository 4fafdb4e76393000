/* A file without a name, in a folder: for what is larger than memory and needed for a moment.  Written once from its
 * start, with a digest of what was written; gone with its descriptor, and with the process. */
#ifndef GNOMON_SERVICE_BASE_SCRATCH_H
#define GNOMON_SERVICE_BASE_SCRATCH_H

#include "engine/base/status.h"
#include "service/base/digest.h"

#include <stdint.h>

struct scratch {
    int                  file; /* -1: none */
    int64_t              bytes;
    struct sha256_state *digest; /* of all bytes written until scratch_digest */
    char                 buffer[1 << 15];
    size_t               held; /* of the buffer */
};

/* Errors: FULL "disk_full", INTERNAL "store_io", NO_MEMORY. */
MUST_CHECK enum status scratch_open(const char *folder, struct scratch *out, struct error *err);
/* Nothing is written: it begins again. */
MUST_CHECK enum status scratch_again(struct scratch *scratch, struct error *err);
MUST_CHECK enum status scratch_write(struct scratch *scratch, const void *bytes, size_t length, struct error *err);
void                   scratch_digest(struct scratch *scratch, char out[SHA256_HEX_BYTES]); /* once */
/* Everything is written; the descriptor belongs to the caller. */
MUST_CHECK enum status scratch_finish(struct scratch *scratch, int *file, struct error *err);
void                   scratch_close(struct scratch *scratch); /* drops an unfinished file */

#endif
