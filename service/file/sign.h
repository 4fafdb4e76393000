/* The curator's Ed25519 key: signatures over texts, and tags of data sets that only this key can compute.
 * With digest.c, random.c and token.c the only code that names OpenSSL.  Knows nothing of what is signed. */
#ifndef GNOMON_SERVICE_BASE_SIGN_H
#define GNOMON_SERVICE_BASE_SIGN_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Base64url without padding, and a NUL: a public key of 32 bytes, a signature of 64. */
enum { SIGN_PUBLIC_CHARS = 44, SIGN_CHARS = 87 };

struct sign_key;
/* Errors: NO_MEMORY, INTERNAL "no_randomness".  sign_key_free overwrites the key; NULL is allowed. */
MUST_CHECK enum status sign_key_new(struct sign_key **out, struct error *err);
void                   sign_key_free(struct sign_key *key);

/* PEM (PKCS 8), as openssl writes and reads it.  Errors of read: as file_read_private; INVALID "bad_key" (not an Ed25519
 * private key).  Of write: FULL "file". */
MUST_CHECK enum status sign_key_write(const struct sign_key *key, FILE *stream, struct error *err);
MUST_CHECK enum status sign_key_read(const char *path, struct sign_key **out, struct error *err);

void sign_key_public(const struct sign_key *key, char out[SIGN_PUBLIC_CHARS]);
bool sign_is_public(const char *text);

MUST_CHECK enum status sign_make(const struct sign_key *key, const void *bytes, size_t length, char out[SIGN_CHARS],
                                 struct error *err);
/* True when signature is the canonical text of a signature that this public key verifies. */
bool sign_verify(const char *public_key, const void *bytes, size_t length, const char *signature);

/* A secret for one purpose, which says nothing of the key or of the secrets for others: HMAC-SHA-256(private key, purpose).
 * To be wiped. */
void sign_derive(const struct sign_key *key, const char *purpose, unsigned char out[32]);

/* Overwrites memory in a way that no compiler takes out. */
void sign_wipe(void *bytes, size_t length);

#endif
