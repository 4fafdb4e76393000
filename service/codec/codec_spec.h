/* A study's specification <-> JSON. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_SPEC_H
#define GNOMON_SERVICE_CODEC_CODEC_SPEC_H

#include "service/member/codec_read.h"

#include <jansson.h>

/* members: {"metrics","space","algorithm","stopping","seed"} of a study as the client wrote it (unknown members
 * are the caller's business: it passes only these).  default_seed is used when there is no seed.
 * Errors: INVALID with a pointer ("/space/parameters/3/min", "/algorithm/beta", ...). */
MUST_CHECK enum status codec_spec(const json_t *members, uint64_t default_seed, struct arena *arena, struct spec *out,
                                  struct error *err);
/* As codec_spec, in a reading that may keep all problems. */
MUST_CHECK enum status codec_spec_read(struct reading *in, const json_t *members, uint64_t default_seed,
                                       struct spec *out);
/* The stored text -> spec; the inverse of codec_spec_json. */
MUST_CHECK enum status codec_spec_parse(const char *text, struct arena *arena, struct spec *out, struct error *err);
/* Members of a struct spec, as written and as read from a client. */
extern const struct member codec_spec_members[];
/* {"metrics","space","algorithm","stopping","seed"}, resolved; a new reference, NULL when out of memory. */
json_t *codec_spec_json(const struct spec *spec);
/* As codec_spec_json, as the text that is stored; NULL when out of memory. */
const char *codec_spec_text(const struct spec *spec, struct arena *arena);

/* The metrics of a request, which are to be recorded from now on, one after the other in the arena; and of some their names
 * as a JSON array, NULL when out of memory. */
MUST_CHECK enum status codec_metrics_added(struct reading *in, const json_t *json, const char *where,
                                           struct metric **out, size_t *len);
const char            *codec_metric_names(const struct metric *metrics, size_t len, struct arena *arena);

/* Another with the members of change (an object, as text) in place of its own; null takes one away.  Errors as codec_spec. */
MUST_CHECK enum status codec_spec_change(struct reading *in, const struct spec *from, const char *change,
                                         uint64_t default_seed, struct spec *out);

/* Where two specifications differ, as a client would write them: a problem "study_differs" for each place, with its
 * pointer.  What the client gave: without a seed none are compared; without an algorithm those of images are not, whose
 * default has changed: a study keeps that of its time.  NO_MEMORY. */
struct spec_given {
    bool seed, algorithm;
};
MUST_CHECK enum status codec_spec_compare(const struct spec *wanted, const struct spec *found, struct spec_given given,
                                          struct problems *out, struct error *err);

#endif
