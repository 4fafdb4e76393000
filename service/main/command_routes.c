/* gnomon routes: the table of routes, one line each, for comparison with openapi.yaml. */
#include "api/core/route.h"
#include "service/cli/command.h"

static const struct options_row no_options[] = {{.flag = NULL}};

static int run(char **arguments)
{
    struct error err;
    char         none[sizeof(int64_t)];
    if (options_read(no_options, arguments, none, NULL, 0, &err) != STATUS_OK)
        return command_fail(&err);
    route_dump(stdout);
    return COMMAND_DONE;
}

const struct command command_routes = {
    .name = "routes",
    .operands = "",
    .summary = "every route with its body and the scopes that may call it",
    .options = no_options,
    .run = run,
};
