/* The options of fts and dp-fts-de.  For policy_fts.c alone. */
#ifndef GNOMON_ENGINE_FTS_OPTIONS_H
#define GNOMON_ENGINE_FTS_OPTIONS_H

#include "engine/federated/fts.h"
#include "engine/policy/policy.h"
#include "engine/space/region.h"

enum { FEATURES, SEED, LENGTH_SCALE, NOISE, CENTRE, SPREAD, SCHEDULE, REPEAT, INITIAL, REGIONS, REGION };

#define SHARED_OPTIONS                                                                                                \
    [FEATURES] = OPTION_INTEGER("features", FTS_FEATURES_MIN, FTS_FEATURES_MAX, 100,                                  \
                                "number of random features that all agents share, and of numbers in a message"),      \
    [SEED] = OPTION_INTEGER("features_seed", 0, 9007199254740991.0, 0,                                                \
                            "seed of the shared features, the same for all agents"),                                  \
    [LENGTH_SCALE] =                                                                                                  \
        OPTION_NUMBER("length_scale", 1e-3, 10, 0.1, "of the shared features, in the unit cube of the parameters"),   \
    [NOISE] = OPTION_NUMBER("noise", 1e-6, 1, 0.01, "variance of the noise in messages, in units of spread squared"), \
    [CENTRE] =                                                                                                        \
        OPTION_NUMBER("centre", -1e100, 1e100, 0, "public: a value enters a message as (value - centre) / spread"),   \
    [SPREAD] = OPTION_NUMBER("spread", 1e-100, 1e100, 1, "public: see centre"),                                       \
    [SCHEDULE] =                                                                                                      \
        {.name = "schedule",                                                                                          \
         .kind = OPTION_CHOICE,                                                                                       \
         .max = 2,                                                                                                    \
         .choices = fts_schedules,                                                                                    \
         .help =                                                                                                      \
             "probability of a draw from the agent's own model at iteration t: 1 - 1/sqrt(t), 1 - 1/t or 1 - 1/t^2"}, \
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP}

static const struct option fts_options[] = {
    SHARED_OPTIONS,
    [INITIAL] = OPTION_INTEGER("initial", 1, 10000, 5,
                               "quasi-random trials before the first iteration; at least until one has a value"),
    {.name = NULL},
};

static const struct option dp_options[] = {
    SHARED_OPTIONS,
    [INITIAL] = OPTION_INTEGER(
        "initial", 1, 10000, 10,
        "quasi-random trials in the agent's region before the first iteration; at least until one has a value"),
    [REGIONS] = OPTION_INTEGER("regions", 1, REGIONS_MAX, 1, "boxes of equal volume into which the space is cut"),
    [REGION] = OPTION_INTEGER("region", 0, REGIONS_MAX - 1, 0, "region of this agent's initial trials, from 0"),
    {.name = NULL},
};

#endif
