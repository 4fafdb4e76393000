/* A session of an algorithm with the defaults of its options, and what it was asked last. */
#pragma once

#include "engine/policy/session.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>

struct study {
    const struct policy *policy;
    struct space         space;
    struct problem       problem;
    double               options[16], point[100];
    struct session      *session;
    uint64_t             trials;
    struct proposal      proposal;
};

/* metrics [metrics_len]; NULL: one objective. */
static inline struct study *study_new(const char *name, const struct param *params, size_t len,
                                      const enum metric_kind *metrics, size_t metrics_len)
{
    struct study *s = calloc(1, sizeof *s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    s->policy = policy_find(name);
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    policy_defaults(s->policy, s->options);
    s->problem = (struct problem){.space = &s->space,
                                  .options = s->options,
                                  .seed = 2385,
                                  .memory_bytes = 128 << 20,
                                  .metrics = metrics,
                                  .metrics_len = metrics_len};
    s->proposal.point = s->point;
    CU_ASSERT_EQUAL_FATAL(session_open(s->policy, &s->problem, &s->session, NULL), STATUS_OK);
    return s;
}

static inline void study_free(struct study *s)
{
    session_close(s->session);
    free(s);
}
