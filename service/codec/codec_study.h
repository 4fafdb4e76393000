/* A study as it is shown, and how it is run: the members that may be edited. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_STUDY_H
#define GNOMON_SERVICE_CODEC_CODEC_STUDY_H

#include "service/member/codec_labels.h"
#include "service/member/codec_read.h"
#include "service/model/rules.h"
#include "service/model/study.h"

#include <jansson.h>

/* Members of a struct rules, as written and as read from a client. */
extern const struct member codec_rules_members[];

/* members: an object of these members; what it has not is as rules_none says.  INVALID with a pointer, also for what the
 * study's metrics or its space do not allow. */
MUST_CHECK enum status codec_rules(const json_t *members, const struct spec *spec, struct arena *arena,
                                   struct rules *out, struct error *err);
/* As codec_rules, in a reading that may keep all problems.  spec NULL: it could not be read, so what it allows is not looked at. */
MUST_CHECK enum status codec_rules_read(struct reading *in, const json_t *members, const struct spec *spec,
                                        struct rules *out);
/* As they are stored: text in the arena, NULL when out of memory; and its inverse. */
const char            *codec_rules_text(const struct rules *rules, struct arena *arena);
MUST_CHECK enum status codec_rules_parse(const char *text, struct arena *arena, struct rules *out, struct error *err);
/* The rules after a merge patch (RFC 7396), an object as text: null takes a member back. */
MUST_CHECK enum status codec_rules_edit(struct reading *in, const struct spec *spec, const char *patch,
                                        struct rules *rules);

extern const struct member codec_study_members[];       /* all that is shown of a struct study */
extern const struct member codec_study_given_members[]; /* the members that would make it again */
/* Table of a patch of struct study_new, in which an absent member stays as it is; and its reader, from text or NULL. */
extern const struct member codec_study_edit_members[];
MUST_CHECK enum status     codec_study_edit(struct reading *in, const char *patch, struct study_new *said);
/* The number of trials in each state. */
json_t *codec_study_counts_json(const struct study *study);
json_t *codec_study_json(const struct study *study); /* a new reference; NULL when out of memory */

#endif
