/* The pages for people: files of api/pages. */
#include "api/handlers/handlers.h"
#include "api/handlers/asset.h"

#include <string.h>

static const struct asset assets[] = {
#include "pages.inc"
};

static enum status send(struct call *call, const char *name, struct error *err)
{
    return asset_send(call, assets, sizeof assets / sizeof assets[0], name, "\"" PAGES_DIGEST "\"", err);
}

enum status handle_root_get(struct call *call, struct error *err)
{
    return send(call, "index.html", err);
}

/* An asset with another digest belongs to another version: the client's page is older than this server. */
enum status handle_page_get(struct call *call, struct error *err)
{
    call->reply.is_final = true;
    return send(call, strcmp(call->params[0], PAGES_DIGEST) == 0 ? call->params[1] : "", err);
}
