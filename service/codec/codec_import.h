/* The trials of an export, read back. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_IMPORT_H
#define GNOMON_SERVICE_CODEC_CODEC_IMPORT_H

#include "engine/base/arena.h"
#include "service/model/trial.h"

#include <jansson.h>

/* As codec_observation; what the service alone knows of a trial is not read. */
MUST_CHECK enum status codec_import(const struct spec *spec, const json_t *json, const char *where, struct arena *arena,
                                    struct observation *out, struct error *err);

#endif
