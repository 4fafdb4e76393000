/* See session.h. */
#include "engine/policy/session.h"

#include <assert.h>

static struct session_base *base_of(struct session *session)
{
    return (struct session_base *)(void *)session; // which begins with it
}

enum status session_open(const struct policy *policy, const struct problem *problem, struct session **out,
                         struct error *err)
{
    struct arena kept;
    *out = NULL;
    arena_init(&kept, problem->memory_bytes / (policy->kept_share == 0 ? 1 : policy->kept_share));
    bool                 has_room = !policy->keeps_nothing || arena_reserve(&kept, policy->session_bytes);
    struct session_base *base = has_room ? arena_zalloc(&kept, 1, policy->session_bytes) : NULL;
    if (base == NULL) {
        arena_fini(&kept);
        return error_no_memory(err);
    }
    *base = (struct session_base){.policy = policy, .problem = problem, .kept = kept};
    struct session *session = (struct session *)base;
    enum status     status = policy->begin(session, err);
    if (status == STATUS_OK)
        *out = session;
    else
        session_close(session);
    return status;
}

void session_inner_init(struct session_inner *inner, const struct policy *policy, const struct problem *outer,
                        double repeat)
{
    assert(policy_options_len(policy) <= SESSION_OPTIONS_MAX);
    policy_defaults(policy, inner->options);
    policy_set(policy, inner->options, "repeat", repeat);
    inner->problem = *outer;
    inner->problem.options = inner->options;
}

enum status session_open_inner(struct session_base *base, const struct policy *policy, const struct problem *problem,
                               struct session **out, struct error *err)
{
    assert(base->inner_len < SESSION_INNER_MAX);
    TRY(session_open(policy, problem, out, err));
    base->inner[base->inner_len++] = *out;
    return STATUS_OK;
}

size_t session_bytes(const struct session *session)
{
    const struct session_base *base = (const struct session_base *)(const void *)session;
    size_t                     sum = base->kept.taken_bytes + base->scratch.taken_bytes;
    for (size_t i = 0; i < base->inner_len; i++)
        sum += session_bytes(base->inner[i]);
    return base->policy->bytes_beside == NULL ? sum : sum + base->policy->bytes_beside(session);
}

void session_close(struct session *session)
{
    if (session == NULL)
        return;
    struct session_base *base = base_of(session);
    for (size_t i = 0; i < base->inner_len; i++)
        session_close(base->inner[i]);
    if (base->policy->end != NULL)
        base->policy->end(session);
    arena_fini(&base->scratch);
    struct arena kept = base->kept; /* the session lies in it */
    arena_fini(&kept);
}
