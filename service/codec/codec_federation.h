/* A federation's specification and what is shown of federations <-> JSON. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_FEDERATION_H
#define GNOMON_SERVICE_CODEC_CODEC_FEDERATION_H

#include "service/member/codec_read.h"
#include "service/model/federation_spec.h"

#include <jansson.h>

/* members: {"metrics","space","algorithm","seats","minimum_agents","rounds","round_seconds","weights","privacy"} as the
 * client wrote it; other members are the caller's business.  A noise multiplier that is absent is calibrated.
 * Errors: INVALID with a pointer. */
MUST_CHECK enum status codec_federation(const json_t *members, struct arena *arena, struct federation_spec *out,
                                        struct error *err);
/* As codec_federation, in a reading that may keep all problems. */
MUST_CHECK enum status codec_federation_read(struct reading *in, const json_t *members, struct federation_spec *out);
MUST_CHECK enum status codec_federation_parse(const char *text, struct arena *arena, struct federation_spec *out,
                                              struct error *err);
/* The resolved specification as JSON; a new reference, NULL when out of memory. */
json_t                    *codec_federation_spec_json(const struct federation_spec *spec);
extern const struct member codec_federation_spec_members[]; /* what is read, and written of a struct federation_spec */
extern const struct member codec_federation_members[];      /* what is shown of a struct federation */

/* INVALID "wrong_space" unless the study has the federation's space and goal. */
MUST_CHECK enum status codec_federation_fits(const struct federation_spec *spec, const struct spec *study,
                                             struct error *err);

#endif
