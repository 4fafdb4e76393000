/* See secure.h. */
#include "service/model/secure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PURPOSE_MAX = 40 };

/* ---- words ---- */

static void words_of(const unsigned char *bytes, size_t words, double *out)
{
    for (size_t i = 0; i < words; i++, bytes += 4)
        out[i] = (double)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                          (uint32_t)bytes[3] << 24);
}

static void bytes_of(const double *words, size_t count, unsigned char *out)
{
    for (size_t i = 0; i < 4 * count; i++)
        out[i] = (unsigned char)((uint32_t)words[i / 4] >> 8 * (i % 4));
}

static uint64_t number_of(const double words[2])
{
    return (uint64_t)words[0] | (uint64_t)words[1] << 32;
}

static void split(uint64_t number, double words[2])
{
    words[0] = (double)(uint32_t)number;
    words[1] = (double)(uint32_t)(number >> 32);
}

bool secure_are_words(const double *words, size_t len)
{
    bool are_words = true;
    for (size_t i = 0; i < len; i++)
        are_words = are_words && words[i] >= 0 && words[i] < 0x1p32 && words[i] == floor(words[i]);
    return are_words;
}

bool secure_has(const double *words, size_t len)
{
    bool has = false;
    for (size_t i = 0; i < len; i++)
        has = has || words[i] != 0;
    return has;
}

size_t secure_message_len(const struct secure *secure, enum secure_round round)
{
    const size_t lengths[] = {[SECURE_KEYS] = SECURE_KEYS_LEN,
                              [SECURE_SHARES] = SECURE_WORDS + SECURE_SHARE_LEN * secure->seats,
                              [SECURE_VECTORS] = 2 * secure->features,
                              [SECURE_OPENINGS] = SECURE_WORDS * secure->seats};
    return lengths[round];
}

void secure_shape(const struct secure *secure, enum secure_round round, size_t *rows, size_t *columns)
{
    *rows = round < SECURE_VECTORS ? secure->seats : 1;
    const size_t widths[] = {[SECURE_KEYS] = SECURE_KEYS_LEN,
                             [SECURE_SHARES] = SECURE_WORDS,
                             [SECURE_VECTORS] = secure->seats + 2 * secure->features,
                             [SECURE_OPENINGS] = secure->features};
    *columns = widths[round];
}

static const double *keys_of(const struct secure *secure, size_t seat)
{
    return secure->keys + (seat - 1) * SECURE_KEYS_LEN;
}

static bool has_keys(const struct secure *secure, size_t seat)
{
    return secure_has(keys_of(secure, seat), SECURE_KEYS_LEN);
}

enum status secure_learn(struct secure *secure, const double *keys, struct arena *scratch, struct error *err)
{
    size_t            members = 0, id = strlen(secure->federation) + 1, words = secure->seats * SECURE_KEYS_LEN;
    struct arena_mark mark = arena_mark(scratch);
    unsigned char    *text = ARENA_NEW(scratch, unsigned char, id + 4 * (words + 1));
    if (text == NULL)
        return error_no_memory(err);
    secure->keys = keys;
    for (size_t seat = 1; seat <= secure->seats; seat++)
        members += has_keys(secure, seat);
    TRY(masked_plan(members, secure->z, &secure->plan, err));
    memcpy(text, secure->federation, id);
    bytes_of(&(double){secure->plan.sigma}, 1, text + id);
    bytes_of(keys, words, text + id + 4);
    sha256(text, id + 4 * (words + 1), secure->digest);
    arena_release(scratch, mark);
    return STATUS_OK;
}

/* ---- keys ---- */

/* The member's secrets, each for a purpose; its keys must not depend on the list of keys. */
static enum status derive(const struct secure_member *member, const char *purpose, unsigned char out[MASKS_BYTES],
                          struct error *err)
{
    static const unsigned char none[MASKS_BYTES];
    return masks_expand(&(struct masks_stream){.key = member->secret, .salt = none, .purpose = purpose}, out,
                        MASKS_BYTES, err);
}

static const char channel[] = "channel", mask_key[] = "mask key", self_mask[] = "self mask";

enum status secure_keys(const struct secure_member *member, double *message, struct error *err)
{
    static const char *const purposes[] = {channel, mask_key};
    unsigned char            secret[MASKS_BYTES], key[MASKS_BYTES];
    for (size_t i = 0; i < 2; i++) {
        TRY(derive(member, purposes[i], secret, err));
        TRY(masks_public(secret, key, err));
        words_of(key, SECURE_WORDS, message + i * SECURE_WORDS);
    }
    return STATUS_OK;
}

/* The stream that two seats have in common, from one's secret and the other's key. */
struct pair {
    const struct secure *secure;
    const unsigned char *secret; /* of one of them */
    size_t               seat;   /* of the other */
    bool                 is_mask;
    const char          *purpose;
};
static enum status agree(const struct pair *pair, void *stream, size_t length, struct error *err)
{
    unsigned char key[MASKS_BYTES], common[MASKS_BYTES];
    bytes_of(keys_of(pair->secure, pair->seat) + (pair->is_mask ? SECURE_WORDS : 0), SECURE_WORDS, key);
    TRY(masks_agree(pair->secret, key, common, err));
    return masks_expand(&(struct masks_stream){.key = common, .salt = pair->secure->digest, .purpose = pair->purpose},
                        stream, length, err);
}

/* Sums := sums + or - the masks that two seats have in common: the one of the lower seat adds. */
static enum status mask(const struct secure *secure, const unsigned char secret[MASKS_BYTES], size_t own, size_t other,
                        uint64_t *sums, struct error *err)
{
    char              purpose[PURPOSE_MAX];
    uint64_t          masks[MASKS_STREAM_MAX / 8];
    const struct pair pair = {.secure = secure, .secret = secret, .seat = other, .is_mask = true, .purpose = purpose};
    snprintf(purpose, sizeof purpose, "mask %zu %zu", own < other ? own : other, own < other ? other : own);
    TRY(agree(&pair, masks, secure->features * sizeof *masks, err));
    for (size_t j = 0; j < secure->features; j++)
        sums[j] += own < other ? masks[j] : 0 - masks[j];
    return STATUS_OK;
}

static enum status self(const struct secure *secure, const unsigned char secret[MASKS_BYTES], uint64_t *masks,
                        struct error *err)
{
    return masks_expand(&(struct masks_stream){.key = secret, .salt = secure->digest, .purpose = self_mask}, masks,
                        secure->features * sizeof *masks, err);
}

/* bytes := bytes xor what only the two know, for shares from one to the other. */
static enum status encrypt(const struct secure_member *member, size_t other, bool is_to, unsigned char *bytes,
                           struct error *err)
{
    unsigned char     secret[MASKS_BYTES], pad[2 * MASKS_BYTES];
    char              purpose[PURPOSE_MAX];
    const struct pair pair = {.secure = member->secure, .secret = secret, .seat = other, .purpose = purpose};
    snprintf(purpose, sizeof purpose, "share %zu %zu", is_to ? member->seat : other, is_to ? other : member->seat);
    TRY(derive(member, channel, secret, err));
    TRY(agree(&pair, pad, sizeof pad, err));
    for (size_t i = 0; i < sizeof pad; i++)
        bytes[i] ^= pad[i];
    return STATUS_OK;
}

/* ---- shares ---- */

/* The polynomials of the two secrets, [t][MASKS_BYTES] each: what they are made of is never sent. */
static enum status polynomials(const struct secure_member *member, unsigned char *own, unsigned char *key,
                               struct error *err)
{
    char purpose[PURPOSE_MAX];
    TRY(derive(member, self_mask, own, err));
    TRY(derive(member, mask_key, key, err));
    for (size_t k = 1; k < member->secure->plan.openings; k++) {
        snprintf(purpose, sizeof purpose, "self mask %zu", k);
        TRY(derive(member, purpose, own + k * MASKS_BYTES, err));
        snprintf(purpose, sizeof purpose, "mask key %zu", k);
        TRY(derive(member, purpose, key + k * MASKS_BYTES, err));
    }
    return STATUS_OK;
}

static enum status check_own(const struct secure_member *member, struct error *err)
{
    double own[SECURE_KEYS_LEN];
    TRY(secure_keys(member, own, err));
    return memcmp(own, keys_of(member->secure, member->seat), sizeof own) == 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "keys_changed", "", "the server shows other keys of this member");
}

enum status secure_shares(const struct secure_member *member, double *message, struct arena *scratch, struct error *err)
{
    const struct secure *secure = member->secure;
    size_t               t = secure->plan.openings;
    struct arena_mark    mark = arena_mark(scratch);
    unsigned char       *own = ARENA_NEW(scratch, unsigned char, t *MASKS_BYTES), pair[2 * MASKS_BYTES];
    unsigned char       *key = ARENA_NEW(scratch, unsigned char, t *MASKS_BYTES);
    if (own == NULL || key == NULL)
        return error_no_memory(err);
    TRY(check_own(member, err));
    TRY(polynomials(member, own, key, err));
    memset(message, 0, secure_message_len(secure, SECURE_SHARES) * sizeof *message);
    sha256(own, MASKS_BYTES, pair);
    words_of(pair, SECURE_WORDS, message);
    for (size_t seat = 1; seat <= secure->seats; seat++) {
        if (!has_keys(secure, seat))
            continue;
        masks_share(own, t, (unsigned)seat, pair);
        masks_share(key, t, (unsigned)seat, pair + MASKS_BYTES);
        TRY(encrypt(member, seat, true, pair, err));
        words_of(pair, 2 * SECURE_WORDS, message + SECURE_WORDS + SECURE_SHARE_LEN * (seat - 1));
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

static bool has_sent(const struct secure *secure, const double *column, size_t seat)
{
    return has_keys(secure, seat) && secure_has(column + (seat - 1) * SECURE_COLUMN_LEN, SECURE_COLUMN_LEN);
}

static enum status check_present(const struct secure *secure, size_t present, struct error *err)
{
    return present >= secure->plan.listed
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "too_many_absent", "",
                           "%zu of %zu members are there, and fewer than %zu hide nobody well enough: this member goes "
                           "no further",
                           present, secure->plan.members, secure->plan.listed);
}

/* ---- vectors ---- */

static enum status add_masks(const struct secure_member *member, const double *column, uint64_t *sums,
                             struct error *err)
{
    const struct secure *secure = member->secure;
    unsigned char        secret[MASKS_BYTES];
    uint64_t             masks[MASKS_STREAM_MAX / 8];
    TRY(derive(member, self_mask, secret, err));
    TRY(self(secure, secret, masks, err));
    for (size_t j = 0; j < secure->features; j++)
        sums[j] += masks[j];
    TRY(derive(member, mask_key, secret, err));
    for (size_t seat = 1; seat <= secure->seats; seat++)
        if (seat != member->seat && has_sent(secure, column, seat))
            TRY(mask(secure, secret, member->seat, seat, sums, err));
    return STATUS_OK;
}

enum status secure_vector(const struct secure_member *member, const struct secure_input *input, double *message,
                          struct arena *scratch, struct error *err)
{
    const struct secure        *secure = member->secure;
    size_t                      present = 0, features = secure->features;
    uint64_t                   *sums = ARENA_NEW(scratch, uint64_t, features);
    const struct masked_scratch quantising = {.sampler = input->sampler, .k = ARENA_NEW(scratch, int64_t, features)};
    if (sums == NULL || quantising.k == NULL)
        return error_no_memory(err);
    TRY(check_own(member, err));
    for (size_t seat = 1; seat <= secure->seats; seat++)
        present += has_sent(secure, input->column, seat);
    TRY(check_present(secure, present, err));
    TRY(masked_quantise(&secure->plan, input->vector, features, &quantising, sums, err));
    TRY(add_masks(member, input->column, sums, err));
    for (size_t j = 0; j < features; j++)
        split(sums[j], message + 2 * j);
    return STATUS_OK;
}

/* ---- openings ---- */

enum status secure_open(const struct secure_member *member, const double *column, const double *list, double *message,
                        struct error *err)
{
    const struct secure *secure = member->secure;
    size_t               listed = 0, present = 0;
    unsigned char        pair[2 * MASKS_BYTES];
    for (size_t seat = 1; seat <= secure->seats; seat++) {
        listed += list[seat - 1] == 1;
        present += list[seat - 1] == 1 && has_sent(secure, column, seat);
    }
    if (listed != present || list[member->seat - 1] != 1)
        return error_set(err, STATUS_CONFLICT, "bad_list", "",
                         "the server's list of members lacks this one, or has one that sent no shares");
    TRY(check_present(secure, present, err));
    memset(message, 0, secure_message_len(secure, SECURE_OPENINGS) * sizeof *message);
    for (size_t seat = 1; seat <= secure->seats; seat++) {
        if (!has_sent(secure, column, seat))
            continue;
        bytes_of(column + (seat - 1) * SECURE_COLUMN_LEN + SECURE_WORDS, 2 * SECURE_WORDS, pair);
        TRY(encrypt(member, seat, false, pair, err));
        words_of(pair + (list[seat - 1] == 1 ? 0 : MASKS_BYTES), SECURE_WORDS, message + (seat - 1) * SECURE_WORDS);
    }
    return STATUS_OK;
}

/* ---- the server ---- */

enum status secure_check_keys(const double *message, struct error *err)
{
    static const unsigned char some[MASKS_BYTES] = {71};
    unsigned char              key[MASKS_BYTES], common[MASKS_BYTES];
    for (size_t i = 0; i < 2; i++) {
        bytes_of(message + i * SECURE_WORDS, SECURE_WORDS, key);
        TRY(masks_agree(some, key, common, err));
    }
    return STATUS_OK;
}

/* Whether bytes are the secret that a seat shared: of its self mask there is the digest, of its key the public key. */
static enum status is_secret(const struct secure *secure, const struct secure_opened *opened, size_t seat,
                             const unsigned char bytes[MASKS_BYTES], bool *is_so, struct error *err)
{
    unsigned char own[MASKS_BYTES], wanted[MASKS_BYTES];
    bool          is_listed = opened->vectors[seat - 1] == 1;
    const double *digest = opened->digests + (seat - 1) * SECURE_WORDS;
    bytes_of(is_listed ? digest : keys_of(secure, seat) + SECURE_WORDS, SECURE_WORDS, wanted);
    if (is_listed)
        sha256(bytes, MASKS_BYTES, own);
    else
        TRY(masks_public(bytes, own, err));
    *is_so = memcmp(own, wanted, sizeof own) == 0;
    return STATUS_OK;
}

/* The secret of a seat from t of its shares in a row, those after the last being the first: one member that lies is left out
 * by some of them, if there are more than t. */
static enum status join(const struct secure *secure, const struct secure_opened *opened, size_t seat,
                        unsigned char out[MASKS_BYTES], struct error *err)
{
    unsigned char xs[2 * MASKED_MEMBERS_MAX], shares[2 * MASKED_MEMBERS_MAX * MASKS_BYTES];
    size_t        t = secure->plan.openings, len = 0, row = SECURE_WORDS * secure->seats;
    bool          is_found = false;
    for (size_t from = 1; from <= secure->seats; from++) {
        const double *opening = opened->openings + (from - 1) * row;
        if (!secure_has(opening, row))
            continue;
        xs[len] = (unsigned char)from;
        bytes_of(opening + (seat - 1) * SECURE_WORDS, SECURE_WORDS, shares + len++ * MASKS_BYTES);
    }
    memcpy(xs + len, xs, len);
    memcpy(shares + len * MASKS_BYTES, shares, len * MASKS_BYTES);
    for (size_t first = 0; first < len && len >= t && !is_found; first++) {
        masks_join(xs + first, shares + first * MASKS_BYTES, t, out);
        TRY(is_secret(secure, opened, seat, out, &is_found, err));
    }
    return is_found ? STATUS_OK
                    : error_set(err, STATUS_CONFLICT, "openings_disagree", "",
                                "what the members opened of member %zu is not what it shared", seat);
}

/* Takes the masks off that one seat has left in the sum. */
static enum status unmask(const struct secure *secure, const struct secure_opened *opened, size_t seat, uint64_t *sums,
                          struct error *err)
{
    unsigned char secret[MASKS_BYTES];
    uint64_t      masks[MASKS_STREAM_MAX / 8];
    TRY(join(secure, opened, seat, secret, err));
    if (opened->vectors[seat - 1] == 1) {
        TRY(self(secure, secret, masks, err));
        for (size_t j = 0; j < secure->features; j++)
            sums[j] -= masks[j];
        return STATUS_OK;
    }
    for (size_t other = 1; other <= secure->seats; other++)
        if (opened->vectors[other - 1] == 1)
            TRY(mask(secure, secret, seat, other, sums, err)); // the other side has taken the opposite
    return STATUS_OK;
}

void secure_add(const struct secure *secure, const double *message, double *sum)
{
    for (size_t j = 0; j < 2 * secure->features; j += 2)
        split(number_of(sum + j) + number_of(message + j), sum + j);
}

/* The noise of n numbers of standard deviation sd is longer than sd (sqrt n + 6.5) with a chance below exp(-6.5^2 / 2). */
static enum status check_length(const struct secure *secure, const double *list, const double *sum, struct error *err)
{
    double square = 0, senders = 0, longest;
    for (size_t j = 0; j < secure->features; j++)
        square += sum[j] * sum[j];
    for (size_t seat = 0; seat < secure->seats; seat++)
        senders += list[seat];
    longest = (senders + sqrt(senders) * secure->plan.sigma / MASKED_STEPS * (sqrt((double)secure->features) + 6.5)) /
              (double)secure->seats;
    return square <= longest * longest
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "sum_impossible", "", "no vectors of length 1 have this sum");
}

enum status secure_sum(const struct secure *secure, const struct secure_opened *opened, double *out,
                       struct arena *scratch, struct error *err)
{
    const double *words = opened->vectors + secure->seats;
    uint64_t     *sums = ARENA_NEW(scratch, uint64_t, secure->features);
    if (sums == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < secure->features; j++)
        sums[j] = number_of(words + 2 * j);
    for (size_t seat = 1; seat <= secure->seats; seat++)
        if (secure_has(opened->digests + (seat - 1) * SECURE_WORDS, SECURE_WORDS))
            TRY(unmask(secure, opened, seat, sums, err));
    for (size_t j = 0; j < secure->features; j++)
        out[j] = (double)(int64_t)sums[j] / MASKED_STEPS / (double)secure->seats;
    return check_length(secure, opened->vectors, out, err);
}
