/* A study's immutable specification, and its JSON form.
 * codec.c is the only file of service/ that knows jansson; what it makes lives in an arena and holds no json_t. */
#ifndef GNOMON_SERVICE_SPEC_H
#define GNOMON_SERVICE_SPEC_H

#include "engine/policy.h"
#include "engine/space.h"
#include "engine/stop_rule.h"
#include "engine/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum goal { GOAL_MAXIMIZE, GOAL_MINIMIZE, GOAL_CONSTRAIN };
struct metric {
    const char *name;
    enum goal   goal;
    double      min, max; /* GOAL_CONSTRAIN: NaN where there is no bound; never both */
};

struct spec {
    struct metric             metrics[METRICS_MAX];
    enum metric_kind          kinds[METRICS_MAX];
    size_t                    metrics_len, objectives;
    size_t                    first;       /* objective: the metric that value and stddev of a trial are of */
    struct space              space;       /* candidates: rows == NULL here; the session has the matrix */
    const char *const *const *values;      /* [params_len] the strings of each categorical, NULL for the others */
    bool                      is_private;  /* candidates: only a release with its signed manifest is accepted */
    const char               *curator_key; /* private: whose manifest, as 43 characters of base64url; otherwise NULL */
    const struct policy      *policy;
    const double             *options; /* as struct problem */
    const char               *federation; /* of an agent that the service hosts: its federation, or NULL */
    int64_t                   agent;      /* its seat there; 0: the next one that is free */
    uint64_t                  seed;
    int64_t                   lease_ms;
    struct stop_rule          stopping; /* kind OFF: nothing is measured of running trials */
    double                    better_than; /* the study is done with a better feasible value; NaN: never */
};

/* Larger is better inside; the user's own sign outside. */
static inline double spec_sign(const struct spec *spec)
{
    return spec->metrics[spec->first].goal == GOAL_MAXIMIZE ? 1.0 : -1.0;
}

/* The user's value of metric k as a policy sees it: signed, or a constraint's slack. */
static inline double spec_value(const struct spec *spec, size_t k, double value)
{
    const struct metric *metric = &spec->metrics[k];
    if (metric->goal == GOAL_CONSTRAIN)
        return fmin(isnan(metric->max) ? HUGE_VAL : metric->max - value,
                    isnan(metric->min) ? HUGE_VAL : value - metric->min);
    return metric->goal == GOAL_MAXIMIZE ? value : -value;
}

/* values [metrics_len][2], value and standard deviation (NaN: none) of each metric; NULL when there is one metric. */
static inline bool spec_is_feasible(const struct spec *spec, const double *values)
{
    bool feasible = true;
    for (size_t k = 0; k < spec->metrics_len && values != NULL; k++)
        feasible = feasible && (spec->kinds[k] == METRIC_OBJECTIVE || spec_value(spec, k, values[2 * k]) >= 0.0);
    return feasible;
}

/* The same as an event has them: out [2 * METRICS_MAX]; NULL for NULL. */
static inline const double *spec_event_values(const struct spec *spec, const double *values, double *out)
{
    for (size_t k = 0; k < spec->metrics_len && values != NULL; k++) {
        out[k] = spec_value(spec, k, values[2 * k]);
        out[spec->metrics_len + k] = isnan(values[2 * k + 1]) ? 0.0 : values[2 * k + 1];
    }
    return values == NULL ? NULL : out;
}

#endif
