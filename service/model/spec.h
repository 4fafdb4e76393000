/* A study's specification, as it was read: it lives in an arena.  Nothing of it changes but the space, which can grow
 * (service/study/grow.h). */
#ifndef GNOMON_SERVICE_MODEL_SPEC_H
#define GNOMON_SERVICE_MODEL_SPEC_H

#include "engine/policy/policy.h"
#include "engine/space/space.h"
#include "engine/stopping/stop_rule.h"
#include "engine/base/status.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum goal { GOAL_MAXIMIZE, GOAL_MINIMIZE, GOAL_CONSTRAIN, GOAL_TRACK, GOAL_TARGET, GOAL_RANGE };
enum { TRACKED_MAX = 64 };
/* The bound of a constraint.  A relative bound is times * baseline value + plus. */
struct bound {
    double value;       /* NaN: no bound, or not known yet */
    double times, plus; /* times NaN: the bound is not relative */
};
struct metric {
    const char  *name;
    enum goal    goal;
    struct bound min, max;  /* GOAL_CONSTRAIN: at least one; GOAL_RANGE: both, numbers */
    double       target;    /* GOAL_TARGET */
    double       threshold; /* one of several objectives: the worst value (target, range: distance) of use; NaN: none */
};
/* An objective whose value is to lie in a band, and is not signed. */
static inline bool metric_is_banded(const struct metric *metric)
{
    return metric->goal == GOAL_TARGET || metric->goal == GOAL_RANGE;
}
static inline struct band metric_band(const struct metric *metric)
{
    bool is_target = metric->goal == GOAL_TARGET;
    return metric_is_banded(metric) ? (struct band){is_target ? metric->target : metric->min.value,
                                                    is_target ? metric->target : metric->max.value}
                                    : (struct band){NAN, NAN};
}
/* A threshold times this sign is larger, the better the value; the threshold of a band is a distance from it. */
static inline double metric_threshold_sign(const struct metric *metric)
{
    return metric->goal == GOAL_MAXIMIZE ? 1.0 : -1.0;
}
static inline bool bound_is_relative(const struct bound *bound)
{
    return !isnan(bound->times);
}
static inline bool bound_is_there(const struct bound *bound)
{
    return !isnan(bound->value) || bound_is_relative(bound);
}

/* The earlier studies an algorithm is to learn from, as the client wrote them.  service/session/transfer_snapshot.h makes
 * the problem's earlier studies of them; those are stored beside the specification, whose text has the names and the
 * defaults only. */
struct spec_earlier {
    bool                        is_auto; /* earlier studies are picked where ids is NULL, when the study is made */
    const char *const          *ids;     /* [ids_len] studies of the store; NULL: none were named */
    size_t                      ids_len;
    const struct earlier_study *given; /* [given_len] that came with the request; values signed */
    size_t                      given_len;
    const double               *defaults; /* [params_len] of what an earlier study lacks; NaN: none; or NULL */
};

/* A name, one value of a categorical parameter, as the client gave it: 1, 1.0, "1" and true are four. */
enum category_kind { CATEGORY_TEXT, CATEGORY_INTEGER, CATEGORY_REAL, CATEGORY_BOOL, CATEGORY_NULL, CATEGORY_LIST };
struct category {
    enum category_kind kind;
    const char        *text;   /* CATEGORY_TEXT; CATEGORY_LIST: as compact JSON */
    double             number; /* of the others; an integer within 2^53; NULL: 0 */
};

/* Members of a parameter that the engine does not need. */
struct param_note {
    double      fallback;           /* the member "default", in natural units; NaN: none */
    const char *description, *unit; /* or NULL */
};

struct spec {
    const struct metric     *metrics;            /* [metrics_len] modelled ones, then [tracked_len] recorded ones */
    enum metric_kind         kinds[METRICS_MAX]; /* [metrics_len] */
    struct band              bands[METRICS_MAX]; /* [metrics_len] of metric_band */
    size_t                   metrics_len, tracked_len, objectives;
    double                   thresholds[METRICS_MAX]; /* [metrics_len] as a policy sees them; NaN: none */
    const double            *baseline; /* the point that relative bounds refer to: trial SPEC_BASELINE; NULL: none do */
    int64_t                  baseline_ended; /* the line of the log that brought its values; 0: none has */
    size_t                   first;          /* objective: the metric that value and stddev of a trial are of */
    struct space             space;          /* candidates: rows == NULL here; the session has the matrix */
    const int64_t           *site_ids;    /* graph: [sites_len] the client's names of the sites; NULL: their numbers */
    const struct named_site *sites_named; /* the same by name: codec_graph's own */
    bool                     is_directed; /* graph: edges lead one way */
    bool                     is_private;  /* candidates: only a release with its signed manifest is accepted */
    const char              *curator_key; /* private: whose manifest, as 43 characters of base64url; otherwise NULL */
    const struct policy     *policy;
    const double            *options;    /* as struct problem */
    const char              *federation; /* of an agent that the service hosts: its federation, or NULL */
    int64_t                  seat;       /* the agent's seat; 0: the next free one */
    uint64_t                 seed;
    struct spec_earlier      earlier;
    struct stop_rule         stopping; /* kind OFF: nothing is measured of running trials */

    const struct category *const *values; /* [params_len] the names of each categorical, NULL for the others */
    const struct param_note      *notes;  /* [params_len] */
};

/* Finds a metric by name; NULL: the first objective.  *out: its index.  INVALID "unknown_metric" at "/metric". */
MUST_CHECK enum status spec_find_metric(const struct spec *spec, const char *name, size_t *out, struct error *err);
/* A metric of this name, which is at where; and a parameter.  INVALID "unknown_metric", and of parameters the code. */
MUST_CHECK enum status spec_named_metric(const struct spec *spec, const char *name, const char *where, size_t *out,
                                         struct error *err);
MUST_CHECK enum status spec_find_param(const struct spec *spec, const char *name, const char *code, const char *where,
                                       size_t *out, struct error *err);
/* As spec_find_metric among the modelled metrics: INVALID "not_modelled" for one that is only recorded. */
MUST_CHECK enum status spec_find_modelled(const struct spec *spec, const char *name, size_t *out, struct error *err);

/* Whether every context has its value in fixed [params_len], NaN where free, or NULL: INVALID "missing_member" below where. */
MUST_CHECK enum status spec_check_context(const struct spec *spec, const double *fixed, const char *where,
                                          struct error *err);

/* Recorded metrics of a private row would leak it outside of the account, and a graph's values are those of its sites:
 * INVALID "private_study", "wrong_space". */
MUST_CHECK enum status spec_check_tracked(const struct spec *spec, struct error *err);
/* Adds recorded metrics behind the others, but for those that are there already. */
MUST_CHECK enum status spec_track(struct spec *spec, const struct metric *metrics, size_t len, struct arena *arena,
                                  struct error *err);

/* Sets relative bounds from the baseline's values and the line that brought them (NULL and 0: it has none), in a new array;
 * arena NULL: in the array of an earlier call. */
enum { SPEC_BASELINE = 1 };
struct baseline_end {
    int64_t       revision;
    const double *values;
};
MUST_CHECK enum status spec_set_baseline(struct spec *spec, struct baseline_end end, struct arena *arena,
                                         struct error *err);
/* Whether the baseline has no values yet; until then no trial is known to be feasible. */
static inline bool spec_awaits_baseline(const struct spec *spec)
{
    return spec->baseline != NULL && spec->baseline_ended == 0;
}

static inline bool spec_is_baseline(const struct spec *spec, int64_t trial)
{
    return spec->baseline != NULL && trial == SPEC_BASELINE;
}

/* The algorithm that proposes a trial; *why: in the words of the study's own, which left it to that one, or NULL. */
static inline const struct policy *spec_proposer(const struct spec *spec, uint64_t trial, const char **why)
{
    *why = NULL;
    return spec->policy->leave_to == NULL ? spec->policy
                                          : spec->policy->leave_to(&spec->space, spec->metrics_len, trial, why);
}

int64_t spec_site_id(const struct spec *spec, size_t site); /* the client's name of a graph's site */

/* A policy's value is so many times the user's; larger is better but for a band.  1 while there is no objective among the metrics, as
 * a body of which they were refused is read to its end. */
static inline double spec_sign(const struct spec *spec)
{
    return spec->first < spec->metrics_len && spec->metrics[spec->first].goal == GOAL_MINIMIZE ? -1.0 : 1.0;
}

/* How good the user's value of metric k is, larger is better: signed, minus the distance to a band, or a constraint's slack;
 * NaN where no bound is known. */
static inline double spec_value(const struct spec *spec, size_t k, double value)
{
    const struct metric *metric = &spec->metrics[k];
    if (metric->goal == GOAL_CONSTRAIN)
        return fmin(metric->max.value - value, value - metric->min.value); // of NaN and a number: the number
    if (metric_is_banded(metric))
        return band_worth(&spec->bands[k], value);
    return metric->goal == GOAL_MINIMIZE ? -value : value;
}

/* How good the user's value of the only objective is, and whether that is better than the limit at which a study is done: of
 * a band a distance from it. */
static inline double spec_worth(const struct spec *spec, double value)
{
    return spec_value(spec, spec->first, value);
}
static inline bool spec_is_beyond(const struct spec *spec, double value, double limit)
{
    double least = metric_is_banded(&spec->metrics[spec->first]) ? -limit : spec_worth(spec, limit);
    return spec_worth(spec, value) > least; // false for NaN
}

/* The user's value of metric k as a policy is told it. */
static inline double spec_told(const struct spec *spec, size_t k, double value)
{
    return metric_is_banded(&spec->metrics[k]) ? value : spec_value(spec, k, value);
}

/* A constraint with two bounds is modelled as its slack, from which the value does not follow. */
static inline bool spec_is_margin(const struct spec *spec, size_t k)
{
    const struct metric *metric = &spec->metrics[k];
    return metric->goal == GOAL_CONSTRAIN && bound_is_there(&metric->min) && bound_is_there(&metric->max);
}

/* The inverse of spec_told: what a policy says about metric k in the user's own units; the slack itself of a margin. */
static inline double spec_shown(const struct spec *spec, size_t k, double value)
{
    const struct metric *metric = &spec->metrics[k];
    if (metric->goal != GOAL_CONSTRAIN)
        return metric->goal == GOAL_MINIMIZE ? -value : value;
    if (spec_is_margin(spec, k))
        return value;
    return bound_is_there(&metric->max) ? metric->max.value - value : value + metric->min.value;
}

/* Whether a larger value inside is a smaller one outside. */
static inline bool spec_is_mirrored(const struct spec *spec, size_t k)
{
    return spec_shown(spec, k, 1) < spec_shown(spec, k, 0);
}

/* reference [objectives] out, signed as for a policy: the thresholds, where set.  Returns whether any is set. */
static inline bool spec_set_thresholds(const struct spec *spec, double *reference)
{
    bool has_any = false;
    for (size_t k = 0; k < spec->metrics_len; k++) {
        bool is_there = !isnan(spec->thresholds[k]);
        if (is_there)
            *reference = spec->thresholds[k];
        reference += spec->kinds[k] == METRIC_OBJECTIVE;
        has_any = has_any || is_there;
    }
    return has_any;
}

/* Whether each objective of values [metrics_len][2] reaches its threshold. */
static inline bool spec_attains(const struct spec *spec, const double *values)
{
    for (size_t k = 0; k < spec->metrics_len; k++)
        if (spec_value(spec, k, values[2 * k]) < spec->thresholds[k])
            return false;
    return true;
}

/* How the trials of a single objective are ordered, in SQL (SQL_WORTH) as by spec_order_worth. */
struct spec_order {
    double sign, low, high; /* sign 0: by the distance from low to high */
};
static inline double spec_order_worth(const struct spec_order *order, double value)
{
    return order->sign != 0.0 ? order->sign * value : band_worth(&(struct band){order->low, order->high}, value);
}
static inline struct spec_order spec_order(const struct spec *spec)
{
    bool is_banded = metric_is_banded(&spec->metrics[spec->first]);
    return is_banded ? (struct spec_order){0.0, spec->bands[spec->first].low, spec->bands[spec->first].high}
                     : (struct spec_order){spec_sign(spec), -DBL_MAX, DBL_MAX};
}

/* The number of metrics, modelled and recorded. */
static inline size_t spec_metrics_all(const struct spec *spec)
{
    return spec->metrics_len + spec->tracked_len;
}

/* The number of doubles that are stored of a trial's values: two of each metric; of a graph one for each site of a point. */
static inline size_t spec_values_len(const struct spec *spec)
{
    return spec->space.kind == SPACE_GRAPH ? space_point_len(&spec->space) : 2 * spec_metrics_all(spec);
}

/* values [spec_metrics_all][2], value and standard deviation (NaN: none) of each metric; NULL when there is one, and
 * nothing is recorded beside it. */
static inline bool spec_is_feasible(const struct spec *spec, const double *values)
{
    bool feasible = !spec_awaits_baseline(spec);
    if (spec->space.kind == SPACE_GRAPH)
        return true;
    for (size_t k = 0; k < spec->metrics_len && values != NULL; k++)
        feasible = feasible && (spec->kinds[k] == METRIC_OBJECTIVE || spec_value(spec, k, values[2 * k]) >= 0.0);
    return feasible;
}

/* values [metrics_len] of several metrics, as they were measured after a step, as a policy is told them; NULL for NULL. */
static inline const double *spec_measured(const struct spec *spec, const double *values, double *out)
{
    for (size_t k = 0; k < spec->metrics_len && values != NULL; k++)
        out[k] = spec_told(spec, k, values[k]);
    return values == NULL ? NULL : out;
}

/* Such values as those of a trial that ends with them; NULL for NULL. */
MUST_CHECK enum status spec_outcome(const struct spec *spec, const double *values, struct arena *arena,
                                    const double **out, struct error *err);

/* The modelled values of an event: out [SPEC_EVENT_VALUES]; NULL for NULL, and for one metric. */
enum { SPEC_EVENT_VALUES = GRAPH_STEPS_MAX };
_Static_assert(SPEC_EVENT_VALUES >= 2 * METRICS_MAX, "room for all metrics");
static inline const double *spec_event_values(const struct spec *spec, const double *values, double *out)
{
    if (spec->space.kind == SPACE_GRAPH) {
        for (size_t i = 0; i < space_point_len(&spec->space) && values != NULL; i++)
            out[i] = spec_sign(spec) * values[i];
        return values == NULL ? NULL : out;
    }
    bool has_several = values != NULL && spec->metrics_len > 1;
    for (size_t k = 0; k < spec->metrics_len && has_several; k++) {
        out[k] = spec_told(spec, k, values[2 * k]);
        out[spec->metrics_len + k] = isnan(values[2 * k + 1]) ? 0.0 : values[2 * k + 1];
    }
    return has_several ? out : NULL;
}

#endif
