/* See federation_spec.h. */
#include "service/model/federation_spec.h"

#include "engine/space/region.h"

const char *const federation_state_names[FEDERATION_STATES + 1] = {
    [FEDERATION_ACTIVE] = "active", [FEDERATION_PAUSED] = "paused", [FEDERATION_COMPLETED] = "completed"};

double federation_option(const struct federation_spec *spec, const char *name)
{
    return spec->study.options[policy_option(spec->study.policy, name)];
}

size_t federation_region(const struct federation_spec *spec, int64_t seat)
{
    if (!spec->is_private)
        return 0;
    return regions_of_seat((uint64_t)federation_option(spec, "features_seed"), (uint64_t)seat, spec->broadcast.regions);
}

void federation_options(const struct federation_spec *spec, int64_t seat, double *options)
{
    const struct policy *policy = spec->study.policy;
    int                  region = policy_option(policy, "region");
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        options[i] = spec->study.options[i];
    if (region >= 0)
        options[region] = (double)federation_region(spec, seat);
}
