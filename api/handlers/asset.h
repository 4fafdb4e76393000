/* Files that the program carries, compressed as they are sent. */
#ifndef GNOMON_API_HANDLERS_ASSET_H
#define GNOMON_API_HANDLERS_ASSET_H

#include "api/core/call.h"

struct asset {
    const char          *name, *type;
    size_t               bytes;
    const unsigned char *gzip; /* [gzip_bytes] */
    size_t               gzip_bytes;
};

/* Sends the asset of that name, unpacked for a client that takes no gzip; etag: of the whole table. */
MUST_CHECK enum status asset_send(struct call *call, const struct asset *table, size_t len, const char *name,
                                  const char *etag, struct error *err);

#endif
