/* See noise.h.  Numbers are written high byte first, byte strings behind their length in 32 bits. */
#include "service/curator/noise.h"
#include "engine/privacy/release.h"

#include <assert.h>
#include <string.h>

static const char SALT[] = "gnomon/answers/v2", INFO[] = "noise\1", DISTRIBUTION[] = "discrete-laplace";

struct text {
    unsigned char bytes[512];
    size_t        length;
};

static void add(struct text *text, const void *bytes, size_t length)
{
    assert(length <= sizeof text->bytes - text->length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void add_number(struct text *text, uint64_t value, size_t bytes)
{
    unsigned char digits[8];
    for (size_t i = 0; i < bytes; i++)
        digits[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
    add(text, digits, bytes);
}

static void add_bytes(struct text *text, const void *bytes, size_t length)
{
    add_number(text, length, 4);
    add(text, bytes, length);
}

static void add_real(struct text *text, double value)
{
    uint64_t bits;
    value += 0.0; // the two zeros are one number
    memcpy(&bits, &value, sizeof bits);
    add_number(text, bits, 8);
}

struct noise_tag noise_place(uint64_t candidate)
{
    struct text      text = {.length = 0};
    struct noise_tag tag = {{0}};
    add_number(&text, candidate, 8);
    memcpy(tag.bytes + NOISE_TAG_BYTES - 8, text.bytes, 8);
    return tag;
}

void noise_context_digest(const struct noise_context *context, unsigned char out[SHA256_BYTES])
{
    const struct mechanism_outcome *plan = context->plan;
    struct text                     text = {.length = 0};
    add_bytes(&text, SALT, sizeof SALT - 1);
    add_bytes(&text, context->table_tag, sizeof context->table_tag);
    add_bytes(&text, context->outcome, strlen(context->outcome));
    add_bytes(&text, DISTRIBUTION, sizeof DISTRIBUTION - 1);
    add_real(&text, plan->low);
    add_real(&text, plan->high);
    add_real(&text, plan->sensitivity);
    add_real(&text, plan->gamma);
    add_number(&text, plan->rate, 8);
    add_number(&text, context->epoch, 8);
    if (context->release != NULL)
        add_bytes(&text, context->release, SHA256_BYTES);
    sha256(text.bytes, text.length, out);
}

void noise_key_derive(const unsigned char master[SHA256_BYTES], struct noise_key *out)
{
    unsigned char salt[SHA256_BYTES] = {0}, extracted[SHA256_BYTES]; // HMAC fills a short key with zeros
    memcpy(salt, SALT, sizeof SALT - 1);
    hmac_sha256(salt, master, SHA256_BYTES, extracted);
    hmac_sha256(extracted, INFO, sizeof INFO - 1, out->bytes);
    sign_wipe(extracted, sizeof extracted);
}

void noise_key_of(const struct sign_key *key, struct noise_key *out)
{
    unsigned char master[SHA256_BYTES];
    sign_derive(key, "gnomon answers", master);
    noise_key_derive(master, out);
    sign_wipe(master, sizeof master);
}

void noise_stream_open(const struct noise_key *key, const unsigned char context[SHA256_BYTES],
                       const struct noise_tag *tag, struct noise_stream *out)
{
    struct text text = {.length = 0};
    add_bytes(&text, context, SHA256_BYTES);
    add_bytes(&text, tag->bytes, sizeof tag->bytes);
    hmac_sha256(key->bytes, text.bytes, text.length, out->seed);
    out->next = 0;
}

enum status noise_stream_bits(void *arg, void *out, size_t length, struct error *err)
{
    struct noise_stream *stream = arg;
    unsigned char       *at = out;
    (void)err;
    assert(length % SHA256_BYTES == 0);
    for (size_t done = 0; done < length; done += SHA256_BYTES) {
        struct text block = {.length = 0};
        add_number(&block, stream->next++, 8);
        hmac_sha256(stream->seed, block.bytes, block.length, at + done);
    }
    return STATUS_OK;
}

enum status noise_answer(const struct mechanism_outcome *plan, struct noise_stream *stream, double value,
                         int64_t *steps, struct error *err)
{
    struct sampler sampler;
    sampler_init(&sampler, noise_stream_bits, stream);
    enum status status = release_outcome(plan, value, &sampler, steps, err);
    sampler_wipe(&sampler);
    return status;
}
