#include "engine/registry.h"

#include <string.h>

#define POLICY_LIST(X)  \
    X(policy_random)    \
    X(policy_sobol)     \
    X(policy_gp)        \
    X(policy_auto)      \
    X(policy_turbo)     \
    X(policy_cma_es)    \
    X(policy_po_gp_ucb) \
    X(policy_transfer)  \
    X(policy_rm_gp_ucb) \
    X(policy_rm_gp_ts)  \
    X(policy_rgpe)      \
    X(policy_taf)       \
    X(policy_fts)       \
    X(policy_dp_fts_de) \
    X(policy_rank_mean) \
    X(policy_bo_bos)    \
    X(policy_linear_ts) \
    X(policy_bos2)      \
    X(policy_macro_bo)  \
    X(policy_macro_bo_anytime)

#define X(record) extern const struct policy record;
POLICY_LIST(X)
#undef X

static const struct policy *const policies[] = {
#define X(record) &record,
    POLICY_LIST(X)
#undef X
};

const struct policy *const *policy_list(size_t *count)
{
    *count = sizeof policies / sizeof policies[0];
    return policies;
}

const struct policy *policy_find(const char *name)
{
    size_t                      count;
    const struct policy *const *list = policy_list(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}
