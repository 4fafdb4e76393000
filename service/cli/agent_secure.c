/* See agent_secure.h. */
#include "service/cli/agent_secure.h"

#include "service/base/random.h"
#include "service/client/client.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"

#include <stdio.h>
#include <string.h>

enum status agent_secure_open(struct agent_secure *agent, size_t seat, struct error *err)
{
    const struct agent_kept_bytes *secret = &agent->log->kept[AGENT_SECRET];
    unsigned char                  drawn[MASKS_BYTES];
    agent->member = (struct secure_member){.secure = &agent->secure, .seat = seat};
    if (secret->bytes == NULL) {
        TRY(random_bytes(drawn, sizeof drawn, err));
        TRY(agent_log_keep(agent->log, AGENT_SECRET, drawn, sizeof drawn, err));
    }
    if (secret->length != MASKS_BYTES)
        return error_set(err, STATUS_CONFLICT, "other_journal", "", "the journal has a secret of another length");
    memcpy(agent->member.secret, secret->bytes, MASKS_BYTES);
    return STATUS_OK;
}

/* ---- what the server shows ---- */

static enum status take_words(const json_t *rows, size_t height, size_t width, double *out, struct error *err)
{
    for (size_t i = 0; i < height * width; i++)
        if (json_array_size(rows) != height || json_array_size(json_array_get(rows, i / width)) != width ||
            !codec_read_is_finite(json_array_get(json_array_get(rows, i / width), i % width), &out[i]))
            return client_bad_reply(err);
    return secure_are_words(out, height * width) ? STATUS_OK : client_bad_reply(err);
}

static enum status read_words(struct agent_secure *agent, enum secure_round round, size_t height, size_t width,
                              double **out, struct error *err)
{
    char    path[64];
    json_t *reply = NULL;
    *out = ARENA_NEW(agent->arena, double, height *width);
    if (*out == NULL)
        return error_no_memory(err);
    snprintf(path, sizeof path, "/rounds/%d/broadcast", (int)round);
    TRY(patience_call(agent->patience, "GET", path, NULL, &reply, err));
    enum status status = take_words(json_object_get(reply, "vectors"), height, width, *out, err);
    json_decref(reply);
    return status;
}

/* The members' keys, which are looked at once: all else depends on them. */
static enum status learn(struct agent_secure *agent, struct error *err)
{
    const struct agent_kept_bytes *kept = &agent->log->kept[AGENT_KEYS];
    struct secure                 *secure = &agent->secure;
    double                        *keys = NULL;
    char                           hex[SHA256_HEX_BYTES];
    if (secure->keys != NULL)
        return STATUS_OK;
    TRY(read_words(agent, SECURE_KEYS, secure->seats, SECURE_KEYS_LEN, &keys, err));
    TRY(secure_learn(secure, keys, agent->arena, err));
    digest_to_hex(secure->digest, SHA256_BYTES, hex);
    bool is_other =
        kept->bytes != NULL && (kept->length != SHA256_BYTES || memcmp(kept->bytes, secure->digest, SHA256_BYTES) != 0);
    bool is_wrong = agent->fingerprint != NULL && strcmp(agent->fingerprint, hex) != 0;
    if (is_other || is_wrong)
        secure->keys = NULL;
    if (is_other)
        return error_set(err, STATUS_CONFLICT, "other_keys", "",
                         "the server shows other keys than before: nothing is sent");
    if (is_wrong)
        return error_set(
            err, STATUS_CONFLICT, "other_fingerprint", "",
            "the server shows keys with the fingerprint %s, and nothing is sent for them: if the other members "
            "see the same, start again with --fingerprint %s",
            hex, hex);
    fprintf(stderr, "gnomon: the keys of %zu members have the fingerprint %s: each member should see the same\n",
            secure->plan.members, hex);
    return kept->bytes != NULL ? STATUS_OK : agent_log_keep(agent->log, AGENT_KEYS, secure->digest, SHA256_BYTES, err);
}

/* The server must show now what was written once. */
static enum status keep_same(struct agent_secure *agent, enum agent_kept kind, const unsigned char *bytes, size_t len,
                             struct error *err)
{
    const struct agent_kept_bytes *kept = &agent->log->kept[kind];
    if (kept->bytes == NULL)
        return agent_log_keep(agent->log, kind, bytes, len, err);
    return kept->length == len && memcmp(kept->bytes, bytes, len) == 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "other_list", "",
                           "the server shows another list of members than before: nothing is sent for it");
}

/* The first look fixes who has sent shares: the masks of the vector are with these members, and what is opened is theirs. */
static enum status read_column(struct agent_secure *agent, struct error *err)
{
    size_t         seats = agent->secure.seats;
    unsigned char *present = ARENA_NEW(agent->arena, unsigned char, seats);
    if (present == NULL)
        return error_no_memory(err);
    TRY(learn(agent, err));
    if (agent->column == NULL)
        TRY(read_words(agent, SECURE_SHARES, seats, SECURE_COLUMN_LEN, &agent->column, err));
    for (size_t i = 0; i < seats; i++)
        present[i] = secure_has(agent->column + i * SECURE_COLUMN_LEN, SECURE_COLUMN_LEN);
    return keep_same(agent, AGENT_PRESENT, present, seats, err);
}

/* ---- messages: *is_there false for a round that goes on without this member ---- */

static enum status make_keys(struct agent_secure *agent, const double *vector, double *message, bool *is_there,
                             struct error *err)
{
    (void)vector;
    *is_there = true;
    return secure_keys(&agent->member, message, err);
}

static enum status make_shares(struct agent_secure *agent, const double *vector, double *message, bool *is_there,
                               struct error *err)
{
    (void)vector;
    TRY(learn(agent, err));
    *is_there = secure_has(agent->secure.keys + (agent->member.seat - 1) * SECURE_KEYS_LEN, SECURE_KEYS_LEN);
    return *is_there ? secure_shares(&agent->member, message, agent->arena, err) : STATUS_OK;
}

static enum status make_vector(struct agent_secure *agent, const double *vector, double *message, bool *is_there,
                               struct error *err)
{
    const struct agent_kept_bytes *kept = &agent->log->kept[AGENT_VECTOR];
    size_t                         len = secure_message_len(&agent->secure, SECURE_VECTORS);
    uint32_t                      *words = ARENA_NEW(agent->arena, uint32_t, len);
    struct sampler                *sampler = ARENA_NEW(agent->arena, struct sampler, 1);
    if (words == NULL || sampler == NULL)
        return error_no_memory(err);
    TRY(read_column(agent, err));
    *is_there = secure_has(agent->column + (agent->member.seat - 1) * SECURE_COLUMN_LEN, SECURE_COLUMN_LEN);
    if (!*is_there)
        return STATUS_OK;
    if (kept->bytes == NULL) {
        sampler_init(sampler, random_draw, NULL);
        const struct secure_input input = {.column = agent->column, .vector = vector, .sampler = sampler};
        enum status               status = secure_vector(&agent->member, &input, message, agent->arena, err);
        sampler_wipe(sampler);
        TRY(status);
        for (size_t i = 0; i < len; i++)
            words[i] = (uint32_t)message[i];
        TRY(agent_log_keep(agent->log, AGENT_VECTOR, words, len * sizeof *words, err));
    }
    if (kept->length != len * sizeof *words)
        return error_set(err, STATUS_CONFLICT, "other_journal", "", "the journal has a vector of another length");
    memcpy(words, kept->bytes, kept->length);
    for (size_t i = 0; i < len; i++)
        message[i] = words[i];
    return STATUS_OK;
}

static enum status make_openings(struct agent_secure *agent, const double *vector, double *message, bool *is_there,
                                 struct error *err)
{
    size_t         seats = agent->secure.seats;
    unsigned char *bytes = ARENA_NEW(agent->arena, unsigned char, seats);
    double        *list = NULL;
    (void)vector;
    if (bytes == NULL)
        return error_no_memory(err);
    TRY(read_column(agent, err));
    TRY(read_words(agent, SECURE_VECTORS, 1, seats + 2 * agent->secure.features, &list, err));
    for (size_t i = 0; i < seats; i++)
        bytes[i] = list[i] == 1;
    *is_there = bytes[agent->member.seat - 1] == 1;
    if (!*is_there)
        return STATUS_OK;
    TRY(secure_open(&agent->member, agent->column, list, message, err));
    return keep_same(agent, AGENT_LIST, bytes, seats, err);
}

static enum status put(struct agent_secure *agent, int64_t round, const double *message, size_t len, struct error *err)
{
    char    path[256];
    json_t *body = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&body, json_integer((json_int_t)message[i]));
    snprintf(path, sizeof path, "/rounds/%lld/messages/%zu?features=%s", (long long)round, agent->member.seat,
             agent->features_sha256);
    return patience_call(agent->patience, "PUT", path, body, NULL, err);
}

enum status agent_secure_send(struct agent_secure *agent, int64_t round, const double *vector, struct error *err)
{
    typedef enum status      make_fn(struct agent_secure *, const double *, double *, bool *, struct error *);
    static make_fn *const    makers[] = {[SECURE_KEYS] = make_keys,
                                         [SECURE_SHARES] = make_shares,
                                         [SECURE_VECTORS] = make_vector,
                                         [SECURE_OPENINGS] = make_openings};
    static const char *const names[] = {[SECURE_KEYS] = "keys",
                                        [SECURE_SHARES] = "shares",
                                        [SECURE_VECTORS] = "vector",
                                        [SECURE_OPENINGS] = "openings"};
    if (agent->sent >= round || round > SECURE_ROUNDS)
        return STATUS_OK;
    size_t  len = secure_message_len(&agent->secure, (enum secure_round)round);
    double *message = ARENA_NEW(agent->arena, double, len);
    bool    is_there = false;
    if (message == NULL)
        return error_no_memory(err);
    TRY(makers[round](agent, vector, message, &is_there, err));
    enum status status = is_there ? put(agent, round, message, len, err) : STATUS_CONFLICT;
    if (status != STATUS_OK && status != STATUS_CONFLICT)
        return status;
    agent->sent = round;
    fprintf(stderr, status == STATUS_OK ? "gnomon: sent for round %lld: %s\n" : "gnomon: absent from round %lld: %s\n",
            (long long)round, names[round]);
    return STATUS_OK;
}
