/* A study as it is shown. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_STUDY_H
#define GNOMON_SERVICE_CODEC_CODEC_STUDY_H

#include "service/member/codec_labels.h"
#include "service/member/codec_read.h"
#include "service/model/study.h"

#include <jansson.h>

extern const struct member codec_study_members[];       /* all that is shown of a struct study */
extern const struct member codec_study_given_members[]; /* the members that would make it again */
/* Table of a patch of struct study_new, in which an absent member stays as it is; and its reader, from text or NULL. */
extern const struct member codec_study_edit_members[];
MUST_CHECK enum status     codec_study_edit(const char *patch, struct arena *arena, struct study_new *said,
                                            struct error *err);
/* The number of trials in each state. */
json_t *codec_study_counts_json(const struct study *study);
json_t *codec_study_json(const struct study *study); /* a new reference; NULL when out of memory */

#endif
