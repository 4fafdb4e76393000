/* JSON <-> plain structs, for everything that is deeper than a flat field table.
 * With api/, the only code that sees json_t.  Everything read lives in the arena. */
#ifndef GNOMON_SERVICE_CODEC_H
#define GNOMON_SERVICE_CODEC_H

#include "engine/base/arena.h"
#include "service/spec.h"
#include "service/study.h"
#include "service/trial.h"

#include <jansson.h>

/* Once, before other threads: seeds the hash of objects and watches the parser's memory. */
void codec_init(void);

/* members: {"metrics","space","algorithm","seed","lease_seconds"} of a study as the client wrote it (unknown members
 * are the caller's business: it passes only these).  default_seed is used when there is no seed.
 * Errors: INVALID with a pointer ("/space/parameters/3/min", "/algorithm/beta", ...). */
MUST_CHECK enum status codec_spec(const json_t *members, uint64_t default_seed, struct arena *arena, struct spec *out,
                                  struct error *err);
/* The stored text -> spec; the inverse of codec_spec_dump. */
MUST_CHECK enum status codec_spec_parse(const char *text, struct arena *arena, struct spec *out, struct error *err);
/* {"metrics","space","algorithm","seed","lease_seconds"}, resolved; a new reference, NULL when out of memory. */
json_t *codec_spec_json(const struct spec *spec);

/* {"lr":0.1,"layers":3,"optimizer":"adam"} <-> [params_len].  where: pointer of the object, for errors.
 * A parameter that does not exist given the others must be absent and is NaN.  partial: absent members become NaN;
 * otherwise all that exist are required, and the constraints must hold but for CODEC_ROUNDING_SLACK times the rounding
 * error of their sums, since the client may add in another order. */
enum { CODEC_ROUNDING_SLACK = 8 };
MUST_CHECK enum status codec_point(const struct spec *spec, const json_t *json, bool partial, const char *where,
                                   double *point, struct error *err);
/* The values that a suggest call fixes, at "/fixed": partial, and some point of the space has them. */
MUST_CHECK enum status codec_fixed(const struct spec *spec, const json_t *json, struct arena *arena, double *fixed,
                                   struct error *err);
json_t                *codec_point_json(const struct spec *spec, const double *point);

int64_t codec_site_id(const struct spec *spec, size_t site); /* the client's name of a graph's site */

/* One observation as documented; item->... is filled, strings in the arena.  where: "" or "/observations/3". */
MUST_CHECK enum status codec_observation(const struct spec *spec, const json_t *json, const char *where,
                                         struct arena *arena, struct observation *out, struct error *err);

json_t *codec_study_json(const struct study *study);
/* What is stored and shown of a proposal's model: numbers of 6 digits; *text NULL when there was none. */
MUST_CHECK enum status codec_diagnostics(const struct spec *spec, const struct diagnostics *diagnostics,
                                         struct arena *arena, const char **text, struct error *err);
/* shift_ms: of steady_shift_ms, for the lease. */
json_t *codec_trial_json(const struct spec *spec, const struct trial *trial, int64_t shift_ms);

/* A string-to-string object -> canonical text, and back. */
MUST_CHECK enum status codec_labels(const json_t *json, struct arena *arena, const char **text, struct error *err);
/* "key":"value" as it stands in that text, to look for; NULL when out of memory. */
const char *codec_label(const char *key, const char *value, struct arena *arena);

/* RFC 3339 with milliseconds, UTC; out has room for 32. */
void    codec_time(int64_t ms, char out[32]);
json_t *codec_time_json(int64_t ms); /* 0 -> null */
/* A number that reads back equal; null for NaN. */
json_t *codec_number(double value);

/* Text that did not come as JSON but will leave as it. */
bool codec_is_utf8(const char *bytes, size_t length);

/* Parses bytes as JSON after counting its tokens: INVALID "malformed_json" with the line, TOO_LARGE "too_many_tokens",
 * NO_MEMORY.  Duplicate keys, NaN, deep nesting, bad UTF-8, trailing bytes are refused. */
MUST_CHECK enum status codec_parse(const char *bytes, size_t length, json_t **out, struct error *err);

#endif
