/* Labels: an object of strings, kept as canonical text. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_LABELS_H
#define GNOMON_SERVICE_CODEC_CODEC_LABELS_H

#include "service/member/codec_read.h"

#include <jansson.h>

/* Reads a string-to-string object: const char **, its canonical text, in the arena of the reading or of its problems. */
MUST_CHECK enum status codec_read_labels(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);

/* A merge patch of the labels that are there: null takes one away.  Where there are none (NULL) it is only an object. */
MUST_CHECK enum status codec_edit_labels(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);

/* "key":"value" as it stands in the text of labels, to look for; NULL when out of memory. */
const char *codec_label(const char *key, const char *value, struct arena *arena);

#endif
