/* The noise of private outcomes: a pseudo-random function of the curator's key, of what was charged for, and of the row.
 * So the same row gets the same bytes in every run, study and copy of the files: once by construction.  Pure.
 *
 * Why it is as good as fresh noise: to whoever has not the key, HMAC is a random function, and each (context, row) is
 * another input, so that each answer has noise of its own and the theorem of release.h holds; for observers of time t
 * up to t's chance to tell HMAC from a random function ("computational" differential privacy).  Whoever gets the key
 * takes the noise off every answer ever given.
 * Why the context has all that it has: two answers for one row with the same noise show what differs between them.  With
 * another epsilon and the same noise, k + n and k + n/2 give k; with another range, the difference of two clips; in two
 * partitions of a table, equal bytes prove that a row lies in a leaf.  The value cannot be bound (equal bytes would
 * prove equal values), so the first measurement is final: answers.h. */
#ifndef GNOMON_SERVICE_CURATOR_NOISE_H
#define GNOMON_SERVICE_CURATOR_NOISE_H

#include "engine/base/status.h"
#include "engine/privacy/mechanism.h"
#include "service/base/digest.h"
#include "service/file/sign.h"

enum { NOISE_TAG_BYTES = 16 };
/* A unit that is answered once: a row of a table (table_marks.h), or a place in a partition's decks. */
struct noise_tag {
    unsigned char bytes[NOISE_TAG_BYTES];
};
struct noise_tag noise_place(uint64_t candidate);

/* A charged release of outcomes. */
struct noise_context {
    unsigned char                   table_tag[SHA256_BYTES];
    const char                     *outcome; /* the curator's name for the measured outcome; at most 128 bytes */
    const struct mechanism_outcome *plan;    /* planned */
    uint64_t                        epoch;   /* how often the record of answers was given up, each time for a charge */
    const unsigned char            *release; /* [SHA256_BYTES] of a partition's matrix; NULL: rows, in any release */
};
/* SHA-256 of all members that fix the context, in an injective code. */
void noise_context_digest(const struct noise_context *context, unsigned char out[SHA256_BYTES]);

/* HKDF-SHA-256 (RFC 5869) of a curator's secret for this purpose; to be wiped, as what follows. */
struct noise_key {
    unsigned char bytes[SHA256_BYTES];
};
void noise_key_of(const struct sign_key *key, struct noise_key *out);
void noise_key_derive(const unsigned char master[SHA256_BYTES], struct noise_key *out);

/* The bits of one answer's noise: block c is HMAC(seed, c as 64 bits).  bits is a sampler's source, for whole blocks. */
struct noise_stream {
    unsigned char seed[SHA256_BYTES];
    uint64_t      next; /* block */
};
void                   noise_stream_open(const struct noise_key *key, const unsigned char context[SHA256_BYTES],
                                         const struct noise_tag *tag, struct noise_stream *out);
MUST_CHECK enum status noise_stream_bits(void *arg, void *out, size_t length, struct error *err);

/* release_outcome with that stream.  Errors: its. */
MUST_CHECK enum status noise_answer(const struct mechanism_outcome *plan, struct noise_stream *stream, double value,
                                    int64_t *steps, struct error *err);

#endif
