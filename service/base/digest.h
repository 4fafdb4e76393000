/* SHA-256, and codes built on it. */
#ifndef GNOMON_SERVICE_BASE_DIGEST_H
#define GNOMON_SERVICE_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { SHA256_BYTES = 32, SHA256_HEX_BYTES = 65 };

void sha256(const void *bytes, size_t length, unsigned char out[SHA256_BYTES]);
void sha256_hex(const void *bytes, size_t length, char out[SHA256_HEX_BYTES]);

/* In pieces; sha256_hex_final frees the state.  NULL when out of memory. */
struct sha256_state;
struct sha256_state *sha256_start(void);
void                 sha256_add(struct sha256_state *state, const void *bytes, size_t length);
void                 sha256_hex_final(struct sha256_state *state, char out[SHA256_HEX_BYTES]);

/* 2 * length lower-case hexadecimal characters and a NUL, and back: false unless text is exactly that. */
void digest_to_hex(const unsigned char *bytes, size_t length, char *out);
bool digest_of_hex(const char *text, unsigned char *out, size_t length);

/* HMAC-SHA-256 (RFC 2104) under a key of 32 bytes. */
void hmac_sha256(const unsigned char key[SHA256_BYTES], const void *bytes, size_t length,
                 unsigned char out[SHA256_BYTES]);

bool digest_equal(const void *a, const void *b, size_t length); /* in constant time */

#endif
