/* See call.h. */
#include "api/core/call.h"

#include <assert.h>
#include <string.h>

void *call_result(struct call *call, int http, json_t *(*render)(struct call *, const void *), size_t bytes)
{
    assert(bytes <= sizeof call->result);
    call->reply.http = http;
    call->render = render;
    return memset(call->result, 0, bytes);
}
