/* See spec.h. */
#include "service/model/spec.h"

#include "service/base/nearest.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum status spec_find_metric(const struct spec *spec, const char *name, size_t *out, struct error *err)
{
    *out = spec->first;
    return name == NULL ? STATUS_OK : spec_named_metric(spec, name, "/metric", out, err);
}

enum status spec_named_metric(const struct spec *spec, const char *name, const char *where, size_t *out,
                              struct error *err)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    for (*out = 0; *out < spec_metrics_all(spec); (*out)++) {
        if (strcmp(spec->metrics[*out].name, name) == 0)
            return STATUS_OK;
        nearest_consider(&nearest, spec->metrics[*out].name);
    }
    return nearest_refuse(&nearest, err, "unknown_metric", where, "metric of the study", "the study lists them");
}

enum status spec_find_param(const struct spec *spec, const char *name, const char *code, const char *where, size_t *out,
                            struct error *err)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    for (*out = 0; *out < spec->space.params_len; (*out)++) {
        if (strcmp(spec->space.params[*out].name, name) == 0)
            return STATUS_OK;
        nearest_consider(&nearest, spec->space.params[*out].name);
    }
    return nearest_refuse(&nearest, err, code, where, "parameter of the space", "the space lists them");
}

enum status spec_find_modelled(const struct spec *spec, const char *name, size_t *out, struct error *err)
{
    TRY(spec_find_metric(spec, name, out, err));
    return *out < spec->metrics_len ? STATUS_OK
                                    : error_set(err, STATUS_INVALID, "not_modelled", "/metric",
                                                "the metric is only recorded: no model knows it");
}

enum status spec_check_context(const struct spec *spec, const double *fixed, const char *where, struct error *err)
{
    const struct param *params = spec->space.params;
    char                path[sizeof err->path];
    for (size_t i = 0; space_has_context(&spec->space) && i < spec->space.params_len; i++) {
        if (!params[i].is_context || (fixed != NULL && !isnan(fixed[i])))
            continue;
        snprintf(path, sizeof path, "%s/%s", where, params[i].name);
        return error_set(err, STATUS_INVALID, "missing_member", path,
                         "the parameter is a context: say its value with each request");
    }
    return STATUS_OK;
}

enum status spec_check_tracked(const struct spec *spec, struct error *err)
{
    if (spec->tracked_len > 0 && spec->is_private)
        return error_set(err, STATUS_INVALID, "private_study", "/metrics",
                         "nothing is recorded of the rows of a private study beside what is modelled");
    if (spec->tracked_len > 0 && spec->space.kind == SPACE_GRAPH)
        return error_set(err, STATUS_INVALID, "wrong_space", "/metrics",
                         "a graph is measured site by site, and nothing is recorded beside it");
    return STATUS_OK;
}

enum status spec_track(struct spec *spec, const struct metric *metrics, size_t len, struct arena *arena,
                       struct error *err)
{
    size_t         all = spec_metrics_all(spec);
    struct metric *grown = ARENA_NEW(arena, struct metric, all + len);
    char           path[40];
    if (grown == NULL)
        return error_no_memory(err);
    memcpy(grown, spec->metrics, all * sizeof *grown);
    for (size_t i = 0; i < len; i++) {
        size_t k = 0;
        while (k < all && strcmp(grown[k].name, metrics[i].name) != 0)
            k++;
        snprintf(path, sizeof path, "/metrics/%zu/name", i);
        if (k < spec->metrics_len)
            return error_set(err, STATUS_INVALID, "duplicate_name", path, "the study has it, and models it");
        if (k < all)
            continue;
        if (all - spec->metrics_len == TRACKED_MAX)
            return error_set(err, STATUS_INVALID, "out_of_range", path, "at most %d metrics are recorded", TRACKED_MAX);
        grown[all++] = metrics[i];
    }
    spec->metrics = grown;
    spec->tracked_len = all - spec->metrics_len;
    return spec_check_tracked(spec, err);
}

/* A bound too large for a number becomes the largest number. */
static void set_bound(struct bound *bound, const double *value)
{
    if (bound_is_relative(bound))
        bound->value = value == NULL ? (double)NAN : fmax(-DBL_MAX, fmin(DBL_MAX, bound->times * *value + bound->plus));
}

enum status spec_set_baseline(struct spec *spec, struct baseline_end end, struct arena *arena, struct error *err)
{
    struct metric *metrics = arena == NULL ? (struct metric *)(uintptr_t)spec->metrics
                                           : ARENA_NEW(arena, struct metric, spec_metrics_all(spec));
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

enum status spec_outcome(const struct spec *spec, const double *values, struct arena *arena, const double **out,
                         struct error *err)
{
    double *outcome = values == NULL ? NULL : ARENA_NEW(arena, double, spec_values_len(spec));
    *out = outcome;
    if (values == NULL)
        return STATUS_OK;
    if (outcome == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < spec_values_len(spec); i++)
        outcome[i] = i % 2 == 0 && i / 2 < spec->metrics_len ? values[i / 2] : (double)NAN;
    return STATUS_OK;
}

int64_t spec_site_id(const struct spec *spec, size_t site)
{
    return spec->site_ids == NULL ? (int64_t)site : spec->site_ids[site];
}
