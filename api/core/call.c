/* See call.h. */
#include "api/core/call.h"

#include <assert.h>
#include <string.h>

void *call_result(struct call *call, int http, json_t *(*render)(struct call *, const void *), size_t bytes)
{
    assert(bytes <= sizeof call->result);
    call->reply.http = http;
    call->render = render;
    call->render_kept = NULL;
    return memset(call->result, 0, bytes);
}

bool call_hold(struct call *call)
{
    struct follow           *follow = &call->follow;
    const struct share_owner owner = call_owner(call);
    follow->is_held = follow->is_held || traffic_take(call->traffic, SHARE_followers, &owner);
    return follow->is_held;
}

struct share_owner call_owner(const struct call *call)
{
    return share_owner(call->caller.project, call->caller.token_id);
}

bool call_is_over(const struct call *call)
{
    return atomic_load(call->draining) || atomic_load(&call->has_left);
}
