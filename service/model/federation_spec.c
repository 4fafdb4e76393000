/* See federation_spec.h. */
#include "service/model/federation_spec.h"

#include "engine/federated/rank_basis.h"
#include "engine/space/region.h"

#include <math.h>
#include <string.h>

const char *const federation_state_names[FEDERATION_STATES + 1] = {
    [FEDERATION_ACTIVE] = "active", [FEDERATION_PAUSED] = "paused", [FEDERATION_COMPLETED] = "completed"};

const char *const federation_aggregation_names[] = {
    [FEDERATION_BY_SERVER] = "server", [FEDERATION_SECURE] = "secure", NULL};

static const char region[] = "region", release_sd[] = "release_sd";

bool federation_aggregates(const struct policy *policy)
{
    return strcmp(policy->name, "fts") != 0;
}

bool federation_is_once(const struct policy *policy)
{
    return policy_option(policy, release_sd) >= 0;
}

bool federation_derives(const char *option)
{
    return strcmp(option, region) == 0 || strcmp(option, release_sd) == 0;
}

int64_t federation_releases(const struct federation_spec *spec, int64_t broadcasts)
{
    return spec->aggregation == FEDERATION_SECURE ? broadcasts / SECURE_ROUNDS : broadcasts;
}

struct secure federation_secure(const struct federation_spec *spec, const char *id)
{
    return (struct secure){
        .federation = id, .seats = (size_t)spec->seats, .features = spec->features, .z = spec->broadcast.z};
}

double federation_option(const struct federation_spec *spec, const char *name)
{
    return spec->study.options[policy_option(spec->study.policy, name)];
}

size_t federation_region(const struct federation_spec *spec, int64_t seat)
{
    if (!spec->is_private || federation_is_once(spec->study.policy))
        return 0;
    return regions_of_seat((uint64_t)federation_option(spec, "features_seed"), (uint64_t)seat, spec->broadcast.regions);
}

void federation_options(const struct federation_spec *spec, int64_t seat, double *options)
{
    const struct policy *policy = spec->study.policy;
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        options[i] = spec->study.options[i];
    if (policy_option(policy, region) >= 0)
        options[policy_option(policy, region)] = (double)federation_region(spec, seat);
    if (federation_is_once(policy))
        options[policy_option(policy, release_sd)] = federation_forecast(spec).sd;
}

struct rank_forecast federation_forecast(const struct federation_spec *spec)
{
    struct masked_sum plan;
    double            z = spec->broadcast.z;
    if (spec->aggregation == FEDERATION_SECURE && masked_plan((size_t)spec->seats, z, &plan, NULL) == STATUS_OK)
        z *= sqrt((double)plan.members / (double)plan.honest); // the shares of all, when those of the honest are enough
    return rank_forecast((size_t)spec->seats, spec->features, z);
}

static enum status rank_public(const struct federation_spec *spec, struct arena *arena, struct rff *out,
                               struct error *err)
{
    const struct space *space = &spec->study.space;
    struct space       *held = ARENA_NEW(arena, struct space, 1);
    struct rank_basis   basis;
    *out = (struct rff){.dims = space->dims, .count = spec->features, .variance = 1};
    out->phases = ARENA_NEW(arena, double, spec->features);
    if (held == NULL || out->phases == NULL)
        return error_no_memory(err);
    TRY(space_hold(space, NULL, arena, held, err));
    TRY(rank_basis_init(&basis, held, spec->features, arena, err));
    out->frequencies = basis.orders;
    for (size_t i = 0; i < spec->features; i++)
        out->phases[i] = basis.mix[i * (spec->features + 1) + i];
    return STATUS_OK;
}

enum status federation_public(const struct federation_spec *spec, struct arena *arena, struct rff *out,
                              struct error *err)
{
    if (federation_is_once(spec->study.policy))
        return rank_public(spec, arena, out, err);
    const struct fts_shared shared = {.count = spec->features,
                                      .seed = (uint64_t)federation_option(spec, "features_seed"),
                                      .length_scale = federation_option(spec, "length_scale")};
    return fts_features(&shared, &spec->study.space, arena, out, err);
}
