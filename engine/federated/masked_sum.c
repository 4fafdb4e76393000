/* See masked_sum.h. */
#include "engine/federated/masked_sum.h"

#include "engine/federated/broadcast.h"

#include <math.h>

enum status masked_plan(size_t members, double z, struct masked_sum *out, struct error *err)
{
    if (members < MASKED_MEMBERS_MIN || members > MASKED_MEMBERS_MAX)
        return error_set(err, STATUS_INVALID, "bad_agents", "/seats", "a secure sum is of %d to %d members",
                         MASKED_MEMBERS_MIN, MASKED_MEMBERS_MAX);
    size_t absent = (members + 9) / 10, left = members - absent, openings = left - absent;
    *out = (struct masked_sum){.members = members,
                               .absent = absent,
                               .listed = left,
                               .openings = openings,
                               .honest = left - left * absent / (openings - absent)};
    out->sigma = (uint32_t)ceil(z * MASKED_STEPS / sqrt((double)out->honest) * (1 + 1e-12));
    return STATUS_OK;
}

enum status masked_quantise(const struct masked_sum *plan, const double *message, size_t n,
                            const struct masked_scratch *scratch, uint64_t *sums, struct error *err)
{
    const struct broadcast lattice = {.features = n, .regions = 1, .clip = 1, .clip_steps = MASKED_STEPS};
    (void)broadcast_clip(&lattice, message, scratch->k);
    for (size_t j = 0; j < n; j++) {
        int64_t noise = 0;
        TRY(sampler_gaussian(scratch->sampler, plan->sigma, &noise, err));
        sums[j] = (uint64_t)(scratch->k[j] + noise);
    }
    return STATUS_OK;
}
