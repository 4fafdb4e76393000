/* A trial's members besides its result: labels, metadata, notes, artifacts, its duration.  Requests change them by a JSON
 * merge patch (RFC 7396): null takes away, objects are merged member by member, all else is replaced.  They are stored as
 * texts, NULL where there is nothing. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_SAID_H
#define GNOMON_SERVICE_CODEC_CODEC_SAID_H

#include "service/codec/codec_read.h"
#include "service/model/trial.h"

/* Adds these members to a table of what a body may have: each sets type's any, and the body is read by codec_said_take. */
#define SAID_MEMBER(type, any, name_)                                                  \
    {                                                                                  \
        .name = (name_), .offset = offsetof(struct type, any), .read = codec_read_kept \
    }
#define SAID_MEMBERS(type, any)                                                                            \
    SAID_MEMBER(type, any, "labels"), SAID_MEMBER(type, any, "metadata"), SAID_MEMBER(type, any, "notes"), \
        SAID_MEMBER(type, any, "artifacts"), SAID_MEMBER(type, any, "duration_seconds")

/* The patch that an object holds among its other members, as text; NULL when it has none of these.  INVALID, with the
 * pointer. */
MUST_CHECK enum status codec_said_take(const json_t *object, const char *where, struct arena *arena, const char **patch,
                                       struct error *err);
/* As codec_said_take for a column of a table: adds it to *patch. */
MUST_CHECK enum status codec_said_cell(const char *column, const char *cell, struct arena *arena, const char **patch,
                                       struct error *err);
/* The names of these members, NULL at the end. */
extern const char *const codec_said_names[];

/* INVALID "out_of_range", with the pointer of the member, when it becomes too much. */
MUST_CHECK enum status codec_said_merge(struct trial_said *said, const char *patch, struct arena *arena,
                                        struct error *err);
/* The patch that gives another trial all these members; NULL: there are none. */
MUST_CHECK enum status codec_said_patch(const struct trial_said *said, struct arena *arena, const char **patch,
                                        struct error *err);
/* Adds the members to a trial. */
void codec_said_put(json_t **object, const struct trial_said *said);

#endif
