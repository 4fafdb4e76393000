/* The lines of an export (EXPORT.md), read as from a stranger: one at a time, in memory that does not grow with them but
 * for a few bytes a trial.  What is accepted is a study that this service could have made: in particular, the log is one
 * that a session can be told, and each trial stands as the log leaves it. */
#ifndef GNOMON_SERVICE_STUDY_IMPORT_READ_H
#define GNOMON_SERVICE_STUDY_IMPORT_READ_H

#include "service/portable/export.h"
#include "service/model/study.h"

enum { IMPORT_LINE_MAX = 32 << 20 }; /* bytes */

enum import_kind {
    IMPORT_HEADER, /* never taken: what it says is known at the end */
    IMPORT_SPEC,   /* row_spec */
    IMPORT_EARLIER,
    IMPORT_TRIAL, /* row_trial_whole */
    IMPORT_EVENT,
    IMPORT_MEASUREMENT, /* row_measured */
    IMPORT_CORRECTION,
    IMPORT_ROUND, /* row_received */
    IMPORT_PLAY,  /* of a game */
    IMPORT_END,   /* import_end */
    IMPORT_KINDS
};
struct import_end { /* of a study, or of a game, whose spec is then there */
    const struct row_study *study;
    const struct spec      *spec;
    const struct row_game  *game; /* or NULL */
};
struct import_taker { /* of what was found sound; NULL: nobody */
    enum status (*take)(void *arg, enum import_kind kind, const void *row, struct error *err);
    void *arg;
};

struct import_reader;
MUST_CHECK enum status import_reader_new(size_t spec_bytes, const struct import_taker *taker,
                                         struct import_reader **out, struct error *err);
void                   import_reader_free(struct import_reader *reader); /* NULL is allowed */

/* A line without its newline.  Errors: NO_MEMORY; TOO_LARGE; what the taker says; INVALID, with "/lines/NUMBER" (from 1) and
 * the member's pointer: "bad_export" (the lines do not follow from one another), "unknown_version", "digest_mismatch",
 * "out_of_range", "wrong_type", "unknown_member", "malformed_json", and what a specification is refused for. */
MUST_CHECK enum status import_line(struct import_reader *reader, const char *text, size_t length, struct error *err);
/* After the last.  INVALID "cut_off". */
MUST_CHECK enum status import_finish(struct import_reader *reader, struct error *err);

#endif
