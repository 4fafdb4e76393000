/* Digests: one of the few files that name OpenSSL.
 * The functions of sha.h are used, although OpenSSL 3 prefers EVP, because they allocate nothing: a digest that can
 * fail would have to be believed or doubted at every call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "service/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

struct sha256_state {
    SHA256_CTX context;
};

static void to_hex(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX_BYTES])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void sha256(const void *bytes, size_t length, unsigned char out[SHA256_BYTES])
{
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(out, &context);
}

void sha256_hex(const void *bytes, size_t length, char out[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    sha256(bytes, length, digest);
    to_hex(digest, out);
}

struct sha256_state *sha256_start(void)
{
    struct sha256_state *state = malloc(sizeof *state);
    if (state != NULL)
        SHA256_Init(&state->context);
    return state;
}

void sha256_add(struct sha256_state *state, const void *bytes, size_t length)
{
    SHA256_Update(&state->context, bytes, length);
}

void sha256_hex_final(struct sha256_state *state, char out[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    SHA256_Final(digest, &state->context);
    free(state);
    to_hex(digest, out);
}

bool digest_equal(const void *a, const void *b, size_t length)
{
    return CRYPTO_memcmp(a, b, length) == 0;
}
