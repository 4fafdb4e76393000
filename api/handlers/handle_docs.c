/* The documentation: files that api/docs/make.py makes of the guides and of openapi.yaml. */
#include "api/handlers/handlers.h"
#include "api/handlers/asset.h"

static const struct asset pages[] = {
#include "docs.inc"
};

static enum status send(struct call *call, const char *name, struct error *err)
{
    return asset_send(call, pages, sizeof pages / sizeof pages[0], name, DOCS_ETAG, err);
}

enum status handle_docs_get(struct call *call, struct error *err)
{
    return send(call, "index", err);
}

enum status handle_doc_get(struct call *call, struct error *err)
{
    return send(call, call->params[0], err);
}
