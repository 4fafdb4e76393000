/* Points, observations and trials <-> JSON. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_TRIAL_H
#define GNOMON_SERVICE_CODEC_CODEC_TRIAL_H

#include "service/member/codec_read.h"
#include "service/model/study.h"
#include "service/model/trial.h"

#include <jansson.h>

/* {"lr":0.1,"layers":3,"optimizer":"adam"} <-> [params_len].  where: pointer of the object, for errors.
 * A parameter that does not exist given the others must be absent and is NaN.  Of a part absent members become NaN;
 * otherwise all that exist are required, or have their defaults, and the constraints must hold but for
 * CODEC_ROUNDING_SLACK times the rounding error of their sums, since the client may add in another order. */
enum point_form {
    POINT_WHOLE,
    POINT_QUEUED,   /* whole, and a refusal names fill */
    POINT_OBSERVED, /* whole, and a refusal names outside */
    POINT_PART,
    POINT_WITH_DEFAULTS,
    POINT_REST,    /* a part, at least one value, within the constraints that it can be held against */
    POINT_ANYWHERE /* numbers that the model reaches (space_reaches), and constraints do not matter */
};
MUST_CHECK enum status codec_point(struct reading *in, const json_t *json, enum point_form form, const char *where,
                                   double *point);
/* A part, as a suggest call fixes it at "/fixed", which some point of the space has. */
MUST_CHECK enum status codec_fixed(struct reading *in, const json_t *json, const char *where, double *fixed);
json_t                *codec_point_json(const struct spec *spec, const double *point);
/* Whether the point, of a trial, lies outside the space, as what was observed for context does; of a space of parameters. */
bool codec_is_outside(const struct spec *spec, const double *point);

/* Members of struct trial_told: whether one is a number, of each metric (JSON has them by metric in a member with an s at its
 * name); whether one goes with a value, or with a state instead of it; whether it is set. */
extern const struct member codec_told_members[];
bool                       codec_told_is_number(const struct member *member);
bool                       codec_told_fits(const struct member *member, bool has_value);
bool                       codec_told_is_set(const struct member *member, const struct trial_told *told);

/* Members of an observation, for the contract. */
extern const struct member codec_observation_members[];
/* Reads an observation as documented; item->... is filled, strings in the arena.  where: "" or "/observations/3". */
MUST_CHECK enum status codec_observation(struct reading *in, const json_t *json, const char *where,
                                         struct observation *out);

/* As codec_observation for a study that may know only some of the parameters: its points are POINT_REST. */
MUST_CHECK enum status codec_observation_rest(struct reading *in, const json_t *json, const char *where,
                                              struct observation *out);

/* As codec_observation for a body that has only the result of this trial and the reason. */
MUST_CHECK enum status codec_correction(struct reading *in, const json_t *json, int64_t trial, struct observation *out);

/* The text of a metric's model, as stored and shown: numbers of 17 digits; *text NULL when there was none. */
MUST_CHECK enum status codec_diagnostics(const struct spec *spec, size_t metric, const struct diagnostics *diagnostics,
                                         struct arena *arena, const char **text, struct error *err);
/* Whether a trial follows a federation's release; nothing was weighed where the member is missing (NULL). */
json_t            *codec_release_json(const struct release_use *use);
struct release_use codec_release_read(const json_t *json);
/* Reads from that text (NULL: none) the kernel, the acquisition, the release and the length-scales, for which out has room; kernel NULL
 * when they are not all there. */
MUST_CHECK enum status codec_diagnostics_read(const struct spec *spec, const char *text, struct arena *arena,
                                              struct diagnostics *out, struct error *err);
/* Reads the gain expected before the trial; expected NaN when the text has none.  Errors: NO_MEMORY. */
MUST_CHECK enum status codec_diagnostics_gain(const char *text, struct gain *out, struct error *err);
/* The clock of leases: the shift that shows its times on the wall clock (steady_shift_ms), its present time (0: replies must
 * not depend on it), and the length of the study's leases. */
struct lease_clock {
    int64_t now_ms, shift_ms, lease_ms;
};
/* The values after a step of a running trial: of one metric its value or (value NaN) values {"<metric>": number}, of several
 * values of all that are modelled.  *out [metrics_len] in arena.  INVALID with a pointer below where. */
struct codec_measured {
    double        value;
    const json_t *values;
};
MUST_CHECK enum status codec_measured(struct reading *in, const struct codec_measured *given, const char *where,
                                      const double **out);
json_t                *codec_trial_json(const struct spec *spec, const struct trial *trial, struct lease_clock clock);

#endif
