/* A trial's members besides its result: labels, metadata, notes, artifacts, its duration.  Requests change them by a JSON
 * merge patch (RFC 7396): null takes away, objects are merged member by member, all else is replaced.  They are stored as
 * texts, NULL where there is nothing. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_ANNOTATIONS_H
#define GNOMON_SERVICE_CODEC_CODEC_ANNOTATIONS_H

#include "service/member/codec_read.h"
#include "service/model/trial.h"

/* Members of struct trial_annotations, shown as {}, [] or null where there is nothing. */
extern const struct member codec_annotation_members[];
/* Adds one of them to a table of what a body may have, which codec_annotations_take reads. */
#define ANNOTATION_MEMBER(column, ...) CODEC_KNOWN(#column),

/* The patch that an object holds among its other members, as text; NULL when it has none of these.  INVALID, with the
 * pointer. */
MUST_CHECK enum status codec_annotations_take(struct reading *in, const json_t *object, const char *where,
                                              const char **patch);
/* INVALID "out_of_range", with the pointer of the member, when it becomes too much. */
MUST_CHECK enum status codec_annotations_merge(struct trial_annotations *said, const char *patch, struct arena *arena,
                                               struct error *err);
/* The patch that gives another trial all these members; NULL: there are none. */
MUST_CHECK enum status codec_annotations_patch(const struct trial_annotations *said, struct arena *arena,
                                               const char **patch, struct error *err);

#endif
