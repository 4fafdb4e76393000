/* Constraints between the parameters of a space <-> JSON.  Whether they can hold is left to the engine. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_CONSTRAINT_H
#define GNOMON_SERVICE_CODEC_CODEC_CONSTRAINT_H

#include "service/member/codec_read.h"

/* spec->space.constraints; after the parameters. */
MUST_CHECK enum status codec_constraints(struct reading *in, const json_t *json, const char *where, struct spec *spec);
enum { CODEC_ROUNDING_SLACK = 8 }; /* times the rounding error of a sum, by which a point of a client may break it */
/* Whether a point, of which values may be missing, keeps the constraints and is not forbidden; the problem says why. */
MUST_CHECK enum status codec_check_constraints(const struct spec *spec, const double *point, const char *where,
                                               struct error *err);
/* The whole space of parameters: a new reference; NULL when out of memory. */
json_t *codec_space_json(const struct spec *spec);

#endif
