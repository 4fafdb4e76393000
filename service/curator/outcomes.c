/* See outcomes.h. */
#include "service/curator/outcomes.h"
#include "engine/privacy/release.h"
#include "service/curator/table_marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TABLE_ROW_TAG_BYTES == (int)NOISE_TAG_BYTES, "a row's tag is one who is answered");

/* Of a partition, a candidate is a place in this release; otherwise it is its row. */
static enum status set_tags(const struct outcomes_of *of, const struct sign_key *key, struct noise_context *context,
                            struct noise_tag *tags, struct error *err)
{
    bool is_partition = context->release != NULL;
    char tag[65];
    unsigned char(*rows)[TABLE_ROW_TAG_BYTES] = malloc(of->table->rows * sizeof *rows);
    enum status status = rows == NULL ? error_no_memory(err) : table_marks_tags(of->table, key, tag, rows, err);
    for (size_t k = 0; k < of->secret->len && status == STATUS_OK; k++)
        if (is_partition)
            tags[k] = noise_place(k);
        else
            memcpy(tags[k].bytes, rows[of->secret->rows[k]], sizeof tags[k].bytes);
    if (status == STATUS_OK)
        digest_of_hex(tag, context->table_tag, sizeof context->table_tag);
    free(rows);
    return status;
}

static enum status set_context(const struct outcomes_of *of, const struct sign_key *key, struct outcomes *out,
                               struct error *err)
{
    const struct release_manifest *m = of->manifest;
    unsigned char                  release[SHA256_BYTES];
    struct noise_context           context = {.outcome = m->outcome_name, .plan = &m->outcomes};
    digest_of_hex(m->sha256, release, sizeof release);
    if (mechanism_is_partition(m->mechanism.kind))
        context.release = release;
    TRY(set_tags(of, key, &context, out->tags, err));
    noise_context_digest(&context, out->context);
    return STATUS_OK;
}

static enum status open_with(const struct outcomes_of *of, const struct sign_key *key, struct outcomes *out,
                             struct error *err)
{
    char public_key[SIGN_PUBLIC_CHARS], path[1200];
    sign_key_public(key, public_key);
    if (strcmp(public_key, of->manifest->key) != 0)
        return error_set(err, STATUS_INVALID, "other_key", "", "%.150s is not the key that signed the release",
                         of->key_path);
    out->tags = calloc(of->secret->len, sizeof *out->tags);
    if (out->tags == NULL)
        return error_no_memory(err);
    noise_key_of(key, &out->key);
    TRY(set_context(of, key, out, err));
    answers_path(of->key_path, out->context, path, sizeof path);
    return answers_open(path, out->context, true, &out->answers, err);
}

enum status outcomes_open(const struct outcomes_of *of, struct outcomes *out, struct error *err)
{
    struct sign_key *key = NULL;
    *out = (struct outcomes){.manifest = of->manifest};
    TRY(sign_key_read(of->key_path, &key, err));
    enum status status = open_with(of, key, out, err);
    sign_key_free(key);
    return status;
}

bool outcomes_find(const struct outcomes *outcomes, size_t candidate, double *value)
{
    int64_t steps = 0;
    if (!answers_find(&outcomes->answers, &outcomes->tags[candidate], &steps))
        return false;
    *value = release_outcome_value(&outcomes->manifest->outcomes, steps);
    return true;
}

enum status outcomes_settle(struct outcomes *outcomes, size_t candidate, double measured, double *value,
                            struct error *err)
{
    const struct mechanism_outcome *plan = &outcomes->manifest->outcomes;
    struct noise_stream             stream;
    int64_t                         steps = 0;
    noise_stream_open(&outcomes->key, outcomes->context, &outcomes->tags[candidate], &stream);
    enum status status =
        noise_answer(plan, &stream, isnan(measured) ? outcomes->manifest->outcome_default : measured, &steps, err);
    sign_wipe(&stream, sizeof stream);
    if (status == STATUS_OK)
        status = answers_add(&outcomes->answers, &outcomes->tags[candidate], steps, err);
    *value = release_outcome_value(plan, steps);
    return status;
}

void outcomes_close(struct outcomes *outcomes)
{
    answers_close(&outcomes->answers);
    sign_wipe(&outcomes->key, sizeof outcomes->key);
    free(outcomes->tags);
    *outcomes = (struct outcomes){.manifest = NULL};
}
