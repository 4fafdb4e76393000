/* A federation's specification <-> JSON.  Space, metric and algorithm are read as those of a study; what only the
 * aggregating server needs has tables of its own.  What the engine checks itself is left to it. */
#include "service/codec/codec_federation.h"

#include "engine/privacy/accountant.h"
#include "service/codec/codec.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_read.h"
#include "service/codec/codec_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const noise_names[] = {[BROADCAST_JOINT] = "joint", [BROADCAST_WORST] = "worst", NULL};
static const double      round_seconds_min = 0.1, round_seconds_max = 604800;

struct form {
    const json_t *metrics, *space, *algorithm, *weights, *privacy;
    int64_t       seats, minimum, rounds;
    double        round_seconds;
    bool          is_stored; /* it was checked in full when it came */
};
#define KEPT(text, is_needed)                                                                                \
    {                                                                                                        \
        .name = #text, .required = is_needed, .read = codec_read_kept, .offset = offsetof(struct form, text) \
    }
static const struct member federation_members[] = {
    KEPT(metrics, true),
    KEPT(space, true),
    KEPT(algorithm, true),
    KEPT(weights, false),
    KEPT(privacy, false),
    {.name = "seats",
     .required = true,
     .read = codec_read_integer,
     .offset = offsetof(struct form, seats),
     .min = 2,
     .max = FEDERATION_SEATS_MAX},
    {.name = "minimum_agents",
     .read = codec_read_integer,
     .offset = offsetof(struct form, minimum),
     .min = 1,
     .max = FEDERATION_SEATS_MAX},
    {.name = "rounds",
     .required = true,
     .read = codec_read_integer,
     .offset = offsetof(struct form, rounds),
     .min = 1,
     .max = FEDERATION_ROUNDS_MAX},
    {.name = "round_seconds",
     .read = codec_read_number,
     .offset = offsetof(struct form, round_seconds),
     .min = round_seconds_min,
     .max = round_seconds_max},
    {.name = NULL},
};

struct weights_form {
    double  a, b;
    int64_t hold, decay;
};
static const struct member weights_members[] = {
    {.name = "a",
     .required = true,
     .read = codec_read_number,
     .offset = offsetof(struct weights_form, a),
     .min = 0,
     .max = 50},
    {.name = "b", .read = codec_read_number, .offset = offsetof(struct weights_form, b), .min = 0, .max = 50},
    {.name = "hold",
     .read = codec_read_integer,
     .offset = offsetof(struct weights_form, hold),
     .min = 0,
     .max = FEDERATION_ROUNDS_MAX},
    {.name = "decay",
     .read = codec_read_integer,
     .offset = offsetof(struct weights_form, decay),
     .min = 0,
     .max = FEDERATION_ROUNDS_MAX},
    {.name = NULL},
};

struct privacy_form {
    double epsilon, delta, q, z, clip;
    int    noise;
};
#define POSITIVE(text, field, is_needed, most)                                   \
    {                                                                            \
        .name = text, .required = is_needed, .read = read_positive, .max = most, \
        .offset = offsetof(struct privacy_form, field)                           \
    }
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
static const struct member privacy_members[] = {
    POSITIVE("epsilon", epsilon, true, 1000),
    POSITIVE("delta", delta, true, 0.5),
    POSITIVE("sampling_rate", q, true, 1),
    POSITIVE("clip", clip, true, 1e12),
    POSITIVE("noise_multiplier", z, false, 100),
    {.name = "noise", .read = codec_read_choice, .offset = offsetof(struct privacy_form, noise), .names = noise_names},
    {.name = NULL},
};

/* ---- reading ---- */

/* The options of an agent's study, which the federation fixes for all. */
static enum status read_study(struct reading *in, const struct form *form, struct federation_spec *out)
{
    if (json_object_get(form->algorithm, "region") != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", "/algorithm/region",
                         "the region of each agent follows from its seat");
    json_t *study =
        json_pack("{s:O, s:O, s:O}", "metrics", form->metrics, "space", form->space, "algorithm", form->algorithm);
    if (study == NULL)
        return error_no_memory(in->err);
    enum status status = codec_spec(study, 0, in->arena, &out->study, in->err);
    json_decref(study);
    TRY(status);
    const struct policy *policy = out->study.policy;
    if (out->study.federation != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", "/algorithm/federation",
                         "a federation is no agent of another one");
    if (policy->message == NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_algorithm", "/algorithm/name",
                         "an algorithm of federations is fts or dp-fts-de");
    out->is_private = strcmp(policy->name, "dp-fts-de") == 0;
    out->features = (size_t)out->study.options[policy_option(policy, "features")];
    return STATUS_OK;
}

static enum status read_weights(struct reading *in, const json_t *json, struct broadcast_schedule *out)
{
    struct weights_form form = {.a = 1, .b = 1};
    if (json != NULL)
        TRY(codec_read_object(in, weights_members, json, "/weights", &form));
    if (form.b > form.a)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/weights/b", "must not be over a");
    *out = (struct broadcast_schedule){
        .a = form.a, .b = form.b, .hold = (uint64_t)form.hold, .decay = (uint64_t)form.decay};
    return STATUS_OK;
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

static enum status read_private(struct reading *in, const struct form *form, struct federation_spec *out)
{
    struct privacy_form privacy = {.z = 0, .noise = BROADCAST_JOINT};
    if (form->privacy == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/privacy", "is required");
    TRY(codec_read_object(in, privacy_members, form->privacy, "/privacy", &privacy));
    out->epsilon = privacy.epsilon;
    out->delta = privacy.delta;
    out->broadcast = (struct broadcast){
        .agents = (size_t)out->seats,
        .features = out->features,
        .regions = (size_t)out->study.options[policy_option(out->study.policy, "regions")],
        .clip = privacy.clip,
        .q = privacy.q,
        .z = privacy.z,
        .noise = (enum broadcast_noise)privacy.noise,
    };
    TRY(read_weights(in, form->weights, &out->broadcast.schedule));
    const struct accountant_run run = {.q = privacy.q, .delta = privacy.delta, .releases = (uint64_t)out->rounds};
    if (privacy.z == 0 &&
        accountant_multiplier(&run, privacy.epsilon, ACCOUNTANT_INTEGER, &out->broadcast.z, in->err) != STATUS_OK)
        return repoint(in->err);
    return form->is_stored ? STATUS_OK : check_plan(in, out);
}

static enum status read_open(struct reading *in, const struct form *form, const struct federation_spec *spec)
{
    if (form->privacy != NULL || form->weights != NULL)
        return error_set(in->err, STATUS_INVALID, "unknown_member", form->privacy != NULL ? "/privacy" : "/weights",
                         "fts hands every vector to every agent as it is: only dp-fts-de has this");
    if (spec->seats * (int64_t)spec->features > FEDERATION_NUMBERS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", "/seats",
                         "seats times features must be at most %d: each agent gets them all", FEDERATION_NUMBERS_MAX);
    return STATUS_OK;
}

static enum status read_federation(const json_t *members, bool is_stored, struct arena *arena,
                                   struct federation_spec *out, struct error *err)
{
    struct reading in = {.arena = arena, .err = err};
    struct form    form = {.round_seconds = 600, .is_stored = is_stored};
    TRY(codec_read_object(&in, federation_members, members, "", &form));
    if (form.minimum > form.seats)
        return error_set(err, STATUS_INVALID, "bad_combination", "/minimum_agents", "must not be over seats");
    *out = (struct federation_spec){
        .seats = form.seats,
        .minimum = form.minimum > 0 ? form.minimum : 2,
        .rounds = form.rounds,
        .round_ms = (int64_t)(form.round_seconds * 1000 + 0.5),
    };
    TRY(read_study(&in, &form, out));
    return out->is_private ? read_private(&in, &form, out) : read_open(&in, &form, out);
}

enum status codec_federation(const json_t *members, struct arena *arena, struct federation_spec *out, struct error *err)
{
    return read_federation(members, false, arena, out, err);
}

enum status codec_federation_parse(const char *text, struct arena *arena, struct federation_spec *out,
                                   struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, strlen(text), &json, err);
    if (status == STATUS_OK)
        status = read_federation(json, true, arena, out, err);
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

const char *codec_federation_study_text(const struct spec *study, struct arena *arena)
{
    json_t     *json = codec_spec_json(study);
    char       *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    const char *copy = text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
    json_decref(json);
    free(text);
    return copy;
}

static int add_private(json_t *json, const struct federation_spec *spec)
{
    const struct broadcast          *broadcast = &spec->broadcast;
    const struct broadcast_schedule *schedule = &broadcast->schedule;
    int                              failed = json_object_set_new(json, "weights",
                                                                  json_pack("{s:o, s:o, s:I, s:I}", "a", codec_number(schedule->a), "b",
                                                                            codec_number(schedule->b), "hold", (json_int_t)schedule->hold, "decay",
                                                                            (json_int_t)schedule->decay));
    return failed | json_object_set_new(json, "privacy",
                                        json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "epsilon",
                                                  codec_number(spec->epsilon), "delta", codec_number(spec->delta),
                                                  "sampling_rate", codec_number(broadcast->q), "clip",
                                                  codec_number(broadcast->clip), "noise_multiplier",
                                                  codec_number(broadcast->z), "noise", noise_names[broadcast->noise]));
}

json_t *codec_federation_spec_json(const struct federation_spec *spec)
{
    static const char *const shared[] = {"metrics", "space", "algorithm"}; // of what a study has
    json_t                  *study = codec_spec_json(&spec->study), *json = json_object();
    int                      failed = study == NULL || json == NULL;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        failed |= json_object_set(json, shared[i], json_object_get(study, shared[i]));
    json_decref(study);
    json_t *algorithm = json_object_get(json, "algorithm");
    if (json_object_get(algorithm, "region") != NULL)
        failed |= json_object_del(algorithm, "region");
    failed |= json_object_set_new(json, "seats", json_integer(spec->seats));
    failed |= json_object_set_new(json, "minimum_agents", json_integer(spec->minimum));
    failed |= json_object_set_new(json, "rounds", json_integer(spec->rounds));
    failed |= json_object_set_new(json, "round_seconds", codec_number((double)spec->round_ms / 1000));
    if (spec->is_private && failed == 0)
        failed |= add_private(json, spec);
    if (failed != 0)
        json_decref(json);
    return failed != 0 ? NULL : json;
}

json_t *codec_federation_json(const struct federation *federation, int64_t shift_ms)
{
    json_t *json = codec_federation_spec_json(&federation->spec);
    bool    is_over = federation->state == FEDERATION_COMPLETED;
    json_t *own =
        json_pack("{s:s, s:s, s:s, s:s?, s:s, s:I, s:o, s:I, s:I, s:o, s:o, s:o}", "id", federation->id, "name",
                  federation->name, "state", federation_state_names[federation->state], "reason", federation->reason,
                  "features_sha256", federation->features_sha256, "registered", (json_int_t)federation->registered,
                  "round", is_over ? json_null() : json_integer(federation->round), "rounds_closed",
                  (json_int_t)(federation->round - 1), "received", (json_int_t)federation->received, "deadline_at",
                  codec_time_json(federation->deadline_ms == 0 ? 0 : federation->deadline_ms + shift_ms), "created_at",
                  codec_time_json(federation->created_ms), "updated_at", codec_time_json(federation->updated_ms));
    if (json == NULL || own == NULL || json_object_update(own, json) != 0) {
        json_decref(own);
        own = NULL;
    }
    json_decref(json);
    return own;
}
