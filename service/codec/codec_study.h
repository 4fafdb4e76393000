/* A study as it is shown. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_STUDY_H
#define GNOMON_SERVICE_CODEC_CODEC_STUDY_H

#include "service/codec/codec_labels.h"
#include "service/codec/codec_read.h"
#include "service/model/study.h"

#include <jansson.h>

extern const struct member codec_study_members[];       /* all that is shown of a struct study */
extern const struct member codec_study_given_members[]; /* the members that would make it again */
/* The number of trials in each state. */
json_t *codec_study_counts_json(const struct study *study);
json_t *codec_study_json(const struct study *study); /* a new reference; NULL when out of memory */

#endif
