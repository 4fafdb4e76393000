/* The route parser: "METHOD address" on one line.  What is found has decoded parameters without a slash and without
 * controls, and never more of them than there is room for. */
#include "tests/fuzz/target.h"

#include "api/core/route.h"

#include <stdlib.h>
#include <string.h>

static void check_found(const struct call *call)
{
    size_t params = 0;
    for (const char *at = call->route->path; *at != '\0'; at++)
        params += *at == '{';
    assert(params <= CALL_PARAMS_MAX && call->query_len <= CALL_QUERY_MAX);
    for (size_t i = 0; i < params; i++)
        for (const char *at = call->params[i]; *at != '\0'; at++)
            assert((unsigned char)*at >= ' ' && *at != '/');
    for (size_t i = 0; i < call->query_len; i++)
        assert(call->query[i].name != NULL && call->query[i].value != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    char        *line = fuzz_text(bytes, length);
    char        *address = strchr(line, ' ');
    if (address != NULL) {
        *address++ = '\0';
        struct call call = {.uri = address};
        arena_init(&call.arena, FUZZ_ARENA_BYTES);
        if (route_find(&call, line, &err) == STATUS_OK)
            check_found(&call);
        arena_fini(&call.arena);
    }
    free(line);
    return 0;
}
