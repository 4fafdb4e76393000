/* How running trials are stopped, as a study's specification says it: {"rule":"median","epochs":50,...}. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_STOPPING_H
#define GNOMON_SERVICE_CODEC_CODEC_STOPPING_H

#include "service/member/codec_read.h"

/* Fills spec->stopping.  json NULL or null: "bos" when the algorithm judges, otherwise nothing is measured.  After the
 * algorithm, whose epoch budget is the rule's.  Errors: INVALID with a pointer into "/stopping". */
MUST_CHECK enum status codec_stopping(struct reading *in, const json_t *json, struct spec *spec);
/* The rule as JSON; null when nothing is measured. */
json_t *codec_stopping_json(const struct spec *spec);

#endif
