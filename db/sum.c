/* See sum.h. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "db/sum.h"

#include <openssl/sha.h>
#include <string.h>

/* Not leases, and what else changes without a line of the log. */
const struct sum_bound sum_bound[SUM_BOUND] = {
    {"trial",
     "study,number,state,point,row,value,stddev,reason,external_id,algorithm,seen,outcome,feasible,asked,note,ended"},
    {"measurement", "study,trial,lease,step,value,revision,stop,reason,next_step,note,seen"},
    {"correction", "study,trial,revision,ended,state,value,stddev,reason,outcome,actor,why"},
    {"study_spec", "study,spec"},
    {"candidates", "study,manifest,sha256,complete"},
    {"curator_ledger", "curator_key,ledger,seq,head,sha256"},
    {"federation_ledger", "federation,round,mechanism,epsilon,delta,total,sha256"},
    {"federation_broadcast", "federation,round,messages,data"},
    {"game_play", "game,round,agent,point,row,payoff"},
    {"token", "id,hash,scope,resource,agent,revoked_ms"},
    {"log_gap", "first,last,digests"},
};

/* Each step is a bijection of what came before, so that no later one undoes a difference. */
static uint64_t step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
}

static uint64_t read_word(const unsigned char *bytes, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

uint64_t sum_bytes(uint64_t sum, enum sum_kind kind, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    sum = step(sum, (uint64_t)length << 8 | (uint64_t)kind);
    for (; length >= 8; length -= 8, at += 8)
        sum = step(sum, read_word(at, 8));
    return length > 0 ? step(sum, read_word(at, length)) : sum;
}

void total_add_row(struct total *total, const unsigned char digest[ROW_DIGEST_BYTES], bool is_added)
{
    unsigned char seed[ROW_DIGEST_BYTES + 1], wide[SHA512_DIGEST_LENGTH];
    memcpy(seed, digest, ROW_DIGEST_BYTES);
    for (size_t lane = 0; lane < TOTAL_LANES; lane++) {
        SHA512_CTX own;
        if (lane % 8 == 0) {
            seed[ROW_DIGEST_BYTES] = (unsigned char)(lane / 8);
            SHA512_Init(&own);
            SHA512_Update(&own, seed, sizeof seed);
            SHA512_Final(wide, &own);
        }
        uint64_t word = read_word(wide + lane % 8 * 8, 8);
        total->lanes[lane] += is_added ? word : 0 - word;
    }
}

void total_add(struct total *total, const struct total *more)
{
    for (size_t i = 0; i < TOTAL_LANES; i++)
        total->lanes[i] += more->lanes[i];
}

bool total_is_zero(const struct total *total)
{
    uint64_t any = 0;
    for (size_t i = 0; i < TOTAL_LANES; i++)
        any |= total->lanes[i];
    return any == 0;
}

void total_write(const struct total *total, unsigned char out[TOTAL_BYTES])
{
    for (size_t i = 0; i < TOTAL_BYTES; i++)
        out[i] = (unsigned char)(total->lanes[i / 8] >> (i % 8 * 8));
}

bool total_read(const void *bytes, size_t length, struct total *out)
{
    *out = (struct total){{0}};
    for (size_t i = 0; length == TOTAL_BYTES && i < TOTAL_LANES; i++)
        out->lanes[i] = read_word((const unsigned char *)bytes + 8 * i, 8);
    return length == 0 || length == TOTAL_BYTES;
}
