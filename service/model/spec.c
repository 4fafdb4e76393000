/* See spec.h. */
#include "service/model/spec.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum status spec_find_metric(const struct spec *spec, const char *name, size_t *out, struct error *err)
{
    char   names[120] = "";
    size_t length = 0;
    *out = spec->first;
    for (size_t k = 0; name != NULL && k < spec_metrics_all(spec); k++) {
        if (strcmp(spec->metrics[k].name, name) == 0) {
            *out = k;
            return STATUS_OK;
        }
        if (length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", k == 0 ? "" : ", ",
                                       spec->metrics[k].name);
    }
    return name == NULL ? STATUS_OK
                        : error_set(err, STATUS_INVALID, "unknown_metric", "/metric", "the study has: %s", names);
}

enum status spec_find_modelled(const struct spec *spec, const char *name, size_t *out, struct error *err)
{
    TRY(spec_find_metric(spec, name, out, err));
    return *out < spec->metrics_len ? STATUS_OK
                                    : error_set(err, STATUS_INVALID, "not_modelled", "/metric",
                                                "the metric is only recorded: no model knows it");
}

/* What is too large for a number is as good as the largest. */
static void set_bound(struct bound *bound, const double *value)
{
    if (bound_is_relative(bound))
        bound->value = value == NULL ? (double)NAN : fmax(-DBL_MAX, fmin(DBL_MAX, bound->times * *value + bound->plus));
}

enum status spec_set_baseline(struct spec *spec, struct baseline_end end, struct arena *arena, struct error *err)
{
    struct metric *metrics = ARENA_NEW(arena, struct metric, spec_metrics_all(spec));
    if (metrics == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < spec_metrics_all(spec); k++) {
        metrics[k] = spec->metrics[k];
        set_bound(&metrics[k].min, end.values == NULL ? NULL : &end.values[2 * k]);
        set_bound(&metrics[k].max, end.values == NULL ? NULL : &end.values[2 * k]);
    }
    spec->metrics = metrics;
    spec->baseline_ended = end.revision;
    return STATUS_OK;
}

int64_t spec_site_id(const struct spec *spec, size_t site)
{
    return spec->site_ids == NULL ? (int64_t)site : spec->site_ids[site];
}
