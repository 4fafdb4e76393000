/* Digests: one of the few files that name OpenSSL. */
#include "service/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>

static void to_hex(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX_BYTES])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void sha256(const void *bytes, size_t length, unsigned char out[SHA256_BYTES])
{
    SHA256(bytes, length, out);
}

void sha256_hex(const void *bytes, size_t length, char out[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    sha256(bytes, length, digest);
    to_hex(digest, out);
}

struct sha256_state *sha256_start(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    return (struct sha256_state *)context;
}

void sha256_add(struct sha256_state *state, const void *bytes, size_t length)
{
    EVP_DigestUpdate((EVP_MD_CTX *)state, bytes, length);
}

void sha256_hex_final(struct sha256_state *state, char out[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES] = {0};
    EVP_DigestFinal_ex((EVP_MD_CTX *)state, digest, NULL);
    EVP_MD_CTX_free((EVP_MD_CTX *)state);
    to_hex(digest, out);
}

bool digest_equal(const void *a, const void *b, size_t length)
{
    return CRYPTO_memcmp(a, b, length) == 0;
}
