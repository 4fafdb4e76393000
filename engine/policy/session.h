/* The beginning of every algorithm's session: whose it is, its memory, and the sessions of other algorithms inside it.
 * session_open, session_bytes and session_close are the same for all algorithms; struct policy has what each adds to them. */
#ifndef GNOMON_ENGINE_SESSION_H
#define GNOMON_ENGINE_SESSION_H

#include "engine/policy/policy.h"

enum { SESSION_INNER_MAX = 4, SESSION_OPTIONS_MAX = 16 };
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
/* The problem of a session within another. */
struct session_inner {
    struct problem  problem;
    double          options[SESSION_OPTIONS_MAX]; /* of problem */
    struct session *session;
};
/* The outer problem, with the policy's defaults but for "repeat". */
void session_inner_init(struct session_inner *inner, const struct policy *policy, const struct problem *outer,
                        double repeat);
/* Opens a session within another, which then counts and closes it. */
MUST_CHECK enum status session_open_inner(struct session_base *base, const struct policy *policy,
                                          const struct problem *problem, struct session **out, struct error *err);
size_t                 session_bytes(const struct session *session); /* what it holds now */
void                   session_close(struct session *session);       /* NULL is allowed */

#endif
