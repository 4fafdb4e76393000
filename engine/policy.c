/* The registry: one line per algorithm, and what is alike in all of them.  Knows nothing about any of them. */
#include "engine/policy.h"

#include <math.h>
#include <string.h>

#define POLICY_LIST(X)  \
    X(policy_random)    \
    X(policy_sobol)     \
    X(policy_gp)        \
    X(policy_turbo)     \
    X(policy_po_gp_ucb) \
    X(policy_rm_gp_ucb) \
    X(policy_rm_gp_ts)  \
    X(policy_rgpe)      \
    X(policy_taf)       \
    X(policy_fts)       \
    X(policy_dp_fts_de) \
    X(policy_bo_bos)    \
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

double ask_clock_ms(const struct ask *ask)
{
    return ask->clock_ms == NULL ? NAN : ask->clock_ms();
}

const char *proposal_fallback(enum status status)
{
    return status == STATUS_OK          ? NULL
           : status == STATUS_BUSY      ? "deadline"
           : status == STATUS_NO_MEMORY ? "memory"
                                        : "numerical";
}

void proposal_clear(struct proposal *out)
{
    out->fallback = NULL;
    out->row = out->observations = out->note_bytes = 0;
    out->mean = out->sd = NAN;
}

int policy_option(const struct policy *policy, const char *name)
{
    for (int i = 0; policy->options[i].name != NULL; i++)
        if (strcmp(policy->options[i].name, name) == 0)
            return i;
    return -1;
}

enum status policy_check_repeat(const struct problem *problem, double repeat, struct error *err)
{
    if (repeat != 0 && problem->space->kind == SPACE_CANDIDATES)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/repeat",
                         "repeat is for parameter spaces; a row of candidates is suggested once");
    return STATUS_OK;
}
