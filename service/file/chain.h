/* A hash chain: the head after a line vouches for that line and all before it.
 *   head(0) = 32 zero bytes;  head(i+1) = SHA-256("gnomon/ledger/v2" | i as 64 bits, big-endian | head(i) | SHA-256(line))
 * Whoever knows head(i) and the digests of the lines behind it can check a later head without having seen a line. */
#ifndef GNOMON_SERVICE_BASE_CHAIN_H
#define GNOMON_SERVICE_BASE_CHAIN_H

#include "service/base/digest.h"

#include <stdint.h>

struct chain {
    int64_t       seq; /* lines so far */
    unsigned char head[SHA256_BYTES];
};

/* A chain without lines is {0}. */
void chain_add(struct chain *chain, const unsigned char line_digest[SHA256_BYTES]);

#endif
