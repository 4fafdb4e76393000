/* Files that the program carries, compressed as they are sent: the pages for people (api/pages), the documentation and the
 * Python client (which api/docs/make.py makes of the tree). */
#include "api/handlers/handlers.h"
#include "api/base/compress.h"
#include "api/core/reply.h"

#include <stdio.h>
#include <string.h>

struct asset {
    const char          *name, *type;
    size_t               bytes;
    const unsigned char *gzip; /* [gzip_bytes] */
    size_t               gzip_bytes;
};
static const struct asset pages[] = {
#include "pages.inc"
    {.name = NULL}};
static const struct asset docs[] = {
#include "docs.inc"
    {.name = NULL}};

/* Sends the asset of that name, unpacked for a client that takes no gzip; etag: of the whole table. */
static enum status send(struct call *call, const struct asset *asset, const char *name, const char *etag,
                        struct error *err)
{
    while (asset->name != NULL && strcmp(asset->name, name) != 0)
        asset++;
    if (asset->name == NULL)
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

enum status handle_root_get(struct call *call, struct error *err)
{
    return send(call, pages, "index.html", "\"" PAGES_DIGEST "\"", err);
}

/* An asset with another digest belongs to another version: the client's page is older than this server. */
enum status handle_page_get(struct call *call, struct error *err)
{
    call->reply.is_final = true;
    return send(call, pages, strcmp(call->params[0], PAGES_DIGEST) == 0 ? call->params[1] : "", "\"" PAGES_DIGEST "\"",
                err);
}

enum status handle_docs_get(struct call *call, struct error *err)
{
    return send(call, docs, "index", DOCS_ETAG, err);
}

enum status handle_doc_get(struct call *call, struct error *err)
{
    return send(call, docs, call->params[0], DOCS_ETAG, err);
}

enum status handle_client_get(struct call *call, struct error *err)
{
    char name[128];
    snprintf(name, sizeof name, "clients/%s", call->params[0]);
    return send(call, docs, name, DOCS_ETAG, err);
}
