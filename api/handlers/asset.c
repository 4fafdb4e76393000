#include "api/handlers/asset.h"
#include "api/base/compress.h"
#include "api/core/reply.h"

#include <string.h>

enum status asset_send(struct call *call, const struct asset *table, size_t len, const char *name, const char *etag,
                       struct error *err)
{
    const struct asset *asset = NULL;
    for (size_t i = 0; i < len; i++)
        if (strcmp(table[i].name, name) == 0)
            asset = &table[i];
    if (asset == NULL)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such page");
    call->reply.etag = etag;
    call->reply.is_gzip = call->takes_gzip;
    if (call->takes_gzip) {
        reply_text(call, asset->type, (const char *)asset->gzip, asset->gzip_bytes);
        return STATUS_OK;
    }
    const char *plain = compress_gunzip(asset->gzip, asset->gzip_bytes, asset->bytes, &call->arena);
    if (plain == NULL)
        return error_no_memory(err);
    reply_text(call, asset->type, plain, asset->bytes);
    return STATUS_OK;
}
