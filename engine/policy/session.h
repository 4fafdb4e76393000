/* The beginning of every algorithm's session: whose it is, its memory, and the sessions of other algorithms inside it.
 * session_open, session_bytes and session_close are the same for all algorithms; struct policy has what each adds to them. */
#ifndef GNOMON_ENGINE_SESSION_H
#define GNOMON_ENGINE_SESSION_H

#include "engine/policy/policy.h"

enum { SESSION_INNER_MAX = 4 };
struct session_base {
    const struct policy  *policy;
    const struct problem *problem; /* which outlives the session, with all that it points to */
    struct arena          kept;    /* lives as long as the session, which lies in it */
    struct arena          scratch; /* what a call computes with; empty until arena_init */
    struct session       *inner[SESSION_INNER_MAX];
    size_t                inner_len;
};

/* *out is NULL on failure.  problem, and all that it points to, outlives the session. */
MUST_CHECK enum status session_open(const struct policy *policy, const struct problem *problem, struct session **out,
                                    struct error *err);
/* Opens a session within another, which then counts and closes it. */
MUST_CHECK enum status session_open_inner(struct session_base *base, const struct policy *policy,
                                          const struct problem *problem, struct session **out, struct error *err);
size_t                 session_bytes(const struct session *session); /* what it holds now */
void                   session_close(struct session *session);       /* NULL is allowed */

#endif
