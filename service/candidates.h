/* The matrix of a candidates study: declared by a manifest, uploaded in pieces, complete when its digest is right.
 * Rows are never given out again. */
#ifndef GNOMON_SERVICE_CANDIDATES_H
#define GNOMON_SERVICE_CANDIDATES_H

#include "service/study.h"

struct manifest {
    int64_t     rows, columns, bytes;
    bool        is_f4;
    char        sha256[65];
    const char *text; /* the whole document, canonical JSON, as it is shown */
};
struct candidates_status { const char *manifest; /* text, or NULL */ int64_t bytes, received_bytes; bool complete; };

/* Idempotent for the same manifest.  CONFLICT "manifest_conflict"; INVALID "wrong_shape". */
MUST_CHECK enum status candidates_declare(struct app *app, struct caller *caller, const char *study,
                                          const struct manifest *manifest, struct candidates_status *out,
                                          struct error *err);
/* One piece of the file, at most CANDIDATES_PIECE_MAX bytes.  total_bytes: of the whole file as this request says.
 * The piece that completes the file triggers the check of digest, header and values; on failure everything received
 * is dropped and the study stays as it was.  Errors: CONFLICT "wrong_offset", "manifest_required",
 * "candidates_complete"; INVALID "digest_mismatch", "not_npy", "wrong_shape", "not_finite". */
enum { CANDIDATES_PIECE_MAX = 1 << 20 };
MUST_CHECK enum status candidates_append(struct app *app, struct caller *caller, const char *study, int64_t offset,
                                         int64_t total_bytes, const void *bytes, size_t length,
                                         struct candidates_status *out, struct error *err);
MUST_CHECK enum status candidates_status(struct app *app, struct caller *caller, const char *study,
                                         struct candidates_status *out, struct error *err);

/* Is the matrix there and checked? */
MUST_CHECK enum status candidates_complete(struct db_conn *conn, const char *study, bool *is_complete,
                                           struct error *err);
/* The complete matrix into space->rows, for a session.  CONFLICT "awaiting_candidates". */
MUST_CHECK enum status candidates_load(struct db_conn *conn, const char *study, struct space *space,
                                       struct arena *arena, struct error *err);

/* The NPY header (format 1.0 and 2.0): two dimensions, C order, '<f8' or '<f4'.  *data receives where the numbers
 * start.  Errors: INVALID "not_npy", "wrong_shape".  Pure; fuzzed. */
struct npy { size_t rows, columns, data_offset; bool is_f4; };
MUST_CHECK enum status npy_header(const void *bytes, size_t length, struct npy *out, struct error *err);
/* Writes a 1.0 header for [rows][columns] '<f8' into out (at most 128 bytes, a multiple of 64); returns its length. */
size_t npy_write_header(size_t rows, size_t columns, unsigned char out[128]);

#endif
