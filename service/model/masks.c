/* See masks.h. */
#include "service/model/masks.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <string.h>

static EVP_PKEY *key_of(const unsigned char secret[MASKS_BYTES])
{
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, MASKS_BYTES);
}

enum status masks_public(const unsigned char secret[MASKS_BYTES], unsigned char out[MASKS_BYTES], struct error *err)
{
    size_t    length = MASKS_BYTES;
    EVP_PKEY *own = key_of(secret);
    bool      is_made = own != NULL && EVP_PKEY_get_raw_public_key(own, out, &length) == 1;
    EVP_PKEY_free(own);
    return is_made ? STATUS_OK : error_no_memory(err);
}

enum status masks_agree(const unsigned char secret[MASKS_BYTES], const unsigned char key[MASKS_BYTES],
                        unsigned char out[MASKS_BYTES], struct error *err)
{
    size_t        length = MASKS_BYTES;
    EVP_PKEY     *own = key_of(secret);
    EVP_PKEY     *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, key, MASKS_BYTES);
    EVP_PKEY_CTX *agreement = own == NULL ? NULL : EVP_PKEY_CTX_new(own, NULL);
    bool          is_there = other != NULL && agreement != NULL && EVP_PKEY_derive_init(agreement) == 1;
    bool          is_made = is_there && EVP_PKEY_derive_set_peer(agreement, other) == 1 &&
                   EVP_PKEY_derive(agreement, out, &length) == 1; // which refuses a result of zeros
    EVP_PKEY_CTX_free(agreement);
    EVP_PKEY_free(other);
    EVP_PKEY_free(own);
    if (!is_there)
        return error_no_memory(err);
    return is_made ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "out_of_range", "",
                               "this key agrees on the same with every other: it is none");
}

enum status masks_expand(const struct masks_stream *stream, void *out, size_t length, struct error *err)
{
    EVP_KDF         *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX     *kdf = kind == NULL ? NULL : EVP_KDF_CTX_new(kind);
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(size_t)stream->key, MASKS_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(size_t)stream->salt, MASKS_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(size_t)stream->purpose,
                                          strlen(stream->purpose)),
        OSSL_PARAM_construct_end(),
    };
    bool is_made = kdf != NULL && EVP_KDF_derive(kdf, out, length, params) == 1;
    EVP_KDF_CTX_free(kdf);
    EVP_KDF_free(kind);
    return is_made ? STATUS_OK : error_no_memory(err);
}

/* Modulo x^8 + x^4 + x^3 + x + 1; the time does not depend on the numbers. */
static unsigned char product(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (int bit = 0; bit < 8; bit++) {
        sum ^= a & (0u - (b >> bit & 1u));
        a = (a << 1 ^ (0x11bu & (0u - (a >> 7 & 1u)))) & 0x1ffu;
    }
    return (unsigned char)sum;
}

/* a^254, as a^255 is 1. */
static unsigned char inverse(unsigned a)
{
    unsigned char power = 1;
    for (int i = 0; i < 254; i++)
        power = product(power, a);
    return power;
}

void masks_share(const unsigned char *coefficients, size_t t, unsigned x, unsigned char out[MASKS_BYTES])
{
    memset(out, 0, MASKS_BYTES);
    for (size_t k = t; k-- > 0;)
        for (size_t i = 0; i < MASKS_BYTES; i++)
            out[i] = product(out[i], x) ^ coefficients[k * MASKS_BYTES + i];
}

/* Lagrange's polynomial at 0, where subtracting is adding. */
void masks_join(const unsigned char *xs, const unsigned char *shares, size_t t, unsigned char out[MASKS_BYTES])
{
    memset(out, 0, MASKS_BYTES);
    for (size_t k = 0; k < t; k++) {
        unsigned char above = 1, below = 1;
        for (size_t j = 0; j < t; j++) {
            if (j == k)
                continue;
            above = product(above, xs[j]);
            below = product(below, xs[j] ^ xs[k]);
        }
        unsigned char weight = product(above, inverse(below));
        for (size_t i = 0; i < MASKS_BYTES; i++)
            out[i] ^= product(shares[k * MASKS_BYTES + i], weight);
    }
}
