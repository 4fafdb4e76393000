/* gnomon routes: the table of routes, one line each, for comparison with openapi.yaml. */
#include "api/core/route.h"
#include "service/cli/command.h"

static const struct options_row no_options[] = {{.flag = NULL}};

static enum status run(struct command_call *call, struct error *err)
{
    (void)call;
    (void)err;
    route_dump(stdout);
    return STATUS_OK;
}

const struct command command_routes = {
    .name = "routes",
    .operands = "",
    .summary = "list every route with its body and its scopes",
    .options = no_options,
    .run = run,
};
