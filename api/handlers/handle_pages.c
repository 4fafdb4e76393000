/* The pages for people: files of api/pages that the program carries, compressed as they are sent. */
#include "api/handlers/handlers.h"
#include "api/core/compress.h"
#include "api/core/reply.h"

#include <string.h>

struct asset {
    const char          *name, *type;
    size_t               bytes;
    const unsigned char *gzip; /* [gzip_bytes] */
    size_t               gzip_bytes;
};
static const struct asset assets[] = {
#include "pages.inc"
};

static enum status send(struct call *call, const char *name, struct error *err)
{
    const struct asset *asset = NULL;
    for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++)
        if (strcmp(assets[i].name, name) == 0)
            asset = &assets[i];
    if (asset == NULL)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such page");
    call->reply.etag = "\"" PAGES_DIGEST "\"";
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

enum status handle_root_get(struct call *call, struct error *err)
{
    return send(call, "index.html", err);
}

/* What has another digest is of another version: who asks for it has its page from before. */
enum status handle_page_get(struct call *call, struct error *err)
{
    call->reply.is_final = true;
    return send(call, strcmp(call->params[0], PAGES_DIGEST) == 0 ? call->params[1] : "", err);
}
