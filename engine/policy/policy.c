/* Functions that all algorithms share. */
#include "engine/policy/policy.h"

#include "engine/space/used_points.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool ask_is_late(const struct ask *ask)
{
    return ask != NULL && ask->late != NULL && ask->late(ask->late_arg);
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

double band_worth(const struct band *band, double value)
{
    return isnan(value) ? value : -fmin(fmax(fmax(band->low - value, value - band->high), 0.0), DBL_MAX);
}

const struct band *problem_band(const struct problem *problem, size_t k)
{
    return problem->bands == NULL || isnan(problem->bands[k].low) ? NULL : &problem->bands[k];
}

enum status policy_no_values(struct error *err)
{
    return error_set(err, STATUS_CONFLICT, "no_observations", "", "there are no values yet");
}

void proposal_clear(struct proposal *out)
{
    out->fallback = NULL;
    out->row = out->observations = out->note_bytes = 0;
    out->mean = out->sd = out->sd_observed = NAN;
}

size_t policy_options_len(const struct policy *policy)
{
    size_t len = 0;
    while (policy->options[len].name != NULL)
        len++;
    return len;
}

int policy_option(const struct policy *policy, const char *name)
{
    for (int i = 0; policy->options[i].name != NULL; i++)
        if (strcmp(policy->options[i].name, name) == 0)
            return i;
    return -1;
}

void policy_defaults(const struct policy *policy, double *options)
{
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        options[i] = policy->options[i].fallback;
}

void policy_set(const struct policy *policy, double *options, const char *name, double value)
{
    int option = policy_option(policy, name);
    if (option >= 0)
        options[option] = value;
}

enum status policy_use_point(struct used_points *used, const struct event *event, struct error *err)
{
    bool has_result = event->kind != EVENT_SUGGESTED && event->kind != EVENT_ABANDONED;
    return has_result || used->count < SIZE_MAX ? used_points_add(used, event->point, err) : STATUS_OK;
}

enum status policy_check(const struct policy *policy, const struct problem *problem, struct error *err)
{
    int repeat = policy_option(policy, "repeat");
    if (space_has_context(problem->space) && !policy->takes_context)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/name",
                         "%s has no parameters of context; gp has", policy->name);
    if (repeat >= 0 && problem->options[repeat] != 0 && problem->space->kind == SPACE_CANDIDATES)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/repeat",
                         "repeat is for parameter spaces; a row of candidates is suggested once");
    return policy->check == NULL ? STATUS_OK : policy->check(problem, err);
}
