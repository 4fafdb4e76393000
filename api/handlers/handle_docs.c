/* The documentation and the Python client: files that api/docs/make.py makes of the tree. */
#include "api/handlers/handlers.h"
#include "api/handlers/asset.h"

#include <stdio.h>

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

enum status handle_client_get(struct call *call, struct error *err)
{
    char name[128];
    snprintf(name, sizeof name, "clients/%s", call->params[0]);
    return send(call, name, err);
}
