/* Digests: one of the few files that name OpenSSL.
 * The functions of sha.h are used, although OpenSSL 3 prefers EVP, because they allocate nothing: a digest that can
 * fail would have to be believed or doubted at every call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "service/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sha256_state {
    SHA256_CTX context;
};

void digest_to_hex(const unsigned char *bytes, size_t length, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < length; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool digest_of_hex(const char *text, unsigned char *out, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * length || strspn(text, digits) != 2 * length)
        return false;
    for (size_t i = 0; i < length; i++)
        out[i] =
            (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
    return true;
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
    digest_to_hex(digest, SHA256_BYTES, out);
}

void hmac_sha256(const unsigned char key[SHA256_BYTES], const void *bytes, size_t length,
                 unsigned char out[SHA256_BYTES])
{
    enum { BLOCK_BYTES = 64 };
    unsigned char pad[BLOCK_BYTES], inner[SHA256_BYTES];
    SHA256_CTX    context;
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] = (unsigned char)((i < SHA256_BYTES ? key[i] : 0) ^ 0x36);
    SHA256_Init(&context);
    SHA256_Update(&context, pad, BLOCK_BYTES);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(inner, &context);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    SHA256_Init(&context);
    SHA256_Update(&context, pad, BLOCK_BYTES);
    SHA256_Update(&context, inner, SHA256_BYTES);
    SHA256_Final(out, &context);
    OPENSSL_cleanse(pad, sizeof pad);
    OPENSSL_cleanse(&context, sizeof context);
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
    digest_to_hex(digest, SHA256_BYTES, out);
}

bool digest_equal(const void *a, const void *b, size_t length)
{
    return CRYPTO_memcmp(a, b, length) == 0;
}
