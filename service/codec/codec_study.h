/* A study as it is shown. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_STUDY_H
#define GNOMON_SERVICE_CODEC_CODEC_STUDY_H

#include "service/model/study.h"

#include <jansson.h>

json_t *codec_study_json(const struct study *study); /* a new reference; NULL when out of memory */

#endif
