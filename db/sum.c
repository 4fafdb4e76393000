/* See sum.h. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "db/sum.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

const struct sum_loose sum_loose[SUM_LOOSE] = {
    {"event", "*", "the chain is made of its lines"},
    {"chain", "seq,head,at_ms,total", "they are compared with the last line of the log"},
    {"tally", "*", "check and verify count it anew"},
    {"trial", "lease_ms", "a heartbeat writes no line; it decides when the trial is offered again, as the clock does"},
    {"trial_change", "changed_ms", "lists of what changed since a time are made of it, and nothing else"},
    {"token", "last_used_ms", "it is shown, and decides nothing"},
    {"project", "used_day,used_cpu_ms", "what was computed today; it begins again at midnight"},
    {"steady", "*", "the clock of leases: who edits it has what setting the machine's clock gives"},
    {"idempotency", "*", "replies that are told again for a day; they decide nothing"},
    {"operation", "*", "work on its way; what comes of it are trials, and lines of the log"},
    {"candidates", "received_bytes,attempt",
     "how much of a matrix is there; its SHA-256 is in the log, and check compares it"},
    {"candidates_piece", "*", "bytes of a matrix whose SHA-256 is in the log; check and verify compare it"},
    {"candidates_refusal", "*", "when uploads were refused: fewer let somebody try again sooner"},
    {"federation", "features,received",
     "the SHA-256 of features is bound, check and verify compare it; the messages are counted"},
    {"federation_message", "*",
     "of a round that is not over; what it comes to is bound with the round, as are the digests of what shares are of"},
    {"sparkline", "*", "a drawing for lists, made of trials that are bound; nothing is decided by it"},
};

/* Schemas SUM_FIRST to 7 bound what is listed here.  A total of theirs is compared before it is replaced. */
enum { FORMER_LAST = 7 };
static const struct {
    const char *table, *columns;
} former[] = {
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

static bool is_in(const char *list, const char *name, size_t length)
{
    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && memcmp(list, name, length) == 0)
            return true;
    return false;
}

static void list_former(const char *table, char *out, size_t room)
{
    for (size_t i = 0; i < sizeof former / sizeof *former; i++)
        if (strcmp(former[i].table, table) == 0)
            snprintf(out, room, "%s", former[i].columns);
}

void sum_list(int schema, const char *table, const char *columns, char *out, size_t room)
{
    const char *loose = "";
    size_t      used = 0;
    out[0] = '\0';
    if (schema <= FORMER_LAST) {
        list_former(table, out, room);
        return;
    }
    for (size_t i = 0; i < SUM_LOOSE; i++)
        if (strcmp(sum_loose[i].table, table) == 0)
            loose = sum_loose[i].columns;
    for (size_t length; loose[0] != '*' && *columns != '\0'; columns += length + (columns[length] == ',')) {
        length = strcspn(columns, ",");
        if (!is_in(loose, columns, length))
            used += (size_t)snprintf(out + used, room - used, "%s%.*s", used > 0 ? "," : "", (int)length, columns);
    }
}

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
