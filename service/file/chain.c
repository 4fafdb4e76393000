/* See chain.h. */
#include "service/file/chain.h"

#include <string.h>

void chain_add(struct chain *chain, const unsigned char line_digest[SHA256_BYTES])
{
    static const char purpose[16] = "gnomon/ledger/v2";
    unsigned char     text[sizeof purpose + 8 + 2 * SHA256_BYTES], *at = text;
    memcpy(at, purpose, sizeof purpose);
    at += sizeof purpose;
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (unsigned char)((uint64_t)chain->seq >> shift);
    memcpy(at, chain->head, SHA256_BYTES);
    memcpy(at + SHA256_BYTES, line_digest, SHA256_BYTES);
    sha256(text, sizeof text, chain->head);
    chain->seq++;
}
