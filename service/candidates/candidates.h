/* The matrix of a candidates study: declared by a manifest, uploaded in pieces, complete when it is what was declared.
 * Rows are never given out again. */
#ifndef GNOMON_SERVICE_CANDIDATES_CANDIDATES_H
#define GNOMON_SERVICE_CANDIDATES_CANDIDATES_H

#include "service/app/app.h"
#include "service/base/npy.h"
#include "service/model/study.h"

struct manifest_ledger; /* service/manifest/manifest.h */
struct manifest {
    int64_t                       rows, columns, bytes;
    enum npy_type                 type;
    char                          sha256[65];
    const char                   *text;   /* the whole document, canonical JSON, as it is shown */
    const struct manifest_ledger *ledger; /* of a private study: where the release stands in its curator's; else NULL */
};
/* locked: so many files were refused that the study's owner has to resume it first. */
struct candidates_status {
    const char *manifest; /* text, or NULL */
    int64_t     bytes, received_bytes;
    bool        complete, locked;
    int64_t     ledgers; /* of the study's curator that are known */
};

/* The signed manifest of a private study, in full: INVALID "bad_manifest", "wrong_key" (not the study's curator's),
 * "bad_signature", "not_a_release" (names a number that does not follow from the others).  Its text is in the arena. */
MUST_CHECK enum status candidates_read_manifest(const struct study *study, const char *text, size_t length,
                                                struct arena *arena, struct manifest *out, struct error *err);

/* Idempotent for the same manifest.  CONFLICT "manifest_conflict", "uploads_locked", "ledger_fork" (curator_ledger.h);
 * INVALID "wrong_shape". */
MUST_CHECK enum status candidates_declare(struct app *app, struct caller *caller, const char *study,
                                          const struct manifest *manifest, struct candidates_status *out,
                                          struct error *err);
/* Appends a piece of the file, at most CANDIDATES_PIECE_MAX bytes.  total_bytes: of the whole file as this request says.
 * The piece that completes the file is stored only after the whole was checked (digest, header, values, in a private study
 * the statistics of engine/privacy/release_checks.h), outside of any transaction; on failure everything received is dropped
 * and the study stays as it was.  Three such refusals within an hour lock a private study's uploads.
 * Errors: CONFLICT "wrong_offset", "manifest_required", "candidates_complete", "uploads_locked"; INVALID "digest_mismatch",
 * "not_npy", "wrong_shape", "not_finite", "not_a_release"; BUSY when the study changed during the check. */
enum { CANDIDATES_PIECE_MAX = 1 << 20 };
struct candidates_piece {
    int64_t     offset, total_bytes;
    const void *bytes;
    size_t      length;
};
MUST_CHECK enum status candidates_append(struct app *app, struct caller *caller, const char *study,
                                         const struct candidates_piece *piece, struct candidates_status *out,
                                         struct error *err);
MUST_CHECK enum status candidates_status(struct app *app, struct caller *caller, const char *study,
                                         struct candidates_status *out, struct error *err);
/* Forgets the refusals of a study that is locked. */
MUST_CHECK enum status candidates_unlock(struct db_conn *conn, const char *study, bool *was_locked, struct error *err);

/* Is the matrix there and checked? */
MUST_CHECK enum status candidates_complete(struct db_conn *conn, const char *study, bool *is_complete,
                                           struct error *err);
/* The complete matrix into spec->space.rows, for a session, and the noise in it as its manifest says (NaN: none, or not
 * known); of cells and leaves each has its own, in spec->space.row_variances.  CONFLICT "awaiting_candidates". */
struct candidates_noise {
    double variance, dims, bound, shape, denoise; /* as the options of po-gp-ucb; shape: a choice of it */
};
MUST_CHECK enum status candidates_load(struct db_conn *conn, const char *study, struct spec *spec,
                                       struct candidates_noise *noise, struct arena *arena, struct error *err);

#endif
