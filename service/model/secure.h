/* Secure aggregation for the one release of rank-mean: what a member and the server compute in its four rounds (Bonawitz et
 * al. 2017, with the vectors' noise made by the members).  Pure but for random bits; knows no HTTP, store or journal.
 *
 * Messages and broadcasts are lists of words: integers below 2^32, in doubles.  A member's seat is also the x of its shares.
 *   round      message of a member                                     broadcast
 *   keys       two X25519 keys, for shares and for masks               [seats][16], zeros: no message
 *   shares     digest of the self mask, and to each seat, encrypted    [seats][8], the digests; each member reads
 *              for it, a share of the self mask and of the masks' key  [seats][8 + 16], with what it was sent
 *   vectors    the vector with noise, self mask and pairwise masks,    [1][seats + 2 features]: who has sent, and the sum
 *              modulo 2^64
 *   openings   of each seat that sent a vector the share of its self   [1][features]: the release
 *              mask, of each other that sent shares that of its key
 * Who sends in a round has sent in all before.  masked_sum.h has the numbers and the proof, engine/federated/README.md what
 * each party sees.
 *
 * A member does each of these once.  It keeps the digest of the keys, who has sent shares, the vector that it made, and the list for
 * which it opened: it must not go on with others, and must not make its vector twice. */
#ifndef GNOMON_SERVICE_MODEL_SECURE_H
#define GNOMON_SERVICE_MODEL_SECURE_H

#include "engine/base/arena.h"
#include "engine/federated/masked_sum.h"
#include "service/base/digest.h"
#include "service/model/masks.h"

#include <stdbool.h>

enum secure_round { SECURE_KEYS = 1, SECURE_SHARES, SECURE_VECTORS, SECURE_OPENINGS, SECURE_ROUNDS = SECURE_OPENINGS };
enum {
    SECURE_WORDS = MASKS_BYTES / 4, /* of a digest, a key, or a share of one secret */
    SECURE_KEYS_LEN = 2 * SECURE_WORDS,
    SECURE_SHARE_LEN = 2 * SECURE_WORDS, /* of one member, for another */
    SECURE_COLUMN_LEN = SECURE_WORDS + SECURE_SHARE_LEN
};

/* The federation as all see it. */
struct secure {
    const char       *federation; /* id */
    size_t            seats, features;
    double            z;
    struct masked_sum plan;
    const double     *keys; /* [seats][SECURE_KEYS_LEN] */
    /* Digest of the federation, a member's noise and the keys: members compare it, and all masks and shares depend on it.  So
     * who is told of another noise than the others, who make it together, has no mask in common with them. */
    unsigned char digest[SHA256_BYTES];
};

/* The length of a message, and the shape of a broadcast as it is stored. */
size_t secure_message_len(const struct secure *secure, enum secure_round round);
void   secure_shape(const struct secure *secure, enum secure_round round, size_t *rows, size_t *columns);
/* Whether all are words. */
bool secure_are_words(const double *words, size_t len);
/* Whether a seat has sent what is not all zeros. */
bool secure_has(const double *words, size_t len);

/* Takes the list of keys in, which is kept.  Errors: INVALID "bad_agents"; NO_MEMORY. */
MUST_CHECK enum status secure_learn(struct secure *secure, const double *keys, struct arena *scratch,
                                    struct error *err);

/* ---- a member ---- */

struct secure_member {
    const struct secure *secure;
    size_t               seat;                /* from 1 */
    unsigned char        secret[MASKS_BYTES]; /* uniform, of this federation and seat alone */
};

MUST_CHECK enum status secure_keys(const struct secure_member *member, double *message, struct error *err);
/* CONFLICT "keys_changed": the list does not have the member's own keys. */
MUST_CHECK enum status secure_shares(const struct secure_member *member, double *message, struct arena *scratch,
                                     struct error *err);
/* column [seats][SECURE_COLUMN_LEN]: what the member was sent.  CONFLICT "too_many_absent".  message is of norm <= 1. */
struct secure_input {
    const double   *column, *vector;
    struct sampler *sampler;
};
MUST_CHECK enum status secure_vector(const struct secure_member *member, const struct secure_input *input,
                                     double *message, struct arena *scratch, struct error *err);
/* list [seats]: 1 for who has sent a vector.  CONFLICT "too_many_absent", "bad_list" (the member itself, or who sent no
 * shares, is not as the list says). */
MUST_CHECK enum status secure_open(const struct secure_member *member, const double *column, const double *list,
                                   double *message, struct error *err);

/* ---- the server ---- */

/* INVALID "out_of_range": the keys are none that agree with others. */
MUST_CHECK enum status secure_check_keys(const double *message, struct error *err);

/* sum [2 features] += message, the words of a masked vector, modulo 2^64. */
void secure_add(const struct secure *secure, const double *message, double *sum);

/* The sum of the vectors over the seats, out [features], from the broadcasts and from the openings [seats][seats SECURE_WORDS], zeros for
 * who sent none.  CONFLICT "openings_disagree": they are none of the secrets that were shared;
 * "sum_impossible": vectors of length 1 with their noise have no sum that is so long (with a chance below 1e-9), so a member lied. */
struct secure_opened {
    const double *digests, *vectors, *openings;
};
MUST_CHECK enum status secure_sum(const struct secure *secure, const struct secure_opened *opened, double *out,
                                  struct arena *scratch, struct error *err);

#endif
