/* The options of fts and dp-fts-de.  For policy_fts.c alone. */
#ifndef GNOMON_ENGINE_FTS_OPTIONS_H
#define GNOMON_ENGINE_FTS_OPTIONS_H

#include "engine/federated/fts.h"
#include "engine/policy/policy.h"
#include "engine/space/region.h"

enum { FEATURES, SEED, LENGTH_SCALE, NOISE, CENTRE, SPREAD, SCHEDULE, REPEAT, INITIAL, REGIONS, REGION };

#define SHARED_OPTIONS                                                                                                \
    [FEATURES] = {.name = "features",                                                                                 \
                  .kind = OPTION_INT,                                                                                 \
                  .min = FTS_FEATURES_MIN,                                                                            \
                  .max = FTS_FEATURES_MAX,                                                                            \
                  .fallback = 100,                                                                                    \
                  .help = "number of random features that all agents share, and of numbers in a message"},            \
    [SEED] = {.name = "features_seed",                                                                                \
              .kind = OPTION_INT,                                                                                     \
              .max = 9007199254740991.0,                                                                              \
              .fallback = 0,                                                                                          \
              .help = "seed of the shared features, the same for all agents"},                                        \
    [LENGTH_SCALE] = {.name = "length_scale",                                                                         \
                      .kind = OPTION_REAL,                                                                            \
                      .min = 1e-3,                                                                                    \
                      .max = 10,                                                                                      \
                      .fallback = 0.1,                                                                                \
                      .help = "of the shared features, in the unit cube of the parameters"},                          \
    [NOISE] = {.name = "noise",                                                                                       \
               .kind = OPTION_REAL,                                                                                   \
               .min = 1e-6,                                                                                           \
               .max = 1,                                                                                              \
               .fallback = 0.01,                                                                                      \
               .help = "variance of the noise in messages, in units of spread squared"},                              \
    [CENTRE] = {.name = "centre",                                                                                     \
                .kind = OPTION_REAL,                                                                                  \
                .min = -1e100,                                                                                        \
                .max = 1e100,                                                                                         \
                .fallback = 0,                                                                                        \
                .help = "public: a value enters a message as (value - centre) / spread"},                             \
    [SPREAD] = {.name = "spread",                                                                                     \
                .kind = OPTION_REAL,                                                                                  \
                .min = 1e-100,                                                                                        \
                .max = 1e100,                                                                                         \
                .fallback = 1,                                                                                        \
                .help = "public: see centre"},                                                                        \
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
    [INITIAL] = {.name = "initial",
                 .kind = OPTION_INT,
                 .min = 1,
                 .max = 10000,
                 .fallback = 5,
                 .help = "quasi-random trials before the first iteration; at least until one has a value"},
    {.name = NULL},
};

static const struct option dp_options[] = {
    SHARED_OPTIONS,
    [INITIAL] = {.name = "initial",
                 .kind = OPTION_INT,
                 .min = 1,
                 .max = 10000,
                 .fallback = 10,
                 .help = "quasi-random trials in the agent's region before the first iteration; at least until one "
                         "has a value"},
    [REGIONS] = {.name = "regions",
                 .kind = OPTION_INT,
                 .min = 1,
                 .max = REGIONS_MAX,
                 .fallback = 1,
                 .help = "boxes of equal volume into which the space is cut"},
    [REGION] = {.name = "region",
                .kind = OPTION_INT,
                .max = REGIONS_MAX - 1,
                .fallback = 0,
                .help = "region of this agent's initial trials, from 0"},
    {.name = NULL},
};

#endif
