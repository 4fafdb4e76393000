/* The file of a matrix as it comes in pieces, number by number: header, digest, values.
 * Must not know of the store, of studies or of what the numbers mean. */
#ifndef GNOMON_SERVICE_CANDIDATES_MATRIX_H
#define GNOMON_SERVICE_CANDIDATES_MATRIX_H

#include "service/base/npy.h"
#include "service/base/digest.h"

enum { MATRIX_HEADER_MAX = 4096 };

struct matrix {
    struct sha256_state *digest;   /* NULL: not wanted */
    double              *reals;    /* [want]: times scale; NULL: not wanted */
    int64_t             *integers; /* [want]: of an integer file; NULL: not wanted */
    double               scale;
    size_t               want;
    /* out */
    struct npy npy;
    size_t     got;       /* numbers, also those beyond want */
    bool       is_finite; /* every number; integers: within 2^53 */
    /* between pieces */
    unsigned char carry[8]; /* a number cut by the end of a piece */
    size_t        carry_len;
    unsigned char head[MATRIX_HEADER_MAX]; /* the file's first bytes, until the header is read */
    size_t        head_len;
    bool          has_header;
};

/* Errors: INVALID "not_npy", "wrong_shape" of the header. */
MUST_CHECK enum status matrix_take(struct matrix *matrix, const void *bytes, size_t length, struct error *err);
/* After the last piece: a small file is only read here. */
MUST_CHECK enum status matrix_end(struct matrix *matrix, struct error *err);

#endif
