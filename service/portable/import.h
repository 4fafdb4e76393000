/* An export becomes a study, or a game, again.  The file is named by its digest, and comes in pieces, in order; nobody sees anything
 * of it before the last one.  Then it is read twice: first to see whether all of it is sound, and after that to store it,
 * in parts, so that others can write between them.  Until the last transaction, which brings the log and the state, it is a
 * study that is in no list, under an id that nobody knows; what is left of one after a crash goes at the next start.  What it makes has an id of its own, and a line in its log that says where it is from.
 *
 * What an import does not bring: seats.  A study that was an agent of a federation keeps what it was sent, and takes part
 * no more, since it would spend what the federation promised to its members a second time. */
#ifndef GNOMON_SERVICE_STUDY_IMPORT_H
#define GNOMON_SERVICE_STUDY_IMPORT_H

#include "service/app/app.h"

#include <stddef.h>

struct import_status {
    const char *sha256; /* of the file */
    int64_t     bytes;  /* received */
    bool        is_complete;
    const char *study, *game, *source; /* which of them it has become, and the id of what was exported; or NULL */
};
struct import_piece {
    int64_t     offset, total_bytes;
    const void *bytes;
    size_t      length;   /* 0: is the next piece welcome? */
    bool        is_whole; /* the request brings all of the file */
};

/* Errors: CONFLICT "already_imported" (which study), "wrong_offset"; BUSY "busy" (another piece is being taken),
 * "too_many_imports"; FORBIDDEN "quota_exceeded" (of bytes, which files that are not complete count against);
 * TOO_LARGE "import_too_large"; FULL "disk_full"; of the last piece INVALID "digest_mismatch" (not the
 * file that was named), "cut_off", and what import_read.h says: nothing is left then. */
MUST_CHECK enum status import_append(struct app *app, struct caller *caller, const char *sha256,
                                     const struct import_piece *piece, struct import_status *out, struct error *err);
/* NOT_FOUND "import_not_found". */
MUST_CHECK enum status import_find(struct app *app, struct caller *caller, const char *sha256,
                                   struct import_status *out, struct error *err);
/* Forgets what came of a file that is not complete. */
MUST_CHECK enum status import_drop(struct app *app, struct caller *caller, const char *sha256, struct error *err);
/* Removes the rows of a study that nobody finds any more, in parts between which others write; so many trials at most.  Rows
 * that cannot be removed now are removed at the next start. */
MUST_CHECK enum status import_remove(const struct app *app, const char *id, int64_t trials, struct error *err);
/* Removes what is stored of imports, and of studies that were deleted, when the process ended half-way. */
MUST_CHECK enum status import_clean(const struct app *app, struct error *err);
/* Removes imports that were begun and have not gone on for a day. */
void import_sweep(const struct app *app);

#endif
