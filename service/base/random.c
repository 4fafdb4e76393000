/* See random.h. */
#include "service/base/random.h"

#include <assert.h>
#include <math.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

enum { BLOCK_WORDS = 512 };

enum status random_bytes(void *out, size_t length, struct error *err)
{
    unsigned char *at = out;
    enum { PIECE = 1 << 20 };
    for (size_t done = 0; done < length; done += PIECE) {
        size_t piece = length - done < PIECE ? length - done : PIECE;
        if (RAND_priv_bytes(at + done, (int)piece) == 1)
            continue;
        memset(out, 0, length);
        return error_set(err, STATUS_INTERNAL, "no_randomness", "", "the system's random generator failed");
    }
    return STATUS_OK;
}

void random_wipe(void *secret, size_t length)
{
    OPENSSL_cleanse(secret, length);
}

static double uniform(uint64_t word)
{
    return (double)((word >> 11) + 1) * 0x1p-53; /* never 0: its logarithm is taken */
}

enum status random_draw(void *arg, void *out, size_t length, struct error *err)
{
    (void)arg;
    return random_bytes(out, length, err);
}

enum status random_normals(double *out, size_t n, struct error *err)
{
    static const double two_pi = 6.283185307179586476925286766559;
    uint64_t            words[BLOCK_WORDS];
    enum status         status = STATUS_OK;
    for (size_t done = 0; done < n && status == STATUS_OK; done += BLOCK_WORDS) {
        status = random_bytes(words, sizeof words, err);
        size_t piece = n - done < BLOCK_WORDS ? n - done : BLOCK_WORDS;
        for (size_t i = 0; i < piece && status == STATUS_OK; i++) {
            double radius = sqrt(-2 * log(uniform(words[i & ~(size_t)1])));
            double angle = two_pi * uniform(words[i | 1]);
            out[done + i] = radius * (i % 2 == 0 ? cos(angle) : sin(angle));
        }
    }
    OPENSSL_cleanse(words, sizeof words);
    return status;
}

/* Uniform on 0 .. bound-1: words above the largest multiple of bound are drawn again. */
static enum status below(uint32_t bound, uint32_t *out, struct error *err)
{
    const uint64_t limit = (UINT64_C(1) << 32) / bound * bound;
    uint32_t       word = 0;
    do
        TRY(random_bytes(&word, sizeof word, err));
    while (word >= limit);
    *out = word % bound;
    return STATUS_OK;
}

enum status random_permutation(uint32_t *out, size_t n, struct error *err)
{
    assert(n <= UINT32_MAX);
    for (size_t i = 0; i < n; i++) {
        uint32_t j = 0;
        TRY(below((uint32_t)i + 1, &j, err));
        out[i] = (uint32_t)i;
        out[i] = out[j];
        out[j] = (uint32_t)i;
    }
    return STATUS_OK;
}

enum status random_hex(char *out, size_t digits, struct error *err)
{
    for (size_t i = 0; i < digits; i++) {
        unsigned char byte = 0;
        TRY(random_bytes(&byte, 1, err));
        out[i] = "0123456789abcdef"[byte & 15];
    }
    out[digits] = '\0';
    return STATUS_OK;
}

enum status random_id(char *out, size_t out_bytes, const char *prefix, size_t characters, struct error *err)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char     bytes[64];
    size_t            start = strlen(prefix);
    assert(characters <= sizeof bytes && start + characters < out_bytes);
    TRY(random_bytes(bytes, characters, err));
    memcpy(out, prefix, start);
    for (size_t i = 0; i < characters; i++)
        out[start + i] = alphabet[bytes[i] % 32];
    out[start + characters] = '\0';
    return STATUS_OK;
}
