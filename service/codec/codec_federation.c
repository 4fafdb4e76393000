/* A federation's specification <-> JSON.  Space, metric and algorithm are read as those of a study; what only the
 * aggregating server needs has tables of its own.  What the engine checks itself is left to it. */
#include "service/codec/codec_federation.h"

#include "engine/privacy/accountant.h"
#include "engine/privacy/mechanism.h"
#include "engine/registry.h"
#include "service/base/nearest.h"
#include "service/member/codec.h"
#include "service/codec/codec_spec.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_constraint.h"
#include "service/member/codec_write.h"

#include <math.h>
#include <string.h>

static const char *const noise_names[] = {[BROADCAST_JOINT] = "joint", [BROADCAST_WORST] = "worst", NULL};

/* A round's time unless it is given; of the only one there is a week, as members begin when they like. */
enum { ROUND_MS = 600000, ONCE_MS = 604800000 };

/* ---- the parts ---- */

static const struct member weights_members[] = {
    {AT(broadcast_schedule, a), .required = true, .read = codec_read_number, .min = 0, .max = 50},
    {AT(broadcast_schedule, b), .read = codec_read_number, .min = 0, .max = 50},
    {AT(broadcast_schedule, hold), .read = codec_read_integer, .min = 0, .max = FEDERATION_ROUNDS_MAX},
    {AT(broadcast_schedule, decay), .read = codec_read_integer, .min = 0, .max = FEDERATION_ROUNDS_MAX},
    {.name = NULL},
};

#define POSITIVE .read = read_positive, .write = codec_write_number
static enum status read_positive(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                 void *out)
{
    double value;
    if (!codec_read_is_finite(json, &value))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be a number");
    if (!(value > 0 && value <= member->max))
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must be above 0 and at most %g", member->max);
    memcpy(out, &value, sizeof value);
    return STATUS_OK;
}
_Static_assert(sizeof(enum broadcast_noise) == sizeof(int), "choices are ints");
static const struct member privacy_members[] = {
    {AT(federation_spec, epsilon), POSITIVE, .required = true, .max = 1000},
    {AT(federation_spec, delta), POSITIVE, .required = true, .max = 0.5},
    {AS(federation_spec, broadcast.q, "sampling_rate"), POSITIVE, .max = 1},
    {AS(federation_spec, broadcast.clip, "clip"), POSITIVE, .max = 1e12},
    {AS(federation_spec, broadcast.z, "noise_multiplier"), POSITIVE, .max = 100},
    {AS(federation_spec, broadcast.noise, "noise"), .read = codec_read_choice, .names = noise_names},
    {.name = NULL},
};

static enum status read_round_seconds(struct reading *in, const struct member *member, const json_t *json,
                                      const char *where, void *out)
{
    double seconds;
    TRY(codec_read_number(in, member, json, where, &seconds));
    *(int64_t *)out = (int64_t)(seconds * 1000 + 0.5);
    return STATUS_OK;
}

static json_t *write_round_seconds(const struct writing *out, const struct member *member)
{
    return codec_number((double)*(const int64_t *)codec_at(out, member) / 1000);
}

/* Writes a member that studies have, too; without what follows from the seat. */
static json_t *write_of_study(const struct writing *out, const struct member *member)
{
    const struct federation_spec *spec = out->from;
    const struct member          *own = codec_spec_members;
    while (strcmp(own->name, member->name) != 0)
        own++;
    json_t     *json = own->write(&(struct writing){.from = &spec->study}, own), *value;
    const char *key;
    void       *next;
    json_object_foreach_safe(json, next, key, value) if (federation_derives(key))(void) json_object_del(json, key);
    return json;
}

static json_t *write_weights(const struct writing *out, const struct member *member)
{
    const struct federation_spec *spec = out->from;
    (void)member;
    return spec->is_private ? codec_write(weights_members, &(struct writing){.from = &spec->broadcast.schedule})
                            : json_null();
}

static json_t *write_privacy(const struct writing *out, const struct member *member)
{
    const struct federation_spec *spec = out->from;
    (void)member;
    return spec->is_private ? codec_write(privacy_members, &(struct writing){.from = spec}) : json_null();
}

/* ---- the whole ---- */

/* The table writes the specification alone, which is first. */
struct form {
    struct federation_spec spec;
    const json_t          *metrics, *space, *algorithm, *weights, *privacy;
    bool                   is_stored; /* it was checked in full when it was created */
};
_Static_assert(sizeof(enum federation_aggregation) == sizeof(int), "choices are ints");
_Static_assert(offsetof(struct form, spec) == 0, "the same table reads the form and writes the specification");
const struct member codec_federation_spec_members[] = {
    {AT(form, metrics), .required = true, .read = codec_read_kept, .write = write_of_study},
    {AT(form, space), .required = true, .read = codec_read_kept, .write = write_of_study},
    {AT(form, algorithm), .required = true, .read = codec_read_kept, .write = write_of_study},
    {AS(form, spec.seats, "seats"), .required = true, .read = codec_read_integer, .min = 2,
     .max = FEDERATION_SEATS_MAX},
    {AS(form, spec.minimum, "minimum_agents"), .read = codec_read_integer, .min = 1, .max = FEDERATION_SEATS_MAX},
    {AS(form, spec.rounds, "rounds"), .required = true, .read = codec_read_integer, .min = 1,
     .max = FEDERATION_ROUNDS_MAX},
    {AS(form, spec.round_ms, "round_seconds"), .read = read_round_seconds, .min = 0.1, .max = 604800,
     .write = write_round_seconds},
    {AS(form, spec.aggregation, "aggregation"), .read = codec_read_choice, .names = federation_aggregation_names},
    {AT(form, weights), .optional = true, .read = codec_read_kept, .write = write_weights},
    {AT(form, privacy), .optional = true, .read = codec_read_kept, .write = write_privacy},
    {.name = NULL},
};

/* The open round; a completed federation has none. */
static json_t *write_round(const struct writing *out, const struct member *member)
{
    const struct federation *federation = out->from;
    (void)member;
    return federation->state == FEDERATION_COMPLETED ? json_null() : json_integer(federation->round);
}

static json_t *write_rounds_closed(const struct writing *out, const struct member *member)
{
    return json_integer(*(const int64_t *)codec_at(out, member) - 1);
}

#define SHOWN(...) CODEC_MEMBER(federation, , __VA_ARGS__)
// clang-format off
const struct member codec_federation_members[] = {
    {AT(federation, id), .write = codec_write_characters},
    FEDERATION_GIVEN(SHOWN)
    {AT(federation, state), .read = codec_read_choice, .names = federation_state_names},
    FEDERATION_KEPT(SHOWN)
    {AT(federation, round), .nullable = true, .read = codec_read_integer, .write = write_round},
    {AS(federation, round, "rounds_closed"), .read = codec_read_integer, .write = write_rounds_closed},
    FEDERATION_OPEN(SHOWN)
    {AS(federation, spec, ""), .members = codec_federation_spec_members},
    {.name = NULL},
};
// clang-format on

/* ---- reading ---- */

static enum status refuse_algorithm(const char *name, struct error *err)
{
    struct nearest                    nearest = nearest_to(name, strlen(name));
    size_t                            count;
    const struct policy *const *const policies = policy_list(&count);
    for (size_t i = 0; i < count; i++)
        if (policies[i]->message != NULL)
            nearest_consider(&nearest, policies[i]->name);
    return nearest_refuse(&nearest, err, "unknown_algorithm", "/algorithm/name", "algorithm of federations", "");
}

/* The options of an agent's study, which the federation fixes for all. */
static enum status read_study(struct reading *in, const struct form *form, struct federation_spec *out)
{
    const char *key;
    json_t     *value;
    char        where[40];
    json_object_foreach ((json_t *)form->algorithm, key, value) {
        snprintf(where, sizeof where, "/algorithm/%.20s", key);
        if (federation_derives(key))
            return error_set(in->err, STATUS_INVALID, "unknown_member", where,
                             "must be left out: it follows from the federation and the seat");
    }
    json_t *study =
        json_pack("{s:O*, s:O*, s:O*}", "metrics", form->metrics, "space", form->space, "algorithm", form->algorithm);
    if (study == NULL)
        return error_no_memory(in->err);
    enum status status = codec_spec_read(in, study, 0, &out->study);
    json_decref(study);
    TRY(status);
    const struct policy *policy = out->study.policy;
    if (out->study.tracked_len > 0)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/metrics",
                         "nothing is shared of what is only recorded: the agents' own studies may have such metrics");
    if (out->study.federation != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", "/algorithm/federation",
                         "a federation is no agent of another one");
    if (policy->message == NULL)
        return form->algorithm == NULL ? STATUS_OK : refuse_algorithm(policy->name, in->err);
    out->is_private = federation_aggregates(policy);
    out->features = (size_t)out->study.options[policy_option(policy, "features")];
    return STATUS_OK;
}

static enum status read_weights(struct reading *in, const json_t *json, struct broadcast_schedule *out)
{
    *out = (struct broadcast_schedule){.a = 1, .b = 1};
    if (json != NULL)
        TRY(codec_read_object(in, weights_members, json, "/weights", out));
    return out->b <= out->a ? STATUS_OK
                            : error_set(in->err, STATUS_INVALID, "bad_combination", "/weights/b", "must not be over a");
}

/* Pointers of the engine's own checks, which know nothing of the document. */
static enum status repoint(struct error *err)
{
    static const struct {
        const char *code, *path;
    } paths[] = {
        {"bad_sampling_rate", "/privacy/sampling_rate"},
        {"bad_noise_multiplier", "/privacy/noise_multiplier"},
        {"bad_clip", "/privacy/clip"},
        {"bad_weights", "/weights"},
        {"bad_epsilon", "/privacy/epsilon"},
        {"bad_delta", "/privacy/delta"},
        {"bad_releases", "/rounds"},
        {"bad_agents", "/seats"},
        {"bad_features", "/algorithm/features"},
        {"bad_regions", "/algorithm/regions"},
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strcmp(paths[i].code, err->code) == 0)
            memcpy(err->path, paths[i].path, strlen(paths[i].path) + 1);
    return err->status;
}

/* In every round of the schedule the noise must fit on the lattice: what it needs is largest with equal weights, and the
 * weights are most unequal at first. */
static enum status check_plan(struct reading *in, const struct federation_spec *spec)
{
    const struct broadcast_schedule *schedule = &spec->broadcast.schedule;
    const uint64_t rounds[] = {0, schedule->hold + schedule->decay / 2, schedule->hold + schedule->decay};
    size_t        *region_of = ARENA_NEW(in->arena, size_t, (size_t)spec->seats);
    if (region_of == NULL)
        return error_no_memory(in->err);
    for (int64_t seat = 1; seat <= spec->seats; seat++)
        region_of[seat - 1] = federation_region(spec, seat);
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        struct broadcast broadcast = spec->broadcast;
        broadcast.region_of = region_of;
        broadcast.round = rounds[i];
        if (broadcast_plan(&broadcast, in->err) != STATUS_OK)
            return repoint(in->err);
    }
    return STATUS_OK;
}

/* All count alike in the one round of rank-mean, and nothing is longer than 1. */
static enum status check_once(struct reading *in, const struct federation_spec *spec)
{
    const struct broadcast *b = &spec->broadcast;
    bool                    is_secure = spec->aggregation == FEDERATION_SECURE;
    const struct {
        bool        is_wrong;
        const char *path, *why;
    } rows[] = {
        {!is_secure && spec->rounds != 1, "/rounds", "must be 1: rank-mean has one round"},
        {is_secure && spec->rounds != SECURE_ROUNDS, "/rounds",
         "must be 4: secure aggregation has rounds for keys, shares, vectors and openings"},
        {is_secure && (spec->seats < MASKED_MEMBERS_MIN || spec->seats > MASKED_MEMBERS_MAX), "/seats",
         "must be 6 to 255: secure aggregation is for so many members"},
        {b->q != 1, "/privacy/sampling_rate", "must be 1, or left out: rank-mean counts every member"},
        {b->clip != 1, "/privacy/clip", "must be 1, or left out: a vector of rank-mean is at most 1 long"},
        {b->schedule.a != b->schedule.b, "/weights",
         "must be left out, or have a = b: rank-mean counts all members alike"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].is_wrong)
            return error_set(in->err, STATUS_INVALID, "bad_combination", rows[i].path, "%s", rows[i].why);
    return STATUS_OK;
}

static enum status check_forecast(struct reading *in, const struct federation_spec *spec)
{
    const struct rank_forecast forecast = federation_forecast(spec);
    return !forecast.hurts ? STATUS_OK
                           : error_set(in->err, STATUS_INVALID, "mostly_noise", "/algorithm/accept_noise",
                                       "%.0f %% of the release would be noise, which is likelier to hurt than to help: "
                                       "take more seats, a larger epsilon or fewer features, or say accept_noise",
                                       100 * forecast.share);
}

static enum status check_given(struct reading *in, const struct broadcast *b)
{
    const char *missing = b->q == 0 ? "/privacy/sampling_rate" : b->clip == 0 ? "/privacy/clip" : NULL;
    return missing == NULL ? STATUS_OK : error_set(in->err, STATUS_INVALID, "missing_member", missing, "is required");
}

/* The tables of what a private federation promises; of an algorithm that could not be read, what they say themselves. */
static enum status read_promise(struct reading *in, const struct form *form, bool is_known, struct federation_spec *out)
{
    enum status whole = STATUS_OK;
    bool        is_once = is_known && federation_is_once(out->study.policy);
    out->broadcast = (struct broadcast){
        .agents = (size_t)out->seats,
        .features = out->features,
        .regions = is_once || !is_known ? 1 : (size_t)federation_option(out, "regions"),
        .q = is_once ? 1 : 0,
        .clip = is_once ? 1 : 0,
        .noise = BROADCAST_JOINT,
    };
    if (form->privacy != NULL)
        TRY(codec_read_on(in, codec_read_object(in, privacy_members, form->privacy, "/privacy", out), &whole));
    else if (is_known)
        TRY(codec_read_on(in, error_set(in->err, STATUS_INVALID, "missing_member", "/privacy", "is required"), &whole));
    TRY(codec_read_on(in, read_weights(in, form->weights, &out->broadcast.schedule), &whole));
    return whole;
}

/* The promise has room for a broadcast: an agent believes no noise that a server shows it. */
static enum status check_cost(struct reading *in, const struct federation_spec *spec)
{
    const struct accountant_run run = {.q = spec->broadcast.q, .z = spec->broadcast.z, .releases = 1};
    double                      epsilon;
    TRY(accountant_promise(&run, 1, spec->delta, &epsilon, in->arena, in->err));
    return epsilon <= spec->epsilon ? STATUS_OK
                                    : error_set(in->err, STATUS_INVALID, "budget_too_small", "/privacy/epsilon",
                                                "one broadcast alone costs %.6g", epsilon);
}

static enum status check_private(struct reading *in, const struct form *form, struct federation_spec *out)
{
    struct broadcast *broadcast = &out->broadcast;
    bool              is_once = federation_is_once(out->study.policy);
    TRY(is_once ? check_once(in, out) : check_given(in, broadcast));
    if (!form->is_stored && !(out->delta >= 1e-30 && out->delta * (double)out->seats <= MECHANISM_DELTA_ROWS))
        return error_set(in->err, STATUS_INVALID, "bad_delta", "/privacy/delta",
                         "must be at least 1e-30 and at most %g / seats, which is %.3g", MECHANISM_DELTA_ROWS,
                         floor(1e6 * MECHANISM_DELTA_ROWS / (double)out->seats) / 1e6);
    struct accountant_run run = {.q = broadcast->q, .releases = (uint64_t)federation_releases(out, out->rounds)};
    if (broadcast->z == 0) {
        if (accountant_multiplier(&run, out->delta, out->epsilon, in->arena, in->err) != STATUS_OK)
            return repoint(in->err);
        broadcast->z = run.z;
    }
    if (form->is_stored)
        return STATUS_OK;
    if (is_once && federation_option(out, "accept_noise") == 0)
        TRY(check_forecast(in, out));
    TRY(check_plan(in, out));
    return check_cost(in, out);
}

static enum status read_open(struct reading *in, const struct form *form, const struct federation_spec *spec)
{
    if (form->privacy != NULL || form->weights != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", form->privacy != NULL ? "/privacy" : "/weights",
                         "fts hands every vector to every agent as it is: only dp-fts-de and rank-mean have this");
    if (spec->seats * (int64_t)spec->features > FEDERATION_NUMBERS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", "/seats",
                         "seats times features must be at most %d: each agent gets them all", FEDERATION_NUMBERS_MAX);
    return STATUS_OK;
}

static enum status read_federation(struct reading *in, const json_t *members, bool is_stored,
                                   struct federation_spec *out)
{
    enum status whole = STATUS_OK;
    struct form form = {.spec = {.minimum = 2}, .is_stored = is_stored};
    TRY(codec_read_on(in, codec_read_object(in, codec_federation_spec_members, members, "", &form), &whole));
    if (whole == STATUS_OK && form.spec.minimum > form.spec.seats)
        TRY(codec_read_on(
            in, error_set(in->err, STATUS_INVALID, "bad_combination", "/minimum_agents", "must not be over seats"),
            &whole));
    *out = form.spec;
    TRY(codec_read_on(in, read_study(in, &form, out), &whole));
    if (whole != STATUS_OK || out->is_private)
        TRY(codec_read_on(in, read_promise(in, &form, whole == STATUS_OK, out), &whole));
    TRY(whole);
    if (out->aggregation == FEDERATION_SECURE && !federation_is_once(out->study.policy))
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/aggregation", "only rank-mean can be secure");
    if (out->round_ms == 0)
        out->round_ms = federation_is_once(out->study.policy) ? ONCE_MS : ROUND_MS;
    return out->is_private ? check_private(in, &form, out) : read_open(in, &form, out);
}

enum status codec_federation(const json_t *members, struct arena *arena, struct federation_spec *out, struct error *err)
{
    return codec_federation_read(&(struct reading){.arena = arena, .err = err}, members, out);
}

enum status codec_federation_read(struct reading *in, const json_t *members, struct federation_spec *out)
{
    return read_federation(in, members, false, out);
}

enum status codec_federation_parse(const char *text, struct arena *arena, struct federation_spec *out,
                                   struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = read_federation(&(struct reading){.arena = arena, .err = err}, json, true, out);
    json_decref(json);
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    return error_set(err, STATUS_INTERNAL, "stored_spec", "", "the stored specification cannot be read");
}

/* ---- writing ---- */

enum status codec_federation_fits(const struct federation_spec *spec, const struct spec *study, struct error *err)
{
    json_t *own = codec_space_json(&spec->study), *other = codec_space_json(study);
    bool    is_made = own != NULL && other != NULL;
    bool    is_same = is_made && json_equal(own, other) && study->metrics_len == 1 &&
                   spec->study.metrics[spec->study.first].goal == study->metrics[study->first].goal;
    json_decref(own);
    json_decref(other);
    if (!is_made)
        return error_no_memory(err);
    return is_same ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "wrong_space", "/space",
                               "an agent has the space and the goal of its federation");
}

json_t *codec_federation_spec_json(const struct federation_spec *spec)
{
    return codec_write(codec_federation_spec_members, &(struct writing){.from = spec});
}
