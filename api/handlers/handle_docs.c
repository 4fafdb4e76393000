/* The documentation: files that api/docs/make.py makes of the guides and of openapi.yaml, and the program carries. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"

#include <string.h>

static const struct page {
    const char          *name, *type;
    size_t               length;
    const unsigned char *bytes;
} pages[] = {
#include "docs.inc"
};

static enum status send(struct call *call, const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(pages[i].name, name) == 0) {
            call->reply.etag = DOCS_ETAG;
            reply_text(call, pages[i].type, (const char *)pages[i].bytes, pages[i].length);
            return STATUS_OK;
        }
    return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such page");
}

enum status handle_docs_get(struct call *call, struct error *err)
{
    return send(call, "index", err);
}

enum status handle_doc_get(struct call *call, struct error *err)
{
    return send(call, call->params[0], err);
}
