/* The cryptography of a secure sum: key agreement, streams made of keys, and secrets in shares.
 * With digest.c, random.c, sign.c and token.c the only code that names OpenSSL.  Knows no federation. */
#ifndef GNOMON_SERVICE_MODEL_MASKS_H
#define GNOMON_SERVICE_MODEL_MASKS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { MASKS_BYTES = 32, MASKS_SHARES_MAX = 255, MASKS_STREAM_MAX = 8160 };

/* X25519 (RFC 7748): the public key of a secret; and what two have in common, from one's secret and the other's public key.
 * Errors: NO_MEMORY; INVALID "out_of_range" (a public key that agrees on zero with everybody). */
MUST_CHECK enum status masks_public(const unsigned char secret[MASKS_BYTES], unsigned char out[MASKS_BYTES],
                                    struct error *err);
MUST_CHECK enum status masks_agree(const unsigned char secret[MASKS_BYTES], const unsigned char key[MASKS_BYTES],
                                   unsigned char out[MASKS_BYTES], struct error *err);

/* out [length <= MASKS_STREAM_MAX] := HKDF-SHA-256 (RFC 5869) of key, with this salt, for this purpose.  Errors: NO_MEMORY. */
struct masks_stream {
    const unsigned char *key, *salt; /* [MASKS_BYTES] */
    const char          *purpose;
};
MUST_CHECK enum status masks_expand(const struct masks_stream *stream, void *out, size_t length, struct error *err);

/* Shamir's sharing (1979) of MASKS_BYTES bytes, each over GF(2^8).  coefficients [t][MASKS_BYTES], the first of them the
 * secret, the others uniform: share x, 1 .. 255, is their polynomial at x.  t shares of different x give the secret back,
 * and fewer say nothing of it. */
void masks_share(const unsigned char *coefficients, size_t t, unsigned x, unsigned char out[MASKS_BYTES]);
/* xs [t], shares [t][MASKS_BYTES] */
void masks_join(const unsigned char *xs, const unsigned char *shares, size_t t, unsigned char out[MASKS_BYTES]);

#endif
