/* The curator's secret after a release: the row of the data behind each candidate, and the transform.  None of it may reach
 * a server, a log or a manifest. */
#ifndef GNOMON_SERVICE_CURATOR_SECRET_H
#define GNOMON_SERVICE_CURATOR_SECRET_H

#include "engine/base/status.h"
#include "service/file/sign.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SECRET_BLANK UINT32_MAX /* a candidate that no row answers for */
struct secret {
    char      id[17];                 /* random; names the curator to the server */
    char      data_sha256[65];        /* of the file that was released */
    char      matrix_sha256[65];      /* of the file that was made */
    char      key[SIGN_PUBLIC_CHARS]; /* public key of the one who signed the manifest */
    uint32_t *rows;                   /* [len] candidate -> row of the data, from 0, no row twice; or SECRET_BLANK */
    size_t    len, data_rows;
    /* The transform.  25 (x_j - centre_j) / (length_scales_j radius) and noise; or, without a centre,
     * z = x M dims^-1/2 (without lifting), x centred, divided by the length-scales, times scale. */
    const double      *centre, *length_scales; /* [columns_len] or NULL */
    double             radius, scale;          /* the one that applies; else 0 */
    size_t             columns_len, dims;
    const char *const *columns; /* [columns_len]; only written */
    const double      *normals; /* M [columns_len][dims] or NULL; only written */
};

MUST_CHECK enum status secret_write(const struct secret *secret, FILE *stream, struct error *err);

/* Errors: NOT_FOUND "no_secret"; as file_read_private; INVALID "bad_secret" (not such a file, or a row twice).
 * secret_free in every case. */
MUST_CHECK enum status secret_read(const char *path, struct secret *out, struct error *err);
void                   secret_free(struct secret *secret);

/* "z.secret" -> "z.npy", "z.json", ...: the last extension replaced. */
void secret_neighbour(const char *path, const char *extension, char *out, size_t out_bytes);

#endif
